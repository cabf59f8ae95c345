//! From open-ended answers to numbers, and what happens where the judge gives none.

use std::collections::HashSet;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, OnceLock};

use reqwest::Method;
use serde_json::{Value, json};

use secchi::clock::Clock;
use secchi::domain::question::Rubric;
use secchi::judge::{Failure, Item, ItemReason, PauseCause, ScriptedJudge, Verdict};

use crate::stand_in::StandIn;
use crate::support::{Options, Secchi, TestTeam, metadata, sample_bytes};

/// As long as a submission rests while the judge is out of reach, and a bit.
const PAUSE_MS: i64 = 20_000;

/// Columns that need a judge.
const JUDGED: [&str; 7] =
    ["OEMU", "static/BEH", "static/AH", "static/ECF", "moving/BEH", "moving/AH", "moving/ECF"];

fn unavailable() -> Failure {
    Failure::Item { reason: ItemReason::Unavailable, detail: "out of order".into() }
}

fn circuit_open() -> Failure {
    Failure::Pause { cause: PauseCause::CircuitOpen, detail: "out of order".into() }
}

fn malformed() -> Failure {
    Failure::Item { reason: ItemReason::Malformed, detail: "no JSON".into() }
}

fn judged_by(
    script: impl Fn(&Item<'_>) -> Result<Verdict, Failure> + Send + Sync + 'static,
) -> (Arc<ScriptedJudge>, Options) {
    let judge = Arc::new(ScriptedJudge::new(script));
    (judge.clone(), Options { given_judge: Some(judge), ..Options::default() })
}

/// The sample's questions, as the release holds them.
fn questions() -> Vec<Value> {
    let text = String::from_utf8(sample_bytes("test.jsonl")).unwrap();
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

/// Ids of the sample's open-ended questions.
pub fn open_ended() -> Vec<String> {
    let questions = questions().into_iter().filter(|question| question["question_format"] == "open_ended");
    questions.map(|question| question["question_id"].as_str().unwrap().to_owned()).collect()
}

fn view_path(id: &str) -> String {
    format!("/api/v1/submissions/{id}")
}

async fn view(secchi: &Secchi, team: &TestTeam, id: &str) -> Value {
    secchi.get_json(&view_path(id), Some(&team.key)).await
}

fn has_judged_columns(submission: &Value) -> bool {
    JUDGED.iter().any(|column| submission["scores"].get(column).is_some())
}

#[tokio::test(flavor = "multi_thread")]
async fn the_judged_columns_are_the_means_of_the_given_integers() {
    // Integers that differ from question to question, by the length of its id.
    let integers = |id: &str| [id.len() % 6, (id.len() / 2) % 6, (id.len() / 3) % 6];
    let (_, options) = judged_by(move |item| {
        Ok(ScriptedJudge::verdict(integers(item.question_id).map(|score| score as u8)))
    });
    let (secchi, team) = Secchi::with_sample(options).await;
    let scores = secchi.scored(&team, &metadata("Reef-8B"), "perfect.jsonl").await["scores"].clone();

    let cameras: Value = serde_json::from_slice(&sample_bytes("camera_class.json")).unwrap();
    let mean = |values: Vec<f64>| (values.iter().sum::<f64>() / values.len() as f64, values.len());
    let of_type = |kind: &str, camera: Option<&str>| -> Vec<[usize; 3]> {
        let questions = questions().into_iter().filter(|question| {
            question["type"] == kind
                && camera.is_none_or(|camera| cameras[question["id"].as_str().unwrap()] == camera)
        });
        questions.map(|question| integers(question["question_id"].as_str().unwrap())).collect()
    };
    let assert_column = |column: &str, (value, n): (f64, usize)| {
        let cell = &scores[column];
        assert!((cell["value"].as_f64().unwrap() - value).abs() < 1e-9, "{column}: {cell}, not {value}");
        assert_eq!((cell["n"].as_u64().unwrap() as usize, &cell["unit"]), (n, &json!("points")), "{column}");
    };
    let oemu = of_type("camera_object_open_ended", None);
    let weighted = |[camera, activity, relation]: [usize; 3]| {
        0.35 * camera as f64 + 0.30 * activity as f64 + 0.35 * relation as f64
    };
    assert_column("OEMU", mean(oemu.into_iter().map(weighted).collect()));
    for camera in ["static", "moving"] {
        for (place, dimension) in ["BEH", "AH", "ECF"].into_iter().enumerate() {
            let captions = of_type("caption", Some(camera));
            let values = captions.into_iter().map(|integers| integers[place] as f64).collect();
            assert_column(&format!("{camera}/{dimension}"), mean(values));
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_fault_never_becomes_a_number_and_a_retry_judges_only_what_failed() {
    let failing = open_ended()[3].clone();
    let mended = Arc::new(AtomicUsize::new(0));
    let (judge, options) = judged_by({
        let (failing, mended) = (failing.clone(), mended.clone());
        move |item| match mended.load(Ordering::SeqCst) {
            0 if item.question_id == failing => Err(malformed()),
            _ => Ok(ScriptedJudge::verdict([4, 4, 4])),
        }
    });
    let (secchi, team) = Secchi::with_sample(options).await;
    let maintainer = secchi.maintainer("staff").await;
    let submission = secchi.scored(&team, &metadata("Reef-8B"), "strong_model.jsonl").await;
    assert_eq!(submission["state"], "incomplete");
    let failed = questions().into_iter().find(|q| q["question_id"] == failing.as_str()).unwrap();
    let absent = if failed["type"] == "caption" { "BEH" } else { "OEMU" };
    for column in JUDGED.iter().filter(|column| column.contains(absent)) {
        // The other camera's columns may stand; those that the answer counts in do not.
        let stands = submission["scores"].get(column);
        assert!(stands.is_none_or(|cell| cell["value"] == 4.0), "{column}: {stands:?}");
    }
    let absent_columns = JUDGED.iter().filter(|column| submission["scores"].get(column).is_none()).count();
    assert_eq!(absent_columns, if absent == "BEH" { 3 } else { 1 });
    assert!(submission["scores"].get("MCQ").is_some());
    assert_eq!(submission["progress"]["failed"], 1);
    assert_eq!(secchi.entries("/api/v1/leaderboard").await, json!([]));

    let id = submission["id"].as_str().unwrap();
    let path = format!("/api/v1/admin/submissions/{id}/retry");
    let refused = secchi.request(Method::POST, &path, Some(&team.key)).send().await.unwrap();
    assert_eq!(refused.status(), 403);
    mended.store(1, Ordering::SeqCst);
    let asked = judge.asked().len();
    let retried = secchi.request(Method::POST, &path, Some(&maintainer.key)).send().await.unwrap();
    assert_eq!(retried.status(), 202);
    secchi.drain().await;
    assert_eq!(judge.asked()[asked..], [failing]);
    let submission = view(&secchi, &team, id).await;
    assert_eq!(submission["state"], "scored");
    assert_eq!(
        (&submission["progress"]["failed"], &submission["progress"]["judged"]),
        (&json!(0), &json!(48))
    );
    assert!(JUDGED.iter().all(|column| submission["scores"][column]["value"] == 4.0), "{submission}");
    assert_eq!(secchi.entries("/api/v1/leaderboard").await.as_array().unwrap().len(), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_judge_out_of_reach_is_a_pause_that_ends_by_itself() {
    let reachable = Arc::new(AtomicUsize::new(0));
    let (judge, options) = judged_by({
        let reachable = reachable.clone();
        move |_| match reachable.load(Ordering::SeqCst) {
            0 => Err(circuit_open()),
            _ => Ok(ScriptedJudge::verdict([1, 2, 3])),
        }
    });
    let (secchi, team) = Secchi::with_sample(options).await;
    let paused = secchi.scored(&team, &metadata("Reef-8B"), "strong_model.jsonl").await;
    assert_eq!((&paused["state"], &paused["paused_for"]), (&json!("judging"), &json!("judge_unavailable")));
    assert!(paused["scores"]["MBC-so"]["value"].is_number() && !has_judged_columns(&paused), "{paused}");
    assert_eq!(paused["progress"]["failed"], 0);

    // Until the pause is over nobody asks again.
    let asked = judge.asked().len();
    reachable.store(1, Ordering::SeqCst);
    secchi.drain().await;
    assert_eq!(judge.asked().len(), asked);
    secchi.clock.advance_ms(PAUSE_MS);
    secchi.drain().await;
    let scored = view(&secchi, &team, paused["id"].as_str().unwrap()).await;
    assert_eq!((&scored["state"], &scored["paused_for"]), (&json!("scored"), &Value::Null));
}

#[tokio::test(flavor = "multi_thread")]
async fn an_answer_that_always_fails_while_others_succeed_is_its_own_failure_and_no_outage() {
    let failing = open_ended()[0].clone();
    let (judge, options) = judged_by({
        let failing = failing.clone();
        move |item| {
            if item.question_id == failing {
                Err(unavailable())
            } else {
                Ok(ScriptedJudge::verdict([5, 5, 5]))
            }
        }
    });
    let (secchi, team) = Secchi::with_sample(options).await;
    let submission = secchi.scored(&team, &metadata("Reef-8B"), "strong_model.jsonl").await;
    assert_eq!((&submission["state"], &submission["progress"]["failed"]), (&json!("incomplete"), &json!(1)));
    assert_eq!(submission["progress"]["judged"], 47);
    let others: HashSet<String> = judge.asked().into_iter().filter(|id| *id != failing).collect();
    assert_eq!(others.len(), 47);
}

#[tokio::test(flavor = "multi_thread")]
async fn answers_that_failed_in_a_short_outage_are_asked_again_and_fail_nobody() {
    // Three answers in a row get no score, then the judge is back.
    let calls = AtomicUsize::new(0);
    let (_, options) = judged_by(move |_| match calls.fetch_add(1, Ordering::SeqCst) {
        4..7 => Err(unavailable()),
        _ => Ok(ScriptedJudge::verdict([2, 2, 2])),
    });
    let (secchi, team) = Secchi::with_sample(options).await;
    let submission = secchi.scored(&team, &metadata("Reef-8B"), "strong_model.jsonl").await;
    assert_eq!((&submission["state"], &submission["progress"]["failed"]), (&json!("scored"), &json!(0)));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_missing_answer_and_one_without_a_letter_score_0_without_a_call() {
    let (judge, options) = judged_by(|_| Ok(ScriptedJudge::verdict([5, 5, 5])));
    let (secchi, team) = Secchi::with_sample(options).await;
    let ids = open_ended();
    let (missing, wordless) = (&ids[0], &ids[1]);
    let mut lines = Vec::new();
    for question in questions() {
        let id = question["question_id"].as_str().unwrap();
        let answer = if id == wordless { "  ?! 123 \u{200b}🐟" } else { "A grouper swims along." };
        if id != missing {
            lines.push(json!({"question_id": id, "answer": answer}).to_string());
        }
    }
    let response = secchi.submit(&team, &metadata("Reef-8B"), lines.join("\n").into_bytes()).await;
    assert_eq!(response.status(), 202);
    let id = response.json::<Value>().await.unwrap()["id"].as_str().unwrap().to_owned();
    secchi.drain().await;
    let submission = view(&secchi, &team, &id).await;
    assert_eq!(submission["state"], "scored");
    assert_eq!(judge.asked().len(), ids.len() - 2);
    assert!(!judge.asked().contains(missing) && !judge.asked().contains(wordless));
    let with_zero = JUDGED.iter().filter(|column| submission["scores"][column]["value"] != 5.0).count();
    assert!(with_zero > 0, "{submission}");
}

#[tokio::test(flavor = "multi_thread")]
async fn the_same_answers_again_or_by_another_team_make_no_new_call() {
    let (judge, options) = judged_by(|_| Ok(ScriptedJudge::verdict([3, 3, 3])));
    let (secchi, team) = Secchi::with_sample(options).await;
    let other = secchi.team("other-lab").await;
    let first = secchi.scored(&team, &metadata("Reef-8B"), "strong_model.jsonl").await;
    assert_eq!(judge.asked().len(), 48);
    for (team, name) in [(&team, "Reef-9B"), (&other, "Their-8B")] {
        let again = secchi.scored(team, &metadata(name), "strong_model.jsonl").await;
        assert_eq!((&again["state"], &again["scores"]), (&json!("scored"), &first["scores"]));
        assert_eq!(again["progress"]["reused"], 48);
    }
    assert_eq!(judge.asked().len(), 48);
}

#[tokio::test(flavor = "multi_thread")]
async fn the_same_answers_sent_by_two_teams_at_once_are_judged_once() {
    let judge = StandIn::start(20).await;
    let options = Options { judge: judge.flags(8), with_worker: true, ..Options::default() };
    let (secchi, team) = Secchi::with_sample(options).await;
    let other = secchi.team("other-lab").await;
    let meta = (metadata("Reef-8B"), metadata("Their-8B"));
    let (one, two) = tokio::join!(
        secchi.accepted(&team, &meta.0, "strong_model.jsonl"),
        secchi.accepted(&other, &meta.1, "strong_model.jsonl"),
    );
    let mut scores = Vec::new();
    for (team, id) in [(&team, &one), (&other, &two)] {
        crate::process::until("judging", async || view(&secchi, team, id).await["state"] == "scored").await;
        scores.push(view(&secchi, team, id).await["scores"].clone());
    }
    assert_eq!(scores[0], scores[1]);
    assert_eq!((judge.calls(), judge.repeated()), (48, 0));
    secchi.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn settings_that_differ_from_the_current_configuration_change_nothing() {
    let judge = StandIn::start(0).await;
    let with_judge = || Options { judge: judge.flags(4), ..Options::default() };
    let (secchi, team) = Secchi::with_sample(with_judge()).await;
    let first = secchi.scored(&team, &metadata("Reef-8B"), "strong_model.jsonl").await;
    assert_eq!(first["judge"]["model"], "stand-in");
    let calls = judge.calls();

    let mut other_model = judge.flags(4);
    other_model[3] = "another".into();
    let secchi = Secchi::on(secchi.stop().await, Options { judge: other_model, ..Options::default() }).await;
    let second = secchi.scored(&team, &metadata("Reef-9B"), "strong_model.jsonl").await;
    assert_eq!((&second["judge"], &second["scores"]), (&first["judge"], &first["scores"]));
    assert_eq!(judge.calls(), calls);

    // Without an endpoint nothing can be asked: it waits, and is not scored by another judge.
    let secchi = Secchi::on(secchi.stop().await, Options::default()).await;
    let paused = secchi.scored(&team, &metadata("Other-8B"), "weak_model.jsonl").await;
    assert_eq!((&paused["state"], &paused["paused_for"]), (&json!("judging"), &json!("judge_unavailable")));
    assert_eq!(paused["judge"], first["judge"]);

    let secchi = Secchi::on(secchi.stop().await, with_judge()).await;
    secchi.clock.advance_ms(PAUSE_MS);
    secchi.drain().await;
    let scored = view(&secchi, &team, paused["id"].as_str().unwrap()).await;
    assert_eq!((&scored["state"], &scored["judge"]), (&json!("scored"), &first["judge"]));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_small_submission_is_not_behind_large_ones() {
    const VIDEOS: usize = 150;
    let order = Arc::new(Mutex::new(Vec::new()));
    let clock: Arc<OnceLock<Clock>> = Arc::default();
    let (_, options) = judged_by({
        let (order, clock) = (order.clone(), clock.clone());
        move |item| {
            // Calls take time, and the queue goes by it.
            clock.get().unwrap().advance_ms(1);
            order.lock().unwrap().push(item.answer.to_owned());
            Ok(ScriptedJudge::verdict([1, 1, 1]))
        }
    });
    let secchi = Secchi::with(options).await;
    clock.set(secchi.clock.clone()).unwrap();
    let (release, ids) = large_release(VIDEOS);
    secchi.import_as("large", secchi::domain::question::Split::Test, release.as_bytes()).await;
    let team = secchi.team("ocean-lab").await;
    let file = |answer: &str, count: usize| {
        let line = |id: &String| json!({"question_id": id, "answer": answer}).to_string() + "\n";
        ids.iter().take(count).map(line).collect::<String>().into_bytes()
    };
    for (answer, count) in [("large one", ids.len()), ("large two", ids.len()), ("small", 3)] {
        assert_eq!(secchi.submit(&team, &metadata(answer), file(answer, count)).await.status(), 202);
    }
    secchi.drain().await;
    let order = order.lock().unwrap();
    assert_eq!(order.len(), 2 * ids.len() + 3);
    let small = order.iter().rposition(|answer| answer == "small").unwrap();
    assert!(small < ids.len() + ids.len() / 2 + 3, "the small one ended at call {small} of {}", order.len());
}

/// A release with two open-ended questions a video, made of those of the sample; with their ids.
fn large_release(videos: usize) -> (String, Vec<String>) {
    let sample = questions();
    let (mut lines, mut ids) = (String::new(), Vec::new());
    for copy in 0..videos.div_ceil(24) {
        for question in sample.iter().filter(|question| question["question_format"] == "open_ended") {
            let mut question = question.clone();
            for field in ["question_id", "id", "video_id", "video_file", "video_path"] {
                let text = question[field].as_str().unwrap().to_owned();
                let video = question["video_id"].as_str().unwrap().to_owned();
                // The stem stands in each of them; `video_id` itself is changed last.
                if field != "video_id" {
                    question[field] = json!(text.replace(&video, &format!("{video}x{copy}")));
                }
            }
            let video = question["video_id"].as_str().unwrap().to_owned();
            question["video_id"] = json!(format!("{video}x{copy}"));
            ids.push(question["question_id"].as_str().unwrap().to_owned());
            lines.push_str(&(question.to_string() + "\n"));
        }
    }
    (lines, ids)
}

#[test]
fn the_sample_has_both_rubrics() {
    let types: HashSet<String> = questions().iter().map(|q| q["type"].as_str().unwrap().to_owned()).collect();
    let rubrics = ["camera_object_open_ended", "caption"];
    assert!(rubrics.iter().all(|rubric| types.contains(*rubric)) && Rubric::ALL.len() == rubrics.len());
}
