//! What a comparison comes to in words and digits. Knows nothing of how the page is laid out.

use super::compare::MOST;
use super::figures::{grouped, signed};
use crate::domain::column::{Column, Unit};
use crate::evaluation::comparing::{ComparedColumn, ComparedEntry, Comparison};
use crate::scoring::decimals::to_decimals;

/// By which letter an entry goes on the page.
pub(super) const LETTERS: [char; MOST] = ['A', 'B', 'C', 'D', 'E'];

/// How many columns speak for whom.
pub(super) fn tally(comparison: &Comparison, place: usize) -> String {
    let (pair, entries) = (&comparison.pairs[place], &comparison.entries);
    let others: Vec<_> = pair.columns.iter().filter(|column| column.id != Column::Mcq).collect();
    let count =
        |is_kind: &dyn Fn(&ComparedColumn) -> bool| others.iter().filter(|column| is_kind(column)).count();
    let ahead = count(&|column| column.is_clear && column.difference > 0.0);
    let behind = count(&|column| column.is_clear && column.difference <= 0.0);
    let counted = |count: usize| if count == 0 { "none".to_owned() } else { count.to_string() };
    format!(
        "Of the {} single columns {} is clearly better in {}, {} in {}, and {} no clear difference.",
        others.len(),
        name(0, entries),
        counted(ahead),
        name(place + 1, entries),
        counted(behind),
        match others.len() - ahead - behind {
            1 => "1 shows".to_owned(),
            count => format!("{} show", counted(count)),
        },
    )
}

/// An entry by its model, with its letter since models may have the same name.
pub(super) fn name(place: usize, entries: &[ComparedEntry]) -> String {
    format!("{} ({})", entries[place].model_name, LETTERS[place])
}

/// Which of the two is ahead by the board's default column, in words.
pub(super) fn verdict(comparison: &Comparison, place: usize) -> String {
    let (pair, entries) = (&comparison.pairs[place], &comparison.entries);
    let [a, b] = [name(0, entries), name(place + 1, entries)];
    let Some(mcq) = pair.column(Column::Mcq) else {
        return format!(
            "{a} and {b} have no score of all multiple-choice questions in common; see the single columns."
        );
    };
    if !mcq.is_clear {
        return format!("{a} and {b} cannot be told apart on these {} questions.", grouped(mcq.n));
    }
    let (ahead, behind) = if mcq.difference > 0.0 { (a, b) } else { (b, a) };
    let points = |value: f64| to_decimals(value.abs(), 1);
    let gap = points(mcq.difference);
    match mcq.ci95.map(|bounds| bounds.map(f64::abs)) {
        Some([one, other]) => format!(
            "{ahead} is ahead of {behind} by {gap} points; with this many videos the gap could be {} to {}.",
            points(one.min(other)),
            points(one.max(other)),
        ),
        None => format!("{ahead} is ahead of {behind} by {gap} points."),
    }
}

pub(super) fn p_in_words(p: Option<f64>, is_rounded: bool) -> String {
    let (least, places) = if is_rounded { (0.01, 2) } else { (0.001, 3) };
    match p {
        None => "not told".to_owned(),
        Some(p) if p < least => format!("< {least}"),
        Some(p) => to_decimals(p, places),
    }
}

/// Decimals of a difference: no more than are told.
pub(super) fn shown_places(comparison: &Comparison, unit: Unit) -> usize {
    if comparison.is_rounded { 1 } else { unit.places() }
}

/// A difference with its interval.
pub(super) fn in_words(column: &ComparedColumn, places: usize) -> String {
    let difference = signed(column.difference, places);
    match column.ci95 {
        Some(bounds) => format!("{difference} ({})", interval(bounds, places)),
        None => difference,
    }
}

pub(super) fn interval([low, high]: [f64; 2], places: usize) -> String {
    format!("{} to {}", signed(low, places), signed(high, places))
}
