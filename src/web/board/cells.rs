//! How numbers of a board are written: scores with interval and mark, changes, and averages. Knows nothing of tables.

use maud::{Markup, html};

use crate::domain::column::{CaptionDimension, Column};
use crate::domain::paper::printed_number;
use crate::evaluation::board_rows::Row;
use crate::evaluation::marks::Mark;
use crate::scoring::changes::Change;
use crate::scoring::decimals::{rounded, to_decimals};
use crate::web::figures::{interval, signed};

/// What stands for a value that is missing.
pub(super) const MISSING: &str = "–";

/// What the cell of one score of a row holds.
pub(super) fn score(row: &Row, column: Column, mark: Option<Mark>, hides_intervals: bool) -> Markup {
    let Some(cell) = row.scores.get(&column) else { return html! { (MISSING) } };
    if let Some(printed) = row.printed.get(&column) {
        return html! { (printed) };
    }
    let value = to_decimals(cell.value, cell.unit.places());
    html! {
        @match mark {
            Some(Mark::Best) => { b { (value) } span.hidden { ", best" } }
            Some(Mark::TiesBest) => {
                (value)
                i aria-hidden="true" { "≈" }
                span.hidden { ", not to be told apart from the best" }
            }
            Some(Mark::Second) => { u { (value) } span.hidden { ", highest clearly below the best" } }
            None => (value)
        }
        @if cell.ci95.is_some() && !hides_intervals {
            small { span.hidden { "; interval " } (interval(cell)) }
        }
    }
}

/// What the cell of a change holds: moving minus static.
pub(super) fn change(row: &Row, dimension: CaptionDimension, hides_intervals: bool) -> Markup {
    let [fixed, moving] = dimension.columns().map(|column| row.scores.get(&column));
    let (Some(fixed), Some(moving)) = (fixed, moving) else { return html! { (MISSING) } };
    let change = Change::between((fixed.value, fixed.ci95), (moving.value, moving.ci95));
    let Change { value, ci95: Some([low, high]) } = change else {
        return html! { (signed(change.value, 2)) };
    };
    let is_clear = change.is_clear() == Some(true);
    let (class, mark, words) = match (is_clear, value >= 0.0) {
        (true, true) => (Some("better"), "▲", ", a clear rise"),
        (true, false) => (Some("worse"), "▼", ", a clear drop"),
        (false, true) => (None, "△", ", not clear"),
        (false, false) => (None, "▽", ", not clear"),
    };
    html! {
        span class=[class] {
            span.way aria-hidden="true" { (mark) }
            (signed(value, 2))
        }
        span.hidden { (words) }
        @if !hides_intervals {
            small { span.hidden { "; interval " } (signed(low, 2)) " to " (signed(high, 2)) }
        }
    }
}

/// An average as the paper prints it, beside that of the rows where it does not follow from them.
pub(super) fn printed_average(printed: Option<&str>, of_rows: Option<f64>) -> Markup {
    let of_rows = of_rows.filter(|value| printed.is_none_or(|printed| !follows(printed, *value)));
    let decimals = printed.map_or(1, decimals);
    html! {
        (printed.unwrap_or(MISSING))
        @if let Some(of_rows) = of_rows { small { "rows: " (to_decimals(of_rows, decimals)) } }
    }
}

/// Whether a printed number is the value, rounded to as many decimals.
fn follows(printed: &str, value: f64) -> bool {
    printed_number(printed).is_some_and(|number| rounded(value, decimals(printed)) == number)
}

fn decimals(printed: &str) -> usize {
    printed.split_once('.').map_or(0, |(_, fraction)| fraction.len())
}
