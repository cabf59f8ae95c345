//! Two submissions on the same questions: how far apart they are in a column, and whether chance explains it. Knows
//! nothing of whose they are.

use statrs::distribution::{Binomial, ContinuousCDF as _, Discrete as _, DiscreteCDF as _, StudentsT};

use crate::domain::column::Column;
use crate::domain::outcome::Outcome;

use super::columns::{QuestionFacts, video_tallies};
use super::intervals::{Tally, Z};

/// A difference with the chance of one so large where there is none.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Difference {
    /// The first minus the second, in the column's unit.
    pub value: f64,
    /// The bounds of the 95 % interval, in the column's unit.
    pub ci95: [f64; 2],
    /// The two-sided p value: mid-p McNemar's for a percentage, paired t over videos for a mean and for `MCQ`.
    pub p: f64,
}

/// How far the first stands above the second in a column; none where the column stands for neither or one alone.
pub fn difference(
    column: Column,
    questions: &[QuestionFacts],
    first: &[Outcome],
    second: &[Outcome],
) -> Option<Difference> {
    let (first, second) = (parts(column, questions, first)?, parts(column, questions, second)?);
    let by_video: Vec<f64> = first.iter().zip(&second).map(|(one, other)| one - other).collect();
    if Column::PERCENT.contains(&column) {
        // A type occurs once a video: each video's part is a question won, lost or tied.
        let count = |sign: f64| by_video.iter().filter(|part| **part * sign > 0.0).count() as u64;
        return Some(of_counts(count(1.0), count(-1.0), by_video.len() as u64));
    }
    Some(of_parts(&by_video))
}

/// What each video that a column counts adds to its value, in the column's unit; none where the column does not stand. Of
/// two files that are equally good at a video the parts are equal to the last digit, whichever questions they have right.
fn parts(column: Column, questions: &[QuestionFacts], outcomes: &[Outcome]) -> Option<Vec<f64>> {
    let columns: &[Column] = if column == Column::Mcq { &Column::PERCENT } else { &[column] };
    let mut by_video: Vec<Option<f64>> = Vec::new();
    for part in columns {
        let videos = video_tallies(*part, questions, outcomes)?;
        let [n] = Tally::total(&videos).counts;
        if n == 0 {
            return None;
        }
        by_video.resize(videos.len(), None);
        for (sum, video) in by_video.iter_mut().zip(&videos).filter(|(_, video)| video.counts != [0]) {
            let share = (100 * n * columns.len() as u64) as f64;
            *sum.get_or_insert(0.0) += video.sums[0] as f64 / share;
        }
    }
    Some(by_video.into_iter().flatten().collect())
}

/// The difference of two percentages from the questions, of `n`, that only the first and only the second has right.
fn of_counts(won: u64, lost: u64, n: u64) -> Difference {
    let (won_f, lost_f, n_f) = (won as f64, lost as f64, n as f64);
    let value = 100.0 * (won_f - lost_f) / n_f;
    // Agresti and Min: half a question more of each kind, so that a few do not pass for certain.
    let (more_won, more_lost, more_n) = (won_f + 0.5, lost_f + 0.5, n_f + 2.0);
    let centre = (more_won - more_lost) / more_n;
    let half = Z * ((more_won + more_lost) / more_n - centre * centre).max(0.0).sqrt() / more_n.sqrt();
    Difference { value, ci95: [100.0 * (centre - half), 100.0 * (centre + half)], p: mid_p(won, lost) }
}

/// Mid-p of McNemar's exact test.
pub(super) fn mid_p(won: u64, lost: u64) -> f64 {
    let Ok(binomial) = Binomial::new(0.5, won + lost) else { return 1.0 };
    let least = won.min(lost);
    if won == lost {
        return 1.0;
    }
    (2.0 * binomial.cdf(least) - binomial.pmf(least)).min(1.0)
}

/// The sum of the videos' parts, by a paired t test.
fn of_parts(parts: &[f64]) -> Difference {
    let n = parts.len() as f64;
    let value: f64 = parts.iter().sum();
    let mean = value / n;
    let variance = parts.iter().map(|part| (part - mean).powi(2)).sum::<f64>() / (n - 1.0);
    let error = n * (variance / n).sqrt();
    let student = StudentsT::new(0.0, 1.0, n - 1.0);
    let (Ok(student), true) = (student, error > 0.0) else {
        // Videos that all agree, or a single one, leave no measure of chance.
        let p = if value == 0.0 || n < 2.0 { 1.0 } else { 0.0 };
        return Difference { value, ci95: [value; 2], p };
    };
    let half = student.inverse_cdf(0.975) * error;
    let p = 2.0 * student.cdf(-(value / error).abs());
    Difference { value, ci95: [value - half, value + half], p }
}

/// The p values of several questions that are asked together, each raised so that the chance of any false yes stays as
/// said (Holm), in the order given.
pub fn holm(p_values: &[f64]) -> Vec<f64> {
    let mut order: Vec<usize> = (0..p_values.len()).collect();
    order.sort_by(|one, other| p_values[*one].total_cmp(&p_values[*other]));
    let mut raised = vec![1.0; p_values.len()];
    let mut highest = 0.0_f64;
    for (rank, place) in order.into_iter().enumerate() {
        highest = highest.max(p_values[place] * (p_values.len() - rank) as f64).min(1.0);
        raised[place] = highest;
    }
    raised
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::choice::{Choice, Reason};
    use crate::domain::question::{Camera, QuestionFormat, QuestionType};

    fn close(actual: f64, expected: f64) {
        assert!((actual - expected).abs() < 5e-4, "{actual} is not {expected}");
    }

    #[test]
    fn mid_p_has_the_values_of_the_binomial() {
        // 2·(1 + 10) / 1024 - 10 / 1024
        close(mid_p(9, 1), 0.0117);
        close(mid_p(1, 9), 0.0117);
        assert_eq!((mid_p(4, 4), mid_p(0, 0)), (1.0, 1.0));
        close(mid_p(1, 0), 0.5);
    }

    #[test]
    fn a_paired_t_test_has_the_values_of_the_textbook() {
        // Mean 0.75, standard deviation 1.7078, t = 0.8783 with 3 degrees of freedom.
        let Difference { value, ci95: [low, high], p } = of_parts(&[1.0, -1.0, 3.0, 0.0]);
        assert_eq!(value, 3.0);
        close(p, 0.4444);
        close(low / 4.0, 0.75 - 2.7175);
        close(high / 4.0, 0.75 + 2.7175);
        assert_eq!(of_parts(&[0.0; 5]).p, 1.0);
        assert_eq!(of_parts(&[1.0]).p, 1.0);
    }

    #[test]
    fn holm_raises_in_steps_and_keeps_the_order() {
        let raised = holm(&[0.04, 0.01, 0.03, 0.5]);
        for (actual, expected) in raised.into_iter().zip([0.09, 0.04, 0.09, 0.5]) {
            close(actual, expected);
        }
        assert_eq!(holm(&[]), Vec::<f64>::new());
    }

    fn files(right: impl Fn(usize) -> [bool; 2]) -> (Vec<QuestionFacts>, Vec<Outcome>, Vec<Outcome>) {
        let types = QuestionType::ALL.iter().filter(|t| t.format() == QuestionFormat::MultipleChoice);
        let facts: Vec<QuestionFacts> = types
            .flat_map(|&question_type| {
                (0..20).map(move |video| QuestionFacts { question_type, camera: Camera::Static, video })
            })
            .collect();
        let outcome = |correct| Outcome::Choice { choice: Choice::letter('A', Reason::LabelOnly), correct };
        let of = |file: usize| facts.iter().map(|facts| outcome(right(facts.video)[file])).collect();
        let (first, second) = (of(0), of(1));
        (facts, first, second)
    }

    #[test]
    fn a_difference_is_the_first_minus_the_second_in_every_kind_of_column() {
        let (facts, first, second) = files(|video| [video < 15, video < 10]);
        for column in [Column::Pmt, Column::Mcq] {
            let found = difference(column, &facts, &first, &second).unwrap();
            close(found.value, 25.0);
            assert!(found.ci95[0] < 25.0 && 25.0 < found.ci95[1] && found.p < 0.05, "{found:?}");
            close(difference(column, &facts, &second, &first).unwrap().value, -25.0);
        }
        assert_eq!(difference(Column::Oemu, &facts, &first, &second), None);
    }
}
