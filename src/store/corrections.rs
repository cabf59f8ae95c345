//! What a release corrects of another, as its board says it, and which release of a split is staged to become the active
//! one. Says nothing of what a correction is.

use diesel::prelude::*;

use super::connection::on_each;
use super::releases::Release;
use super::schema::{corrections, releases};
use super::{DbConnection, Result};
use crate::domain::question::Split;

/// What a release corrects.
#[derive(Debug, Clone, PartialEq, Eq, Queryable, Insertable)]
#[diesel(table_name = corrections, treat_none_as_default_value = false)]
pub struct CorrectionRow {
    /// The id of the release that corrects.
    pub release_id: String,
    /// The id of the release that is corrected.
    pub corrected_id: String,
    /// A maintainer's words, for readers of the board.
    pub notice: Option<String>,
    /// How many questions are different.
    pub questions: i32,
    /// How many of them count in each column, as JSON.
    pub changes: String,
    /// When it was staged last.
    pub staged_at_ms: i64,
    /// When the release first became the active one; none before.
    pub applied_at_ms: Option<i64>,
}

/// What a release corrects; none where it corrects nothing.
pub fn find_correction(connection: &mut DbConnection, release_id: &str) -> Result<Option<CorrectionRow>> {
    Ok(corrections::table.find(release_id).first(connection).optional()?)
}

/// Makes a release the staged one of its split, in the line of the one that it corrects. When it was applied first stays,
/// and so does its notice unless there is another.
pub fn stage_release(
    connection: &mut DbConnection,
    release: &Release,
    line_id: &str,
    row: &CorrectionRow,
) -> Result<()> {
    unstage_releases(connection, release.split)?;
    diesel::update(releases::table.filter(releases::line_id.eq(&release.line_id)))
        .set(releases::line_id.eq(line_id))
        .execute(connection)?;
    diesel::update(releases::table.find(&release.id)).set(releases::staged.eq(true)).execute(connection)?;
    let changed = (
        corrections::corrected_id.eq(&row.corrected_id),
        corrections::questions.eq(row.questions),
        corrections::changes.eq(&row.changes),
        corrections::staged_at_ms.eq(row.staged_at_ms),
    );
    on_each!(connection, |inner| diesel::insert_into(corrections::table)
        .values(row)
        .on_conflict(corrections::release_id)
        .do_update()
        .set(changed)
        .execute(inner))?;
    match &row.notice {
        Some(notice) => update_notice(connection, &release.id, notice),
        None => Ok(()),
    }
}

/// Replaces a maintainer's words on a correction.
pub fn update_notice(connection: &mut DbConnection, release_id: &str, notice: &str) -> Result<()> {
    diesel::update(corrections::table.find(release_id))
        .set(corrections::notice.eq(notice))
        .execute(connection)?;
    Ok(())
}

/// Lets no release of a split be staged.
pub fn unstage_releases(connection: &mut DbConnection, split: Split) -> Result<()> {
    let staged = releases::table.filter(releases::split.eq(split.as_str())).filter(releases::staged);
    diesel::update(staged).set(releases::staged.eq(false)).execute(connection)?;
    Ok(())
}

/// Notes when a release that corrects another first became the active one.
pub fn note_applied(connection: &mut DbConnection, release_id: &str, now_ms: i64) -> Result<()> {
    let first = corrections::table.find(release_id).filter(corrections::applied_at_ms.is_null());
    diesel::update(first).set(corrections::applied_at_ms.eq(now_ms)).execute(connection)?;
    Ok(())
}
