//! Asking a model about many videos: so many at once, within a budget, each reply kept and none paid for twice. Knows nothing
//! of what is asked.

use std::collections::{BTreeMap, HashMap};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use futures::{StreamExt as _, stream};
use serde_json::{Value, json};

use super::annotation::Annotation;
use super::journal::{Journal, JournalError, Kept};
use super::purse::Purse;
use crate::judge::{Model, ModelFault, Usage};
use crate::video::Picture;

/// Videos in a row for which no reply came, of which one more ends the run.
const MAX_OUTAGES: usize = 3;

/// Characters that are taken for one token where none were counted.
const CHARS_PER_TOKEN: u64 = 3;

/// Tokens that a picture is taken for where none were counted: models differ, and few take more of 512 pixels.
const TOKENS_PER_PICTURE: u64 = 1024;

/// A model and its name at the endpoint.
pub struct Named {
    /// The model.
    pub model: Model,
    /// Its name.
    pub name: String,
}

/// What all calls of a run share.
pub struct Asking {
    /// What is to be paid.
    pub purse: Purse,
    /// Videos at once.
    pub concurrency: usize,
    /// Tokens that a reply may have.
    pub max_tokens: u64,
    journal: Mutex<Journal>,
    is_stopped: AtomicBool,
}

/// One call.
pub struct Call<'a> {
    /// What the journal calls it.
    pub step: &'static str,
    /// The video that it is about.
    pub id: &'a str,
    /// Whom to ask.
    pub asked: &'a Named,
    /// What is said.
    pub words: &'a str,
    /// What the pictures before the words are taken from; blank where there are none.
    pub shown: &'a str,
}

/// Why a video has no reply.
#[derive(Debug)]
pub enum Fault {
    /// There is not enough money.
    Budget,
    /// The model gave none.
    Model(Box<ModelFault>),
    /// It cannot be kept.
    Journal(JournalError),
    /// What the video needs is not as it should be.
    Video(String),
    /// Another video's fault stopped the run.
    Skipped,
}

/// Why not all videos have a reply.
#[derive(Debug, thiserror::Error)]
pub enum AskError {
    /// The budget is used up.
    #[error(
        "the budget is used up: ${spent:.2} are spent, and {left} videos are left; a higher one goes on where this stopped"
    )]
    Budget {
        /// Dollars.
        spent: f64,
        /// Videos without a reply.
        left: usize,
    },
    /// The endpoint gives no replies.
    #[error("{fault}; {left} videos are left")]
    Endpoint {
        /// The fault of the first video that is left.
        fault: Box<ModelFault>,
        /// Videos without a reply.
        left: usize,
    },
    /// Something is wrong with single videos.
    #[error("{} video(s) are left:\n{}", .0.len(), .0.join("\n"))]
    Videos(Vec<String>),
    /// A reply cannot be kept.
    #[error(transparent)]
    Journal(#[from] JournalError),
}

impl Asking {
    /// What calls share; `purse` knows what the journal's replies did cost.
    pub fn new(journal: Journal, purse: Purse, concurrency: usize, max_tokens: u64) -> Asking {
        Asking {
            purse,
            concurrency,
            max_tokens,
            journal: Mutex::new(journal),
            is_stopped: AtomicBool::new(false),
        }
    }

    /// What `ask` gives for each video, by its id, and what is wrong with those that have nothing; `done` is called once a
    /// video.
    ///
    /// # Errors
    /// When the run stopped before its end; every reply that came is kept.
    pub async fn of_all<'v, T>(
        &self,
        videos: &'v [Annotation],
        ask: impl AsyncFn(&'v Annotation) -> Result<T, Fault>,
        done: impl Fn(),
    ) -> Result<(HashMap<String, T>, Vec<String>), AskError> {
        let (mut given, mut faulty) = (HashMap::new(), Vec::new());
        let (mut first, mut outages) = (None, 0);
        let one = async |video: &'v Annotation| (video, ask(video).await);
        let mut coming = stream::iter(videos).map(one).buffer_unordered(self.concurrency);
        while let Some((video, result)) = coming.next().await {
            match result {
                Ok(value) => {
                    outages = 0;
                    given.insert(video.id.clone(), value);
                    done();
                }
                Err(Fault::Skipped) => {}
                Err(Fault::Video(detail)) => faulty.push(format!("`{}`: {detail}", video.id)),
                Err(fault) => {
                    outages +=
                        usize::from(matches!(&fault, Fault::Model(fault) if fault.fault.kind.is_outage()));
                    let goes_on = matches!(&fault, Fault::Model(fault) if !fault.fault.kind.stops_all());
                    // What is under way is let end: it is paid for.
                    if !goes_on || outages >= MAX_OUTAGES {
                        self.is_stopped.store(true, Ordering::Relaxed);
                    }
                    first.get_or_insert(fault);
                }
            }
        }
        let left = videos.len() - given.len();
        match first {
            Some(Fault::Budget) => Err(AskError::Budget { spent: self.purse.spent(), left }),
            Some(Fault::Model(fault)) => Err(AskError::Endpoint { fault, left }),
            Some(Fault::Journal(fault)) => Err(fault.into()),
            None | Some(Fault::Skipped | Fault::Video(_)) => {
                faulty.sort_unstable();
                Ok((given, faulty))
            }
        }
    }

    /// The reply to a call: the kept one, or a new one; `pictures` are taken only for a new one.
    ///
    /// # Errors
    /// Why there is none.
    pub async fn reply(
        &self,
        call: Call<'_>,
        pictures: impl AsyncFnOnce() -> Result<Vec<Picture>, Fault>,
    ) -> Result<String, Fault> {
        let mut said = call.words.to_owned();
        if !call.shown.is_empty() {
            // Other pictures are another call.
            said += &format!("\n\n{}", call.shown);
        }
        let key = Journal::key(&call.asked.name, &said);
        if let Some(kept) = self.journal().find(&key) {
            return Ok(kept.reply.clone());
        }
        if self.is_stopped.load(Ordering::Relaxed) {
            return Err(Fault::Skipped);
        }
        let pictures = pictures().await?;
        let most = Usage {
            prompt_tokens: call.words.chars().count() as u64 / CHARS_PER_TOKEN
                + TOKENS_PER_PICTURE * pictures.len() as u64,
            completion_tokens: self.max_tokens,
            ..Usage::default()
        };
        if !self.purse.reserve(most).await {
            return Err(Fault::Budget);
        }
        let result = call.asked.model.ask(&content(call.words, &pictures)).await;
        let usage = match &result {
            Ok(reply) => reply.usage,
            Err(fault) => fault.fault.usage,
        };
        let cost_usd = self.purse.settle(most, usage);
        let reply = result.map_err(|fault| Fault::Model(Box::new(fault)))?;
        let kept = Kept {
            key,
            step: call.step.to_owned(),
            id: call.id.to_owned(),
            model: reply.model,
            reply: reply.text.clone(),
            prompt_tokens: reply.usage.map(|usage| usage.prompt_tokens),
            completion_tokens: reply.usage.map(|usage| usage.completion_tokens),
            cost_usd,
        };
        self.journal().keep(kept).map_err(Fault::Journal)?;
        Ok(reply.text)
    }

    /// Every reply that was kept, in this run or before.
    pub fn journal(&self) -> MutexGuard<'_, Journal> {
        self.journal.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The message: pictures in their order, then the words.
fn content(words: &str, pictures: &[Picture]) -> Value {
    if pictures.is_empty() {
        return json!(words);
    }
    let shown = pictures.iter().map(|picture| {
        let url = format!("data:image/jpeg;base64,{}", STANDARD.encode(&picture.jpeg));
        json!({ "type": "image_url", "image_url": { "url": url } })
    });
    Value::Array(shown.chain([json!({ "type": "text", "text": words })]).collect())
}

/// The JSON object in a reply, whatever stands around it.
pub(super) fn object_in(reply: &str) -> Option<BTreeMap<String, Value>> {
    let object = reply.find('{').zip(reply.rfind('}')).and_then(|(start, end)| reply.get(start..=end))?;
    serde_json::from_str(object).ok()
}

/// A prompt with its slots filled.
///
/// # Errors
/// The slot that it does not hold exactly once.
pub fn filled<const N: usize>(
    prompt: &str,
    slots: [(&'static str, &str); N],
) -> Result<String, &'static str> {
    let mut places = Vec::with_capacity(N);
    for (slot, text) in slots {
        let mut found = prompt.match_indices(slot);
        match (found.next(), found.next()) {
            (Some((at, _)), None) => places.push((at, slot.len(), text)),
            _ => return Err(slot),
        }
    }
    // From the end: what is filled in may hold anything.
    places.sort_unstable_by(|one, other| other.cmp(one));
    let mut words = prompt.to_owned();
    for (at, length, text) in places {
        words.replace_range(at..at + length, text);
    }
    Ok(words)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_filled_in_fills_no_slot() {
        let words = filled("a {{x}} b {{y}}", [("{{x}}", "{{y}}"), ("{{y}}", "2")]);
        assert_eq!(words.as_deref(), Ok("a {{y}} b 2"));
        assert_eq!(filled("a {{x}} {{x}}", [("{{x}}", "1")]), Err("{{x}}"));
        assert_eq!(filled("a", [("{{x}}", "1")]), Err("{{x}}"));
    }
}
