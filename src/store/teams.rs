//! Teams. Knows nothing of their keys.

use std::collections::HashMap;

use diesel::dsl::{count_star, max};
use diesel::prelude::*;

use super::schema::{api_keys, submissions, teams};
use super::{DbConnection, Result, stored};
use crate::domain::team::Role;

/// A team as stored.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Team {
    /// UUIDv7.
    pub id: String,
    /// The short name, unique.
    pub slug: String,
    /// The full name.
    pub name: String,
    /// Where to reach the team.
    pub email: Option<String>,
    /// What the team may do.
    pub role: Role,
    /// When it was shut out, if it was.
    pub disabled_at_ms: Option<i64>,
    /// When it was made.
    pub created_at_ms: i64,
}

pub(super) type Row = (String, String, String, Option<String>, String, Option<i64>, i64);

pub(super) const COLUMNS: (
    teams::id,
    teams::slug,
    teams::name,
    teams::email,
    teams::role,
    teams::disabled_at_ms,
    teams::created_at_ms,
) = (
    teams::id,
    teams::slug,
    teams::name,
    teams::email,
    teams::role,
    teams::disabled_at_ms,
    teams::created_at_ms,
);

pub(super) fn team((id, slug, name, email, role, disabled_at_ms, created_at_ms): Row) -> Result<Team> {
    Ok(Team {
        id,
        slug,
        name,
        email,
        role: stored("role", &role, Role::parse)?,
        disabled_at_ms,
        created_at_ms,
    })
}

/// Adds a team.
///
/// # Errors
/// A duplicate when the slug is taken.
pub fn insert_team(connection: &mut DbConnection, team: &Team) -> Result<()> {
    let row = (
        teams::id.eq(&team.id),
        teams::slug.eq(&team.slug),
        teams::name.eq(&team.name),
        teams::email.eq(&team.email),
        teams::role.eq(team.role.as_str()),
        teams::disabled_at_ms.eq(team.disabled_at_ms),
        teams::intake_sequence.eq(0),
        teams::created_at_ms.eq(team.created_at_ms),
    );
    diesel::insert_into(teams::table).values(row).execute(connection)?;
    Ok(())
}

/// The team with this short name.
pub fn find_team(connection: &mut DbConnection, slug: &str) -> Result<Option<Team>> {
    let row = teams::table.filter(teams::slug.eq(slug)).select(COLUMNS).first(connection).optional()?;
    row.map(team).transpose()
}

/// The team with this id.
pub fn find_team_by_id(connection: &mut DbConnection, id: &str) -> Result<Option<Team>> {
    let row = teams::table.find(id).select(COLUMNS).first(connection).optional()?;
    row.map(team).transpose()
}

/// All teams by short name.
pub fn load_teams(connection: &mut DbConnection) -> Result<Vec<Team>> {
    let rows: Vec<Row> = teams::table.order(teams::slug).select(COLUMNS).load(connection)?;
    rows.into_iter().map(team).collect()
}

/// What a team has done.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Activity {
    /// Submissions that were accepted.
    pub submissions: i64,
    /// When the last of them was.
    pub last_submitted_at_ms: Option<i64>,
    /// When a key of it was last used, to the minute.
    pub last_used_at_ms: Option<i64>,
}

/// What these teams have done, by id; one that has done nothing is left out.
pub fn load_activity(connection: &mut DbConnection, ids: &[&str]) -> Result<HashMap<String, Activity>> {
    let mut activity = HashMap::<String, Activity>::new();
    let sent: Vec<(String, i64, Option<i64>)> = submissions::table
        .filter(submissions::team_id.eq_any(ids))
        .group_by(submissions::team_id)
        .select((submissions::team_id, count_star(), max(submissions::created_at_ms)))
        .load(connection)?;
    for (id, count, last_ms) in sent {
        let of_team = activity.entry(id).or_default();
        (of_team.submissions, of_team.last_submitted_at_ms) = (count, last_ms);
    }
    let used: Vec<(String, Option<i64>)> = api_keys::table
        .filter(api_keys::team_id.eq_any(ids))
        .group_by(api_keys::team_id)
        .select((api_keys::team_id, max(api_keys::last_used_at_ms)))
        .load(connection)?;
    for (id, last_ms) in used {
        activity.entry(id).or_default().last_used_at_ms = last_ms;
    }
    Ok(activity)
}

/// Shuts a team out since an instant, so that its keys and tokens end with the transaction; none lets it in again.
pub fn update_disabled(
    connection: &mut DbConnection,
    team_id: &str,
    disabled_at_ms: Option<i64>,
) -> Result<()> {
    let disabled = teams::disabled_at_ms.eq(disabled_at_ms);
    diesel::update(teams::table.find(team_id)).set(disabled).execute(connection)?;
    Ok(())
}

/// Locks a team's row, so that two submissions of one team are taken in one after the other.
pub fn lock_team(connection: &mut DbConnection, team_id: &str) -> Result<()> {
    diesel::update(teams::table.find(team_id))
        .set(teams::intake_sequence.eq(teams::intake_sequence + 1))
        .execute(connection)?;
    Ok(())
}
