//! One slice of judging: pending answers of a submission are looked up or asked about, and stored as they come. Knows
//! nothing of leases beyond the fence, and nothing of what a judge is.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::watch;
use tokio::task::JoinSet;
use tokio::time::{Instant, timeout_at};

use crate::domain::outcome::Outcome;
use crate::domain::submission::PausedFor;
use crate::judge::{self, Failure, Item, ItemReason, Judge};
use crate::store::leases::Lease;
use crate::store::submissions::Submission;

use super::Evaluation;
use super::catalogue::{Grading, GradingRelease};
use super::judges::JudgesError;
use super::verdicts::{Judged, Ledger, Pending};
use super::work::WorkError;

/// Answers that a submission claims at once; after them it lets others pass, if any wait.
const SLICE_ANSWERS: usize = 200;

/// How long calls under way may take when the process is asked to stop.
const STOP_GRACE: Duration = Duration::from_secs(6);

/// How a slice ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SliceEnd {
    /// Every answer is judged or has failed.
    Complete,
    /// Answers are left and others wait, or the process stops.
    Yielded,
    /// Another submission asks about all that is left.
    Elsewhere,
    /// The judge is out of reach.
    Paused(PausedFor),
}

/// A submission as judging needs it.
pub struct Work<'a> {
    /// The submission.
    pub submission: &'a Submission,
    /// Its release.
    pub release: Arc<GradingRelease>,
    /// Its answers in the release's order.
    pub answers: &'a [Option<String>],
    /// The judge configuration.
    pub configuration_id: &'a str,
    /// The right to work on it.
    pub lease: &'a Lease,
    /// Whether this is beside the submission's own judging, whose progress then stays.
    pub is_rejudging: bool,
}

/// Judges pending answers until none is left, others wait, the judge is out of reach or `stopping` turns true.
///
/// # Errors
/// When the lease was lost, the database failed, or a call died.
pub async fn judge_slice(
    evaluation: &Evaluation,
    work: &Work<'_>,
    outcomes: &mut [Outcome],
    stopping: &mut watch::Receiver<bool>,
) -> Result<SliceEnd, WorkError> {
    let mut ledger = Ledger::new(evaluation, work, outcomes);
    let pending = ledger.reuse(pending(work, ledger.outcomes)).await?;
    if pending.is_empty() {
        return Ok(SliceEnd::Complete);
    }
    let judge = match evaluation.judges.judge(&evaluation.store, work.configuration_id).await {
        Ok(judge) => judge,
        Err(JudgesError::Store(error)) => return Err(error.into()),
        Err(error) => {
            tracing::error!(submission = work.submission.id, %error, "judging pauses");
            return Ok(SliceEnd::Paused(PausedFor::JudgeUnavailable));
        }
    };
    let mut slice = Slice {
        evaluation,
        work,
        judge,
        ledger,
        unclaimed: pending,
        claimed: VecDeque::new(),
        calls: JoinSet::new(),
        end: SliceEnd::Complete,
        has_claimed: false,
    };
    let outcome = slice.ask(stopping).await;
    if matches!(outcome, Err(WorkError::LeaseLost)) {
        // What is under way is paid for, and whoever has the answers next need not ask again.
        let _lost_already = slice.finish_calls().await;
    }
    let released = slice.ledger.release().await;
    let end = outcome?;
    released?;
    Ok(end)
}

/// The calls of one slice.
struct Slice<'a> {
    evaluation: &'a Evaluation,
    work: &'a Work<'a>,
    judge: Arc<dyn Judge>,
    ledger: Ledger<'a>,
    unclaimed: Vec<Pending>,
    claimed: VecDeque<Pending>,
    calls: JoinSet<Judged>,
    end: SliceEnd,
    has_claimed: bool,
}

impl Slice<'_> {
    /// Keeps as many calls going as the settings allow. Each is a task of its own, so that storing what came holds up
    /// nothing that is under way; what comes meanwhile is stored together next time.
    async fn ask(&mut self, stopping: &mut watch::Receiver<bool>) -> Result<SliceEnd, WorkError> {
        loop {
            if !*stopping.borrow() {
                self.start_calls().await?;
            }
            let next = tokio::select! {
                next = self.calls.join_next() => next,
                () = stopped(stopping) => {
                    self.finish_calls().await?;
                    self.end = SliceEnd::Yielded;
                    break;
                }
            };
            let mut came = next;
            while let Some(judged) = came {
                if let Some(pause) = self.ledger.take(judged?) {
                    self.end = SliceEnd::Paused(pause);
                }
                came = self.calls.try_join_next();
            }
            if self.calls.is_empty() {
                self.ledger.settle_streak();
            }
            self.ledger.flush().await?;
            if self.calls.is_empty() && (self.end != SliceEnd::Complete || !self.has_more()) {
                break;
            }
        }
        let is_left = self.ledger.outcomes.contains(&Outcome::Pending);
        Ok(match &self.end {
            SliceEnd::Complete if self.ledger.has_streak() => SliceEnd::Paused(PausedFor::JudgeUnavailable),
            SliceEnd::Complete if is_left => SliceEnd::Elsewhere,
            SliceEnd::Yielded if !is_left => SliceEnd::Complete,
            end => end.clone(),
        })
    }

    fn has_more(&self) -> bool {
        !(self.unclaimed.is_empty() && self.claimed.is_empty() && self.ledger.again.is_empty())
    }

    /// Starts calls up to the limit, claiming answers as they are needed.
    async fn start_calls(&mut self) -> Result<(), WorkError> {
        while self.end == SliceEnd::Complete && self.calls.len() < self.evaluation.judges.max_concurrency() {
            let next = self.claimed.pop_front().or_else(|| self.ledger.again.pop());
            if let Some(pending) = next {
                self.calls.spawn(call(self.judge.clone(), self.work.release.clone(), pending));
            } else if self.unclaimed.is_empty() {
                break;
            } else if self.has_claimed && self.others_wait().await {
                self.end = SliceEnd::Yielded;
            } else {
                let batch = self.unclaimed.drain(..self.unclaimed.len().min(SLICE_ANSWERS)).collect();
                self.claimed = self.ledger.claim(batch).await?.into();
                self.has_claimed |= !self.claimed.is_empty();
            }
        }
        Ok(())
    }

    async fn others_wait(&self) -> bool {
        self.evaluation.queue.depth().await.is_ok_and(|depth| depth.waiting > 0)
    }

    /// Waits a little for the calls under way, and gives up those that take longer.
    async fn finish_calls(&mut self) -> Result<(), WorkError> {
        let deadline = Instant::now() + STOP_GRACE;
        loop {
            match timeout_at(deadline, self.calls.join_next()).await {
                Ok(Some(judged)) => {
                    let _stops_anyway = self.ledger.take(judged?);
                }
                Ok(None) => break,
                Err(_) => {
                    tracing::warn!(
                        submission = self.work.submission.id,
                        "calls to the judge were given up to stop in time"
                    );
                    break;
                }
            }
        }
        self.ledger.flush().await
    }
}

/// Waits until the process is asked to stop, or is about to end.
async fn stopped(stopping: &mut watch::Receiver<bool>) {
    let _or_the_sender_is_gone = stopping.wait_for(|stop| *stop).await.is_ok();
}

async fn call(judge: Arc<dyn Judge>, release: Arc<GradingRelease>, pending: Pending) -> Judged {
    let result = match item(&release, &pending) {
        Some(item) => judge.judge(&item).await,
        None => {
            let detail = "the question is not open-ended".to_owned();
            Err(Failure::Item { reason: ItemReason::BadRequest, detail })
        }
    };
    (pending, result)
}

fn item<'a>(release: &'a GradingRelease, pending: &'a Pending) -> Option<Item<'a>> {
    let Grading::Judged { rubric, question, reference, evidence } = release.gradings.get(pending.place)?
    else {
        return None;
    };
    let question_id = release.question_ids.get(pending.place)?;
    Some(Item { question_id, rubric: *rubric, question, reference, evidence, answer: &pending.answer })
}

/// The answers that wait for a judge, with the keys under which their judgements stand.
fn pending(work: &Work<'_>, outcomes: &[Outcome]) -> Vec<Pending> {
    let waiting = outcomes.iter().enumerate().filter(|(_, outcome)| **outcome == Outcome::Pending);
    waiting
        .filter_map(|(place, _)| {
            let answer = judge::normalise(work.answers.get(place)?.as_deref()?);
            let rubric = work.release.facts.get(place)?.question_type.rubric()?;
            let mut pending = Pending { place, rubric, key: String::new(), answer };
            pending.key = judge::judgement_key(&item(&work.release, &pending)?);
            Some(pending)
        })
        .collect()
}
