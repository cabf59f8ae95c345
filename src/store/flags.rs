//! Answers that show signs of talking to the judge. Holds no text of them.

use diesel::prelude::*;

use super::connection::on_each;
use super::schema::{answer_flags, submissions, teams};
use super::{DbConnection, Result, StoreError, stored};
use crate::domain::question::Split;
use crate::domain::sign::Sign;

/// Rows of one INSERT; SQLite takes at most 32,766 parameters.
const BATCH: usize = 1000;

/// The signs of one answer, by the id of its question.
pub type AnswerSigns = (String, Vec<Sign>);

/// A flagged answer with what a maintainer must know of its submission.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Flag {
    /// The submission.
    pub submission_id: String,
    /// The team's short name.
    pub team: String,
    /// The split.
    pub split: Split,
    /// The model's name.
    pub model_name: String,
    /// The question.
    pub question_id: String,
    /// What the answer shows, at least one.
    pub signs: Vec<Sign>,
    /// When it was graded.
    pub flagged_at_ms: i64,
}

/// Stores the signs of a submission's answers; what stands already is kept.
pub fn insert_flags(
    connection: &mut DbConnection,
    submission_id: &str,
    flags: &[AnswerSigns],
    now_ms: i64,
) -> Result<()> {
    for flags in flags.chunks(BATCH) {
        let rows: Vec<_> = flags
            .iter()
            .map(|(question_id, signs)| {
                (
                    answer_flags::submission_id.eq(submission_id),
                    answer_flags::question_id.eq(question_id),
                    answer_flags::signs.eq(serde_json::json!(signs).to_string()),
                    answer_flags::created_at_ms.eq(now_ms),
                )
            })
            .collect();
        on_each!(connection, |inner| diesel::insert_into(answer_flags::table)
            .values(&rows)
            .on_conflict_do_nothing()
            .execute(inner))?;
    }
    Ok(())
}

/// At most `limit` flagged answers of one submission, or of all, those of the newest submission first, behind the
/// answer `after` (submission and question).
pub fn load_flags(
    connection: &mut DbConnection,
    submission_id: Option<&str>,
    after: Option<(&str, &str)>,
    limit: i64,
) -> Result<Vec<Flag>> {
    type Row = (String, String, String, String, String, String, i64);
    // UUIDv7 ids sort by time.
    let mut query = answer_flags::table
        .inner_join(submissions::table.on(submissions::id.eq(answer_flags::submission_id)))
        .inner_join(teams::table.on(teams::id.eq(submissions::team_id)))
        .order((answer_flags::submission_id.desc(), answer_flags::question_id))
        .limit(limit)
        .into_boxed();
    if let Some(submission_id) = submission_id {
        query = query.filter(answer_flags::submission_id.eq(submission_id));
    }
    if let Some((submission_id, question_id)) = after {
        let in_same =
            answer_flags::submission_id.eq(submission_id).and(answer_flags::question_id.gt(question_id));
        query = query.filter(answer_flags::submission_id.lt(submission_id).or(in_same));
    }
    let rows: Vec<Row> = query
        .select((
            answer_flags::submission_id,
            teams::slug,
            submissions::split,
            submissions::model_name,
            answer_flags::question_id,
            answer_flags::signs,
            answer_flags::created_at_ms,
        ))
        .load(connection)?;
    rows.into_iter().map(flag).collect()
}

fn flag(row: (String, String, String, String, String, String, i64)) -> Result<Flag> {
    let (submission_id, team, split, model_name, question_id, signs, flagged_at_ms) = row;
    let signs = serde_json::from_str(&signs)
        .map_err(|_| StoreError::Unknown { what: "list of signs", value: signs.clone() })?;
    let split = stored("split", &split, Split::parse)?;
    Ok(Flag { submission_id, team, split, model_name, question_id, signs, flagged_at_ms })
}
