//! From answers to scores: the counts are exact, and a judgement is made once.

use std::collections::HashMap;
use std::sync::Arc;

use serde_json::{Value, json};

use secchi::domain::column::Column;
use secchi::domain::question::Split;
use secchi::judge::ScriptedJudge;

use crate::support::{Options, Secchi, metadata, sample_bytes};

/// The prediction files whose right answers are known by type.
pub const COUNTED: [&str; 5] = ["perfect", "strong_model", "weak_model", "partial", "random"];

/// Holds a scored submission against the counts of a file in `EXPECTED.json`.
pub fn assert_counts(name: &str, submission: &Value, expected: &Value) {
    assert_eq!(submission["state"], "scored", "{name}: {submission}");
    let of_file = &expected["files"][format!("{name}.jsonl")];
    let rows = &expected["rows"][if name == "partial" { "partial.jsonl" } else { "others" }];
    assert_eq!(&submission["coverage"]["answered"], rows, "{name}");
    assert_eq!(submission["coverage"]["questions"], expected["questions"], "{name}");
    assert_eq!(submission["progress"]["graded"], expected["multiple_choice"], "{name}");
    let mut values = Vec::new();
    for column in Column::PERCENT {
        let question_type = column.question_type().unwrap();
        let score = &submission["scores"][column.as_str()];
        let (value, n) = (score["value"].as_f64().unwrap(), score["n"].as_f64().unwrap());
        // What is missing counts as wrong, so `n` is the number of questions, which a perfect file answers all.
        let all = &expected["files"]["perfect.jsonl"][question_type.as_str()]["answered"];
        assert_eq!(Some(n), all.as_f64(), "{name}: {column}");
        let correct = of_file[question_type.as_str()]["correct"].as_f64().unwrap();
        assert!(
            (value * n / 100.0 - correct).abs() < 1e-9,
            "{name}: {column}: {value} % of {n} is not {correct}"
        );
        assert_eq!(score["unit"], "percent");
        values.push(value);
    }
    let mean = values.iter().sum::<f64>() / values.len() as f64;
    assert!((submission["scores"]["MCQ"]["value"].as_f64().unwrap() - mean).abs() < 1e-9, "{name}");
    for column in Column::ALL {
        let score = &submission["scores"][column.as_str()];
        let [low, high] = [&score["ci95"][0], &score["ci95"][1]].map(|bound| bound.as_f64().unwrap());
        let (value, most) =
            (score["value"].as_f64().unwrap(), if score["unit"] == "points" { 5.0 } else { 100.0 });
        assert!(0.0 <= low && low <= value && value <= high && high <= most, "{name}: {column}: {score}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_sample_s_files_get_exactly_the_counts_that_are_known() {
    let (secchi, team) = Secchi::with_sample(Options::default()).await;
    let expected: Value = serde_json::from_slice(&sample_bytes("predictions/EXPECTED.json")).unwrap();
    let mut oemu = HashMap::new();
    for name in COUNTED {
        let submission = secchi.scored(&team, &metadata(name), &format!("{name}.jsonl")).await;
        assert_counts(name, &submission, &expected);
        assert_eq!(submission["judge"]["model"], "offline");
        oemu.insert(name, submission["scores"]["OEMU"]["value"].as_f64().unwrap());
    }
    assert_eq!(oemu["perfect"], 5.0);
    assert!(oemu["strong_model"] > oemu["weak_model"], "{oemu:?}");
}

/// Single letters of another alphabet are not in the comparison: the maker of the file reads none, the server reads
/// the Latin letter that they look like.
#[tokio::test(flavor = "multi_thread")]
async fn letters_in_free_text_are_read_as_they_were_meant() {
    let secchi = Secchi::start().await;
    // As val, so that the outcome of each answer may be read.
    secchi.import_as("noisy", Split::Val, &sample_bytes("test.jsonl")[..]).await;
    let team = secchi.team("ocean-lab").await;
    let mut of_val = metadata("Noisy");
    of_val["split"] = "val".into();
    let submission = secchi.scored(&team, &of_val, "letters_noisy.jsonl").await;
    let path = format!("/api/v1/submissions/{}/answers?limit=1000", submission["id"].as_str().unwrap());
    let page = secchi.get_json(&path, Some(&team.key)).await;
    let items = page["items"].as_array().unwrap().iter();
    let read: HashMap<&str, &Value> =
        items.map(|item| (item["question_id"].as_str().unwrap(), item)).collect();
    let expected = String::from_utf8(sample_bytes("predictions/letters_noisy.expected.jsonl")).unwrap();
    let expected: Vec<Value> = expected.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let comparable = expected.iter().filter(|reply| reply["category"] != "cyrillic_lookalike");
    let mut compared = 0;
    for reply in comparable {
        let answer = read[reply["question_id"].as_str().unwrap()];
        assert_eq!(answer["choice"], reply["letter"], "{reply}: {answer}");
        assert_eq!(answer["correct"], reply["correct"], "{reply}: {answer}");
        compared += 1;
    }
    assert_eq!(compared, 146);
    let unread = read.values().filter(|answer| answer.get("choice") == Some(&Value::Null)).count();
    assert_eq!(submission["coverage"]["unparsed"], unread);
}

#[tokio::test(flavor = "multi_thread")]
async fn the_same_file_again_or_by_another_team_makes_no_call() {
    let judge = Arc::new(ScriptedJudge::new(|item| {
        Ok(ScriptedJudge::verdict([5, (item.answer.len() % 6) as u8, (item.question_id.len() % 6) as u8]))
    }));
    let options = Options { given_judge: Some(judge.clone()), ..Options::default() };
    let (secchi, team) = Secchi::with_sample(options).await;
    let first = secchi.scored(&team, &metadata("First"), "strong_model.jsonl").await;
    let mut asked = judge.asked();
    asked.sort_unstable();
    asked.dedup();
    assert_eq!((judge.asked().len(), asked.len()), (48, 48), "each open-ended answer once");
    assert_eq!((&first["progress"]["judged"], &first["progress"]["reused"]), (&json!(48), &json!(0)));

    let other = secchi.team("deep-lab").await;
    for (team, file) in
        [(&team, "strong_model.jsonl"), (&other, "strong_model.jsonl"), (&other, "variant.csv.gz")]
    {
        let again = secchi.scored(team, &metadata(file), file).await;
        assert_eq!(judge.asked().len(), 48, "{file}");
        assert_eq!(
            again["progress"],
            json!({ "graded": 151, "judged": 48, "to_judge": 48, "reused": 48, "failed": 0 })
        );
        assert_eq!(again["scores"], first["scores"], "{file}");
    }
    // Another answer to the same questions is another thing to judge.
    secchi.scored(&other, &metadata("Weak"), "weak_model.jsonl").await;
    assert!(judge.asked().len() > 48);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_missing_or_wordless_answer_is_worth_nothing_without_a_call() {
    let judge = Arc::new(ScriptedJudge::new(|_| Ok(ScriptedJudge::verdict([5, 5, 5]))));
    let options = Options { given_judge: Some(judge.clone()), ..Options::default() };
    let (secchi, team) = Secchi::with_sample(options).await;
    let file = "question_id,answer\nMVK--reef_dive_0007--q5,a turtle\nMVK--reef_dive_0007--q6,?!\n";
    let response = secchi.submit(&team, &metadata("Terse"), file.into()).await;
    let id = response.json::<Value>().await.unwrap()["id"].as_str().unwrap().to_owned();
    secchi.drain().await;
    let submission = secchi.get_json(&format!("/api/v1/submissions/{id}"), Some(&team.key)).await;
    assert_eq!(submission["state"], "scored");
    assert_eq!(judge.asked(), ["MVK--reef_dive_0007--q5"]);
    // One of the 24 OEMU answers earned everything, all others nothing.
    let oemu = &submission["scores"]["OEMU"];
    assert_eq!(oemu["n"], 24);
    assert!((oemu["value"].as_f64().unwrap() - 5.0 / 24.0).abs() < 1e-9, "{oemu}");
    assert_eq!(submission["scores"]["static/AH"]["value"], 0.0);
    assert_eq!(submission["scores"]["MCQ"]["value"], 0.0);
}
