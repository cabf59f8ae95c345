//! What a slice of judging finds out: what is taken over, what is claimed, what came of each call, and when it is
//! stored. Knows nothing of how answers are asked about.

use std::collections::{HashMap, HashSet};
use std::time::{Duration, Instant};

use crate::domain::instant;
use crate::domain::outcome::{FailureReason, Outcome};
use crate::domain::question::Rubric;
use crate::domain::submission::PausedFor;
use crate::judge::{Asked, Failure, ItemReason, Usage, Verdict};
use crate::limiter::Pass;
use crate::store::configurations::lock_configuration;
use crate::store::failures::{FailureRow, load_failures};
use crate::store::judgements::{JudgementRow, STANDS, SpendRow, WAITS, load_judged, load_judged_since};
use crate::store::scores::Under;
use crate::store::submissions::Progress;
use crate::store::{DbConnection, StoreError, claims};

use super::Evaluation;
use super::batch::{Batch, Fate, Stored, find_fates};
use super::judging::Work;
use super::work::WorkError;

/// How often storing what was paid for is tried, and the wait between two tries: together less than a lease lasts.
const STORE_TRIES: u32 = 10;
const STORE_WAIT: Duration = Duration::from_secs(1);

/// How often what came is made safe from a power cut.
const LASTING_EVERY: Duration = Duration::from_secs(1);

/// One pending answer.
pub(super) struct Pending {
    /// The question's position in the release.
    pub(super) place: usize,
    pub(super) rubric: Rubric,
    /// The key under which its judgement stands.
    pub(super) key: String,
    /// The normalised answer.
    pub(super) answer: String,
    /// When it was last asked about.
    pub(super) asked_at_ms: i64,
    /// Whether a call about it has failed before.
    pub(super) has_failed: bool,
    /// How long the judge wants to be left alone about it.
    pub(super) wait: Duration,
}

/// Scores that stand, by the key of their judgement.
type Standing = HashMap<String, [u8; 3]>;

/// What came of the call about one pending answer.
pub(super) type Judged = (Pending, Asked);

/// What a slice has found out and not yet stored.
pub(super) struct Ledger<'a> {
    evaluation: &'a Evaluation,
    work: &'a Work<'a>,
    pub(super) outcomes: &'a mut [Outcome],
    progress: Progress,
    unsaved: Unsaved,
    /// Answers that a call failed at or was stopped: they get another one.
    pub(super) again: Vec<Pending>,
    /// Answers that a call failed at while nothing was scored: whose failure it is shows later.
    aside: Vec<(Pending, FailureRow)>,
    /// When all waits are over that the endpoint told.
    told_until: Instant,
    /// When what was stored was last safe from a power cut.
    lasting_at: Instant,
    /// Judgements that were stored since.
    not_lasting: Vec<JudgementRow>,
}

/// What came and is not stored yet.
#[derive(Default)]
struct Unsaved {
    judgements: Vec<JudgementRow>,
    failures: Vec<(Pending, FailureRow)>,
    spend: Vec<SpendRow>,
    /// Keys of calls that have ended.
    ended: Vec<String>,
    /// Their places, which are given back when all this is stored.
    passes: Vec<Pass>,
}

impl<'a> Ledger<'a> {
    pub(super) fn new(evaluation: &'a Evaluation, work: &'a Work<'a>, outcomes: &'a mut [Outcome]) -> Self {
        Ledger {
            evaluation,
            work,
            outcomes,
            progress: work.submission.progress,
            unsaved: Unsaved::default(),
            again: Vec::new(),
            aside: Vec::new(),
            told_until: Instant::now(),
            lasting_at: Instant::now(),
            not_lasting: Vec::new(),
        }
    }

    /// Takes over judgements that stand already and gives back what is left to ask.
    pub(super) async fn reuse(&mut self, pending: Vec<Pending>) -> Result<Vec<Pending>, WorkError> {
        let keys: Vec<String> = pending.iter().map(|pending| pending.key.clone()).collect();
        let (configuration_id, since_ms) = (self.work.configuration_id.to_owned(), self.work.anew_since_ms);
        let standing: Result<Standing, StoreError> = self
            .evaluation
            .store
            .write_recoverable(move |connection| {
                // Either what is replaced just now is seen, or whoever replaces it sees this lease.
                lock_configuration(connection, &configuration_id)?;
                load_standing(connection, &configuration_id, &keys, since_ms)
            })
            .await;
        self.take_over(pending, &standing?).await
    }

    /// Marks the answers that calls have failed at in earlier slices.
    pub(super) async fn mark_failed(&self, pending: &mut [Pending]) -> Result<(), WorkError> {
        let (id, under) = (self.work.submission.id.clone(), self.under());
        let load = move |connection: &mut DbConnection| load_failures(connection, &id, &under);
        let known: Result<Vec<FailureRow>, StoreError> = self.evaluation.store.read(load).await;
        let keys: HashSet<String> = known?.into_iter().map(|row| row.key).collect();
        for pending in pending {
            pending.has_failed = keys.contains(&pending.key);
        }
        Ok(())
    }

    /// Claims answers for this submission alone: what was judged meanwhile is taken over, what another submission asks
    /// about now is left out.
    pub(super) async fn claim(&mut self, pending: Vec<Pending>) -> Result<Vec<Pending>, WorkError> {
        let keys: Vec<String> = pending.iter().map(|pending| pending.key.clone()).collect();
        let (configuration_id, lease) = (self.work.configuration_id.to_owned(), self.work.lease.clone());
        let since_ms = self.work.anew_since_ms;
        let now_ms = self.evaluation.clock.now_ms();
        let claimed: Result<(HashSet<String>, Standing), StoreError> = self
            .evaluation
            .store
            .write_recoverable(move |connection| {
                let own = claims::claim_keys(connection, &configuration_id, &lease, &keys, now_ms)?;
                // Only now: whoever claimed a key before has stored its judgement by the time that the claim ends.
                Ok((own, load_standing(connection, &configuration_id, &keys, since_ms)?))
            })
            .await;
        let (own, standing) = claimed?;
        let left = self.take_over(pending, &standing).await?;
        Ok(left.into_iter().filter(|pending| own.contains(&pending.key)).collect())
    }

    async fn take_over(
        &mut self,
        pending: Vec<Pending>,
        standing: &Standing,
    ) -> Result<Vec<Pending>, WorkError> {
        let mut left = Vec::with_capacity(pending.len());
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
        if !standing.is_empty() {
            self.flush().await?;
        }
        Ok(left)
    }

    /// Notes what came of a call; says so when no further call makes sense.
    pub(super) fn take(&mut self, (pending, asked): Judged) -> Option<PausedFor> {
        let question_id = &self.work.release.key.question_ids[pending.place];
        let submission = &self.work.submission.id;
        self.unsaved.ended.push(pending.key.clone());
        self.spend(pending.rubric, &asked);
        self.unsaved.passes.extend(asked.pass);
        self.told_until = self.told_until.max(Instant::now() + asked.wait);
        match asked.result {
            Ok(verdict) => {
                self.outcomes[pending.place] = Outcome::Rubric { scores: verdict.scores };
                self.progress.judged += 1;
                let row = self.row(&pending, question_id, verdict, asked.usage);
                self.unsaved.judgements.push(row);
                None
            }
            Err(Failure::Item { reason, detail }) => {
                tracing::warn!(submission, question_id, %reason, detail, "not judged");
                let row = self.failure_row(&pending, question_id, reason, detail);
                self.unsaved.failures.push((Pending { wait: asked.wait, ..pending }, row));
                None
            }
            Err(Failure::Stopped) => {
                self.again.push(Pending { wait: asked.wait, ..pending });
                None
            }
            Err(failure @ Failure::Pause { .. }) => {
                let advice =
                    failure.advice().unwrap_or("a pending answer is tried until the judge answers again");
                tracing::warn!(submission, question_id, %failure, advice, "no judgement for now");
                Some(PausedFor::JudgeUnavailable)
            }
        }
    }

    fn under(&self) -> Under {
        Under::new(&self.work.release.release.id, self.work.configuration_id)
    }

    fn failure_row(
        &self,
        pending: &Pending,
        question_id: &str,
        reason: ItemReason,
        detail: String,
    ) -> FailureRow {
        FailureRow {
            submission_id: self.work.submission.id.clone(),
            release_id: self.work.release.release.id.clone(),
            configuration_id: self.work.configuration_id.to_owned(),
            question_id: question_id.to_owned(),
            key: pending.key.clone(),
            reason: FailureReason::from(reason).to_string(),
            detail,
            calls: 1,
            first_failed_at_ms: pending.asked_at_ms,
            last_failed_at_ms: self.evaluation.clock.now_ms(),
        }
    }

    /// Adds what a call took, whatever came of it.
    fn spend(&mut self, rubric: Rubric, asked: &Asked) {
        let tokens = |count: u64| i64::try_from(count).unwrap_or(i64::MAX);
        if asked.calls == 0 {
            return;
        }
        self.unsaved.spend.push(SpendRow {
            day: instant::day(self.evaluation.clock.now_ms()),
            configuration_id: self.work.configuration_id.to_owned(),
            rubric: rubric.to_string(),
            team_id: self.work.submission.team_id.clone(),
            calls: asked.calls.into(),
            prompt_tokens: tokens(asked.usage.prompt_tokens),
            cached_tokens: tokens(asked.usage.cached_tokens),
            completion_tokens: tokens(asked.usage.completion_tokens),
            cost_usd: self.evaluation.judges.cost_usd(asked.usage),
        });
    }

    fn row(&self, pending: &Pending, question_id: &str, verdict: Verdict, usage: Usage) -> JudgementRow {
        let tokens = |count: u64| i64::try_from(count).unwrap_or(i64::MAX);
        JudgementRow {
            configuration_id: self.work.configuration_id.to_owned(),
            key: pending.key.clone(),
            vote: if self.work.anew_since_ms.is_some() { WAITS } else { STANDS },
            question_id: question_id.to_owned(),
            scores: serde_json::json!(verdict.scores).to_string(),
            explanations: serde_json::json!(verdict.explanations).to_string(),
            answered_model: verdict.model,
            prompt_tokens: tokens(usage.prompt_tokens),
            cached_tokens: tokens(usage.cached_tokens),
            completion_tokens: tokens(usage.completion_tokens),
            cost_usd: self.evaluation.judges.cost_usd(usage),
            // Whatever another machine's clock said when all were asked for again.
            created_at_ms: self.evaluation.clock.now_ms().max(self.work.anew_since_ms.unwrap_or_default()),
        }
    }

    /// Stores what is new. Judgements are paid for and stay even if the lease was lost; the rest does not.
    pub(super) async fn flush(&mut self) -> Result<(), WorkError> {
        let Unsaved { judgements, failures, spend, ended, passes } = std::mem::take(&mut self.unsaved);
        let (failed, failures): (Vec<Pending>, Vec<FailureRow>) = failures.into_iter().unzip();
        let batch = Batch {
            lease: self.work.lease.clone(),
            under: self.under(),
            is_rejudging: self.work.is_rejudging,
            anew_since_ms: self.work.anew_since_ms,
            has_reserved: self.evaluation.judges.budget_usd().is_some(),
            judgements,
            spend,
            ended,
            failed_places: failed.iter().map(|pending| pending.place).collect(),
            failures: failures.clone(),
            outcomes: self.outcomes.to_vec(),
            progress: self.progress,
        };
        let has_probe = passes.iter().any(Pass::is_probe);
        let stored = self.store(batch).await;
        // Only now: calls whose verdicts are not stored yet are as good as under way.
        let settled = Pass::settle_all(passes);
        if has_probe {
            // Whether the circuit is closed now decides how the slice ends.
            settled.await;
        } else {
            tokio::spawn(settled);
        }
        let Some(Stored { outcomes, progress, fates }) = stored? else { return Err(WorkError::LeaseLost) };
        self.outcomes.copy_from_slice(&outcomes);
        self.progress = progress;
        for ((pending, row), fate) in failed.into_iter().zip(failures).zip(fates) {
            match fate {
                Fate::Again => self.again.push(Pending { has_failed: true, ..pending }),
                Fate::Failed(_) => {}
                Fate::Open => self.aside.push((pending, row)),
            }
        }
        Ok(())
    }

    /// Milliseconds until all waits are over that the endpoint told: whoever takes up what is left must not ask before.
    pub(super) fn told_ms(&self) -> i64 {
        let left = self.told_until.saturating_duration_since(Instant::now());
        i64::try_from(left.as_millis()).map_or(i64::MAX, |left_ms| left_ms + i64::from(left_ms > 0))
    }

    /// Whether there are answers of which nobody could tell whether they fail or the judge.
    pub(super) fn has_aside(&self) -> bool {
        !self.aside.is_empty()
    }

    /// Lets answers that were put aside have another call if others were judged meanwhile; says whether there are any.
    pub(super) async fn reconsider(&mut self) -> Result<bool, WorkError> {
        let (pending, rows): (Vec<Pending>, Vec<FailureRow>) =
            std::mem::take(&mut self.aside).into_iter().unzip();
        let find = {
            let rows = rows.clone();
            move |connection: &mut DbConnection| find_fates(connection, &rows)
        };
        let fates: Result<Vec<Fate>, StoreError> = self.evaluation.store.read(find).await;
        for ((pending, row), fate) in pending.into_iter().zip(rows).zip(fates?) {
            match fate {
                Fate::Open => self.aside.push((pending, row)),
                // Its last call comes too: before, nobody could tell whose failure it was.
                Fate::Again | Fate::Failed(_) => self.again.push(Pending { has_failed: true, ..pending }),
            }
        }
        Ok(!self.again.is_empty())
    }

    /// Stores a batch, again and again if need be: it was paid for.
    async fn store(&mut self, batch: Batch) -> Result<Option<Stored>, StoreError> {
        let store = &self.evaluation.store;
        let mut tries = 0;
        loop {
            let mut one = batch.clone();
            // A power cut undoes a second of judging at most, and nobody waits for the disk after each answer.
            let is_lasting = self.lasting_at.elapsed() >= LASTING_EVERY;
            let stored = if is_lasting {
                // A database on another machine may have lost them while this process lives and goes on after them.
                one.judgements.extend_from_slice(&self.not_lasting);
                store.write(move |connection| one.store(connection)).await
            } else {
                store.write_recoverable(move |connection| one.store(connection)).await
            };
            tries += 1;
            match stored {
                Err(error @ (StoreError::Connect(_) | StoreError::Statement(_))) if tries < STORE_TRIES => {
                    tracing::warn!(submission = self.work.submission.id, %error, "judgements could not be stored yet");
                    tokio::time::sleep(STORE_WAIT).await;
                }
                Ok(stored) if is_lasting => {
                    self.lasting_at = Instant::now();
                    self.not_lasting.clear();
                    return Ok(stored);
                }
                other => {
                    self.not_lasting.extend(batch.judgements);
                    return other;
                }
            }
        }
    }

    /// Lets go of what was claimed and is not judged.
    pub(super) async fn release(&self) -> Result<(), StoreError> {
        let lease = self.work.lease.clone();
        self.evaluation.store.write(move |connection| claims::release_keys(connection, &lease)).await
    }
}

/// The scores that count under these keys.
pub(super) fn load_standing(
    connection: &mut DbConnection,
    configuration_id: &str,
    keys: &[String],
    anew_since_ms: Option<i64>,
) -> Result<Standing, StoreError> {
    match anew_since_ms {
        None => load_judged(connection, configuration_id, keys),
        Some(since_ms) => load_judged_since(connection, configuration_id, keys, since_ms),
    }
}
