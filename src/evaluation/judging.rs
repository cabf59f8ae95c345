//! One slice of judging: pending answers of a submission are looked up or asked about, and stored as they come. Knows
//! nothing of leases beyond the fence, and nothing of what a judge is.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use rand::seq::SliceRandom;
use tokio::sync::watch;
use tokio::task::JoinSet;
use tokio::time::{Instant, timeout_at};
use tracing::Instrument as _;

use crate::domain::instant;
use crate::domain::line::Line;
use crate::domain::outcome::Outcome;
use crate::domain::submission::PausedFor;
use crate::judge::{self, Asked, Asking, Failure, ItemReason, Judge};
use crate::store::leases::Lease;
use crate::store::submissions::Submission;

use super::Evaluation;
use super::catalogue::GradingRelease;
use super::judges::JudgesError;
use super::reserving::{Granted, Reserving};
use super::verdicts::{Judged, Ledger, Pending};
use super::work::WorkError;

/// Answers that a submission claims at once; after them it lets others pass, if any wait.
pub(super) const SLICE_ANSWERS: usize = 200;

/// How long calls under way may take when the process is asked to stop.
const STOP_GRACE: Duration = Duration::from_secs(6);

/// Calls that one submission has going for each that may be under way at once: while some wait for another try, others
/// take their place.
const CALLS_PER_PLACE: usize = 4;

/// And at least so many: enough failures in a row to tell an outage.
const MIN_CALLS: usize = 40;

/// How long a submission rests that waits for money which others have reserved, or where it cannot be told whether its
/// answer fails or the judge.
const REST_MS: i64 = 15_000;

/// How a slice ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SliceEnd {
    /// Every answer is judged or has failed.
    Complete,
    /// Answers are left and others wait, or the process stops.
    Yielded,
    /// Another submission asks about all that is left.
    Elsewhere,
    /// No answer can be judged now.
    Paused {
        /// Why.
        paused_for: PausedFor,
        /// How long to wait before another try.
        rest_ms: i64,
    },
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
    /// Where all answers are asked about again: older judgements do not count, and no outcome is stored before the last.
    pub anew_since_ms: Option<i64>,
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
    let mut pending = ledger.reuse(pending(work, ledger.outcomes)).await?;
    if pending.is_empty() {
        return Ok(SliceEnd::Complete);
    }
    ledger.mark_failed(&mut pending).await?;
    if let Some(rest_ms) = evaluation.judges.rest_ms(&evaluation.store).await? {
        return Ok(SliceEnd::Paused { paused_for: PausedFor::JudgeUnavailable, rest_ms });
    }
    let judge = match evaluation.judges.judge(&evaluation.store, work.configuration_id).await {
        Ok(judge) => judge,
        Err(JudgesError::Store(error)) => return Err(error.into()),
        Err(error) => {
            tracing::error!(submission = work.submission.id, %error, "judging pauses");
            return Ok(SliceEnd::Paused { paused_for: PausedFor::JudgeUnavailable, rest_ms: REST_MS });
        }
    };
    if evaluation.judges.gate().is_some_and(|gate| gate.closed().is_some()) {
        // The first is the probe, and shall not be the same one that fails each time.
        pending.shuffle(&mut rand::rng());
    }
    let mut slice = Slice {
        evaluation,
        work,
        judge,
        ledger,
        reserving: Reserving::new(evaluation, work),
        unclaimed: pending,
        claimed: VecDeque::new(),
        calls: JoinSet::new(),
        stop: watch::Sender::new(false),
        end: SliceEnd::Complete,
        has_claimed: false,
        met_circuit: false,
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
    /// None where there is no budget.
    reserving: Option<Reserving>,
    unclaimed: Vec<Pending>,
    claimed: VecDeque<Pending>,
    calls: JoinSet<Judged>,
    /// Tells the calls that those not under way are not wanted any more.
    stop: watch::Sender<bool>,
    end: SliceEnd,
    has_claimed: bool,
    /// Whether a call met an open circuit.
    met_circuit: bool,
}

impl Slice<'_> {
    /// Keeps enough calls going. Each is a task of its own that waits for its turn, so that storing what came holds up
    /// none of them; what comes meanwhile is stored together next time.
    async fn ask(&mut self, stopping: &mut watch::Receiver<bool>) -> Result<SliceEnd, WorkError> {
        loop {
            if *stopping.borrow() {
                self.finish_calls().await?;
                self.end = SliceEnd::Yielded;
                break;
            }
            self.start_calls().await?;
            if self.calls.is_empty() && self.end == SliceEnd::Complete && self.ledger.has_aside() {
                if self.ledger.reconsider().await? {
                    continue;
                }
                self.pause(PausedFor::JudgeUnavailable);
            }
            let mut came = tokio::select! {
                came = self.calls.join_next() => came,
                () = stopped(stopping) => continue,
            };
            if came.is_none() {
                break;
            }
            while let Some(judged) = came {
                if let Some(paused_for) = self.ledger.take(judged?) {
                    self.pause(paused_for);
                    self.met_circuit = true;
                }
                came = self.calls.try_join_next();
            }
            self.ledger.flush().await?;
        }
        let is_left = self.ledger.outcomes.contains(&Outcome::Pending);
        Ok(match &self.end {
            _ if !is_left => SliceEnd::Complete,
            SliceEnd::Complete => SliceEnd::Elsewhere,
            SliceEnd::Yielded | SliceEnd::Elsewhere => self.end.clone(),
            SliceEnd::Paused { paused_for, rest_ms } => {
                // One of the calls may have been the probe that closed the circuit again.
                let goes_on = self.met_circuit && !self.is_closed();
                let rest_ms = if goes_on { 0 } else { *rest_ms }.max(self.ledger.told_ms());
                if rest_ms == 0 {
                    SliceEnd::Yielded
                } else {
                    SliceEnd::Paused { paused_for: *paused_for, rest_ms }
                }
            }
        })
    }

    /// Starts no further call, and calls off those that wait.
    fn pause(&mut self, paused_for: PausedFor) {
        self.end = SliceEnd::Paused { paused_for, rest_ms: self.rest_ms() };
        self.stop.send_replace(true);
    }

    fn is_closed(&self) -> bool {
        self.evaluation.judges.gate().is_none_or(|gate| gate.closed().is_some())
    }

    fn rest_ms(&self) -> i64 {
        self.evaluation.judges.gate().and_then(|gate| gate.rest_ms()).unwrap_or(REST_MS)
    }

    /// Starts calls up to the limit, claiming answers and reserving money as they are needed.
    async fn start_calls(&mut self) -> Result<(), WorkError> {
        let places = self.evaluation.judges.max_concurrency();
        let most = (CALLS_PER_PLACE * places).clamp(MIN_CALLS, SLICE_ANSWERS.max(places));
        while self.end == SliceEnd::Complete && self.calls.len() < most {
            let mut ready = self.ready(most - self.calls.len());
            if ready.is_empty() && self.unclaimed.is_empty() {
                break;
            }
            if ready.is_empty() && self.has_claimed && self.others_wait().await {
                self.end = SliceEnd::Yielded;
                break;
            }
            if ready.is_empty() {
                let batch = self.unclaimed.drain(..self.unclaimed.len().min(SLICE_ANSWERS)).collect();
                self.claimed = self.ledger.claim(batch).await?.into();
                self.has_claimed |= !self.claimed.is_empty();
                continue;
            }
            let Granted { calls, is_spent } = match &self.reserving {
                None => Granted { calls: ready.len(), is_spent: false },
                Some(reserving) => {
                    let keys = ready.iter().map(|pending| pending.key.clone()).collect();
                    reserving.reserve(keys, self.most_usd(&ready)).await?
                }
            };
            let left = ready.split_off(calls);
            let is_short = !left.is_empty();
            left.into_iter().rev().for_each(|pending| self.claimed.push_front(pending));
            ready.into_iter().for_each(|pending| self.start(pending));
            if is_short && self.calls.is_empty() {
                // What others have reserved may come back soon.
                let now_ms = self.evaluation.clock.now_ms();
                if is_spent {
                    tracing::warn!(
                        "the day's judge budget is spent; judging goes on at midnight UTC, or once a process starts with a \
                         higher SECCHI_JUDGE_BUDGET_USD_PER_DAY"
                    );
                }
                let rest_ms = if is_spent { instant::next_day_ms(now_ms) - now_ms } else { REST_MS };
                self.end = SliceEnd::Paused { paused_for: PausedFor::Budget, rest_ms };
            }
            if is_short {
                break;
            }
        }
        Ok(())
    }

    /// Up to so many claimed answers.
    fn ready(&mut self, most: usize) -> Vec<Pending> {
        let next = || self.claimed.pop_front().or_else(|| self.ledger.again.pop());
        std::iter::from_fn(next).take(most).collect()
    }

    /// Dollars that the dearest call about one of these may cost.
    fn most_usd(&self, pending: &[Pending]) -> f64 {
        let judges = &self.evaluation.judges;
        let items =
            pending.iter().filter_map(|pending| self.work.release.key.item(pending.place, &pending.answer));
        items.map(|item| judges.cost_usd(self.judge.tokens(&item))).fold(0.0, f64::max)
    }

    fn start(&mut self, mut pending: Pending) {
        pending.asked_at_ms = self.evaluation.clock.now_ms();
        let further = self.reserving.as_ref().map(|reserving| reserving.further(&pending.key));
        let (line, stop) = (self.line(), self.stop.subscribe());
        let asking = Asking { line, stop, has_failed: pending.has_failed, wait: pending.wait, further };
        let call = call(self.judge.clone(), self.work.release.clone(), pending, asking);
        self.calls.spawn(call.in_current_span());
    }

    async fn others_wait(&self) -> bool {
        self.evaluation.queue.depth(self.line()).await.is_ok_and(|depth| depth.waiting > 0)
    }

    /// The line in which this work waits, also before the judge.
    fn line(&self) -> Line {
        let line_of = if self.work.is_rejudging { Line::background } else { Line::of };
        line_of(self.work.submission.metadata.split)
    }

    /// Waits a little for the calls under way, and gives up those that take longer.
    async fn finish_calls(&mut self) -> Result<(), WorkError> {
        self.stop.send_replace(true);
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

async fn call(
    judge: Arc<dyn Judge>,
    release: Arc<GradingRelease>,
    pending: Pending,
    asking: Asking,
) -> Judged {
    let asked = match release.key.item(pending.place, &pending.answer) {
        Some(item) => judge.judge(&item, asking).await,
        None => {
            let detail = "the question is not open-ended".to_owned();
            Asked::free(Err(Failure::Item { reason: ItemReason::BadRequest, detail }))
        }
    };
    (pending, asked)
}

/// The answers that wait for a judge, with the keys under which their judgements stand.
pub(super) fn pending(work: &Work<'_>, outcomes: &[Outcome]) -> Vec<Pending> {
    let waiting = outcomes.iter().enumerate().filter(|(_, outcome)| **outcome == Outcome::Pending);
    waiting
        .filter_map(|(place, _)| {
            let answer = judge::normalise(work.answers.get(place)?.as_deref()?);
            let rubric = work.release.key.facts.get(place)?.question_type.rubric()?;
            let mut pending = Pending {
                place,
                rubric,
                key: String::new(),
                answer,
                asked_at_ms: 0,
                has_failed: false,
                wait: Duration::ZERO,
            };
            pending.key = judge::judgement_key(&work.release.key.item(place, &pending.answer)?);
            Some(pending)
        })
        .collect()
}
