//! The text of single lines of a file, shortened and made safe to show. Knows nothing of faults.

use std::io::{self, Read};

use super::lines::{Line, Lines};
use super::{Limits, decompress, encoding};

/// Most characters of a line that are shown.
const SHOWN_CHARS: usize = 120;

/// Characters before the column in question that are shown with it.
const BEFORE_CHARS: usize = 40;

/// The text at these places, each a line and a column from 1, which come in the order of the lines; none where a line
/// cannot be shown. What ends the reading of the file early leaves out the rest.
pub fn excerpts(input: impl Read, limits: &Limits, places: &[(u64, u64)]) -> Vec<Option<String>> {
    let mut shown = vec![None; places.len()];
    // What is wrong with the file its reader has said already.
    let _ = show(input, limits, places, &mut shown);
    shown
}

fn show(
    input: impl Read,
    limits: &Limits,
    places: &[(u64, u64)],
    shown: &mut [Option<String>],
) -> io::Result<()> {
    let bytes = decompress::open(input, limits.max_bytes)?;
    let mut lines = Lines::new(encoding::to_utf8(bytes)?, 1);
    let mut waiting = places.iter().zip(shown).peekable();
    while waiting.peek().is_some() {
        let Some(line) = lines.next(false)? else { return Ok(()) };
        let (number, text) = match line {
            Line::Text(number, text) => (number, Some(text.into())),
            Line::NotUtf8(number, bytes, _) => (number, Some(String::from_utf8_lossy(bytes))),
            Line::TooLong(number) => (number, None),
        };
        while let Some(((_, column), place)) = waiting.next_if(|((line, _), _)| *line <= number) {
            *place = text.as_deref().map(|text| part(text, *column));
        }
    }
    Ok(())
}

/// The part of a line around a column, with `…` where something is left out.
fn part(line: &str, column: u64) -> String {
    let column = usize::try_from(column).unwrap_or(usize::MAX);
    let skipped = if column > SHOWN_CHARS - BEFORE_CHARS { column - 1 - BEFORE_CHARS } else { 0 };
    let mut rest = line.chars().skip(skipped);
    let middle = rest.by_ref().take(SHOWN_CHARS).map(visible);
    let start = if skipped > 0 { "…" } else { "" };
    let mut part: String = start.chars().chain(middle).collect();
    if rest.next().is_some() {
        part.push('…');
    }
    part
}

/// A character that only stands for itself: controls as their pictures, and none that turns the text's direction.
pub fn visible(c: char) -> char {
    match c {
        '\t' => ' ',
        '\0'..='\u{1f}' => char::from_u32(0x2400 + c as u32).unwrap_or(char::REPLACEMENT_CHARACTER),
        '\u{7f}'..='\u{9f}' | '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{2069}' => {
            char::REPLACEMENT_CHARACTER
        }
        other => other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LIMITS: Limits = Limits { max_bytes: 1 << 24 };

    fn shown(file: &[u8], places: &[(u64, u64)]) -> Vec<Option<String>> {
        excerpts(file, &LIMITS, places)
    }

    #[test]
    fn the_lines_that_are_asked_for_are_shown() {
        let file = b"first\r\nsecond\n\nfourth";
        let lines = shown(file, &[(2, 1), (2, 3), (3, 1), (4, 1), (5, 1)]);
        let expected = [Some("second"), Some("second"), Some(""), Some("fourth"), None];
        assert_eq!(lines, expected.map(|line| line.map(str::to_owned)));
    }

    #[test]
    fn a_long_line_is_shown_around_the_column() {
        let line = format!("{}X{}", "a".repeat(500), "b".repeat(500));
        let part = shown(line.as_bytes(), &[(1, 501)]).remove(0).unwrap();
        assert!(part.starts_with("…aaa") && part.ends_with("b…") && part.contains("aXb"), "{part}");
        assert_eq!(part.chars().count(), SHOWN_CHARS + 2);
    }

    #[test]
    fn what_would_act_on_a_screen_is_made_visible() {
        let shown = shown("a\u{1b}[31m\u{202e}b".as_bytes(), &[(1, 1)]);
        assert_eq!(shown, [Some("a␛[31m\u{fffd}b".to_owned())]);
    }

    #[test]
    fn a_line_that_is_too_long_or_not_there_is_not_shown() {
        let huge = vec![b'a'; 2 << 20];
        assert_eq!(shown(&huge, &[(1, 1)]), [None]);
        assert_eq!(shown(b"\x1f\x8b broken", &[(1, 1)]), [None]);
    }
}
