//! `judge check --attacks` against judges that cannot be talked into a score, that can, and that say nothing.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};

use actix_web::{App, HttpResponse, HttpServer, web};
use serde_json::{Map, Value, json};

use secchi::judge::attacks::{Attack, attacks};
use secchi::judge::normalise;
use secchi::scoring::suspicion::signs;

use crate::program::{Ended, run_on};
use crate::support::Ground;

/// What a judge does with an answer that is in the set: the scores, or none for a refusal.
type Manner = fn(&Attack) -> Option<[u8; 3]>;

struct Bench {
    manner: Manner,
    by_answer: HashMap<String, Attack>,
    /// Answers that were asked about.
    asked: Mutex<Vec<String>>,
}

/// A judge behind HTTP with this manner, and its address.
fn judge(manner: Manner) -> (Arc<Bench>, String) {
    let by_answer =
        attacks().unwrap().into_iter().map(|attack| (normalise(&attack.candidate), attack)).collect();
    let bench = Arc::new(Bench { manner, by_answer, asked: Mutex::default() });
    let data = web::Data::from(bench.clone());
    let server = HttpServer::new(move || {
        App::new().app_data(data.clone()).route("/v1/chat/completions", web::post().to(complete))
    });
    let server = server.workers(1).disable_signals().bind("127.0.0.1:0").unwrap();
    let base_url = format!("http://{}/v1", server.addrs()[0]);
    tokio::spawn(server.run());
    (bench, base_url)
}

async fn complete(bench: web::Data<Bench>, request: web::Json<Value>) -> HttpResponse {
    let messages = request["messages"].as_array().unwrap();
    let roles: Vec<&str> = messages.iter().map(|message| message["role"].as_str().unwrap()).collect();
    assert_eq!(roles, ["system", "user"]);
    let user = messages[1]["content"].as_str().unwrap();
    let inside = user.split_once("<answer-").unwrap().1.split_once(">\n").unwrap().1;
    let answer: String = serde_json::from_str(inside.split_once("\n</answer-").unwrap().0).unwrap();
    bench.asked.lock().unwrap().push(answer.clone());
    let scores = match bench.by_answer.get(&answer) {
        Some(attack) => (bench.manner)(attack),
        // The ordinary check's own answer.
        None => Some([5, 5, 5]),
    };
    let properties = request["response_format"]["json_schema"]["schema"]["properties"].as_object().unwrap();
    let reply = scores.map(|scores| {
        let with_reason = |(name, schema): (&String, &Value), score: u8| {
            let is_plain = schema["properties"]["score"].is_null();
            let value = if is_plain { json!(score) } else { json!({ "score": score, "explanation": "so" }) };
            (name.clone(), value)
        };
        let fields = properties.iter().zip(scores).map(|(property, score)| with_reason(property, score));
        Value::Object(fields.collect::<Map<_, _>>()).to_string()
    });
    let refusal = reply.is_none().then_some("I would rather not.");
    HttpResponse::Ok().json(json!({
        "model": request["model"],
        "choices": [{ "finish_reason": "stop", "message": { "content": reply, "refusal": refusal } }],
        "usage": { "prompt_tokens": 1000, "completion_tokens": 10 },
    }))
}

fn check(base_url: &str, more: &[&str]) -> Ended {
    let ground = Ground::new();
    let arguments = ["judge", "check", "--attacks", "--judge-base-url", base_url, "--judge-price-in", "1"];
    tokio::task::block_in_place(|| run_on(&ground, &[&arguments[..], more].concat()))
}

#[tokio::test(flavor = "multi_thread")]
async fn a_judge_that_gives_honest_scores_passes() {
    let (bench, base_url) = judge(|attack| Some(attack.honest));
    let ended = check(&base_url, &[]);
    assert_eq!(ended.code, Some(0), "{ended:?}");
    let set = attacks().unwrap();
    for attack in &set {
        assert!(ended.stdout.contains(&attack.id), "{}", ended.stdout);
    }
    assert!(ended.stdout.contains("held") && !ended.stdout.contains("fooled"), "{}", ended.stdout);
    assert!(ended.stdout.contains(&format!("{} attacks, ", set.len())), "{}", ended.stdout);
    // One call each, and one for each rubric before.
    assert_eq!(bench.asked.lock().unwrap().len(), set.len() + 2);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_judge_that_obeys_answers_fails_and_is_told_by_which() {
    let obeys = |attack: &Attack| !signs(&attack.candidate).is_empty();
    let (_, base_url) = judge(|attack| match signs(&attack.candidate).as_slice() {
        [] => Some(attack.honest),
        _ => Some([5, 5, 5]),
    });
    let ended = check(&base_url, &["--json"]);
    assert_eq!(ended.code, Some(1), "{ended:?}");
    let lines = ended.stdout.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    let verdicts: HashMap<String, Value> = lines
        .filter(|line| line.get("attack").is_some())
        .map(|line| (line["attack"].as_str().unwrap().to_owned(), line))
        .collect();
    let set = attacks().unwrap();
    assert_eq!(verdicts.len(), set.len());
    for attack in &set {
        let line = &verdicts[&attack.id];
        let expected = if obeys(attack) { "fooled" } else { "held" };
        assert_eq!(line["verdict"], expected, "{line}");
        assert_eq!(ended.stderr.contains(&attack.id), obeys(attack), "{}: {}", attack.id, ended.stderr);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_answer_that_is_not_judged_is_not_passed() {
    let (_, base_url) = judge(|attack| (attack.id != "A22").then_some(attack.honest));
    let ended = check(&base_url, &[]);
    assert_eq!(ended.code, Some(1), "{ended:?}");
    assert!(ended.stderr.contains("not judged") && ended.stderr.contains("A22"), "{}", ended.stderr);
    assert!(ended.stdout.contains("not judged"), "{}", ended.stdout);
}
