//! The use cases from an uploaded file to a place on the board; they own the transactions. Knows nothing of HTTP.
//! A client grades with [`grading`] too, and has none of the others.

#[cfg(feature = "server")]
pub mod activating;
#[cfg(feature = "server")]
pub mod anew;
#[cfg(feature = "server")]
pub mod anonymity;
#[cfg(feature = "server")]
pub mod answers;
#[cfg(feature = "server")]
mod batch;
#[cfg(feature = "server")]
pub mod board_query;
#[cfg(feature = "server")]
pub mod board_rows;
#[cfg(feature = "server")]
mod board_scopes;
#[cfg(feature = "server")]
pub mod boards;
#[cfg(feature = "server")]
mod calls;
#[cfg(feature = "server")]
mod carrying;
#[cfg(feature = "server")]
pub mod catalogue;
#[cfg(feature = "server")]
pub mod comparing;
#[cfg(feature = "server")]
mod corrected;
#[cfg(feature = "server")]
pub mod correcting;
#[cfg(feature = "server")]
mod correction_outlook;
#[cfg(feature = "server")]
mod counting;
#[cfg(feature = "server")]
pub mod deciding;
#[cfg(feature = "server")]
mod ending;
#[cfg(feature = "server")]
pub mod entries;
#[cfg(feature = "server")]
pub mod entry_record;
#[cfg(feature = "server")]
pub mod estimate;
#[cfg(feature = "server")]
pub mod excerpts;
#[cfg(feature = "server")]
pub mod failed_answers;
#[cfg(feature = "server")]
pub mod flagged_answers;
#[cfg(feature = "server")]
pub mod following;
pub mod grading;
#[cfg(feature = "server")]
pub mod holding;
#[cfg(feature = "server")]
pub mod intake;
#[cfg(feature = "server")]
pub mod judges;
#[cfg(feature = "server")]
pub mod judging;
#[cfg(feature = "server")]
pub mod lifecycle;
#[cfg(feature = "server")]
pub mod marks;
pub mod offline;
#[cfg(feature = "server")]
mod pace;
#[cfg(feature = "server")]
pub mod quota;
#[cfg(feature = "server")]
pub mod ranging;
#[cfg(feature = "server")]
pub mod record_keys;
#[cfg(feature = "server")]
mod rejudging;
#[cfg(feature = "server")]
pub mod release_changes;
#[cfg(feature = "server")]
pub mod release_views;
#[cfg(feature = "server")]
pub mod rendered;
#[cfg(feature = "server")]
mod replacing;
#[cfg(feature = "server")]
pub mod report;
#[cfg(feature = "server")]
mod reserving;
#[cfg(feature = "server")]
pub mod series;
#[cfg(feature = "server")]
mod sharing;
#[cfg(feature = "server")]
pub mod spool;
#[cfg(feature = "server")]
pub mod staging;
#[cfg(feature = "server")]
pub mod staging_cost;
#[cfg(feature = "server")]
pub mod staging_moves;
#[cfg(feature = "server")]
pub mod standing;
#[cfg(feature = "server")]
pub mod team_standing;
#[cfg(feature = "server")]
pub mod turns;
#[cfg(feature = "server")]
pub mod usage;
#[cfg(feature = "server")]
pub mod validity;
#[cfg(feature = "server")]
mod verdicts;
#[cfg(feature = "server")]
pub mod waiting;
#[cfg(feature = "server")]
pub mod work;

#[cfg(feature = "server")]
use std::sync::Arc;
#[cfg(feature = "server")]
use std::sync::atomic::AtomicI64;

#[cfg(feature = "server")]
use tokio::sync::watch;

#[cfg(feature = "server")]
use crate::clock::Clock;
#[cfg(feature = "server")]
use crate::config::QuotaSettings;
#[cfg(feature = "server")]
use crate::queue::Queue;
#[cfg(feature = "server")]
use crate::store::Store;
#[cfg(feature = "server")]
use crate::telemetry::Metrics;

#[cfg(feature = "server")]
use catalogue::Catalogue;
#[cfg(feature = "server")]
use judges::Judges;
#[cfg(feature = "server")]
use turns::ReadingTurns;
#[cfg(feature = "server")]
use validity::report::Agreements;
#[cfg(feature = "server")]
use waiting::Waiting;

/// What every use case works with; one a process.
#[cfg(feature = "server")]
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
    /// What has not ended, as read last.
    pub waiting: Waiting,
    /// How far judges agree with people, as worked out last.
    pub agreements: Agreements,
    /// How many submissions a team may make.
    pub quota: QuotaSettings,
    /// Bytes of a prediction file, before and after decompression alike.
    pub max_upload_bytes: u64,
    /// How many files may be read at once.
    pub reading_turns: ReadingTurns,
    /// The board's revision at which this process last worked out what is to be rejudged; below 0 before the first time.
    pub settled_revision: AtomicI64,
    /// The board's revision at which this process last saw that all rank ranges stand; below 0 before the first time.
    pub ranged_revision: AtomicI64,
    /// When something that this process put back is to be taken up again, if it is the earliest.
    pub next_due_ms: watch::Sender<i64>,
}
