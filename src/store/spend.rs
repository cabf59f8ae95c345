//! What the judge cost, as it is read. Knows nothing of budgets.

use std::collections::HashMap;

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

/// By rubric, the tokens that came back of one call under a configuration, in the mean; of rubrics without calls none.
pub fn load_mean_completion_tokens(
    connection: &mut DbConnection,
    configuration_id: &str,
) -> Result<HashMap<String, f64>> {
    let sums: Vec<(String, i64, i64)> = judge_spend::table
        .filter(judge_spend::configuration_id.eq(configuration_id))
        .select((judge_spend::rubric, judge_spend::calls, judge_spend::completion_tokens))
        .load(connection)?;
    let mut by_rubric = HashMap::<String, (i64, i64)>::new();
    for (rubric, calls, tokens) in sums {
        let sum = by_rubric.entry(rubric).or_default();
        *sum = (sum.0 + calls, sum.1 + tokens);
    }
    let called = by_rubric.into_iter().filter(|(_, (calls, _))| *calls > 0);
    Ok(called.map(|(rubric, (calls, tokens))| (rubric, tokens as f64 / calls as f64)).collect())
}
