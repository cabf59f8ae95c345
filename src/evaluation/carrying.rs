//! The answers of a submission in the order of a release's questions, also where they were sent for another release of its
//! line. Knows nothing of grading.

use std::collections::HashMap;
use std::sync::Arc;

use crate::store::submissions::load_predictions;
use crate::store::{Store, StoreError};

use super::catalogue::{Catalogue, GradingRelease};
use super::intake::unpack;

/// Answers by question position; none where there is no answer.
pub(super) type Answers = Vec<Option<String>>;

/// A release, and the answers of a submission to its questions. A question that the file was not asked has none.
pub(super) async fn carried(
    store: &Store,
    catalogue: &Catalogue,
    submission_id: &str,
    release_id: &str,
) -> Result<(Arc<GradingRelease>, Answers), StoreError> {
    let release = catalogue.release(store, release_id).await?;
    let id = submission_id.to_owned();
    let (blob, sent_for) = store.read(move |connection| load_predictions(connection, &id)).await?;
    let answers = unpacked(submission_id, &blob)?;
    let sent_for = catalogue.release(store, &sent_for).await?;
    let answers = in_order_of(&release, &sent_for, answers);
    Ok((release, answers))
}

/// The answers of a submission as they were stored.
pub(super) fn unpacked(submission_id: &str, blob: &[u8]) -> Result<Answers, StoreError> {
    unpack(blob).map_err(|_| StoreError::missing("answer list of", submission_id))
}

/// The answers to a release in the order of another's questions. A question that the other alone has is not answered.
pub(super) fn in_order_of(release: &GradingRelease, sent_for: &GradingRelease, answers: Answers) -> Answers {
    if sent_for.key.question_ids == release.key.question_ids {
        return answers;
    }
    let mut by_question: HashMap<&String, Option<String>> =
        sent_for.key.question_ids.iter().zip(answers).collect();
    release.key.question_ids.iter().map(|id| by_question.remove(id).flatten()).collect()
}
