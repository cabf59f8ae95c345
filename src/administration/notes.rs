//! Notes on submissions, which only maintainers read.

use serde::Serialize;

use crate::domain::actor::Actor;
use crate::domain::instant::rfc3339;
use crate::domain::submission::{MetadataFault, note_fault};
use crate::store::audit::insert_audit;
use crate::store::notes::{NoteRow, insert_note, load_notes};
use crate::store::submissions::find_submission;
use crate::store::{DbConnection, Store, StoreError};

/// Why a note was not taken or cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum NoteError {
    /// There is no such submission.
    #[error("there is no submission `{0}`")]
    Unknown(String),
    /// The text is faulty.
    #[error("the note {}", .0.detail)]
    Fault(MetadataFault),
    /// The database failed.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// A note on a submission.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, utoipa::ToSchema)]
pub struct Note {
    /// The note's id.
    pub id: String,
    /// Who wrote it: a team's short name, or `command line`.
    pub author: String,
    /// What it says.
    pub text: String,
    /// When it was written.
    pub at: String,
}

impl From<NoteRow> for Note {
    fn from(row: NoteRow) -> Note {
        let NoteRow { id, author, text, created_at_ms, .. } = row;
        Note { id, author, text, at: rfc3339(created_at_ms) }
    }
}

/// Writes a note on a submission down.
///
/// # Errors
/// When there is no such submission or the text is faulty.
pub async fn add_note(
    store: &Store,
    actor: &Actor,
    submission_id: &str,
    text: &str,
    now_ms: i64,
) -> Result<Note, NoteError> {
    if let Some(fault) = note_fault(text) {
        return Err(NoteError::Fault(fault));
    }
    let actor = actor.clone();
    let row = NoteRow {
        id: uuid::Uuid::now_v7().to_string(),
        submission_id: submission_id.to_owned(),
        author: actor.name.clone(),
        text: text.trim().to_owned(),
        created_at_ms: now_ms,
    };
    store
        .write(move |connection| {
            known(connection, &row.submission_id)?;
            insert_note(connection, &row)?;
            let subject = (&actor, "add_note", row.submission_id.as_str());
            insert_audit(connection, now_ms, subject, None, Some(&row.text))?;
            Ok(row.into())
        })
        .await
}

/// The notes on a submission, oldest first.
///
/// # Errors
/// When there is no such submission or the database fails.
pub fn list_notes(connection: &mut DbConnection, submission_id: &str) -> Result<Vec<Note>, NoteError> {
    known(connection, submission_id)?;
    Ok(load_notes(connection, submission_id)?.into_iter().map(Note::from).collect())
}

fn known(connection: &mut DbConnection, submission_id: &str) -> Result<(), NoteError> {
    let found = find_submission(connection, submission_id)?;
    found.map(drop).ok_or_else(|| NoteError::Unknown(submission_id.to_owned()))
}
