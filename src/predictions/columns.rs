//! Which columns of a table hold what, and reading its rows by them. Knows nothing of how rows are written.

use super::record::FIELD_NAMES;
use super::report::{Field, Place, Report};
use super::{json, wording};
use crate::domain::fault::FaultCode;

/// The column in which VLMEvalKit keeps a question's place in the split.
const PLACE: &str = "index";

/// What a cell holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Cell<'a> {
    /// Text, which may be empty.
    Text(&'a str),
    /// A number as it is written.
    Number(&'a str),
    /// Something else that is no text, in words, as it is written.
    Other(&'static str, &'a str),
}

/// Where a row's questions are named.
#[derive(Debug, Clone, Copy)]
enum Asked {
    /// By id, in this column.
    Id(usize),
    /// By place in the split, in this column.
    Place(usize),
}

impl Asked {
    fn column(self) -> usize {
        let (Self::Id(column) | Self::Place(column)) = self;
        column
    }
}

/// Which columns hold what.
pub(super) struct Columns {
    asked: Asked,
    answer: usize,
    answer_name: &'static str,
    /// How many there are.
    pub(super) count: usize,
    /// The name of the first column that is not read; none where a harness wrote the table.
    extra: Option<String>,
}

impl Columns {
    /// Finds the columns by a header, or reports what is wrong with it.
    pub(super) fn of(header: &[&str], line: u64, report: &mut Report) -> Option<Self> {
        let names: Vec<&str> = header.iter().map(|name| name.trim()).collect();
        let place = |name| Place { pointer: Some(json::pointer_to(name)), ..Place::line(line) };
        let column = |name: &str| names.iter().position(|other| *other == name);
        for known in FIELD_NAMES.into_iter().chain([PLACE]) {
            if column(known).is_some_and(|column| names[column + 1..].contains(&known)) {
                report
                    .fault(|| place(known).fault(FaultCode::MalformedCsv, wording::duplicate_column(known)));
                return None;
            }
        }
        let by_place = column(PLACE);
        let asked = column(FIELD_NAMES[0]).map(Asked::Id).or(by_place.map(Asked::Place));
        let answer = FIELD_NAMES.into_iter().skip(1).find_map(|name| Some((column(name)?, name)));
        let missing = [(asked.is_none(), FIELD_NAMES[0]), (answer.is_none(), FIELD_NAMES[1])];
        for (_, name) in missing.into_iter().filter(|(is_missing, _)| *is_missing) {
            let detail = || wording::missing_column(name, &names.join(","));
            report.fault(|| place(name).fault(FaultCode::MissingField, detail()));
        }
        let (asked, (answer, answer_name)) = (asked?, answer?);
        let extra = (0..names.len()).find(|column| ![asked.column(), answer].contains(column));
        let extra = extra.filter(|_| by_place.is_none()).map(|column| names[column].to_owned());
        Some(Self { asked, answer, answer_name, count: names.len(), extra })
    }

    /// Whether a column is read.
    pub(super) fn reads(&self, column: usize) -> bool {
        column == self.answer || column == self.asked.column()
    }

    /// Reads a row whose cells `cell` gives; `at` is the place of a cell in the file.
    pub(super) fn read_row<'a>(
        &self,
        line: u64,
        cell: &dyn Fn(usize) -> Cell<'a>,
        at: &dyn Fn(usize) -> Place,
        report: &mut Report,
    ) {
        let id = self.id(line, cell(self.asked.column()), at, report);
        let answer = match cell(self.answer) {
            Cell::Text(text) => Some(text.to_owned()),
            Cell::Number(text) => self.report_no_text(id.as_deref(), "a number", text, at, report),
            Cell::Other(kind, text) => self.report_no_text(id.as_deref(), kind, text, at, report),
        };
        let Some(id) = id else { return };
        report.answer(&id, answer, line, &|field| {
            let (column, name) = match field {
                Field::Answer => (self.answer, self.answer_name),
                Field::QuestionId => (self.asked.column(), FIELD_NAMES[0]),
            };
            Place { pointer: Some(json::pointer_to(name)), ..at(column) }
        });
        if let Some(extra) = &self.extra {
            report.extra_fields(self.count as u64 - 2, extra, line);
        }
    }

    fn id(&self, line: u64, cell: Cell, at: &dyn Fn(usize) -> Place, report: &mut Report) -> Option<String> {
        let found = match (self.asked, cell) {
            (Asked::Place(_), Cell::Text(value) | Cell::Number(value) | Cell::Other(_, value)) => {
                report.at_place(PLACE, value, line).map(str::to_owned)
            }
            (Asked::Id(_), Cell::Text(id)) => Ok(id.to_owned()),
            (Asked::Id(_), Cell::Number(value)) => {
                Err((FaultCode::WrongType, wording::cell_of_wrong_type(FIELD_NAMES[0], "a number", value)))
            }
            (Asked::Id(_), Cell::Other(kind, value)) => {
                Err((FaultCode::WrongType, wording::cell_of_wrong_type(FIELD_NAMES[0], kind, value)))
            }
        };
        let name = if matches!(self.asked, Asked::Id(_)) { FIELD_NAMES[0] } else { PLACE };
        let place = || Place { pointer: Some(json::pointer_to(name)), ..at(self.asked.column()) };
        found.map_err(|(code, detail)| report.fault(|| place().fault(code, detail))).ok()
    }

    fn report_no_text(
        &self,
        id: Option<&str>,
        kind: &str,
        text: &str,
        at: &dyn Fn(usize) -> Place,
        report: &mut Report,
    ) -> Option<String> {
        report.fault(|| {
            let place = Place {
                pointer: Some(json::pointer_to(self.answer_name)),
                question_id: id.map(str::to_owned),
                ..at(self.answer)
            };
            let detail = wording::cell_of_wrong_type(self.answer_name, kind, text);
            place.fault(FaultCode::WrongType, detail)
        });
        None
    }

    /// Reports a row whose last cell, the one after `cells`, never ends.
    pub(super) fn report_unclosed(&self, cells: &[&str], line: u64, report: &mut Report) {
        report.fault(|| {
            let pointer = (self.answer == cells.len()).then(|| json::pointer_to(FIELD_NAMES[1]));
            let place = Place { pointer, ..self.place(cells, line) };
            place.fault(FaultCode::MalformedCsv, wording::unclosed_quote())
        });
    }

    /// Reports a row that has more or fewer cells than the header.
    pub(super) fn report_width(&self, cells: &[&str], line: u64, report: &mut Report) {
        report.fault(|| {
            let pointer = (self.answer >= cells.len()).then(|| json::pointer_to(FIELD_NAMES[1]));
            let place = Place { pointer, ..self.place(cells, line) };
            place.fault(FaultCode::MalformedCsv, wording::row_width(cells.len(), self.count))
        });
    }

    fn place(&self, cells: &[&str], line: u64) -> Place {
        let id = matches!(self.asked, Asked::Id(_)).then(|| cells.get(self.asked.column())).flatten();
        Place { question_id: id.map(|id| (*id).to_owned()), ..Place::line(line) }
    }
}
