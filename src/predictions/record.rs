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
    values: [Option<&'a RawValue>; FIELD_NAMES.len()],
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
        match FIELD_NAMES.iter().position(|known| known == name) {
            Some(known) if self.values[known].replace(value).is_some() => {
                self.twice.get_or_insert((FIELD_NAMES[known], value));
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
        serde_json::from_str(self.values[0]?.get()).ok()
    }

    /// The answer under the name that is preferred; other answers are fields that are not read.
    fn answer(&mut self) -> Option<(&'static str, &'a RawValue)> {
        let mut answer = None;
        for (value, name) in self.values.into_iter().zip(FIELD_NAMES).skip(1) {
            match value {
                Some(value) if answer.is_none() => answer = Some((name, value)),
                Some(_) => self.add_extra(name),
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
        let id = self.text_of(fields, FIELD_NAMES[0], fields.values[0], report);
        let named_answer = fields.answer();
        let (name, value) = named_answer.map_or((FIELD_NAMES[1], None), |(name, value)| (name, Some(value)));
        let answer = self.text_of(fields, name, value, report);
        let Some(id) = id else { return };
        report.answer(&id, answer, self.stretch.line, &|field| match (field, value) {
            (Field::Answer, Some(value)) => {
                Place { pointer: self.pointer(name), ..self.place_of(fields, value) }
            }
            _ => fields.values[0].map_or_else(Place::default, |value| self.place_of(fields, value)),
        });
        if let Some(first) = &fields.first_extra {
            report.extra_fields(fields.extra_count, first, self.stretch.line);
        }
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
        let name = field.map(|field| FIELD_NAMES[field]).or(fields.unfinished.as_deref());
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
