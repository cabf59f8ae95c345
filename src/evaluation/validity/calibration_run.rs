//! A run over the rated answers: some at a time are asked about, within the day's budget, and stored as they come; at the
//! end it is held against the configuration's first. Knows nothing of when a run is due.

use std::sync::Arc;

use futures::FutureExt as _;
use tokio::sync::watch;
use tokio::task::JoinSet;

use crate::domain::instant;
use crate::domain::line::Line;
use crate::judge::{Asked, Asking, Failure, Further, Judge};
use crate::scoring::agreement::summary;
use crate::store::StoreError;
use crate::store::calibrations::{
    CalibrationAnswer, CalibrationSpend, Run, add_calibration_spend, finish_run, insert_calibration_answers,
    load_calibration_answers, load_calibration_reserved_usd, load_runs, reserve_for_run,
};
use crate::store::claims::{Reservation, does_test_want_money, load_reserved_usd, lock_budget};
use crate::store::judgements::load_spent_usd;
use crate::store::leases::renew_lease;
use crate::store::ratings::Rated;

use super::calibration::{Begun, Calibrating, CalibrationEnd, CalibrationError, LEASE_TTL_MS};
use super::calibration_set::{Questions, Target, targets};
use super::measuring::{items, scores_of};

/// A run in the hands of this process.
pub(super) struct Running<'a> {
    pub(super) calibrating: &'a Calibrating<'a>,
    pub(super) judge: Arc<dyn Judge>,
    pub(super) stopping: watch::Receiver<bool>,
    pub(super) begun: Begun,
}

impl Running<'_> {
    /// Asks about what is left, until nothing is or something stands in the way.
    pub(super) async fn finish_all(
        mut self,
        questions: &Questions,
    ) -> Result<CalibrationEnd, CalibrationError> {
        let (targets, lost) = targets(&self.begun.rated, questions);
        let lost: Vec<CalibrationAnswer> = lost
            .into_iter()
            .map(|position| CalibrationAnswer {
                position,
                key: String::new(),
                result: Err("unknown_question".to_owned()),
            })
            .collect();
        self.store(lost, Vec::new()).await?;
        let is_done = |begun: &Begun, target: &Target| {
            target.positions.iter().all(|position| begun.done.iter().any(|done| done.position == *position))
        };
        let (wordless, mut left): (Vec<Target>, Vec<Target>) =
            targets.into_iter().filter(|target| !is_done(&self.begun, target)).partition(Target::is_wordless);
        self.store(wordless.iter().flat_map(|target| came(target, Ok([0; 3]))).collect(), Vec::new()).await?;
        while !left.is_empty() {
            if let Some(reason) = self.obstacle().await? {
                return Ok(paused(reason, &left));
            }
            let chunk = self.chunk(&mut left).await?;
            if chunk.is_empty() {
                return Ok(paused("the day's judge budget has no room for it".to_owned(), &left));
            }
            let mut obstacle = None;
            let (mut answers, mut spend, mut again) = (Vec::new(), Vec::new(), Vec::new());
            for (target, asked) in self.ask(chunk).await? {
                spend.extend(self.spend(&target, &asked));
                match asked.result {
                    Ok(verdict) => answers.extend(came(&target, Ok(verdict.scores))),
                    Err(Failure::Item { reason, .. }) => {
                        answers.extend(came(&target, Err(reason.to_string())))
                    }
                    Err(Failure::Stopped) => again.push(target),
                    Err(failure @ Failure::Pause { .. }) => {
                        let advice = failure.advice().map(|advice| format!("; {advice}")).unwrap_or_default();
                        obstacle.get_or_insert(format!("{failure}{advice}"));
                        again.push(target);
                    }
                }
            }
            self.store(answers, spend).await?;
            left.extend(again);
            if let Some(reason) = obstacle {
                return Ok(paused(reason, &left));
            }
        }
        self.end().await
    }

    /// Why no call can be made now, if so.
    async fn obstacle(&self) -> Result<Option<String>, CalibrationError> {
        if *self.stopping.borrow() {
            return Ok(Some("the process stops".to_owned()));
        }
        let rest_ms = self.calibrating.judges.rest_ms(self.calibrating.store).await?;
        Ok(rest_ms.map(|_| "the judge is given up for the moment".to_owned()))
    }

    /// The next answers to ask about: as many as may be under way at once and as there is money for, which is set aside.
    async fn chunk(&self, left: &mut Vec<Target>) -> Result<Vec<Target>, CalibrationError> {
        let most = self.calibrating.judges.max_concurrency().max(1).min(left.len());
        let Some(budget_usd) = self.calibrating.judges.budget_usd() else {
            return Ok(left.drain(..most).collect());
        };
        let each_usd = left[..most].iter().map(|target| self.most_usd(target)).fold(0.0, f64::max);
        let (run_id, now_ms) = (self.begun.run.id.clone(), self.calibrating.clock.now_ms());
        let granted: Result<usize, StoreError> = self
            .calibrating
            .store
            .write_recoverable(move |connection| {
                lock_budget(connection)?;
                // What is about to be ranked goes first.
                if does_test_want_money(connection)? {
                    return Ok(0);
                }
                let spent_usd = load_spent_usd(connection, &instant::day(now_ms))?;
                let reservation = Reservation { budget_usd, spent_usd, each_usd };
                let granted = reservation.grants(load_reserved_usd(connection, now_ms)?, most);
                reserve_for_run(connection, &run_id, each_usd * granted as f64)?;
                Ok(granted)
            })
            .await;
        Ok(left.drain(..granted?).collect())
    }

    fn most_usd(&self, target: &Target) -> f64 {
        let item = target.release.key.item(target.place, &target.answer);
        item.map_or(0.0, |item| self.calibrating.judges.cost_usd(self.judge.tokens(&item)))
    }

    /// Asks about all of these at once.
    async fn ask(&self, chunk: Vec<Target>) -> Result<Vec<(Target, Asked)>, CalibrationError> {
        let mut calls = JoinSet::new();
        for target in chunk {
            let (judge, further) = (self.judge.clone(), self.further());
            let line = Line::background(target.release.release.split);
            let asking = Asking { line, stop: self.stopping.clone(), further, ..Asking::to_the_end() };
            calls.spawn(async move {
                let asked = match target.release.key.item(target.place, &target.answer) {
                    Some(item) => judge.judge(&item, asking).await,
                    None => Asked::free(Err(Failure::Stopped)),
                };
                (target, asked)
            });
        }
        let mut came = Vec::new();
        while let Some(ended) = calls.join_next().await {
            let (target, mut asked) = ended?;
            // At once: the others of these may wait for the place.
            if let Some(pass) = asked.pass.take() {
                pass.settle().await;
            }
            came.push((target, asked));
        }
        Ok(came)
    }

    /// Asks for more money before a further try; none where there is no budget.
    fn further(&self) -> Option<Further> {
        let budget_usd = self.calibrating.judges.budget_usd()?;
        let prices = self.calibrating.judges.prices();
        let (store, clock) = (self.calibrating.store.clone(), self.calibrating.clock.clone());
        let run_id = self.begun.run.id.clone();
        Some(Arc::new(move |_so_far, next| {
            let (store, run_id, now_ms) = (store.clone(), run_id.clone(), clock.now_ms());
            let next_usd = prices.cost_usd(next);
            async move {
                let granted: Result<bool, StoreError> = store
                    .write_recoverable(move |connection| {
                        lock_budget(connection)?;
                        let reserved_usd = load_calibration_reserved_usd(connection, now_ms)?;
                        let taken_usd = load_spent_usd(connection, &instant::day(now_ms))?
                            + load_reserved_usd(connection, now_ms)?
                            + reserved_usd;
                        let is_enough = taken_usd + next_usd <= budget_usd;
                        if is_enough {
                            // What the tries so far cost is booked later, and is within what was set aside for them.
                            reserve_for_run(connection, &run_id, reserved_usd + next_usd)?;
                        }
                        Ok(is_enough)
                    })
                    .await;
                granted.unwrap_or_else(|error| {
                    tracing::warn!(%error, "no money could be reserved for a further try");
                    false
                })
            }
            .boxed()
        }))
    }

    fn spend(&self, target: &Target, asked: &Asked) -> Option<CalibrationSpend> {
        let rubric = target.release.key.facts.get(target.place)?.question_type.rubric()?;
        let tokens = |count: u64| i64::try_from(count).unwrap_or(i64::MAX);
        (asked.calls > 0).then(|| CalibrationSpend {
            day: instant::day(self.calibrating.clock.now_ms()),
            configuration_id: self.begun.run.configuration_id.clone(),
            rubric: rubric.to_string(),
            calls: asked.calls.into(),
            prompt_tokens: tokens(asked.usage.prompt_tokens),
            cached_tokens: tokens(asked.usage.cached_tokens),
            completion_tokens: tokens(asked.usage.completion_tokens),
            cost_usd: self.calibrating.judges.cost_usd(asked.usage),
        })
    }

    /// Stores what came, with what it cost, and gives back what was set aside.
    async fn store(
        &mut self,
        answers: Vec<CalibrationAnswer>,
        spend: Vec<CalibrationSpend>,
    ) -> Result<(), CalibrationError> {
        let known =
            |done: &CalibrationAnswer| self.begun.done.iter().any(|other| other.position == done.position);
        let answers: Vec<CalibrationAnswer> = answers.into_iter().filter(|answer| !known(answer)).collect();
        let (run_id, lease, rows) = (self.begun.run.id.clone(), self.begun.lease.clone(), answers.clone());
        let now_ms = self.calibrating.clock.now_ms();
        let held: Result<bool, StoreError> = self
            .calibrating
            .store
            .write(move |connection| {
                // It was paid for, whoever holds the lease now.
                insert_calibration_answers(connection, &run_id, &rows)?;
                spend.iter().try_for_each(|row| add_calibration_spend(connection, row))?;
                let held = renew_lease(connection, &lease, now_ms, LEASE_TTL_MS)?;
                if held {
                    reserve_for_run(connection, &run_id, 0.0)?;
                }
                Ok(held)
            })
            .await;
        self.begun.done.extend(answers);
        if held? { Ok(()) } else { Err(CalibrationError::Elsewhere) }
    }

    async fn end(self) -> Result<CalibrationEnd, CalibrationError> {
        let Begun { lease, study, rated, mut run, done } = self.begun;
        let now_ms = self.calibrating.clock.now_ms();
        let finished: Result<Run, CalibrationError> = self
            .calibrating
            .store
            .write(move |connection| {
                if !renew_lease(connection, &lease, now_ms, LEASE_TTL_MS)? {
                    return Err(CalibrationError::Elsewhere);
                }
                run.finished_at_ms = Some(now_ms);
                run.failed = i32::try_from(done.iter().filter(|done| done.result.is_err()).count())
                    .unwrap_or(i32::MAX);
                (run.mean, run.agreement) = summary(&items(&rated, &scores_of(&rated, &done)));
                let runs = load_runs(connection, &study.id, &run.configuration_id)?;
                let first = runs.into_iter().find(|other| other.finished_at_ms.is_some());
                if let Some(first) = first {
                    let before = load_calibration_answers(connection, &first.id)?;
                    (run.drift, run.agreement_drift) = drift(&rated, &before, &done);
                } else {
                    // The first run is what later ones are held against.
                    (run.drift, run.agreement_drift) = (run.mean.map(|_| 0.0), run.agreement.map(|_| 0.0));
                }
                finish_run(connection, &run)?;
                Ok(run)
            })
            .await;
        Ok(CalibrationEnd::Finished(Box::new(finished?)))
    }
}

/// How mean and agreement have moved, on the items that both runs have scored and whose question and answer are the same.
fn drift(
    rated: &[Rated],
    before: &[CalibrationAnswer],
    after: &[CalibrationAnswer],
) -> (Option<f64>, Option<f64>) {
    let is_in = |others: &[CalibrationAnswer], one: &CalibrationAnswer| {
        let is_same = |other: &&CalibrationAnswer| other.position == one.position && other.key == one.key;
        others.iter().find(is_same).is_some_and(|other| other.result.is_ok()) && one.result.is_ok()
    };
    let kept = |from: &[CalibrationAnswer], others: &[CalibrationAnswer]| {
        let both: Vec<CalibrationAnswer> = from.iter().filter(|one| is_in(others, one)).cloned().collect();
        summary(&items(rated, &scores_of(rated, &both)))
    };
    let ((mean, agreement), (mean_before, agreement_before)) = (kept(after, before), kept(before, after));
    let minus = |now: Option<f64>, then: Option<f64>| Some(now? - then?);
    (minus(mean, mean_before), minus(agreement, agreement_before))
}

fn came(target: &Target, result: Result<[u8; 3], String>) -> Vec<CalibrationAnswer> {
    let answer = |position: &usize| CalibrationAnswer {
        position: *position,
        key: target.key.clone(),
        result: result.clone(),
    };
    target.positions.iter().map(answer).collect()
}

fn paused(reason: String, left: &[Target]) -> CalibrationEnd {
    CalibrationEnd::Paused { reason, left: left.iter().map(|target| target.positions.len()).sum() }
}
