//! What lists for maintainers show beside their items. Changes nothing.

use std::collections::HashMap;

use diesel::dsl::count_star;
use diesel::prelude::*;

use super::schema::{api_keys, judge_failures};
use super::{DbConnection, Result, stored};
use crate::domain::outcome::FailureReason;

/// Why answers failed, and how many, by submission.
pub type Reasons = HashMap<String, Vec<(FailureReason, i64)>>;

/// Why answers of these submissions failed under any configuration, and how many.
pub fn load_failure_reasons(connection: &mut DbConnection, submission_ids: &[&str]) -> Result<Reasons> {
    let rows: Vec<(String, String, i64)> = judge_failures::table
        .filter(judge_failures::submission_id.eq_any(submission_ids))
        .group_by((judge_failures::submission_id, judge_failures::reason))
        .order((judge_failures::submission_id, judge_failures::reason))
        .select((judge_failures::submission_id, judge_failures::reason, count_star()))
        .load(connection)?;
    let mut reasons = Reasons::new();
    for (id, reason, count) in rows {
        let reason = stored("failure reason", &reason, FailureReason::parse)?;
        reasons.entry(id).or_default().push((reason, count));
    }
    Ok(reasons)
}

/// How many keys of each team open something at this instant, by the teams' ids; teams without any are left out.
pub fn count_usable_keys(connection: &mut DbConnection, now_ms: i64) -> Result<HashMap<String, i64>> {
    let rows: Vec<(String, i64)> = api_keys::table
        .filter(api_keys::revoked_at_ms.is_null())
        .filter(api_keys::expires_at_ms.is_null().or(api_keys::expires_at_ms.gt(now_ms)))
        .group_by(api_keys::team_id)
        .select((api_keys::team_id, count_star()))
        .load(connection)?;
    Ok(rows.into_iter().collect())
}
