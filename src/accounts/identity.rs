//! Who a request comes from: the team and key behind a credential. Knows nothing of requests.

use crate::domain::actor::Actor;
use crate::domain::key::Scope;
use crate::domain::team::Role;
use crate::store::keys::{self, Key, KeyOwner};
use crate::store::teams::Team;
use crate::store::{Store, StoreError};
use crate::tokens::{self, KEY_PREFIX, Signer, TokenError};

/// How exactly the last use of a key is known.
const LAST_USED_WITHIN_MS: i64 = 60_000;

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
    /// The browser has been signed in long enough.
    #[error("the sign-in has expired; sign in again")]
    SessionExpired,
    /// The key has expired.
    #[error("the API key has expired; use another one of the team's, or ask the maintainers for one")]
    ExpiredKey,
    /// The key was revoked.
    #[error("the API key was revoked; use the team's new one")]
    Revoked,
    /// The team was shut out.
    #[error("the team is disabled; ask the maintainers")]
    Disabled,
    /// An archive is shown, which knows nobody.
    #[error("this server shows an archive, where nobody signs in")]
    ReadOnly,
    /// A token could not be signed.
    #[error(transparent)]
    Sign(TokenError),
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
    /// What the key may be used for.
    pub scope: Scope,
    /// When the key ends, if it does.
    pub key_expires_at_ms: Option<i64>,
    /// The address that the request came from.
    pub place: String,
}

impl Principal {
    /// Whether this is a maintainer.
    pub fn is_maintainer(&self) -> bool {
        self.team.role == Role::Maintainer
    }

    /// The name and place under which the audit log keeps what is done.
    pub fn actor(&self) -> Actor {
        Actor::new(&self.team.slug, &self.place)
    }
}

/// Who shows this API key or access token.
///
/// # Errors
/// When nobody does any more, or never did.
pub async fn authenticate(
    store: &Store,
    signer: &Signer,
    credential: &str,
    place: String,
    now_ms: i64,
) -> Result<Principal, Unauthenticated> {
    let owner = if credential.starts_with(KEY_PREFIX) {
        let hash = tokens::hash_secret(credential);
        store.read(move |connection| keys::find_owner_by_hash(connection, &hash)).await?
    } else {
        let key_id = signer.verify(credential, now_ms).map_err(|error| match error {
            TokenError::Expired => Unauthenticated::Expired,
            _ => Unauthenticated::Unknown,
        })?;
        store.read(move |connection| keys::find_owner(connection, &key_id)).await?
    };
    let (key, team) = checked(owner, now_ms)?;
    Ok(seen(store, key, team, place, now_ms))
}

/// The session of a browser that shows this API key: its token, which holds no key.
///
/// # Errors
/// When nobody holds the key any more, or never did; a token is no key.
pub async fn sign_in(
    store: &Store,
    signer: &Signer,
    key: &str,
    now_ms: i64,
) -> Result<String, Unauthenticated> {
    if !key.starts_with(KEY_PREFIX) {
        return Err(Unauthenticated::Unknown);
    }
    let principal = authenticate(store, signer, key, String::new(), now_ms).await?;
    signer.sign_session(&principal.key_id, now_ms).map_err(Unauthenticated::Sign)
}

/// Who signed in where this session's token was given out. It ends with the key that was shown.
///
/// # Errors
/// When the session or its key has ended, or the token is none.
pub async fn resume_session(
    store: &Store,
    signer: &Signer,
    token: &str,
    place: String,
    now_ms: i64,
) -> Result<Principal, Unauthenticated> {
    let key_id = signer.verify_session(token, now_ms).map_err(|error| match error {
        TokenError::Expired => Unauthenticated::SessionExpired,
        _ => Unauthenticated::Unknown,
    })?;
    let owner = store.read(move |connection| keys::find_owner(connection, &key_id)).await?;
    let (key, team) = checked(owner, now_ms)?;
    Ok(seen(store, key, team, place, now_ms))
}

/// The holder of a key that is used just now.
fn seen(store: &Store, key: Key, team: Team, place: String, now_ms: i64) -> Principal {
    if key.last_used_at_ms.is_none_or(|last_ms| now_ms - last_ms >= LAST_USED_WITHIN_MS) {
        note_use(store.clone(), key.id.clone(), now_ms);
    }
    Principal { team, key_id: key.id, scope: key.scope, key_expires_at_ms: key.expires_at_ms, place }
}

/// Whether the API key with this id would be let in now.
///
/// # Errors
/// When the database fails.
pub async fn is_standing(store: &Store, key_id: &str, now_ms: i64) -> Result<bool, StoreError> {
    let key_id = key_id.to_owned();
    match checked(store.read(move |connection| keys::find_owner(connection, &key_id)).await?, now_ms) {
        Err(Unauthenticated::Store(error)) => Err(error),
        found => Ok(found.is_ok()),
    }
}

fn checked(owner: Option<KeyOwner>, now_ms: i64) -> Result<KeyOwner, Unauthenticated> {
    let (key, team) = owner.ok_or(Unauthenticated::Unknown)?;
    if key.revoked_at_ms.is_some() {
        return Err(Unauthenticated::Revoked);
    }
    if key.is_expired(now_ms) {
        return Err(Unauthenticated::ExpiredKey);
    }
    if team.disabled_at_ms.is_some() {
        return Err(Unauthenticated::Disabled);
    }
    Ok((key, team))
}

/// Writes down that a key was used, beside the request that used it: nobody waits for that.
fn note_use(store: Store, key_id: String, now_ms: i64) {
    tokio::spawn(async move {
        let before_ms = now_ms - LAST_USED_WITHIN_MS;
        let noted: Result<(), StoreError> = store
            .write_recoverable(move |connection| keys::note_use(connection, &key_id, before_ms, now_ms))
            .await;
        if let Err(error) = noted {
            tracing::warn!(%error, "the last use of a key could not be noted");
        }
    });
}
