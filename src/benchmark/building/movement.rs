//! What an annotated movement says of the central object (paper, rule B7). Knows nothing of questions.
//!
//! Annotators write participles and states ("hiding under a ledge", "motionless"), which are about the central object, or
//! they name who moves ("bubbles rising through the frame"). So a clause with a subject of its own that is not the central
//! object is about something else. Clauses begin at `, with`, `, while`, `, as` and `;`. Where this goes wrong, the
//! annotation's own `central_object_motion` decides.

use std::sync::LazyLock;

use regex::Regex;

use super::sameness::meaning;

#[expect(clippy::expect_used, reason = "the pattern is a constant, which every test compiles")]
static JOINT: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r"(?i)\s*;\s*|\s*,\s*(?:and\s+)?(?:with|while|as)\s+").expect("a constant pattern")
});

/// Nouns that end as participles do.
const NO_PARTICIPLES: &[&str] = &[
    "herring",
    "thing",
    "nothing",
    "something",
    "anything",
    "everything",
    "string",
    "spring",
    "wing",
    "ring",
    "ceiling",
    "mooring",
    "building",
    "clothing",
    "coating",
    "covering",
    "marking",
    "morning",
    "evening",
    "fingerling",
];

const FINITE: &[&str] = &[
    "is", "are", "was", "were", "moves", "move", "swims", "swim", "drifts", "drift", "floats", "float",
    "rests", "rest", "sways", "sway", "hovers", "hover", "darts", "dart", "passes", "pass", "crosses",
    "cross", "rises", "rise", "stays", "stay", "remains", "remain", "follows", "follow", "enters", "enter",
    "hides", "hide",
];

/// What may stand before a participle without being who moves.
const MANNER: &[&str] = &[
    "slow",
    "fast",
    "quick",
    "rapid",
    "gentle",
    "steady",
    "active",
    "constant",
    "continuous",
    "smooth",
    "slight",
    "mostly",
];

/// States that begin a clause about the central object.
const STATES: &[&str] = &[
    "motionless",
    "still",
    "stationary",
    "static",
    "alone",
    "asleep",
    "upright",
    "inactive",
    "immobile",
    "hidden",
    "stuck",
    "half",
];

const PREPOSITIONS: &[&str] = &[
    "in", "on", "at", "by", "with", "under", "above", "near", "between", "among", "along", "around", "from",
    "to", "into", "over", "behind", "across", "through", "inside", "and", "while", "then", "but",
];

const ARTICLES: &[&str] = &[
    "a", "an", "the", "some", "several", "many", "few", "two", "three", "other", "others", "another",
    "various", "small", "large",
];

const OTHERS: &[&str] = &["another", "other", "others", "second"];

/// The central object by any name.
const ANY_NAME: &[&str] =
    &["it", "they", "object", "subject", "animal", "organism", "creature", "individual"];

/// The part of a movement that is about the central object, word for word; none where it is about other things alone.
pub(super) fn of_central_object(movement: &str, central_object: &str) -> Option<String> {
    let mut kept = String::new();
    let (mut start, mut joint) = (0, "");
    let ends = JOINT.find_iter(movement).map(|found| (found.start(), found.end(), found.as_str()));
    for (end, next, next_joint) in ends.chain([(movement.len(), movement.len(), "")]) {
        let clause = &movement[start..end];
        if !words(clause).is_empty()
            && subject(clause).is_none_or(|subject| is_central(&subject, clause, central_object))
        {
            if !kept.is_empty() {
                kept.push_str(joint);
            }
            kept.push_str(clause);
        }
        (start, joint) = (next, next_joint);
    }
    let kept = kept.trim();
    (!kept.is_empty()).then(|| kept.to_owned())
}

/// Whether a text names who moves.
pub(super) fn has_subject(text: &str) -> bool {
    JOINT.split(text).any(|clause| subject(clause).is_some())
}

/// Who moves in a clause, if it says so.
fn subject(clause: &str) -> Option<Vec<String>> {
    let words = words(clause);
    let led = words.iter().take_while(|word| word.ends_with("ly") || MANNER.contains(&word.as_str())).count();
    let words = &words[led..];
    let first = words.first()?.as_str();
    let is_state = STATES.contains(&first) || first.ends_with("ed");
    let next = words.get(1).map(String::as_str);
    if PREPOSITIONS.contains(&first)
        || (is_state && next.is_none_or(|next| PREPOSITIONS.contains(&next) || ends_clause(clause, first)))
    {
        return None;
    }
    let is_verb = |word: &String| is_participle(word) || FINITE.contains(&word.as_str());
    match words.iter().position(is_verb) {
        Some(0) => None,
        // "still and resting" is a row of states.
        Some(place) if words[place - 1] == "and" && is_state => None,
        Some(place) => Some(words[..place].to_vec()),
        None => ARTICLES.contains(&first).then(|| words.to_vec()),
    }
}

/// Whether a comma follows this word.
fn ends_clause(clause: &str, word: &str) -> bool {
    let folded = clause.to_lowercase();
    folded.find(word).is_some_and(|at| folded[at + word.len()..].starts_with(','))
}

fn is_participle(word: &str) -> bool {
    word.len() > 4 && word.ends_with("ing") && !NO_PARTICIPLES.contains(&word)
}

fn is_central(subject: &[String], clause: &str, central_object: &str) -> bool {
    let first = subject.first().map_or("", String::as_str);
    if OTHERS.contains(&first) || words(clause).iter().any(|word| word == "background") {
        return false;
    }
    if subject.iter().all(|word| ANY_NAME.contains(&word.as_str()) || ARTICLES.contains(&word.as_str())) {
        return true;
    }
    let (told, central) = (meaning(&subject.join(" ")), meaning(central_object));
    let is_the_fish =
        first == "the" && told.iter().eq(["fish"]) && central.iter().any(|word| word.ends_with("fish"));
    told.is_subset(&central) || central.is_subset(&told) || is_the_fish
}

fn words(text: &str) -> Vec<String> {
    let apart = |c: char| !c.is_alphanumeric() && c != '\'' && c != '-';
    text.split(apart).filter(|word| !word.is_empty()).map(str::to_lowercase).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn assert_kept(movement: &str, central_object: &str, kept: Option<&str>) {
        assert_eq!(of_central_object(movement, central_object).as_deref(), kept, "{movement}");
    }

    #[test]
    fn a_participle_or_a_state_is_about_the_central_object() {
        for movement in [
            "hovering in place while fanning its pectoral fins",
            "partly bleached and motionless",
            "coiled inside a coral crevice",
            "paired with a partner of the same kind",
            "slow swimming near the bottom",
            "at rest on the sand",
            "still, breathing slowly",
            "the turtle swims to the left",
            "it moves slowly",
            "green sea turtle gliding over the reef",
            "swims to the left",
        ] {
            assert_kept(movement, "green sea turtle", Some(movement));
        }
        assert_kept("The fish is resting", "yellow boxfish", Some("The fish is resting"));
    }

    #[test]
    fn who_else_moves_is_not_the_central_object() {
        for movement in [
            "small damselfish darting above the coral",
            "suspended particles drifting from left to right",
            "bubbles rising through the frame",
            "sand being stirred up by the current",
            "another turtle swimming past",
            "cleaner wrasses moving in and out of the frame",
            "a diver in the background",
            "; ,",
        ] {
            assert_kept(movement, "green sea turtle", None);
        }
        assert_kept("cleaner wrasses moving in and out of the frame", "Napoleon wrasse", None);
        assert_kept("soft corals swaying in the background", "soft coral", None);
    }

    #[test]
    fn a_clause_about_something_else_is_cut_and_one_about_the_object_stays() {
        assert_kept(
            "resting on the sand, with bubbles rising through the frame",
            "diver",
            Some("resting on the sand"),
        );
        assert_kept("bubbles rising; grazing on seagrass", "dugong", Some("grazing on seagrass"));
        assert_kept(
            "gliding left, with its mouth open",
            "manta ray",
            Some("gliding left, with its mouth open"),
        );
    }
}
