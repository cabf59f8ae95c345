//! The quota ledger: charges, refunds and grants, whose sum is what a team has left.

use diesel::prelude::*;

use super::schema::quota_ledger;
use super::{DbConnection, Result};
use crate::domain::instant;
use crate::domain::question::Split;
use crate::text_enum;

text_enum! {
    /// What an entry of the ledger does to a quota.
    QuotaKind { Charge = "charge", Refund = "refund", Grant = "grant" }
}

/// Adds an entry of one submission; `charged_at_ms` is the instant whose day it counts to.
pub fn insert_quota(
    connection: &mut DbConnection,
    (team_id, split, kind): (&str, Split, QuotaKind),
    submission_id: Option<&str>,
    reason: &str,
    charged_at_ms: i64,
    now_ms: i64,
) -> Result<()> {
    let row = (
        quota_ledger::id.eq(uuid::Uuid::now_v7().to_string()),
        quota_ledger::team_id.eq(team_id),
        quota_ledger::split.eq(split.as_str()),
        quota_ledger::kind.eq(kind.as_str()),
        quota_ledger::amount.eq(1),
        quota_ledger::submission_id.eq(submission_id),
        quota_ledger::reason.eq(reason),
        quota_ledger::day.eq(instant::day(charged_at_ms)),
        quota_ledger::created_at_ms.eq(now_ms),
    );
    diesel::insert_into(quota_ledger::table).values(row).execute(connection)?;
    Ok(())
}

/// How much of a team's quota for a split is used: on `day`, and ever.
pub fn load_used(
    connection: &mut DbConnection,
    team_id: &str,
    split: Split,
    day: &str,
) -> Result<(i64, i64)> {
    let of_team = quota_ledger::table
        .filter(quota_ledger::team_id.eq(team_id))
        .filter(quota_ledger::split.eq(split.as_str()));
    let rows: Vec<(String, String, i32)> =
        of_team.select((quota_ledger::kind, quota_ledger::day, quota_ledger::amount)).load(connection)?;
    let used =
        |rows: &mut dyn Iterator<Item = &(String, String, i32)>| -> i64 {
            rows.map(|(kind, _, amount)| {
                if kind == QuotaKind::Charge.as_str() { i64::from(*amount) } else { -i64::from(*amount) }
            })
            .sum()
        };
    Ok((used(&mut rows.iter().filter(|row| row.1 == day)), used(&mut rows.iter())))
}

/// Whether a submission's charge was given back already.
pub fn is_refunded(connection: &mut DbConnection, submission_id: &str) -> Result<bool> {
    let refund = quota_ledger::table
        .filter(quota_ledger::submission_id.eq(submission_id))
        .filter(quota_ledger::kind.eq(QuotaKind::Refund.as_str()));
    Ok(diesel::select(diesel::dsl::exists(refund)).get_result(connection)?)
}
