//! The sentences of faults and warnings: what is wrong, the literal in backticks, then how to mend it. A
//! sentence holds only what the file itself says and public ids.

use std::fmt::Display;
use std::str::Utf8Error;

use super::index::QuestionIndex;
use super::{MAX_RECORD_BYTES, json, max_answer_bytes};
use crate::domain::question::{QuestionFormat, Split};

/// Longest quotation from a file, in characters.
pub(super) const MAX_QUOTED_CHARS: usize = 120;

const EXAMPLE: &str = r#"`{"question_id": "MVK--reef--q1", "answer": "A"}`"#;

/// A text of the file in backticks, cut short, with everything escaped that does not print.
pub(super) fn literal(text: &str) -> String {
    let mut quoted = String::from("`");
    for c in shorten(text.to_owned()).chars() {
        match c {
            '"' | '\'' | '\\' => quoted.push(c),
            '`' => quoted.push('\''),
            _ => quoted.extend(c.escape_debug()),
        }
    }
    quoted + "`"
}

/// A text cut to [`MAX_QUOTED_CHARS`].
pub(super) fn shorten(mut text: String) -> String {
    if let Some((end, _)) = text.char_indices().nth(MAX_QUOTED_CHARS) {
        text.truncate(end);
        text.push('…');
    }
    text
}

pub(super) fn too_large(max_bytes: u64) -> String {
    format!(
        "the file has more than {max_bytes} bytes, before or after decompression: leave out all fields but \
         the question id and the answer"
    )
}

pub(super) fn zstd_window(mebibytes: u32) -> String {
    format!(
        "the zstd frame asks for a window of more than {mebibytes} MiB: compress without `--long` and \
         `--ultra`, or with gzip"
    )
}

pub(super) fn corrupt_compression(error: &dyn Display) -> String {
    format!(
        "the compressed data is damaged ({error}): compress the file again and see that the upload is \
         complete"
    )
}

pub(super) fn nested_compression() -> String {
    "the file is compressed more than once: compress it once".to_owned()
}

pub(super) fn unknown_format(what: &str) -> String {
    format!(
        "the file is {what}: send JSONL, a JSON list or object, CSV, TSV or .xlsx, plain or compressed with gzip or zstd"
    )
}

pub(super) fn unreadable_workbook(why: &str) -> String {
    format!("a workbook that cannot be read ({})", shorten(why.to_owned()))
}

pub(super) fn utf16_without_mark() -> String {
    "the file looks like UTF-16 or UTF-32 without a byte-order mark: save it as UTF-8".to_owned()
}

pub(super) fn not_utf8(bytes: &[u8], error: Utf8Error) -> String {
    let byte = bytes.get(error.valid_up_to()).copied().unwrap_or_default();
    format!(
        "the byte `0x{byte:02x}` is not UTF-8 here: save the file as UTF-8, not as Latin-1 or in a Windows \
         code page"
    )
}

pub(super) fn empty_file() -> String {
    format!("the file holds no record: write one a question, such as {EXAMPLE}")
}

pub(super) fn line_too_long() -> String {
    format!(
        "the line is longer than {MAX_RECORD_BYTES} bytes: write one record a line, with the question id \
         and the answer only"
    )
}

pub(super) fn row_too_long() -> String {
    format!(
        "the row is longer than {MAX_RECORD_BYTES} bytes: see whether a double quote in it is never closed"
    )
}

pub(super) fn too_deep() -> String {
    format!("brackets nest deeper than {} levels: an answer is text in double quotes", json::MAX_DEPTH)
}

pub(super) fn record_of_wrong_type(value: &str) -> String {
    if value.trim_start().starts_with("\"{") || value.trim_start().starts_with("\"[") {
        return format!(
            "{} is JSON within a text, as if it had been encoded twice: write it as it is, without another `json.dumps`",
            literal(value)
        );
    }
    format!("{} is {}, not a record: write an object such as {EXAMPLE}", literal(value), json::kind(value))
}

pub(super) fn field_of_wrong_type(name: &str, value: &str) -> String {
    let kind = json::kind(value);
    let mend = match kind {
        "null" => "leave the record out, or write `\"\"` for no answer",
        "a list" | "an object" => "write one text in double quotes",
        _ => "put the text in double quotes",
    };
    format!("`{name}` is {kind}, {}, where text is expected: {mend}", literal(value))
}

pub(super) fn cell_of_wrong_type(name: &str, kind: &str, value: &str) -> String {
    format!(
        "`{name}` is {kind}, {}, where text is expected: format the column as text and enter it again",
        literal(value)
    )
}

pub(super) fn not_one_reply(name: &str, count: usize) -> String {
    match count {
        0 => format!("`{name}` holds no reply: write `\"\"` for no answer, or leave the record out"),
        _ => format!(
            "`{name}` holds {count} replies, where one answer is expected: run the task with one repeat and one \
             request a question, or keep one reply"
        ),
    }
}

pub(super) fn no_place(name: &str, value: &str) -> String {
    format!(
        "`{name}` is {}, where a whole number from 0 is expected: add the `question_id` to each record",
        literal(value)
    )
}

pub(super) fn place_out_of_range(name: &str, value: &str, index: &QuestionIndex) -> String {
    let last = index.len().saturating_sub(1);
    format!(
        "`{name}` {} is no place in split `{}`, whose questions are counted from 0 to {last}: see whether the file \
         is for another split, or add the `question_id` to each record",
        literal(value),
        index.split()
    )
}

pub(super) fn missing_field(name: &str) -> String {
    format!("the record has no `{name}`: write it as in {EXAMPLE}")
}

/// Where a record without an id has a field whose name is one.
pub(super) fn id_as_name(id: &str) -> String {
    format!(
        "the record has no `question_id` but the field {}, which is one: write it as in {EXAMPLE}, or send one object \
         `{{question_id: answer}}` for all questions",
        literal(id)
    )
}

/// Where a member of a document of answers holds records.
pub(super) fn records_within(name: &str) -> String {
    format!("{} holds a list of records: send the list alone, without the object around it", literal(name))
}

pub(super) fn duplicate_key(name: &str) -> String {
    format!("`{name}` stands twice in one record: keep one of them")
}

pub(super) fn unknown_question(id: &str, index: &QuestionIndex) -> String {
    let hint = index.hint(id).unwrap_or_else(|| "copy the ids from the question file".to_owned());
    format!("{} is no question of split `{}`: {hint}", literal(id), index.split())
}

pub(super) fn wrong_split(id: &str, other: Split, index: &QuestionIndex) -> String {
    let split = index.split();
    format!(
        "{} is a question of split `{other}`, the file is for `{split}`: submit it to `{other}`, or answer \
         the questions of `{split}`",
        literal(id)
    )
}

pub(super) fn duplicate_question(id: &str, line: u64) -> String {
    format!("{} is answered in line {line} already: keep one of the records", literal(id))
}

pub(super) fn answer_too_long(bytes: usize, format: QuestionFormat) -> String {
    let limit = max_answer_bytes(format);
    format!("the answer has {bytes} bytes, a `{format}` question takes {limit}: shorten it")
}

pub(super) fn missing_column(name: &str, header: &str) -> String {
    let mend = match header.bytes().find(|byte| b";|".contains(byte)) {
        Some(b';') if !header.contains(',') => "the columns are separated by semicolons, use commas",
        Some(b'|') if !header.contains(',') => "the columns are separated by bars, use commas",
        _ => "begin the file with the row `question_id,answer`",
    };
    format!("the header {} has no column `{name}`: {mend}", literal(header))
}

pub(super) fn duplicate_column(name: &str) -> String {
    format!("the column `{name}` stands twice in the header: keep one of them")
}

pub(super) fn row_width(fields: usize, columns: usize) -> String {
    let mend = if fields > columns {
        "put an answer that holds a comma in double quotes"
    } else {
        "write every column, an empty one too"
    };
    format!("cells in the row: {fields}, in the header: {columns}; {mend}")
}

pub(super) fn unclosed_quote() -> String {
    "a double quote that opens in this row is never closed: close it, and write a double quote inside an \
     answer as `\"\"`"
        .to_owned()
}

pub(super) fn missing_answers(missing: u64, questions: usize) -> String {
    format!("questions without a record: {missing} of {questions}; each counts as wrong, or 0 for a rubric")
}

pub(super) fn empty_answers(count: u64, first: &str) -> String {
    format!("empty answers: {count}, the first in {first}; each counts as wrong, or 0 for a rubric")
}

pub(super) fn matched_by_place(count: u64, first: &str) -> String {
    format!(
        "questions found by their place in the split, not by id: {count}, the first by {first}; see that the run took \
         the questions in the order of the split"
    )
}

pub(super) fn extra_fields(count: u64, first: &str) -> String {
    format!(
        "fields that are not read: {count}, the first is {first}; only the question id and the answer count"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_literal_is_short_and_prints_safely() {
        assert_eq!(
            literal("A\u{1b}[31m\u{7}\u{202e}\u{200b}`é\"'"),
            "`A\\u{1b}[31m\\u{7}\\u{202e}\\u{200b}'é\"'`"
        );
        assert_eq!(literal(&"x".repeat(1000)).chars().count(), MAX_QUOTED_CHARS + 3);
    }
}
