//! The keys that records are signed with, seeds and all. Knows nothing of signing.

use std::fmt;

use diesel::prelude::*;

use super::schema::{installation, record_keys};
use super::{DbConnection, Result};

/// A key as stored.
#[derive(Clone, PartialEq, Eq)]
pub struct RecordKeyRow {
    /// The thumbprint of the public key.
    pub id: String,
    /// The secret of 32 bytes.
    pub seed: Vec<u8>,
    /// The public key in base64url.
    pub public_key: String,
    /// When it was made.
    pub created_at_ms: i64,
    /// When another took its place, if one did.
    pub retired_at_ms: Option<i64>,
}

impl fmt::Debug for RecordKeyRow {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RecordKeyRow").field("id", &self.id).finish_non_exhaustive()
    }
}

type Row = (String, Vec<u8>, String, i64, Option<i64>);

fn key((id, seed, public_key, created_at_ms, retired_at_ms): Row) -> RecordKeyRow {
    RecordKeyRow { id, seed, public_key, created_at_ms, retired_at_ms }
}

/// Keeps other transactions from making or retiring a key until this one ends.
pub fn lock_record_keys(connection: &mut DbConnection) -> Result<()> {
    diesel::update(installation::table).set(installation::id.eq(installation::id)).execute(connection)?;
    Ok(())
}

/// The key that signs, if one was made.
pub fn find_current_record_key(connection: &mut DbConnection) -> Result<Option<RecordKeyRow>> {
    let row: Option<Row> = record_keys::table
        .filter(record_keys::retired_at_ms.is_null())
        .select(record_keys::all_columns)
        .first(connection)
        .optional()?;
    Ok(row.map(key))
}

/// All keys, the newest first.
pub fn load_record_keys(connection: &mut DbConnection) -> Result<Vec<RecordKeyRow>> {
    let rows: Vec<Row> = record_keys::table
        .order((record_keys::created_at_ms.desc(), record_keys::id))
        .select(record_keys::all_columns)
        .load(connection)?;
    Ok(rows.into_iter().map(key).collect())
}

/// Adds a key.
pub fn insert_record_key(connection: &mut DbConnection, row: &RecordKeyRow) -> Result<()> {
    let row = (
        record_keys::id.eq(&row.id),
        record_keys::seed.eq(&row.seed),
        record_keys::public_key.eq(&row.public_key),
        record_keys::created_at_ms.eq(row.created_at_ms),
        record_keys::retired_at_ms.eq(row.retired_at_ms),
    );
    diesel::insert_into(record_keys::table).values(row).execute(connection)?;
    Ok(())
}

/// Retires the key that signs, if there is one.
pub fn retire_record_key(connection: &mut DbConnection, now_ms: i64) -> Result<()> {
    diesel::update(record_keys::table.filter(record_keys::retired_at_ms.is_null()))
        .set(record_keys::retired_at_ms.eq(now_ms))
        .execute(connection)?;
    Ok(())
}
