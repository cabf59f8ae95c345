//! The quota ledger: charges, refunds and grants, whose sum is what a team has left.

use std::collections::HashMap;

use diesel::prelude::*;

use super::schema::quota_ledger;
use super::{DbConnection, Result, stored};
use crate::domain::question::Split;
use crate::text_enum;

text_enum! {
    /// What an entry of the ledger does to a quota.
    QuotaKind { Charge = "charge", Refund = "refund", Grant = "grant" }
}

/// An entry of the ledger.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LedgerEntry {
    /// UUIDv7.
    pub id: String,
    /// The split.
    pub split: Split,
    /// What it does.
    pub kind: QuotaKind,
    /// By how many submissions.
    pub amount: i32,
    /// The submission concerned; none of a grant.
    pub submission_id: Option<String>,
    /// Why.
    pub reason: String,
    /// The UTC day that it counts to.
    pub day: String,
    /// When it was written.
    pub created_at_ms: i64,
}

/// What a team's ledger comes to for a split.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Sums {
    /// Charges less refunds on the day.
    pub used_on_day: i64,
    /// Charges less refunds ever.
    pub used: i64,
    /// Grants for the day.
    pub granted_on_day: i64,
    /// Grants ever.
    pub granted: i64,
}

/// Adds an entry to a team's ledger.
pub fn insert_quota(connection: &mut DbConnection, team_id: &str, entry: &LedgerEntry) -> Result<()> {
    let row = (
        quota_ledger::id.eq(&entry.id),
        quota_ledger::team_id.eq(team_id),
        quota_ledger::split.eq(entry.split.as_str()),
        quota_ledger::kind.eq(entry.kind.as_str()),
        quota_ledger::amount.eq(entry.amount),
        quota_ledger::submission_id.eq(&entry.submission_id),
        quota_ledger::reason.eq(&entry.reason),
        quota_ledger::day.eq(&entry.day),
        quota_ledger::created_at_ms.eq(entry.created_at_ms),
    );
    diesel::insert_into(quota_ledger::table).values(row).execute(connection)?;
    Ok(())
}

/// At most `limit` entries of a team's ledger, newest first, below the id `before`.
pub fn load_ledger(
    connection: &mut DbConnection,
    team_id: &str,
    before: Option<&str>,
    limit: i64,
) -> Result<Vec<LedgerEntry>> {
    type Row = (String, String, String, i32, Option<String>, String, String, i64);
    let mut query = quota_ledger::table.filter(quota_ledger::team_id.eq(team_id)).into_boxed();
    if let Some(before) = before {
        query = query.filter(quota_ledger::id.lt(before));
    }
    let rows: Vec<Row> = query
        .order(quota_ledger::id.desc())
        .limit(limit)
        .select((
            quota_ledger::id,
            quota_ledger::split,
            quota_ledger::kind,
            quota_ledger::amount,
            quota_ledger::submission_id,
            quota_ledger::reason,
            quota_ledger::day,
            quota_ledger::created_at_ms,
        ))
        .load(connection)?;
    rows.into_iter()
        .map(|(id, split, kind, amount, submission_id, reason, day, created_at_ms)| {
            let split = stored("split", &split, Split::parse)?;
            let kind = stored("kind", &kind, QuotaKind::parse)?;
            Ok(LedgerEntry { id, split, kind, amount, submission_id, reason, day, created_at_ms })
        })
        .collect()
}

/// What the ledgers of these teams come to for a split, by team: on `day`, and ever; an empty one is left out.
pub fn load_sums(
    connection: &mut DbConnection,
    team_ids: &[&str],
    split: Split,
    day: &str,
) -> Result<HashMap<String, Sums>> {
    let rows: Vec<(String, String, String, i32)> = quota_ledger::table
        .filter(quota_ledger::team_id.eq_any(team_ids))
        .filter(quota_ledger::split.eq(split.as_str()))
        .select((quota_ledger::team_id, quota_ledger::kind, quota_ledger::day, quota_ledger::amount))
        .load(connection)?;
    let mut by_team = HashMap::<String, Sums>::new();
    for (team_id, kind, of_day, amount) in rows {
        let sums = by_team.entry(team_id).or_default();
        let (amount, is_on_day) = (i64::from(amount), of_day == day);
        let on_day = if is_on_day { amount } else { 0 };
        match stored("kind", &kind, QuotaKind::parse)? {
            QuotaKind::Charge => {
                (sums.used, sums.used_on_day) = (sums.used + amount, sums.used_on_day + on_day)
            }
            QuotaKind::Refund => {
                (sums.used, sums.used_on_day) = (sums.used - amount, sums.used_on_day - on_day)
            }
            QuotaKind::Grant => {
                (sums.granted, sums.granted_on_day) = (sums.granted + amount, sums.granted_on_day + on_day);
            }
        }
    }
    Ok(by_team)
}

/// Whether a submission is charged for: not given back, or charged again since.
pub fn is_charged(connection: &mut DbConnection, submission_id: &str) -> Result<bool> {
    let kinds: Vec<String> = quota_ledger::table
        .filter(quota_ledger::submission_id.eq(submission_id))
        .select(quota_ledger::kind)
        .load(connection)?;
    let count = |kind: QuotaKind| kinds.iter().filter(|other| *other == kind.as_str()).count();
    Ok(count(QuotaKind::Charge) > count(QuotaKind::Refund))
}
