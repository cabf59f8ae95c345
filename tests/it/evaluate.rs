//! `secchi evaluate` against a stand-in model that looks at the number and order of its images, and is killed in the middle.

use std::collections::{HashMap, HashSet};
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use base64::Engine as _;
use serde_json::{Value, json};

use secchi::domain::question::Split;

use crate::odd_server::{http, odd_server};
use crate::process::until;
use crate::program::{Ended, run, secchi as program};
use crate::pull::{FRAMES, Media, frame_bytes, public_questions};
use crate::support::{Options, Secchi};

/// A model behind an endpoint.
struct StandIn {
    base: String,
    /// How often each question was asked, by its id.
    asked: Arc<Mutex<HashMap<String, usize>>>,
    requests: Arc<AtomicUsize>,
}

/// What is wrong with a reply, by question and how often it was asked before; the request is given too.
type Fault = fn(question_id: &str, before: usize, request: &Value) -> Option<Vec<u8>>;

impl StandIn {
    async fn start(fault: Fault) -> StandIn {
        let asked = Arc::new(Mutex::new(HashMap::new()));
        let requests = Arc::new(AtomicUsize::new(0));
        let (counts, number) = (asked.clone(), requests.clone());
        let base = odd_server(move |_, text| {
            let (head, body) = text.split_once("\r\n\r\n").unwrap();
            assert!(head.starts_with("POST /v1/chat/completions "), "{head}");
            let request: Value = serde_json::from_str(body).unwrap();
            let question_id = question_of(&request);
            let before = {
                let mut counts = counts.lock().unwrap();
                let count: &mut usize = counts.entry(question_id.clone()).or_default();
                *count += 1;
                *count - 1
            };
            number.fetch_add(1, Ordering::SeqCst);
            std::thread::sleep(Duration::from_millis(5));
            fault(&question_id, before, &request).unwrap_or_else(|| reply(&answer_to(&question_id)))
        })
        .await;
        StandIn { base: format!("{base}/v1"), asked, requests }
    }

    fn most_asked(&self) -> usize {
        self.asked.lock().unwrap().values().copied().max().unwrap_or_default()
    }
}

fn answer_to(question_id: &str) -> String {
    format!("Let me see \u{1f420}.\nThe answer is (B), as to {question_id}.")
}

fn reply(text: &str) -> Vec<u8> {
    let body = json!({
        "id": "c", "object": "chat.completion", "model": "stand-in-7b",
        "choices": [{"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": text}}],
        "usage": {"prompt_tokens": 1000, "completion_tokens": 10, "total_tokens": 1010},
    });
    http("200 OK", "content-type: application/json\r\n", &body.to_string())
}

fn refusal(status: &str, message: &str) -> Vec<u8> {
    let body =
        json!({"error": {"message": message, "type": "invalid_request_error", "param": null, "code": null}});
    http(status, "content-type: application/json\r\n", &body.to_string())
}

/// The question that a request asks, with its images in number and order, or blind.
fn question_of(request: &Value) -> String {
    let messages = request["messages"].as_array().unwrap();
    assert_eq!((messages.len(), &messages[0]["role"]), (1, &json!("user")), "a conversation of its own");
    let (prompt, video) = match &messages[0]["content"] {
        Value::String(prompt) => (prompt.clone(), None),
        Value::Array(parts) => {
            assert_eq!(parts.len(), FRAMES + 1);
            let mut video = None;
            for (place, part) in parts[..FRAMES].iter().enumerate() {
                let url = part["image_url"]["url"].as_str().unwrap();
                let data = url.strip_prefix("data:image/jpeg;base64,").unwrap();
                let bytes = base64::engine::general_purpose::STANDARD.decode(data).unwrap();
                let text = String::from_utf8(bytes.clone()).unwrap();
                let id = text[4..].split('#').next().unwrap().to_owned();
                assert_eq!(bytes, frame_bytes(&id, place), "image {place} of {id}");
                assert_eq!(*video.get_or_insert(id.clone()), id);
            }
            (parts[FRAMES]["text"].as_str().unwrap().to_owned(), video)
        }
        other => panic!("{other}"),
    };
    let questions = String::from_utf8(public_questions()).unwrap();
    let mut of_video = questions.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    let asked = of_video.find(|question| {
        question["prompt"] == prompt && video.as_ref().is_none_or(|video| question["id"] == **video)
    });
    asked.unwrap()["question_id"].as_str().unwrap().to_owned()
}

fn evaluate(folder: &Path, media: &str, model: &str, more: &[&str]) -> Command {
    let mut command =
        program(folder, &["evaluate", "--split", "val", "--base-url", model, "--model", "Reef-8B"]);
    command.args(more).env("SECCHI_URL", media).env("SECCHI_API_KEY", "k");
    command
}

fn evaluated(folder: &Path, media: &Media, model: &StandIn, more: &[&str]) -> Ended {
    tokio::task::block_in_place(|| run(&mut evaluate(folder, &media.base, &model.base, more)))
}

/// The answers in a predictions file, which answers nothing twice.
fn answers(folder: &Path) -> HashMap<String, String> {
    let text = std::fs::read_to_string(folder.join("predictions.jsonl")).unwrap();
    let mut answers = HashMap::new();
    for line in text.lines() {
        let line: Value = serde_json::from_str(line).unwrap();
        let (id, answer) = (line["question_id"].as_str().unwrap(), line["answer"].as_str().unwrap());
        assert_eq!(line.as_object().unwrap().len(), 2);
        assert!(answers.insert(id.to_owned(), answer.to_owned()).is_none(), "{id} is answered twice");
    }
    answers
}

fn questions() -> usize {
    public_questions().iter().filter(|byte| **byte == b'\n').count()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_model_is_asked_every_question_once_and_its_file_is_taken_as_it_is() {
    let (media, model) = (Media::start(|_, _| None).await, StandIn::start(|_, _, _| None).await);
    let folder = tempfile::tempdir().unwrap();
    let summary = evaluated(folder.path(), &media, &model, &["--json", "--concurrency", "16"]).json();
    let count = questions();
    assert_eq!(
        (&summary["answered"], &summary["failed"], &summary["empty"]),
        (&json!(count), &json!(0), &json!(0))
    );
    assert_eq!(
        (&summary["prompt_tokens"], &summary["completion_tokens"]),
        (&json!(1000 * count), &json!(10 * count))
    );
    let answered = answers(folder.path());
    assert_eq!((answered.len(), model.most_asked()), (count, 1));
    assert!(answered.iter().all(|(id, answer)| *answer == answer_to(id)));
    let log = std::fs::read_to_string(folder.path().join("predictions.log.jsonl")).unwrap();
    let lines: Vec<Value> = log.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!((lines[0]["run"]["model"].as_str(), lines.len()), (Some("Reef-8B"), count + 1));
    assert_eq!((&lines[1]["model"], &lines[1]["prompt_tokens"]), (&json!("stand-in-7b"), &json!(1000)));

    // Again: nothing is asked, not even the server.
    let before = media.asked("");
    let again = evaluated(folder.path(), &media, &model, &["--json"]).json();
    assert_eq!((&again["asked"], &again["answered"], media.asked("")), (&json!(0), &json!(count), before));
    // Another model's answers are kept apart.
    let mut other = evaluate(folder.path(), &media.base, &model.base, &["--param", "temperature=0"]);
    let other = tokio::task::block_in_place(|| run(&mut other));
    assert!(
        other.code == Some(2) && other.stderr.contains("`--out`") && other.stderr.contains("temperature"),
        "{other:?}"
    );

    let secchi = Secchi::with(Options::default()).await;
    secchi.import(Split::Val, "val.jsonl").await;
    let team = secchi.team("ocean-lab").await;
    let file = folder.path().join("predictions.jsonl");
    let mut submit = program(folder.path(), &["submit", file.to_str().unwrap(), "--split", "val", "--json"]);
    submit.args([
        "--model-name",
        "Reef-8B",
        "--access",
        "closed",
        "--url",
        &secchi.base,
        "--api-key",
        &team.key,
    ]);
    let accepted = tokio::task::block_in_place(|| run(&mut submit)).json();
    assert_eq!((&accepted["coverage"]["answered"], &accepted["warnings"]), (&json!(count), &json!([])));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_killed_evaluation_goes_on_where_it_stopped() {
    let (media, model) = (Media::start(|_, _| None).await, StandIn::start(|_, _, _| None).await);
    let folder = tempfile::tempdir().unwrap();
    for asked in [0, 1, 25, 70, 130] {
        let mut command = evaluate(folder.path(), &media.base, &model.base, &["--concurrency", "4"]);
        let mut child = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
        until("questions", async || {
            media.asked(".jpg") > 40 && (asked == 0 || model.requests.load(Ordering::SeqCst) >= asked)
        })
        .await;
        child.kill().unwrap();
        child.wait().unwrap();
    }
    // What a power cut may leave: half a line.
    let path = folder.path().join("predictions.jsonl");
    let text = std::fs::read_to_string(&path).unwrap();
    let last = text.lines().last().unwrap();
    std::fs::write(&path, format!("{text}{}", &last[..last.len() / 2])).unwrap();
    let summary = evaluated(folder.path(), &media, &model, &["--json", "--concurrency", "4"]).json();
    assert_eq!(summary["answered"], questions());
    let answered = answers(folder.path());
    assert!(answered.len() == questions() && answered.iter().all(|(id, answer)| *answer == answer_to(id)));
    // At each kill no more than those under way are asked again.
    let requests = model.requests.load(Ordering::SeqCst);
    assert!(requests <= questions() + 5 * 4, "{requests}");
    assert_eq!(summary["prompt_tokens"], 1000 * questions());
}

#[tokio::test(flavor = "multi_thread")]
async fn what_the_endpoint_refuses_by_name_is_left_out_and_told() {
    fn fault(_: &str, _: usize, request: &Value) -> Option<Vec<u8>> {
        let refused = ["max_tokens", "top_k"].into_iter().find(|name| request.get(*name).is_some());
        if let Some(name) = refused {
            return Some(refusal("400 Bad Request", &format!("Unsupported parameter: '{name}'")));
        }
        assert_eq!((&request["max_completion_tokens"], &request["temperature"]), (&json!(64), &json!(0)));
        None
    }
    let (media, model) = (Media::start(|_, _| None).await, StandIn::start(fault).await);
    let folder = tempfile::tempdir().unwrap();
    let more = ["--limit", "12", "--max-tokens", "64", "--param", "temperature=0", "--param", "top_k=5"];
    let text = evaluated(folder.path(), &media, &model, &more).stdout();
    assert!(text.contains("12 of 12 questions answered") && text.contains("refuses `top_k`"), "{text}");
    assert!(!text.contains("refuses `max_tokens`"), "{text}");
}

#[tokio::test(flavor = "multi_thread")]
async fn an_empty_reply_is_asked_for_again_and_then_kept_as_such() {
    fn fault(question_id: &str, before: usize, _: &Value) -> Option<Vec<u8>> {
        match question_id {
            id if id.ends_with("q1") => Some(reply("  \n")),
            id if id.ends_with("q2") && before == 0 => Some(reply("")),
            id if id.ends_with("q3") && before == 0 => Some(http("503 Busy", "retry-after: 0\r\n", "<html>")),
            _ => None,
        }
    }
    let (media, model) = (Media::start(|_, _| None).await, StandIn::start(fault).await);
    let folder = tempfile::tempdir().unwrap();
    let summary = evaluated(folder.path(), &media, &model, &["--json", "--limit", "8"]).json();
    assert_eq!((&summary["answered"], &summary["empty"]), (&json!(8), &json!(1)));
    let asked = model.asked.lock().unwrap();
    let times = |end: &str| asked.iter().find(|(id, _)| id.ends_with(end)).map(|(_, times)| *times);
    assert_eq!((times("q1"), times("q2"), times("q3")), (Some(3), Some(2), Some(2)));
    assert!(answers(folder.path()).iter().any(|(id, answer)| id.ends_with("q1") && answer == "  \n"));
}

#[tokio::test(flavor = "multi_thread")]
async fn one_question_that_is_refused_is_left_and_the_code_is_3() {
    fn fault(question_id: &str, _: usize, _: &Value) -> Option<Vec<u8>> {
        let message = "At most 4 image(s) may be provided in one request.";
        question_id.ends_with("q4").then(|| refusal("400 Bad Request", message))
    }
    let (media, model) = (Media::start(|_, _| None).await, StandIn::start(fault).await);
    let folder = tempfile::tempdir().unwrap();
    let ended = evaluated(folder.path(), &media, &model, &["--limit", "8"]);
    assert_eq!(ended.code, Some(3), "{ended:?}");
    for words in ["1 question(s) have no answer", "At most 4 image(s)", "--q4"] {
        assert!(ended.stderr.contains(words), "{ended:?}");
    }
    let (cause, summary) = ended.stderr.split_once('\n').unwrap();
    assert!(cause.starts_with("error: 1 question") && summary.contains("7000 tokens sent"), "{ended:?}");
    assert_eq!(answers(folder.path()).len(), 7);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_endpoint_that_helps_nobody_ends_the_run_at_once() {
    let media = Media::start(|_, _| None).await;
    let folder = tempfile::tempdir().unwrap();
    let key = StandIn::start(|_, _, _| Some(refusal("401 Unauthorized", "Invalid key"))).await;
    let ended = evaluated(folder.path(), &media, &key, &["--concurrency", "1"]);
    assert!(ended.code == Some(5) && ended.stderr.contains("SECCHI_MODEL_API_KEY"), "{ended:?}");
    assert_eq!(key.requests.load(Ordering::SeqCst), 1);
    assert!(!ended.stderr.contains("the same command") && !ended.stderr.contains("tokens"), "{ended:?}");
    assert!(ended.stdout.is_empty() && ended.stderr.contains("of which 1 failed"), "{ended:?}");
    let none = StandIn::start(|_, _, _| Some(refusal("404 Not Found", "model `Reef-8B` not found"))).await;
    let ended = evaluated(folder.path(), &media, &none, &["--concurrency", "1"]);
    assert!(ended.code == Some(2) && ended.stderr.contains("model `Reef-8B` not found"), "{ended:?}");
    assert!(!ended.stderr.contains("the same command"), "{ended:?}");
    let mut dead = evaluate(folder.path(), &media.base, "http://127.0.0.1:9/v1", &[]);
    let ended = tokio::task::block_in_place(|| run(&mut dead));
    assert!(ended.code == Some(4) && ended.stderr.contains("is not reached"), "{ended:?}");
    // None of this is in the way of the right endpoint.
    let model = StandIn::start(|_, _, _| None).await;
    let summary = evaluated(folder.path(), &media, &model, &["--json"]).json();
    assert_eq!(summary["answered"], questions());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_blind_model_is_asked_without_images_and_a_missing_video_is_told() {
    fn gone(path: &str, _: usize) -> Option<Vec<u8>> {
        let missing = r#"{"code":"video_missing","detail":"its file is not here","status":404}"#;
        (path.contains("/frames?") && path.contains("%C3%A9")).then(|| http("404 Not Found", "", missing))
    }
    let (media, model) = (Media::start(gone).await, StandIn::start(|_, _, _| None).await);
    let folder = tempfile::tempdir().unwrap();
    let ended = evaluated(folder.path(), &media, &model, &["--json", "--limit", "20"]);
    assert_eq!(ended.code, Some(3), "{ended:?}");
    let summary: Value = serde_json::from_str(&ended.stdout).unwrap();
    let without = summary["without_frames"].as_u64().unwrap();
    assert!(without > 0 && summary["answered"].as_u64() == Some(20 - without), "{summary}");
    let blind = ["--json", "--limit", "20", "--frames", "0", "--out", "blind.jsonl", "--data", "blind"];
    let summary = evaluated(folder.path(), &media, &model, &blind).json();
    assert_eq!(summary["answered"], 20);
    let asked: HashSet<String> = model.asked.lock().unwrap().keys().cloned().collect();
    assert!(asked.len() <= 20);
}
