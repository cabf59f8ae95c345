//! What is judged under another configuration than its own, and what keeps a configuration from becoming current.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use reqwest::Method;
use serde_json::{Value, json};

use secchi::domain::actor::Actor;
use secchi::domain::question::Split;
use secchi::evaluation::activating::make_active;
use secchi::evaluation::holding::reconcile;
use secchi::evaluation::staging::activate;
use secchi::judge::{Failure, ItemReason, ScriptedJudge};

use crate::process::until;
use crate::staging::{AT_ONCE, BOARD, board, board_of, find, judge_command, judged_by, list, rows};
use crate::stand_in::StandIn;
use crate::support::{Options, Secchi, entries, metadata, problem, sample_bytes};

#[tokio::test(flavor = "multi_thread")]
async fn an_entry_that_is_published_after_the_change_appears_once_the_current_judge_has_judged_it() {
    let judge = StandIn::start(0).await;
    let (secchi, team) = judged_by(&judge, "a").await;
    let private = json!({ "visibility": "private" });
    let mut hidden = metadata("Reef-8B");
    hidden["visibility"] = private["visibility"].clone();
    let submission = secchi.scored(&team, &hidden, "strong_model.jsonl").await;
    let calls = judge.calls_of("a");
    judge_command(&secchi.ground, &["stage"], &judge.flags_of("b", AT_ONCE)).stdout();
    judge_command(&secchi.ground, &["activate"], &[]).stdout();
    secchi.drain().await;
    assert_eq!(judge.calls_of("b"), 0, "what nobody sees is not judged anew");

    let path = format!("/api/v1/submissions/{}", submission["id"].as_str().unwrap());
    let patch = async |change: &Value| {
        let response = secchi.request(Method::PATCH, &path, Some(&team.key)).json(change).send().await;
        assert_eq!(response.unwrap().status(), 200);
    };
    patch(&json!({ "visibility": "public" })).await;
    assert_eq!(rows(&board(&secchi, BOARD).await.0).len(), 0);
    let entry = format!("/api/v1/entries/{}", submission["id"].as_str().unwrap());
    let entry = secchi.get_json(&entry, None).await;
    assert_eq!((&entry["scores"], &entry["current"]), (&submission["scores"], &json!(false)));
    // Taken back before anybody came to it: nothing is judged.
    patch(&private).await;
    secchi.drain().await;
    assert_eq!(judge.calls_of("b"), 0);

    patch(&json!({ "visibility": "anonymous" })).await;
    secchi.drain().await;
    let shown = rows(&board(&secchi, BOARD).await.0);
    let judged = secchi.get_json(&path, Some(&team.key)).await;
    assert_eq!((shown.len(), &shown[0]["scores"]), (1, &judged["scores"]));
    assert_eq!(judged["judge"]["model"], "b");
    assert_ne!(judged["scores"]["OEMU"], submission["scores"]["OEMU"]);
    assert_eq!((judge.calls_of("a"), judge.calls_of("b")), (calls, calls));
}

#[tokio::test(flavor = "multi_thread")]
async fn answers_that_the_staged_judge_fails_at_keep_the_board_as_it_is_until_they_are_judged() {
    let failing = Arc::new(Mutex::new(String::new()));
    let judge = Arc::new(ScriptedJudge::new({
        let failing = failing.clone();
        move |item| {
            if item.question_id == *failing.lock().unwrap() {
                return Err(Failure::Item {
                    reason: ItemReason::Refusal,
                    detail: "as the script says".into(),
                });
            }
            Ok(ScriptedJudge::verdict([3, 3, 3]))
        }
    }));
    let options = Options { given_judge: Some(judge.clone()), ..Options::default() };
    let (secchi, team) = Secchi::with_sample(options).await;
    let maintainer = secchi.maintainer("harbour").await;
    let submission = secchi.scored(&team, &metadata("Reef-8B"), "strong_model.jsonl").await;
    *failing.lock().unwrap() = judge.asked()[0].clone();
    let flags = StandIn::start(0).await.flags_of("b", AT_ONCE);
    judge_command(&secchi.ground, &["stage"], &flags).stdout();
    secchi.drain().await;
    let path = "/api/v1/admin/judge/configurations";
    let known = secchi.get_json(path, Some(&maintainer.key)).await;
    let known = known["items"].as_array().unwrap();
    assert_eq!(known, &list(&secchi.ground));
    let staged = find(known, "b");
    assert_eq!((&staged["state"], &staged["incomplete"]), (&json!("staged"), &json!(1)), "{staged}");
    let refused = judge_command(&secchi.ground, &["activate"], &[]);
    assert!(refused.code == Some(1) && refused.stderr.contains("1 of 1"), "{refused:?}");
    assert_eq!(rows(&board(&secchi, BOARD).await.0)[0]["scores"], submission["scores"]);

    failing.lock().unwrap().clear();
    let asked = judge.asked().len();
    let retry = format!("/api/v1/admin/submissions/{}/retry", submission["id"].as_str().unwrap());
    let retry = || secchi.request(Method::POST, &retry, Some(&maintainer.key)).send();
    assert_eq!(retry().await.unwrap().status(), 202);
    secchi.drain().await;
    assert_eq!(judge.asked()[asked..], judge.asked()[..1], "only what had failed is asked about");
    problem(retry().await.unwrap(), 409).await;
    judge_command(&secchi.ground, &["activate"], &[]).stdout();
    let shown = rows(&board(&secchi, BOARD).await.0);
    assert_eq!(shown[0]["scores"], submission["scores"], "the same integers, now under the other judge");
}

#[tokio::test(flavor = "multi_thread")]
async fn another_staged_judge_replaces_the_first_and_what_leaves_the_board_is_not_rejudged() {
    let judge = StandIn::start(0).await;
    let (secchi, team) = board_of(&judge, "a").await;
    let stage = |model: &str, more: &[&str]| {
        judge_command(&secchi.ground, &[&["stage"], more].concat(), &judge.flags_of(model, AT_ONCE)).stdout()
    };
    stage("b", &[]);
    stage("c", &[]);
    let known = list(&secchi.ground);
    assert_eq!((&find(&known, "b")["state"], &find(&known, "b")["pending"]), (&json!("retired"), &json!(0)));
    assert_eq!((&find(&known, "c")["state"], &find(&known, "c")["pending"]), (&json!("staged"), &json!(5)));
    let b = find(&known, "b")["id"].as_str().unwrap();
    problem(secchi.get(&format!("{BOARD}?judge={b}"), None).await, 404).await;

    let ids = secchi.submission_ids(&team).await;
    for id in &ids[..4] {
        let path = format!("/api/v1/submissions/{id}/withdraw");
        let withdrawal = json!({ "reason": "a wrong checkpoint" });
        let request = secchi.request(Method::POST, &path, Some(&team.key)).json(&withdrawal);
        assert_eq!(request.send().await.unwrap().status(), 200);
    }
    secchi.drain().await;
    assert_eq!((judge.calls_of("b"), judge.calls_of("c")), (0, 48));
    let done = stage("c", &["--watch"]);
    assert!(done.contains("1 of 1 published entries") && done.contains("judge activate makes it"), "{done}");
    let unknown = judge_command(&secchi.ground, &["stage", "--configuration", "x"], &[]);
    assert!(unknown.code == Some(1) && unknown.stderr.contains("secchi judge list"), "{unknown:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn the_way_back_judges_what_came_under_the_new_judge_and_so_does_another_release() {
    let judge = StandIn::start(0).await;
    let (secchi, team) = judged_by(&judge, "a").await;
    secchi.scored(&team, &metadata("Old"), "strong_model.jsonl").await;
    judge_command(&secchi.ground, &["stage"], &judge.flags_of("b", AT_ONCE)).stdout();
    secchi.drain().await;
    judge_command(&secchi.ground, &["activate"], &[]).stdout();
    secchi.scored(&team, &metadata("New"), "weak_model.jsonl").await;
    let known = list(&secchi.ground);
    let a = find(&known, "a")["id"].as_str().unwrap();
    let refused = judge_command(&secchi.ground, &["activate", a], &[]);
    assert!(refused.code == Some(1) && refused.stderr.contains("1 of 2"), "{refused:?}");
    let calls = judge.calls_of("a");
    let cost = judge_command(&secchi.ground, &["stage", "--configuration", a, "--json"], &[]).json();
    let new_calls = cost["cost"]["calls"].as_u64().unwrap() as usize;
    let past = secchi.get_json(&format!("{BOARD}?judge={a}"), None).await;
    assert_eq!(entries(&past).as_array().unwrap().len(), 1, "a board of its own while it is staged again");
    secchi.drain().await;
    assert_eq!(judge.calls_of("a"), calls + new_calls);
    let past = secchi.get_json(&format!("{BOARD}?judge={a}"), None).await;
    assert_eq!(entries(&past).as_array().unwrap().len(), 2);

    // Another release is active, and there nothing keeps the judge from changing; then the first one is again.
    let text = String::from_utf8(sample_bytes("test.jsonl")).unwrap();
    secchi.import_as("shorter", Split::Test, text.split_once('\n').unwrap().1.as_bytes()).await;
    let store = &secchi.running.evaluation.store;
    make_active(store, &Actor::command_line(), Split::Test, "shorter".into(), secchi.clock.now_ms())
        .await
        .unwrap();
    judge_command(&secchi.ground, &["stage"], &judge.flags_of("c", AT_ONCE)).stdout();
    judge_command(&secchi.ground, &["activate"], &[]).stdout();
    make_active(store, &Actor::command_line(), Split::Test, "sample".into(), secchi.clock.now_ms())
        .await
        .unwrap();
    assert_eq!(rows(&board(&secchi, BOARD).await.0).len(), 0);
    secchi.drain().await;
    let shown = secchi.get_json(BOARD, None).await;
    assert_eq!((&shown["judge"]["model"], entries(&shown).as_array().unwrap().len()), (&json!("c"), 2));
}

#[tokio::test(flavor = "multi_thread")]
async fn submissions_that_come_while_judges_change_all_end_with_the_scores_of_one_judge() {
    const SUBMISSIONS: usize = 12;
    let judge = StandIn::start(0).await;
    let mut expected = Vec::new();
    for model in ["a", "b"] {
        let (undisturbed, team) = judged_by(&judge, model).await;
        let submission = undisturbed.scored(&team, &metadata("Reef-8B"), "letters_noisy.jsonl").await;
        expected.push((submission["judge"]["configuration"].clone(), submission["scores"].clone()));
    }
    let flags = judge.flags_of("a", AT_ONCE);
    let quota = vec!["--quota-per-day", "100", "--quota-total", "100"];
    let options = Options { judge: flags, quota, with_worker: true, ..Options::default() };
    let (secchi, team) = Secchi::with_sample(options).await;
    judge_command(&secchi.ground, &["stage"], &judge.flags_of("b", AT_ONCE)).stdout();
    judge.set_latency_ms(5);
    let submitted = async {
        for number in 0..SUBMISSIONS {
            let mut private = metadata(&format!("Reef-{number}"));
            private["visibility"] = json!("private");
            secchi.accepted(&team, &private, "letters_noisy.jsonl").await;
        }
    };
    let changed = async {
        for (id, _) in [&expected[1], &expected[0]].repeat(6) {
            let store = &secchi.running.evaluation.store;
            activate(
                store,
                &Actor::command_line(),
                id.as_str().map(str::to_owned),
                None,
                secchi.clock.now_ms(),
            )
            .await
            .unwrap();
            reconcile(&secchi.running.evaluation, &secchi.running.owner).await.unwrap();
            tokio::time::sleep(Duration::from_millis(40)).await;
        }
    };
    tokio::join!(submitted, changed);
    let all = async || {
        let page = secchi.get_json("/api/v1/submissions?limit=100", Some(&team.key)).await;
        page["items"].as_array().unwrap().clone()
    };
    until("judging", async || all().await.iter().all(|submission| submission["state"] == "scored")).await;
    let all = all().await;
    assert_eq!(all.len(), SUBMISSIONS);
    for submission in &all {
        let found = (submission["judge"]["configuration"].clone(), submission["scores"].clone());
        assert!(expected.contains(&found), "{submission}");
        assert_eq!(
            submission["warnings"].as_array().unwrap().len(),
            all[0]["warnings"].as_array().unwrap().len()
        );
        let path = format!("/api/v1/submissions/{}", submission["id"].as_str().unwrap());
        let published = json!({ "visibility": "public" });
        let request = secchi.request(Method::PATCH, &path, Some(&team.key)).json(&published);
        assert_eq!(request.send().await.unwrap().status(), 200);
    }
    let shown = async || rows(&board(&secchi, &format!("{BOARD}?all=1")).await.0);
    until("rejudging", async || shown().await.len() == SUBMISSIONS).await;
    assert!(shown().await.iter().all(|row| row["scores"] == expected[0].1));
    secchi.stop().await;
}
