//! Cuts cleaned text into words, signs and line breaks, and looks up what each means. Knows nothing of which
//! letter is chosen.

use unicode_normalization::char::is_combining_mark;

use super::clean::look_alike;
use super::markup::{FIELD_CLOSE, FIELD_OPEN};
use super::text::OptionSet;
use super::words::{NOT, Sense, WORDS};

/// What a piece of text is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::scoring) enum Kind {
    Word,
    Sign,
    Break,
    FieldOpen,
    FieldClose,
}

/// A piece of text.
#[derive(Debug, Clone, Copy)]
pub(in crate::scoring) struct Piece<'t> {
    pub text: &'t str,
    pub kind: Kind,
    /// Nothing stands between it and the piece before it.
    pub glued: bool,
}

/// A piece with its meaning.
#[derive(Debug, Clone, Copy)]
pub(super) struct Token<'t> {
    pub text: &'t str,
    pub kind: Kind,
    pub glued: bool,
    /// Its number in the vocabulary of the options; 0 where no option has the word.
    pub word: u32,
    pub sense: Sense,
    /// The label that it may be, in upper case.
    pub letter: Option<char>,
    pub lower: bool,
    id: u16,
}

impl Token<'_> {
    /// Whether the token has one of the senses.
    pub(super) fn has(&self, senses: Sense) -> bool {
        self.sense & senses != 0
    }

    /// Whether it is the sign `text`.
    pub(super) fn is(&self, text: &str) -> bool {
        self.kind == Kind::Sign && self.text == text
    }

    /// Whether it is a word, a known sign such as an arrow counted.
    pub(super) fn is_word(&self) -> bool {
        self.kind == Kind::Word
    }
}

/// Whether a sentence ends at `at`. A dot inside "2.00" or "A.B" does not end one.
pub(super) fn ends_sentence(tokens: &[Token<'_>], at: usize) -> bool {
    let token = &tokens[at];
    match token.kind {
        Kind::Break => true,
        Kind::Sign => match token.text {
            "!" | "?" | ";" | "。" | "｡" | "।" => true,
            "." => tokens.get(at + 1).is_none_or(|next| !next.glued || next.kind != Kind::Word),
            _ => false,
        },
        _ => false,
    }
}

/// Whether a clause, though not the sentence, ends at the token.
pub(super) fn ends_clause(token: &Token<'_>) -> bool {
    token.kind == Kind::Sign && matches!(token.text, "," | "、" | "—" | "–")
}

/// Whether two words that touch are one: not where a script without spaces meets a letter.
pub(super) fn one_word(left: &str, right: &str) -> bool {
    let spaced = |c: char| matches!(c as u32, 0..0x0E00 | 0x1E00..0x2000);
    left.ends_with(spaced) && right.starts_with(spaced)
}

#[derive(PartialEq, Eq, Clone, Copy)]
enum Class {
    Letter,
    Digit,
    /// A script without spaces: every sign is a word.
    Single,
    Space,
    Break,
    Dress,
    Sign,
}

fn class(c: char) -> Class {
    match c {
        'a'..='z' | 'A'..='Z' => Class::Letter,
        '0'..='9' => Class::Digit,
        '\n' | '\r' => Class::Break,
        '*' | '_' | '`' | '$' => Class::Dress,
        _ if c.is_ascii() => {
            if c.is_ascii_graphic() {
                Class::Sign
            } else {
                Class::Space
            }
        }
        '\u{0E00}'..='\u{0EFF}'
        | '\u{1000}'..='\u{109F}'
        | '\u{1780}'..='\u{17FF}'
        | '\u{3005}'..='\u{3007}'
        | '\u{3041}'..='\u{30FA}'
        | '\u{30FC}'..='\u{30FF}'
        | '\u{3400}'..='\u{9FFF}'
        | '\u{AC00}'..='\u{D7AF}'
        | '\u{20000}'..='\u{3FFFF}' => Class::Single,
        _ if c.is_alphabetic() || is_combining_mark(c) => Class::Letter,
        _ if c.is_numeric() => Class::Digit,
        _ if c.is_whitespace() || c.is_control() => Class::Space,
        _ => Class::Sign,
    }
}

/// The pieces of a text; emphasis and code signs are left out, and runs of one sign are cut to one.
pub(in crate::scoring) fn split(text: &str) -> impl Iterator<Item = Piece<'_>> {
    let mut rest = text;
    let mut glued = false;
    std::iter::from_fn(move || {
        loop {
            let first = rest.chars().next()?;
            let kind = match class(first) {
                Class::Space => {
                    glued = false;
                    rest = &rest[first.len_utf8()..];
                    continue;
                }
                Class::Dress => {
                    rest = &rest[1..];
                    continue;
                }
                Class::Break => Kind::Break,
                Class::Sign if first == FIELD_OPEN => Kind::FieldOpen,
                Class::Sign if first == FIELD_CLOSE => Kind::FieldClose,
                Class::Sign => Kind::Sign,
                Class::Letter | Class::Digit | Class::Single => Kind::Word,
            };
            let length = piece_length(rest, first);
            let piece = Piece { text: &rest[..length], kind, glued };
            rest = &rest[length..];
            // A run of one sign is one piece; two quotes are an empty string.
            if matches!(kind, Kind::Sign | Kind::Break) && !matches!(first, '"' | '\'') {
                rest = rest.trim_start_matches(first);
            }
            glued = true;
            return Some(piece);
        }
    })
}

fn piece_length(text: &str, first: char) -> usize {
    match class(first) {
        Class::Letter => {
            let mut chars = text.char_indices().peekable();
            while let Some((at, c)) = chars.next() {
                let goes_on = class(c) == Class::Letter
                    || matches!(c, '\'' | '_')
                        && chars.peek().is_some_and(|&(_, next)| class(next) == Class::Letter);
                if !goes_on {
                    return at;
                }
            }
            text.len()
        }
        Class::Digit => text.find(|c| class(c) != Class::Digit).unwrap_or(text.len()),
        _ if text.starts_with("=>") || text.starts_with("->") => 2,
        _ => first.len_utf8(),
    }
}

/// The tokens of a cleaned text.
pub(super) fn lex<'t>(text: &'t str, options: &OptionSet) -> Vec<Token<'t>> {
    let words = &*WORDS;
    let mut buffer = String::new();
    let mut tokens: Vec<Token<'t>> = Vec::with_capacity(text.len() / 4 + 4);
    for piece in split(text) {
        buffer.clear();
        buffer.push_str(piece.text);
        if piece.text.is_ascii() {
            buffer.make_ascii_lowercase();
        } else {
            buffer = buffer.to_lowercase();
        }
        let is_word = piece.kind == Kind::Word;
        let may_mean =
            is_word || !piece.text.is_ascii() || matches!(piece.text, "&" | "/" | "+" | "=" | "=>" | "->");
        let id = if may_mean { words.id(&buffer) } else { 0 };
        let word = if is_word { options.word(&mut buffer) } else { 0 };
        let (letter, lower) = label_letter(&piece);
        let Piece { text, kind, glued } = piece;
        tokens.push(Token { text, kind, glued, word, sense: 0, letter, lower, id });
    }
    mark_senses(&mut tokens);
    tokens
}

fn label_letter(piece: &Piece<'_>) -> (Option<char>, bool) {
    let mut chars = piece.text.chars();
    let (Some(first), None) = (chars.next(), chars.next()) else { return (None, false) };
    let latin = if first.is_ascii_alphabetic() { Some(first) } else { look_alike(first) };
    let letter = latin.filter(|_| piece.kind == Kind::Word).map(|c| c.to_ascii_uppercase());
    (letter, latin.is_some_and(|c| c.is_ascii_lowercase()))
}

fn mark_senses(tokens: &mut [Token<'_>]) {
    let mut at = 0;
    while at < tokens.len() {
        let (mut length, mut sense) = (1, 0);
        let token = &tokens[at];
        if token.id != 0 {
            (length, sense) = WORDS.longest(token.id, tokens[at + 1..].iter().map(|token| token.id));
        }
        // A capital letter is a label before it is a word ("A", "E", "O").
        if token.letter.is_some() && !token.lower && length == 1 {
            sense = 0;
        }
        let tail = token.text.as_bytes();
        if tail.len() > 3 && tail[tail.len() - 3..].eq_ignore_ascii_case(b"n't") {
            sense |= NOT;
        }
        for token in &mut tokens[at..at + length] {
            token.sense = sense;
        }
        at += length;
    }
}
