//! The schema that a judge's reply must follow, and reading such a reply: exactly that, or no verdict.
//! Knows nothing of HTTP, and looks for no number in prose.

use std::fmt;

use serde::Deserializer as _;
use serde::de::{Error as _, MapAccess, Visitor};
use serde_json::value::RawValue;
use serde_json::{Value, json};

use super::Verdict;
use super::chat::{FinishReason, Reply};
use super::fault::{CallFault, FaultKind, label};
use crate::domain::question::Rubric;

const MAX_SCORE: u8 = 5;
const MAX_EXPLANATION_CHARS: usize = 2_000;
/// No model's name is longer; it is stored with each verdict.
const MAX_MODEL_BYTES: usize = 256;

/// How a refusal begins that a model writes as its reply, in lower case.
const REFUSALS: &str = "sorry|i'm sorry|i am sorry|i'm afraid i|i must decline|i apologize|i apologise|\
    my apologies|i can't|i cannot|i can not|i won't|i will not|i'm unable|i am unable|i'm not able|\
    i am not able|as an ai";

/// The name of a rubric's schema in the request (contract 6).
pub(super) fn schema_name(rubric: Rubric) -> &'static str {
    match rubric {
        Rubric::Oemu => "oemu_scores",
        Rubric::Caption => "caption_scores",
    }
}

/// The schema of a rubric's reply, in the subset of JSON Schema that all strict servers take.
pub(super) fn schema(rubric: Rubric) -> Value {
    // An enumeration, since some servers ignore or miscompile `minimum` and `maximum`.
    let score = json!({"type": "integer", "enum": (0..=MAX_SCORE).collect::<Vec<_>>()});
    let criterion = match rubric {
        Rubric::Oemu => score,
        Rubric::Caption => closed(&["score", "explanation"], &[score, json!({"type": "string"})]),
    };
    closed(&rubric.criteria(), &[criterion.clone(), criterion.clone(), criterion])
}

fn closed(names: &[&str], schemas: &[Value]) -> Value {
    let properties: serde_json::Map<_, _> =
        names.iter().zip(schemas).map(|(name, schema)| ((*name).to_owned(), schema.clone())).collect();
    json!({"type": "object", "properties": properties, "required": names, "additionalProperties": false})
}

/// The verdict that `reply` to a request for `model` holds.
pub(super) fn verdict(rubric: Rubric, model: &str, reply: Reply) -> Result<Verdict, CallFault> {
    let (usage, remaining) = (reply.usage, reply.remaining);
    let fault = |kind, detail: &str| CallFault { usage, remaining, ..CallFault::new(kind, detail) };
    match reply.finish_reason {
        FinishReason::ContentFilter => return Err(fault(FaultKind::ContentFilter, "the reply was filtered")),
        _ if reply.refusal.is_some() => return Err(fault(FaultKind::Refusal, "the model refused to judge")),
        FinishReason::Length => return Err(fault(FaultKind::Length, "the reply was cut at the token cap")),
        FinishReason::Other => return Err(fault(FaultKind::Malformed, "the reply did not end by itself")),
        FinishReason::Stop => {}
    }
    if !is_same_model(model, &reply.model) {
        let detail = format!("`{}` answered, not `{model}`", label(&reply.model));
        return Err(fault(FaultKind::WrongModel, &detail));
    }
    let content = reply.content.unwrap_or_default();
    let (scores, explanations) = read(rubric, &content).map_err(|detail| {
        if refuses_in_prose(&content) {
            fault(FaultKind::Refusal, "the model refused to judge, in prose")
        } else {
            fault(FaultKind::Malformed, detail)
        }
    })?;
    Ok(Verdict { scores, explanations, model: reply.model })
}

/// Whether a text without any object begins as models begin when they refuse.
fn refuses_in_prose(content: &str) -> bool {
    if content.contains('{') {
        return false;
    }
    let plain = content.trim_start_matches(|c: char| !c.is_alphanumeric()).to_lowercase();
    let plain = plain.replace(['\u{2018}', '\u{2019}', '\u{2bc}'], "'");
    REFUSALS.split('|').any(|words| {
        plain.strip_prefix(words).is_some_and(|rest| !rest.starts_with(|c: char| c.is_alphanumeric()))
    })
}

/// Whether `answered` is `asked` itself, a dated snapshot of it, or either with a provider's prefix.
fn is_same_model(asked: &str, answered: &str) -> bool {
    if answered.len() > MAX_MODEL_BYTES || answered.contains(char::is_control) {
        return false;
    }
    let bare = |name: &str| name.rsplit('/').next().unwrap_or_default().to_ascii_lowercase();
    match bare(answered).strip_prefix(&bare(asked)) {
        None => false,
        Some("") => true,
        Some(rest) => rest.starts_with('-') && rest.chars().all(|c| c.is_ascii_digit() || c == '-'),
    }
}

type Scores = ([u8; 3], [Option<String>; 3]);

fn read(rubric: Rubric, content: &str) -> Result<Scores, &'static str> {
    let text = unfence(content.trim());
    if text.is_empty() {
        return Err("the reply is empty");
    }
    let criteria =
        object(text, rubric.criteria()).ok_or("the reply is not an object of the three criteria")?;
    let mut scores = [0; 3];
    let mut explanations = [const { None }; 3];
    for (at, raw) in criteria.into_iter().enumerate() {
        let number = match rubric {
            Rubric::Oemu => raw.get(),
            Rubric::Caption => {
                let [score, explanation] = object(raw.get(), ["score", "explanation"])
                    .ok_or("a criterion is not an object of `score` and `explanation`")?;
                let explanation: String =
                    serde_json::from_str(explanation.get()).map_err(|_| "an explanation is no text")?;
                explanations[at] = Some(explanation.chars().take(MAX_EXPLANATION_CHARS).collect());
                score.get()
            }
        };
        scores[at] = serde_json::from_str::<u8>(number)
            .ok()
            .filter(|score| *score <= MAX_SCORE)
            .ok_or("a score is not an integer from 0 to 5")?;
    }
    Ok((scores, explanations))
}

/// What stands in a code fence that encloses the whole text; one at most is taken off.
fn unfence(text: &str) -> &str {
    let inside = || {
        let (info, body) = text.strip_prefix("```")?.split_once('\n')?;
        let known = matches!(info.trim(), "" | "json" | "JSON");
        known.then(|| body.strip_suffix("```")).flatten()
    };
    inside().map_or(text, str::trim)
}

/// The values of `keys` if `text` is a JSON object with exactly these keys, each once.
fn object<'t, const N: usize>(text: &'t str, keys: [&str; N]) -> Option<[&'t RawValue; N]> {
    let mut reader = serde_json::Deserializer::from_str(text);
    let pairs = reader.deserialize_map(Pairs).ok()?;
    reader.end().ok()?;
    if pairs.len() != N {
        return None;
    }
    let mut values = Vec::with_capacity(N);
    for key in keys {
        // With as many pairs as keys and each key found, none occurs twice.
        values.push(pairs.iter().find(|(name, _)| name == key)?.1);
    }
    values.try_into().ok()
}

/// Keeps every pair of an object, where a struct would take an array too and a map drop duplicate keys.
struct Pairs;

impl<'de> Visitor<'de> for Pairs {
    type Value = Vec<(String, &'de RawValue)>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
        let mut pairs = Vec::new();
        while let Some(pair) = map.next_entry()? {
            if pairs.len() == 8 {
                return Err(A::Error::custom("too many keys"));
            }
            pairs.push(pair);
        }
        Ok(pairs)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const OEMU: &str =
        r#"{"camera_motion_and_viewpoint":4,"object_activity":0,"camera_object_relationship":5}"#;

    fn caption(one: &str) -> String {
        format!(
            r#"{{"subject_correspondence":{one},"temporal_description":{{"score":1,"explanation":""}},
                "hallucination_detection":{{"explanation":"b","score":5}}}}"#
        )
    }

    #[test]
    fn a_reply_of_the_schema_gives_its_scores_in_the_order_of_the_criteria() {
        assert_eq!(read(Rubric::Oemu, OEMU), Ok(([4, 0, 5], [None, None, None])));
        let (scores, explanations) =
            read(Rubric::Caption, &caption(r#"{"score":3,"explanation":"a"}"#)).unwrap();
        assert_eq!(scores, [3, 1, 5]);
        assert_eq!(explanations, ["a", "", "b"].map(|text| Some(text.to_owned())));
    }

    #[test]
    fn one_outer_fence_is_taken_off_and_no_second_one() {
        assert!(read(Rubric::Oemu, &format!("```json\n{OEMU}\n```\n")).is_ok());
        assert!(read(Rubric::Oemu, &format!("```\r\n{OEMU}\r\n```")).is_ok());
        for bad in [
            format!("```\n```json\n{OEMU}\n```\n```"),
            format!("```json\n{OEMU}\n```\n```json\n{OEMU}\n```"),
            format!("Here:\n```json\n{OEMU}\n```"),
            format!("```python\n{OEMU}\n```"),
            format!("```json5\n{OEMU}\n```"),
            format!("```json {OEMU}```"),
            format!("```json\n{OEMU}"),
            format!("~~~json\n{OEMU}\n~~~"),
        ] {
            assert!(read(Rubric::Oemu, &bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn anything_but_an_integer_from_0_to_5_is_no_score() {
        for bad in [
            "6",
            "-1",
            "98989",
            "260",
            "18446744073709551617",
            "4.0",
            "1.0",
            "4e0",
            "5e0",
            "5E-1",
            "-0",
            "+4",
            "04",
            "0x4",
            "4_",
            "\"4\"",
            "true",
            "null",
            "NaN",
            "Infinity",
            "[4]",
            "{}",
            "\u{664}",
            "",
        ] {
            assert!(read(Rubric::Oemu, &OEMU.replace(":4", &format!(":{bad}"))).is_err(), "{bad}");
        }
    }

    #[test]
    fn anything_but_the_closed_object_is_no_verdict() {
        let keys = OEMU.trim_matches(['{', '}']);
        for bad in [
            String::new(),
            "I'm sorry, but I can't help with that.".to_owned(),
            "[4,0,5]".to_owned(),
            format!("{OEMU} {OEMU}"),
            format!("Sure! {OEMU}"),
            format!("{{\"scores\":{OEMU}}}"),
            format!("{{{keys},\"overall\":5}}"),
            format!("{{{keys},\"object_activity\":5}}"),
            OEMU.replace("object_activity", "object_activities"),
            OEMU.replace("camera_object_relationship", "object_activity"),
            serde_json::to_string(OEMU).unwrap(),
            format!("\u{feff}{OEMU}"),
            format!("{OEMU}\0"),
            OEMU.replace('}', ",}"),
            OEMU.replace('"', "'"),
            format!("/* so */{OEMU}"),
            format!("{{{keys},\"object_activit\\u0079\":0}}"),
            OEMU.replace("object_activity", "object_activity\\ud83d"),
            "[".repeat(100_000),
            OEMU.replace(":4", &format!(":{}", "[".repeat(100_000))),
            OEMU.replace(":4", &format!(":{}{}", r#"{"a":"#.repeat(100_000), "}".repeat(100_000))),
        ] {
            assert!(read(Rubric::Oemu, &bad).is_err(), "{bad}");
        }
        for bad in [
            "3",
            r#"[3,"a"]"#,
            r#"{"score":3}"#,
            r#"{"score":3,"explanation":null}"#,
            r#"{"score":3,"score":3,"explanation":"a"}"#,
            r#"{"score":3,"score":4}"#,
            r#"{"score":3,"explanation":"a","explanation":"b"}"#,
            r#"{"score":3,"sc\u006fre":4,"explanation":"a"}"#,
            r#"{"score":{"score":3},"explanation":"a"}"#,
            r#"{"score":3,"explanation":"\ud83d"}"#,
            r#"{"score":3,"explanation":["a"]}"#,
            r#"{"score":3,"explanation":"a","more":1}"#,
        ] {
            assert!(read(Rubric::Caption, &caption(bad)).is_err(), "{bad}");
        }
    }

    #[test]
    fn keys_may_come_in_any_order_and_in_any_spelling_of_json() {
        let turned = r#" { "object_activity" : 0, "camera_object_relationship" : 5,
            "camera_motion_and_vi\u0065wpoint" : 4 } "#;
        assert_eq!(read(Rubric::Oemu, turned), Ok(([4, 0, 5], [None, None, None])));
    }

    #[test]
    fn a_refusal_in_prose_is_told_from_a_malformed_reply() {
        for refusal in [
            "I'm sorry, but I can't help with that.",
            "I\u{2019}m sorry.",
            "  **I can\u{2019}t** rate this: 5 5 5",
            "I CANNOT assist",
            "I am unable to",
            "As an AI, I",
            "\"Sorry\"",
            "I'm afraid I can't do that.",
        ] {
            assert!(refuses_in_prose(refusal), "{refusal}");
        }
        let object = format!("I'm sorry. {OEMU}");
        for other in ["", "5", "Sure! All 5.", "As an aim, 5", "I cannoted", "The fish: I'm sorry", &object] {
            assert!(!refuses_in_prose(other), "{other}");
        }
    }

    #[test]
    fn a_dated_snapshot_is_the_model_and_a_smaller_one_is_not() {
        for (asked, answered) in
            [("gpt-5.5", "gpt-5.5-2026-03-01"), ("m", "m"), ("gpt-5.5", "openai/gpt-5.5")]
        {
            assert!(is_same_model(asked, answered), "{answered}");
        }
        let long = "x".repeat(MAX_MODEL_BYTES) + "/m";
        for (asked, answered) in [
            ("gpt-5.5", "gpt-5.5-mini"),
            ("gpt-5", "gpt-5.5"),
            ("a", ""),
            ("m", "\0/m"),
            ("m", long.as_str()),
        ] {
            assert!(!is_same_model(asked, answered), "{answered}");
        }
    }

    #[test]
    fn the_schema_is_closed_at_every_level_and_has_the_criteria_of_the_rubric() {
        for rubric in [Rubric::Oemu, Rubric::Caption] {
            let schema = schema(rubric);
            let required: Vec<String> = serde_json::from_value(schema["required"].clone()).unwrap();
            assert_eq!(required, rubric.criteria());
            assert_eq!(schema["additionalProperties"], json!(false));
        }
        let criterion = &schema(Rubric::Caption)["properties"]["temporal_description"];
        assert_eq!(criterion["required"], json!(["score", "explanation"]));
        assert_eq!(criterion["properties"]["score"]["enum"], json!([0, 1, 2, 3, 4, 5]));
    }
}
