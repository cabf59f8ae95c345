//! The built-in judge: deterministic and free, from the words that answer and key share. A stand-in where no
//! LLM is set, never ranked beside one. Knows nothing of prompts, HTTP or the other judges.

use std::collections::BTreeSet;

use futures::FutureExt;
use futures::future::{BoxFuture, ready};
use serde_json::Value;

use super::{Asked, Asking, Item, Judge, Verdict};
use crate::domain::question::Rubric;

/// The name under which its scores stand.
pub(super) const MODEL: &str = "offline";
/// Version of the rule; part of the configuration.
pub(super) const VERSION: u32 = 1;

const MAX_SCORE: usize = 5;

/// Words that say nothing of one video rather than another.
const EMPTY_WORDS: &str = "a an and angle are as at be by camera can capture captured captures clip filmed for from has in \
    into is it its nearby object of on or position scene seen shot shown shows that the there this \
    to together video view viewpoint was while which with";

type Words = BTreeSet<String>;

/// Scores by shared words.
pub struct OfflineJudge;

impl Judge for OfflineJudge {
    fn judge<'a>(&'a self, item: &'a Item<'a>, _: Asking) -> BoxFuture<'a, Asked> {
        let verdict =
            Verdict { scores: scores(item), explanations: [const { None }; 3], model: MODEL.to_owned() };
        ready(Asked::free(Ok(verdict))).boxed()
    }
}

fn scores(item: &Item<'_>) -> [u8; 3] {
    let said = words(item.answer);
    // A video without the attribute is judged by the reference, which then does not claim it either.
    let recalled = |fields: &[&str]| {
        let wanted: Words =
            fields.iter().filter_map(|field| item.evidence.get(*field)).flat_map(attribute).collect();
        if wanted.is_empty() { share(&words(item.reference), &said) } else { share(&wanted, &said) }
    };
    match item.rubric {
        Rubric::Oemu => {
            let camera = recalled(&["camera_position", "camera_angle"]);
            let activity = recalled(&["movement_behavior"]);
            // A relation cannot be told better than either of its ends.
            [camera, activity, camera.min(activity)]
        }
        Rubric::Caption => {
            let mut known: Words = item.evidence.values().flat_map(attribute).collect();
            known.extend(words(item.reference));
            [recalled(&["central_object"]), recalled(&["movement_behavior"]), share(&said, &known)]
        }
    }
}

/// The share of `wanted` that is in `given`, 0 to 5, rounded half up; 0 of nothing.
fn share(wanted: &Words, given: &Words) -> u8 {
    let (found, all) = (wanted.intersection(given).count(), wanted.len());
    if all == 0 { 0 } else { ((2 * MAX_SCORE * found + all) / (2 * all)) as u8 }
}

fn attribute(value: &Value) -> Words {
    value.as_str().map(words).unwrap_or_default()
}

fn words(text: &str) -> Words {
    text.split(|c: char| !c.is_alphanumeric())
        .map(str::to_lowercase)
        .filter(|word| !word.is_empty() && !EMPTY_WORDS.split(' ').any(|empty| empty == word))
        .collect()
}

#[cfg(test)]
mod tests {
    use serde_json::{Map, json};

    use super::*;

    fn evidence() -> Map<String, Value> {
        let evidence = json!({
            "central_object": "green turtle",
            "movement_behavior": "swims slowly to the left",
            "camera_position": "close-up, centered",
            "camera_angle": "static camera, high angle",
            "color": "olive",
        });
        evidence.as_object().unwrap().clone()
    }

    fn judged(rubric: Rubric, reference: &str, answer: &str) -> [u8; 3] {
        let evidence = evidence();
        scores(&Item { question_id: "q", rubric, question: "?", reference, evidence: &evidence, answer })
    }

    const OEMU: &str =
        "Filmed close-up, centered, static, high angle, the green turtle swims slowly to the left.";

    #[test]
    fn the_reference_scores_5_and_another_text_0() {
        for rubric in [Rubric::Oemu, Rubric::Caption] {
            assert_eq!(judged(rubric, OEMU, OEMU), [5, 5, 5]);
            assert_eq!(judged(rubric, OEMU, "Bananas ripen in the video of a kitchen"), [0, 0, 0]);
        }
    }

    #[test]
    fn each_criterion_looks_at_its_own_attributes() {
        assert_eq!(judged(Rubric::Oemu, OEMU, "a static, centered close-up from high up"), [5, 0, 0]);
        assert_eq!(judged(Rubric::Oemu, OEMU, "it swims slowly left"), [0, 5, 0]);
        assert_eq!(judged(Rubric::Caption, OEMU, "a green turtle"), [5, 0, 5]);
        assert_eq!(judged(Rubric::Caption, OEMU, "a green turtle beside a wrecked submarine")[2], 2);
    }

    #[test]
    fn a_missing_attribute_falls_back_to_the_reference() {
        let mut evidence = evidence();
        evidence.remove("movement_behavior");
        let item = Item {
            question_id: "q",
            rubric: Rubric::Oemu,
            question: "?",
            reference: "a static close-up",
            evidence: &evidence,
            answer: "a static close-up, centered, high",
        };
        assert_eq!(scores(&item), [5, 5, 5]);
    }
}
