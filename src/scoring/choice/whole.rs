//! Rules 2 and 3: replies that are a label, the text of an option, both, or no reply at all. Knows nothing of sentences.

use super::lex::{Kind, Token};
use super::text::{OptionSet, bit, only_letter};
use super::words::{RIGHT, WRONG};
use crate::domain::choice::{Choice, Reason};

/// Longest reply, in tokens, that can be a service error.
const ERROR_TOKENS: usize = 400;

/// What stands for "no reply", in words.
const NULL_MARKERS: &str =
    "none|null|nan|n a|undefined|nil|na|no response|object object|error|failed|killed|forbidden";

/// How messages of services begin, in words.
const ERROR_STARTS: &str = "error |exception|traceback|bad request|bad gateway|gateway time|service unavailable|\
    internal server error|too many requests|unauthorized|failed to obtain|failed to fetch|\
    failed to connect|failed to load|failed to process|failed to generate|failed to get|failed to parse|\
    failed to decode|failed to call|failed to allocate|failed to read|failed to retrieve|\
    failed in prefetch|cuda out of|cuda error|out of memory|runtimeerror|valueerror|keyerror|typeerror|\
    timeout|request timed out|request timeout|read timed out|deadlineexceeded|deadline exceeded|\
    connection closed|connection reset|connection refused|connection timed|connection aborted|\
    connection error|connection lost|connection failed|connection broken|connectionerror|rate limit|\
    ratelimiterror|http error|http 4|http 5|status code|api error|apierror|server error|\
    upstream connect|upstream request|upstream error|resource exhausted|context length|\
    this model s maximum context|maximum context length|content filter|blocked by content|\
    blocked by safety|quota exceeded|you exceeded your|oom |model overloaded|the server had an error|\
    httperror|500 internal|502 bad|503 service|504 gateway|429 too|400 bad|401 unauthorized|\
    403 forbidden|404 not|ssl |socket hang|socket closed|socket timeout|jsondecodeerror|torch cuda|\
    torch outofmemoryerror|outofmemoryerror|assertionerror|overloaded|the engine is currently|\
    segmentation fault|prefetch failed";

/// A label with nothing but plain dress around it, or after "Answer:".
pub(super) fn plain_label(reply: &str, options: &OptionSet) -> Option<Choice> {
    let trimmed = reply.trim_ascii();
    let cue = "answer:";
    let declared = trimmed.get(..cue.len()).is_some_and(|head| head.eq_ignore_ascii_case(cue));
    let rest = if declared { &trimmed[cue.len()..] } else { trimmed };
    let dress: &[char] = &['(', ')', '[', ']', '<', '>', '.', ':', '"', '\'', '*', '`', '$', ' '];
    let label = rest.trim_matches(dress);
    if label.len() != 1 || rest.len() > 16 {
        return None;
    }
    let letter = char::from(label.as_bytes()[0].to_ascii_uppercase());
    let reason = if declared { Reason::Declared } else { Reason::LabelOnly };
    options.has(letter).then(|| Choice::letter(letter, reason))
}

/// What the tokens say where they are nothing but labels, option text or an error.
pub(super) fn read(tokens: &[Token<'_>], options: &OptionSet) -> Option<Choice> {
    if tokens.iter().any(|token| token.kind == Kind::FieldOpen) {
        return None;
    }
    if !tokens.iter().any(Token::is_word) {
        return Some(Choice::none(Reason::Empty));
    }
    if let Some(choice) = labels_only(tokens, options) {
        return Some(choice);
    }
    if let Some(letter) = only_letter(options.equal_to(tokens)) {
        return Some(Choice::letter(letter, Reason::TextExact));
    }
    if is_error(tokens) {
        return Some(Choice::none(Reason::InfraError));
    }
    label_and_text(tokens, options)
}

fn labels_only(tokens: &[Token<'_>], options: &OptionSet) -> Option<Choice> {
    let mut set = 0;
    let mut glued_word = false;
    let mut marked = false;
    let (mut lower, mut upper) = (false, false);
    for token in tokens {
        marked |= token.has(RIGHT | WRONG);
        lower |= token.letter.is_some() && token.lower;
        upper |= token.letter.is_some() && !token.lower;
        let is_tail = token.glued && matches!(token.text, "#" | "′" | "'");
        match token.kind {
            Kind::Sign if matches!(token.text, "+" | "°" | "%") || is_tail && glued_word => return None,
            Kind::Word if token.glued && glued_word => return None,
            Kind::Word => {
                set |= token.letter.map_or_else(|| joined_labels(token.text, tokens, options), bit_of)?
            }
            _ => {}
        }
        glued_word = token.is_word();
    }
    // Several labels with marks are a verdict list; "B. s" is a label and a text that breaks off.
    if only_letter(set).is_none() && (marked || lower && upper) {
        return None;
    }
    Some(match only_letter(set) {
        Some(letter) if options.has(letter) => Choice::letter(letter, Reason::LabelOnly),
        Some(_) => Choice::none(Reason::OutOfRange),
        None => Choice::none(several(set, options)),
    })
}

fn bit_of(letter: char) -> Option<u32> {
    Some(bit(letter))
}

/// "AC": several labels written as one word, which is the only word.
fn joined_labels(word: &str, tokens: &[Token<'_>], options: &OptionSet) -> Option<u32> {
    let mut set = 0;
    for letter in word.chars() {
        if !options.has(letter) || set & bit(letter) != 0 {
            return None;
        }
        set |= bit(letter);
    }
    (tokens.iter().filter(|token| token.is_word()).count() == 1).then_some(set)
}

/// Why a set of two or more labels is no choice.
pub(super) fn several(set: u32, options: &OptionSet) -> Reason {
    if set & options.range() == options.range() { Reason::Stuffing } else { Reason::Multiple }
}

fn label_and_text(tokens: &[Token<'_>], options: &OptionSet) -> Option<Choice> {
    let at = tokens.iter().position(Token::is_word)?;
    let letter = tokens[at].letter.filter(|&letter| options.has(letter))?;
    let rest = &tokens[at + 1..];
    let delimited = rest.first().is_some_and(|next| !next.is_word());
    if tokens[at].lower && !delimited {
        return None;
    }
    let named = options.equal_to(rest);
    if named & bit(letter) != 0 || named == 0 && options.begins(letter, rest) {
        return Some(Choice::letter(letter, Reason::LabelText));
    }
    (named != 0).then(|| Choice::none(Reason::ConflictLabelText))
}

fn is_error(tokens: &[Token<'_>]) -> bool {
    if tokens.len() > ERROR_TOKENS {
        return false;
    }
    let words: Vec<String> = tokens.iter().filter(|t| t.is_word()).map(|t| t.text.to_lowercase()).collect();
    let words = words.join(" ");
    NULL_MARKERS.split('|').any(|marker| words == marker)
        || ERROR_STARTS.split('|').any(|start| words.starts_with(start))
}
