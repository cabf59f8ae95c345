//! Entries without a name: until when they are, and whom they are shown to before. Knows nothing of what is shown.

use crate::domain::instant;
use crate::domain::submission::SubmissionState;
use crate::store::leases::lock_lease;
use crate::store::publication::{is_name_due, show_due_names};
use crate::store::submissions::{Submission, find_submission};
use crate::store::{DbConnection, StoreError, bump_board_revision, reviewers};
use crate::tokens;

use super::Evaluation;
use super::lifecycle::{LifecycleError, owned};

/// Shows the names of those anonymous entries whose day has come.
///
/// # Errors
/// When the database fails.
pub async fn show_names(evaluation: &Evaluation) -> Result<(), StoreError> {
    let today = instant::day(evaluation.clock.now_ms());
    let asked = today.clone();
    if !evaluation.store.read(move |connection| is_name_due(connection, &asked)).await? {
        return Ok(());
    }
    evaluation
        .store
        .write(move |connection| {
            show_due_names(connection, &today)?;
            bump_board_revision(connection)
        })
        .await
}

/// Makes a link at which reviewers see a scored submission without its team's name, in the place of any other; gives its
/// token, which is told only here.
///
/// # Errors
/// When it is not the team's, has not been scored, or was withdrawn.
pub async fn create_reviewers_link(
    evaluation: &Evaluation,
    team_id: &str,
    id: &str,
) -> Result<String, LifecycleError> {
    let (owner, id, now_ms) = (team_id.to_owned(), id.to_owned(), evaluation.clock.now_ms());
    evaluation
        .store
        .write(move |connection| {
            lock_lease(connection, &id)?;
            let submission = owned(connection, Some(&owner), &id)?;
            if submission.withdrawn_reason.is_some() {
                return Err(LifecycleError::Withdrawn);
            }
            if submission.state != SubmissionState::Scored {
                let allowed = "reviewers see a `scored` one; wait until it is";
                return Err(LifecycleError::State { state: submission.state, allowed });
            }
            let token = tokens::new_ticket();
            reviewers::replace_link(connection, &id, &tokens::hash_secret(&token), now_ms)?;
            Ok(token)
        })
        .await
}

/// Ends the reviewers' link of a submission. Doing it again changes nothing.
///
/// # Errors
/// When it is not the team's.
pub async fn end_reviewers_link(
    evaluation: &Evaluation,
    team_id: &str,
    id: &str,
) -> Result<(), LifecycleError> {
    let (owner, id) = (team_id.to_owned(), id.to_owned());
    evaluation
        .store
        .write(move |connection| {
            owned(connection, Some(&owner), &id)?;
            reviewers::delete_link(connection, &id)?;
            Ok(())
        })
        .await
}

/// The submission that a reviewers' link leads to.
///
/// # Errors
/// When the database fails.
pub fn find_reviewed(connection: &mut DbConnection, token: &str) -> Result<Option<Submission>, StoreError> {
    let Some(id) = reviewers::find_linked(connection, &tokens::hash_secret(token))? else { return Ok(None) };
    find_submission(connection, &id)
}
