//! Rules 4 and 5: answer tags, boxes, keys of JSON objects, and lists that mark every label. Knows nothing of prose.

use std::ops::Range;

use super::lex::{Kind, Token};
use super::text::{OptionSet, bit, only_letter};
use super::whole::several;
use super::words::{CORRECTION, FIRST, NOT, RIGHT, WRONG};
use crate::domain::choice::{Choice, Reason};

/// Longest row of a verdict list, in tokens.
const ROW_MAX: usize = 60;

/// What the declared fields say; `read` reads the tokens inside one.
pub(super) fn read(
    tokens: &[Token<'_>],
    options: &OptionSet,
    read: impl Fn(&[Token<'_>]) -> Choice,
) -> Option<Choice> {
    let mut set = 0;
    let mut last: Option<(char, Range<usize>)> = None;
    let mut first_end = None;
    let mut refused = None;
    for field in fields(tokens) {
        let content = &tokens[field.clone()];
        let choice = if is_null(content) { Choice::none(Reason::EmptyField) } else { read(content) };
        match choice.letter {
            Some(letter) => {
                set |= bit(letter);
                first_end.get_or_insert(field.end);
                last = Some((letter, field));
            }
            // A formula or a number in a box is no answer to the question.
            None if choice.reason != Reason::NoSignal || content.iter().any(|t| t.sense != 0) => {
                refused = Some(choice);
            }
            None => {}
        }
    }
    let Some((letter, field)) = last else { return refused };
    if only_letter(set).is_some() {
        return Some(Choice::letter(letter, Reason::Declared));
    }
    let between = &tokens[first_end?..field.start];
    if between.iter().any(|token| token.has(CORRECTION | FIRST | WRONG)) {
        return Some(Choice::letter(letter, Reason::Corrected));
    }
    let stuffed = several(set, options) == Reason::Stuffing;
    Some(Choice::none(if stuffed { Reason::Stuffing } else { Reason::ConflictingDeclarations }))
}

fn is_null(content: &[Token<'_>]) -> bool {
    let mut words = content.iter().filter(|token| token.is_word());
    words.next().is_none_or(|word| {
        words.next().is_none()
            && ["null", "none", "nan"].iter().any(|null| word.text.eq_ignore_ascii_case(null))
    })
}

/// The contents of all fields; they never overlap, so that reading them stays linear.
fn fields(tokens: &[Token<'_>]) -> Vec<Range<usize>> {
    let mut found = Vec::new();
    let mut open = None;
    let mut at = 0;
    while at < tokens.len() {
        match tokens[at].kind {
            Kind::FieldOpen => open = Some(at + 1),
            Kind::FieldClose => found.extend(open.take().map(|start| start..at)),
            Kind::Word if open.is_none() && is_key(&tokens[at]) => {
                if let Some(value) = value_of_key(tokens, at) {
                    at = value.end.max(at + 1);
                    found.push(value);
                    continue;
                }
            }
            _ => {}
        }
        at += 1;
    }
    found.extend(open.map(|start| start..tokens.len()));
    found
}

fn is_key(token: &Token<'_>) -> bool {
    const KEYS: [&str; 12] = [
        "answer",
        "choice",
        "option",
        "letter",
        "final_answer",
        "finalanswer",
        "answer_letter",
        "correct_option",
        "selected_option",
        "prediction",
        "correct_answer",
        "final_choice",
    ];
    KEYS.iter().any(|key| token.text.eq_ignore_ascii_case(key))
}

fn is_quote(token: &Token<'_>) -> bool {
    token.is("\"") || token.is("'")
}

/// The value after `"key":`, `{key:` or `key =`; `None` where a nested object follows.
fn value_of_key(tokens: &[Token<'_>], key: usize) -> Option<Range<usize>> {
    let mut at = key + 1;
    let quoted = tokens.get(at).is_some_and(is_quote);
    at += usize::from(quoted);
    let in_braces = key > 0 && (tokens[key - 1].is("{") || tokens[key - 1].is(","));
    let link = tokens.get(at)?;
    if !(link.is("=") || link.is(":") && (quoted || in_braces)) {
        return None;
    }
    let start = at + 1;
    let first = tokens.get(start)?;
    let until = |from: usize, ends: &dyn Fn(&Token<'_>) -> bool| {
        tokens[from..].iter().position(ends).map_or(tokens.len(), |length| from + length)
    };
    match first.text {
        "{" => None,
        "[" => Some(start + 1..until(start + 1, &|token| token.is("]"))),
        quote if is_quote(first) => Some(start + 1..until(start + 1, &|token| token.is(quote))),
        _ => Some(start..until(start, &|t| t.is(",") || t.is("}") || t.is("|") || t.kind == Kind::Break)),
    }
}

/// The one label marked as right, where every label of the question has a mark; `labels` are their places.
/// Where each stands with its text, a mark at the right one is enough.
pub(super) fn verdict_list(tokens: &[Token<'_>], labels: &[usize], options: &OptionSet) -> Option<Choice> {
    if labels.len() != options.range().count_ones() as usize {
        return None;
    }
    let mut set = 0;
    for letter in labels.iter().filter_map(|&at| tokens[at].letter) {
        set |= bit(letter);
    }
    if set != options.range() {
        return None;
    }
    if let Some(letter) = marked_option(tokens, labels, options) {
        return Some(Choice::letter(letter, Reason::VerdictList));
    }
    let after = |row: usize| {
        let start = labels[row] + 1;
        let end = labels.get(row + 1).copied().unwrap_or(tokens.len()).min(start + ROW_MAX);
        let line = &tokens[start..end];
        mark_in(&line[..line.iter().position(|token| token.kind == Kind::Break).unwrap_or(line.len())])
    };
    let before = |row: usize| {
        let line = &tokens[labels[row].saturating_sub(3)..labels[row]];
        line.iter().rev().find(|token| token.is_word() || token.sense != 0).and_then(mark)
    };
    let rows = 0..labels.len();
    let marks: Vec<bool> =
        rows.clone().map(after).collect::<Option<_>>().or_else(|| rows.map(before).collect::<Option<_>>())?;
    let right: Vec<char> = labels
        .iter()
        .zip(marks)
        .filter(|(_, right)| *right)
        .filter_map(|(&at, _)| tokens[at].letter)
        .collect();
    Some(match right[..] {
        [letter] => Choice::letter(letter, Reason::VerdictList),
        [] => Choice::none(Reason::NoSignal),
        _ => Choice::none(Reason::Multiple),
    })
}

/// The one label whose text is followed by a mark that says "right", where no text is followed by prose.
fn marked_option(tokens: &[Token<'_>], labels: &[usize], options: &OptionSet) -> Option<char> {
    let mut set = 0;
    let first = *labels.first()?;
    if tokens[first.saturating_sub(3)..first].iter().any(|token| token.has(RIGHT | WRONG)) {
        return None;
    }
    for (row, &label) in labels.iter().enumerate() {
        let letter = tokens[label].letter?;
        let end = labels.get(row + 1).copied().unwrap_or(tokens.len());
        let start = label + 1;
        let text_end = options.own_text_end(letter, &tokens[start..end])?;
        let mut marks =
            tokens[start + text_end..end].iter().filter(|token| token.is_word() || token.has(RIGHT));
        let right = marks.next().is_some_and(|token| token.has(RIGHT));
        if marks.next().is_some() {
            return None;
        }
        set |= if right { bit(letter) } else { 0 };
    }
    only_letter(set)
}

/// The mark at the start or the end of a row.
fn mark_in(row: &[Token<'_>]) -> Option<bool> {
    let mut words = row.iter().filter(|token| token.is_word() || token.has(RIGHT | WRONG));
    let first = words.next()?;
    let Some(last) = words.next_back() else { return mark(first) };
    let denied = words.next_back().unwrap_or(first).has(NOT);
    mark(last).map(|right| right != denied).or_else(|| mark(first))
}

fn mark(token: &Token<'_>) -> Option<bool> {
    if token.has(RIGHT) {
        return Some(true);
    }
    (token.has(WRONG) || token.text.eq_ignore_ascii_case("no")).then_some(false)
}
