//! Signing up: who may, who decides, and that the key is told once to whoever holds the claim.

use diesel::{Connection as _, PgConnection, RunQueryDsl as _, SqliteConnection};
use reqwest::{Method, Response};
use serde_json::{Value, json};

use crate::operations::application;
use crate::program::run_on;
use crate::roles::body;
use crate::support::{Options, Secchi, problem};

const DAY_MS: i64 = 24 * 3_600_000;

async fn sign_up(secchi: &Secchi, application: &Value) -> Response {
    secchi.request(Method::POST, "/api/v1/signup", None).json(application).send().await.unwrap()
}

async fn taken(secchi: &Secchi, application: &Value) -> Value {
    let response = sign_up(secchi, application).await;
    assert_eq!(response.headers()["cache-control"], "no-store");
    let status = response.status();
    let body = body(response).await;
    assert_eq!(status, 202, "{body}");
    body
}

async fn take_key(secchi: &Secchi, claim: &Value) -> Response {
    let path = format!("/api/v1/signup/{}/key", claim.as_str().unwrap());
    secchi.request(Method::POST, &path, None).send().await.unwrap()
}

async fn decide(secchi: &Secchi, key: &str, id: &Value, how: &str) -> Response {
    let path = format!("/api/v1/admin/signups/{}/{how}", id.as_str().unwrap());
    let request = secchi.request(Method::POST, &path, Some(key));
    let request = if how == "reject" { request.json(&json!({ "reason": "no such lab" })) } else { request };
    request.send().await.unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn an_applicant_is_approved_and_told_the_key_once() {
    let secchi = Secchi::start().await;
    let maintainer = secchi.maintainer("harbour").await;
    let applied = taken(&secchi, &application("ocean-lab")).await;
    let claim = &applied["claim"];
    let url = applied["status_url"].as_str().unwrap();
    assert_eq!(url, format!("{}/api/v1/signup/{}", secchi.base, claim.as_str().unwrap()));
    let status = async || secchi.http.get(url).send().await.unwrap().json::<Value>().await.unwrap();
    let waiting = status().await;
    assert_eq!((&waiting["state"], &waiting["key_told"]), (&json!("pending"), &json!(false)));
    assert!(waiting.get("claim").is_none() && waiting.get("similar").is_none(), "{waiting}");
    assert_eq!(problem(take_key(&secchi, claim).await, 409).await["code"], "not_approved");

    let listed = secchi.get_json("/api/v1/admin/signups?state=pending", Some(&maintainer.key)).await;
    assert_eq!(listed["items"][0]["email"], "ocean-lab@ocean-lab.example.org");
    assert!(!listed.to_string().contains(claim.as_str().unwrap()));
    let approved = body(decide(&secchi, &maintainer.key, &applied["id"], "approve").await).await;
    assert_eq!(approved["state"], "approved");
    assert_eq!(
        problem(decide(&secchi, &maintainer.key, &applied["id"], "approve").await, 409).await["code"],
        "decided"
    );
    assert_eq!(
        problem(decide(&secchi, &maintainer.key, &applied["id"], "reject").await, 409).await["code"],
        "decided"
    );
    // Looking takes nothing, whoever looks.
    for method in [Method::GET, Method::HEAD, Method::GET] {
        secchi.http.request(method, url).send().await.unwrap();
    }
    assert_eq!(status().await["key_told"], false);
    let told = take_key(&secchi, claim).await;
    assert_eq!(
        (told.status().as_u16(), &told.headers()["cache-control"]),
        (201, &"no-store".parse().unwrap())
    );
    let told = body(told).await;
    let me = secchi.get_json("/api/v1/me", Some(told["api_key"].as_str().unwrap())).await;
    assert_eq!(
        (&me["team"], &me["role"], &me["scope"]),
        (&json!("ocean-lab"), &json!("team"), &json!("submit"))
    );
    assert_eq!(problem(take_key(&secchi, claim).await, 410).await["code"], "key_told");
    assert_eq!(status().await["key_told"], true);
    let none = format!("/api/v1/signup/{}", "0".repeat(64));
    problem(secchi.get(&none, None).await, 404).await;
    problem(secchi.get("/api/v1/signup/%00", None).await, 404).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn sixteen_who_hold_the_claim_get_one_key() {
    let options = Options { http: vec!["--signup", "open"], ..Options::default() };
    let secchi = Secchi::with(options).await;
    let claim = taken(&secchi, &application("ocean-lab")).await["claim"].clone();
    let answers = futures::future::join_all((0..16).map(|_| take_key(&secchi, &claim))).await;
    let count = |status: u16| answers.iter().filter(|answer| answer.status() == status).count();
    assert_eq!((count(201), count(410)), (1, 15));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_rejected_applicant_is_told_why() {
    let secchi = Secchi::start().await;
    let applied = taken(&secchi, &application("ocean-lab")).await;
    let run = |arguments: &[&str]| tokio::task::block_in_place(|| run_on(&secchi.ground, arguments));
    let id = applied["id"].as_str().unwrap();
    let shown = run(&["team", "signups"]).stdout();
    assert!(shown.contains("ocean-lab"), "{shown}");
    assert_eq!(run(&["team", "reject", id, "--reason", " "]).code, Some(1));
    assert!(run(&["team", "reject", id, "--reason", "no such lab"]).stdout().contains("rejected"));
    assert_eq!(run(&["team", "approve", id]).code, Some(1));
    assert_eq!(run(&["team", "approve", "none"]).code, Some(1));
    assert_eq!(run(&["team", "signups", "--json"]).json(), json!([]));
    assert_eq!(run(&["team", "signups", "--all", "--json"]).json()[0]["state"], "rejected");
    let path = format!("/api/v1/signup/{}", applied["claim"].as_str().unwrap());
    let seen = secchi.get_json(&path, None).await;
    assert_eq!((&seen["state"], &seen["reason"]), (&json!("rejected"), &json!("no such lab")));
    assert_eq!(problem(take_key(&secchi, &applied["claim"]).await, 409).await["code"], "not_approved");
    // The short name is free again.
    let again = taken(&secchi, &application("ocean-lab")).await;
    assert!(run(&["team", "approve", again["id"].as_str().unwrap(), "--json"]).json()["slug"] == "ocean-lab");
    assert_eq!(take_key(&secchi, &again["claim"]).await.status(), 201);
}

#[tokio::test(flavor = "multi_thread")]
async fn nobody_signs_up_where_it_is_closed_and_everybody_where_it_is_open() {
    let closed = Secchi::with(Options { http: vec!["--signup", "closed"], ..Options::default() }).await;
    assert_eq!(
        problem(sign_up(&closed, &application("ocean-lab")).await, 403).await["code"],
        "signup_closed"
    );
    let open = Secchi::with(Options { http: vec!["--signup", "open"], ..Options::default() }).await;
    let applied = taken(&open, &application("ocean-lab")).await;
    assert_eq!(applied["state"], "approved");
    let told = body(take_key(&open, &applied["claim"]).await).await;
    assert_eq!(told["team"], "ocean-lab");
    let refusal = problem(sign_up(&open, &application("ocean-lab")).await, 409).await;
    assert_eq!(refusal["code"], "slug_taken");
    // A team that was shut out before it took its key gets none.
    let second = taken(&open, &application("reef-lab")).await;
    let run = |arguments: &[&str]| tokio::task::block_in_place(|| run_on(&open.ground, arguments));
    run(&["team", "disable", "reef-lab"]).stdout();
    assert_eq!(problem(take_key(&open, &second["claim"]).await, 409).await["code"], "disabled_team");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_second_sign_up_is_shown_to_the_maintainer_and_to_nobody_else() {
    let secchi = Secchi::start().await;
    let maintainer = secchi.maintainer("harbour").await;
    let first = taken(&secchi, &application("ocean-lab")).await;
    decide(&secchi, &maintainer.key, &first["id"], "approve").await;
    let second =
        json!({ "slug": "ocean-lab-2", "name": "Ocean", "email": "Ocean-Lab+x@ocean-lab.example.org" });
    let applied = taken(&secchi, &second).await;
    let seen = secchi
        .get_json(applied["status_url"].as_str().unwrap().strip_prefix(&secchi.base).unwrap(), None)
        .await;
    assert!(!seen.to_string().contains("similar"), "{seen}");
    let listed = secchi.get_json("/api/v1/admin/signups", Some(&maintainer.key)).await;
    let similar = listed["items"][0]["similar"].as_array().unwrap();
    let team = similar.iter().find(|other| other["signup"].is_null()).unwrap();
    assert_eq!((&team["slug"], &team["likeness"]), (&json!("ocean-lab"), &json!(["email"])));
    let other = similar.iter().find(|other| other["signup"] == first["id"]).unwrap();
    assert_eq!((&other["state"], &other["likeness"]), (&json!("approved"), &json!(["email", "address"])));
    // Its own team is nobody else.
    let own = listed["items"][1]["similar"].as_array().unwrap();
    assert!(own.iter().all(|other| other["signup"] == applied["id"]), "{own:?}");
    // Two may ask for one short name; the second to be approved is too late.
    let wanted = application("reef-lab");
    let (one, two) = (taken(&secchi, &wanted).await, taken(&secchi, &wanted).await);
    assert_eq!(decide(&secchi, &maintainer.key, &one["id"], "approve").await.status(), 200);
    let late = decide(&secchi, &maintainer.key, &two["id"], "approve").await;
    assert_eq!(problem(late, 409).await["code"], "slug_taken");
}

#[tokio::test(flavor = "multi_thread")]
async fn so_many_sign_ups_are_taken_from_one_address_a_day() {
    let secchi = Secchi::start().await;
    for n in 0..5 {
        taken(&secchi, &application(&format!("lab-{n}"))).await;
        secchi.clock.advance_ms(1000);
    }
    let response = sign_up(&secchi, &application("lab-5")).await;
    let wait_s: i64 = response.headers()["retry-after"].to_str().unwrap().parse().unwrap();
    assert_eq!(wait_s, 24 * 3600 - 5);
    assert_eq!(problem(response, 429).await["code"], "too_many_signups");
    secchi.clock.advance_ms(wait_s * 1000 - 1);
    problem(sign_up(&secchi, &application("lab-5")).await, 429).await;
    secchi.clock.advance_ms(1);
    taken(&secchi, &application("lab-5")).await;
    problem(sign_up(&secchi, &application("lab-6")).await, 429).await;
    secchi.clock.advance_ms(DAY_MS);
    taken(&secchi, &application("lab-6")).await;
    // At once they are counted no less exactly, whatever a proxy that nobody knows says.
    let many = (0..16).map(|n| {
        let request = secchi
            .request(Method::POST, "/api/v1/signup", None)
            .header("x-forwarded-for", format!("10.0.0.{n}"));
        request.json(&application(&format!("many-{n}"))).send()
    });
    let answers = futures::future::join_all(many).await;
    let taken = answers.into_iter().filter(|answer| answer.as_ref().unwrap().status() == 202).count();
    assert_eq!(taken, 4);
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_wrong_with_an_application_is_named_and_nothing_is_kept() {
    let secchi = Secchi::start().await;
    let maintainer = secchi.maintainer("harbour").await;
    let wrong = json!({ "slug": "Ocean Lab", "name": "", "email": "lab@example", "purpose": "a\u{0}b" });
    let refusal = problem(sign_up(&secchi, &wrong).await, 422).await;
    let pointers: Vec<&Value> = refusal["errors"].as_array().unwrap().iter().map(|e| &e["pointer"]).collect();
    assert_eq!(pointers, ["/slug", "/name", "/email", "/purpose"]);
    let mut more = application("ocean-lab");
    more["role"] = "maintainer".into();
    assert_eq!(problem(sign_up(&secchi, &more).await, 422).await["code"], "invalid_body");
    let mut long = application("ocean-lab");
    long["purpose"] = "x".repeat(200_000).into();
    problem(sign_up(&secchi, &long).await, 413).await;
    let listed = secchi.get_json("/api/v1/admin/signups", Some(&maintainer.key)).await;
    assert_eq!(listed["items"], json!([]));
}

#[cfg(not(feature = "smtp"))]
#[test]
fn a_mail_server_is_refused_where_the_program_sends_no_mail() {
    let folder = tempfile::tempdir().unwrap();
    let mut serve = crate::program::secchi(folder.path(), &["serve", "--listen", "127.0.0.1:0"]);
    let ended = crate::program::run(serve.env("SECCHI_SMTP_URL", "smtp://user:hush@127.0.0.1:1"));
    assert_eq!(ended.code, Some(1), "{ended:?}");
    assert!(ended.stderr.contains("--features smtp") && !ended.stderr.contains("hush"), "{ended:?}");
}

/// What the audit log holds, oldest first: who did what to which subject.
pub fn audited(secchi: &Secchi) -> Vec<(String, String, String)> {
    #[derive(diesel::QueryableByName)]
    struct Line {
        #[diesel(sql_type = diesel::sql_types::Text)]
        actor: String,
        #[diesel(sql_type = diesel::sql_types::Text)]
        action: String,
        #[diesel(sql_type = diesel::sql_types::Text)]
        subject: String,
    }
    let asked = diesel::sql_query("SELECT actor, action, subject FROM audit_log ORDER BY id");
    let url = &secchi.ground.database_url;
    let lines: Vec<Line> = match url.strip_prefix("sqlite://") {
        Some(path) => asked.load(&mut SqliteConnection::establish(path).unwrap()).unwrap(),
        None => asked.load(&mut PgConnection::establish(url).unwrap()).unwrap(),
    };
    lines.into_iter().map(|line| (line.actor, line.action, line.subject)).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn what_a_maintainer_decides_is_in_the_audit_log() {
    let secchi = Secchi::start().await;
    let maintainer = secchi.maintainer("harbour").await;
    let (one, two) = (taken(&secchi, &application("one")).await, taken(&secchi, &application("two")).await);
    decide(&secchi, &maintainer.key, &one["id"], "approve").await;
    decide(&secchi, &maintainer.key, &two["id"], "reject").await;
    let post = async |path: &str, request: Value| {
        let path = format!("/api/v1/admin/teams/{path}");
        let response = secchi.request(Method::POST, &path, Some(&maintainer.key)).json(&request).send().await;
        response.unwrap().status().as_u16()
    };
    let grant = json!({ "split": "test", "amount": 1, "reason": "a lost day" });
    assert_eq!(post("one/grants", grant).await, 201);
    assert_eq!(post("one/disable", Value::Null).await, 200);
    assert_eq!(post("one/disable", Value::Null).await, 200, "again changes nothing");
    assert_eq!(post("harbour/disable", Value::Null).await, 409, "nobody shuts out themselves");
    let by_harbour = |action: &str, subject: &Value| {
        ("harbour".to_owned(), action.to_owned(), subject.as_str().unwrap().to_owned())
    };
    let expected = [
        by_harbour("approve_signup", &one["id"]),
        by_harbour("reject_signup", &two["id"]),
        by_harbour("grant_quota", &json!("one")),
        by_harbour("disable_team", &json!("one")),
    ];
    assert_eq!(audited(&secchi)[1..], expected);
    let teams = secchi.get_json("/api/v1/admin/teams", Some(&maintainer.key)).await;
    assert_eq!(teams["items"][0]["slug"], "one");
    assert!(
        teams["items"][0]["disabled_at"].is_string() && teams["items"][1]["disabled_at"].is_null(),
        "{teams}"
    );
}
