//! Two published entries beside each other: what is told, on which questions, and what is not.

use serde_json::{Value, json};

use crate::support::{Options, Secchi, TestTeam, metadata, sample_bytes};

fn id_of(submission: &Value) -> String {
    submission["id"].as_str().unwrap().to_owned()
}

async fn compared(secchi: &Secchi, a: &str, b: &str) -> Value {
    secchi.get_json(&format!("/api/v1/compare?a={a}&b={b}"), None).await
}

fn column<'v>(comparison: &'v Value, id: &str) -> &'v Value {
    let found = comparison["columns"].as_array().unwrap().iter().find(|column| column["id"] == id);
    found.unwrap_or_else(|| panic!("no {id} in {comparison}"))
}

/// Whether a number has at most so many decimals.
fn has_decimals(number: &Value, places: i32) -> bool {
    let scaled = number.as_f64().unwrap() * 10_f64.powi(places);
    (scaled - scaled.round()).abs() < 1e-9
}

async fn published(secchi: &Secchi, team: &TestTeam, name: &str, file: Vec<u8>) -> String {
    let sent: Value = secchi.submit(team, &metadata(name), file).await.json().await.unwrap();
    secchi.drain().await;
    id_of(&sent)
}

#[tokio::test(flavor = "multi_thread")]
async fn every_column_of_both_has_a_difference_which_is_rounded_on_test() {
    let (secchi, team) = Secchi::with_sample(Options::default()).await;
    let other = secchi.team("reef-lab").await;
    let a = published(&secchi, &team, "Strong", sample_bytes("predictions/strong_model.jsonl")).await;
    let b = published(&secchi, &other, "Weak", sample_bytes("predictions/weak_model.jsonl")).await;
    let seen = compared(&secchi, &a, &b).await;
    assert_eq!(
        (&seen["split"], &seen["release"], &seen["rounded"]),
        (&json!("test"), &json!("sample"), &json!(true))
    );
    assert_eq!((&seen["a"]["entry"], &seen["a"]["team"]), (&json!(a), &json!("ocean-lab")));
    assert_eq!((&seen["b"]["entry"], &seen["b"]["model_name"]), (&json!(b), &json!("Weak")));
    let board = secchi.get_json("/api/v1/leaderboard", None).await;
    let row =
        |id: &str| board["rows"].as_array().unwrap().iter().find(|row| row["entry"] == id).unwrap().clone();
    let (row_a, row_b) = (row(&a), row(&b));
    assert_eq!(seen["judge"], board["judge"]);
    let columns = seen["columns"].as_array().unwrap();
    assert_eq!(columns.len(), 15);
    for column in columns {
        let id = column["id"].as_str().unwrap();
        let (of_a, of_b) = (&row_a["scores"][id], &row_b["scores"][id]);
        assert_eq!((&column["a"], &column["b"], &column["n"]), (&of_a["value"], &of_b["value"], &of_a["n"]));
        let difference = of_a["value"].as_f64().unwrap() - of_b["value"].as_f64().unwrap();
        assert!((column["difference"].as_f64().unwrap() - difference).abs() < 0.05 + 1e-9, "{column}");
        assert!(has_decimals(&column["difference"], 1), "{column}");
        if column["ci95"].is_null() {
            assert_eq!(column["p"], Value::Null);
            continue;
        }
        assert!(has_decimals(&column["ci95"][0], 1) && has_decimals(&column["ci95"][1], 1), "{column}");
        assert!(has_decimals(&column["p"], 2), "{column}");
    }
    let mcq = column(&seen, "MCQ");
    assert_eq!((&mcq["is_clear"], mcq["ci95"][0].as_f64().unwrap() > 0.0), (&json!(true), true), "{mcq}");
}
