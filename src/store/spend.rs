//! What the judge cost, as it is read. Knows nothing of budgets.

use std::collections::BTreeMap;

use diesel::prelude::*;
use diesel::sql_types::Text;

use super::schema::{calibration_spend, judge_configurations, judge_spend, teams};
use super::{DbConnection, Result, stored};
use crate::domain::question::Rubric;

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

/// What stands for a team's short name where the judge was asked about rated answers: no team can be called so.
pub const CALIBRATION: &str = "(calibration)";

/// What was spent from one UTC day to another, both counted.
pub fn load_spend(connection: &mut DbConnection, from: &str, to: &str) -> Result<Vec<Spend>> {
    let mut rows: Vec<Spend> = judge_spend::table
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
    let for_calibration: Vec<Spend> = calibration_spend::table
        .filter(calibration_spend::day.ge(from))
        .filter(calibration_spend::day.le(to))
        .order((calibration_spend::day, calibration_spend::rubric, calibration_spend::configuration_id))
        .select((
            calibration_spend::day,
            CALIBRATION.into_sql::<Text>(),
            calibration_spend::rubric,
            calibration_spend::configuration_id,
            calibration_spend::calls,
            calibration_spend::prompt_tokens,
            calibration_spend::cached_tokens,
            calibration_spend::completion_tokens,
            calibration_spend::cost_usd,
        ))
        .load(connection)?;
    rows.extend(for_calibration);
    Ok(rows)
}

/// By rubric, the tokens that came back of one call in the mean: of calls under a configuration, or where it has none, of
/// all calls to LLM judges.
pub fn load_mean_completion_tokens(
    connection: &mut DbConnection,
    configuration_id: &str,
) -> Result<BTreeMap<Rubric, f64>> {
    let rows: Vec<(String, String, i64, i64)> = judge_spend::table
        .inner_join(
            judge_configurations::table.on(judge_configurations::id.eq(judge_spend::configuration_id)),
        )
        .filter(judge_configurations::kind.eq("llm"))
        .filter(judge_spend::calls.gt(0))
        .select((
            judge_spend::configuration_id,
            judge_spend::rubric,
            judge_spend::calls,
            judge_spend::completion_tokens,
        ))
        .load(connection)?;
    let (mut all, mut own) = (BTreeMap::<Rubric, (i64, i64)>::new(), BTreeMap::new());
    for (id, rubric, calls, tokens) in rows {
        let rubric = stored("rubric", &rubric, Rubric::parse)?;
        let sums = [Some(&mut all), (id == configuration_id).then_some(&mut own)];
        for sum in sums.into_iter().flatten().map(|sums| sums.entry(rubric).or_default()) {
            *sum = (sum.0 + calls, sum.1 + tokens);
        }
    }
    all.extend(own);
    Ok(all.into_iter().map(|(rubric, (calls, tokens))| (rubric, tokens as f64 / calls as f64)).collect())
}
