//! The score card of an entry: every column with its interval, its count, the best of the board and the rank. Computes no
//! score.

use maud::{Markup, html};

use super::entry::Seen;
use super::figures::{interval, signed};
use crate::domain::column::{CaptionDimension, Column, Unit};
use crate::evaluation::board_rows::ScoreCell;
use crate::scoring::changes::Change;
use crate::scoring::decimals::to_decimals;

/// The scores of questions.
pub(super) fn questions(seen: &Seen) -> Markup {
    html! {
        section aria-labelledby="scores" {
            h2 #scores { "Scores" }
            p.hint {
                "95 % interval: scores that fit what was seen, allowing for which videos happened to be chosen. "
                strong { "Bold" } " is the best of the board, ≈ cannot be told apart from it by a direct test, question by question."
            }
            div.scroll tabindex="0" role="region" aria-labelledby="scores" {
                table.card {
                    thead {
                        tr {
                            th scope="col" { "Column" }
                            th.number scope="col" { "Score" }
                            th.number scope="col" { "95 % interval" }
                            th.number scope="col" { "Questions" }
                            th.number scope="col" { "Best of board" }
                            th.number scope="col" { "Rank" }
                        }
                    }
                    tbody {
                        @for column in [Column::Mcq].into_iter().chain(Column::QUESTIONS) { (question_row(seen, column)) }
                    }
                }
            }
        }
    }
}

fn question_row(seen: &Seen, column: Column) -> Markup {
    let cell = seen.entry.scores.get(&column);
    html! {
        tr.apart[column == Column::Oemu] {
            th scope="row" {
                (column)
                small.wrap { (column.label()) @if column.unit() == Unit::Points { ", 0 to 5" } @else { ", %" } }
            }
            td.number { (value(seen, column)) }
            td.number { @match cell { Some(cell) => (interval(cell)), None => "–" } }
            td.number { (count(cell)) }
            td.number { (best(seen, column).map_or_else(missing, |best| to_decimals(best, column.unit().places()))) }
            td.number { (rank(seen, column)) }
        }
    }
}

fn missing() -> String {
    "–".to_owned()
}

fn count(cell: Option<&ScoreCell>) -> String {
    cell.and_then(|cell| cell.n).map_or_else(missing, |n| n.to_string())
}

/// The value of a column, marked if it is the best or may be.
fn value(seen: &Seen, column: Column) -> Markup {
    let Some(cell) = seen.entry.scores.get(&column) else { return html! { "–" } };
    let text = to_decimals(cell.value, cell.unit.places());
    let is_best = best(seen, column).is_some_and(|best| cell.value >= best);
    let standing = seen.row().and_then(|(_, row)| row.standings.get(&column));
    html! {
        @if is_best {
            strong { (text) } span.hidden { ", best of the board" }
        } @else if standing.is_some_and(|standing| standing.ties_best) {
            (text) i aria-hidden="true" { "≈" } span.hidden { ", cannot be told apart from the best" }
        } @else {
            (text)
        }
    }
}

/// The highest value of a scored entry on its board.
fn best(seen: &Seen, column: Column) -> Option<f64> {
    let (board, _) = seen.row()?;
    let scored = board.rows.iter().filter(|row| row.entry.is_some());
    scored.filter_map(|row| Some(row.scores.get(&column)?.value)).reduce(f64::max)
}

/// The ranks that the tests allow, or the place by value while they are not made.
pub(super) fn rank(seen: &Seen, column: Column) -> String {
    let Some((board, row)) = seen.row() else { return missing() };
    let Some(own) = row.scores.get(&column) else { return missing() };
    match row.standings.get(&column).map(|standing| standing.range) {
        Some([best, worst]) if best == worst => best.to_string(),
        Some([best, worst]) => format!("{best}–{worst}"),
        None => {
            let scored = board.rows.iter().filter(|row| row.entry.is_some());
            let values = scored.filter_map(|row| Some(row.scores.get(&column)?.value));
            (1 + values.filter(|value| *value > own.value).count()).to_string()
        }
    }
}

/// The scores of captions, static beside moving, and what changes.
pub(super) fn captions(seen: &Seen) -> Markup {
    html! {
        section aria-labelledby="captions" {
            h2 #captions { "Captions, static and moving camera" }
            p.hint {
                "The two cameras saw different videos, so the interval of a change is made of both: ▲ ▼ mark a clear change, △ ▽ \
                 one that chance may explain."
            }
            div.scroll tabindex="0" role="region" aria-labelledby="captions" {
                table.card {
                    thead {
                        tr {
                            th scope="col" { "Dimension" }
                            @for camera in ["Static", "Moving"] {
                                th.number scope="col" { (camera) small { "0 to 5" } }
                                th.number scope="col" { "Best, rank" }
                            }
                            th.number scope="col" { "Change" small { "moving minus static" } }
                        }
                    }
                    tbody {
                        @for dimension in CaptionDimension::ALL { (caption_row(seen, *dimension)) }
                    }
                }
            }
        }
    }
}

fn caption_row(seen: &Seen, dimension: CaptionDimension) -> Markup {
    let columns = dimension.columns();
    let cells = columns.map(|column| seen.entry.scores.get(&column));
    let label = columns[0].label().split(',').next().unwrap_or_default();
    let change = cells[0]
        .zip(cells[1])
        .map(|(at_rest, moving)| Change::between((at_rest.value, at_rest.ci95), (moving.value, moving.ci95)));
    html! {
        tr {
            th scope="row" { (dimension) small.wrap { (label) } }
            @for (column, cell) in columns.into_iter().zip(cells) {
                td.number {
                    (value(seen, column))
                    @if let Some(cell) = cell { small { (interval(cell)) } small { "n " (count(Some(cell))) } }
                }
                td.number {
                    (best(seen, column).map_or_else(missing, |best| to_decimals(best, column.unit().places())))
                    small { "rank " (rank(seen, column)) }
                }
            }
            td.number { @match change { Some(change) => (changed(&change)), None => "–" } }
        }
    }
}

fn changed(change: &Change) -> Markup {
    html! {
        (signed(change.value, 2))
        @match change.is_clear() {
            Some(true) if change.value < 0.0 => { span.worse { " ▼" } span.hidden { ", clearly lower" } }
            Some(true) => { span.better { " ▲" } span.hidden { ", clearly higher" } }
            Some(false) => { @if change.value < 0.0 { " ▽" } @else { " △" } span.hidden { ", not clear" } }
            None => {}
        }
        @if let Some([low, high]) = change.ci95 { small { (signed(low, 2)) " to " (signed(high, 2)) } }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_change_that_is_not_clear_still_points_where_it_goes() {
        let mark = |change: f64, reach: f64| {
            let change = Change { value: change, ci95: Some([change - reach, change + reach]) };
            changed(&change).into_string().chars().filter(|sign| "▲▼△▽".contains(*sign)).collect::<String>()
        };
        assert_eq!([mark(0.5, 0.2), mark(0.5, 1.0), mark(-0.5, 1.0), mark(-0.5, 0.2)], ["▲", "△", "▽", "▼"]);
    }
}
