//! The options of a question, folded once, and where a reply speaks of their texts (rules 3 and 8). Knows nothing
//! of labels in the reply.

use std::collections::HashMap;

use super::lex::{Token, split};
use crate::domain::question::QuestionOption;

/// The options of one question, prepared for reading any number of replies.
#[derive(Debug, Clone)]
pub struct OptionSet {
    options: Vec<Folded>,
    range: u32,
    /// Folded words of all texts, numbered from 1.
    vocabulary: HashMap<String, u32>,
    /// By word: the options whose text begins with it, the longest first.
    by_first: Vec<Vec<usize>>,
}

#[derive(Debug, Clone)]
struct Folded {
    letter: char,
    text: String,
    /// The words of the text without a leading article.
    words: Vec<u32>,
    /// The same words in lower case, for texts that break off.
    spelling: Vec<String>,
}

/// The bit that stands for a letter in a set of letters.
pub(super) fn bit(letter: char) -> u32 {
    1u32.checked_shl((letter as u32).wrapping_sub('A' as u32)).unwrap_or(0)
}

/// The letter of a set that holds exactly one.
pub(super) fn only_letter(set: u32) -> Option<char> {
    (set.count_ones() == 1).then(|| char::from(b'A' + set.trailing_zeros() as u8))
}

impl OptionSet {
    /// Prepares 2 to 26 options; one whose label is no letter from `A` to `Z` can never be chosen.
    pub fn new(options: &[QuestionOption]) -> OptionSet {
        let mut set = OptionSet {
            options: Vec::with_capacity(options.len()),
            range: 0,
            vocabulary: HashMap::new(),
            by_first: vec![Vec::new()],
        };
        for option in options {
            set.add(option);
        }
        for (index, option) in set.options.iter().enumerate() {
            if let Some(&first) = option.words.first() {
                set.by_first[first as usize].push(index);
            }
        }
        for starts in &mut set.by_first {
            starts.sort_by_key(|&index| std::cmp::Reverse(set.options[index].words.len()));
        }
        set
    }

    fn add(&mut self, option: &QuestionOption) {
        let Some(letter) = option.label.chars().next().filter(char::is_ascii_uppercase) else { return };
        let plain = super::clean::plain_signs(&option.text);
        let mut words = Vec::new();
        let mut spelling = Vec::new();
        for piece in split(&plain).filter(|piece| piece.kind == super::lex::Kind::Word) {
            let mut word = piece.text.to_lowercase();
            spelling.push(word.clone());
            fold_word(&mut word);
            let next = self.by_first.len() as u32;
            let id = *self.vocabulary.entry(word).or_insert(next);
            if id == next {
                self.by_first.push(Vec::new());
            }
            words.push(id);
        }
        let skipped = usize::from(words.len() > 1 && spelling.first().is_some_and(|word| is_article(word)));
        words.drain(..skipped);
        spelling.drain(..skipped);
        self.range |= bit(letter);
        self.options.push(Folded { letter, text: option.text.trim().to_owned(), words, spelling });
    }

    /// The set of all labels.
    pub(super) fn range(&self) -> u32 {
        self.range
    }

    /// Whether the label is among the options.
    pub(super) fn has(&self, letter: char) -> bool {
        self.range & bit(letter) != 0
    }

    /// The label at a place, counted from 0.
    pub(super) fn at(&self, place: usize) -> Option<char> {
        self.options.get(place).map(|option| option.letter)
    }

    /// The label of the last option.
    pub(super) fn last(&self) -> Option<char> {
        self.options.last().map(|option| option.letter)
    }

    /// The number of a word in lower case, which is folded in place; 0 where no option has it.
    pub(super) fn word(&self, word: &mut String) -> u32 {
        fold_word(word);
        self.vocabulary.get(word.as_str()).copied().unwrap_or(0)
    }

    /// The label of the option that is exactly `text`, or, if there is none, the only one that is so but for case.
    pub(super) fn with_text(&self, text: &str) -> Option<char> {
        let alone = |same: &dyn Fn(&str) -> bool| {
            let mut found = self.options.iter().filter(|option| same(&option.text));
            found.next().filter(|_| found.next().is_none()).map(|option| option.letter)
        };
        alone(&|other| other == text).or_else(|| alone(&|other| other.eq_ignore_ascii_case(text)))
    }

    /// The labels of all options whose text is the words of `tokens` and no more.
    pub(super) fn equal_to(&self, tokens: &[Token<'_>]) -> u32 {
        let mut words = tokens.iter().filter(|token| token.is_word()).peekable();
        let starts_with_article = words.peek().is_some_and(|token| is_article(&token.text.to_lowercase()));
        let mut set = 0;
        for skipped in 0..=usize::from(starts_with_article) {
            for option in self.options.iter().filter(|option| !option.words.is_empty()) {
                if words.clone().skip(skipped).map(|token| token.word).eq(option.words.iter().copied()) {
                    set |= bit(option.letter);
                }
            }
        }
        set
    }

    /// Whether the words of `tokens` are the beginning of the text of `letter`; the last word may be cut.
    pub(super) fn begins(&self, letter: char, tokens: &[Token<'_>]) -> bool {
        let Some(option) = self.options.iter().find(|option| option.letter == letter) else { return false };
        let mut words = tokens.iter().filter(|token| token.is_word()).peekable();
        words.next_if(|token| is_article(&token.text.to_lowercase()));
        let mut own = option.words.iter().zip(&option.spelling);
        let mut any = false;
        while let Some(token) = words.next() {
            let Some((&word, spelling)) = own.next() else { return false };
            let cut = words.peek().is_none() && spelling.starts_with(&token.text.to_lowercase());
            if token.word != word && !cut {
                return false;
            }
            any = true;
        }
        any
    }

    /// The end of the own text of `letter` where `tokens` begins with it whole; signs between words are passed over.
    pub(super) fn own_text_end(&self, letter: char, tokens: &[Token<'_>]) -> Option<usize> {
        let option = self.options.iter().find(|option| option.letter == letter)?;
        let start = tokens.iter().position(Token::is_word)?;
        let skipped = usize::from(is_article(&tokens[start].text.to_lowercase()));
        (0..=skipped).find_map(|skip| match_words(&option.words, tokens, start + skip))
    }

    /// The labels whose text is the longest that begins at `start`, and where it ends.
    pub(super) fn longest_at(&self, tokens: &[Token<'_>], start: usize) -> Option<(u32, usize)> {
        let starts = &self.by_first[tokens[start].word as usize];
        let mut found: Option<(u32, usize, usize)> = None;
        for option in starts.iter().map(|&index| &self.options[index]) {
            if found.is_some_and(|(_, _, length)| option.words.len() < length) {
                break;
            }
            if let Some(end) = match_words(&option.words, tokens, start) {
                let set = found.map_or(0, |(set, _, _)| set) | bit(option.letter);
                found = Some((set, end, option.words.len()));
            }
        }
        found.map(|(set, end, _)| (set, end))
    }
}

/// Where the run of `words` that begins at `start` ends; at most two signs may stand between two words.
fn match_words(words: &[u32], tokens: &[Token<'_>], start: usize) -> Option<usize> {
    let mut at = start;
    for (index, &word) in words.iter().enumerate() {
        let mut signs = 0;
        while index > 0 && signs < 3 && tokens.get(at).is_some_and(|token| !token.is_word()) {
            at += 1;
            signs += 1;
        }
        if tokens.get(at)?.word != word {
            return None;
        }
        at += 1;
    }
    (at > start).then_some(at)
}

fn is_article(word: &str) -> bool {
    matches!(word, "a" | "an" | "the")
}

/// British and American spelling become one, and a plural its singular; in place, on a word in lower case.
fn fold_word(word: &mut String) {
    if word.len() < 4 {
        return;
    }
    for (from, to) in [("colour", "color"), ("grey", "gray"), ("centre", "center"), ("'", "")] {
        if word.contains(from) {
            *word = word.replace(from, to);
        }
    }
    if !word.ends_with('s') {
        return;
    }
    let cut = if ["shes", "ches", "xes", "sses"].iter().any(|end| word.ends_with(end)) {
        2
    } else {
        usize::from(!["ss", "us", "is"].iter().any(|end| word.ends_with(end)))
    };
    word.truncate(word.len() - cut);
}
