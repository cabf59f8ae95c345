//! What a team or a maintainer decides about a submission after it was accepted. Knows nothing of grading.

use serde::Deserialize;

use crate::domain::actor::Actor;
use crate::domain::line::Line;
use crate::domain::outcome::Outcome;
use crate::domain::submission::{
    Metadata, MetadataFault, SubmissionState, Visibility, link_faults, reason_fault,
};
use crate::store::audit::insert_audit;
use crate::store::configurations::find_current_configuration;
use crate::store::scores::Under;
use crate::store::submissions::{self, Progress, Submission};
use crate::store::{
    DbConnection, Store, StoreError, bump_board_revision, failures, leases, publication, rejudgings, scores,
};

use super::Evaluation;
use super::intake::deliver;
use super::quota::{charge_again, refund};
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

/// What a team may change about its submission; a field that is left out stays, and null empties one.
#[derive(Debug, Clone, Default, Deserialize, utoipa::ToSchema)]
#[serde(deny_unknown_fields)]
pub struct SubmissionChange {
    /// Anything that a reader should know about the run.
    #[serde(default, deserialize_with = "given")]
    #[schema(value_type = Option<String>)]
    pub description: Option<Option<String>>,
    /// An http or https address of a paper.
    #[serde(default, deserialize_with = "given")]
    #[schema(value_type = Option<String>)]
    pub paper_url: Option<Option<String>>,
    /// An http or https address of code.
    #[serde(default, deserialize_with = "given")]
    #[schema(value_type = Option<String>)]
    pub code_url: Option<Option<String>>,
    /// Who may see the scored submission.
    pub visibility: Option<Visibility>,
    /// The UTC day, as 2027-03-01, from which an anonymous entry shows the team's name; null for never.
    #[serde(default, deserialize_with = "given")]
    #[schema(value_type = Option<String>)]
    pub anonymous_until: Option<Option<String>>,
}

/// Tells a field that is null from one that is left out.
fn given<'de, D: serde::Deserializer<'de>>(value: D) -> Result<Option<Option<String>>, D::Error> {
    Option::deserialize(value).map(Some)
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

/// The submission `id`, whoever's it is.
///
/// # Errors
/// When there is none.
pub async fn find_any_submission(evaluation: &Evaluation, id: &str) -> Result<Submission, LifecycleError> {
    let id = id.to_owned();
    evaluation.store.read(move |connection| owned(connection, None, &id)).await
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
    let links = [&change.description, &change.paper_url, &change.code_url];
    let [description, paper_url, code_url] = links.map(|link| link.as_ref().and_then(Option::as_deref));
    let faults = link_faults(description, paper_url, code_url);
    if !faults.is_empty() {
        return Err(LifecycleError::Faults(faults));
    }
    let (owner, id, now_ms) = (team_id.to_owned(), id.to_owned(), evaluation.clock.now_ms());
    evaluation
        .store
        .write(move |connection| {
            // Of two changes at once the second sees the first, and leaves as it is what it does not change.
            leases::lock_lease(connection, &id)?;
            let mut submission = owned(connection, Some(&owner), &id)?;
            if submission.withdrawn_reason.is_some() {
                return Err(LifecycleError::Withdrawn);
            }
            let metadata = &mut submission.metadata;
            metadata.description = change.description.unwrap_or_else(|| metadata.description.take());
            metadata.paper_url = change.paper_url.unwrap_or_else(|| metadata.paper_url.take());
            metadata.code_url = change.code_url.unwrap_or_else(|| metadata.code_url.take());
            change_anonymity(metadata, change.visibility, change.anonymous_until, now_ms)?;
            if submission.state == SubmissionState::Scored && metadata.visibility == Visibility::Private {
                // Whoever rejudges it stops: nobody is to see what comes of it.
                leases::revoke_lease(connection, &id)?;
            }
            publication::update_description(connection, &id, metadata, now_ms)?;
            bump_board_revision(connection)?;
            Ok(submission)
        })
        .await
}

/// Changes who sees an entry and until when it hides its name. A public one has nothing to hide any more.
fn change_anonymity(
    metadata: &mut Metadata,
    visibility: Option<Visibility>,
    until: Option<Option<String>>,
    now_ms: i64,
) -> Result<(), LifecycleError> {
    if visibility.is_none() && until.is_none() {
        return Ok(());
    }
    metadata.visibility = visibility.unwrap_or(metadata.visibility);
    metadata.anonymous_until = match until {
        Some(until) => until,
        None => metadata.anonymous_until.take().filter(|_| metadata.visibility != Visibility::Public),
    };
    match metadata.anonymity_fault(now_ms) {
        Some(fault) => Err(LifecycleError::Faults(vec![fault])),
        None => Ok(()),
    }
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
            refund(connection, &submission, "cancelled before any score", now_ms)?;
            owned(connection, Some(&owner), &id)
        })
        .await;
    let cancelled = cancelled?;
    count_end(evaluation, &cancelled, SubmissionState::Cancelled);
    Ok(cancelled)
}

/// Takes up a failed or incomplete submission again, or one whose rejudging is incomplete: only what has no score is
/// judged. Where another configuration is current by now, a submission without its own scores starts anew under it.
///
/// # Errors
/// When there is none, or there is nothing to try again.
pub async fn retry_submission(
    evaluation: &Evaluation,
    actor: &Actor,
    id: &str,
) -> Result<Submission, LifecycleError> {
    let (retried, line) = retry_stored(&evaluation.store, actor, id, evaluation.clock.now_ms()).await?;
    deliver(evaluation, line, &retried.id).await;
    Ok(retried)
}

/// What [`retry_submission`] does where there is no queue at hand: servers and workers look for what waits; gives the line
/// in which it does.
///
/// # Errors
/// Those of [`retry_submission`].
pub async fn retry_stored(
    store: &Store,
    actor: &Actor,
    id: &str,
    now_ms: i64,
) -> Result<(Submission, Line), LifecycleError> {
    let (actor, id) = (actor.clone(), id.to_owned());
    let retried: Result<(Submission, bool), LifecycleError> = store
        .write(move |connection| {
            // Of two who try at once the second sees that there is nothing to try any more.
            leases::lock_lease(connection, &id)?;
            let submission = owned(connection, None, &id)?;
            let is_own = matches!(submission.state, SubmissionState::Failed | SubmissionState::Incomplete);
            let (before, after) = if is_own {
                charge_again(connection, &submission, now_ms)?;
                (submission.state.as_str(), resume(connection, &submission, now_ms)?.as_str())
            } else if submission.state == SubmissionState::Scored && retry_rejudgings(connection, &id)? {
                ("incomplete", "pending")
            } else {
                let allowed =
                    "only a `failed` or `incomplete` one, or an incomplete rejudging, can be tried again";
                return Err(LifecycleError::State { state: submission.state, allowed });
            };
            failures::reset_calls(connection, &id)?;
            bump_board_revision(connection)?;
            let subject = (&actor, "retry_submission", id.as_str());
            insert_audit(connection, now_ms, subject, Some(before), Some(after))?;
            Ok((owned(connection, None, &id)?, is_own))
        })
        .await;
    let (retried, is_own) = retried?;
    let line = if is_own { Line::of } else { Line::background };
    let line = line(retried.metadata.split);
    Ok((retried, line))
}

/// Makes a submission that ended without scores open again; gives its new state.
fn resume(
    connection: &mut DbConnection,
    submission: &Submission,
    now_ms: i64,
) -> Result<SubmissionState, StoreError> {
    leases::revoke_lease(connection, &submission.id)?;
    let current = find_current_configuration(connection)?.map(|configuration| configuration.id);
    let to = match Under::of(submission) {
        Some(under) if submission.configuration_id == current => {
            reopen_failed(connection, &submission.id, &under)?;
            let progress = Progress { failed: 0, ..submission.progress };
            submissions::update_progress(connection, &submission.id, progress)?;
            SubmissionState::Judging
        }
        _ => {
            start_anew(connection, submission)?;
            SubmissionState::Queued
        }
    };
    submissions::update_state(connection, &submission.id, &[submission.state], to, now_ms)?;
    Ok(to)
}

/// Makes the incomplete rejudgings of a submission pending again; false if there are none.
fn retry_rejudgings(connection: &mut DbConnection, id: &str) -> Result<bool, StoreError> {
    // Fences off whoever replaces judgements, so that the outcomes that are read next stay as they are.
    leases::revoke_lease(connection, id)?;
    let incomplete = rejudgings::load_incomplete(connection, id)?;
    for under in &incomplete {
        reopen_failed(connection, id, under)?;
        rejudgings::reopen_rejudging(connection, id, under)?;
    }
    Ok(!incomplete.is_empty())
}

/// Forgets what judging a submission has come to; the judgements themselves stay. It is to be graded again.
pub(super) fn start_anew(connection: &mut DbConnection, submission: &Submission) -> Result<(), StoreError> {
    if let Some(under) = Under::of(submission) {
        scores::delete_outcomes(connection, &submission.id, &under)?;
    }
    submissions::forget_judging(connection, &submission.id)
}

/// Takes a submission off every board for good; its address says why.
///
/// # Errors
/// When it is not the team's (`team_id` given), has not been scored, or was withdrawn already.
pub async fn withdraw_submission(
    evaluation: &Evaluation,
    team_id: Option<&str>,
    actor: &Actor,
    id: &str,
    reason: &str,
) -> Result<Submission, LifecycleError> {
    withdraw_stored(&evaluation.store, team_id, actor, (id, reason), evaluation.clock.now_ms()).await
}

/// What [`withdraw_submission`] does, at an instant.
///
/// # Errors
/// Those of [`withdraw_submission`].
pub async fn withdraw_stored(
    store: &Store,
    team_id: Option<&str>,
    actor: &Actor,
    (id, reason): (&str, &str),
    now_ms: i64,
) -> Result<Submission, LifecycleError> {
    if let Some(fault) = reason_fault(reason) {
        return Err(LifecycleError::Faults(vec![fault]));
    }
    let (owner, actor, id) = (team_id.map(str::to_owned), actor.clone(), id.to_owned());
    let reason = reason.trim().to_owned();
    store
        .write(move |connection| {
            // Whoever rejudges it stops. First, so that of two reasons the first one stays.
            leases::revoke_lease(connection, &id)?;
            let submission = owned(connection, owner.as_deref(), &id)?;
            if submission.withdrawn_reason.is_some() {
                return Err(LifecycleError::Withdrawn);
            }
            if submission.state != SubmissionState::Scored {
                let allowed = "only a `scored` one can be withdrawn; cancel one that has not ended";
                return Err(LifecycleError::State { state: submission.state, allowed });
            }
            publication::withdraw_submission(connection, &id, &reason)?;
            bump_board_revision(connection)?;
            let subject = (&actor, "withdraw_submission", id.as_str());
            insert_audit(connection, now_ms, subject, None, Some(&reason))?;
            owned(connection, owner.as_deref(), &id)
        })
        .await
}

/// Makes answers that could not be judged pending again.
fn reopen_failed(connection: &mut DbConnection, id: &str, under: &Under) -> Result<(), StoreError> {
    let Some(mut outcomes) = scores::find_outcomes(connection, id, under)? else { return Ok(()) };
    for outcome in &mut outcomes {
        if matches!(outcome, Outcome::Failed(_)) {
            *outcome = Outcome::Pending;
        }
    }
    scores::save_outcomes(connection, id, under, &outcomes)
}

pub(super) fn owned(
    connection: &mut DbConnection,
    team_id: Option<&str>,
    id: &str,
) -> Result<Submission, LifecycleError> {
    let found = submissions::find_submission(connection, id)?;
    found
        .filter(|submission| team_id.is_none_or(|team_id| submission.team_id == team_id))
        .ok_or_else(|| LifecycleError::Unknown(id.to_owned()))
}
