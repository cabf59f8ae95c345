//! From a file to a row: what the leaderboard shows, to whom, and in what order.

use reqwest::Method;
use serde_json::{Value, json};

use crate::support::{Options, Secchi, entries, metadata};

#[tokio::test(flavor = "multi_thread")]
async fn a_scored_public_submission_is_a_row_of_the_board() {
    let (secchi, team) = Secchi::with_sample(Options::default()).await;
    let submission = secchi.scored(&team, &metadata("Reef-8B"), "strong_model.jsonl").await;
    assert_eq!(submission["state"], "scored");
    let board = secchi.get_json("/api/v1/leaderboard", None).await;
    let row = &entries(&board)[0];
    assert_eq!(row["rank"], 1);
    assert_eq!(row["entry"], submission["id"]);
    assert_eq!(row["team"], "ocean-lab");
    assert_eq!(row["group"], "open-small");
    assert_eq!(row["scores"], submission["scores"]);
    assert_eq!(row["scores"].as_object().unwrap().len(), 15);
    let entry =
        secchi.get_json(&format!("/api/v1/entries/{}", submission["id"].as_str().unwrap()), None).await;
    assert_eq!(entry["scores"], submission["scores"]);
    let page = secchi.get("/", None).await.text().await.unwrap();
    assert!(page.contains("Reef-8B") && page.contains("Offline judge"), "{page}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_private_submission_is_on_no_board_and_an_anonymous_one_names_no_team() {
    let (secchi, team) = Secchi::with_sample(Options::default()).await;
    let mut private = metadata("Secret");
    private["visibility"] = json!("private");
    let submission = secchi.scored(&team, &private, "random.jsonl").await;
    let entry = format!("/api/v1/entries/{}", submission["id"].as_str().unwrap());
    assert_eq!(secchi.entries("/api/v1/leaderboard").await, json!([]));
    assert_eq!(secchi.get(&entry, None).await.status(), 404);

    let path = format!("/api/v1/submissions/{}", submission["id"].as_str().unwrap());
    let change = json!({ "visibility": "anonymous" });
    let changed = secchi.request(Method::PATCH, &path, Some(&team.key)).json(&change).send().await.unwrap();
    assert_eq!(changed.status(), 200);
    let board = secchi.get_json("/api/v1/leaderboard", None).await;
    assert_eq!(entries(&board)[0]["team"], Value::Null);
    assert_eq!(secchi.get_json(&entry, None).await["team"], Value::Null);
}

#[tokio::test(flavor = "multi_thread")]
async fn rows_come_sorted_and_a_missing_value_is_last_either_way() {
    let (secchi, team) = Secchi::with_sample(Options::default()).await;
    for (name, file) in
        [("Weak", "weak_model.jsonl"), ("Strong", "strong_model.jsonl"), ("Random", "random.jsonl")]
    {
        secchi.scored(&team, &metadata(name), file).await;
    }
    let names = async |path: &str| -> Vec<String> {
        let board = secchi.get_json(path, None).await;
        let rows = entries(&board).as_array().unwrap().clone();
        rows.iter().map(|row| row["model_name"].as_str().unwrap().to_owned()).collect()
    };
    assert_eq!(names("/api/v1/leaderboard").await[0], "Strong");
    assert_eq!(names("/api/v1/leaderboard?sort=MCQ").await[2], "Strong");
    let refused = secchi.get("/api/v1/leaderboard?sort=-nothing", None).await;
    assert_eq!(refused.status(), 400);
    assert_eq!(refused.json::<Value>().await.unwrap()["code"], "unknown_column");
}

#[tokio::test(flavor = "multi_thread")]
async fn an_unchanged_board_is_not_sent_again_and_a_changed_one_is() {
    let (secchi, team) = Secchi::with_sample(Options::default()).await;
    let first = secchi.get("/api/v1/leaderboard", None).await;
    let etag = first.headers()["etag"].to_str().unwrap().to_owned();
    let again = async || {
        let request = secchi.request(Method::GET, "/api/v1/leaderboard", None);
        request.header("If-None-Match", &etag).send().await.unwrap().status().as_u16()
    };
    assert_eq!(again().await, 304);
    secchi.scored(&team, &metadata("Reef-8B"), "weak_model.jsonl").await;
    assert_eq!(again().await, 200);
}
