//! Outcomes and scores of submissions under a judge configuration.

use std::collections::HashMap;

use diesel::prelude::*;

use super::connection::on_each;
use super::schema::{outcomes, scores};
use super::series::find_withheld;
use super::{DbConnection, Result, StoreError};
use crate::domain::column::Column;
use crate::domain::outcome::{self, Outcome};

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

pub(super) fn pack(scores: &[Score]) -> String {
    let packed: Vec<Packed> =
        scores.iter().map(|score| (score.column, score.value, score.ci95, score.n)).collect();
    serde_json::json!(packed).to_string()
}

pub(super) fn unpack(columns: &str) -> Result<Vec<Score>> {
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
    bytes.map(|bytes| decoded(submission_id, &bytes)).transpose()
}

/// The outcomes of several submissions by question position; those that were not graded are absent.
pub fn load_outcomes(
    connection: &mut DbConnection,
    submission_ids: &[String],
    configuration_id: &str,
) -> Result<HashMap<String, Vec<Outcome>>> {
    let rows: Vec<(String, Vec<u8>)> = outcomes::table
        .filter(outcomes::submission_id.eq_any(submission_ids))
        .filter(outcomes::configuration_id.eq(configuration_id))
        .select((outcomes::submission_id, outcomes::vector))
        .load(connection)?;
    rows.into_iter().map(|(id, bytes)| Ok((id.clone(), decoded(&id, &bytes)?))).collect()
}

fn decoded(submission_id: &str, bytes: &[u8]) -> Result<Vec<Outcome>> {
    let unknown = || StoreError::Unknown { what: "outcome vector of", value: submission_id.to_owned() };
    outcome::decode(bytes).map_err(|_| unknown())
}

/// Forgets the outcomes of a submission under a configuration.
pub fn delete_outcomes(
    connection: &mut DbConnection,
    submission_id: &str,
    configuration_id: &str,
) -> Result<()> {
    diesel::delete(outcomes::table.find((submission_id, configuration_id))).execute(connection)?;
    Ok(())
}

/// Replaces the scores of a submission under a configuration. They are complete, and so may stand on a board, once its
/// judging has ended without a failed answer.
pub fn save_scores(
    connection: &mut DbConnection,
    submission_id: &str,
    configuration_id: &str,
    columns: &[Score],
    complete: bool,
) -> Result<()> {
    let columns = pack(columns);
    on_each!(connection, |inner| diesel::insert_into(scores::table)
        .values((
            scores::submission_id.eq(submission_id),
            scores::configuration_id.eq(configuration_id),
            scores::by_column.eq(&columns),
            scores::complete.eq(complete),
        ))
        .on_conflict((scores::submission_id, scores::configuration_id))
        .do_update()
        .set((scores::by_column.eq(&columns), scores::complete.eq(complete)))
        .execute(inner))?;
    Ok(())
}

/// The scores of one submission under a configuration that are told, in the benchmark's order.
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
    let mut scores = columns.map_or_else(|| Ok(Vec::new()), |columns| unpack(&columns))?;
    if find_withheld(connection, submission_id)?.is_some() {
        scores.retain(|score| !score.column.is_of_letters());
    }
    Ok(scores)
}

/// The judge configurations under which a submission has complete scores.
pub fn load_complete_configurations(
    connection: &mut DbConnection,
    submission_id: &str,
) -> Result<Vec<String>> {
    let complete = scores::table.filter(scores::submission_id.eq(submission_id)).filter(scores::complete);
    Ok(complete.select(scores::configuration_id).load(connection)?)
}
