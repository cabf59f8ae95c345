//! Reading a CSV file of human ratings: all of it, or every fault with its place. Knows no database.

#[cfg(test)]
mod tests;

use std::collections::HashMap;

use csv::{ByteRecord, ReaderBuilder};
use serde::Serialize;
use unicode_normalization::UnicodeNormalization as _;

use crate::domain::dimension::Dimension;
use crate::domain::question::QuestionFormat;
use crate::predictions::max_answer_bytes;
use crate::store::ratings::Rated;

/// The columns that a file has, in any order.
pub const COLUMNS: [&str; 6] = ["item", "question_id", "dimension", "rater", "rating", "judge_score"];

/// The column that a file may have besides: the text of the rated answer.
pub const ANSWER: &str = "answer";

/// Bytes of a file at most.
pub const MAX_BYTES: usize = 16 << 20;

/// Characters of an item's or a rater's name at most.
const MAX_NAME_CHARS: usize = 100;

/// Items of a file at most: its figures are worked out over thousands of resamples of them.
const MAX_ITEMS: usize = 2000;

/// Ratings of one item at most: people are compared in pairs.
const MAX_RATINGS: usize = 20;

/// What is wrong in a file of ratings, and where.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct RatingFault {
    /// The line, from 1.
    pub line: u64,
    /// The column's name, where one cell is at fault.
    pub column: Option<&'static str>,
    /// What is wrong and how to mend it.
    pub detail: String,
}

/// A file of ratings.
pub struct RatingsFile {
    /// What was rated, with the line of its first row.
    pub items: Vec<(u64, Rated)>,
}

impl RatingsFile {
    /// Whether the rated answers are there.
    pub fn has_answers(&self) -> bool {
        self.items.iter().any(|(_, rated)| rated.answer.is_some())
    }
}

/// Reads a file whole.
///
/// # Errors
/// Every fault of it, by line.
pub fn read(bytes: &[u8]) -> Result<RatingsFile, Vec<RatingFault>> {
    let bytes = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes);
    let mut reading = Reading::default();
    if bytes.len() > MAX_BYTES {
        reading.fault(1, None, format!("the file has more than {MAX_BYTES} bytes; split it"));
        return Err(reading.faults);
    }
    if is_utf16(bytes) {
        reading.fault(1, None, "the file is UTF-16; save it as CSV in UTF-8".into());
        return Err(reading.faults);
    }
    let mut reader = ReaderBuilder::new().has_headers(false).flexible(true).from_reader(bytes);
    let mut lines = LineCount { bytes, at: 0, line: 1 };
    let mut record = ByteRecord::new();
    let mut columns = None;
    // Reading from memory cannot fail: rows may have any number of cells of any bytes.
    while reader.read_byte_record(&mut record).is_ok_and(|is_more| is_more) {
        let line = lines.line_of(record.position().map_or(0, csv::Position::byte));
        let Ok(cells) = record.iter().map(str::from_utf8).collect::<Result<Vec<&str>, _>>() else {
            reading.fault(line, None, "the row is not UTF-8; save the file as CSV in UTF-8".into());
            continue;
        };
        match &columns {
            None => match reading.header(line, &cells) {
                Some(found) => columns = Some(found),
                None => return Err(reading.faults),
            },
            Some(columns) => reading.row(line, columns, &cells),
        }
        if lines.is_unclosed(&reader) {
            reading.fault(
                line,
                None,
                "a quote is opened here and closed nowhere; close it, or double it".into(),
            );
        }
    }
    if reading.faults.is_empty() && reading.items.is_empty() {
        let words = "the file holds no rating; write one row for each rating under a header";
        reading.fault(1, None, words.into());
    }
    if reading.faults.is_empty() { Ok(RatingsFile { items: reading.items }) } else { Err(reading.faults) }
}

/// Whether a file is UTF-16, as spreadsheets save "Unicode text": it says so by its mark or by the halves of its first letter.
fn is_utf16(bytes: &[u8]) -> bool {
    bytes.starts_with(b"\xff\xfe")
        || bytes.starts_with(b"\xfe\xff")
        || bytes.iter().take(2).any(|byte| *byte == 0)
}

/// Counts lines as editors do; rows may hold line ends, and the reader's own count stumbles over CRLF.
struct LineCount<'a> {
    bytes: &'a [u8],
    at: usize,
    line: u64,
}

impl LineCount<'_> {
    /// The line on which the row stands that begins at this byte or after the line ends there.
    fn line_of(&mut self, byte: u64) -> u64 {
        let start = usize::try_from(byte).unwrap_or(usize::MAX).min(self.bytes.len());
        let ends = self.bytes[start..].iter().take_while(|byte| matches!(byte, b'\n' | b'\r')).count();
        let new = &self.bytes[self.at.min(start + ends)..start + ends];
        self.line += new.iter().filter(|byte| **byte == b'\n').count() as u64;
        self.at = start + ends;
        self.line
    }

    /// Whether the file ended within the quotes of the row that was read last.
    fn is_unclosed(&self, reader: &csv::Reader<&[u8]>) -> bool {
        let is_last = reader.position().byte() >= self.bytes.len() as u64;
        is_last && self.bytes[self.at..].iter().filter(|byte| **byte == b'"').count() % 2 == 1
    }
}

/// Where each column stands in a row.
struct Columns {
    places: [usize; COLUMNS.len()],
    answer: Option<usize>,
    count: usize,
}

/// What was read so far.
#[derive(Default)]
struct Reading {
    items: Vec<(u64, Rated)>,
    by_name: HashMap<String, usize>,
    faults: Vec<RatingFault>,
}

impl Reading {
    fn fault(&mut self, line: u64, column: Option<&'static str>, detail: String) {
        self.faults.push(RatingFault { line, column, detail });
    }

    fn header(&mut self, line: u64, cells: &[&str]) -> Option<Columns> {
        let names: Vec<&str> = cells.iter().map(|cell| cell.trim()).collect();
        let find = |wanted: &str| names.iter().position(|name| *name == wanted);
        let missing: Vec<&str> = COLUMNS.into_iter().filter(|column| find(column).is_none()).collect();
        if !missing.is_empty() {
            let missing = missing.join("`, `");
            let detail =
                format!("the header lacks `{missing}`; write `{}` above the rows", COLUMNS.join(","));
            self.fault(line, None, detail);
        }
        for (place, name) in names.iter().enumerate() {
            let known = COLUMNS.iter().chain([&ANSWER]).find(|known| *known == name);
            match known {
                None => {
                    let name = name.escape_debug();
                    let known = COLUMNS.join("`, `");
                    let detail =
                        format!("`{name}` is no column; leave it out: there are `{known}` and `{ANSWER}`");
                    self.fault(line, None, detail);
                }
                Some(known) if find(name) != Some(place) => {
                    self.fault(line, Some(known), "the column is there twice; keep one".into());
                }
                Some(_) => {}
            }
        }
        let places = COLUMNS.map(|column| find(column).unwrap_or_default());
        self.faults.is_empty().then(|| Columns { places, answer: find(ANSWER), count: names.len() })
    }

    fn row(&mut self, line: u64, columns: &Columns, cells: &[&str]) {
        if cells.len() != columns.count {
            let detail = format!(
                "the row has {} cells under {} columns; write as many, with quotes around a text that holds commas",
                cells.len(),
                columns.count
            );
            return self.fault(line, None, detail);
        }
        let before = self.faults.len();
        let cell: [&str; COLUMNS.len()] = columns.places.map(|place| cells[place].trim());
        let [item, question_id, dimension, rater, rating, judge_score] = cell;
        let item = self.name(line, "item", item);
        let rater = self.name(line, "rater", rater);
        let question_id = self.question_id(line, question_id);
        let dimension = self.dimension(line, dimension);
        let rating = self.rating(line, rating);
        let judge_score = self.judge_score(line, judge_score, columns.answer.is_some());
        let answer = columns.answer.and_then(|place| self.answer(line, cells[place]));
        let (Some(dimension), Some(rating)) = (dimension, rating) else { return };
        if self.faults.len() > before {
            return;
        }
        let rated = Rated { item, question_id, dimension, judge_score, answer, ratings: Vec::new() };
        self.add(line, rated, rater, rating);
    }

    /// Adds a rating to its item, whose rows all say the same of it.
    fn add(&mut self, line: u64, rated: Rated, rater: String, rating: u8) {
        let next = self.items.len();
        if next == MAX_ITEMS && !self.by_name.contains_key(&rated.item) {
            let detail = format!("the file has more than {MAX_ITEMS} items; split it, or leave some out");
            return self.fault(line, Some("item"), detail);
        }
        let place = *self.by_name.entry(rated.item.clone()).or_insert(next);
        if place == next {
            self.items.push((line, rated.clone()));
        }
        let (first_line, first) = &mut self.items[place];
        let first_line = *first_line;
        let differing = [
            ("question_id", first.question_id != rated.question_id),
            ("dimension", first.dimension != rated.dimension),
            ("judge_score", first.judge_score != rated.judge_score),
            (ANSWER, first.answer != rated.answer),
        ];
        let is_twice = first.ratings.iter().any(|(other, _)| *other == rater);
        if is_twice {
            let detail = format!(
                "`{}` has rated `{}` already; keep one of the rows",
                rater.escape_debug(),
                rated.item.escape_debug()
            );
            return self.fault(line, Some("rater"), detail);
        }
        if first.ratings.len() == MAX_RATINGS {
            let item = rated.item.escape_debug();
            let detail = format!("`{item}` has more than {MAX_RATINGS} ratings; leave some out");
            return self.fault(line, Some("rater"), detail);
        }
        first.ratings.push((rater, rating));
        for (column, _) in differing.into_iter().filter(|(_, differs)| *differs) {
            let detail = format!(
                "it differs from line {first_line} of the same item `{}`; write the same, or give the row another item",
                rated.item.escape_debug()
            );
            self.fault(line, Some(column), detail);
        }
    }

    fn name(&mut self, line: u64, column: &'static str, text: &str) -> String {
        let chars = text.chars().count();
        if chars == 0 || chars > MAX_NAME_CHARS || text.chars().any(char::is_control) {
            let detail =
                format!("`{}` is no name; give 1 to {MAX_NAME_CHARS} characters", text.escape_debug());
            self.fault(line, Some(column), detail);
        }
        text.to_owned()
    }

    fn question_id(&mut self, line: u64, text: &str) -> String {
        let id: String = text.nfc().collect();
        if video_of(&id).is_none() {
            let detail = format!(
                "`{}` is no question id; write it as `{{collection}}--{{stem}}--q{{n}}`, as the release does",
                text.escape_debug()
            );
            self.fault(line, Some("question_id"), detail);
        }
        id
    }

    fn dimension(&mut self, line: u64, text: &str) -> Option<Dimension> {
        let dimension = Dimension::parse(text);
        if dimension.is_none() {
            let known: Vec<&str> = Dimension::ALL.iter().map(|dimension| dimension.as_str()).collect();
            let detail =
                format!("`{}` is no dimension; write one of {}", text.escape_debug(), known.join(", "));
            self.fault(line, Some("dimension"), detail);
        }
        dimension
    }

    fn rating(&mut self, line: u64, text: &str) -> Option<u8> {
        let rating = text.parse().ok().filter(|rating| *rating <= 5 && text.len() == 1);
        if rating.is_none() {
            let detail = format!(
                "`{}` is no rating; write a whole number from 0 to 5, and leave out a row that was not rated",
                text.escape_debug()
            );
            self.fault(line, Some("rating"), detail);
        }
        rating
    }

    fn judge_score(&mut self, line: u64, text: &str, has_answers: bool) -> Option<f64> {
        if text.is_empty() {
            if !has_answers {
                let detail = "it is empty; give the judge's score, or a column `answer` with what was rated, so that the \
                              judge can be asked";
                self.fault(line, Some("judge_score"), detail.into());
            }
            return None;
        }
        let is_plain = text.chars().all(|c| c.is_ascii_digit() || c == '.');
        let score = text.parse::<f64>().ok().filter(|score| is_plain && (0.0..=5.0).contains(score));
        if score.is_none() {
            let detail = format!("`{}` is no score; write a number from 0 to 5", text.escape_debug());
            self.fault(line, Some("judge_score"), detail);
        }
        score
    }

    fn answer(&mut self, line: u64, text: &str) -> Option<String> {
        let most = max_answer_bytes(QuestionFormat::OpenEnded);
        if text.trim().is_empty() {
            self.fault(line, Some(ANSWER), "it is empty; give the text that was rated".into());
        } else if text.len() > most {
            let detail = format!(
                "it has {} bytes, and no answer has more than {most}; give what was rated",
                text.len()
            );
            self.fault(line, Some(ANSWER), detail);
        }
        Some(text.to_owned())
    }
}

/// The video that a question is about, by the question's id; none where it is no id.
pub fn video_of(question_id: &str) -> Option<&str> {
    let (video, number) = question_id.rsplit_once("--q")?;
    let (collection, stem) = video.split_once("--")?;
    let is_number = !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit());
    let is_plain = !question_id.chars().any(char::is_control);
    (is_number && is_plain && !collection.is_empty() && !stem.is_empty()).then_some(video)
}
