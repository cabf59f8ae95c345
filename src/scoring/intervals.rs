//! How sure a value is: Wilson's interval for a percentage, a bootstrap over videos for means. Knows nothing
//! of what the numbers mean.

use std::array;

use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{Rng, SeedableRng};
use sha2::{Digest, Sha256};

/// The normal quantile of 97.5 %.
pub(super) const Z: f64 = 1.959_963_984_540_054;
pub(super) const RESAMPLES: usize = 2000;
pub(super) const TAILS: [f64; 2] = [0.025, 0.975];
/// The part of a scale by which sums of equal numbers may differ.
const ROUNDING: f64 = 1e-12;

/// What the questions of one video, or of many, add to `C` means that are taken together.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Tally<const C: usize> {
    /// Per mean, the sum of its values in hundredths of its unit.
    pub sums: [u64; C],
    /// Per mean, how many values there are.
    pub counts: [u64; C],
}

impl<const C: usize> Tally<C> {
    /// Nothing counted yet.
    pub const EMPTY: Self = Self { sums: [0; C], counts: [0; C] };

    /// Adds another tally to this one.
    pub fn add(&mut self, other: &Self) {
        for index in 0..C {
            self.sums[index] += other.sums[index];
            self.counts[index] += other.counts[index];
        }
    }

    /// The total of several tallies.
    pub fn total(tallies: &[Self]) -> Self {
        tallies.iter().fold(Self::EMPTY, |mut total, tally| {
            total.add(tally);
            total
        })
    }

    /// The plain mean of the `C` means; none where one of them has no value.
    pub fn value(&self) -> Option<f64> {
        if self.counts.contains(&0) {
            return None;
        }
        let means: [f64; C] =
            array::from_fn(|index| self.sums[index] as f64 / (100 * self.counts[index]) as f64);
        Some(means.iter().sum::<f64>() / C as f64)
    }
}

/// Wilson's 95 % interval, in percent, for `hits` of `n`; the whole scale where `n` is 0.
pub fn wilson(hits: u64, n: u64) -> [f64; 2] {
    if n == 0 {
        return [0.0, 100.0];
    }
    wilson_of_share(hits as f64 / n as f64, n).map(|bound| 100.0 * bound)
}

/// Wilson's 95 % interval for a share of `n`, which is at least 1.
fn wilson_of_share(share: f64, n: u64) -> [f64; 2] {
    let n = n as f64;
    let scale = 1.0 / (1.0 + Z * Z / n);
    let centre = share + Z * Z / (2.0 * n);
    let half = Z * (share * (1.0 - share) / n + Z * Z / (4.0 * n * n)).sqrt();
    // At both ends the bound is exact, and rounding must not push it off the scale.
    let low = if share <= 0.0 { 0.0 } else { scale * (centre - half) };
    let high = if share >= 1.0 { 1.0 } else { scale * (centre + half) };
    [low, high]
}

/// The seed of a column's bootstrap, the same for every submission to a release.
pub fn seed(release: &str, column: &str) -> [u8; 32] {
    let mut hash = Sha256::new();
    hash.update(release.as_bytes());
    hash.update([0]);
    hash.update(column.as_bytes());
    hash.finalize().into()
}

/// The 95 % interval of [`Tally::value`], a mean on a scale from 0 to `top`: the bootstrap's, or, where all resamples are
/// alike, Wilson's for the same share of the scale over as many videos.
///
/// Videos that are alike do not prove that all videos are; no answers on that scale scatter more than those that have all or
/// nothing of it. None where no resample has a value.
pub fn over_videos<const C: usize>(seed: [u8; 32], videos: &[Tally<C>], top: f64) -> Option<[f64; 2]> {
    let [low, high] = bootstrap(seed, videos)?;
    if high - low > ROUNDING * top {
        return Some([low, high]);
    }
    Some(wilson_of_share(low / top, videos.len() as u64).map(|bound| top * bound))
}

/// The 95 % percentile interval of [`Tally::value`] over 2,000 resamples of the videos, drawn with
/// replacement.
///
/// A resample without any question of one of the means has no value and is left out. None where no resample
/// has one.
fn bootstrap<const C: usize>(seed: [u8; 32], videos: &[Tally<C>]) -> Option<[f64; 2]> {
    let mut random = ChaCha8Rng::from_seed(seed);
    let mut values: Vec<f64> = (0..RESAMPLES)
        .filter_map(|_| {
            let mut resample = Tally::EMPTY;
            for _ in 0..videos.len() {
                resample.add(&videos[draw(&mut random, videos.len())]);
            }
            resample.value()
        })
        .collect();
    values.sort_unstable_by(f64::total_cmp);
    (!values.is_empty()).then(|| TAILS.map(|share| quantile(&values, share)))
}

/// A position below `len`: the high half of a product, so that no library's sampling decides the digits.
pub(super) fn draw(random: &mut ChaCha8Rng, len: usize) -> usize {
    ((u128::from(random.next_u64()) * len as u128) >> 64) as usize
}

/// The quantile of sorted values, of which there is at least one, linear between neighbours.
pub(super) fn quantile(sorted: &[f64], share: f64) -> f64 {
    let place = share * (sorted.len() - 1) as f64;
    let below = sorted[place.floor() as usize];
    let above = sorted[place.ceil() as usize];
    below + (above - below) * place.fract()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn one_answer_each(hundredths: &[u64]) -> Vec<Tally<1>> {
        hundredths.iter().map(|sum| Tally { sums: [*sum], counts: [1] }).collect()
    }

    fn assert_close(actual: [f64; 2], expected: [f64; 2]) {
        for (actual, expected) in actual.iter().zip(expected) {
            assert!((actual - expected).abs() < 5e-5, "{actual} is not {expected}");
        }
    }

    #[test]
    fn wilsons_interval_has_the_values_of_the_textbook() {
        assert_close(wilson(8, 10), [49.0162, 94.3318]);
        assert_close(wilson(483, 500), [94.6229, 97.8665]);
        assert_close(wilson(0, 10), [0.0, 27.7533]);
        assert_close(wilson(10, 10), [72.2467, 100.0]);
        assert_eq!(wilson(0, 0), [0.0, 100.0]);
    }

    #[test]
    fn wilsons_interval_holds_its_value_and_stays_on_the_scale() {
        for n in 1..=60 {
            for hits in 0..=n {
                let [low, high] = wilson(hits, n);
                let value = 100.0 * hits as f64 / n as f64;
                assert!(0.0 <= low && low <= value && value <= high && high <= 100.0, "{hits} of {n}");
            }
        }
    }

    #[test]
    fn the_digits_of_a_bootstrap_are_fixed() {
        let videos = one_answer_each(&(0..500).map(|video| video * 7 % 501).collect::<Vec<u64>>());
        let interval = bootstrap(seed("2026-06", "OEMU"), &videos);
        assert_eq!(interval, Some([2.36978, 2.6180865]));
        assert_ne!(interval, bootstrap(seed("2026-06", "MCQ"), &videos));
        assert_ne!(interval, bootstrap(seed("2026-07", "OEMU"), &videos));
    }

    #[test]
    fn a_bootstrap_agrees_with_the_standard_error() {
        let hundredths: Vec<u64> = (0..400).map(|video| if video % 2 == 0 { 100 } else { 500 }).collect();
        let interval = bootstrap(seed("r", "c"), &one_answer_each(&hundredths));
        let half = Z * 2.0 / 400_f64.sqrt();
        let [low, high] = interval.expect("every resample has a value");
        assert!((low - (3.0 - half)).abs() < 0.02 && (high - (3.0 + half)).abs() < 0.02, "{low} {high}");
    }

    #[test]
    fn equal_answers_leave_the_doubt_of_so_many_videos() {
        let of_nine = |hundredths| over_videos(seed("r", "c"), &one_answer_each(&[hundredths; 9]), 5.0);
        assert_close(of_nine(500).expect("a value"), [3.504_265, 5.0]);
        assert_close(of_nine(0).expect("a value"), [0.0, 1.495_735]);
        let [low, high] = of_nine(295).expect("a value");
        assert!(low < 2.95 && 2.95 < high, "{low} {high}");
    }

    #[test]
    fn the_mean_of_means_weighs_columns_alike() {
        let tally = Tally { sums: [10_000, 30_000], counts: [1, 6] };
        assert_eq!(tally.value(), Some(75.0));
    }

    #[test]
    fn a_resample_without_a_question_of_a_column_is_left_out() {
        let first = Tally { sums: [10_000, 0], counts: [1, 0] };
        let second = Tally { sums: [0, 0], counts: [0, 1] };
        assert_eq!(bootstrap(seed("r", "c"), &[first, second]), Some([50.0, 50.0]));
        assert_eq!(bootstrap(seed("r", "c"), &[first]), None);
        assert_eq!(bootstrap::<1>(seed("r", "c"), &[]), None);
    }
}
