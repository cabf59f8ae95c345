//! Files that come again. Knows nothing of what that costs.

use diesel::prelude::*;

use super::schema::submissions;
use super::submissions::{Submission, find_submission};
use super::{DbConnection, Result};
use crate::domain::submission::{Metadata, SubmissionState};

/// The newest submission of a team with the same answers to the same release, made by the same model as far as that cannot
/// be changed later. One that was cancelled, has failed or was withdrawn is none.
pub fn find_repeated(
    connection: &mut DbConnection,
    team_id: &str,
    release_id: &str,
    content_sha256: &str,
    metadata: &Metadata,
) -> Result<Option<Submission>> {
    let over = [SubmissionState::Cancelled, SubmissionState::Failed].map(SubmissionState::as_str);
    let ids: Vec<String> = submissions::table
        .filter(submissions::team_id.eq(team_id))
        .filter(submissions::content_sha256.eq(content_sha256))
        .filter(submissions::release_id.eq(release_id))
        .filter(submissions::model_name.eq(&metadata.model_name))
        .filter(submissions::withdrawn_reason.is_null())
        .filter(submissions::state.ne_all(over))
        .order(submissions::id.desc())
        .select(submissions::id)
        .load(connection)?;
    for id in ids {
        let found = find_submission(connection, &id)?;
        if let Some(found) = found.filter(|found| found.metadata.is_same_model(metadata)) {
            return Ok(Some(found));
        }
    }
    Ok(None)
}

/// The hash of a submission's answers, in hex.
pub fn load_content_sha256(connection: &mut DbConnection, submission_id: &str) -> Result<String> {
    Ok(submissions::table.find(submission_id).select(submissions::content_sha256).first(connection)?)
}
