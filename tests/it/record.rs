//! Signed records of entries, the keys behind them, and what to cite.

use reqwest::Method;
use serde_json::{Value, json};

use secchi::records::{KeySet, check};

use crate::program::run_on;
use crate::support::{Options, Secchi, TestTeam, metadata, problem, sample_bytes};

pub const KEYS: &str = "/.well-known/secchi-keys.json";

/// A public entry of a server with the sample, and the address of its record.
pub async fn with_entry() -> (Secchi, TestTeam, String) {
    let (secchi, team) = Secchi::with_sample(Options::default()).await;
    let submission = secchi.scored(&team, &metadata("Reef-8B"), "strong_model.jsonl").await;
    (secchi, team, submission["id"].as_str().unwrap().to_owned())
}

pub fn record_of(id: &str) -> String {
    format!("/api/v1/entries/{id}/record")
}

pub async fn bytes(secchi: &Secchi, path: &str) -> Vec<u8> {
    let response = secchi.get(path, None).await;
    assert_eq!(response.status(), 200, "{path}");
    response.bytes().await.unwrap().to_vec()
}

async fn keys(secchi: &Secchi) -> KeySet {
    KeySet::read(&bytes(secchi, KEYS).await).unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_record_says_what_the_entry_says_and_holds_by_the_servers_keys() {
    let (secchi, _, id) = with_entry().await;
    let text = bytes(&secchi, &record_of(&id)).await;
    let shown: Value = serde_json::from_slice(&text).unwrap();
    let (record, entry) = (&shown["record"], secchi.get_json(&format!("/api/v1/entries/{id}"), None).await);
    for field in ["team", "split", "model_name", "scores", "code_version", "submitted_at", "scored_at"] {
        assert_eq!(record[field], entry[field], "{field}");
    }
    assert_eq!((&record["entry"], &record["issuer"]), (&entry["id"], &json!(secchi.base)));
    assert_eq!(record["release"], json!({ "name": entry["release"], "sha256": entry["release_sha256"] }));
    assert_eq!(record["judge"]["configuration"], entry["judge"]["configuration"]);
    assert_eq!(record["coverage"]["questions"], entry["coverage"]["questions"]);
    assert_eq!(record["predictions_sha256"].as_str().unwrap().len(), 64);
    assert_eq!(record["scores"].as_object().unwrap().len(), 15);
    assert!(check(&text, Some(&keys(&secchi).await)).unwrap().key_is_known);
}

#[tokio::test(flavor = "multi_thread")]
async fn the_same_state_has_the_same_bytes_also_later_and_after_a_restart() {
    let (secchi, _, id) = with_entry().await;
    let text = bytes(&secchi, &record_of(&id)).await;
    let signed: Value = serde_json::from_slice(&text).unwrap();
    for path in [record_of(&id), KEYS.to_owned()] {
        let etag = secchi.get(&path, None).await.headers()["etag"].clone();
        let again = secchi.request(Method::GET, &path, None).header("If-None-Match", etag);
        assert_eq!(again.send().await.unwrap().status(), 304, "{path}");
    }
    secchi.clock.advance_ms(1000);
    assert_eq!(bytes(&secchi, &record_of(&id)).await, text);
    let before = bytes(&secchi, KEYS).await;
    let secchi = Secchi::on(secchi.stop().await, Options::default()).await;
    assert_eq!(bytes(&secchi, KEYS).await, before);
    // The port is another one, and so is the issuer.
    let after: Value = secchi.get_json(&record_of(&id), None).await;
    assert_eq!(after["record"]["scores"], signed["record"]["scores"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_not_public_has_no_record_what_was_withdrawn_says_why_and_nobody_is_named_who_does_not_want_it()
 {
    let (secchi, team) = Secchi::with_sample(Options::default()).await;
    let mut private = metadata("Reef-8B");
    private["visibility"] = json!("private");
    let id = secchi.accepted(&team, &private, "strong_model.jsonl").await;
    let paths = [record_of(&id), format!("/api/v1/entries/{id}/citation.bib")];
    for path in &paths {
        problem(secchi.get(path, None).await, 404).await;
    }
    secchi.drain().await;
    for path in &paths {
        problem(secchi.get(path, None).await, 404).await;
    }
    let own = format!("/api/v1/submissions/{id}");
    let change = json!({ "visibility": "anonymous" });
    secchi.request(Method::PATCH, &own, Some(&team.key)).json(&change).send().await.unwrap();
    for path in &paths {
        let text = String::from_utf8(bytes(&secchi, path).await).unwrap();
        assert!(text.contains("Reef-8B") && !text.contains("ocean-lab"), "{text}");
    }
    assert_eq!(secchi.get_json(&paths[0], None).await["record"]["team"], Value::Null);
    let withdraw = secchi.request(Method::POST, &format!("{own}/withdraw"), Some(&team.key));
    withdraw.json(&json!({ "reason": "a wrong checkpoint" })).send().await.unwrap();
    for path in &paths {
        let gone = problem(secchi.get(path, None).await, 410).await;
        assert!(gone["detail"].as_str().unwrap().contains("a wrong checkpoint"), "{gone}");
    }
    problem(secchi.get(&record_of(&uuid::Uuid::now_v7().to_string()), None).await, 404).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn of_many_first_readers_on_several_servers_one_makes_the_key() {
    let (secchi, _, id) = with_entry().await;
    let other = match secchi.ground.is_shared() {
        true => Some(Secchi::on(secchi.ground.shared(), Options::default()).await),
        false => None,
    };
    let servers = [&secchi, other.as_ref().unwrap_or(&secchi)];
    let path = record_of(&id);
    let asked = (0..16).map(|place| servers[place % 2].get(&path, None));
    let signed = futures::future::join_all(asked).await;
    let mut made = std::collections::BTreeSet::new();
    for response in signed {
        assert_eq!(response.status(), 200);
        let key = check(&response.bytes().await.unwrap(), None).unwrap().key;
        made.insert(key.id().to_owned());
    }
    assert_eq!(made.len(), 1);
    let shown: Value = secchi.get_json(KEYS, None).await;
    assert_eq!(shown["keys"].as_array().unwrap().len(), 1);
    let key = &shown["keys"][0];
    assert_eq!((&key["kid"], &key["kty"], &key["use"]), (&json!(made.first()), &json!("OKP"), &json!("sig")));
    assert_eq!((&key["crv"], &key["alg"], key.get("d")), (&json!("Ed25519"), &json!("EdDSA"), None));
}

#[tokio::test(flavor = "multi_thread")]
async fn after_a_rotation_new_records_have_the_new_key_and_old_ones_hold() {
    let (secchi, _, id) = with_entry().await;
    let old = bytes(&secchi, &record_of(&id)).await;
    let made = run_on(&secchi.ground, &["record-key", "rotate", "--json"]).json();
    let new = bytes(&secchi, &record_of(&id)).await;
    let keys = keys(&secchi).await;
    assert_eq!(check(&new, Some(&keys)).unwrap().key.id(), made["id"].as_str().unwrap());
    let of_old = check(&old, Some(&keys)).unwrap().key.id().to_owned();
    assert_ne!(of_old, made["id"]);
    let listed = run_on(&secchi.ground, &["record-key", "list", "--json"]).json();
    let listed = listed.as_array().unwrap();
    assert_eq!(listed.len(), 2);
    assert!(listed.iter().all(|key| (key["id"] == of_old) != key["retired_at"].is_null()), "{listed:?}");
    for key in listed {
        let fields: Vec<&String> = key.as_object().unwrap().keys().collect();
        assert_eq!(fields, ["id", "public_key", "created_at", "retired_at"]);
    }
    let text = run_on(&secchi.ground, &["record-key", "list"]).stdout();
    assert!(text.contains(&of_old) && text.contains("signs"), "{text}");
    let line = ("command line", "rotate_record_key", "records");
    let audited = crate::signup::audited(&secchi);
    assert!(audited.iter().any(|(actor, action, subject)| (&**actor, &**action, &**subject) == line));
}

#[tokio::test(flavor = "multi_thread")]
async fn an_entry_and_the_board_have_citations_that_no_name_can_break() {
    let (secchi, team, id) = with_entry().await;
    let text =
        String::from_utf8(bytes(&secchi, &format!("/api/v1/entries/{id}/citation.bib")).await).unwrap();
    let address = format!("\\url{{{}/entries/{id}}}", secchi.base);
    for words in
        ["@misc{secchi-", "{ocean-lab}", "Reef-8B on MarineLife-16K", "2026", &address, "scored 2026-11-30"]
    {
        assert!(text.contains(words), "{words} in {text}");
    }
    let hostile = "} , note = {hacked} } @comment{ \" \\ % 海 é";
    let file = sample_bytes("predictions/random.jsonl");
    let sent: Value = secchi.submit(&team, &metadata(hostile), file).await.json().await.unwrap();
    secchi.drain().await;
    let path = format!("/api/v1/entries/{}/citation.bib", sent["id"].as_str().unwrap());
    let text = String::from_utf8(bytes(&secchi, &path).await).unwrap();
    let mut depth = 0;
    let ends = text.chars().filter(|c| {
        depth += match c {
            '{' => 1,
            '}' => -1,
            _ => 0,
        };
        *c == '}' && depth == 0
    });
    // The preamble that names what is beyond the fonts, and the entry.
    assert_eq!(ends.count(), 2, "{text}");
    assert!(
        text.contains("@preamble{\"\\providecommand{\\unicodechar}") && text.contains("\\'{e}"),
        "{text}"
    );
    let board = String::from_utf8(bytes(&secchi, "/citation.bib").await).unwrap();
    assert!(board.contains("@misc{marinelife16k,") && board.contains(&secchi.base), "{board}");
}
