//! Submissions that are scored under another release or judge configuration than their own, and how far that has come
//! with what is published. Knows nothing of what judging is.

use std::collections::HashMap;

use diesel::dsl::{count_star, exists, not};
use diesel::prelude::*;
use serde::Serialize;

use super::configurations::{CURRENT, STAGED, load_configurations};
use super::connection::on_each;
use super::releases::load_releases;
use super::schema::{judge_configurations, leases, rejudgings, releases, scores, submissions, teams};
use super::scores::Under;
use super::standing::{load_unscored, of_line, published};
use super::{DbConnection, Result, stored};
use crate::domain::question::Split;

pub(super) const INCOMPLETE: &str = "incomplete";
pub(super) const PENDING: &str = "pending";
pub(super) const DONE: &str = "done";

/// Rows of one INSERT; SQLite takes at most 32,766 parameters.
const BATCH: usize = 4000;

/// What the published entries of a line are to have scores under.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Target {
    /// The line of the release.
    pub line_id: String,
    /// The release and the configuration.
    pub under: Under,
}

/// What published entries are to have scores under: active releases under the current and the staged configuration, and
/// staged releases under the current one.
pub fn load_targets(connection: &mut DbConnection) -> Result<Vec<Target>> {
    let mut targets = Vec::new();
    let configurations = load_configurations(connection)?;
    for release in load_releases(connection)?.into_iter().filter(|release| release.split != Split::Train) {
        let is_wanted = |state: &str| {
            (state == CURRENT && (release.active || release.staged)) || (state == STAGED && release.active)
        };
        let wanted = configurations.iter().filter(|configuration| is_wanted(&configuration.state));
        targets.extend(wanted.map(|configuration| Target {
            line_id: release.line_id.clone(),
            under: Under::new(&release.id, &configuration.id),
        }));
    }
    Ok(targets)
}

/// Notes as pending what published entries lack under a target.
pub fn insert_missing(connection: &mut DbConnection, target: &Target, now_ms: i64) -> Result<()> {
    let missing = load_unscored(connection, &target.line_id, &target.under)?;
    for missing in missing.chunks(BATCH) {
        let rows: Vec<_> = missing
            .iter()
            .map(|submission_id| {
                (
                    rejudgings::submission_id.eq(submission_id),
                    rejudgings::release_id.eq(&target.under.release_id),
                    rejudgings::configuration_id.eq(&target.under.configuration_id),
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

/// Drops what is pending and not wanted any more: its submission is not published, or it is of no target. What is asked
/// anew is another matter.
pub fn delete_unwanted(connection: &mut DbConnection) -> Result<()> {
    let wanted = submissions::table
        .inner_join(releases::table.on(releases::active.or(releases::staged)))
        .inner_join(judge_configurations::table.on(judge_configurations::state.eq_any([STAGED, CURRENT])))
        .filter(submissions::id.eq(rejudgings::submission_id))
        .filter(releases::id.eq(rejudgings::release_id))
        .filter(judge_configurations::id.eq(rejudgings::configuration_id))
        .filter(releases::active.or(judge_configurations::state.eq(CURRENT)))
        .filter(published());
    let unwanted = rejudgings::table
        .filter(rejudgings::state.eq(PENDING))
        .filter(rejudgings::anew_since_ms.is_null())
        .filter(not(exists(wanted)));
    diesel::delete(unwanted).execute(connection)?;
    Ok(())
}

/// At most `limit` pending rejudgings that are due and of submissions that nobody holds: test first, then the oldest
/// submissions. Gives the submission's id and split.
pub fn load_due(connection: &mut DbConnection, now_ms: i64, limit: i64) -> Result<Vec<(String, Split)>> {
    let found: Vec<(String, String)> = rejudgings::table
        .inner_join(submissions::table.on(submissions::id.eq(rejudgings::submission_id)))
        .inner_join(leases::table.on(leases::name.eq(rejudgings::submission_id)))
        .filter(rejudgings::state.eq(PENDING))
        .filter(rejudgings::not_before_ms.le(now_ms))
        .filter(published().or(rejudgings::anew_since_ms.is_not_null()))
        .filter(leases::owner.is_null().or(leases::expires_at_ms.le(now_ms)))
        .order((submissions::split, submissions::created_at_ms))
        .limit(limit)
        .select((submissions::id, submissions::split))
        .load(connection)?;
    found.into_iter().map(|(id, split)| Ok((id, stored("split", &split, Split::parse)?))).collect()
}

/// A rejudging that is to go on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Due {
    /// What the submission is judged under.
    pub under: Under,
    /// Where it is judged anew: judgements that are older do not count.
    pub anew_since_ms: Option<i64>,
}

/// Under what a submission is to be rejudged now, if there is anything: the current configuration before the staged one,
/// the active release before the staged one.
pub fn find_due(connection: &mut DbConnection, submission_id: &str, now_ms: i64) -> Result<Option<Due>> {
    let found: Option<(String, String, Option<i64>)> = rejudgings::table
        .inner_join(judge_configurations::table.on(judge_configurations::id.eq(rejudgings::configuration_id)))
        .inner_join(releases::table.on(releases::id.eq(rejudgings::release_id)))
        .filter(rejudgings::submission_id.eq(submission_id))
        .filter(rejudgings::state.eq(PENDING))
        .filter(rejudgings::not_before_ms.le(now_ms))
        // `current` sorts before `staged`.
        .order((judge_configurations::state, releases::active.desc()))
        .select((rejudgings::release_id, rejudgings::configuration_id, rejudgings::anew_since_ms))
        .first(connection)
        .optional()?;
    Ok(found.map(|(release_id, configuration_id, anew_since_ms)| Due {
        under: Under { release_id, configuration_id },
        anew_since_ms,
    }))
}

/// Notes until when a rejudging rests.
pub fn pause_rejudging(
    connection: &mut DbConnection,
    submission_id: &str,
    under: &Under,
    not_before_ms: i64,
) -> Result<()> {
    diesel::update(rejudgings::table.find((submission_id, &under.release_id, &under.configuration_id)))
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
    under: &Under,
    failed: Option<i32>,
    now_ms: i64,
) -> Result<()> {
    diesel::update(rejudgings::table.find((submission_id, &under.release_id, &under.configuration_id)))
        .set((
            rejudgings::state.eq(if failed.is_none() { DONE } else { INCOMPLETE }),
            rejudgings::failed.eq(failed.unwrap_or(0)),
            rejudgings::finished_at_ms.eq(now_ms),
        ))
        .execute(connection)?;
    Ok(())
}

/// Under what a submission's rejudging ended incomplete, of what is still wanted.
pub fn load_incomplete(connection: &mut DbConnection, submission_id: &str) -> Result<Vec<Under>> {
    let found = rejudgings::table
        .inner_join(judge_configurations::table.on(judge_configurations::id.eq(rejudgings::configuration_id)))
        .inner_join(releases::table.on(releases::id.eq(rejudgings::release_id)))
        .filter(judge_configurations::state.eq_any([CURRENT, STAGED]))
        .filter(releases::active.or(releases::staged))
        .filter(rejudgings::submission_id.eq(submission_id))
        .filter(rejudgings::state.eq(INCOMPLETE))
        .order((releases::active.desc(), rejudgings::configuration_id))
        .select((rejudgings::release_id, rejudgings::configuration_id))
        .load(connection)?;
    Ok(found)
}

/// An entry with answers that could not be judged under a configuration.
#[derive(Debug, Clone, PartialEq, Eq, Queryable, Serialize, utoipa::ToSchema)]
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

/// The published entries whose rejudging under one of these releases and a configuration ended incomplete.
pub fn load_incomplete_entries(
    connection: &mut DbConnection,
    release_ids: &[String],
    configuration_id: &str,
) -> Result<Vec<IncompleteEntry>> {
    let found = rejudgings::table
        .inner_join(submissions::table.on(submissions::id.eq(rejudgings::submission_id)))
        .inner_join(teams::table.on(teams::id.eq(submissions::team_id)))
        .filter(rejudgings::release_id.eq_any(release_ids))
        .filter(rejudgings::configuration_id.eq(configuration_id))
        .filter(rejudgings::state.eq(INCOMPLETE))
        .filter(rejudgings::anew_since_ms.is_null())
        .filter(published())
        .order((submissions::split, submissions::created_at_ms))
        .select((submissions::id, teams::slug, submissions::model_name, rejudgings::failed))
        .load(connection)?;
    Ok(found)
}

/// Makes an incomplete rejudging pending again.
pub fn reopen_rejudging(connection: &mut DbConnection, submission_id: &str, under: &Under) -> Result<()> {
    diesel::update(rejudgings::table.find((submission_id, &under.release_id, &under.configuration_id)))
        .set((
            rejudgings::state.eq(PENDING),
            rejudgings::failed.eq(0),
            rejudgings::not_before_ms.eq(0),
            rejudgings::finished_at_ms.eq(None::<i64>),
        ))
        .execute(connection)?;
    Ok(())
}

/// Whether entries wait to be scored under a release.
pub fn has_pending(connection: &mut DbConnection, release_id: &str) -> Result<bool> {
    let pending =
        rejudgings::table.filter(rejudgings::release_id.eq(release_id)).filter(rejudgings::state.eq(PENDING));
    Ok(diesel::select(exists(pending)).get_result(connection)?)
}

/// Takes their leases away from those who rejudge under a configuration now.
pub fn revoke_rejudgers(connection: &mut DbConnection, configuration_id: &str) -> Result<()> {
    let pending = rejudgings::table
        .filter(rejudgings::configuration_id.eq(configuration_id))
        .filter(rejudgings::state.eq(PENDING));
    let pending = pending.select(rejudgings::submission_id).load(connection)?;
    revoke(connection, pending)
}

/// Takes their leases away from those who score entries under a release now.
pub fn revoke_rejudgers_of(connection: &mut DbConnection, release_id: &str) -> Result<()> {
    let pending =
        rejudgings::table.filter(rejudgings::release_id.eq(release_id)).filter(rejudgings::state.eq(PENDING));
    let pending = pending.select(rejudgings::submission_id).load(connection)?;
    revoke(connection, pending)
}

fn revoke(connection: &mut DbConnection, submission_ids: Vec<String>) -> Result<()> {
    for ids in submission_ids.chunks(BATCH) {
        let held = leases::table.filter(leases::owner.is_not_null()).filter(leases::name.eq_any(ids));
        for name in held.select(leases::name).load::<String>(connection)? {
            super::leases::revoke_lease(connection, &name)?;
        }
    }
    Ok(())
}

/// How far a configuration has come with the published entries of releases.
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
    let (mut entries, mut coverage) = (0, HashMap::new());
    for release in load_releases(connection)?.iter().filter(|release| release.active) {
        entries += add_coverage(connection, &release.line_id, &release.id, &mut coverage)?;
    }
    Ok((entries, coverage))
}

/// Adds how far each configuration has come under a release with the published entries of a line; gives their number.
pub fn add_coverage(
    connection: &mut DbConnection,
    line_id: &str,
    release_id: &str,
    coverage: &mut HashMap<String, Coverage>,
) -> Result<i64> {
    let entries = || submissions::table.filter(of_line(line_id)).filter(published());
    let complete: Vec<(String, i64)> = entries()
        .inner_join(scores::table.on(scores::submission_id.eq(submissions::id)))
        .filter(scores::release_id.eq(release_id))
        .filter(scores::complete)
        .group_by(scores::configuration_id)
        .select((scores::configuration_id, count_star()))
        .load(connection)?;
    let open: Vec<(String, String, i64)> = entries()
        .inner_join(rejudgings::table.on(rejudgings::submission_id.eq(submissions::id)))
        .filter(rejudgings::release_id.eq(release_id))
        .filter(rejudgings::state.ne(DONE))
        // What is judged anew has its scores meanwhile.
        .filter(rejudgings::anew_since_ms.is_null())
        .group_by((rejudgings::configuration_id, rejudgings::state))
        .select((rejudgings::configuration_id, rejudgings::state, count_star()))
        .load(connection)?;
    for (id, count) in complete {
        coverage.entry(id).or_default().complete += count;
    }
    for (id, state, count) in open {
        let coverage = coverage.entry(id).or_default();
        *if state == PENDING { &mut coverage.pending } else { &mut coverage.incomplete } += count;
    }
    Ok(entries().count().get_result(connection)?)
}
