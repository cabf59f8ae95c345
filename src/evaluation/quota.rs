//! What a team may still submit. Knows nothing of files.

use serde::Serialize;

use crate::config::QuotaSettings;
use crate::domain::instant;
use crate::domain::question::Split;
use crate::store::quota::load_used;
use crate::store::{DbConnection, StoreError};

/// A team's quota for a split.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, utoipa::ToSchema)]
pub struct Quota {
    /// The split.
    pub split: Split,
    /// Accepted submissions a UTC day.
    pub per_day: i64,
    /// Of these, used today.
    pub used_today: i64,
    /// Accepted submissions in all; null where there is no such limit.
    pub total: Option<i64>,
    /// Of these, used.
    pub used_total: i64,
    /// Submissions that would be accepted now.
    pub left: i64,
    /// When the day's count starts anew, RFC 3339 in UTC.
    pub resets_at: String,
    /// Seconds until then.
    pub resets_in_s: u64,
}

impl Quota {
    /// Whether waiting for the next day helps.
    pub fn resets(&self) -> bool {
        self.total.is_none_or(|total| self.used_total < total)
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
    let (per_day, total) = match split {
        Split::Test => (settings.quota_per_day, Some(i64::from(settings.quota_total))),
        Split::Val | Split::Train => (settings.quota_val_per_day, None),
    };
    let per_day = i64::from(per_day);
    let (used_today, used_total) = load_used(connection, team_id, split, &instant::day(now_ms))?;
    let left = total.map_or(i64::MAX, |total| total - used_total).min(per_day - used_today).max(0);
    let next_day_ms = instant::next_day_ms(now_ms);
    let resets_in_s = u64::try_from(next_day_ms - now_ms).unwrap_or_default().div_ceil(1000);
    let resets_at = instant::rfc3339(next_day_ms);
    Ok(Quota { split, per_day, used_today, total, used_total, left, resets_at, resets_in_s })
}
