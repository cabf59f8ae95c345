//! The commands that a team submits and follows with: the real program against a real server, and against servers that
//! misbehave.

use std::path::Path;
use std::process::Stdio;
use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value, json};
use tokio::net::TcpListener;

use crate::odd_server::{http, odd_server, speechless};
use crate::process::{Process, until};
use crate::program::{Ended, run, secchi as program};
use crate::support::{Ground, Options, Secchi, TestTeam, metadata, sample, sample_bytes};

const MODEL: [&str; 6] = ["--split", "test", "--model-name", "Reef-8B", "--access", "closed"];

/// `secchi submit` of a file to a server.
fn submit(folder: &Path, base: &str, key: &str, file: &Path, more: &[&str]) -> std::process::Command {
    let mut command = program(folder, &["submit", file.to_str().unwrap()]);
    command.args(MODEL).args(more).env("SECCHI_URL", base).env("SECCHI_API_KEY", key);
    command
}

fn submitted(secchi: &Secchi, team: &TestTeam, file: &Path, more: &[&str]) -> Ended {
    let mut command = submit(secchi.ground.data.path(), &secchi.base, &team.key, file, more);
    tokio::task::block_in_place(|| run(&mut command))
}

#[tokio::test(flavor = "multi_thread")]
async fn a_watched_submission_is_followed_to_its_scores() {
    let (secchi, team) = Secchi::with_sample(Options { with_worker: true, ..Options::default() }).await;
    let file = sample("predictions/strong_model.jsonl");
    let text = submitted(&secchi, &team, &file, &["--watch"]).stdout();
    for word in ["scored", "MBC-so", "95 % interval", "judge of the open-ended columns: offline"] {
        assert!(text.contains(word), "{word}: {text}");
    }
    let id = &secchi.submission_ids(&team).await[0];
    assert!(text.contains(&format!("`secchi publish {id}` puts it on the board")), "{text}");
    let own = ["--url", &secchi.base, "--api-key", &team.key];
    let cli = |arguments: &[&str]| {
        let mut command = program(secchi.ground.data.path(), &[arguments, &own].concat());
        tokio::task::block_in_place(|| run(&mut command))
    };
    assert_eq!(cli(&["status", id, "--json"]).json()["state"], "scored");
    let published = cli(&["publish", id]).stdout();
    assert!(published.contains(&format!("{}/?split=test", secchi.base)), "{published}");
    assert_eq!(cli(&["publish", id, "--json"]).json()["visibility"], "public");
    assert!(cli(&["status"]).stdout().contains("public"));
    assert_eq!(
        cli(&["withdraw", id, "--reason", "Wrong weights.", "--json"]).json()["withdrawn_reason"],
        "Wrong weights."
    );
    let again = cli(&["withdraw", id, "--reason", "Wrong weights."]);
    assert!(again.code == Some(2) && again.stderr.contains("withdrawn"), "{again:?}");
    let unknown = cli(&["status", "019aa4f2-0000-7000-8000-000000000000"]);
    assert!(unknown.code == Some(2) && unknown.stderr.contains("not_found"), "{unknown:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_name_that_was_kept_hidden_is_shown_only_when_that_is_said() {
    let (secchi, team) = Secchi::with_sample(Options::default()).await;
    let hidden = [("anonymous", None), ("private", Some("2027-03-01"))];
    for (visibility, until) in hidden {
        let mut metadata = metadata(&format!("Reef-{visibility}"));
        metadata["visibility"] = visibility.into();
        metadata["anonymous_until"] = until.into();
        let submission = secchi.scored(&team, &metadata, "random.jsonl").await;
        let id = submission["id"].as_str().unwrap();
        let publish = |more: &[&str]| {
            let own = ["publish", id, "--url", &secchi.base, "--api-key", &team.key];
            let mut command = program(secchi.ground.data.path(), &[&own, more].concat());
            tokio::task::block_in_place(|| run(&mut command))
        };
        let refused = publish(&[]);
        assert!(refused.code == Some(2) && refused.stderr.contains("`--show-team`"), "{refused:?}");
        assert!(refused.stderr.contains(until.unwrap_or_default()), "{refused:?}");
        assert_eq!(publish(&["--anonymous", "--json"]).json()["visibility"], "anonymous");
        assert_eq!(publish(&["--show-team", "--json"]).json()["visibility"], "public");
        publish(&[]).stdout();
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn repeating_a_command_makes_no_second_submission_unless_that_is_wanted() {
    let (secchi, team) = Secchi::with_sample(Options::default()).await;
    let file = sample("predictions/random.jsonl");
    let first = submitted(&secchi, &team, &file, &["--json"]).json();
    let second = submitted(&secchi, &team, &file, &["--json"]).json();
    assert_eq!(first["id"], second["id"]);
    let path = format!("/api/v1/submissions/{}", first["id"].as_str().unwrap());
    secchi.request(reqwest::Method::DELETE, &path, Some(&team.key)).send().await.unwrap();
    let old = submitted(&secchi, &team, &file, &[]).stdout();
    assert!(old.contains("`--again` submits it anew") && old.contains("cancelled"), "{old}");
    let again = submitted(&secchi, &team, &file, &["--json", "--again"]).json();
    assert_ne!(first["id"], again["id"]);
    secchi.drain().await;
    let scored = submitted(&secchi, &team, &file, &["--again"]).stdout();
    assert!(scored.contains("was submitted before") && scored.contains("scored"), "{scored}");
    assert_eq!(secchi.submission_ids(&team).await.len(), 2);
}

#[tokio::test(flavor = "multi_thread")]
async fn every_fault_of_a_file_is_a_row_and_the_code_is_2() {
    let (secchi, team) = Secchi::with_sample(Options::default()).await;
    let file = secchi.ground.data.path().join("faulty.jsonl");
    std::fs::write(&file, "{\"question_id\": \"nope\", \"answer\": \"A\"}\n{\"answer\": 3}\n{oops\n")
        .unwrap();
    let refused = submitted(&secchi, &team, &file, &[]);
    assert_eq!(refused.code, Some(2), "{refused:?}");
    for word in ["unknown_question", "nope", "missing_field", "malformed_json", "line 3"] {
        assert!(refused.stdout.contains(word), "{word}: {}", refused.stdout);
    }
    assert!(
        refused.stderr.contains("(422, `invalid_predictions`): mend what is listed above (4 faults)"),
        "{refused:?}"
    );
    let json = submitted(&secchi, &team, &file, &["--json"]);
    let problem: Value = serde_json::from_str(&json.stdout).unwrap();
    assert_eq!((json.code, &problem["code"]), (Some(2), &"invalid_predictions".into()));
    assert_eq!(secchi.used_today(&team).await, 0);
    let metadata =
        submitted(&secchi, &team, &sample("predictions/random.jsonl"), &["--paper-url", "ftp://x"]);
    assert!(metadata.code == Some(2) && metadata.stdout.contains("/paper_url"), "{metadata:?}");
    assert!(metadata.stderr.contains("mend what is listed above (1 fault)"), "{metadata:?}");
    let none = submitted(&secchi, &team, Path::new("none.jsonl"), &[]);
    assert!(none.code == Some(2) && none.stderr.contains("`none.jsonl` cannot be read"), "{none:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_submission_that_ends_otherwise_than_scored_ends_with_3() {
    let (secchi, team) = Secchi::with_sample(Options::default()).await;
    let file = sample("predictions/random.jsonl");
    let id = submitted(&secchi, &team, &file, &["--json"]).json()["id"].as_str().unwrap().to_owned();
    let path = format!("/api/v1/submissions/{id}");
    secchi.request(reqwest::Method::DELETE, &path, Some(&team.key)).send().await.unwrap();
    let ended = submitted(&secchi, &team, &file, &["--watch"]);
    assert!(ended.code == Some(3) && ended.stderr.contains("`cancelled`"), "{ended:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_refused_key_ends_with_5_and_a_used_up_quota_with_2() {
    let options = Options { quota: vec!["--quota-per-day", "1"], ..Options::default() };
    let (secchi, team) = Secchi::with_sample(options).await;
    let file = sample("predictions/random.jsonl");
    let stranger = TestTeam { slug: "x".into(), key: "sk_secchi_unknown".into() };
    let unknown = submitted(&secchi, &stranger, &file, &[]);
    assert!(unknown.code == Some(5) && unknown.stderr.contains("unknown_credential"), "{unknown:?}");
    submitted(&secchi, &team, &file, &[]).stdout();
    let full = submitted(&secchi, &team, &sample("predictions/perfect.jsonl"), &[]);
    assert!(full.code == Some(2) && full.stderr.contains("of today are used"), "{full:?}");
    let nobody = TestTeam { slug: "x".into(), key: String::new() };
    let none = submitted(&secchi, &nobody, &file, &[]);
    assert!(none.code == Some(2) && none.stderr.contains("SECCHI_API_KEY"), "{none:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_killed_and_repeated_submit_makes_one_submission() {
    let ground = Ground::new();
    let (secchi, team) = {
        let secchi = Secchi::on(ground, Options { with_worker: true, ..Options::default() }).await;
        secchi.import(secchi::domain::question::Split::Test, "test.jsonl").await;
        let team = secchi.team("ocean-lab").await;
        (secchi, team)
    };
    let file = sample("predictions/strong_model.jsonl");
    for after_ms in [0, 30, 100, 300] {
        let mut command = submit(secchi.ground.data.path(), &secchi.base, &team.key, &file, &["--watch"]);
        let mut child = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
        tokio::time::sleep(Duration::from_millis(after_ms)).await;
        child.kill().unwrap();
        child.wait().unwrap();
    }
    let text = submitted(&secchi, &team, &file, &["--watch"]).stdout();
    assert!(text.contains("scored"), "{text}");
    assert_eq!(secchi.submission_ids(&team).await.len(), 1);
    assert_eq!(secchi.used_today(&team).await, 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_that_starts_anew_meanwhile_is_waited_for() {
    let ground = Ground::new();
    let (ground, team) = {
        let secchi = Secchi::on(ground, Options::default()).await;
        secchi.import(secchi::domain::question::Split::Test, "test.jsonl").await;
        let team = secchi.team("ocean-lab").await;
        (secchi.stop().await, team)
    };
    let mut first = Process::serve(&ground, "127.0.0.1:0", &["--no-worker".to_owned()]);
    let address = first.base.trim_start_matches("http://").to_owned();
    let file = sample("predictions/random.jsonl");
    let mut command = submit(ground.data.path(), &first.base, &team.key, &file, &["--watch", "--json"]);
    let child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    until("the upload", async || {
        let list = reqwest::Client::new().get(format!("{}/api/v1/submissions", first.base));
        let list: Value = list.bearer_auth(&team.key).send().await.unwrap().json().await.unwrap();
        !list["items"].as_array().unwrap().is_empty()
    })
    .await;
    first.kill();
    let _second = Process::serve_at(&ground, &address, "127.0.0.1:0", &[]);
    let output = tokio::task::spawn_blocking(|| child.wait_with_output().unwrap()).await.unwrap();
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(0), "{said}");
    assert_eq!(serde_json::from_slice::<Value>(&output.stdout).unwrap()["state"], "scored");
}

#[tokio::test(flavor = "multi_thread")]
async fn whatever_else_answers_is_told_in_one_sentence() {
    let folder = tempfile::tempdir().unwrap();
    let status = |base: &str| {
        let mut command = program(folder.path(), &["status", "--url", base, "--api-key", "k"]);
        tokio::task::block_in_place(|| run(&mut command))
    };
    let page =
        odd_server(|_, _| http("200 OK", "content-type: text/html\r\n", "<html>It works!</html>")).await;
    let moved = odd_server(|_, _| http("301 Moved", "location: https://elsewhere.example/\r\n", "")).await;
    let expired = odd_server(|_, _| {
        let problem =
            json!({"code": "expired_key", "detail": "the API key expired on 2026-11-01", "status": 401});
        http("401 Unauthorized", "content-type: application/problem+json\r\n", &problem.to_string())
    })
    .await;
    let tls = speechless().await;
    for (base, code, words) in [
        (page.as_str(), 4, "something that is not Secchi's: check SECCHI_URL"),
        (moved.as_str(), 4, "it points to `https://elsewhere.example/`"),
        (expired.as_str(), 5, "the API key expired on 2026-11-01"),
        (tls.as_str(), 4, "it speaks no TLS"),
        ("localhost:80", 2, "is no http or https address"),
    ] {
        let ended = status(base);
        assert!(ended.code == Some(code) && ended.stderr.contains(words), "{words}: {ended:?}");
        assert_eq!(ended.stderr.lines().count(), 1, "{ended:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_may_pass_is_tried_again_and_not_before_the_server_says() {
    let folder = tempfile::tempdir().unwrap();
    let list = json!({"items": [], "next_cursor": null}).to_string();
    let busy = odd_server(move |count, _| match count {
        0 => http("429 Too Many", "retry-after: 1\r\n", r#"{"code":"rate_limited","detail":"slow down"}"#),
        1 => http("503 Unavailable", "content-type: text/html\r\n", "<html>"),
        2 => b"HTTP/1.1 200 OK\r\ncontent-length: 400\r\n\r\n{\"items\"".to_vec(),
        _ => http("200 OK", "content-type: application/json\r\n", &list),
    })
    .await;
    let started = std::time::Instant::now();
    let mut command = program(folder.path(), &["status", "--url", &busy, "--api-key", "k", "--json"]);
    let ended = tokio::task::block_in_place(|| run(&mut command));
    assert!(started.elapsed() >= Duration::from_secs(1), "{:?}", started.elapsed());
    assert_eq!(ended.json()["items"], json!([]));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_that_is_not_there_ends_with_4() {
    let folder = tempfile::tempdir().unwrap();
    let free = TcpListener::bind("127.0.0.1:0").await.unwrap().local_addr().unwrap();
    let mut command =
        program(folder.path(), &["status", "--url", &format!("http://{free}"), "--api-key", "k"]);
    let ended = tokio::task::block_in_place(|| run(&mut command));
    assert_eq!(ended.code, Some(4), "{ended:?}");
    assert!(ended.stderr.contains("is it running, and are SECCHI_URL and HTTP_PROXY right?"), "{ended:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn events_are_gone_on_with_after_the_last_one_that_was_heard() {
    let folder = tempfile::tempdir().unwrap();
    let state = |state: &str| {
        json!({
            "id": "s1", "model_name": "Reef-8B", "state": state, "paused_for": null, "finished_at": null, "scores": {},
            "coverage": {"questions": 4}, "progress": {"graded": 0, "judged": 0, "failed": 0}, "warnings": [],
            "withdrawn_reason": null, "judge": null,
        })
    };
    let asked = Arc::new(std::sync::Mutex::new(Vec::new()));
    let heads = asked.clone();
    let base = odd_server(move |count, head| {
        heads.lock().unwrap().push(head.to_owned());
        let events = |text: &str| {
            let head = "HTTP/1.1 200 OK\r\nconnection: close\r\ncontent-type: text/event-stream\r\n\r\n";
            format!("{head}{text}").into_bytes()
        };
        if head.starts_with("POST") {
            return http("202 Accepted", "", &state("queued").to_string());
        }
        if !head.contains("/events") {
            return http("200 OK", "", &state(if count > 4 { "scored" } else { "judging" }).to_string());
        }
        match head.to_ascii_lowercase().contains("last-event-id: 7") {
            false => events("id: 7\nevent: state\ndata: {\"state\": \"judging\"}\n\nid: 8\nevent: prog"),
            true => events("id: 9\nevent: state\ndata: {\"state\": \"scored\"}\n\n"),
        }
    })
    .await;
    let file = sample("predictions/random.jsonl");
    let mut command = submit(folder.path(), &base, "k", &file, &["--watch", "--json"]);
    let ended = tokio::task::block_in_place(|| run(&mut command));
    assert_eq!(ended.json()["state"], "scored");
    let asked = asked.lock().unwrap();
    let events: Vec<&String> = asked.iter().filter(|head| head.contains("/events")).collect();
    assert_eq!(events.len(), 2, "{asked:?}");
    assert!(asked[0].to_ascii_lowercase().contains("idempotency-key: secchi-"), "{}", asked[0]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_file_that_is_too_large_is_refused_with_a_word() {
    let (secchi, team) =
        Secchi::with_sample(Options { http: vec!["--max-upload-bytes", "100000"], ..Options::default() })
            .await;
    let file = secchi.ground.data.path().join("large.jsonl");
    std::fs::write(&file, sample_bytes("predictions/random.jsonl").repeat(1000)).unwrap();
    let ended = submitted(&secchi, &team, &file, &[]);
    assert!(ended.code == Some(2) && ended.stdout.contains("too_large"), "{ended:?}");
}

#[test]
fn every_client_command_tells_its_exit_codes() {
    let folder = tempfile::tempdir().unwrap();
    for command in ["pull", "evaluate", "submit", "status", "publish", "withdraw", "grade"] {
        let text = run(&mut program(folder.path(), &[command, "--help"])).stdout();
        for words in ["Exit codes:", "2  refused", "4  the server", "5  the key"] {
            assert!(text.contains(words), "{command}: {text}");
        }
    }
}

#[test]
fn the_help_names_every_form_of_a_prediction_file() {
    let text = run(&mut program(Path::new("."), &["submit", "--help"])).stdout();
    for form in ["JSONL", "JSON array", "CSV", "TSV", "lmms-eval", "VLMEvalKit", ".xlsx"] {
        assert!(text.contains(form), "{form}: {text}");
    }
}
