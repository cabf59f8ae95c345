//! A judge behind HTTP for tests: OpenAI-compatible, with scores that follow from the message alone. It counts what it
//! is asked and can be made slow.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use actix_web::{App, HttpResponse, HttpServer, web};
use serde_json::{Map, Value, json};
use sha2::{Digest as _, Sha256};

#[derive(Default)]
struct Book {
    /// Calls that came, by message.
    calls: Mutex<HashMap<String, usize>>,
    answered: AtomicU64,
    latency_ms: AtomicU64,
}

/// A running stand-in.
pub struct StandIn {
    pub base_url: String,
    book: Arc<Book>,
}

impl StandIn {
    pub async fn start(latency_ms: u64) -> StandIn {
        let book = Arc::new(Book { latency_ms: latency_ms.into(), ..Book::default() });
        let data = web::Data::from(book.clone());
        let server = HttpServer::new(move || {
            App::new()
                .app_data(data.clone())
                .app_data(web::JsonConfig::default().limit(1 << 20))
                .route("/v1/chat/completions", web::post().to(complete))
        });
        let server = server.workers(1).disable_signals().bind("127.0.0.1:0").unwrap();
        let base_url = format!("http://{}/v1", server.addrs()[0]);
        // It ends with the test's runtime.
        tokio::spawn(server.run());
        StandIn { base_url, book }
    }

    /// Flags that make a server ask here, so many calls at once.
    pub fn flags(&self, max_concurrency: usize) -> Vec<String> {
        let concurrency = max_concurrency.to_string();
        ["--judge-base-url", &self.base_url, "--judge-model", "stand-in"]
            .into_iter()
            .chain(["--judge-max-concurrency", &concurrency])
            .map(str::to_owned)
            .collect()
    }

    pub fn set_latency_ms(&self, latency_ms: u64) {
        self.book.latency_ms.store(latency_ms, Ordering::SeqCst);
    }

    /// Starts counting anew.
    pub fn forget(&self) {
        self.book.calls.lock().unwrap().clear();
        self.book.answered.store(0, Ordering::SeqCst);
    }

    /// Calls that came so far.
    pub fn calls(&self) -> usize {
        self.book.calls.lock().unwrap().values().sum()
    }

    /// Calls beyond the first of each message.
    pub fn repeated(&self) -> usize {
        self.calls() - self.book.calls.lock().unwrap().len()
    }

    /// Calls that were answered to the end.
    pub fn answered(&self) -> usize {
        usize::try_from(self.book.answered.load(Ordering::SeqCst)).unwrap()
    }
}

async fn complete(book: web::Data<Book>, request: web::Json<Value>) -> HttpResponse {
    let user = request["messages"][1]["content"].as_str().unwrap_or_default();
    let message = without_fence(user);
    *book.calls.lock().unwrap().entry(message.clone()).or_default() += 1;
    tokio::time::sleep(Duration::from_millis(book.latency_ms.load(Ordering::SeqCst))).await;
    let schema = &request["response_format"]["json_schema"]["schema"]["properties"];
    let scores: Map<String, Value> = schema
        .as_object()
        .into_iter()
        .flatten()
        .map(|(criterion, schema)| {
            let score = Sha256::digest(format!("{criterion}|{message}"))[0] % 6;
            let value = match schema["properties"]["score"] {
                Value::Null => json!(score),
                _ => json!({"score": score, "explanation": "by lot"}),
            };
            (criterion.clone(), value)
        })
        .collect();
    book.answered.fetch_add(1, Ordering::SeqCst);
    HttpResponse::Ok().json(json!({
        "model": request["model"],
        "choices": [{
            "finish_reason": "stop",
            "message": {"content": Value::Object(scores).to_string(), "refusal": null},
        }],
        "usage": {"prompt_tokens": 100, "completion_tokens": 10},
    }))
}

/// The message without the codes of its fence, which differ from one database to the next.
fn without_fence(user: &str) -> String {
    let mut parts = user.split("answer-");
    let first = parts.next().unwrap_or_default().to_owned();
    parts
        .fold(first, |text, part| text + "answer-" + part.trim_start_matches(|c: char| c.is_ascii_hexdigit()))
}
