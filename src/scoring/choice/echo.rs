//! Rule 6: a repeated question and option list are no choice. Knows nothing of what the rest says.

use super::lex::{Kind, Token};
use super::text::{OptionSet, bit};

/// Most signs between a label and its text.
const SIGNS_MAX: usize = 4;
/// Most tokens between two entries of a list.
const GAP_MAX: usize = 5;

/// A run of labels with their texts.
struct Run {
    set: u32,
    start: usize,
    end: usize,
}

/// The tokens without any run of labels that are each followed by their own text; `None` where there is no such run.
pub(super) fn without_list<'t>(tokens: &[Token<'t>], options: &OptionSet) -> Option<Vec<Token<'t>>> {
    let least = options.range().count_ones().clamp(2, 3);
    let mut runs: Vec<Run> = Vec::new();
    let mut at = 0;
    while at < tokens.len() {
        let Some((letter, end)) = entry(tokens, at, options) else {
            at += 1;
            continue;
        };
        match runs.last_mut() {
            Some(run) if at - run.end <= GAP_MAX && run.set & bit(letter) == 0 => {
                run.set |= bit(letter);
                run.end = end;
            }
            _ => runs.push(Run { set: bit(letter), start: at, end }),
        }
        at = end;
    }
    runs.retain(|run| run.set.count_ones() >= least);
    let mut kept = Vec::new();
    let mut copied = 0;
    for run in &runs {
        kept.extend_from_slice(&tokens[copied..run.start]);
        copied = run.end;
    }
    kept.extend_from_slice(&tokens[copied..]);
    (!runs.is_empty()).then(|| without_question(kept))
}

/// A label and its whole own text.
fn entry(tokens: &[Token<'_>], at: usize, options: &OptionSet) -> Option<(char, usize)> {
    let letter = tokens[at].letter.filter(|&letter| options.has(letter))?;
    let signs = tokens[at + 1..].iter().take(SIGNS_MAX + 1).position(Token::is_word)?;
    let start = at + 1 + signs;
    let end = options.own_text_end(letter, &tokens[start..])?;
    Some((letter, start + end))
}

/// Drops the line or sentence that asks, if it opens the reply.
fn without_question(tokens: Vec<Token<'_>>) -> Vec<Token<'_>> {
    let asks = tokens.iter().take(80).position(|token| token.is("?"));
    match asks {
        Some(end)
            if !tokens[..end]
                .iter()
                .any(|t| t.kind == Kind::FieldOpen || t.is(".") || t.letter.is_some()) =>
        {
            tokens[end + 1..].to_vec()
        }
        _ => tokens,
    }
}
