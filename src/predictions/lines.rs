//! The lines of a text, numbered, each no longer than a record may be. Knows nothing of what a line holds.

use std::io::{self, BufRead, Read};
use std::str::Utf8Error;

use super::MAX_RECORD_BYTES;
use super::decompress::Stop;

/// Reads line by line through one buffer.
pub(super) struct Lines<R> {
    input: R,
    number: u64,
    buffer: Vec<u8>,
    ended: bool,
}

/// One line without its LF or CRLF.
pub(super) enum Line<'a> {
    /// Its number and its text.
    Text(u64, &'a str),
    /// Its number, its bytes and where they cease to be UTF-8.
    NotUtf8(u64, &'a [u8], Utf8Error),
    /// The number of a line that is longer than [`MAX_RECORD_BYTES`]; it was passed over.
    TooLong(u64),
}

impl<R: BufRead> Lines<R> {
    /// The lines of `input`, of which the first has the number `first`.
    pub(super) fn new(input: R, first: u64) -> Self {
        Self { input, number: first - 1, buffer: Vec::new(), ended: false }
    }

    /// The next line; the next that is not blank if `skip_blank`.
    pub(super) fn next(&mut self, skip_blank: bool) -> io::Result<Option<Line<'_>>> {
        while self.advance()? {
            if self.is_too_long() || !skip_blank || !self.buffer.trim_ascii().is_empty() {
                return self.current().map(Some);
            }
        }
        Ok(None)
    }

    fn advance(&mut self) -> io::Result<bool> {
        if self.ended {
            return Ok(false);
        }
        self.buffer.clear();
        let most = MAX_RECORD_BYTES as u64 + 1;
        let count = self.input.by_ref().take(most).read_until(b'\n', &mut self.buffer)?;
        self.number += 1;
        Ok(count > 0)
    }

    fn is_too_long(&self) -> bool {
        self.buffer.len() > MAX_RECORD_BYTES && !self.buffer.ends_with(b"\n")
    }

    fn current(&mut self) -> io::Result<Line<'_>> {
        if self.is_too_long() {
            match self.input.skip_until(b'\n') {
                // The file is too large because this line is: one word about it is enough.
                Err(error) if Stop::is_too_large(&error) => self.ended = true,
                skipped => skipped.map(drop)?,
            }
            return Ok(Line::TooLong(self.number));
        }
        let line = self.buffer.strip_suffix(b"\n").unwrap_or(&self.buffer);
        let line = line.strip_suffix(b"\r").unwrap_or(line);
        Ok(match str::from_utf8(line) {
            Ok(text) => Line::Text(self.number, text),
            Err(error) => Line::NotUtf8(self.number, line, error),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lengths(text: &[u8], skip_blank: bool) -> Vec<(u64, Option<usize>)> {
        let mut lines = Lines::new(text, 1);
        let mut found = Vec::new();
        while let Some(line) = lines.next(skip_blank).unwrap() {
            found.push(match line {
                Line::Text(number, text) => (number, Some(text.len())),
                Line::NotUtf8(number, ..) | Line::TooLong(number) => (number, None),
            });
        }
        found
    }

    #[test]
    fn a_line_ends_with_lf_or_crlf_or_the_file() {
        assert_eq!(lengths(b"a\r\n\n b\nc", true), [(1, Some(1)), (3, Some(2)), (4, Some(1))]);
        assert_eq!(lengths(b"a\n\nb\n", false), [(1, Some(1)), (2, Some(0)), (3, Some(1))]);
    }

    #[test]
    fn a_line_of_exactly_the_limit_is_read() {
        for end in ["", "\n", "\nb"] {
            let line = |length| "a".repeat(length) + end;
            assert_eq!(lengths(line(MAX_RECORD_BYTES).as_bytes(), true)[0], (1, Some(MAX_RECORD_BYTES)));
            assert_eq!(lengths(line(MAX_RECORD_BYTES + 1).as_bytes(), true)[0], (1, None));
        }
    }
}
