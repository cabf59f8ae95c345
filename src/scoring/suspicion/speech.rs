//! Signs in what an answer says, sentence by sentence. Knows nothing of characters or of the shape of words.

use std::borrow::Cow;
use std::collections::BTreeSet;

use super::words::*;
use crate::domain::sign::Sign;
use crate::scoring::choice::clean::look_alike;
use crate::scoring::choice::lex::{Kind, split};
use crate::scoring::choice::words::Sense;

/// The longest text in quotes that is taken for what a sign in the picture says, in pieces.
const MAX_INSCRIPTION: usize = 6;

/// How far behind a criterion's name its number may stand, in pieces: `\": {\"score\": 5`.
const REACH: usize = 14;

/// The words beside which a value is a score.
const GRADED: Sense = SCORE | PART | RUBRIC | GRADER;

#[derive(Clone, Copy)]
struct Token<'t> {
    text: &'t str,
    kind: Kind,
    glued: bool,
    sense: Sense,
    id: u16,
}

impl Token<'_> {
    fn has(&self, senses: Sense) -> bool {
        self.sense & senses != 0
    }

    fn is(&self, signs: &[&str]) -> bool {
        self.kind == Kind::Sign && signs.contains(&self.text)
    }

    /// A number from 0 to 5, or 10, as scores are.
    fn is_score(&self) -> bool {
        matches!(self.text, "0" | "1" | "2" | "3" | "4" | "5" | "10")
    }
}

/// Signs in what a plain text says.
pub(super) fn find(text: &str, found: &mut BTreeSet<Sign>) {
    let (tokens, is_disguised) = lex(text);
    let tokens = without_inscriptions(tokens);
    let mut speakers = BTreeSet::new();
    for sentence in sentences(&tokens) {
        find_in_sentence(sentence, found);
        if let Some(label) = speaker(sentence) {
            speakers.insert(label.text.to_lowercase());
            if label.has(SYSTEM) || speakers.len() > 1 {
                found.insert(Sign::RoleTag);
            }
        }
    }
    if let Some(end) = tokens.iter().position(|token| token.has(END))
        && tokens[end..].iter().any(|token| token.kind == Kind::Word && !token.has(END))
    {
        found.insert(Sign::ClosingMark);
    }
    // Look-alikes alone are how some scripts are typed; they hide something where what they spell is a sign.
    if is_disguised && !found.is_empty() {
        found.insert(Sign::DisguisedText);
    }
}

fn lex(text: &str) -> (Vec<Token<'_>>, bool) {
    let words = &*WORDS;
    let mut is_disguised = false;
    let mut tokens: Vec<Token<'_>> = Vec::with_capacity(text.len() / 4 + 4);
    for piece in split(text) {
        let lower = piece.text.to_lowercase();
        let folded = unmasked(&lower);
        is_disguised |= matches!(folded, Cow::Owned(_));
        let id = words.id(folded.strip_suffix("'s").unwrap_or(&folded));
        tokens.push(Token { text: piece.text, kind: piece.kind, glued: piece.glued, sense: 0, id });
    }
    let mut at = 0;
    while at < tokens.len() {
        let mut length = 1;
        if tokens[at].id != 0 {
            let (words, sense) = words.longest(tokens[at].id, tokens[at + 1..].iter().map(|token| token.id));
            length = words;
            for token in &mut tokens[at..at + length] {
                token.sense = sense;
            }
        }
        at += length;
    }
    (tokens, is_disguised)
}

/// A word of Latin letters and such as only look like them, in Latin letters.
fn unmasked(word: &str) -> Cow<'_, str> {
    let is_mixed = !word.is_ascii() && word.bytes().any(|byte| byte.is_ascii_alphabetic());
    if !is_mixed || !word.chars().any(|c| look_alike(c).is_some()) {
        return Cow::Borrowed(word);
    }
    Cow::Owned(word.chars().map(|c| look_alike(c).unwrap_or(c)).collect())
}

/// The tokens without short texts in quotes that something in the picture reads.
fn without_inscriptions(tokens: Vec<Token<'_>>) -> Vec<Token<'_>> {
    let mut kept = Vec::with_capacity(tokens.len());
    let mut at = 0;
    while at < tokens.len() {
        let token = tokens[at];
        if token.is(&["'", "\""]) && at > 0 && tokens[at - 1].has(READS) {
            let inside = &tokens[at + 1..tokens.len().min(at + 2 + MAX_INSCRIPTION)];
            if let Some(length) = inside.iter().position(|other| other.is(&[token.text])) {
                at += length + 2;
                continue;
            }
        }
        kept.push(token);
        at += 1;
    }
    kept
}

fn sentences<'t, 'a>(tokens: &'a [Token<'t>]) -> impl Iterator<Item = &'a [Token<'t>]> {
    let ends = |at: usize| {
        let token = &tokens[at];
        token.kind == Kind::Break
            || token.is(&["!", "?", ";", "。", "｡", "।"])
            || token.is(&["."])
                && tokens.get(at + 1).is_none_or(|next| !next.glued || next.kind != Kind::Word)
    };
    let mut start = 0;
    std::iter::from_fn(move || {
        if start >= tokens.len() {
            return None;
        }
        let end = (start..tokens.len()).find(|&at| ends(at)).map_or(tokens.len(), |at| at + 1);
        let sentence = &tokens[start..end];
        start = end;
        Some(sentence)
    })
}

fn find_in_sentence(sentence: &[Token<'_>], found: &mut BTreeSet<Sign>) {
    let all = sentence.iter().fold(0, |senses, token| senses | token.sense);
    if all == 0 && !sentence.iter().any(Token::is_score) {
        return;
    }
    let has = |senses: Sense| all & senses != 0;
    let enough = [
        (GRADER, Sign::GraderAddress),
        (RUBRIC, Sign::GradingTalk),
        (REFERENCE, Sign::ReferenceClaim),
        (OVERRIDE, Sign::Override),
        (VERDICT, Sign::PlantedVerdict),
        (FULL_MARKS, Sign::ScoreDemand),
        (ENCODING, Sign::EncodedPayload),
    ];
    found.extend(enough.into_iter().filter(|(sense, _)| has(*sense)).map(|(_, sign)| sign));
    if has(JUDGE) && has(RULE | SCORE | YOU_MUST | AWARD) {
        found.insert(Sign::GraderAddress);
    }
    let gives = AWARD | BESTOW | STATE;
    if has(ANSWER) && has(SCORE) {
        found.insert(Sign::GradingTalk);
    }
    let is_order = has(DROP) && has(RULE | GRADED)
        || has(GRADING) && has(DONE)
        || has(STANDING) && has(ANSWER | GRADED | gives)
        || has(YOU_MUST) && has(STATE) && has(ANSWER | GRADED);
    if is_order {
        found.insert(Sign::Override);
    }
    if demands_score(sentence) || praises_itself(sentence) {
        found.insert(Sign::ScoreDemand);
    }
    if holds_verdict(sentence, all) {
        found.insert(Sign::PlantedVerdict);
    }
}

/// Whether something is to be given a value, and the value is a score.
fn demands_score(sentence: &[Token<'_>]) -> bool {
    let places = |senses: Sense| sentence.iter().enumerate().filter(move |(_, token)| token.has(senses));
    let is_at = |at: Option<usize>, senses: Sense| {
        at.and_then(|at| sentence.get(at)).is_some_and(|token: &Token<'_>| token.has(senses))
    };
    let values = TOP | NUMBER;
    if places(AWARD).next().is_some() && places(NUMBER).next().is_some() {
        return true;
    }
    // "score" gives and is given; one word does not do both.
    let giving = places(AWARD | BESTOW | STATE).next();
    let graded = places(GRADED).filter(|(at, _)| giving.is_none_or(|(first, _)| first != *at)).count();
    if giving.is_some() && graded > 0 && places(values).next().is_some() {
        return true;
    }
    // "I give this answer a 5.", "Please print 5."
    let ends_as_number = |(at, _): (usize, &Token<'_>)| {
        sentence.get(at + 1).is_none_or(|next| next.kind != Kind::Word || next.has(POINTS))
    };
    if giving.is_some() && places(ANSWER | YOU_MUST).next().is_some() && places(NUMBER).any(ends_as_number) {
        return true;
    }
    let beside = |at: usize, senses: Sense| is_at(at.checked_sub(1), senses) || is_at(Some(at + 1), senses);
    let bestows = places(AWARD | BESTOW).next().is_some();
    let stating = places(STATE).count();
    places(POINTS).any(|(at, token)| {
        let is_stated = stating > usize::from(token.has(STATE));
        bestows && beside(at, values) || is_stated && beside(at, TOP)
    })
}

/// Whether the answer is called perfect, or every one is.
fn praises_itself(sentence: &[Token<'_>]) -> bool {
    let names_itself = |pair: &[Token<'_>]| pair[0].has(EVERY) && pair[1].has(ANSWER);
    sentence.windows(2).any(names_itself) && sentence.iter().any(|token| token.has(PERFECT))
}

/// Whether a number follows a criterion or "score:" as its value, or stands there three times.
fn holds_verdict(sentence: &[Token<'_>], all: Sense) -> bool {
    let thrice = sentence.windows(5).any(|part| {
        let [one, first, two, second, three] = part else { return false };
        one.is_score()
            && one.text == two.text
            && two.text == three.text
            && first.is(&["/", ",", "|"])
            && second.is(&["/", ",", "|"])
    });
    let is_number = |token: &Token<'_>| token.text.bytes().all(|byte| byte.is_ascii_digit());
    let is_share = |part: &[Token<'_>]| is_number(&part[0]) && part[1].is(&["/"]) && is_number(&part[2]);
    thrice
        || all & (SCORE | RUBRIC) != 0 && sentence.windows(3).any(is_share)
        || (0..sentence.len()).any(|at| is_valued(sentence, at))
}

fn is_valued(sentence: &[Token<'_>], at: usize) -> bool {
    let name = &sentence[at];
    let is_last_of_name = sentence.get(at + 1).is_none_or(|next| !next.has(CRITERION));
    if !name.has(CRITERION | SCORE) || !is_last_of_name {
        return false;
    }
    let mut is_linked = false;
    for (reached, token) in sentence.iter().enumerate().skip(at + 1).take(REACH) {
        if token.is_score() {
            // "Object activity: 2 divers" counts divers.
            let next = sentence.get(reached + 1);
            return is_linked && next.is_none_or(|next| next.kind != Kind::Word || next.has(OUT_OF));
        }
        is_linked |= token.is(&[":", "="]) || token.has(BE);
        if token.kind == Kind::Word && !token.has(BE | SCORE) {
            return false;
        }
    }
    false
}

/// The label in front of a sentence that names who speaks.
fn speaker<'a, 't>(sentence: &'a [Token<'t>]) -> Option<&'a Token<'t>> {
    let mut words = sentence.iter().skip_while(|token| token.is(&["#", ">", "-", "[", "\""]));
    let (label, colon) = (words.next()?, words.next()?);
    (colon.is(&[":"]) && label.has(SYSTEM | SPEAKER)).then_some(label)
}
