//! Scoring what is published under another release or judge configuration than its own: under a staged one, and under those
//! of the board where an entry was published after a change; and once more under its own. Knows nothing of how they become
//! staged, active or current.

use tokio::sync::watch;

use crate::domain::line::Line;
use crate::domain::outcome::Outcome;
use crate::store::anew::delete_unwanted_anew;
use crate::store::configurations::ConfigurationRow;
use crate::store::leases::{Lease, release_lease};
use crate::store::rejudgings::{self, Due};
use crate::store::releases::load_release;
use crate::store::scores::Under;
use crate::store::submissions::Submission;
use crate::store::{DbConnection, StoreError, bump_board_revision, standing};

use super::Evaluation;
use super::ending::Ending;
use super::grading::grade;
use super::holding::{fenced, fenced_under, note_rest};
use super::intake::deliver;
use super::judging::{SliceEnd, Work, judge_slice};
use super::replacing::replace;
use super::work::{WorkError, answered, stored_outcomes};

/// Makes the list of rejudgings that wait agree with what is published, and with what that is to stand under.
pub(super) fn settle_rejudgings(connection: &mut DbConnection, now_ms: i64) -> Result<(), StoreError> {
    rejudgings::delete_unwanted(connection)?;
    delete_unwanted_anew(connection)?;
    for target in rejudgings::load_targets(connection)? {
        rejudgings::insert_missing(connection, &target, now_ms)?;
    }
    Ok(())
}

/// Scores a submission under another release or configuration for a slice, and puts it back or ends its rejudging.
pub(super) async fn rejudge(
    evaluation: &Evaluation,
    lease: &Lease,
    submission: &Submission,
    due: &Due,
    stopping: &mut watch::Receiver<bool>,
) -> Result<&'static str, WorkError> {
    let Due { under, anew_since_ms } = due;
    let (release, answers) = answered(evaluation, submission, &under.release_id).await?;
    let stored = match anew_since_ms {
        None => stored_outcomes(evaluation, &submission.id, under).await?,
        // Those that are stored are shown.
        Some(_) => None,
    };
    let mut outcomes = stored.unwrap_or_else(|| grade(&release.key, &answers).outcomes);
    let work = Work {
        submission,
        release,
        answers: &answers,
        configuration_id: &under.configuration_id,
        lease,
        is_rejudging: true,
        anew_since_ms: *anew_since_ms,
    };
    match judge_slice(evaluation, &work, &mut outcomes, stopping).await? {
        SliceEnd::Complete => match anew_since_ms {
            None => finish(evaluation, &work, outcomes).await,
            Some(since_ms) => match replace(evaluation, &work, outcomes, *since_ms).await? {
                Some(outcome) => Ok(outcome),
                None => hand_on(evaluation, &work, under).await,
            },
        },
        SliceEnd::Yielded => hand_on(evaluation, &work, under).await,
        // The reconciler delivers it in a while.
        SliceEnd::Elsewhere => put_back(evaluation, lease, under, 0).await,
        SliceEnd::Paused { rest_ms, .. } => put_back(evaluation, lease, under, rest_ms).await,
    }
}

/// Stores the scores of a submission whose answers are all judged or have failed.
async fn finish(
    evaluation: &Evaluation,
    work: &Work<'_>,
    outcomes: Vec<Outcome>,
) -> Result<&'static str, WorkError> {
    let answered = (&work.release, work.answers);
    let ending = Ending::of(evaluation, answered, work.configuration_id, outcomes).await?;
    let (id, held) = (work.submission.id.clone(), work.lease.clone());
    fenced_under(evaluation, work.lease, work.configuration_id, move |connection, configuration, now_ms| {
        let complete = end_rejudging(connection, &id, configuration, &ending, now_ms)?;
        release_lease(connection, &held)?;
        if complete && configuration.has_board() {
            bump_board_revision(connection)?;
        }
        Ok(Some(()))
    })
    .await?;
    Ok("done")
}

/// Ends a rejudging under a configuration, whose state stays till the transaction ends; says whether it is complete.
pub(super) fn end_rejudging(
    connection: &mut DbConnection,
    id: &str,
    configuration: &ConfigurationRow,
    ending: &Ending,
    now_ms: i64,
) -> Result<bool, StoreError> {
    let failed = ending.failed();
    let complete = failed == 0;
    let under = ending.under();
    ending.save(connection, id)?;
    rejudgings::end_rejudging(connection, id, under, (!complete).then_some(failed), now_ms)?;
    // Whoever makes another release active locks the configuration too.
    if complete && configuration.is_current() && load_release(connection, &under.release_id)?.active {
        standing::update_standing(connection, &[id.to_owned()], under)?;
    }
    Ok(complete)
}

/// Gives a submission back, to be taken up again behind what waits.
async fn hand_on(evaluation: &Evaluation, work: &Work<'_>, under: &Under) -> Result<&'static str, WorkError> {
    put_back(evaluation, work.lease, under, 0).await?;
    let submission = work.submission;
    deliver(evaluation, Line::background(submission.metadata.split), &submission.id).await;
    Ok("requeued")
}

/// Gives a submission back, to be taken up again after a rest.
async fn put_back(
    evaluation: &Evaluation,
    lease: &Lease,
    under: &Under,
    rest_ms: i64,
) -> Result<&'static str, WorkError> {
    let (held, under) = (lease.clone(), under.clone());
    fenced(evaluation, lease, move |connection, id, now_ms| {
        rejudgings::pause_rejudging(connection, id, &under, now_ms + rest_ms)?;
        release_lease(connection, &held)?;
        Ok(true)
    })
    .await?;
    note_rest(evaluation, rest_ms);
    Ok("requeued")
}

/// Ends a rejudging that breaks off again and again; a maintainer may have it tried once more.
pub(super) async fn give_up(
    evaluation: &Evaluation,
    lease: &Lease,
    under: &Under,
) -> Result<&'static str, WorkError> {
    let (held, under) = (lease.clone(), under.clone());
    fenced(evaluation, lease, move |connection, id, now_ms| {
        rejudgings::end_rejudging(connection, id, &under, Some(0), now_ms)?;
        release_lease(connection, &held)?;
        Ok(true)
    })
    .await?;
    Ok("failed")
}
