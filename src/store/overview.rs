//! How much waits for a maintainer, as counts with the oldest. Knows nothing of what is to be done about it.

use diesel::dsl::{count_star, min};
use diesel::prelude::*;

use super::schema::{judge_failures, signups, submissions};
use super::{DbConnection, Result, stored};
use crate::domain::outcome::FailureReason;
use crate::domain::signup::SignupState;
use crate::domain::submission::{PausedFor, SubmissionState};

/// How many there are, and when the oldest came.
pub type Count = (i64, Option<i64>);

/// Sign-ups that wait.
pub fn count_signups(connection: &mut DbConnection) -> Result<Count> {
    let pending = signups::table.filter(signups::state.eq(SignupState::Pending.as_str()));
    Ok(pending.select((count_star(), min(signups::created_at_ms))).first(connection)?)
}

/// Submissions in a state that was not withdrawn.
pub fn count_in_state(connection: &mut DbConnection, state: SubmissionState) -> Result<Count> {
    let found = submissions::table
        .filter(submissions::state.eq(state.as_str()))
        .filter(submissions::withdrawn_reason.is_null());
    Ok(found.select((count_star(), min(submissions::created_at_ms))).first(connection)?)
}

/// Submissions whose judging rests, by why.
pub fn count_paused(connection: &mut DbConnection) -> Result<Vec<(PausedFor, Count)>> {
    let counts: Vec<(Option<String>, i64, Option<i64>)> = submissions::table
        .filter(submissions::state.eq(SubmissionState::Judging.as_str()))
        .filter(submissions::paused_for.is_not_null())
        .group_by(submissions::paused_for)
        .select((submissions::paused_for, count_star(), min(submissions::created_at_ms)))
        .load(connection)?;
    let counted = |(paused_for, count, oldest_ms): (Option<String>, i64, Option<i64>)| {
        let paused_for = paused_for.unwrap_or_default();
        Ok((stored("pause", &paused_for, PausedFor::parse)?, (count, oldest_ms)))
    };
    counts.into_iter().map(counted).collect()
}

/// Answers that the judge failed at, of incomplete submissions under their own configuration, by the last reason.
pub fn count_failures(connection: &mut DbConnection) -> Result<Vec<(FailureReason, i64)>> {
    let of_own = judge_failures::configuration_id.nullable().eq(submissions::configuration_id);
    let counts: Vec<(String, i64)> = judge_failures::table
        .inner_join(submissions::table.on(submissions::id.eq(judge_failures::submission_id)))
        .filter(submissions::state.eq(SubmissionState::Incomplete.as_str()))
        .filter(of_own)
        .group_by(judge_failures::reason)
        .select((judge_failures::reason, count_star()))
        .load(connection)?;
    let counted = |(reason, count): (String, i64)| {
        Ok((stored("failure reason", &reason, FailureReason::parse)?, count))
    };
    counts.into_iter().map(counted).collect()
}
