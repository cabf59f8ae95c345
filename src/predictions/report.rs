//! What has been found in the file so far: answers, faults, warnings. Knows nothing of formats.

use std::borrow::Cow;

use super::index::QuestionIndex;
use super::{MAX_LISTED_FAULTS, Predictions, Refusal, max_answer_bytes, wording};
use crate::domain::fault::{Fault, FaultCode, Warning, WarningCode};
use crate::domain::question::Split;

/// Where a fault lies.
#[derive(Debug, Default)]
pub(super) struct Place {
    pub(super) line: Option<u64>,
    pub(super) column: Option<u64>,
    pub(super) pointer: Option<String>,
    pub(super) question_id: Option<String>,
}

impl Place {
    /// A whole line.
    pub(super) fn line(line: u64) -> Self {
        Self { line: Some(line), ..Self::default() }
    }

    /// The fault that lies here.
    pub(super) fn fault(self, code: FaultCode, detail: String) -> Fault {
        let Self { line, column, pointer, question_id } = self;
        Fault { code, line, column, pointer, question_id: question_id.map(wording::shorten), detail }
    }
}

/// One of the two things that make a record.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Field {
    QuestionId,
    Answer,
}

/// Why an id cannot be answered.
enum Unfit {
    Unknown,
    OtherSplit(Split),
    /// It was answered in this line.
    Answered(u64),
}

/// How often something odd occurs, and where first.
#[derive(Default)]
struct Tally {
    count: u64,
    first: String,
}

impl Tally {
    fn add(&mut self, count: u64, first: impl FnOnce() -> String) {
        if self.count == 0 {
            self.first = first();
        }
        self.count += count;
    }
}

/// Collects what a file holds; every fault is counted, the first are kept.
pub(super) struct Report<'i> {
    index: &'i QuestionIndex,
    answers: Vec<Option<String>>,
    /// By question, the line of its first record, or 0.
    lines: Vec<u64>,
    /// The question after the last one found: most files keep the benchmark's order.
    next: usize,
    answered: usize,
    empty: Tally,
    extra: Tally,
    by_place: Tally,
    faults: Vec<Fault>,
    total: u64,
}

impl<'i> Report<'i> {
    pub(super) fn new(index: &'i QuestionIndex) -> Self {
        Self {
            index,
            answers: vec![None; index.len()],
            lines: vec![0; index.len()],
            next: 0,
            answered: 0,
            empty: Tally::default(),
            extra: Tally::default(),
            by_place: Tally::default(),
            faults: Vec::new(),
            total: 0,
        }
    }

    /// Counts a fault; it is worded only if it is listed.
    pub(super) fn fault(&mut self, fault: impl FnOnce() -> Fault) {
        self.total += 1;
        if self.faults.len() < MAX_LISTED_FAULTS {
            self.faults.push(fault());
        }
    }

    /// Puts the fault that ended the reading in front of all others.
    pub(super) fn stopped(&mut self, fault: Fault) {
        self.total += 1;
        self.faults.insert(0, fault);
        self.faults.truncate(MAX_LISTED_FAULTS);
    }

    /// Takes an answer if nothing is wrong with it; else changes nothing, and whoever asked finds out what
    /// is.
    pub(super) fn accept(&mut self, id: &str, answer: Cow<'_, str>, line: u64) -> bool {
        let Ok(position) = self.find(id) else { return false };
        let fits = answer.len() <= max_answer_bytes(self.index.format(position));
        if fits {
            self.keep(position, answer.into_owned(), line);
        }
        fits
    }

    /// Takes an answer, or reports what is wrong with its id or length; without an answer only the id is
    /// looked at.
    pub(super) fn answer(
        &mut self,
        id: &str,
        answer: Option<String>,
        line: u64,
        place: &dyn Fn(Field) -> Place,
    ) {
        let index = self.index;
        let position = match self.find(id) {
            Ok(position) => position,
            Err(unfit) => {
                self.fault(|| {
                    let (code, detail) = match unfit {
                        Unfit::Unknown => (FaultCode::UnknownQuestion, wording::unknown_question(id, index)),
                        Unfit::OtherSplit(other) => {
                            (FaultCode::WrongSplit, wording::wrong_split(id, other, index))
                        }
                        Unfit::Answered(line) => {
                            (FaultCode::DuplicateQuestion, wording::duplicate_question(id, line))
                        }
                    };
                    Place { question_id: Some(id.to_owned()), ..place(Field::QuestionId) }.fault(code, detail)
                });
                return;
            }
        };
        self.lines[position] = line;
        let Some(answer) = answer else { return };
        let format = index.format(position);
        if answer.len() <= max_answer_bytes(format) {
            self.keep(position, answer, line);
            return;
        }
        self.fault(|| {
            let detail = wording::answer_too_long(answer.len(), format);
            Place { question_id: Some(id.to_owned()), ..place(Field::Answer) }
                .fault(FaultCode::AnswerTooLong, detail)
        });
    }

    /// Counts fields of a record that are not read.
    pub(super) fn extra_fields(&mut self, count: u64, first: &str, line: u64) {
        self.extra.add(count, || format!("{} in line {line}", wording::literal(first)));
    }

    /// Whether this is the id of a question of any split.
    pub(super) fn knows(&self, id: &str) -> bool {
        self.index.position(id).is_some() || self.index.other_split(id).is_some()
    }

    /// The id of the question at a place in the split, counted from 0 as harnesses do: `value` is what stands in the
    /// field `name`. Or why there is none.
    pub(super) fn at_place(
        &mut self,
        name: &str,
        value: &str,
        line: u64,
    ) -> Result<&'i str, (FaultCode, String)> {
        // A table may have turned whole numbers into decimals.
        let number: Result<usize, _> = value.strip_suffix(".0").unwrap_or(value).parse();
        let number = number.map_err(|_| (FaultCode::WrongType, wording::no_place(name, value)))?;
        let index = self.index;
        let id = index
            .id(number)
            .ok_or_else(|| (FaultCode::UnknownQuestion, wording::place_out_of_range(name, value, index)))?;
        self.by_place
            .add(1, || format!("`{name}` {number} in line {line}, taken for {}", wording::literal(id)));
        Ok(id)
    }

    fn find(&self, id: &str) -> Result<usize, Unfit> {
        let guessed = self.index.has_id(self.next, id).then_some(self.next);
        match guessed.or_else(|| self.index.position(id)) {
            Some(position) if self.lines[position] == 0 => Ok(position),
            Some(position) => Err(Unfit::Answered(self.lines[position])),
            None => Err(self.index.other_split(id).map_or(Unfit::Unknown, Unfit::OtherSplit)),
        }
    }

    fn keep(&mut self, position: usize, answer: String, line: u64) {
        if answer.trim().is_empty() {
            self.empty.add(1, || format!("line {line}"));
        }
        self.lines[position] = line;
        self.next = position + 1;
        self.answers[position] = Some(answer);
        self.answered += 1;
    }

    /// The answers if there is any and nothing is wrong.
    pub(super) fn finish(mut self) -> Result<Predictions, Refusal> {
        if self.total == 0 && self.answered == 0 {
            self.fault(|| Place::default().fault(FaultCode::EmptyFile, wording::empty_file()));
        }
        if self.total > 0 {
            return Err(Refusal { faults: self.faults, total: self.total });
        }
        let missing = (self.answers.len() - self.answered) as u64;
        let warnings = [
            (WarningCode::MissingAnswers, missing, wording::missing_answers(missing, self.answers.len())),
            (
                WarningCode::EmptyAnswer,
                self.empty.count,
                wording::empty_answers(self.empty.count, &self.empty.first),
            ),
            (
                WarningCode::ExtraField,
                self.extra.count,
                wording::extra_fields(self.extra.count, &self.extra.first),
            ),
            (
                WarningCode::MatchedByPlace,
                self.by_place.count,
                wording::matched_by_place(self.by_place.count, &self.by_place.first),
            ),
        ];
        let warnings = warnings.into_iter().filter(|(_, count, _)| *count > 0);
        let warnings = warnings.map(|(code, count, detail)| Warning { code, count, detail }).collect();
        Ok(Predictions { answers: self.answers, answered: self.answered, warnings })
    }
}
