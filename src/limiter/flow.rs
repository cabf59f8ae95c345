//! The flow of calls to one endpoint as a state that is moved by what happens: places, requests and tokens a minute, and
//! the circuit that opens when nothing succeeds. Knows neither a clock nor where the state lies.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// Things in a row that are asked for the first time and fail, without one success, that open the circuit.
const MAX_FAILURES: u32 = 20;

/// The wait before the first probe of an open circuit; each probe that fails doubles it.
const FIRST_PROBE_MS: i64 = 250;

/// The longest wait between two probes.
const MAX_PROBE_MS: i64 = 15_000;

/// How long those rest who come while a probe is under way.
const PROBE_REST_MS: i64 = 3_000;

/// The longest told wait that everybody observes; a longer one is a matter of the call that it was told.
const MAX_HOLD_MS: i64 = 30_000;

/// How long a holder's calls count after it was last heard of: as long as a lease on a submission.
pub(super) const HOLDER_TTL_MS: i64 = 15_000;

/// A bucket holds what is due in so many minutes; more at once would be a burst that some servers refuse.
const BURST_MINUTES: f64 = 1.0 / 60.0;

/// What an endpoint allows.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct FlowLimits {
    /// Calls at once; at least 1.
    pub concurrency: u32,
    /// Requests a minute.
    pub requests_per_minute: Option<u32>,
    /// Tokens a minute, sent and received.
    pub tokens_per_minute: Option<u32>,
}

/// Why no call may begin.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Closed {
    /// What opened the circuit: the label of a fault.
    pub cause: String,
    /// What was said then, for a maintainer.
    pub detail: String,
    /// When it opened.
    pub since_ms: i64,
    /// When the next probe may go out.
    pub retry_at_ms: i64,
}

/// What a call came to, as far as the flow is concerned.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Effect {
    /// A valid reply.
    Success,
    /// A reply that is of no use, by an endpoint that works.
    Reply,
    /// No reply, or one that says that the endpoint does not work at present.
    Failure {
        /// Whether fewer calls at once might have helped.
        overload: bool,
        /// Whether it was asked for the first time: that the same thing fails again says nothing of the endpoint.
        is_news: bool,
        /// The label of the fault.
        cause: String,
        /// What was said.
        detail: String,
    },
    /// Nothing can succeed before somebody mends it: money, key or model.
    Stop {
        /// The label of the fault.
        cause: String,
        /// What was said.
        detail: String,
    },
    /// The caller gave the call up.
    Abandoned,
}

/// What a server told with its reply.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Told {
    /// How long to wait, in milliseconds.
    pub wait_ms: Option<i64>,
    /// Requests that it would still take now.
    pub requests: Option<u32>,
    /// Tokens that it would still take now.
    pub tokens: Option<u32>,
}

/// A call that has ended.
#[derive(Debug, Clone)]
pub(super) struct Ended {
    /// Tokens that were set aside for it.
    pub(super) reserved_tokens: u64,
    /// Tokens that it took, if that is known.
    pub(super) used_tokens: Option<u64>,
    /// When it began.
    pub(super) started_at_ms: i64,
    /// Whether it was a probe.
    pub(super) is_probe: bool,
    pub(super) effect: Effect,
    pub(super) told: Told,
}

/// Whether a call may begin.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Turn {
    /// It may; a probe if the circuit is open.
    Go { is_probe: bool },
    /// Not before this many milliseconds; none where only the end of another call helps.
    Wait(Option<i64>),
    /// The circuit is open.
    Closed(Closed),
    /// It needs more tokens than a minute has.
    TooLarge,
}

/// A token bucket.
#[derive(Debug, Clone, Copy, Default, Serialize, Deserialize)]
struct Bucket {
    level: f64,
    filled_at_ms: i64,
}

impl Bucket {
    /// Adds what came due since; a bucket that was never used is full.
    fn fill(&mut self, per_minute: f64, capacity: f64, now_ms: i64) {
        let is_new = self.filled_at_ms == 0;
        let passed_ms = (now_ms - self.filled_at_ms).max(0);
        let due = per_minute * passed_ms as f64 / 60_000.0;
        self.level = if is_new { capacity } else { (self.level + due).min(capacity) };
        // Another process's clock may be behind.
        self.filled_at_ms = self.filled_at_ms.max(now_ms);
    }

    /// Milliseconds until `amount` is there.
    fn wait_ms(&self, amount: f64, per_minute: f64) -> Option<i64> {
        let missing = amount - self.level;
        // The level is a sum of fractions.
        (missing > 1e-9).then(|| ((missing / per_minute * 60_000.0).ceil() as i64).max(1))
    }
}

/// Calls of one process.
#[derive(Debug, Clone, Serialize, Deserialize)]
struct Holder {
    calls: u32,
    expires_at_ms: i64,
}

/// A circuit that is open.
#[derive(Debug, Clone, Serialize, Deserialize)]
struct Open {
    closed: Closed,
    /// Probes that failed.
    probes: u32,
    /// Who sends the probe that is under way.
    prober: Option<String>,
}

/// The state of the flow to one endpoint; small, since it travels where several processes share it.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub(super) struct Flow {
    requests: Bucket,
    tokens: Bucket,
    /// Calls at once that seem to be borne now; none stands for the maximum.
    limit: Option<f64>,
    cut_at_ms: i64,
    holders: BTreeMap<String, Holder>,
    failures: u32,
    hold_until_ms: i64,
    open: Option<Open>,
}

impl Flow {
    /// Whether `owner`, who has `held` calls under way, may begin one that takes at most `tokens`.
    pub(super) fn take(
        &mut self,
        limits: &FlowLimits,
        (owner, held): (&str, u32),
        tokens: u64,
        now_ms: i64,
    ) -> Turn {
        self.hear(owner, held, now_ms);
        if let Some(open) = &mut self.open {
            let is_probing = open.prober.as_ref().map(|prober| self.holders.contains_key(prober));
            if is_probing == Some(true) {
                // A probe may take long, and nobody need come before.
                open.closed.retry_at_ms = open.closed.retry_at_ms.max(now_ms + PROBE_REST_MS);
            }
            if is_probing.unwrap_or(now_ms < open.closed.retry_at_ms) {
                return Turn::Closed(open.closed.clone());
            }
        }
        if now_ms < self.hold_until_ms {
            return Turn::Wait(Some(self.hold_until_ms - now_ms));
        }
        let tokens = tokens as f64;
        if limits.tokens_per_minute.is_some_and(|per_minute| tokens > f64::from(per_minute)) {
            return Turn::TooLarge;
        }
        let under_way: u32 = self.holders.values().map(|holder| holder.calls).sum();
        if under_way >= self.places(limits) {
            return Turn::Wait(None);
        }
        let mut wait_ms = None;
        if let Some(per_minute) = limits.requests_per_minute.map(f64::from) {
            self.requests.fill(per_minute, (per_minute * BURST_MINUTES).max(1.0), now_ms);
            wait_ms = wait_ms.max(self.requests.wait_ms(1.0, per_minute));
        }
        if let Some(per_minute) = limits.tokens_per_minute.map(f64::from) {
            // What is given back after a call may be used at once: over a minute the sum is what counts.
            self.tokens.fill(per_minute, per_minute, now_ms);
            wait_ms = wait_ms.max(self.tokens.wait_ms(tokens, per_minute));
        }
        if wait_ms.is_some() {
            return Turn::Wait(wait_ms);
        }
        if limits.requests_per_minute.is_some() {
            self.requests.level -= 1.0;
        }
        if limits.tokens_per_minute.is_some() {
            self.tokens.level -= tokens;
        }
        self.hear(owner, held + 1, now_ms);
        if let Some(open) = &mut self.open {
            open.prober = Some(owner.to_owned());
            return Turn::Go { is_probe: true };
        }
        Turn::Go { is_probe: false }
    }

    /// Notes the end of a call of `owner`, who has `held` under way now.
    pub(super) fn settle(
        &mut self,
        limits: &FlowLimits,
        (owner, held): (&str, u32),
        ended: &Ended,
        now_ms: i64,
    ) {
        self.hear(owner, held, now_ms);
        if let Some(used) = ended.used_tokens.filter(|_| limits.tokens_per_minute.is_some()) {
            self.tokens.level += ended.reserved_tokens as f64 - used as f64;
        }
        // The server knows better what it counts; it never frees what this side has not freed.
        let lower = |bucket: &mut Bucket, left: Option<u32>| {
            if let Some(left) = left {
                bucket.level = bucket.level.min(left.into());
            }
        };
        lower(&mut self.requests, ended.told.requests);
        lower(&mut self.tokens, ended.told.tokens);
        match &ended.effect {
            Effect::Success => {
                self.reached(ended.is_probe);
                self.failures = 0;
                let most = f64::from(limits.concurrency.max(1));
                // A whole step after as many successes as there are places.
                self.limit = self.limit.map(|limit| limit + 1.0 / limit).filter(|limit| *limit < most);
            }
            Effect::Reply => self.reached(ended.is_probe),
            Effect::Failure { overload, is_news, cause, detail } => {
                self.failures += u32::from(*is_news);
                if *overload {
                    self.cut(limits, ended.started_at_ms, now_ms);
                }
                if let Some(wait_ms) = ended.told.wait_ms.filter(|_| self.failures > 1) {
                    // One alone may be chance; the second in a row is a limit that holds for everybody.
                    self.hold_until_ms = self.hold_until_ms.max(now_ms + wait_ms.min(MAX_HOLD_MS));
                }
                if ended.is_probe || self.failures >= MAX_FAILURES {
                    self.open(cause, detail, ended.is_probe, now_ms);
                }
            }
            Effect::Stop { cause, detail } => {
                self.failures += 1;
                self.open(cause, detail, ended.is_probe, now_ms);
            }
            Effect::Abandoned => {}
        }
        if ended.is_probe
            && let Some(open) = &mut self.open
        {
            open.prober = None;
            if ended.effect == Effect::Abandoned {
                open.closed.retry_at_ms = now_ms;
            }
        }
    }

    /// Notes that `owner` has `held` calls under way.
    pub(super) fn hear(&mut self, owner: &str, held: u32, now_ms: i64) {
        self.holders.retain(|_, holder| holder.expires_at_ms > now_ms);
        if held == 0 {
            self.holders.remove(owner);
        } else {
            let holder = Holder { calls: held, expires_at_ms: now_ms + HOLDER_TTL_MS };
            self.holders.insert(owner.to_owned(), holder);
        }
    }

    /// Closes a circuit that opened before `at_ms`: since then the endpoint was seen to work.
    pub(super) fn recover(&mut self, at_ms: i64) {
        if self.open.as_ref().is_some_and(|open| open.closed.since_ms < at_ms) {
            self.open = None;
            self.failures = 0;
        }
    }

    /// Why no call may begin, if none may.
    pub(super) fn closed(&self) -> Option<&Closed> {
        self.open.as_ref().map(|open| &open.closed)
    }

    /// Calls that may be under way at once now.
    pub(super) fn places(&self, limits: &FlowLimits) -> u32 {
        let most = limits.concurrency.max(1);
        self.limit.map_or(most, |limit| (limit as u32).clamp(1, most))
    }

    /// The endpoint answered. What was under way when the circuit opened does not close it: it began before the trouble.
    fn reached(&mut self, is_probe: bool) {
        self.hold_until_ms = 0;
        if is_probe {
            self.open = None;
        }
    }

    /// Halves the calls at once, for all calls that began before it only once.
    fn cut(&mut self, limits: &FlowLimits, started_at_ms: i64, now_ms: i64) {
        if started_at_ms >= self.cut_at_ms {
            self.limit = Some((f64::from(self.places(limits)) / 2.0).max(1.0));
            self.cut_at_ms = now_ms;
        }
    }

    fn open(&mut self, cause: &str, detail: &str, is_probe: bool, now_ms: i64) {
        let probes = match &self.open {
            None => 0,
            Some(open) if is_probe => open.probes + 1,
            // A call that was under way when the circuit opened says nothing new.
            Some(_) => return,
        };
        let since_ms = self.open.as_ref().map_or(now_ms, |open| open.closed.since_ms);
        let wait_ms = (FIRST_PROBE_MS << probes.min(8)).min(MAX_PROBE_MS);
        let closed = Closed {
            cause: cause.to_owned(),
            detail: detail.to_owned(),
            since_ms,
            retry_at_ms: now_ms + wait_ms,
        };
        self.open = Some(Open { closed, probes, prober: None });
    }
}
