//! One piece of a worker's work: a submission is graded or judged for a slice, and given back. Knows nothing of threads
//! and signals.

use std::sync::Arc;

use tokio::sync::watch;
use tracing::field::Empty;
use tracing::{Instrument as _, Span};

use crate::domain::fault::WarningCode;
use crate::domain::flag::FlagKind;
use crate::domain::line::Line;
use crate::domain::outcome::Outcome;
use crate::domain::question::Split;
use crate::domain::submission::{PausedFor, SubmissionState};
use crate::scoring::columns::ScoringError;
use crate::store::flag_queue::{NewFlag, raise_flag};
use crate::store::flags::{self, AnswerSigns};
use crate::store::leases::{Lease, release_lease};
use crate::store::scores::{self, Answered, Under};
use crate::store::submissions::{self, Progress, Submission};
use crate::store::{DbConnection, StoreError, bump_board_revision};
use crate::telemetry::SPANS;

use super::Evaluation;
use super::carrying::{Answers, carried};
use super::catalogue::GradingRelease;
use super::counting::{count_flags, count_graded, flag};
use super::ending::{Ending, columns};
use super::grading::grade;
use super::holding::{Held, claim, fenced, fenced_under, heartbeat, note_rest};
use super::intake::deliver;
use super::judges::JudgesError;
use super::judging::{SliceEnd, Work, judge_slice};
use super::quota::refund;
use super::rejudging::{give_up, rejudge};
use super::series::join_series;

/// Claims without any progress after which a submission is parked as `failed`.
const MAX_ATTEMPTS: i32 = 10;

/// Seconds that the judge's own time is taken for at least: what has little or nothing to ask takes its time as well.
const LEAST_OWN_S: f64 = 15.0;

/// Why a piece of work broke off. The lease lapses, and the submission is taken up again.
#[derive(Debug, thiserror::Error)]
pub enum WorkError {
    /// Another process took the submission over, or it was cancelled.
    #[error("the lease was lost")]
    LeaseLost,
    /// The outcomes do not fit the release.
    #[error(transparent)]
    Scoring(#[from] ScoringError),
    /// No judge configuration can be had.
    #[error(transparent)]
    Judges(#[from] JudgesError),
    /// A call to the judge or a computation died.
    #[error("a task ended early: {0}")]
    Task(#[from] tokio::task::JoinError),
    /// The database failed.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// Works on the submission `id` for a slice, in the name of `owner`. Nothing happens if another process holds it or there
/// is nothing to do about it.
///
/// # Errors
/// When the work broke off; it will be taken up again.
pub async fn work(
    evaluation: &Evaluation,
    owner: &str,
    id: &str,
    stopping: &mut watch::Receiver<bool>,
) -> Result<(), WorkError> {
    let Some(held) = claim(evaluation, owner, id).await? else { return Ok(()) };
    let lease = held.lease.clone();
    let span = tracing::info_span!(target: SPANS, "job", submission = id, kind = Empty, outcome = Empty);
    tokio::select! {
        done = held_work(evaluation, held, stopping).instrument(span) => done,
        never = heartbeat(evaluation, &lease) => match never {},
    }
}

async fn held_work(
    evaluation: &Evaluation,
    held: Held,
    stopping: &mut watch::Receiver<bool>,
) -> Result<(), WorkError> {
    let Held { lease, submission, due } = held;
    let gives_up = lease.attempts > MAX_ATTEMPTS;
    if gives_up {
        let (submission, attempts) = (&submission.id, lease.attempts);
        tracing::error!(submission, attempts, "parked: it fails again and again");
    }
    let (kind, outcome) = match (&due, submission.state) {
        (Some(due), _) if gives_up => ("rejudge", give_up(evaluation, &lease, &due.under).await),
        (Some(due), _) => ("rejudge", rejudge(evaluation, &lease, &submission, due, stopping).await),
        (None, state) => {
            let kind = if state == SubmissionState::Judging { "judge" } else { "grade" };
            let outcome = if gives_up {
                park(evaluation, &lease, &submission).await
            } else {
                slice(evaluation, &lease, submission, stopping).await
            };
            (kind, outcome)
        }
    };
    let label = match &outcome {
        Ok(label) => label,
        Err(WorkError::LeaseLost) => "lost",
        Err(_) => "failed",
    };
    evaluation.metrics.jobs.with_label_values(&[kind, label]).inc();
    Span::current().record("kind", kind).record("outcome", label);
    outcome.map(|_| ())
}

/// Grades if need be, judges for a slice, and puts the submission back or ends it.
async fn slice(
    evaluation: &Evaluation,
    lease: &Lease,
    submission: Submission,
    stopping: &mut watch::Receiver<bool>,
) -> Result<&'static str, WorkError> {
    if submission.paused_for == Some(PausedFor::JudgeUnavailable)
        && let Some(rest_ms) = evaluation.judges.rest_ms(&evaluation.store).await?
    {
        // As it was: what it needs is read when there is something to do.
        put_back(evaluation, lease, submission.paused_for, rest_ms).await?;
        return Ok("requeued");
    }
    let (release, answers) = answered(evaluation, &submission, &submission.release_id).await?;
    let (submission, configuration_id, mut outcomes) = match graded(evaluation, &submission).await? {
        Some((configuration_id, outcomes)) => (submission, configuration_id, outcomes),
        None => {
            let (id, split) = (submission.id.clone(), submission.metadata.split);
            match grade_submission(evaluation, lease, submission, &release, &answers).await? {
                Some(graded) => graded,
                None => return requeue(evaluation, lease, split, &id).await,
            }
        }
    };
    let work = Work {
        submission: &submission,
        release,
        answers: &answers,
        configuration_id: &configuration_id,
        lease,
        is_rejudging: false,
        anew_since_ms: None,
    };
    let end = judge_slice(evaluation, &work, &mut outcomes, stopping).await?;
    match end {
        SliceEnd::Complete => {
            finish(evaluation, &work, outcomes).await?;
            Ok("done")
        }
        SliceEnd::Yielded => requeue(evaluation, lease, submission.metadata.split, &submission.id).await,
        SliceEnd::Elsewhere => {
            // The reconciler delivers it in a while.
            put_back(evaluation, lease, None, 0).await?;
            Ok("requeued")
        }
        SliceEnd::Paused { paused_for, rest_ms } => {
            put_back(evaluation, lease, Some(paused_for), rest_ms).await?;
            Ok("requeued")
        }
    }
}

/// The outcomes so far of a submission that was graded, with the configuration that it is judged under.
async fn graded(
    evaluation: &Evaluation,
    submission: &Submission,
) -> Result<Option<(String, Vec<Outcome>)>, WorkError> {
    let Some(under) = Under::of(submission) else { return Ok(None) };
    if submission.state != SubmissionState::Judging {
        return Ok(None);
    }
    let outcomes = stored_outcomes(evaluation, &submission.id, &under).await?;
    Ok(outcomes.map(|outcomes| (under.configuration_id, outcomes)))
}

/// A release of a submission's line, and its answers in the release's order.
pub(super) async fn answered(
    evaluation: &Evaluation,
    submission: &Submission,
    release_id: &str,
) -> Result<(Arc<GradingRelease>, Answers), StoreError> {
    carried(&evaluation.store, &evaluation.catalogue, &submission.id, release_id).await
}

/// The outcomes so far of a submission.
pub(super) async fn stored_outcomes(
    evaluation: &Evaluation,
    submission_id: &str,
    under: &Under,
) -> Result<Option<Vec<Outcome>>, StoreError> {
    let (id, under) = (submission_id.to_owned(), under.clone());
    evaluation.store.read(move |connection| scores::find_outcomes(connection, &id, &under)).await
}

/// Grades the multiple-choice answers; their scores stand from here on. None if another configuration became current
/// meanwhile, without seeing that this submission had begun: it is to be graded anew.
async fn grade_submission(
    evaluation: &Evaluation,
    lease: &Lease,
    submission: Submission,
    release: &Arc<GradingRelease>,
    answers: &[Option<String>],
) -> Result<Option<(Submission, String, Vec<Outcome>)>, WorkError> {
    let from = [SubmissionState::Queued, SubmissionState::Grading];
    fenced(evaluation, lease, move |connection, id, now_ms| {
        submissions::update_state(connection, id, &from, SubmissionState::Grading, now_ms)
    })
    .await?;
    let configuration = evaluation.judges.current(&evaluation.store).await?;
    let key = &release.key;
    let graded = grade(key, answers);
    count_graded(&graded, key, answers, &evaluation.metrics);
    let flags = flag(key, answers);
    count_flags(&flags, &evaluation.metrics);
    let mut warnings = submission.warnings.clone();
    // It may have been graded before, under another configuration.
    warnings.retain(|warning| warning.code != WarningCode::UnparsedAnswer);
    warnings.extend(graded.warning(key));
    let progress = Progress {
        graded: count(graded.graded),
        to_judge: count(key.to_judge()),
        judged: count(graded.outcomes.iter().filter(|o| matches!(o, Outcome::Rubric { .. })).count()),
        reused: 0,
        failed: 0,
    };
    let columns = columns(release, &graded.outcomes)?;
    let (id, outcomes) = (submission.id.clone(), graded.outcomes.clone());
    let (compared, of_release) = (submission.clone(), release.clone());
    let unparsed = count(graded.unparsed);
    let of = Answered { questions: submission.questions, answered: submission.answered, unparsed };
    let stored_warnings = warnings.clone();
    let id_of_current = configuration.id.as_str();
    let is_stored =
        fenced_under(evaluation, lease, id_of_current, move |connection, configuration, now_ms| {
            if !configuration.is_current() {
                return Ok(Some(false));
            }
            let under = Under::new(&of_release.release.id, &configuration.id);
            scores::save_outcomes(connection, &id, &under, &outcomes)?;
            scores::save_scores(connection, &id, &under, &columns, of, false)?;
            submissions::update_graded(connection, &id, &configuration.id, unparsed, &stored_warnings)?;
            flags::insert_flags(connection, &id, &flags, now_ms)?;
            raise_attack(connection, &compared, &flags, now_ms)?;
            join_series(connection, &of_release, &compared, &outcomes, now_ms)?;
            submissions::update_progress(connection, &id, progress)?;
            let from = [SubmissionState::Grading];
            let moved = submissions::update_state(connection, &id, &from, SubmissionState::Judging, now_ms)?;
            Ok(moved.then_some(true))
        })
        .await?;
    let submission = Submission { state: SubmissionState::Judging, progress, warnings, ..submission };
    Ok(is_stored.then_some((submission, configuration.id, graded.outcomes)))
}

/// Puts a submission into the queue of flags whose answers show signs of talking to the judge.
fn raise_attack(
    connection: &mut DbConnection,
    submission: &Submission,
    flags: &[AnswerSigns],
    now_ms: i64,
) -> Result<(), StoreError> {
    if flags.is_empty() {
        return Ok(());
    }
    let mut signs: Vec<&str> = flags.iter().flat_map(|(_, signs)| signs).map(|sign| sign.as_str()).collect();
    signs.sort_unstable();
    signs.dedup();
    let count = flags.len();
    let detail = format!("{count} answer(s) show signs of talking to the judge: {}", signs.join(", "));
    let (subject, team) = (submission.id.as_str(), submission.team.as_str());
    let new = NewFlag { kind: FlagKind::Attack, subject, team, other: None, detail: &detail };
    raise_flag(connection, &new, now_ms)
}

/// Ends a submission whose answers are all judged or have failed.
async fn finish(evaluation: &Evaluation, work: &Work<'_>, outcomes: Vec<Outcome>) -> Result<(), WorkError> {
    let answered = (&work.release, work.answers);
    let ending = Ending::of(evaluation, answered, work.configuration_id, outcomes).await?;
    let state = ending.state();
    let held = work.lease.clone();
    fenced(evaluation, work.lease, move |connection, id, now_ms| {
        ending.save(connection, id)?;
        let moved = submissions::update_state(connection, id, &[SubmissionState::Judging], state, now_ms)?;
        release_lease(connection, &held)?;
        // Last, as wherever a submission changes: the one row that all of them share is locked after their own.
        bump_board_revision(connection)?;
        Ok(moved)
    })
    .await?;
    count_end(evaluation, work.submission, state);
    if state == SubmissionState::Scored {
        compare_with_judge(evaluation, work.submission).await;
    }
    Ok(())
}

/// Holds the time that a scored submission took against the judge's own for the answers that it was asked about.
async fn compare_with_judge(evaluation: &Evaluation, submission: &Submission) {
    let id = submission.id.clone();
    let find = move |connection: &mut DbConnection| submissions::find_submission(connection, &id);
    let found: Result<Option<Submission>, StoreError> = evaluation.store.read(find).await;
    // It has ended, whether it can be measured or not.
    let Ok(Some(Submission { progress, finished_at_ms: Some(finished_at_ms), .. })) = found else { return };
    let asked = u32::try_from(progress.judged - progress.reused).unwrap_or(0);
    if let Some(own_s) = evaluation.judges.own_seconds(asked) {
        let took_s = (finished_at_ms - submission.created_at_ms) as f64 / 1000.0;
        let split = submission.metadata.split.as_str();
        let ratio = took_s / own_s.max(LEAST_OWN_S);
        evaluation.metrics.submission_judge_ratio.with_label_values(&[split]).observe(ratio);
    }
}

/// Gives a submission back, to be taken up again behind what waits.
async fn requeue(
    evaluation: &Evaluation,
    lease: &Lease,
    split: Split,
    id: &str,
) -> Result<&'static str, WorkError> {
    put_back(evaluation, lease, None, 0).await?;
    deliver(evaluation, Line::of(split), id).await;
    Ok("requeued")
}

/// Gives a submission back, to be taken up again after a rest.
async fn put_back(
    evaluation: &Evaluation,
    lease: &Lease,
    paused_for: Option<PausedFor>,
    rest_ms: i64,
) -> Result<(), WorkError> {
    let held = lease.clone();
    fenced(evaluation, lease, move |connection, id, now_ms| {
        submissions::update_pause(connection, id, paused_for, now_ms + rest_ms)?;
        release_lease(connection, &held)?;
        Ok(true)
    })
    .await?;
    note_rest(evaluation, rest_ms);
    Ok(())
}

/// Ends a submission that fails again and again; the charge is given back.
async fn park(
    evaluation: &Evaluation,
    lease: &Lease,
    submission: &Submission,
) -> Result<&'static str, WorkError> {
    let (held, parked) = (lease.clone(), submission.clone());
    fenced(evaluation, lease, move |connection, id, now_ms| {
        let from = [SubmissionState::Queued, SubmissionState::Grading, SubmissionState::Judging];
        let moved = submissions::update_state(connection, id, &from, SubmissionState::Failed, now_ms)?;
        refund(connection, &parked, "a fault of the server", now_ms)?;
        release_lease(connection, &held)?;
        Ok(moved)
    })
    .await?;
    count_end(evaluation, submission, SubmissionState::Failed);
    Ok("failed")
}

/// Counts a submission that reached a final state.
pub(super) fn count_end(evaluation: &Evaluation, submission: &Submission, state: SubmissionState) {
    let split = submission.metadata.split.as_str();
    let took_ms = evaluation.clock.now_ms() - submission.created_at_ms;
    evaluation.metrics.submissions.with_label_values(&[split, state.as_str()]).inc();
    evaluation.metrics.submission_duration.with_label_values(&[split]).observe(took_ms as f64 / 1000.0);
}

pub(super) fn count(number: usize) -> i32 {
    i32::try_from(number).unwrap_or(i32::MAX)
}
