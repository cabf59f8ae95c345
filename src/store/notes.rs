//! What maintainers write down about submissions. Knows nothing of who may read it.

use diesel::prelude::*;

use super::schema::submission_notes;
use super::{DbConnection, Result};

/// A note on a submission.
#[derive(Debug, Clone, PartialEq, Eq, Queryable, Insertable)]
#[diesel(table_name = submission_notes)]
pub struct NoteRow {
    /// UUIDv7.
    pub id: String,
    /// The submission.
    pub submission_id: String,
    /// Who wrote it.
    pub author: String,
    /// What it says.
    pub text: String,
    /// When it was written.
    pub created_at_ms: i64,
}

/// Adds a note.
pub fn insert_note(connection: &mut DbConnection, row: &NoteRow) -> Result<()> {
    diesel::insert_into(submission_notes::table).values(row).execute(connection)?;
    Ok(())
}

/// The notes on a submission, oldest first.
pub fn load_notes(connection: &mut DbConnection, submission_id: &str) -> Result<Vec<NoteRow>> {
    let of = submission_notes::table.filter(submission_notes::submission_id.eq(submission_id));
    Ok(of.order(submission_notes::id).load(connection)?)
}
