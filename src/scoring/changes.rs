//! What changes from static to moving cameras for one entry, and how sure that is. Knows nothing of columns.

/// A difference of two scores on different videos.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Change {
    /// The second score minus the first.
    pub value: f64,
    /// Its 95 % interval; none where one of the scores has none.
    pub ci95: Option<[f64; 2]>,
}

impl Change {
    /// The change from one score to another, each with its interval, made on different videos and so independent of each
    /// other. Zou's and Donner's way (2008): the distances from a value to the ends of its interval add up in squares.
    pub fn between(first: (f64, Option<[f64; 2]>), second: (f64, Option<[f64; 2]>)) -> Change {
        let value = second.0 - first.0;
        let ends = |[first_low, first_high]: [f64; 2], [second_low, second_high]: [f64; 2]| {
            let down = (second.0 - second_low).hypot(first_high - first.0);
            let up = (second_high - second.0).hypot(first.0 - first_low);
            [value - down, value + up]
        };
        Change { value, ci95: first.1.zip(second.1).map(|(first, second)| ends(first, second)) }
    }

    /// Whether the interval leaves out 0; none without an interval.
    pub fn is_clear(&self) -> Option<bool> {
        self.ci95.map(|[low, high]| low > 0.0 || high < 0.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_ends_of_two_intervals_add_up_in_squares() {
        let change = Change::between((3.0, Some([2.6, 3.5])), (2.0, Some([1.7, 2.2])));
        assert_eq!(change.value, -1.0);
        let [low, high] = change.ci95.unwrap();
        assert!((low - (-1.0 - 0.3_f64.hypot(0.5))).abs() < 1e-12, "{low}");
        assert!((high - (-1.0 + 0.2_f64.hypot(0.4))).abs() < 1e-12, "{high}");
        assert_eq!(change.is_clear(), Some(true));
    }

    #[test]
    fn a_change_that_may_be_none_is_not_clear() {
        let change = Change::between((3.0, Some([2.6, 3.5])), (2.9, Some([2.6, 3.2])));
        assert_eq!(change.is_clear(), Some(false));
    }

    #[test]
    fn nothing_is_known_of_a_change_between_scores_without_intervals() {
        let change = Change::between((3.0, None), (2.0, Some([1.7, 2.2])));
        assert_eq!((change.value, change.ci95, change.is_clear()), (-1.0, None, None));
    }
}
