//! Teams: how they come about, sign in, keep keys and are shut out. Knows nothing of submissions.

pub mod approval;
mod identity;
pub mod keys;
#[cfg(feature = "smtp")]
pub mod mailing;
pub mod signup;

use crate::domain::actor::Actor;
use crate::domain::key::Scope;
use crate::domain::signup::contact_faults;
use crate::domain::submission::{MetadataFault, listed};
use crate::domain::team::{Role, is_slug};
use crate::store::audit::insert_audit;
use crate::store::keys::{Key, revoke_keys};
use crate::store::signups::lock_signups;
use crate::store::teams::{self, Team};
use crate::store::{DbConnection, Store, StoreError};

pub use identity::{Principal, Unauthenticated, authenticate, is_standing, resume_session, sign_in};
use keys::{NewKey, add_key};

/// What the key is called that a team begins with.
const FIRST_KEY: &str = "first key";

/// What can go wrong with teams.
#[derive(Debug, thiserror::Error)]
pub enum AccountError {
    /// The short name cannot be one.
    #[error("`{0}` is no short name; use 1 to 40 of a-z, 0-9 and `-`, not first or last")]
    Slug(String),
    /// The team has no name.
    #[error("the name is blank; give the team's full name")]
    BlankName,
    /// The name or the address is faulty.
    #[error("the team has {} fault(s): {}", .0.len(), listed(.0))]
    Faults(Vec<MetadataFault>),
    /// The short name is taken.
    #[error("there is a team `{0}` already; choose another short name")]
    Taken(String),
    /// There is no such team.
    #[error("there is no team `{0}`; `secchi team list` shows all")]
    UnknownTeam(String),
    /// The team was shut out.
    #[error("the team `{0}` is disabled")]
    Disabled(String),
    /// Whoever asks would shut themselves out.
    #[error("this is your own team; another maintainer, or `secchi team disable`, may shut it out")]
    Own,
    /// The database failed.
    #[error(transparent)]
    Store(#[from] StoreError),
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
pub async fn create_team(
    store: &Store,
    actor: &Actor,
    new: NewTeam,
    now_ms: i64,
) -> Result<(Team, String), AccountError> {
    if !is_slug(&new.slug) {
        return Err(AccountError::Slug(new.slug));
    }
    if new.name.trim().is_empty() {
        return Err(AccountError::BlankName);
    }
    let faults = contact_faults(&new.name, new.email.as_deref());
    if !faults.is_empty() {
        return Err(AccountError::Faults(faults));
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
    let (actor, made) = (actor.clone(), team.clone());
    let added: Result<String, StoreError> = store
        .write(move |connection| {
            // As where a sign-up is approved: a short name goes to whoever is first.
            lock_signups(connection)?;
            teams::insert_team(connection, &made)?;
            let subject = (&actor, "create_team", made.slug.as_str());
            insert_audit(connection, now_ms, subject, None, Some(made.role.as_str()))?;
            Ok(first_key(connection, &made, now_ms)?.1)
        })
        .await;
    match added {
        Ok(key) => Ok((team, key)),
        Err(error) if error.is_duplicate() => Err(AccountError::Taken(team.slug)),
        Err(error) => Err(error.into()),
    }
}

/// Shuts a team out at once. Doing it again changes nothing.
///
/// # Errors
/// When there is no such team, or it is the actor's own.
pub async fn disable_team(
    store: &Store,
    actor: &Actor,
    slug: String,
    now_ms: i64,
) -> Result<Team, AccountError> {
    if actor.name == slug {
        return Err(AccountError::Own);
    }
    set_disabled(store, actor, slug, true, now_ms).await
}

/// Lets a team in again that was shut out, with the keys that it had. Doing it again changes nothing.
///
/// # Errors
/// When there is no such team.
pub async fn enable_team(
    store: &Store,
    actor: &Actor,
    slug: String,
    now_ms: i64,
) -> Result<Team, AccountError> {
    set_disabled(store, actor, slug, false, now_ms).await
}

async fn set_disabled(
    store: &Store,
    actor: &Actor,
    slug: String,
    disabled: bool,
    now_ms: i64,
) -> Result<Team, AccountError> {
    let actor = actor.clone();
    let (action, before, after) = match disabled {
        true => ("disable_team", "enabled", "disabled"),
        false => ("enable_team", "disabled", "enabled"),
    };
    store
        .write(move |connection| {
            let team = locked_team(connection, &slug)?;
            if team.disabled_at_ms.is_some() == disabled {
                return Ok(team);
            }
            let disabled_at_ms = disabled.then_some(now_ms);
            teams::update_disabled(connection, &team.id, disabled_at_ms)?;
            insert_audit(connection, now_ms, (&actor, action, &slug), Some(before), Some(after))?;
            Ok(Team { disabled_at_ms, ..team })
        })
        .await
}

/// Ends all keys of a team and makes a new one, which is told only here.
///
/// # Errors
/// When there is no such team or it is disabled.
pub async fn rotate_key(
    store: &Store,
    actor: &Actor,
    slug: String,
    now_ms: i64,
) -> Result<String, AccountError> {
    let actor = actor.clone();
    store
        .write(move |connection| {
            let team = locked_team(connection, &slug)?;
            if team.disabled_at_ms.is_some() {
                return Err(AccountError::Disabled(slug));
            }
            revoke_keys(connection, &team.id, now_ms)?;
            insert_audit(connection, now_ms, (&actor, "rotate_key", &slug), None, None)?;
            Ok(first_key(connection, &team, now_ms)?.1)
        })
        .await
}

/// The team, which nobody else changes till the transaction ends, nor gives a key.
fn locked_team(connection: &mut DbConnection, slug: &str) -> Result<Team, AccountError> {
    let team = known_team(connection, slug)?;
    teams::lock_team(connection, &team.id)?;
    known_team(connection, slug)
}

fn known_team(connection: &mut DbConnection, slug: &str) -> Result<Team, AccountError> {
    teams::find_team(connection, slug)?.ok_or_else(|| AccountError::UnknownTeam(slug.to_owned()))
}

/// The key that a team begins with: it may do all that the team may.
fn first_key(connection: &mut DbConnection, team: &Team, now_ms: i64) -> Result<(Key, String), StoreError> {
    let scope = if team.role == Role::Maintainer { Scope::Admin } else { Scope::Submit };
    let first = NewKey { name: FIRST_KEY.to_owned(), scope, expires_at_ms: None };
    add_key(connection, &team.id, first, now_ms)
}
