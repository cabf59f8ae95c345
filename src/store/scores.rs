//! Outcomes and scores of submissions under a judge configuration, and the rows that a leaderboard reads.

use diesel::prelude::*;

use super::connection::on_each;
use super::schema::{outcomes, scores, submissions, teams};
use super::{DbConnection, Result, StoreError, stored};
use crate::domain::column::Column;
use crate::domain::outcome::{self, Outcome};
use crate::domain::submission::{Access, SubmissionState, Visibility};

/// A column's score as stored.
#[derive(Debug, Clone, PartialEq)]
pub struct Score {
    /// The column.
    pub column: Column,
    /// Percent or points.
    pub value: f64,
    /// The 95 % interval.
    pub ci95: [f64; 2],
    /// How many questions it rests on.
    pub n: i32,
}

/// A score as it lies in the JSON of a row.
type Packed = (Column, f64, [f64; 2], i32);

fn pack(scores: &[Score]) -> String {
    let packed: Vec<Packed> =
        scores.iter().map(|score| (score.column, score.value, score.ci95, score.n)).collect();
    serde_json::json!(packed).to_string()
}

fn unpack(columns: &str) -> Result<Vec<Score>> {
    let packed: Vec<Packed> = serde_json::from_str(columns)
        .map_err(|_| StoreError::Unknown { what: "list of scores", value: columns.to_owned() })?;
    Ok(packed.into_iter().map(|(column, value, ci95, n)| Score { column, value, ci95, n }).collect())
}

/// Replaces the outcomes of a submission.
pub fn save_outcomes(
    connection: &mut DbConnection,
    submission_id: &str,
    configuration_id: &str,
    vector: &[Outcome],
) -> Result<()> {
    let bytes = outcome::encode(vector);
    on_each!(connection, |inner| diesel::insert_into(outcomes::table)
        .values((
            outcomes::submission_id.eq(submission_id),
            outcomes::configuration_id.eq(configuration_id),
            outcomes::vector.eq(&bytes),
        ))
        .on_conflict((outcomes::submission_id, outcomes::configuration_id))
        .do_update()
        .set(outcomes::vector.eq(&bytes))
        .execute(inner))?;
    Ok(())
}

/// The outcomes of a submission by question position, if it was graded.
pub fn find_outcomes(
    connection: &mut DbConnection,
    submission_id: &str,
    configuration_id: &str,
) -> Result<Option<Vec<Outcome>>> {
    let bytes: Option<Vec<u8>> = outcomes::table
        .find((submission_id, configuration_id))
        .select(outcomes::vector)
        .first(connection)
        .optional()?;
    let decoded = bytes.map(|bytes| outcome::decode(&bytes)).transpose();
    decoded.map_err(|_| StoreError::Unknown { what: "outcome vector of", value: submission_id.to_owned() })
}

/// Replaces the scores of a submission under a configuration.
pub fn save_scores(
    connection: &mut DbConnection,
    submission_id: &str,
    configuration_id: &str,
    columns: &[Score],
) -> Result<()> {
    let columns = pack(columns);
    on_each!(connection, |inner| diesel::insert_into(scores::table)
        .values((
            scores::submission_id.eq(submission_id),
            scores::configuration_id.eq(configuration_id),
            scores::by_column.eq(&columns),
        ))
        .on_conflict((scores::submission_id, scores::configuration_id))
        .do_update()
        .set(scores::by_column.eq(&columns))
        .execute(inner))?;
    Ok(())
}

/// The scores of one submission under a configuration, in the benchmark's order.
pub fn load_scores(
    connection: &mut DbConnection,
    submission_id: &str,
    configuration_id: &str,
) -> Result<Vec<Score>> {
    let columns: Option<String> = scores::table
        .find((submission_id, configuration_id))
        .select(scores::by_column)
        .first(connection)
        .optional()?;
    columns.map_or_else(|| Ok(Vec::new()), |columns| unpack(&columns))
}

/// A published submission of a release, with what a board must know of it.
#[derive(Debug, Clone, PartialEq)]
pub struct StandingRow {
    /// The submission's id.
    pub submission_id: String,
    /// The team's id.
    pub team_id: String,
    /// The team's short name.
    pub team: String,
    /// The model's name.
    pub model_name: String,
    /// The model's backbone.
    pub backbone: Option<String>,
    /// Whether the model's weights can be had.
    pub access: Access,
    /// Billions of parameters.
    pub parameters_b: Option<f64>,
    /// Who may see it: not `private`.
    pub visibility: Visibility,
    /// When it was submitted.
    pub created_at_ms: i64,
    /// Its scores, in the benchmark's order.
    pub scores: Vec<Score>,
}

/// Every published submission of a release that is scored under a configuration, oldest first.
pub fn load_standing(
    connection: &mut DbConnection,
    release_id: &str,
    configuration_id: &str,
) -> Result<Vec<StandingRow>> {
    type Row = (String, String, String, String, Option<String>, String, Option<f64>, String, i64, String);
    let same = scores::submission_id
        .eq(submissions::id)
        .and(scores::configuration_id.nullable().eq(submissions::configuration_id));
    let rows: Vec<Row> = submissions::table
        .inner_join(teams::table.on(teams::id.eq(submissions::team_id)))
        .inner_join(scores::table.on(same))
        .filter(submissions::release_id.eq(release_id))
        .filter(submissions::configuration_id.eq(configuration_id))
        .filter(submissions::state.eq(SubmissionState::Scored.as_str()))
        .filter(submissions::visibility.ne(Visibility::Private.as_str()))
        .filter(submissions::withdrawn_reason.is_null())
        .order((submissions::created_at_ms, submissions::id))
        .select((
            submissions::id,
            submissions::team_id,
            teams::slug,
            submissions::model_name,
            submissions::backbone,
            submissions::access,
            submissions::parameters_b,
            submissions::visibility,
            submissions::created_at_ms,
            scores::by_column,
        ))
        .load(connection)?;
    rows.into_iter()
        .map(|row| {
            Ok(StandingRow {
                submission_id: row.0,
                team_id: row.1,
                team: row.2,
                model_name: row.3,
                backbone: row.4,
                access: stored("access", &row.5, Access::parse)?,
                parameters_b: row.6,
                visibility: stored("visibility", &row.7, Visibility::parse)?,
                created_at_ms: row.8,
                scores: unpack(&row.9)?,
            })
        })
        .collect()
}
