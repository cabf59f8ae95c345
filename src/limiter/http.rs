//! Requests a minute for each key or address, in this process. Knows nothing of what a request asks.

use std::num::NonZeroU32;
use std::time::Duration;

use governor::clock::{Clock as _, DefaultClock};
use governor::middleware::StateInformationMiddleware;
use governor::state::keyed::DefaultKeyedStateStore;
use governor::{Quota, RateLimiter};

type Buckets = RateLimiter<String, DefaultKeyedStateStore<String>, DefaultClock, StateInformationMiddleware>;

/// How many buckets are kept before those that are full again are dropped.
const SWEEP_ABOVE: usize = 10_000;

/// What the limiter says of one request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Turn {
    /// It may pass; so many more may follow at once.
    Pass {
        /// Requests left.
        remaining: u32,
    },
    /// It must wait.
    Wait(Duration),
}

/// Token buckets, one for each name.
pub struct HttpLimiter {
    buckets: Buckets,
    per_minute: NonZeroU32,
}

impl HttpLimiter {
    /// A limiter of so many requests a minute; none for 0.
    pub fn new(per_minute: u32) -> Option<HttpLimiter> {
        let per_minute = NonZeroU32::new(per_minute)?;
        let buckets =
            RateLimiter::keyed(Quota::per_minute(per_minute)).with_middleware::<StateInformationMiddleware>();
        Some(HttpLimiter { buckets, per_minute })
    }

    /// Requests a minute.
    pub fn per_minute(&self) -> u32 {
        self.per_minute.get()
    }

    /// Counts one request of `name`.
    pub fn take(&self, name: &str) -> Turn {
        if self.buckets.len() > SWEEP_ABOVE {
            self.buckets.retain_recent();
        }
        match self.buckets.check_key(&name.to_owned()) {
            Ok(state) => Turn::Pass { remaining: state.remaining_burst_capacity() },
            Err(refusal) => Turn::Wait(refusal.wait_time_from(DefaultClock::default().now())),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_name_has_a_bucket_of_its_own() {
        let limiter = HttpLimiter::new(2).unwrap();
        assert_eq!(limiter.take("a"), Turn::Pass { remaining: 1 });
        assert_eq!(limiter.take("a"), Turn::Pass { remaining: 0 });
        assert!(matches!(limiter.take("a"), Turn::Wait(wait) if wait <= Duration::from_secs(30)));
        assert_eq!(limiter.take("b"), Turn::Pass { remaining: 1 });
    }

    #[test]
    fn zero_is_no_limit() {
        assert!(HttpLimiter::new(0).is_none());
    }
}
