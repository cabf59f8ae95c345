//! What a slice of judging finds out: what is taken over, what is claimed, what came of each call, and when it is
//! stored. Knows nothing of how answers are asked about.

use std::collections::{HashMap, HashSet};

use crate::domain::instant;
use crate::domain::outcome::{FailureReason, Outcome};
use crate::domain::question::Rubric;
use crate::domain::submission::PausedFor;
use crate::judge::{Failure, ItemReason, PauseCause, Verdict};
use crate::store::judgements::{self, JudgementRow, SpendRow};
use crate::store::leases::confirm_lease;
use crate::store::submissions::{self, Progress};
use crate::store::{StoreError, claims, scores};

use super::Evaluation;
use super::judging::Work;
use super::work::WorkError;

/// Answers in a row that the judge does not score, however often it is asked, before it counts as out of reach.
const OUTAGE_STREAK: usize = 5;

/// One pending answer.
pub(super) struct Pending {
    /// The question's position in the release.
    pub(super) place: usize,
    pub(super) rubric: Rubric,
    /// The key under which its judgement stands.
    pub(super) key: String,
    /// The normalised answer.
    pub(super) answer: String,
}

/// Scores that stand, by the key of their judgement.
type Standing = HashMap<String, [u8; 3]>;

/// What came of the call about one pending answer.
pub(super) type Judged = (Pending, Result<Verdict, Failure>);

/// What a slice has found out and not yet stored.
pub(super) struct Ledger<'a> {
    evaluation: &'a Evaluation,
    work: &'a Work<'a>,
    pub(super) outcomes: &'a mut [Outcome],
    progress: Progress,
    unsaved: Vec<(Rubric, JudgementRow)>,
    /// Whether this slice's calls have scored an answer.
    has_scored: bool,
    /// Answers that the judge failed at since it last scored one.
    streak: Vec<Pending>,
    /// Answers that the judge failed at before it scored others: they get another chance.
    pub(super) again: Vec<Pending>,
    /// Places of the answers that have had it.
    tried_again: HashSet<usize>,
}

impl<'a> Ledger<'a> {
    pub(super) fn new(evaluation: &'a Evaluation, work: &'a Work<'a>, outcomes: &'a mut [Outcome]) -> Self {
        Ledger {
            evaluation,
            work,
            outcomes,
            progress: work.submission.progress,
            unsaved: Vec::new(),
            has_scored: false,
            streak: Vec::new(),
            again: Vec::new(),
            tried_again: HashSet::new(),
        }
    }

    /// Takes over judgements that stand already and gives back what is left to ask.
    pub(super) async fn reuse(&mut self, pending: Vec<Pending>) -> Result<Vec<Pending>, WorkError> {
        let keys: Vec<String> = pending.iter().map(|pending| pending.key.clone()).collect();
        let configuration_id = self.work.configuration_id.to_owned();
        let standing: Result<Standing, StoreError> = self
            .evaluation
            .store
            .read(move |connection| judgements::load_judged(connection, &configuration_id, &keys))
            .await;
        self.take_over(pending, &standing?).await
    }

    /// Claims answers for this submission alone: what was judged meanwhile is taken over, what another submission asks
    /// about now is left out.
    pub(super) async fn claim(&mut self, pending: Vec<Pending>) -> Result<Vec<Pending>, WorkError> {
        let keys: Vec<String> = pending.iter().map(|pending| pending.key.clone()).collect();
        let (configuration_id, lease) = (self.work.configuration_id.to_owned(), self.work.lease.clone());
        let now_ms = self.evaluation.clock.now_ms();
        let claimed: Result<(HashSet<String>, Standing), StoreError> = self
            .evaluation
            .store
            .write_recoverable(move |connection| {
                let own = claims::claim_keys(connection, &configuration_id, &lease, &keys, now_ms)?;
                // Only now: whoever claimed a key before has stored its judgement by the time that the claim ends.
                Ok((own, judgements::load_judged(connection, &configuration_id, &keys)?))
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
    pub(super) fn take(&mut self, (pending, result): Judged) -> Option<PausedFor> {
        let question_id = &self.work.release.question_ids[pending.place];
        match result {
            Ok(verdict) => {
                self.outcomes[pending.place] = Outcome::Rubric { scores: verdict.scores };
                self.progress.judged += 1;
                self.has_scored = true;
                self.settle_streak();
                self.unsaved.push((pending.rubric, self.row(&pending, question_id, verdict)));
                None
            }
            Err(Failure::Item { reason, detail }) => {
                tracing::warn!(submission = self.work.submission.id, question_id, %reason, detail, "not judged");
                self.fail(pending.place, failure_reason(reason));
                None
            }
            Err(Failure::Pause { cause, detail }) => {
                tracing::error!(submission = self.work.submission.id, question_id, %cause, detail, "no judgement");
                self.streak.push(pending);
                let outage = cause != PauseCause::Unavailable || self.streak.len() >= OUTAGE_STREAK;
                outage.then_some(PausedFor::JudgeUnavailable)
            }
        }
    }

    /// Decides on the answers that the judge failed at, if it has scored others: each is asked once more, since it may
    /// have met a short outage, and is then taken for the one that fails.
    pub(super) fn settle_streak(&mut self) {
        if !self.has_scored {
            return;
        }
        for pending in std::mem::take(&mut self.streak) {
            if self.tried_again.insert(pending.place) {
                self.again.push(pending);
            } else {
                self.fail(pending.place, FailureReason::Unavailable);
            }
        }
    }

    /// Whether there are answers that the judge failed at and none that it scored.
    pub(super) fn has_streak(&self) -> bool {
        !self.streak.is_empty()
    }

    fn fail(&mut self, place: usize, reason: FailureReason) {
        self.outcomes[place] = Outcome::Failed(reason);
        self.progress.failed += 1;
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
    pub(super) async fn flush(&mut self) -> Result<(), WorkError> {
        let unsaved = std::mem::take(&mut self.unsaved);
        let (spend, rows) =
            (self.spend(&unsaved), unsaved.into_iter().map(|(_, row)| row).collect::<Vec<_>>());
        let outcomes = self.outcomes.to_vec();
        let (lease, progress) = (self.work.lease.clone(), self.progress);
        let configuration_id = self.work.configuration_id.to_owned();
        let is_rejudging = self.work.is_rejudging;
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
                    if !is_rejudging {
                        submissions::update_progress(connection, &lease.name, progress)?;
                    }
                }
                Ok(held)
            })
            .await;
        if held? { Ok(()) } else { Err(WorkError::LeaseLost) }
    }

    /// Lets go of what was claimed and is not judged.
    pub(super) async fn release(&self) -> Result<(), StoreError> {
        let lease = self.work.lease.clone();
        self.evaluation
            .store
            .write_recoverable(move |connection| claims::release_keys(connection, &lease))
            .await
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
