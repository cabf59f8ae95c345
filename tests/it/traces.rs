//! Traces: what is sent to a collector where the binary can, and what is said where it cannot.

use crate::process::Process;

const ENDPOINT: &str = "OTEL_EXPORTER_OTLP_ENDPOINT";

#[cfg(not(feature = "otlp"))]
#[tokio::test(flavor = "multi_thread")]
async fn a_binary_without_traces_says_so_once_where_they_are_asked_for() {
    use crate::support::Ground;

    let ground = Ground::new();
    let said = |process: &Process| process.log().matches("was built without traces").count();
    let asked = Process::serve_with(&ground, &[(ENDPOINT, "http://127.0.0.1:1")]);
    assert_eq!(said(&asked), 1, "{}", asked.log());
    drop(asked);
    assert_eq!(said(&Process::serve_with(&ground, &[(ENDPOINT, "")])), 0);
}

#[cfg(feature = "otlp")]
#[tokio::test(flavor = "multi_thread")]
async fn requests_work_and_judge_calls_are_traced_without_a_word_of_questions_and_answers() {
    use std::sync::{Arc, Mutex};

    use crate::odd_server::{http, odd_server};
    use crate::process::until;
    use crate::stand_in::StandIn;
    use crate::support::{Options, Secchi, metadata, sample_bytes};

    let sent = Arc::new(Mutex::new(String::new()));
    let kept = sent.clone();
    let collector = odd_server(move |_, request| {
        kept.lock().unwrap().push_str(request);
        http("200 OK", "content-type: application/x-protobuf\r\n", "")
    });
    let (collector, judge) = (collector.await, StandIn::start(0).await);
    let (secchi, team) = Secchi::with_sample(Options { judge: judge.flags(4), ..Options::default() }).await;
    let ground = secchi.stop().await;
    let environment = [
        (ENDPOINT, collector.as_str()),
        ("OTEL_BSP_SCHEDULE_DELAY", "50"),
        ("SECCHI_JUDGE_BASE_URL", &judge.base_url),
        ("SECCHI_JUDGE_MODEL", "stand-in"),
    ];
    let mut server = Process::serve_with(&ground, &environment);
    let id = server.submit(&team, &metadata("Reef-8B"), sample_bytes("predictions/strong_model.jsonl")).await;
    assert_eq!(server.ended(&team, &id).await["state"], "scored");
    until("a batch", async || sent.lock().unwrap().contains("POST /v1/traces")).await;
    // The last ones go when it stops.
    reqwest::get(format!("{}/api/v1/leaderboard", server.base)).await.unwrap();
    assert!(server.terminate().await.0.success());
    let sent = sent.lock().unwrap();
    let names = ["POST /api/v1/submissions", "GET /api/v1/leaderboard", "job", "judge_call"];
    for word in names.into_iter().chain(["http.route", "outcome", "valid", "rubric", "service.name", &id]) {
        assert!(sent.contains(word), "no `{word}` was sent");
    }
    assert!(!server.log().contains("judge_call"), "spans are in the log");
    let records = String::from_utf8(sample_bytes("test.jsonl")).unwrap();
    let records = records.lines().map(|line| serde_json::from_str::<serde_json::Value>(line).unwrap());
    for record in records {
        for secret in [&record["question_id"], &record["answer_text"], &record["question"]] {
            assert!(!sent.contains(secret.as_str().unwrap()), "{secret} was sent");
        }
    }
    assert!(!sent.contains(&team.key) && !sent.contains("sk_secchi"));
}
