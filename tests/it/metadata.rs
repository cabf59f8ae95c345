//! What a team says about its model, and the form in which it sends that: each fault is named, nothing is stored.

use reqwest::Method;
use reqwest::multipart::{Form, Part};
use serde_json::{Value, json};

use crate::support::{Options, Secchi, TestTeam, metadata, problem, sample_bytes};

fn file() -> Vec<u8> {
    sample_bytes("predictions/weak_model.jsonl")
}

async fn send(secchi: &Secchi, team: &TestTeam, form: Form, status: u16) -> Value {
    let request = secchi.request(Method::POST, "/api/v1/submissions", Some(&team.key));
    problem(request.multipart(form).send().await.unwrap(), status).await
}

async fn assert_nothing_is_left(secchi: &Secchi, team: &TestTeam) {
    assert_eq!(secchi.submission_ids(team).await, Vec::<String>::new());
    assert_eq!(secchi.used_today(team).await, 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn each_fault_of_the_metadata_is_named_with_its_field() {
    let (secchi, team) = Secchi::with_sample(Options::default()).await;
    let with = |change: Value| {
        let mut changed = metadata("Reef-8B");
        changed.as_object_mut().unwrap().extend(change.as_object().unwrap().clone());
        changed
    };
    let without = |field: &str| {
        let mut changed = metadata("Reef-8B");
        changed.as_object_mut().unwrap().remove(field);
        changed
    };
    let cases = [
        (with(json!({ "parametres": 8 })), "/parametres", "unknown field"),
        (without("parameters_b"), "/parameters_b", "required"),
        (with(json!({ "parameters_b": null })), "/parameters_b", "required"),
        (with(json!({ "parameters_b": 0 })), "/parameters_b", "above 0"),
        (with(json!({ "parameters_b": "8" })), "/parameters_b", "expected f64"),
        (without("split"), "/split", "missing"),
        (with(json!({ "split": "hidden" })), "/split", "`hidden`"),
        (with(json!({ "split": "train" })), "/split", "`train`"),
        (without("model_name"), "/model_name", "missing"),
        (with(json!({ "model_name": "  " })), "/model_name", "blank"),
        (with(json!({ "model_name": ["Reef"] })), "/model_name", "string"),
        (with(json!({ "model_name": "x".repeat(1000) })), "/model_name", "longer"),
        (without("access"), "/access", "missing"),
        (with(json!({ "visibility": "everyone" })), "/visibility", "`everyone`"),
        (with(json!({ "paper_url": "javascript:alert(1)" })), "/paper_url", "http"),
        (with(json!({ "code_url": "ftp://example.org" })), "/code_url", "http"),
        (with(json!({ "description": "\u{1b}[31m" })), "/description", "control"),
    ];
    for (metadata, pointer, word) in cases {
        let refusal = problem(secchi.submit(&team, &metadata, file()).await, 422).await;
        assert_eq!(refusal["code"], "invalid_metadata", "{metadata}");
        assert_eq!(refusal["errors"][0]["pointer"], pointer, "{refusal}");
        assert!(refusal["errors"][0]["detail"].as_str().unwrap().contains(word), "{word}: {refusal}");
    }
    let several = with(json!({ "model_name": "", "parameters_b": -1, "code_url": "x" }));
    let refusal = problem(secchi.submit(&team, &several, file()).await, 422).await;
    assert_eq!(refusal["total"], 3, "{refusal}");
    assert_nothing_is_left(&secchi, &team).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_closed_model_needs_no_size_and_a_submission_is_private_unless_said() {
    let (secchi, team) = Secchi::with_sample(Options::default()).await;
    let least = json!({ "split": "test", "model_name": "Closed", "access": "closed" });
    let response = secchi.submit(&team, &least, file()).await;
    assert_eq!(response.status(), 202);
    let location = response.headers()["location"].to_str().unwrap().to_owned();
    let body: Value = response.json().await.unwrap();
    assert_eq!(location, format!("/api/v1/submissions/{}", body["id"].as_str().unwrap()));
    assert_eq!((&body["visibility"], &body["state"]), (&json!("private"), &json!("queued")));
    assert_eq!((&body["team"], &body["release"]), (&json!("ocean-lab"), &json!("sample")));
    assert_eq!(body["coverage"], json!({ "questions": 199, "answered": 199, "unparsed": 0 }));
    assert_eq!((&body["scores"], &body["finished_at"]), (&json!({}), &Value::Null));
    assert_eq!(secchi.get_json(&location, Some(&team.key)).await, body);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_form_without_a_part_or_with_one_too_many_is_refused() {
    let (secchi, team) = Secchi::with_sample(Options::default()).await;
    let described = || Form::new().text("metadata", metadata("Reef-8B").to_string());
    let part = || Part::bytes(file()).file_name("predictions.jsonl");
    for (form, word) in [
        (described(), "`predictions`"),
        (Form::new().part("predictions", part()), "`metadata`"),
        (described().part("predictions", part()).part("predictions", part()), "twice"),
        (described().text("metadata", "{}").part("predictions", part()), "twice"),
    ] {
        let refusal = send(&secchi, &team, form, 400).await;
        assert_eq!(refusal["code"], "malformed_form");
        assert!(refusal["detail"].as_str().unwrap().contains(word), "{refusal}");
    }
    let third = described().part("predictions", part()).text("notes", "hello");
    assert_eq!(send(&secchi, &team, third, 422).await["errors"][0]["pointer"], "/notes");
    let request = || secchi.request(Method::POST, "/api/v1/submissions", Some(&team.key));
    for response in
        [request().json(&metadata("Reef-8B")).send().await.unwrap(), request().send().await.unwrap()]
    {
        assert_eq!(problem(response, 415).await["code"], "unsupported_media_type");
    }
    let formless = request().header("content-type", "multipart/form-data").body("x").send().await.unwrap();
    assert_eq!(problem(formless, 400).await["code"], "malformed_form");
    assert_nothing_is_left(&secchi, &team).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn metadata_that_are_no_json_are_told_from_faulty_ones() {
    let (secchi, team) = Secchi::with_sample(Options::default()).await;
    let whole = metadata("Reef-8B").to_string();
    let trailing = format!("{whole} x");
    for (text, status) in [
        ("[\"test\", \"Reef-8B\", \"closed\"]", 422),
        ("", 400),
        ("{\"split\": \"test\"", 400),
        ("{'split': 'test'}", 400),
        (&trailing, 400),
        ("[]", 422),
        ("{\"split\": \"test\", \"split\": \"val\"}", 422),
        (&format!("{{\"description\": \"{}\"}}", "x".repeat(70_000)), 422),
    ] {
        let form = Form::new().text("metadata", text.to_owned()).part("predictions", Part::bytes(file()));
        let refusal = send(&secchi, &team, form, status).await;
        let code = if status == 400 { "malformed_json" } else { "invalid_metadata" };
        assert_eq!(refusal["code"], code, "{refusal}");
    }
    assert_nothing_is_left(&secchi, &team).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_parts_may_come_in_either_order() {
    let (secchi, team) = Secchi::with_sample(Options::default()).await;
    let form = Form::new()
        .part("predictions", Part::bytes(file()).file_name("predictions.jsonl"))
        .part("metadata", Part::text(metadata("Reef-8B").to_string()).mime_str("application/json").unwrap());
    let request = secchi.request(Method::POST, "/api/v1/submissions", Some(&team.key));
    assert_eq!(request.multipart(form).send().await.unwrap().status(), 202);
}
