//! Recognising a file's format by how its text begins, never by its name. Knows nothing of records beyond
//! their names.

use std::io::{self, BufRead};

use serde::de::IgnoredAny;

use super::decompress::peek;
use super::{json, record};

/// How much of the text is looked at.
const HEAD_BYTES: usize = 16 * 1024;

/// What a file's text is.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Form {
    /// Nothing but white space.
    Empty,
    /// One JSON record a line.
    Jsonl,
    /// One JSON document, a list or an object.
    Document,
    /// CSV or TSV.
    Table,
    /// A zip archive, such as a workbook of a spreadsheet.
    Archive,
    /// One JSON value that holds no records, as text.
    Scalar(String),
    /// UTF-16 that does not say so.
    Utf16,
    /// HTML or XML.
    Markup,
    /// Something that is no text, in words.
    Unknown(&'static str),
}

/// A recognised text, with all that is left to read of it.
pub(super) struct Opening<'a> {
    pub(super) form: Form,
    /// The number of the first line of `text`.
    pub(super) line: u64,
    pub(super) text: Box<dyn BufRead + 'a>,
}

/// The first bytes of a zip archive that holds something.
pub(super) const ARCHIVE: &[u8] = b"PK\x03\x04";

/// Files that are taken for answer files by mistake, by their first bytes.
const MISTAKEN: &[(&[u8], &str)] = &[
    (b"PK\x05\x06", "an empty zip archive"),
    (b"\xd0\xcf\x11\xe0", "an old or an encrypted Excel file, save it as an .xlsx without a password"),
    (b"BZh", "bzip2"),
    (b"\xfd7zXZ", "xz"),
    (b"7z\xbc\xaf", "a 7z archive"),
    (b"PAR1", "Parquet"),
    (b"%PDF", "PDF"),
    (b"\x80\x04\x95", "a Python pickle"),
    (b"\x80\x05\x95", "a Python pickle"),
];

/// Looks at the start of a text.
pub(super) fn recognise<'a>(mut text: Box<dyn BufRead + 'a>) -> io::Result<Opening<'a>> {
    let mut line = 1;
    loop {
        let (head, whole) = peek(text, HEAD_BYTES)?;
        let is_all = head.len() < HEAD_BYTES;
        if is_all || !head.trim_ascii().is_empty() {
            return Ok(Opening { form: form_of(&head, is_all), line, text: Box::new(whole) });
        }
        line += head.iter().filter(|&&byte| byte == b'\n').count() as u64;
        text = whole.into_inner().1;
    }
}

fn form_of(head: &[u8], is_all: bool) -> Form {
    let start = head.trim_ascii_start();
    let Some(&first_byte) = start.first() else { return Form::Empty };
    if start.starts_with(ARCHIVE) {
        return Form::Archive;
    }
    if let Some((_, what)) = MISTAKEN.iter().find(|(magic, _)| start.starts_with(magic)) {
        return Form::Unknown(what);
    }
    if start.iter().take(2).any(|&byte| byte == 0) {
        return Form::Utf16;
    }
    let text = start.utf8_chunks().next().map_or("", |chunk| chunk.valid());
    let second_line = text.lines().skip(1).map(str::trim_start).find(|line| !line.is_empty());
    let records_follow = second_line.is_some_and(|line| line.starts_with('{'));
    // Records or a whole file that were encoded twice.
    let in_text = |line: &str| ["\"{\\\"", "\"[{\\\""].iter().any(|encoded| line.starts_with(encoded));
    match first_byte {
        b'<' => Form::Markup,
        b'"' if in_text(text) && second_line.is_some_and(in_text) => Form::Jsonl,
        b'"' if in_text(text) => Form::Scalar(text.trim().to_owned()),
        b'[' => Form::Document,
        b'{' if records_follow || is_record(text) => Form::Jsonl,
        b'{' => Form::Document,
        // Such as a comment above the records.
        _ if records_follow => Form::Jsonl,
        _ if is_all && serde_json::from_str::<IgnoredAny>(text).is_ok() => {
            Form::Scalar(text.trim().to_owned())
        }
        _ if is_binary(start) => Form::Unknown("binary data"),
        _ => Form::Table,
    }
}

/// Whether a text begins with an object that has a record's fields; otherwise its names are question ids. The
/// object may be cut off or malformed.
fn is_record(text: &str) -> bool {
    let mut found = false;
    // What is wrong with the text is reported when it is read.
    let _ = json::walk(text, |name, _| {
        found |= name.is_some_and(|name| record::NAMES.contains(&name.as_str()));
    });
    found
}

/// Whether the first line holds a character that no header has.
fn is_binary(start: &[u8]) -> bool {
    let first_line = start.split(|&byte| byte == b'\n').next().unwrap_or_default();
    first_line.iter().any(|&byte| byte.is_ascii_control() && !byte.is_ascii_whitespace())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn form(text: &str) -> Form {
        form_of(text.as_bytes(), true)
    }

    #[test]
    fn an_object_is_a_record_or_a_map_by_its_names() {
        assert_eq!(form(r#"{"question_id": "a", "answer": "b"}"#), Form::Jsonl);
        assert_eq!(form(r#"{"model": {"x": 1}, "pred": "b"}"#), Form::Jsonl);
        assert_eq!(form(r#"{"MVK--a--q1": "answer"}"#), Form::Document);
        assert_eq!(form(r#"{"question_id": "MVK"#), Form::Jsonl);
        assert_eq!(form("{\n \"MVK--a--q1\": \"b\"\n}"), Form::Document);
        assert_eq!(form("{\n \"question_id\": \"b\"\n}"), Form::Jsonl);
    }

    #[test]
    fn a_record_longer_than_the_head_is_still_a_record() {
        let long = format!(r#"{{"question_id": "a", "answer": "{}"#, "a".repeat(HEAD_BYTES));
        assert_eq!(form_of(&long.as_bytes()[..HEAD_BYTES], false), Form::Jsonl);
    }

    #[test]
    fn a_quoted_header_is_a_table() {
        assert_eq!(form("\"question_id\",\"answer\"\n"), Form::Table);
        assert_eq!(form("question_id,answer\na,\"\n{\"\"answer\"\": 1}\"\n"), Form::Table);
    }

    #[test]
    fn other_files_are_told_apart() {
        assert_eq!(form(" \n42\n"), Form::Scalar("42".to_owned()));
        assert_eq!(form_of(b"\0{\0}", true), Form::Utf16);
        assert!(matches!(form("a\x01b\n"), Form::Unknown(_)));
        let record = r#""{\"question_id\": 1}""#;
        assert_eq!(form(record), Form::Scalar(record.to_owned()));
        assert_eq!(form(&format!("{record}\n{record}")), Form::Jsonl);
    }

    #[test]
    fn blank_lines_before_the_text_are_counted() {
        let text = format!("{}{{\"question_id\": 1}}", "\n".repeat(HEAD_BYTES * 2));
        let opening = recognise(Box::new(text.as_bytes())).unwrap();
        assert_eq!((opening.form, opening.line), (Form::Jsonl, HEAD_BYTES as u64 * 2 + 1));
    }
}
