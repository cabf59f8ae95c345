//! What every answer looks like from outside: the document, problems, headers and assets.

use std::collections::HashSet;
use std::io::Read as _;

use reqwest::{Method, Response};
use serde_json::{Value, json};

use secchi::domain::flag::FlagKind;
use secchi::domain::outcome::FailureReason;
use secchi::domain::question::Split;
use secchi::domain::submission::SubmissionState;

use crate::operations::operations;
use crate::program::{run, secchi as program};
use crate::support::{Options, Secchi, entries, metadata};

/// Words that an operation id may begin with.
const VERBS: [&str; 18] = [
    "list", "find", "create", "update", "cancel", "check", "retry", "withdraw", "revoke", "rotate",
    "approve", "reject", "disable", "enable", "close", "stage", "activate", "rejudge",
];

pub fn header(response: &Response, name: &str) -> String {
    response.headers().get(name).map(|value| value.to_str().unwrap().to_owned()).unwrap_or_default()
}

/// Asserts that an answer is a problem of this status and code, and gives it.
pub async fn problem(response: Response, status: u16, code: &str) -> Value {
    let (media, id) = (header(&response, "content-type"), header(&response, "x-request-id"));
    let (got, url) = (response.status().as_u16(), response.url().clone());
    let body = response.text().await.unwrap();
    assert_eq!((got, media.as_str()), (status, "application/problem+json"), "{url}: {body}");
    assert!(uuid::Uuid::parse_str(&id).is_ok(), "{url}: X-Request-Id is `{id}`");
    let problem: Value = serde_json::from_str(&body).unwrap();
    assert_eq!(problem["code"], code, "{url}: {body}");
    assert_eq!(problem["status"], status, "{url}");
    for field in ["type", "title", "detail"] {
        assert!(problem[field].as_str().is_some_and(|text| !text.is_empty()), "{url}: `{field}` in {body}");
    }
    problem
}

#[test]
fn the_document_in_the_repository_is_the_one_that_the_program_prints() {
    let folder = tempfile::tempdir().unwrap();
    let printed = run(&mut program(folder.path(), &["openapi"])).stdout();
    let kept = std::fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/openapi/openapi.json")).unwrap();
    assert!(
        printed == kept,
        "openapi/openapi.json is old; renew it: cargo run -- openapi > openapi/openapi.json"
    );
}

#[test]
fn the_document_is_openapi_3_1_and_names_its_operations_in_the_houses_verbs() {
    let document = serde_json::to_value(secchi::http::document()).unwrap();
    assert!(document["openapi"].as_str().unwrap().starts_with("3.1."));
    let mut ids = HashSet::new();
    for operation in operations() {
        let verb = operation.id.split('_').next().unwrap_or_default();
        assert!(VERBS.contains(&verb) && operation.id.contains('_'), "{}", operation.id);
        assert!(ids.insert(operation.id.clone()), "`{}` is not unique", operation.id);
        assert!(operation.described["summary"].is_string(), "`{}` has no summary", operation.id);
        for (status, answer) in operation.described["responses"].as_object().unwrap() {
            if status.starts_with('4') {
                let problem = &answer["content"]["application/problem+json"];
                assert!(problem.is_object(), "`{}`: {status} is no problem", operation.id);
            }
        }
    }
}

#[test]
fn the_document_names_values_as_they_are_sent() {
    let document = serde_json::to_value(secchi::http::document()).unwrap();
    let values = |name: &str| document["components"]["schemas"][name]["enum"].clone();
    assert_eq!(values("Split"), json!(Split::ALL));
    assert_eq!(values("SubmissionState"), json!(SubmissionState::ALL));
    assert_eq!(values("FlagKind"), json!(FlagKind::ALL));
    assert_eq!(values("FailureReason"), json!(FailureReason::ALL));
}

#[tokio::test(flavor = "multi_thread")]
async fn the_served_document_is_the_same() {
    let secchi = Secchi::start().await;
    let document = serde_json::to_value(secchi::http::document()).unwrap();
    assert_eq!(secchi.get_json("/api/v1/openapi.json", None).await, document);
}

#[tokio::test(flavor = "multi_thread")]
async fn every_answer_carries_a_request_id_of_its_own() {
    let secchi = Secchi::start().await;
    let mut seen = HashSet::new();
    for path in [
        "/",
        "/healthz",
        "/readyz",
        "/api/v1/leaderboard",
        "/api/v1/me",
        "/docs/",
        "/assets/style.css",
        "/nowhere",
    ] {
        for method in [Method::GET, Method::HEAD, Method::OPTIONS, Method::PUT] {
            let response = secchi.request(method.clone(), path, None).send().await.unwrap();
            let id = header(&response, "x-request-id");
            assert!(uuid::Uuid::parse_str(&id).is_ok(), "{method} {path}: `{id}`");
            assert!(seen.insert(id), "{method} {path}: an id for the second time");
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_not_there_or_not_taken_is_a_problem() {
    let secchi = Secchi::start().await;
    for path in
        ["/nowhere", "/api", "/api/v1", "/api/v1/", "/api/v2/leaderboard", "/assets/", "/%FF", "/healthz/"]
    {
        problem(secchi.get(path, None).await, 404, "not_found").await;
    }
    let wrong = [
        (Method::PUT, "/api/v1/leaderboard", "GET, HEAD"),
        (Method::POST, "/api/v1/benchmark", "GET, HEAD"),
        (Method::GET, "/api/v1/auth/token", "POST"),
        (Method::DELETE, "/api/v1/submissions", "GET, HEAD, POST"),
        (Method::PUT, "/api/v1/submissions/01a22963-3f09-7089-bfaa-4e33da3a9318", "GET, HEAD, PATCH, DELETE"),
        (Method::OPTIONS, "/api/v1/leaderboard", "GET, HEAD"),
        (Method::POST, "/", "GET, HEAD"),
        (Method::POST, "/assets/style.css", "GET, HEAD"),
        (Method::POST, "/healthz", "GET, HEAD"),
        (Method::from_bytes(b"BREW").unwrap(), "/api/v1/me", "GET, HEAD"),
    ];
    for (method, path, allowed) in wrong {
        let response = secchi.request(method.clone(), path, None).send().await.unwrap();
        assert_eq!(header(&response, "allow"), allowed, "{method} {path}");
        problem(response, 405, "method_not_allowed").await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn head_is_answered_as_get_without_a_body() {
    let secchi = Secchi::start().await;
    for path in
        ["/", "/healthz", "/readyz", "/api/v1/leaderboard", "/api/v1/benchmark", "/api/v1/openapi.json"]
    {
        let response = secchi.request(Method::HEAD, path, None).send().await.unwrap();
        let (got, head) = (secchi.get(path, None).await, response.status());
        assert_eq!((head, header(&response, "etag")), (got.status(), header(&got, "etag")), "HEAD {path}");
        assert!(response.bytes().await.unwrap().is_empty());
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_faulty_body_is_a_problem_that_says_what_is_wrong() {
    let secchi = Secchi::start().await;
    let send = async |media: Option<&str>, body: Vec<u8>| {
        let request = secchi.request(Method::POST, "/api/v1/auth/token", None).body(body);
        let request = match media {
            Some(media) => request.header("content-type", media),
            None => request,
        };
        request.send().await.unwrap()
    };
    let json = Some("application/json");
    for body in ["", "{", "{\"api_key\": }", "\u{feff}{}", "nonsense"] {
        problem(send(json, body.into()).await, 400, "malformed_json").await;
    }
    problem(send(json, b"{\"api_key\": \"\xff\"}".to_vec()).await, 400, "malformed_json").await;
    for body in [
        "[]",
        "[\"sk_secchi_x\"]",
        "{}",
        "{\"api_key\": 7}",
        "{\"api_key\": null}",
        "{\"api_key\": \"x\", \"more\": 1}",
    ] {
        problem(send(json, body.into()).await, 422, "invalid_body").await;
    }
    for media in [None, Some("text/plain"), Some("application/x-www-form-urlencoded"), Some("")] {
        problem(send(media, b"{\"api_key\": \"x\"}".to_vec()).await, 415, "unsupported_media_type").await;
    }
    let huge = json!({ "api_key": "x".repeat(3 << 20) }).to_string();
    problem(send(json, huge.into_bytes()).await, 413, "too_large").await;
    let deep = format!("{{\"api_key\": {}1{}}}", "[".repeat(50_000), "]".repeat(50_000));
    let response = send(json, deep.into_bytes()).await;
    assert!(response.status().is_client_error(), "{}", response.status());
}

#[tokio::test(flavor = "multi_thread")]
async fn an_unknown_or_faulty_parameter_is_a_problem() {
    let secchi = Secchi::start().await;
    let team = secchi.team("ocean-lab").await;
    let key = Some(team.key.as_str());
    let queries = [
        "/api/v1/leaderboard?splt=val",
        "/api/v1/leaderboard?split=train",
        "/api/v1/leaderboard?group=huge",
        "/api/v1/leaderboard?format=xml",
        "/api/v1/leaderboard?all=yes",
        "/api/v1/leaderboard?split=test&split=val",
        "/api/v1/submissions?limit=0",
        "/api/v1/submissions?limit=1001",
        "/api/v1/submissions?limit=ten",
        "/api/v1/submissions?limit=99999999999999999999",
        "/api/v1/submissions?cursor=%00",
        "/api/v1/submissions?page=2",
        "/api/v1/splits/val/questions?cursor=-1",
        "/api/v1/splits/val/questions?cursor=99999999999",
    ];
    for query in queries {
        problem(secchi.get(query, key).await, 400, "invalid_parameter").await;
    }
    let response =
        secchi.request(Method::POST, "/api/v1/submissions?dry_run=perhaps", key).send().await.unwrap();
    problem(response, 400, "invalid_parameter").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_client_that_takes_no_coding_is_told_so_in_a_problem() {
    let secchi = Secchi::start().await;
    for path in ["/", "/api/v1/leaderboard", "/api/v1/benchmark", "/nowhere"] {
        for codings in ["identity;q=0", "*;q=0", "lzma, identity;q=0"] {
            let request = secchi.request(Method::GET, path, None).header("accept-encoding", codings);
            let refusal = problem(request.send().await.unwrap(), 406, "not_acceptable").await;
            assert!(refusal["detail"].as_str().unwrap().contains("`Accept-Encoding`"), "{refusal}");
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn every_list_is_given_in_pages() {
    let secchi = Secchi::start().await;
    let document = serde_json::to_value(secchi::http::document()).unwrap();
    let keeper = secchi.maintainer("upkeep").await;
    let (mut seen, mut asked) = (0, 0);
    for operation in operations().iter().filter(|operation| operation.id.starts_with("list_")) {
        let schema =
            &operation.described["responses"]["200"]["content"]["application/json"]["schema"]["$ref"];
        let Some(schema) = schema.as_str() else { continue };
        let fields = &document.pointer(schema.trim_start_matches('#')).unwrap()["properties"];
        if !fields["items"].is_object() {
            continue;
        }
        seen += 1;
        assert!(fields["next_cursor"].is_object(), "{}", operation.id);
        let parameters = operation.described["parameters"].as_array().unwrap();
        for name in ["limit", "cursor"] {
            assert!(parameters.iter().any(|parameter| parameter["name"] == name), "{}: {name}", operation.id);
        }
        if !operation.route.contains('{') {
            asked += 1;
            let first = secchi.get_json(&format!("{}?limit=1", operation.route), Some(&keeper.key)).await;
            assert!(first["items"].as_array().unwrap().len() <= 1, "{}: {first}", operation.id);
            for odd in ["limit=0", "limit=x", "cursor=%00"] {
                let path = format!("{}?{odd}", operation.route);
                problem(secchi.get(&path, Some(&keeper.key)).await, 400, "invalid_parameter").await;
            }
        }
    }
    assert!(seen >= 15 && asked >= 11, "{seen} {asked}");
    let quota =
        async |query: &str| secchi.get_json(&format!("/api/v1/quota{query}"), Some(&keeper.key)).await;
    let (all, first) = (quota("").await, quota("?limit=1").await);
    let rest = quota(&format!("?cursor={}", first["next_cursor"].as_str().unwrap())).await;
    assert_eq!((&first["items"][0], &rest["items"][0]), (&all["items"][0], &all["items"][1]));
    assert_eq!((&rest["next_cursor"], &all["next_cursor"]), (&Value::Null, &Value::Null));
}

#[tokio::test(flavor = "multi_thread")]
async fn health_and_readiness_are_told_to_everybody() {
    let secchi = Secchi::start().await;
    assert_eq!(secchi.get("/healthz", None).await.text().await.unwrap(), "ok\n");
    let ready = secchi.get_json("/readyz", None).await;
    assert_eq!(ready, json!({ "database": true, "queue": true, "migrations": true, "stopping": false }));
}

#[tokio::test(flavor = "multi_thread")]
async fn pages_load_and_run_nothing_but_the_servers_own() {
    let secchi = Secchi::start().await;
    for path in ["/", "/?split=none", "/api/v1/leaderboard", "/nowhere", "/assets/style.css"] {
        let response = secchi.get(path, None).await;
        let policy = header(&response, "content-security-policy");
        assert!(
            policy.contains("default-src 'none'") && !policy.contains("unsafe-inline"),
            "{path}: {policy}"
        );
        assert_eq!(header(&response, "x-content-type-options"), "nosniff", "{path}");
    }
    let page = secchi.get("/", None).await.text().await.unwrap();
    for inline in ["<script>", "<style", " style=", " onclick=", " onload="] {
        assert!(!page.contains(inline), "{inline} in the page");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_documentation_page_needs_no_foreign_host() {
    let secchi = Secchi::start().await;
    assert_eq!(secchi.get("/docs", None).await.url().path(), "/docs/");
    let response = secchi.get("/docs/", None).await;
    let policy = header(&response, "content-security-policy");
    assert!(policy.contains("default-src 'none'; ") && policy.contains("script-src 'self';"), "{policy}");
    let page = response.text().await.unwrap();
    let mut assets = 0;
    for attribute in page.split_inclusive(['"']).collect::<Vec<_>>().windows(2) {
        if !attribute[0].ends_with("src=\"") && !attribute[0].ends_with("href=\"") {
            continue;
        }
        let target = attribute[1].trim_end_matches('"');
        assert!(!target.contains("//"), "the page loads `{target}`");
        let asset = secchi.get(&format!("/docs/{target}"), None).await;
        assert_eq!(asset.status(), 200, "{target}");
        if target.ends_with("initializer.js") {
            let script = asset.text().await.unwrap();
            assert!(script.contains("/api/v1/openapi.json"), "{script}");
            assert!(!script.contains("http://") && !script.contains("https://"), "{script}");
            // Else the page asks a foreign validator about its document.
            assert!(script.contains("\"validatorUrl\": \"none\""), "{script}");
        }
        assets += 1;
    }
    assert!(assets >= 4, "{page}");
    assert!(!page.contains("<script>"), "a script within the page");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_board_is_compressed_for_those_who_ask() {
    let secchi = Secchi::start().await;
    let plain = secchi.get("/api/v1/leaderboard", None).await.bytes().await.unwrap();
    let ask = async |encoding: &str| {
        let request = secchi.request(Method::GET, "/api/v1/leaderboard", None);
        request.header("accept-encoding", encoding).send().await.unwrap()
    };
    let gzip = ask("gzip").await;
    assert_eq!(header(&gzip, "content-encoding"), "gzip");
    let varies = gzip.headers().get_all("vary");
    assert!(varies.iter().any(|value| value.to_str().unwrap().contains("accept-encoding")), "{gzip:?}");
    let mut unpacked = Vec::new();
    flate2::read::GzDecoder::new(&*gzip.bytes().await.unwrap()).read_to_end(&mut unpacked).unwrap();
    assert_eq!(unpacked, plain);
    let brotli = ask("br").await;
    assert_eq!(header(&brotli, "content-encoding"), "br");
    assert!(brotli.bytes().await.unwrap().len() < plain.len());
    assert_eq!(header(&ask("identity").await, "content-encoding"), "");
}

#[tokio::test(flavor = "multi_thread")]
async fn the_csv_holds_the_jsons_rows_in_order_and_no_formula() {
    let (secchi, team) = Secchi::with_sample(Options::default()).await;
    let names = ["=HYPERLINK(\"http://example.org\")", "+1", "-1", "@SUM(A1)", "\t=1", "Reef, \"8B\"\nnew"];
    for (name, file) in names.into_iter().zip([
        "random.jsonl",
        "weak_model.jsonl",
        "strong_model.jsonl",
        "perfect.jsonl",
        "partial.jsonl",
        "random.jsonl",
    ]) {
        let mut metadata = metadata(name);
        metadata["backbone"] = json!("=cmd|' /C calc'!A0");
        secchi.accepted(&team, &metadata, file).await;
        secchi.clock.advance_ms(24 * 3600 * 1000);
        secchi.drain().await;
    }
    let board = secchi.get_json("/api/v1/leaderboard?sort=-OEMU", None).await;
    let rows = entries(&board);
    let rows = rows.as_array().unwrap();
    assert_eq!(rows.len(), names.len());
    let response = secchi.get("/api/v1/leaderboard?sort=-OEMU&format=csv", None).await;
    assert_eq!(header(&response, "content-type"), "text/csv; charset=utf-8");
    let text = response.bytes().await.unwrap();
    let accepted =
        secchi.request(Method::GET, "/api/v1/leaderboard?sort=-OEMU", None).header("accept", "text/csv");
    assert_eq!(accepted.send().await.unwrap().bytes().await.unwrap(), text);
    let mut reader = csv::Reader::from_reader(&*text);
    let head = reader.headers().unwrap().clone();
    let place = |name: &str| head.iter().position(|other| other == name).unwrap();
    let mut records: Vec<csv::StringRecord> = reader.records().map(Result::unwrap).collect();
    assert_eq!(records.len(), board["rows"].as_array().unwrap().len());
    records.retain(|record| !record[place("entry")].is_empty());
    assert_eq!(records.len(), rows.len());
    for name in
        rows[0].as_object().unwrap().keys().filter(|name| !["scores", "tier"].contains(&name.as_str()))
    {
        assert!(head.iter().any(|other| other == name), "`{name}` is no header");
    }
    for (record, row) in records.iter().zip(rows) {
        assert_eq!(serde_json::from_str::<Value>(&record[place("rank_range")]).unwrap(), row["rank_range"]);
        assert_eq!(record[place("entry")], *row["entry"].as_str().unwrap());
        assert_eq!(record[place("rank")], row["rank"].to_string());
        // serde_json reads a number to within the last place.
        let score = row["scores"]["OEMU"]["value"].as_f64().unwrap();
        assert!((record[place("OEMU")].parse::<f64>().unwrap() - score).abs() < 1e-12);
        let name = row["model_name"].as_str().unwrap();
        assert_eq!(record[place("model_name")].trim_start_matches('\''), name);
        for cell in record {
            assert!(!cell.starts_with(['=', '+', '-', '@', '\t', '\r']), "{cell:?} is a formula");
        }
    }
}
