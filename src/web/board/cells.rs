//! How numbers of a board are written: scores with interval and mark, changes, and averages. Knows nothing of tables.

use maud::{Markup, html};

use super::marks::Mark;
use crate::domain::column::{CaptionDimension, Column, Unit};
use crate::domain::paper::printed_number;
use crate::evaluation::board_rows::{Row, ScoreCell};
use crate::scoring::decimals::{rounded, to_decimals};
use crate::scoring::independent::{Estimate, difference};

/// Decimals of a score.
pub(in crate::web) fn places(unit: Unit) -> usize {
    match unit {
        Unit::Percent => 1,
        Unit::Points => 2,
    }
}

/// A score's interval in its unit.
pub(in crate::web) fn interval(cell: &ScoreCell) -> String {
    let places = places(cell.unit);
    let Some(bounds) = cell.ci95 else { return "–".to_owned() };
    let [low, high] = bounds.map(|bound| to_decimals(bound, places));
    format!("{low}–{high}")
}

/// A change with its sign; none has no sign.
pub(super) fn signed(change: f64) -> String {
    let sign = match rounded(change, 2) {
        0.0 => "",
        change if change > 0.0 => "+",
        _ => "−",
    };
    format!("{sign}{}", to_decimals(change.abs(), 2))
}

/// What stands for a value that is missing.
pub(super) const MISSING: &str = "–";

/// What the cell of one score of a row holds.
pub(super) fn score(row: &Row, column: Column, mark: Option<Mark>, hides_intervals: bool) -> Markup {
    let Some(cell) = row.scores.get(&column) else { return html! { (MISSING) } };
    if let Some(printed) = row.printed.get(&column) {
        return html! { (printed) };
    }
    let value = to_decimals(cell.value, places(cell.unit));
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
    let estimate = |cell: &ScoreCell| Some(Estimate { value: cell.value, ci95: cell.ci95? });
    let (Some(before), Some(after)) = (estimate(fixed), estimate(moving)) else {
        return html! { (signed(moving.value - fixed.value)) };
    };
    let Estimate { value, ci95: [low, high] } = difference(after, before);
    let (class, mark, words) = match value {
        _ if low > 0.0 => ("better", "▲", ", a clear rise"),
        _ if high < 0.0 => ("worse", "▼", ", a clear drop"),
        value if value >= 0.0 => ("", "△", ", not clear"),
        _ => ("", "▽", ", not clear"),
    };
    html! {
        span class=[Some(class).filter(|class| !class.is_empty())] {
            span.way aria-hidden="true" { (mark) }
            (signed(value))
        }
        span.hidden { (words) }
        @if !hides_intervals {
            small { span.hidden { "; interval " } (signed(low)) " to " (signed(high)) }
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
