//! The difference of two values that were measured on different videos, so that neither tells of the other. Knows nothing
//! of what they are.

/// A value and the bounds of its 95 % interval.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Estimate {
    /// The value.
    pub value: f64,
    /// Its bounds.
    pub ci95: [f64; 2],
}

/// `first` minus `second`, with an interval that is made of theirs (Zou and Donner's "MOVER"): exact for two normal
/// intervals, and lopsided where they are.
pub fn difference(first: Estimate, second: Estimate) -> Estimate {
    let value = first.value - second.value;
    let ([low, high], [other_low, other_high]) = (first.ci95, second.ci95);
    let below = (first.value - low).hypot(other_high - second.value);
    let above = (high - first.value).hypot(second.value - other_low);
    Estimate { value, ci95: [value - below, value + above] }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_widths_of_independent_intervals_add_as_squares() {
        let first = Estimate { value: 3.0, ci95: [2.7, 3.3] };
        let second = Estimate { value: 2.0, ci95: [1.6, 2.4] };
        let Estimate { value, ci95: [low, high] } = difference(first, second);
        assert!((value - 1.0).abs() < 1e-12 && (low - 0.5).abs() < 1e-12 && (high - 1.5).abs() < 1e-12);
    }

    #[test]
    fn what_is_lopsided_stays_so_and_turns_with_the_sign() {
        let first = Estimate { value: 4.8, ci95: [4.0, 5.0] };
        let second = Estimate { value: 4.8, ci95: [4.8, 4.8] };
        let [low, high] = difference(first, second).ci95;
        assert!((low + 0.8).abs() < 1e-12 && (high - 0.2).abs() < 1e-12);
        let [low, high] = difference(second, first).ci95;
        assert!((low + 0.2).abs() < 1e-12 && (high - 0.8).abs() < 1e-12);
    }
}
