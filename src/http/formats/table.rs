//! A leaderboard as tables for print, whatever they are written in: sections, rows, averages, and what is marked in each
//! column. Knows nothing of LaTeX or Markdown.

use std::collections::BTreeMap;

use crate::domain::column::{CaptionDimension, Column, Unit};
use crate::domain::paper::{PaperGroup, paper_tables};
use crate::domain::submission::Group;
use crate::evaluation::board_query::View;
use crate::evaluation::board_rows::{GroupAverages, Row, ScoreCell};
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

/// What is said of a value among the entries of its column.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mark {
    /// Nothing.
    None,
    /// The highest.
    Best,
    /// It cannot be told apart from the highest.
    TiesBest,
    /// The highest of those that are below.
    Second,
}

/// One cell.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Cell {
    /// The value; a dash where there is none.
    pub text: String,
    /// How it stands.
    pub mark: Mark,
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
    let marks: Vec<Marks> = columns.iter().map(|column| Marks::of(&board.rows, *column)).collect();
    let line = |row: &'a Row| {
        let cells = columns.iter().zip(&marks).map(|(column, marks)| row_cell(row, *column, marks));
        Line::Row(row, cells.collect())
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

/// Whether the marks rest on pairwise tests.
pub fn are_compared(board: &Leaderboard) -> bool {
    let marks = || Column::ALL.iter().map(|column| Marks::of(&board.rows, *column));
    marks().any(|marks| marks.compared) && marks().all(|marks| marks.compared || marks.best.is_none())
}

fn heading(group: Option<Group>) -> &'static str {
    match group {
        Some(Group::OpenSmall) => "Open-source VLMs (below 10B)",
        Some(Group::OpenLarge) => "Open-source VLMs (10B and more)",
        Some(Group::Closed) => "Close-source VLMs",
        None => "Blind baselines (no video seen)",
    }
}

/// What is marked in a column.
struct Marks {
    best: Option<f64>,
    second: Option<f64>,
    /// Whether every entry was compared with the best one.
    compared: bool,
}

impl Marks {
    /// Over the entries alone: the paper's rows and baselines are not ranked.
    fn of(rows: &[Row], column: Column) -> Marks {
        let entries: Vec<(f64, Option<bool>)> = rows
            .iter()
            .filter(|row| row.entry.is_some())
            .filter_map(|row| {
                let ties_best = row.standings.get(&column).map(|standing| standing.ties_best);
                Some((row.scores.get(&column)?.value, ties_best))
            })
            .collect();
        let highest = |values: &mut dyn Iterator<Item = f64>| values.max_by(f64::total_cmp);
        let best = highest(&mut entries.iter().map(|(value, _)| *value));
        let is_best = |value: f64| Some(value) == best;
        // Where only a part of the board is shown, the best of it may not be the one that all were compared with.
        let compared = best.is_some()
            && entries.iter().all(|(value, ties_best)| match ties_best {
                Some(ties_best) => *ties_best || !is_best(*value),
                None => false,
            });
        let is_below = |(value, ties_best): &&(f64, Option<bool>)| {
            !is_best(*value) && (!compared || *ties_best == Some(false))
        };
        let second = highest(&mut entries.iter().filter(is_below).map(|(value, _)| *value));
        Marks { best, second, compared }
    }

    fn mark(&self, row: &Row, column: Column, value: f64) -> Mark {
        if row.entry.is_none() {
            return Mark::None;
        }
        let ties_best = row.standings.get(&column).is_some_and(|standing| standing.ties_best);
        match value {
            value if Some(value) == self.best => Mark::Best,
            _ if self.compared && ties_best => Mark::TiesBest,
            value if Some(value) == self.second => Mark::Second,
            _ => Mark::None,
        }
    }
}

fn plain(text: impl Into<String>) -> Cell {
    Cell { text: text.into(), mark: Mark::None, computed: None, change: None }
}

fn row_cell(row: &Row, column: Column, marks: &Marks) -> Cell {
    match (row.printed.get(&column), row.scores.get(&column)) {
        (Some(printed), _) => plain(printed),
        (None, Some(ScoreCell { value, unit, .. })) => {
            Cell { mark: marks.mark(row, column, *value), ..plain(to_decimals(*value, places(*unit))) }
        }
        (None, None) => plain(DASH),
    }
}

fn places(unit: Unit) -> usize {
    match unit {
        Unit::Percent => 1,
        Unit::Points => 2,
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
    Cell { change: change.map(signed), ..plain(to_decimals(*value, places(column.unit()))) }
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
