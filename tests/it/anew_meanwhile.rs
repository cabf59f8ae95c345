//! What comes while a submission is rejudged: withdrawal, another judge, a spent budget, a kill, other submissions.

use std::time::Duration;

use reqwest::Method;
use serde_json::{Value, json};

use crate::anew::{
    ANSWERS, Mood, calls, found, id_of, moody, other_words, path, rejudge, scored, sent, values, view,
};
use crate::by_hand::file;
use crate::process::{Process, until};
use crate::staging::{AT_ONCE, judge_command, judged_by};
use crate::stand_in::StandIn;
use crate::support::{Ground, Options, Secchi, metadata};

#[tokio::test(flavor = "multi_thread")]
async fn a_request_falls_away_with_its_entry_and_goes_on_where_that_is_hidden() {
    let (secchi, team, maintainer, mood) = moody(Options::default()).await;
    let withdrawn = scored(&secchi, &team, "Withdrawn", "public", other_words()).await;
    let hidden = scored(&secchi, &team, "Hidden", "public", file()).await;
    *mood.lock().unwrap() = Mood { scores: [5, 5, 5], left: Some(5), ..Mood::default() };
    let begun = async |id: &str| {
        mood.lock().unwrap().left = Some(5);
        assert_eq!(rejudge(&secchi, &maintainer, id, "").await.status(), 202);
        secchi.drain().await;
        mood.lock().unwrap().left = None;
        secchi.clock.advance_ms(60_000);
    };
    begun(&hidden).await;
    let patch = secchi.request(Method::PATCH, &format!("/api/v1/submissions/{}", hidden), Some(&team.key));
    assert_eq!(patch.json(&json!({ "visibility": "private" })).send().await.unwrap().status(), 200);
    secchi.drain().await;
    assert_eq!(values(&view(&secchi, &team, &hidden).await), (5.0, 5.0), "its team reads it still");
    assert_eq!(calls(&mood), ANSWERS);

    begun(&withdrawn).await;
    let withdraw = format!("/api/v1/submissions/{}/withdraw", withdrawn);
    let request =
        secchi.request(Method::POST, &withdraw, Some(&team.key)).json(&json!({ "reason": "wrong" }));
    assert_eq!(request.send().await.unwrap().status(), 200);
    secchi.drain().await;
    assert_eq!(calls(&mood), ANSWERS + 5);
    assert_eq!(values(&view(&secchi, &team, &withdrawn).await), (3.0, 3.0));
}

#[tokio::test(flavor = "multi_thread")]
async fn another_judge_that_becomes_current_ends_a_request_under_the_former() {
    let (secchi, team, maintainer, mood) = moody(Options::default()).await;
    let id = scored(&secchi, &team, "Moved", "public", file()).await;
    let flags = StandIn::start(0).await.flags_of("b", AT_ONCE);
    judge_command(&secchi.ground, &["stage"], &flags).stdout();
    secchi.drain().await;
    *mood.lock().unwrap() = Mood { scores: [5, 5, 5], left: Some(5), ..Mood::default() };
    assert_eq!(rejudge(&secchi, &maintainer, &id, "").await.status(), 202);
    secchi.drain().await;
    mood.lock().unwrap().left = None;
    judge_command(&secchi.ground, &["activate"], &[]).stdout();
    secchi.clock.advance_ms(60_000);
    secchi.drain().await;
    assert_eq!(calls(&mood), 5, "nobody asks the former judge any more");
    let now = found(&secchi, &maintainer, &id).await;
    assert_eq!((&now["requested_at"], &now["calls"]), (&Value::Null, &json!(ANSWERS)));
    assert_eq!(values(&view(&secchi, &team, &id).await), (3.0, 3.0), "what the other said");
}

#[tokio::test(flavor = "multi_thread")]
async fn at_the_budget_rejudging_waits_for_the_next_day() {
    const DAY_MS: i64 = 86_400_000;
    let judge = StandIn::start(0).await;
    // A call takes ten cents: thirty a day.
    let money = ["--judge-price-in", "1000", "--judge-price-out", "0.001", "--judge-budget-usd-per-day", "3"];
    let flags = judge.flags(AT_ONCE).into_iter().chain(money.map(str::to_owned)).collect();
    let (secchi, team) = Secchi::with_sample(Options { judge: flags, ..Options::default() }).await;
    let maintainer = secchi.maintainer("harbour").await;
    let id = id_of(&secchi.scored(&team, &metadata("Reef-8B"), "strong_model.jsonl").await);
    secchi.clock.advance_ms(DAY_MS);
    secchi.drain().await;
    assert_eq!((&view(&secchi, &team, &id).await["state"], judge.calls()), (&json!("scored"), ANSWERS));
    let other = sent(&secchi, &team, "Ray-8B", "private", file()).await;
    secchi.drain().await;
    let before = judge.calls();
    assert_eq!(before, 60);
    let begun: Value = rejudge(&secchi, &maintainer, &id, "").await.json().await.unwrap();
    assert_eq!((&begun["calls"], &begun["budget_spent"]), (&json!(ANSWERS), &json!(true)), "{begun}");
    assert!(begun["cost_usd"].as_f64() > Some(0.0), "{begun}");
    secchi.drain().await;
    assert_eq!(judge.calls(), before);
    // The other one has waited longer, and is no rejudging.
    for (calls, left) in [(90, Some(48)), (120, Some(24)), (144, None)] {
        assert_eq!(view(&secchi, &team, &id).await["rejudged_at"], Value::Null);
        secchi.clock.advance_ms(DAY_MS);
        secchi.drain().await;
        assert_eq!(judge.calls(), calls);
        let now = found(&secchi, &maintainer, &id).await;
        assert_eq!(now["requested_at"].is_null(), left.is_none(), "{now}");
        assert!(left.is_none_or(|left| now["calls"] == left), "{now}");
    }
    assert_eq!(view(&secchi, &team, &other).await["state"], "scored");
    assert!(view(&secchi, &team, &id).await["rejudged_at"].is_string());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_that_is_killed_meanwhile_asks_about_no_answer_twice() {
    let judge = StandIn::start(0).await;
    let (secchi, team) = judged_by(&judge, "a").await;
    let maintainer = secchi.maintainer("harbour").await;
    let scored = secchi.scored(&team, &metadata("Reef-8B"), "strong_model.jsonl").await;
    let id = id_of(&scored);
    let ground: Ground = secchi.stop().await;
    judge.forget();
    judge.set_latency_ms(60);
    let flags = judge.flags_of("a", AT_ONCE);
    let mut server = Process::serve(&ground, "127.0.0.1:0", &flags);
    let http = reqwest::Client::new();
    let request = http.post(format!("{}{}", server.base, path(&id))).bearer_auth(&maintainer.key);
    let begun = request.json(&json!({ "reason": "a bad hour" })).send().await.unwrap();
    assert_eq!(begun.status(), 202);
    let calls = begun.json::<Value>().await.unwrap()["calls"].as_u64().unwrap() as usize;
    for so_far in [8, 24] {
        until("rejudging", async || judge.calls() >= so_far).await;
        server.kill();
        server = Process::serve(&ground, &server.metrics, &flags);
        let now = server.submission(&team, &id).await;
        assert_eq!((&now["scores"], &now["rejudged_at"]), (&scored["scores"], &Value::Null));
    }
    until("rejudging", async || server.submission(&team, &id).await["rejudged_at"].is_string()).await;
    assert!(judge.repeated() <= 2 * AT_ONCE, "{} calls were repeated", judge.repeated());
    assert_eq!(judge.stats().distinct, calls);
    assert_eq!(server.submission(&team, &id).await["scores"], scored["scores"], "the judge says the same");
}

#[tokio::test(flavor = "multi_thread")]
async fn whoever_comes_while_judgements_are_replaced_ends_with_the_same_scores_as_all() {
    let (secchi, team, maintainer, mood) = moody(Options { with_worker: true, ..Options::default() }).await;
    let first = sent(&secchi, &team, "First", "public", file()).await;
    until("judging", async || view(&secchi, &team, &first).await["state"] == "scored").await;
    let mut ids = vec![first.clone()];
    for round in 0..6_u8 {
        mood.lock().unwrap().scores = [round % 5 + 1, 2, 3];
        let began = async {
            assert_eq!(rejudge(&secchi, &maintainer, &first, "").await.status(), 202);
        };
        let came = async {
            let mut came = Vec::new();
            for number in 0..4 {
                let name = format!("Model-{round}-{number}");
                came.push(sent(&secchi, &team, &name, "private", file()).await);
                tokio::time::sleep(Duration::from_millis(15)).await;
            }
            came
        };
        let ((), came) = tokio::join!(began, came);
        ids.extend(came);
        until("rejudging", async || found(&secchi, &maintainer, &first).await["requested_at"] == Value::Null)
            .await;
    }
    let all = async || {
        let mut all = Vec::new();
        for id in &ids {
            all.push(view(&secchi, &team, id).await);
        }
        all
    };
    until("judging", async || all().await.iter().all(|view| view["state"] == "scored")).await;
    for view in all().await {
        assert_eq!(values(&view), (1.0, 2.0), "{view}");
    }
    assert_eq!(calls(&mood), 7 * ANSWERS, "whoever came asked about nothing");
    secchi.stop().await;
}
