//! Answers that the judge fails at, and what a maintainer decides about them.

use std::sync::{Arc, Mutex};

use diesel::connection::SimpleConnection as _;
use diesel::{
    Connection as _, PgConnection, QueryableByName, RunQueryDsl as _, SqliteConnection, sql_query, sql_types,
};
use reqwest::{Method, Response};
use serde_json::{Value, json};

use secchi::judge::{Failure, ItemReason, ScriptedJudge};

use crate::operations::answers;
use crate::staging::{AT_ONCE, judge_command, list};
use crate::stand_in::StandIn;
use crate::support::{Ground, Options, Secchi, TestTeam, entries, metadata, problem, sample_bytes};

const REASON: &str = "The judge takes the ray for a weapon.";

/// A server whose judge refuses whatever answers to the questions in the list, and gives all others three points.
pub async fn refusing(questions: Vec<String>) -> (Secchi, Arc<ScriptedJudge>, Arc<Mutex<Vec<String>>>) {
    let refused = Arc::new(Mutex::new(questions));
    let judge = Arc::new(ScriptedJudge::new({
        let refused = refused.clone();
        move |item| match refused.lock().unwrap().iter().any(|id| id == item.question_id) {
            true => Err(Failure::Item { reason: ItemReason::Refusal, detail: "two tries".into() }),
            false => Ok(ScriptedJudge::verdict([3, 3, 3])),
        }
    }));
    let secchi =
        Secchi::with_sample(Options { given_judge: Some(judge.clone()), ..Options::default() }).await.0;
    (secchi, judge, refused)
}

/// The ids of the sample's captions.
pub fn captions() -> Vec<String> {
    let text = String::from_utf8(sample_bytes("test.jsonl")).unwrap();
    let questions = text.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    questions
        .filter(|question| question["type"] == "caption")
        .map(|question| text_of(&question["question_id"]))
        .collect()
}

fn text_of(value: &Value) -> String {
    value.as_str().unwrap_or_else(|| panic!("{value}")).to_owned()
}

/// The file that all teams here submit.
pub fn file() -> Vec<u8> {
    answers("test.jsonl", |record| match record["answer"].as_str() {
        Some(letter) if !letter.is_empty() => letter.to_owned(),
        _ => format!("A ray glides past in {}.", text_of(&record["question_id"])),
    })
}

/// Submits [`file`] and waits until it has ended; gives the submission.
pub async fn scored(secchi: &Secchi, team: &TestTeam) -> Value {
    let response = secchi.submit(team, &metadata("Reef-8B"), file()).await;
    assert_eq!(response.status(), 202);
    let id = text_of(&response.json::<Value>().await.unwrap()["id"]);
    secchi.drain().await;
    view(secchi, team, &id).await
}

async fn view(secchi: &Secchi, team: &TestTeam, id: &str) -> Value {
    secchi.get_json(&format!("/api/v1/submissions/{id}"), Some(&team.key)).await
}

/// A decision on the answer to a question.
pub fn decision(question_id: &str, scores: [u8; 3]) -> Value {
    json!({
        "question_id": question_id, "reason": REASON,
        "criteria": {
            "subject_correspondence": scores[0], "temporal_description": scores[1],
            "hallucination_detection": scores[2],
        },
    })
}

/// Has a maintainer decide an answer.
pub async fn decide(secchi: &Secchi, maintainer: &TestTeam, id: &str, decision: &Value) -> Response {
    let path = format!("/api/v1/admin/submissions/{id}/decisions");
    secchi.request(Method::POST, &path, Some(&maintainer.key)).json(decision).send().await.unwrap()
}

async fn failures(secchi: &Secchi, maintainer: &TestTeam, id: &str) -> Vec<Value> {
    let path = format!("/api/v1/admin/submissions/{id}/failures");
    secchi.get_json(&path, Some(&maintainer.key)).await["items"].as_array().unwrap().clone()
}

/// A line of the audit log.
#[derive(Debug, QueryableByName)]
struct AuditLine {
    #[diesel(sql_type = sql_types::Text)]
    actor: String,
    #[diesel(sql_type = sql_types::Text)]
    before: String,
    #[diesel(sql_type = sql_types::Text)]
    after: String,
}

/// What was decided about a submission, as the audit log has it.
fn audited(ground: &Ground, id: &str) -> Vec<AuditLine> {
    let lines = sql_query(format!(
        "SELECT actor, before, after FROM audit_log WHERE action = 'decide_answer' AND subject = '{id}' ORDER BY id"
    ));
    match ground.database_url.strip_prefix("sqlite://") {
        Some(path) => lines.load(&mut SqliteConnection::establish(path).unwrap()),
        None => lines.load(&mut PgConnection::establish(&ground.database_url).unwrap()),
    }
    .unwrap()
}

/// Changes a ground's database behind its servers' back.
pub fn execute(ground: &Ground, statement: &str) {
    match ground.database_url.strip_prefix("sqlite://") {
        Some(path) => SqliteConnection::establish(path)
            .unwrap()
            .batch_execute(&format!("PRAGMA busy_timeout = 10000; {statement}")),
        None => PgConnection::establish(&ground.database_url).unwrap().batch_execute(statement),
    }
    .unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_decided_answer_completes_its_submission_and_the_entry_says_so() {
    let failing = captions()[2].clone();
    let (secchi, judge, _) = refusing(vec![failing.clone()]).await;
    let (team, maintainer) = (secchi.team("reef-lab").await, secchi.maintainer("harbour").await);
    let submission = scored(&secchi, &team).await;
    let id = text_of(&submission["id"]);
    assert_eq!((&submission["state"], &submission["decided_by_hand"]), (&json!("incomplete"), &json!(0)));

    let listed = failures(&secchi, &maintainer, &id).await;
    assert_eq!(listed.len(), 1);
    let expected = json!({
        "question_id": failing, "type": "caption", "configuration": submission["judge"]["configuration"],
        "reason": "refused", "detail": "two tries", "calls": listed[0]["calls"],
        "first_failed_at": listed[0]["first_failed_at"], "last_failed_at": listed[0]["last_failed_at"],
        "answer": format!("A ray glides past in {failing}."), "decided": null,
    });
    assert_eq!(listed[0], expected);
    assert!(listed[0]["calls"].as_u64() > Some(0) && listed[0]["first_failed_at"].is_string());

    let decided = decide(&secchi, &maintainer, &id, &decision(&failing, [5, 0, 1])).await;
    assert_eq!(decided.status(), 200);
    let decided: Value = decided.json().await.unwrap();
    assert_eq!((&decided["state"], &decided["decided_by_hand"]), (&json!("scored"), &json!(1)));
    assert_eq!((&decided["progress"]["failed"], &decided["progress"]["judged"]), (&json!(0), &json!(48)));
    // Of the captions of that camera, all others have three points.
    let (beh, ah, ecf) = ["static", "moving"]
        .map(|camera| ["BEH", "AH", "ECF"].map(|name| &decided["scores"][format!("{camera}/{name}")]))
        .into_iter()
        .find(|columns| columns[0]["value"] != 3.0)
        .map(|columns| (columns[0].clone(), columns[1].clone(), columns[2].clone()))
        .unwrap();
    let total = |cell: &Value| cell["value"].as_f64().unwrap() * cell["n"].as_f64().unwrap();
    let of_others = (beh["n"].as_f64().unwrap() - 1.0) * 3.0;
    for (cell, score) in [(&beh, 5.0), (&ah, 0.0), (&ecf, 1.0)] {
        assert!((total(cell) - of_others - score).abs() < 1e-9, "{cell}");
    }
    let board = secchi.get_json("/api/v1/leaderboard", None).await;
    assert_eq!((&entries(&board)[0]["entry"], &entries(&board)[0]["rank"]), (&json!(id), &json!(1)));
    let entry = secchi.get_json(&format!("/api/v1/entries/{id}"), None).await;
    let by_hand =
        json!([{ "question_id": failing, "reason": REASON, "decided_at": "2026-11-30T12:00:00.000Z" }]);
    assert_eq!(entry["decided_by_hand"], by_hand);
    assert!(!entry.to_string().contains("harbour"), "{entry}");

    // The same again changes nothing; anything else is refused.
    assert_eq!(decide(&secchi, &maintainer, &id, &decision(&failing, [5, 0, 1])).await.status(), 200);
    let other = problem(decide(&secchi, &maintainer, &id, &decision(&failing, [5, 5, 5])).await, 409).await;
    assert_eq!(other["code"], "not_failed");
    let lines = audited(&secchi.ground, &id);
    assert_eq!(lines.len(), 1, "{lines:?}");
    let AuditLine { actor, before, after } = &lines[0];
    assert_eq!(actor, "harbour");
    let configuration = &decided["judge"]["configuration"];
    let what = |what: Value| {
        let mut what = what;
        what["configuration"] = configuration.clone();
        what["question_id"] = json!(failing);
        what
    };
    assert_eq!(before.parse::<Value>().unwrap(), what(json!({ "failed": "refused" })));
    assert_eq!(after.parse::<Value>().unwrap(), what(json!({ "scores": [5, 0, 1], "reason": REASON })));

    // Another team's same answers: nobody is asked, and the entry says what it stands on.
    let asked = judge.asked().len();
    let other_team = secchi.team("ocean-lab-2").await;
    let same = scored(&secchi, &other_team).await;
    assert_eq!((&same["state"], &same["scores"]), (&json!("scored"), &decided["scores"]));
    assert_eq!((judge.asked().len(), &same["decided_by_hand"]), (asked, &json!(1)));
    let entry = secchi.get_json(&format!("/api/v1/entries/{}", text_of(&same["id"])), None).await;
    assert_eq!(entry["decided_by_hand"], by_hand);
    let listed = failures(&secchi, &maintainer, &text_of(&same["id"])).await;
    let criteria = decision(&failing, [5, 0, 1])["criteria"].clone();
    let by =
        json!({ "criteria": criteria, "reason": REASON, "by": "harbour", "at": "2026-11-30T12:00:00.000Z" });
    assert_eq!((&listed[0]["decided"], &listed[0]["calls"]), (&by, &json!(0)));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_submission_stays_incomplete_until_its_last_failed_answer_is_decided() {
    let failing = captions()[..2].to_vec();
    let (secchi, ..) = refusing(failing.clone()).await;
    let (team, maintainer) = (secchi.team("reef-lab").await, secchi.maintainer("harbour").await);
    let id = text_of(&scored(&secchi, &team).await["id"]);
    // As a version left it that noted no failures.
    execute(&secchi.ground, "DELETE FROM judge_failures");
    let listed = failures(&secchi, &maintainer, &id).await;
    assert_eq!(listed.iter().map(|item| text_of(&item["question_id"])).collect::<Vec<_>>(), failing);
    assert_eq!((&listed[0]["reason"], &listed[0]["first_failed_at"]), (&json!("refused"), &Value::Null));

    let first = decide(&secchi, &maintainer, &id, &decision(&failing[0], [2, 2, 2])).await;
    let first: Value = first.json().await.unwrap();
    assert_eq!((&first["state"], &first["progress"]["failed"]), (&json!("incomplete"), &json!(1)));
    assert_eq!(first["decided_by_hand"], 1);
    assert_eq!(secchi.entries("/api/v1/leaderboard").await, json!([]));
    let path = format!("/api/v1/admin/submissions/{id}/failures?limit=1");
    let page = secchi.get_json(&path, Some(&maintainer.key)).await;
    assert_eq!((page["items"].as_array().unwrap().len(), &page["next_cursor"]), (1, &json!("1")));
    let rest = secchi.get_json(&format!("{path}&cursor=1"), Some(&maintainer.key)).await;
    assert_eq!((&rest["items"][0]["decided"], &rest["next_cursor"]), (&Value::Null, &Value::Null));
    let second = decide(&secchi, &maintainer, &id, &decision(&failing[1], [2, 2, 2])).await;
    let second: Value = second.json().await.unwrap();
    assert_eq!((&second["state"], &second["decided_by_hand"]), (&json!("scored"), &json!(2)));
    assert_eq!(audited(&secchi.ground, &id).len(), 2);
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_no_decision_on_a_failed_answer_is_refused_and_changes_nothing() {
    let failing = captions()[0].clone();
    let (secchi, ..) = refusing(vec![failing.clone()]).await;
    let (team, maintainer) = (secchi.team("reef-lab").await, secchi.maintainer("harbour").await);
    let before = scored(&secchi, &team).await;
    let id = text_of(&before["id"]);
    let with = |pointer: &str, value: Value| {
        let mut changed = decision(&failing, [1, 2, 3]);
        *changed.pointer_mut(pointer).unwrap() = value;
        changed
    };
    let without = |field: &str| {
        let mut changed = decision(&failing, [1, 2, 3]);
        changed["criteria"].as_object_mut().unwrap().remove(field);
        changed
    };
    let mut surplus = decision(&failing, [1, 2, 3]);
    surplus["criteria"]["object_activity"] = json!(5);
    let mut unknown = decision(&failing, [1, 2, 3]);
    unknown["by"] = json!("me");
    let mut elsewhere = decision(&failing, [1, 2, 3]);
    elsewhere["configuration"] = json!("0123456789abcdef");
    let multiple_choice = failing.replace(failing.rsplit_once("--q").unwrap().1, "1");
    let faulty = [
        (with("/question_id", json!("MVK--nothing--q1")), "/question_id"),
        (with("/question_id", json!("a\u{0}b")), "/question_id"),
        (with("/question_id", json!(multiple_choice)), "/question_id"),
        (with("/criteria/subject_correspondence", json!(6)), "/criteria/subject_correspondence"),
        (without("temporal_description"), "/criteria/temporal_description"),
        (surplus, "/criteria"),
        (with("/reason", json!("  ")), "/reason"),
        (with("/reason", json!("x".repeat(501))), "/reason"),
        (with("/reason", json!("a\u{0}b")), "/reason"),
        (elsewhere, "/configuration"),
    ];
    for (sent, pointer) in faulty {
        let refused = problem(decide(&secchi, &maintainer, &id, &sent).await, 422).await;
        assert_eq!(
            (&refused["code"], &refused["errors"][0]["pointer"]),
            (&json!("invalid_decision"), &json!(pointer)),
            "{sent}"
        );
    }
    for score in [json!(-1), json!(2.5), json!("3"), json!(true), Value::Null, json!(256)] {
        let sent = with("/criteria/subject_correspondence", score);
        assert_eq!(
            problem(decide(&secchi, &maintainer, &id, &sent).await, 422).await["code"],
            "invalid_body"
        );
    }
    for sent in [unknown, json!({}), json!([])] {
        assert_eq!(
            problem(decide(&secchi, &maintainer, &id, &sent).await, 422).await["code"],
            "invalid_body"
        );
    }
    let judged = decide(&secchi, &maintainer, &id, &decision(&captions()[1], [1, 2, 3])).await;
    assert_eq!(problem(judged, 409).await["code"], "not_failed");
    let nowhere = uuid::Uuid::now_v7().to_string();
    problem(decide(&secchi, &maintainer, &nowhere, &decision(&failing, [1, 2, 3])).await, 404).await;
    problem(decide(&secchi, &team, &id, &decision(&failing, [1, 2, 3])).await, 403).await;
    assert_eq!(view(&secchi, &team, &id).await, before);

    // Neither one that waits nor one that has its scores can be decided.
    let queued = secchi.accepted(&team, &metadata("Reef-9B"), "random.jsonl").await;
    let early = decide(&secchi, &maintainer, &queued, &decision(&failing, [1, 2, 3])).await;
    assert_eq!(problem(early, 409).await["code"], "wrong_state");
    assert_eq!(failures(&secchi, &maintainer, &queued).await, Vec::<Value>::new());
    assert!(audited(&secchi.ground, &id).is_empty());
}

#[tokio::test(flavor = "multi_thread")]
async fn two_submissions_with_the_same_failed_answer_get_one_decision() {
    let failing = captions()[0].clone();
    let (secchi, judge, refused) = refusing(vec![failing.clone()]).await;
    let (team, other) = (secchi.team("reef-lab").await, secchi.team("tide-lab").await);
    let maintainer = secchi.maintainer("harbour").await;
    let (first, second) = (scored(&secchi, &team).await, scored(&secchi, &other).await);
    let (first, second) = (text_of(&first["id"]), text_of(&second["id"]));
    assert_eq!(decide(&secchi, &maintainer, &first, &decision(&failing, [4, 4, 4])).await.status(), 200);

    let otherwise = decide(&secchi, &maintainer, &second, &decision(&failing, [1, 1, 1])).await;
    let otherwise = problem(otherwise, 409).await;
    assert_eq!(otherwise["code"], "already_judged");
    assert!(text_of(&otherwise["detail"]).contains("[4, 4, 4]"), "{otherwise}");
    let asked = judge.asked().len();
    let retry = format!("/api/v1/admin/submissions/{second}/retry");
    let retried = secchi.request(Method::POST, &retry, Some(&maintainer.key)).send().await.unwrap();
    assert_eq!(retried.status(), 202);
    secchi.drain().await;
    let taken_over = view(&secchi, &other, &second).await;
    assert_eq!((&taken_over["state"], &taken_over["decided_by_hand"]), (&json!("scored"), &json!(1)));
    assert_eq!(taken_over["scores"], view(&secchi, &team, &first).await["scores"]);
    assert_eq!(judge.asked().len(), asked);

    // What the judge could score after all is not decided any more.
    let another = captions()[1].clone();
    *refused.lock().unwrap() = vec![another.clone()];
    let odd = answers("test.jsonl", |record| format!("A crab in {}.", text_of(&record["question_id"])));
    let submitted = async |team: &TestTeam| {
        let response = secchi.submit(team, &metadata("Crab-8B"), odd.clone()).await;
        let id = text_of(&response.json::<Value>().await.unwrap()["id"]);
        secchi.drain().await;
        id
    };
    let failed = submitted(&team).await;
    refused.lock().unwrap().clear();
    let same = submitted(&other).await;
    assert_eq!(view(&secchi, &other, &same).await["state"], "scored");
    let late = decide(&secchi, &maintainer, &failed, &decision(&another, [4, 4, 4])).await;
    assert_eq!(problem(late, 409).await["code"], "already_judged");
}

#[tokio::test(flavor = "multi_thread")]
async fn an_answer_that_fails_under_a_staged_judge_is_decided_there() {
    let (secchi, _, refused) = refusing(Vec::new()).await;
    let (team, maintainer) = (secchi.team("reef-lab").await, secchi.maintainer("harbour").await);
    let submission = scored(&secchi, &team).await;
    let id = text_of(&submission["id"]);
    let failing = captions()[0].clone();
    refused.lock().unwrap().push(failing.clone());
    let flags = StandIn::start(0).await.flags_of("b", AT_ONCE);
    judge_command(&secchi.ground, &["stage"], &flags).stdout();
    secchi.drain().await;
    assert_eq!(judge_command(&secchi.ground, &["activate"], &[]).code, Some(1));
    let said = judge_command(&secchi.ground, &["stage", "--json"], &flags).stdout();
    let said: Value = serde_json::from_str(&said).unwrap();
    let named =
        json!([{ "entry": id, "team": "reef-lab", "model_name": submission["model_name"], "failed": 1 }]);
    assert_eq!(said["incomplete_entries"], named);
    let staged = list(&secchi.ground).into_iter().find(|known| known["state"] == "staged").unwrap();
    let configuration = text_of(&staged["id"]);

    let unnamed = decide(&secchi, &maintainer, &id, &decision(&failing, [0, 0, 0])).await;
    problem(unnamed, 409).await;
    let path = format!("/api/v1/admin/submissions/{id}/failures");
    let of_staged =
        secchi.get_json(&format!("{path}?configuration={configuration}"), Some(&maintainer.key)).await;
    assert_eq!(of_staged["items"][0]["question_id"], failing);
    let nowhere = secchi.get(&format!("{path}?configuration=nowhere"), Some(&maintainer.key)).await;
    problem(nowhere, 404).await;
    let mut named = decision(&failing, [0, 0, 0]);
    named["configuration"] = json!(configuration);
    let decided = decide(&secchi, &maintainer, &id, &named).await;
    assert_eq!(decided.status(), 200);
    // Its own scores stay until the staged judge is the current one.
    assert_eq!(decided.json::<Value>().await.unwrap()["scores"], submission["scores"]);
    judge_command(&secchi.ground, &["activate"], &[]).stdout();
    let entry = secchi.get_json(&format!("/api/v1/entries/{id}"), None).await;
    assert_eq!(entry["judge"]["configuration"], configuration.as_str());
    assert_eq!(entry["decided_by_hand"][0]["question_id"], failing);
    assert_ne!(entry["scores"], submission["scores"]);
}
