//! Rules 6 and 7, finding: which single letters are labels, and which of them are named together. Knows nothing of
//! which label is chosen.

use super::lex::{Kind, Token, ends_sentence, one_word};
use super::text::{OptionSet, bit};
use super::words::{
    AND, ANSWER, BE, CHOOSE, CONTRAST, CORRECTION, HEDGE, IF, NAME, NOT, PREFER, REJECT, RIGHT, SO, TURN,
    UNIT, VERB, WOULD, WRONG,
};

/// What may follow a label in a sentence, but not the article "A".
const FOLLOWS_LABEL: u32 = VERB
    | BE
    | AND
    | TURN
    | WOULD
    | PREFER
    | NOT
    | RIGHT
    | WRONG
    | HEDGE
    | IF
    | SO
    | CONTRAST
    | REJECT
    | CORRECTION;

/// Labels or option texts named together, such as "A and C".
#[derive(Debug, Clone)]
pub(super) struct Group {
    /// The set of labels.
    pub set: u32,
    pub start: usize,
    pub end: usize,
    /// Joined by "and", "or" and the like, not by commas alone.
    pub joined: bool,
}

/// The places of all labels in the text.
pub(super) fn labels(tokens: &[Token<'_>], options: &OptionSet) -> Vec<usize> {
    (0..tokens.len()).filter(|&at| is_label(tokens, at, options)).collect()
}

fn is_label(tokens: &[Token<'_>], at: usize, options: &OptionSet) -> bool {
    let Some(letter) = tokens[at].letter else { return false };
    if is_part_of_name(tokens, at) {
        return false;
    }
    let bracketed = is_bracketed(tokens, at);
    let cue = cue_before(tokens, at);
    let named = cue & (ANSWER | CHOOSE | NAME | SO) != 0;
    if tokens[at].lower {
        let heads = starts_line(tokens, at)
            && tokens
                .get(at + 1)
                .is_some_and(|next| next.glued && (next.is(")") || next.is(".") || next.is(":")));
        return options.has(letter) && (bracketed || heads || named && is_label_like(tokens, at, options));
    }
    if !options.has(letter) {
        let heads = tokens[..at].iter().rev().take(4).all(|token| !token.is_word())
            && at < 4
            && tokens.get(at + 1).is_some_and(|next| next.is(".") || next.is(")") || next.is(":"));
        return heads || (named || cue & BE != 0) && !is_followed_by_prose(tokens, at);
    }
    let foreign = !tokens[at].text.is_ascii();
    let is_article =
        (letter == 'A' || letter == 'I' || foreign) && !bracketed && is_prose(tokens, at, options);
    !is_article
}

/// The senses of the nearest word in front, signs passed over: "Answer: **B**".
fn cue_before(tokens: &[Token<'_>], at: usize) -> u32 {
    let mut words = tokens[..at].iter().rev().take(8).filter(|token| token.is_word() || token.sense != 0);
    let Some(nearest) = words.next() else { return 0 };
    let linked = nearest.has(BE) && words.take(2).any(|token| token.has(ANSWER | NAME | CHOOSE));
    nearest.sense | if linked { ANSWER } else { 0 }
}

/// Units, codes and grades: "24 °C", "D4", "A+", "B-roll", "vitamin D".
fn is_part_of_name(tokens: &[Token<'_>], at: usize) -> bool {
    let token = &tokens[at];
    if at > 0 {
        let colon = usize::from(at > 1 && tokens[at - 1].is(":") && tokens[at - 2].has(UNIT));
        let left = &tokens[at - 1 - colon];
        let digits = left.text.ends_with(|c: char| c.is_ascii_digit());
        if left.is("°")
            || left.is_word() && (left.has(UNIT) || digits || token.glued && one_word(left.text, token.text))
        {
            return !left.has(NAME);
        }
        let hyphenated = token.glued && left.glued && left.is("-") && at > 1;
        if hyphenated && tokens[at - 2].is_word() && !tokens[at - 2].has(ANSWER | NAME | CHOOSE | SO) {
            return tokens[at - 2].letter.is_none();
        }
    }
    let Some(right) = tokens.get(at + 1).filter(|right| right.glued) else { return false };
    let tail = tokens.get(at + 2).filter(|tail| tail.glued && tail.is_word());
    match right.text {
        "°" | "%" | "#" => true,
        "+" => tail.is_none_or(|tail| tail.letter.is_none()),
        "-" | "'" => tail.is_some_and(|tail| tail.letter.is_none()),
        _ => right.is_word() && one_word(token.text, right.text),
    }
}

fn is_bracketed(tokens: &[Token<'_>], at: usize) -> bool {
    let (Some(left), Some(right)) = (at.checked_sub(1).map(|left| &tokens[left]), tokens.get(at + 1)) else {
        return false;
    };
    let pair =
        matches!((left.text, right.text), ("(", ")") | ("[", "]") | ("{", "}") | ("【", "】") | ("「", "」"));
    // "option(s)" is a word.
    let is_suffix = left.glued && at > 1 && tokens[at - 2].is_word() && tokens[at].lower;
    pair && !is_suffix
}

fn starts_line(tokens: &[Token<'_>], at: usize) -> bool {
    tokens[..at]
        .iter()
        .rev()
        .take(3)
        .find(|token| token.is_word() || token.kind == Kind::Break)
        .is_none_or(|token| token.kind == Kind::Break)
}

/// Whether what follows a lower-case letter after a cue leaves it a label: "the answer is a" but not "is a turtle".
fn is_label_like(tokens: &[Token<'_>], at: usize, options: &OptionSet) -> bool {
    if tokens.get(at + 1).is_some_and(|next| next.letter.is_some() && !next.lower) {
        return false;
    }
    !matches!(tokens[at].text, "a" | "i" | "o" | "e" | "y")
        || !is_followed_by_prose(tokens, at) && {
            options.longest_at(tokens, (at + 1).min(tokens.len() - 1)).is_none()
        }
}

fn is_followed_by_prose(tokens: &[Token<'_>], at: usize) -> bool {
    tokens.get(at + 1).is_some_and(|next| {
        next.is_word()
            && next.letter.is_none_or(|_| next.lower)
            && !next.has(FOLLOWS_LABEL)
            && !is_unspaced(next.text)
    })
}

fn is_unspaced(text: &str) -> bool {
    !one_word("a", text)
}

/// Whether a capital "A" is the article at the start of a sentence or a title. The own text of the label may follow.
fn is_prose(tokens: &[Token<'_>], at: usize, options: &OptionSet) -> bool {
    if !is_followed_by_prose(tokens, at) {
        return false;
    }
    let (letter, next) = (tokens[at].letter.unwrap_or_default(), at + 1);
    if options.longest_at(tokens, next).is_some_and(|(set, _)| set & bit(letter) == 0) {
        return true;
    }
    let first = tokens[..at].iter().rev().take(4).find(|token| token.text != "\"" && token.text != "'");
    let is_start = first.is_none_or(|before| !before.is_word() && !before.is("("));
    let capital = tokens[next].text.starts_with(char::is_uppercase);
    (is_start || capital)
        && options.own_text_end(letter, &tokens[next..(next + 64).min(tokens.len())]).is_none()
}

/// Labels that are named together become one group.
pub(super) fn groups(tokens: &[Token<'_>], labels: &[usize]) -> Vec<Group> {
    let mut groups: Vec<Group> = Vec::new();
    for &at in labels {
        let set = tokens[at].letter.map_or(0, bit);
        let link = groups.last().and_then(|last| link_between(&tokens[last.end..at], last.joined));
        match (link, groups.last_mut()) {
            (Some(joined), Some(last)) => {
                last.set |= set;
                last.end = at + 1;
                last.joined |= joined;
            }
            _ => groups.push(Group { set, start: at, end: at + 1, joined: false }),
        }
    }
    groups
}

/// Whether nothing but links stands between two labels, and whether one of them is a word like "and".
fn link_between(between: &[Token<'_>], joined: bool) -> Option<bool> {
    if between.len() > 6 || between.is_empty() {
        return None;
    }
    // "(A, B), C": the bracket ends the list.
    if between.iter().any(|t| t.is(")")) && !between.iter().any(|t| t.is("(")) {
        return None;
    }
    let mut and = false;
    let mut comma = false;
    for (index, token) in between.iter().enumerate() {
        let is_link = token.has(AND);
        and |= is_link;
        comma |= token.is(",") || token.is("、");
        let is_sign = !token.is_word() && token.kind == Kind::Sign && !ends_sentence(between, index);
        let is_dress = is_sign
            && matches!(token.text, "," | "、" | "(" | ")" | "[" | "]" | "-" | "–" | "\"" | "'" | "/");
        if !(is_link || is_dress || token.is_word() && token.has(NAME)) {
            return None;
        }
    }
    // "A or C, and D": the comma after a complete list begins something new.
    if joined && comma && and {
        return None;
    }
    (and || comma || between.iter().any(|token| token.is("-") || token.is("–"))).then_some(and)
}
