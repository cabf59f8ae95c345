//! CSV and TSV with a header row. Knows nothing of questions; it splits rows and gives their cells on.

use std::io::{self, BufRead};

use csv_core::{ReadRecordResult, Reader, ReaderBuilder, Terminator};

use super::columns::{Cell, Columns};
use super::lines::{Line, Lines};
use super::record::FIELD_NAMES;
use super::report::{Place, Report};
use super::{MAX_RECORD_BYTES, wording};
use crate::domain::fault::FaultCode;

/// Reads a table whose header stands in the line `first_line` or after blank lines.
pub(super) fn read(mut text: impl BufRead, first_line: u64, report: &mut Report) -> io::Result<()> {
    let splitter = Splitter::new(delimiter(text.fill_buf()?));
    let mut rows = Rows { lines: Lines::new(text, first_line), splitter };
    let columns = match rows.next(report)? {
        Some(Row { line, cells: Cells::All(header) }) => Columns::of(&header, line, report),
        Some(Row { line, cells: Cells::Unclosed(_) }) => {
            report.fault(|| Place::line(line).fault(FaultCode::MalformedCsv, wording::unclosed_quote()));
            None
        }
        _ => None,
    };
    let Some(columns) = columns else { return Ok(()) };
    while let Some(Row { line, cells }) = rows.next(report)? {
        match cells {
            Cells::All(cells) if cells.len() != columns.count => columns.report_width(&cells, line, report),
            Cells::All(cells) => {
                columns.read_row(line, &|column| Cell::Text(cells[column]), &|_| Place::line(line), report);
            }
            Cells::Unclosed(cells) => columns.report_unclosed(&cells, line, report),
            Cells::Unreadable => {}
        }
    }
    Ok(())
}

/// What stands between the cells of a text that begins so: a tab where the first line, split by tabs, has a name that is
/// read.
fn delimiter(start: &[u8]) -> u8 {
    let header = start.trim_ascii_start().split(|&byte| byte == b'\n').next().unwrap_or_default();
    let mut names = header.split(|&byte| byte == b'\t').skip_while(|name| name.len() == header.len());
    let is_read = |name: &[u8]| {
        let name = name.trim_ascii();
        let name = name.strip_prefix(b"\"").and_then(|name| name.strip_suffix(b"\"")).unwrap_or(name);
        FIELD_NAMES.iter().any(|known| known.as_bytes() == name)
    };
    if names.any(is_read) { b'\t' } else { b',' }
}

/// One row, by the number of its first line.
struct Row<'a> {
    line: u64,
    cells: Cells<'a>,
}

enum Cells<'a> {
    All(Vec<&'a str>),
    /// The cells before one whose quote is open where the file ends.
    Unclosed(Vec<&'a str>),
    /// What is wrong is reported already.
    Unreadable,
}

/// Puts lines together to rows: a quoted cell may hold line ends, which become LF.
struct Rows<R> {
    lines: Lines<R>,
    splitter: Splitter,
}

impl<R: BufRead> Rows<R> {
    fn next(&mut self, report: &mut Report) -> io::Result<Option<Row<'_>>> {
        self.splitter.begin_row();
        let mut row_line = None;
        let mut is_text = true;
        loop {
            let (number, bytes) = match self.lines.next(row_line.is_none())? {
                Some(Line::Text(number, text)) => (number, text.as_bytes()),
                Some(Line::NotUtf8(number, bytes, error)) => {
                    let detail = || wording::not_utf8(bytes, error);
                    report.fault(|| Place::line(number).fault(FaultCode::NotUtf8, detail()));
                    is_text = false;
                    (number, bytes)
                }
                Some(Line::TooLong(number)) => {
                    report.fault(|| {
                        Place::line(number).fault(FaultCode::LineTooLong, wording::line_too_long())
                    });
                    self.splitter = Splitter::new(self.splitter.delimiter);
                    return Ok(Some(Row { line: number, cells: Cells::Unreadable }));
                }
                None => {
                    let unclosed = |line| Row { line, cells: Cells::Unclosed(self.splitter.cells()) };
                    return Ok(row_line.map(unclosed));
                }
            };
            let line = *row_line.get_or_insert(number);
            if self.splitter.ends_row(bytes) {
                let cells = if is_text { Cells::All(self.splitter.cells()) } else { Cells::Unreadable };
                return Ok(Some(Row { line, cells }));
            }
            if self.splitter.text_len > MAX_RECORD_BYTES {
                report.fault(|| Place::line(line).fault(FaultCode::LineTooLong, wording::row_too_long()));
                return Ok(None);
            }
        }
    }
}

/// Splits rows into cells, a line at a time.
struct Splitter {
    parser: Reader,
    delimiter: u8,
    text: Vec<u8>,
    ends: Vec<usize>,
    text_len: usize,
    cells: usize,
}

impl Splitter {
    fn new(delimiter: u8) -> Self {
        let parser = ReaderBuilder::new().terminator(Terminator::Any(b'\n')).delimiter(delimiter).build();
        Self { parser, delimiter, text: vec![0; 1024], ends: vec![0; 8], text_len: 0, cells: 0 }
    }

    fn begin_row(&mut self) {
        (self.text_len, self.cells) = (0, 0);
    }

    /// Splits a further line of the row; whether the row ends with it, which it does unless a quote is open.
    fn ends_row(&mut self, line: &[u8]) -> bool {
        self.feed(line);
        self.feed(b"\n")
    }

    fn feed(&mut self, mut input: &[u8]) -> bool {
        // No input would tell the parser that the file ends.
        while !input.is_empty() {
            let (text, ends) = (&mut self.text[self.text_len..], &mut self.ends[self.cells..]);
            let (result, read, written, ended) = self.parser.read_record(input, text, ends);
            input = &input[read..];
            self.text_len += written;
            self.cells += ended;
            match result {
                ReadRecordResult::InputEmpty => {}
                ReadRecordResult::OutputFull => self.text.resize(self.text.len() * 2, 0),
                ReadRecordResult::OutputEndsFull => self.ends.resize(self.ends.len() * 2, 0),
                ReadRecordResult::Record | ReadRecordResult::End => return true,
            }
        }
        false
    }

    /// The cells that are complete, of a row that is UTF-8.
    fn cells(&self) -> Vec<&str> {
        let starts = std::iter::once(0).chain(self.ends.iter().copied());
        let bounds = starts.zip(&self.ends).take(self.cells);
        bounds.map(|(start, &end)| str::from_utf8(&self.text[start..end]).unwrap_or_default()).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rows(text: &str) -> Vec<(u64, Vec<String>)> {
        let index = super::super::QuestionIndex::new(crate::domain::question::Split::Test, [], []);
        let mut report = Report::new(&index);
        let mut rows = Rows { lines: Lines::new(text.as_bytes(), 1), splitter: Splitter::new(b',') };
        let mut found = Vec::new();
        while let Some(Row { line, cells: Cells::All(cells) }) = rows.next(&mut report).unwrap() {
            found.push((line, cells.into_iter().map(str::to_owned).collect()));
        }
        found
    }

    #[test]
    fn rows_are_numbered_by_their_first_line() {
        let found = rows("a,b\r\n\r\nc,\"x\r\n\r\ny\"\r\nd,\"say \"\"e\"\"\"");
        let expected = [(1, ["a", "b"]), (3, ["c", "x\n\ny"]), (6, ["d", "say \"e\""])];
        assert_eq!(found, expected.map(|(line, cells)| (line, cells.map(str::to_owned).to_vec())));
    }

    #[test]
    fn long_rows_of_many_cells_are_split_whole() {
        let cell = "x".repeat(3000);
        let found = rows(&format!("{}\n", vec![cell.as_str(); 40].join(",")));
        assert_eq!(found, [(1, vec![cell; 40])]);
    }
}
