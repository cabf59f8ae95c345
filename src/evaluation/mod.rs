//! The use cases from an uploaded file to a place on the board; they own the transactions. Knows nothing of HTTP.

mod batch;
pub mod board_query;
pub mod boards;
pub mod catalogue;
pub mod deciding;
mod ending;
pub mod estimate;
pub mod failed_answers;
pub mod grading;
pub mod holding;
pub mod intake;
pub mod judges;
pub mod judging;
pub mod lifecycle;
pub mod quota;
mod rejudging;
mod reserving;
pub mod staging;
pub mod staging_cost;
pub mod staging_moves;
pub mod standing;
pub mod usage;
mod verdicts;
pub mod work;

use std::sync::Arc;
use std::sync::atomic::AtomicI64;

use tokio::sync::{Semaphore, watch};

use crate::clock::Clock;
use crate::config::QuotaSettings;
use crate::queue::Queue;
use crate::store::Store;
use crate::telemetry::Metrics;

use catalogue::Catalogue;
use judges::Judges;

/// What every use case works with; one a process.
pub struct Evaluation {
    /// The ledger.
    pub store: Store,
    /// Hands submissions to workers.
    pub queue: Queue,
    /// What time it is.
    pub clock: Clock,
    /// What is counted.
    pub metrics: Arc<Metrics>,
    /// Releases as grading needs them.
    pub catalogue: Catalogue,
    /// The judges of the stored configurations.
    pub judges: Judges,
    /// How many submissions a team may make.
    pub quota: QuotaSettings,
    /// Bytes of a prediction file, before and after decompression alike.
    pub max_upload_bytes: u64,
    /// How many files may be read at once: each may hold a whole JSON document in memory.
    pub reading_turns: Semaphore,
    /// The board's revision at which this process last worked out what is to be rejudged; below 0 before the first time.
    pub settled_revision: AtomicI64,
    /// When something that this process put back is to be taken up again, if it is the earliest.
    pub next_due_ms: watch::Sender<i64>,
}
