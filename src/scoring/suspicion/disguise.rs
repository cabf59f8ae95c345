//! Signs in the characters of an answer: what prints nothing, what is encoded, and marks that would end the answer or
//! begin another speaker's turn. Knows nothing of what words mean.

use std::collections::BTreeSet;

use crate::domain::sign::Sign;
use crate::scoring::choice::clean::is_invisible;

/// Hidden signs that stray into honest texts: fewer are no sign.
const MIN_HIDDEN: usize = 3;

/// The shortest run of base64 that is taken for one; video ids and words stay below.
const MIN_BASE64: usize = 24;

/// The shortest run of hexadecimal digits that is taken for a payload.
const MIN_HEX: usize = 32;

/// Escaped letters in one answer that make a payload.
const MIN_ESCAPES: usize = 6;

/// What a model's output ends with where the team did not cut it off; harmless there.
const LEAKED_ENDS: [&str; 8] = [
    "<|im_end|>",
    "<|endoftext|>",
    "<|eot_id|>",
    "<|end|>",
    "<|end▁of▁sentence|>",
    "<end_of_turn>",
    "</s>",
    "<eos>",
];

const CHAT_MARKS: [&str; 16] = [
    "<|",
    "|>",
    "[inst]",
    "[/inst]",
    "<<sys>>",
    "<start_of_turn>",
    "<end_of_turn>",
    "</s>",
    "<system>",
    "</system>",
    "<user>",
    "</user>",
    "<assistant>",
    "### system",
    "### instruction",
    "[system]",
];

/// Elements that an answer may stand in.
const ANSWER_ELEMENTS: [&str; 6] =
    ["answer", "description", "caption", "candidate", "response", "submission"];

/// Signs in the raw characters.
pub(super) fn find(raw: &str, found: &mut BTreeSet<Sign>) {
    if raw.chars().any(|c| c.is_control() && !matches!(c, '\t' | '\n' | '\r' | '\u{85}')) {
        found.insert(Sign::ControlCharacters);
    }
    if !raw.is_ascii() && hides_text(raw) {
        found.insert(Sign::HiddenCharacters);
    }
    if raw.split(|c: char| !is_base64(c)).any(is_payload)
        || has_byte_list(raw)
        || escaped_letters(raw) >= MIN_ESCAPES
    {
        found.insert(Sign::EncodedPayload);
    }
}

/// Whether signs that print nothing do more than script and emoji ask for.
fn hides_text(raw: &str) -> bool {
    let is_right_to_left = |c: char| matches!(c, '\u{590}'..='\u{8FF}' | '\u{FB1D}'..='\u{FEFC}');
    let reads_both_ways = raw.chars().any(is_right_to_left);
    let mut before = ' ';
    let mut count = 0;
    for c in raw.trim_start_matches('\u{FEFF}').chars() {
        match c {
            // Tags spell out letters, overrides reverse them, and nobody types the planes for private use.
            '\u{E0000}'..='\u{E007F}' | '\u{202D}' | '\u{202E}' | '\u{F0000}'..='\u{10FFFF}' => return true,
            // A soft hyphen, and what belongs to an emoji.
            '\u{AD}' | '\u{20E3}' | '\u{FE00}'..='\u{FE0F}' | '\u{1F3FB}'..='\u{1F3FF}' => {}
            // Joiners belong to emoji and to scripts that join their letters.
            '\u{200C}' | '\u{200D}' if !before.is_ascii() => {}
            '\u{200E}' | '\u{200F}' | '\u{61C}' | '\u{202A}'..='\u{202C}' | '\u{2066}'..='\u{2069}'
                if reads_both_ways => {}
            c if is_invisible(c) => count += 1,
            _ => {}
        }
        before = c;
    }
    count >= MIN_HIDDEN
}

fn is_base64(c: char) -> bool {
    c.is_ascii_alphanumeric() || matches!(c, '+' | '/' | '=')
}

/// Whether a run is base64 or a long number in hexadecimal digits: capitals, small letters and digits change from one
/// character to the next as in no word.
fn is_payload(run: &str) -> bool {
    let run = run.trim_end_matches('=');
    if run.len() >= MIN_HEX && run.bytes().all(|byte| byte.is_ascii_hexdigit()) {
        return run.bytes().any(|byte| byte.is_ascii_digit());
    }
    let kind = |byte: u8| (byte.is_ascii_uppercase(), byte.is_ascii_lowercase());
    let changes = run.as_bytes().windows(2).filter(|pair| kind(pair[0]) != kind(pair[1])).count();
    run.len() >= MIN_BASE64 && !run.contains("//") && 2 * changes >= run.len()
}

/// Whether bytes are written out one by one: eight binary or two hexadecimal digits each.
fn has_byte_list(raw: &str) -> bool {
    let (mut binary, mut hex, mut has_letter) = (0, 0, false);
    for word in raw.split_whitespace() {
        let is_binary = word.len() == 8 && word.bytes().all(|byte| matches!(byte, b'0' | b'1'));
        binary = if is_binary { binary + 1 } else { 0 };
        let is_hex = word.len() == 2 && word.bytes().all(|byte| byte.is_ascii_hexdigit());
        hex = if is_hex { hex + 1 } else { 0 };
        has_letter = is_hex && (has_letter || word.bytes().any(|byte| byte.is_ascii_alphabetic()));
        if binary >= 4 || hex >= 12 && has_letter {
            return true;
        }
    }
    false
}

/// How many plain letters are written as `\x41`, `\u0041` or `%41`.
fn escaped_letters(raw: &str) -> usize {
    let of = |opening: &str| {
        raw.match_indices(opening)
            .filter(|(at, _)| {
                let code = raw.get(at + opening.len()..at + opening.len() + 2);
                code.and_then(|code| u8::from_str_radix(code, 16).ok())
                    .is_some_and(|byte| byte.is_ascii_alphabetic())
            })
            .count()
    };
    ["\\x", "\\u00", "%"].into_iter().map(of).sum()
}

/// The text without what a model's tokenizer left at its end.
pub(super) fn without_leaked_marks(plain: &str) -> &str {
    let mut rest = plain.trim();
    rest = rest.strip_prefix("<s>").unwrap_or(rest);
    while let Some(shorter) = LEAKED_ENDS.iter().find_map(|mark| rest.strip_suffix(mark)) {
        rest = shorter.trim_end();
    }
    rest
}

/// Marks of a chat, and closing marks with more text behind them.
pub(super) fn find_marks(text: &str, found: &mut BTreeSet<Sign>) {
    if !text.contains(['<', '|', '[', '#']) {
        return;
    }
    let lower = text.to_lowercase();
    if CHAT_MARKS.iter().any(|mark| lower.contains(mark)) {
        found.insert(Sign::RoleTag);
    }
    let last_word = last_letter_outside_marks(&lower);
    let closes_early = |element: &&str| {
        let opened = lower.find(&format!("<{element}>"));
        let closed = lower.find(&format!("</{element}"));
        closed.is_some_and(|closed| last_word > Some(closed) && opened.is_none_or(|opened| opened > closed))
    };
    if lower.contains("<answer-") || ANSWER_ELEMENTS.iter().any(closes_early) {
        found.insert(Sign::ClosingMark);
    }
}

/// Where the last letter stands that is in no `<…>`.
fn last_letter_outside_marks(text: &str) -> Option<usize> {
    let mut last = None;
    let mut inside = false;
    for (at, c) in text.char_indices() {
        match c {
            '<' => inside = true,
            '>' => inside = false,
            c if c.is_alphabetic() && !inside => last = Some(at),
            _ => {}
        }
    }
    last
}
