//! Releases as they are listed, and what a board says of a correction. Changes nothing.

use std::collections::BTreeMap;

use serde::Serialize;

use crate::domain::column::Column;
use crate::domain::instant;
use crate::domain::question::Split;
use crate::domain::submission::Feedback;
use crate::store::corrections::find_correction;
use crate::store::releases::{Release, find_active_release, load_counts, load_release, load_releases};
use crate::store::{DbConnection, StoreError};

/// What a release corrected when it became the active one.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, utoipa::ToSchema)]
pub struct Correction {
    /// The release that it corrected.
    pub corrects: String,
    /// How many questions are different.
    pub questions: i32,
    /// How many of them count in each column.
    #[schema(value_type = BTreeMap<String, usize>)]
    pub by_column: BTreeMap<Column, usize>,
    /// The maintainers' words.
    pub notice: Option<String>,
    /// When it became the active one.
    pub applied_at: String,
}

/// What a release corrected; none where it corrected nothing, or has not been the active one yet.
pub(super) fn applied_correction(
    connection: &mut DbConnection,
    release_id: &str,
) -> Result<Option<Correction>, StoreError> {
    let Some(row) = find_correction(connection, release_id)? else { return Ok(None) };
    let Some(applied_at_ms) = row.applied_at_ms else { return Ok(None) };
    let by_column = serde_json::from_str(&row.changes)
        .map_err(|_| StoreError::missing("list of changes of", release_id))?;
    Ok(Some(Correction {
        corrects: load_release(connection, &row.corrected_id)?.name,
        questions: row.questions,
        by_column,
        notice: row.notice,
        applied_at: instant::rfc3339(applied_at_ms),
    }))
}

/// The name of the active release of the same line that stands in a release's place; none where it is active itself or the
/// active one has other questions.
pub(super) fn superseding(
    connection: &mut DbConnection,
    release: &Release,
) -> Result<Option<String>, StoreError> {
    let active = find_active_release(connection, release.split)?;
    let other = active.filter(|active| active.id != release.id && active.line_id == release.line_id);
    Ok(other.map(|active| active.name))
}

/// A release with what maintainers decide by.
#[derive(Debug, Clone, Serialize, utoipa::ToSchema)]
pub struct ReleaseView {
    /// The name, unique within the split.
    pub release: String,
    /// The split.
    pub split: Split,
    /// SHA-256 of its content, in hex.
    pub sha256: String,
    /// What teams may read about single answers.
    pub feedback: Feedback,
    /// Questions.
    pub questions: i64,
    /// Videos.
    pub videos: i64,
    /// Whether it is the one that submissions are graded by.
    pub active: bool,
    /// Whether what is published is scored under it, so that it can become the active one.
    pub staged: bool,
    /// Whether it was the active one at some time, so that it has a board.
    pub has_board: bool,
    /// What it corrected.
    pub correction: Option<Correction>,
    /// The active release that stands in its place, where that holds the same questions, corrected.
    pub superseded_by: Option<String>,
    /// When it was imported.
    pub created_at: String,
}

/// All releases, by split, oldest first.
///
/// # Errors
/// When the database fails.
pub fn releases(connection: &mut DbConnection) -> Result<Vec<ReleaseView>, StoreError> {
    let mut views = Vec::new();
    for release in load_releases(connection)? {
        let (videos, types) = load_counts(connection, &release.id)?;
        views.push(ReleaseView {
            correction: applied_correction(connection, &release.id)?,
            superseded_by: superseding(connection, &release)?,
            questions: types.iter().map(|(_, count)| count).sum(),
            videos,
            release: release.name,
            split: release.split,
            sha256: release.content_sha256,
            feedback: release.feedback,
            active: release.active,
            staged: release.staged,
            has_board: release.shown,
            created_at: instant::rfc3339(release.created_at_ms),
        });
    }
    Ok(views)
}
