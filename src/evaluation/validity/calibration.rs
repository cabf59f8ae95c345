//! Asking the judge about the rated answers anew, so that drift shows: fresh calls, within the day's budget, apart from
//! what submissions are judged by. A run that breaks off goes on later where it stopped. Knows no measure but the mean and
//! the agreement.

use tokio::sync::watch;

use crate::clock::Clock;
use crate::store::calibrations::{CalibrationAnswer, Run, insert_run, load_calibration_answers, load_runs};
use crate::store::configurations::{CURRENT, STAGED, load_configurations};
use crate::store::leases::{self, Lease, claim_lease, release_lease};
use crate::store::ratings::{Rated, Study, find_active_study, load_rated};
use crate::store::{DbConnection, Store, StoreError};

use super::super::Evaluation;
use super::super::catalogue::Catalogue;
use super::super::judges::{Judges, JudgesError};
use super::calibration_run::Running;
use super::calibration_set::Questions;

const HOUR_MS: i64 = 3_600_000;

/// How long the right to calibrate stands without word: longer than any call may take.
pub(super) const LEASE_TTL_MS: i64 = 15 * 60 * 1000;

/// Why the judge was not asked about rated answers.
#[derive(Debug, thiserror::Error)]
pub enum CalibrationError {
    /// There is nothing to ask about.
    #[error(
        "there are no rated answers to ask about; `secchi validity import FILE.csv` takes in human ratings, and a column \
         `answer` in it what was rated"
    )]
    NoAnswers,
    /// There is no such configuration.
    #[error("there is no judge configuration `{0}`; `secchi judge list` lists them")]
    UnknownJudge(String),
    /// Another process does so.
    #[error(
        "another process asks the judge about the rated answers at present; try again when it is done, or 15 minutes after it was \
         killed"
    )]
    Elsewhere,
    /// The judge cannot be had.
    #[error(transparent)]
    Judges(#[from] JudgesError),
    /// A call to the judge died.
    #[error("a task ended early: {0}")]
    Task(#[from] tokio::task::JoinError),
    /// The database failed.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// How a run went.
#[derive(Debug, Clone, PartialEq)]
pub enum CalibrationEnd {
    /// Every answer is judged or has failed.
    Finished(Box<Run>),
    /// Answers are left; the same again goes on with them.
    Paused {
        /// Why, and what to do about it.
        reason: String,
        /// Items that are left.
        left: usize,
    },
}

/// What asking the judge about rated answers takes.
pub struct Calibrating<'a> {
    /// The ledger.
    pub store: &'a Store,
    /// The releases.
    pub catalogue: &'a Catalogue,
    /// The judges.
    pub judges: &'a Judges,
    /// The time.
    pub clock: &'a Clock,
}

/// Asks the current configuration, if its last run is so long ago as the settings say, and the staged one, if it never was
/// asked. Does nothing where the settings say nothing, or another process does so.
///
/// # Errors
/// When the judge cannot be had or the database fails.
pub async fn calibrate_due(
    evaluation: &Evaluation,
    owner: &str,
    stopping: &watch::Receiver<bool>,
) -> Result<(), CalibrationError> {
    let Some(every_hours) = evaluation.judges.calibration_every_hours else { return Ok(()) };
    let (store, now_ms) = (&evaluation.store, evaluation.clock.now_ms());
    let due =
        move |connection: &mut DbConnection| load_due(connection, i64::from(every_hours) * HOUR_MS, now_ms);
    let found: Result<Vec<String>, StoreError> = store.read(due).await;
    let calibrating = Calibrating {
        store,
        catalogue: &evaluation.catalogue,
        judges: &evaluation.judges,
        clock: &evaluation.clock,
    };
    for id in found? {
        let due_id = id.clone();
        let still_due = move |connection: &mut DbConnection| Ok(due(connection)?.contains(&due_id));
        match calibrating.run(owner, &id, stopping, Some(Box::new(still_due))).await {
            Ok(CalibrationEnd::Finished(run)) => {
                tracing::info!(
                    configuration = id,
                    mean = run.mean,
                    drift = run.drift,
                    "the judge is calibrated"
                );
            }
            Ok(CalibrationEnd::Paused { reason, left }) => {
                tracing::warn!(configuration = id, left, reason, "calibration pauses");
            }
            Err(CalibrationError::Elsewhere | CalibrationError::NoAnswers) => {}
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

/// The configurations that are due.
fn load_due(connection: &mut DbConnection, every_ms: i64, now_ms: i64) -> Result<Vec<String>, StoreError> {
    let Some(study) = find_active_study(connection)? else { return Ok(Vec::new()) };
    if !load_rated(connection, &study.id)?.iter().any(|rated| rated.answer.is_some()) {
        return Ok(Vec::new());
    }
    let mut due = Vec::new();
    for row in load_configurations(connection)? {
        let runs = load_runs(connection, &study.id, &row.id)?;
        let has_finished = runs.iter().any(|run| run.finished_at_ms.is_some());
        let is_due = match runs.last() {
            _ if row.state == STAGED => !has_finished,
            _ if row.state != CURRENT => false,
            Some(run) => run.finished_at_ms.is_none() || run.started_at_ms + every_ms <= now_ms,
            None => true,
        };
        if is_due {
            due.push(row.id);
        }
    }
    Ok(due)
}

type StillDue = Box<dyn FnOnce(&mut DbConnection) -> Result<bool, StoreError> + Send>;

impl Calibrating<'_> {
    /// Asks a configuration about every rated answer now.
    ///
    /// # Errors
    /// When there is nothing to ask about, no such configuration, another process does so, or the database fails.
    pub async fn calibrate(
        &self,
        owner: &str,
        configuration_id: &str,
        stopping: &watch::Receiver<bool>,
    ) -> Result<CalibrationEnd, CalibrationError> {
        self.run(owner, configuration_id, stopping, None).await
    }

    async fn run(
        &self,
        owner: &str,
        configuration_id: &str,
        stopping: &watch::Receiver<bool>,
        still_due: Option<StillDue>,
    ) -> Result<CalibrationEnd, CalibrationError> {
        let id = configuration_id.to_owned();
        let known: Result<_, StoreError> = self.store.read(load_configurations).await;
        if !known?.iter().any(|row| row.id == id) {
            return Err(CalibrationError::UnknownJudge(id));
        }
        let judge = self.judges.judge(self.store, configuration_id).await?;
        let questions = Questions::load(self.store, self.catalogue).await?;
        let (claimant, now_ms) = (owner.to_owned(), self.clock.now_ms());
        let begun: Result<Begun, CalibrationError> = self
            .store
            .write(move |connection| {
                let lease = claim_lease(connection, leases::CALIBRATION, &claimant, now_ms, LEASE_TTL_MS)?;
                let lease = lease.ok_or(CalibrationError::Elsewhere)?;
                // Only now: whoever held the lease before may have run it till then.
                if let Some(still_due) = still_due
                    && !still_due(connection)?
                {
                    // The lease is undone with the transaction.
                    return Err(CalibrationError::Elsewhere);
                }
                begin(connection, lease, &id, now_ms)
            })
            .await;
        let begun = begun?;
        let lease = begun.lease.clone();
        let run = Running { calibrating: self, judge, stopping: stopping.clone(), begun };
        let ended = run.finish_all(&questions).await;
        let released: Result<(), StoreError> =
            self.store.write(move |connection| release_lease(connection, &lease)).await;
        let ended = ended?;
        released?;
        Ok(ended)
    }
}

/// A run that this process may work on.
pub(super) struct Begun {
    pub(super) lease: Lease,
    pub(super) study: Study,
    pub(super) rated: Vec<Rated>,
    pub(super) run: Run,
    pub(super) done: Vec<CalibrationAnswer>,
}

/// Goes on with the run of a configuration that broke off, or begins one.
fn begin(
    connection: &mut DbConnection,
    lease: Lease,
    configuration_id: &str,
    now_ms: i64,
) -> Result<Begun, CalibrationError> {
    let study = find_active_study(connection)?.ok_or(CalibrationError::NoAnswers)?;
    let rated = load_rated(connection, &study.id)?;
    let with_answers = rated.iter().filter(|rated| rated.answer.is_some()).count();
    if with_answers == 0 {
        return Err(CalibrationError::NoAnswers);
    }
    let open = load_runs(connection, &study.id, configuration_id)?;
    let run = match open.into_iter().find(|run| run.finished_at_ms.is_none()) {
        Some(run) => run,
        None => {
            let run = Run {
                id: uuid::Uuid::now_v7().to_string(),
                study_id: study.id.clone(),
                configuration_id: configuration_id.to_owned(),
                started_at_ms: now_ms,
                finished_at_ms: None,
                reserved_usd: 0.0,
                items: i32::try_from(with_answers).unwrap_or(i32::MAX),
                failed: 0,
                mean: None,
                agreement: None,
                drift: None,
                agreement_drift: None,
            };
            insert_run(connection, &run)?;
            run
        }
    };
    let done = load_calibration_answers(connection, &run.id)?;
    Ok(Begun { lease, study, rated, run, done })
}
