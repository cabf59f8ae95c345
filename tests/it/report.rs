//! The report on a submission: what it counts, how neighbours are compared, and what it keeps to itself on test.

use serde_json::{Value, json};

use secchi::domain::question::Split;

use crate::operations::{answers, val_answers, val_metadata};
use crate::support::{Options, Secchi, TestTeam, metadata, problem, sample_bytes};

async fn submitted(secchi: &Secchi, team: &TestTeam, metadata: &Value, file: Vec<u8>) -> String {
    let sent: Value = secchi.submit(team, metadata, file).await.json().await.unwrap();
    sent["id"].as_str().unwrap().to_owned()
}

async fn report(secchi: &Secchi, team: &TestTeam, id: &str) -> Value {
    secchi.get_json(&format!("/api/v1/submissions/{id}/report"), Some(&team.key)).await
}

#[tokio::test(flavor = "multi_thread")]
async fn a_report_counts_what_is_missing_what_could_not_be_read_and_how_captions_are_worded() {
    let (secchi, team) = Secchi::with_sample(Options::default()).await;
    let (letters, captions) = (std::cell::Cell::new(0), std::cell::Cell::new(0));
    let file = answers("test.jsonl", |record| match record["type"].as_str().unwrap() {
        "caption" => {
            captions.set(captions.get() + 1);
            match captions.get() {
                1 => "A fish that swims along the".into(),
                2 | 3 => "A ray glides past.".into(),
                n => format!("A crab walks {n} times. It hides."),
            }
        }
        "camera_object_open_ended" => "The camera follows.".into(),
        "lighting" => {
            letters.set(letters.get() + 1);
            match letters.get() {
                1 | 2 => "I am sorry, I cannot see the video.".into(),
                3 => "A and B and C and D".into(),
                _ => "A".into(),
            }
        }
        _ => "A".into(),
    });
    // Without the last two records, which are the last video's.
    let text = String::from_utf8(file).unwrap();
    let lines: Vec<&str> = text.lines().collect();
    let cut = lines[..lines.len() - 2].join("\n");
    let id = submitted(&secchi, &team, &metadata("Reef-8B"), cut.into()).await;
    problem(secchi.get(&format!("/api/v1/submissions/{id}/report"), Some(&team.key)).await, 409).await;
    secchi.drain().await;

    let seen = report(&secchi, &team, &id).await;
    let submission = secchi.get_json(&format!("/api/v1/submissions/{id}"), Some(&team.key)).await;
    assert_eq!((&seen["scores"], &seen["warnings"]), (&submission["scores"], &submission["warnings"]));
    let coverage = seen["coverage"].as_array().unwrap();
    let sum = |field: &str| coverage.iter().map(|of_type| of_type[field].as_u64().unwrap()).sum::<u64>();
    assert_eq!((sum("questions"), sum("answered"), sum("missing"), sum("unread")), (199, 197, 2, 3));
    let lighting = coverage.iter().find(|of_type| of_type["type"] == "lighting").unwrap();
    assert_eq!((&lighting["questions"], &lighting["unread"]), (&json!(16), &json!(3)));
    let unread = &seen["unread"];
    assert_eq!(unread[0], json!({ "reason": "refusal", "count": 2 }));
    assert_eq!(unread[1]["count"], 1);
    let facts = &seen["captions"];
    let written = facts["captions"].as_u64().unwrap();
    assert!(written >= 23, "{facts}");
    assert_eq!(
        (&facts["cut_off"], &facts["one_sentence"], &facts["repeated"]),
        (&json!(1), &json!(2), &json!(2))
    );
    assert_eq!((&facts["words_min"], &facts["words_max"]), (&json!(4.0), &json!(7.0)));
    assert_eq!((&seen["answers"], &seen["neighbours"]), (&Value::Null, &json!([])));
}

#[tokio::test(flavor = "multi_thread")]
async fn an_entry_is_compared_with_the_two_published_above_and_below_it_of_other_teams() {
    let (secchi, team) = Secchi::with_sample(Options::default()).await;
    let mut ids = Vec::new();
    for (slug, file) in [("a", "perfect"), ("b", "letters_noisy"), ("c", "weak_model"), ("d", "random")] {
        let other = secchi.team(slug).await;
        let bytes = sample_bytes(&format!("predictions/{file}.jsonl"));
        ids.push(submitted(&secchi, &other, &metadata(file), bytes).await);
    }
    let mut private = metadata("Reef-8B");
    private["visibility"] = "private".into();
    let hidden = secchi.team("e").await;
    submitted(&secchi, &hidden, &private, sample_bytes("predictions/partial.jsonl")).await;
    let own = submitted(&secchi, &team, &private, sample_bytes("predictions/strong_model.jsonl")).await;
    secchi.drain().await;

    let seen = report(&secchi, &team, &own).await;
    assert_eq!(seen["column"], "MCQ");
    let neighbours = seen["neighbours"].as_array().unwrap();
    let named: Vec<&str> = neighbours.iter().map(|entry| entry["model_name"].as_str().unwrap()).collect();
    // One above, and of three below the next two.
    assert_eq!(named, ["perfect", "letters_noisy", "weak_model"]);
    let value = seen["scores"]["MCQ"]["value"].as_f64().unwrap();
    for entry in neighbours {
        let (theirs, told) = (entry["value"].as_f64().unwrap(), entry["difference"].as_f64().unwrap());
        assert!((value - theirs - told).abs() <= 0.051, "{entry}");
        assert_eq!(told, (told * 10.0).round() / 10.0);
    }
    let weak = &neighbours[2];
    assert_eq!((&weak["is_real"], &weak["entry"]), (&json!(true), &json!(ids[2])));
    let [low, high] = [0, 1].map(|bound| weak["ci95"][bound].as_f64().unwrap());
    assert!(0.0 < low && low < weak["difference"].as_f64().unwrap() && high < 100.0, "{weak}");
    assert!(weak["p"].as_f64().unwrap() < 0.05);
}

#[tokio::test(flavor = "multi_thread")]
async fn on_test_a_near_duplicate_is_compared_without_digits_and_on_val_single_answers_are_linked() {
    let (secchi, team) = Secchi::with_sample(Options::default()).await;
    secchi.import(Split::Val, "val.jsonl").await;
    let other = secchi.team("reef-lab").await;
    let strong = sample_bytes("predictions/strong_model.jsonl");
    submitted(&secchi, &other, &metadata("Kelp-8B"), strong.clone()).await;
    let own = submitted(&secchi, &team, &metadata("Reef-8B"), strong).await;
    let val = submitted(&secchi, &team, &val_metadata(), val_answers("A ray glides past.")).await;
    secchi.drain().await;
    let neighbour = report(&secchi, &team, &own).await["neighbours"][0].clone();
    let told = [&neighbour["difference"], &neighbour["ci95"], &neighbour["p"], &neighbour["is_real"]];
    assert_eq!(told, [&json!(0.0), &Value::Null, &Value::Null, &json!(false)]);
    let linked = report(&secchi, &team, &val).await["answers"].as_str().unwrap().to_owned();
    let outcomes = secchi.get_json(&linked, Some(&team.key)).await;
    assert!(outcomes["items"][0]["correct"].as_bool().unwrap());
}
