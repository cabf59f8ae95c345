//! The gate before an endpoint: callers wait in lines until a call may begin, and say what came of it. Knows the flow's
//! rules by name only.

use std::convert::Infallible;
use std::sync::atomic::{AtomicU32, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::sync::{Notify, watch};
use tokio::time::timeout;

use super::flow::{Closed, Effect, Ended, Flow, FlowLimits, Told, Turn};
#[cfg(feature = "server")]
use super::shared::SharedFlow;
use crate::clock::Clock;
use crate::domain::line::Line;

/// How soon a place that another process gave back is noticed.
const LOOK_AGAIN: Duration = Duration::from_millis(20);

/// How often a process says how many calls it has under way.
const HEARTBEAT: Duration = Duration::from_secs(3);

/// Why a caller was not let through.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Refused {
    /// The circuit is open.
    Closed(Closed),
    /// The call needs more tokens than a minute has.
    TooLarge,
}

enum Place {
    Here(Box<Mutex<Flow>>),
    #[cfg(feature = "server")]
    Shared(Box<SharedFlow>),
}

/// One line: who stands at its head, and how many stand in it.
#[derive(Default)]
struct Queue {
    head: tokio::sync::Mutex<()>,
    waiting: AtomicUsize,
}

/// The gate of one process before one endpoint.
pub struct Gate {
    limits: FlowLimits,
    owner: String,
    place: Place,
    lines: [Queue; Line::COUNT],
    /// One change at a time, so that the state and `held` agree.
    turn: tokio::sync::Mutex<()>,
    /// Calls of this process that are under way; changed in `turn` alone.
    held: AtomicU32,
    /// A call has ended, or a line has emptied.
    called: Notify,
    /// Calls that may be under way at once, as this process saw it last.
    places: AtomicU32,
    /// Why no call may begin, as this process saw it last.
    closed: watch::Sender<Option<Closed>>,
}

/// A right to one call. Dropping it gives the place back; without a word of what came of the call, as one given up.
pub struct Pass {
    gate: Arc<Gate>,
    /// None once it was settled.
    ended: Option<Ended>,
}

impl Gate {
    /// A gate whose state is this process's own.
    pub fn new(limits: FlowLimits) -> Gate {
        Gate::at(Place::Here(Box::default()), limits, String::new())
    }

    /// A gate whose state all processes share that name the same Redis, installation and endpoint. `owner` is this
    /// process's name, which no other living one has: what a predecessor held is forgotten.
    ///
    /// # Errors
    /// When Redis cannot be reached.
    #[cfg(feature = "server")]
    pub async fn shared(
        redis_url: &str,
        name: &str,
        limits: FlowLimits,
        owner: String,
    ) -> redis::RedisResult<Gate> {
        let flow = SharedFlow::connect(redis_url, name).await?;
        let gate = Gate::at(Place::Shared(Box::new(flow)), limits, owner);
        gate.change(|flow, now_ms| flow.hear(&gate.owner, 0, now_ms)).await;
        Ok(gate)
    }

    fn at(place: Place, limits: FlowLimits, owner: String) -> Gate {
        Gate {
            limits,
            owner,
            place,
            lines: Default::default(),
            turn: tokio::sync::Mutex::default(),
            held: AtomicU32::new(0),
            called: Notify::new(),
            places: AtomicU32::new(limits.concurrency),
            closed: watch::Sender::new(None),
        }
    }

    /// Waits in `line` until a call that takes at most `tokens` may begin.
    ///
    /// # Errors
    /// When the circuit is open, or the call can never begin.
    pub async fn enter(self: &Arc<Self>, line: Line, tokens: u64) -> Result<Pass, Refused> {
        let place = &self.lines[line as usize];
        let _waits = Waits::begin(self, place);
        let _head = place.head.lock().await;
        loop {
            let called = self.called.notified();
            let is_first =
                self.lines[..line as usize].iter().all(|earlier| earlier.waiting.load(Ordering::SeqCst) == 0);
            let wait_ms = if is_first {
                match self.take(tokens).await {
                    Turn::Go { is_probe } => {
                        let ended = Ended {
                            reserved_tokens: tokens,
                            used_tokens: None,
                            started_at_ms: Clock::System.now_ms(),
                            is_probe,
                            effect: Effect::Abandoned,
                            told: Told::default(),
                        };
                        return Ok(Pass { gate: self.clone(), ended: Some(ended) });
                    }
                    Turn::Closed(closed) => return Err(Refused::Closed(closed)),
                    Turn::TooLarge => return Err(Refused::TooLarge),
                    Turn::Wait(wait_ms) => wait_ms,
                }
            } else {
                None
            };
            let wait = wait_ms.map_or(LOOK_AGAIN, |wait_ms| Duration::from_millis(wait_ms.unsigned_abs()));
            // Called or not, the state says what may be done.
            let _called_or_late = timeout(wait, called).await;
        }
    }

    /// Waits until the circuit is open; for those who would only run into it later.
    pub async fn until_closed(&self) {
        // The sender is this gate's own.
        let _closed = self.closed.subscribe().wait_for(Option::is_some).await.is_ok();
    }

    /// Why no call may begin, as this process saw it last.
    pub fn closed(&self) -> Option<Closed> {
        self.closed.borrow().clone()
    }

    /// Milliseconds until the next probe may go out, if the circuit is open.
    pub fn rest_ms(&self) -> Option<i64> {
        let retry_at_ms = self.closed.borrow().as_ref()?.retry_at_ms;
        Some((retry_at_ms - Clock::System.now_ms()).max(0))
    }

    /// Calls of this process that are under way.
    pub fn held(&self) -> u32 {
        self.held.load(Ordering::SeqCst)
    }

    /// Calls that may be under way at once over all who share the state, as this process saw it last.
    pub fn places(&self) -> u32 {
        self.places.load(Ordering::SeqCst)
    }

    /// Closes a circuit that opened before `at_ms`, when the endpoint was seen to work.
    pub async fn recover(&self, at_ms: i64) {
        self.change(|flow, _| flow.recover(at_ms)).await;
    }

    /// Says now and then what is under way, as long as it is polled: a state that was lost is right again after it, and
    /// one that another process moved is known here.
    pub async fn keep_beating(&self) -> Infallible {
        loop {
            tokio::time::sleep(HEARTBEAT).await;
            self.change(|flow, now_ms| flow.hear(&self.owner, self.held(), now_ms)).await;
        }
    }

    /// Callers that stand in a line.
    #[cfg(test)]
    pub(super) fn waiting(&self) -> usize {
        self.lines.iter().map(|line| line.waiting.load(Ordering::SeqCst)).sum()
    }

    async fn take(&self, tokens: u64) -> Turn {
        let _turn = self.turn.lock().await;
        let take =
            |flow: &mut Flow, now_ms| flow.take(&self.limits, (&self.owner, self.held()), tokens, now_ms);
        let turn = self.moved(take).await;
        if let Turn::Go { .. } = turn {
            self.held.fetch_add(1, Ordering::SeqCst);
        }
        turn
    }

    async fn settle(&self, ended: &[Ended]) {
        let _turn = self.turn.lock().await;
        for _ in ended {
            self.held.fetch_sub(1, Ordering::SeqCst);
        }
        let owner = (self.owner.as_str(), self.held());
        self.moved(|flow, now_ms| ended.iter().for_each(|one| flow.settle(&self.limits, owner, one, now_ms)))
            .await;
        self.called.notify_waiters();
    }

    async fn change<T>(&self, change: impl Fn(&mut Flow, i64) -> T) -> T {
        let _turn = self.turn.lock().await;
        self.moved(change).await
    }

    /// Moves the state, wherever it lies, and notes whether the circuit is open after it.
    async fn moved<T>(&self, change: impl Fn(&mut Flow, i64) -> T) -> T {
        let changed = |flow: &mut Flow| {
            let result = change(flow, Clock::System.now_ms());
            (result, flow.closed().cloned(), flow.places(&self.limits))
        };
        let (result, closed, places) = match &self.place {
            Place::Here(flow) => changed(&mut flow.lock().unwrap_or_else(PoisonError::into_inner)),
            #[cfg(feature = "server")]
            Place::Shared(flow) => flow.change(changed).await,
        };
        self.places.store(places, Ordering::SeqCst);
        self.closed.send_if_modified(|known| {
            let is_other = *known != closed;
            *known = closed;
            is_other
        });
        result
    }
}

impl Pass {
    /// Notes what came of the call: what `effect` it had, the tokens that it took if they are known, and what the server
    /// `told`. The place is given back when the pass is dropped or settled.
    pub fn note(&mut self, effect: Effect, used_tokens: Option<u64>, told: Told) {
        if let Some(ended) = &mut self.ended {
            *ended = Ended { effect, used_tokens, told, ..ended.clone() };
        }
    }

    /// Whether the call finds out if an endpoint that was given up works again.
    pub fn is_probe(&self) -> bool {
        self.ended.as_ref().is_some_and(|ended| ended.is_probe)
    }

    /// Gives the place back, and waits until everybody knows.
    pub async fn settle(self) {
        Pass::settle_all(vec![self]).await;
    }

    /// Gives the places of several calls at one gate back at once.
    pub async fn settle_all(mut passes: Vec<Pass>) {
        let ended: Vec<Ended> = passes.iter_mut().filter_map(|pass| pass.ended.take()).collect();
        if let Some(pass) = passes.first() {
            pass.gate.settle(&ended).await;
        }
    }
}

impl Drop for Pass {
    fn drop(&mut self) {
        let Some(ended) = self.ended.take() else { return };
        let gate = self.gate.clone();
        match tokio::runtime::Handle::try_current() {
            Ok(runtime) => drop(runtime.spawn(async move { gate.settle(&[ended]).await })),
            // The process ends, and its calls lapse.
            Err(_) => drop(gate.held.fetch_sub(1, Ordering::SeqCst)),
        }
    }
}

/// Somebody in a line, from coming to leaving.
struct Waits<'a> {
    gate: &'a Gate,
    place: &'a Queue,
}

impl<'a> Waits<'a> {
    fn begin(gate: &'a Gate, place: &'a Queue) -> Waits<'a> {
        place.waiting.fetch_add(1, Ordering::SeqCst);
        Waits { gate, place }
    }
}

impl Drop for Waits<'_> {
    fn drop(&mut self) {
        if self.place.waiting.fetch_sub(1, Ordering::SeqCst) == 1 {
            self.gate.called.notify_waiters();
        }
    }
}
