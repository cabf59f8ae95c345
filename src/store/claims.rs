//! Claims on judgement keys: which submission asks the judge under a key at present, so that no two pay for the same.

use std::collections::HashSet;

use diesel::dsl::{exists, not, sum};
use diesel::prelude::*;

use super::calibrations::load_calibration_reserved_usd;
use super::configurations::lock_configuration;
use super::connection::on_each;
use super::leases::{Lease, lock_lease};
use super::schema::{judge_claims, leases, submissions};
use super::{DbConnection, Result};
use crate::domain::question::Split;
use crate::domain::submission::{PausedFor, SubmissionState};

/// The row that whoever reserves money locks.
const BUDGET: &str = "judge_budget";

/// Claims `keys` of a configuration for the holder of a submission's lease, and gives those that it has now. A claim
/// lapses with the lease under which it was made.
pub fn claim_keys(
    connection: &mut DbConnection,
    configuration_id: &str,
    lease: &Lease,
    keys: &[String],
    now_ms: i64,
) -> Result<HashSet<String>> {
    // Those who claim keys of one configuration do so one after the other.
    lock_configuration(connection, configuration_id)?;
    let of_keys = || judge_claims::configuration_id.eq(configuration_id).and(judge_claims::key.eq_any(keys));
    let lapsed = of_keys().and(not(exists(standing_leases(now_ms))));
    diesel::delete(judge_claims::table.filter(lapsed)).execute(connection)?;
    let rows: Vec<_> = keys
        .iter()
        .map(|key| {
            (
                judge_claims::configuration_id.eq(configuration_id),
                judge_claims::key.eq(key),
                judge_claims::submission_id.eq(&lease.name),
                judge_claims::epoch.eq(lease.epoch),
            )
        })
        .collect();
    on_each!(connection, |inner| diesel::insert_into(judge_claims::table)
        .values(&rows)
        .on_conflict_do_nothing()
        .execute(inner))?;
    let own =
        of_keys().and(judge_claims::submission_id.eq(&lease.name)).and(judge_claims::epoch.eq(lease.epoch));
    let claimed: Vec<String> = judge_claims::table.filter(own).select(judge_claims::key).load(connection)?;
    Ok(claimed.into_iter().collect())
}

/// Gives up whatever was claimed under a lease or an earlier one on the same submission.
pub fn release_keys(connection: &mut DbConnection, lease: &Lease) -> Result<()> {
    let own = judge_claims::submission_id.eq(&lease.name).and(judge_claims::epoch.le(lease.epoch));
    diesel::delete(judge_claims::table.filter(own)).execute(connection)?;
    Ok(())
}

/// What may be spent in a day, and what the calls in question may cost at most.
#[derive(Debug, Clone, Copy)]
pub struct Reservation {
    /// Dollars a day.
    pub budget_usd: f64,
    /// Dollars that the day has cost so far.
    pub spent_usd: f64,
    /// Dollars that each call may cost at most.
    pub each_usd: f64,
}

impl Reservation {
    /// For how many of `most` calls there is enough beside what calls under way may still cost.
    pub fn grants(&self, reserved_usd: f64, most: usize) -> usize {
        let left_usd = self.budget_usd - self.spent_usd - reserved_usd;
        let enough = if self.each_usd > 0.0 { (left_usd / self.each_usd).max(0.0) as usize } else { most };
        // While nothing is under way a last call may begin on what is left: what it costs in the end is mostly less.
        let last_one = usize::from(reserved_usd <= 0.0 && self.spent_usd < self.budget_usd);
        enough.max(last_one).min(most)
    }
}

/// Lets those who reserve money do so one after the other, until the transaction ends.
pub fn lock_budget(connection: &mut DbConnection) -> Result<()> {
    lock_lease(connection, BUDGET)
}

/// Whether a test submission waits for money.
pub fn does_test_want_money(connection: &mut DbConnection) -> Result<bool> {
    let waiting = submissions::table
        .filter(submissions::state.eq(SubmissionState::Judging.as_str()))
        .filter(submissions::paused_for.eq(PausedFor::Budget.as_str()))
        .filter(submissions::split.eq(Split::Test.as_str()));
    Ok(diesel::select(exists(waiting)).get_result(connection)?)
}

/// Dollars that calls under way may still cost: those about submissions. Needs [`lock_budget`].
pub fn load_reserved_usd(connection: &mut DbConnection, now_ms: i64) -> Result<f64> {
    let standing = judge_claims::table.filter(exists(standing_leases(now_ms)));
    let reserved: Option<f64> = standing.select(sum(judge_claims::reserved_usd)).first(connection)?;
    Ok(reserved.unwrap_or(0.0))
}

/// Reserves money for calls under the claims on `keys`, in their order, and says for how many of them there is enough.
/// A reservation lapses with the lease of its claim. Needs [`lock_budget`].
pub fn reserve_money(
    connection: &mut DbConnection,
    configuration_id: &str,
    lease: &Lease,
    keys: &[String],
    reservation: Reservation,
    now_ms: i64,
) -> Result<usize> {
    let reserved_usd =
        load_reserved_usd(connection, now_ms)? + load_calibration_reserved_usd(connection, now_ms)?;
    let granted = reservation.grants(reserved_usd, keys.len());
    diesel::update(judge_claims::table.filter(own(configuration_id, lease, &keys[..granted])))
        .set(judge_claims::reserved_usd.eq(reservation.each_usd))
        .execute(connection)?;
    Ok(granted)
}

/// Reserves money for a further try of the call under the claim on the one key of `keys`, whose tries so far have cost
/// `so_far_usd` that is not booked yet, and says whether there is enough. Needs [`lock_budget`].
pub fn reserve_further(
    connection: &mut DbConnection,
    configuration_id: &str,
    lease: &Lease,
    keys: &[String],
    so_far_usd: f64,
    reservation: Reservation,
    now_ms: i64,
) -> Result<bool> {
    settle_money(connection, configuration_id, lease, keys)?;
    let spent_usd = reservation.spent_usd + so_far_usd;
    let reservation = Reservation { spent_usd, ..reservation };
    let granted = reserve_money(connection, configuration_id, lease, keys, reservation, now_ms)?;
    diesel::update(judge_claims::table.filter(own(configuration_id, lease, keys)))
        .set(judge_claims::reserved_usd.eq(judge_claims::reserved_usd + so_far_usd))
        .execute(connection)?;
    Ok(granted == keys.len())
}

/// Gives back what was reserved for calls that have ended.
pub fn settle_money(
    connection: &mut DbConnection,
    configuration_id: &str,
    lease: &Lease,
    keys: &[String],
) -> Result<()> {
    diesel::update(judge_claims::table.filter(own(configuration_id, lease, keys)))
        .set(judge_claims::reserved_usd.eq(0.0))
        .execute(connection)?;
    Ok(())
}

/// Matches the claims of a lease on these keys.
#[diesel::dsl::auto_type(no_type_alias)]
fn own<'a>(configuration_id: &'a str, lease: &'a Lease, keys: &'a [String]) -> _ {
    let name: &'a str = &lease.name;
    let epoch: i64 = lease.epoch;
    judge_claims::configuration_id
        .eq(configuration_id)
        .and(judge_claims::key.eq_any(keys))
        .and(judge_claims::submission_id.eq(name))
        .and(judge_claims::epoch.eq(epoch))
}

/// The lease under which a claim was made, if it stands.
#[diesel::dsl::auto_type(no_type_alias)]
fn standing_leases(now_ms: i64) -> _ {
    leases::table
        .filter(leases::name.eq(judge_claims::submission_id))
        .filter(leases::epoch.eq(judge_claims::epoch))
        .filter(leases::owner.is_not_null())
        .filter(leases::expires_at_ms.gt(now_ms))
}
