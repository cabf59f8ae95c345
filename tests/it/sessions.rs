//! Signing a browser in and out, what ends a session, and what a foreign site cannot do with one.

use reqwest::Method;
use reqwest::multipart::Form;
use serde_json::{Value, json};

use secchi::accounts;
use secchi::domain::actor::Actor;

use crate::pages::{Browser, field, submitted, with_val};
use crate::support::{NOON_MS, Options, Secchi};

#[tokio::test(flavor = "multi_thread")]
async fn the_cookie_is_hidden_from_scripts_and_other_sites_and_holds_no_key() {
    let secchi = Secchi::start().await;
    let team = secchi.team("ocean-lab").await;
    let cookie = Browser::new(&secchi).post("/sign-in", &[("api_key", &team.key)]).await.cookie.unwrap();
    for attribute in ["HttpOnly", "SameSite=Lax", "Path=/", "Max-Age=43200"] {
        assert!(cookie.contains(attribute), "{cookie}");
    }
    assert!(!cookie.contains("Secure") && !cookie.contains(&team.key), "{cookie}");
    let options =
        Options { http: vec!["--public-url", "https://secchi.example/board"], ..Options::default() };
    let secure = Secchi::with(options).await;
    let team = secure.team("ocean-lab").await;
    let cookie = Browser::new(&secure).post("/sign-in", &[("api_key", &team.key)]).await.cookie.unwrap();
    assert!(cookie.contains("; Secure"), "{cookie}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_browser_is_sent_to_sign_in_and_on_to_where_it_wanted_within_this_server() {
    let secchi = Secchi::start().await;
    let team = secchi.team("ocean-lab").await;
    let browser = Browser::new(&secchi);
    let sent = browser.get("/quota").await;
    assert_eq!((sent.status, sent.location.as_str()), (303, "/sign-in?next=/quota"));
    let form = browser.get(&sent.location).await.text;
    let key = ("api_key", team.key.as_str());
    let next = field(&form, "next");
    assert_eq!(browser.post("/sign-in", &[key, ("next", &next)]).await.location, "/quota");
    for foreign in ["https://evil.example/", "//evil.example", "/\\evil.example"] {
        assert_eq!(browser.post("/sign-in", &[key, ("next", foreign)]).await.location, "/submissions");
    }
    let signed_in = Browser::signed_in(&secchi, &team).await;
    assert_eq!(signed_in.get("/sign-in?next=//evil.example").await.location, "/submissions");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_wrong_key_signs_nobody_in_and_comes_back_with_a_word() {
    let secchi = Secchi::start().await;
    let team = secchi.team("ocean-lab").await;
    let browser = Browser::new(&secchi);
    let request = secchi.request(Method::POST, "/api/v1/auth/token", None);
    let answer = request.json(&json!({ "api_key": team.key })).send().await.unwrap();
    let access_token = answer.json::<Value>().await.unwrap()["access_token"].to_string();
    for wrong in ["", "sk_secchi_nobody", access_token.trim_matches('"'), "\u{0}<script>"] {
        let shown = browser.post("/sign-in", &[("api_key", wrong)]).await;
        assert_eq!(shown.status, 401, "{wrong}");
        assert!(shown.cookie.is_none() && shown.text.contains("unknown"), "{}", shown.text);
        assert!(!shown.text.contains("<script>"));
    }
    let spaced = format!("  {}\n", team.key);
    assert_eq!(browser.post("/sign-in", &[("api_key", &spaced)]).await.status, 303);
    assert_eq!(browser.post("/sign-in", &[]).await.status, 400);
}

#[tokio::test(flavor = "multi_thread")]
async fn attempts_to_sign_in_are_counted() {
    let secchi = Secchi::start().await;
    let browser = Browser::new(&secchi);
    for _ in 0..20 {
        assert_eq!(browser.post("/sign-in", &[("api_key", "sk_secchi_guess")]).await.status, 401);
    }
    let shown = browser.post("/sign-in", &[("api_key", "sk_secchi_guess")]).await;
    assert_eq!(shown.status, 429);
    assert!(shown.text.contains("Wait") && shown.text.contains("API key"), "{}", shown.text);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_session_ends_with_its_key_its_team_its_time_and_by_signing_out() {
    let secchi = Secchi::start().await;
    let store = secchi.running.evaluation.store.clone();
    let team = secchi.team("ocean-lab").await;
    let browser = Browser::signed_in(&secchi, &team).await;
    assert_eq!(browser.get("/submissions").await.status, 200);
    accounts::rotate_key(&store, &Actor::command_line(), team.slug.clone(), NOON_MS).await.unwrap();
    assert_eq!(browser.get("/submissions").await.location, "/sign-in?next=/submissions");
    let form = browser.get("/sign-in").await;
    assert!(form.text.contains("revoked") && form.cookie.unwrap().contains("Max-Age=0"), "{}", form.text);

    let team = secchi.team("reef-lab").await;
    let browser = Browser::signed_in(&secchi, &team).await;
    accounts::disable_team(&store, &Actor::new("harbour", ""), team.slug.clone(), NOON_MS).await.unwrap();
    assert_eq!(browser.get("/submissions").await.status, 303);
    assert!(browser.get("/sign-in").await.text.contains("disabled"));

    let team = secchi.team("kelp-lab").await;
    let browser = Browser::signed_in(&secchi, &team).await;
    let out = browser.send("/sign-out", &[]).await;
    assert_eq!((out.status, out.location.as_str()), (303, "/sign-in"));
    assert!(out.cookie.unwrap().contains("Max-Age=0"));
    secchi.clock.advance_ms(12 * 3_600_000);
    assert_eq!(browser.get("/submissions").await.status, 303);
    assert!(browser.get("/sign-in").await.text.contains("expired"));
}

#[tokio::test(flavor = "multi_thread")]
async fn an_access_token_is_no_cookie_and_a_cookie_no_access_token() {
    let secchi = Secchi::start().await;
    let team = secchi.team("ocean-lab").await;
    let mut browser = Browser::signed_in(&secchi, &team).await;
    let cookie = browser.cookie.clone().unwrap().split_once('=').unwrap().1.to_owned();
    assert_eq!(secchi.get("/api/v1/me", Some(&cookie)).await.status(), 401);
    let alone = browser.request(Method::GET, "/api/v1/me").send().await.unwrap();
    assert_eq!(alone.status(), 401);
    let request = secchi.request(Method::POST, "/api/v1/auth/token", None);
    let answer = request.json(&json!({ "api_key": team.key })).send().await.unwrap();
    let answer: Value = answer.json().await.unwrap();
    for wrong in [answer["access_token"].as_str().unwrap(), &team.key, "nonsense", ""] {
        browser.cookie = Some(format!("secchi_session={wrong}"));
        assert_eq!(browser.get("/submissions").await.status, 303, "{wrong}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_form_of_another_site_or_session_changes_nothing() {
    let (secchi, team) = with_val(Options::default()).await;
    let id = submitted(&secchi, &team).await;
    let (browser, other) = (Browser::signed_in(&secchi, &team).await, secchi.team("reef-lab").await);
    let stolen = Browser::signed_in(&secchi, &other).await.token().await;
    let own = browser.token().await;
    let cancel = format!("/submissions/{id}/cancel");
    for token in ["", "0", &stolen] {
        for path in [cancel.as_str(), "/sign-out"] {
            assert_eq!(browser.post(path, &[("form_token", token)]).await.status, 403, "{path} `{token}`");
        }
    }
    let sent_with = async |name: &'static str, value: &str, path: &str, fields: &[(&str, &str)]| {
        browser.form(path, fields).header(name, value).send().await.unwrap().status().as_u16()
    };
    let token = [("form_token", own.as_str())];
    for (name, value) in [
        ("sec-fetch-site", "cross-site"),
        ("sec-fetch-site", "same-site"),
        ("origin", "https://evil.example"),
        ("origin", "null"),
    ] {
        assert_eq!(sent_with(name, value, &cancel, &token).await, 403, "{name}: {value}");
        let key = [("api_key", team.key.as_str())];
        assert_eq!(sent_with(name, value, "/sign-in", &key).await, 403, "{name}: {value}");
    }
    let foreign = browser.request(Method::POST, "/submit").header("origin", "https://evil.example");
    let form = Form::new().text("form_token", own.clone());
    assert_eq!(foreign.multipart(form).send().await.unwrap().status(), 403);
    let without = browser.request(Method::POST, "/submit").multipart(Form::new().text("split", "val"));
    assert_eq!(without.send().await.unwrap().status(), 403);
    let state = secchi.get_json(&format!("/api/v1/submissions/{id}"), Some(&team.key)).await["state"].clone();
    assert_eq!(state, "queued");
    let base = secchi.base.clone();
    assert_eq!(sent_with("origin", &base, &cancel, &token).await, 303);
}
