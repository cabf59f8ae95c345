//! Credentials: keys, the tokens that they are exchanged for, and what is none.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD as BASE64;
use hmac::{Hmac, KeyInit as _, Mac as _};
use reqwest::Method;
use serde_json::{Value, json};
use sha2::Sha256;

use secchi::accounts;
use secchi::domain::actor::Actor;

use crate::roles::body;
use crate::support::{NOON_MS, Secchi};

/// Asserts that a request without a usable credential is refused as such, and gives the code.
#[track_caller]
pub fn assert_unauthenticated(
    status: u16,
    authenticate: Option<&str>,
    problem: &Value,
    what: &str,
) -> String {
    assert_eq!(status, 401, "{what}: {problem}");
    assert_eq!(authenticate, Some("Bearer"), "{what}");
    problem["code"].as_str().unwrap_or_default().to_owned()
}

async fn refused_with(secchi: &Secchi, credential: &str) -> String {
    let response = secchi.get("/api/v1/me", Some(credential)).await;
    let authenticate =
        response.headers().get("www-authenticate").map(|value| value.to_str().unwrap().to_owned());
    let status = response.status().as_u16();
    assert_unauthenticated(status, authenticate.as_deref(), &body(response).await, credential)
}

async fn token(secchi: &Secchi, key: &str) -> String {
    let request = secchi.request(Method::POST, "/api/v1/auth/token", None);
    let response = request.json(&json!({ "api_key": key })).send().await.unwrap();
    assert_eq!(response.status(), 200);
    let answer = body(response).await;
    assert_eq!((&answer["token_type"], &answer["expires_in"]), (&json!("Bearer"), &json!(900)));
    answer["access_token"].as_str().unwrap().to_owned()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_disabled_team_is_out_at_once_with_key_and_token() {
    let secchi = Secchi::start().await;
    let team = secchi.team("ocean-lab").await;
    let token = token(&secchi, &team.key).await;
    for credential in [&team.key, &token] {
        assert_eq!(secchi.get("/api/v1/me", Some(credential)).await.status(), 200);
    }
    let store = &secchi.running.evaluation.store;
    accounts::disable_team(store, &Actor::command_line(), team.slug.clone(), NOON_MS).await.unwrap();
    for credential in [&team.key, &token] {
        assert_eq!(refused_with(&secchi, credential).await, "disabled_team");
    }
    let request = secchi.request(Method::POST, "/api/v1/auth/token", None);
    let response = request.json(&json!({ "api_key": team.key })).send().await.unwrap();
    assert_eq!(response.status(), 401);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_rotated_key_ends_with_its_tokens_and_the_new_one_works() {
    let secchi = Secchi::start().await;
    let team = secchi.team("ocean-lab").await;
    let old_token = token(&secchi, &team.key).await;
    let store = &secchi.running.evaluation.store;
    let key = accounts::rotate_key(store, &Actor::command_line(), team.slug.clone(), NOON_MS).await.unwrap();
    for credential in [&team.key, &old_token] {
        assert_eq!(refused_with(&secchi, credential).await, "revoked_key");
    }
    assert_eq!(secchi.get("/api/v1/me", Some(&key)).await.status(), 200);
    let token = token(&secchi, &key).await;
    assert_eq!(secchi.get_json("/api/v1/me", Some(&token)).await["team"], "ocean-lab");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_token_ends_after_fifteen_minutes_and_cannot_be_exchanged_for_another() {
    let secchi = Secchi::start().await;
    let team = secchi.team("ocean-lab").await;
    let token = token(&secchi, &team.key).await;
    let exchange = secchi.request(Method::POST, "/api/v1/auth/token", None);
    let response = exchange.json(&json!({ "api_key": token })).send().await.unwrap();
    assert_eq!(response.status(), 401);
    secchi.clock.advance_ms(15 * 60 * 1000 - 1000);
    assert_eq!(secchi.get("/api/v1/me", Some(&token)).await.status(), 200);
    secchi.clock.advance_ms(1000);
    assert_eq!(refused_with(&secchi, &token).await, "expired_token");
    assert_eq!(secchi.get("/api/v1/me", Some(&team.key)).await.status(), 200);
}

/// A JWT with this header and these claims, signed by HMAC-SHA-256.
fn signed(secret: &[u8], header: &Value, claims: &Value) -> String {
    let text = format!("{}.{}", BASE64.encode(header.to_string()), BASE64.encode(claims.to_string()));
    let mut mac = Hmac::<Sha256>::new_from_slice(secret).unwrap();
    mac.update(text.as_bytes());
    format!("{text}.{}", BASE64.encode(mac.finalize().into_bytes()))
}

#[tokio::test(flavor = "multi_thread")]
async fn a_forged_token_is_refused() {
    let secchi = Secchi::start().await;
    let team = secchi.team("ocean-lab").await;
    let real = token(&secchi, &team.key).await;
    let parts: Vec<&str> = real.split('.').collect();
    let claims: Value = serde_json::from_slice(&BASE64.decode(parts[1]).unwrap()).unwrap();
    let secret = std::fs::read(secchi.ground.data.path().join("jwt-secret")).unwrap();
    let header = json!({ "alg": "HS256", "typ": "JWT" });
    let with = |name: &str, value: Value| {
        let mut changed = claims.clone();
        changed[name] = value;
        changed
    };
    let without = |name: &str| {
        let mut changed = claims.clone();
        changed.as_object_mut().unwrap().shift_remove(name);
        changed
    };
    // What this test signs by itself is as good as the server's, or the rest would prove nothing.
    let own = signed(&secret, &header, &claims);
    assert_eq!(secchi.get("/api/v1/me", Some(&own)).await.status(), 200);
    let none = BASE64.encode(json!({ "alg": "none" }).to_string());
    let forged = [
        ("another secret", signed(b"another secret of thirty-two byte", &header, &claims)),
        ("an empty secret", signed(b"", &header, &claims)),
        ("another algorithm", signed(&secret, &json!({ "alg": "HS512" }), &claims)),
        ("no algorithm", format!("{none}.{}.", parts[1])),
        ("no algorithm, with a signature", format!("{none}.{}.{}", parts[1], parts[2])),
        ("other claims", format!("{}.{}.{}", parts[0], BASE64.encode("{}"), parts[2])),
        ("another issuer", signed(&secret, &header, &with("iss", json!("someone")))),
        ("another installation", signed(&secret, &header, &with("aud", json!("elsewhere")))),
        ("no installation", signed(&secret, &header, &without("aud"))),
        ("no end", signed(&secret, &header, &without("exp"))),
        ("an unknown key", signed(&secret, &header, &with("sub", json!(uuid::Uuid::now_v7())))),
        ("no key", signed(&secret, &header, &with("sub", json!("")))),
        ("no token", "not.a.token".to_owned()),
        ("a key that was never made", format!("sk_secchi_{}", "0".repeat(64))),
        ("half a key", team.key[..40].to_owned()),
    ];
    for (what, credential) in forged {
        assert_eq!(refused_with(&secchi, &credential).await, "unknown_credential", "{what}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn only_a_bearer_credential_is_one() {
    let secchi = Secchi::start().await;
    let team = secchi.team("ocean-lab").await;
    let ask = async |value: &[u8]| {
        let request = secchi.request(Method::GET, "/api/v1/me", None);
        request.header("authorization", value).send().await.unwrap().status().as_u16()
    };
    assert_eq!(ask(format!("bearer  {}", team.key).as_bytes()).await, 200);
    let basic = format!("Basic {}", BASE64.encode(format!("ocean-lab:{}", team.key)));
    for value in [basic.as_bytes(), b"Bearer", b"Bearer ", team.key.as_bytes(), b"Bearer \xff\xfe", b"\x80"] {
        assert_eq!(ask(value).await, 401, "{value:?}");
    }
    // A credential that is none is no hindrance where none is needed.
    assert_eq!(secchi.get("/api/v1/leaderboard", Some("sk_secchi_none")).await.status(), 200);
}
