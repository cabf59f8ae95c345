//! A judge behind HTTP for tests: OpenAI-compatible, with scores that follow from model and message alone. It counts what it
//! is asked, can be slow, has limits, and commits faults by plan. Knows nothing of bytes on the wire.

mod faults;
mod http;

use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::{Duration, Instant};

use sha2::{Digest as _, Sha256};
use tokio::net::TcpListener;

pub use faults::FAULTS;
use faults::{Answer, Call};

/// Whether a user message is meant.
type Picks = Box<dyn Fn(&str) -> bool + Send + Sync>;

/// Which calls get a fault, by the fault's name among [`FAULTS`].
pub enum Plan {
    None,
    /// The first call of each message.
    Once(&'static str),
    /// Every call, until [`StandIn::clear`].
    Always(&'static str),
    /// Every call of the messages that the function picks.
    Only(Picks, &'static str),
    /// A share of the calls for each fault, drawn by seed, message and how often it was asked.
    Mixture(Vec<(&'static str, f64)>, u64),
}

impl Plan {
    /// The fault of the `attempt`th call of a message, counted from 1.
    fn fault(&self, message: &str, attempt: usize) -> Option<&'static str> {
        match self {
            Plan::None => None,
            Plan::Once(fault) => (attempt == 1).then_some(*fault),
            Plan::Always(fault) => Some(*fault),
            Plan::Only(picks, fault) => picks(message).then_some(*fault),
            Plan::Mixture(shares, seed) => {
                let hash = Sha256::digest(format!("{seed}|{attempt}|{message}"));
                let mut lot = f64::from(u32::from_be_bytes(hash[..4].try_into().unwrap())) / 2f64.powi(32);
                let drawn = shares.iter().find(|(_, share)| {
                    lot -= share;
                    lot < 0.0
                });
                drawn.map(|(fault, _)| *fault)
            }
        }
    }
}

/// A bucket of requests: full at first, and full again after `window`.
#[derive(Clone, Copy)]
pub struct Rate {
    pub requests: f64,
    pub window: Duration,
}

/// How a stand-in behaves.
pub struct Conduct {
    pub latency: Duration,
    pub plan: Plan,
    /// The wait that a rejected call is told.
    pub retry_after: Duration,
    /// Calls at once; one more is rejected.
    pub max_concurrency: Option<usize>,
    pub rate: Option<Rate>,
}

impl Default for Conduct {
    fn default() -> Conduct {
        Conduct {
            latency: Duration::ZERO,
            plan: Plan::None,
            retry_after: Duration::from_millis(50),
            max_concurrency: None,
            rate: None,
        }
    }
}

/// What a stand-in has counted; rejected calls are no calls.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Stats {
    /// Messages that were asked.
    pub distinct: usize,
    /// How many messages were asked how often.
    pub attempts: BTreeMap<usize, usize>,
    /// Calls of a message that had been answered without a fault.
    pub repeat_after_success: usize,
    /// Calls that came before the wait was over that their message was told.
    pub retry_after_violations: usize,
    pub max_concurrent: usize,
    pub rejected_by_concurrency: usize,
    pub rejected_by_rate: usize,
    /// Faults by name.
    pub faults: BTreeMap<&'static str, usize>,
}

#[derive(Default)]
struct Book {
    conduct: Conduct,
    /// Calls that came, by message.
    calls: HashMap<String, usize>,
    succeeded: HashSet<String>,
    answered: usize,
    /// When a message may be asked again, as it was told.
    not_before: HashMap<String, Instant>,
    under_way: usize,
    /// What was in the rate's bucket, and when.
    bucket: Option<(f64, Instant)>,
    stats: Stats,
}

/// A running stand-in.
pub struct StandIn {
    pub base_url: String,
    book: Arc<Mutex<Book>>,
}

impl StandIn {
    pub async fn start(latency_ms: u64) -> StandIn {
        StandIn::with(Conduct { latency: Duration::from_millis(latency_ms), ..Conduct::default() }).await
    }

    pub async fn with(conduct: Conduct) -> StandIn {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let base_url = format!("http://{}/v1", listener.local_addr().unwrap());
        let book = Arc::new(Mutex::new(Book { conduct, ..Book::default() }));
        // It ends with the test's runtime.
        tokio::spawn(http::serve(listener, Desk(book.clone())));
        StandIn { base_url, book }
    }

    /// Flags that make a server ask here, so many calls at once.
    pub fn flags(&self, max_concurrency: usize) -> Vec<String> {
        self.flags_of("stand-in", max_concurrency)
    }

    /// Flags that make a server ask this model here.
    pub fn flags_of(&self, model: &str, max_concurrency: usize) -> Vec<String> {
        let concurrency = max_concurrency.to_string();
        ["--judge-base-url", &self.base_url, "--judge-model", model]
            .into_iter()
            .chain(["--judge-max-concurrency", &concurrency])
            .map(str::to_owned)
            .collect()
    }

    /// Changes how it behaves from the next call on.
    pub fn change(&self, change: impl FnOnce(&mut Conduct)) {
        change(&mut self.book().conduct);
    }

    pub fn set_latency_ms(&self, latency_ms: u64) {
        self.change(|conduct| conduct.latency = Duration::from_millis(latency_ms));
    }

    /// Commits no more faults.
    pub fn clear(&self) {
        self.change(|conduct| conduct.plan = Plan::None);
    }

    /// Starts counting anew.
    pub fn forget(&self) {
        let book = &mut *self.book();
        let conduct = std::mem::take(&mut book.conduct);
        *book = Book { conduct, under_way: book.under_way, bucket: book.bucket, ..Book::default() };
    }

    /// Calls that came so far.
    pub fn calls(&self) -> usize {
        self.book().calls.values().sum()
    }

    /// Calls for a model that came so far.
    pub fn calls_of(&self, model: &str) -> usize {
        let prefix = format!("{model}|");
        self.book()
            .calls
            .iter()
            .filter(|(message, _)| message.starts_with(&prefix))
            .map(|(_, count)| count)
            .sum()
    }

    /// Calls beyond the first of each message.
    pub fn repeated(&self) -> usize {
        self.book().calls.values().map(|calls| calls - 1).sum()
    }

    /// Calls that were answered to the end, without a fault.
    pub fn answered(&self) -> usize {
        self.book().answered
    }

    pub fn stats(&self) -> Stats {
        let book = self.book();
        let mut attempts = BTreeMap::new();
        for calls in book.calls.values() {
            *attempts.entry(*calls).or_default() += 1;
        }
        Stats { distinct: book.calls.len(), attempts, ..book.stats.clone() }
    }

    fn book(&self) -> MutexGuard<'_, Book> {
        self.book.lock().unwrap()
    }
}

/// Where calls are entered and answers decided.
#[derive(Clone)]
struct Desk(Arc<Mutex<Book>>);

/// What becomes of a call that was let in.
struct Entry {
    seat: Seat,
    latency: Duration,
    answer: Answer,
}

/// The place of a call, which is under way until this is dropped.
struct Seat {
    desk: Desk,
    message: String,
    is_faulty: bool,
}

impl Desk {
    /// Lets a call in, or rejects it by an answer.
    fn enter(&self, call: &Call) -> Result<Entry, Answer> {
        let mut guard = self.0.lock().unwrap();
        let book = &mut *guard;
        let now = Instant::now();
        if book.not_before.remove(&call.message).is_some_and(|told| now < told) {
            book.stats.retry_after_violations += 1;
        }
        if let Some(wait) = book.rejects(now) {
            book.not_before.insert(call.message.clone(), now + wait);
            return Err(Answer::rejection(wait, book.bucket.map(|(left, _)| left)));
        }
        let attempt = book.calls.entry(call.message.clone()).or_default();
        *attempt += 1;
        let fault = book.conduct.plan.fault(&call.message, *attempt);
        if book.succeeded.contains(&call.message) {
            book.stats.repeat_after_success += 1;
        }
        let mut answer = call.answer(fault, book.conduct.retry_after);
        if answer.wait.is_some() {
            book.not_before.insert(call.message.clone(), now + book.conduct.retry_after);
        }
        answer.left = book.bucket.map(|(left, _)| left);
        if let Some(fault) = fault {
            assert!(FAULTS.contains(&fault), "there is no fault `{fault}`");
            *book.stats.faults.entry(fault).or_default() += 1;
        }
        book.under_way += 1;
        book.stats.max_concurrent = book.stats.max_concurrent.max(book.under_way);
        let seat = Seat { desk: self.clone(), message: call.message.clone(), is_faulty: fault.is_some() };
        Ok(Entry { seat, latency: book.conduct.latency, answer })
    }
}

impl Book {
    /// The wait that a call is told which the limits do not let in.
    fn rejects(&mut self, now: Instant) -> Option<Duration> {
        if self.conduct.max_concurrency.is_some_and(|most| self.under_way >= most) {
            self.stats.rejected_by_concurrency += 1;
            return Some(self.conduct.retry_after);
        }
        let Rate { requests, window } = self.conduct.rate?;
        let (left, then) = self.bucket.unwrap_or((requests, now));
        let per_s = requests / window.as_secs_f64();
        let left = requests.min(left + (now - then).as_secs_f64() * per_s);
        let is_in = left >= 1.0;
        self.bucket = Some((if is_in { left - 1.0 } else { left }, now));
        if is_in {
            return None;
        }
        self.stats.rejected_by_rate += 1;
        Some(Duration::from_secs_f64((1.0 - left) / per_s))
    }
}

impl Seat {
    /// Enters that the answer goes out now.
    fn goes_out(&self) {
        let mut book = self.desk.0.lock().unwrap();
        if !self.is_faulty {
            book.answered += 1;
            book.succeeded.insert(self.message.clone());
        }
    }
}

impl Drop for Seat {
    fn drop(&mut self) {
        self.desk.0.lock().unwrap().under_way -= 1;
    }
}
