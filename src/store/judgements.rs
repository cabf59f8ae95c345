//! Judgements, which are cache and ledger of the judge at once, and what they cost.

use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, HashMap};

use diesel::dsl::{exists, max, sum};
use diesel::prelude::*;
use diesel::upsert::excluded;

use super::calibrations::load_calibration_spent_usd;
use super::connection::on_each;
use super::schema::{judge_spend, judgements};
use super::{DbConnection, Result, StoreError};

/// Keys of one SELECT; SQLite takes at most 32,766 parameters.
const BATCH: usize = 1000;

/// The vote that counts.
pub const STANDS: i32 = 0;

/// The vote of a judgement that replaces the one that counts once its submission is judged anew as a whole.
pub const WAITS: i32 = 1;

/// A judgement as stored.
#[derive(Debug, Clone, PartialEq, Insertable)]
#[diesel(table_name = judgements, treat_none_as_default_value = false)]
pub struct JudgementRow {
    /// The judge configuration.
    pub configuration_id: String,
    /// Hash of the question as judged and the normalised answer.
    pub key: String,
    /// [`STANDS`], [`WAITS`], or a higher number where it was replaced.
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
        let rows = judgements::table
            .filter(judgements::configuration_id.eq(configuration_id))
            .filter(judgements::vote.eq(STANDS))
            .filter(judgements::key.eq_any(keys))
            .select((judgements::key, judgements::scores))
            .load(connection)?;
        add_scores(&mut found, rows)?;
    }
    Ok(found)
}

/// The scores that count under these keys of a configuration where none does that is older than `since_ms`, save those
/// of maintainers.
pub fn load_judged_since(
    connection: &mut DbConnection,
    configuration_id: &str,
    keys: &[String],
    since_ms: i64,
) -> Result<HashMap<String, [u8; 3]>> {
    let mut found = HashMap::with_capacity(keys.len());
    for keys in keys.chunks(BATCH) {
        // One that stands since that very instant may have been there before.
        let stands = judgements::vote
            .eq(STANDS)
            .and(judgements::created_at_ms.gt(since_ms).or(judgements::decided_by.is_not_null()));
        let waits = judgements::vote.eq(WAITS).and(judgements::created_at_ms.ge(since_ms));
        let rows = judgements::table
            .filter(judgements::configuration_id.eq(configuration_id))
            .filter(judgements::key.eq_any(keys))
            .filter(stands.or(waits))
            // What waits is newer.
            .order(judgements::vote)
            .select((judgements::key, judgements::scores))
            .load(connection)?;
        add_scores(&mut found, rows)?;
    }
    Ok(found)
}

fn add_scores(found: &mut HashMap<String, [u8; 3]>, rows: Vec<(String, String)>) -> Result<()> {
    for (key, scores) in rows {
        let scores = serde_json::from_str(&scores)
            .map_err(|_| StoreError::Unknown { what: "judgement", value: scores.clone() })?;
        found.insert(key, scores);
    }
    Ok(())
}

/// Forgets judgements under these keys that wait since before `since_ms`: what they waited for has fallen away, or asks
/// again.
pub fn delete_waiting_before(
    connection: &mut DbConnection,
    configuration_id: &str,
    keys: &[String],
    since_ms: i64,
) -> Result<()> {
    for keys in keys.chunks(BATCH) {
        let older = judgements::table
            .filter(judgements::configuration_id.eq(configuration_id))
            .filter(judgements::key.eq_any(keys))
            .filter(judgements::vote.eq(WAITS))
            .filter(judgements::created_at_ms.lt(since_ms));
        diesel::delete(older).execute(connection)?;
    }
    Ok(())
}

/// Lets judgements under these keys that wait stand instead of those that stand, which are kept as further votes.
pub fn replace_judgements(
    connection: &mut DbConnection,
    configuration_id: &str,
    keys: &[String],
) -> Result<()> {
    for keys in keys.chunks(BATCH) {
        let of_keys = |keys: &[String]| {
            judgements::configuration_id
                .eq(configuration_id.to_owned())
                .and(judgements::key.eq_any(keys.to_vec()))
        };
        let waiting: Vec<String> = judgements::table
            .filter(of_keys(keys))
            .filter(judgements::vote.eq(WAITS))
            .select(judgements::key)
            .load(connection)?;
        let last: Vec<(String, Option<i32>)> = judgements::table
            .filter(of_keys(&waiting))
            .group_by(judgements::key)
            .select((judgements::key, max(judgements::vote)))
            .load(connection)?;
        let mut by_last = BTreeMap::<i32, Vec<String>>::new();
        for (key, last) in last {
            by_last.entry(last.unwrap_or(WAITS)).or_default().push(key);
        }
        for (last, keys) in by_last {
            diesel::update(judgements::table.filter(of_keys(&keys)).filter(judgements::vote.eq(STANDS)))
                .set(judgements::vote.eq(last + 1))
                .execute(connection)?;
        }
        diesel::update(judgements::table.filter(of_keys(&waiting)).filter(judgements::vote.eq(WAITS)))
            .set(judgements::vote.eq(STANDS))
            .execute(connection)?;
    }
    Ok(())
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
