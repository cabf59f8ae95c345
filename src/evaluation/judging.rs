//! One slice of judging: pending answers of a submission are looked up or asked about, and stored as they come. Knows
//! nothing of leases beyond the fence, and nothing of what a judge is.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::watch;
use tokio::task::JoinSet;
use tokio::time::{Instant, timeout_at};

use crate::domain::instant;
use crate::domain::outcome::{FailureReason, Outcome};
use crate::domain::question::Rubric;
use crate::domain::submission::PausedFor;
use crate::judge::{self, Failure, Item, ItemReason, Judge, PauseCause, Verdict};
use crate::store::judgements::{self, JudgementRow, SpendRow};
use crate::store::leases::{Lease, confirm_lease};
use crate::store::submissions::{self, Progress, Submission};
use crate::store::{StoreError, scores};

use super::Evaluation;
use super::catalogue::{Grading, GradingRelease};
use super::judges::JudgesError;
use super::work::WorkError;

/// Calls after which a submission lets others pass, if any wait.
const SLICE_CALLS: usize = 200;

/// Answers in a row that the judge does not score, however often it is asked, before it counts as out of reach.
const OUTAGE_STREAK: usize = 5;

/// How long calls under way may take when the process is asked to stop.
const STOP_GRACE: Duration = Duration::from_secs(6);

/// How a slice ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SliceEnd {
    /// Every answer is judged or has failed.
    Complete,
    /// Answers are left and others wait, or the process stops.
    Yielded,
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
}

/// One pending answer.
struct Pending {
    place: usize,
    rubric: Rubric,
    key: String,
    answer: String,
}

/// What came of the call about one pending answer.
type Judged = (Pending, Result<Verdict, Failure>);

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
    let mut ledger = Ledger {
        evaluation,
        work,
        outcomes,
        progress: work.submission.progress,
        unsaved: Vec::new(),
        successes: 0,
        streak: Vec::new(),
    };
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
    ask(&mut ledger, &judge, pending, stopping).await
}

/// Keeps as many calls going as the settings allow. Each is a task of its own, so that storing what came holds up
/// nothing that is under way; what comes meanwhile is stored together next time.
async fn ask(
    ledger: &mut Ledger<'_>,
    judge: &Arc<dyn Judge>,
    pending: Vec<Pending>,
    stopping: &mut watch::Receiver<bool>,
) -> Result<SliceEnd, WorkError> {
    let evaluation = ledger.evaluation;
    let mut waiting = pending.into_iter();
    let mut calls: JoinSet<Judged> = JoinSet::new();
    let mut asked = 0;
    let mut end = SliceEnd::Complete;
    loop {
        while end == SliceEnd::Complete && calls.len() < evaluation.judges.max_concurrency() {
            let Some(pending) = waiting.next() else { break };
            calls.spawn(call(judge.clone(), ledger.work.release.clone(), pending));
            asked += 1;
            if asked % SLICE_CALLS == 0 && evaluation.queue.depth().await.is_ok_and(|depth| depth.waiting > 0)
            {
                end = SliceEnd::Yielded;
            }
        }
        let next = tokio::select! {
            next = calls.join_next() => next,
            () = stopped(stopping) => {
                finish_calls(ledger, &mut calls).await?;
                return Ok(SliceEnd::Yielded);
            }
        };
        let Some(first) = next else { break };
        let mut came = Some(first);
        while let Some(judged) = came {
            if let Some(pause) = ledger.take(judged?) {
                end = SliceEnd::Paused(pause);
            }
            came = calls.try_join_next();
        }
        ledger.flush().await?;
    }
    if end == SliceEnd::Complete && ledger.settle_streak() {
        ledger.flush().await?;
    }
    let left = ledger.outcomes.contains(&Outcome::Pending);
    Ok(match end {
        SliceEnd::Complete if left => SliceEnd::Paused(PausedFor::JudgeUnavailable),
        SliceEnd::Complete | SliceEnd::Yielded if !left => SliceEnd::Complete,
        end => end,
    })
}

/// Waits until the process is asked to stop, or is about to end.
async fn stopped(stopping: &mut watch::Receiver<bool>) {
    let _or_the_sender_is_gone = stopping.wait_for(|stop| *stop).await.is_ok();
}

/// Waits a little for the calls under way, and gives up those that take longer.
async fn finish_calls(ledger: &mut Ledger<'_>, calls: &mut JoinSet<Judged>) -> Result<(), WorkError> {
    let deadline = Instant::now() + STOP_GRACE;
    loop {
        match timeout_at(deadline, calls.join_next()).await {
            Ok(Some(judged)) => {
                let _stops_anyway = ledger.take(judged?);
            }
            Ok(None) => break,
            Err(_) => {
                tracing::warn!(
                    submission = ledger.work.submission.id,
                    "calls to the judge were given up to stop in time"
                );
                break;
            }
        }
    }
    ledger.flush().await
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

/// What a slice has found out and not yet stored.
struct Ledger<'a> {
    evaluation: &'a Evaluation,
    work: &'a Work<'a>,
    outcomes: &'a mut [Outcome],
    progress: Progress,
    unsaved: Vec<(Rubric, JudgementRow)>,
    /// Answers that this slice's calls have scored.
    successes: usize,
    /// Answers that the judge failed at since it last scored one.
    streak: Vec<usize>,
}

impl Ledger<'_> {
    /// Takes over judgements that stand already and gives back what is left to ask.
    async fn reuse(&mut self, pending: Vec<Pending>) -> Result<Vec<Pending>, WorkError> {
        let keys: Vec<String> = pending.iter().map(|pending| pending.key.clone()).collect();
        let configuration_id = self.work.configuration_id.to_owned();
        let standing: Result<HashMap<String, [u8; 3]>, StoreError> = self
            .evaluation
            .store
            .read(move |connection| judgements::load_judged(connection, &configuration_id, &keys))
            .await;
        let standing = standing?;
        let mut left = Vec::with_capacity(pending.len());
        let before = self.progress.reused;
        for pending in pending {
            match standing.get(&pending.key) {
                Some(scores) => {
                    self.outcomes[pending.place] = Outcome::Rubric { scores: *scores };
                    self.progress.judged += 1;
                    self.progress.reused += 1;
                    self.evaluation.metrics.judge_reused.with_label_values(&[pending.rubric.as_str()]).inc();
                }
                None => left.push(pending),
            }
        }
        if self.progress.reused > before {
            self.flush().await?;
        }
        Ok(left)
    }

    /// Notes what came of a call; says so when no further call makes sense.
    fn take(&mut self, (pending, result): Judged) -> Option<PausedFor> {
        let question_id = &self.work.release.question_ids[pending.place];
        match result {
            Ok(verdict) => {
                self.outcomes[pending.place] = Outcome::Rubric { scores: verdict.scores };
                self.progress.judged += 1;
                self.successes += 1;
                self.settle_streak();
                self.unsaved.push((pending.rubric, self.row(&pending, question_id, verdict)));
                None
            }
            Err(Failure::Item { reason, detail }) => {
                tracing::warn!(submission = self.work.submission.id, question_id, %reason, detail, "not judged");
                self.outcomes[pending.place] = Outcome::Failed(failure_reason(reason));
                self.progress.failed += 1;
                None
            }
            Err(Failure::Pause { cause, detail }) => {
                tracing::error!(submission = self.work.submission.id, question_id, %cause, detail, "no judgement");
                self.streak.push(pending.place);
                let outage = cause != PauseCause::Unavailable || self.streak.len() >= OUTAGE_STREAK;
                outage.then_some(PausedFor::JudgeUnavailable)
            }
        }
    }

    /// Takes the answers that the judge failed at, while it scored others, for those answers' own failure; says
    /// whether there were any.
    fn settle_streak(&mut self) -> bool {
        if self.successes == 0 || self.streak.is_empty() {
            return false;
        }
        for place in self.streak.drain(..) {
            self.outcomes[place] = Outcome::Failed(FailureReason::Unavailable);
            self.progress.failed += 1;
        }
        true
    }

    fn row(&self, pending: &Pending, question_id: &str, verdict: Verdict) -> JudgementRow {
        let tokens = |count: u64| i64::try_from(count).unwrap_or(i64::MAX);
        JudgementRow {
            configuration_id: self.work.configuration_id.to_owned(),
            key: pending.key.clone(),
            vote: 0,
            question_id: question_id.to_owned(),
            scores: serde_json::json!(verdict.scores).to_string(),
            explanations: serde_json::json!(verdict.explanations).to_string(),
            answered_model: verdict.model,
            prompt_tokens: tokens(verdict.usage.prompt_tokens),
            cached_tokens: tokens(verdict.usage.cached_tokens),
            completion_tokens: tokens(verdict.usage.completion_tokens),
            cost_usd: self.evaluation.judges.cost_usd(verdict.usage),
            created_at_ms: self.evaluation.clock.now_ms(),
        }
    }

    /// Stores what is new. Judgements are paid for and stay even if the lease was lost; the rest does not.
    async fn flush(&mut self) -> Result<(), WorkError> {
        let unsaved = std::mem::take(&mut self.unsaved);
        let (spend, rows) =
            (self.spend(&unsaved), unsaved.into_iter().map(|(_, row)| row).collect::<Vec<_>>());
        let outcomes = self.outcomes.to_vec();
        let (lease, progress) = (self.work.lease.clone(), self.progress);
        let configuration_id = self.work.configuration_id.to_owned();
        let held: Result<bool, StoreError> = self
            .evaluation
            .store
            .write(move |connection| {
                judgements::insert_judgements(connection, rows)?;
                for row in &spend {
                    judgements::add_spend(connection, row)?;
                }
                let held = confirm_lease(connection, &lease)?;
                if held {
                    scores::save_outcomes(connection, &lease.name, &configuration_id, &outcomes)?;
                    submissions::update_progress(connection, &lease.name, progress)?;
                }
                Ok(held)
            })
            .await;
        if held? { Ok(()) } else { Err(WorkError::LeaseLost) }
    }

    fn spend(&self, unsaved: &[(Rubric, JudgementRow)]) -> Vec<SpendRow> {
        let mut spend = Vec::new();
        for rubric in Rubric::ALL {
            let of_rubric = unsaved.iter().filter(|(other, _)| other == rubric).map(|(_, row)| row);
            let mut sum = SpendRow {
                day: instant::day(self.evaluation.clock.now_ms()),
                configuration_id: self.work.configuration_id.to_owned(),
                rubric: rubric.to_string(),
                team_id: self.work.submission.team_id.clone(),
                calls: 0,
                prompt_tokens: 0,
                cached_tokens: 0,
                completion_tokens: 0,
                cost_usd: 0.0,
            };
            for row in of_rubric {
                sum.calls += 1;
                sum.prompt_tokens += row.prompt_tokens;
                sum.cached_tokens += row.cached_tokens;
                sum.completion_tokens += row.completion_tokens;
                sum.cost_usd += row.cost_usd;
            }
            if sum.calls > 0 {
                spend.push(sum);
            }
        }
        spend
    }
}

/// What the ledger keeps of the judge's reason.
fn failure_reason(reason: ItemReason) -> FailureReason {
    match reason {
        ItemReason::Malformed => FailureReason::Malformed,
        ItemReason::Length => FailureReason::Truncated,
        ItemReason::Refusal => FailureReason::Refused,
        ItemReason::ContentFilter => FailureReason::ContentFilter,
        ItemReason::ContextTooLong => FailureReason::TooLong,
        ItemReason::BadRequest => FailureReason::Rejected,
    }
}
