//! Walking JSON text one level deep, without recursion and without copying values. Knows nothing of records.

use std::fmt;

use serde::de::{Deserializer, MapAccess, SeqAccess, Visitor};
use serde_json::value::RawValue;

/// Deepest nesting of brackets; no answer format needs more, and the files that have it are attacks.
pub(super) const MAX_DEPTH: usize = 64;

/// A stretch of the file and where it begins.
#[derive(Debug, Clone, Copy)]
pub(super) struct Stretch<'a> {
    pub(super) text: &'a str,
    /// Line of the first character, from 1.
    pub(super) line: u64,
    /// Column of the first character, in characters from 1.
    pub(super) column: u64,
}

impl<'a> Stretch<'a> {
    /// The rest of it after the first `bytes` bytes, which end at a character's end.
    pub(super) fn skip(self, bytes: usize) -> Self {
        let (passed, text) = self.text.split_at(bytes);
        match passed.rsplit_once('\n') {
            None => Self { text, column: self.column + passed.chars().count() as u64, ..self },
            Some((before, last)) => {
                let lines = 1 + before.bytes().filter(|&byte| byte == b'\n').count() as u64;
                Self { text, line: self.line + lines, column: 1 + last.chars().count() as u64 }
            }
        }
    }

    /// How many bytes into it `part` begins; `part` is a slice of its text.
    pub(super) fn offset_of(&self, part: &str) -> usize {
        part.as_ptr().addr().saturating_sub(self.text.as_ptr().addr()).min(self.text.len())
    }
}

/// Gives each member of an object, or each element of a list (without a name), to `visit`, in order. A member
/// whose value is malformed is given without it before the error.
pub(super) fn walk<'a, F>(text: &'a str, visit: F) -> serde_json::Result<()>
where
    F: FnMut(Option<String>, Option<&'a RawValue>),
{
    let mut json = serde_json::Deserializer::from_str(text);
    json.deserialize_any(Walk(visit))?;
    json.end()
}

struct Walk<F>(F);

impl<'de, F> Visitor<'de> for Walk<F>
where
    F: FnMut(Option<String>, Option<&'de RawValue>),
{
    type Value = ();

    fn expecting(&self, formatter: &mut fmt::Formatter) -> fmt::Result {
        formatter.write_str("an object or a list")
    }

    fn visit_map<A: MapAccess<'de>>(mut self, mut map: A) -> Result<(), A::Error> {
        while let Some(name) = map.next_key()? {
            let value = map.next_value();
            (self.0)(Some(name), value.as_ref().ok().copied());
            value?;
        }
        Ok(())
    }

    fn visit_seq<A: SeqAccess<'de>>(mut self, mut list: A) -> Result<(), A::Error> {
        while let Some(value) = list.next_element()? {
            (self.0)(None, Some(value));
        }
        Ok(())
    }
}

/// Where brackets nest deeper than [`MAX_DEPTH`], as an offset in bytes; the text need not be valid JSON.
pub(super) fn too_deep(text: &str) -> Option<usize> {
    let (mut depth, mut in_string, mut escaped) = (0usize, false, false);
    for (offset, byte) in text.bytes().enumerate() {
        match byte {
            _ if escaped => escaped = false,
            b'\\' if in_string => escaped = true,
            b'"' => in_string = !in_string,
            _ if in_string => {}
            b'[' | b'{' => {
                depth += 1;
                if depth > MAX_DEPTH {
                    return Some(offset);
                }
            }
            b']' | b'}' => depth = depth.saturating_sub(1),
            _ => {}
        }
    }
    None
}

/// What a valid JSON value is, by its first character.
pub(super) fn kind(value: &str) -> &'static str {
    match value.bytes().find(|byte| !byte.is_ascii_whitespace()) {
        Some(b'"') => "text",
        Some(b'{') => "an object",
        Some(b'[') => "a list",
        Some(b't' | b'f') => "a truth value",
        Some(b'n') => "null",
        _ => "a number",
    }
}

/// JSON Pointer (RFC 6901) of the member `name`.
pub(super) fn pointer_to(name: &str) -> String {
    let name: String = name.chars().take(super::wording::MAX_QUOTED_CHARS).collect();
    format!("/{}", name.replace('~', "~0").replace('/', "~1"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_count_lines_and_characters() {
        let text = "{\n\"é\": 1,\n \"b\": 2}";
        let whole = Stretch { text, line: 7, column: 1 };
        let place = |part| {
            let at = whole.skip(text.find(part).unwrap());
            (at.line, at.column)
        };
        assert_eq!(place("1"), (8, 6));
        assert_eq!(place("\"b\""), (9, 2));
        assert_eq!(whole.skip(2).offset_of(&text[5..]), 3);
    }

    #[test]
    fn brackets_in_strings_do_not_nest() {
        assert_eq!(too_deep(&format!("\"\\\"{}\"", "[".repeat(100))), None);
        assert_eq!(too_deep(&"[".repeat(MAX_DEPTH)), None);
        assert_eq!(too_deep(&"[".repeat(MAX_DEPTH + 1)), Some(MAX_DEPTH));
        assert_eq!(too_deep(&"[]".repeat(100)), None);
    }

    #[test]
    fn the_member_with_the_malformed_value_is_named() {
        let mut names = Vec::new();
        let walked =
            walk(r#"{"a": [1, {"b": 2}], "c": NaN}"#, |name, value| names.push((name, value.is_some())));
        assert!(walked.is_err());
        assert_eq!(names, [(Some("a".to_owned()), true), (Some("c".to_owned()), false)]);
    }
}
