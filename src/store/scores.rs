//! Outcomes and scores of submissions under a release and a judge configuration.

use std::collections::HashMap;

use diesel::prelude::*;

use super::connection::on_each;
use super::schema::{outcomes, scores};
use super::series::find_withheld;
use super::submissions::Submission;
use super::{DbConnection, Result, StoreError};
use crate::domain::column::Column;
use crate::domain::outcome::{self, Outcome};

/// What outcomes and scores stand under.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Queryable)]
pub struct Under {
    /// The release's id.
    pub release_id: String,
    /// The judge configuration's id.
    pub configuration_id: String,
}

impl Under {
    /// What these ids name.
    pub fn new(release_id: &str, configuration_id: &str) -> Under {
        Under { release_id: release_id.to_owned(), configuration_id: configuration_id.to_owned() }
    }

    /// What a submission stands under; none before it is graded.
    pub fn of(submission: &Submission) -> Option<Under> {
        Some(Under::new(&submission.release_id, submission.configuration_id.as_ref()?))
    }
}

/// How much of a release a submission answers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Answered {
    /// Questions of the release.
    pub questions: i32,
    /// Questions with an answer.
    pub answered: i32,
    /// Multiple-choice answers without a letter that could be read.
    pub unparsed: i32,
}

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
    under: &Under,
    vector: &[Outcome],
) -> Result<()> {
    let bytes = outcome::encode(vector);
    on_each!(connection, |inner| diesel::insert_into(outcomes::table)
        .values((
            outcomes::submission_id.eq(submission_id),
            outcomes::release_id.eq(&under.release_id),
            outcomes::configuration_id.eq(&under.configuration_id),
            outcomes::vector.eq(&bytes),
        ))
        .on_conflict((outcomes::submission_id, outcomes::release_id, outcomes::configuration_id))
        .do_update()
        .set(outcomes::vector.eq(&bytes))
        .execute(inner))?;
    Ok(())
}

/// The outcomes of a submission by question position, if it was graded.
pub fn find_outcomes(
    connection: &mut DbConnection,
    submission_id: &str,
    under: &Under,
) -> Result<Option<Vec<Outcome>>> {
    let bytes: Option<Vec<u8>> = outcomes::table
        .find((submission_id, &under.release_id, &under.configuration_id))
        .select(outcomes::vector)
        .first(connection)
        .optional()?;
    bytes.map(|bytes| decoded(submission_id, &bytes)).transpose()
}

/// The outcomes of several submissions by question position; those that were not graded are absent.
pub fn load_outcomes(
    connection: &mut DbConnection,
    submission_ids: &[String],
    under: &Under,
) -> Result<HashMap<String, Vec<Outcome>>> {
    let rows: Vec<(String, Vec<u8>)> = outcomes::table
        .filter(outcomes::submission_id.eq_any(submission_ids))
        .filter(outcomes::release_id.eq(&under.release_id))
        .filter(outcomes::configuration_id.eq(&under.configuration_id))
        .select((outcomes::submission_id, outcomes::vector))
        .load(connection)?;
    rows.into_iter().map(|(id, bytes)| Ok((id.clone(), decoded(&id, &bytes)?))).collect()
}

fn decoded(submission_id: &str, bytes: &[u8]) -> Result<Vec<Outcome>> {
    let unknown = || StoreError::Unknown { what: "outcome vector of", value: submission_id.to_owned() };
    outcome::decode(bytes).map_err(|_| unknown())
}

/// Forgets the outcomes of a submission.
pub fn delete_outcomes(connection: &mut DbConnection, submission_id: &str, under: &Under) -> Result<()> {
    let key = (submission_id, &under.release_id, &under.configuration_id);
    diesel::delete(outcomes::table.find(key)).execute(connection)?;
    Ok(())
}

/// Replaces the scores of a submission. They are complete, and so may stand on a board, once its judging has ended
/// without a failed answer.
pub fn save_scores(
    connection: &mut DbConnection,
    submission_id: &str,
    under: &Under,
    columns: &[Score],
    of: Answered,
    complete: bool,
) -> Result<()> {
    let columns = pack(columns);
    let values = (
        scores::by_column.eq(&columns),
        scores::complete.eq(complete),
        scores::questions.eq(of.questions),
        scores::answered.eq(of.answered),
        scores::unparsed.eq(of.unparsed),
    );
    let key = (
        scores::submission_id.eq(submission_id),
        scores::release_id.eq(&under.release_id),
        scores::configuration_id.eq(&under.configuration_id),
    );
    on_each!(connection, |inner| diesel::insert_into(scores::table)
        .values((key, values))
        .on_conflict((scores::submission_id, scores::release_id, scores::configuration_id))
        .do_update()
        .set(values)
        .execute(inner))?;
    Ok(())
}

/// The scores of one submission that are told, in the benchmark's order.
pub fn load_scores(connection: &mut DbConnection, submission_id: &str, under: &Under) -> Result<Vec<Score>> {
    let columns: Option<String> = scores::table
        .find((submission_id, &under.release_id, &under.configuration_id))
        .select(scores::by_column)
        .first(connection)
        .optional()?;
    let mut scores = columns.map_or_else(|| Ok(Vec::new()), |columns| unpack(&columns))?;
    if find_withheld(connection, submission_id)?.is_some() {
        scores.retain(|score| !score.column.is_of_letters());
    }
    Ok(scores)
}

/// What a submission has complete scores under.
pub fn load_complete(connection: &mut DbConnection, submission_id: &str) -> Result<Vec<Under>> {
    let complete = scores::table.filter(scores::submission_id.eq(submission_id)).filter(scores::complete);
    Ok(complete.select((scores::release_id, scores::configuration_id)).load(connection)?)
}

/// The submissions that have outcomes under a configuration, each with the release.
pub fn load_outcome_ids(
    connection: &mut DbConnection,
    configuration_id: &str,
) -> Result<Vec<(String, String)>> {
    let of_configuration = outcomes::table.filter(outcomes::configuration_id.eq(configuration_id));
    Ok(of_configuration.select((outcomes::submission_id, outcomes::release_id)).load(connection)?)
}

/// Notes that judgements behind the scores of a submission were replaced.
pub fn note_rejudged(
    connection: &mut DbConnection,
    submission_id: &str,
    under: &Under,
    now_ms: i64,
) -> Result<()> {
    diesel::update(scores::table.find((submission_id, &under.release_id, &under.configuration_id)))
        .set(scores::rejudged_at_ms.eq(now_ms))
        .execute(connection)?;
    Ok(())
}

/// When judgements behind the scores of a submission were last replaced, if they ever were.
pub fn find_rejudged_at_ms(
    connection: &mut DbConnection,
    submission_id: &str,
    under: &Under,
) -> Result<Option<i64>> {
    let scores = scores::table.find((submission_id, &under.release_id, &under.configuration_id));
    let found: Option<Option<i64>> = scores.select(scores::rejudged_at_ms).first(connection).optional()?;
    Ok(found.flatten())
}
