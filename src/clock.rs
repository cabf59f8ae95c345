//! What time it is: the system's, or one that a test sets. Everything else is handed an instant.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::{SystemTime, UNIX_EPOCH};

/// A source of the present instant.
#[derive(Debug, Clone)]
pub enum Clock {
    /// The machine's clock.
    System,
    /// A clock that stands until it is moved.
    Manual(Arc<AtomicI64>),
}

impl Clock {
    /// A clock that stands at `now_ms`.
    pub fn manual(now_ms: i64) -> Clock {
        Clock::Manual(Arc::new(AtomicI64::new(now_ms)))
    }

    /// The present instant in UTC milliseconds.
    pub fn now_ms(&self) -> i64 {
        match self {
            Clock::Manual(now_ms) => now_ms.load(Ordering::SeqCst),
            Clock::System => SystemTime::now()
                .duration_since(UNIX_EPOCH)
                .map_or(0, |since| i64::try_from(since.as_millis()).unwrap_or(i64::MAX)),
        }
    }

    /// Moves a manual clock forward; the system's clock goes by itself.
    pub fn advance_ms(&self, by_ms: i64) {
        if let Clock::Manual(now_ms) = self {
            now_ms.fetch_add(by_ms, Ordering::SeqCst);
        }
    }
}
