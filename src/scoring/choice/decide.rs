//! Rules 7 to 10, deciding: which of the weighed labels or texts a reply chooses. Knows nothing of single words.

use super::around::{Strength, Weight, weigh};
use super::lex::{Kind, Token, ends_sentence};
use super::mentions::{Group, groups};
use super::text::{OptionSet, bit, only_letter};
use super::whole::several;
use super::words::{
    ALL, ANSWER, CORRECTION, GRADER, NAME, NO_OPTION, NOT, NUMBER, PLACE, REFUSE, REMAIN, Sense,
};
use crate::domain::choice::{Choice, Reason};

/// A group that is neither denied nor withdrawn.
struct Standing {
    group: Group,
    weight: Weight,
}

/// The standing groups, and what became of the others.
struct Weighed {
    standing: Vec<Standing>,
    /// The labels that were only denied.
    denied: u32,
    corrected: bool,
}

/// What the labels at `places` say; `None` where the texts of the options should be asked.
pub(super) fn by_labels(tokens: &[Token<'_>], places: &[usize], options: &OptionSet) -> Option<Choice> {
    let weighed = standing(tokens, groups(tokens, places), options);
    if weighed.standing.is_empty() {
        return (weighed.denied != 0).then(|| by_elimination(tokens, weighed.denied, options)).flatten();
    }
    let choice = strongest(tokens, &weighed.standing, options);
    let choice = match choice.letter {
        Some(letter) if weighed.corrected => Choice::letter(letter, Reason::Corrected),
        Some(letter) if !options.has(letter) => Choice::none(Reason::OutOfRange),
        _ => choice,
    };
    Some(choice)
}

fn standing(tokens: &[Token<'_>], groups: Vec<Group>, options: &OptionSet) -> Weighed {
    let weights = weigh(tokens, &groups);
    let mut weighed = Weighed { standing: Vec::new(), denied: 0, corrected: false };
    let mut withdrawn = Vec::new();
    for (mut group, weight) in groups.into_iter().zip(weights) {
        if weight.denied {
            // "Not A, C": without "and" or "or", only the first is denied.
            let first = tokens[group.start].letter.map_or(0, bit);
            let alone = !group.joined && group.set != first && tokens[group.start].kind == Kind::Word;
            weighed.denied |= if alone { first } else { group.set };
            if !alone {
                continue;
            }
            group.set &= !first;
            weighed.standing.push(Standing { group, weight: Weight { denied: false, ..weight } });
        } else if weight.withdrawn {
            withdrawn.push(Standing { group, weight });
        } else if !weight.for_grader {
            weighed.standing.push(Standing { group, weight });
        }
    }
    // A first thought that nothing replaces stands.
    if weighed.standing.is_empty() {
        weighed.standing = withdrawn;
    } else {
        weighed.corrected = !withdrawn.is_empty();
    }
    let last = weighed.standing.last().map(|last| last.group.start);
    let correction = last.and_then(|last| corrections(tokens, last));
    if let Some(at) = correction.filter(|&at| weighed.standing.iter().any(|one| one.group.start < at)) {
        weighed.standing.retain(|one| one.group.start > at);
        weighed.corrected = true;
    }
    // A complete list beside other labels is a list, not a choice.
    if weighed.standing.iter().any(|one| one.group.set.count_ones() == 1) {
        weighed.standing.retain(|one| one.group.set & options.range() != options.range());
    }
    weighed
}

/// The last place before `end` where the reply takes something back.
fn corrections(tokens: &[Token<'_>], end: usize) -> Option<usize> {
    (0..end).rev().find(|&at| {
        let interjected = tokens[at].text.eq_ignore_ascii_case("no")
            && at > 0
            && !tokens[at - 1].is_word()
            && tokens.get(at + 1).is_some_and(|next| next.is(",") || next.is("."));
        tokens[at].has(CORRECTION) || interjected
    })
}

/// Only denials: all labels but one, and the text says that one is left.
fn by_elimination(tokens: &[Token<'_>], denied: u32, options: &OptionSet) -> Option<Choice> {
    let letter = only_letter(options.range() & !denied)?;
    let says_so = tokens.iter().any(|token| token.has(REMAIN));
    says_so.then(|| Choice::letter(letter, Reason::Declared))
}

fn strongest(tokens: &[Token<'_>], all: &[Standing], options: &OptionSet) -> Choice {
    let open: Vec<&Standing> = all.iter().filter(|one| !one.weight.conditional).collect();
    if open.is_empty() {
        return Choice::none(Reason::Conditional);
    }
    for level in [Strength::Declared, Strength::Inferred, Strength::Preferred] {
        let mut level: Vec<&Standing> =
            open.iter().copied().filter(|one| one.weight.strength == level).collect();
        if level.iter().any(|one| !one.weight.supposed) {
            level.retain(|one| !one.weight.supposed);
        }
        if let Some(choice) = agreed(&level, options) {
            return choice;
        }
    }
    by_place(tokens, &open, options)
}

/// What the groups of one strength say together; `None` where there are none.
fn agreed(level: &[&Standing], options: &OptionSet) -> Option<Choice> {
    let last = level.last()?;
    let set = level.iter().fold(0, |set, one| set | one.group.set);
    let singles = level.iter().map(|one| one.group.set).filter(|set| set.count_ones() == 1);
    let single = singles.fold(0, |set, one| set | one);
    let preferred = last.weight.strength == Strength::Preferred;
    let reason = if preferred { Reason::Preferred } else { Reason::Declared };
    Some(match (only_letter(set), only_letter(single)) {
        (Some(letter), _) => Choice::letter(letter, reason),
        (None, Some(letter)) if last.group.set == single => Choice::letter(letter, reason),
        _ if several(set, options) == Reason::Stuffing => Choice::none(Reason::Stuffing),
        _ if preferred => Choice::none(Reason::Hedge),
        _ if level.len() > 1 => Choice::none(Reason::ConflictingDeclarations),
        _ => Choice::none(Reason::Multiple),
    })
}

/// Labels without a cue: the first, the last or the only one.
fn by_place(tokens: &[Token<'_>], open: &[&Standing], options: &OptionSet) -> Choice {
    let set = open.iter().fold(0, |set, one| set | one.group.set);
    let plain: Vec<&&Standing> = open.iter().filter(|one| one.weight.strength == Strength::Plain).collect();
    if only_letter(set).is_none()
        && let (Some(first), Some(last)) = (plain.first(), plain.last())
    {
        let heads = open.iter().filter(|one| is_head(tokens, &one.group)).count();
        if let Some(letter) = only_letter(first.group.set)
            && heads == 1
            && opens_reply(tokens, &first.group)
        {
            return Choice::letter(letter, Reason::VerdictFirst);
        }
        if let (true, Some(letter)) = (stands_alone_at_end(tokens, &last.group), only_letter(last.group.set))
        {
            return Choice::letter(letter, Reason::VerdictLast);
        }
    }
    match only_letter(set) {
        Some(letter) if opens_reply(tokens, &open[0].group) => Choice::letter(letter, Reason::VerdictFirst),
        Some(letter) => Choice::letter(letter, Reason::SingleMention),
        None if open.iter().any(|one| one.weight.strength == Strength::Hedged) => Choice::none(Reason::Hedge),
        None => Choice::none(several(set, options)),
    }
}

/// A label at the start of a line or sentence with a delimiter behind it.
fn is_head(tokens: &[Token<'_>], group: &Group) -> bool {
    let mut start = group.start;
    while start > 0
        && group.start - start < 3
        && tokens[start - 1].kind == Kind::Sign
        && !ends_sentence(tokens, start - 1)
    {
        start -= 1;
    }
    let starts = start == 0 || ends_sentence(tokens, start - 1);
    starts && tokens.get(group.end).is_none_or(|next| !next.is_word())
}

fn opens_reply(tokens: &[Token<'_>], group: &Group) -> bool {
    let is_cell = tokens.get(group.end).is_some_and(|next| next.is("|"));
    group.start < 8 && !is_cell && !tokens[..group.start].iter().any(Token::is_word) && is_head(tokens, group)
}

fn stands_alone_at_end(tokens: &[Token<'_>], group: &Group) -> bool {
    is_head(tokens, group) && !tokens[group.end..].iter().any(Token::is_word)
}

/// Rule 8: the one option whose text is affirmed.
pub(super) fn by_text(tokens: &[Token<'_>], options: &OptionSet) -> Option<Choice> {
    let mut found = Vec::new();
    let mut at = 0;
    while at < tokens.len() {
        match options.longest_at(tokens, at) {
            Some((set, end)) => {
                found.push(Group { set, start: at, end, joined: true });
                at = end;
            }
            None => at += 1,
        }
    }
    let weighed = standing(tokens, found, options);
    let open: Vec<&Standing> = weighed.standing.iter().filter(|one| !one.weight.conditional).collect();
    if open.is_empty() {
        return (!weighed.standing.is_empty()).then(|| Choice::none(Reason::Conditional));
    }
    let set_of = |chosen: &dyn Fn(&Weight) -> bool| {
        open.iter().filter(|one| chosen(&one.weight)).fold(0, |set, one| set | one.group.set)
    };
    let asserted = set_of(&|weight| !weight.supposed);
    let declared = set_of(&|weight| !weight.supposed && weight.strength == Strength::Declared);
    let set = if asserted == 0 { set_of(&|_| true) } else { asserted };
    Some(match only_letter(set).or(only_letter(declared)) {
        Some(letter) => {
            Choice::letter(letter, if weighed.corrected { Reason::Corrected } else { Reason::Text })
        }
        None => Choice::none(Reason::MultipleText),
    })
}

/// Rule 9: "the second option", "choice #1".
pub(super) fn by_ordinal(tokens: &[Token<'_>], options: &OptionSet) -> Option<Choice> {
    let mut set = 0;
    let mut beyond = false;
    for at in 0..tokens.len() {
        let Some(place) = counted_place(tokens, at) else { continue };
        let denied = tokens[at.saturating_sub(3)..at].iter().any(|token| token.has(NOT));
        match place.map_or_else(|| options.last(), |place| options.at(place)) {
            Some(letter) if !denied => set |= bit(letter),
            None => beyond = true,
            _ => {}
        }
    }
    match only_letter(set) {
        Some(letter) => Some(Choice::letter(letter, Reason::Ordinal)),
        None if set != 0 => Some(Choice::none(Reason::Multiple)),
        None => beyond.then(|| Choice::none(Reason::OutOfRange)),
    }
}

/// The place that the words at `at` count: "second option", "2nd option", "option two", "choice #1".
fn counted_place(tokens: &[Token<'_>], at: usize) -> Option<Option<usize>> {
    let (token, rest) = (&tokens[at], &tokens[at + 1..]);
    let is_ending =
        |word: &Token<'_>| ["st", "nd", "rd", "th"].iter().any(|end| word.text.eq_ignore_ascii_case(end));
    let next = rest.first()?;
    if token.is_word() && token.text == "第" {
        return rest.iter().take(3).any(|word| word.has(NAME)).then(|| place(next)).flatten();
    }
    if token.has(PLACE) && (next.has(NAME | ANSWER) || next.text.eq_ignore_ascii_case("one")) {
        return place(token);
    }
    if token.has(NUMBER) && next.glued && is_ending(next) {
        return rest.get(1).filter(|word| word.has(NAME | ANSWER)).and_then(|_| place(token));
    }
    if !token.has(NAME) || token.text.ends_with('s') {
        return None;
    }
    let mut number = rest.iter().take(3).skip_while(|word| {
        word.is("#") || ["number", "no", "."].iter().any(|sign| word.text.eq_ignore_ascii_case(sign))
    });
    number.next().filter(|word| word.has(NUMBER)).and_then(place)
}

/// The place that a word counts, from 0; the inner `None` is the last one.
fn place(token: &Token<'_>) -> Option<Option<usize>> {
    const PLACES: [[&str; 4]; 10] = [
        ["first", "one", "1", "一"],
        ["second", "two", "2", "二"],
        ["third", "three", "3", "三"],
        ["fourth", "four", "4", "四"],
        ["fifth", "five", "5", "五"],
        ["sixth", "six", "6", "六"],
        ["seventh", "seven", "7", "七"],
        ["eighth", "eight", "8", "八"],
        ["ninth", "nine", "9", "九"],
        ["tenth", "ten", "10", "十"],
    ];
    if token.text.eq_ignore_ascii_case("last") || token.text.eq_ignore_ascii_case("final") {
        return Some(None);
    }
    let spelled = |words: &[&str; 4]| words.iter().any(|word| token.text.eq_ignore_ascii_case(word));
    PLACES.iter().position(spelled).map(Some)
}

/// Rule 10: why a reply without a choice has none.
pub(super) fn nothing(tokens: &[Token<'_>]) -> Choice {
    let reasons: [(Sense, Reason); 4] = [
        (ALL, Reason::Stuffing),
        (NO_OPTION, Reason::NoneOfAbove),
        (REFUSE, Reason::Refusal),
        (GRADER, Reason::Injection),
    ];
    let said = tokens.iter().fold(0, |senses, token| senses | token.sense);
    let reason = reasons.iter().find(|(sense, _)| said & sense != 0);
    Choice::none(reason.map_or(Reason::NoSignal, |(_, reason)| *reason))
}
