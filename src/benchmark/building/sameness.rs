//! Whether two texts may say the same of a video, so that one is no wrong option beside the other. Strict rather than
//! clever: what is refused for nothing costs one draw more. Knows nothing of questions.

use std::collections::BTreeSet;

use unicode_normalization::UnicodeNormalization as _;

/// Words that mean the same here, the one that stands for all of them first. Several words are joined by a blank, without
/// hyphens. Endings of plurals are taken off before.
const SYNONYMS: &[&[&str]] = &[
    &[
        "still",
        "static",
        "stationary",
        "fixed",
        "motionless",
        "unmoving",
        "at rest",
        "not moving",
        "does not move",
        "locked off",
    ],
    &["moving", "handheld", "moves"],
    &["pan", "panning", "panned"],
    &["tilt", "tilting"],
    &["follow", "follows", "following", "tracks", "tracking"],
    &["high angle", "from above", "top down", "overhead", "tilted downward", "looking down"],
    &["low angle", "from below", "tilted upward", "looking up"],
    &["eye level", "frontal", "front view"],
    &["close up", "closeup", "close shot", "close view"],
    &["full scene", "wide shot", "wide view", "full view"],
    &["bottom", "seabed", "sea bed", "seafloor", "sea floor", "ocean floor"],
    &["sand", "sandy"],
    &["rock", "rocky", "boulder"],
    &["alga", "algae", "seaweed"],
    &["diver", "scuba diver"],
    &["school", "shoal"],
    &["dim", "dark", "faint", "poorly lit", "low light"],
    &["bright", "well lit", "brightly lit", "strong"],
    &["sunlight", "sun light", "daylight", "natural light", "sun"],
    &["soft", "diffuse", "diffused"],
    &["grey", "gray"],
    &["blurry", "blurred", "hazy"],
    &["clear", "sharp"],
    &["small", "tiny", "little"],
    &["large", "big", "huge", "massive"],
    &["round", "rounded", "circular"],
    &["swim", "swims", "swimming"],
    &["rest", "rests", "resting"],
    &["hover", "hovers", "hovering"],
];

/// Words that say nothing by themselves; a denial is none of them.
const EMPTY: &[&str] = &[
    "a", "an", "the", "of", "in", "on", "at", "with", "and", "or", "to", "from", "by", "its", "it", "is",
    "are", "very", "slightly", "camera", "video", "view", "scene", "some", "several", "into", "over",
];

/// The words of a text that carry its meaning, with synonyms and plurals folded.
pub(super) fn meaning(text: &str) -> BTreeSet<String> {
    let folded: String = text.nfkc().flat_map(char::to_lowercase).collect();
    let apart = |c: char| !c.is_alphanumeric();
    let words = folded.split(apart).filter(|word| !word.is_empty()).map(singular);
    let mut joined = format!(" {} ", words.collect::<Vec<_>>().join(" "));
    for group in SYNONYMS {
        for other in &group[1..] {
            let other = other.split(' ').map(singular).collect::<Vec<_>>().join(" ");
            joined = joined.replace(&format!(" {other} "), &format!(" {} ", group[0].replace(' ', "_")));
        }
        if group[0].contains(' ') {
            joined = joined.replace(&format!(" {} ", group[0]), &format!(" {} ", group[0].replace(' ', "_")));
        }
    }
    let told: BTreeSet<String> = joined
        .split(' ')
        .filter(|word| !word.is_empty() && !EMPTY.contains(word))
        .map(str::to_owned)
        .collect();
    // What consists of such words alone is compared as it stands.
    if told.is_empty() { joined.split_whitespace().map(str::to_owned).collect() } else { told }
}

/// Whether one of two texts says no more than the other: then both may be right.
pub(super) fn may_be_same(one: &str, other: &str) -> bool {
    let (one, other) = (meaning(one), meaning(other));
    one.is_subset(&other) || other.is_subset(&one)
}

fn singular(word: &str) -> String {
    if let Some(stem) = word.strip_suffix("ies").filter(|stem| stem.len() > 1) {
        return format!("{stem}y");
    }
    let is_plural =
        word.len() > 3 && word.ends_with('s') && !["ss", "us", "is"].iter().any(|end| word.ends_with(end));
    if is_plural { word[..word.len() - 1].to_owned() } else { word.to_owned() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_may_be_right_too_is_the_same() {
        for (one, other) in [
            ("coral reef", "Coral Reefs"),
            ("coral reef", "coral reef with dense soft corals"),
            ("swimming slowly to the left", "swims slowly left"),
            ("static camera, eye level", "stationary camera at eye level"),
            ("sandy seabed", "sand on the sea floor"),
            ("scuba diver", "divers"),
            ("grey", "GRAY"),
            ("orange and white", "white, orange"),
            ("the camera does not move; high angle", "static camera, top-down view"),
            ("the", "The"),
        ] {
            assert!(may_be_same(one, other) && may_be_same(other, one), "{one} | {other}");
        }
    }

    #[test]
    fn what_differs_in_one_word_that_counts_is_not() {
        for (one, other) in [
            ("swimming to the left", "swimming to the right"),
            ("white with black spots", "black with white stripes"),
            ("static camera, eye level", "static camera, low angle"),
            ("hard coral", "soft coral"),
            ("カクレクマノミ", "goby"),
            ("no pan, eye level", "eye level, slow zoom"),
        ] {
            assert!(!may_be_same(one, other), "{one} | {other}");
        }
    }
}
