//! Teams, their API keys and who a request comes from. Knows nothing of submissions.

use crate::domain::team::{Role, is_slug};
use crate::store::teams::{self, KeyOwner, Team};
use crate::store::{DbConnection, Store, StoreError, insert_audit};
use crate::tokens::{self, KEY_PREFIX, Signer, TokenError};

/// Who the audit log names for what was done at the command line.
const COMMAND_LINE: &str = "command line";

/// What can go wrong with teams and keys.
#[derive(Debug, thiserror::Error)]
pub enum AccountError {
    /// The short name cannot be one.
    #[error("`{0}` is no short name; use 1 to 40 of a-z, 0-9 and `-`, not first or last")]
    Slug(String),
    /// The team has no name.
    #[error("the name is blank; give the team's full name")]
    BlankName,
    /// The short name is taken.
    #[error("there is a team `{0}` already; choose another short name")]
    Taken(String),
    /// There is no such team.
    #[error("there is no team `{0}`; `secchi team list` shows all")]
    UnknownTeam(String),
    /// The team was shut out.
    #[error("the team `{0}` is disabled")]
    Disabled(String),
    /// The database failed.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// Why a request has no one behind it.
#[derive(Debug, thiserror::Error)]
pub enum Unauthenticated {
    /// There is no credential.
    #[error("no API key or token came with the request; send `Authorization: Bearer …`")]
    Missing,
    /// The credential is none that was given out here.
    #[error("the API key or token is unknown; check that it was copied whole")]
    Unknown,
    /// The token has expired.
    #[error("the token has expired; exchange the API key for a new one")]
    Expired,
    /// The key was revoked.
    #[error("the API key was revoked; use the team's new one")]
    Revoked,
    /// The team was shut out.
    #[error("the team is disabled; ask the maintainers")]
    Disabled,
    /// The database failed.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// Who a request comes from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Principal {
    /// The team.
    pub team: Team,
    /// The API key that was shown, or that the token was exchanged for.
    pub key_id: String,
}

impl Principal {
    /// Whether this is a maintainer.
    pub fn is_maintainer(&self) -> bool {
        self.team.role == Role::Maintainer
    }
}

/// What is said of a new team.
#[derive(Debug, Clone)]
pub struct NewTeam {
    /// The short name.
    pub slug: String,
    /// The full name.
    pub name: String,
    /// Where to reach it.
    pub email: Option<String>,
    /// What it may do.
    pub role: Role,
}

/// Makes a team and its first API key, which is told only here.
///
/// # Errors
/// When the short name is unusable or taken.
pub async fn create_team(store: &Store, new: NewTeam, now_ms: i64) -> Result<(Team, String), AccountError> {
    if !is_slug(&new.slug) {
        return Err(AccountError::Slug(new.slug));
    }
    if new.name.trim().is_empty() {
        return Err(AccountError::BlankName);
    }
    let team = Team {
        id: uuid::Uuid::now_v7().to_string(),
        slug: new.slug,
        name: new.name,
        email: new.email,
        role: new.role,
        disabled_at_ms: None,
        created_at_ms: now_ms,
    };
    let made = team.clone();
    let added = store.write(move |connection| {
        teams::insert_team(connection, &made)?;
        let subject = (COMMAND_LINE, "create_team", made.slug.as_str());
        insert_audit(connection, now_ms, subject, None, Some(made.role.as_str()))?;
        add_key(connection, &made.id, now_ms)
    });
    match added.await {
        Ok(key) => Ok((team, key)),
        Err(error) if error.is_duplicate() => Err(AccountError::Taken(team.slug)),
        Err(error) => Err(error.into()),
    }
}

/// Shuts a team out at once. Doing it again changes nothing.
///
/// # Errors
/// When there is no such team.
pub async fn disable_team(store: &Store, slug: String, now_ms: i64) -> Result<(), AccountError> {
    store
        .write(move |connection| {
            let team = known_team(connection, &slug)?;
            if team.disabled_at_ms.is_none() {
                teams::disable_team(connection, &team.id, now_ms)?;
                let subject = (COMMAND_LINE, "disable_team", slug.as_str());
                insert_audit(connection, now_ms, subject, Some("enabled"), Some("disabled"))?;
            }
            Ok(())
        })
        .await
}

/// Ends all keys of a team and makes a new one, which is told only here.
///
/// # Errors
/// When there is no such team or it is disabled.
pub async fn rotate_key(store: &Store, slug: String, now_ms: i64) -> Result<String, AccountError> {
    store
        .write(move |connection| {
            let team = known_team(connection, &slug)?;
            if team.disabled_at_ms.is_some() {
                return Err(AccountError::Disabled(slug));
            }
            teams::revoke_keys(connection, &team.id, now_ms)?;
            insert_audit(connection, now_ms, (COMMAND_LINE, "rotate_key", &slug), None, None)?;
            Ok(add_key(connection, &team.id, now_ms)?)
        })
        .await
}

/// Who shows this API key or access token.
///
/// # Errors
/// When nobody does any more, or never did.
pub async fn authenticate(
    store: &Store,
    signer: &Signer,
    credential: &str,
    now_ms: i64,
) -> Result<Principal, Unauthenticated> {
    if credential.starts_with(KEY_PREFIX) {
        let hash = tokens::hash_api_key(credential);
        return checked(store.read(move |connection| teams::find_key_by_hash(connection, &hash)).await?);
    }
    let key_id = signer.verify(credential, now_ms).map_err(|error| match error {
        TokenError::Expired => Unauthenticated::Expired,
        _ => Unauthenticated::Unknown,
    })?;
    checked(store.read(move |connection| teams::find_key(connection, &key_id)).await?)
}

fn checked(owner: Option<KeyOwner>) -> Result<Principal, Unauthenticated> {
    let (key_id, revoked, team) = owner.ok_or(Unauthenticated::Unknown)?;
    if revoked {
        return Err(Unauthenticated::Revoked);
    }
    if team.disabled_at_ms.is_some() {
        return Err(Unauthenticated::Disabled);
    }
    Ok(Principal { team, key_id })
}

fn known_team(connection: &mut DbConnection, slug: &str) -> Result<Team, AccountError> {
    teams::find_team(connection, slug)?.ok_or_else(|| AccountError::UnknownTeam(slug.to_owned()))
}

fn add_key(connection: &mut DbConnection, team_id: &str, now_ms: i64) -> Result<String, StoreError> {
    let key = tokens::new_api_key();
    let key_id = uuid::Uuid::now_v7().to_string();
    teams::insert_key(connection, &key_id, team_id, &tokens::hash_api_key(&key), now_ms)?;
    Ok(key)
}
