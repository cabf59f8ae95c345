//! Captions by three models (paper, "Data engine"): one describes the frames, one marks the description against what experts
//! noted, and one rewrites it where the mark is too low. Knows nothing of files of captions.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde_json::Value;

use super::annotation::Annotation;
use super::asking::{Asking, Call, Fault, Named, filled, object_in};
use super::rules;
use crate::domain::question::QuestionType;
use crate::video::{Picture, measure, probe, sample};

/// The words of a caption of which one more is too many (paper, question A6: "fewer than 80 words").
pub const MAX_WORDS: usize = 79;

/// How often a description is marked anew where a reply holds no marks.
const MARKED: usize = 3;

/// What is marked, in the order of the reviewer's prompt.
pub const ASPECTS: [&str; 8] = [
    "objects",
    "appearance",
    "environment",
    "lighting",
    "clarity",
    "behavior",
    "camera_angle",
    "camera_position",
];

/// The prompts of the three models.
#[derive(Debug, Clone)]
pub struct CaptionPrompts {
    /// Asks for a description of the frames.
    pub captioner: String,
    /// Asks for marks.
    pub reviewer: String,
    /// Asks for a better description.
    pub refiner: String,
}

impl CaptionPrompts {
    /// The prompts as they are compiled in.
    pub fn builtin() -> CaptionPrompts {
        CaptionPrompts {
            captioner: include_str!("../../../prompts/captioner.md").to_owned(),
            reviewer: include_str!("../../../prompts/reviewer.md").to_owned(),
            refiner: include_str!("../../../prompts/refiner.md").to_owned(),
        }
    }

    /// The first prompt that lacks a slot, or has it twice, and the slot.
    pub fn fault(&self) -> Option<(&'static str, &'static str)> {
        let of_reviewer = filled(&self.reviewer, [("{{annotation}}", ""), ("{{caption}}", "")]);
        let of_refiner =
            filled(&self.refiner, [("{{annotation}}", ""), ("{{caption}}", ""), ("{{lower}}", "")]);
        let reviewer = of_reviewer.err().map(|slot| ("reviewer.md", slot));
        reviewer.or(of_refiner.err().map(|slot| ("refiner.md", slot)))
    }
}

/// Three models and what they are asked.
pub struct Captioning<'a> {
    /// What calls share.
    pub asking: &'a Asking,
    /// Describes.
    pub captioner: &'a Named,
    /// Marks.
    pub reviewer: &'a Named,
    /// Rewrites.
    pub refiner: &'a Named,
    /// What they are told.
    pub prompts: &'a CaptionPrompts,
    /// Marks below this are too low, 0 to 5.
    pub tau: f64,
    /// Frames that the captioner sees.
    pub frames: u32,
    /// Pixels of a frame's longest side at most.
    pub size: u32,
}

/// A video's caption, and how it came about.
#[derive(Debug, Clone, PartialEq)]
pub struct Captioned {
    /// What the captioner wrote.
    pub synthetic: String,
    /// The mean of the marks, 0 to 5.
    pub score: f64,
    /// The marks; an aspect of which nothing is noted has none.
    pub marks: BTreeMap<&'static str, f64>,
    /// What the refiner wrote, where it was asked.
    pub refined: Option<String>,
}

impl Captioning<'_> {
    /// The caption of a video whose file lies at `path`.
    ///
    /// # Errors
    /// Why there is none; the replies until then are kept.
    pub async fn caption(&self, video: &Annotation, path: &Path) -> Result<Captioned, Fault> {
        let synthetic = one_line(&self.described(video, path).await?);
        if synthetic.is_empty() {
            return Err(Fault::Video("the captioner wrote nothing".to_owned()));
        }
        let marks = self.marks(video, &synthetic).await?;
        let score = marks.values().sum::<f64>() / marks.len() as f64;
        let refined =
            if score < self.tau { Some(self.refined(video, &synthetic, &marks).await?) } else { None };
        Ok(Captioned { synthetic, score, marks, refined })
    }

    async fn described(&self, video: &Annotation, path: &Path) -> Result<String, Fault> {
        let file = path.to_owned();
        let (_, sha256) = blocking(move || measure(&file).map_err(|error| error.to_string())).await?;
        let shown = format!("{} frames of {sha256} at {} pixels", self.frames, self.size);
        let call = Call {
            step: "captioner",
            id: &video.id,
            asked: self.captioner,
            words: &self.prompts.captioner,
            shown: &shown,
        };
        self.asking.reply(call, async || self.pictures(path.to_owned()).await).await
    }

    async fn pictures(&self, path: PathBuf) -> Result<Vec<Picture>, Fault> {
        let (frames, size) = (self.frames, self.size);
        blocking(move || {
            let facts = probe(&path).map_err(|error| error.to_string())?;
            sample(&path, facts.frames, frames, size).map_err(|error| error.to_string())
        })
        .await
    }

    /// The marks of a description.
    async fn marks(&self, video: &Annotation, caption: &str) -> Result<BTreeMap<&'static str, f64>, Fault> {
        let slots = [("{{annotation}}", &*noted(video)), ("{{caption}}", &*quoted(caption))];
        let mut words = filled(&self.prompts.reviewer, slots).map_err(lacking)?;
        for _ in 0..MARKED {
            let reply = self.without_pictures("reviewer", video, self.reviewer, &words).await?;
            if let Some(marks) = read_marks(&reply) {
                return Ok(marks);
            }
            // The kept reply is no use: other words are another call.
            words.push_str(
                "\n\nYour last reply held no such object of whole numbers from 0 to 5. Reply with it alone.",
            );
        }
        Err(Fault::Video(format!("{MARKED} replies of the reviewer held no marks")))
    }

    /// The description, rewritten.
    async fn refined(
        &self,
        video: &Annotation,
        caption: &str,
        marks: &BTreeMap<&'static str, f64>,
    ) -> Result<String, Fault> {
        let lower = marks.iter().filter(|(_, mark)| **mark < self.tau);
        let lower: Vec<String> = lower.map(|(aspect, mark)| format!("- {aspect}: {mark}")).collect();
        let slots = [
            ("{{annotation}}", &*noted(video)),
            ("{{caption}}", &*quoted(caption)),
            ("{{lower}}", &*lower.join("\n")),
        ];
        let words = filled(&self.prompts.refiner, slots).map_err(lacking)?;
        let refined = one_line(&self.without_pictures("refiner", video, self.refiner, &words).await?);
        if refined.is_empty() {
            Err(Fault::Video("the refiner wrote nothing".to_owned()))
        } else {
            Ok(refined)
        }
    }

    async fn without_pictures(
        &self,
        step: &'static str,
        video: &Annotation,
        asked: &Named,
        words: &str,
    ) -> Result<String, Fault> {
        let call = Call { step, id: &video.id, asked, words, shown: "" };
        self.asking.reply(call, async || Ok(Vec::new())).await
    }
}

async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, String> + Send + 'static,
) -> Result<T, Fault> {
    match tokio::task::spawn_blocking(work).await {
        Ok(result) => result.map_err(Fault::Video),
        Err(error) => Err(Fault::Video(error.to_string())),
    }
}

/// What experts noted, as the prompts show it.
fn noted(video: &Annotation) -> String {
    Value::Object(rules::evidence(video, QuestionType::Caption)).to_string()
}

fn quoted(text: &str) -> String {
    Value::String(text.to_owned()).to_string()
}

fn lacking(slot: &'static str) -> Fault {
    Fault::Video(format!("the prompt lacks `{slot}`"))
}

/// The marks in a reply: those of the aspects, or, of reviewers that give one for all, `score`.
fn read_marks(reply: &str) -> Option<BTreeMap<&'static str, f64>> {
    let object = object_in(reply)?;
    let mut marks = BTreeMap::new();
    for aspect in ASPECTS.into_iter().chain(["score"]) {
        match object.get(aspect) {
            None | Some(Value::Null) => {}
            Some(value) => {
                let mark = value.as_f64().filter(|mark| (0.0..=5.0).contains(mark))?;
                marks.insert(aspect, mark);
            }
        }
    }
    if marks.len() > 1 {
        marks.remove("score");
    }
    (!marks.is_empty()).then_some(marks)
}

/// A caption in one line, without what models put around it: a label, quotes or a fence.
fn one_line(reply: &str) -> String {
    let text = reply.split_whitespace().collect::<Vec<_>>().join(" ");
    let mut text = unquoted(text.trim_matches('`').trim());
    for label in ["Corrected Caption:", "Caption:", "**Caption:**"] {
        text = match text.get(..label.len()) {
            Some(start) if start.eq_ignore_ascii_case(label) => unquoted(text[label.len()..].trim()),
            _ => text,
        };
    }
    text.to_owned()
}

/// A text without the quotes around all of it.
fn unquoted(text: &str) -> &str {
    let quotes = [('"', '"'), ('\u{201c}', '\u{201d}')];
    let inner = quotes.into_iter().find_map(|(open, close)| text.strip_prefix(open)?.strip_suffix(close));
    inner.filter(|inner| !inner.contains('"')).unwrap_or(text).trim()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn marks_are_read_out_of_what_is_around_them_and_no_others() {
        let marks = |reply: &str| read_marks(reply).map(|marks| marks.into_iter().collect::<Vec<_>>());
        let fenced = "```json\n{\"objects\": 4, \"lighting\": null, \"behavior\": 2.0}\n```";
        assert_eq!(marks(fenced), Some(vec![("behavior", 2.0), ("objects", 4.0)]));
        assert_eq!(marks(r#"{"score": 3.5}"#), Some(vec![("score", 3.5)]));
        assert_eq!(
            marks(r#"{"score": 1, "objects": 5, "clarity": 5}"#),
            Some(vec![("clarity", 5.0), ("objects", 5.0)])
        );
        for reply in
            ["4", "", "{}", r#"{"objects": 6}"#, r#"{"objects": "4"}"#, r#"{"objects": -1, "clarity": 3}"#]
        {
            assert_eq!(marks(reply), None, "{reply}");
        }
    }

    #[test]
    fn a_caption_is_a_line_without_label_quotes_or_fence() {
        for reply in [
            "A crab\nrests.",
            "\"A crab rests.\"",
            "```\nA crab rests.\n```",
            "Corrected caption: A crab rests. ",
        ] {
            assert_eq!(one_line(reply), "A crab rests.", "{reply}");
        }
        assert_eq!(one_line("\"Nemo\" swims by \"Dory\""), "\"Nemo\" swims by \"Dory\"");
        assert_eq!(one_line(" \n"), "");
    }

    #[test]
    fn the_prompts_that_are_compiled_in_have_their_slots() {
        assert_eq!(CaptionPrompts::builtin().fault(), None);
        let without = CaptionPrompts { refiner: "{{caption}}".to_owned(), ..CaptionPrompts::builtin() };
        assert_eq!(without.fault(), Some(("refiner.md", "{{annotation}}")));
    }
}
