//! A worker: takes submissions from the queue and works on each for a slice; and the reconciler, which puts back what
//! got lost; rank ranges are kept up to date; and the judge is calibrated. Knows nothing of what the work is.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::watch;
use tokio::task::JoinSet;

use crate::evaluation::Evaluation;
use crate::evaluation::holding::{reconcile, until_due};
use crate::evaluation::ranging::range_boards;
use crate::evaluation::validity::calibration::calibrate_due;
use crate::evaluation::work::work;
use crate::store::StoreError;
use crate::store::leases::free_leases_of;

/// Submissions that one process works on at once: while the calls of one slice end, those of another begin.
const SUBMISSIONS_AT_ONCE: usize = 4;

/// How long a pop waits, and so how soon a stop is noticed.
const POP_WAIT: Duration = Duration::from_secs(1);

/// How often lost work is looked for. With the lease's 15 s it is taken up again well within 30.
const RECONCILE_EVERY: Duration = Duration::from_secs(3);

/// How often it is looked whether rank ranges still stand, which takes one small query where nothing changed.
const RANGE_EVERY: Duration = Duration::from_secs(1);

/// How often it is looked whether the judge is due to be asked about rated answers.
const CALIBRATE_EVERY: Duration = Duration::from_secs(60);

/// Starts a worker in the name of `owner`, which no other living process has; it ends when `stopping` turns true.
///
/// # Errors
/// When the database fails at once.
pub async fn start(
    evaluation: Arc<Evaluation>,
    owner: String,
    stopping: watch::Receiver<bool>,
) -> Result<JoinSet<()>, StoreError> {
    free_own_leases(&evaluation, &owner).await?;
    reconcile(&evaluation, &owner).await?;
    let mut tasks = JoinSet::new();
    for _ in 0..SUBMISSIONS_AT_ONCE {
        tasks.spawn(take_and_work(evaluation.clone(), owner.clone(), stopping.clone()));
    }
    tasks.spawn(keep_beating(evaluation.clone(), stopping.clone()));
    if evaluation.judges.calibration_every_hours.is_some() {
        tasks.spawn(keep_calibrating(evaluation.clone(), owner.clone(), stopping.clone()));
    }
    tasks.spawn(keep_ranging(evaluation.clone(), owner.clone(), stopping.clone()));
    tasks.spawn(keep_reconciling(evaluation, owner, stopping));
    Ok(tasks)
}

/// Works until nothing waits; for tests and for one-off runs.
///
/// # Errors
/// When the database fails.
pub async fn drain(evaluation: &Evaluation, owner: &str) -> Result<(), StoreError> {
    let (_keeps_running, mut stopping) = watch::channel(false);
    loop {
        reconcile(evaluation, owner).await?;
        let Ok(Some(id)) = evaluation.queue.pop(Duration::ZERO).await else { break };
        work_on(evaluation, owner, &id, &mut stopping).await;
    }
    calibrate(evaluation, owner, &stopping).await;
    range(evaluation, owner, &mut stopping).await;
    Ok(())
}

/// Frees what a process of this name held when it was killed.
async fn free_own_leases(evaluation: &Evaluation, owner: &str) -> Result<(), StoreError> {
    let name = owner.to_owned();
    let freed = evaluation.store.write(move |connection| free_leases_of(connection, &name)).await?;
    if freed > 0 {
        tracing::info!(owner, freed, "took back what was held when this process was killed");
    }
    Ok(())
}

async fn take_and_work(evaluation: Arc<Evaluation>, owner: String, mut stopping: watch::Receiver<bool>) {
    while !*stopping.borrow() {
        match evaluation.queue.pop(POP_WAIT).await {
            Ok(Some(id)) => work_on(&evaluation, &owner, &id, &mut stopping).await,
            Ok(None) => {}
            Err(error) => {
                tracing::warn!(%error, "the queue is not reachable");
                pause(POP_WAIT, &mut stopping).await;
            }
        }
    }
}

async fn work_on(evaluation: &Evaluation, owner: &str, id: &str, stopping: &mut watch::Receiver<bool>) {
    if let Err(error) = work(evaluation, owner, id, stopping).await {
        tracing::warn!(submission = id, %error, "work broke off; it will be taken up again");
    }
}

async fn keep_reconciling(evaluation: Arc<Evaluation>, owner: String, mut stopping: watch::Receiver<bool>) {
    while !*stopping.borrow() {
        if let Err(error) = reconcile(&evaluation, &owner).await {
            tracing::warn!(%error, "lost work could not be looked for");
        }
        tokio::select! {
            () = pause(RECONCILE_EVERY, &mut stopping) => {}
            () = until_due(&evaluation) => {}
        }
    }
}

/// Keeps rank ranges up to date. Apart from the reconciler, which must not wait for a large board.
async fn keep_ranging(evaluation: Arc<Evaluation>, owner: String, mut stopping: watch::Receiver<bool>) {
    while !*stopping.borrow() {
        range(&evaluation, &owner, &mut stopping).await;
        pause(RANGE_EVERY, &mut stopping).await;
    }
}

async fn range(evaluation: &Evaluation, owner: &str, stopping: &mut watch::Receiver<bool>) {
    if let Err(error) = range_boards(evaluation, owner, stopping).await {
        tracing::warn!(%error, "rank ranges could not be worked out; it will be tried again");
    }
}

/// Asks the judge anew about rated answers whenever that is due.
async fn keep_calibrating(evaluation: Arc<Evaluation>, owner: String, mut stopping: watch::Receiver<bool>) {
    while !*stopping.borrow() {
        calibrate(&evaluation, &owner, &stopping).await;
        pause(CALIBRATE_EVERY, &mut stopping).await;
    }
}

async fn calibrate(evaluation: &Evaluation, owner: &str, stopping: &watch::Receiver<bool>) {
    if let Err(error) = calibrate_due(evaluation, owner, stopping).await {
        tracing::warn!(%error, "the judge could not be asked about rated answers; it will be tried again");
    }
}

/// Keeps the flow of calls informed of those that are under way here.
async fn keep_beating(evaluation: Arc<Evaluation>, mut stopping: watch::Receiver<bool>) {
    let Some(gate) = evaluation.judges.gate() else { return };
    tokio::select! {
        never = gate.keep_beating() => match never {},
        _stops = stopping.wait_for(|stop| *stop) => {}
    }
}

/// Waits so long, or until the process stops.
async fn pause(time: Duration, stopping: &mut watch::Receiver<bool>) {
    // An error means that the sender is gone, and so the process.
    let _stops = tokio::time::timeout(time, stopping.wait_for(|stop| *stop)).await;
}
