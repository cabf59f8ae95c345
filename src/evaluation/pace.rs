//! How long the judge itself needs for so many answers, as its calls went lately. Knows nothing of submissions.

use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use crate::limiter::FlowLimits;

/// The share of the newest call in the mean: after a slice's worth of calls what was before hardly counts.
const NEWEST: f64 = 1.0 / 50.0;

/// Means over the latest calls.
#[derive(Clone, Copy)]
struct Means {
    seconds: f64,
    tokens: f64,
}

/// The pace that the judge keeps within its limits.
pub(super) struct Pace {
    limits: FlowLimits,
    means: Mutex<Option<Means>>,
}

impl Pace {
    /// A pace within `limits`, not known until a call has come back.
    pub(super) fn new(limits: FlowLimits) -> Pace {
        Pace { limits, means: Mutex::default() }
    }

    /// Notes a call that gave a verdict.
    pub(super) fn note(&self, took: Duration, tokens: u64) {
        let (seconds, tokens) = (took.as_secs_f64(), tokens as f64);
        let mut means = self.means.lock().unwrap_or_else(PoisonError::into_inner);
        let before = means.unwrap_or(Means { seconds, tokens });
        *means = Some(Means {
            seconds: before.seconds + NEWEST * (seconds - before.seconds),
            tokens: before.tokens + NEWEST * (tokens - before.tokens),
        });
    }

    /// Seconds that `calls` calls take when nothing else wants the judge: with as many under way as may be, or as its
    /// limits of requests and tokens allow, whichever is longer. None while no call has come back.
    pub(super) fn seconds(&self, calls: u32) -> Option<f64> {
        if calls == 0 {
            return Some(0.0);
        }
        let means = (*self.means.lock().unwrap_or_else(PoisonError::into_inner))?;
        let FlowLimits { concurrency, requests_per_minute, tokens_per_minute } = self.limits;
        let minutes = |amount: f64, limit: Option<u32>| limit.map_or(0.0, |limit| amount / f64::from(limit));
        let of_one = (means.seconds / f64::from(concurrency))
            .max(60.0 * minutes(1.0, requests_per_minute))
            .max(60.0 * minutes(means.tokens, tokens_per_minute));
        Some(f64::from(calls) * of_one)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LIMITS: FlowLimits =
        FlowLimits { concurrency: 10, requests_per_minute: None, tokens_per_minute: None };

    fn seconds(limits: FlowLimits) -> f64 {
        let pace = Pace::new(limits);
        assert_eq!((pace.seconds(0), pace.seconds(1)), (Some(0.0), None));
        pace.note(Duration::from_secs(2), 1000);
        pace.seconds(1000).unwrap()
    }

    #[test]
    fn the_narrowest_limit_sets_the_pace() {
        assert_eq!(seconds(LIMITS), 200.0);
        assert_eq!(seconds(FlowLimits { requests_per_minute: Some(100), ..LIMITS }), 600.0);
        assert_eq!(seconds(FlowLimits { requests_per_minute: Some(1000), ..LIMITS }), 200.0);
        assert_eq!(seconds(FlowLimits { tokens_per_minute: Some(50_000), ..LIMITS }), 1200.0);
    }

    #[test]
    fn what_the_judge_does_lately_counts() {
        let pace = Pace::new(LIMITS);
        pace.note(Duration::from_secs(100), 1);
        for _ in 0..500 {
            pace.note(Duration::from_secs(1), 1);
        }
        let seconds = pace.seconds(10).unwrap();
        assert!((1.0..1.01).contains(&seconds), "{seconds}");
    }
}
