//! What maintainers look through: submissions by what they ask for, and what each team did. Changes nothing.

use std::collections::HashMap;

use diesel::dsl::{count_star, exists, max};
use diesel::prelude::*;

use super::configurations::{CURRENT, STAGED};
use super::connection::DbConnection;
use super::rejudgings::INCOMPLETE;
use super::schema::{
    api_keys, judge_configurations, judge_failures, rejudgings, releases, submissions, teams,
};
use super::submissions::{Row, Submission, columns, submission};
use super::{Result, stored};
use crate::domain::outcome::FailureReason;
use crate::domain::question::Split;
use crate::domain::submission::SubmissionState;

/// Which submissions a maintainer asks for; each part narrows.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SubmissionFilter {
    /// Where they stand.
    pub state: Option<SubmissionState>,
    /// Their team's short name.
    pub team: Option<String>,
    /// Their split.
    pub split: Option<Split>,
    /// Only those that do not get on by themselves, or rest.
    pub needs_attention: bool,
}

/// At most `limit` submissions that a filter lets through, newest first, below the id `before`.
pub fn load_filtered(
    connection: &mut DbConnection,
    filter: &SubmissionFilter,
    before: Option<&str>,
    limit: i64,
) -> Result<Vec<Submission>> {
    let mut query = submissions::table
        .inner_join(teams::table.on(teams::id.eq(submissions::team_id)))
        .inner_join(releases::table.on(releases::id.eq(submissions::release_id)))
        .order(submissions::id.desc())
        .limit(limit)
        .select(columns!())
        .into_boxed();
    if let Some(state) = filter.state {
        query = query.filter(submissions::state.eq(state.as_str()));
    }
    if let Some(team) = &filter.team {
        query = query.filter(teams::slug.eq(team));
    }
    if let Some(split) = filter.split {
        query = query.filter(submissions::split.eq(split.as_str()));
    }
    if filter.needs_attention {
        let ended = [SubmissionState::Failed, SubmissionState::Incomplete].map(SubmissionState::as_str);
        let stuck = rejudgings::table
            .inner_join(
                judge_configurations::table.on(judge_configurations::id.eq(rejudgings::configuration_id)),
            )
            .filter(judge_configurations::state.eq_any([CURRENT, STAGED]))
            .filter(rejudgings::submission_id.eq(submissions::id))
            .filter(rejudgings::state.eq(INCOMPLETE));
        let stands = submissions::withdrawn_reason.is_null();
        query = query.filter(
            submissions::state
                .eq_any(ended)
                .or(submissions::paused_for.is_not_null())
                .or(exists(stuck).and(stands)),
        );
    }
    if let Some(before) = before {
        query = query.filter(submissions::id.lt(before));
    }
    let rows: Vec<Row> = query.load(connection)?;
    rows.into_iter().map(submission).collect()
}

/// Why answers of these submissions failed under any configuration, and how many.
pub fn load_failure_reasons(
    connection: &mut DbConnection,
    submission_ids: &[&str],
) -> Result<HashMap<String, Vec<(FailureReason, i64)>>> {
    let rows: Vec<(String, String, i64)> = judge_failures::table
        .filter(judge_failures::submission_id.eq_any(submission_ids))
        .group_by((judge_failures::submission_id, judge_failures::reason))
        .order((judge_failures::submission_id, judge_failures::reason))
        .select((judge_failures::submission_id, judge_failures::reason, count_star()))
        .load(connection)?;
    let mut reasons = HashMap::<String, Vec<(FailureReason, i64)>>::new();
    for (id, reason, count) in rows {
        let reason = stored("failure reason", &reason, FailureReason::parse)?;
        reasons.entry(id).or_default().push((reason, count));
    }
    Ok(reasons)
}

/// What a team did, and whether it can do more.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct TeamActivity {
    /// Keys that open something now.
    pub usable_keys: i64,
    /// When one of its keys was last used, to the minute.
    pub last_used_at_ms: Option<i64>,
    /// Its submissions.
    pub submissions: i64,
    /// When it last submitted.
    pub last_submitted_at_ms: Option<i64>,
}

/// What teams did, by their ids; a team without keys and submissions is left out.
pub fn load_activity(connection: &mut DbConnection, now_ms: i64) -> Result<HashMap<String, TeamActivity>> {
    let mut activity = HashMap::<String, TeamActivity>::new();
    let usable: Vec<(String, i64)> = api_keys::table
        .filter(api_keys::revoked_at_ms.is_null())
        .filter(api_keys::expires_at_ms.is_null().or(api_keys::expires_at_ms.gt(now_ms)))
        .group_by(api_keys::team_id)
        .select((api_keys::team_id, count_star()))
        .load(connection)?;
    for (team, count) in usable {
        activity.entry(team).or_default().usable_keys = count;
    }
    let used: Vec<(String, Option<i64>)> = api_keys::table
        .group_by(api_keys::team_id)
        .select((api_keys::team_id, max(api_keys::last_used_at_ms)))
        .load(connection)?;
    for (team, at_ms) in used {
        activity.entry(team).or_default().last_used_at_ms = at_ms;
    }
    let submitted: Vec<(String, i64, Option<i64>)> = submissions::table
        .group_by(submissions::team_id)
        .select((submissions::team_id, count_star(), max(submissions::created_at_ms)))
        .load(connection)?;
    for (team, count, at_ms) in submitted {
        let activity = activity.entry(team).or_default();
        (activity.submissions, activity.last_submitted_at_ms) = (count, at_ms);
    }
    Ok(activity)
}
