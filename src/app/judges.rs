//! The judges of a process: those that its settings describe, or one that a test handed in, with the gate before them.

use std::sync::Arc;

use crate::config::{JudgeSettings, QueueSettings};
use crate::domain::submission::PausedFor;
use crate::evaluation::judges::{Judges, flow_limits};
use crate::limiter::Gate;
use crate::queue::QueueError;
use crate::store::rejudgings::wake_rejudgings;
use crate::store::submissions::wake_paused;
use crate::store::{Store, load_installation_id};
use crate::telemetry::Metrics;

use super::{Process, StartError};

/// The judges of the settings, or the one that was handed in, as the ledger knows them unless an archive is shown.
pub(super) async fn open_judges(
    process: &Process,
    store: &Store,
    owner: &str,
    metrics: &Arc<Metrics>,
) -> Result<Judges, StartError> {
    let mut judges = match &process.given_judge {
        Some(judge) => Judges::given(judge.clone(), process.judge.judge_max_concurrency as usize),
        None => {
            let gate = gate(&process.judge, &process.queue, store, owner).await?;
            Judges::new(&process.judge, gate, metrics.clone())?
        }
    };
    judges.calibration_every_hours = process.judge.calibration_every_hours;
    if process.archive.is_some() {
        return Ok(judges);
    }
    judges.establish(store, process.clock.now_ms()).await?;
    // The budget may be another one than before.
    store
        .write(|connection| {
            wake_rejudgings(connection)?;
            wake_paused(connection, PausedFor::Budget)
        })
        .await?;
    Ok(judges)
}

/// The gate before the judge's endpoint: one for all processes that share a Redis.
async fn gate(
    judge: &JudgeSettings,
    queue: &QueueSettings,
    store: &Store,
    owner: &str,
) -> Result<Arc<Gate>, StartError> {
    let limits = flow_limits(judge);
    let gate = match (&queue.redis_url, &judge.judge_base_url) {
        (Some(redis_url), Some(base_url)) => {
            let name = format!("{}:{base_url}", store.read(load_installation_id).await?);
            Gate::shared(redis_url, &name, limits, owner.to_owned()).await.map_err(QueueError::from)?
        }
        _ => Gate::new(limits),
    };
    Ok(Arc::new(gate))
}
