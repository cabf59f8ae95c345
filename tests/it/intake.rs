//! A request that is repeated is one submission, and a cancelled submission gives back what was not yet earned.

use std::sync::Arc;

use futures::future::join_all;
use reqwest::{Method, Response};
use serde_json::{Value, json};

use secchi::domain::actor::Actor;
use secchi::domain::question::Split;
use secchi::judge::ScriptedJudge;

use crate::support::{Options, Secchi, TestTeam, metadata, problem, sample_bytes};

async fn submit_under(secchi: &Secchi, team: &TestTeam, key: &str, metadata: &Value, file: &str) -> Response {
    let request = secchi.submission(team, metadata, sample_bytes(&format!("predictions/{file}")));
    request.header("Idempotency-Key", key).send().await.unwrap()
}

async fn accepted_id(response: Response) -> String {
    assert_eq!(response.status(), 202);
    response.json::<Value>().await.unwrap()["id"].as_str().unwrap().to_owned()
}

#[tokio::test(flavor = "multi_thread")]
async fn the_same_request_under_the_same_key_is_one_submission() {
    let quota = vec!["--quota-per-day", "2"];
    let (secchi, team) = Secchi::with_sample(Options { quota, ..Options::default() }).await;
    let reef = metadata("Reef-8B");
    let first = accepted_id(submit_under(&secchi, &team, "run-1", &reef, "strong_model.jsonl").await).await;
    let again = submit_under(&secchi, &team, "run-1", &reef, "strong_model.jsonl").await;
    assert_eq!(again.headers()["location"].to_str().unwrap(), format!("/api/v1/submissions/{first}"));
    assert_eq!(accepted_id(again).await, first);
    assert_eq!(secchi.used_today(&team).await, 1);

    // Under another key it is the same file all the same, but another model's is another one.
    let repeated = submit_under(&secchi, &team, "run-2", &reef, "strong_model.jsonl").await;
    assert_eq!(repeated.status(), 200);
    assert_eq!(repeated.json::<Value>().await.unwrap()["id"], *first);
    let other_model = metadata("Reef-9B");
    let second =
        accepted_id(submit_under(&secchi, &team, "run-3", &other_model, "strong_model.jsonl").await).await;
    assert_ne!(first, second);
    secchi.drain().await;
    // Neither the end of the work nor that of the quota changes what the key stands for.
    let late = submit_under(&secchi, &team, "run-1", &reef, "strong_model.jsonl").await;
    assert_eq!(accepted_id(late).await, first);
    assert_eq!(secchi.submission_ids(&team).await, [second, first]);
    // The key is the team's own.
    let other = secchi.team("deep-lab").await;
    let theirs = accepted_id(submit_under(&secchi, &other, "run-1", &reef, "weak_model.jsonl").await).await;
    assert_eq!(secchi.submission_ids(&other).await, [theirs]);
}

#[tokio::test(flavor = "multi_thread")]
async fn the_same_key_with_other_content_is_a_conflict() {
    let (secchi, team) = Secchi::with_sample(Options::default()).await;
    accepted_id(submit_under(&secchi, &team, "run-1", &metadata("Reef-8B"), "strong_model.jsonl").await)
        .await;
    for (name, file) in
        [("Reef-8B", "weak_model.jsonl"), ("Reef-9B", "strong_model.jsonl"), ("Reef-8B", "EXPECTED.json")]
    {
        let refusal = problem(submit_under(&secchi, &team, "run-1", &metadata(name), file).await, 409).await;
        assert_eq!(refusal["code"], "idempotency_conflict", "{name} {file}");
    }
    for key in ["", "two words", &"k".repeat(201)] {
        let refused = submit_under(&secchi, &team, key, &metadata("Reef-8B"), "strong_model.jsonl").await;
        assert_eq!(problem(refused, 400).await["code"], "malformed_form", "{key}");
    }
    assert_eq!(secchi.submission_ids(&team).await.len(), 1);
    assert_eq!(secchi.used_today(&team).await, 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_repeated_request_is_answered_though_its_release_is_no_longer_active() {
    let (secchi, team) = Secchi::with_sample(Options::default()).await;
    let reef = metadata("Reef-8B");
    let first = accepted_id(submit_under(&secchi, &team, "run-1", &reef, "strong_model.jsonl").await).await;
    // A release of other questions takes its place.
    secchi.import_as("next", Split::Test, &sample_bytes("train.jsonl")[..]).await;
    let store = &secchi.running.evaluation.store;
    let now_ms = secchi.clock.now_ms();
    secchi::evaluation::activating::make_active(
        store,
        &Actor::command_line(),
        Split::Test,
        "next".into(),
        now_ms,
    )
    .await
    .unwrap();
    let again = submit_under(&secchi, &team, "run-1", &reef, "strong_model.jsonl").await;
    assert_eq!(accepted_id(again).await, first);
    let new = submit_under(&secchi, &team, "run-2", &reef, "strong_model.jsonl").await;
    assert_eq!(problem(new, 422).await["errors"][0]["code"], "unknown_question");
}

#[tokio::test(flavor = "multi_thread")]
async fn sixteen_requests_under_one_key_at_once_are_one_submission() {
    let (secchi, team) = Secchi::with_sample(Options::default()).await;
    let reef = metadata("Reef-8B");
    let requests = (0..16).map(|_| submit_under(&secchi, &team, "run-1", &reef, "weak_model.jsonl"));
    let ids = join_all(join_all(requests).await.into_iter().map(accepted_id)).await;
    assert!(ids.iter().all(|id| *id == ids[0]), "{ids:?}");
    assert_eq!(secchi.submission_ids(&team).await, [ids[0].clone()]);
    assert_eq!(secchi.used_today(&team).await, 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn one_that_is_cancelled_before_it_is_graded_gives_its_quota_back() {
    let quota = vec!["--quota-per-day", "1"];
    let (secchi, team) = Secchi::with_sample(Options { quota, ..Options::default() }).await;
    let id = secchi.accepted(&team, &metadata("Reef-8B"), "strong_model.jsonl").await;
    assert_eq!(secchi.used_today(&team).await, 1);
    let path = format!("/api/v1/submissions/{id}");
    let cancel = || secchi.request(Method::DELETE, &path, Some(&team.key)).send();
    let cancelled: Value = cancel().await.unwrap().json().await.unwrap();
    assert_eq!(cancelled["state"], "cancelled");
    assert!(cancelled["finished_at"].is_string());
    assert_eq!(secchi.used_today(&team).await, 0);
    // Once is enough, and nobody works on it any more.
    assert_eq!(problem(cancel().await.unwrap(), 409).await["code"], "wrong_state");
    secchi.drain().await;
    assert_eq!(secchi.get_json(&path, Some(&team.key)).await, cancelled);
    assert_eq!(secchi.used_today(&team).await, 0);
    secchi.accepted(&team, &metadata("Reef-8B"), "strong_model.jsonl").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn one_that_is_cancelled_after_it_was_graded_has_used_its_quota() {
    let judge = Arc::new(ScriptedJudge::in_turn([]));
    let options = Options { given_judge: Some(judge), ..Options::default() };
    let (secchi, team) = Secchi::with_sample(options).await;
    let judging = secchi.scored(&team, &metadata("Reef-8B"), "strong_model.jsonl").await;
    assert_eq!((&judging["state"], &judging["paused_for"]), (&json!("judging"), &json!("judge_unavailable")));
    assert_eq!(judging["scores"].as_object().unwrap().len(), 8, "what needs no judge stands already");
    let path = format!("/api/v1/submissions/{}", judging["id"].as_str().unwrap());
    let cancelled = secchi.request(Method::DELETE, &path, Some(&team.key)).send().await.unwrap();
    assert_eq!(cancelled.status(), 200);
    let cancelled: Value = cancelled.json().await.unwrap();
    assert_eq!((&cancelled["state"], &cancelled["paused_for"]), (&json!("cancelled"), &Value::Null));
    assert_eq!(secchi.used_today(&team).await, 1);
}
