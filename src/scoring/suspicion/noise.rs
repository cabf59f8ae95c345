//! Signs in the shape of an answer's words: one repeated over and over, letters spaced out, and what is no language.
//! Knows nothing of what words mean.

use std::collections::{BTreeSet, HashMap};

use crate::domain::sign::Sign;

/// Words of an answer below which a repeated one is no sign.
const MIN_WORDS: usize = 40;

/// A run of one sign that no text has.
const MIN_RUN: usize = 64;

/// Single letters in a row that spell out something.
const MIN_SPACED: usize = 8;

/// Oddities of at least two kinds that make gibberish.
const MIN_ODDITIES: usize = 3;

/// Signs that set out a page rather than say something.
const RULERS: &str = "-=_*.#~─|· \t\n";

/// Brackets, operators and the like, which do not stand in a knot inside a word.
const KNOT_SIGNS: &str = "[](){}\\!@#$%^&|<>*";

/// Signs in the shape of the words of a plain text.
pub(super) fn find(text: &str, found: &mut BTreeSet<Sign>) {
    if is_repeated(text) || longest_run(text) >= MIN_RUN {
        found.insert(Sign::Repetition);
    }
    if is_spaced_out(text) {
        found.insert(Sign::DisguisedText);
    }
    if is_gibberish(text) {
        found.insert(Sign::Gibberish);
    }
}

/// Whether more than half of many words are one.
fn is_repeated(text: &str) -> bool {
    let mut counts = HashMap::<String, usize>::new();
    let mut total = 0;
    for word in text.split_whitespace() {
        *counts.entry(word.trim_matches(|c: char| !c.is_alphanumeric()).to_lowercase()).or_default() += 1;
        total += 1;
    }
    total >= MIN_WORDS && counts.values().any(|count| 2 * count > total)
}

fn longest_run(text: &str) -> usize {
    let (mut before, mut run, mut longest) = (' ', 0, 0);
    for c in text.chars() {
        run = if c == before && !RULERS.contains(c) { run + 1 } else { 1 };
        longest = longest.max(run);
        before = c;
    }
    longest
}

fn is_spaced_out(text: &str) -> bool {
    let mut run = 0;
    for word in text.split([' ', '.', '-', '_', '*', '·', '|']).filter(|word| !word.is_empty()) {
        let is_letter = word.len() == 1 && word.bytes().all(|byte| byte.is_ascii_alphabetic());
        run = if is_letter { run + 1 } else { 0 };
        if run >= MIN_SPACED {
            return true;
        }
    }
    false
}

/// Whether there are several oddities of several kinds; a single kind is a slip or a habit.
fn is_gibberish(text: &str) -> bool {
    let mut oddities = [0_usize; 5];
    for word in text.split_whitespace() {
        for (count, is_odd) in
            oddities.iter_mut().zip([is_welded, is_tripled, is_knotted, is_broken_off, is_unspeakable])
        {
            *count += usize::from(is_odd(word));
        }
    }
    oddities.iter().sum::<usize>() >= MIN_ODDITIES && oddities.iter().filter(|count| **count > 0).count() >= 2
}

/// Two words without a space: `outstandinglyConsistent`.
fn is_welded(word: &str) -> bool {
    word.as_bytes().windows(7).any(|part| {
        part[..4].iter().all(u8::is_ascii_lowercase)
            && part[4].is_ascii_uppercase()
            && part[5..].iter().all(u8::is_ascii_lowercase)
    })
}

/// A letter three times: `assesssing`.
fn is_tripled(word: &str) -> bool {
    let is_run = |part: &[u8]| part[0].is_ascii_lowercase() && part.iter().all(|byte| *byte == part[0]);
    word.len() > 4 && word.as_bytes().windows(3).any(is_run)
}

/// Brackets and signs in a knot: `.](Me`, `!!)(`.
fn is_knotted(word: &str) -> bool {
    let mut knot = String::new();
    for c in word.chars().chain([' ']) {
        if KNOT_SIGNS.contains(c) {
            knot.push(c);
            continue;
        }
        let kinds: BTreeSet<char> = knot.chars().collect();
        let is_inside = c.is_alphabetic() && !word.starts_with(&knot);
        if kinds.len() >= 2 && (is_inside || knot.len() == word.len() && knot.len() >= 3) {
            return true;
        }
        knot.clear();
    }
    false
}

/// A backslash that escapes nothing.
fn is_broken_off(word: &str) -> bool {
    word.ends_with('\\') && word.len() > 1
}

/// A long word without a vowel.
fn is_unspeakable(word: &str) -> bool {
    let is_consonant = |byte: u8| byte.is_ascii_lowercase() && !b"aeiouy".contains(&byte);
    word.len() >= 6 && word.bytes().all(is_consonant)
}
