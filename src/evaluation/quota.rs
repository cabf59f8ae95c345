//! What a team may still submit: a ledger of charges, refunds and grants. Knows nothing of files.

use serde::Serialize;

use crate::config::QuotaSettings;
use crate::domain::actor::Actor;
use crate::domain::instant;
use crate::domain::question::Split;
use crate::domain::submission::{MetadataFault, listed, reason_fault};
use crate::store::audit::insert_audit;
use crate::store::quota::{LedgerEntry, QuotaKind, Sums, insert_quota, is_charged, load_sums};
use crate::store::submissions::Submission;
use crate::store::teams::{find_team, lock_team};
use crate::store::{DbConnection, Store, StoreError};

/// Submissions that one grant may give.
const MAX_GRANT: i32 = 1000;

/// Why a grant was not made.
#[derive(Debug, thiserror::Error)]
pub enum GrantError {
    /// There is no such team.
    #[error("there is no team `{0}`")]
    UnknownTeam(String),
    /// What was sent is faulty.
    #[error("the grant has {} fault(s): {}", .0.len(), listed(.0))]
    Faults(Vec<MetadataFault>),
    /// The database failed.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// What a maintainer grants a team.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Grant {
    /// The split.
    pub split: Split,
    /// Submissions more, today and in all.
    pub amount: i32,
    /// Why; the team reads it.
    pub reason: String,
}

/// A team's quota for a split.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, utoipa::ToSchema)]
pub struct Quota {
    /// The split.
    pub split: Split,
    /// Accepted submissions a UTC day.
    pub per_day: i64,
    /// Granted for today on top of them.
    pub granted_today: i64,
    /// Of both, used today.
    pub used_today: i64,
    /// Accepted submissions in all; null where there is no such limit.
    pub total: Option<i64>,
    /// Granted on top of them, ever.
    pub granted_total: i64,
    /// Of both, used.
    pub used_total: i64,
    /// Submissions that would be accepted now.
    pub left: i64,
    /// When the day's count starts anew, RFC 3339 in UTC.
    pub resets_at: String,
    /// Seconds until then.
    pub resets_in_s: u64,
}

impl Quota {
    /// What is left for a split at this instant of a ledger that comes to `sums`.
    pub(super) fn of(settings: &QuotaSettings, split: Split, sums: Sums, now_ms: i64) -> Quota {
        let (per_day, total) = match split {
            Split::Test => (settings.quota_per_day, Some(i64::from(settings.quota_total))),
            Split::Val | Split::Train => (settings.quota_val_per_day, None),
        };
        let per_day = i64::from(per_day);
        let left_in_all = total.map_or(i64::MAX, |total| total + sums.granted - sums.used);
        let next_day_ms = instant::next_day_ms(now_ms);
        Quota {
            split,
            per_day,
            granted_today: sums.granted_on_day,
            used_today: sums.used_on_day,
            total,
            granted_total: sums.granted,
            used_total: sums.used,
            left: left_in_all.min(per_day + sums.granted_on_day - sums.used_on_day).max(0),
            resets_at: instant::rfc3339(next_day_ms),
            resets_in_s: u64::try_from(next_day_ms - now_ms).unwrap_or_default().div_ceil(1000),
        }
    }

    /// Whether waiting for the next day helps.
    pub fn resets(&self) -> bool {
        self.total.is_none_or(|total| self.used_total < total + self.granted_total)
    }

    /// What a team is told that has nothing left.
    pub fn used_up(&self) -> String {
        let Quota { split, per_day, granted_today, used_today, used_total, resets_at, .. } = self;
        if self.resets() {
            let today = per_day + granted_today;
            format!("{used_today} of {today} submissions of today are used; more from {resets_at}")
        } else {
            format!("all {used_total} submissions to `{split}` are used; ask the maintainers")
        }
    }
}

/// What a team has left for a split at this instant.
///
/// # Errors
/// When the database fails.
pub fn quota(
    connection: &mut DbConnection,
    settings: &QuotaSettings,
    team_id: &str,
    split: Split,
    now_ms: i64,
) -> Result<Quota, StoreError> {
    let mut sums = load_sums(connection, &[team_id], split, &instant::day(now_ms))?;
    Ok(Quota::of(settings, split, sums.remove(team_id).unwrap_or_default(), now_ms))
}

/// Gives a team more submissions: today and in all.
///
/// # Errors
/// When there is no such team or the grant is faulty.
pub async fn grant_quota(
    store: &Store,
    actor: &Actor,
    slug: &str,
    grant: Grant,
    now_ms: i64,
) -> Result<LedgerEntry, GrantError> {
    let faults = grant.faults();
    if !faults.is_empty() {
        return Err(GrantError::Faults(faults));
    }
    let (actor, slug) = (actor.clone(), slug.to_owned());
    store
        .write(move |connection| {
            let unknown = || GrantError::UnknownTeam(slug.clone());
            let team = find_team(connection, &slug)?.ok_or_else(unknown)?;
            lock_team(connection, &team.id)?;
            let entry = LedgerEntry {
                id: uuid::Uuid::now_v7().to_string(),
                split: grant.split,
                kind: QuotaKind::Grant,
                amount: grant.amount,
                submission_id: None,
                reason: grant.reason.trim().to_owned(),
                day: instant::day(now_ms),
                created_at_ms: now_ms,
            };
            insert_quota(connection, &team.id, &entry)?;
            let after = format!("{} to {}: {}", entry.amount, entry.split, entry.reason);
            insert_audit(connection, now_ms, (&actor, "grant_quota", &slug), None, Some(&after))?;
            Ok(entry)
        })
        .await
}

impl Grant {
    fn faults(&self) -> Vec<MetadataFault> {
        let mut faults: Vec<MetadataFault> = reason_fault(&self.reason).into_iter().collect();
        if self.split == Split::Train {
            let detail = "`train` is not scored; give `test` or `val`".into();
            faults.push(MetadataFault { pointer: "/split".into(), detail });
        }
        if !(1..=MAX_GRANT).contains(&self.amount) {
            let detail = format!("must be from 1 to {MAX_GRANT} submissions");
            faults.push(MetadataFault { pointer: "/amount".into(), detail });
        }
        faults
    }
}

/// Charges a team for a submission, on the day when it was accepted.
pub(super) fn charge(
    connection: &mut DbConnection,
    (id, team_id, split): (&str, &str, Split),
    reason: &str,
    accepted_at_ms: i64,
    now_ms: i64,
) -> Result<(), StoreError> {
    let entry = of_submission(id, (split, QuotaKind::Charge), reason, accepted_at_ms, now_ms);
    insert_quota(connection, team_id, &entry)
}

/// Gives a submission's charge back, once, and only if none of its scores could be read.
pub(super) fn refund(
    connection: &mut DbConnection,
    submission: &Submission,
    reason: &str,
    now_ms: i64,
) -> Result<(), StoreError> {
    if submission.was_readable() || !is_charged(connection, &submission.id)? {
        return Ok(());
    }
    let what = (submission.metadata.split, QuotaKind::Refund);
    let entry = of_submission(&submission.id, what, reason, submission.created_at_ms, now_ms);
    insert_quota(connection, &submission.team_id, &entry)
}

/// Charges again for a submission whose charge was given back, since it is taken up again all the same.
pub(super) fn charge_again(
    connection: &mut DbConnection,
    submission: &Submission,
    now_ms: i64,
) -> Result<(), StoreError> {
    if is_charged(connection, &submission.id)? {
        return Ok(());
    }
    let what = (submission.id.as_str(), submission.team_id.as_str(), submission.metadata.split);
    charge(connection, what, "taken up again by a maintainer", submission.created_at_ms, now_ms)
}

fn of_submission(
    id: &str,
    (split, kind): (Split, QuotaKind),
    reason: &str,
    accepted_at_ms: i64,
    now_ms: i64,
) -> LedgerEntry {
    LedgerEntry {
        id: uuid::Uuid::now_v7().to_string(),
        split,
        kind,
        amount: 1,
        submission_id: Some(id.to_owned()),
        reason: reason.to_owned(),
        day: instant::day(accepted_at_ms),
        created_at_ms: now_ms,
    }
}
