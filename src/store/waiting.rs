//! What has not ended yet, and how fast the judge answers. Knows nothing of what follows from it.

use diesel::prelude::*;

use super::schema::{judgements, submissions};
use super::{DbConnection, Result, stored};
use crate::domain::question::Split;
use crate::domain::submission::SubmissionState;

/// A submission that has not ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OpenSubmission {
    /// UUIDv7: ids sort by the time of acceptance.
    pub id: String,
    /// The split.
    pub split: Split,
    /// The release's id.
    pub release_id: String,
    /// Whether it waits for money or for the judge to come back.
    pub is_paused: bool,
    /// Open-ended answers without a score; none until it is graded.
    pub to_judge: Option<i32>,
}

/// Every submission that has not ended, oldest first.
pub fn load_open(connection: &mut DbConnection) -> Result<Vec<OpenSubmission>> {
    type Row = (String, String, String, Option<String>, String, i32, i32, i32);
    let open = [SubmissionState::Queued, SubmissionState::Grading, SubmissionState::Judging];
    let rows: Vec<Row> = submissions::table
        .filter(submissions::state.eq_any(open.map(SubmissionState::as_str)))
        .order(submissions::id)
        .select((
            submissions::id,
            submissions::split,
            submissions::release_id,
            submissions::paused_for,
            submissions::state,
            submissions::to_judge,
            submissions::judged,
            submissions::failed,
        ))
        .load(connection)?;
    rows.into_iter()
        .map(|(id, split, release_id, paused_for, state, to_judge, judged, failed)| {
            let is_graded = stored("state", &state, SubmissionState::parse)? == SubmissionState::Judging;
            Ok(OpenSubmission {
                id,
                split: stored("split", &split, Split::parse)?,
                release_id,
                is_paused: paused_for.is_some(),
                to_judge: is_graded.then_some(to_judge - judged - failed),
            })
        })
        .collect()
}

/// How many answers the judge of a configuration has scored since `since_ms`, and when the first of them was stored.
pub fn count_judged_since(
    connection: &mut DbConnection,
    configuration_id: &str,
    since_ms: i64,
) -> Result<(i64, Option<i64>)> {
    let counted = judgements::table
        .filter(judgements::configuration_id.eq(configuration_id))
        .filter(judgements::created_at_ms.ge(since_ms))
        .filter(judgements::decided_by.is_null())
        .select((diesel::dsl::count(judgements::key), diesel::dsl::min(judgements::created_at_ms)))
        .first(connection)?;
    Ok(counted)
}
