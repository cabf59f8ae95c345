//! What needs a maintainer now: the overview, the queue of flags, notes, and teams over the API.

use std::sync::Arc;

use reqwest::{Method, Response};
use serde_json::{Value, json};

use secchi::domain::question::Split;

use crate::operations::{application, val_answers, val_metadata};
use crate::program::run_on;
use crate::roles::{On, judge, object};
use crate::series::{scored, variant};
use crate::support::{Options, Secchi, TestTeam, problem, sample};

const OVERVIEW: &str = "/api/v1/admin/overview";
const QUEUE: &str = "/api/v1/admin/flag-queue";

fn options() -> Options {
    let quota = vec!["--quota-per-day", "100", "--quota-total", "100", "--quota-val-per-day", "100"];
    Options { quota, ..Options::default() }
}

async fn post(secchi: &Secchi, key: &str, path: &str, body: Value) -> Response {
    secchi.request(Method::POST, path, Some(key)).json(&body).send().await.unwrap()
}

async fn queue(secchi: &Secchi, maintainer: &TestTeam, query: &str) -> Vec<Value> {
    let page = secchi.get_json(&format!("{QUEUE}?{query}"), Some(&maintainer.key)).await;
    page["items"].as_array().unwrap().clone()
}

async fn sign_up(secchi: &Secchi, slug: &str) -> Value {
    let asked = secchi.request(Method::POST, "/api/v1/signup", None).json(&application(slug));
    asked.send().await.unwrap().json().await.unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn the_overview_says_what_waits_and_since_when() {
    let secchi = Secchi::with(Options { given_judge: Some(Arc::new(judge())), ..options() }).await;
    let maintainer = secchi.maintainer("harbour").await;
    let quiet = secchi.get_json(OVERVIEW, Some(&maintainer.key)).await;
    assert_eq!(quiet["needs_attention"], false, "{quiet}");
    assert_eq!(quiet["signups"], json!({ "count": 0, "oldest_at": null }));
    // The judge that the test hands in has no circuit: unknown is null.
    assert_eq!((&quiet["judge"]["circuit_open"], &quiet["judge"]["left_usd"]), (&Value::Null, &Value::Null));
    assert!(run_on(&secchi.ground, &["admin"]).stdout().contains("nothing waits"));

    secchi.import(Split::Val, "val.jsonl").await;
    let team = secchi.team("ocean-lab").await;
    object(&secchi, &team, On::Incomplete).await;
    object(&secchi, &team, On::Flagged).await;
    sign_up(&secchi, "reef-lab").await;
    secchi.clock.advance_ms(60_000);
    sign_up(&secchi, "deep-lab").await;
    secchi.import_as("later", Split::Val, std::fs::File::open(sample("val.jsonl")).unwrap()).await;
    let seen = secchi.get_json(OVERVIEW, Some(&maintainer.key)).await;
    assert_eq!(seen["needs_attention"], true);
    assert_eq!(seen["signups"], json!({ "count": 2, "oldest_at": "2026-11-30T12:00:00.000Z" }));
    assert_eq!(seen["flags"]["attack"]["count"], 1);
    // The second sign-up came from the first one's address.
    assert_eq!(seen["flags"]["signup"], json!({ "count": 1, "oldest_at": "2026-11-30T12:01:00.000Z" }));
    assert_eq!((&seen["flags"]["series"]["count"], &seen["flags"]["twin"]["count"]), (&json!(0), &json!(0)));
    assert_eq!(seen["submissions"]["incomplete"]["count"], 1);
    assert!(seen["submissions"]["unjudged_answers"]["refused"].as_i64().unwrap() > 0, "{seen}");
    assert_eq!(seen["releases"][0]["release"], "later");
    let text = run_on(&secchi.ground, &["admin"]).stdout();
    for word in ["sign-ups", "flags: attack", "refused", "secchi dataset activate later --split val"] {
        assert!(text.contains(word), "{word}: {text}");
    }
    let printed: Value =
        serde_json::from_str(&run_on(&secchi.ground, &["admin", "--json"]).stdout()).unwrap();
    assert_eq!((&printed["signups"], &printed["flags"]), (&seen["signups"], &seen["flags"]));
    problem(secchi.get(OVERVIEW, Some(&team.key)).await, 403).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_flag_waits_until_a_maintainer_closes_it_with_a_reason() {
    let secchi = Secchi::with(Options { given_judge: Some(Arc::new(judge())), ..options() }).await;
    secchi.import(Split::Val, "val.jsonl").await;
    let (team, maintainer) = (secchi.team("ocean-lab").await, secchi.maintainer("harbour").await);
    let id = object(&secchi, &team, On::Flagged).await;
    let open = queue(&secchi, &maintainer, "kind=attack").await;
    assert_eq!(open.len(), 1);
    let flag = &open[0];
    assert_eq!(
        (&flag["subject"], &flag["team"], &flag["closed"]),
        (&json!(id), &json!("ocean-lab"), &Value::Null)
    );
    assert!(flag["detail"].as_str().unwrap().contains("override"), "{flag}");
    let close = format!("{QUEUE}/attack/{id}/close");
    let blank = problem(post(&secchi, &maintainer.key, &close, json!({ "reason": " " })).await, 422).await;
    assert_eq!(blank["errors"][0]["pointer"], "/reason");
    let reason = json!({ "reason": "it quotes a sign in the clip" });
    let closed: Value = post(&secchi, &maintainer.key, &close, reason.clone()).await.json().await.unwrap();
    assert_eq!(
        closed["closed"],
        json!({ "at": "2026-11-30T12:00:00.000Z", "by": "harbour", "reason": "it quotes a sign in the clip" })
    );
    let again = problem(post(&secchi, &maintainer.key, &close, reason.clone()).await, 409).await;
    assert!(again["detail"].as_str().unwrap().contains("`harbour`"), "{again}");
    let nowhere = format!("{QUEUE}/twin/{id}/close");
    problem(post(&secchi, &maintainer.key, &nowhere, reason.clone()).await, 404).await;
    problem(post(&secchi, &team.key, &close, reason).await, 403).await;
    assert_eq!(queue(&secchi, &maintainer, "").await, Vec::<Value>::new());
    assert_eq!(queue(&secchi, &maintainer, "state=closed").await, [closed]);
    let text = run_on(&secchi.ground, &["admin", "flags", "--all"]).stdout();
    assert!(text.contains(&id) && text.contains("harbour: it quotes a sign"), "{text}");
    let refused = run_on(&secchi.ground, &["admin", "close", "attack", &id, "--reason", "again"]);
    assert!(refused.code == Some(1) && refused.stderr.contains("harbour"), "{refused:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_series_and_another_teams_near_duplicate_are_flagged_on_a_split_without_feedback_alone() {
    let (secchi, team) = Secchi::with_sample(options()).await;
    secchi.import(Split::Val, "val.jsonl").await;
    let (other, maintainer) = (secchi.team("reef-lab").await, secchi.maintainer("harbour").await);
    for n in 0..4 {
        scored(&secchi, &team, &format!("Reef-{n}B"), variant(&[n, n + 20][..n.min(2)], 0)).await;
    }
    let series = queue(&secchi, &maintainer, "").await;
    assert_eq!(series.len(), 1, "{series:?}");
    assert_eq!((&series[0]["kind"], &series[0]["model_name"]), (&json!("series"), &json!("Reef-3B")));
    assert!(series[0]["detail"].as_str().unwrap().starts_with("file 4 of a series"), "{series:?}");
    let id = series[0]["subject"].as_str().unwrap();
    // Telling the scores is a decision on the flag.
    let path = format!("/api/v1/admin/series/{id}");
    let told =
        secchi.request(Method::PATCH, &path, Some(&maintainer.key)).json(&json!({ "reason": "an ablation" }));
    assert_eq!(told.send().await.unwrap().status(), 200);
    assert_eq!(queue(&secchi, &maintainer, "").await, Vec::<Value>::new());
    assert_eq!(queue(&secchi, &maintainer, "state=all").await[0]["closed"]["reason"], "an ablation");

    let copy = scored(&secchi, &other, "Deep-8B", variant(&[70], 0)).await;
    let twins = queue(&secchi, &maintainer, "kind=twin").await;
    assert_eq!(twins.len(), 1);
    assert_eq!((&twins[0]["subject"], &twins[0]["team"]), (&copy["id"], &json!("reef-lab")));
    assert!(twins[0]["other"].is_string());
    let detail = twins[0]["detail"].as_str().unwrap();
    assert!(detail.contains("of 151 letters") && detail.contains("`ocean-lab`"), "{detail}");
    // On val anybody may compare answers with the key.
    for team in [&team, &other] {
        let sent = secchi.submit(team, &val_metadata(), val_answers("A ray glides past.")).await;
        assert_eq!(sent.status(), 202);
    }
    secchi.drain().await;
    assert_eq!(queue(&secchi, &maintainer, "").await.len(), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_second_sign_up_is_flagged_until_it_is_decided() {
    let secchi = Secchi::with(options()).await;
    let maintainer = secchi.maintainer("harbour").await;
    sign_up(&secchi, "reef-lab").await;
    assert_eq!(queue(&secchi, &maintainer, "").await, Vec::<Value>::new());
    let second = sign_up(&secchi, "deep-lab").await;
    let flags = queue(&secchi, &maintainer, "kind=signup").await;
    assert_eq!(
        (flags.len(), &flags[0]["subject"], &flags[0]["team"]),
        (1, &second["id"], &json!("deep-lab"))
    );
    assert!(flags[0]["detail"].as_str().unwrap().contains("`reef-lab` (address)"), "{flags:?}");
    let path = format!("/api/v1/admin/signups/{}/reject", second["id"].as_str().unwrap());
    let reason = json!({ "reason": "one account a group" });
    assert_eq!(post(&secchi, &maintainer.key, &path, reason).await.status(), 200);
    assert_eq!(queue(&secchi, &maintainer, "").await, Vec::<Value>::new());
}

#[tokio::test(flavor = "multi_thread")]
async fn notes_on_a_submission_are_for_maintainers_alone() {
    let secchi = Secchi::with(options()).await;
    secchi.import(Split::Val, "val.jsonl").await;
    let (team, maintainer) = (secchi.team("ocean-lab").await, secchi.maintainer("harbour").await);
    let id = object(&secchi, &team, On::Scored).await;
    let path = format!("/api/v1/admin/submissions/{id}/notes");
    let made =
        post(&secchi, &maintainer.key, &path, json!({ "text": "Zqquiet: asked them for the log." })).await;
    assert_eq!(made.status(), 201);
    secchi.clock.advance_ms(1000);
    post(&secchi, &maintainer.key, &path, json!({ "text": "They sent it." })).await;
    let notes = secchi.get_json(&path, Some(&maintainer.key)).await;
    let told: Vec<[&Value; 3]> = notes["items"]
        .as_array()
        .unwrap()
        .iter()
        .map(|note| [&note["author"], &note["text"], &note["at"]])
        .collect();
    assert_eq!(told[0], ["harbour", "Zqquiet: asked them for the log.", "2026-11-30T12:00:00.000Z"]);
    assert_eq!(told[1][1], "They sent it.");
    for text in ["", " \n", "a\u{0}b", &"x".repeat(4001)] {
        let refused =
            problem(post(&secchi, &maintainer.key, &path, json!({ "text": text })).await, 422).await;
        assert_eq!(refused["errors"][0]["pointer"], "/text");
    }
    let nowhere = path.replace(&id, &uuid::Uuid::now_v7().to_string());
    problem(secchi.get(&nowhere, Some(&maintainer.key)).await, 404).await;
    problem(post(&secchi, &maintainer.key, &nowhere, json!({ "text": "x" })).await, 404).await;
    problem(secchi.get(&path, Some(&team.key)).await, 403).await;
    for seen in ["submissions".to_owned(), format!("submissions/{id}"), format!("submissions/{id}/report")] {
        let text = secchi.get_json(&format!("/api/v1/{seen}"), Some(&team.key)).await.to_string();
        assert!(!text.contains("Zqquiet"), "{seen}: {text}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_team_is_made_shut_out_and_let_in_again_over_the_api() {
    let secchi = Secchi::start().await;
    let maintainer = secchi.maintainer("harbour").await;
    let teams = "/api/v1/admin/teams";
    let new = json!({ "slug": "ocean-lab", "name": "Ocean Lab", "email": "lab@example.org" });
    let made = post(&secchi, &maintainer.key, teams, new.clone()).await;
    assert_eq!(
        (made.status().as_u16(), &made.headers()["cache-control"]),
        (201, &"no-store".parse().unwrap())
    );
    let key = made.json::<Value>().await.unwrap()["api_key"].as_str().unwrap().to_owned();
    assert_eq!(secchi.get_json("/api/v1/me", Some(&key)).await["role"], "team");
    assert_eq!(problem(post(&secchi, &maintainer.key, teams, new).await, 409).await["code"], "slug_taken");
    let faulty = [
        (json!({ "slug": "Ocean Lab", "name": "x" }), "invalid_slug"),
        (json!({ "slug": "x", "name": " " }), "blank_name"),
        (json!({ "slug": "x", "name": "a\u{0}b" }), "invalid_team"),
        (json!({ "slug": "x", "name": "x", "email": "nowhere" }), "invalid_team"),
    ];
    for (team, code) in faulty {
        assert_eq!(problem(post(&secchi, &maintainer.key, teams, team).await, 422).await["code"], code);
    }
    let path = |how: &str| format!("{teams}/ocean-lab/{how}");
    post(&secchi, &maintainer.key, &path("disable"), Value::Null).await;
    problem(secchi.get("/api/v1/me", Some(&key)).await, 401).await;
    let rotated = problem(post(&secchi, &maintainer.key, &path("rotate-key"), Value::Null).await, 409).await;
    assert_eq!(rotated["code"], "disabled_team");
    assert_eq!(post(&secchi, &maintainer.key, &path("enable"), Value::Null).await.status(), 200);
    assert_eq!(secchi.get("/api/v1/me", Some(&key)).await.status(), 200, "its key is good again");
    let rotated = post(&secchi, &maintainer.key, &path("rotate-key"), Value::Null).await;
    assert_eq!(rotated.status(), 201);
    problem(secchi.get("/api/v1/me", Some(&key)).await, 401).await;
    problem(post(&secchi, &maintainer.key, &format!("{teams}/nobody/enable"), Value::Null).await, 404).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_trying_again_would_ask_is_said_before_and_no_judgement_is_asked_for_twice() {
    let secchi = Secchi::with(Options { given_judge: Some(Arc::new(judge())), ..options() }).await;
    secchi.import(Split::Val, "val.jsonl").await;
    let (team, maintainer) = (secchi.team("ocean-lab").await, secchi.maintainer("harbour").await);
    let scored = object(&secchi, &team, On::Scored).await;
    let incomplete = object(&secchi, &team, On::Incomplete).await;
    let cost = async |id: &str| {
        let path = format!("/api/v1/admin/submissions/{id}/retry");
        secchi.get_json(&path, Some(&maintainer.key)).await
    };
    let of_scored = cost(&scored).await;
    assert_eq!((&of_scored["calls"], &of_scored["reused"]), (&json!(0), &of_scored["answers"]));
    let of_incomplete = cost(&incomplete).await;
    assert_eq!((&of_incomplete["reused"], &of_incomplete["calls"]), (&json!(0), &of_incomplete["answers"]));
    assert!(of_incomplete["calls"].as_u64().unwrap() > 0);
    let printed =
        run_on(&secchi.ground, &["submission", "retry", &incomplete, "--dry-run", "--json"]).stdout();
    assert_eq!(serde_json::from_str::<Value>(&printed).unwrap()["calls"], of_incomplete["calls"]);
    let path = format!("/api/v1/admin/submissions/{scored}/retry");
    problem(post(&secchi, &maintainer.key, &path, Value::Null).await, 409).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn submissions_are_found_by_team_state_split_and_need() {
    let secchi = Secchi::with(Options { given_judge: Some(Arc::new(judge())), ..options() }).await;
    secchi.import(Split::Val, "val.jsonl").await;
    let (team, other) = (secchi.team("ocean-lab").await, secchi.team("reef-lab").await);
    let maintainer = secchi.maintainer("harbour").await;
    let scored = object(&secchi, &team, On::Scored).await;
    let incomplete = object(&secchi, &team, On::Incomplete).await;
    let flagged = object(&secchi, &other, On::Flagged).await;
    let found = async |query: &str| {
        let path = format!("/api/v1/admin/submissions?{query}");
        let page = secchi.get_json(&path, Some(&maintainer.key)).await;
        let ids =
            page["items"].as_array().unwrap().iter().map(|item| item["id"].as_str().unwrap().to_owned());
        ids.collect::<Vec<_>>()
    };
    assert_eq!(found("").await, [&*flagged, &incomplete, &scored]);
    assert_eq!(found("team=ocean-lab").await, [&*incomplete, &scored]);
    assert_eq!(found("state=incomplete").await, [&*incomplete]);
    assert_eq!(found("split=test").await, [""; 0]);
    assert_eq!(found("needs_attention=true").await, [&*flagged, &incomplete]);
    assert_eq!(found("needs_attention=true&team=reef-lab").await, [&*flagged]);
    for query in ["state=odd", "team=%00", "split=x", "needs=1"] {
        let refused = secchi.get(&format!("/api/v1/admin/submissions?{query}"), Some(&maintainer.key)).await;
        assert_eq!(refused.status(), 400, "{query}");
    }
    let text = run_on(&secchi.ground, &["submission", "list", "--needs-attention"]).stdout();
    assert!(text.contains(&flagged) && text.contains(&incomplete) && !text.contains(&scored), "{text}");
    let teams = secchi.get_json("/api/v1/admin/teams", Some(&maintainer.key)).await;
    let ocean = teams["items"].as_array().unwrap().iter().find(|team| team["slug"] == "ocean-lab").unwrap();
    assert_eq!((&ocean["submissions"], ocean["quota"].as_array().unwrap().len()), (&json!(2), 2));
    assert_eq!((&ocean["quota"][1]["used_today"], &ocean["disabled_at"]), (&json!(2), &Value::Null));
}
