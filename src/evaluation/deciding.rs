//! A maintainer's decision on an answer that the judge failed at. Knows nothing of HTTP.

use std::collections::BTreeMap;

use serde::Deserialize;

use crate::domain::actor::Actor;
use crate::domain::outcome::{FailureReason, MAX_SCORE, Outcome};
use crate::domain::question::Rubric;
use crate::domain::submission::{MetadataFault, SubmissionState, reason_fault};
use crate::store::audit::insert_audit;
use crate::store::configurations::lock_configuration;
use crate::store::decisions::{Decision, find_decision, insert_decision};
use crate::store::failures::{FailureRow, insert_failure};
use crate::store::scores::Under;
use crate::store::submissions::{self, Progress, Submission};
use crate::store::{DbConnection, StoreError, bump_board_revision, leases, rejudgings, scores};

use super::Evaluation;
use super::catalogue::GradingRelease;
use super::ending::{Ending, key_of};
use super::failed_answers::{Case, find, load_case};
use super::rejudging::end_rejudging;
use super::work::{WorkError, count_end};

/// Why a decision was not taken.
#[derive(Debug, thiserror::Error)]
pub enum DecisionError {
    /// There is no such submission.
    #[error("there is no submission `{0}`")]
    Unknown(String),
    /// The submission has no judgements under the configuration.
    #[error("the submission was not judged under `{0}`; `secchi judge list` lists the configurations")]
    NotJudged(String),
    /// The submission's judging has not ended with failed answers.
    #[error(
        "the submission is `{0}`; only failed answers of an `incomplete` one can be decided, or of an incomplete \
         rejudging whose `configuration` is given"
    )]
    State(SubmissionState),
    /// The answer has a score, or waits for one.
    #[error(
        "the answer to `{0}` has not failed; only failed answers can be decided, those of an incomplete rejudging with \
         its `configuration`"
    )]
    NotFailed(String),
    /// The judge has scored the same answer since.
    #[error(
        "the judge has scored the same answer of another submission; retry the submission to take that over"
    )]
    Judged,
    /// The same answer was decided otherwise.
    #[error(
        "the same answer was decided as {0:?} with the reason `{1}`, which stays; retry the submission to take that \
         over, or send the same"
    )]
    Decided([u8; 3], String),
    /// What was sent is faulty.
    #[error("the decision has {} fault(s)", .0.len())]
    Faults(Vec<MetadataFault>),
    /// The answers cannot be read or scored.
    #[error(transparent)]
    Work(#[from] WorkError),
    /// The database failed.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// A maintainer's decision as it is sent.
#[derive(Debug, Clone, Deserialize, utoipa::ToSchema)]
#[serde(deny_unknown_fields)]
pub struct NewDecision {
    /// The question whose answer is decided.
    pub question_id: String,
    /// An integer from 0 to 5 for each of the rubric's three criteria.
    pub criteria: BTreeMap<String, u8>,
    /// Why, for readers of the entry.
    pub reason: String,
    /// The judge configuration under which the answer failed; the submission's own unless said.
    #[serde(default)]
    pub configuration: Option<String>,
}

/// How the submission stands to the configuration under which an answer is decided.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Standing {
    Own,
    Rejudged,
}

/// Decides a failed answer. It stands as a judgement, which the same answer of any submission gets too; when nothing
/// has failed any more, the submission is scored. The same decision again changes nothing.
///
/// # Errors
/// When there is no such submission, the answer has not failed, the decision is faulty, or the database fails.
pub async fn decide(
    evaluation: &Evaluation,
    actor: &Actor,
    id: &str,
    new: NewDecision,
) -> Result<Submission, DecisionError> {
    loop {
        let case = load_case(evaluation, id, new.configuration.clone()).await?;
        let case = case.map_err(|submission| match &new.configuration {
            None => DecisionError::State(submission.state),
            Some(asked) => {
                let detail = DecisionError::NotJudged(asked.clone()).to_string();
                DecisionError::Faults(vec![MetadataFault { pointer: "/configuration".into(), detail }])
            }
        })?;
        let (place, scores) = checked(&new, &case.release)?;
        let key = key_of(&case.release, &case.answers, &new.question_id);
        let key = key.ok_or_else(|| DecisionError::NotFailed(new.question_id.clone()))?;
        let decision = Decision {
            question_id: new.question_id.clone(),
            key,
            scores,
            reason: new.reason.trim().to_owned(),
            by: actor.name.clone(),
            at_ms: evaluation.clock.now_ms(),
        };
        // None: it was changed meanwhile, and is looked at again.
        if let Some(decided) = try_decision(evaluation, actor, case, place, decision).await? {
            return Ok(decided);
        }
    }
}

/// The place of the question and the scores of a decision that is in order.
fn checked(new: &NewDecision, release: &GradingRelease) -> Result<(usize, [u8; 3]), DecisionError> {
    let mut faults: Vec<MetadataFault> = reason_fault(&new.reason).into_iter().collect();
    let mut fault = |pointer: String, detail: String| faults.push(MetadataFault { pointer, detail });
    let place = release.key.question_ids.iter().position(|id| *id == new.question_id);
    let rubric = place.and_then(|place| release.key.facts.get(place)?.question_type.rubric());
    match (place, rubric) {
        (None, _) => {
            let release = &release.release.name;
            fault("/question_id".into(), format!("is no question of release `{release}`"));
        }
        (Some(_), None) => fault("/question_id".into(), "is multiple choice, which no judge scores".into()),
        (Some(_), Some(rubric)) => {
            let criteria = rubric.criteria();
            for name in criteria.iter().filter(|name| !new.criteria.contains_key(**name)) {
                fault(format!("/criteria/{name}"), "is missing; give an integer from 0 to 5".into());
            }
            for (name, score) in &new.criteria {
                if !criteria.contains(&name.as_str()) {
                    let known = criteria.join("`, `");
                    fault("/criteria".into(), format!("`{name}` is none of `{known}`; leave it out"));
                } else if *score > MAX_SCORE {
                    fault(format!("/criteria/{name}"), "must be an integer from 0 to 5".into());
                }
            }
        }
    }
    match (place, rubric) {
        (Some(place), Some(rubric)) if faults.is_empty() => Ok((place, scores_of(new, rubric))),
        _ => Err(DecisionError::Faults(faults)),
    }
}

fn scores_of(new: &NewDecision, rubric: Rubric) -> [u8; 3] {
    rubric.criteria().map(|name| new.criteria.get(name).copied().unwrap_or_default())
}

/// Decides an answer, unless the submission was changed since it was looked at.
async fn try_decision(
    evaluation: &Evaluation,
    actor: &Actor,
    case: Case,
    place: usize,
    decision: Decision,
) -> Result<Option<Submission>, DecisionError> {
    let under = case.under();
    let Case { submission, configuration_id, release, answers, outcomes: before } = case;
    let mut after = before.clone();
    after[place] = Outcome::Rubric { scores: decision.scores };
    let ending = Ending::of(evaluation, (&release, &answers), &configuration_id, after).await?;
    let (actor, id, now_ms) = (actor.clone(), submission.id, evaluation.clock.now_ms());
    let decided: Result<Option<(Submission, bool)>, DecisionError> = evaluation
        .store
        .write(move |connection| {
            // Before the lease, as where another configuration is made current.
            let configuration = lock_configuration(connection, &configuration_id)?;
            leases::revoke_lease(connection, &id)?;
            let submission = find(connection, &id)?;
            if scores::find_outcomes(connection, &id, &under)?.as_ref() != Some(&before) {
                return Ok(None);
            }
            let standing = find_decision(connection, &configuration_id, &decision.key)?;
            let is_same = |standing: &Decision| {
                standing.scores == decision.scores && standing.reason == decision.reason
            };
            let Outcome::Failed(failure) = before[place] else {
                let again = before[place] == Outcome::Rubric { scores: decision.scores };
                return match standing {
                    Some(standing) if again && is_same(&standing) => Ok(Some((submission, false))),
                    _ => Err(DecisionError::NotFailed(decision.question_id)),
                };
            };
            let stands = standing_of(connection, &submission, &under)?;
            let Some(stands) = stands else { return Err(DecisionError::State(submission.state)) };
            insert_decision(connection, &configuration_id, &decision)?;
            match find_decision(connection, &configuration_id, &decision.key)? {
                Some(standing) if is_same(&standing) => {}
                Some(standing) => return Err(DecisionError::Decided(standing.scores, standing.reason)),
                None => return Err(DecisionError::Judged),
            }
            note_failed(connection, &submission, &under, failure, &decision)?;
            match stands {
                Standing::Own => end_own(connection, &submission, &ending, now_ms)?,
                Standing::Rejudged => {
                    end_rejudging(connection, &id, &configuration, &ending, now_ms)?;
                }
            }
            note_in_log(connection, (&actor, &id), &configuration_id, failure, &decision)?;
            bump_board_revision(connection)?;
            let ended = find(connection, &id)?;
            let has_ended = ended.state != submission.state;
            Ok(Some((ended, has_ended)))
        })
        .await;
    let Some((submission, has_ended)) = decided? else { return Ok(None) };
    if has_ended {
        count_end(evaluation, &submission, submission.state);
    }
    Ok(Some(submission))
}

/// How the submission stands to what its judging ended with failed answers under; none where it did not.
fn standing_of(
    connection: &mut DbConnection,
    submission: &Submission,
    under: &Under,
) -> Result<Option<Standing>, StoreError> {
    Ok(match submission.state {
        SubmissionState::Incomplete if Under::of(submission).as_ref() == Some(under) => Some(Standing::Own),
        SubmissionState::Scored => {
            let incomplete = rejudgings::load_incomplete(connection, &submission.id)?;
            incomplete.contains(under).then_some(Standing::Rejudged)
        }
        _ => None,
    })
}

fn end_own(
    connection: &mut DbConnection,
    submission: &Submission,
    ending: &Ending,
    now_ms: i64,
) -> Result<(), StoreError> {
    let Submission { id, progress, state, .. } = submission;
    let progress = Progress { failed: ending.failed(), judged: progress.judged + 1, ..*progress };
    submissions::update_progress(connection, id, progress)?;
    ending.save(connection, id)?;
    if ending.state() != *state {
        submissions::update_state(connection, id, &[*state], ending.state(), now_ms)?;
    }
    Ok(())
}

/// Makes sure that the answer is among those that are known to have failed: earlier versions noted none.
fn note_failed(
    connection: &mut DbConnection,
    submission: &Submission,
    under: &Under,
    failure: FailureReason,
    decision: &Decision,
) -> Result<(), StoreError> {
    let failed_at_ms = submission.finished_at_ms.unwrap_or(submission.created_at_ms);
    let row = FailureRow {
        submission_id: submission.id.clone(),
        release_id: under.release_id.clone(),
        configuration_id: under.configuration_id.clone(),
        question_id: decision.question_id.clone(),
        key: decision.key.clone(),
        reason: failure.to_string(),
        detail: String::new(),
        calls: 0,
        first_failed_at_ms: failed_at_ms,
        last_failed_at_ms: failed_at_ms,
    };
    insert_failure(connection, &row)
}

fn note_in_log(
    connection: &mut DbConnection,
    (actor, id): (&Actor, &str),
    configuration_id: &str,
    failure: FailureReason,
    decision: &Decision,
) -> Result<(), StoreError> {
    let Decision { question_id, scores, reason, at_ms, .. } = decision;
    let said = |mut what: serde_json::Value| {
        what["configuration"] = configuration_id.into();
        what["question_id"] = question_id.as_str().into();
        what.to_string()
    };
    let before = said(serde_json::json!({ "failed": failure }));
    let after = said(serde_json::json!({ "scores": scores, "reason": reason }));
    let subject = (actor, "decide_answer", id);
    insert_audit(connection, *at_ms, subject, Some(&before), Some(&after))
}
