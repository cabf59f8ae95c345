//! One JSON record: an object with a question id and an answer. Knows nothing of the file around it.

use std::borrow::Cow;
use std::str::Utf8Error;

use serde::Deserialize;
use serde_json::value::RawValue;

use super::json::{self, Stretch};
use super::report::{Field, Place, Report};
use super::{syntax, wording};
use crate::domain::fault::FaultCode;

/// The name of the id, then those of the answer, in the order in which they are preferred (contract 2).
pub(super) const FIELD_NAMES: [&str; 6] =
    ["question_id", "answer", "prediction", "pred", "response", "model_answer"];

/// All names that are read: those above, then what evaluation harnesses write. lmms-eval keeps the model's replies in
/// `filtered_resps`, and in `resps` where they differ, the question in `doc` or as the place `doc_id`; VLMEvalKit keeps
/// its place in `index`.
pub(super) const NAMES: [&str; 11] = [
    "question_id",
    "answer",
    "prediction",
    "pred",
    "response",
    "model_answer",
    "filtered_resps",
    "resps",
    "doc",
    "doc_id",
    "index",
];
const ANSWERS: std::ops::Range<usize> = 1..8;
const REPLIES: std::ops::Range<usize> = 6..8;
const DOC: usize = 8;
const PLACES: std::ops::Range<usize> = 9..11;

/// A record without anything odd, which is nearly every one: it is read in one pass.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Plain<'a> {
    #[serde(borrow)]
    question_id: Cow<'a, str>,
    #[serde(borrow, alias = "prediction", alias = "pred", alias = "response", alias = "model_answer")]
    answer: Cow<'a, str>,
}

/// A record of a JSONL file or of a list.
#[derive(Clone, Copy)]
pub(super) struct Record<'a> {
    /// The record's text, without a line end after it.
    pub(super) stretch: Stretch<'a>,
    /// Its index in the list, from 0; none in a JSONL file.
    pub(super) element: Option<usize>,
}

/// The values of a record by name, not decoded yet.
#[derive(Default)]
struct Fields<'a> {
    values: [Option<&'a RawValue>; NAMES.len()],
    twice: Option<(&'static str, &'a RawValue)>,
    extra_count: u64,
    first_extra: Option<String>,
    unfinished: Option<String>,
}

impl<'a> Fields<'a> {
    fn add(&mut self, name: Option<String>, value: Option<&'a RawValue>) {
        let (Some(name), Some(value)) = (&name, value) else {
            self.unfinished = name;
            return;
        };
        match NAMES.iter().position(|known| known == name) {
            Some(known) if self.values[known].replace(value).is_some() => {
                self.twice.get_or_insert((NAMES[known], value));
            }
            Some(_) => {}
            None => self.add_extra(name),
        }
    }

    fn add_extra(&mut self, name: &str) {
        self.extra_count += 1;
        self.first_extra.get_or_insert_with(|| name.to_owned());
    }

    fn question_id(&self) -> Option<String> {
        serde_json::from_str(self.values[0].or_else(|| self.id_in_doc())?.get()).ok()
    }

    /// The id of the question that lmms-eval keeps with the reply.
    fn id_in_doc(&self) -> Option<&'a RawValue> {
        let doc = self.values[DOC].filter(|doc| json::kind(doc.get()) == "an object")?;
        let mut id = None;
        // The document is part of a record that was walked without an error.
        let _ = json::walk(doc.get(), |name, value| {
            if name.as_deref() == Some(NAMES[0]) {
                id = value;
            }
        });
        id
    }

    /// The place of the question in its split, as a harness counts it, with the field's name.
    fn place_in_split(&self) -> Option<(&'static str, &'a RawValue)> {
        PLACES.into_iter().find_map(|field| Some((NAMES[field], self.values[field]?)))
    }

    /// Whether a harness wrote the record; what it writes besides is nothing odd.
    fn is_of_harness(&self) -> bool {
        REPLIES.chain(PLACES).any(|field| self.values[field].is_some())
    }

    /// The answer under the name that is preferred; other answers are fields that are not read.
    fn answer(&mut self) -> Option<(usize, &'a RawValue)> {
        let mut answer = None;
        for field in ANSWERS {
            match self.values[field] {
                Some(value) if answer.is_none() => answer = Some((field, value)),
                Some(_) => self.add_extra(NAMES[field]),
                None => {}
            }
        }
        answer
    }
}

impl<'a> Record<'a> {
    /// Reports the record's answer, or every fault that it has.
    pub(super) fn read(self, report: &mut Report) {
        if let Ok(plain) = serde_json::from_str::<Plain>(self.stretch.text)
            && report.accept(&plain.question_id, plain.answer, self.stretch.line)
        {
            return;
        }
        self.examine(report);
    }

    /// Reports a record whose bytes are not UTF-8; the record's text is what remains when they are replaced.
    pub(super) fn report_not_utf8(self, error: Utf8Error, bytes: &[u8], report: &mut Report) {
        report.fault(|| {
            let (fields, _) = self.fields();
            self.place(&fields, error.valid_up_to())
                .fault(FaultCode::NotUtf8, wording::not_utf8(bytes, error))
        });
    }

    fn fields(&self) -> (Fields<'a>, serde_json::Result<()>) {
        let mut fields = Fields::default();
        let text = self.stretch.text;
        let walked = match text.trim_ascii_start().as_bytes() {
            [b'{', ..] => json::walk(text, |name, value| fields.add(name, value)),
            _ => serde_json::from_str::<&RawValue>(text).map(drop),
        };
        (fields, walked)
    }

    fn examine(self, report: &mut Report) {
        let text = self.stretch.text;
        let (mut fields, walked) = self.fields();
        if let Some(offset) = json::too_deep(text) {
            report.fault(|| self.place(&fields, offset).fault(FaultCode::TooDeep, wording::too_deep()));
        } else if let Err(error) = walked {
            report.fault(|| {
                let offset = syntax::offset_of(&error, text);
                let detail = syntax::explain(&error, text, offset, "record");
                self.place(&fields, offset).fault(FaultCode::MalformedJson, detail)
            });
        } else if json::kind(text) != "an object" {
            report.fault(|| {
                self.place(&fields, 0).fault(FaultCode::WrongType, wording::record_of_wrong_type(text))
            });
        } else if let Some((name, value)) = fields.twice {
            report.fault(|| {
                let place = Place { pointer: self.pointer(name), ..self.place_of(&fields, value) };
                place.fault(FaultCode::DuplicateKey, wording::duplicate_key(name))
            });
        } else {
            self.take(&mut fields, report);
        }
    }

    fn take(&self, fields: &mut Fields<'a>, report: &mut Report) {
        let id = self.id(fields, report);
        let named_answer = fields.answer();
        let (field, value) =
            named_answer.map_or((ANSWERS.start, None), |(field, value)| (field, Some(value)));
        let name = NAMES[field];
        let answer = match value {
            Some(value) if REPLIES.contains(&field) => self.only_reply(fields, name, value, report),
            _ => self.text_of(fields, name, value, report),
        };
        let Some(id) = id else { return };
        report.answer(&id, answer, self.stretch.line, &|field| match (field, value) {
            (Field::Answer, Some(value)) => {
                Place { pointer: self.pointer(name), ..self.place_of(fields, value) }
            }
            _ => fields.values[0].map_or_else(Place::default, |value| self.place_of(fields, value)),
        });
        if let Some(first) = fields.first_extra.as_ref().filter(|_| !fields.is_of_harness()) {
            report.extra_fields(fields.extra_count, first, self.stretch.line);
        }
    }

    /// The id that the record itself gives, else the one of the document that it is about, else the one of the question
    /// at the place that it gives.
    fn id(&self, fields: &Fields<'a>, report: &mut Report) -> Option<String> {
        if let Some(id) = fields.id_in_doc().filter(|_| fields.values[0].is_none()) {
            return self.text_of(fields, NAMES[0], Some(id), report);
        }
        let named = fields.first_extra.as_ref().filter(|name| report.knows(name));
        if let (None, None, Some(name)) = (fields.values[0], fields.place_in_split(), named) {
            report.fault(|| {
                let place = Place { pointer: self.pointer(NAMES[0]), ..self.place(fields, 0) };
                place.fault(FaultCode::MissingField, wording::id_as_name(name))
            });
            return None;
        }
        let place = fields.place_in_split().filter(|_| fields.values[0].is_none());
        let Some((name, value)) = place else {
            return self.text_of(fields, NAMES[0], fields.values[0], report);
        };
        let found = report.at_place(name, value.get(), self.stretch.line).map(str::to_owned);
        found
            .map_err(|(code, detail)| {
                report.fault(|| {
                    Place { pointer: self.pointer(name), ..self.place_of(fields, value) }.fault(code, detail)
                });
            })
            .ok()
    }

    /// The one reply in the lists that lmms-eval wraps around replies.
    fn only_reply(
        &self,
        fields: &Fields<'a>,
        name: &'static str,
        mut value: &'a RawValue,
        report: &mut Report,
    ) -> Option<String> {
        while json::kind(value.get()) == "a list" {
            // The list is part of a record that was walked without an error.
            let replies: Vec<&RawValue> = serde_json::from_str(value.get()).unwrap_or_default();
            let [reply] = replies[..] else {
                report.fault(|| {
                    let place = Place { pointer: self.pointer(name), ..self.place_of(fields, value) };
                    place.fault(FaultCode::WrongType, wording::not_one_reply(name, replies.len()))
                });
                return None;
            };
            value = reply;
        }
        self.text_of(fields, name, Some(value), report)
    }

    /// Decodes the value of a field that must be text, or reports why it cannot be.
    fn text_of(
        &self,
        fields: &Fields<'a>,
        name: &'static str,
        value: Option<&'a RawValue>,
        report: &mut Report,
    ) -> Option<String> {
        let Some(value) = value else {
            report.fault(|| {
                let place = Place { pointer: self.pointer(name), ..self.place(fields, 0) };
                place.fault(FaultCode::MissingField, wording::missing_field(name))
            });
            return None;
        };
        let place = || Place { pointer: self.pointer(name), ..self.place_of(fields, value) };
        if json::kind(value.get()) != "text" {
            report.fault(|| {
                place().fault(FaultCode::WrongType, wording::field_of_wrong_type(name, value.get()))
            });
            return None;
        }
        match serde_json::from_str(value.get()) {
            Ok(text) => Some(text),
            Err(error) => {
                report.fault(|| {
                    let detail = syntax::explain(
                        &error,
                        value.get(),
                        syntax::offset_of(&error, value.get()),
                        "record",
                    );
                    place().fault(FaultCode::MalformedJson, detail)
                });
                None
            }
        }
    }

    fn place_of(&self, fields: &Fields<'a>, value: &'a RawValue) -> Place {
        self.place(fields, self.stretch.offset_of(value.get()))
    }

    /// The place `offset` bytes into the record, and the field that it is in.
    fn place(&self, fields: &Fields<'a>, offset: usize) -> Place {
        let text = self.stretch.text;
        let inside = |value: &&RawValue| {
            let start = self.stretch.offset_of(value.get());
            (start..start + value.get().len()).contains(&offset)
        };
        let field = fields.values.iter().position(|value| value.as_ref().is_some_and(inside));
        let name = field.map(|field| NAMES[field]).or(fields.unfinished.as_deref());
        let at = self.stretch.skip(text.floor_char_boundary(offset));
        Place {
            line: Some(at.line),
            column: Some(at.column),
            pointer: name
                .map_or_else(|| self.element.map(|index| format!("/{index}")), |name| self.pointer(name)),
            question_id: fields.question_id(),
        }
    }

    fn pointer(&self, name: &str) -> Option<String> {
        let field = json::pointer_to(name);
        Some(self.element.map_or_else(|| field.clone(), |index| format!("/{index}{field}")))
    }
}
