//! Answers that the judge failed at, and what is known of them. Changes nothing.

use std::sync::Arc;

use crate::domain::outcome::{FailureReason, Outcome};
use crate::domain::question::QuestionType;
use crate::domain::submission::SubmissionState;
use crate::store::decisions::{Decision, load_decisions};
use crate::store::failures::{FailureRow, load_failures};
use crate::store::rejudgings::load_incomplete;
use crate::store::scores::Under;
use crate::store::submissions::{self, Submission};
use crate::store::{DbConnection, StoreError};

use super::Evaluation;
use super::catalogue::GradingRelease;
use super::deciding::DecisionError;
use super::work::{answered, stored_outcomes};

/// What is known of an answer that failed or was decided.
pub struct FailedAnswer {
    /// The question.
    pub question_id: String,
    /// What it asks about.
    pub question_type: QuestionType,
    /// The judge configuration.
    pub configuration_id: String,
    /// Why the judge gave no score.
    pub reason: FailureReason,
    /// The last fault in words; empty where none was noted.
    pub detail: String,
    /// Failed calls since a maintainer last had it tried again.
    pub calls: i32,
    /// When a call first and last failed, where that was noted.
    pub failed_at_ms: Option<(i64, i64)>,
    /// The team's text.
    pub answer: String,
    /// The decision, if there is one.
    pub decision: Option<Decision>,
}

/// A submission and what it was judged under.
pub(super) struct Case {
    pub(super) submission: Submission,
    pub(super) configuration_id: String,
    pub(super) release: Arc<GradingRelease>,
    pub(super) answers: Vec<Option<String>>,
    pub(super) outcomes: Vec<Outcome>,
}

/// The answers of a submission that failed or were decided, in the order of the questions.
///
/// # Errors
/// When there is no such submission, it was not judged under that configuration, or the database fails.
pub async fn failed_answers(
    evaluation: &Evaluation,
    id: &str,
    configuration_id: Option<String>,
) -> Result<Vec<FailedAnswer>, DecisionError> {
    let case = match (load_case(evaluation, id, configuration_id.clone()).await?, configuration_id) {
        (Ok(case), _) => case,
        (Err(_), None) => return Ok(Vec::new()),
        (Err(_), Some(asked)) => return Err(DecisionError::NotJudged(asked)),
    };
    let (name, under) = (id.to_owned(), case.under());
    let known: Result<(Vec<FailureRow>, Vec<Decision>), StoreError> = evaluation
        .store
        .read(move |connection| {
            let failures = load_failures(connection, &name, &under)?;
            Ok((failures, load_decisions(connection, &name, &under)?))
        })
        .await;
    let (failures, decisions) = known?;
    let listed = case.outcomes.iter().enumerate().filter_map(|(place, outcome)| {
        let question_id = case.release.key.question_ids.get(place)?;
        let decision = decisions.iter().find(|decision| decision.question_id == *question_id).cloned();
        let known = failures.iter().find(|row| row.question_id == *question_id);
        let reason = match outcome {
            Outcome::Failed(reason) => *reason,
            _ if decision.is_some() => FailureReason::parse(&known?.reason)?,
            _ => return None,
        };
        Some(FailedAnswer {
            question_id: question_id.clone(),
            question_type: case.release.key.facts.get(place)?.question_type,
            configuration_id: case.configuration_id.clone(),
            reason,
            detail: known.map(|row| row.detail.clone()).unwrap_or_default(),
            calls: known.map_or(0, |row| row.calls),
            failed_at_ms: known.map(|row| (row.first_failed_at_ms, row.last_failed_at_ms)),
            answer: case.answers.get(place)?.clone()?,
            decision,
        })
    });
    Ok(listed.collect())
}

/// The submission with its answers under a configuration, its own unless asked; the submission alone where it was not
/// judged under that.
pub(super) async fn load_case(
    evaluation: &Evaluation,
    id: &str,
    asked: Option<String>,
) -> Result<Result<Case, Box<Submission>>, DecisionError> {
    let name = id.to_owned();
    let submission = evaluation.store.read(move |connection| find(connection, &name)).await?;
    let Some(configuration_id) = asked.or(submission.configuration_id.clone()) else {
        return Ok(Err(Box::new(submission)));
    };
    let name = id.to_owned();
    let incomplete = evaluation.store.read(move |connection| load_incomplete(connection, &name)).await?;
    // Of a scored submission the answers that a corrected release waits for come before its own, which are decided.
    let is_scored = submission.state == SubmissionState::Scored;
    let open = incomplete.into_iter().find(|under| is_scored && under.configuration_id == configuration_id);
    let under = open.unwrap_or_else(|| Under::new(&submission.release_id, &configuration_id));
    let Some(outcomes) = stored_outcomes(evaluation, id, &under).await? else {
        return Ok(Err(Box::new(submission)));
    };
    let (release, answers) = answered(evaluation, &submission, &under.release_id).await?;
    Ok(Ok(Case { submission, configuration_id, release, answers, outcomes }))
}

impl Case {
    /// What the outcomes stand under.
    pub(super) fn under(&self) -> Under {
        Under::new(&self.release.release.id, &self.configuration_id)
    }
}

pub(super) fn find(connection: &mut DbConnection, id: &str) -> Result<Submission, DecisionError> {
    submissions::find_submission(connection, id)?.ok_or_else(|| DecisionError::Unknown(id.to_owned()))
}
