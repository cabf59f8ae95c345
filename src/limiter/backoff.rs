//! How long to wait before something is asked again: full jitter, and what a server tells. Knows nothing of what is asked.

use std::time::Duration;

use chrono::{DateTime, Utc};

/// How long a retry waits: evenly between nothing and `base`, doubled by each try up to `cap`.
#[derive(Debug, Clone, Copy)]
pub struct Backoff {
    /// The longest wait after the first try.
    pub base: Duration,
    /// The longest wait after any try.
    pub cap: Duration,
}

impl Default for Backoff {
    fn default() -> Backoff {
        Backoff { base: Duration::from_millis(500), cap: Duration::from_secs(10) }
    }
}

impl Backoff {
    /// The wait after so many tries, at least one; `jitter` is evenly drawn from 0 to 1. Waits that are alike would send
    /// a crowd of callers back at once.
    pub fn wait(&self, tries: u32, jitter: f64) -> Duration {
        let doubled = self.base.saturating_mul(1 << tries.saturating_sub(1).min(16));
        doubled.min(self.cap).mul_f64(jitter.clamp(0.0, 1.0))
    }
}

/// The wait that a `Retry-After` tells, in seconds or as an HTTP date; none if it makes no sense or is over.
pub fn told_wait(retry_after: &str) -> Option<Duration> {
    match retry_after.trim().parse() {
        Ok(seconds) => Duration::try_from_secs_f64(seconds).ok(),
        Err(_) => {
            let until = DateTime::parse_from_rfc2822(retry_after.trim()).ok()?;
            let wait = (until.to_utc() - Utc::now()).to_std().ok()?;
            // A date was cut to its second; only that second's end is surely late enough.
            Some(wait + Duration::from_secs(1))
        }
    }
}
