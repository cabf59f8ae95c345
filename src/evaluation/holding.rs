//! Holding a submission: it is claimed, the claim is prolonged, and only its holder gets a change through; what nobody
//! holds goes back to the queue. Knows nothing of what is done with it.

use std::convert::Infallible;
use std::sync::atomic::Ordering;
use std::time::Duration;

use crate::domain::line::Line;
use crate::store::configurations::{ConfigurationRow, lock_configuration};
use crate::store::leases::{self, Lease, claim_lease, confirm_lease, release_lease, renew_lease};
use crate::store::rejudgings::Due;
use crate::store::submissions::{self, Submission};
use crate::store::{DbConnection, StoreError, load_board_revision, rejudgings};

use super::Evaluation;
use super::anonymity::show_names;
use super::intake::deliver;
use super::rejudging::settle_rejudgings;
use super::work::WorkError;

/// How long a claim stands without a heartbeat.
pub const LEASE_TTL_MS: i64 = 15_000;

/// How often a claim is prolonged.
const HEARTBEAT: Duration = Duration::from_secs(5);

/// How many submissions to rejudge the reconciler pushes at once.
const REJUDGINGS_AT_ONCE: i64 = 100;

/// A submission in the hands of this process.
pub(super) struct Held {
    /// The right to work on it.
    pub(super) lease: Lease,
    pub(super) submission: Submission,
    /// How it is to be rejudged; none where its own judging has not ended.
    pub(super) due: Option<Due>,
}

/// Claims the submission `id` for `owner`; none if another process holds it or there is nothing to do about it.
pub(super) async fn claim(
    evaluation: &Evaluation,
    owner: &str,
    id: &str,
) -> Result<Option<Held>, StoreError> {
    let (name, claimant, now_ms) = (id.to_owned(), owner.to_owned(), evaluation.clock.now_ms());
    evaluation
        .store
        .write_recoverable(move |connection| {
            let Some(lease) = claim_lease(connection, &name, &claimant, now_ms, LEASE_TTL_MS)? else {
                return Ok(None);
            };
            // Only now: whoever held the lease before may have moved it till then.
            let submission = submissions::find_submission(connection, &name)?;
            let due = rejudgings::find_due(connection, &name, now_ms)?;
            match submission {
                Some(submission) if !submission.state.is_final() || due.is_some() => {
                    Ok(Some(Held { lease, submission, due }))
                }
                _ => {
                    release_lease(connection, &lease)?;
                    Ok(None)
                }
            }
        })
        .await
}

/// Runs `change` in a transaction that only the holder of the lease gets through. `change` says whether the submission
/// was in a state that it may leave; if not, it was cancelled and nothing is stored.
pub(super) async fn fenced<F>(evaluation: &Evaluation, lease: &Lease, change: F) -> Result<(), WorkError>
where
    F: FnOnce(&mut DbConnection, &str, i64) -> Result<bool, StoreError> + Send + 'static,
{
    let (lease, now_ms) = (lease.clone(), evaluation.clock.now_ms());
    evaluation
        .store
        .write_recoverable(move |connection| {
            let held = confirm_lease(connection, &lease)?;
            if held && change(connection, &lease.name, now_ms)? { Ok(()) } else { Err(WorkError::LeaseLost) }
        })
        .await
}

/// Runs `change` as [`fenced`] does; none from it means that the submission was cancelled. It is handed a judge
/// configuration, whose state stays till the change is through.
pub(super) async fn fenced_under<T, F>(
    evaluation: &Evaluation,
    lease: &Lease,
    configuration_id: &str,
    change: F,
) -> Result<T, WorkError>
where
    T: Send + 'static,
    F: FnOnce(&mut DbConnection, &ConfigurationRow, i64) -> Result<Option<T>, StoreError> + Send + 'static,
{
    let (lease, configuration_id) = (lease.clone(), configuration_id.to_owned());
    let now_ms = evaluation.clock.now_ms();
    evaluation
        .store
        .write_recoverable(move |connection| {
            // Before the lease, as where another configuration is made current.
            let configuration = lock_configuration(connection, &configuration_id)?;
            if !confirm_lease(connection, &lease)? {
                return Err(WorkError::LeaseLost);
            }
            change(connection, &configuration, now_ms)?.ok_or(WorkError::LeaseLost)
        })
        .await
}

/// Prolongs the lease until it is lost. The work goes on to its next fence, so that calls under way are not wasted.
pub(super) async fn heartbeat(evaluation: &Evaluation, lease: &Lease) -> Infallible {
    loop {
        tokio::time::sleep(HEARTBEAT).await;
        let (held, now_ms) = (lease.clone(), evaluation.clock.now_ms());
        let renewed: Result<bool, StoreError> = evaluation
            .store
            .write_recoverable(move |connection| renew_lease(connection, &held, now_ms, LEASE_TTL_MS))
            .await;
        match renewed {
            Ok(true) => {}
            Ok(false) => std::future::pending().await,
            // Until the lease has lapsed another heartbeat may get through; the fence decides.
            Err(error) => tracing::warn!(submission = lease.name, %error, "a heartbeat failed"),
        }
    }
}

/// Notes that something that was put back is due again after `rest_ms`; what does not rest is delivered otherwise.
pub(super) fn note_rest(evaluation: &Evaluation, rest_ms: i64) {
    if rest_ms == 0 {
        return;
    }
    let due_ms = evaluation.clock.now_ms() + rest_ms;
    evaluation.next_due_ms.send_modify(|next_ms| *next_ms = due_ms.min(*next_ms));
}

/// Waits until something that this process put back is due.
pub async fn until_due(evaluation: &Evaluation) {
    let mut next = evaluation.next_due_ms.subscribe();
    loop {
        let wait_ms = next.borrow_and_update().saturating_sub(evaluation.clock.now_ms()).max(0);
        tokio::select! {
            () = tokio::time::sleep(Duration::from_millis(wait_ms.unsigned_abs())) => return,
            // Something else is due earlier.
            _changed = next.changed() => {}
        }
    }
}

/// Submissions, each with the line that it is to wait in.
type InLines = Vec<(String, Line)>;

/// Pushes what waits and is neither held nor queued, if this process is the reconciler.
///
/// # Errors
/// When the database fails.
pub async fn reconcile(evaluation: &Evaluation, owner: &str) -> Result<(), StoreError> {
    // Before it looks: what is put back from here on is another matter.
    evaluation.next_due_ms.send_replace(i64::MAX);
    show_names(evaluation).await?;
    let (claimant, now_ms) = (owner.to_owned(), evaluation.clock.now_ms());
    let settled = evaluation.settled_revision.load(Ordering::SeqCst);
    let found: Result<Option<(i64, InLines)>, StoreError> = evaluation
        .store
        .write_recoverable(move |connection| {
            let Some(lease) = claim_lease(connection, leases::RECONCILER, &claimant, now_ms, LEASE_TTL_MS)?
            else {
                return Ok(None);
            };
            // First: what changes later has a later revision.
            let revision = load_board_revision(connection)?;
            if revision != settled {
                settle_rejudgings(connection, now_ms)?;
            }
            let waiting = leases::load_unleased(connection, now_ms)?;
            let due = rejudgings::load_due(connection, now_ms, REJUDGINGS_AT_ONCE)?;
            release_lease(connection, &lease)?;
            let waiting = waiting.into_iter().map(|(id, split)| (id, Line::of(split)));
            let due = due.into_iter().map(|(id, split)| (id, Line::background(split)));
            Ok(Some((revision, waiting.chain(due).collect())))
        })
        .await;
    let Some((revision, lost)) = found? else { return Ok(()) };
    evaluation.settled_revision.store(revision, Ordering::SeqCst);
    for (id, line) in lost {
        deliver(evaluation, line, &id).await;
    }
    Ok(())
}
