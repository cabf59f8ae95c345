//! Teams. Knows nothing of their keys.

use diesel::prelude::*;

use super::schema::teams;
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

/// Shuts a team out; its keys and tokens end with the transaction.
pub fn disable_team(connection: &mut DbConnection, team_id: &str, now_ms: i64) -> Result<()> {
    diesel::update(teams::table.find(team_id)).set(teams::disabled_at_ms.eq(now_ms)).execute(connection)?;
    Ok(())
}

/// Locks a team's row, so that two submissions of one team are taken in one after the other.
pub fn lock_team(connection: &mut DbConnection, team_id: &str) -> Result<()> {
    diesel::update(teams::table.find(team_id))
        .set(teams::intake_sequence.eq(teams::intake_sequence + 1))
        .execute(connection)?;
    Ok(())
}
