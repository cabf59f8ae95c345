//! Claims on judgement keys: which submission asks the judge under a key at present, so that no two pay for the same.

use std::collections::HashSet;

use diesel::prelude::*;

use super::connection::on_each;
use super::leases::Lease;
use super::schema::{judge_claims, judge_configurations, leases};
use super::{DbConnection, Result};

/// Claims `keys` of a configuration for the holder of a submission's lease, and gives those that it has now. A claim
/// lapses with the lease under which it was made.
pub fn claim_keys(
    connection: &mut DbConnection,
    configuration_id: &str,
    lease: &Lease,
    keys: &[String],
    now_ms: i64,
) -> Result<HashSet<String>> {
    lock_configuration(connection, configuration_id)?;
    let of_keys = || judge_claims::configuration_id.eq(configuration_id).and(judge_claims::key.eq_any(keys));
    let standing = leases::table
        .filter(leases::name.eq(judge_claims::submission_id))
        .filter(leases::epoch.eq(judge_claims::epoch))
        .filter(leases::owner.is_not_null())
        .filter(leases::expires_at_ms.gt(now_ms));
    let lapsed = of_keys().and(diesel::dsl::not(diesel::dsl::exists(standing)));
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

/// Lets those who claim keys of one configuration do so one after the other.
fn lock_configuration(connection: &mut DbConnection, configuration_id: &str) -> Result<()> {
    diesel::update(judge_configurations::table.find(configuration_id))
        .set(judge_configurations::state.eq(judge_configurations::state))
        .execute(connection)?;
    Ok(())
}
