//! The values of one column with their intervals, the highest first. Knows one column.

use maud::{Markup, html};

use super::axis::Axis;
use super::marks::{Origin, figure, figure_with_interval, full_name, key, mark, short_name, whisker};
use super::{Drawing, MAX_ROWS, Numbers};
use crate::domain::column::Column;
use crate::evaluation::board_rows::{Row, ScoreCell};
use crate::evaluation::standing::Leaderboard;

const ROW_PX: u32 = 33;
/// Where marks lie within their row.
const MARK_Y: u32 = 21;
const HEAD_PX: u32 = 38;

/// Every row that has a value in the column, with its interval, the highest first.
pub(in super::super) fn intervals(board: &Leaderboard, column: Column) -> Markup {
    let mut rows: Vec<(&Row, &ScoreCell)> =
        board.rows.iter().filter_map(|row| Some((row, row.scores.get(&column)?))).collect();
    if rows.is_empty() {
        return html! {};
    }
    rows.sort_by(|(_, left), (_, right)| right.value.total_cmp(&left.value));
    let shown = &rows[..rows.len().min(MAX_ROWS)];
    let axis = Axis::around(column.unit(), shown.iter().flat_map(|(_, cell)| extent(cell)));
    let title = format!("{column} with 95 % intervals");
    let finding = finding(board, column, &rows);
    let drawing = Drawing {
        id: "chart-intervals",
        title: &title,
        description: &finding,
        height: HEAD_PX + ROW_PX * shown.len() as u32 + 4,
        wide: true,
        content: drawn(&axis, column, shown),
    };
    let (key, numbers) = (key(shown.iter().map(|(row, _)| *row)), numbers(column, shown));
    super::figure("intervals", (&title, &finding), &key, &drawing.markup(), &numbers)
}

/// The ends of what is drawn of a cell.
pub(super) fn extent(cell: &ScoreCell) -> [f64; 2] {
    cell.ci95.unwrap_or([cell.value; 2])
}

fn ties_best(row: &Row, column: Column) -> bool {
    row.standings.get(&column).is_some_and(|standing| standing.ties_best)
}

/// Whether it is to be marked so: the first needs no mark of being like itself.
fn is_marked(row: &Row, column: Column) -> bool {
    row.rank != Some(1) && ties_best(row, column)
}

fn drawn(axis: &Axis, column: Column, rows: &[(&Row, &ScoreCell)]) -> Markup {
    html! {
        text.axis x="0" y="12" { (column) ", " (axis.words()) }
        (axis.figures_across(30))
        (axis.upright_lines(HEAD_PX, ROW_PX * rows.len() as u32))
        @for (place, (row, cell)) in rows.iter().enumerate() {
            @let tie = is_marked(row, column);
            svg.row y=(HEAD_PX + ROW_PX * place as u32) height=(ROW_PX) {
                @if tie { rect.tie width="100%" height=(ROW_PX) {} }
                text.name y="12" { (short_name(row)) }
                text.value x="100%" y="12" {
                    @if tie { "≈ " }
                    tspan.figure { (figure(cell)) }
                }
                g.marks {
                    (whisker(axis, cell, MARK_Y))
                    (mark(row, &axis.x(cell.value), MARK_Y))
                }
            }
        }
    }
}

fn finding(board: &Leaderboard, column: Column, rows: &[(&Row, &ScoreCell)]) -> String {
    let entries: Vec<_> = rows.iter().filter(|(row, _)| Origin::of(row) == Origin::Scored).collect();
    let mut words = if board.query.group.is_some() { "In this group: ".to_owned() } else { String::new() };
    words += &match entries.as_slice() {
        [] => format!("No entry has a score in {column} yet."),
        [(row, cell)] => format!("{} is the only entry, with {}.", row.model_name, figure(cell)),
        [(first, cell), others @ ..] => {
            let lead = format!("{} has the highest value, {}", first.model_name, figure(cell));
            let ties = others.iter().filter(|(row, _)| ties_best(row, column)).count();
            match (first.standings.contains_key(&column), ties) {
                (false, _) => format!("{lead}. Which entries differ from it is not worked out here."),
                (true, _) if !ties_best(first, column) => {
                    format!("{lead}. The best of the whole board is clearly ahead of it.")
                }
                (true, 0) => format!("{lead}, clearly ahead of all {} others.", others.len()),
                (true, ties) => format!(
                    "{lead}; {ties} of {} others cannot be told apart from the best: they carry ≈ and a pale band.",
                    others.len()
                ),
            }
        }
    };
    words += " Lines that overlap may still differ; ≈ comes from a direct test, question by question.";
    if rows.len() > MAX_ROWS {
        words += &format!(" Drawn are the highest {MAX_ROWS} of {} rows.", rows.len());
    }
    words
}

fn numbers(column: Column, rows: &[(&Row, &ScoreCell)]) -> Numbers {
    let row = |(row, cell): &(&Row, &ScoreCell)| {
        let n = cell.n.map_or_else(|| super::marks::MISSING.to_owned(), |n| n.to_string());
        let tie = if is_marked(row, column) { "≈" } else { "" };
        vec![full_name(row), figure_with_interval(cell), n, tie.to_owned()]
    };
    Numbers {
        head: ["Model", column.as_str(), "n", "as the best"].map(str::to_owned).to_vec(),
        rows: rows.iter().map(row).collect(),
    }
}
