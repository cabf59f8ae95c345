//! Series of near-duplicates: what a team is told of them, what maintainers see, and that nothing else changes.

use std::collections::HashMap;

use reqwest::{Method, Response};
use serde_json::{Value, json};

use secchi::domain::question::Split;

use crate::operations::{answers, val_answers, val_metadata};
use crate::pages::Browser;
use crate::support::{Options, Secchi, TestTeam, metadata, problem, sample_bytes};

const SERIES: &str = "/api/v1/admin/series";

fn options() -> Options {
    let quota = vec!["--quota-per-day", "100", "--quota-total", "100", "--quota-val-per-day", "100"];
    Options { quota, ..Options::default() }
}

/// The sample's strong file with other letters at some places; `better` makes the letters of so many wrong answers right.
pub fn variant(places: &[usize], better: usize) -> Vec<u8> {
    let text = String::from_utf8(sample_bytes("predictions/strong_model.jsonl")).unwrap();
    let strong: HashMap<String, String> = text
        .lines()
        .map(|line| serde_json::from_str::<Value>(line).unwrap())
        .map(|record| (string(&record["question_id"]), string(&record["answer"])))
        .collect();
    let (seen, mended) = (std::cell::Cell::new(0), std::cell::Cell::new(0));
    answers("test.jsonl", |record| {
        let answer = strong[record["question_id"].as_str().unwrap()].clone();
        let Some(right) = record["answer"].as_str().filter(|right| !right.is_empty()) else { return answer };
        let place = seen.replace(seen.get() + 1);
        if places.contains(&place) {
            return if answer == "A" { "B".into() } else { "A".into() };
        }
        if answer != right && mended.get() < better {
            mended.set(mended.get() + 1);
            return right.to_owned();
        }
        answer
    })
}

fn string(value: &Value) -> String {
    value.as_str().unwrap().to_owned()
}

/// Submits a file to test, works it off and gives the submission as its team sees it.
pub async fn scored(secchi: &Secchi, team: &TestTeam, name: &str, file: Vec<u8>) -> Value {
    let sent: Value = secchi.submit(team, &metadata(name), file).await.json().await.unwrap();
    secchi.drain().await;
    let seen =
        secchi.get_json(&format!("/api/v1/submissions/{}", string(&sent["id"])), Some(&team.key)).await;
    assert_eq!(seen["state"], "scored");
    seen
}

/// The fourth near-duplicate of a team, whose scores are withheld, by its id.
pub async fn withheld(secchi: &Secchi, team: &TestTeam) -> String {
    let mut last = Value::Null;
    for n in 0..4 {
        last = scored(secchi, team, &format!("Reef-{n}B"), variant(&[n, n + 20][..n.min(2)], 0)).await;
    }
    assert!(!is_told(&last));
    string(&last["id"])
}

fn is_told(submission: &Value) -> bool {
    let warned = submission["warnings"].as_array().unwrap().iter();
    let is_warned = warned.into_iter().any(|warning| warning["code"] == "scores_withheld");
    let (mcq, pmt) = (submission["scores"].get("MCQ"), submission["scores"].get("PMT"));
    assert_eq!((mcq.is_some(), pmt.is_some()), (!is_warned, !is_warned), "{submission}");
    assert!(submission["scores"].get("OEMU").is_some());
    !is_warned
}

async fn flagged(secchi: &Secchi, maintainer: &TestTeam) -> Vec<Value> {
    secchi.get_json(SERIES, Some(&maintainer.key)).await["items"].as_array().unwrap().clone()
}

async fn tell(secchi: &Secchi, maintainer: &TestTeam, id: &str, reason: &str) -> Response {
    let request = secchi.request(Method::PATCH, &format!("{SERIES}/{id}"), Some(&maintainer.key));
    request.json(&json!({ "reason": reason })).send().await.unwrap()
}

async fn board(secchi: &Secchi) -> String {
    secchi.get("/api/v1/leaderboard?all=1", None).await.text().await.unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn from_the_fourth_near_duplicate_on_scores_are_told_only_where_they_are_measurably_better() {
    let (secchi, team) = Secchi::with_sample(options()).await;
    let maintainer = secchi.maintainer("harbour").await;
    let mut first = String::new();
    for n in 0..3 {
        let member = scored(&secchi, &team, "Reef-8B", variant(&[n, n + 20][..n.min(2)], 0)).await;
        assert!(is_told(&member), "{n}");
        if n == 0 {
            first = string(&member["id"]);
        }
    }
    assert_eq!(flagged(&secchi, &maintainer).await, Vec::<Value>::new());

    let fourth = scored(&secchi, &team, "Reef-9B", variant(&[40, 41], 0)).await;
    assert!(!is_told(&fourth));
    let id = string(&fourth["id"]);
    let page = Browser::signed_in(&secchi, &team).await.get(&format!("/submissions/{id}")).await.text;
    let said = string(&fourth["warnings"].as_array().unwrap().last().unwrap()["detail"]);
    assert!(page.contains("Scores withheld.") && page.contains(&said.replace('"', "&quot;")), "{page}");
    assert!(!page.contains("It is on the leaderboard"), "{page}");
    assert!(!board(&secchi).await.contains(&id));
    problem(secchi.get(&format!("/api/v1/entries/{id}/record"), None).await, 404).await;
    let seen = flagged(&secchi, &maintainer).await;
    let expected = json!({
        "submission": id, "team": "ocean-lab", "model_name": "Reef-9B", "series": first, "place": 4,
        "told": false, "nearest": { "submission": first, "compared": 151, "differing": 2 }, "twin": null,
        "flagged_at": "2026-11-30T12:00:00.000Z",
    });
    assert_eq!(seen, [expected]);
    // A file that was sent before tells nothing new, in either way.
    assert!(is_told(&scored(&secchi, &team, "Reef-8B", variant(&[], 0)).await));
    assert!(!is_told(&scored(&secchi, &team, "Reef-9B", variant(&[40, 41], 0)).await));
    // One that is better beyond chance is told, and then one must be better than that.
    assert!(is_told(&scored(&secchi, &team, "Reef-10B", variant(&[], 16)).await));
    assert!(!is_told(&scored(&secchi, &team, "Reef-11B", variant(&[], 15)).await));

    for (id, reason, status) in [(id.as_str(), " ", 422), (first.as_str(), "asked", 404)] {
        problem(tell(&secchi, &maintainer, id, reason).await, status).await;
    }
    let told: Value = tell(&secchi, &maintainer, &id, "An ablation for a paper.").await.json().await.unwrap();
    assert!(is_told(&told));
    assert!(board(&secchi).await.contains(&id));
    problem(tell(&secchi, &maintainer, &id, "again").await, 404).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn models_that_err_apart_are_no_series_and_val_has_none() {
    let (secchi, team) = Secchi::with_sample(options()).await;
    secchi.import(Split::Val, "val.jsonl").await;
    let maintainer = secchi.maintainer("harbour").await;
    for file in ["strong_model", "weak_model", "random", "perfect", "letters_noisy"] {
        let bytes = sample_bytes(&format!("predictions/{file}.jsonl"));
        assert!(is_told(&scored(&secchi, &team, file, bytes).await), "{file}");
    }
    for n in 0..6 {
        let mut file = String::from_utf8(val_answers("A ray glides past.")).unwrap();
        file = file.lines().skip(n).map(|line| format!("{line}\n")).collect();
        let sent: Value = secchi.submit(&team, &val_metadata(), file.into()).await.json().await.unwrap();
        secchi.drain().await;
        let path = format!("/api/v1/submissions/{}", string(&sent["id"]));
        assert!(secchi.get_json(&path, Some(&team.key)).await["scores"].get("MCQ").is_some());
    }
    assert_eq!(flagged(&secchi, &maintainer).await, Vec::<Value>::new());
}

#[tokio::test(flavor = "multi_thread")]
async fn another_teams_nearly_identical_file_is_shown_to_maintainers_and_scored_as_any() {
    let (secchi, team) = Secchi::with_sample(options()).await;
    let (other, maintainer) = (secchi.team("reef-lab").await, secchi.maintainer("harbour").await);
    let first = scored(&secchi, &team, "Reef-8B", variant(&[], 0)).await;
    let second = scored(&secchi, &other, "Kelp-8B", variant(&[7], 0)).await;
    assert!(is_told(&second));
    let seen = flagged(&secchi, &maintainer).await;
    assert_eq!(seen.len(), 1);
    let twin = json!({ "submission": first["id"], "compared": 151, "differing": 1 });
    assert_eq!(
        (&seen[0]["submission"], &seen[0]["place"], &seen[0]["twin"]),
        (&second["id"], &json!(1), &twin)
    );
    assert!(board(&secchi).await.contains(&string(&second["id"])));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_withheld_entry_is_not_compared_and_after_it_is_withdrawn_says_so() {
    let (secchi, team) = Secchi::with_sample(options()).await;
    let mut last = Value::Null;
    for n in 0..4 {
        last = scored(&secchi, &team, "Reef-8B", variant(&[n, n + 20][..n.min(2)], 0)).await;
    }
    assert!(!is_told(&last));
    let other = string(&secchi.entries("/api/v1/leaderboard").await[0]["entry"]);
    let id = string(&last["id"]);
    let compared = format!("/api/v1/compare?a={id}&b={other}");
    problem(secchi.get(&compared, None).await, 404).await;
    let reason = json!({ "reason": "Wrong weights." });
    let path = format!("/api/v1/submissions/{id}/withdraw");
    let withdrawn = secchi.request(Method::POST, &path, Some(&team.key)).json(&reason).send().await.unwrap();
    assert_eq!(withdrawn.status(), 200);
    problem(secchi.get(&compared, None).await, 410).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_corrected_release_begins_no_series_anew() {
    let (secchi, team) = Secchi::with_sample(options()).await;
    let (maintainer, other) = (secchi.maintainer("harbour").await, secchi.team("reef-lab").await);
    withheld(&secchi, &team).await;
    // One question is left out, so that all others have other places.
    let without_first =
        |file: Vec<u8>| file.split_inclusive(|byte| *byte == b'\n').skip(1).collect::<Vec<_>>().concat();
    secchi.import_as("corrected", Split::Test, &without_first(sample_bytes("test.jsonl"))[..]).await;
    let act = async |path: &str| {
        let path = format!("/api/v1/admin/releases/test/corrected/{path}");
        let request = secchi.request(Method::POST, &path, Some(&maintainer.key)).json(&json!({}));
        let response = request.send().await.unwrap();
        assert!(response.status().is_success(), "{path}: {}", response.text().await.unwrap());
    };
    // From here on this process keeps the release in memory, as one that is no correction yet.
    act("correction?dry_run=true").await;
    act("correction").await;
    secchi.drain().await;
    act("activation").await;
    let later = scored(&secchi, &team, "Reef-5B", without_first(variant(&[5, 25], 0))).await;
    assert!(!is_told(&later), "{later}");
    let better = scored(&secchi, &team, "Reef-6B", without_first(variant(&[], 30))).await;
    assert!(is_told(&better), "{better}");

    let twin = scored(&secchi, &other, "Kelp", without_first(variant(&[7, 40], 0))).await;
    let flags = secchi.get_json("/api/v1/admin/flag-queue?kind=twin", Some(&maintainer.key)).await;
    assert_eq!(flags["items"][0]["subject"], twin["id"], "{flags}");
}
