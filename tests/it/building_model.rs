//! The data engine's wrong options by a model: one that is slow, killed, wrong, repetitive or too dear.

use std::collections::HashMap;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use serde_json::{Value, json};

use crate::building::{annotations, assert_as_expected, build_questions, lines};
use crate::odd_server::{http, odd_server};
use crate::process::until;
use crate::program::{Ended, run};

/// A model that writes wrong values, and what it was asked.
struct Writer {
    base: String,
    asked: Arc<Mutex<HashMap<String, usize>>>,
}

impl Writer {
    /// `value` gives the text of the so-manieth value of an attribute, and is told how often the video was asked about.
    async fn start(latency_ms: u64, value: fn(&str, usize, &Value, bool) -> String) -> Writer {
        let asked = Arc::new(Mutex::new(HashMap::new()));
        let counts = asked.clone();
        let base = odd_server(move |_, request| {
            let (_, body) = request.split_once("\r\n\r\n").unwrap();
            let request: Value = serde_json::from_str(body).unwrap();
            let words = request["messages"][0]["content"].as_str().unwrap().to_owned();
            *counts.lock().unwrap().entry(words.clone()).or_insert(0) += 1;
            std::thread::sleep(Duration::from_millis(latency_ms));
            let objects: Vec<Value> = words.lines().filter_map(|line| serde_json::from_str(line).ok()).collect();
            let is_again = !words.contains("Refused in an earlier reply, and why; do not write these again:\nnone");
            let values = objects[1].as_object().unwrap().iter().map(|(name, count)| {
                let count = count.as_u64().unwrap() as usize + 2;
                let values: Vec<String> = (0..count).map(|number| value(name, number, &objects[0], is_again)).collect();
                (name.clone(), json!(values))
            });
            let values = Value::Object(values.collect());
            let text = format!("Here they are:\n```json\n{values}\n```");
            let body = json!({
                "id": "c", "object": "chat.completion", "model": "writer-1",
                "choices": [{"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": text}}],
                "usage": {"prompt_tokens": 1000, "completion_tokens": 100, "total_tokens": 1100},
            });
            http("200 OK", "content-type: application/json\r\n", &body.to_string())
        })
        .await;
        Writer { base: format!("{base}/v1"), asked }
    }

    fn calls(&self) -> usize {
        self.asked.lock().unwrap().values().sum()
    }

    fn most_asked(&self) -> usize {
        self.asked.lock().unwrap().values().copied().max().unwrap_or_default()
    }

    fn build(&self, folder: &Path, more: &[&str]) -> Command {
        let mut command = build_questions(
            folder,
            &annotations(),
            &["--base-url", &self.base, "--model", "writer", "--max-guessed", "100"],
        );
        command.args(more);
        command
    }

    fn built(&self, folder: &Path, more: &[&str]) -> Ended {
        tokio::task::block_in_place(|| run(&mut self.build(folder, more)))
    }
}

fn invented(name: &str, number: usize, _: &Value, _: bool) -> String {
    format!("invented{number} {name}")
}

#[tokio::test(flavor = "multi_thread")]
async fn a_killed_run_goes_on_and_gives_the_bytes_of_one_that_was_never_killed() {
    let (whole, killed) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let writer = Writer::start(60, invented).await;
    let told = writer.built(whole.path(), &[]).json();
    assert_eq!(
        (writer.calls(), &told["model"]["replies"], &told["wrong_values_drawn"]),
        (13, &json!(13), &json!(0))
    );
    assert_eq!(told["model"]["prompt_tokens"], json!(13_000));
    let questions = lines(&whole.path().join("questions.jsonl"));
    assert_as_expected(&questions, &lines(&annotations().with_file_name("expected.jsonl")));
    let other = Writer::start(60, invented).await;
    let mut process = other
        .build(killed.path(), &["--concurrency", "2"])
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let journal = killed.path().join("questions.journal.jsonl");
    let kept = || std::fs::read_to_string(&journal).unwrap_or_default().lines().count();
    until("some replies", async || kept() >= 4).await;
    process.kill().unwrap();
    process.wait().unwrap();
    let before = kept();
    assert!(before < 13 && !killed.path().join("questions.jsonl").exists());
    // What a power cut leaves of a line.
    let text = std::fs::read_to_string(&journal).unwrap();
    std::fs::write(&journal, format!("{text}{}", &text[..40])).unwrap();
    other.built(killed.path(), &[]).json();
    assert!(other.calls() <= 13 + 2, "only what was in flight is asked again: {}", other.calls());
    assert!(other.most_asked() <= 2);
    let bytes = |folder: &Path| std::fs::read(folder.join("questions.jsonl")).unwrap();
    assert_eq!(bytes(killed.path()), bytes(whole.path()));
    let calls = other.calls();
    other.built(killed.path(), &[]).json();
    assert_eq!((other.calls(), bytes(killed.path())), (calls, bytes(whole.path())));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_value_that_may_be_right_is_refused_and_asked_for_again_and_then_drawn() {
    let folder = tempfile::tempdir().unwrap();
    let writer = Writer::start(0, |name, number, annotation, is_again| match (name, is_again) {
        // The annotated value in other letters, what others do, and one value alone.
        ("environment", _) => annotation["environment"].as_str().unwrap_or("x").to_uppercase(),
        ("movement_behavior", false) => format!("other fish number {number} swimming past"),
        ("color", true) => format!("invented{number} color"),
        ("color", false) => annotation["color"].as_str().unwrap().replace(' ', "  "),
        _ => format!("invented{number} {name}"),
    })
    .await;
    let told = writer.built(folder.path(), &[]).json();
    assert_eq!((&told["doubtful"], &told["model"]["replies"]), (&json!([]), &json!(26)));
    assert_eq!(told["wrong_values_drawn"], json!(10 * 3), "the environments of ten videos");
    let questions = lines(&folder.path().join("questions.jsonl"));
    assert_as_expected(&questions, &lines(&annotations().with_file_name("expected.jsonl")));
    let of_type = |kind: &str| {
        questions.iter().find(|question| question["type"] == kind).unwrap()["options"].to_string()
    };
    assert!(of_type("central_object_motion").contains("invented"));
    assert!(of_type("central_object_appearance").contains("invented"));
    assert!(!of_type("environment").contains("invented"));
}

#[tokio::test(flavor = "multi_thread")]
async fn at_the_budget_a_run_stops_and_a_higher_one_goes_on() {
    let folder = tempfile::tempdir().unwrap();
    let writer = Writer::start(0, invented).await;
    let prices = ["--price-in", "100", "--price-out", "100", "--concurrency", "1", "--max-tokens", "2000"];
    let with = |budget: &str| writer.built(folder.path(), &[&prices[..], &["--budget-usd", budget]].concat());
    // A call takes 0.11 dollars, and 0.27 at most.
    let ended = with("0.7");
    assert_eq!(ended.code, Some(3), "{ended:?}");
    assert!(
        ended.stderr.contains("the budget is used up") && !folder.path().join("questions.jsonl").exists(),
        "{ended:?}"
    );
    assert!((3..=5).contains(&writer.calls()), "{}", writer.calls());
    let told = with("50").json();
    assert_eq!((writer.calls(), writer.most_asked()), (13, 1));
    assert!((told["model"]["cost_usd"].as_f64().unwrap() - 13.0 * 0.11).abs() < 1e-9, "{told}");
    let unpriced = writer.built(folder.path(), &["--budget-usd", "1"]);
    assert!(unpriced.code == Some(2) && unpriced.stderr.contains("`--price-in`"), "{unpriced:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn options_that_give_the_answer_away_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let writer = Writer::start(0, |name, number, _, _| format!("{}{number}", &name[..2])).await;
    let built = |bound: &[&str]| {
        let endpoint = ["--base-url", &writer.base, "--model", "writer"];
        let mut command = build_questions(folder.path(), &annotations(), &[&endpoint[..], bound].concat());
        tokio::task::block_in_place(|| run(&mut command))
    };
    let ended = built(&[]);
    assert_eq!(ended.code, Some(2));
    assert!(ended.stderr.contains("`longest_option` (100.0 % of 13)"), "{}", ended.stderr);
    assert!(!folder.path().join("questions.jsonl").exists());
    built(&["--accept-guessable"]).json();
    assert!(folder.path().join("questions.jsonl").exists());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_wrong_key_stops_at_once() {
    let folder = tempfile::tempdir().unwrap();
    let base = odd_server(|_, _| {
        http("401 Unauthorized", "content-type: application/json\r\n", "{\"error\": {\"message\": \"no\"}}")
    })
    .await;
    let mut command = build_questions(folder.path(), &annotations(), &["--base-url", &base, "--model", "m"]);
    let ended = tokio::task::block_in_place(|| run(&mut command));
    assert!(ended.code == Some(5) && ended.stderr.contains("13 videos left"), "{ended:?}");
}
