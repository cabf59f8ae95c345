//! The columns of one submission from what became of its answers. Knows nothing of storage, teams or other
//! submissions.

use crate::domain::column::Column;
use crate::domain::outcome::Outcome;
use crate::domain::question::{Camera, QuestionFormat, QuestionType};

use super::intervals::{self, Tally};
use super::rubric;

/// What a right letter adds to a percent column, in hundredths of a percent.
pub(super) const RIGHT: u64 = 100 * 100;

/// What the columns need to know of a question.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct QuestionFacts {
    /// What the question asks about.
    pub question_type: QuestionType,
    /// The camera of its video.
    pub camera: Camera,
    /// Position of its video in the release, from 0.
    pub video: usize,
}

/// The value of one column, with how sure it is.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ColumnScore {
    /// The column.
    pub column: Column,
    /// The value, unrounded, in the column's unit.
    pub value: f64,
    /// The bounds of the 95 % interval, in the column's unit.
    pub ci95: [f64; 2],
    /// How many questions of the release the column counts, answered or not.
    pub n: u32,
}

/// Why outcomes cannot be scored against questions: they are not of this release.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum ScoringError {
    /// There is not one outcome for every question.
    #[error("there are {outcomes} outcomes for {questions} questions")]
    Count {
        /// Number of questions.
        questions: usize,
        /// Number of outcomes.
        outcomes: usize,
    },
    /// An open-ended question has a letter, or a multiple-choice question the scores of a judge.
    #[error("the outcome of question {index} does not fit its format")]
    Format {
        /// Position of the question in the release, from 0.
        index: usize,
    },
}

/// The columns that stand, in the benchmark's order, for one outcome per question of the release.
///
/// A column is absent where the release has no question for it or where one of its answers is pending or
/// failed; `MCQ` is absent unless all seven of its columns stand. `release` names the release and seeds the
/// intervals: the same name and outcomes give the same digits.
///
/// # Errors
/// [`ScoringError`] where the outcomes are not those of these questions.
pub fn score_columns(
    release: &str,
    questions: &[QuestionFacts],
    outcomes: &[Outcome],
) -> Result<Vec<ColumnScore>, ScoringError> {
    if questions.len() != outcomes.len() {
        return Err(ScoringError::Count { questions: questions.len(), outcomes: outcomes.len() });
    }
    if let Some(index) =
        questions.iter().zip(outcomes).position(|(question, outcome)| !fits(question, outcome))
    {
        return Err(ScoringError::Format { index });
    }
    let score = |column: &Column| match column {
        Column::Mcq => score_mcq(release, questions, outcomes),
        _ => score_column(release, *column, &video_tallies(*column, questions, outcomes)?),
    };
    Ok(Column::ALL.iter().filter_map(score).collect())
}

/// The value that [`score_columns`] gives a column, without the interval that it takes time to draw; none where the column
/// does not stand. `questions` and `outcomes` are those of one release.
pub fn column_value(column: Column, questions: &[QuestionFacts], outcomes: &[Outcome]) -> Option<f64> {
    match column {
        Column::Mcq => Tally::total(&mcq_tallies(questions, outcomes)?).value(),
        _ => Tally::total(&video_tallies(column, questions, outcomes)?).value(),
    }
}

fn fits(question: &QuestionFacts, outcome: &Outcome) -> bool {
    match outcome {
        Outcome::Choice { .. } => question.question_type.format() == QuestionFormat::MultipleChoice,
        Outcome::Rubric { .. } | Outcome::Failed(_) => {
            question.question_type.format() == QuestionFormat::OpenEnded
        }
        Outcome::Pending => true,
    }
}

fn score_column(release: &str, column: Column, videos: &[Tally<1>]) -> Option<ColumnScore> {
    let total = Tally::total(videos);
    let ([sum], [n]) = (total.sums, total.counts);
    let value = total.value()?;
    let ci95 = if Column::PERCENT.contains(&column) {
        intervals::wilson(sum / RIGHT, n)
    } else {
        // Videos without a question of the column say nothing about it and are not drawn.
        let counted: Vec<Tally<1>> = videos.iter().copied().filter(|video| video.counts != [0]).collect();
        intervals::over_videos(intervals::seed(release, column.as_str()), &counted, column.unit().top())?
    };
    Some(ColumnScore { column, value, ci95, n: n as u32 })
}

/// The plain mean of the seven percent columns. Should no resample of the videos hold all seven types,
/// nothing is known about it and the interval is the whole scale.
fn score_mcq(release: &str, questions: &[QuestionFacts], outcomes: &[Outcome]) -> Option<ColumnScore> {
    let mut videos = mcq_tallies(questions, outcomes)?;
    videos.retain(|video| *video != Tally::EMPTY);
    let total = Tally::total(&videos);
    let seed = intervals::seed(release, Column::Mcq.as_str());
    Some(ColumnScore {
        column: Column::Mcq,
        value: total.value()?,
        ci95: intervals::over_videos(seed, &videos, 100.0).unwrap_or([0.0, 100.0]),
        n: total.counts.iter().sum::<u64>() as u32,
    })
}

/// Per video of the release what it adds to each percent column; none while one of the answers has no value.
fn mcq_tallies(questions: &[QuestionFacts], outcomes: &[Outcome]) -> Option<Vec<Tally<7>>> {
    let mut videos: Vec<Tally<7>> = vec![Tally::EMPTY; video_count(questions)];
    for (place, column) in Column::PERCENT.into_iter().enumerate() {
        for (video, tally) in videos.iter_mut().zip(video_tallies(column, questions, outcomes)?) {
            [video.sums[place]] = tally.sums;
            [video.counts[place]] = tally.counts;
        }
    }
    Some(videos)
}

/// Per video of the release what it adds to a column; none while one of the column's answers has no value.
pub(super) fn video_tallies(
    column: Column,
    questions: &[QuestionFacts],
    outcomes: &[Outcome],
) -> Option<Vec<Tally<1>>> {
    let mut videos = vec![Tally::EMPTY; video_count(questions)];
    for (question, outcome) in questions.iter().zip(outcomes) {
        if column.counts(question.question_type, question.camera) {
            videos[question.video].add(&Tally { sums: [hundredths(column, outcome)?], counts: [1] });
        }
    }
    Some(videos)
}

/// What an outcome is worth in a column, in hundredths of its unit; none while it is not judged.
pub(super) fn hundredths(column: Column, outcome: &Outcome) -> Option<u64> {
    match (*outcome, column.caption_dimension()) {
        (Outcome::Choice { correct, .. }, _) => Some(if correct { RIGHT } else { 0 }),
        (Outcome::Rubric { scores }, None) => Some(rubric::oemu_hundredths(scores).into()),
        (Outcome::Rubric { scores }, Some(dimension)) => {
            Some(rubric::caption_hundredths(scores, dimension).into())
        }
        (Outcome::Pending | Outcome::Failed(_), _) => None,
    }
}

fn video_count(questions: &[QuestionFacts]) -> usize {
    questions.iter().map(|question| question.video + 1).max().unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::domain::choice::{Choice, Reason};
    use crate::domain::outcome::FailureReason;

    const OPEN_ENDED: [QuestionType; 2] = [QuestionType::CameraObjectOpenEnded, QuestionType::Caption];

    /// Videos of all nine types; the first of each three has a static camera, the second a moving one.
    fn questions(videos: usize) -> Vec<QuestionFacts> {
        let cameras = [Camera::Static, Camera::Moving, Camera::Unknown];
        let of_video = |video| {
            let facts =
                move |question_type| QuestionFacts { question_type, camera: cameras[video % 3], video };
            QuestionType::ALL.iter().copied().map(facts)
        };
        (0..videos).flat_map(of_video).collect()
    }

    fn letter(correct: bool) -> Outcome {
        Outcome::Choice { choice: Choice { letter: None, reason: Reason::ALL[0] }, correct }
    }

    /// Right letters where the video's number is even, and judged scores that follow the number.
    fn outcomes(questions: &[QuestionFacts]) -> Vec<Outcome> {
        let outcome = |question: &QuestionFacts| match question.question_type.format() {
            QuestionFormat::MultipleChoice => letter(question.video.is_multiple_of(2)),
            QuestionFormat::OpenEnded => Outcome::Rubric { scores: [question.video as u8 % 6, 3, 5] },
        };
        questions.iter().map(outcome).collect()
    }

    fn score(questions: &[QuestionFacts], outcomes: &[Outcome]) -> Vec<ColumnScore> {
        score_columns("2026-06", questions, outcomes).expect("the outcomes fit the questions")
    }

    fn find(scores: &[ColumnScore], column: Column) -> Option<ColumnScore> {
        scores.iter().copied().find(|score| score.column == column)
    }

    fn columns(scores: &[ColumnScore]) -> Vec<Column> {
        scores.iter().map(|score| score.column).collect()
    }

    #[test]
    fn every_column_of_a_judged_submission_stands() {
        let questions = questions(6);
        let scores = score(&questions, &outcomes(&questions));
        assert_eq!(columns(&scores), Column::ALL);
        let values = |column| find(&scores, column).map(|score| (score.value, score.n));
        assert_eq!(values(Column::SmL), Some((50.0, 6)));
        assert_eq!(values(Column::Mcq), Some((50.0, 42)));
        assert_eq!(values(Column::Oemu), Some((2.65 + 0.35 * 2.5, 6)));
        assert_eq!(values(Column::StaticBeh), Some((1.5, 2)));
        assert_eq!(values(Column::MovingBeh), Some((2.5, 2)));
        assert_eq!(values(Column::MovingEcf), Some((5.0, 2)));
    }

    #[test]
    fn a_value_alone_is_the_value_beside_its_interval() {
        let questions = questions(7);
        let mut outcomes = outcomes(&questions);
        let last = questions.iter().rposition(|question| question.question_type == QuestionType::Caption);
        outcomes[last.expect("there is one")] = Outcome::Pending;
        let scores = score(&questions, &outcomes);
        assert!(scores.len() < Column::ALL.len());
        for column in Column::ALL {
            let expected = find(&scores, *column).map(|score| score.value);
            assert_eq!(column_value(*column, &questions, &outcomes), expected, "{column}");
        }
    }

    #[test]
    fn every_interval_holds_its_value() {
        let questions = questions(30);
        for ColumnScore { column, value, ci95: [low, high], .. } in score(&questions, &outcomes(&questions)) {
            assert!(low <= value && value <= high, "{column}: {low} {value} {high}");
        }
    }

    #[test]
    fn one_answer_that_is_not_judged_takes_away_its_columns_alone() {
        let questions = questions(3);
        for missing in [Outcome::Pending, Outcome::Failed(FailureReason::Refused)] {
            let mut outcomes = outcomes(&questions);
            let is_static_caption = |question: &QuestionFacts| {
                question.question_type == QuestionType::Caption && question.camera == Camera::Static
            };
            let place = questions.iter().position(is_static_caption).expect("there is one");
            outcomes[place] = missing;
            let absent = [Column::StaticBeh, Column::StaticAh, Column::StaticEcf];
            let expected: Vec<Column> =
                Column::ALL.iter().copied().filter(|column| !absent.contains(column)).collect();
            assert_eq!(columns(&score(&questions, &outcomes)), expected);
        }
    }

    #[test]
    fn percent_columns_stand_before_anything_is_judged() {
        let questions = questions(2);
        let mut outcomes = outcomes(&questions);
        for (question, outcome) in questions.iter().zip(&mut outcomes) {
            if OPEN_ENDED.contains(&question.question_type) {
                *outcome = Outcome::Pending;
            }
        }
        let expected: Vec<Column> = Column::PERCENT.into_iter().chain([Column::Mcq]).collect();
        assert_eq!(columns(&score(&questions, &outcomes)), expected);
    }

    #[test]
    fn a_column_without_a_question_is_absent_and_mcq_needs_all_seven() {
        let mut questions = questions(4);
        questions.retain(|question| question.question_type != QuestionType::Lighting);
        let scores = score(&questions, &outcomes(&questions));
        assert_eq!(find(&scores, Column::SmL), None);
        assert_eq!(find(&scores, Column::Mcq), None);
        assert!(find(&scores, Column::SmE).is_some());
        assert_eq!(score(&[], &[]), []);
    }

    #[test]
    fn mcq_weighs_its_columns_alike_however_many_questions_they_have() {
        let mut questions = questions(4);
        questions.retain(|question| question.question_type != QuestionType::Lighting || question.video == 0);
        let outcomes: Vec<Outcome> = questions
            .iter()
            .map(|question| match question.question_type {
                QuestionType::Lighting => letter(true),
                question_type if OPEN_ENDED.contains(&question_type) => Outcome::Pending,
                _ => letter(false),
            })
            .collect();
        let mcq = find(&score(&questions, &outcomes), Column::Mcq).expect("all seven stand");
        assert_eq!((mcq.value, mcq.n), (100.0 / 7.0, 25));
        // Only resamples that hold the one lighting question have a value, and all of them have the same: they say nothing.
        let [low, high] = mcq.ci95;
        assert!(low < 2.0 && high > 60.0, "four videos say little: {low} {high}");
    }

    #[test]
    fn outcomes_of_another_release_are_refused() {
        let questions = questions(1);
        let mut outcomes = outcomes(&questions);
        outcomes[0] = Outcome::Rubric { scores: [5; 3] };
        assert_eq!(score_columns("r", &questions, &outcomes), Err(ScoringError::Format { index: 0 }));
        outcomes.pop();
        let expected = ScoringError::Count { questions: 9, outcomes: 8 };
        assert_eq!(score_columns("r", &questions, &outcomes), Err(expected));
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(16))]
        #[test]
        fn the_order_of_the_questions_changes_no_digit(
            order in Just((0..54).collect::<Vec<usize>>()).prop_shuffle(),
        ) {
            let questions = questions(6);
            let outcomes = outcomes(&questions);
            let shuffled: Vec<QuestionFacts> = order.iter().map(|place| questions[*place]).collect();
            let shuffled_outcomes: Vec<Outcome> = order.iter().map(|place| outcomes[*place]).collect();
            prop_assert_eq!(score(&questions, &outcomes), score(&shuffled, &shuffled_outcomes));
        }
    }
}
