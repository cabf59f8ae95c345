//! What a team may submit: counted by the UTC day and in all, exact however many ask at once.

use futures::future::join_all;
use serde_json::{Value, json};

use secchi::domain::question::Split;

use crate::support::{Options, Secchi, TestTeam, metadata, problem, sample_bytes};

const HOUR_MS: i64 = 3_600_000;

async fn refused(secchi: &Secchi, team: &TestTeam) -> (Value, Option<u64>) {
    let file = sample_bytes("predictions/weak_model.jsonl");
    let response = secchi.submit(team, &metadata("Reef-8B"), file).await;
    let retry_after =
        response.headers().get("retry-after").map(|value| value.to_str().unwrap().parse().unwrap());
    (problem(response, 429).await, retry_after)
}

#[tokio::test(flavor = "multi_thread")]
async fn a_used_up_day_says_when_the_next_begins_and_then_it_goes_on() {
    let quota = vec!["--quota-per-day", "2"];
    let (secchi, team) = Secchi::with_sample(Options { quota, ..Options::default() }).await;
    for _ in 0..2 {
        secchi.accepted(&team, &metadata("Reef-8B"), "weak_model.jsonl").await;
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
    secchi.accepted(&team, &metadata("Reef-8B"), "weak_model.jsonl").await;
    assert_eq!(secchi.used_today(&team).await, 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn when_all_is_used_up_no_wait_is_named() {
    let quota = vec!["--quota-per-day", "1", "--quota-total", "2"];
    let (secchi, team) = Secchi::with_sample(Options { quota, ..Options::default() }).await;
    secchi.accepted(&team, &metadata("Reef-8B"), "weak_model.jsonl").await;
    secchi.clock.advance_ms(24 * HOUR_MS);
    secchi.accepted(&team, &metadata("Reef-8B"), "weak_model.jsonl").await;
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
    let metadata = metadata("Reef-8B");
    let requests = (0..16).map(|n| servers[n % servers.len()].submit(&team, &metadata, file.clone()));
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
