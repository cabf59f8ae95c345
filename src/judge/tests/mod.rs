//! The LLM judge against a scripted server: what it sends, and what each fault of a reply or a connection
//! comes to.

mod wire;

use std::collections::VecDeque;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use futures::future::join_all;
use serde_json::{Map, Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Notify;

use super::*;
use crate::limiter::FlowLimits;

/// What the server does with one request.
#[derive(Clone)]
enum Act {
    /// Sends these bytes and closes; of nothing, it just closes.
    Send(Vec<u8>),
    /// Never answers.
    Hang,
}

struct Request {
    head: String,
    body: Value,
}

/// Answers one connection after the other by a script, then with valid verdicts.
struct Server {
    base_url: String,
    requests: Arc<Mutex<Vec<Request>>>,
    arrived: Arc<Notify>,
}

impl Server {
    async fn start(script: impl IntoIterator<Item = Act>) -> Server {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let base_url = format!("http://{}/v1/", listener.local_addr().unwrap());
        let (requests, arrived) = (Arc::<Mutex<Vec<Request>>>::default(), Arc::<Notify>::default());
        let script = Arc::new(Mutex::new(script.into_iter().collect::<VecDeque<_>>()));
        let (seen, notify) = (requests.clone(), arrived.clone());
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                tokio::spawn(serve(stream, script.clone(), seen.clone(), notify.clone()));
            }
        });
        Server { base_url, requests, arrived }
    }

    fn bodies(&self) -> Vec<Value> {
        self.requests.lock().unwrap().iter().map(|request| request.body.clone()).collect()
    }

    async fn has_seen(&self, count: usize) {
        while self.requests.lock().unwrap().len() < count {
            self.arrived.notified().await;
        }
    }
}

async fn serve(
    mut stream: TcpStream,
    script: Arc<Mutex<VecDeque<Act>>>,
    seen: Arc<Mutex<Vec<Request>>>,
    notify: Arc<Notify>,
) {
    let mut bytes = Vec::new();
    let (head, body) = loop {
        if stream.read_buf(&mut bytes).await.unwrap_or(0) == 0 {
            return;
        }
        let text = String::from_utf8_lossy(&bytes);
        let Some((head, body)) = text.split_once("\r\n\r\n") else { continue };
        if let Ok(body) = serde_json::from_str::<Value>(body) {
            break (head.to_owned(), body);
        }
    };
    let act = script.lock().unwrap().pop_front();
    let act = act.unwrap_or_else(|| reply(&verdict_text(&body), "stop"));
    seen.lock().unwrap().push(Request { head, body });
    notify.notify_waiters();
    notify.notify_one();
    match act {
        Act::Send(bytes) => stream.write_all(&bytes).await.unwrap(),
        Act::Hang => std::future::pending().await,
    }
}

fn http(status: u16, headers: &str, body: &[u8]) -> Act {
    let head = format!(
        "HTTP/1.1 {status} X\r\nconnection: close\r\n{headers}content-length: {}\r\n\r\n",
        body.len()
    );
    Act::Send([head.as_bytes(), body].concat())
}

fn error(status: u16, kind: &str, code: &str, param: Option<&str>) -> Act {
    let error = json!({"error": {"message": "sk-secret", "type": kind, "code": code, "param": param}});
    http(status, "", error.to_string().as_bytes())
}

fn message(message: Value, finish_reason: &str) -> Act {
    let completion = json!({
        "model": "m",
        "choices": [{"index": 0, "message": message, "finish_reason": finish_reason}],
        "usage": {"prompt_tokens": 100, "completion_tokens": 10, "prompt_tokens_details": {"cached_tokens": 40}},
    });
    http(200, "", completion.to_string().as_bytes())
}

fn reply(content: &str, finish_reason: &str) -> Act {
    message(json!({"content": content, "refusal": null}), finish_reason)
}

/// Scores 1, 2, 3 under the names that the request's schema asks for.
fn verdict_text(request: &Value) -> String {
    let schema = &request["response_format"]["json_schema"]["schema"];
    let names: Vec<String> = serde_json::from_value(schema["required"].clone()).unwrap();
    let is_plain = schema["properties"][&names[0]]["type"] == "integer";
    let of =
        |score: usize| if is_plain { json!(score) } else { json!({"score": score, "explanation": "so"}) };
    let verdict: Map<_, _> = names.into_iter().enumerate().map(|(at, name)| (name, of(at + 1))).collect();
    Value::from(verdict).to_string()
}

fn endpoint(server: &Server) -> Endpoint {
    Endpoint {
        base_url: server.base_url.clone(),
        api_key: Some(ApiKey::new("sk-secret")),
        timeout: Duration::from_secs(5),
    }
}

fn judge_at(endpoint: &Endpoint, observer: Option<Observer>) -> HttpJudge {
    let configuration = Configuration::llm("m", &Prompts::builtin().unwrap(), FenceSecret::random());
    HttpJudge::new(&configuration, endpoint, gate(), observer).unwrap().without_waits()
}

/// A gate that two calls at a time pass.
fn gate() -> Arc<Gate> {
    let limits = FlowLimits { concurrency: 2, requests_per_minute: None, tokens_per_minute: None };
    Arc::new(Gate::new(limits))
}

async fn ask(judge: &HttpJudge, rubric: Rubric) -> Result<Verdict, Failure> {
    asked(judge, rubric).await.result
}

async fn asked(judge: &HttpJudge, rubric: Rubric) -> Asked {
    let evidence = Map::from_iter([("camera_angle".to_owned(), json!("static"))]);
    let item = Item {
        question_id: "q",
        rubric,
        question: "How?",
        reference: "So.",
        evidence: &evidence,
        answer: "Thus.",
    };
    judge.judge(&item, Asking::to_the_end()).await
}

/// What one call comes to after these acts, and the tries that it took.
async fn outcome(script: Vec<Act>) -> (Result<Verdict, Failure>, usize) {
    let server = Server::start(script).await;
    let result = ask(&judge_at(&endpoint(&server), None), Rubric::Oemu).await;
    let tries = server.bodies().len();
    (result, tries)
}

#[tokio::test]
async fn a_request_holds_the_strict_schema_the_prompts_and_the_key_and_no_stream() {
    let server = Server::start([]).await;
    let judge = judge_at(&endpoint(&server), None);
    let verdict = ask(&judge, Rubric::Caption).await.unwrap();
    assert_eq!(verdict.scores, [1, 2, 3]);
    assert_eq!(verdict.explanations, [const { Some("so") }; 3].map(|text| text.map(str::to_owned)));
    assert_eq!(ask(&judge, Rubric::Oemu).await.unwrap().scores, [1, 2, 3]);

    let head = server.requests.lock().unwrap()[0].head.clone();
    assert!(head.starts_with("POST /v1/chat/completions HTTP/1.1"), "{head}");
    assert!(head.contains("authorization: Bearer sk-secret"), "{head}");
    let bodies = server.bodies();
    for (body, name) in bodies.iter().zip(["caption_scores", "oemu_scores"]) {
        let format = &body["response_format"];
        assert_eq!(
            (&format["type"], &format["json_schema"]["strict"]),
            (&json!("json_schema"), &json!(true))
        );
        assert_eq!(format["json_schema"]["name"], name);
        assert_eq!((&body["temperature"], &body["max_completion_tokens"]), (&json!(0), &json!(4000)));
        assert_eq!(body.get("stream"), None);
    }
    assert!(bodies[1]["messages"][1]["content"].as_str().unwrap().contains(r#"{"camera_angle":"static"}"#));
}

#[tokio::test]
async fn what_may_pass_is_tried_again_until_there_is_a_verdict() {
    let huge = http(200, "", &vec![b' '; 2 * 1024 * 1024]);
    let Act::Send(whole) = reply("{}", "stop") else { unreachable!() };
    let faults = [
        error(500, "server_error", "", None),
        http(502, "content-type: text/html\r\n", b"<html>"),
        http(503, "retry-after: 0\r\n", b""),
        http(429, "", b"Too Many Requests\n"),
        error(429, "requests", "rate_limit_exceeded", None),
        error(429, "rate_limit_error", "slow_down", None),
        http(302, "location: http://127.0.0.1:9/\r\n", b""),
        http(200, "content-type: text/html\r\n", b"<!doctype html>"),
        http(200, "", b"{\"model\":\"m\",\"choices\":[]}"),
        http(200, "", b"{\"error\":{\"type\":\"server_error\"}}"),
        http(200, "", b"{\"model\":\"\xff\xfe\"}"),
        Act::Send(Vec::new()),
        Act::Send(whole[..whole.len() - 9].to_vec()),
        huge,
    ];
    for (at, fault) in faults.into_iter().enumerate() {
        let (result, tries) = outcome(vec![fault.clone(), fault.clone()]).await;
        assert_eq!((result.unwrap().scores, tries), ([1, 2, 3], 3), "fault {at}");
        let (result, tries) = outcome(vec![fault; 9]).await;
        let failure = result.unwrap_err();
        assert!(
            matches!(failure, Failure::Item { reason: ItemReason::Unavailable, .. }),
            "fault {at}: {failure}"
        );
        assert_eq!(tries, 6, "fault {at}");
    }
}

#[tokio::test]
async fn money_key_and_model_stop_the_run_at_the_first_try() {
    for (act, cause) in [
        (error(429, "insufficient_quota", "insufficient_quota", None), PauseCause::Money),
        (error(429, "insufficient_quota", "project_spend_limit_exceeded", None), PauseCause::Money),
        (error(401, "invalid_request_error", "invalid_api_key", None), PauseCause::Key),
        (error(403, "", "", None), PauseCause::Key),
        (error(404, "invalid_request_error", "model_not_found", None), PauseCause::MissingModel),
        (error(400, "", "", Some("response_format")), PauseCause::SchemaRefused),
    ] {
        let (result, tries) = outcome(vec![act]).await;
        let failure = result.unwrap_err();
        assert!(matches!(failure, Failure::Pause { cause: found, .. } if found == cause), "{failure}");
        assert_eq!(tries, 1);
        assert!(!format!("{failure} {failure:?}").contains("sk-secret"), "{failure}");
    }
}

#[tokio::test]
async fn a_reply_that_is_no_verdict_is_asked_for_again_and_then_the_answers_own_failure() {
    let valid = r#"{"camera_motion_and_viewpoint":4,"object_activity":2,"camera_object_relationship":4}"#;
    let refusal = message(json!({"content": null, "refusal": "No."}), "stop");
    for (act, reason, most) in [
        (reply("", "stop"), ItemReason::Malformed, 3),
        (message(json!({"content": null}), "stop"), ItemReason::Malformed, 3),
        (reply("Sure! All of them 5.", "stop"), ItemReason::Malformed, 3),
        (reply("I'm sorry, but I can't help with that.", "stop"), ItemReason::Refusal, 2),
        (reply(&valid.replace('4', "\"4\""), "stop"), ItemReason::Malformed, 3),
        (reply(valid, "tool_calls"), ItemReason::Malformed, 3),
        (reply(valid, "length"), ItemReason::Length, 2),
        (reply(valid, "content_filter"), ItemReason::ContentFilter, 2),
        (refusal, ItemReason::Refusal, 2),
        (error(400, "", "content_filter", Some("prompt")), ItemReason::ContentFilter, 2),
        (error(400, "", "context_length_exceeded", None), ItemReason::ContextTooLong, 1),
        (error(400, "invalid_request_error", "", None), ItemReason::BadRequest, 1),
    ] {
        let (result, tries) = outcome(vec![act.clone(); 9]).await;
        let failure = result.unwrap_err();
        assert!(matches!(failure, Failure::Item { reason: found, .. } if found == reason), "{failure}");
        assert_eq!(tries, most, "{failure}");
        let (result, tries) = outcome(vec![act; most - 1]).await;
        assert_eq!((result.unwrap().scores, tries), ([1, 2, 3], most), "{reason}");
    }
}

#[tokio::test]
async fn another_model_than_was_asked_for_is_no_verdict() {
    let swapped = http(200, "", br#"{"model":"m-mini","choices":[{"message":{},"finish_reason":"stop"}]}"#);
    let (result, tries) = outcome(vec![swapped; 3]).await;
    assert!(matches!(result, Err(Failure::Pause { cause: PauseCause::WrongModel, .. })));
    assert_eq!(tries, 3);
}

#[tokio::test]
async fn a_parameter_that_is_refused_by_name_is_left_out_from_then_on() {
    let refuse = |name: &str| error(400, "invalid_request_error", "unsupported_parameter", Some(name));
    let server = Server::start([refuse("temperature"), refuse("max_completion_tokens")]).await;
    let judge = judge_at(&endpoint(&server), None);
    ask(&judge, Rubric::Oemu).await.unwrap();
    ask(&judge, Rubric::Oemu).await.unwrap();
    let sent: Vec<_> = server
        .bodies()
        .iter()
        .map(|body| ["temperature", "max_completion_tokens", "max_tokens"].map(|name| body[name].as_u64()))
        .collect();
    let expected = [
        [Some(0), Some(4000), None],
        [None, Some(4000), None],
        [None, None, Some(4000)],
        [None, None, Some(4000)],
    ];
    assert_eq!(sent, expected);
}

#[tokio::test]
async fn a_cut_reply_is_asked_for_again_with_twice_the_cap_and_the_same_prompt() {
    let server = Server::start([reply("{", "length")]).await;
    ask(&judge_at(&endpoint(&server), None), Rubric::Oemu).await.unwrap();
    let bodies = server.bodies();
    assert_eq!(bodies[1]["max_completion_tokens"], 8000);
    assert_eq!(bodies[0]["messages"], bodies[1]["messages"]);
}

#[tokio::test]
async fn every_try_is_reported_and_the_verdict_sums_what_they_were_billed() {
    let reports = Arc::<Mutex<Vec<CallReport>>>::default();
    let seen = reports.clone();
    let observer: Observer = Arc::new(move |report| seen.lock().unwrap().push(report.clone()));
    let server = Server::start([error(500, "", "", None), reply("{", "stop")]).await;
    let asked = asked(&judge_at(&endpoint(&server), Some(observer)), Rubric::Oemu).await;
    let outcomes: Vec<_> = reports.lock().unwrap().iter().map(CallReport::outcome).collect();
    assert_eq!(outcomes, ["server", "malformed", "valid"]);
    assert_eq!(reports.lock().unwrap()[1].usage.completion_tokens, 10);
    let whole = Usage { prompt_tokens: 200, cached_tokens: 80, completion_tokens: 20 };
    assert_eq!((asked.usage, asked.calls), (whole, 3));
}

#[tokio::test]
async fn a_server_that_never_answers_meets_the_deadline() {
    let server = Server::start(vec![Act::Hang; 6]).await;
    let slow = Endpoint { timeout: Duration::from_millis(20), ..endpoint(&server) };
    let failure = ask(&judge_at(&slow, None), Rubric::Oemu).await.unwrap_err();
    assert!(matches!(failure, Failure::Item { reason: ItemReason::Unavailable, .. }), "{failure}");
    assert!(failure.to_string().contains("(unavailable): deadline: "), "{failure}");
    assert!(failure.to_string().ends_with(", after 6 tries"), "{failure}");
}

#[tokio::test]
async fn no_more_requests_are_under_way_than_the_gate_lets_pass_and_dropped_ones_give_their_place_back() {
    let server = Server::start(vec![Act::Hang; 3]).await;
    let judge = judge_at(&endpoint(&server), None);
    let mut calls = Box::pin(join_all((0..3).map(|_| ask(&judge, Rubric::Oemu))));
    tokio::select! {
        _ = &mut calls => unreachable!("the server never answers"),
        () = server.has_seen(2) => {}
    }
    assert_eq!((server.bodies().len(), judge.gate.held()), (2, 2));
    drop(calls);
    while judge.gate.held() > 0 {
        tokio::task::yield_now().await;
    }
}

#[test]
fn a_judge_is_built_as_its_configuration_says() {
    let llm = Configuration::llm("m", &Prompts::builtin().unwrap(), FenceSecret::random());
    assert!(matches!(build(&llm, None, None), Err(BuildError::NoEndpoint(model)) if model == "m"));
    let faulty = Configuration { prompts: Default::default(), ..llm };
    let server = Endpoint {
        base_url: "http://127.0.0.1:9/v1".to_owned(),
        api_key: None,
        timeout: Duration::from_secs(1),
    };
    assert!(matches!(build(&faulty, Some((&server, gate())), None), Err(BuildError::Prompt(_))));
    assert!(build(&Configuration::offline(FenceSecret::random()), None, None).is_ok());
}
