//! From a release with wrong keys to the corrected one and back: looked at, scored in the background, applied in one step.

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicBool, Ordering};

use diesel::prelude::*;
use diesel::sql_types::Text;
use diesel::{PgConnection, SqliteConnection, sql_query};
use reqwest::Method;
use serde_json::{Value, json};

use secchi::domain::actor::Actor;
use secchi::domain::question::Split;
use secchi::evaluation::activating::make_active;

use crate::process::{Process, until};
use crate::program::{Ended, run, run_on, secchi as program};
use crate::record::{KEYS, bytes, record_of};
use crate::staging::{BOARD, ENTRIES, board, board_of, judged_by, rows};
use crate::stand_in::StandIn;
use crate::support::{Ground, Options, Secchi, TestTeam, entries, metadata, problem, sample_bytes};

/// The corrected release.
const CORRECTED: &str = "corrected";

const NOTICE: &str = "Two keys of MVK were wrong.";

/// The questions that [`corrected`] changes, with what is different about them.
const CHANGED: [(&str, &str); 4] = [
    ("MVK--reef_dive_0007--q1", "key"),
    ("MVK--reef_dive_0007--q2", "key"),
    ("MVK--reef_dive_0007--q6", "reference"),
    ("MVK--night_0001--q5", "evidence"),
];

/// The sample's test release after `change` to each record; one for which it gives false is left out.
fn changed(change: impl Fn(&mut Value) -> bool) -> Vec<u8> {
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
fn corrected() -> Vec<u8> {
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

async fn import(secchi: &Secchi, file: &[u8]) {
    secchi.import_as(CORRECTED, Split::Test, file).await;
}

/// `secchi dataset …` on a ground, for the test split.
fn dataset(ground: &Ground, arguments: &[&str]) -> Ended {
    let arguments = [&["dataset"], arguments, &["--split", "test"]].concat();
    tokio::task::block_in_place(|| run_on(ground, &arguments))
}

/// `secchi dataset correct` for the corrected release, as JSON.
fn correct(ground: &Ground, arguments: &[&str]) -> Value {
    let arguments = [&["correct", CORRECTED, "--json"], arguments].concat();
    dataset(ground, &arguments).json()["correction"].clone()
}

fn activate(ground: &Ground, release: &str) -> Ended {
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
fn calls_needed() -> usize {
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

#[tokio::test(flavor = "multi_thread")]
async fn who_reads_the_board_while_a_release_is_corrected_never_sees_rows_of_two() {
    let judge = StandIn::start(0).await;
    let (secchi, _) = board_of(&judge, "a").await;
    import(&secchi, &corrected()).await;
    correct(&secchi.ground, &[]);
    secchi.drain().await;
    let store = &secchi.running.evaluation.store;
    let switch = async |release: &str| {
        let now_ms = secchi.clock.now_ms();
        make_active(store, &Actor::command_line(), Split::Test, release.into(), now_ms).await.unwrap();
    };
    let mut expected = Vec::new();
    for release in [CORRECTED, "sample"] {
        switch(release).await;
        let board = secchi.get_json(BOARD, None).await;
        assert_eq!(board["release"], release);
        expected.push(board);
    }
    let changes = AtomicBool::new(true);
    let read = async || {
        let mut seen = [0, 0];
        while changes.load(Ordering::SeqCst) {
            let board = secchi.get_json(BOARD, None).await;
            let which = usize::from(board["release"] == "sample");
            assert_eq!(entries(&board), entries(&expected[which]));
            assert_eq!(board["correction"].is_null(), which == 1);
            seen[which] += 1;
        }
        seen
    };
    let change = async {
        for _ in 0..10 {
            for release in [CORRECTED, "sample"] {
                switch(release).await;
                // Longer than a board is taken for the present one unasked.
                tokio::time::sleep(std::time::Duration::from_millis(25)).await;
            }
        }
        changes.store(false, Ordering::SeqCst);
    };
    let (one, other, ()) = tokio::join!(read(), read(), change);
    assert!(one[0] + other[0] > 0 && one[1] + other[1] > 0, "{one:?} {other:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_kill_while_a_correction_is_applied_loses_nothing() {
    let judge = StandIn::start(0).await;
    let (secchi, _) = board_of(&judge, "a").await;
    import(&secchi, &corrected()).await;
    let before = board(&secchi, BOARD).await.0;
    let ground = secchi.stop().await;
    let flags = judge.flags_of("a", 2);
    let (calls, needed) = (judge.calls(), calls_needed());
    judge.set_latency_ms(150);
    let mut server = Process::serve(&ground, "127.0.0.1:0", &flags);
    correct(&ground, &[]);
    until("scoring", async || judge.calls() > calls + 2).await;
    server.kill();
    let server = Process::serve(&ground, &server.metrics, &flags);
    let read = async || {
        let response = reqwest::get(format!("{}{BOARD}", server.base)).await.unwrap();
        response.text().await.unwrap()
    };
    assert_eq!(read().await, before);
    let applied = dataset(&ground, &["correct", CORRECTED, "--apply", "--notice", NOTICE, "--json"]).json();
    assert_eq!(
        (&applied["applied"], &applied["correction"]["progress"]["complete"]),
        (&json!(true), &json!(5))
    );
    // Of each submission in hand, the calls that were under way and the replies that were not stored yet.
    assert!(judge.repeated() <= 4 * 2 * 2, "{} calls were repeated", judge.repeated());
    assert_eq!(judge.calls() - judge.repeated(), calls + needed);
    let after: Value = serde_json::from_str(&read().await).unwrap();
    assert_eq!((&after["release"], &after["correction"]["notice"]), (&json!(CORRECTED), &json!(NOTICE)));
}

/// Publishes a submission.
async fn publish(secchi: &Secchi, team: &TestTeam, id: &str) {
    let path = format!("/api/v1/submissions/{id}");
    let request = secchi.request(Method::PATCH, &path, Some(&team.key));
    let response = request.json(&json!({ "visibility": "public" })).send().await.unwrap();
    assert_eq!(response.status(), 200);
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_not_on_the_board_at_the_change_follows_when_it_is_published() {
    let judge = StandIn::start(0).await;
    let (secchi, team) = judged_by(&judge, "a").await;
    secchi.scored(&team, &metadata("Strong"), "strong_model.jsonl").await;
    let private = |name: &str| {
        let mut metadata = metadata(name);
        metadata["visibility"] = "private".into();
        metadata
    };
    let kept = secchi.scored(&team, &private("Kept"), "weak_model.jsonl").await;
    import(&secchi, &corrected()).await;
    correct(&secchi.ground, &[]);
    secchi.drain().await;
    let queued = secchi.accepted(&team, &metadata("Queued"), "random.jsonl").await;
    activate(&secchi.ground, CORRECTED).stdout();
    let view = async |id: &str| secchi.get_json(&format!("/api/v1/submissions/{id}"), Some(&team.key)).await;
    assert_eq!(view(&queued).await["release"], "sample", "it ends under the release that it was sent for");
    let names = async || {
        let found = rows(&board(&secchi, BOARD).await.0);
        found.iter().map(|row| row["model_name"].as_str().unwrap().to_owned()).collect::<BTreeSet<_>>()
    };
    assert_eq!(names().await, BTreeSet::from(["Strong".to_owned()]));
    secchi.drain().await;
    assert_eq!(names().await, BTreeSet::from(["Queued".to_owned(), "Strong".to_owned()]));
    assert_eq!(view(&queued).await["release"], CORRECTED);
    let id = kept["id"].as_str().unwrap();
    assert_eq!(view(id).await, kept, "what is private stays as its team read it");
    publish(&secchi, &team, id).await;
    secchi.drain().await;
    assert_eq!(names().await.len(), 3);
    assert_eq!(view(id).await["release"], CORRECTED);
    let new = secchi.scored(&team, &metadata("New"), "letters_noisy.jsonl").await;
    assert_eq!((&new["release"], &new["state"]), (&json!(CORRECTED), &json!("scored")));

    let refused = activate(&secchi.ground, "sample");
    assert!(refused.code == Some(1) && refused.stderr.contains("1 of 4 entries"), "{refused:?}");
    let calls = judge.calls();
    dataset(&secchi.ground, &["correct", "sample"]).stdout();
    secchi.drain().await;
    activate(&secchi.ground, "sample").stdout();
    assert_eq!(rows(&board(&secchi, BOARD).await.0).len(), 4);
    assert!(judge.calls() - calls <= 2, "only the changed questions of the new entry are judged");
}

#[tokio::test(flavor = "multi_thread")]
async fn questions_that_are_new_count_as_missing_and_those_that_are_gone_do_not_count() {
    let judge = StandIn::start(0).await;
    let (secchi, team) = judged_by(&judge, "a").await;
    let gone = "MVK--reef_dive_0007--q1";
    let shorter = changed(|record| record["question_id"] != gone);
    secchi.import_as("shorter", Split::Test, &shorter[..]).await;
    let entry = secchi.scored(&team, &metadata("Perfect"), "perfect.jsonl").await;
    let path = format!("/api/v1/entries/{}", entry["id"].as_str().unwrap());
    let view = async || secchi.get_json(&path, None).await;
    let first = view().await;
    let ground = &secchi.ground;

    let dry = dataset(ground, &["correct", "shorter", "--dry-run", "--json"]).json();
    let changes = &dry["correction"]["changes"]["questions"];
    assert_eq!(changes[0]["differences"], json!(["removed"]), "{changes}");
    assert!(judge.calls() > 0 && dry["correction"]["cost"]["calls"] == 0, "{dry}");
    dataset(ground, &["correct", "shorter"]).stdout();
    secchi.drain().await;
    activate(ground, "shorter").stdout();
    let without = view().await;
    let questions = |view: &Value| view["coverage"]["questions"].as_i64().unwrap();
    assert_eq!(questions(&without), questions(&first) - 1);
    assert_eq!(without["scores"]["MBC-so"]["n"], first["scores"]["MBC-so"]["n"].as_i64().unwrap() - 1);

    // A file that never answered the question: there it is new.
    let sent = changed(|record| record["question_id"] != gone);
    let answers: String = String::from_utf8(sent)
        .unwrap()
        .lines()
        .map(|line| serde_json::from_str::<Value>(line).unwrap())
        .map(|record| {
            let letter = record["answer"].as_str().filter(|letter| !letter.is_empty()).unwrap_or("A ray.");
            format!("{}\n", json!({ "question_id": record["question_id"], "answer": letter }))
        })
        .collect();
    let response = secchi.submit(&team, &metadata("Later"), answers.into_bytes()).await;
    let later = response.json::<Value>().await.unwrap()["id"].as_str().unwrap().to_owned();
    secchi.drain().await;
    let back = dataset(ground, &["correct", "sample"]).stdout();
    assert!(back.contains("1 are new: no entry was asked them"), "{back}");
    secchi.drain().await;
    activate(ground, "sample").stdout();
    let again = view().await;
    assert_eq!((&again["coverage"], &again["scores"]), (&first["coverage"], &first["scores"]));
    let later = secchi.get_json(&format!("/api/v1/entries/{later}"), None).await;
    assert_eq!(questions(&later) - later["coverage"]["answered"].as_i64().unwrap(), 1);
    assert!(later["scores"]["MBC-so"]["value"].as_f64().unwrap() < 100.0, "{later}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_maintainer_corrects_a_release_over_the_api_and_no_key_is_told() {
    let judge = StandIn::start(0).await;
    let (secchi, _) = board_of(&judge, "a").await;
    let maintainer = secchi.maintainer("harbour").await;
    import(&secchi, &corrected()).await;
    let path = format!("/api/v1/admin/releases/test/{CORRECTED}/correction");
    let post = async |path: &str, body: Value| {
        secchi.request(Method::POST, path, Some(&maintainer.key)).json(&body).send().await.unwrap()
    };
    let dry = post(&format!("{path}?dry_run=true"), json!({})).await;
    assert_eq!(dry.status(), 200);
    let dry: Value = dry.json().await.unwrap();
    assert_eq!(dry["changes"]["questions"].as_array().unwrap().len(), CHANGED.len());
    assert_eq!((&dry["cost"]["calls"], &dry["cost"]["cost_usd"]), (&json!(calls_needed()), &Value::Null));
    assert!(!dry.to_string().contains("A yellow grouper"), "{dry}");
    let blank = problem(post(&path, json!({ "notice": " " })).await, 422).await;
    assert_eq!(blank["errors"][0]["pointer"], "/notice");
    let staged = post(&path, json!({ "notice": NOTICE })).await;
    assert_eq!(staged.status(), 202);
    let staged: Value = staged.json().await.unwrap();
    assert_eq!((&staged["staged"], &staged["progress"]["pending"]), (&json!(true), &json!(5)));
    let activation = format!("/api/v1/admin/releases/test/{CORRECTED}/activation");
    let early = problem(post(&activation, json!({})).await, 409).await;
    assert_eq!(early["code"], "entries_not_scored");
    let given_up = secchi.request(Method::DELETE, &path, Some(&maintainer.key)).send().await.unwrap();
    assert_eq!(given_up.status(), 204);
    let calls = judge.calls();
    secchi.drain().await;
    assert_eq!(judge.calls(), calls, "nothing is judged for a correction that was given up");
    assert_eq!(post(&path, json!({})).await.status(), 202);
    secchi.drain().await;
    assert_eq!(post(&activation, json!({})).await.status(), 200);
    let listed = secchi.get_json("/api/v1/admin/releases", Some(&maintainer.key)).await;
    let of = |name: &str| {
        let items = listed["items"].as_array().unwrap().iter();
        items.clone().find(|item| item["release"] == name).unwrap().clone()
    };
    assert_eq!(of(CORRECTED)["correction"]["notice"], NOTICE, "the words of the first time stay");
    assert_eq!(
        (&of("sample")["superseded_by"], &of("sample")["has_board"]),
        (&json!(CORRECTED), &json!(true))
    );
    for (path, status, code) in [
        (path.clone(), 409, "active_release"),
        (path.replace(CORRECTED, "none"), 404, "not_found"),
        (path.replace("/test/", "/tset/"), 404, "not_found"),
    ] {
        assert_eq!(problem(post(&path, json!({})).await, status).await["code"], code, "{path}");
    }
    let train = sample_bytes("train.jsonl");
    secchi.import_as("other", Split::Test, &train[..]).await;
    let other = problem(post(&path.replace(CORRECTED, "other"), json!({})).await, 409).await;
    assert_eq!(other["code"], "other_questions");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_dry_run_names_every_part_that_differs_and_what_was_asked_otherwise() {
    let (secchi, _) = Secchi::with_sample(Options::default()).await;
    let other = changed(|record| {
        match record["question_id"].as_str().unwrap() {
            "MVK--reef_dive_0007--q1" => record["question"] = "Which object is in the middle?".into(),
            "MVK--reef_dive_0007--q2" => {
                record["options"][3]["text"] = "color: white; size/shape: round".into()
            }
            // The camera of the video changes with it, which only captions count by.
            "MVK--reef_dive_0007--q4" | "MVK--reef_dive_0007--q5" | "MVK--reef_dive_0007--q6" => {
                record["evidence_attributes"]["camera_angle"] = "static camera".into();
            }
            _ => {}
        }
        true
    });
    import(&secchi, &other).await;
    let dry = correct(&secchi.ground, &["--dry-run"]);
    let found: Vec<String> = dry["changes"]["questions"]
        .as_array()
        .unwrap()
        .iter()
        .map(|question| {
            let id = question["question_id"].as_str().unwrap().rsplit("--").next().unwrap();
            format!("{id} {}", question["differences"])
        })
        .collect();
    let expected =
        [r#"q1 ["question"]"#, r#"q2 ["options"]"#, r#"q5 ["evidence"]"#, r#"q6 ["evidence","camera"]"#];
    assert_eq!(found, expected);
    assert_eq!((&dry["asked_otherwise"], &dry["new_questions"]), (&json!(2), &json!(0)));
    let columns = &dry["changes"]["by_column"];
    assert_eq!(
        (&columns["static/BEH"], &columns["moving/BEH"], &columns["MCQ"]),
        (&json!(1), &json!(1), &Value::Null)
    );
}
