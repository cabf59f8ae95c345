//! Having a model write wrong values: one call a video, a second one where the first gave too few, and every reply kept.
//! Knows nothing of questions' letters.

use std::collections::{BTreeMap, HashMap};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use futures::{StreamExt as _, stream};
use serde_json::{Value, json};

use super::annotation::Annotation;
use super::distractors::{Bars, Values, WRONG};
use super::journal::{Journal, JournalError, Kept};
use super::purse::Purse;
use super::rules::{self, Attribute};
use crate::domain::question::QuestionType;
use crate::judge::{Model, ModelFault, Usage};

/// What the journal calls these replies.
const STEP: &str = "distractors";

/// How often a video is asked about; what is still missing then comes from other videos.
const ASKED: usize = 2;

/// Videos in a row for which no reply came, of which one more ends the run.
const MAX_OUTAGES: usize = 3;

/// The place of the video's annotation in the prompt, of what is wanted, and of what was refused before.
const SLOTS: [&str; 3] = ["{{annotation}}", "{{wanted}}", "{{refused}}"];

/// The prompt as it is compiled in.
pub const PROMPT: &str = include_str!("../../../prompts/distractors.md");

/// Characters that are taken for one token where none were counted.
const CHARS_PER_TOKEN: u64 = 3;

/// A model that writes wrong values.
pub struct Drafting<'a> {
    /// The model.
    pub model: &'a Model,
    /// Its name.
    pub model_name: &'a str,
    /// The prompt.
    pub prompt: &'a str,
    /// Videos at once.
    pub concurrency: usize,
    /// Tokens that a reply may have.
    pub max_tokens: u64,
    /// What it may cost.
    pub purse: &'a Purse,
}

/// Why not all videos have wrong values.
#[derive(Debug, thiserror::Error)]
pub enum DraftError {
    /// The prompt lacks a slot.
    #[error("the prompt `distractors.md` must hold `{0}` exactly once")]
    Slot(&'static str),
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
        fault: ModelFault,
        /// Videos without a reply.
        left: usize,
    },
    /// A reply cannot be kept.
    #[error(transparent)]
    Journal(#[from] JournalError),
}

enum Fault {
    Budget,
    Model(ModelFault),
    Journal(JournalError),
    /// Another one stopped the run.
    Skipped,
}

impl Drafting<'_> {
    /// The wrong values of each video, by its id; `done` is called once a video.
    ///
    /// # Errors
    /// [`DraftError`] where a video has no reply; those that came are kept.
    pub async fn draft(
        &self,
        videos: &[Annotation],
        journal: &mut Journal,
        done: impl Fn(),
    ) -> Result<HashMap<String, Values>, DraftError> {
        if let Some(slot) = SLOTS.into_iter().find(|slot| self.prompt.matches(slot).count() != 1) {
            return Err(DraftError::Slot(slot));
        }
        let journal = Mutex::new(journal);
        let stop = AtomicBool::new(false);
        let mut drafted = HashMap::new();
        let (mut first, mut outages) = (None, 0);
        let ask = |video| self.draft_one(video, &journal, &stop);
        let mut coming = stream::iter(videos).map(ask).buffer_unordered(self.concurrency);
        while let Some((video, result)) = coming.next().await {
            match result {
                Ok(values) => {
                    outages = 0;
                    drafted.insert(video.id.clone(), values);
                    done();
                }
                Err(Fault::Skipped) => {}
                Err(fault) => {
                    outages +=
                        usize::from(matches!(&fault, Fault::Model(fault) if fault.fault.kind.is_outage()));
                    let stops = !matches!(&fault, Fault::Model(fault) if !fault.fault.kind.stops_all());
                    // What is under way is let end: it is paid for.
                    if stops || outages >= MAX_OUTAGES {
                        stop.store(true, Ordering::Relaxed);
                    }
                    first.get_or_insert(fault);
                }
            }
        }
        let left = videos.len() - drafted.len();
        match first {
            None | Some(Fault::Skipped) => Ok(drafted),
            Some(Fault::Budget) => Err(DraftError::Budget { spent: self.purse.spent(), left }),
            Some(Fault::Model(fault)) => Err(DraftError::Endpoint { fault, left }),
            Some(Fault::Journal(fault)) => Err(fault.into()),
        }
    }

    async fn draft_one<'v>(
        &self,
        video: &'v Annotation,
        journal: &Mutex<&mut Journal>,
        stop: &AtomicBool,
    ) -> (&'v Annotation, Result<Values, Fault>) {
        let mut values = Values::new();
        let mut refused = Vec::new();
        for _ in 0..ASKED {
            let wanted = wanted(video, &values);
            if wanted.is_empty() {
                break;
            }
            let words = self.words(video, &wanted, &refused);
            match self.reply(video, &words, journal, stop).await {
                Ok(reply) => refused = take(video, &reply, &mut values),
                Err(fault) => return (video, Err(fault)),
            }
        }
        (video, Ok(values))
    }

    /// The reply to these words: the kept one, or a new one.
    async fn reply(
        &self,
        video: &Annotation,
        words: &str,
        journal: &Mutex<&mut Journal>,
        stop: &AtomicBool,
    ) -> Result<String, Fault> {
        let key = Journal::key(self.model_name, words);
        if let Some(kept) = lock(journal).find(&key) {
            return Ok(kept.reply.clone());
        }
        let most = Usage {
            prompt_tokens: words.chars().count() as u64 / CHARS_PER_TOKEN,
            completion_tokens: self.max_tokens,
            ..Usage::default()
        };
        if stop.load(Ordering::Relaxed) {
            return Err(Fault::Skipped);
        }
        if !self.purse.reserve(most).await {
            return Err(Fault::Budget);
        }
        let result = self.model.ask(&json!(words)).await;
        let usage = match &result {
            Ok(reply) => reply.usage,
            Err(fault) => fault.fault.usage,
        };
        let cost_usd = self.purse.settle(most, usage);
        let reply = result.map_err(Fault::Model)?;
        let kept = Kept {
            key,
            step: STEP.to_owned(),
            id: video.id.clone(),
            model: reply.model,
            reply: reply.text.clone(),
            prompt_tokens: reply.usage.map(|usage| usage.prompt_tokens),
            completion_tokens: reply.usage.map(|usage| usage.completion_tokens),
            cost_usd,
        };
        lock(journal).keep(kept).map_err(Fault::Journal)?;
        Ok(reply.text)
    }

    fn words(&self, video: &Annotation, wanted: &BTreeMap<Attribute, usize>, refused: &[String]) -> String {
        let wanted = wanted.iter().map(|(attribute, count)| (attribute.to_string(), json!(count)));
        let wanted = Value::Object(wanted.collect()).to_string();
        let annotation = Value::Object(rules::evidence(video, QuestionType::Caption)).to_string();
        let refused = if refused.is_empty() { "none".to_owned() } else { refused.join("\n") };
        let texts = [annotation, wanted, refused];
        let mut words = self.prompt.to_owned();
        // The later slots first: what is filled in may hold anything.
        let mut places: Vec<(usize, usize)> =
            SLOTS.iter().enumerate().filter_map(|(slot, name)| Some((words.find(name)?, slot))).collect();
        places.sort_unstable();
        for (at, slot) in places.into_iter().rev() {
            words.replace_range(at..at + SLOTS[slot].len(), &texts[slot]);
        }
        words
    }
}

/// How many values of each attribute are still wanted.
fn wanted(video: &Annotation, values: &Values) -> BTreeMap<Attribute, usize> {
    let mut wanted = BTreeMap::<Attribute, usize>::new();
    for question_type in rules::types_for(video) {
        let parts = rules::parts(video, question_type);
        let each = if parts.len() == 1 { WRONG } else { 1 };
        let mut of_question = BTreeMap::<Attribute, usize>::new();
        for (attribute, _) in &parts {
            *of_question.entry(*attribute).or_default() += each;
        }
        for (attribute, count) in of_question {
            let known = wanted.entry(attribute).or_default();
            *known = count.max(*known);
        }
    }
    wanted.retain(|attribute, count| {
        *count -= values.get(attribute).map_or(0, Vec::len).min(*count);
        *count > 0
    });
    wanted
}

/// Takes the usable values out of a reply; gives those that are not, with why.
fn take(video: &Annotation, reply: &str, values: &mut Values) -> Vec<String> {
    let object = reply.find('{').zip(reply.rfind('}')).and_then(|(start, end)| reply.get(start..=end));
    let object: Option<BTreeMap<String, Value>> = object.and_then(|text| serde_json::from_str(text).ok());
    let Some(object) = object else {
        return vec!["the whole reply: it is no JSON object".to_owned()];
    };
    let mut refused = Vec::new();
    for (name, listed) in object {
        let Some(attribute) = Attribute::parse(&name) else { continue };
        let mut bars = Bars::new(video, attribute);
        let known = values.entry(attribute).or_default();
        known.iter().for_each(|text| _ = bars.refusal(text));
        for text in listed.as_array().into_iter().flatten().filter_map(Value::as_str).map(str::trim) {
            match bars.refusal(text) {
                None => known.push(text.to_owned()),
                Some(why) => refused.push(format!("{attribute}: {} {why}", json!(text))),
            }
        }
    }
    refused
}

fn lock<'a, 'j>(journal: &'a Mutex<&'j mut Journal>) -> MutexGuard<'a, &'j mut Journal> {
    journal.lock().unwrap_or_else(PoisonError::into_inner)
}
