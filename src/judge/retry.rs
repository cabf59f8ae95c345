//! Whether a faulty try is repeated, after which wait, and what a call that gives up means.
//! Knows neither HTTP nor a clock: times and chance are handed in.

use std::time::Duration;

use super::fault::{CallFault, FaultKind};
use super::{Failure, ItemReason, PauseCause};
use crate::limiter::Backoff;

const MAX_TRIES: u32 = 6;
/// Asking again for a reply that is no verdict.
const MAX_MALFORMED: u32 = 2;
/// A refusal often holds; a second one is taken for an answer.
const MAX_REFUSED: u32 = 1;
/// All tries and waits of one call together.
pub(super) const CALL_DEADLINE: Duration = Duration::from_secs(600);

/// What follows a faulty try.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Next {
    /// Ask again after this wait.
    Again(Duration),
    /// Give up.
    Stop(Failure),
}

/// The history of one call.
#[derive(Debug)]
pub(super) struct Retries {
    backoff: Backoff,
    tries: u32,
    malformed: u32,
    refused: u32,
    lengthened: bool,
    spent: Duration,
}

impl Retries {
    pub(super) fn new(backoff: Backoff) -> Retries {
        Retries { backoff, tries: 0, malformed: 0, refused: 0, lengthened: false, spent: Duration::ZERO }
    }

    /// Whether the token cap is doubled from now on.
    pub(super) fn is_lengthened(&self) -> bool {
        self.lengthened
    }

    /// What follows a try that took `took` and ended in `fault`; `jitter` is evenly drawn from 0 to 1.
    pub(super) fn after(&mut self, fault: &CallFault, took: Duration, jitter: f64) -> Next {
        self.tries += 1;
        self.spent += took;
        if self.tries >= MAX_TRIES || !self.may_repeat(fault) {
            return Next::Stop(self.failure(fault));
        }
        let wait = match fault.kind {
            // The next request differs, so there is nothing to wait for.
            FaultKind::Parameter | FaultKind::Length => Duration::ZERO,
            _ => fault.wait.unwrap_or_default().saturating_add(self.backoff.wait(self.tries, jitter)),
        };
        self.spent = self.spent.saturating_add(wait);
        if self.spent > CALL_DEADLINE { Next::Stop(self.failure(fault)) } else { Next::Again(wait) }
    }

    fn may_repeat(&mut self, fault: &CallFault) -> bool {
        let counted = |count: &mut u32, most: u32| {
            *count += 1;
            *count <= most
        };
        match fault.kind {
            // The next request is another one.
            FaultKind::Parameter => true,
            _ if fault.may_retry == Some(false) => false,
            kind if kind.is_outage() => true,
            FaultKind::Malformed | FaultKind::WrongModel => counted(&mut self.malformed, MAX_MALFORMED),
            FaultKind::Refusal | FaultKind::ContentFilter => counted(&mut self.refused, MAX_REFUSED),
            FaultKind::Length => !std::mem::replace(&mut self.lengthened, true),
            FaultKind::BadRequest => fault.may_retry == Some(true),
            _ => false,
        }
    }

    fn failure(&self, fault: &CallFault) -> Failure {
        let detail = match self.tries {
            1 => fault.detail.to_string(),
            tries => format!("{fault}, after {tries} tries"),
        };
        let pause = |cause| Failure::Pause { cause, detail: detail.clone() };
        let item = |reason| Failure::Item { reason, detail: detail.clone() };
        match fault.kind {
            // Whether nobody is served, the circuit knows; here it is this one who was not.
            FaultKind::Transport | FaultKind::Deadline | FaultKind::Server => item(ItemReason::Unavailable),
            FaultKind::RateLimit | FaultKind::SlowDown | FaultKind::Overload => item(ItemReason::Unavailable),
            FaultKind::Money => pause(PauseCause::Money),
            FaultKind::Key => pause(PauseCause::Key),
            FaultKind::MissingModel => pause(PauseCause::MissingModel),
            FaultKind::WrongModel => pause(PauseCause::WrongModel),
            FaultKind::SchemaRefused => pause(PauseCause::SchemaRefused),
            FaultKind::ContextTooLong => item(ItemReason::ContextTooLong),
            FaultKind::Parameter | FaultKind::BadRequest => item(ItemReason::BadRequest),
            FaultKind::ContentFilter => item(ItemReason::ContentFilter),
            FaultKind::Refusal => item(ItemReason::Refusal),
            FaultKind::Length => item(ItemReason::Length),
            FaultKind::Malformed => item(ItemReason::Malformed),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: Duration = Duration::from_secs(1);

    fn of(kind: FaultKind) -> CallFault {
        CallFault::new(kind, "d")
    }

    /// Tries until the call gives up on such faults, and the failure.
    fn exhaust(fault: &CallFault) -> (u32, Failure) {
        let mut retries = Retries::new(Backoff::default());
        loop {
            if let Next::Stop(failure) = retries.after(fault, SECOND, 0.5) {
                return (retries.tries, failure);
            }
        }
    }

    #[test]
    fn every_kind_of_fault_is_tried_as_often_as_it_deserves_and_fails_as_what_it_is() {
        use FaultKind as K;
        let pause = |cause| Err(cause);
        for (kind, tries, failure) in [
            (K::Transport, 6, Ok(ItemReason::Unavailable)),
            (K::Deadline, 6, Ok(ItemReason::Unavailable)),
            (K::RateLimit, 6, Ok(ItemReason::Unavailable)),
            (K::SlowDown, 6, Ok(ItemReason::Unavailable)),
            (K::Overload, 6, Ok(ItemReason::Unavailable)),
            (K::Server, 6, Ok(ItemReason::Unavailable)),
            (K::Money, 1, pause(PauseCause::Money)),
            (K::Key, 1, pause(PauseCause::Key)),
            (K::MissingModel, 1, pause(PauseCause::MissingModel)),
            (K::WrongModel, 3, pause(PauseCause::WrongModel)),
            (K::SchemaRefused, 1, pause(PauseCause::SchemaRefused)),
            (K::Parameter, 6, Ok(ItemReason::BadRequest)),
            (K::ContextTooLong, 1, Ok(ItemReason::ContextTooLong)),
            (K::BadRequest, 1, Ok(ItemReason::BadRequest)),
            (K::ContentFilter, 2, Ok(ItemReason::ContentFilter)),
            (K::Refusal, 2, Ok(ItemReason::Refusal)),
            (K::Length, 2, Ok(ItemReason::Length)),
            (K::Malformed, 3, Ok(ItemReason::Malformed)),
        ] {
            let (tried, failed) = exhaust(&of(kind));
            let failed = match failed {
                Failure::Item { reason, .. } => Ok(reason),
                Failure::Pause { cause, .. } => Err(cause),
                Failure::Stopped => unreachable!(),
            };
            assert_eq!((tried, failed), (tries, failure), "{kind}");
        }
    }

    #[test]
    fn the_servers_word_ends_tries_or_allows_them_where_the_kind_leaves_it_open() {
        use FaultKind as K;
        for (kind, may_retry, tries) in [
            (K::Server, false, 1),
            (K::RateLimit, false, 1),
            (K::ContentFilter, false, 1),
            (K::Parameter, false, 6),
            (K::BadRequest, false, 1),
            (K::Server, true, 6),
            (K::BadRequest, true, 6),
            (K::ContextTooLong, true, 1),
            (K::Money, true, 1),
            (K::Key, true, 1),
            (K::SchemaRefused, true, 1),
        ] {
            let told = CallFault { may_retry: Some(may_retry), ..of(kind) };
            assert_eq!(exhaust(&told).0, tries, "{kind} {may_retry}");
        }
    }

    #[test]
    fn the_wait_doubles_up_to_the_cap_and_chance_shortens_it() {
        let waits = |jitter: f64| {
            let mut retries = Retries::new(Backoff::default());
            std::array::from_fn::<_, 5, _>(|_| match retries.after(&of(FaultKind::Server), SECOND, jitter) {
                Next::Again(wait) => wait.as_millis(),
                Next::Stop(failure) => unreachable!("{failure}"),
            })
        };
        assert_eq!(waits(1.0), [500, 1000, 2000, 4000, 8000]);
        assert_eq!(waits(0.5), [250, 500, 1000, 2000, 4000]);
        let mut short = Retries::new(Backoff { base: SECOND, cap: SECOND });
        short.after(&of(FaultKind::Server), SECOND, 1.0);
        assert_eq!(short.after(&of(FaultKind::Server), SECOND, 1.0), Next::Again(SECOND));
    }

    #[test]
    fn a_told_wait_is_the_floor_and_chance_lengthens_it() {
        let told = CallFault { wait: Some(7 * SECOND), ..of(FaultKind::RateLimit) };
        let after = |jitter| Retries::new(Backoff::default()).after(&told, SECOND, jitter);
        assert_eq!(after(0.0), Next::Again(7 * SECOND));
        assert_eq!(after(1.0), Next::Again(7 * SECOND + Duration::from_millis(500)));
    }

    #[test]
    fn no_call_goes_on_past_its_deadline() {
        let hour = CallFault { wait: Some(3600 * SECOND), ..of(FaultKind::RateLimit) };
        let mut told = Retries::new(Backoff::default());
        assert!(matches!(
            told.after(&hour, SECOND, 0.0),
            Next::Stop(Failure::Item { reason: ItemReason::Unavailable, .. })
        ));
        let mut slow = Retries::new(Backoff::default());
        assert!(matches!(slow.after(&of(FaultKind::Deadline), 599 * SECOND, 0.0), Next::Again(_)));
        assert!(matches!(slow.after(&of(FaultKind::Deadline), 2 * SECOND, 0.0), Next::Stop(_)));
    }

    #[test]
    fn a_cut_reply_doubles_the_cap_once_and_at_once() {
        let mut retries = Retries::new(Backoff::default());
        assert!(!retries.is_lengthened());
        assert_eq!(retries.after(&of(FaultKind::Length), SECOND, 1.0), Next::Again(Duration::ZERO));
        assert!(retries.is_lengthened());
    }
}
