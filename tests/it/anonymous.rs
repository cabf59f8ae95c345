//! Entries without a name: until their day, for their reviewers, and that nothing on the way tells whose they are.

use reqwest::{Method, Response};
use serde_json::{Value, json};

use crate::support::{Options, Secchi, TestTeam, entries, metadata, problem};

const DAY_MS: i64 = 24 * 3_600_000;

fn anonymous(model_name: &str, until: Option<&str>) -> Value {
    let mut metadata = metadata(model_name);
    metadata["visibility"] = "anonymous".into();
    metadata["description"] = "by the Ocean Lab".into();
    metadata["paper_url"] = "https://ocean-lab.example.org/paper".into();
    metadata["code_url"] = "https://ocean-lab.example.org/code".into();
    if let Some(until) = until {
        metadata["anonymous_until"] = until.into();
    }
    metadata
}

async fn change(secchi: &Secchi, team: &TestTeam, id: &str, change: Value) -> Response {
    let path = format!("/api/v1/submissions/{id}");
    secchi.request(Method::PATCH, &path, Some(&team.key)).json(&change).send().await.unwrap()
}

async fn row(secchi: &Secchi, id: &str) -> Value {
    let board = secchi.get_json("/api/v1/leaderboard?all=1", None).await;
    entries(&board).as_array().unwrap().iter().find(|row| row["entry"] == *id).unwrap().clone()
}

fn id_of(submission: &Value) -> String {
    submission["id"].as_str().unwrap().to_owned()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_name_is_shown_from_the_day_that_the_team_chose() {
    let (secchi, team) = Secchi::with_sample(Options::default()).await;
    let submission =
        secchi.scored(&team, &anonymous("Reef-8B", Some("2026-12-02")), "weak_model.jsonl").await;
    assert_eq!(submission["anonymous_until"], "2026-12-02");
    let id = id_of(&submission);
    assert_eq!(row(&secchi, &id).await["team"], Value::Null);
    let etag = secchi.get("/api/v1/leaderboard", None).await.headers()["etag"].clone();
    // Another day, and back again; null is never.
    for until in [json!("2027-01-01"), Value::Null, json!("2026-12-01")] {
        let changed = change(&secchi, &team, &id, json!({ "anonymous_until": until })).await;
        assert_eq!(changed.json::<Value>().await.unwrap()["anonymous_until"], until);
    }
    secchi.clock.advance_ms(DAY_MS / 2 - 1);
    secchi.drain().await;
    assert_eq!(row(&secchi, &id).await["team"], Value::Null, "the day has not come");
    secchi.clock.advance_ms(1);
    secchi.drain().await;
    assert_eq!(row(&secchi, &id).await["team"], "ocean-lab");
    assert_ne!(secchi.get("/api/v1/leaderboard", None).await.headers()["etag"], etag);
    let entry = secchi.get_json(&format!("/api/v1/entries/{id}"), None).await;
    assert_eq!((&entry["team"], &entry["description"]), (&json!("ocean-lab"), &json!("by the Ocean Lab")));
    let own = secchi.get_json(&format!("/api/v1/submissions/{id}"), Some(&team.key)).await;
    assert_eq!((&own["visibility"], &own["anonymous_until"]), (&json!("public"), &Value::Null));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_private_submission_stays_private_whatever_day_it_has() {
    let (secchi, team) = Secchi::with_sample(Options::default()).await;
    let mut private = anonymous("Reef-8B", Some("2026-12-01"));
    private["visibility"] = "private".into();
    let id = id_of(&secchi.scored(&team, &private, "weak_model.jsonl").await);
    secchi.clock.advance_ms(3 * DAY_MS);
    secchi.drain().await;
    problem(secchi.get(&format!("/api/v1/entries/{id}"), None).await, 404).await;
    // Made anonymous now, its day would be over: it says so and stays as it is.
    let refusal = problem(change(&secchi, &team, &id, json!({ "visibility": "anonymous" })).await, 422).await;
    assert_eq!(refusal["errors"][0]["pointer"], "/anonymous_until");
    let later = json!({ "visibility": "anonymous", "anonymous_until": "2027-01-01" });
    assert_eq!(change(&secchi, &team, &id, later).await.status(), 200);
    // Made public, there is nothing left to wait for.
    let public = change(&secchi, &team, &id, json!({ "visibility": "public" })).await;
    assert_eq!(public.json::<Value>().await.unwrap()["anonymous_until"], Value::Null);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_day_that_is_none_over_or_far_away_is_refused() {
    let (secchi, team) = Secchi::with_sample(Options::default()).await;
    let file = crate::support::sample_bytes("predictions/weak_model.jsonl");
    for until in
        ["soon", "2026-13-01", "2026-11-30", "2020-01-01", "2028-12-01", "2026-12-01T00:00:00Z", "a\u{0}"]
    {
        let response = secchi.submit(&team, &anonymous("Reef-8B", Some(until)), file.clone()).await;
        let refusal = problem(response, 422).await;
        assert_eq!(refusal["errors"][0]["pointer"], "/anonymous_until", "{until}: {refusal}");
    }
    let mut public = anonymous("Reef-8B", Some("2027-01-01"));
    public["visibility"] = "public".into();
    problem(secchi.submit(&team, &public, file).await, 422).await;
    let id = id_of(&secchi.scored(&team, &anonymous("Reef-8B", None), "weak_model.jsonl").await);
    for until in ["2026-11-30", "2028-12-01", "never"] {
        problem(change(&secchi, &team, &id, json!({ "anonymous_until": until })).await, 422).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn nothing_that_is_public_tells_whose_an_anonymous_entry_is() {
    let (secchi, team) = Secchi::with_sample(Options::default()).await;
    let named = id_of(&secchi.scored(&team, &metadata("Reef-8B"), "weak_model.jsonl").await);
    let before = secchi.entries("/api/v1/leaderboard").await.clone();
    secchi.clock.advance_ms(1000);
    // Of the same model: else the named entry would give way to the nameless one.
    let id = id_of(&secchi.scored(&team, &anonymous("Reef-8B", None), "strong_model.jsonl").await);
    let board = secchi.get_json("/api/v1/leaderboard", None).await;
    let rows = entries(&board);
    let rows = rows.as_array().unwrap();
    assert_eq!(rows.len(), 2);
    secchi.clock.advance_ms(1000);
    let later = id_of(&secchi.scored(&team, &metadata("Reef-9B"), "random.jsonl").await);
    let with_later = secchi.entries("/api/v1/leaderboard").await;
    let with_later = with_later.as_array().unwrap();
    assert_eq!(with_later.iter().find(|row| row["entry"] == *later).unwrap()["attempts"], 2);
    let row = rows.iter().find(|row| row["entry"] == *id).unwrap();
    assert_eq!((&row["team"], &row["attempts"]), (&Value::Null, &Value::Null));
    let still = rows.iter().find(|row| row["entry"] == *named).unwrap();
    assert_eq!(
        (&still["attempts"], &still["submitted_at"]),
        (&before[0]["attempts"], &before[0]["submitted_at"])
    );
    let id = row["entry"].as_str().unwrap();
    let signed = secchi.get_json(&format!("/api/v1/entries/{id}/record"), None).await;
    assert_eq!(
        (&signed["record"]["team"], &signed["record"]["predictions_sha256"]),
        (&Value::Null, &Value::Null)
    );
    let tells = ["ocean-lab", "Ocean Lab", "example.org"];
    let entry = secchi.get(&format!("/api/v1/entries/{id}"), None).await.text().await.unwrap();
    let line = async |path: &str| {
        let text = secchi.get(path, None).await.text().await.unwrap();
        text.lines().find(|line| line.contains(id)).unwrap_or_default().to_owned()
    };
    let csv = line("/api/v1/leaderboard?format=csv&all=1").await;
    assert!(!csv.is_empty());
    let link =
        secchi.request(Method::POST, &format!("/api/v1/submissions/{id}/reviewers-link"), Some(&team.key));
    let token = link.send().await.unwrap().json::<Value>().await.unwrap()["token"].clone();
    let review = format!("/api/v1/review/{}", token.as_str().unwrap());
    let review = secchi.get(&review, None).await.text().await.unwrap();
    for text in [&entry, &csv, &review, &row.to_string()] {
        for tell in tells {
            assert!(!text.contains(tell), "{tell} in {text}");
        }
    }
    // Withdrawn, it says why and not who.
    let path = format!("/api/v1/submissions/{id}/withdraw");
    let request = secchi.request(Method::POST, &path, Some(&team.key));
    request.json(&json!({ "reason": "a wrong checkpoint" })).send().await.unwrap();
    let gone = problem(secchi.get(&format!("/api/v1/entries/{id}"), None).await, 410).await;
    assert!(!gone.to_string().contains("ocean-lab"), "{gone}");
}

#[tokio::test(flavor = "multi_thread")]
async fn reviewers_see_an_entry_without_its_name_until_the_team_ends_the_link() {
    let (secchi, team) = Secchi::with_sample(Options::default()).await;
    let mut private = anonymous("Reef-8B", None);
    private["visibility"] = "private".into();
    let id = secchi.accepted(&team, &private, "weak_model.jsonl").await;
    let path = format!("/api/v1/submissions/{id}/reviewers-link");
    let make = async || secchi.request(Method::POST, &path, Some(&team.key)).send().await.unwrap();
    assert_eq!(problem(make().await, 409).await["code"], "wrong_state");
    secchi.drain().await;
    let link = async || {
        let response = make().await;
        assert_eq!(response.status(), 201);
        assert_eq!(response.headers()["cache-control"], "no-store");
        let link: Value = response.json().await.unwrap();
        let token = link["token"].as_str().unwrap();
        assert_eq!(link["url"], format!("{}/review/{token}", secchi.base), "the address of its page");
        token.to_owned()
    };
    let first = link().await;
    let see = async |token: &str| secchi.get(&format!("/api/v1/review/{token}"), None).await;
    let seen = see(&first).await;
    assert_eq!(seen.headers()["x-robots-tag"], "noindex");
    assert_eq!(seen.headers()["cache-control"], "no-store");
    let entry: Value = seen.json().await.unwrap();
    let own = secchi.get_json(&format!("/api/v1/submissions/{id}"), Some(&team.key)).await;
    assert_eq!((&entry["scores"], &entry["coverage"]), (&own["scores"], &own["coverage"]));
    for field in ["team", "description", "paper_url", "code_url"] {
        assert_eq!(entry[field], Value::Null, "{field}");
    }
    // Published, its reviewers still see no name.
    change(&secchi, &team, &id, json!({ "visibility": "public" })).await;
    assert_eq!(see(&first).await.json::<Value>().await.unwrap()["team"], Value::Null);
    // A new link is the only one.
    let second = link().await;
    problem(see(&first).await, 404).await;
    assert_eq!(see(&second).await.status(), 200);
    for _ in 0..2 {
        let ended = secchi.request(Method::DELETE, &path, Some(&team.key)).send().await.unwrap();
        assert_eq!(ended.status(), 204);
        problem(see(&second).await, 404).await;
    }
    // What was withdrawn is withdrawn for reviewers too.
    let third = link().await;
    let withdraw = format!("/api/v1/submissions/{id}/withdraw");
    let request = secchi.request(Method::POST, &withdraw, Some(&team.key));
    request.json(&json!({ "reason": "a wrong checkpoint" })).send().await.unwrap();
    problem(see(&third).await, 410).await;
    assert_eq!(problem(make().await, 409).await["code"], "withdrawn");
}
