//! A judge that is out of reach or wants money: calls stop at once, probes find out when it is back, and a limit that
//! both sides know is used without being passed.

use std::time::Duration;

use reqwest::Method;
use serde_json::{Value, json};

use crate::process::{Process, until};
use crate::program::run_on;
use crate::stand_in::{Conduct, Plan, Rate, StandIn};
use crate::support::{Ground, Options, Secchi, TestTeam, metadata, sample_bytes};

const AT_ONCE: usize = 8;
const ANY: &str = "127.0.0.1:0";

/// A ground with the sample's test release under the stand-in's configuration, and a team.
async fn prepared(judge: &StandIn) -> (Ground, TestTeam) {
    let options = Options { judge: judge.flags(AT_ONCE), ..Options::default() };
    let (secchi, team) = Secchi::with_sample(options).await;
    (secchi.stop().await, team)
}

async fn submitted(server: &Process, team: &TestTeam, file: &str) -> String {
    server.submit(team, &metadata(file), sample_bytes(&format!("predictions/{file}.jsonl"))).await
}

fn is_paused(submission: &Value) -> bool {
    (&submission["state"], &submission["paused_for"]) == (&json!("judging"), &json!("judge_unavailable"))
}

#[tokio::test(flavor = "multi_thread")]
async fn money_and_key_stop_all_calls_within_those_under_way_and_a_probe_finds_out_when_they_are_mended() {
    for fault in ["insufficient_quota", "http401"] {
        let judge = StandIn::with(Conduct { plan: Plan::Always(fault), ..Conduct::default() }).await;
        let (ground, team) = prepared(&judge).await;
        let server = Process::serve(&ground, ANY, &judge.flags(AT_ONCE));
        let id = submitted(&server, &team, "strong_model").await;
        until("the pause", async || is_paused(&server.submission(&team, &id).await)).await;
        assert!(judge.calls() <= AT_ONCE + 1, "{fault}: {} calls", judge.calls());
        assert_eq!(server.metric("secchi_judge_circuit_open").await, 1.0);
        judge.clear();
        let submission = server.ended(&team, &id).await;
        assert_eq!(submission["state"], "scored", "{fault}");
        assert_eq!(server.metric("secchi_judge_circuit_open").await, 0.0);
        assert_eq!(judge.stats().repeat_after_success, 0);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn one_worker_that_meets_the_end_of_the_money_stops_them_all() {
    let judge =
        StandIn::with(Conduct { plan: Plan::Always("insufficient_quota"), ..Conduct::default() }).await;
    let (ground, team) = prepared(&judge).await;
    if !ground.is_shared() {
        return;
    }
    let flags = judge.flags(AT_ONCE);
    let server = Process::serve(&ground, ANY, &[&["--no-worker".to_owned()], flags.as_slice()].concat());
    let workers: Vec<Process> = (0..3).map(|_| Process::worker(&ground, ANY, &flags)).collect();
    let mut ids = Vec::new();
    for file in ["strong_model", "weak_model", "random"] {
        ids.push(submitted(&server, &team, file).await);
    }
    for id in &ids {
        until("the pause", async || is_paused(&server.submission(&team, id).await)).await;
    }
    // Those that were under way at once, and a probe or two.
    assert!(judge.calls() <= AT_ONCE + 3, "{} calls", judge.calls());
    judge.clear();
    for id in &ids {
        assert_eq!(server.ended(&team, id).await["state"], "scored");
    }
    assert_eq!(judge.stats().repeat_after_success, 0);
    drop(workers);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_judge_that_gives_no_answer_is_left_alone_after_twenty_failures() {
    let judge = StandIn::with(Conduct { plan: Plan::Always("http500"), ..Conduct::default() }).await;
    let (ground, team) = prepared(&judge).await;
    let server = Process::serve(&ground, ANY, &judge.flags(4));
    let id = submitted(&server, &team, "strong_model").await;
    until("the pause", async || is_paused(&server.submission(&team, &id).await)).await;
    // Twenty answers that failed, those under way, and second tries of some.
    assert!(judge.calls() <= 48, "{} calls", judge.calls());
    judge.clear();
    let submission = server.ended(&team, &id).await;
    assert_eq!((&submission["state"], &submission["progress"]["failed"]), (&json!("scored"), &json!(0)));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_submission_that_goes_on_after_a_pause_does_not_say_that_it_is_paused() {
    let judge = StandIn::with(Conduct { plan: Plan::Always("http401"), ..Conduct::default() }).await;
    let (ground, team) = prepared(&judge).await;
    let server = Process::serve(&ground, ANY, &judge.flags(1));
    let id = submitted(&server, &team, "strong_model").await;
    until("the pause", async || is_paused(&server.submission(&team, &id).await)).await;
    judge.change(|conduct| (conduct.plan, conduct.latency) = (Plan::None, Duration::from_millis(200)));
    let mut submission = Value::Null;
    while submission["progress"]["judged"].as_u64() < Some(3) {
        submission = server.submission(&team, &id).await;
    }
    assert_eq!((&submission["state"], &submission["paused_for"]), (&json!("judging"), &Value::Null));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_check_that_passes_lets_judging_go_on() {
    let judge = StandIn::with(Conduct { plan: Plan::Always("http401"), ..Conduct::default() }).await;
    let (ground, team) = prepared(&judge).await;
    let server = Process::serve(&ground, ANY, &judge.flags(AT_ONCE));
    let id = submitted(&server, &team, "strong_model").await;
    until("the pause", async || is_paused(&server.submission(&team, &id).await)).await;
    let flags = judge.flags(1);
    let check: Vec<&str> = ["judge", "check"].into_iter().chain(flags.iter().map(String::as_str)).collect();
    let wrong_key = run_on(&ground, &check);
    assert_eq!(wrong_key.code, Some(1));
    assert!(wrong_key.stdout.contains("; set SECCHI_JUDGE_API_KEY to a key"), "{}", wrong_key.stdout);
    judge.clear();
    let said = run_on(&ground, &check).stdout();
    assert!(said.contains("is in force") && said.contains("that waited for it goes on"), "{said}");
    assert!(said.contains("there is no budget"), "{said}");
    assert_eq!(server.ended(&team, &id).await["state"], "scored");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_limit_that_both_sides_know_is_never_passed_by_one_worker_nor_by_three() {
    // 20 requests a second.
    let rate = Rate { requests: 1_200.0, window: Duration::from_secs(60) };
    let judge = StandIn::with(Conduct { rate: Some(rate), ..Conduct::default() }).await;
    let (ground, team) = prepared(&judge).await;
    let limit = ["--judge-rpm", "1200"].map(str::to_owned);
    let flags = [judge.flags(AT_ONCE).as_slice(), &limit].concat();
    let shared = ground.is_shared();
    let no_worker = if shared { vec!["--no-worker".to_owned()] } else { Vec::new() };
    let server = Process::serve(&ground, ANY, &[no_worker, flags.clone()].concat());
    let workers = if shared { 3 } else { 0 };
    let _workers: Vec<Process> = (0..workers).map(|_| Process::worker(&ground, ANY, &flags)).collect();
    let mut ids = Vec::new();
    for file in ["strong_model", "weak_model", "random"] {
        ids.push(submitted(&server, &team, file).await);
    }
    for id in &ids {
        assert_eq!(server.ended(&team, id).await["state"], "scored");
    }
    assert_eq!(judge.stats().rejected_by_rate, 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn fewer_places_than_were_set_are_found_out_and_fail_nobody() {
    let conduct = Conduct {
        max_concurrency: Some(3),
        latency: Duration::from_millis(20),
        retry_after: Duration::from_millis(20),
        ..Conduct::default()
    };
    let judge = StandIn::with(conduct).await;
    let (ground, team) = prepared(&judge).await;
    let server = Process::serve(&ground, ANY, &judge.flags(16));
    let id = submitted(&server, &team, "strong_model").await;
    let submission = server.ended(&team, &id).await;
    assert_eq!((&submission["state"], &submission["progress"]["failed"]), (&json!("scored"), &json!(0)));
    let stats = judge.stats();
    assert_eq!((stats.repeat_after_success, stats.retry_after_violations), (0, 0), "{stats:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn an_outage_that_begins_at_the_end_of_a_submission_is_no_failure_of_its_last_answers() {
    let judge = StandIn::with(Conduct { latency: Duration::from_millis(300), ..Conduct::default() }).await;
    let (ground, team) = prepared(&judge).await;
    let server = Process::serve(&ground, ANY, &judge.flags(4));
    let id = submitted(&server, &team, "strong_model").await;
    until("the end", async || judge.answered() >= 36).await;
    judge.change(|conduct| conduct.plan = Plan::Always("http500"));
    until("the pause", async || is_paused(&server.submission(&team, &id).await)).await;
    judge.clear();
    let submission = server.ended(&team, &id).await;
    assert_eq!((&submission["state"], &submission["progress"]["failed"]), (&json!("scored"), &json!(0)));
}

#[tokio::test(flavor = "multi_thread")]
async fn an_answer_that_gets_no_reply_is_given_up_after_a_while_though_nothing_else_is_judged() {
    let picks = |message: &str| message.bytes().map(u32::from).sum::<u32>().is_multiple_of(8);
    let plan = Plan::Only(Box::new(picks), "http500");
    let judge = StandIn::with(Conduct { plan, ..Conduct::default() }).await;
    let options = Options { judge: judge.flags(16), ..Options::default() };
    let (secchi, team) = Secchi::with_sample(options).await;
    let maintainer = secchi.maintainer("upkeep").await;
    let id = secchi.accepted(&team, &metadata("Reef-8B"), "strong_model.jsonl").await;
    let path = format!("/api/v1/submissions/{id}");
    let view = async || secchi.get_json(&path, Some(&team.key)).await;
    let ended = async |state: &str| {
        until(state, async || {
            tokio::select! {
                () = secchi.drain() => {}
                // A minute and a half passes in a second.
                () = passes(&secchi, 1_500) => {}
            }
            view().await["state"] == state
        })
        .await;
    };
    ended("incomplete").await;
    let failed = view().await["progress"]["failed"].as_u64().unwrap();
    assert!((1..48).contains(&failed), "{failed}");
    let listed = format!("/api/v1/admin/submissions/{id}/failures");
    let listed = secchi.get_json(&listed, Some(&maintainer.key)).await["items"].clone();
    let reasons: Vec<&Value> = listed.as_array().unwrap().iter().map(|item| &item["reason"]).collect();
    assert_eq!(reasons, vec!["unavailable"; failed as usize]);

    judge.clear();
    let retry = format!("/api/v1/admin/submissions/{id}/retry");
    let retried = secchi.request(Method::POST, &retry, Some(&maintainer.key)).send().await.unwrap();
    assert_eq!(retried.status(), 202);
    ended("scored").await;
    assert_eq!(judge.stats().repeat_after_success, 0);
}

/// Lets time pass by itself, so many milliseconds in each hundredth of a second.
async fn passes(secchi: &Secchi, by_ms: i64) {
    loop {
        tokio::time::sleep(Duration::from_millis(10)).await;
        secchi.clock.advance_ms(by_ms);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_wait_that_the_last_try_of_a_call_was_told_holds_for_the_next_call_too() {
    // Whatever is asked is told to wait, until it clears.
    let retry_after = Duration::from_millis(300);
    let picks = |message: &str| message.bytes().map(u32::from).sum::<u32>().is_multiple_of(16);
    let plan = Plan::Only(Box::new(picks), "rate_limit");
    let judge = StandIn::with(Conduct { plan, retry_after, ..Conduct::default() }).await;
    let (ground, team) = prepared(&judge).await;
    let server = Process::serve(&ground, ANY, &judge.flags(AT_ONCE));
    let id = submitted(&server, &team, "strong_model").await;
    until("the second call", async || judge.stats().attempts.keys().any(|tries| *tries > 6)).await;
    assert_eq!(judge.stats().retry_after_violations, 0);
    judge.clear();
    assert_eq!(server.ended(&team, &id).await["state"], "scored");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_wait_that_was_told_before_a_pause_holds_after_it() {
    let plan = Plan::Mixture(vec![("rate_limit", 0.3), ("http401", 0.1)], 1);
    let judge =
        StandIn::with(Conduct { plan, retry_after: Duration::from_secs(2), ..Conduct::default() }).await;
    let (ground, team) = prepared(&judge).await;
    let server = Process::serve(&ground, ANY, &judge.flags(AT_ONCE));
    let id = submitted(&server, &team, "strong_model").await;
    assert_eq!(server.ended(&team, &id).await["state"], "scored");
    let stats = judge.stats();
    assert!(stats.faults["http401"] > 0 && stats.faults["rate_limit"] > 0, "{stats:?}");
    assert_eq!((stats.repeat_after_success, stats.retry_after_violations), (0, 0), "{stats:?}");
}
