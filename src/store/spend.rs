//! What the judge cost, as it is read. Knows nothing of budgets.

use diesel::prelude::*;

use super::schema::{judge_spend, teams};
use super::{DbConnection, Result};

/// Calls and tokens of one day, configuration, rubric and team.
#[derive(Debug, Clone, PartialEq, Queryable)]
pub struct Spend {
    /// The UTC day.
    pub day: String,
    /// The short name of the team whose submissions asked.
    pub team: String,
    /// A rubric as text.
    pub rubric: String,
    /// The judge configuration.
    pub configuration_id: String,
    /// Requests that were made.
    pub calls: i64,
    /// Tokens that were sent.
    pub prompt_tokens: i64,
    /// Of these, tokens that the provider had in its cache.
    pub cached_tokens: i64,
    /// Tokens that came back.
    pub completion_tokens: i64,
    /// Dollars.
    pub cost_usd: f64,
}

/// What was spent from one UTC day to another, both counted.
pub fn load_spend(connection: &mut DbConnection, from: &str, to: &str) -> Result<Vec<Spend>> {
    let rows = judge_spend::table
        .inner_join(teams::table.on(teams::id.eq(judge_spend::team_id)))
        .filter(judge_spend::day.ge(from))
        .filter(judge_spend::day.le(to))
        .order((judge_spend::day, teams::slug, judge_spend::rubric, judge_spend::configuration_id))
        .select((
            judge_spend::day,
            teams::slug,
            judge_spend::rubric,
            judge_spend::configuration_id,
            judge_spend::calls,
            judge_spend::prompt_tokens,
            judge_spend::cached_tokens,
            judge_spend::completion_tokens,
            judge_spend::cost_usd,
        ))
        .load(connection)?;
    Ok(rows)
}
