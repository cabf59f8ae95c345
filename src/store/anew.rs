//! Submissions whose answers are all asked about again, since a maintainer does not believe the judgements: rejudgings under
//! what the submission stands under already. Knows nothing of how they are judged.

use diesel::dsl::{exists, not};
use diesel::prelude::*;

use super::configurations::CURRENT;
use super::rejudgings::{DONE, PENDING};
use super::schema::{judge_configurations, rejudgings, releases, submissions};
use super::scores::Under;
use super::{DbConnection, Result};

/// Has all answers of a submission asked about again, whatever was asked for before: judgements older than `since_ms` do
/// not count.
pub fn insert_anew(
    connection: &mut DbConnection,
    submission_id: &str,
    under: &Under,
    since_ms: i64,
) -> Result<()> {
    delete_rejudging(connection, submission_id, under)?;
    let row = (
        rejudgings::submission_id.eq(submission_id),
        rejudgings::release_id.eq(&under.release_id),
        rejudgings::configuration_id.eq(&under.configuration_id),
        rejudgings::state.eq(PENDING),
        rejudgings::failed.eq(0),
        rejudgings::not_before_ms.eq(0),
        rejudgings::created_at_ms.eq(since_ms),
        rejudgings::anew_since_ms.eq(since_ms),
    );
    diesel::insert_into(rejudgings::table).values(row).execute(connection)?;
    Ok(())
}

/// Forgets a rejudging.
pub fn delete_rejudging(connection: &mut DbConnection, submission_id: &str, under: &Under) -> Result<()> {
    let key = (submission_id, &under.release_id, &under.configuration_id);
    diesel::delete(rejudgings::table.find(key)).execute(connection)?;
    Ok(())
}

/// How far asking again about all answers of a submission is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Anew {
    /// Judgements that are older do not count.
    pub since_ms: i64,
    /// Whether it goes on by itself; else some answers could not be judged.
    pub is_pending: bool,
    /// How many of these there are.
    pub failed: i32,
    /// Until when it rests.
    pub not_before_ms: i64,
}

/// How far asking again about a submission's answers is; none where nobody wants it or it is done.
pub fn find_anew(connection: &mut DbConnection, submission_id: &str, under: &Under) -> Result<Option<Anew>> {
    let found: Option<(Option<i64>, String, i32, i64)> = rejudgings::table
        .find((submission_id, &under.release_id, &under.configuration_id))
        .filter(rejudgings::state.ne(DONE))
        .select((rejudgings::anew_since_ms, rejudgings::state, rejudgings::failed, rejudgings::not_before_ms))
        .first(connection)
        .optional()?;
    Ok(found.and_then(|(since_ms, state, failed, not_before_ms)| {
        Some(Anew { since_ms: since_ms?, is_pending: state == PENDING, failed, not_before_ms })
    }))
}

/// Drops what is not done and not wanted any more: its submission was withdrawn, or the board stands under something else by
/// now.
pub fn delete_unwanted_anew(connection: &mut DbConnection) -> Result<()> {
    let wanted = submissions::table
        .inner_join(releases::table.on(releases::active))
        .inner_join(judge_configurations::table.on(judge_configurations::state.eq(CURRENT)))
        .filter(submissions::id.eq(rejudgings::submission_id))
        .filter(submissions::withdrawn_reason.is_null())
        .filter(releases::id.eq(rejudgings::release_id))
        .filter(judge_configurations::id.eq(rejudgings::configuration_id));
    let unwanted = rejudgings::table
        .filter(rejudgings::state.ne(DONE))
        .filter(rejudgings::anew_since_ms.is_not_null())
        .filter(not(exists(wanted)));
    diesel::delete(unwanted).execute(connection)?;
    Ok(())
}
