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

#[derive(Insertable)]
#[diesel(table_name = scores, treat_none_as_default_value = false)]
struct ScoreRow<'a> {
    submission_id: &'a str,
    configuration_id: &'a str,
    column_id: &'static str,
    value: f64,
    ci_low: f64,
    ci_high: f64,
    n: i32,
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
    let standing = scores::table
        .filter(scores::submission_id.eq(submission_id))
        .filter(scores::configuration_id.eq(configuration_id));
    diesel::delete(standing).execute(connection)?;
    let rows: Vec<ScoreRow<'_>> = columns
        .iter()
        .map(|score| ScoreRow {
            submission_id,
            configuration_id,
            column_id: score.column.as_str(),
            value: score.value,
            ci_low: score.ci95[0],
            ci_high: score.ci95[1],
            n: score.n,
        })
        .collect();
    on_each!(connection, |inner| diesel::insert_into(scores::table).values(&rows).execute(inner))?;
    Ok(())
}

type Row = (String, f64, f64, f64, i32);

fn score((column, value, low, high, n): Row) -> Result<Score> {
    Ok(Score { column: stored("column", &column, Column::parse)?, value, ci95: [low, high], n })
}

/// The scores of one submission under a configuration, in the benchmark's order.
pub fn load_scores(
    connection: &mut DbConnection,
    submission_id: &str,
    configuration_id: &str,
) -> Result<Vec<Score>> {
    let rows: Vec<Row> = scores::table
        .filter(scores::submission_id.eq(submission_id))
        .filter(scores::configuration_id.eq(configuration_id))
        .select((scores::column_id, scores::value, scores::ci_low, scores::ci_high, scores::n))
        .load(connection)?;
    let mut columns = rows.into_iter().map(score).collect::<Result<Vec<_>>>()?;
    columns.sort_unstable_by_key(|score| score.column);
    Ok(columns)
}

/// A scored submission of a release, with what a board must know of it.
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
    /// Who may see it.
    pub visibility: Visibility,
    /// Whether it was withdrawn.
    pub withdrawn: bool,
    /// When it was submitted.
    pub created_at_ms: i64,
    /// Its scores, in the benchmark's order.
    pub scores: Vec<Score>,
}

/// Every scored submission of a release under a configuration, published or not, oldest first.
pub fn load_standing(
    connection: &mut DbConnection,
    release_id: &str,
    configuration_id: &str,
) -> Result<Vec<StandingRow>> {
    let of_board = submissions::release_id
        .eq(release_id)
        .and(submissions::configuration_id.eq(configuration_id))
        .and(submissions::state.eq(SubmissionState::Scored.as_str()));
    let heads = submissions::table
        .inner_join(teams::table.on(teams::id.eq(submissions::team_id)))
        .filter(of_board)
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
            submissions::withdrawn_reason.is_not_null(),
            submissions::created_at_ms,
        ));
    type Head = (String, String, String, String, Option<String>, String, Option<f64>, String, bool, i64);
    let heads: Vec<Head> = heads.load(connection)?;
    let shown = of_board.and(submissions::visibility.ne(Visibility::Private.as_str()));
    let columns: Vec<(String, Row)> = scores::table
        .inner_join(submissions::table.on(submissions::id.eq(scores::submission_id)))
        .filter(shown.and(scores::configuration_id.eq(configuration_id)))
        .select((
            scores::submission_id,
            (scores::column_id, scores::value, scores::ci_low, scores::ci_high, scores::n),
        ))
        .load(connection)?;
    let mut by_submission = std::collections::HashMap::<String, Vec<Score>>::new();
    for (id, row) in columns {
        by_submission.entry(id).or_default().push(score(row)?);
    }
    heads
        .into_iter()
        .map(|head| {
            let mut scores = by_submission.remove(&head.0).unwrap_or_default();
            scores.sort_unstable_by_key(|score| score.column);
            Ok(StandingRow {
                submission_id: head.0,
                team_id: head.1,
                team: head.2,
                model_name: head.3,
                backbone: head.4,
                access: stored("access", &head.5, Access::parse)?,
                parameters_b: head.6,
                visibility: stored("visibility", &head.7, Visibility::parse)?,
                withdrawn: head.8,
                created_at_ms: head.9,
                scores,
            })
        })
        .collect()
}
