//! `secchi verify`: the real program, without a server, on records of real servers.

use std::io::Write as _;
use std::path::Path;
use std::process::Stdio;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde_json::{Value, json};

use crate::program::{Ended, run, secchi as program};
use crate::record::{KEYS, bytes, record_of, with_entry};

fn verify(folder: &Path, record: &[u8], arguments: &[&str]) -> Ended {
    std::fs::write(folder.join("record.json"), record).unwrap();
    run(&mut program(folder, &[&["verify", "record.json"], arguments].concat()))
}

#[tokio::test(flavor = "multi_thread")]
async fn a_record_of_another_server_is_accepted_and_told_in_words() {
    let folder = tempfile::tempdir().unwrap();
    let (here, _, id) = with_entry().await;
    let (there, _, _) = with_entry().await;
    let record = bytes(&here, &record_of(&id)).await;
    std::fs::write(folder.path().join("here.json"), bytes(&here, KEYS).await).unwrap();
    std::fs::write(folder.path().join("there.json"), bytes(&there, KEYS).await).unwrap();
    let key_id = here.get_json(KEYS, None).await["keys"][0]["kid"].as_str().unwrap().to_owned();
    // From here on there is no server.
    here.stop().await;
    there.stop().await;
    let text = verify(folder.path(), &record, &[]).stdout();
    for words in
        ["The signature holds", "Reef-8B", "ocean-lab", "MBC-so", &key_id, "Not checked: whose key", KEYS]
    {
        assert!(text.contains(words), "{words} in {text}");
    }
    let text = verify(folder.path(), &record, &["--keys", "here.json"]).stdout();
    assert!(text.contains("among those given") && !text.contains("whose key"), "{text}");
    let checked = verify(folder.path(), &record, &["--keys", "here.json", "--json"]).json();
    assert_eq!((&checked["valid"], &checked["key_id"]), (&json!(true), &json!(key_id)));
    assert_eq!((&checked["key_is_known"], &checked["record"]["entry"]), (&json!(true), &json!(id)));
    let refused = verify(folder.path(), &record, &["--keys", "there.json"]);
    assert!(refused.code == Some(2) && refused.stderr.contains("not among the keys given"), "{refused:?}");

    let mut child = program(folder.path(), &["verify", "-"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    child.stdin.take().unwrap().write_all(&record).unwrap();
    assert!(child.wait_with_output().unwrap().status.success());
    let missing = run(&mut program(folder.path(), &["verify", "nothing.json"]));
    assert!(missing.code == Some(1) && missing.stderr.contains("`nothing.json`"), "{missing:?}");
    let faulty = verify(folder.path(), &record, &["--keys", "record.json"]);
    assert!(faulty.code == Some(2) && faulty.stderr.contains("no Ed25519 key"), "{faulty:?}");
}

/// Puts another value where the pointer leads.
fn set(signed: &Value, pointer: &str, value: Value) -> Vec<u8> {
    let mut signed = signed.clone();
    let (parent, name) = pointer.rsplit_once('/').unwrap();
    signed.pointer_mut(parent).unwrap()[name] = value;
    serde_json::to_vec(&signed).unwrap()
}

/// The record with another header of its signature.
fn with_header(signed: &Value, change: impl Fn(&mut Value)) -> Vec<u8> {
    let jws = signed["jws"].as_str().unwrap();
    let (header, rest) = jws.split_once('.').unwrap();
    let mut header: Value = serde_json::from_slice(&URL_SAFE_NO_PAD.decode(header).unwrap()).unwrap();
    change(&mut header);
    set(signed, "/jws", json!(format!("{}.{rest}", URL_SAFE_NO_PAD.encode(header.to_string()))))
}

#[tokio::test(flavor = "multi_thread")]
async fn every_tampered_record_is_refused_with_a_word_that_says_why() {
    let folder = tempfile::tempdir().unwrap();
    let (secchi, team, id) = with_entry().await;
    let other = secchi.scored(&team, &crate::support::metadata("Kelp-8B"), "random.jsonl").await;
    let record = bytes(&secchi, &record_of(&id)).await;
    let other = secchi.get_json(&record_of(other["id"].as_str().unwrap()), None).await;
    let signed: Value = serde_json::from_slice(&record).unwrap();
    let text = String::from_utf8(record.clone()).unwrap();
    let jws = signed["jws"].as_str().unwrap();
    let (message, signature) = jws.rsplit_once('.').unwrap();
    let flipped = if signature.starts_with('A') { 'B' } else { 'A' };
    let tampered: [(&str, &str, Vec<u8>); 16] = [
        ("a value", "`record/scores/PMT/value`", set(&signed, "/record/scores/PMT/value", json!(99.9))),
        ("n", "`record/scores/PMT/n`", set(&signed, "/record/scores/PMT/n", json!(500))),
        ("the model", "`record/model_name`", set(&signed, "/record/model_name", json!("Kelp-8B"))),
        (
            "the release",
            "`record/release/sha256`",
            set(&signed, "/record/release/sha256", json!("0".repeat(64))),
        ),
        ("the judge", "`record/judge/model`", set(&signed, "/record/judge/model", json!("gpt-5.5"))),
        (
            "a column more",
            "`record/scores/XYZ`",
            set(&signed, "/record/scores/XYZ", json!({ "value": 100.0 })),
        ),
        ("a member more", "`record/rank`", set(&signed, "/record/rank", json!(1))),
        ("a member beside", "`verified`", set(&signed, "/verified", json!(true))),
        (
            "the signature",
            "does not hold",
            set(&signed, "/jws", json!(format!("{message}.{flipped}{}", &signature[1..]))),
        ),
        ("another record's signature", "was signed", set(&signed, "/jws", other["jws"].clone())),
        ("no algorithm", "`alg` is `\"none\"`", with_header(&signed, |header| header["alg"] = json!("none"))),
        (
            "a symmetric one",
            "`alg` is `\"HS256\"`",
            with_header(&signed, |header| header["alg"] = json!("HS256")),
        ),
        (
            "another key",
            "another key was put in its place",
            with_header(&signed, |header| {
                header["jwk"]["x"] = json!("11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo");
            }),
        ),
        ("a part", "not JSON without doubt", record[..record.len() / 2].to_vec()),
        ("a key twice", "duplicate key `n`", text.replacen("\"n\":", "\"n\": 1, \"n\":", 1).into_bytes()),
        ("its size", "bytes", format!("{text}{}", " ".repeat(70_000)).into_bytes()),
    ];
    for (what, words, record) in tampered {
        let refused = verify(folder.path(), &record, &[]);
        assert!(refused.code == Some(2) && refused.stderr.contains(words), "{what}: {refused:?}");
        assert!(!refused.stdout.contains("holds"), "{what}: {refused:?}");
        let refused = verify(folder.path(), &record, &["--json"]);
        let told: Value = serde_json::from_str(&refused.stdout).unwrap();
        assert_eq!((&told["valid"], refused.code), (&json!(false), Some(2)), "{what}");
    }
    assert_eq!(verify(folder.path(), &record, &[]).code, Some(0));
}
