//! Whether two series rise together. Knows nothing of what they measure.

use statrs::distribution::{ContinuousCDF as _, StudentsT};

/// Pearson's r; none of fewer than two pairs or where one series is constant.
pub(super) fn pearson(first: &[f64], second: &[f64]) -> Option<f64> {
    let n = first.len() as f64;
    let (centre, other_centre) = (first.iter().sum::<f64>() / n, second.iter().sum::<f64>() / n);
    let (mut both, mut one, mut other) = (0.0, 0.0, 0.0);
    for (a, b) in first.iter().zip(second) {
        let (a, b) = (a - centre, b - other_centre);
        both += a * b;
        one += a * a;
        other += b * b;
    }
    // The mean of equal values may miss them by the last digit.
    let varies = |series: &[f64]| series.windows(2).any(|pair| pair[0] != pair[1]);
    (varies(first) && varies(second)).then(|| (both / (one.sqrt() * other.sqrt())).clamp(-1.0, 1.0))
}

/// Spearman's rho, ties with the average of their ranks; none as [`pearson`].
pub(super) fn spearman(first: &[f64], second: &[f64]) -> Option<f64> {
    pearson(&average_ranks(first), &average_ranks(second))
}

/// The two-sided p value of a rank correlation of `n` pairs by Student's t; none of fewer than three.
pub(super) fn spearman_p(rho: f64, n: usize) -> Option<f64> {
    let freedom = n.checked_sub(2).filter(|freedom| *freedom > 0)? as f64;
    if rho.abs() >= 1.0 {
        return Some(0.0);
    }
    let t = rho * (freedom / ((1.0 + rho) * (1.0 - rho))).sqrt();
    Some(2.0 * StudentsT::new(0.0, 1.0, freedom).ok()?.sf(t.abs()))
}

/// Kendall's tau-b; none where one series is constant.
pub(super) fn kendall_tau_b(first: &[f64], second: &[f64]) -> Option<f64> {
    let (mut score, mut untied, mut other_untied) = (0_i64, 0_i64, 0_i64);
    for later in 1..first.len() {
        for earlier in 0..later {
            let one = sign(first[later], first[earlier]);
            let other = sign(second[later], second[earlier]);
            score += one * other;
            untied += one.abs();
            other_untied += other.abs();
        }
    }
    let scale = (untied as f64).sqrt() * (other_untied as f64).sqrt();
    (scale > 0.0).then(|| score as f64 / scale)
}

fn sign(one: f64, other: f64) -> i64 {
    i64::from(one > other) - i64::from(one < other)
}

fn average_ranks(values: &[f64]) -> Vec<f64> {
    let mut order: Vec<usize> = (0..values.len()).collect();
    order.sort_unstable_by(|left, right| values[*left].total_cmp(&values[*right]));
    let mut ranks = vec![0.0; values.len()];
    let mut below = 0;
    for tied in order.chunk_by(|left, right| values[*left] == values[*right]) {
        for place in tied {
            ranks[*place] = below as f64 + (tied.len() + 1) as f64 / 2.0;
        }
        below += tied.len();
    }
    ranks
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ties_share_the_average_of_their_ranks() {
        assert_eq!(average_ranks(&[2.0, 1.0, 2.0, 5.0]), [2.5, 1.0, 2.5, 4.0]);
        assert_eq!(average_ranks(&[3.0; 3]), [2.0; 3]);
        assert!(average_ranks(&[]).is_empty());
    }

    #[test]
    fn series_with_ties_have_the_values_of_scipy() {
        let (first, second) = ([1.0, 2.0, 2.0, 3.0, 5.0, 5.0], [2.0, 1.0, 3.0, 3.0, 4.0, 5.0]);
        let close = |actual: Option<f64>, expected: f64| {
            assert!((actual.unwrap() - expected).abs() < 1e-12, "{actual:?} is not {expected}");
        };
        close(spearman(&first, &second), 0.850_841_043_487_808_1);
        close(spearman_p(0.850_841_043_487_808_1, 6), 0.031_713_317_822_196_83);
        close(kendall_tau_b(&first, &second), 0.741_249_316_661_101_3);
        close(pearson(&first, &second), 0.845_154_254_728_516_7);
    }

    #[test]
    fn a_constant_series_rises_with_nothing() {
        let (flat, rising) = ([0.1; 3], [1.0, 2.0, 3.0]);
        for correlation in [pearson, spearman, kendall_tau_b] {
            assert_eq!(correlation(&flat, &rising), None);
            assert_eq!(correlation(&rising, &flat), None);
            assert_eq!(correlation(&[], &[]), None);
            assert_eq!(correlation(&[1.0], &[2.0]), None);
            assert!((correlation(&rising, &rising).unwrap() - 1.0).abs() < 1e-12);
        }
    }

    #[test]
    fn a_p_value_needs_three_pairs() {
        assert_eq!(spearman_p(0.5, 2), None);
        assert_eq!(spearman_p(1.0, 3), Some(0.0));
        assert_eq!(spearman_p(0.0, 9), Some(1.0));
    }
}
