//! Leases: who may work on a submission, be the reconciler or work out rank ranges, and until when. The epoch fences off an
//! owner whose lease was taken over.

use diesel::prelude::*;

use super::schema::{leases, submissions};
use super::{DbConnection, Result, stored};
use crate::domain::question::Split;
use crate::domain::submission::SubmissionState;

/// The lease under which one process at a time puts lost work back into the queue.
pub const RECONCILER: &str = "reconciler";

/// The lease under which one process at a time works out rank ranges.
pub const RANGES: &str = "ranges";

/// The lease under which one process at a time asks the judge about rated answers.
pub const CALIBRATION: &str = "calibration";

/// A right to work on something, good until it expires or is taken over.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Lease {
    /// What it is for: a submission's id, [`RECONCILER`], [`RANGES`] or [`CALIBRATION`].
    pub name: String,
    /// The process that holds it.
    pub owner: String,
    /// Rises with every claim.
    pub epoch: i64,
    /// How often it was claimed without an orderly release since.
    pub attempts: i32,
}

/// Makes the free lease of a new submission.
pub fn insert_lease(connection: &mut DbConnection, name: &str) -> Result<()> {
    let row =
        (leases::name.eq(name), leases::expires_at_ms.eq(0), leases::epoch.eq(0), leases::attempts.eq(0));
    diesel::insert_into(leases::table).values(row).execute(connection)?;
    Ok(())
}

/// Takes the lease `name` for `owner` unless another owner holds it.
pub fn claim_lease(
    connection: &mut DbConnection,
    name: &str,
    owner: &str,
    now_ms: i64,
    ttl_ms: i64,
) -> Result<Option<Lease>> {
    let free = leases::owner.is_null().or(leases::expires_at_ms.le(now_ms));
    let claimed = diesel::update(leases::table.filter(leases::name.eq(name)).filter(free))
        .set((
            leases::owner.eq(owner),
            leases::expires_at_ms.eq(now_ms + ttl_ms),
            leases::epoch.eq(leases::epoch + 1),
            leases::attempts.eq(leases::attempts + 1),
        ))
        .execute(connection)?;
    if claimed == 0 {
        return Ok(None);
    }
    let (epoch, attempts) =
        leases::table.find(name).select((leases::epoch, leases::attempts)).first(connection)?;
    Ok(Some(Lease { name: name.to_owned(), owner: owner.to_owned(), epoch, attempts }))
}

/// Locks a lease's row till the transaction ends, whoever holds the lease: those who do so come one after the other.
pub fn lock_lease(connection: &mut DbConnection, name: &str) -> Result<()> {
    diesel::update(leases::table.find(name)).set(leases::epoch.eq(leases::epoch)).execute(connection)?;
    Ok(())
}

/// Prolongs a lease and locks its row till the transaction ends; false when it was lost.
pub fn renew_lease(connection: &mut DbConnection, lease: &Lease, now_ms: i64, ttl_ms: i64) -> Result<bool> {
    let renewed = diesel::update(leases::table.filter(held(lease)))
        .set(leases::expires_at_ms.eq(now_ms + ttl_ms))
        .execute(connection)?;
    Ok(renewed == 1)
}

/// Notes that work under a lease got somewhere, and locks its row till the transaction ends; false when it was lost.
pub fn confirm_lease(connection: &mut DbConnection, lease: &Lease) -> Result<bool> {
    let confirmed =
        diesel::update(leases::table.filter(held(lease))).set(leases::attempts.eq(0)).execute(connection)?;
    Ok(confirmed == 1)
}

/// Gives a lease back in good order; does nothing if it was lost.
pub fn release_lease(connection: &mut DbConnection, lease: &Lease) -> Result<()> {
    diesel::update(leases::table.filter(held(lease)))
        .set((leases::owner.eq(None::<String>), leases::expires_at_ms.eq(0), leases::attempts.eq(0)))
        .execute(connection)?;
    Ok(())
}

/// Matches the row of a lease that was not lost.
#[diesel::dsl::auto_type(no_type_alias)]
fn held<'a>(lease: &'a Lease) -> _ {
    let name: &'a str = &lease.name;
    let owner: &'a str = &lease.owner;
    let epoch: i64 = lease.epoch;
    leases::name.eq(name).and(leases::owner.eq(owner)).and(leases::epoch.eq(epoch))
}

/// Frees whatever `owner` held before it died. Its attempts stay, so that poisoned work is noticed.
pub fn free_leases_of(connection: &mut DbConnection, owner: &str) -> Result<usize> {
    let freed = diesel::update(leases::table.filter(leases::owner.eq(owner)))
        .set((leases::owner.eq(None::<String>), leases::expires_at_ms.eq(0)))
        .execute(connection)?;
    Ok(freed)
}

/// Frees all leases and forgets their attempts, where nobody is left who could hold one.
pub fn free_all_leases(connection: &mut DbConnection) -> Result<()> {
    diesel::update(leases::table)
        .set((leases::owner.eq(None::<String>), leases::expires_at_ms.eq(0), leases::attempts.eq(0)))
        .execute(connection)?;
    Ok(())
}

/// Takes a lease away from whoever holds it, and forgets its attempts.
pub fn revoke_lease(connection: &mut DbConnection, name: &str) -> Result<()> {
    diesel::update(leases::table.find(name))
        .set((
            leases::owner.eq(None::<String>),
            leases::expires_at_ms.eq(0),
            leases::epoch.eq(leases::epoch + 1),
            leases::attempts.eq(0),
        ))
        .execute(connection)?;
    Ok(())
}

/// Takes their leases away from all who work on another submission than this one.
pub fn revoke_others(connection: &mut DbConnection, submission_id: &str) -> Result<()> {
    let held: Vec<String> = leases::table
        .filter(leases::owner.is_not_null())
        .filter(leases::name.ne(submission_id))
        .filter(leases::name.eq_any(submissions::table.select(submissions::id)))
        .order(leases::name)
        .select(leases::name)
        .load(connection)?;
    held.iter().try_for_each(|name| revoke_lease(connection, name))
}

/// The submissions that wait for work and that nobody holds: id and split, oldest first.
pub fn load_unleased(connection: &mut DbConnection, now_ms: i64) -> Result<Vec<(String, Split)>> {
    let open = [SubmissionState::Queued, SubmissionState::Grading, SubmissionState::Judging];
    let found: Vec<(String, String)> = submissions::table
        .inner_join(leases::table.on(leases::name.eq(submissions::id)))
        .filter(submissions::state.eq_any(open.map(SubmissionState::as_str)))
        .filter(submissions::not_before_ms.le(now_ms))
        .filter(leases::owner.is_null().or(leases::expires_at_ms.le(now_ms)))
        .order(submissions::created_at_ms)
        .select((submissions::id, submissions::split))
        .load(connection)?;
    found.into_iter().map(|(id, split)| Ok((id, stored("split", &split, Split::parse)?))).collect()
}
