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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::fault::Fault;
    use crate::domain::question::{QuestionFormat, Split};
    use crate::predictions::{MAX_RECORD_BYTES, Predictions, QuestionIndex, Refusal};

    fn read_lines(text: &[u8]) -> Result<Predictions, Refusal> {
        let questions = ["a", "b"].map(|id| (id.to_owned(), QuestionFormat::OpenEnded));
        let index = QuestionIndex::new(Split::Val, questions, []);
        let mut report = Report::new(&index);
        read(text, 1, &mut report).unwrap();
        report.finish()
    }

    fn faults(text: &[u8]) -> Vec<Fault> {
        read_lines(text).unwrap_err().faults
    }

    #[test]
    fn blank_lines_are_passed_over_and_counted() {
        let text =
            b"\n{\"question_id\":\"a\",\"answer\":\"x\"}\r\n  \r\n{\"question_id\":\"b\",\"pred\":\"y\"}";
        let answers = read_lines(text).unwrap().answers;
        assert_eq!(answers, [Some("x".to_owned()), Some("y".to_owned())]);
        let found = faults(&[&text[..], b"\n\n{}"].concat());
        assert!(found.iter().all(|fault| fault.line == Some(6)), "{found:?}");
    }

    #[test]
    fn reading_goes_on_after_a_line_that_is_too_long() {
        let text =
            format!("{}\n{{\"question_id\":\"c\",\"answer\":\"x\"}}", "x".repeat(2 * MAX_RECORD_BYTES));
        let found: Vec<_> = faults(text.as_bytes()).iter().map(|fault| (fault.code, fault.line)).collect();
        assert_eq!(found, [(FaultCode::LineTooLong, Some(1)), (FaultCode::UnknownQuestion, Some(2))]);
    }

    #[test]
    fn what_is_not_utf8_is_traced_to_its_field() {
        let fault = faults(b"{\"question_id\":\"a\",\"answer\":\"pr\xe8s\"}").remove(0);
        assert_eq!((fault.code, fault.column), (FaultCode::NotUtf8, Some(32)));
        assert_eq!((fault.pointer.as_deref(), fault.question_id.as_deref()), (Some("/answer"), Some("a")));
    }

    #[test]
    fn a_record_over_several_lines_is_refused_where_it_begins() {
        let fault = faults(b"{\n\"question_id\":\"a\",\n\"answer\":\"x\"}").remove(0);
        assert_eq!((fault.code, fault.line), (FaultCode::MalformedJson, Some(1)));
        assert!(fault.detail.contains("on one line of its own"), "{}", fault.detail);
    }
}
