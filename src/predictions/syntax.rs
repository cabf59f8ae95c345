//! Why a text is not JSON, and how to mend it. Knows nothing of records; serde_json finds the place, this
//! finds the words.

use super::wording::literal;

/// Where `error` lies in `text`, in bytes.
pub(super) fn offset_of(error: &serde_json::Error, text: &str) -> usize {
    let before = error.line().saturating_sub(1);
    let line_start: usize = text.split_inclusive('\n').take(before).map(str::len).sum();
    text.floor_char_boundary(line_start + error.column().saturating_sub(1))
}

/// Says what is wrong at `offset`, and what to do; `whole` is what the text is (`record`, `document`).
pub(super) fn explain(error: &serde_json::Error, text: &str, offset: usize, whole: &str) -> String {
    let message = error.to_string();
    let message = message.split(" at line ").next().unwrap_or_default();
    let rest = &text[offset..];
    if error.is_eof() {
        return match whole {
            "record" => format!(
                "the record {} ends before it is complete: write each record on one line of its own, not \
                 over several, and see whether the file was cut off",
                literal(text)
            ),
            _ => "the document ends before it is complete: see whether the file was cut off".to_owned(),
        };
    }
    if message.contains("control character") {
        let raw = rest.chars().find(|c| c.is_control()).unwrap_or_default();
        return format!(
            "a text holds a raw control character: write it as `\\u{:04x}`, or leave it out",
            raw as u32
        );
    }
    if message.contains("surrogate") || message.contains("hex escape") {
        return "half of a surrogate pair, as in `\\ud83d`, is no character: write both halves".to_owned();
    }
    // After a comma in an object serde_json looks for the next name.
    if message == "trailing comma" || message == "key must be a string" && rest.starts_with('}') {
        return "a comma stands before a closing bracket: remove it".to_owned();
    }
    if message == "trailing characters" {
        return trailing(rest.trim_end(), whole);
    }
    if whole == "document" && message.starts_with("expected `,`") && rest.starts_with(['{', '[']) {
        return "a comma is missing between two records: add it, or leave out the brackets around all and send one \
                record a line (JSONL)"
            .to_owned();
    }
    token(text, offset, message)
}

fn trailing(rest: &str, whole: &str) -> String {
    match whole {
        "record" if rest.starts_with(',') => {
            "a comma follows the record: remove it, in JSONL the line end separates records".to_owned()
        }
        "record" => format!("{} follows the record: write each record on a line of its own", literal(rest)),
        _ => format!("{} follows the end of the document: write one document, or JSONL", literal(rest)),
    }
}

/// Words for what begins at or around `offset` and is no JSON.
fn token(text: &str, offset: usize, message: &str) -> String {
    let is_word = |c: char| c.is_alphanumeric() || "-+._".contains(c);
    let start = text[..offset].trim_end_matches(is_word).len();
    let rest = &text[start..];
    let word = rest.split(|c| !is_word(c)).next().unwrap_or_default();
    match (word, rest.chars().next()) {
        ("NaN" | "nan" | "Infinity" | "-Infinity" | "inf" | "-inf", _) => {
            format!("`{word}` is not JSON: an answer is text in double quotes")
        }
        ("None" | "True" | "False", _) => {
            format!(
                "`{word}` is Python, not JSON: write the file with `json.dumps`, not with `str` or `print`"
            )
        }
        (_, Some('\'')) => {
            "JSON takes double quotes, not single ones: write the file with `json.dumps`, not with `str` \
             or `print`"
                .to_owned()
        }
        (_, Some('#' | '/')) => format!("{} is not JSON: JSON has no comments, remove it", literal(rest)),
        _ => format!("{} is not JSON here ({message}): write the file with a JSON library", literal(rest)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn explained(text: &str) -> String {
        let error = serde_json::from_str::<serde::de::IgnoredAny>(text).unwrap_err();
        explain(&error, text, offset_of(&error, text), "record")
    }

    #[test]
    fn common_mistakes_are_named() {
        for (text, word) in [
            (r#"{"answer": NaN}"#, "`NaN`"),
            (r#"{"answer": -Infinity}"#, "`-Infinity`"),
            (r#"{"answer": None}"#, "`None` is Python"),
            ("{'answer': 'A'}", "single"),
            ("# model: demo", "comments"),
            (r#"{"answer": "A"},"#, "comma follows"),
            (r#"{"answer": "A"}{"answer": "B"}"#, "`{\"answer\": \"B\"}` follows"),
            (r#"{"answer": "A",}"#, "comma stands before"),
            (r#"{"answer": "A"#, "before it is complete"),
            ("{\"answer\": \"A\u{0}\"}", "`\\u0000`"),
            (r#"{"answer" "A"}"#, "`\"A\"}`"),
        ] {
            assert!(explained(text).contains(word), "{text}: {}", explained(text));
        }
    }

    #[test]
    fn the_place_is_found_in_any_line() {
        let text = "[\n \"é\",\n ?]";
        let error = serde_json::from_str::<serde::de::IgnoredAny>(text).unwrap_err();
        assert_eq!(&text[offset_of(&error, text)..], "?]");
    }
}
