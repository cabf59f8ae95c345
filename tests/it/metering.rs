//! What is counted of requests, and how many of them may come.

use reqwest::Method;

use crate::support::{Options, Secchi};
use crate::surface::{header, problem};

async fn metrics(secchi: &Secchi) -> String {
    let url = format!("http://{}/metrics", secchi.running.metrics_address);
    secchi.http.get(url).send().await.unwrap().text().await.unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn every_series_stands_from_the_start_at_zero() {
    let secchi = Secchi::start().await;
    let text = metrics(&secchi).await;
    let names = [
        "http_requests_total",
        "http_request_duration_seconds",
        "submissions_total",
        "submissions_in_state",
        "submission_duration_seconds",
        "submission_judge_time_ratio",
        "submissions_paused",
        "queue_depth",
        "queue_oldest_seconds",
        "jobs_total",
        "graded_answers_total",
        "flagged_answers_total",
        "judge_requests_total",
        "judge_request_duration_seconds",
        "judge_tokens_total",
        "judge_cost_usd_total",
        "judge_in_flight",
        "judge_reused_total",
        "judge_circuit_open",
    ];
    for name in names {
        let series: Vec<&str> =
            text.lines().filter(|line| line.starts_with(&format!("secchi_{name}"))).collect();
        assert!(!series.is_empty(), "`secchi_{name}` is missing");
        for line in series {
            assert!(line.ends_with(" 0"), "{line}");
        }
    }
    assert!(text.contains("secchi_build_info{version=\"0.1.0\"} 1"), "{text}");
    // There is no budget, so nothing remains of one.
    assert!(!text.contains("secchi_judge_budget_remaining_usd"));
    let labelled = [
        "secchi_submissions_total{outcome=\"scored\",split=\"test\"} 0",
        "secchi_submissions_in_state{state=\"incomplete\"} 0",
        "secchi_jobs_total{kind=\"judge\",outcome=\"requeued\"} 0",
        "secchi_graded_answers_total{dimension=\"MBC-so\",outcome=\"unparsed\"} 0",
        "secchi_flagged_answers_total{sign=\"override\"} 0",
        "secchi_judge_reused_total{rubric=\"caption\"} 0",
    ];
    for line in labelled {
        assert!(text.contains(line), "{line}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn requests_are_counted_by_route_pattern_and_never_by_address() {
    let secchi = Secchi::start().await;
    let id = uuid::Uuid::now_v7().to_string();
    for path in [
        &format!("/api/v1/entries/{id}"),
        "/nowhere/at-all",
        "/api/v1/leaderboard?sort=nothing",
        "/docs/index.html",
    ] {
        secchi.get(path, None).await;
    }
    secchi.request(Method::from_bytes(b"BREW").unwrap(), "/coffee", None).send().await.unwrap();
    let text = metrics(&secchi).await;
    let counted = [
        "secchi_http_requests_total{method=\"GET\",route=\"/api/v1/entries/{id}\",status=\"404\"} 1",
        "secchi_http_requests_total{method=\"GET\",route=\"/api/v1/leaderboard\",status=\"400\"} 1",
        "secchi_http_requests_total{method=\"GET\",route=\"unmatched\",status=\"404\"} 1",
        "secchi_http_request_duration_seconds_count{method=\"GET\",route=\"/api/v1/entries/{id}\"} 1",
    ];
    for line in counted {
        assert!(text.contains(line), "{line} in\n{text}");
    }
    for raw in [id.as_str(), "at-all", "nothing", "coffee", "BREW"] {
        assert!(!text.contains(raw), "`{raw}` is a label");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_key_over_its_rate_waits_while_others_and_probes_pass() {
    let secchi =
        Secchi::with(Options { http: vec!["--http-rate-per-minute", "3"], ..Options::default() }).await;
    let (team, other) = (secchi.team("ocean-lab").await, secchi.team("reef-lab").await);
    for left in [2, 1, 0] {
        let response = secchi.get("/api/v1/me", Some(&team.key)).await;
        assert_eq!(response.status(), 200);
        assert!(header(&response, "ratelimit").contains(&format!("r={left};")), "{response:?}");
        assert!(header(&response, "ratelimit-policy").contains("q=3;w=60"), "{response:?}");
    }
    let response = secchi.get("/api/v1/me", Some(&team.key)).await;
    let wait: u64 = header(&response, "retry-after").parse().unwrap();
    assert!((1..=21).contains(&wait), "{wait}");
    assert!(header(&response, "ratelimit").contains("r=0;"), "{response:?}");
    problem(response, 429, "rate_limited").await;
    assert_eq!(secchi.get("/api/v1/me", Some(&other.key)).await.status(), 200);
    for _ in 0..5 {
        assert_eq!(secchi.get("/healthz", Some(&team.key)).await.status(), 200);
        assert_eq!(secchi.get("/readyz", Some(&team.key)).await.status(), 200);
    }
    // Keys that nobody holds count against the address, however many they are.
    for number in 0..3 {
        assert_eq!(secchi.get("/api/v1/me", Some(&format!("sk_secchi_{number}"))).await.status(), 401);
    }
    assert_eq!(secchi.get("/api/v1/me", Some("sk_secchi_3")).await.status(), 429);
    assert_eq!(secchi.get("/", None).await.status(), 429);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_forwarded_address_is_believed_of_a_trusted_proxy_alone() {
    let ask = async |secchi: &Secchi, forwarded: &str| {
        let request = secchi.request(Method::GET, "/api/v1/benchmark", None);
        request.header("x-forwarded-for", forwarded).send().await.unwrap().status().as_u16()
    };
    let open =
        Secchi::with(Options { http: vec!["--http-rate-per-minute", "1"], ..Options::default() }).await;
    assert_eq!(ask(&open, "203.0.113.1").await, 200);
    assert_eq!(ask(&open, "203.0.113.2").await, 429);
    let http = vec!["--http-rate-per-minute", "1", "--trusted-proxies", "127.0.0.1,10.0.0.1"];
    let behind = Secchi::with(Options { http, ..Options::default() }).await;
    assert_eq!(ask(&behind, "203.0.113.1").await, 200);
    assert_eq!(ask(&behind, "203.0.113.2, 10.0.0.1").await, 200);
    // What the client itself writes in front is not believed: the nearest address that is no proxy counts.
    assert_eq!(ask(&behind, "198.51.100.7, 203.0.113.1").await, 429);
    assert_eq!(ask(&behind, "203.0.113.2").await, 429);
    // One bucket for an IPv6 network.
    assert_eq!(ask(&behind, "2001:db8::1").await, 200);
    assert_eq!(ask(&behind, "2001:db8::ffff").await, 429);
}
