//! From a file to a row: what the leaderboard shows, to whom, and in what order.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use reqwest::Method;
use secchi::domain::question::Split;
use secchi::evaluation::board_query::BoardQuery;
use secchi::evaluation::boards::Boards;
use secchi::store::bump_board_revision;
use serde_json::{Value, json};

use crate::process::until;
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

#[tokio::test(flavor = "multi_thread")]
async fn the_papers_rows_and_blind_baselines_stand_among_the_entries_and_are_not_ranked() {
    let (secchi, team) = Secchi::with_sample(Options::default()).await;
    secchi.scored(&team, &metadata("Weak"), "weak_model.jsonl").await;
    let board = secchi.get_json("/api/v1/leaderboard", None).await;
    let rows = board["rows"].as_array().unwrap();
    let of = |flag: &str| rows.iter().filter(|row| row[flag] == true).collect::<Vec<_>>();
    let (reported, blind) = (of("reported"), of("blind"));
    assert_eq!((reported.len(), blind.len(), rows.len()), (12, 3, 16));
    for row in reported.iter().chain(&blind) {
        assert_eq!((&row["rank"], &row["entry"], &row["team"]), (&Value::Null, &Value::Null, &Value::Null));
    }
    let gemini = reported.iter().find(|row| row["model_name"] == "Gemini-3.1-Pro").unwrap();
    assert_eq!(gemini["scores"]["PMT"], json!({ "value": 90.0, "unit": "percent", "ci95": null, "n": null }));
    let mean = (93.3 + 76.6 + 90.0 + 66.6 + 96.6 + 66.6 + 35.3) / 7.0;
    assert!((gemini["scores"]["MCQ"]["value"].as_f64().unwrap() - mean).abs() < 1e-9);
    let columns = blind[0]["scores"].as_object().unwrap();
    assert!(columns.contains_key("MCQ") && columns.contains_key("SM-l") && !columns.contains_key("OEMU"));
    assert_eq!(rows.iter().find(|row| row["model_name"] == "Weak").unwrap()["rank"], 1);
    let values: Vec<f64> = rows.iter().map(|row| row["scores"]["MCQ"]["value"].as_f64().unwrap()).collect();
    assert!(values.is_sorted_by(|left, right| left >= right), "{values:?}");
    assert!(board["groups"][0]["reported_averages"]["OEMU"].as_f64().is_some());
    assert_eq!(secchi.get_json("/api/v1/leaderboard?split=val", None).await["rows"], json!([]));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_board_of_a_group_keeps_the_ranks_of_the_whole_list() {
    let (secchi, team) = Secchi::with_sample(Options::default()).await;
    secchi.scored(&team, &metadata("Strong"), "strong_model.jsonl").await;
    let mut closed = metadata("Closed");
    closed["access"] = json!("closed");
    secchi.scored(&team, &closed, "weak_model.jsonl").await;
    let rows = secchi.entries("/api/v1/leaderboard?group=closed").await;
    assert_eq!(rows.as_array().unwrap().len(), 1);
    assert_eq!((&rows[0]["model_name"], &rows[0]["rank"]), (&json!("Closed"), &json!(2)));
    let grouped = secchi.entries("/api/v1/leaderboard?view=groups&sort=MCQ").await;
    assert_eq!(grouped[0]["group"], "open-small");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_board_as_of_a_day_shows_what_was_published_by_then() {
    let (secchi, team) = Secchi::with_sample(Options::default()).await;
    let early = secchi.scored(&team, &metadata("Early"), "weak_model.jsonl").await;
    let mut late = metadata("Late");
    late["visibility"] = json!("private");
    let late = secchi.scored(&team, &late, "strong_model.jsonl").await;
    secchi.clock.advance_ms(3 * 86_400_000);
    let path = format!("/api/v1/submissions/{}", late["id"].as_str().unwrap());
    let change = json!({ "visibility": "public" });
    secchi.request(Method::PATCH, &path, Some(&team.key)).json(&change).send().await.unwrap();

    let now = secchi.entries("/api/v1/leaderboard").await;
    assert_eq!(now.as_array().unwrap().len(), 2);
    let day = early["finished_at"].as_str().unwrap().split('T').next().unwrap().to_owned();
    let then = secchi.get_json(&format!("/api/v1/leaderboard?as_of={day}"), None).await;
    let rows = crate::support::entries(&then);
    assert_eq!((rows.as_array().unwrap().len(), &rows[0]["model_name"]), (1, &json!("Early")));
    assert_eq!(then["as_of"], json!(format!("{day}T23:59:59.999Z")));
    let before = secchi.get_json("/api/v1/leaderboard?as_of=2001-01-01T00:00:00Z", None).await;
    assert_eq!((crate::support::entries(&before), &before["release"]), (json!([]), &Value::Null));
    let release = now[0]["entry"].is_string();
    assert!(release);
    for (query, code) in [
        ("as_of=yesterday", 400),
        ("as_of=9999-12-31T23:59:59-23:59", 400),
        ("release=none", 404),
        ("view=tree", 400),
    ] {
        let refused = secchi.get(&format!("/api/v1/leaderboard?{query}"), None).await;
        assert_eq!(refused.status(), code, "{query}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_was_asked_for_is_made_anew_after_a_change_before_anybody_asks_again() {
    let (secchi, _team) = Secchi::with_sample(Options::default()).await;
    let store = secchi.running.evaluation.store.clone();
    let (boards, made) = (Arc::new(Boards::default()), Arc::new(AtomicUsize::new(0)));
    let ask = async || {
        let made = made.clone();
        let render = move |_: &_| format!("{}", made.fetch_add(1, Ordering::SeqCst)).into_bytes();
        boards.rendered(&store, BoardQuery::of(Split::Test), "count".to_owned(), render).await.unwrap();
    };
    let change = async || store.write(bump_board_revision).await.unwrap();
    ask().await;
    assert_eq!(made.load(Ordering::SeqCst), 1);
    let keeping = (boards.clone(), store.clone());
    let keeper = tokio::spawn(async move { keeping.0.keep_prepared(&keeping.1).await });
    change().await;
    until("preparing", async || made.load(Ordering::SeqCst) == 2).await;
    ask().await;
    assert_eq!(made.load(Ordering::SeqCst), 2, "it was ready");

    // Asked for once since the last change, and not since this one.
    change().await;
    until("preparing", async || made.load(Ordering::SeqCst) == 3).await;
    change().await;
    let probe = Arc::new(AtomicUsize::new(0));
    let counted = probe.clone();
    let render = move |_: &_| format!("{}", counted.fetch_add(1, Ordering::SeqCst)).into_bytes();
    boards.rendered(&store, BoardQuery::of(Split::Val), "other".to_owned(), render).await.unwrap();
    change().await;
    until("preparing the other", async || probe.load(Ordering::SeqCst) == 2).await;
    assert_eq!(made.load(Ordering::SeqCst), 3, "what nobody asks for is made no more");
    keeper.abort();
}
