//! Judgements that a maintainer made by hand, and the submissions that stand on them. Says nothing of when one may be
//! made.

use diesel::prelude::*;

use super::connection::on_each;
use super::failures::{FailureRow, insert_failure};
use super::judgements::STANDS;
use super::schema::{judge_failures, judgements};
use super::scores::Under;
use super::{DbConnection, Result, StoreError};

/// The name under which a maintainer's judgement stands instead of a model's.
const MAINTAINER: &str = "maintainer";

/// A maintainer's decision on an answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Decision {
    /// The question.
    pub question_id: String,
    /// The key under which it stands as a judgement.
    pub key: String,
    /// The three integers, in the order of the rubric's criteria.
    pub scores: [u8; 3],
    /// Why, for readers.
    pub reason: String,
    /// The maintainers' short name.
    pub by: String,
    /// When it was made.
    pub at_ms: i64,
}

type Row = (String, String, String, Option<String>, Option<String>, i64);

const COLUMNS: (
    judgements::question_id,
    judgements::key,
    judgements::scores,
    judgements::decided_by,
    judgements::decision_reason,
    judgements::created_at_ms,
) = (
    judgements::question_id,
    judgements::key,
    judgements::scores,
    judgements::decided_by,
    judgements::decision_reason,
    judgements::created_at_ms,
);

fn decision((question_id, key, scores, by, reason, at_ms): Row) -> Result<Option<Decision>> {
    let (Some(by), Some(reason)) = (by, reason) else { return Ok(None) };
    let scores = serde_json::from_str(&scores)
        .map_err(|_| StoreError::Unknown { what: "judgement", value: scores.clone() })?;
    Ok(Some(Decision { question_id, key, scores, reason, by, at_ms }))
}

/// Stores a decision as the judgement under its key; one that stands already is kept.
pub fn insert_decision(
    connection: &mut DbConnection,
    configuration_id: &str,
    decision: &Decision,
) -> Result<()> {
    let row = (
        judgements::configuration_id.eq(configuration_id),
        judgements::key.eq(&decision.key),
        judgements::vote.eq(STANDS),
        judgements::question_id.eq(&decision.question_id),
        judgements::scores.eq(serde_json::json!(decision.scores).to_string()),
        judgements::explanations.eq("[null,null,null]"),
        judgements::answered_model.eq(MAINTAINER),
        (
            judgements::prompt_tokens.eq(0),
            judgements::cached_tokens.eq(0),
            judgements::completion_tokens.eq(0),
            judgements::cost_usd.eq(0.0),
        ),
        judgements::created_at_ms.eq(decision.at_ms),
        judgements::decided_by.eq(&decision.by),
        judgements::decision_reason.eq(&decision.reason),
    );
    on_each!(connection, |inner| diesel::insert_into(judgements::table)
        .values(row)
        .on_conflict_do_nothing()
        .execute(inner))?;
    Ok(())
}

/// The decision that stands under a key; none where there is no judgement or it is the judge's own.
pub fn find_decision(
    connection: &mut DbConnection,
    configuration_id: &str,
    key: &str,
) -> Result<Option<Decision>> {
    let row: Option<Row> = judgements::table
        .find((configuration_id, key, STANDS))
        .select(COLUMNS)
        .first(connection)
        .optional()?;
    row.map_or(Ok(None), decision)
}

/// Question and key of every decision under a configuration: few, since each is made by hand.
pub fn load_decided(connection: &mut DbConnection, configuration_id: &str) -> Result<Vec<(String, String)>> {
    let decided = judgements::table
        .filter(judgements::configuration_id.eq(configuration_id))
        .filter(judgements::decided_by.is_not_null())
        .select((judgements::question_id, judgements::key))
        .load(connection)?;
    Ok(decided)
}

/// Notes that answers of a submission stand by decisions under `keys`, with what is known of why the judge failed at
/// the same answers elsewhere; what is noted already is kept.
pub fn note_decided(
    connection: &mut DbConnection,
    submission_id: &str,
    under: &Under,
    keys: &[String],
) -> Result<()> {
    for key in keys {
        let known: Option<FailureRow> = judge_failures::table
            .filter(judge_failures::configuration_id.eq(&under.configuration_id))
            .filter(judge_failures::key.eq(key))
            .first(connection)
            .optional()?;
        if let Some(known) = known {
            let (submission_id, release_id) = (submission_id.to_owned(), under.release_id.clone());
            let row = FailureRow { submission_id, release_id, calls: 0, ..known };
            insert_failure(connection, &row)?;
        }
    }
    Ok(())
}

/// The decisions that a submission stands on, by question id.
pub fn load_decisions(
    connection: &mut DbConnection,
    submission_id: &str,
    under: &Under,
) -> Result<Vec<Decision>> {
    let same = judgements::configuration_id
        .eq(judge_failures::configuration_id)
        .and(judgements::key.eq(judge_failures::key));
    let rows: Vec<Row> = judge_failures::table
        .inner_join(judgements::table.on(same))
        .filter(judge_failures::submission_id.eq(submission_id))
        .filter(judge_failures::release_id.eq(&under.release_id))
        .filter(judge_failures::configuration_id.eq(&under.configuration_id))
        .filter(judgements::vote.eq(STANDS))
        .filter(judgements::decided_by.is_not_null())
        .order(judge_failures::question_id)
        .select(COLUMNS)
        .load(connection)?;
    rows.into_iter().filter_map(|row| decision(row).transpose()).collect()
}
