//! What a slice of judging stores at once, in one transaction, and what becomes of answers that a call failed at. Knows
//! nothing of calls.

use crate::domain::outcome::{FailureReason, Outcome};
use crate::store::configurations::lock_configuration;
use crate::store::failures::{self, FailureRow};
use crate::store::judgements::{self, JudgementRow, SpendRow};
use crate::store::leases::{Lease, confirm_lease};
use crate::store::scores::{self, Under};
use crate::store::submissions::{self, Progress};
use crate::store::{DbConnection, StoreError, claims};

/// Calls that may fail at an answer, each with all its tries, before it is the answer's failure: the first may have met
/// a moment of trouble.
const MAX_CALLS: i32 = 2;

/// The same where the judge gave no answer at all: some outages are short.
const MAX_UNAVAILABLE_CALLS: i32 = 3;

/// How long an answer that gets none is tried while nothing else is judged, as at the end of a submission: an outage that
/// began there looks the same.
const LAST_MS: i64 = 60_000;

/// What becomes of an answer that a call failed at.
pub(super) enum Fate {
    /// It gets another call.
    Again,
    /// It has failed.
    Failed(FailureReason),
    /// Nobody can tell yet whether the answer fails or the judge: nothing else is scored.
    Open,
}

/// What came since the last batch.
#[derive(Clone)]
pub(super) struct Batch {
    pub(super) lease: Lease,
    pub(super) under: Under,
    /// Whether the submission's own progress stays as it is.
    pub(super) is_rejudging: bool,
    /// Where older judgements do not count: what is new waits until the last answer is judged, and no outcome is stored.
    pub(super) anew_since_ms: Option<i64>,
    /// Whether money was reserved for the calls.
    pub(super) has_reserved: bool,
    pub(super) judgements: Vec<JudgementRow>,
    pub(super) spend: Vec<SpendRow>,
    /// Keys of calls that have ended.
    pub(super) ended: Vec<String>,
    pub(super) failures: Vec<FailureRow>,
    /// The places of the answers that failed, in the order of `failures`.
    pub(super) failed_places: Vec<usize>,
    /// All of the submission's outcomes so far.
    pub(super) outcomes: Vec<Outcome>,
    pub(super) progress: Progress,
}

/// How things stand after a batch.
pub(super) struct Stored {
    pub(super) outcomes: Vec<Outcome>,
    pub(super) progress: Progress,
    /// What becomes of the answers that failed, in their order.
    pub(super) fates: Vec<Fate>,
}

impl Batch {
    /// Stores it; none if the lease was lost, and then only what was paid for.
    pub(super) fn store(mut self, connection: &mut DbConnection) -> Result<Option<Stored>, StoreError> {
        let goes_on = !self.judgements.is_empty();
        if let Some(since_ms) = self.anew_since_ms {
            let id = &self.under.configuration_id;
            // Whoever lets what waits stand holds it too, so that it is not exchanged under its hands.
            lock_configuration(connection, id)?;
            let keys: Vec<String> = self.judgements.iter().map(|row| row.key.clone()).collect();
            judgements::delete_waiting_before(connection, id, &keys, since_ms)?;
        }
        judgements::insert_judgements(connection, self.judgements)?;
        judgements::add_spend(connection, self.spend)?;
        if self.has_reserved {
            claims::settle_money(connection, &self.under.configuration_id, &self.lease, &self.ended)?;
        }
        if !confirm_lease(connection, &self.lease)? {
            return Ok(None);
        }
        let fates = fates(connection, &self.failures)?;
        for (place, fate) in self.failed_places.iter().zip(&fates) {
            if let Fate::Failed(reason) = fate {
                self.outcomes[*place] = Outcome::Failed(*reason);
                self.progress.failed += 1;
            }
        }
        if self.anew_since_ms.is_none() {
            scores::save_outcomes(connection, &self.lease.name, &self.under, &self.outcomes)?;
        }
        if !self.is_rejudging {
            submissions::update_progress(connection, &self.lease.name, self.progress)?;
            if goes_on {
                submissions::clear_pause(connection, &self.lease.name)?;
            }
        }
        Ok(Some(Stored { outcomes: self.outcomes, progress: self.progress, fates }))
    }
}

/// Notes failed calls and says what becomes of their answers.
fn fates(connection: &mut DbConnection, rows: &[FailureRow]) -> Result<Vec<Fate>, StoreError> {
    failures::note_failures(connection, rows)?;
    find_fates(connection, rows)
}

/// What becomes of answers that calls have failed at, as things stand.
pub(super) fn find_fates(
    connection: &mut DbConnection,
    rows: &[FailureRow],
) -> Result<Vec<Fate>, StoreError> {
    let Some(first) = rows.first() else { return Ok(Vec::new()) };
    let under = Under::new(&first.release_id, &first.configuration_id);
    let known = failures::load_failures(connection, &first.submission_id, &under)?;
    let mut fates = Vec::with_capacity(rows.len());
    for row in rows {
        let noted = known.iter().find(|noted| noted.question_id == row.question_id).unwrap_or(row);
        let reason = FailureReason::parse(&noted.reason).unwrap_or(FailureReason::Unavailable);
        let is_unavailable = reason == FailureReason::Unavailable;
        let is_open = is_unavailable && is_open(connection, noted, row)?;
        let most = if is_unavailable { MAX_UNAVAILABLE_CALLS } else { MAX_CALLS };
        fates.push(match noted.calls {
            _ if is_open => Fate::Open,
            calls if calls < most => Fate::Again,
            _ => Fate::Failed(reason),
        });
    }
    Ok(fates)
}

/// Whether nobody can tell if the answer fails or the judge: nothing was judged during the last call, and the first is not
/// long past or nothing was judged since then either.
fn is_open(
    connection: &mut DbConnection,
    noted: &FailureRow,
    last_call: &FailureRow,
) -> Result<bool, StoreError> {
    let began_ms = last_call.first_failed_at_ms;
    if judgements::has_judged_since(connection, &noted.configuration_id, began_ms)? {
        return Ok(false);
    }
    let is_fresh = noted.last_failed_at_ms - noted.first_failed_at_ms < LAST_MS;
    Ok(is_fresh
        || !judgements::has_judged_since(connection, &noted.configuration_id, noted.first_failed_at_ms)?)
}
