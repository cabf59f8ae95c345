//! Holding a submission: it is claimed, the claim is prolonged, and only its holder gets a change through; what nobody
//! holds goes back to the queue. Knows nothing of what is done with it.

use std::convert::Infallible;
use std::time::Duration;

use crate::store::leases::{self, Lease, claim_lease, confirm_lease, release_lease, renew_lease};
use crate::store::submissions::{self, Submission};
use crate::store::{DbConnection, StoreError};

use super::Evaluation;
use super::intake::deliver;
use super::work::WorkError;

/// How long a claim stands without a heartbeat.
pub const LEASE_TTL_MS: i64 = 15_000;

/// How often a claim is prolonged.
const HEARTBEAT: Duration = Duration::from_secs(5);

/// Claims the submission `id` for `owner`; none if another process holds it or it is in a final state.
pub(super) async fn claim(
    evaluation: &Evaluation,
    owner: &str,
    id: &str,
) -> Result<Option<(Lease, Submission)>, StoreError> {
    let (name, claimant, now_ms) = (id.to_owned(), owner.to_owned(), evaluation.clock.now_ms());
    evaluation
        .store
        .write_recoverable(move |connection| {
            let Some(lease) = claim_lease(connection, &name, &claimant, now_ms, LEASE_TTL_MS)? else {
                return Ok(None);
            };
            // Only now: whoever held the lease before may have moved it till then.
            match submissions::find_submission(connection, &name)? {
                Some(submission) if !submission.state.is_final() => Ok(Some((lease, submission))),
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

/// Pushes what waits and is neither held nor queued, if this process is the reconciler; says how many were pushed.
///
/// # Errors
/// When the database fails.
pub async fn reconcile(evaluation: &Evaluation, owner: &str) -> Result<usize, StoreError> {
    let (claimant, now_ms) = (owner.to_owned(), evaluation.clock.now_ms());
    let lost: Result<Vec<(String, String)>, StoreError> = evaluation
        .store
        .write_recoverable(move |connection| {
            let Some(lease) = claim_lease(connection, leases::RECONCILER, &claimant, now_ms, LEASE_TTL_MS)?
            else {
                return Ok(Vec::new());
            };
            let lost = leases::load_unleased(connection, now_ms)?;
            release_lease(connection, &lease)?;
            Ok(lost)
        })
        .await;
    let lost = lost?;
    for (id, split) in &lost {
        if let Ok(split) = split.parse() {
            deliver(evaluation, split, id).await;
        }
    }
    Ok(lost.len())
}
