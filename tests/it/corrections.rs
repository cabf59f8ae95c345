//! From a release with wrong keys to the corrected one and back: looked at, scored in the background, applied in one step.

use std::collections::BTreeSet;

use diesel::prelude::*;
use diesel::sql_types::Text;
use diesel::{PgConnection, SqliteConnection, sql_query};
use serde_json::{Value, json};

use secchi::domain::actor::Actor;
use secchi::domain::question::Split;
use secchi::evaluation::activating::make_active;

use crate::program::{Ended, run, run_on, secchi as program};
use crate::record::{KEYS, bytes, record_of};
use crate::staging::{BOARD, ENTRIES, board, board_of, judged_by, rows};
use crate::stand_in::StandIn;
use crate::support::{Ground, Secchi, metadata, problem, sample_bytes};

/// The corrected release.
pub const CORRECTED: &str = "corrected";

/// What readers are told of it.
pub const NOTICE: &str = "Two keys of MVK were wrong.";

/// The questions that [`corrected`] changes, with what is different about them.
pub const CHANGED: [(&str, &str); 4] = [
    ("MVK--reef_dive_0007--q1", "key"),
    ("MVK--reef_dive_0007--q2", "key"),
    ("MVK--reef_dive_0007--q6", "reference"),
    ("MVK--night_0001--q5", "evidence"),
];

/// The sample's test release after `change` to each record; one for which it gives false is left out.
pub fn changed(change: impl Fn(&mut Value) -> bool) -> Vec<u8> {
    let text = String::from_utf8(sample_bytes("test.jsonl")).unwrap();
    let mut lines = String::new();
    for line in text.lines() {
        let mut record: Value = serde_json::from_str(line).unwrap();
        if change(&mut record) {
            lines.push_str(&format!("{record}\n"));
        }
    }
    lines.into_bytes()
}

/// The sample's test release with two other letters, another reference and other evidence.
pub fn corrected() -> Vec<u8> {
    changed(|record| {
        let id = record["question_id"].as_str().unwrap().to_owned();
        match CHANGED.iter().find(|(changed, _)| *changed == id).map(|(_, what)| *what) {
            Some("key") => {
                let options = record["options"].as_array().unwrap();
                let other =
                    options.iter().find(|option| option["label"] != record["answer"]).unwrap().clone();
                (record["answer"], record["answer_text"]) = (other["label"].clone(), other["text"].clone());
            }
            Some("reference") => record["answer_text"] = "A yellow grouper rests on sand.".into(),
            Some("evidence") => record["evidence_attributes"]["movement_behavior"] = "swaying".into(),
            _ => {}
        }
        true
    })
}

/// Imports a file as the corrected release.
pub async fn import(secchi: &Secchi, file: &[u8]) {
    secchi.import_as(CORRECTED, Split::Test, file).await;
}

/// `secchi dataset …` on a ground, for the test split.
pub fn dataset(ground: &Ground, arguments: &[&str]) -> Ended {
    let arguments = [&["dataset"], arguments, &["--split", "test"]].concat();
    tokio::task::block_in_place(|| run_on(ground, &arguments))
}

/// `secchi dataset correct` for the corrected release, as JSON.
pub fn correct(ground: &Ground, arguments: &[&str]) -> Value {
    let arguments = [&["correct", CORRECTED, "--json"], arguments].concat();
    dataset(ground, &arguments).json()["correction"].clone()
}

/// `secchi dataset activate` for a release.
pub fn activate(ground: &Ground, release: &str) -> Ended {
    dataset(ground, &["activate", release])
}

#[derive(QueryableByName)]
struct Act {
    #[diesel(sql_type = Text)]
    action: String,
}

/// What the audit log holds of releases, in order.
fn acts(ground: &Ground) -> Vec<String> {
    let asked = sql_query(
        "SELECT action FROM audit_log WHERE subject IN ('test/corrected', 'test/sample') ORDER BY id",
    );
    let acts: Vec<Act> = match ground.database_url.strip_prefix("sqlite://") {
        Some(path) => asked.load(&mut SqliteConnection::establish(path).unwrap()).unwrap(),
        None => asked.load(&mut PgConnection::establish(&ground.database_url).unwrap()).unwrap(),
    };
    acts.into_iter().map(|act| act.action).collect()
}

fn bytes_of_rows(board: &str) -> String {
    board.split_once("\"rows\":").unwrap().1.to_owned()
}

fn scores(board: &str) -> Vec<(String, Value)> {
    let mut scores: Vec<_> =
        rows(board).into_iter().map(|row| (row["model_name"].to_string(), row["scores"].clone())).collect();
    scores.sort_by(|one, other| one.0.cmp(&other.0));
    scores
}

/// The answers that a judge must score to the changed open-ended questions, over all five entries.
pub fn calls_needed() -> usize {
    let files = ENTRIES.map(|(_, file)| file);
    let changed = [CHANGED[2].0, CHANGED[3].0];
    let mut asked = BTreeSet::new();
    for file in files {
        let text = String::from_utf8(sample_bytes(&format!("predictions/{file}"))).unwrap();
        for line in text.lines() {
            let record: Value = serde_json::from_str(line).unwrap();
            let (id, answer) = (record["question_id"].as_str().unwrap(), record["answer"].as_str().unwrap());
            if changed.contains(&id) && answer.contains(char::is_alphabetic) {
                asked.insert((id.to_owned(), answer.split_whitespace().collect::<Vec<_>>().join(" ")));
            }
        }
    }
    asked.len()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_correction_is_looked_at_applied_in_one_step_and_taken_back_without_a_call() {
    let judge = StandIn::start(0).await;
    let (secchi, _) = board_of(&judge, "a").await;
    secchi.drain().await;
    let ground = &secchi.ground;
    let before = board(&secchi, BOARD).await;
    let first = rows(&before.0)[0]["entry"].as_str().unwrap().to_owned();
    let record = bytes(&secchi, &record_of(&first)).await;
    let calls = judge.calls();
    import(&secchi, &corrected()).await;

    let dry = correct(ground, &["--dry-run", "--judge-price-in", "1"]);
    let found: Vec<(&str, &str)> = dry["changes"]["questions"]
        .as_array()
        .unwrap()
        .iter()
        .map(|question| {
            (question["question_id"].as_str().unwrap(), question["differences"][0].as_str().unwrap())
        })
        .collect();
    assert_eq!(BTreeSet::from_iter(found), BTreeSet::from(CHANGED), "{dry}");
    assert_eq!(dry["changes"]["by_column"]["MBC-so"], 1, "{dry}");
    let needed = calls_needed();
    assert!(needed > 4);
    assert_eq!((&dry["cost"]["entries"], &dry["cost"]["calls"]), (&json!(5), &json!(needed)), "{dry}");
    assert!(dry["cost"]["reused"].as_u64().unwrap() > 0 && dry["cost"]["cost_usd"].as_f64().unwrap() > 0.0);
    let moved: Vec<&str> =
        dry["moves"].as_array().unwrap().iter().map(|moved| moved["column"].as_str().unwrap()).collect();
    assert!(moved.contains(&"MBC-so") && moved.contains(&"MCQ") && !moved.contains(&"OEMU"), "{moved:?}");
    assert!(dry["waiting"]["OEMU"].as_u64().unwrap() > 0 && dry["waiting"]["MBC-so"].is_null(), "{dry}");
    assert_eq!((&dry["staged"], &dry["progress"]["pending"]), (&json!(false), &json!(0)), "{dry}");
    assert_eq!(acts(ground), ["import_release", "import_release"], "a dry run stores nothing");

    let staged = dataset(ground, &["correct", CORRECTED, "--notice", NOTICE]).stdout();
    assert!(staged.contains("MVK--reef_dive_0007--q1") && staged.contains("5 pending"), "{staged}");
    let early = activate(ground, CORRECTED);
    assert_eq!(early.code, Some(1));
    assert!(early.stderr.contains("5 of 5 entries") && early.stderr.contains("dataset correct"), "{early:?}");
    let merely_staged = problem(secchi.get(&format!("{BOARD}?release={CORRECTED}"), None).await, 404).await;
    assert!(merely_staged["detail"].as_str().unwrap().contains("`sample`"), "{merely_staged}");
    secchi.drain().await;
    assert_eq!(board(&secchi, BOARD).await, before, "scoring under another release is not to be seen");
    assert_eq!((judge.calls(), judge.repeated()), (calls + needed, 0), "only changed questions are judged");
    problem(secchi.get(&format!("{BOARD}?release={CORRECTED}"), None).await, 404).await;

    let progress = correct(ground, &[]);
    assert_eq!((&progress["progress"]["complete"], &progress["waiting"]), (&json!(5), &json!({})));
    assert_eq!((&progress["cost"]["calls"], &progress["notice"]), (&json!(0), &json!(NOTICE)));
    activate(ground, CORRECTED).stdout();
    let after = board(&secchi, BOARD).await;
    assert_applied(&secchi, (&before.0, &after.0), &first).await;
    assert_moves(progress["moves"].as_array().unwrap(), &secchi).await;
    let (undisturbed, team) = judged_by(&StandIn::start(0).await, "a").await;
    import(&undisturbed, &corrected()).await;
    make_active(
        &undisturbed.running.evaluation.store,
        &Actor::command_line(),
        Split::Test,
        CORRECTED.into(),
        undisturbed.clock.now_ms(),
    )
    .await
    .unwrap();
    for row in rows(&after.0) {
        let name = row["model_name"].as_str().unwrap();
        let (_, file) = ENTRIES.into_iter().find(|(entry, _)| *entry == name).unwrap();
        let anew = undisturbed.scored(&team, &metadata(name), file).await;
        assert_eq!(row["scores"], anew["scores"], "{name} as if it had been sent for the corrected release");
    }
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("record.json"), &record).unwrap();
    std::fs::write(folder.path().join("keys.json"), bytes(&secchi, KEYS).await).unwrap();
    let verified = run(&mut program(folder.path(), &["verify", "record.json", "--keys", "keys.json"]));
    assert!(verified.stdout().contains("The signature holds"));

    activate(ground, "sample").stdout();
    assert_eq!(board(&secchi, BOARD).await, before, "the same bytes, the same tag");
    assert_eq!(bytes(&secchi, &record_of(&first)).await, record);
    activate(ground, CORRECTED).stdout();
    assert_eq!(scores(&board(&secchi, BOARD).await.0), scores(&after.0));
    assert_eq!(judge.calls(), calls + needed, "neither way takes a call");
    let acts = acts(ground);
    let expected = ["stage_correction", "activate_release", "activate_release", "activate_release"];
    assert_eq!(acts[2..], expected, "{acts:?}");
}

/// Asserts what readers see of a correction: the notice, the entry's history, and the board before.
async fn assert_applied(secchi: &Secchi, (before, after): (&str, &str), entry: &str) {
    let told: Value = serde_json::from_str(after).unwrap();
    let correction = &told["correction"];
    assert_eq!((&told["release"], &correction["corrects"]), (&json!(CORRECTED), &json!("sample")));
    assert_eq!(
        (&correction["notice"], &correction["questions"]),
        (&json!(NOTICE), &json!(4)),
        "{correction}"
    );
    assert_ne!(scores(after), scores(before));
    assert!(rows(after).iter().all(|row| row["rank_range"].is_array()), "ranks are there with the scores");
    let past = board(secchi, &format!("{BOARD}?release=sample")).await.0;
    assert_eq!(bytes_of_rows(&past), bytes_of_rows(before), "the old board stays, with its ranks");
    assert_eq!(serde_json::from_str::<Value>(&past).unwrap()["superseded_by"], CORRECTED);
    for row in rows(after) {
        let entry =
            secchi.get_json(&format!("/api/v1/entries/{}", row["entry"].as_str().unwrap()), None).await;
        assert_eq!((&entry["release"], &entry["current"]), (&json!(CORRECTED), &json!(true)));
        assert_eq!(entry["scores"], row["scores"]);
    }
    let page = async |path: &str| secchi.get(path, None).await.text().await.unwrap();
    let text = page("/").await;
    assert!(text.contains("Corrected.") && text.contains(NOTICE), "{text}");
    assert!(text.contains("/?release=sample"), "a way to the board before");
    let text = page("/?release=sample").await;
    assert!(text.contains("An earlier release.") && !text.contains("Corrected."), "{text}");
    let text = page(&format!("/entries/{entry}")).await;
    assert!(text.contains("Under other releases and judges") && text.contains("release=sample"), "{text}");
}

/// Asserts that the moves are the differences between the boards of the two releases.
async fn assert_moves(moves: &[Value], secchi: &Secchi) {
    let columns: Vec<String> = secchi.get_json(BOARD, None).await["columns"]
        .as_array()
        .unwrap()
        .iter()
        .map(|column| column["id"].as_str().unwrap().to_owned())
        .collect();
    let mut expected = BTreeSet::new();
    for column in columns {
        let path = |release: &str| format!("{BOARD}?sort=-{column}&release={release}");
        let (from, to) = (board(secchi, &path("sample")).await.0, board(secchi, &path(CORRECTED)).await.0);
        for row in rows(&to) {
            let old = rows(&from).into_iter().find(|old| old["entry"] == row["entry"]).unwrap();
            let value = |row: &Value| row["scores"][&column]["value"].clone();
            if (&old["rank"], value(&old)) != (&row["rank"], value(&row)) {
                expected.insert(
                    json!([column, row["entry"], [old["rank"], row["rank"]], [value(&old), value(&row)]])
                        .to_string(),
                );
            }
        }
    }
    let found = moves
        .iter()
        .map(|moved| json!([moved["column"], moved["entry"], moved["rank"], moved["value"]]).to_string());
    assert_eq!(found.collect::<BTreeSet<_>>(), expected);
}
