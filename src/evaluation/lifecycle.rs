//! What a team or a maintainer decides about a submission after it was accepted. Knows nothing of grading.

use serde::Deserialize;

use crate::domain::outcome::Outcome;
use crate::domain::submission::{MetadataFault, SubmissionState, Visibility, link_faults, reason_fault};
use crate::store::quota::{QuotaKind, insert_quota, is_refunded};
use crate::store::submissions::{self, Progress, Submission};
use crate::store::{DbConnection, StoreError, bump_board_revision, insert_audit, leases, scores};

use super::Evaluation;
use super::intake::deliver;
use super::work::count_end;

/// Why a decision was not carried out.
#[derive(Debug, thiserror::Error)]
pub enum LifecycleError {
    /// There is no such submission, or it is another team's.
    #[error("there is no submission `{0}` of yours")]
    Unknown(String),
    /// The submission's state does not allow it.
    #[error("the submission is `{state}`; {allowed}")]
    State {
        /// Where it stands.
        state: SubmissionState,
        /// What would have to be.
        allowed: &'static str,
    },
    /// The submission was withdrawn.
    #[error("the submission was withdrawn; withdrawing is for good")]
    Withdrawn,
    /// What was sent is faulty.
    #[error("the change has {} fault(s)", .0.len())]
    Faults(Vec<MetadataFault>),
    /// The database failed.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// What a team may change about its submission; a field that is left out stays.
#[derive(Debug, Clone, Default, Deserialize, utoipa::ToSchema)]
#[serde(deny_unknown_fields)]
pub struct SubmissionChange {
    /// Anything that a reader should know about the run.
    pub description: Option<String>,
    /// An http or https address of a paper.
    pub paper_url: Option<String>,
    /// An http or https address of code.
    pub code_url: Option<String>,
    /// Who may see the scored submission.
    pub visibility: Option<Visibility>,
}

/// The submission `id` if it is the team's.
///
/// # Errors
/// When there is none.
pub async fn own_submission(
    evaluation: &Evaluation,
    team_id: &str,
    id: &str,
) -> Result<Submission, LifecycleError> {
    let (owner, id) = (team_id.to_owned(), id.to_owned());
    evaluation.store.read(move |connection| owned(connection, Some(&owner), &id)).await
}

/// Changes what a team may change. A withdrawn submission cannot be published again.
///
/// # Errors
/// When it is not the team's, was withdrawn, or the change is faulty.
pub async fn update_submission(
    evaluation: &Evaluation,
    team_id: &str,
    id: &str,
    change: SubmissionChange,
) -> Result<Submission, LifecycleError> {
    let faults =
        link_faults(change.description.as_deref(), change.paper_url.as_deref(), change.code_url.as_deref());
    if !faults.is_empty() {
        return Err(LifecycleError::Faults(faults));
    }
    let (owner, id) = (team_id.to_owned(), id.to_owned());
    evaluation
        .store
        .write(move |connection| {
            let mut submission = owned(connection, Some(&owner), &id)?;
            if submission.withdrawn_reason.is_some() {
                return Err(LifecycleError::Withdrawn);
            }
            let metadata = &mut submission.metadata;
            metadata.description = change.description.or(metadata.description.take());
            metadata.paper_url = change.paper_url.or(metadata.paper_url.take());
            metadata.code_url = change.code_url.or(metadata.code_url.take());
            metadata.visibility = change.visibility.unwrap_or(metadata.visibility);
            submissions::update_description(connection, &id, metadata)?;
            bump_board_revision(connection)?;
            Ok(submission)
        })
        .await
}

/// Stops a submission that is not final yet. The charge is given back while none of its scores could be read.
///
/// # Errors
/// When it is not the team's or has ended.
pub async fn cancel_submission(
    evaluation: &Evaluation,
    team_id: &str,
    id: &str,
) -> Result<Submission, LifecycleError> {
    let (owner, id, now_ms) = (team_id.to_owned(), id.to_owned(), evaluation.clock.now_ms());
    let cancelled: Result<Submission, LifecycleError> = evaluation
        .store
        .write(move |connection| {
            owned(connection, Some(&owner), &id)?;
            // Fences off a worker, so that the state that is read next stays as it is.
            leases::revoke_lease(connection, &id)?;
            let submission = owned(connection, Some(&owner), &id)?;
            let from = [SubmissionState::Queued, SubmissionState::Grading, SubmissionState::Judging];
            if !submissions::update_state(connection, &id, &from, SubmissionState::Cancelled, now_ms)? {
                let allowed = "only one that has not ended can be cancelled";
                return Err(LifecycleError::State { state: submission.state, allowed });
            }
            if submission.state != SubmissionState::Judging {
                refund(connection, &submission, "cancelled before any score", now_ms)?;
            }
            owned(connection, Some(&owner), &id)
        })
        .await;
    let cancelled = cancelled?;
    count_end(evaluation, &cancelled, SubmissionState::Cancelled);
    Ok(cancelled)
}

/// Takes up a failed or incomplete submission again: only what has no score is judged.
///
/// # Errors
/// When there is none, or it is in another state.
pub async fn retry_submission(
    evaluation: &Evaluation,
    maintainer: &str,
    id: &str,
) -> Result<Submission, LifecycleError> {
    let (actor, id, now_ms) = (maintainer.to_owned(), id.to_owned(), evaluation.clock.now_ms());
    let retried: Result<Submission, LifecycleError> = evaluation
        .store
        .write(move |connection| {
            let submission = owned(connection, None, &id)?;
            let to = match (submission.state, submission.progress.graded) {
                (SubmissionState::Failed, 0) => SubmissionState::Queued,
                (SubmissionState::Failed | SubmissionState::Incomplete, _) => SubmissionState::Judging,
                (state, _) => {
                    let allowed = "only a `failed` or `incomplete` one can be tried again";
                    return Err(LifecycleError::State { state, allowed });
                }
            };
            reopen_failed(connection, &submission)?;
            submissions::update_state(connection, &id, &[submission.state], to, now_ms)?;
            leases::revoke_lease(connection, &id)?;
            bump_board_revision(connection)?;
            let subject = (actor.as_str(), "retry_submission", id.as_str());
            insert_audit(connection, now_ms, subject, Some(submission.state.as_str()), Some(to.as_str()))?;
            owned(connection, None, &id)
        })
        .await;
    let retried = retried?;
    deliver(evaluation, retried.metadata.split, &retried.id).await;
    Ok(retried)
}

/// Takes a submission off every board for good; its address says why.
///
/// # Errors
/// When it is not the team's (`team_id` given), has not been scored, or was withdrawn already.
pub async fn withdraw_submission(
    evaluation: &Evaluation,
    team_id: Option<&str>,
    actor: &str,
    id: &str,
    reason: &str,
) -> Result<Submission, LifecycleError> {
    if let Some(fault) = reason_fault(reason) {
        return Err(LifecycleError::Faults(vec![fault]));
    }
    let (owner, actor, id) = (team_id.map(str::to_owned), actor.to_owned(), id.to_owned());
    let (reason, now_ms) = (reason.trim().to_owned(), evaluation.clock.now_ms());
    evaluation
        .store
        .write(move |connection| {
            let submission = owned(connection, owner.as_deref(), &id)?;
            if submission.withdrawn_reason.is_some() {
                return Err(LifecycleError::Withdrawn);
            }
            if submission.state != SubmissionState::Scored {
                let allowed = "only a `scored` one can be withdrawn; cancel one that has not ended";
                return Err(LifecycleError::State { state: submission.state, allowed });
            }
            submissions::withdraw_submission(connection, &id, &reason)?;
            bump_board_revision(connection)?;
            let subject = (actor.as_str(), "withdraw_submission", id.as_str());
            insert_audit(connection, now_ms, subject, None, Some(&reason))?;
            owned(connection, owner.as_deref(), &id)
        })
        .await
}

/// Gives a submission's charge back, once.
pub(super) fn refund(
    connection: &mut DbConnection,
    submission: &Submission,
    reason: &str,
    now_ms: i64,
) -> Result<(), StoreError> {
    if is_refunded(connection, &submission.id)? {
        return Ok(());
    }
    let entry = (submission.team_id.as_str(), submission.metadata.split, QuotaKind::Refund);
    insert_quota(connection, entry, Some(&submission.id), reason, submission.created_at_ms, now_ms)
}

/// Makes answers that could not be judged pending again.
fn reopen_failed(connection: &mut DbConnection, submission: &Submission) -> Result<(), StoreError> {
    let Some(configuration_id) = &submission.configuration_id else { return Ok(()) };
    let Some(mut outcomes) = scores::find_outcomes(connection, &submission.id, configuration_id)? else {
        return Ok(());
    };
    for outcome in &mut outcomes {
        if matches!(outcome, Outcome::Failed(_)) {
            *outcome = Outcome::Pending;
        }
    }
    scores::save_outcomes(connection, &submission.id, configuration_id, &outcomes)?;
    let progress = Progress { failed: 0, ..submission.progress };
    submissions::update_progress(connection, &submission.id, progress)
}

fn owned(
    connection: &mut DbConnection,
    team_id: Option<&str>,
    id: &str,
) -> Result<Submission, LifecycleError> {
    let found = submissions::find_submission(connection, id)?;
    found
        .filter(|submission| team_id.is_none_or(|team_id| submission.team_id == team_id))
        .ok_or_else(|| LifecycleError::Unknown(id.to_owned()))
}
