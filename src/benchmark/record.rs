//! One record of a release file and everything that can be wrong with it alone. Knows nothing of its
//! neighbours. No sentence here repeats a key.

use std::fmt;
use std::marker::PhantomData;

use serde::de::{Deserialize, Deserializer, Error as _, MapAccess, Visitor};
use serde_json::value::RawValue;
use unicode_normalization::UnicodeNormalization as _;

use crate::domain::question::{QuestionFormat, QuestionOption, QuestionType};

const OPTION_COUNT: std::ops::RangeInclusive<usize> = 2..=26;
const LABELS: &str = "ABCDEFGHIJKLMNOPQRSTUVWXYZ";

/// A question as the paper's schema writes it (paper, "Multiple-choice Generation").
pub(super) struct Record {
    pub(super) question_id: String,
    pub(super) id: String,
    pub(super) task: String,
    pub(super) question_type: QuestionType,
    pub(super) question_format: QuestionFormat,
    pub(super) collection: String,
    pub(super) video_id: String,
    pub(super) video_file: String,
    pub(super) video_path: String,
    pub(super) central_object: String,
    pub(super) question: String,
    pub(super) prompt: String,
    pub(super) options: Vec<QuestionOption>,
    pub(super) answer: String,
    pub(super) answer_text: String,
    pub(super) evidence: Evidence,
}

/// The ground truth behind a question.
pub(super) struct Evidence {
    /// The JSON object as it stands in the file.
    pub(super) json: String,
    /// What is said of the camera's angle, if anything is.
    pub(super) camera_angle: Option<String>,
}

/// The record that a line holds, with all that is wrong with what it says.
///
/// # Errors
/// What is wrong with its form; then there is no record.
pub(super) fn read(line: &[u8]) -> Result<(Record, Vec<String>), Vec<String>> {
    let members = serde_json::from_slice::<Members<&RawValue>>(line).map_err(|error| {
        vec![format!(
            "the line is no JSON object in UTF-8 (column {}); write one record a line",
            error.column()
        )]
    })?;
    let mut fields = Fields { members: members.0, faults: Vec::new() };
    let question_type = fields.take("type", "one of the nine question types");
    let question_format = fields.take("question_format", "`multiple_choice` or `open_ended`");
    let options = fields.take("options", "a list of objects that have the texts `label` and `text` alone");
    let evidence =
        fields.take("evidence_attributes", "an object with distinct names and a text or null for each");
    let mut text = |name| fields.take::<String>(name, "text").unwrap_or_default();
    let [question_id, id, task, collection] = ["question_id", "id", "task", "collection"].map(&mut text);
    let [video_id, video_file, video_path] = ["video_id", "video_file", "video_path"].map(&mut text);
    let [central_object, question, prompt] = ["central_object", "question", "prompt"].map(&mut text);
    let [answer, answer_text] = ["answer", "answer_text"].map(&mut text);
    let faults = fields.finish();
    let (Some(question_type), Some(question_format), Some(options), Some(evidence), true) =
        (question_type, question_format, options, evidence, faults.is_empty())
    else {
        return Err(faults);
    };
    let record = Record {
        question_id,
        id,
        task,
        question_type,
        question_format,
        collection,
        video_id,
        video_file,
        video_path,
        central_object,
        question,
        prompt,
        options,
        answer,
        answer_text,
        evidence,
    };
    let faults = record.faults();
    Ok((record, faults))
}

impl Record {
    fn faults(&self) -> Vec<String> {
        let mut faults = self.text_faults();
        faults.extend(self.name_faults());
        let expected = self.question_type.format();
        if self.question_format != expected {
            faults
                .push(format!("a `{}` question is `{expected}`; mend `question_format`", self.question_type));
        }
        match expected {
            QuestionFormat::MultipleChoice => faults.extend(self.choice_fault().map(str::to_owned)),
            QuestionFormat::OpenEnded => {
                if !self.options.is_empty() || !self.answer.is_empty() {
                    faults.push(
                        "an open-ended question has no letters; leave `options` and `answer` empty".into(),
                    );
                }
            }
        }
        faults
    }

    fn text_faults(&self) -> Vec<String> {
        let texts = [
            ("task", &self.task),
            ("collection", &self.collection),
            ("video_id", &self.video_id),
            ("video_file", &self.video_file),
            ("central_object", &self.central_object),
            ("question", &self.question),
            ("prompt", &self.prompt),
            ("answer_text", &self.answer_text),
        ];
        let mut faults: Vec<String> = texts
            .iter()
            .filter(|(_, text)| text.trim().is_empty())
            .map(|(name, _)| format!("`{name}` is blank; fill it in"))
            .collect();
        let options = self.options.iter().map(|option| ("options", &option.text));
        for (name, _) in texts.into_iter().chain(options).filter(|(_, text)| text.contains('\0')) {
            faults.push(format!("`{name}` holds a null character, which no database keeps; remove it"));
        }
        faults
    }

    /// What is wrong with the ids and the path, which all follow from collection, file and number.
    fn name_faults(&self) -> Vec<String> {
        let mut faults = Vec::new();
        let stem: String =
            self.video_file.rsplit_once('.').map_or(&*self.video_file, |(stem, _)| stem).nfc().collect();
        if self.id.split_once("--") != Some((&self.collection, &stem)) {
            let detail = "`id` is not `{collection}--{stem}` in NFC, the stem being `video_file` without its \
                          extension; write it so, with no `--` in the collection";
            faults.push(detail.into());
        }
        if !self.question_id.rsplit_once("--q").is_some_and(|(id, number)| id == self.id && is_number(number))
        {
            faults.push("`question_id` is not `{id}--q{n}`; write it so, with n from 1".into());
        }
        if self.video_path != format!("{}/{}", self.collection, self.video_file) {
            faults.push("`video_path` is not `{collection}/{video_file}`; write it so".into());
        }
        if [&self.collection, &self.video_file].iter().any(|name| !is_plain_name(name)) {
            let detail = "`collection` or `video_file` is no plain name; leave out `/`, `\\`, control \
                          characters and names of dots alone";
            faults.push(detail.into());
        }
        faults
    }

    fn choice_fault(&self) -> Option<&'static str> {
        let labels: String = self.options.iter().map(|option| option.label.as_str()).collect();
        let are_letters =
            self.options.iter().all(|option| option.label.len() == 1) && LABELS.starts_with(&labels);
        if !OPTION_COUNT.contains(&self.options.len()) || !are_letters {
            return Some(
                "`options` are not 2 to 26 with the labels A, B, C and so on; label them in that order",
            );
        }
        if self.options.iter().any(|option| option.text.trim().is_empty()) {
            return Some("an option has no text; fill it in");
        }
        match self.options.iter().find(|option| option.label == self.answer) {
            None => Some("`answer` is none of the labels; give the label of the right option"),
            Some(option) if option.text != self.answer_text => {
                Some("`answer_text` is not the text of the option that `answer` names; make them agree")
            }
            Some(_) => None,
        }
    }
}

fn is_number(text: &str) -> bool {
    !text.is_empty() && !text.starts_with('0') && text.bytes().all(|byte| byte.is_ascii_digit())
}

/// Whether a name can stand in a path without leading elsewhere.
pub(super) fn is_plain_name(name: &str) -> bool {
    name.chars().any(|c| c != '.') && !name.contains(|c: char| c == '/' || c == '\\' || c.is_control())
}

/// The members of a record that are not taken yet, and what was wrong with those that are.
struct Fields<'a> {
    members: Vec<(String, &'a RawValue)>,
    faults: Vec<String>,
}

impl<'a> Fields<'a> {
    fn take<T: Deserialize<'a>>(&mut self, name: &str, shape: &str) -> Option<T> {
        let Some(place) = self.members.iter().position(|(known, _)| known == name) else {
            self.faults.push(format!("`{name}` is missing; add it as {shape}"));
            return None;
        };
        let (_, json) = self.members.remove(place);
        let value = serde_json::from_str(json.get()).ok();
        if value.is_none() {
            self.faults.push(format!("`{name}` is not {shape}; write it so"));
        }
        value
    }

    /// All faults of form: a member that is left is unknown, or a known one for the second time.
    fn finish(mut self) -> Vec<String> {
        let left = self
            .members
            .iter()
            .map(|(name, _)| format!("`{}` is unknown or occurs twice; remove it", name.escape_debug()));
        self.faults.extend(left);
        self.faults
    }
}

impl<'de> Deserialize<'de> for Evidence {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let json = <&RawValue>::deserialize(deserializer)?.get();
        let members: Members<Option<String>> = serde_json::from_str(json).map_err(D::Error::custom)?;
        let mut names: Vec<&str> = members.0.iter().map(|(name, _)| name.as_str()).collect();
        names.sort_unstable();
        if names.windows(2).any(|pair| pair[0] == pair[1]) {
            return Err(D::Error::custom("a name occurs twice"));
        }
        let camera_angle =
            members.0.into_iter().find(|(name, _)| name == "camera_angle").and_then(|(_, text)| text);
        Ok(Self { json: json.to_owned(), camera_angle: camera_angle.filter(|text| !text.trim().is_empty()) })
    }
}

/// The members of a JSON object in the order of the file, also those whose name occurs again.
pub(super) struct Members<V>(pub(super) Vec<(String, V)>);

impl<'de, V: Deserialize<'de>> Deserialize<'de> for Members<V> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(MembersVisitor(PhantomData))
    }
}

struct MembersVisitor<V>(PhantomData<V>);

impl<'de, V: Deserialize<'de>> Visitor<'de> for MembersVisitor<V> {
    type Value = Members<V>;

    fn expecting(&self, formatter: &mut fmt::Formatter) -> fmt::Result {
        formatter.write_str("a JSON object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Members<V>, A::Error> {
        let mut members = Vec::new();
        while let Some(member) = map.next_entry()? {
            members.push(member);
        }
        Ok(Members(members))
    }
}
