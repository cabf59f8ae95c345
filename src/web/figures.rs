//! How numbers are written on pages: decimals by unit, intervals, signs and commas. Knows nothing of what they count.

use crate::evaluation::board_rows::ScoreCell;
use crate::scoring::decimals::to_decimals;

/// A score's interval in its unit.
pub(super) fn interval(cell: &ScoreCell) -> String {
    let places = cell.unit.places();
    let Some(bounds) = cell.ci95 else { return "–".to_owned() };
    let [low, high] = bounds.map(|bound| to_decimals(bound, places));
    format!("{low}–{high}")
}

/// A difference with its sign, if it is one at these decimals.
pub(super) fn signed(difference: f64, places: usize) -> String {
    let size = to_decimals(difference.abs(), places);
    let is_zero = size.bytes().all(|byte| matches!(byte, b'0' | b'.'));
    let sign = match (is_zero, difference < 0.0) {
        (true, _) => "",
        (false, true) => "−",
        (false, false) => "+",
    };
    format!("{sign}{size}")
}

/// A count with commas at its thousands, `4,020`.
pub(super) fn grouped(count: impl std::fmt::Display) -> String {
    let digits = count.to_string();
    let comma = |(place, digit): (usize, char)| {
        let is_due = place > 0 && (digits.len() - place).is_multiple_of(3);
        is_due.then_some(',').into_iter().chain([digit])
    };
    digits.chars().enumerate().flat_map(comma).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_have_commas_at_their_thousands() {
        let counts = [0, 999, 1_000, 45_020, 1_234_567].map(grouped);
        assert_eq!(counts, ["0", "999", "1,000", "45,020", "1,234,567"]);
    }

    #[test]
    fn a_difference_that_is_none_at_its_decimals_has_no_sign() {
        let differences = [0.004, -0.004, 0.005, -1.0].map(|difference| signed(difference, 2));
        assert_eq!(differences, ["0.00", "0.00", "+0.01", "−1.00"]);
    }
}
