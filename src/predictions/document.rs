//! One JSON document: a list of records, or an object of answers by question id. It is held whole, its parts
//! are not.

use std::io::{self, BufRead};

use serde_json::value::RawValue;

use super::json::{self, Stretch};
use super::record::Record;
use super::report::{Place, Report};
use super::{syntax, wording};
use crate::domain::fault::FaultCode;

/// Reads the document to its end; its first line has the number `first_line`.
pub(super) fn read(mut text: impl BufRead, first_line: u64, report: &mut Report) -> io::Result<()> {
    let mut bytes = Vec::new();
    text.read_to_end(&mut bytes)?;
    match str::from_utf8(&bytes) {
        Ok(text) => read_text(Stretch { text, line: first_line, column: 1 }, report),
        Err(error) => report.fault(|| {
            let text = bytes.utf8_chunks().next().map_or("", |chunk| chunk.valid());
            let at = Stretch { text, line: first_line, column: 1 }.skip(text.len());
            let place = Place { column: Some(at.column), ..Place::line(at.line) };
            place.fault(FaultCode::NotUtf8, wording::not_utf8(&bytes, error))
        }),
    }
    Ok(())
}

fn read_text(document: Stretch, report: &mut Report) {
    let mut rest = document;
    let mut index = 0;
    let walked = json::walk(document.text, |name, value| {
        // Without a value the document is malformed here, and the error says so.
        let Some(value) = value else { return };
        rest = rest.skip(rest.offset_of(value.get()));
        let stretch = Stretch { text: value.get(), ..rest };
        match name {
            Some(id) => read_member(&id, value, stretch, report),
            None => Record { stretch, element: Some(index) }.read(report),
        }
        index += 1;
    });
    let Err(error) = walked else { return };
    report.fault(|| {
        let (code, offset, detail) = match json::too_deep(document.text) {
            Some(offset) => (FaultCode::TooDeep, offset, wording::too_deep()),
            None => {
                let offset = syntax::offset_of(&error, document.text);
                let detail = syntax::explain(&error, document.text, offset, "document");
                (FaultCode::MalformedJson, offset, detail)
            }
        };
        let at = document.skip(document.text.floor_char_boundary(offset));
        Place { column: Some(at.column), ..Place::line(at.line) }.fault(code, detail)
    });
}

/// One answer of a document `{question_id: answer}`.
fn read_member(id: &str, value: &RawValue, stretch: Stretch, report: &mut Report) {
    let place = |offset| {
        let at = stretch.skip(offset);
        let pointer = Some(json::pointer_to(id));
        Place { line: Some(at.line), column: Some(at.column), pointer, question_id: Some(id.to_owned()) }
    };
    if holds_records(value.get()) && !report.knows(id) {
        report.fault(|| place(0).fault(FaultCode::WrongType, wording::records_within(id)));
        return;
    }
    let answer = if let Some(offset) = json::too_deep(value.get()) {
        report.fault(|| place(offset).fault(FaultCode::TooDeep, wording::too_deep()));
        None
    } else if json::kind(value.get()) != "text" {
        report.fault(|| {
            place(0).fault(FaultCode::WrongType, wording::field_of_wrong_type("answer", value.get()))
        });
        None
    } else {
        let decoded = serde_json::from_str::<String>(value.get());
        if let Err(error) = &decoded {
            report.fault(|| {
                let offset = syntax::offset_of(error, value.get());
                let detail = syntax::explain(error, value.get(), offset, "document");
                place(offset).fault(FaultCode::MalformedJson, detail)
            });
        }
        decoded.ok()
    };
    report.answer(id, answer, stretch.line, &|_| place(0));
}

/// Whether a value is a list that begins with an object.
fn holds_records(value: &str) -> bool {
    value.strip_prefix('[').is_some_and(|rest| rest.trim_start().starts_with('{'))
}
