//! How sure a difference is, as a whole number, so that Holm's procedure over thousands of comparisons needs no p value
//! and no sorting. Knows nothing of entries.

use statrs::distribution::{ContinuousCDF as _, StudentsT};

use crate::domain::column::Column;
use crate::scoring::pairs::mid_p;

/// The chance that any of an entry's comparisons is called clear where there is no difference.
pub(super) const ALPHA: f64 = 0.05;

/// Not looked up yet.
const UNKNOWN: u32 = u32::MAX;

/// What lies between two entries in a column: sums over its videos of the differences and of their squares. For a percent
/// column, questions won less questions lost, and questions won or lost.
#[derive(Debug, Clone, Copy)]
pub(super) struct Gap {
    pub(super) sum: f64,
    pub(super) squares: f64,
}

/// The levels of a column's differences. The level of a p value is the greatest `k`, up to the number of comparisons, for
/// which it is at most `ALPHA / k`; 0 where it is above `ALPHA`.
pub(super) enum Levels {
    /// Mid-p McNemar: by questions won or lost, and the lesser of the two.
    Counts { comparisons: u32, known: Vec<u32> },
    /// Paired t over so many videos: per level the square of the least t.
    Squares { videos: f64, least: Vec<f64> },
}

impl Levels {
    pub(super) fn new(column: Column, videos: usize, comparisons: usize) -> Levels {
        if Column::PERCENT.contains(&column) {
            let known = vec![UNKNOWN; place(videos + 1, 0)];
            return Levels::Counts { comparisons: comparisons as u32, known };
        }
        // A single video leaves no measure of chance: no t is great enough.
        let student = StudentsT::new(0.0, 1.0, videos as f64 - 1.0);
        let least = |student: StudentsT| {
            (1..=comparisons).map(move |k| student.inverse_cdf(ALPHA / 2.0 / k as f64).powi(2)).collect()
        };
        Levels::Squares { videos: videos as f64, least: student.map(least).unwrap_or_default() }
    }

    pub(super) fn of(&mut self, gap: Gap) -> u32 {
        if gap.sum == 0.0 {
            return 0;
        }
        match self {
            Levels::Counts { comparisons, known } => {
                let (total, lesser) = (gap.squares as usize, (gap.squares - gap.sum.abs()) as usize / 2);
                let level = &mut known[place(total, lesser)];
                if *level == UNKNOWN {
                    let p = mid_p((total - lesser) as u64, lesser as u64);
                    *level = (ALPHA / p).min(f64::from(*comparisons)) as u32;
                }
                *level
            }
            Levels::Squares { videos, least } => {
                // t² = sum² / (squared standard error of the sum); without scatter it is boundless.
                let scatter = (*videos * gap.squares - gap.sum * gap.sum) / (*videos - 1.0);
                let square = if scatter > 0.0 { gap.sum * gap.sum / scatter } else { f64::INFINITY };
                match least.as_slice() {
                    [lowest, ..] if square < *lowest => 0,
                    [.., highest] if square >= *highest => least.len() as u32,
                    _ => least.partition_point(|least| *least <= square) as u32,
                }
            }
        }
    }
}

/// The place in a triangle of those that have so many questions won or lost; the lesser number is at most half of them.
fn place(total: usize, lesser: usize) -> usize {
    // Row t has t / 2 + 1 places.
    total.div_ceil(2) * (total / 2 + 1) + lesser
}

/// The level from which on Holm's procedure calls a difference clear, given the levels of all comparisons; further ones
/// may be among them at level 0.
pub(super) fn cut(levels: &[u32], comparisons: usize) -> u32 {
    let mut at_level = vec![0_usize; comparisons + 1];
    for level in levels {
        at_level[*level as usize] += 1;
    }
    // The j-th surest must be below ALPHA / (comparisons - j + 1), and so must be all before it.
    let mut sure = 0;
    for level in (1..=comparisons).rev() {
        sure += at_level[level];
        if sure < comparisons - level + 1 {
            return level as u32;
        }
    }
    1
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_places_of_counts_do_not_overlap() {
        let mut next = 0;
        for total in 0..40 {
            for lesser in 0..=total / 2 {
                assert_eq!(place(total, lesser), next, "{total} {lesser}");
                next += 1;
            }
        }
    }

    #[test]
    fn a_level_says_how_often_the_chance_fits_into_five_percent() {
        let mut levels = Levels::new(Column::Pmt, 20, 5);
        let mut of = |won: f64, lost: f64| levels.of(Gap { sum: won - lost, squares: won + lost });
        // Mid-p: 1/2, 1/16, 1/32, 1/64, and far below a fifth of 5 %.
        assert_eq!([of(1.0, 0.0), of(4.0, 0.0), of(5.0, 0.0), of(0.0, 6.0), of(20.0, 0.0)], [0, 0, 1, 3, 5]);
        assert_eq!(of(7.0, 7.0), 0);
        let mut levels = Levels::new(Column::Oemu, 2, 1);
        // With one degree of freedom the least t is 12.706.
        let mut of = |first: f64, second: f64| {
            levels.of(Gap { sum: first + second, squares: first * first + second * second })
        };
        assert_eq!([of(1.0, 0.8), of(1.0, 0.9), of(1.0, 1.0), of(0.0, 0.0)], [0, 1, 1, 0]);
        assert_eq!(Levels::new(Column::Oemu, 1, 1).of(Gap { sum: 5.0, squares: 25.0 }), 0);
    }

    #[test]
    fn the_cut_stops_at_the_first_that_is_not_sure_enough() {
        // Three comparisons: the surest needs level 3, the next 2, the last 1.
        assert_eq!(cut(&[3, 2, 1], 3), 1);
        assert_eq!(cut(&[3, 1, 1], 3), 2);
        assert_eq!(cut(&[2, 2, 1], 3), 3);
        assert_eq!(cut(&[0, 3, 3, 3], 3), 1);
        assert_eq!(cut(&[0], 0), 1);
    }
}
