//! The hashes of API keys, and what their teams know them by. Knows nothing of who may do what.

use diesel::prelude::*;

use super::schema::{api_keys, teams};
use super::teams::{COLUMNS, Row as TeamRow, Team, team};
use super::{DbConnection, Result, stored};
use crate::domain::key::Scope;

/// An API key as stored, without its hash.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Key {
    /// UUIDv7.
    pub id: String,
    /// What the team calls it.
    pub name: String,
    /// What it may be used for.
    pub scope: Scope,
    /// Its first characters; empty where they are not known.
    pub prefix: String,
    /// When it was made.
    pub created_at_ms: i64,
    /// When it ends, if it does.
    pub expires_at_ms: Option<i64>,
    /// When it was last used, to the minute.
    pub last_used_at_ms: Option<i64>,
    /// When it was revoked, if it was.
    pub revoked_at_ms: Option<i64>,
}

impl Key {
    /// Whether it opens anything at this instant.
    pub fn is_usable(&self, now_ms: i64) -> bool {
        self.revoked_at_ms.is_none() && !self.is_expired(now_ms)
    }

    /// Whether its time is over.
    pub fn is_expired(&self, now_ms: i64) -> bool {
        self.expires_at_ms.is_some_and(|expires_at_ms| expires_at_ms <= now_ms)
    }
}

type Row = (String, String, String, String, i64, Option<i64>, Option<i64>, Option<i64>);

/// Selects the columns of a key.
macro_rules! key_columns {
    () => {
        (
            api_keys::id,
            api_keys::name,
            api_keys::scope,
            api_keys::prefix,
            api_keys::created_at_ms,
            api_keys::expires_at_ms,
            api_keys::last_used_at_ms,
            api_keys::revoked_at_ms,
        )
    };
}

fn key(row: Row) -> Result<Key> {
    let (id, name, scope, prefix, created_at_ms, expires_at_ms, last_used_at_ms, revoked_at_ms) = row;
    let scope = stored("scope", &scope, Scope::parse)?;
    Ok(Key { id, name, scope, prefix, created_at_ms, expires_at_ms, last_used_at_ms, revoked_at_ms })
}

/// Adds an API key of a team by its hash.
pub fn insert_key(connection: &mut DbConnection, team_id: &str, key: &Key, sha256: &str) -> Result<()> {
    let row = (
        api_keys::id.eq(&key.id),
        api_keys::team_id.eq(team_id),
        api_keys::sha256.eq(sha256),
        api_keys::name.eq(&key.name),
        api_keys::scope.eq(key.scope.as_str()),
        api_keys::prefix.eq(&key.prefix),
        api_keys::created_at_ms.eq(key.created_at_ms),
        api_keys::expires_at_ms.eq(key.expires_at_ms),
    );
    diesel::insert_into(api_keys::table).values(row).execute(connection)?;
    Ok(())
}

/// The keys of a team, revoked and expired ones too, newest first.
pub fn load_keys(connection: &mut DbConnection, team_id: &str) -> Result<Vec<Key>> {
    let of_team = api_keys::table.filter(api_keys::team_id.eq(team_id));
    let rows: Vec<Row> = of_team.order(api_keys::id.desc()).select(key_columns!()).load(connection)?;
    rows.into_iter().map(key).collect()
}

/// The team's key with this id.
pub fn find_key(connection: &mut DbConnection, team_id: &str, id: &str) -> Result<Option<Key>> {
    let of_team = api_keys::table.find(id).filter(api_keys::team_id.eq(team_id));
    let row: Option<Row> = of_team.select(key_columns!()).first(connection).optional()?;
    row.map(key).transpose()
}

/// Ends one key.
pub fn revoke_key(connection: &mut DbConnection, id: &str, now_ms: i64) -> Result<()> {
    let standing = api_keys::table.find(id).filter(api_keys::revoked_at_ms.is_null());
    diesel::update(standing).set(api_keys::revoked_at_ms.eq(now_ms)).execute(connection)?;
    Ok(())
}

/// Ends all keys of a team.
pub fn revoke_keys(connection: &mut DbConnection, team_id: &str, now_ms: i64) -> Result<()> {
    let standing =
        api_keys::table.filter(api_keys::team_id.eq(team_id)).filter(api_keys::revoked_at_ms.is_null());
    diesel::update(standing).set(api_keys::revoked_at_ms.eq(now_ms)).execute(connection)?;
    Ok(())
}

/// Sets when a key ends.
pub fn update_expiry(connection: &mut DbConnection, id: &str, expires_at_ms: i64) -> Result<()> {
    diesel::update(api_keys::table.find(id))
        .set(api_keys::expires_at_ms.eq(expires_at_ms))
        .execute(connection)?;
    Ok(())
}

/// Notes that a key was used, unless it is known to have been used since `before_ms`.
pub fn note_use(connection: &mut DbConnection, id: &str, before_ms: i64, now_ms: i64) -> Result<()> {
    let unknown = api_keys::last_used_at_ms.is_null().or(api_keys::last_used_at_ms.le(before_ms));
    diesel::update(api_keys::table.find(id).filter(unknown))
        .set(api_keys::last_used_at_ms.eq(now_ms))
        .execute(connection)?;
    Ok(())
}

/// A key and its team.
pub type KeyOwner = (Key, Team);

/// Who holds the key with this hash.
pub fn find_owner_by_hash(connection: &mut DbConnection, sha256: &str) -> Result<Option<KeyOwner>> {
    let row = api_keys::table
        .inner_join(teams::table.on(teams::id.eq(api_keys::team_id)))
        .filter(api_keys::sha256.eq(sha256))
        .select((key_columns!(), COLUMNS))
        .first(connection)
        .optional()?;
    owner(row)
}

/// Who holds the key with this id.
pub fn find_owner(connection: &mut DbConnection, id: &str) -> Result<Option<KeyOwner>> {
    let row = api_keys::table
        .inner_join(teams::table.on(teams::id.eq(api_keys::team_id)))
        .filter(api_keys::id.eq(id))
        .select((key_columns!(), COLUMNS))
        .first(connection)
        .optional()?;
    owner(row)
}

fn owner(row: Option<(Row, TeamRow)>) -> Result<Option<KeyOwner>> {
    row.map(|(of_key, of_team)| Ok((key(of_key)?, team(of_team)?))).transpose()
}
