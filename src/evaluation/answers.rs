//! What became of a submission's single answers, where its release lets a team read that. Knows nothing of how it is shown.

use crate::domain::outcome::Outcome;
use crate::domain::question::{QuestionType, Split};
use crate::domain::submission::{Feedback, SubmissionState};
use crate::store::StoreError;
use crate::store::scores::Under;
use crate::store::submissions::Submission;

use super::Evaluation;
use super::work::stored_outcomes;

/// Why single answers are not told.
#[derive(Debug, thiserror::Error)]
pub enum AnswersError {
    /// The release gives no such feedback.
    #[error("`{0}` gives no feedback on single answers")]
    Withheld(Split),
    /// It was not graded.
    #[error("the submission is `{0}` and not graded yet")]
    NotGraded(SubmissionState),
    /// The database failed.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// What became of one answer.
pub struct AnswerOutcome {
    /// The question.
    pub question_id: String,
    /// What it asks about.
    pub question_type: QuestionType,
    /// What was made of the answer.
    pub outcome: Outcome,
}

/// At most `limit` outcomes of a submission in the order of the questions, from the position `first` on, and whether there
/// are more.
///
/// # Errors
/// When its release gives no such feedback, or it is not graded yet.
pub async fn answers(
    evaluation: &Evaluation,
    submission: &Submission,
    first: usize,
    limit: usize,
) -> Result<(Vec<AnswerOutcome>, bool), AnswersError> {
    let release = evaluation.catalogue.release(&evaluation.store, &submission.release_id).await?;
    if release.release.feedback != Feedback::PerQuestion {
        return Err(AnswersError::Withheld(release.release.split));
    }
    let not_graded = || AnswersError::NotGraded(submission.state);
    let under = Under::of(submission).ok_or_else(not_graded)?;
    let outcomes = stored_outcomes(evaluation, &submission.id, &under).await?;
    let outcomes = outcomes.ok_or_else(not_graded)?;
    let has_more = outcomes.len() > first.saturating_add(limit);
    let all = release.key.question_ids.iter().zip(&release.key.facts).zip(outcomes);
    let part = all.skip(first).take(limit).map(|((question_id, facts), outcome)| AnswerOutcome {
        question_id: question_id.clone(),
        question_type: facts.question_type,
        outcome,
    });
    Ok((part.collect(), has_more))
}
