//! Reading an answer file into answers by question, with every fault reported at once. Knows nothing of keys,
//! of how answers are graded, or of where the bytes come from.

mod columns;
mod decompress;
mod document;
mod encoding;
mod excerpt;
mod form;
mod index;
mod json;
mod jsonl;
mod lines;
mod nearest;
mod record;
mod report;
mod syntax;
mod table;
mod wording;
mod workbook;

#[cfg(test)]
mod tests;

use std::io::{self, Read};

use crate::domain::fault::{Fault, FaultCode, Warning};
use crate::domain::question::QuestionFormat;

pub use excerpt::{excerpts, visible};
pub use index::QuestionIndex;

use decompress::Stop;
use form::{Form, Opening};
use report::{Place, Report};

/// Most faults that a refusal lists; the others are only counted (contract 2).
pub const MAX_LISTED_FAULTS: usize = 100;
/// Longest JSONL record or CSV row, in bytes (contract 2).
pub const MAX_RECORD_BYTES: usize = 1024 * 1024;

/// Longest answer to a question of this format, in bytes of UTF-8 (contract 2).
pub const fn max_answer_bytes(format: QuestionFormat) -> usize {
    match format {
        QuestionFormat::MultipleChoice => 64 * 1024,
        QuestionFormat::OpenEnded => 8 * 1024,
    }
}

/// What the operator may set about prediction files; the other limits are the contract's.
#[derive(Debug, Clone, Copy)]
pub struct Limits {
    /// Largest file in bytes, before and after decompression alike.
    pub max_bytes: u64,
}

/// The answers of a file without faults.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Predictions {
    /// The answer to each question, by its position in the index; `None` where the file has no record for it.
    pub answers: Vec<Option<String>>,
    /// How many questions have a record, an empty answer included.
    pub answered: usize,
    /// What is odd about the file.
    pub warnings: Vec<Warning>,
}

/// Why a file is refused.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Refusal {
    /// The first [`MAX_LISTED_FAULTS`] faults; one that ended the reading of the file leads them.
    pub faults: Vec<Fault>,
    /// How many faults there are in all, as far as the file could be read.
    pub total: u64,
}

impl Refusal {
    /// Whether the file is refused for its size, before or after decompression (413 rather than 422).
    pub fn is_too_large(&self) -> bool {
        self.faults.first().is_some_and(|fault| fault.code == FaultCode::TooLarge)
    }
}

/// Why there are no answers.
#[derive(Debug, thiserror::Error)]
pub enum ReadError {
    /// The file has faults.
    #[error("the prediction file has {} faults", .0.total)]
    Refused(Refusal),
    /// The bytes could not be had; says nothing about the file.
    #[error("the prediction file could not be read")]
    Io(#[source] io::Error),
}

/// Reads the raw bytes of a prediction file, whatever its format, encoding and compression.
///
/// # Errors
/// [`ReadError::Refused`] lists what is wrong with the file, [`ReadError::Io`] is an error of `input` itself.
pub fn read(input: impl Read, index: &QuestionIndex, limits: &Limits) -> Result<Predictions, ReadError> {
    let mut report = Report::new(index);
    if let Err(error) = read_into(input, limits, &mut report) {
        match Stop::from_io(error) {
            Stop::Source(error) => return Err(ReadError::Io(error)),
            stop => report.stopped(stop.fault()),
        }
    }
    report.finish().map_err(ReadError::Refused)
}

/// Whether the text of a file has more than `bytes` bytes, once unpacked; an archive may, whatever it holds.
pub fn is_longer_than(input: impl Read, bytes: u64) -> bool {
    let measured = decompress::open(input, bytes).and_then(|text| {
        let (start, mut text) = decompress::peek(text, form::ARCHIVE.len())?;
        Ok(start == form::ARCHIVE || io::copy(&mut text, &mut io::sink())? > bytes)
    });
    // Other faults are found when the file is read.
    measured.unwrap_or_else(|error| Stop::is_too_large(&error))
}

fn read_into(input: impl Read, limits: &Limits, report: &mut Report) -> io::Result<()> {
    let bytes = decompress::open(input, limits.max_bytes)?;
    let Opening { form, line, text } = form::recognise(encoding::to_utf8(bytes)?)?;
    let max_bytes = limits.max_bytes;
    match form {
        Form::Jsonl => jsonl::read(text, line, report),
        Form::Document => document::read(text, line, report),
        Form::Table => table::read(text, line, report),
        Form::Archive => workbook::read(text, max_bytes, report),
        // A file without a record is reported as empty at the end, whatever its form.
        Form::Empty => Ok(()),
        Form::Scalar(text) => {
            report.fault(|| {
                let place = Place { column: Some(1), ..Place::line(line) };
                place.fault(FaultCode::WrongType, wording::record_of_wrong_type(&text))
            });
            Ok(())
        }
        Form::Utf16 => {
            report.fault(|| Place::line(line).fault(FaultCode::NotUtf8, wording::utf16_without_mark()));
            Ok(())
        }
        Form::Markup => {
            let detail = || wording::unknown_format("a page of HTML or XML");
            report.fault(|| Place::line(line).fault(FaultCode::UnknownFormat, detail()));
            Ok(())
        }
        Form::Unknown(what) => {
            report.fault(|| Place::default().fault(FaultCode::UnknownFormat, wording::unknown_format(what)));
            Ok(())
        }
    }
}
