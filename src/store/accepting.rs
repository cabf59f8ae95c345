//! Taking a new submission in. Knows nothing of who may submit.

use diesel::prelude::*;

use super::schema::{predictions, submissions};
use super::{DbConnection, Result, StoreError};
use crate::domain::fault::Warning;
use crate::domain::submission::{Metadata, SubmissionState, Visibility};

/// What intake knows of a new submission besides its metadata.
#[derive(Debug, Clone)]
pub struct NewSubmission {
    /// UUIDv7.
    pub id: String,
    /// The team's id.
    pub team_id: String,
    /// The release's id.
    pub release_id: String,
    /// Hash of the answers, in hex.
    pub content_sha256: String,
    /// Questions in the release.
    pub questions: i32,
    /// Questions with an answer.
    pub answered: i32,
    /// What was odd about the file.
    pub warnings: Vec<Warning>,
    /// When it was accepted.
    pub created_at_ms: i64,
}

/// Adds a queued submission with its answers (compressed JSON by question position).
pub fn insert_submission(
    connection: &mut DbConnection,
    new: &NewSubmission,
    metadata: &Metadata,
    answers: &[u8],
) -> Result<()> {
    let warnings = serde_json::to_string(&new.warnings)
        .map_err(|_| StoreError::Unknown { what: "warning list of", value: new.id.clone() })?;
    let visible_since_ms = (metadata.visibility != Visibility::Private).then_some(new.created_at_ms);
    let of_file = (
        submissions::content_sha256.eq(&new.content_sha256),
        submissions::questions.eq(new.questions),
        submissions::answered.eq(new.answered),
        submissions::unparsed.eq(0),
        submissions::graded.eq(0),
        submissions::to_judge.eq(0),
        submissions::judged.eq(0),
        submissions::reused.eq(0),
        submissions::failed.eq(0),
        submissions::warnings.eq(warnings),
    );
    let row = (
        submissions::id.eq(&new.id),
        submissions::team_id.eq(&new.team_id),
        submissions::release_id.eq(&new.release_id),
        submissions::split.eq(metadata.split.as_str()),
        submissions::model_name.eq(&metadata.model_name),
        submissions::backbone.eq(&metadata.backbone),
        submissions::access.eq(metadata.access.as_str()),
        submissions::parameters_b.eq(metadata.parameters_b),
        submissions::description.eq(&metadata.description),
        submissions::paper_url.eq(&metadata.paper_url),
        submissions::code_url.eq(&metadata.code_url),
        submissions::visibility.eq(metadata.visibility.as_str()),
        submissions::anonymous_until.eq(&metadata.anonymous_until),
        submissions::state.eq(SubmissionState::Queued.as_str()),
        submissions::not_before_ms.eq(0),
        submissions::visible_since_ms.eq(visible_since_ms),
        submissions::created_at_ms.eq(new.created_at_ms),
    );
    diesel::insert_into(submissions::table).values((row, of_file)).execute(connection)?;
    let blob = (
        predictions::submission_id.eq(&new.id),
        predictions::answers.eq(answers),
        predictions::release_id.eq(&new.release_id),
    );
    diesel::insert_into(predictions::table).values(blob).execute(connection)?;
    Ok(())
}
