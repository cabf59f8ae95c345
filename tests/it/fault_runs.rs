//! A whole server over a small release while the judge commits faults: what is scored in the end has the digits of a run
//! without any, nothing is paid for twice, and what never clears is incomplete and listed.

use std::time::Duration;

use futures::StreamExt as _;
use futures::stream;
use reqwest::Method;
use serde_json::{Value, json};

use secchi::clock::Clock;

use crate::process::until;
use crate::stand_in::{Conduct, FAULTS, Plan, StandIn};
use crate::support::{Options, Secchi, TestTeam, metadata};

const AT_ONCE: usize = 16;

/// Servers at once; they wait more than they work.
const RUNS_AT_ONCE: usize = 16;

/// Fifteen kinds of trouble, each with one call in fifty.
const MIXTURE: [&str; 15] = [
    "http500",
    "http503",
    "rate_limit",
    "slow_down",
    "bare_429",
    "conn_reset",
    "chunked_truncated",
    "invalid_envelope",
    "empty_content",
    "refusal_text",
    "length",
    "invalid_json",
    "score_string",
    "score_out_of_range",
    "duplicate_keys",
];

/// A server whose worker asks a judge of this conduct, with a team and a maintainer.
async fn served(plan: Plan) -> (StandIn, Secchi, TestTeam) {
    let judge = StandIn::with(Conduct { plan, ..Conduct::default() }).await;
    let mut flags = judge.flags(AT_ONCE);
    flags.extend(["--judge-timeout-s", "5"].map(str::to_owned));
    let options =
        Options { judge: flags, with_worker: true, clock: Some(Clock::System), ..Options::default() };
    let (secchi, team) = Secchi::with_sample(options).await;
    (judge, secchi, team)
}

async fn view(secchi: &Secchi, team: &TestTeam, id: &str) -> Value {
    secchi.get_json(&format!("/api/v1/submissions/{id}"), Some(&team.key)).await
}

/// Waits until the submission has ended, for as long as stops and probes may take.
async fn ended(secchi: &Secchi, team: &TestTeam, id: &str) -> Value {
    let is_open = |view: &Value| ["queued", "grading", "judging"].contains(&view["state"].as_str().unwrap());
    for _ in 0..10 {
        let waited = tokio::time::timeout(Duration::from_secs(55), async {
            until("the end", async || !is_open(&view(secchi, team, id).await)).await;
        });
        if waited.await.is_ok() {
            break;
        }
    }
    view(secchi, team, id).await
}

/// Scores of a run without faults.
async fn undisturbed() -> Value {
    let (_judge, secchi, team) = served(Plan::None).await;
    let id = secchi.accepted(&team, &metadata("Reef-8B"), "strong_model.jsonl").await;
    let submission = ended(&secchi, &team, &id).await;
    assert_eq!(submission["state"], "scored");
    secchi.stop().await;
    submission["scores"].clone()
}

/// One submission under a plan; what is wrong with what came of it.
async fn run(name: &str, plan: Plan, expected: &Value) -> Option<String> {
    let (judge, secchi, team) = served(plan).await;
    let id = secchi.accepted(&team, &metadata("Reef-8B"), "strong_model.jsonl").await;
    let submission = ended(&secchi, &team, &id).await;
    let stats = judge.stats();
    secchi.stop().await;
    let paid_twice = stats.repeat_after_success > 0 || stats.retry_after_violations > 0;
    if submission["state"] == "scored" && submission["scores"] == *expected && !paid_twice {
        return None;
    }
    Some(format!("{name}: {} {} {stats:?}", submission["state"], submission["progress"]))
}

#[tokio::test(flavor = "multi_thread")]
async fn every_kind_of_fault_at_the_first_call_about_each_answer_leaves_the_digits_as_they_are() {
    let expected = undisturbed().await;
    let runs = stream::iter(FAULTS).map(|fault| run(fault, Plan::Once(fault), &expected));
    let wrong: Vec<String> =
        runs.buffer_unordered(RUNS_AT_ONCE).filter_map(async |wrong| wrong).collect().await;
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_mixture_of_fifteen_kinds_leaves_the_digits_as_they_are() {
    let expected = undisturbed().await;
    let shares = || MIXTURE.iter().map(|fault| (*fault, 0.02)).collect();
    let runs = stream::iter(1..=4_u64).map(|seed| {
        let expected = &expected;
        async move { run(&format!("seed {seed}"), Plan::Mixture(shares(), seed), expected).await }
    });
    let wrong: Vec<String> =
        runs.buffer_unordered(RUNS_AT_ONCE).filter_map(async |wrong| wrong).collect().await;
    assert!(wrong.is_empty(), "{wrong:#?}");
}

/// Faults that are an answer's own where others are judged, with the reason that the maintainer reads.
const LASTING: [(&str, &str); 7] = [
    ("http500", "unavailable"),
    ("http400", "too_long"),
    ("http400_filter", "content_filter"),
    ("refusal", "refused"),
    ("length", "truncated"),
    ("invalid_json", "malformed"),
    ("missing_key", "malformed"),
];

#[tokio::test(flavor = "multi_thread")]
async fn what_never_clears_is_incomplete_unranked_and_listed_and_a_retry_asks_about_nothing_else() {
    let expected = undisturbed().await;
    let runs = stream::iter(LASTING).map(|(fault, reason)| lasting(fault, reason, &expected));
    let () = runs.buffer_unordered(RUNS_AT_ONCE).collect().await;
}

/// One fault at some answers: first for good, then cleared.
async fn lasting(fault: &'static str, reason: &str, expected: &Value) {
    // Every eighth message or so.
    let picks = |message: &str| message.bytes().map(u32::from).sum::<u32>().is_multiple_of(8);
    let (judge, secchi, team) = served(Plan::Only(Box::new(picks), fault)).await;
    let maintainer = secchi.maintainer("upkeep").await;
    let id = secchi.accepted(&team, &metadata("Reef-8B"), "strong_model.jsonl").await;
    let submission = ended(&secchi, &team, &id).await;
    let failed = submission["progress"]["failed"].as_u64().unwrap();
    assert_eq!(submission["state"], "incomplete", "{fault}: {submission}");
    assert!((1..48).contains(&failed), "{fault}: {submission}");
    assert_eq!(submission["progress"]["judged"], 48 - failed);
    assert_eq!(secchi.entries("/api/v1/leaderboard").await, json!([]));
    let path = format!("/api/v1/admin/submissions/{id}/failures");
    let listed = secchi.get_json(&path, Some(&maintainer.key)).await["items"].clone();
    let reasons: Vec<&str> =
        listed.as_array().unwrap().iter().map(|item| item["reason"].as_str().unwrap()).collect();
    assert_eq!(reasons, vec![reason; failed as usize], "{fault}");

    judge.clear();
    let asked = judge.calls();
    let retry = format!("/api/v1/admin/submissions/{id}/retry");
    let retried = secchi.request(Method::POST, &retry, Some(&maintainer.key)).send().await.unwrap();
    assert_eq!(retried.status(), 202);
    let submission = ended(&secchi, &team, &id).await;
    assert_eq!((&submission["state"], &submission["scores"]), (&json!("scored"), expected), "{fault}");
    assert_eq!(judge.calls() - asked, failed as usize, "{fault}");
    assert_eq!(judge.stats().repeat_after_success, 0, "{fault}");
    secchi.stop().await;
}
