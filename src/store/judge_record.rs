//! What came of judging under a configuration, summed over all submissions. Says nothing of whose they are or what it
//! cost.

use diesel::dsl::{count_star, sum};
use diesel::prelude::*;

use super::schema::{judge_failures, submissions};
use super::{DbConnection, Result};
use crate::domain::submission::SubmissionState;

/// Sums over the scored submissions that stand under a judge configuration.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct JudgeRecord {
    /// How many submissions.
    pub submissions: i64,
    /// Answers with a judgement.
    pub judged: i64,
    /// Of these, answers whose judgement stood already.
    pub reused: i64,
    /// Answers that a call failed at, by the last reason, most frequent first; most were judged by a later call.
    pub failures: Vec<(String, i64)>,
}

/// What came of judging under a configuration.
pub fn load_judge_record(connection: &mut DbConnection, configuration_id: &str) -> Result<JudgeRecord> {
    let scored = submissions::table
        .filter(submissions::configuration_id.eq(configuration_id))
        .filter(submissions::state.eq(SubmissionState::Scored.as_str()));
    let (submissions, judged, reused): (i64, Option<i64>, Option<i64>) = scored
        .select((count_star(), sum(submissions::judged), sum(submissions::reused)))
        .first(connection)?;
    let mut failures: Vec<(String, i64)> = judge_failures::table
        .filter(judge_failures::configuration_id.eq(configuration_id))
        .group_by(judge_failures::reason)
        .select((judge_failures::reason, count_star()))
        .load(connection)?;
    failures.sort_by(|(name, count), (other_name, other)| other.cmp(count).then(name.cmp(other_name)));
    let judged = judged.unwrap_or_default();
    Ok(JudgeRecord { submissions, judged, reused: reused.unwrap_or_default(), failures })
}
