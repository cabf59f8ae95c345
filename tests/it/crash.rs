//! What a kill, a stop or a flush of Redis leaves behind: nothing lost, nothing changed, nothing paid for twice.

use std::process::Stdio;
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::by_hand::execute;
use crate::process::{OwnRedis, PATIENCE, Process, refusal, secchi, until};
use crate::stand_in::StandIn;
use crate::support::{Ground, Options, Secchi, TestTeam, metadata, sample_bytes};

/// Calls to the judge at once.
const AT_ONCE: usize = 4;

/// Any port; a process that is to be the same lease owner again gets its first one's.
const ANY: &str = "127.0.0.1:0";

/// An own judge, a ground with the sample's test release and a team, and the scores of a file in an undisturbed run.
async fn prepared(file: &str, redis_url: Option<&str>) -> (StandIn, Ground, TestTeam, Value) {
    let judge = StandIn::start(0).await;
    let options = || Options { judge: judge.flags(AT_ONCE), ..Options::default() };
    let (undisturbed, team) = Secchi::with_sample(options()).await;
    let submission = undisturbed.scored(&team, &metadata("Reef-8B"), file).await;
    assert_eq!(submission["state"], "scored");
    undisturbed.stop().await;
    judge.forget();

    let mut ground = Ground::new();
    if let Some(redis_url) = redis_url {
        ground.redis_url = Some(redis_url.to_owned());
    }
    let secchi = Secchi::on(ground, options()).await;
    secchi.import(secchi::domain::question::Split::Test, "test.jsonl").await;
    let team = secchi.team("ocean-lab").await;
    (judge, secchi.stop().await, team, submission["scores"].clone())
}

fn predictions(file: &str) -> Vec<u8> {
    sample_bytes(&format!("predictions/{file}"))
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_that_is_killed_again_and_again_ends_with_the_digits_of_an_undisturbed_run() {
    let (judge, ground, team, expected) = prepared("strong_model.jsonl", None).await;
    judge.set_latency_ms(50);
    let flags = judge.flags(AT_ONCE);
    let mut server = Process::serve(&ground, ANY, &flags);
    let metrics = server.metrics.clone();
    let id = server.submit(&team, &metadata("Reef-8B"), predictions("strong_model.jsonl")).await;
    let mut kills = 0;
    // Right after the 202, then a little later each time: while it grades, between grading and judging.
    for after_ms in [0, 2, 5, 10, 20] {
        tokio::time::sleep(Duration::from_millis(after_ms)).await;
        server.kill();
        kills += 1;
        server = Process::serve(&ground, &metrics, &flags);
    }
    for calls in [10, 25, 40] {
        until("judging", async || judge.calls() - judge.repeated() >= calls).await;
        server.kill();
        kills += 1;
        server = Process::serve(&ground, &metrics, &flags);
    }
    let started = Instant::now();
    let submission = server.ended(&team, &id).await;
    assert!(started.elapsed() < Duration::from_secs(10), "it waited for a lease: {:?}", started.elapsed());
    assert_eq!(submission["state"], "scored");
    assert_eq!(submission["scores"], expected);
    assert_eq!(submission["progress"]["judged"], submission["progress"]["to_judge"]);
    assert!(judge.repeated() <= kills * AT_ONCE, "{} calls were repeated", judge.repeated());
}

#[tokio::test(flavor = "multi_thread")]
async fn what_a_killed_process_had_stored_is_not_asked_again() {
    let (judge, ground, team, expected) = prepared("weak_model.jsonl", None).await;
    judge.set_latency_ms(100);
    let flags = judge.flags(AT_ONCE);
    let mut server = Process::serve(&ground, ANY, &flags);
    let id = server.submit(&team, &metadata("Reef-8B"), predictions("weak_model.jsonl")).await;
    until("judging", async || judge.calls() >= 24).await;
    server.kill();
    let server = Process::serve(&ground, &server.metrics, &flags);
    let submission = server.ended(&team, &id).await;
    assert_eq!((&submission["state"], &submission["scores"]), (&"scored".into(), &expected));
    assert!(judge.repeated() <= AT_ONCE, "{} calls were repeated", judge.repeated());
}

#[tokio::test(flavor = "multi_thread")]
async fn judgements_that_the_database_lost_in_a_crash_of_its_own_are_stored_again() {
    let (judge, ground, team, expected) = prepared("strong_model.jsonl", None).await;
    judge.set_latency_ms(300);
    let server = Process::serve(&ground, ANY, &judge.flags(AT_ONCE));
    let id = server.submit(&team, &metadata("Reef-8B"), predictions("strong_model.jsonl")).await;
    until("judging", async || judge.answered() > AT_ONCE).await;
    // What was not yet safe from a power cut.
    execute(&ground, "DELETE FROM judgements");
    assert_eq!(server.ended(&team, &id).await["scores"], expected);
    let calls = judge.calls();
    let again = server.submit(&team, &metadata("Reef-9B"), predictions("strong_model.jsonl")).await;
    assert_eq!(server.ended(&team, &again).await["scores"], expected);
    assert_eq!(judge.calls(), calls, "an answer that was paid for was asked about again");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_that_is_asked_to_stop_ends_in_good_order_and_repeats_no_call() {
    let (judge, ground, team, expected) = prepared("strong_model.jsonl", None).await;
    judge.set_latency_ms(400);
    let flags = judge.flags(AT_ONCE);
    let mut server = Process::serve(&ground, ANY, &flags);
    let id = server.submit(&team, &metadata("Reef-8B"), predictions("strong_model.jsonl")).await;
    until("judging", async || judge.calls() >= 10).await;
    let (status, took) = server.terminate().await;
    assert!(status.success(), "{status}");
    assert!(took < Duration::from_secs(10), "{took:?}");
    assert_eq!(judge.calls(), judge.answered(), "a call under way was given up");
    judge.set_latency_ms(0);
    // Another process, by another name: what was put back is taken up at once.
    let server = Process::serve(&ground, ANY, &flags);
    let started = Instant::now();
    let submission = server.ended(&team, &id).await;
    assert!(started.elapsed() < Duration::from_secs(10), "{:?}", started.elapsed());
    assert_eq!((&submission["state"], &submission["scores"]), (&"scored".into(), &expected));
    assert_eq!(judge.repeated(), 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_stop_does_not_wait_for_a_judge_that_hangs() {
    let (judge, ground, team, expected) = prepared("random.jsonl", None).await;
    judge.set_latency_ms(120_000);
    let flags = judge.flags(AT_ONCE);
    let mut server = Process::serve(&ground, ANY, &flags);
    let id = server.submit(&team, &metadata("Reef-8B"), predictions("random.jsonl")).await;
    until("judging", async || judge.calls() >= AT_ONCE).await;
    let (status, took) = server.terminate().await;
    assert!(status.success() && took < Duration::from_secs(10), "{status} after {took:?}");
    judge.set_latency_ms(0);
    let server = Process::serve(&ground, ANY, &flags);
    let submission = server.ended(&team, &id).await;
    assert_eq!((&submission["state"], &submission["scores"]), (&"scored".into(), &expected));
}

/// A server without a worker and two workers, on PostgreSQL with the Redis of the ground; none on SQLite.
fn three_processes(ground: &Ground, flags: &[String]) -> Option<(Process, [Process; 2])> {
    if !ground.is_shared() {
        return None;
    }
    let without_worker = [&["--no-worker".to_owned()], flags].concat();
    let server = Process::serve(ground, ANY, &without_worker);
    Some((server, [ANY, ANY].map(|metrics| Process::worker(ground, metrics, flags))))
}

/// The one of two workers that judges.
async fn busy(workers: [Process; 2]) -> (Process, Process) {
    let waiting = Instant::now();
    let [one, other] = workers;
    while waiting.elapsed() < PATIENCE {
        if one.metric("secchi_judge_in_flight").await > 0.0 {
            return (one, other);
        }
        if other.metric("secchi_judge_in_flight").await > 0.0 {
            return (other, one);
        }
    }
    panic!("no worker judges");
}

#[tokio::test(flavor = "multi_thread")]
async fn what_a_killed_worker_held_is_taken_up_by_the_other() {
    let (judge, ground, team, expected) = prepared("strong_model.jsonl", None).await;
    judge.set_latency_ms(300);
    let Some((server, workers)) = three_processes(&ground, &judge.flags(AT_ONCE)) else { return };
    let id = server.submit(&team, &metadata("Reef-8B"), predictions("strong_model.jsonl")).await;
    let (mut busy, _idle) = busy(workers).await;
    until("judging", async || judge.calls() >= 8).await;
    busy.kill();
    let killed = Instant::now();
    judge.set_latency_ms(0);
    let submission = server.ended(&team, &id).await;
    assert!(killed.elapsed() < Duration::from_secs(30), "{:?}", killed.elapsed());
    assert_eq!((&submission["state"], &submission["scores"]), (&"scored".into(), &expected));
    assert!(judge.repeated() <= AT_ONCE, "{} calls were repeated", judge.repeated());
}

#[tokio::test(flavor = "multi_thread")]
async fn what_a_killed_worker_held_is_taken_up_at_once_when_it_starts_again() {
    let (judge, ground, team, expected) = prepared("weak_model.jsonl", None).await;
    judge.set_latency_ms(300);
    let flags = judge.flags(AT_ONCE);
    let Some((server, workers)) = three_processes(&ground, &flags) else { return };
    let id = server.submit(&team, &metadata("Reef-8B"), predictions("weak_model.jsonl")).await;
    let (mut busy, _idle) = busy(workers).await;
    until("judging", async || judge.calls() >= 8).await;
    busy.kill();
    judge.set_latency_ms(0);
    let _again = Process::worker(&ground, &busy.metrics, &flags);
    let started = Instant::now();
    let submission = server.ended(&team, &id).await;
    assert!(started.elapsed() < Duration::from_secs(8), "it waited for a lease: {:?}", started.elapsed());
    assert_eq!((&submission["state"], &submission["scores"]), (&"scored".into(), &expected));
}

#[tokio::test(flavor = "multi_thread")]
async fn the_same_answers_in_the_hands_of_two_workers_are_judged_once() {
    let (judge, ground, team, expected) = prepared("strong_model.jsonl", None).await;
    judge.set_latency_ms(100);
    let Some((server, _workers)) = three_processes(&ground, &judge.flags(AT_ONCE)) else { return };
    let mut ids = Vec::new();
    for name in ["Reef-8B", "Reef-9B", "Reef-10B", "Reef-11B"] {
        ids.push(server.submit(&team, &metadata(name), predictions("strong_model.jsonl")).await);
    }
    for id in ids {
        let submission = server.ended(&team, &id).await;
        assert_eq!((&submission["state"], &submission["scores"]), (&"scored".into(), &expected));
    }
    assert_eq!((judge.calls(), judge.repeated()), (48, 0));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_flush_and_a_loss_of_redis_in_mid_run_change_nothing() {
    if !Ground::new().is_shared() {
        return;
    }
    let redis = OwnRedis::start().await;
    let (judge, ground, team, expected) = prepared("strong_model.jsonl", Some(&redis.url)).await;
    judge.set_latency_ms(100);
    let flags = judge.flags(AT_ONCE);
    let Some((server, workers)) = three_processes(&ground, &flags) else { return };
    let mut ids = Vec::new();
    for name in ["Reef-8B", "Reef-9B", "Reef-10B"] {
        ids.push(server.submit(&team, &metadata(name), predictions("strong_model.jsonl")).await);
        redis.flush().await;
    }
    until("judging", async || judge.calls() >= 8).await;
    redis.flush().await;
    let port = redis.port;
    drop(redis);
    let id = server.submit(&team, &metadata("Reef-11B"), predictions("strong_model.jsonl")).await;
    ids.push(id);
    let _redis = OwnRedis::start_on(port).await;
    for id in ids {
        let submission = server.ended(&team, &id).await;
        assert_eq!((&submission["state"], &submission["scores"]), (&"scored".into(), &expected));
    }
    drop(workers);
}

#[test]
fn processes_that_start_at_once_on_a_fresh_database_migrate_it_once() {
    for _ in 0..5 {
        let ground = Ground::new();
        let processes: Vec<_> =
            (0..6).map(|_| secchi("migrate", &ground).stdout(Stdio::null()).spawn().unwrap()).collect();
        for mut process in processes {
            assert!(process.wait().unwrap().success());
        }
    }
}

#[test]
fn settings_that_cannot_work_are_refused_at_start_with_a_clear_word() {
    let mut ground = Ground::new();
    let shared_redis = ground.redis_url.take();
    let any = ["--metrics-listen", ANY];
    let short = ["--listen", ANY, "--jwt-secret", "short"];
    let said = refusal(secchi("serve", &ground).args(any).args(short));
    assert!(said.contains("SECCHI_JWT_SECRET has 5 bytes"), "{said}");
    let said = refusal(secchi("worker", &ground).args(any));
    assert!(said.contains("needs PostgreSQL and Redis"), "{said}");

    ground.redis_url = Some(shared_redis.unwrap_or("redis://127.0.0.1:1/".into()));
    ground.database_url = format!("sqlite://{}/other.db", ground.data.path().display());
    let said = refusal(secchi("serve", &ground).args(any).args(["--listen", ANY]));
    assert!(said.contains("SECCHI_REDIS_URL needs PostgreSQL"), "{said}");
    assert!(!ground.data.path().join("other.db").exists(), "a refused start leaves no database");
}
