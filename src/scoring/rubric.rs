//! What three judged integers are worth. Knows nothing of how they were come by.

use crate::domain::column::CaptionDimension;
use crate::domain::dimension::Dimension;
use crate::domain::question::Rubric;

/// Weights of camera, activity and relationship, in percent (paper, the judge's criteria for open-ended
/// answers).
const OEMU_WEIGHTS: [u32; 3] = [35, 30, 35];

/// The weighted value of an `oemu` answer in hundredths of a point, from 0 to 500: an integer, so that the
/// same scores always give the same digits.
pub fn oemu_hundredths(scores: [u8; 3]) -> u32 {
    OEMU_WEIGHTS.iter().zip(scores).map(|(weight, score)| weight * u32::from(score)).sum()
}

/// The weighted value of an `oemu` answer, from 0 to 5.
pub fn oemu_value(scores: [u8; 3]) -> f64 {
    f64::from(oemu_hundredths(scores)) / 100.0
}

/// The value of a `caption` answer in one of its three dimensions, in hundredths of a point, from 0 to 500.
pub fn caption_hundredths(scores: [u8; 3], dimension: CaptionDimension) -> u32 {
    100 * u32::from(scores[dimension.criterion()])
}

/// The value of an answer in the dimension in which people rate it, from 0 to 5.
pub fn dimension_value(dimension: Dimension, scores: [u8; 3]) -> f64 {
    match dimension.caption() {
        None => oemu_value(scores),
        Some(caption) => f64::from(scores[caption.criterion()]),
    }
}

/// The value of one answer, from 0 to 5: the weighted one of an `oemu` answer, the mean of a caption's three.
pub fn value(rubric: Rubric, scores: [u8; 3]) -> f64 {
    match rubric {
        Rubric::Oemu => oemu_value(scores),
        Rubric::Caption => f64::from(scores.iter().map(|score| u32::from(*score)).sum::<u32>()) / 3.0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_weights_are_those_of_the_paper() {
        assert_eq!(oemu_value([1, 0, 0]), 0.35);
        assert_eq!(oemu_value([0, 1, 0]), 0.3);
        assert_eq!(oemu_value([0, 0, 1]), 0.35);
        assert_eq!(oemu_value([3, 4, 2]), 2.95);
    }

    #[test]
    fn what_people_rate_is_the_weighted_value_or_one_criterion() {
        let values = Dimension::ALL.iter().map(|dimension| dimension_value(*dimension, [4, 2, 1]));
        assert_eq!(values.collect::<Vec<f64>>(), [2.35, 4.0, 2.0, 1.0]);
    }

    #[test]
    fn the_weighted_scale_runs_from_zero_to_five() {
        assert_eq!(oemu_hundredths([0; 3]), 0);
        assert_eq!(oemu_hundredths([5; 3]), 500);
    }

    #[test]
    fn a_caption_has_a_value_in_each_dimension() {
        let hundredths =
            CaptionDimension::ALL.iter().map(|dimension| caption_hundredths([0, 3, 5], *dimension));
        assert_eq!(hundredths.collect::<Vec<u32>>(), [0, 300, 500]);
    }
}
