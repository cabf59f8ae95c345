//! A team's own keys: made, listed, replaced and ended, none of them more than the one that made it.

use reqwest::{Method, Response};
use serde_json::{Value, json};

use secchi::domain::key::Scope;

use crate::process::until;
use crate::program::run_on;
use crate::roles::{body, new_key};
use crate::support::{NOON_MS, Secchi, problem};

const DAY_MS: i64 = 24 * 3_600_000;

async fn create(secchi: &Secchi, key: &str, request: Value) -> Response {
    secchi.request(Method::POST, "/api/v1/keys", Some(key)).json(&request).send().await.unwrap()
}

async fn end(secchi: &Secchi, key: &str, id: &str, query: &str) -> Response {
    secchi.request(Method::DELETE, &format!("/api/v1/keys/{id}{query}"), Some(key)).send().await.unwrap()
}

async fn rotate(secchi: &Secchi, key: &str, id: &str, query: &str) -> Response {
    secchi.request(Method::POST, &format!("/api/v1/keys/{id}/rotate{query}"), Some(key)).send().await.unwrap()
}

async fn keys(secchi: &Secchi, key: &str) -> Vec<Value> {
    secchi.get_json("/api/v1/keys", Some(key)).await["items"].as_array().unwrap().clone()
}

async fn code(secchi: &Secchi, key: &str) -> String {
    let refusal = problem(secchi.get("/api/v1/me", Some(key)).await, 401).await;
    refusal["code"].as_str().unwrap().to_owned()
}

fn text(value: &Value) -> String {
    value.as_str().unwrap().to_owned()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_key_is_told_once_and_known_by_its_first_characters() {
    let secchi = Secchi::start().await;
    let team = secchi.team("ocean-lab").await;
    let response = create(&secchi, &team.key, json!({ "name": " cluster ", "scope": "read" })).await;
    assert_eq!(response.status(), 201);
    assert_eq!(response.headers()["cache-control"], "no-store");
    let made = body(response).await;
    let api_key = text(&made["api_key"]);
    assert!(api_key.starts_with(made["prefix"].as_str().unwrap()));
    assert_eq!(made["prefix"].as_str().unwrap().len(), "sk_secchi_".len() + 8);
    assert_eq!(
        (&made["name"], &made["scope"], &made["asking"]),
        (&json!("cluster"), &json!("read"), &json!(false))
    );
    let listed = keys(&secchi, &api_key).await;
    assert_eq!(listed.len(), 2, "{listed:?}");
    assert_eq!((&listed[0]["id"], &listed[0]["asking"]), (&made["id"], &json!(true)));
    assert_eq!((&listed[1]["name"], &listed[1]["scope"]), (&json!("first key"), &json!("submit")));
    assert!(listed.iter().all(|key| key.get("api_key").is_none() && key.get("sha256").is_none()));
    assert!(!serde_json::to_string(&listed).unwrap().contains(&api_key));
    assert_eq!(secchi.get_json("/api/v1/me", Some(&api_key)).await["scope"], "read");
    // Another team sees and ends only its own.
    let other = secchi.team("deep-lab").await;
    assert_eq!(keys(&secchi, &other.key).await.len(), 1);
    problem(end(&secchi, &other.key, made["id"].as_str().unwrap(), "").await, 404).await;
    let page = secchi.get_json("/api/v1/keys?limit=1", Some(&team.key)).await;
    let next = format!("/api/v1/keys?limit=1&cursor={}", page["next_cursor"].as_str().unwrap());
    let rest = secchi.get_json(&next, Some(&team.key)).await;
    assert_eq!((&rest["items"][0]["id"], &rest["next_cursor"]), (&listed[1]["id"], &Value::Null));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_key_ends_at_its_instant_and_its_tokens_with_it() {
    let secchi = Secchi::start().await;
    let team = secchi.team("ocean-lab").await;
    let ends = secchi::domain::instant::rfc3339(NOON_MS + 60_000);
    let request = json!({ "name": "demo", "scope": "submit", "expires_at": ends });
    let made = body(create(&secchi, &team.key, request).await).await;
    let key = text(&made["api_key"]);
    let exchange = secchi.request(Method::POST, "/api/v1/auth/token", None).json(&json!({ "api_key": key }));
    let token = body(exchange.send().await.unwrap()).await;
    assert_eq!(token["expires_in"], 60, "a token ends with its key");
    let token = text(&token["access_token"]);
    // Whoever finds it makes no key of it that lasts longer.
    let longer = secchi::domain::instant::rfc3339(NOON_MS + 60_001);
    for expires_at in [Value::Null, json!(longer)] {
        let request = json!({ "name": "longer", "scope": "read", "expires_at": expires_at });
        assert_eq!(problem(create(&secchi, &key, request).await, 403).await["code"], "key_outlives");
    }
    let first = text(&keys(&secchi, &team.key).await[1]["id"]);
    assert_eq!(problem(rotate(&secchi, &key, &first, "").await, 403).await["code"], "key_outlives");
    secchi.clock.advance_ms(59_999);
    for credential in [&key, &token] {
        assert_eq!(secchi.get("/api/v1/me", Some(credential)).await.status(), 200);
    }
    secchi.clock.advance_ms(1);
    assert_eq!(code(&secchi, &key).await, "expired_key");
    assert_eq!(secchi.get("/api/v1/me", Some(&token)).await.status(), 401);
    let listed = keys(&secchi, &team.key).await;
    assert_eq!((&listed[0]["usable"], &listed[0]["expires_at"]), (&json!(false), &json!(ends)));
    problem(end(&secchi, &team.key, made["id"].as_str().unwrap(), "").await, 409).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_replaced_key_goes_on_as_long_as_it_is_told() {
    let secchi = Secchi::start().await;
    let team = secchi.team("ocean-lab").await;
    let id = text(&keys(&secchi, &team.key).await[0]["id"]);
    for wrong in ["?overlap_s=-1", "?overlap_s=604801"] {
        let refusal = problem(rotate(&secchi, &team.key, &id, wrong).await, 422).await;
        assert_eq!(refusal["errors"][0]["pointer"], "/overlap_s");
    }
    let rotated = body(rotate(&secchi, &team.key, &id, "").await).await;
    let new = text(&rotated["api_key"]);
    assert_eq!((&rotated["name"], &rotated["scope"]), (&json!("first key"), &json!("submit")));
    assert_eq!(rotated["replaces"]["id"], *id);
    let ends = secchi::domain::instant::rfc3339(NOON_MS + DAY_MS);
    assert_eq!(rotated["replaces"]["expires_at"], ends);
    secchi.clock.advance_ms(DAY_MS - 1);
    for key in [&team.key, &new] {
        assert_eq!(secchi.get("/api/v1/me", Some(key)).await.status(), 200);
    }
    secchi.clock.advance_ms(1);
    assert_eq!(code(&secchi, &team.key).await, "expired_key");
    let id = text(&rotated["id"]);
    let newest = body(rotate(&secchi, &new, &id, "?overlap_s=0").await).await;
    assert_eq!(code(&secchi, &new).await, "revoked_key");
    assert_eq!(secchi.get("/api/v1/me", Some(newest["api_key"].as_str().unwrap())).await.status(), 200);
}

#[tokio::test(flavor = "multi_thread")]
async fn no_key_gives_or_ends_more_than_it_is() {
    let secchi = Secchi::start().await;
    let (team, maintainer) = (secchi.team("ocean-lab").await, secchi.maintainer("harbour").await);
    let refusal = create(&secchi, &team.key, json!({ "name": "more", "scope": "admin" })).await;
    assert_eq!(problem(refusal, 403).await["code"], "wrong_scope");
    let (_, submit) = new_key(&secchi, &maintainer.key, Scope::Submit).await;
    let refusal = create(&secchi, &submit, json!({ "name": "more", "scope": "admin" })).await;
    assert_eq!(problem(refusal, 403).await["code"], "wrong_scope");
    let (admin, _) = new_key(&secchi, &maintainer.key, Scope::Admin).await;
    for response in [end(&secchi, &submit, &admin, "").await, rotate(&secchi, &submit, &admin, "").await] {
        assert_eq!(problem(response, 403).await["code"], "wrong_scope");
    }
    assert_eq!(end(&secchi, &maintainer.key, &admin, "").await.status(), 200);
    // A key of a maintainer that only submits is no maintainer's.
    let response = secchi.get("/api/v1/admin/submissions", Some(&submit)).await;
    assert_eq!(problem(response, 403).await["code"], "wrong_scope");
}

#[tokio::test(flavor = "multi_thread")]
async fn the_last_key_does_not_go_by_accident() {
    let secchi = Secchi::start().await;
    let team = secchi.team("ocean-lab").await;
    let first = text(&keys(&secchi, &team.key).await[0]["id"]);
    let (read, _) = new_key(&secchi, &team.key, Scope::Read).await;
    assert_eq!(problem(end(&secchi, &team.key, &first, "").await, 409).await["code"], "last_key");
    assert_eq!(end(&secchi, &team.key, &read, "").await.status(), 200);
    let (second, key) = new_key(&secchi, &team.key, Scope::Submit).await;
    let ended = body(end(&secchi, &team.key, &first, "").await).await;
    assert_eq!((&ended["usable"], &ended["asking"]), (&json!(false), &json!(true)));
    assert_eq!(code(&secchi, &team.key).await, "revoked_key");
    assert_eq!(problem(end(&secchi, &key, &first, "").await, 409).await["code"], "key_ended");
    assert_eq!(end(&secchi, &key, &second, "?last=true").await.status(), 200);
    assert_eq!(code(&secchi, &key).await, "revoked_key");
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_wrong_with_a_key_is_named() {
    let secchi = Secchi::start().await;
    let team = secchi.team("ocean-lab").await;
    for (request, pointer) in [
        (json!({ "name": " ", "scope": "read" }), "/name"),
        (json!({ "name": "a\u{0}b", "scope": "read" }), "/name"),
        (json!({ "name": "x".repeat(61), "scope": "read" }), "/name"),
        (json!({ "name": "x", "scope": "read", "expires_at": "tomorrow" }), "/expires_at"),
        (json!({ "name": "x", "scope": "read", "expires_at": "2026-11-30T12:00:00Z" }), "/expires_at"),
    ] {
        let refusal = problem(create(&secchi, &team.key, request).await, 422).await;
        assert_eq!(refusal["errors"][0]["pointer"], pointer, "{refusal}");
    }
    for request in
        [json!({ "name": "x", "scope": "root" }), json!({ "name": "x" }), json!({ "scope": "read" })]
    {
        assert_eq!(problem(create(&secchi, &team.key, request).await, 422).await["code"], "invalid_body");
    }
    for _ in 1..50 {
        new_key(&secchi, &team.key, Scope::Read).await;
    }
    let refusal = create(&secchi, &team.key, json!({ "name": "one too many", "scope": "read" })).await;
    assert_eq!(problem(refusal, 409).await["code"], "too_many_keys");
}

#[tokio::test(flavor = "multi_thread")]
async fn the_last_use_of_a_key_is_known_to_the_minute() {
    let secchi = Secchi::start().await;
    let team = secchi.team("ocean-lab").await;
    let (id, key) = new_key(&secchi, &team.key, Scope::Read).await;
    let used = async || {
        let listed = keys(&secchi, &team.key).await;
        listed.into_iter().find(|key| key["id"] == *id).unwrap()["last_used_at"].clone()
    };
    assert_eq!(used().await, Value::Null);
    let noon = secchi::domain::instant::rfc3339(NOON_MS);
    secchi.get_json("/api/v1/me", Some(&key)).await;
    until("the first use", async || used().await == *noon).await;
    secchi.clock.advance_ms(59_999);
    let writes = secchi.running.evaluation.store.writes();
    for _ in 0..20 {
        secchi.get_json("/api/v1/me", Some(&key)).await;
    }
    assert_eq!(secchi.running.evaluation.store.writes(), writes, "written once a minute");
    secchi.clock.advance_ms(1);
    secchi.get_json("/api/v1/me", Some(&key)).await;
    let later = secchi::domain::instant::rfc3339(NOON_MS + 60_000);
    until("the second use", async || used().await == *later).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_command_line_makes_lists_and_ends_keys_of_any_team() {
    let secchi = Secchi::start().await;
    let team = secchi.team("ocean-lab").await;
    let run = |arguments: &[&str]| tokio::task::block_in_place(|| run_on(&secchi.ground, arguments));
    let made =
        run(&["team", "key", "create", "ocean-lab", "--name", "cluster", "--scope", "read", "--json"]).json();
    let key = text(&made["api_key"]);
    assert_eq!(secchi.get_json("/api/v1/me", Some(&key)).await["scope"], "read");
    let listed = run(&["team", "key", "list", "ocean-lab", "--json"]).json();
    assert_eq!((&listed[0]["name"], &listed[0]["state"]), (&json!("cluster"), &json!("usable")));
    let shown = run(&["team", "key", "list", "ocean-lab"]).stdout();
    assert!(shown.contains("cluster") && !shown.contains(&key), "{shown}");
    run(&["team", "key", "revoke", "ocean-lab", made["id"].as_str().unwrap()]).stdout();
    assert_eq!(code(&secchi, &key).await, "revoked_key");
    assert_eq!(secchi.get("/api/v1/me", Some(&team.key)).await.status(), 200);
    for (arguments, word) in [
        (vec!["team", "key", "create", "ocean-lab", "--name", "x", "--scope", "admin"], "maintainers"),
        (vec!["team", "key", "create", "nobody", "--name", "x"], "nobody"),
        (vec!["team", "key", "create", "ocean-lab", "--name", " "], "/name is blank"),
        (vec!["team", "key", "list", "nobody"], "nobody"),
        (vec!["team", "key", "revoke", "ocean-lab", "none"], "none"),
        (vec!["team", "key", "revoke", "ocean-lab", made["id"].as_str().unwrap()], "ended"),
    ] {
        let ended = run(&arguments);
        assert!(ended.code == Some(1) && ended.stderr.contains(word), "{ended:?}");
    }
}
