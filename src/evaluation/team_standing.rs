//! Teams as maintainers see them: who they are, what they have done and what is left to them.

use serde::Serialize;

use crate::config::QuotaSettings;
use crate::domain::instant::rfc3339;
use crate::domain::question::Split;
use crate::domain::team::Role;
use crate::store::teams::{load_activity, load_teams};
use crate::store::{DbConnection, StoreError};

use super::quota::{Quota, quota};

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
    let standing = |team: crate::store::teams::Team| {
        let done = activity.get(&team.id).copied().unwrap_or_default();
        let left: Result<Vec<Quota>, StoreError> = [Split::Test, Split::Val]
            .into_iter()
            .map(|split| quota(connection, settings, &team.id, split, now_ms))
            .collect();
        Ok(TeamStanding {
            quota: left?,
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
        })
    };
    teams.into_iter().map(standing).collect()
}
