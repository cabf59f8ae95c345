//! The text of an answer before it is judged: normalising it, seeing that it says nothing, and its key.
//! Knows nothing of prompts or judges.

use sha2::{Digest, Sha256};
use unicode_normalization::UnicodeNormalization;

use super::Item;

/// Version of [`normalise`] and [`judgement_key`]; part of the judge configuration.
pub(super) const NORMALISATION_VERSION: u32 = 1;

/// The answer as it is judged and hashed: NFC, visible characters only, single spaces, no chat marks.
pub fn normalise(answer: &str) -> String {
    // Dropping comes before NFC: what stood between a letter and its accent must not keep them apart.
    let visible: String =
        answer.chars().filter(|c| c.is_whitespace() || !is_invisible(*c)).collect::<String>().nfc().collect();
    let mut text = String::with_capacity(visible.len());
    for word in visible.split_whitespace() {
        if !text.is_empty() {
            text.push(' ');
        }
        text.push_str(word);
    }
    // `<|im_end|>` and its full-width twin would end the message for some models.
    for (mark, harmless) in [("<|", "< |"), ("|>", "| >"), ("<｜", "< ｜"), ("｜>", "｜ >")] {
        if text.contains(mark) {
            text = text.replace(mark, harmless);
        }
    }
    text
}

/// Whether a normalised answer has no letter of any script: it scores 0 in every criterion without a call.
pub fn is_wordless(answer: &str) -> bool {
    !answer.chars().any(char::is_alphabetic)
}

/// Key of a judgement within a configuration, 64 hex digits: equal if all that the judge sees is equal,
/// so that a question that a corrected release leaves alone keeps its judgements.
pub fn judgement_key(item: &Item<'_>) -> String {
    let mut evidence: Vec<_> = item.evidence.iter().collect();
    evidence.sort_by_key(|(name, _)| *name);
    let mut hash = Sha256::new();
    let mut add = |part: &str| {
        hash.update((part.len() as u64).to_be_bytes());
        hash.update(part);
    };
    add(item.question_id);
    add(item.question);
    add(item.reference);
    add(&evidence.len().to_string());
    for (name, value) in evidence {
        add(name);
        add(&value.to_string());
    }
    add(item.answer);
    hex::encode(hash.finalize())
}

/// Controls, private use, and what Unicode calls default-ignorable: zero-width, bidi, fillers, variation
/// selectors and tags, all of which can carry text that no reader sees.
fn is_invisible(c: char) -> bool {
    c.is_control()
        || matches!(c,
            '\u{AD}' | '\u{34F}' | '\u{61C}' | '\u{115F}'..='\u{1160}' | '\u{17B4}'..='\u{17B5}'
            | '\u{180B}'..='\u{180F}' | '\u{200B}'..='\u{200F}' | '\u{202A}'..='\u{202E}'
            | '\u{2060}'..='\u{206F}' | '\u{3164}' | '\u{E000}'..='\u{F8FF}' | '\u{FE00}'..='\u{FE0F}'
            | '\u{FEFF}' | '\u{FFA0}' | '\u{FFF0}'..='\u{FFFB}' | '\u{1BCA0}'..='\u{1BCA3}'
            | '\u{1D173}'..='\u{1D17A}' | '\u{E0000}'..='\u{E0FFF}' | '\u{F0000}'..='\u{10FFFF}')
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::{Map, json};

    use super::*;
    use crate::domain::question::Rubric;

    #[test]
    fn what_no_reader_sees_is_dropped_and_white_space_becomes_one_space() {
        assert_eq!(
            normalise("  A\u{200B}\tfish\r\n\u{202E}swims\u{E0041}\u{FE0F}\u{F8FF}\u{7} \u{2028}up\u{85} "),
            "A fish swims up"
        );
    }

    #[test]
    fn an_accent_that_was_kept_apart_joins_its_letter() {
        assert_eq!(normalise("e\u{200D}\u{301}"), "\u{e9}");
    }

    #[test]
    fn chat_marks_are_taken_apart() {
        assert_eq!(normalise("a<|im_end|>b<\u{200B}|x|>"), "a< |im_end| >b< |x| >");
        assert_eq!(normalise("<|>"), "< | >");
        assert_eq!(normalise("<｜eos｜>"), "< ｜eos｜ >");
    }

    #[test]
    fn only_a_letter_of_some_script_makes_a_word() {
        for wordless in ["", " ", "123 :-) !!", "🐟", &normalise("\u{3164}\u{E0041}")] {
            assert!(is_wordless(wordless), "{wordless:?}");
        }
        for worded in ["a", "魚", "1 рыба"] {
            assert!(!is_wordless(worded), "{worded:?}");
        }
    }

    #[test]
    fn the_key_depends_on_every_part_and_not_on_the_order_of_evidence() {
        let evidence = |text: &str| serde_json::from_str::<Map<_, _>>(text).unwrap();
        let (plain, turned) = (evidence(r#"{"a":"1","b":"2"}"#), evidence(r#"{"b":"2","a":"1"}"#));
        let base = Item {
            question_id: "q",
            rubric: Rubric::Oemu,
            question: "w",
            reference: "r",
            evidence: &plain,
            answer: "x",
        };
        let key = judgement_key(&base);
        assert_eq!(key.len(), 64);
        assert_eq!(key, judgement_key(&Item { evidence: &turned, ..base }));
        let other = Map::from_iter([("a".to_owned(), json!("1"))]);
        for changed in [
            Item { question_id: "qw", question: "", ..base },
            Item { reference: "rr", ..base },
            Item { evidence: &other, ..base },
            Item { answer: "y", ..base },
        ] {
            assert_ne!(key, judgement_key(&changed));
        }
    }

    proptest! {
        #[test]
        fn normalising_twice_changes_nothing(text in "(\\PC|[<|>\u{FF5C} \u{200B}\u{301}\n]){0,40}") {
            let once = normalise(&text);
            prop_assert_eq!(&normalise(&once), &once);
        }
    }
}
