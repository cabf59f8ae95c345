//! A team's own keys: more of them, fewer of them, new ones for old ones. A key gives no more than it has itself. Knows
//! nothing of requests.

use crate::domain::actor::Actor;
use crate::domain::key::{Scope, name_fault};
use crate::domain::submission::{MetadataFault, listed};
use crate::domain::team::Role;
use crate::store::audit::insert_audit;
use crate::store::keys::{self, Key, load_keys};
use crate::store::teams::{Team, find_team, lock_team};
use crate::store::{DbConnection, Store, StoreError};
use crate::tokens;

use super::Principal;

/// How long a replaced key goes on unless said otherwise: a day.
pub const OVERLAP_S: i64 = 24 * 3600;

/// The longest that a replaced key may go on: a week.
pub const MAX_OVERLAP_S: i64 = 7 * 24 * 3600;

/// Keys in use that a team may have.
const MAX_KEYS: usize = 50;

/// Characters of a key that are kept to recognise it by: 32 of its 256 random bits.
const PREFIX_CHARS: usize = tokens::KEY_PREFIX.len() + 8;

/// Why nothing was done about a key.
#[derive(Debug, thiserror::Error)]
pub enum KeyError {
    /// What was sent is faulty.
    #[error("the key has {} fault(s): {}", .0.len(), listed(.0))]
    Faults(Vec<MetadataFault>),
    /// The key that asks has less scope than what it asks for.
    #[error("this needs a key of scope `{needed}`; yours has `{held}`")]
    Scope {
        /// What would be needed.
        needed: Scope,
        /// What the asking key has.
        held: Scope,
    },
    /// A team that is none of maintainers has no key of scope `admin`.
    #[error("`{0}` is no team of maintainers; its keys have scope `read` or `submit`")]
    Admin(String),
    /// The new key would go on after the one that asks for it.
    #[error("your key ends at {0}, and a key that it makes cannot end later; give an earlier `expires_at`")]
    Outlives(String),
    /// The team has no such key.
    #[error("there is no key `{0}` of yours")]
    Unknown(String),
    /// The key has ended already.
    #[error("the key has ended already")]
    Ended,
    /// Without the key the team could do nothing any more.
    #[error(
        "this is the team's last key that may submit and does not end by itself; make another first, or send `last=true` \
         and ask the maintainers when you need one again"
    )]
    Last,
    /// The team has very many keys.
    #[error("the team has {MAX_KEYS} keys in use; revoke one that is not needed")]
    TooMany,
    /// There is no such team.
    #[error("there is no team `{0}`; `secchi team list` shows all")]
    UnknownTeam(String),
    /// The database failed.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// What is said of a new key.
#[derive(Debug, Clone)]
pub struct NewKey {
    /// What the team calls it.
    pub name: String,
    /// What it may be used for.
    pub scope: Scope,
    /// When it ends, if it does.
    pub expires_at_ms: Option<i64>,
}

impl NewKey {
    fn faults(&self, now_ms: i64) -> Vec<MetadataFault> {
        let mut faults: Vec<MetadataFault> = name_fault(&self.name).into_iter().collect();
        if self.expires_at_ms.is_some_and(|expires_at_ms| expires_at_ms <= now_ms) {
            let detail =
                "is over; give an instant to come, or leave it out for a key that does not end".into();
            faults.push(MetadataFault { pointer: "/expires_at".into(), detail });
        }
        faults
    }
}

/// A key that replaces another. The key itself is told only here.
#[derive(Debug)]
pub struct Rotated {
    /// The old key, with its new end.
    pub old: Key,
    /// The new key.
    pub new: Key,
    /// The new key itself.
    pub api_key: String,
}

/// Makes a further key of the asker's team. The key itself is told only here.
///
/// # Errors
/// When it is faulty, or would be more than the asker's own key.
pub async fn create_key(
    store: &Store,
    asker: &Principal,
    new: NewKey,
    now_ms: i64,
) -> Result<(Key, String), KeyError> {
    let faults = new.faults(now_ms);
    if !faults.is_empty() {
        return Err(KeyError::Faults(faults));
    }
    within(asker, new.scope)?;
    outlives(asker, new.expires_at_ms)?;
    let asker = asker.clone();
    store
        .write(move |connection| {
            lock_team(connection, &asker.team.id)?;
            still_usable(connection, &asker, now_ms)?;
            make_room(connection, &asker.team.id, now_ms)?;
            let made = add_key(connection, &asker.team.id, new, now_ms)?;
            note(connection, (&asker.actor(), "create_key"), &asker.team, &made.0, now_ms)?;
            Ok(made)
        })
        .await
}

/// Ends a key of the asker's team at once; the last one that the team could go on with only if `even_last`.
///
/// # Errors
/// When there is none, it has ended, it is more than the asker's own, or it is the last.
pub async fn revoke_key(
    store: &Store,
    asker: &Principal,
    id: &str,
    even_last: bool,
    now_ms: i64,
) -> Result<Key, KeyError> {
    let (asker, id) = (asker.clone(), id.to_owned());
    store
        .write(move |connection| {
            lock_team(connection, &asker.team.id)?;
            let key = usable_key(connection, &asker.team.id, &id, now_ms)?;
            within(&asker, key.scope)?;
            if !even_last && is_last(connection, &asker.team.id, &key, now_ms)? {
                return Err(KeyError::Last);
            }
            keys::revoke_key(connection, &id, now_ms)?;
            note(connection, (&asker.actor(), "revoke_key"), &asker.team, &key, now_ms)?;
            Ok(Key { revoked_at_ms: Some(now_ms), ..key })
        })
        .await
}

/// Makes a new key with the name, scope and end of an old one, which goes on for `overlap_s` seconds. The new key itself is
/// told only here.
///
/// # Errors
/// When there is none, it has ended, it is more than the asker's own, or the overlap is out of range.
pub async fn rotate_key(
    store: &Store,
    asker: &Principal,
    id: &str,
    overlap_s: i64,
    now_ms: i64,
) -> Result<Rotated, KeyError> {
    if !(0..=MAX_OVERLAP_S).contains(&overlap_s) {
        let detail =
            format!("must be from 0 to {MAX_OVERLAP_S} seconds (7 days); the old key ends after them");
        return Err(KeyError::Faults(vec![MetadataFault { pointer: "/overlap_s".into(), detail }]));
    }
    let (asker, id) = (asker.clone(), id.to_owned());
    store
        .write(move |connection| {
            lock_team(connection, &asker.team.id)?;
            still_usable(connection, &asker, now_ms)?;
            let mut old = usable_key(connection, &asker.team.id, &id, now_ms)?;
            within(&asker, old.scope)?;
            outlives(&asker, old.expires_at_ms)?;
            make_room(connection, &asker.team.id, now_ms)?;
            let new = NewKey { name: old.name.clone(), scope: old.scope, expires_at_ms: old.expires_at_ms };
            let (new, api_key) = add_key(connection, &asker.team.id, new, now_ms)?;
            if overlap_s == 0 {
                keys::revoke_key(connection, &id, now_ms)?;
                old.revoked_at_ms = Some(now_ms);
            } else {
                let ends_ms = now_ms + overlap_s * 1000;
                let ends_ms = old.expires_at_ms.map_or(ends_ms, |expires_at_ms| expires_at_ms.min(ends_ms));
                keys::update_expiry(connection, &id, ends_ms)?;
                old.expires_at_ms = Some(ends_ms);
            }
            note(connection, (&asker.actor(), "rotate_key"), &asker.team, &old, now_ms)?;
            Ok(Rotated { old, new, api_key })
        })
        .await
}

/// Makes a key of any team, at the command line. The key itself is told only here.
///
/// # Errors
/// When there is no such team or the key is faulty.
pub async fn grant_key(
    store: &Store,
    actor: &Actor,
    slug: &str,
    new: NewKey,
    now_ms: i64,
) -> Result<(Key, String), KeyError> {
    let faults = new.faults(now_ms);
    if !faults.is_empty() {
        return Err(KeyError::Faults(faults));
    }
    let (actor, slug) = (actor.clone(), slug.to_owned());
    store
        .write(move |connection| {
            let team = known_team(connection, &slug)?;
            if new.scope == Scope::Admin && team.role != Role::Maintainer {
                return Err(KeyError::Admin(slug));
            }
            lock_team(connection, &team.id)?;
            make_room(connection, &team.id, now_ms)?;
            let made = add_key(connection, &team.id, new, now_ms)?;
            note(connection, (&actor, "create_key"), &team, &made.0, now_ms)?;
            Ok(made)
        })
        .await
}

/// Ends a key of any team, at the command line, even its last.
///
/// # Errors
/// When there is no such team or key, or it has ended.
pub async fn withdraw_key(
    store: &Store,
    actor: &Actor,
    slug: &str,
    id: &str,
    now_ms: i64,
) -> Result<Key, KeyError> {
    let (actor, slug, id) = (actor.clone(), slug.to_owned(), id.to_owned());
    store
        .write(move |connection| {
            let team = known_team(connection, &slug)?;
            lock_team(connection, &team.id)?;
            let key = usable_key(connection, &team.id, &id, now_ms)?;
            keys::revoke_key(connection, &id, now_ms)?;
            note(connection, (&actor, "revoke_key"), &team, &key, now_ms)?;
            Ok(key)
        })
        .await
}

/// Makes a key and stores what may be kept of it.
pub(super) fn add_key(
    connection: &mut DbConnection,
    team_id: &str,
    new: NewKey,
    now_ms: i64,
) -> Result<(Key, String), StoreError> {
    let secret = tokens::new_api_key();
    let key = Key {
        id: uuid::Uuid::now_v7().to_string(),
        name: new.name.trim().to_owned(),
        scope: new.scope,
        prefix: secret.chars().take(PREFIX_CHARS).collect(),
        created_at_ms: now_ms,
        expires_at_ms: new.expires_at_ms,
        last_used_at_ms: None,
        revoked_at_ms: None,
    };
    keys::insert_key(connection, team_id, &key, &tokens::hash_secret(&secret))?;
    Ok((key, secret))
}

fn within(asker: &Principal, needed: Scope) -> Result<(), KeyError> {
    if needed <= asker.scope { Ok(()) } else { Err(KeyError::Scope { needed, held: asker.scope }) }
}

/// A key that ends cannot make one that ends later: else whoever finds it would keep a way in.
fn outlives(asker: &Principal, expires_at_ms: Option<i64>) -> Result<(), KeyError> {
    match asker.key_expires_at_ms {
        Some(own_ms) if expires_at_ms.is_none_or(|expires_at_ms| expires_at_ms > own_ms) => {
            Err(KeyError::Outlives(crate::domain::instant::rfc3339(own_ms)))
        }
        _ => Ok(()),
    }
}

fn usable_key(connection: &mut DbConnection, team_id: &str, id: &str, now_ms: i64) -> Result<Key, KeyError> {
    let key = keys::find_key(connection, team_id, id)?.ok_or_else(|| KeyError::Unknown(id.to_owned()))?;
    if key.is_usable(now_ms) { Ok(key) } else { Err(KeyError::Ended) }
}

/// A key that was ended after its request had begun makes no other.
fn still_usable(connection: &mut DbConnection, asker: &Principal, now_ms: i64) -> Result<(), KeyError> {
    usable_key(connection, &asker.team.id, &asker.key_id, now_ms).map(drop)
}

/// Whether the team could not go on without this key.
fn is_last(connection: &mut DbConnection, team_id: &str, key: &Key, now_ms: i64) -> Result<bool, StoreError> {
    let carries =
        |key: &Key| key.scope >= Scope::Submit && key.is_usable(now_ms) && key.expires_at_ms.is_none();
    let others = load_keys(connection, team_id)?;
    Ok(carries(key) && !others.iter().any(|other| other.id != key.id && carries(other)))
}

fn make_room(connection: &mut DbConnection, team_id: &str, now_ms: i64) -> Result<(), KeyError> {
    let in_use = load_keys(connection, team_id)?.iter().filter(|key| key.is_usable(now_ms)).count();
    if in_use < MAX_KEYS { Ok(()) } else { Err(KeyError::TooMany) }
}

fn known_team(connection: &mut DbConnection, slug: &str) -> Result<Team, KeyError> {
    find_team(connection, slug)?.ok_or_else(|| KeyError::UnknownTeam(slug.to_owned()))
}

fn note(
    connection: &mut DbConnection,
    (actor, action): (&Actor, &str),
    team: &Team,
    key: &Key,
    now_ms: i64,
) -> Result<(), StoreError> {
    let about = format!("{} `{}` ({})", key.id, key.name, key.scope);
    insert_audit(connection, now_ms, (actor, action, &team.slug), None, Some(&about))
}
