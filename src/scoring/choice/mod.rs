//! Reading the chosen option out of a free-text reply, without a guess: the order of the rules.
//! Knows nothing of keys or scores. Every step takes time linear in the length of the reply.

mod around;
pub(super) mod clean;
mod decide;
mod echo;
mod fields;
pub(super) mod lex;
mod markup;
mod mentions;
#[cfg(test)]
mod tests;
mod text;
mod whole;
pub(super) mod words;

pub use text::OptionSet;

use std::borrow::Cow;

use crate::domain::choice::{Choice, Reason};
use lex::Token;

/// The option that `reply` chooses. The key plays no part, and nothing is drawn at random.
pub fn read_choice(options: &OptionSet, reply: &str) -> Choice {
    if let Some(choice) = whole::plain_label(reply, options) {
        return choice;
    }
    if let Some(letter) = options.with_text(reply.trim()) {
        return Choice::letter(letter, Reason::TextExact);
    }
    let signs = clean::plain_signs(reply);
    if let Cow::Owned(plain) = &signs
        && let Some(choice) = whole::plain_label(plain, options)
    {
        return choice;
    }
    let Some(text) = markup::strip(&signs) else { return Choice::none(Reason::ReasoningUnclosed) };
    let undressed = text.trim_matches(|c: char| c.is_whitespace() || matches!(c, '"' | '*' | '_' | '.'));
    if let Some(letter) = options.with_text(text.trim()).or_else(|| options.with_text(undressed)) {
        return Choice::letter(letter, Reason::TextExact);
    }
    let tokens = lex::lex(&text, options);
    if let Some(choice) = whole::read(&tokens, options) {
        return choice;
    }
    if let Some(choice) = fields::read(&tokens, options, |content| read_part(content, options)) {
        return choice;
    }
    read_prose(&tokens, options)
}

/// A reply or a field without fields of its own.
fn read_part(tokens: &[Token<'_>], options: &OptionSet) -> Choice {
    whole::read(tokens, options).unwrap_or_else(|| read_prose(tokens, options))
}

fn read_prose(tokens: &[Token<'_>], options: &OptionSet) -> Choice {
    let places = mentions::labels(tokens, options);
    if let Some(choice) = fields::verdict_list(tokens, &places, options) {
        return choice;
    }
    let Some(rest) = echo::without_list(tokens, options) else {
        return read_sentences(tokens, &places, options);
    };
    let places = mentions::labels(&rest, options);
    let choice = read_sentences(&rest, &places, options);
    match (choice.letter, choice.reason) {
        (Some(letter), Reason::SingleMention | Reason::VerdictFirst | Reason::VerdictLast) => {
            Choice::letter(letter, Reason::AfterEcho)
        }
        (None, Reason::NoSignal) => Choice::none(Reason::EchoOnly),
        _ => choice,
    }
}

fn read_sentences(tokens: &[Token<'_>], places: &[usize], options: &OptionSet) -> Choice {
    decide::by_labels(tokens, places, options)
        .or_else(|| decide::by_text(tokens, options))
        .or_else(|| decide::by_ordinal(tokens, options))
        .unwrap_or_else(|| {
            if places.is_empty() { decide::nothing(tokens) } else { Choice::none(Reason::OnlyRejections) }
        })
}
