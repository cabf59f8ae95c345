//! Entries and questions that are on one side of a correction only: what follows later, what is new and what is gone.

use std::collections::BTreeSet;

use reqwest::Method;
use serde_json::{Value, json};

use secchi::domain::question::Split;

use crate::corrections::{CORRECTED, activate, changed, correct, corrected, dataset, import};
use crate::staging::{BOARD, board, judged_by, rows};
use crate::stand_in::StandIn;
use crate::support::{Secchi, TestTeam, metadata};

/// Publishes a submission.
async fn publish(secchi: &Secchi, team: &TestTeam, id: &str) {
    let path = format!("/api/v1/submissions/{id}");
    let request = secchi.request(Method::PATCH, &path, Some(&team.key));
    let response = request.json(&json!({ "visibility": "public" })).send().await.unwrap();
    assert_eq!(response.status(), 200);
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_not_on_the_board_at_the_change_follows_when_it_is_published() {
    let judge = StandIn::start(0).await;
    let (secchi, team) = judged_by(&judge, "a").await;
    secchi.scored(&team, &metadata("Strong"), "strong_model.jsonl").await;
    let private = |name: &str| {
        let mut metadata = metadata(name);
        metadata["visibility"] = "private".into();
        metadata
    };
    let kept = secchi.scored(&team, &private("Kept"), "weak_model.jsonl").await;
    import(&secchi, &corrected()).await;
    correct(&secchi.ground, &[]);
    secchi.drain().await;
    let queued = secchi.accepted(&team, &metadata("Queued"), "random.jsonl").await;
    activate(&secchi.ground, CORRECTED).stdout();
    let view = async |id: &str| secchi.get_json(&format!("/api/v1/submissions/{id}"), Some(&team.key)).await;
    assert_eq!(view(&queued).await["release"], "sample", "it ends under the release that it was sent for");
    let names = async || {
        let found = rows(&board(&secchi, BOARD).await.0);
        found.iter().map(|row| row["model_name"].as_str().unwrap().to_owned()).collect::<BTreeSet<_>>()
    };
    assert_eq!(names().await, BTreeSet::from(["Strong".to_owned()]));
    secchi.drain().await;
    assert_eq!(names().await, BTreeSet::from(["Queued".to_owned(), "Strong".to_owned()]));
    assert_eq!(view(&queued).await["release"], CORRECTED);
    let id = kept["id"].as_str().unwrap();
    assert_eq!(view(id).await, kept, "what is private stays as its team read it");
    publish(&secchi, &team, id).await;
    secchi.drain().await;
    assert_eq!(names().await.len(), 3);
    assert_eq!(view(id).await["release"], CORRECTED);
    let new = secchi.scored(&team, &metadata("New"), "letters_noisy.jsonl").await;
    assert_eq!((&new["release"], &new["state"]), (&json!(CORRECTED), &json!("scored")));

    let refused = activate(&secchi.ground, "sample");
    assert!(refused.code == Some(1) && refused.stderr.contains("1 of 4 entries"), "{refused:?}");
    let calls = judge.calls();
    dataset(&secchi.ground, &["correct", "sample"]).stdout();
    secchi.drain().await;
    activate(&secchi.ground, "sample").stdout();
    assert_eq!(rows(&board(&secchi, BOARD).await.0).len(), 4);
    assert!(judge.calls() - calls <= 2, "only the changed questions of the new entry are judged");
}

#[tokio::test(flavor = "multi_thread")]
async fn questions_that_are_new_count_as_missing_and_those_that_are_gone_do_not_count() {
    let judge = StandIn::start(0).await;
    let (secchi, team) = judged_by(&judge, "a").await;
    let gone = "MVK--reef_dive_0007--q1";
    let shorter = changed(|record| record["question_id"] != gone);
    secchi.import_as("shorter", Split::Test, &shorter[..]).await;
    let entry = secchi.scored(&team, &metadata("Perfect"), "perfect.jsonl").await;
    let path = format!("/api/v1/entries/{}", entry["id"].as_str().unwrap());
    let view = async || secchi.get_json(&path, None).await;
    let first = view().await;
    let ground = &secchi.ground;

    let dry = dataset(ground, &["correct", "shorter", "--dry-run", "--json"]).json();
    let changes = &dry["correction"]["changes"]["questions"];
    assert_eq!(changes[0]["differences"], json!(["removed"]), "{changes}");
    assert!(judge.calls() > 0 && dry["correction"]["cost"]["calls"] == 0, "{dry}");
    dataset(ground, &["correct", "shorter"]).stdout();
    secchi.drain().await;
    activate(ground, "shorter").stdout();
    let without = view().await;
    let questions = |view: &Value| view["coverage"]["questions"].as_i64().unwrap();
    assert_eq!(questions(&without), questions(&first) - 1);
    assert_eq!(without["scores"]["MBC-so"]["n"], first["scores"]["MBC-so"]["n"].as_i64().unwrap() - 1);

    // A file that never answered the question: there it is new.
    let sent = changed(|record| record["question_id"] != gone);
    let answers: String = String::from_utf8(sent)
        .unwrap()
        .lines()
        .map(|line| serde_json::from_str::<Value>(line).unwrap())
        .map(|record| {
            let letter = record["answer"].as_str().filter(|letter| !letter.is_empty()).unwrap_or("A ray.");
            format!("{}\n", json!({ "question_id": record["question_id"], "answer": letter }))
        })
        .collect();
    let response = secchi.submit(&team, &metadata("Later"), answers.into_bytes()).await;
    let later = response.json::<Value>().await.unwrap()["id"].as_str().unwrap().to_owned();
    secchi.drain().await;
    let back = dataset(ground, &["correct", "sample"]).stdout();
    assert!(back.contains("1 are new: no entry was asked them"), "{back}");
    secchi.drain().await;
    activate(ground, "sample").stdout();
    let again = view().await;
    assert_eq!((&again["coverage"], &again["scores"]), (&first["coverage"], &first["scores"]));
    let later = secchi.get_json(&format!("/api/v1/entries/{later}"), None).await;
    assert_eq!(questions(&later) - later["coverage"]["answered"].as_i64().unwrap(), 1);
    assert!(later["scores"]["MBC-so"]["value"].as_f64().unwrap() < 100.0, "{later}");
}
