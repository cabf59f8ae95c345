//! The keys that records are signed with: made at the first need, shared by all servers, replaced on demand, and never
//! forgotten, so that what was signed once stays checkable. Knows nothing of records.

use crate::domain::actor::Actor;
use crate::records::{KeyError, KeySet, PublicKey, SigningKey, new_seed};
use crate::store::audit::insert_audit;
use crate::store::record_keys::{
    RecordKeyRow, find_current_record_key, insert_record_key, load_record_keys, lock_record_keys,
    retire_record_key,
};
use crate::store::{DbConnection, Store, StoreError};

/// Why there is no key to sign with.
#[derive(Debug, thiserror::Error)]
pub enum RecordKeyError {
    /// The secret is not in this archive.
    #[error(
        "a public archive holds no key to sign records with; the server that it was written from signs them"
    )]
    LeftOut,
    /// The crypto back end refused.
    #[error(transparent)]
    Key(#[from] KeyError),
    /// The database failed.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// The key that signs now; of several servers that need the first one at once, one makes it.
///
/// # Errors
/// When the database fails, or holds a key that is none.
pub async fn signing_key(store: &Store, now_ms: i64) -> Result<SigningKey, RecordKeyError> {
    if store.is_public_archive() {
        return Err(RecordKeyError::LeftOut);
    }
    let found = match store.read(find_current_record_key).await? {
        Some(found) => found,
        None => store.write(move |connection| current_or_new(connection, now_ms)).await?,
    };
    Ok(SigningKey::from_seed(&found.seed)?)
}

fn current_or_new(connection: &mut DbConnection, now_ms: i64) -> Result<RecordKeyRow, RecordKeyError> {
    lock_record_keys(connection)?;
    match find_current_record_key(connection)? {
        Some(found) => Ok(found),
        None => create(connection, now_ms),
    }
}

fn create(connection: &mut DbConnection, now_ms: i64) -> Result<RecordKeyRow, RecordKeyError> {
    let seed = new_seed();
    let key = SigningKey::from_seed(&seed)?;
    let row = RecordKeyRow {
        id: key.public().id().to_owned(),
        seed: seed.to_vec(),
        public_key: key.public().text().to_owned(),
        created_at_ms: now_ms,
        retired_at_ms: None,
    };
    insert_record_key(connection, &row)?;
    Ok(row)
}

/// Makes a new key that signs from now on. What the old one signed stays valid: its public half stays in the key set.
///
/// # Errors
/// When the database fails.
pub async fn rotate_record_key(
    store: &Store,
    actor: &Actor,
    now_ms: i64,
) -> Result<RecordKeyRow, RecordKeyError> {
    let actor = actor.clone();
    store
        .write(move |connection| {
            lock_record_keys(connection)?;
            let before = find_current_record_key(connection)?.map(|key| key.id);
            retire_record_key(connection, now_ms)?;
            let made = create(connection, now_ms)?;
            let action = (&actor, "rotate_record_key", "records");
            insert_audit(connection, now_ms, action, before.as_deref(), Some(&made.id))?;
            Ok(made)
        })
        .await
}

/// The public halves of all keys, the newest first.
///
/// # Errors
/// When the database fails.
pub async fn public_keys(store: &Store) -> Result<KeySet, StoreError> {
    let rows = store.read(load_record_keys).await?;
    Ok(KeySet::new(rows.iter().filter_map(|row| PublicKey::from_text(&row.public_key)).collect()))
}
