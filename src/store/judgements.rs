//! Judgements, which are cache and ledger of the judge at once, and what they cost.

use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, HashMap};

use diesel::dsl::{exists, sum};
use diesel::prelude::*;
use diesel::upsert::excluded;

use super::calibrations::load_calibration_spent_usd;
use super::connection::on_each;
use super::schema::{judge_spend, judgements};
use super::{DbConnection, Result, StoreError};

/// Keys of one SELECT; SQLite takes at most 32,766 parameters.
const BATCH: usize = 1000;

/// A judgement as stored.
#[derive(Debug, Clone, PartialEq, Insertable)]
#[diesel(table_name = judgements, treat_none_as_default_value = false)]
pub struct JudgementRow {
    /// The judge configuration.
    pub configuration_id: String,
    /// Hash of the question as judged and the normalised answer.
    pub key: String,
    /// Which of several votes on the same answer; 0 is the first.
    pub vote: i32,
    /// The question, for people who read the table.
    pub question_id: String,
    /// The three integers as JSON.
    pub scores: String,
    /// The judge's explanations as JSON.
    pub explanations: String,
    /// The model that answered.
    pub answered_model: String,
    /// Tokens that were sent.
    pub prompt_tokens: i64,
    /// Of these, tokens that the provider had in its cache.
    pub cached_tokens: i64,
    /// Tokens that came back.
    pub completion_tokens: i64,
    /// What the call cost.
    pub cost_usd: f64,
    /// When it was made.
    pub created_at_ms: i64,
}

/// Calls and tokens of one day, configuration, rubric and team.
#[derive(Debug, Clone, PartialEq, Insertable)]
#[diesel(table_name = judge_spend, treat_none_as_default_value = false)]
pub struct SpendRow {
    /// The UTC day.
    pub day: String,
    /// The judge configuration.
    pub configuration_id: String,
    /// A rubric as text.
    pub rubric: String,
    /// The team whose submission asked.
    pub team_id: String,
    /// Requests that were made, whatever came of them.
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

impl SpendRow {
    fn add(&mut self, other: &SpendRow) {
        self.calls += other.calls;
        self.prompt_tokens += other.prompt_tokens;
        self.cached_tokens += other.cached_tokens;
        self.completion_tokens += other.completion_tokens;
        self.cost_usd += other.cost_usd;
    }
}

/// The scores that stand under these keys of a configuration.
pub fn load_judged(
    connection: &mut DbConnection,
    configuration_id: &str,
    keys: &[String],
) -> Result<HashMap<String, [u8; 3]>> {
    let mut found = HashMap::with_capacity(keys.len());
    for keys in keys.chunks(BATCH) {
        let rows: Vec<(String, String)> = judgements::table
            .filter(judgements::configuration_id.eq(configuration_id))
            .filter(judgements::vote.eq(0))
            .filter(judgements::key.eq_any(keys))
            .select((judgements::key, judgements::scores))
            .load(connection)?;
        for (key, scores) in rows {
            let scores = serde_json::from_str(&scores)
                .map_err(|_| StoreError::Unknown { what: "judgement", value: scores.clone() })?;
            found.insert(key, scores);
        }
    }
    Ok(found)
}

/// Stores judgements; one that stands already is kept.
pub fn insert_judgements(connection: &mut DbConnection, mut rows: Vec<JudgementRow>) -> Result<()> {
    // Two workers may store the same keys at once; in one order neither waits for the other in a circle.
    rows.sort_unstable_by(|one, other| one.key.cmp(&other.key));
    for rows in rows.chunks(BATCH) {
        on_each!(connection, |inner| diesel::insert_into(judgements::table)
            .values(rows)
            .on_conflict_do_nothing()
            .execute(inner))?;
    }
    Ok(())
}

/// Adds to what the judge cost.
pub fn add_spend(connection: &mut DbConnection, rows: Vec<SpendRow>) -> Result<()> {
    let mut sums = BTreeMap::<_, SpendRow>::new();
    for row in rows {
        let key = (row.day.clone(), row.configuration_id.clone(), row.rubric.clone(), row.team_id.clone());
        match sums.entry(key) {
            Entry::Vacant(place) => {
                place.insert(row);
            }
            Entry::Occupied(mut place) => place.get_mut().add(&row),
        }
    }
    for row in sums.values() {
        on_each!(connection, |inner| diesel::insert_into(judge_spend::table)
            .values(row)
            .on_conflict((
                judge_spend::day,
                judge_spend::configuration_id,
                judge_spend::rubric,
                judge_spend::team_id
            ))
            .do_update()
            .set((
                judge_spend::calls.eq(judge_spend::calls + excluded(judge_spend::calls)),
                judge_spend::prompt_tokens
                    .eq(judge_spend::prompt_tokens + excluded(judge_spend::prompt_tokens)),
                judge_spend::cached_tokens
                    .eq(judge_spend::cached_tokens + excluded(judge_spend::cached_tokens)),
                judge_spend::completion_tokens
                    .eq(judge_spend::completion_tokens + excluded(judge_spend::completion_tokens)),
                judge_spend::cost_usd.eq(judge_spend::cost_usd + excluded(judge_spend::cost_usd)),
            ))
            .execute(inner))?;
    }
    Ok(())
}

/// Dollars that a UTC day has cost so far, for submissions and for calibration.
pub fn load_spent_usd(connection: &mut DbConnection, day: &str) -> Result<f64> {
    let spent: Option<f64> = judge_spend::table
        .filter(judge_spend::day.eq(day))
        .select(sum(judge_spend::cost_usd))
        .first(connection)?;
    Ok(spent.unwrap_or(0.0) + load_calibration_spent_usd(connection, day)?)
}

/// Whether the judge has scored an answer under a configuration at `at_ms` or later.
pub fn has_judged_since(connection: &mut DbConnection, configuration_id: &str, at_ms: i64) -> Result<bool> {
    let later = judgements::table
        .filter(judgements::configuration_id.eq(configuration_id))
        .filter(judgements::created_at_ms.ge(at_ms))
        .filter(judgements::decided_by.is_null());
    Ok(diesel::select(exists(later)).get_result(connection)?)
}
