//! Runs of a judge configuration over rated answers: what it said, what that cost and what is set aside for it. Knows
//! nothing of submissions and of agreement.

use diesel::dsl::sum;
use diesel::prelude::*;
use diesel::upsert::excluded;

use super::connection::on_each;
use super::ratings::place;
use super::schema::{calibration_answers, calibration_runs, calibration_spend, leases};
use super::{DbConnection, Result, StoreError};

/// A run of a configuration over a study's answers.
#[derive(Debug, Clone, PartialEq, Queryable, Insertable)]
#[diesel(table_name = calibration_runs, treat_none_as_default_value = false)]
pub struct Run {
    /// Its id.
    pub id: String,
    /// The file of ratings.
    pub study_id: String,
    /// The judge configuration.
    pub configuration_id: String,
    /// When it began.
    pub started_at_ms: i64,
    /// When it ended; none while answers are left.
    pub finished_at_ms: Option<i64>,
    /// Dollars that calls under way may cost.
    pub reserved_usd: f64,
    /// Items that were rated.
    pub items: i32,
    /// Of these, items whose answer could not be judged.
    pub failed: i32,
    /// The mean of the judge's scores.
    pub mean: Option<f64>,
    /// The quadratic-weighted kappa with people's means.
    pub agreement: Option<f64>,
    /// The mean minus that of the configuration's first run, on what both have scored.
    pub drift: Option<f64>,
    /// The same of the agreement.
    pub agreement_drift: Option<f64>,
}

/// What came of one item of a run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CalibrationAnswer {
    /// The item's place in its file.
    pub position: usize,
    /// Hash of the question as judged and the answer.
    pub key: String,
    /// The three integers, or the reason why there are none.
    pub result: std::result::Result<[u8; 3], String>,
}

/// What calls about rated answers took, of one day, configuration and rubric.
#[derive(Debug, Clone, PartialEq, Insertable)]
#[diesel(table_name = calibration_spend, treat_none_as_default_value = false)]
pub struct CalibrationSpend {
    /// The UTC day.
    pub day: String,
    /// The judge configuration.
    pub configuration_id: String,
    /// A rubric as text.
    pub rubric: String,
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

/// All runs of a configuration over a study, the oldest first.
pub fn load_runs(connection: &mut DbConnection, study_id: &str, configuration_id: &str) -> Result<Vec<Run>> {
    let runs = calibration_runs::table
        .filter(calibration_runs::study_id.eq(study_id))
        .filter(calibration_runs::configuration_id.eq(configuration_id))
        .order((calibration_runs::started_at_ms, calibration_runs::id));
    Ok(runs.load(connection)?)
}

/// The newest runs of all, at most `limit`, the newest first.
pub fn load_newest_runs(connection: &mut DbConnection, limit: i64) -> Result<Vec<Run>> {
    let newest_first = (calibration_runs::started_at_ms.desc(), calibration_runs::id.desc());
    Ok(calibration_runs::table.order(newest_first).limit(limit).load(connection)?)
}

/// Adds a run.
pub fn insert_run(connection: &mut DbConnection, run: &Run) -> Result<()> {
    diesel::insert_into(calibration_runs::table).values(run).execute(connection)?;
    Ok(())
}

/// Notes that a run has ended, and what it came to.
pub fn finish_run(connection: &mut DbConnection, run: &Run) -> Result<()> {
    diesel::update(calibration_runs::table.find(&run.id))
        .set((
            calibration_runs::finished_at_ms.eq(run.finished_at_ms),
            calibration_runs::reserved_usd.eq(0.0),
            calibration_runs::failed.eq(run.failed),
            calibration_runs::mean.eq(run.mean),
            calibration_runs::agreement.eq(run.agreement),
            calibration_runs::drift.eq(run.drift),
            calibration_runs::agreement_drift.eq(run.agreement_drift),
        ))
        .execute(connection)?;
    Ok(())
}

/// What a run has come to so far, by the items' places.
pub fn load_calibration_answers(
    connection: &mut DbConnection,
    run_id: &str,
) -> Result<Vec<CalibrationAnswer>> {
    let rows: Vec<(i32, String, Option<String>, Option<String>)> = calibration_answers::table
        .filter(calibration_answers::run_id.eq(run_id))
        .order(calibration_answers::position)
        .select((
            calibration_answers::position,
            calibration_answers::key,
            calibration_answers::scores,
            calibration_answers::reason,
        ))
        .load(connection)?;
    let answer = |(position, key, scores, reason): (i32, String, Option<String>, Option<String>)| {
        let unknown = |value: &str| StoreError::Unknown { what: "calibration", value: value.to_owned() };
        let result = match scores {
            Some(scores) => Ok(serde_json::from_str(&scores).map_err(|_| unknown(&scores))?),
            None => Err(reason.unwrap_or_default()),
        };
        let position = usize::try_from(position).map_err(|_| unknown(&key))?;
        Ok(CalibrationAnswer { position, key, result })
    };
    rows.into_iter().map(answer).collect()
}

/// Stores what came of items of a run; what stands already is kept.
pub fn insert_calibration_answers(
    connection: &mut DbConnection,
    run_id: &str,
    answers: &[CalibrationAnswer],
) -> Result<()> {
    let rows: Vec<_> = answers
        .iter()
        .map(|answer| {
            let scores = answer.result.as_ref().ok().map(|scores| serde_json::json!(scores).to_string());
            (
                calibration_answers::run_id.eq(run_id),
                calibration_answers::position.eq(place(answer.position)),
                calibration_answers::key.eq(&answer.key),
                calibration_answers::scores.eq(scores),
                calibration_answers::reason.eq(answer.result.as_ref().err()),
            )
        })
        .collect();
    on_each!(connection, |inner| diesel::insert_into(calibration_answers::table)
        .values(&rows)
        .on_conflict_do_nothing()
        .execute(inner))?;
    Ok(())
}

/// Adds to what calls about rated answers cost.
pub fn add_calibration_spend(connection: &mut DbConnection, row: &CalibrationSpend) -> Result<()> {
    on_each!(connection, |inner| diesel::insert_into(calibration_spend::table)
        .values(row)
        .on_conflict((calibration_spend::day, calibration_spend::configuration_id, calibration_spend::rubric))
        .do_update()
        .set((
            calibration_spend::calls.eq(calibration_spend::calls + excluded(calibration_spend::calls)),
            calibration_spend::prompt_tokens
                .eq(calibration_spend::prompt_tokens + excluded(calibration_spend::prompt_tokens)),
            calibration_spend::cached_tokens
                .eq(calibration_spend::cached_tokens + excluded(calibration_spend::cached_tokens)),
            calibration_spend::completion_tokens
                .eq(calibration_spend::completion_tokens + excluded(calibration_spend::completion_tokens)),
            calibration_spend::cost_usd
                .eq(calibration_spend::cost_usd + excluded(calibration_spend::cost_usd)),
        ))
        .execute(inner))?;
    Ok(())
}

/// Dollars that calls about rated answers have cost in a UTC day.
pub fn load_calibration_spent_usd(connection: &mut DbConnection, day: &str) -> Result<f64> {
    let spent: Option<f64> = calibration_spend::table
        .filter(calibration_spend::day.eq(day))
        .select(sum(calibration_spend::cost_usd))
        .first(connection)?;
    Ok(spent.unwrap_or(0.0))
}

/// Dollars that calls about rated answers may still cost that are under way; they lapse with the lease.
pub fn load_calibration_reserved_usd(connection: &mut DbConnection, now_ms: i64) -> Result<f64> {
    let held: i64 = leases::table
        .filter(leases::name.eq(super::leases::CALIBRATION))
        .filter(leases::owner.is_not_null())
        .filter(leases::expires_at_ms.gt(now_ms))
        .count()
        .get_result(connection)?;
    if held == 0 {
        return Ok(0.0);
    }
    let reserved: Option<f64> =
        calibration_runs::table.select(sum(calibration_runs::reserved_usd)).first(connection)?;
    Ok(reserved.unwrap_or(0.0))
}

/// Sets aside so many dollars in all for a run's calls under way, and nothing for any other run.
pub fn reserve_for_run(connection: &mut DbConnection, run_id: &str, reserved_usd: f64) -> Result<()> {
    diesel::update(calibration_runs::table.filter(calibration_runs::reserved_usd.ne(0.0)))
        .set(calibration_runs::reserved_usd.eq(0.0))
        .execute(connection)?;
    diesel::update(calibration_runs::table.find(run_id))
        .set(calibration_runs::reserved_usd.eq(reserved_usd))
        .execute(connection)?;
    Ok(())
}
