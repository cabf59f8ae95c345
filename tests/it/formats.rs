//! Files without faults in every format, encoding and compression; and the dry run.

use serde_json::{Value, json};

use secchi::domain::question::Split;

use crate::operations::val_metadata;
use crate::support::{Options, Secchi, TestTeam, metadata, problem, sample, sample_bytes};

#[tokio::test(flavor = "multi_thread")]
async fn every_variant_of_a_file_is_accepted_and_scored_the_same() {
    let quota = vec!["--quota-per-day", "100", "--quota-total", "100"];
    let (secchi, team) = Secchi::with_sample(Options { quota, ..Options::default() }).await;
    let plain = secchi.scored(&team, &metadata("Plain"), "strong_model.jsonl").await;
    assert_eq!(plain["state"], "scored");
    let mut seen = 0;
    for entry in std::fs::read_dir(sample("predictions")).unwrap() {
        let name = entry.unwrap().file_name().into_string().unwrap();
        if !name.starts_with("variant") {
            continue;
        }
        seen += 1;
        let variant = secchi.scored(&team, &metadata(&name), &name).await;
        for field in ["state", "coverage", "scores", "warnings", "judge"] {
            assert_eq!(variant[field], plain[field], "{name}: {field}");
        }
    }
    assert_eq!(seen, 14);
}

/// Submits a file to val under a name of its own, works it off and gives the submission.
async fn scored_val(secchi: &Secchi, team: &TestTeam, name: &str, file: Vec<u8>) -> Value {
    let mut metadata = val_metadata();
    metadata["model_name"] = json!(name);
    let response = secchi.submit(team, &metadata, file).await;
    let (status, accepted) = (response.status(), response.json::<Value>().await.unwrap());
    assert_eq!(status, 202, "{accepted}");
    secchi.drain().await;
    let path = format!("/api/v1/submissions/{}", accepted["id"].as_str().unwrap());
    secchi.get_json(&path, Some(&team.key)).await
}

/// The files were written by the harnesses themselves (`make check-harnesses`).
#[tokio::test(flavor = "multi_thread")]
async fn what_harnesses_write_is_scored_as_the_same_answers_are_as_jsonl() {
    let secchi = Secchi::start().await;
    secchi.import(Split::Val, "val.jsonl").await;
    let team = secchi.team("ocean-lab").await;
    let fixture = |name: &str| std::fs::read(sample("../harnesses").join(name)).unwrap();
    let dummy: String = String::from_utf8(fixture("rule.jsonl"))
        .unwrap()
        .lines()
        .map(|line| {
            let mut record: Value = serde_json::from_str(line).unwrap();
            record["answer"] = json!("B");
            format!("{record}\n")
        })
        .collect();
    let rule = &scored_val(&secchi, &team, "rule", fixture("rule.jsonl")).await;
    assert_eq!((&rule["state"], &rule["coverage"]["answered"]), (&json!("scored"), &json!(25)));
    let dummy = scored_val(&secchi, &team, "dummy", dummy.into_bytes()).await;
    for (name, plain) in [
        ("lmms-rule.jsonl", rule),
        ("lmms-dummy.jsonl", &dummy),
        ("vlm-xlsx.xlsx", rule),
        ("vlm-tsv.tsv", rule),
        ("vlm-json.json", rule),
    ] {
        let written = scored_val(&secchi, &team, name, fixture(name)).await;
        for field in ["state", "coverage", "scores", "warnings"] {
            assert_eq!(written[field], plain[field], "{name}: {field}");
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_dry_run_says_what_would_come_and_stores_nothing() {
    let (secchi, team) = Secchi::with_sample(Options::default()).await;
    let partial = sample_bytes("predictions/partial.jsonl");
    let dry = async || {
        let request = secchi.submission_with("?dry_run=true", &team, &metadata("Dry"), partial.clone());
        let response = request.send().await.unwrap();
        assert_eq!(response.status(), 200);
        assert!(!response.headers().contains_key("location"));
        response.json::<Value>().await.unwrap()
    };
    let run = dry().await;
    assert_eq!(run["coverage"], json!({ "questions": 199, "answered": 139, "unparsed": 0 }));
    assert_eq!(run["warnings"].as_array().unwrap().len(), 1);
    let warning = &run["warnings"][0];
    assert_eq!((&warning["code"], &warning["count"]), (&json!("missing_answers"), &json!(60)));
    let quota = &run["quota"];
    assert_eq!((&quota["split"], &quota["per_day"], &quota["left"]), (&json!("test"), &json!(5), &json!(5)));
    assert_eq!(dry().await, run);
    assert_eq!(secchi.submission_ids(&team).await, Vec::<String>::new());
    assert_eq!(secchi.used_today(&team).await, 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_dry_run_needs_no_quota_and_knows_no_other_value_than_true_and_false() {
    let quota = vec!["--quota-per-day", "0"];
    let (secchi, team) = Secchi::with_sample(Options { quota, ..Options::default() }).await;
    let file = sample_bytes("predictions/weak_model.jsonl");
    let ask = |query| secchi.submission_with(query, &team, &metadata("Dry"), file.clone()).send();
    let run: Value = ask("?dry_run=true").await.unwrap().json().await.unwrap();
    assert_eq!(run["quota"]["left"], 0);
    assert_eq!(problem(ask("?dry_run=false").await.unwrap(), 429).await["code"], "quota_exceeded");
    assert_eq!(problem(ask("?dry_run=yes").await.unwrap(), 400).await["code"], "invalid_parameter");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_dry_run_of_an_inactive_split_says_that_it_is_not_active() {
    let secchi = Secchi::start().await;
    secchi.import(Split::Val, "val.jsonl").await;
    let team = secchi.team("ocean-lab").await;
    let file = sample_bytes("predictions/perfect.jsonl");
    for query in ["?dry_run=true", ""] {
        let response =
            secchi.submission_with(query, &team, &metadata("Early"), file.clone()).send().await.unwrap();
        assert_eq!(problem(response, 409).await["code"], "no_active_release");
    }
    assert_eq!(secchi.used_today(&team).await, 0);
}
