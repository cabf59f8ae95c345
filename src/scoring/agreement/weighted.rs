//! Agreement beyond chance on points from 0 to 5, where a difference counts by its size. Knows nothing of videos.

use super::{POINTS, Prepared};

/// Cohen's kappa with quadratic weights; none where chance alone leaves no disagreement to be expected.
pub(super) fn quadratic_kappa(pairs: impl Iterator<Item = (usize, usize)>) -> Option<f64> {
    let (mut rows, mut columns) = ([0.0; POINTS], [0.0; POINTS]);
    let (mut observed, mut count) = (0.0, 0.0);
    for (row, column) in pairs {
        rows[row] += 1.0;
        columns[column] += 1.0;
        observed += squared(row, column);
        count += 1.0;
    }
    let mut expected = 0.0;
    for (row, of_row) in rows.iter().enumerate() {
        for (column, of_column) in columns.iter().enumerate() {
            expected += squared(row, column) * of_row * of_column;
        }
    }
    (expected > 0.0).then(|| 1.0 - observed * count / expected)
}

fn squared(one: usize, other: usize) -> f64 {
    (one.abs_diff(other) as f64).powi(2)
}

/// How a difference between two ratings counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Level {
    Nominal,
    Ordinal,
    Interval,
}

/// How often two ratings of one item are these two points, each item counting by how many ratings it has.
pub(super) struct Coincidences([[f64; POINTS]; POINTS]);

impl Coincidences {
    pub(super) fn of(items: &[&Prepared]) -> Coincidences {
        let mut table = [[0.0; POINTS]; POINTS];
        for item in items {
            let weight = 1.0 / item.ratings.saturating_sub(1) as f64;
            for (one, other) in &item.pairs {
                table[*one][*other] += weight;
            }
        }
        Coincidences(table)
    }

    /// Krippendorff's alpha; none where no item has two ratings, or all ratings are one point.
    pub(super) fn alpha(&self, level: Level) -> Option<f64> {
        let totals = self.0.map(|row| row.iter().sum::<f64>());
        let n: f64 = totals.iter().sum();
        let (mut observed, mut expected) = (0.0, 0.0);
        for (one, row) in self.0.iter().enumerate() {
            for (other, count) in row.iter().enumerate() {
                let distance = distance(level, one, other, &totals);
                observed += count * distance;
                expected += totals[one] * totals[other] * distance / (n - 1.0);
            }
        }
        (expected > 0.0).then(|| 1.0 - observed / expected)
    }
}

fn distance(level: Level, one: usize, other: usize, totals: &[f64; POINTS]) -> f64 {
    match level {
        Level::Nominal => f64::from(u8::from(one != other)),
        Level::Interval => squared(one, other),
        Level::Ordinal => {
            let (low, high) = (one.min(other), one.max(other));
            let between: f64 = totals[low..=high].iter().sum();
            (between - (totals[low] + totals[high]) / 2.0).powi(2)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::RatedItem;
    use super::*;

    #[test]
    fn kappa_is_one_for_equal_zero_for_chance_and_below_for_opposite_ratings() {
        let kappa = |pairs: &[(usize, usize)]| quadratic_kappa(pairs.iter().copied());
        assert_eq!(kappa(&[(0, 0), (5, 5)]), Some(1.0));
        assert_eq!(kappa(&[(0, 0), (0, 5), (5, 0), (5, 5)]), Some(0.0));
        assert_eq!(kappa(&[(0, 5), (5, 0)]), Some(-1.0));
        assert_eq!(kappa(&[(3, 3), (3, 3)]), None);
        assert_eq!(kappa(&[]), None);
    }

    #[test]
    fn alpha_of_the_textbooks_example_is_that_of_the_textbook() {
        // Krippendorff (2011), four observers, twelve units, missing data; its fourth unit and its last have one rating.
        let units: [&[u8]; 12] = [
            &[1, 1, 1],
            &[2, 2, 3, 2],
            &[3, 3, 3, 3],
            &[3, 3, 3, 3],
            &[2, 2, 2, 2],
            &[1, 2, 3, 4],
            &[4, 4, 4, 4],
            &[1, 1, 2, 1],
            &[2, 2, 2, 2],
            &[5, 5, 5],
            &[1, 1],
            &[3],
        ];
        let items = units.map(|unit| {
            let ratings = unit.iter().copied().enumerate().collect();
            Prepared::new(&RatedItem { video: 0, ratings, judge: None })
        });
        let coincidences = Coincidences::of(&items.iter().collect::<Vec<_>>());
        for (level, expected) in [(Level::Nominal, 0.743), (Level::Ordinal, 0.815), (Level::Interval, 0.849)]
        {
            let alpha = coincidences.alpha(level).unwrap();
            assert!((alpha - expected).abs() < 5e-4, "{level:?}: {alpha} is not {expected}");
        }
    }
}
