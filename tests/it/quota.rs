//! What a team may submit: counted by the UTC day and in all, exact however many ask at once.

use std::sync::Arc;

use futures::future::join_all;
use reqwest::{Method, Response};
use serde_json::{Value, json};

use secchi::domain::question::Split;
use secchi::judge::{Failure, PauseCause, ScriptedJudge};
use secchi::store::{StoreError, leases};

use crate::program::run_on;
use crate::support::{Options, Secchi, TestTeam, metadata, problem, sample_bytes};

const HOUR_MS: i64 = 3_600_000;

async fn refused(secchi: &Secchi, team: &TestTeam) -> (Value, Option<u64>) {
    let file = sample_bytes("predictions/weak_model.jsonl");
    let response = secchi.submit(team, &metadata("Refused-8B"), file).await;
    let retry_after =
        response.headers().get("retry-after").map(|value| value.to_str().unwrap().parse().unwrap());
    (problem(response, 429).await, retry_after)
}

#[tokio::test(flavor = "multi_thread")]
async fn a_used_up_day_says_when_the_next_begins_and_then_it_goes_on() {
    let quota = vec!["--quota-per-day", "2"];
    let (secchi, team) = Secchi::with_sample(Options { quota, ..Options::default() }).await;
    for name in ["Reef-8B", "Reef-9B"] {
        secchi.accepted(&team, &metadata(name), "weak_model.jsonl").await;
    }
    let (refusal, retry_after) = refused(&secchi, &team).await;
    assert_eq!(refusal["code"], "quota_exceeded");
    // The clock stands at noon.
    assert_eq!(retry_after, Some(12 * 3600));
    let mine = &secchi.get_json("/api/v1/me", Some(&team.key)).await["quota"][0];
    assert_eq!((&mine["left"], &mine["resets_in_s"]), (&json!(0), &json!(12 * 3600)));
    // Another team's quota is its own.
    let other = secchi.team("deep-lab").await;
    secchi.accepted(&other, &metadata("Reef-8B"), "weak_model.jsonl").await;

    secchi.clock.advance_ms(12 * HOUR_MS - 1);
    assert_eq!(refused(&secchi, &team).await.1, Some(1), "a wait is never said to be over before it is");
    secchi.clock.advance_ms(1);
    secchi.accepted(&team, &metadata("Reef-10B"), "weak_model.jsonl").await;
    assert_eq!(secchi.used_today(&team).await, 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn when_all_is_used_up_no_wait_is_named() {
    let quota = vec!["--quota-per-day", "1", "--quota-total", "2"];
    let (secchi, team) = Secchi::with_sample(Options { quota, ..Options::default() }).await;
    secchi.accepted(&team, &metadata("Reef-8B"), "weak_model.jsonl").await;
    secchi.clock.advance_ms(24 * HOUR_MS);
    secchi.accepted(&team, &metadata("Reef-9B"), "weak_model.jsonl").await;
    secchi.clock.advance_ms(24 * HOUR_MS);
    let (refusal, retry_after) = refused(&secchi, &team).await;
    assert_eq!((&refusal["code"], retry_after), (&json!("quota_exceeded"), None));
}

#[tokio::test(flavor = "multi_thread")]
async fn the_splits_are_counted_apart() {
    let quota = vec!["--quota-per-day", "1", "--quota-val-per-day", "1"];
    let (secchi, team) = Secchi::with_sample(Options { quota, ..Options::default() }).await;
    secchi.import(Split::Val, "val.jsonl").await;
    secchi.accepted(&team, &metadata("Reef-8B"), "weak_model.jsonl").await;
    let id = String::from_utf8(sample_bytes("val.jsonl")).unwrap();
    let id: Value = serde_json::from_str(id.lines().next().unwrap()).unwrap();
    let file = json!({ id["question_id"].as_str().unwrap(): "A" }).to_string();
    let mut of_val = metadata("Reef-8B");
    of_val["split"] = "val".into();
    assert_eq!(secchi.submit(&team, &of_val, file.clone().into()).await.status(), 202);
    of_val["model_name"] = "Reef-9B".into();
    problem(secchi.submit(&team, &of_val, file.into()).await, 429).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn sixteen_at_the_same_instant_never_pass_a_quota_of_one() {
    let options = || Options { quota: vec!["--quota-per-day", "1"], ..Options::default() };
    let (secchi, team) = Secchi::with_sample(options()).await;
    let mut servers = vec![];
    if secchi.ground.is_shared() {
        servers.push(Secchi::on(secchi.ground.shared(), options()).await);
    }
    servers.push(secchi);
    let file = sample_bytes("predictions/weak_model.jsonl");
    let metadata: Vec<Value> = (0..16).map(|n| metadata(&format!("Reef-{n}"))).collect();
    let requests = (0..16).map(|n| servers[n % servers.len()].submit(&team, &metadata[n], file.clone()));
    let answers = join_all(requests).await;
    let statuses: Vec<u16> = answers.iter().map(|answer| answer.status().as_u16()).collect();
    let count = |status: u16| statuses.iter().filter(|other| **other == status).count();
    assert_eq!((count(202), count(429)), (1, 15), "{statuses:?}");
    for server in &servers {
        assert_eq!(server.used_today(&team).await, 1);
        assert_eq!(server.submission_ids(&team).await.len(), 1);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_refused_file_uses_no_quota_even_when_it_is_the_last() {
    let quota = vec!["--quota-per-day", "1"];
    let (secchi, team) = Secchi::with_sample(Options { quota, ..Options::default() }).await;
    for _ in 0..3 {
        problem(secchi.submit(&team, &metadata("Reef-8B"), b"{}".to_vec()).await, 422).await;
    }
    secchi.accepted(&team, &metadata("Reef-8B"), "weak_model.jsonl").await;
}

async fn ledger(secchi: &Secchi, team: &TestTeam) -> Vec<(String, i64, Value)> {
    let page = secchi.get_json("/api/v1/quota/ledger", Some(&team.key)).await;
    let entry = |entry: &Value| {
        let kind = entry["kind"].as_str().unwrap().to_owned();
        (kind, entry["amount"].as_i64().unwrap(), entry["submission"].clone())
    };
    page["items"].as_array().unwrap().iter().map(entry).collect()
}

async fn grant(secchi: &Secchi, key: &str, slug: &str, request: Value) -> Response {
    let path = format!("/api/v1/admin/teams/{slug}/grants");
    secchi.request(Method::POST, &path, Some(key)).json(&request).send().await.unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn the_ledger_tells_what_was_charged_given_back_and_granted() {
    let quota = vec!["--quota-per-day", "1", "--quota-total", "1"];
    let (secchi, team) = Secchi::with_sample(Options { quota, ..Options::default() }).await;
    let maintainer = secchi.maintainer("harbour").await;
    let id = secchi.accepted(&team, &metadata("Reef-8B"), "weak_model.jsonl").await;
    let path = format!("/api/v1/submissions/{id}");
    secchi.request(Method::DELETE, &path, Some(&team.key)).send().await.unwrap();
    let charged = |kind: &str, id: &str| (kind.to_owned(), 1, json!(id));
    assert_eq!(ledger(&secchi, &team).await, [charged("refund", &id), charged("charge", &id)]);
    let second = secchi.accepted(&team, &metadata("Reef-8B"), "weak_model.jsonl").await;
    assert_eq!(refused(&secchi, &team).await.1, None, "all is used up");

    let two = json!({ "split": "test", "amount": 2, "reason": "the judge was down" });
    let granted = grant(&secchi, &maintainer.key, "ocean-lab", two.clone()).await;
    assert_eq!(granted.status(), 201);
    let quota = secchi.get_json("/api/v1/quota", Some(&team.key)).await;
    let test = &quota["items"][0];
    assert_eq!(
        (&test["left"], &test["used_today"], &test["granted_today"]),
        (&json!(2), &json!(1), &json!(2))
    );
    assert_eq!((&test["used_total"], &test["granted_total"]), (&json!(1), &json!(2)));
    assert_eq!(test["resets_at"], "2026-12-01T00:00:00.000Z");
    let third = secchi.accepted(&team, &metadata("Reef-9B"), "weak_model.jsonl").await;
    // The grant was for the day of the grant; in all it stays.
    secchi.clock.advance_ms(24 * HOUR_MS);
    secchi.accepted(&team, &metadata("Reef-10B"), "weak_model.jsonl").await;
    assert_eq!(refused(&secchi, &team).await.1, None);
    let entries = ledger(&secchi, &team).await;
    assert_eq!(entries[1..3], [charged("charge", &third), ("grant".to_owned(), 2, Value::Null)]);
    assert_eq!(entries[3], charged("charge", &second));
    let page = secchi.get_json("/api/v1/quota/ledger?limit=4", Some(&team.key)).await;
    assert_eq!(page["items"][2]["reason"], "the judge was down");
    let next = format!("/api/v1/quota/ledger?cursor={}", page["next_cursor"].as_str().unwrap());
    let rest = secchi.get_json(&next, Some(&team.key)).await;
    assert_eq!(rest["items"].as_array().unwrap().len(), 2);
    assert_eq!(rest["items"][0]["day"], "2026-11-30");

    for (request, pointer) in [
        (json!({ "split": "test", "amount": 0, "reason": "x" }), "/amount"),
        (json!({ "split": "test", "amount": -1, "reason": "x" }), "/amount"),
        (json!({ "split": "train", "amount": 1, "reason": "x" }), "/split"),
        (json!({ "split": "val", "amount": 1, "reason": " " }), "/reason"),
    ] {
        let refusal = problem(grant(&secchi, &maintainer.key, "ocean-lab", request).await, 422).await;
        assert_eq!(refusal["errors"][0]["pointer"], pointer, "{refusal}");
    }
    problem(grant(&secchi, &maintainer.key, "nobody", two.clone()).await, 404).await;
    problem(grant(&secchi, &team.key, "ocean-lab", two).await, 403).await;
    let run = |arguments: &[&str]| tokio::task::block_in_place(|| run_on(&secchi.ground, arguments));
    let command = ["team", "grant", "ocean-lab", "--split", "val", "--amount", "3", "--reason", "a lost day"];
    assert!(run(&command).stdout().contains('3'));
    assert_eq!(ledger(&secchi, &team).await[0], ("grant".to_owned(), 3, Value::Null));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_file_that_comes_again_is_the_submission_that_it_made_and_free() {
    let quota = vec!["--quota-per-day", "2"];
    let (secchi, team) = Secchi::with_sample(Options { quota, ..Options::default() }).await;
    let reef = metadata("Reef-8B");
    let id = secchi.accepted(&team, &reef, "strong_model.jsonl").await;
    secchi.drain().await;
    // The same answers in another format, and said to be described otherwise: still the same model.
    let mut described = reef.clone();
    described["description"] = "again".into();
    for (metadata, file) in [(&reef, "strong_model.jsonl"), (&described, "variant.csv.gz")] {
        let response = secchi.submit(&team, metadata, sample_bytes(&format!("predictions/{file}"))).await;
        assert_eq!(response.status(), 200);
        assert_eq!(response.headers()["location"], format!("/api/v1/submissions/{id}").as_str());
        let again: Value = response.json().await.unwrap();
        assert_eq!((&again["id"], &again["state"]), (&json!(id), &json!("scored")));
        let codes: Vec<&Value> = again["warnings"].as_array().unwrap().iter().map(|w| &w["code"]).collect();
        assert!(codes.contains(&&json!("repeated_file")), "{again}");
    }
    let request =
        secchi.submission_with("?dry_run=true", &team, &reef, sample_bytes("predictions/strong_model.jsonl"));
    let dry: Value = request.send().await.unwrap().json().await.unwrap();
    assert_eq!(dry["warnings"][0]["code"], "repeated_file", "{dry}");
    let own = secchi.get_json(&format!("/api/v1/submissions/{id}"), Some(&team.key)).await;
    assert!(own["warnings"].as_array().unwrap().iter().all(|w| w["code"] != "repeated_file"), "{own}");
    assert_eq!((secchi.used_today(&team).await, secchi.submission_ids(&team).await.len()), (1, 1));

    // What cannot be changed later makes it another model's.
    let mut larger = reef.clone();
    larger["parameters_b"] = json!(9);
    let second = secchi.accepted(&team, &larger, "strong_model.jsonl").await;
    assert_eq!(secchi.used_today(&team).await, 2);
    // Free even when nothing is left; another team's is its own.
    let response = secchi.submit(&team, &larger, sample_bytes("predictions/strong_model.jsonl")).await;
    assert_eq!(response.status(), 200);
    let other = secchi.team("deep-lab").await;
    secchi.accepted(&other, &reef, "strong_model.jsonl").await;
    // What was cancelled or withdrawn is not found again: it would be no way on.
    let path = format!("/api/v1/submissions/{second}");
    secchi.request(Method::DELETE, &path, Some(&team.key)).send().await.unwrap();
    let third = secchi.accepted(&team, &larger, "strong_model.jsonl").await;
    assert_ne!(second, third);
    secchi.clock.advance_ms(24 * HOUR_MS);
    let path = format!("/api/v1/submissions/{id}/withdraw");
    let withdrawal = secchi.request(Method::POST, &path, Some(&team.key)).json(&json!({ "reason": "wrong" }));
    assert_eq!(withdrawal.send().await.unwrap().status(), 200);
    secchi.accepted(&team, &reef, "strong_model.jsonl").await;
    assert_eq!(secchi.used_today(&team).await, 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn sixteen_times_the_same_file_at_once_is_one_submission() {
    let (secchi, team) = Secchi::with_sample(Options::default()).await;
    let (reef, file) = (metadata("Reef-8B"), sample_bytes("predictions/weak_model.jsonl"));
    let answers = join_all((0..16).map(|_| secchi.submit(&team, &reef, file.clone()))).await;
    let accepted = answers.iter().filter(|answer| answer.status() == 202).count();
    assert_eq!((accepted, answers.iter().filter(|answer| answer.status() == 200).count()), (1, 15));
    assert_eq!((secchi.used_today(&team).await, secchi.submission_ids(&team).await.len()), (1, 1));
}

/// Makes a submission fail as if the process that works on it died again and again.
async fn fail(secchi: &Secchi, id: &str) {
    for _ in 0..10 {
        let (name, now_ms) = (id.to_owned(), secchi.clock.now_ms());
        let store = &secchi.running.evaluation.store;
        let claimed: Result<_, StoreError> = store
            .write(move |connection| leases::claim_lease(connection, &name, "killed", now_ms, 1000))
            .await;
        assert!(claimed.unwrap().is_some());
        secchi.clock.advance_ms(1000);
    }
    // A pause of judging is over by then.
    secchi.clock.advance_ms(HOUR_MS);
    secchi.drain().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_fault_of_the_server_is_given_back_and_charged_again_when_it_is_mended() {
    let (secchi, team) = Secchi::with_sample(Options::default()).await;
    let maintainer = secchi.maintainer("harbour").await;
    let id = secchi.accepted(&team, &metadata("Reef-8B"), "strong_model.jsonl").await;
    fail(&secchi, &id).await;
    let path = format!("/api/v1/submissions/{id}");
    assert_eq!(secchi.get_json(&path, Some(&team.key)).await["state"], "failed");
    assert_eq!(secchi.used_today(&team).await, 0);
    // One that failed is not found again: it would be no way on.
    let second = secchi.accepted(&team, &metadata("Reef-8B"), "strong_model.jsonl").await;
    assert_ne!(second, id);
    let retry = format!("/api/v1/admin/submissions/{id}/retry");
    let retried = secchi.request(Method::POST, &retry, Some(&maintainer.key)).send().await.unwrap();
    assert_eq!(retried.status(), 202);
    assert_eq!(secchi.used_today(&team).await, 2, "both will have scores");
    secchi.drain().await;
    assert_eq!(secchi.get_json(&path, Some(&team.key)).await["state"], "scored");
    let kinds: Vec<String> = ledger(&secchi, &team).await.into_iter().map(|(kind, ..)| kind).collect();
    assert_eq!(kinds, ["charge", "charge", "refund", "charge"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn once_a_score_could_be_read_only_a_grant_gives_back() {
    let judge =
        ScriptedJudge::new(|_| Err(Failure::Pause { cause: PauseCause::Money, detail: "no credit".into() }));
    let options = Options { given_judge: Some(Arc::new(judge)), ..Options::default() };
    let (secchi, team) = Secchi::with_sample(options).await;
    let failing = secchi.accepted(&team, &metadata("Reef-8B"), "strong_model.jsonl").await;
    let cancelled = secchi.accepted(&team, &metadata("Reef-9B"), "strong_model.jsonl").await;
    secchi.drain().await;
    for id in [&failing, &cancelled] {
        let submission = secchi.get_json(&format!("/api/v1/submissions/{id}"), Some(&team.key)).await;
        assert_eq!(submission["state"], "judging");
        assert!(submission["scores"]["MCQ"].is_object(), "{submission}");
    }
    let path = format!("/api/v1/submissions/{cancelled}");
    assert_eq!(secchi.request(Method::DELETE, &path, Some(&team.key)).send().await.unwrap().status(), 200);
    fail(&secchi, &failing).await;
    let submission = secchi.get_json(&format!("/api/v1/submissions/{failing}"), Some(&team.key)).await;
    assert_eq!(submission["state"], "failed");
    assert_eq!(secchi.used_today(&team).await, 2);
    assert!(ledger(&secchi, &team).await.iter().all(|(kind, ..)| kind == "charge"));
}
