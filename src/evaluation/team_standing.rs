//! Teams as maintainers see them: who they are, what they have done and what is left to them.

use serde::Serialize;

use crate::config::QuotaSettings;
use crate::domain::instant::{day, rfc3339};
use crate::domain::question::Split;
use crate::domain::team::Role;
use crate::store::quota::load_sums;
use crate::store::teams::{Team, load_activity, load_teams};
use crate::store::{DbConnection, StoreError};

use super::quota::Quota;

/// A team, as maintainers see it.
#[derive(Debug, Clone, Serialize, utoipa::ToSchema)]
pub struct TeamStanding {
    /// The short name.
    pub slug: String,
    /// The full name.
    pub name: String,
    /// Where to reach it.
    pub email: Option<String>,
    /// What it may do.
    pub role: Role,
    /// When it was shut out, if it was.
    pub disabled_at: Option<String>,
    /// When it was made.
    pub created_at: String,
    /// Submissions that were accepted.
    pub submissions: i64,
    /// When the last of them was.
    pub last_submitted_at: Option<String>,
    /// When a key of it was last used, to the minute.
    pub last_used_at: Option<String>,
    /// What it may still submit, by split.
    pub quota: Vec<Quota>,
    /// The team's id, by which lists are cut.
    #[serde(skip)]
    pub id: String,
}

/// At most `limit` teams, newest first, below the id `before`.
///
/// # Errors
/// When the database fails.
pub fn list_teams(
    connection: &mut DbConnection,
    settings: &QuotaSettings,
    before: Option<&str>,
    limit: i64,
    now_ms: i64,
) -> Result<Vec<TeamStanding>, StoreError> {
    let mut teams = load_teams(connection)?;
    teams.sort_by(|one, other| other.id.cmp(&one.id));
    teams.retain(|team| before.is_none_or(|before| team.id.as_str() < before));
    teams.truncate(usize::try_from(limit).unwrap_or_default());
    let ids: Vec<&str> = teams.iter().map(|team| team.id.as_str()).collect();
    let activity = load_activity(connection, &ids)?;
    let mut ledgers = Vec::new();
    for split in [Split::Test, Split::Val] {
        ledgers.push((split, load_sums(connection, &ids, split, &day(now_ms))?));
    }
    let standing = |team: Team| {
        let done = activity.get(&team.id).copied().unwrap_or_default();
        let left = ledgers.iter().map(|(split, sums)| {
            Quota::of(settings, *split, sums.get(&team.id).copied().unwrap_or_default(), now_ms)
        });
        TeamStanding {
            quota: left.collect(),
            slug: team.slug,
            name: team.name,
            email: team.email,
            role: team.role,
            disabled_at: team.disabled_at_ms.map(rfc3339),
            created_at: rfc3339(team.created_at_ms),
            submissions: done.submissions,
            last_submitted_at: done.last_submitted_at_ms.map(rfc3339),
            last_used_at: done.last_used_at_ms.map(rfc3339),
            id: team.id,
        }
    };
    Ok(teams.into_iter().map(standing).collect())
}
