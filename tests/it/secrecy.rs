//! What is secret stays so: the keys, references and evidence of a test split in no answer, metric or log line, and
//! neither answers nor credentials in a log, whatever is asked and however the judge misbehaves.
//!
//! The release of this test holds a mark in every field that must not be seen and whose text no option repeats.

use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use actix_web::{App, HttpRequest, HttpResponse, HttpServer, web};
use reqwest::{Client, Method, RequestBuilder};
use serde_json::{Value, json};

use crate::operations::{answers, form, operations};
use crate::process::{Process, until};
use crate::program::run_on;
use crate::support::{Ground, sample};

/// In every secret text of the release.
pub const MARK: &str = "zqsecret";

/// In every answer that is submitted.
pub const ANSWER_MARK: &str = "zqanswer";

const JUDGE_KEY: &str = "sk-zqjudgekey";

/// Names of fields that only a key has.
const SECRET_FIELDS: [&str; 9] = [
    "answer",
    "answer_text",
    "central_object",
    "evidence_attributes",
    "evidence",
    "reference",
    "camera",
    "task",
    "explanations",
];

/// The sample's test release with marks in it.
pub fn marked_release(folder: &Path) -> String {
    let text = std::fs::read_to_string(sample("test.jsonl")).unwrap();
    let lines = text.lines().map(|line| {
        let mut record: Value = serde_json::from_str(line).unwrap();
        record["task"] = json!(format!("{MARK}-task"));
        record["central_object"] = json!(format!("{MARK}-object"));
        if record["question_format"] == "open_ended" {
            record["answer_text"] = json!(format!("{MARK}-reference: {}", record["answer_text"]));
        }
        for (name, value) in record["evidence_attributes"].as_object_mut().unwrap() {
            // The camera's class is read from these words.
            let words = if name == "camera_angle" { value.as_str().unwrap_or_default() } else { name };
            *value = json!(format!("{words} {MARK}-evidence"));
        }
        format!("{record}\n")
    });
    let path = folder.join("marked.jsonl");
    std::fs::write(&path, lines.collect::<String>()).unwrap();
    path.to_str().unwrap().to_owned()
}

/// A judge that repeats whatever it is told: in verdicts, refusals and errors, with the key that it was shown.
struct Parrot {
    calls: AtomicUsize,
    shut: AtomicBool,
}

async fn judge(parrot: web::Data<Parrot>, request: HttpRequest, body: web::Bytes) -> HttpResponse {
    let key = request.headers().get("authorization").map(|value| value.to_str().unwrap()).unwrap_or_default();
    let told = format!("{key} {}", String::from_utf8_lossy(&body));
    let error =
        |code: &str| json!({ "error": { "message": told, "type": told, "param": told, "code": code } });
    if parrot.shut.load(Ordering::SeqCst) {
        return HttpResponse::Unauthorized().json(error("invalid_api_key"));
    }
    let asked: Value = serde_json::from_slice(&body).unwrap();
    let schema = asked["response_format"]["json_schema"]["name"].as_str().unwrap();
    let verdict = match schema {
        "oemu_scores" => json!({
            "camera_motion_and_viewpoint": 3, "object_activity": 2, "camera_object_relationship": 4,
        }),
        _ => json!({
            "subject_correspondence": { "score": 3, "explanation": told },
            "temporal_description": { "score": 3, "explanation": told },
            "hallucination_detection": { "score": 3, "explanation": told },
        }),
    };
    let message = match parrot.calls.fetch_add(1, Ordering::SeqCst) % 4 {
        0 => return HttpResponse::BadRequest().json(error("bad_request")),
        1 => json!({ "role": "assistant", "content": format!("{told} {verdict}") }),
        2 => json!({ "role": "assistant", "content": null, "refusal": told }),
        _ => json!({ "role": "assistant", "content": verdict.to_string() }),
    };
    HttpResponse::Ok().json(json!({
        "id": told, "object": "chat.completion", "model": asked["model"],
        "choices": [{ "index": 0, "finish_reason": "stop", "message": message }],
        "usage": { "prompt_tokens": 100, "completion_tokens": 10, "total_tokens": 110 },
    }))
}

fn serve_judge() -> (web::Data<Parrot>, String) {
    let parrot = web::Data::new(Parrot { calls: AtomicUsize::new(0), shut: AtomicBool::new(false) });
    let state = parrot.clone();
    let server = HttpServer::new(move || App::new().app_data(state.clone()).default_service(web::to(judge)));
    let server = server.workers(1).disable_signals().bind("127.0.0.1:0").unwrap();
    let base = format!("http://{}/v1", server.addrs()[0]);
    tokio::spawn(server.run());
    (parrot, base)
}

/// Everything that the server said, by what was asked.
struct Heard {
    http: Client,
    base: String,
    said: Vec<(String, String)>,
}

impl Heard {
    async fn ask(&mut self, what: String, request: RequestBuilder) -> (u16, Value) {
        let response = request.send().await.unwrap();
        let status = response.status().as_u16();
        assert!(status < 500, "{what}: {status}");
        let head = format!("{:?}", response.headers());
        let body = String::from_utf8_lossy(&response.bytes().await.unwrap()).into_owned();
        let value = serde_json::from_str(&body).unwrap_or(Value::Null);
        self.said.push((what, format!("{head}\n{body}")));
        (status, value)
    }

    async fn get(&mut self, path: &str, key: &str) -> (u16, Value) {
        let request = self.http.get(format!("{}{path}", self.base)).bearer_auth(key);
        self.ask(format!("GET {path}"), request).await
    }

    async fn submit(&mut self, key: &str, query: &str, file: Vec<u8>) -> (u16, Value) {
        let metadata =
            json!({ "split": "test", "model_name": "Reef-8B", "access": "closed", "visibility": "public" });
        let request = self.http.post(format!("{}/api/v1/submissions{query}", self.base)).bearer_auth(key);
        self.ask(format!("submit {query}"), request.multipart(form(&metadata, file))).await
    }

    /// Every operation, as everybody, with requests that are right and wrong.
    async fn ask_everything(&mut self, keys: &[Option<&str>], id: &str) {
        let (http, base) = (self.http.clone(), self.base.clone());
        for operation in operations() {
            for key in keys {
                let what = format!("{} as {key:?}", operation.id);
                let valid = || operation.request((&http, &base), *key, id, key.unwrap_or_default());
                // What ends the submission comes last, outside of this walk.
                if !["cancel_submission", "withdraw_submission", "withdraw_any_submission"]
                    .contains(&&*operation.id)
                {
                    self.ask(what.clone(), valid()).await;
                }
                let path = operation.path(id).replace("/val/", "/test/");
                for method in ["HEAD", "OPTIONS", "PUT", "TRACE"] {
                    let request = http.request(method.parse().unwrap(), format!("{base}{path}"));
                    self.ask(format!("{method} {what}"), request.bearer_auth(key.unwrap_or("none"))).await;
                }
                let queried = format!("{base}{path}?limit=none&key=true");
                let request =
                    http.request(operation.method.clone(), queried).bearer_auth(key.unwrap_or("none"));
                self.ask(format!("{what}, queried"), request).await;
                for body in ["{", "[1]", "{\"answer\": \"A\"}"] {
                    let request = http.request(operation.method.clone(), format!("{base}{path}"));
                    let request =
                        request.bearer_auth(key.unwrap_or("none")).header("content-type", "application/json");
                    self.ask(format!("{what} with {body}"), request.body(body)).await;
                }
            }
        }
        let more = [
            "/",
            "/?split=test&sort=-static/BEH",
            "/?split=val",
            "/?split=x",
            "/docs/",
            "/assets/style.css",
            "/nowhere",
            "/api/v1/leaderboard?format=csv",
            "/api/v1/leaderboard?all=1&sort=OEMU",
            "/api/v1/splits/test/questions",
            "/api/v1/splits/test/questions?limit=1000",
            "/api/v1/splits/test/questions?key=true",
            "/api/v1/splits/train/questions",
        ];
        for path in more {
            for key in keys.iter().flatten() {
                self.get(path, key).await;
            }
        }
        for key in keys.iter().flatten() {
            let request = http.get(format!("{base}/api/v1/splits/test/questions")).bearer_auth(key);
            self.ask("all questions".into(), request.header("accept", "application/x-ndjson")).await;
            let request = http.get(format!("{base}/api/v1/splits/test/questions?key=true")).bearer_auth(key);
            self.ask("all keys".into(), request.header("accept", "application/x-ndjson")).await;
        }
    }

    /// Asserts that nothing that was said holds `secret`.
    fn assert_unsaid(&self, secret: &str) {
        for (what, said) in &self.said {
            assert_absent(what, said, secret);
        }
    }
}

#[track_caller]
fn assert_absent(what: &str, text: &str, secret: &str) {
    if let Some(place) = text.find(secret) {
        let start = text[..place].char_indices().rev().nth(300).map_or(0, |(start, _)| start);
        let shown: String = text[start..].chars().take(700).collect();
        panic!("`{secret}` in {what}: …{shown}…");
    }
}

/// Asserts that no object within `value` has a field that only a key has.
fn assert_no_key(what: &str, value: &Value) {
    match value {
        Value::Object(fields) => {
            for (name, field) in fields {
                // A count of questions by type is no key, nor is the description of a field, nor what a team itself
                // answered, which maintainers see where the judge failed at it.
                let is_own = |text: &str| what.starts_with("list_failures") && text.contains(ANSWER_MARK);
                let is_described = field["type"] == "string"
                    || what.starts_with("find_document") && field["type"] == "object";
                let is_no_key = field.is_number() || is_described || field.as_str().is_some_and(is_own);
                assert!(!SECRET_FIELDS.contains(&name.as_str()) || is_no_key, "`{name}` in {what}");
                assert_no_key(what, field);
            }
        }
        Value::Array(items) => items.iter().for_each(|item| assert_no_key(what, item)),
        _ => {}
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn no_key_reference_or_evidence_leaves_the_server_and_no_answer_or_credential_enters_a_log() {
    let ground = Ground::new();
    let release = marked_release(ground.data.path());
    let import = ["dataset", "import", "--release", "r1", "--split"];
    let imported = run_on(&ground, &[&import[..], &["test", &release]].concat());
    assert_absent("the import", &imported.stderr, MARK);
    assert_absent("the import", &imported.stdout(), MARK);
    let val = sample("val.jsonl");
    run_on(&ground, &[&import[..], &["val", val.to_str().unwrap()]].concat()).stdout();
    let key = |slug: &str, role: &[&str]| {
        let made =
            run_on(&ground, &[&["team", "create", slug, "--name", slug, "--json"], role].concat()).json();
        made["api_key"].as_str().unwrap().to_owned()
    };
    let (team, other, maintainer) =
        (key("ocean-lab", &[]), key("reef-lab", &[]), key("harbour", &["--maintainer"]));
    let (parrot, judge_url) = serve_judge();
    let settings = [
        ("SECCHI_LOG", "trace"),
        ("SECCHI_JUDGE_BASE_URL", judge_url.as_str()),
        ("SECCHI_JUDGE_API_KEY", JUDGE_KEY),
        ("SECCHI_QUOTA_PER_DAY", "1000"),
        ("SECCHI_QUOTA_TOTAL", "1000"),
        ("SECCHI_QUOTA_VAL_PER_DAY", "1000"),
    ];
    let mut server = Process::serve_with(&ground, &settings);
    let http = Client::builder().redirect(reqwest::redirect::Policy::none()).build().unwrap();
    let mut heard = Heard { http: http.clone(), base: server.base.clone(), said: Vec::new() };

    let file = answers("test.jsonl", |record| format!("(B) {ANSWER_MARK} {}", record["question_id"]));
    let (status, accepted) = heard.submit(&team, "", file.clone()).await;
    assert_eq!(status, 202, "{accepted}");
    let id = accepted["id"].as_str().unwrap().to_owned();
    let address = format!("{}/api/v1/submissions/{id}", server.base);
    let state = async || -> Value {
        http.get(&address).bearer_auth(&team).send().await.unwrap().json().await.unwrap()
    };
    until("judging", async || !state().await["finished_at"].is_null()).await;
    let ended = state().await;
    assert_eq!(ended["state"], "incomplete", "{ended}");
    assert!(ended["progress"]["judged"].as_u64() > Some(0), "{ended}");

    parrot.shut.store(true, Ordering::SeqCst);
    let paused = answers("test.jsonl", |_| format!("(A) {ANSWER_MARK} glides"));
    let (_, second) = heard.submit(&other, "", paused).await;
    let address = format!("{}/api/v1/submissions/{}", server.base, second["id"].as_str().unwrap());
    let state = async || -> Value {
        http.get(&address).bearer_auth(&other).send().await.unwrap().json().await.unwrap()
    };
    until("a pause", async || state().await["paused_for"] == "judge_unavailable").await;

    for entry in std::fs::read_dir(sample("../broken")).unwrap() {
        let broken = std::fs::read(entry.unwrap().path()).unwrap();
        heard.submit(&team, "?dry_run=true", broken.clone()).await;
        heard.submit(&team, "", broken).await;
    }
    let keys = [
        None,
        Some(team.as_str()),
        Some(other.as_str()),
        Some(maintainer.as_str()),
        Some("sk_secchi_zqwrong"),
    ];
    heard.ask_everything(&keys, &id).await;
    let exchange = http.post(format!("{}/api/v1/auth/token", server.base)).json(&json!({ "api_key": team }));
    let (_, exchanged) = heard.ask("a token".into(), exchange).await;
    let token = exchanged["access_token"].as_str().unwrap().to_owned();
    heard.get("/api/v1/me", &token).await;
    let cancel = http.request(Method::DELETE, &address).bearer_auth(&other);
    heard.ask("a cancellation".into(), cancel).await;
    let metrics =
        http.get(format!("http://{}/metrics", server.metrics)).send().await.unwrap().text().await.unwrap();
    assert!(metrics.contains("secchi_judge_requests_total"), "{metrics}");
    let (status, _) = server.terminate().await;
    assert!(status.success(), "{status}");
    let log = server.log();

    assert!(
        heard.said.len() > 500 && log.len() > 10_000,
        "{} answers, {} bytes",
        heard.said.len(),
        log.len()
    );
    heard.assert_unsaid(MARK);
    let secret = std::fs::read_to_string(ground.data.path().join("jwt-secret")).unwrap();
    for credential in [&team, &other, &maintainer, &secret, JUDGE_KEY] {
        heard.assert_unsaid(credential);
    }
    for (what, said) in &heard.said {
        let body = said.split_once('\n').unwrap().1;
        // A JSON document, or JSON lines.
        for text in [body].into_iter().chain(body.lines()) {
            assert_no_key(what, &serde_json::from_str(text).unwrap_or(Value::Null));
        }
    }
    let secrets = [MARK, ANSWER_MARK, JUDGE_KEY, &team, &other, &maintainer, &token, &secret];
    for secret in secrets {
        assert_absent("the metrics", &metrics, secret);
        assert_absent("the log", &log, secret);
    }
}
