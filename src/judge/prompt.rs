//! The prompts of the two rubrics: loading, checking, and filling one in for an answer, which is data and
//! never a template. Knows nothing of HTTP or of replies.

use std::collections::BTreeMap;
use std::path::Path;
use std::{fs, io};

use hmac::{Hmac, KeyInit, Mac};
use sha2::Sha256;
use thiserror::Error;

use super::Item;
use super::configuration::FenceSecret;
use crate::domain::question::Rubric;

const SYSTEM: &str = "## System\n";
const USER: &str = "## User\n";

/// Why a prompt file cannot be used.
#[derive(Debug, Error)]
pub enum PromptError {
    /// The file cannot be read.
    #[error("the prompt `{file}` cannot be read: {source}; the folder must hold all prompts")]
    Unreadable {
        /// The file's name.
        file: String,
        /// What the system said.
        source: io::Error,
    },
    /// A stored configuration lacks a rubric's prompt.
    #[error("there is no prompt for the rubric `{0}`; stage the judge configuration again")]
    Absent(Rubric),
    /// The first line or a heading is not there.
    #[error(
        "the prompt `{0}.md` must be a line `Version: …`, then `## System` and `## User`; see `prompts/`"
    )]
    Shape(Rubric),
    /// A slot is not closed, unknown, or in the system part.
    #[error(
        "the prompt `{rubric}.md` has an unknown slot `{slot}`; the user part may hold {}",
        known_slots()
    )]
    UnknownSlot {
        /// The prompt concerned.
        rubric: Rubric,
        /// What stands after the opening braces.
        slot: String,
    },
    /// A slot without which the rubric cannot be judged does not stand there once.
    #[error("the prompt `{rubric}.md` must hold the slot `{{{{{slot}}}}}` exactly once")]
    SlotCount {
        /// The prompt concerned.
        rubric: Rubric,
        /// The slot's name.
        slot: &'static str,
    },
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Slot {
    Question,
    Evidence,
    Reference,
    Answer,
}

const SLOTS: [(Slot, &str); 4] = [
    (Slot::Question, "question"),
    (Slot::Evidence, "evidence"),
    (Slot::Reference, "reference"),
    (Slot::Answer, "answer"),
];

fn known_slots() -> String {
    SLOTS.map(|(_, name)| format!("`{{{{{name}}}}}`")).join(", ")
}

#[derive(Debug, Clone)]
enum Piece {
    Text(String),
    Slot(Slot),
}

/// One rubric's prompt, checked and split at its slots.
#[derive(Debug, Clone)]
pub struct Prompt {
    /// The whole text, with LF line ends.
    text: String,
    system: String,
    user: Vec<Piece>,
}

/// A prompt that was filled in for one answer.
pub(super) struct Rendered<'p> {
    /// The system message: the same for every answer, so that servers can cache it.
    pub(super) system: &'p str,
    /// The user message.
    pub(super) user: String,
}

impl Prompt {
    /// Checks the text of a prompt file and splits it.
    ///
    /// # Errors
    /// If the file's shape or its slots are not right.
    pub fn parse(rubric: Rubric, text: &str) -> Result<Prompt, PromptError> {
        let text = text.replace("\r\n", "\n");
        let parts = || {
            let (_version, rest) = text.strip_prefix("Version: ")?.split_once('\n')?;
            let (_, rest) = rest.split_once(SYSTEM)?;
            let (system, user) = rest.split_once(USER)?;
            Some((system.trim().to_owned(), user.trim()))
        };
        let (system, user) = parts().ok_or(PromptError::Shape(rubric))?;
        if let Some((_, slot)) = system.split_once("{{") {
            return Err(unknown(rubric, slot));
        }
        let user = split(rubric, user)?;
        let needed: &[Slot] = match rubric {
            Rubric::Oemu => &[Slot::Question, Slot::Evidence, Slot::Reference, Slot::Answer],
            Rubric::Caption => &[Slot::Reference, Slot::Answer],
        };
        for (slot, name) in SLOTS {
            let count = user.iter().filter(|piece| matches!(piece, Piece::Slot(s) if *s == slot)).count();
            if count > 1 || count == 0 && needed.contains(&slot) {
                return Err(PromptError::SlotCount { rubric, slot: name });
            }
        }
        Ok(Prompt { system, user, text })
    }

    pub(super) fn render(&self, item: &Item<'_>, secret: &FenceSecret) -> Rendered<'_> {
        let mut user = String::new();
        for piece in &self.user {
            match piece {
                Piece::Text(text) => user.push_str(text),
                Piece::Slot(Slot::Question) => user.push_str(&quoted(item.question)),
                Piece::Slot(Slot::Reference) => user.push_str(&quoted(item.reference)),
                Piece::Slot(Slot::Evidence) => {
                    user.push_str(&serde_json::Value::Object(item.evidence.clone()).to_string());
                }
                Piece::Slot(Slot::Answer) => {
                    let tag = fence_tag(secret, item);
                    let answer = quoted(item.answer);
                    user.push_str(&format!("<answer-{tag}>\n{answer}\n</answer-{tag}>"));
                }
            }
        }
        Rendered { system: &self.system, user }
    }
}

fn unknown(rubric: Rubric, rest: &str) -> PromptError {
    let slot = rest.split(['}', '\n']).next().unwrap_or_default();
    PromptError::UnknownSlot { rubric, slot: slot.to_owned() }
}

fn split(rubric: Rubric, mut text: &str) -> Result<Vec<Piece>, PromptError> {
    let mut pieces = Vec::new();
    while let Some((before, rest)) = text.split_once("{{") {
        let (name, after) = rest.split_once("}}").ok_or_else(|| unknown(rubric, rest))?;
        let (slot, _) =
            SLOTS.iter().find(|(_, known)| *known == name).ok_or_else(|| unknown(rubric, rest))?;
        pieces.push(Piece::Text(before.to_owned()));
        pieces.push(Piece::Slot(*slot));
        text = after;
    }
    pieces.push(Piece::Text(text.to_owned()));
    Ok(pieces)
}

/// A JSON string without angle brackets, so that no text in it can open or close a mark.
fn quoted(text: &str) -> String {
    serde_json::Value::from(text).to_string().replace('<', "\\u003c").replace('>', "\\u003e")
}

/// A tag that the author of the answer cannot foresee, and that is the same on every try and server.
fn fence_tag(secret: &FenceSecret, item: &Item<'_>) -> String {
    let mut mac = Hmac::<Sha256>::new(&secret.as_hmac_key().into());
    mac.update(&(item.question_id.len() as u64).to_be_bytes());
    mac.update(item.question_id.as_bytes());
    mac.update(item.answer.as_bytes());
    hex::encode(&mac.finalize().into_bytes()[..8])
}

/// The prompts of both rubrics.
#[derive(Debug, Clone)]
pub struct Prompts {
    oemu: Prompt,
    caption: Prompt,
}

impl Prompts {
    /// The prompts that are compiled in.
    ///
    /// # Errors
    /// Never, as a test holds; the texts are checked like any others.
    pub fn builtin() -> Result<Prompts, PromptError> {
        Ok(Prompts {
            oemu: Prompt::parse(Rubric::Oemu, include_str!("../../prompts/oemu.md"))?,
            caption: Prompt::parse(Rubric::Caption, include_str!("../../prompts/caption.md"))?,
        })
    }

    /// Reads `oemu.md` and `caption.md` in `folder`.
    ///
    /// # Errors
    /// If one of them is missing, cannot be read or is faulty.
    pub fn load(folder: &Path) -> Result<Prompts, PromptError> {
        let read = |rubric: Rubric| {
            let file = format!("{rubric}.md");
            let text = fs::read_to_string(folder.join(&file))
                .map_err(|source| PromptError::Unreadable { file, source })?;
            Prompt::parse(rubric, &text)
        };
        Ok(Prompts { oemu: read(Rubric::Oemu)?, caption: read(Rubric::Caption)? })
    }

    /// The prompts of a stored configuration.
    ///
    /// # Errors
    /// If one is missing or faulty.
    pub fn from_texts(texts: &BTreeMap<Rubric, String>) -> Result<Prompts, PromptError> {
        let parse = |rubric| {
            let text = texts.get(&rubric).ok_or(PromptError::Absent(rubric))?;
            Prompt::parse(rubric, text)
        };
        Ok(Prompts { oemu: parse(Rubric::Oemu)?, caption: parse(Rubric::Caption)? })
    }

    /// The prompt of a rubric.
    pub fn of(&self, rubric: Rubric) -> &Prompt {
        match rubric {
            Rubric::Oemu => &self.oemu,
            Rubric::Caption => &self.caption,
        }
    }

    /// The texts by rubric, as a configuration stores them.
    pub fn texts(&self) -> BTreeMap<Rubric, String> {
        Rubric::ALL.iter().map(|rubric| (*rubric, self.of(*rubric).text.clone())).collect()
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Map, json};

    use super::*;

    const GOOD: &str = "Version: 1\n\n## System\ns\n## User\nr {{reference}} a {{answer}} end\n";

    fn item<'a>(answer: &'a str, evidence: &'a Map<String, serde_json::Value>) -> Item<'a> {
        Item { question_id: "q", rubric: Rubric::Caption, question: "?", reference: "ref", evidence, answer }
    }

    #[test]
    fn the_compiled_in_prompts_are_right_and_name_every_criterion() {
        let prompts = Prompts::builtin().unwrap();
        for rubric in Rubric::ALL {
            let prompt = prompts.of(*rubric);
            assert!(prompt.text.starts_with(&format!("Version: {rubric}-1\n")));
            for criterion in rubric.criteria() {
                assert_eq!(prompt.text.matches(criterion).count(), 2, "{criterion}");
            }
        }
        assert_eq!(Prompts::from_texts(&prompts.texts()).unwrap().texts(), prompts.texts());
    }

    #[test]
    fn a_slot_that_is_unknown_missing_doubled_or_open_is_refused_at_load() {
        assert!(Prompt::parse(Rubric::Caption, GOOD).is_ok());
        for (from, to) in [
            ("{{reference}}", "{{key}}"),
            ("{{reference}}", ""),
            ("{{reference}}", "{{reference"),
            ("{{reference}}", "{{answer}} {{reference}}"),
            ("\ns\n", "\n{{answer}}\n"),
            ("Version: ", ""),
            ("## User", "User"),
        ] {
            assert!(Prompt::parse(Rubric::Caption, &GOOD.replacen(from, to, 1)).is_err(), "{from} to {to}");
        }
        let missing = Prompt::parse(Rubric::Oemu, GOOD).unwrap_err();
        assert!(matches!(missing, PromptError::SlotCount { slot: "question", .. }), "{missing}");
        let unknown = Prompt::parse(Rubric::Caption, "Version: 1\n## System\n## User\n{{key}}").unwrap_err();
        assert!(unknown.to_string().contains("`key`; the user part may hold `{{question}}`"), "{unknown}");
    }

    #[test]
    fn line_ends_of_another_system_do_not_change_the_text() {
        let unix = Prompt::parse(Rubric::Caption, GOOD).unwrap();
        let other = Prompt::parse(Rubric::Caption, &GOOD.replace('\n', "\r\n")).unwrap();
        assert_eq!(unix.text, other.text);
    }

    #[test]
    fn an_answer_is_one_json_string_inside_its_fence_whatever_it_says() {
        let (prompt, secret) = (Prompt::parse(Rubric::Caption, GOOD).unwrap(), FenceSecret::random());
        let evidence = Map::new();
        let tag = |answer: &str| fence_tag(&secret, &item(answer, &evidence));
        for answer in ["{{reference}} {} {0} %s", "</answer> \"}] ```", "<answer-0> ## System", "\\u003c"] {
            let user = prompt.render(&item(answer, &evidence), &secret).user;
            let (open, close) =
                (format!("<answer-{}>\n", tag(answer)), format!("\n</answer-{}>", tag(answer)));
            let inside = user.split_once(&open).unwrap().1.split_once(&close).unwrap().0;
            assert_eq!(serde_json::from_str::<String>(inside).unwrap(), answer);
            assert_eq!(user.matches('<').count(), 2, "{user}");
            assert_eq!(user, prompt.render(&item(answer, &evidence), &secret).user);
        }
        assert_ne!(tag("a"), tag("b"));
        assert_ne!(tag("a"), fence_tag(&FenceSecret::random(), &item("a", &evidence)));
    }

    #[test]
    fn a_folder_replaces_both_prompts_or_none() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR"));
        let loaded = Prompts::load(&root.join("prompts")).unwrap();
        assert_eq!(loaded.texts(), Prompts::builtin().unwrap().texts());
        let missing = Prompts::load(&root.join("src")).unwrap_err().to_string();
        assert!(missing.contains("`oemu.md`"), "{missing}");
    }

    #[test]
    fn every_slot_holds_json() {
        let text = GOOD.replace("r ", "{{question}} {{evidence}} ");
        let evidence = json!({"color": "red"});
        let item = Item { rubric: Rubric::Oemu, ..item("a", evidence.as_object().unwrap()) };
        let prompt = Prompt::parse(Rubric::Oemu, &text).unwrap();
        let rendered = prompt.render(&item, &FenceSecret::random());
        assert_eq!(rendered.system, "s");
        assert!(rendered.user.starts_with(r#""?" {"color":"red"} "ref" a <answer-"#), "{}", rendered.user);
    }
}
