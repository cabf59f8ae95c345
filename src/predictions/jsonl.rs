//! JSONL: one record a line. Knows nothing of what a record must hold.

use std::io::{self, BufRead};

use super::json::Stretch;
use super::lines::{Line, Lines};
use super::record::Record;
use super::report::{Place, Report};
use super::wording;
use crate::domain::fault::FaultCode;

/// Reads each line that is not blank as a record; the first line has the number `first_line`.
pub(super) fn read(text: impl BufRead, first_line: u64, report: &mut Report) -> io::Result<()> {
    let mut lines = Lines::new(text, first_line);
    while let Some(line) = lines.next(true)? {
        match line {
            Line::Text(number, text) => record(text, number).read(report),
            Line::NotUtf8(number, bytes, error) => {
                let text = String::from_utf8_lossy(bytes);
                record(&text, number).report_not_utf8(error, bytes, report);
            }
            Line::TooLong(number) => {
                report.fault(|| Place::line(number).fault(FaultCode::LineTooLong, wording::line_too_long()));
            }
        }
    }
    Ok(())
}

fn record(text: &str, line: u64) -> Record<'_> {
    Record { stretch: Stretch { text, line, column: 1 }, element: None }
}
