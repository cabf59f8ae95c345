//! What a record says of a published entry. Knows nothing of keys and signatures.

use crate::domain::instant;
use crate::domain::submission::Visibility;
use crate::records::{Record, RecordCoverage, RecordJudge, RecordRelease, RecordScore};
use crate::store::configurations::load_configuration;
use crate::store::decisions::load_decisions;
use crate::store::releases::load_release;
use crate::store::repeats::load_content_sha256;
use crate::store::scores::{Score, Under, load_scores};
use crate::store::series::find_withheld;
use crate::store::submissions::Submission;
use crate::store::{DbConnection, StoreError};

use super::entries::find_published_submission;

/// An entry that is public, or was.
#[derive(Debug)]
pub enum Published {
    /// It is.
    Entry(Box<Submission>),
    /// It was withdrawn, for this reason.
    Withdrawn(String),
}

/// The published entry with this id, now or before it was withdrawn.
///
/// # Errors
/// When the database fails.
pub fn find_published(connection: &mut DbConnection, id: &str) -> Result<Option<Published>, StoreError> {
    Ok(find_published_submission(connection, id)?.map(|mut submission| {
        match submission.withdrawn_reason.take() {
            Some(reason) => Published::Withdrawn(reason),
            None => Published::Entry(Box::new(submission)),
        }
    }))
}

/// The record of an entry that the server at `issuer` states; none while some of its scores are withheld.
///
/// # Errors
/// When the database fails.
pub fn entry_record(
    connection: &mut DbConnection,
    submission: Submission,
    issuer: String,
) -> Result<Option<Record>, StoreError> {
    let Some(under) = Under::of(&submission) else { return Ok(None) };
    if find_withheld(connection, &submission.id)?.is_some() {
        return Ok(None);
    }
    let release = load_release(connection, &submission.release_id)?;
    let judge = load_configuration(connection, &under.configuration_id)?;
    let scores = load_scores(connection, &submission.id, &under)?;
    let decisions = load_decisions(connection, &submission.id, &under)?;
    let is_named = submission.metadata.visibility == Visibility::Public;
    let score = |Score { column, value, ci95, n }: Score| {
        (column, RecordScore { value, unit: column.unit(), ci95, n })
    };
    Ok(Some(Record {
        issuer,
        // It is the same for the same file under the team's name.
        predictions_sha256: match is_named {
            true => Some(load_content_sha256(connection, &submission.id)?),
            false => None,
        },
        entry: submission.id,
        team: is_named.then_some(submission.team),
        model_name: submission.metadata.model_name,
        split: submission.metadata.split,
        release: RecordRelease { name: release.name, sha256: release.content_sha256 },
        judge: RecordJudge { configuration: judge.id, model: judge.model },
        coverage: RecordCoverage { questions: submission.questions, answered: submission.answered },
        decided_by_hand: decisions.len(),
        scores: scores.into_iter().map(score).collect(),
        code_version: env!("CARGO_PKG_VERSION").to_owned(),
        submitted_at: instant::rfc3339(submission.created_at_ms),
        scored_at: submission.finished_at_ms.map(instant::rfc3339),
    }))
}
