//! A leaderboard as tables for print, whatever they are written in: sections, rows, averages, and what is marked in each
//! column. Knows nothing of LaTeX or Markdown.

use std::collections::BTreeMap;

use crate::domain::column::{CaptionDimension, Column};
use crate::domain::paper::{PaperGroup, paper_tables};
use crate::domain::submission::Group;
use crate::evaluation::board_query::View;
use crate::evaluation::board_rows::{GroupAverages, Row, ScoreCell};
use crate::evaluation::marks::{Mark, Marks};
use crate::evaluation::standing::Leaderboard;
use crate::scoring::decimals::to_decimals;

/// The columns of the second table, as in the paper's Table 4: three of static cameras, three of moving ones.
pub const CAPTIONS: [Column; 6] = [
    Column::StaticBeh,
    Column::StaticAh,
    Column::StaticEcf,
    Column::MovingBeh,
    Column::MovingAh,
    Column::MovingEcf,
];

/// One cell.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Cell {
    /// The value; a dash where there is none.
    pub text: String,
    /// How it stands.
    pub mark: Option<Mark>,
    /// The mean of the rows, where another one is printed in the paper.
    pub computed: Option<String>,
    /// The change from static cameras to moving ones, with its sign.
    pub change: Option<String>,
}

/// One line of a table.
pub enum Line<'a> {
    /// The heading of a group.
    Section(&'static str),
    /// A row of the board.
    Row(&'a Row, Vec<Cell>),
    /// A group's averages: of its entries, or those that the paper prints.
    Average {
        /// Whether they are the paper's.
        printed: bool,
        /// A cell a column.
        cells: Vec<Cell>,
    },
}

/// What a missing value is written as.
const DASH: &str = "-";

/// The columns of the table of questions: the paper's, and the mean where all rows stand in one order.
pub fn question_columns(board: &Leaderboard) -> Vec<Column> {
    let mean = (board.query.view == View::Ranks).then_some(Column::Mcq);
    mean.into_iter().chain(Column::QUESTIONS).collect()
}

/// The lines of a table with these columns: the rows in the board's order, in groups with a heading and averages if it is
/// laid out so.
pub fn lines<'a>(board: &'a Leaderboard, columns: &[Column]) -> Vec<Line<'a>> {
    let line = |row: &'a Row| {
        Line::Row(row, columns.iter().map(|column| row_cell(row, *column, &board.marks)).collect())
    };
    if board.query.view == View::Ranks {
        return board.rows.iter().map(line).collect();
    }
    let mut lines = Vec::new();
    for rows in board.rows.chunk_by(|left, right| left.group == right.group) {
        let group = rows.first().and_then(|row| row.group);
        lines.push(Line::Section(heading(group)));
        lines.extend(rows.iter().map(line));
        let averages = board.groups.iter().find(|averages| Some(averages.group) == group);
        if let Some(averages) = averages {
            lines.extend(average_lines(averages, rows, columns));
        }
    }
    lines
}

fn heading(group: Option<Group>) -> &'static str {
    match group {
        Some(Group::OpenSmall) => "Open-source VLMs (below 10B)",
        Some(Group::OpenLarge) => "Open-source VLMs (10B and more)",
        Some(Group::Closed) => "Close-source VLMs",
        None => "Blind baselines (no video seen)",
    }
}

fn plain(text: impl Into<String>) -> Cell {
    Cell { text: text.into(), mark: None, computed: None, change: None }
}

fn row_cell(row: &Row, column: Column, marks: &Marks) -> Cell {
    match (row.printed.get(&column), row.scores.get(&column)) {
        (Some(printed), _) => plain(printed),
        (None, Some(ScoreCell { value, unit, .. })) => {
            Cell { mark: marks.find(row, column), ..plain(to_decimals(*value, unit.places())) }
        }
        (None, None) => plain(DASH),
    }
}

/// The averages of a group's entries and those that the paper prints, as far as rows of either kind are there.
fn average_lines<'a>(averages: &GroupAverages, rows: &[Row], columns: &[Column]) -> Vec<Line<'a>> {
    let mut lines = Vec::new();
    if rows.iter().any(|row| row.entry.is_some()) {
        let cell = |column: &Column| own_average(averages, *column);
        lines.push(Line::Average { printed: false, cells: columns.iter().map(cell).collect() });
    }
    let paper = paper_tables().iter().find(|paper| paper.group == averages.group);
    if let Some(paper) = paper.filter(|_| rows.iter().any(|row| row.reported)) {
        let cell = |column: &Column| printed_average(paper, &averages.reported_averages, *column);
        lines.push(Line::Average { printed: true, cells: columns.iter().map(cell).collect() });
    }
    lines
}

fn own_average(averages: &GroupAverages, column: Column) -> Cell {
    let Some(value) = averages.averages.get(&column) else { return plain(DASH) };
    let change = moving(column).and_then(|dimension| averages.change.get(&dimension));
    let signed = |change: &f64| {
        let change = to_decimals(*change, 2);
        if change.starts_with('-') { change } else { format!("+{change}") }
    };
    Cell { change: change.map(signed), ..plain(to_decimals(*value, column.unit().places())) }
}

fn printed_average(paper: &PaperGroup, computed: &BTreeMap<Column, f64>, column: Column) -> Cell {
    let Some(printed) = paper.averages.get(&column) else { return plain(DASH) };
    let places = printed.split_once('.').map_or(0, |(_, decimals)| decimals.len());
    let computed = computed.get(&column).map(|value| to_decimals(*value, places));
    let change = moving(column).and_then(|dimension| paper.change.get(&dimension)).cloned();
    Cell { computed: computed.filter(|computed| computed != printed), change, ..plain(printed) }
}

/// The dimension whose change from static to moving stands in a column.
fn moving(column: Column) -> Option<CaptionDimension> {
    column.caption_dimension().filter(|dimension| dimension.columns()[1] == column)
}
