//! The idempotency keys that submissions were sent with. Knows nothing of what was sent.

use diesel::prelude::*;

use super::schema::idempotency_keys;
use super::{DbConnection, Result};

/// A submission that was made with an idempotency key: its id and the hash of what was sent.
pub fn find_idempotent(
    connection: &mut DbConnection,
    team_id: &str,
    key: &str,
) -> Result<Option<(String, String)>> {
    let found = idempotency_keys::table
        .find((team_id, key))
        .select((idempotency_keys::submission_id, idempotency_keys::request_sha256))
        .first(connection)
        .optional()?;
    Ok(found)
}

/// Notes the idempotency key that a submission was made with.
pub fn insert_idempotent(
    connection: &mut DbConnection,
    (team_id, key): (&str, &str),
    request_sha256: &str,
    submission_id: &str,
    now_ms: i64,
) -> Result<()> {
    let row = (
        idempotency_keys::team_id.eq(team_id),
        idempotency_keys::key.eq(key),
        idempotency_keys::request_sha256.eq(request_sha256),
        idempotency_keys::submission_id.eq(submission_id),
        idempotency_keys::created_at_ms.eq(now_ms),
    );
    diesel::insert_into(idempotency_keys::table).values(row).execute(connection)?;
    Ok(())
}
