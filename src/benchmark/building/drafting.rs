//! Having a model write wrong values: one call a video, a second one where the first gave too few, and every reply kept.
//! Knows nothing of questions' letters.

use std::collections::{BTreeMap, HashMap};

use serde_json::{Value, json};

use super::annotation::Annotation;
use super::asking::{AskError, Asking, Call, Fault, Named, filled, object_in};
use super::distractors::{Bars, Values, WRONG};
use super::rules::{self, Attribute};
use crate::domain::question::QuestionType;

/// How often a video is asked about; what is still missing then comes from other videos.
const ASKED: usize = 2;

/// The prompt as it is compiled in.
pub const PROMPT: &str = include_str!("../../../prompts/distractors.md");

/// A model that writes wrong values.
pub struct Drafting<'a> {
    /// What calls share.
    pub asking: &'a Asking,
    /// Whom to ask.
    pub asked: &'a Named,
    /// The prompt.
    pub prompt: &'a str,
}

/// The slot that a prompt does not hold exactly once, if there is one.
pub fn lacking(prompt: &str) -> Option<&'static str> {
    words(prompt, "", "", "").err()
}

/// The prompt with the video's annotation, what is wanted, and what was refused before.
fn words(prompt: &str, annotation: &str, wanted: &str, refused: &str) -> Result<String, &'static str> {
    filled(prompt, [("{{annotation}}", annotation), ("{{wanted}}", wanted), ("{{refused}}", refused)])
}

impl Drafting<'_> {
    /// The wrong values of each video, by its id; `done` is called once a video.
    ///
    /// # Errors
    /// [`AskError`] where a video has no reply; those that came are kept.
    pub async fn draft(
        &self,
        videos: &[Annotation],
        done: impl Fn(),
    ) -> Result<HashMap<String, Values>, AskError> {
        let (drafted, faults) =
            self.asking.of_all(videos, async |video| self.draft_one(video).await, done).await?;
        if faults.is_empty() { Ok(drafted) } else { Err(AskError::Videos(faults)) }
    }

    async fn draft_one(&self, video: &Annotation) -> Result<Values, Fault> {
        let mut values = Values::new();
        let mut refused = Vec::new();
        for _ in 0..ASKED {
            let wanted = wanted(video, &values);
            if wanted.is_empty() {
                break;
            }
            let words = self.words(video, &wanted, &refused)?;
            let call =
                Call { step: "distractors", id: &video.id, asked: self.asked, words: &words, shown: "" };
            let reply = self.asking.reply(call, async || Ok(Vec::new())).await?;
            refused = take(video, &reply, &mut values);
        }
        Ok(values)
    }

    fn words(
        &self,
        video: &Annotation,
        wanted: &BTreeMap<Attribute, usize>,
        refused: &[String],
    ) -> Result<String, Fault> {
        let wanted = wanted.iter().map(|(attribute, count)| (attribute.to_string(), json!(count)));
        let wanted = Value::Object(wanted.collect()).to_string();
        let annotation = Value::Object(rules::evidence(video, QuestionType::Caption)).to_string();
        let refused = if refused.is_empty() { "none".to_owned() } else { refused.join("\n") };
        words(self.prompt, &annotation, &wanted, &refused)
            .map_err(|slot| Fault::Video(format!("the prompt lacks `{slot}`")))
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
    let Some(object) = object_in(reply) else {
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
