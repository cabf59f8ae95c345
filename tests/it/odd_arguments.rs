//! Ids that are none and text that no database keeps: refused by every operation, and never a fault of the server.

use reqwest::Method;
use serde_json::json;

use crate::operations::operations;
use crate::roles::body;
use crate::support::{Options, Secchi, metadata};

#[tokio::test(flavor = "multi_thread")]
async fn an_id_that_is_none_is_not_found() {
    let secchi = Secchi::start().await;
    let (team, maintainer) = (secchi.team("ocean-lab").await, secchi.maintainer("harbour").await);
    let long = "x".repeat(6000);
    let unknown = uuid::Uuid::now_v7().to_string();
    let server = (&secchi.http, secchi.base.as_str());
    let ids = [
        "0",
        "not-an-id",
        "%F0%9F%90%9F",
        "%C3%BC",
        "%00",
        "a%00b",
        "%FF",
        "%2e%2e%2fsecrets",
        "..%2f..",
        "'%20OR%201=1--",
        "%20",
        "{id}",
        "%7Bid%7D",
        &long,
        &unknown,
    ];
    for operation in operations().iter().filter(|operation| operation.has_id()) {
        for id in ids {
            for key in [&team.key, &maintainer.key] {
                let response = operation.request(server, Some(key), id, "").send().await.unwrap();
                let status = response.status().as_u16();
                let media = response.headers()["content-type"].to_str().unwrap().to_owned();
                let answer = body(response).await;
                let forbidden = operation.route.contains("/admin/") && *key == team.key;
                assert_eq!(status, if forbidden { 403 } else { 404 }, "{} {id}: {answer}", operation.id);
                assert_eq!(media, "application/problem+json", "{} {id}", operation.id);
            }
        }
    }
    for key in ids {
        let response = secchi.get(&format!("/api/v1/videos/{key}"), Some(&team.key)).await;
        assert_eq!(response.status(), 404, "{key}");
    }
    for split in ["train", "Test", "%00", "%FF", &long] {
        let response = secchi.get(&format!("/api/v1/splits/{split}/questions"), Some(&team.key)).await;
        assert_eq!(response.status(), 404, "{split}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn text_that_no_database_keeps_is_refused_and_not_a_fault_of_the_server() {
    let (secchi, team) = Secchi::with_sample(Options::default()).await;
    let scored = secchi.scored(&team, &metadata("Reef-8B"), "random.jsonl").await;
    let path = format!("/api/v1/submissions/{}", scored["id"].as_str().unwrap());
    let maintainer = secchi.maintainer("harbour").await;
    let admin = path.replace("/v1/", "/v1/admin/");
    let changes = [
        (Method::PATCH, path.clone(), &team, json!({ "description": "a\u{0}b" })),
        (Method::POST, format!("{path}/withdraw"), &team, json!({ "reason": "a\u{0}b" })),
        (Method::POST, format!("{admin}/withdraw"), &maintainer, json!({ "reason": "\u{1b}[31mred" })),
        (
            Method::POST,
            format!("{admin}/decisions"),
            &maintainer,
            json!({ "question_id": "a\u{0}b", "criteria": {}, "reason": "a\u{0}b" }),
        ),
    ];
    for (method, path, team, change) in changes {
        let response = secchi.request(method, &path, Some(&team.key)).json(&change).send().await.unwrap();
        assert_eq!(response.status(), 422, "{change}: {}", body(response).await);
    }
}
