//! Submissions that are judged under another configuration than their own, and how far a configuration has come with
//! what is published. Knows nothing of what judging is.

use std::collections::HashMap;

use diesel::dsl::{count_star, exists, not};
use diesel::prelude::*;
use serde::Serialize;

use super::configurations::{CURRENT, STAGED};
use super::connection::on_each;
use super::schema::{judge_configurations, leases, rejudgings, releases, scores, submissions, teams};
use super::standing::{load_unjudged, published};
use super::{DbConnection, Result};

const PENDING: &str = "pending";
const DONE: &str = "done";
const INCOMPLETE: &str = "incomplete";

/// Rows of one INSERT; SQLite takes at most 32,766 parameters.
const BATCH: usize = 4000;

/// Notes as pending what the published entries of active releases lack under a configuration.
pub fn insert_missing(connection: &mut DbConnection, configuration_id: &str, now_ms: i64) -> Result<()> {
    let missing = load_unjudged(connection, configuration_id)?;
    for missing in missing.chunks(BATCH) {
        let rows: Vec<_> = missing
            .iter()
            .map(|(submission_id, _)| {
                (
                    rejudgings::submission_id.eq(submission_id),
                    rejudgings::configuration_id.eq(configuration_id),
                    rejudgings::state.eq(PENDING),
                    rejudgings::failed.eq(0),
                    rejudgings::not_before_ms.eq(0),
                    rejudgings::created_at_ms.eq(now_ms),
                )
            })
            .collect();
        on_each!(connection, |inner| diesel::insert_into(rejudgings::table)
            .values(&rows)
            .on_conflict_do_nothing()
            .execute(inner))?;
    }
    Ok(())
}

/// Drops what is pending and not wanted any more: its submission is not published, or of a release that is not active,
/// or its configuration is neither staged nor current.
pub fn delete_unwanted(connection: &mut DbConnection) -> Result<()> {
    let wanted = submissions::table
        .inner_join(releases::table.on(releases::id.eq(submissions::release_id)))
        .inner_join(judge_configurations::table.on(judge_configurations::state.eq_any([STAGED, CURRENT])))
        .filter(submissions::id.eq(rejudgings::submission_id))
        .filter(judge_configurations::id.eq(rejudgings::configuration_id))
        .filter(releases::active)
        .filter(published());
    let unwanted = rejudgings::table.filter(rejudgings::state.eq(PENDING)).filter(not(exists(wanted)));
    diesel::delete(unwanted).execute(connection)?;
    Ok(())
}

/// At most `limit` pending rejudgings that are due and of submissions that nobody holds: test first, then the oldest
/// submissions. Gives the submission's id and split.
pub fn load_due(connection: &mut DbConnection, now_ms: i64, limit: i64) -> Result<Vec<(String, String)>> {
    let found = rejudgings::table
        .inner_join(submissions::table.on(submissions::id.eq(rejudgings::submission_id)))
        .inner_join(leases::table.on(leases::name.eq(rejudgings::submission_id)))
        .filter(rejudgings::state.eq(PENDING))
        .filter(rejudgings::not_before_ms.le(now_ms))
        .filter(published())
        .filter(leases::owner.is_null().or(leases::expires_at_ms.le(now_ms)))
        .order((submissions::split, submissions::created_at_ms))
        .limit(limit)
        .select((submissions::id, submissions::split))
        .load(connection)?;
    Ok(found)
}

/// The configuration under which a submission is to be rejudged now, if there is one: the current before the staged.
pub fn find_due(connection: &mut DbConnection, submission_id: &str, now_ms: i64) -> Result<Option<String>> {
    let configuration_id = rejudgings::table
        .inner_join(judge_configurations::table.on(judge_configurations::id.eq(rejudgings::configuration_id)))
        .filter(rejudgings::submission_id.eq(submission_id))
        .filter(rejudgings::state.eq(PENDING))
        .filter(rejudgings::not_before_ms.le(now_ms))
        // `current` sorts before `staged`.
        .order(judge_configurations::state)
        .select(rejudgings::configuration_id)
        .first(connection)
        .optional()?;
    Ok(configuration_id)
}

/// Notes until when a rejudging rests.
pub fn pause_rejudging(
    connection: &mut DbConnection,
    submission_id: &str,
    configuration_id: &str,
    not_before_ms: i64,
) -> Result<()> {
    diesel::update(rejudgings::table.find((submission_id, configuration_id)))
        .set(rejudgings::not_before_ms.eq(not_before_ms))
        .execute(connection)?;
    Ok(())
}

/// Lets those that rest be taken up at once.
pub fn wake_rejudgings(connection: &mut DbConnection) -> Result<()> {
    let resting = rejudgings::table.filter(rejudgings::state.eq(PENDING));
    diesel::update(resting.filter(rejudgings::not_before_ms.gt(0)))
        .set(rejudgings::not_before_ms.eq(0))
        .execute(connection)?;
    Ok(())
}

/// Ends a rejudging: done, or incomplete if some answers could not be judged.
pub fn end_rejudging(
    connection: &mut DbConnection,
    submission_id: &str,
    configuration_id: &str,
    failed: Option<i32>,
    now_ms: i64,
) -> Result<()> {
    diesel::update(rejudgings::table.find((submission_id, configuration_id)))
        .set((
            rejudgings::state.eq(if failed.is_none() { DONE } else { INCOMPLETE }),
            rejudgings::failed.eq(failed.unwrap_or(0)),
            rejudgings::finished_at_ms.eq(now_ms),
        ))
        .execute(connection)?;
    Ok(())
}

/// The configurations, current or staged, under which a submission's rejudging ended incomplete.
pub fn load_incomplete(connection: &mut DbConnection, submission_id: &str) -> Result<Vec<String>> {
    let found = rejudgings::table
        .inner_join(judge_configurations::table.on(judge_configurations::id.eq(rejudgings::configuration_id)))
        .filter(judge_configurations::state.eq_any([CURRENT, STAGED]))
        .filter(rejudgings::submission_id.eq(submission_id))
        .filter(rejudgings::state.eq(INCOMPLETE))
        .order(rejudgings::configuration_id)
        .select(rejudgings::configuration_id)
        .load(connection)?;
    Ok(found)
}

/// An entry with answers that could not be judged under a configuration.
#[derive(Debug, Clone, PartialEq, Eq, Queryable, Serialize)]
pub struct IncompleteEntry {
    /// The submission.
    pub entry: String,
    /// The team's short name.
    pub team: String,
    /// The model's name.
    pub model_name: String,
    /// How many of its answers could not be judged.
    pub failed: i32,
}

/// The published entries of active releases whose rejudging under a configuration ended incomplete.
pub fn load_incomplete_entries(
    connection: &mut DbConnection,
    configuration_id: &str,
) -> Result<Vec<IncompleteEntry>> {
    let found = rejudgings::table
        .inner_join(submissions::table.on(submissions::id.eq(rejudgings::submission_id)))
        .inner_join(releases::table.on(releases::id.eq(submissions::release_id)))
        .inner_join(teams::table.on(teams::id.eq(submissions::team_id)))
        .filter(rejudgings::configuration_id.eq(configuration_id))
        .filter(rejudgings::state.eq(INCOMPLETE))
        .filter(releases::active)
        .filter(published())
        .order((submissions::split, submissions::created_at_ms))
        .select((submissions::id, teams::slug, submissions::model_name, rejudgings::failed))
        .load(connection)?;
    Ok(found)
}

/// Makes an incomplete rejudging pending again.
pub fn reopen_rejudging(
    connection: &mut DbConnection,
    submission_id: &str,
    configuration_id: &str,
) -> Result<()> {
    diesel::update(rejudgings::table.find((submission_id, configuration_id)))
        .set((
            rejudgings::state.eq(PENDING),
            rejudgings::failed.eq(0),
            rejudgings::not_before_ms.eq(0),
            rejudgings::finished_at_ms.eq(None::<i64>),
        ))
        .execute(connection)?;
    Ok(())
}

/// Takes their leases away from those who rejudge under a configuration now.
pub fn revoke_rejudgers(connection: &mut DbConnection, configuration_id: &str) -> Result<()> {
    let rejudged = rejudgings::table
        .filter(rejudgings::configuration_id.eq(configuration_id))
        .filter(rejudgings::state.eq(PENDING))
        .select(rejudgings::submission_id);
    let held = leases::table.filter(leases::owner.is_not_null()).filter(leases::name.eq_any(rejudged));
    for name in held.select(leases::name).load::<String>(connection)? {
        super::leases::revoke_lease(connection, &name)?;
    }
    Ok(())
}

/// How far a configuration has come with the published entries of active releases.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Coverage {
    /// Entries that have complete scores under it.
    pub complete: i64,
    /// Entries that wait for it.
    pub pending: i64,
    /// Entries with answers that could not be judged under it.
    pub incomplete: i64,
}

/// How many published entries active releases have, and how far each configuration has come with them.
pub fn load_coverage(connection: &mut DbConnection) -> Result<(i64, HashMap<String, Coverage>)> {
    let entries = || {
        submissions::table
            .inner_join(releases::table.on(releases::id.eq(submissions::release_id)))
            .filter(releases::active)
            .filter(published())
    };
    let complete: Vec<(String, i64)> = entries()
        .inner_join(scores::table.on(scores::submission_id.eq(submissions::id)))
        .filter(scores::complete)
        .group_by(scores::configuration_id)
        .select((scores::configuration_id, count_star()))
        .load(connection)?;
    let open: Vec<(String, String, i64)> = entries()
        .inner_join(rejudgings::table.on(rejudgings::submission_id.eq(submissions::id)))
        .filter(rejudgings::state.ne(DONE))
        .group_by((rejudgings::configuration_id, rejudgings::state))
        .select((rejudgings::configuration_id, rejudgings::state, count_star()))
        .load(connection)?;
    let mut coverage = HashMap::<String, Coverage>::new();
    for (id, count) in complete {
        coverage.entry(id).or_default().complete = count;
    }
    for (id, state, count) in open {
        let coverage = coverage.entry(id).or_default();
        *if state == PENDING { &mut coverage.pending } else { &mut coverage.incomplete } = count;
    }
    Ok((entries().count().get_result(connection)?, coverage))
}
