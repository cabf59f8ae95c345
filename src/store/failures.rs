//! Answers that the judge failed at, with the last reason. Says nothing of when one is given up.

use diesel::prelude::*;
use diesel::upsert::excluded;

use super::connection::on_each;
use super::schema::judge_failures;
use super::scores::Under;
use super::{DbConnection, Result};

/// What is known of one answer that a call to the judge failed at.
#[derive(Debug, Clone, PartialEq, Eq, Queryable, Insertable)]
#[diesel(table_name = judge_failures)]
pub struct FailureRow {
    /// The submission.
    pub submission_id: String,
    /// The release.
    pub release_id: String,
    /// The judge configuration.
    pub configuration_id: String,
    /// The question.
    pub question_id: String,
    /// The key under which its judgement would stand.
    pub key: String,
    /// The last `FailureReason`, as text.
    pub reason: String,
    /// The last fault in words, without the judge's own.
    pub detail: String,
    /// Failed calls since a maintainer last had it tried again; in a row to note, those to add.
    pub calls: i32,
    /// When a call first failed; kept once it is noted.
    pub first_failed_at_ms: i64,
    /// When the last call failed.
    pub last_failed_at_ms: i64,
}

/// Adds failed calls: of an answer that has failed before, the calls are summed and the last failure stands.
pub fn note_failures(connection: &mut DbConnection, rows: &[FailureRow]) -> Result<()> {
    // One statement a row: an answer may be in `rows` twice.
    for row in rows {
        on_each!(connection, |inner| diesel::insert_into(judge_failures::table)
            .values(row)
            .on_conflict((
                judge_failures::submission_id,
                judge_failures::release_id,
                judge_failures::configuration_id,
                judge_failures::question_id,
            ))
            .do_update()
            .set((
                judge_failures::key.eq(excluded(judge_failures::key)),
                judge_failures::reason.eq(excluded(judge_failures::reason)),
                judge_failures::detail.eq(excluded(judge_failures::detail)),
                judge_failures::calls.eq(judge_failures::calls + excluded(judge_failures::calls)),
                judge_failures::last_failed_at_ms.eq(excluded(judge_failures::last_failed_at_ms)),
            ))
            .execute(inner))?;
    }
    Ok(())
}

/// Notes an answer as one that calls have failed at, unless it is noted already.
pub fn insert_failure(connection: &mut DbConnection, row: &FailureRow) -> Result<()> {
    on_each!(connection, |inner| diesel::insert_into(judge_failures::table)
        .values(row)
        .on_conflict_do_nothing()
        .execute(inner))?;
    Ok(())
}

/// The failures of a submission, by question id.
pub fn load_failures(
    connection: &mut DbConnection,
    submission_id: &str,
    under: &Under,
) -> Result<Vec<FailureRow>> {
    let rows = judge_failures::table
        .filter(judge_failures::submission_id.eq(submission_id))
        .filter(judge_failures::release_id.eq(&under.release_id))
        .filter(judge_failures::configuration_id.eq(&under.configuration_id))
        .order(judge_failures::question_id)
        .load(connection)?;
    Ok(rows)
}

/// Forgets how many calls have failed, so that all of a submission's answers may be asked about again.
pub fn reset_calls(connection: &mut DbConnection, submission_id: &str) -> Result<()> {
    diesel::update(judge_failures::table.filter(judge_failures::submission_id.eq(submission_id)))
        .set(judge_failures::calls.eq(0))
        .execute(connection)?;
    Ok(())
}
