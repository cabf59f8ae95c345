//! Rule 6: a repeated question and option list are no choice. Knows nothing of what the rest says.

use super::lex::{Kind, Token};
use super::text::{OptionSet, bit};

/// Most signs between a label and its text.
const SIGNS_MAX: usize = 4;
/// Most tokens between two entries of a list.
const GAP_MAX: usize = 5;

/// The tokens without any run of labels that are each followed by their own text; `None` where there is no such run.
pub(super) fn without_list<'t>(tokens: &[Token<'t>], options: &OptionSet) -> Option<Vec<Token<'t>>> {
    let least = options.range().count_ones().clamp(2, 3);
    let mut kept: Vec<Token<'t>> = Vec::new();
    let mut copied = 0;
    let mut run: Option<(u32, usize, usize)> = None;
    let mut found = false;
    let mut flush = |run: Option<(u32, usize, usize)>, kept: &mut Vec<Token<'t>>| {
        if let Some((set, start, end)) = run.filter(|(set, _, _)| set.count_ones() >= least) {
            let from = start.min(tokens.len());
            kept.extend_from_slice(&tokens[copied.min(from)..from]);
            copied = end;
            found |= set != 0;
        }
    };
    let mut at = 0;
    while at < tokens.len() {
        let Some((letter, end)) = entry(tokens, at, options) else {
            at += 1;
            continue;
        };
        run = match run {
            Some((set, start, last)) if at - last <= GAP_MAX && set & bit(letter) == 0 => {
                Some((set | bit(letter), start, end))
            }
            other => {
                flush(other, &mut kept);
                Some((bit(letter), at, end))
            }
        };
        at = end;
    }
    flush(run, &mut kept);
    found.then(|| {
        kept.extend_from_slice(&tokens[copied..]);
        without_question(kept)
    })
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
        Some(end) if !tokens[..end].iter().any(|t| t.kind == Kind::FieldOpen || t.is(".") || t.letter.is_some()) => {
            tokens[end + 1..].to_vec()
        }
        _ => tokens,
    }
}
