//! Judging against the judge's own time: answers of the whole split, a judge of fixed latency in a process of its own.

use std::process::Command;
use std::time::{Duration, Instant};

use actix_web::{App, HttpResponse, HttpServer, web};
use serde_json::{Map, Value, json};

use crate::process::{Process, Server, start};
use crate::scaled::Scaled;

const LATENCY: Duration = Duration::from_millis(200);
const AT_ONCE: usize = 16;

/// Answers every question alike after a fixed time, until it is killed.
pub fn serve_judge() {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
    runtime.block_on(async {
        let server = HttpServer::new(|| {
            App::new()
                .app_data(web::JsonConfig::default().limit(1 << 20))
                .route("/v1/chat/completions", web::post().to(complete))
        });
        let server = server.workers(1).bind("127.0.0.1:0").unwrap();
        println!("http://{}", server.addrs()[0]);
        server.run().await.unwrap();
    });
}

async fn complete(request: web::Json<Value>) -> HttpResponse {
    tokio::time::sleep(LATENCY).await;
    let criteria = request["response_format"]["json_schema"]["schema"]["properties"].as_object();
    let score = |schema: &Value| match schema["properties"]["score"] {
        Value::Null => json!(3),
        _ => json!({"score": 3, "explanation": "as all others"}),
    };
    let scores: Map<String, Value> =
        criteria.into_iter().flatten().map(|(name, schema)| (name.clone(), score(schema))).collect();
    let message = json!({"role": "assistant", "content": Value::Object(scores).to_string()});
    HttpResponse::Ok().json(json!({
        "model": request["model"],
        "choices": [{"index": 0, "finish_reason": "stop", "message": message}],
        "usage": {"prompt_tokens": 1000, "completion_tokens": 50},
    }))
}

/// Judges a whole file and prints how it compares with the judge's own time.
pub async fn judge_whole_file(scaled: &Scaled) {
    let judge: Process = start(Command::new(std::env::current_exe().unwrap()).arg("judge"));
    let base_url = format!("http://{}/v1", judge.address);
    let flags = ["--judge-base-url", &base_url, "--judge-model", "bench"];
    let server = Server::with(scaled, &flags).await;
    let started = Instant::now();
    server.submit(scaled.jsonl.clone()).await;
    server.wait_until_scored().await;
    let took_s = started.elapsed().as_secs_f64();
    let answers = 2 * scaled.videos;
    let ideal_s = answers as f64 * LATENCY.as_secs_f64() / AT_ONCE as f64;
    println!(
        "judging             {took_s:8.2} s     {answers} answers, {AT_ONCE} calls of {} ms at once    ratio {:.3}  (at most 1.05)",
        LATENCY.as_millis(),
        took_s / ideal_s
    );
}
