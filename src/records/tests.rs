//! Tests of signing and of what checking refuses.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use jsonwebtoken::{Algorithm, EncodingKey};
use serde_json::{Value, json};

use super::*;

fn key(byte: u8) -> SigningKey {
    SigningKey::from_seed(&[byte; 32]).unwrap()
}

fn record(model_name: &str) -> Record {
    let score = RecordScore { value: 79.166_666_666_666_67, unit: Unit::Percent, ci95: [59.5, 90.8], n: 24 };
    Record {
        issuer: "https://secchi.example.org".into(),
        entry: "0198c0de-0000-7000-8000-000000000001".into(),
        team: Some("ocean-lab".into()),
        model_name: model_name.into(),
        split: Split::Test,
        release: RecordRelease { name: "2026-06".into(), sha256: "ab".repeat(32) },
        predictions_sha256: Some("cd".repeat(32)),
        judge: RecordJudge { configuration: "5e945af548d5b4da".into(), model: "gpt-5.5".into() },
        coverage: RecordCoverage { questions: 193, answered: 193 },
        decided_by_hand: 0,
        scores: BTreeMap::from([(Column::Pmt, score)]),
        code_version: "0.1.0".into(),
        submitted_at: "2026-11-30T12:00:00.000Z".into(),
        scored_at: Some("2026-11-30T12:00:01.000Z".into()),
    }
}

fn signed() -> Value {
    serde_json::to_value(key(1).sign(record("Reef-8B")).unwrap()).unwrap()
}

fn text(signed: &Value) -> Vec<u8> {
    serde_json::to_vec_pretty(signed).unwrap()
}

fn code(text: &[u8], keys: Option<&KeySet>) -> &'static str {
    check(text, keys).map_or_else(|fault| fault.code(), |_| "accepted")
}

/// The three parts of a signature, the first two decoded.
fn parts(signed: &Value) -> (Value, Value, String) {
    let jws = signed["jws"].as_str().unwrap();
    let part = |place| jws.split('.').nth(place).unwrap();
    let decoded = |place| serde_json::from_slice(&URL_SAFE_NO_PAD.decode(part(place)).unwrap()).unwrap();
    (decoded(0), decoded(1), part(2).to_owned())
}

fn joined(header: &Value, payload: &Value, signature: &str) -> Value {
    let encoded = |value: &Value| URL_SAFE_NO_PAD.encode(value.to_string());
    json!({ "record": payload, "jws": format!("{}.{}.{signature}", encoded(header), encoded(payload)) })
}

#[test]
fn a_record_is_accepted_by_the_key_that_comes_with_it_and_by_that_servers_keys() {
    let (signed, ours) = (signed(), key(1).public().clone());
    let checked = check(&text(&signed), None).unwrap();
    assert_eq!((checked.record, checked.key_is_known), (record("Reef-8B"), false));
    assert_eq!(checked.key, ours);
    let after_rotation = KeySet::new(vec![key(2).public().clone(), ours]);
    let read = KeySet::read(after_rotation.to_json().as_bytes()).unwrap();
    assert_eq!(read, after_rotation);
    assert!(check(&text(&signed), Some(&read)).unwrap().key_is_known);
    let others = KeySet::new(vec![key(2).public().clone()]);
    assert_eq!(code(&text(&signed), Some(&others)), "unknown_key");
}

#[test]
fn the_same_record_has_the_same_signature_and_a_key_says_nothing_of_its_seed() {
    assert_eq!(key(1).sign(record("Reef-8B")).unwrap(), key(1).sign(record("Reef-8B")).unwrap());
    let told = format!("{:?} {}", key(7), KeySet::new(vec![key(7).public().clone()]).to_json());
    assert!(!told.contains("7, 7") && !told.contains("\"d\""), "{told}");
    assert!(SigningKey::from_seed(&[1; 31]).is_err());
}

/// The example of RFC 8037: its key, thumbprint and the way in which it is written.
#[test]
fn a_key_is_named_as_the_standard_says() {
    let key = PublicKey::from_text("11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo").unwrap();
    assert_eq!(key.id(), "kPrK_qmxVWaYVA9wwBF6Iuo3vVzz7TxHCTwXBygrS4k");
    let seed = URL_SAFE_NO_PAD.decode("nWGxne_9WmC6hEr0kuwsxERJxWl7MmkZcDusAxyuf2A").unwrap();
    assert_eq!(SigningKey::from_seed(&seed).unwrap().public(), &key);
}

#[test]
fn every_change_of_what_is_shown_is_found_and_named() {
    let changes: [(&str, Value); 13] = [
        ("/scores/PMT/value", json!(99.0)),
        ("/scores/PMT/n", json!(25)),
        ("/scores/PMT/ci95/0", json!(70.0)),
        ("/scores/OEMU", json!({ "value": 5.0, "unit": "points", "ci95": [5.0, 5.0], "n": 24 })),
        ("/model_name", json!("Reef-9B")),
        ("/team", json!("reef-lab")),
        ("/release/sha256", json!("ff".repeat(32))),
        ("/predictions_sha256", json!("ff".repeat(32))),
        ("/judge/configuration", json!("another")),
        ("/coverage/answered", json!(192)),
        ("/issuer", json!("https://other.example.org")),
        ("/rank", json!(1)),
        ("/scores/PMT/rank", json!(1)),
    ];
    for (pointer, value) in changes {
        let mut signed = signed();
        let (parent, name) = pointer.rsplit_once('/').unwrap();
        let parent = signed["record"].pointer_mut(parent).unwrap();
        match parent.as_array_mut() {
            Some(list) => list[name.parse::<usize>().unwrap()] = value,
            None => parent[name] = value,
        }
        let fault = check(&text(&signed), None).unwrap_err();
        let is_named = matches!(&fault, RecordFault::Differs { pointer: found, .. } if found == pointer);
        assert!(is_named, "{pointer}: {fault:?}");
    }
    let mut signed = signed();
    signed["record"]["scores"].as_object_mut().unwrap().clear();
    assert_eq!(code(&text(&signed), None), "differs");
}

#[test]
fn every_change_of_what_was_signed_is_found() {
    let (header, mut payload, signature) = parts(&signed());
    payload["model_name"] = json!("Reef-9B");
    assert_eq!(code(&text(&joined(&header, &payload, &signature)), None), "bad_signature");
    let other = serde_json::to_value(key(1).sign(record("Other-8B")).unwrap()).unwrap();
    let mut taken = signed();
    taken["jws"] = other["jws"].clone();
    assert_eq!(code(&text(&taken), None), "differs");
    let (_, payload, signature) = parts(&signed());
    let mut bytes = URL_SAFE_NO_PAD.decode(&signature).unwrap();
    bytes[10] ^= 1;
    let changed = joined(&header, &payload, &URL_SAFE_NO_PAD.encode(&bytes));
    assert_eq!(code(&text(&changed), None), "bad_signature");
    assert_eq!(code(&text(&joined(&header, &payload, "")), None), "bad_signature");
    let short = URL_SAFE_NO_PAD.encode(&bytes[..63]);
    assert_eq!(code(&text(&joined(&header, &payload, &short)), None), "bad_signature");
    assert_eq!(code(&text(&joined(&header, &payload, "?")), None), "malformed_jws");
}

#[test]
fn no_other_algorithm_type_or_key_is_taken() {
    let (header, payload, signature) = parts(&signed());
    let with = |name: &str, value: Value| {
        let mut header = header.clone();
        header[name] = value;
        code(&text(&joined(&header, &payload, &signature)), None)
    };
    assert_eq!(with("alg", json!("none")), "wrong_header");
    assert_eq!(with("alg", json!("ES256")), "wrong_header");
    assert_eq!(with("typ", json!("JWT")), "wrong_header");
    assert_eq!(with("crit", json!(["exp"])), "wrong_header");
    assert_eq!(with("jku", json!("https://example.org/keys")), "wrong_header");
    assert_eq!(with("kid", json!("another")), "wrong_key_id");
    assert_eq!(with("jwk", json!({ "kty": "oct", "k": "AAAA" })), "wrong_header");
    // Another key under the id of ours.
    let other = serde_json::to_value(key(2).sign(record("Reef-8B")).unwrap()).unwrap();
    let (mut foreign, payload, signature) = parts(&other);
    foreign["kid"] = header["kid"].clone();
    assert_eq!(code(&text(&joined(&foreign, &payload, &signature)), None), "wrong_key_id");
    // The public key as the secret of a symmetric algorithm.
    let mut hmac = header.clone();
    hmac["alg"] = json!("HS256");
    let secret = EncodingKey::from_secret(key(1).public().text().as_bytes()).unwrap();
    let unsigned = joined(&hmac, &payload, "");
    let message = unsigned["jws"].as_str().unwrap().trim_end_matches('.');
    let mac = jsonwebtoken::crypto::sign(message.as_bytes(), &secret, Algorithm::HS256).unwrap();
    assert_eq!(code(&text(&joined(&hmac, &payload, &mac)), None), "wrong_header");
}

#[test]
fn what_is_not_clearly_one_record_is_refused() {
    let (good, whole) = (signed(), text(&signed()));
    for length in [0, 1, whole.len() / 2, whole.len() - 2] {
        assert_eq!(code(&whole[..length], None), "malformed_json");
    }
    let twice = String::from_utf8(whole.clone()).unwrap();
    let twice_inside = twice.replacen("\"model_name\"", "\"model_name\": \"Fake\",\n \"model_name\"", 1);
    let twice_outside = twice.replacen('{', "{\"record\": {},", 1);
    for text in [twice_inside, twice_outside] {
        let fault = check(text.as_bytes(), None).unwrap_err();
        assert!(fault.to_string().contains("duplicate key"), "{fault}");
    }
    let mut more = good.clone();
    more["verified"] = json!(true);
    let fault = check(&text(&more), None).unwrap_err();
    assert!(fault.to_string().contains("`verified`"), "{fault}");
    for name in ["record", "jws"] {
        let mut less = good.clone();
        less.as_object_mut().unwrap().remove(name);
        assert_eq!(code(&text(&less), None), "wrong_shape");
    }
    assert_eq!(code(b"[]", None), "malformed_json");
    assert_eq!(code(&[whole.clone(), b"{}".to_vec()].concat(), None), "malformed_json");
    assert_eq!(code(&[whole, vec![b' '; 70_000]].concat(), None), "too_large");
    assert_eq!(code("[".repeat(10_000).as_bytes(), None), "malformed_json");
}

#[test]
fn a_message_is_short_and_nothing_that_a_terminal_obeys() {
    let mut signed = signed();
    signed["record"]["model_name"] = json!(format!("\u{9b}31m{}", "x".repeat(5000)));
    let fault = check(&text(&signed), None).unwrap_err().to_string();
    assert!(fault.len() < 300 && !fault.contains('\u{9b}'), "{fault}");
}
