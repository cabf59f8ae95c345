//! Rule 7, weighing: what the words around a label or an option text say of it. Knows nothing of how the labels of a
//! reply compare. Every look goes a fixed number of tokens far.

use super::lex::{Kind, Token, ends_clause, ends_sentence};
use super::mentions::Group;
use super::words::{
    AND, ANSWER, BE, CHOOSE, CONTRAST, CORRECTION, FIRST, GRADER, HEDGE, IF, NAME, NOT, PREFER, REJECT,
    RIGHT, SO, TURN, WOULD, WRONG,
};

const REACH: usize = 20;

/// How strongly a label is put forward.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Strength {
    Hedged,
    Plain,
    Preferred,
    Inferred,
    Declared,
}

/// What is said of a group.
#[derive(Debug, Clone, Copy)]
pub(super) struct Weight {
    pub strength: Strength,
    /// Negated, ruled out, or called wrong.
    pub denied: bool,
    /// A first thought that the reply itself calls so.
    pub withdrawn: bool,
    /// Under a condition.
    pub conditional: bool,
    /// In the mood of "would".
    pub supposed: bool,
    /// Addressed to whoever grades.
    pub for_grader: bool,
}

/// The weights of all groups, in their order.
pub(super) fn weigh(tokens: &[Token<'_>], groups: &[Group]) -> Vec<Weight> {
    let mut state = Sentence::default();
    let mut read = 0;
    let mut weights = Vec::with_capacity(groups.len());
    for (index, group) in groups.iter().enumerate() {
        while read < group.start {
            state.read(tokens, read);
            read += 1;
        }
        let floor = index.checked_sub(1).map_or(0, |last| groups[last].end);
        let ceiling = groups.get(index + 1).map_or(tokens.len(), |next| next.start);
        let mut weight = before(tokens, floor, group.start);
        weight.conditional |= state.conditional;
        weight.for_grader |= state.for_grader;
        after(tokens, group, ceiling, &mut weight);
        weights.push(weight);
    }
    weights
}

/// What a sentence has said so far.
#[derive(Default)]
struct Sentence {
    conditional: bool,
    for_grader: bool,
    words: usize,
}

impl Sentence {
    fn read(&mut self, tokens: &[Token<'_>], at: usize) {
        let token = &tokens[at];
        if ends_sentence(tokens, at) {
            *self = Sentence::default();
            return;
        }
        let inverted =
            self.words == 0 && ["had", "were", "should"].iter().any(|w| token.text.eq_ignore_ascii_case(w));
        self.conditional = (self.conditional && !token.has(TURN | SO)) || token.has(IF) || inverted;
        self.for_grader |= token.has(GRADER);
        self.words += usize::from(token.is_word());
    }
}

/// Walks back from a mention to the cue or the denial that governs it.
fn before(tokens: &[Token<'_>], floor: usize, start: usize) -> Weight {
    let mut weight = Weight {
        strength: Strength::Plain,
        denied: false,
        withdrawn: false,
        conditional: false,
        supposed: false,
        for_grader: false,
    };
    let (mut words, mut comma, mut beyond) = (0, false, false);
    for at in (floor.max(start.saturating_sub(REACH))..start).rev() {
        let token = &tokens[at];
        if ends_sentence(tokens, at) {
            if words > 0 || weight.strength != Strength::Plain {
                break;
            }
            beyond = true;
        } else if ends_clause(token) {
            if words > 0 && weight.strength == Strength::Plain {
                break;
            }
            comma = true;
        } else {
            let reaches = !beyond || !token.is_word() || token.has(ANSWER | SO | NAME | CHOOSE);
            if !reaches || !weigh_cue(token, &mut weight, &mut words, comma) {
                break;
            }
        }
    }
    weight
}

/// Takes one word in front of a mention into account; false where the walk ends.
fn weigh_cue(token: &Token<'_>, weight: &mut Weight, words: &mut usize, comma: bool) -> bool {
    let cued = weight.strength != Strength::Plain;
    if token.has(FIRST) && *words <= 4 {
        weight.withdrawn = true;
        return false;
    }
    if token.has(CORRECTION) {
        return false;
    }
    if token.has(ANSWER) && (*words <= 1 || cued) {
        weight.strength = Strength::Declared;
        return false;
    }
    if token.has(NOT) || token.has(REJECT | CONTRAST) && *words <= 3 {
        weight.denied = !comma && *words <= 4;
        return false;
    }
    if token.has(RIGHT | WRONG) && *words == 0 && !(cued || comma && token.has(WRONG)) {
        weight.denied = token.has(WRONG);
        weight.strength = weight.strength.max(Strength::Inferred);
        return !token.has(WRONG);
    }
    if token.has(CHOOSE) && *words <= 2 {
        weight.strength = Strength::Declared;
        return true;
    }
    if token.has(SO) && (*words <= 3 || cued) {
        weight.strength = weight.strength.max(Strength::Inferred);
        return false;
    }
    if token.has(HEDGE) && *words <= 3 && weight.strength <= Strength::Inferred {
        weight.strength = Strength::Hedged;
        return false;
    }
    if token.has(PREFER) && *words <= 3 {
        weight.strength = weight.strength.max(Strength::Preferred);
        return true;
    }
    if token.has(TURN | AND | IF) {
        return false;
    }
    if token.has(BE) && *words == 0 {
        weight.strength = weight.strength.max(Strength::Inferred);
        return true;
    }
    weight.supposed |= token.has(WOULD) && !comma;
    let is_filler = token.has(NAME | WOULD) || !token.is_word() || is_article(token.text);
    *words += usize::from(!is_filler);
    *words <= 8
}

/// Walks on from a mention to the word that confirms or denies it.
fn after(tokens: &[Token<'_>], group: &Group, ceiling: usize, weight: &mut Weight) {
    let end = ceiling.min(group.end + REACH);
    let (mut words, mut is_subject) = (0, false);
    let bracketed = group.start > 0 && tokens[group.start - 1].is("(");
    // After "B)" or "B:" only a verdict may follow, such as "B: wrong".
    let is_head = tokens.get(group.end).is_some_and(|next| next.is(":") || next.is(")") && !bracketed);
    let words_max = if is_head { 0 } else { 8 };
    for at in group.end..end {
        let token = &tokens[at];
        if token.is("?") {
            return answered(&tokens[at + 1..end], weight);
        }
        if token.has(IF) {
            weight.conditional = true;
            return;
        }
        let stops = ends_sentence(tokens, at) || ends_clause(token) || token.kind == Kind::Break;
        if stops || token.has(TURN | SO | CONTRAST | CORRECTION) {
            return;
        }
        let cued = weight.strength > Strength::Preferred;
        if token.has(NOT) {
            weight.denied |= !cued && ceiling - at > 3;
            return;
        }
        if token.has(WRONG | REJECT) {
            weight.denied = true;
            return;
        }
        if token.has(RIGHT) || is_subject && token.has(ANSWER | CHOOSE) {
            weight.strength = Strength::Declared;
            return;
        }
        if token.has(BE) && words == 0 && token.text.eq_ignore_ascii_case("it") {
            weight.strength = Strength::Declared;
            return;
        }
        if token.has(PREFER) {
            weight.strength = weight.strength.max(Strength::Preferred);
        }
        if token.has(HEDGE) && !cued {
            weight.strength = Strength::Hedged;
            return;
        }
        is_subject |= token.has(BE);
        weight.supposed |= token.has(WOULD);
        words += usize::from(token.is_word());
        if words > words_max {
            return;
        }
    }
}

/// "A? No." or "A? Yes."; a question without an answer leaves the label open.
fn answered(rest: &[Token<'_>], weight: &mut Weight) {
    match rest.iter().find(|token| token.is_word()) {
        Some(word) if word.has(RIGHT) => weight.strength = Strength::Declared,
        Some(word) if word.has(NOT | WRONG) => weight.denied = true,
        _ => weight.strength = weight.strength.min(Strength::Hedged),
    }
}

/// Articles between a cue and a label: "the answer is the B", "la respuesta es la B".
fn is_article(word: &str) -> bool {
    ["the", "la", "el", "le", "il", "a", "o", "die", "der", "de"]
        .iter()
        .any(|other| word.eq_ignore_ascii_case(other))
}
