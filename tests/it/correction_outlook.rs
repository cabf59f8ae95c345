//! What a correction is said to change and cost before it is made, by the command and the API.

use reqwest::Method;
use serde_json::{Value, json};

use secchi::domain::question::Split;
use secchi::evaluation::staging_cost::staging_cost;
use secchi::store::StoreError;
use secchi::store::configurations::find_current_configuration;
use secchi::store::releases::find_release;

use crate::corrections::{
    CHANGED, CORRECTED, NOTICE, calls_needed, changed, correct, corrected, dataset, import,
};
use crate::staging::{BOARD, board, board_of, rows};
use crate::stand_in::StandIn;
use crate::support::{Options, Secchi, metadata, problem, sample_bytes};

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

/// The dry run works from stored outcomes; `staging_cost` and the background scoring grade everything anew.
#[tokio::test(flavor = "multi_thread")]
async fn what_is_foreseen_is_what_grading_every_entry_anew_gives() {
    let judge = StandIn::start(0).await;
    let (secchi, _) = board_of(&judge, "a").await;
    let other = secchi.team("reef-lab").await;
    secchi.scored(&other, &metadata("Strong again"), "strong_model.jsonl").await;
    let gone = "MVK--night_0001--q2";
    // A letter, words, options, evidence, a camera, and places that move since a question is gone.
    let release = changed(|record| {
        let id = record["question_id"].as_str().unwrap().to_owned();
        match id.as_str() {
            "MVK--reef_dive_0007--q1" => record["question"] = "Which object is in the middle?".into(),
            "MVK--reef_dive_0007--q2" => {
                record["options"][3]["text"] = "color: white; size/shape: round".into()
            }
            "MVK--reef_dive_0007--q4" | "MVK--reef_dive_0007--q5" | "MVK--reef_dive_0007--q6" => {
                record["evidence_attributes"]["camera_angle"] = "static camera".into();
            }
            "MVK--night_0001--q1" => {
                let options = record["options"].as_array().unwrap();
                let other =
                    options.iter().find(|option| option["label"] != record["answer"]).unwrap().clone();
                (record["answer"], record["answer_text"]) = (other["label"].clone(), other["text"].clone());
            }
            _ => {}
        }
        id != gone
    });
    import(&secchi, &release).await;
    let dry = correct(&secchi.ground, &["--dry-run"]);
    let evaluation = &secchi.running.evaluation;
    let entries: Vec<String> = rows(&board(&secchi, &format!("{BOARD}?all=1")).await.0)
        .iter()
        .map(|row| row["entry"].as_str().unwrap().to_owned())
        .collect();
    let (corrected, current) = evaluation
        .store
        .read(|connection| {
            let corrected = find_release(connection, Split::Test, CORRECTED)?.unwrap();
            Ok::<_, StoreError>((corrected, find_current_configuration(connection)?.unwrap()))
        })
        .await
        .unwrap();
    assert_eq!(entries.len(), 6);
    let entries = entries.into_iter().map(|id| (id, corrected.id.clone())).collect();
    let (store, catalogue, judges) = (&evaluation.store, &evaluation.catalogue, &evaluation.judges);
    let full = staging_cost(store, catalogue, judges, &current, entries).await.unwrap();
    assert!(full.reused > 0 && full.calls > 0, "{full:?}");
    assert_eq!(dry["cost"], json!(full));

    correct(&secchi.ground, &[]);
    secchi.drain().await;
    let graded = correct(&secchi.ground, &[]);
    assert_eq!((&graded["waiting"], &graded["progress"]["complete"]), (&json!({}), &json!(6)));
    let waits = |moved: &&Value| dry["waiting"].get(moved["column"].as_str().unwrap()).is_none();
    let known: Vec<&Value> = graded["moves"].as_array().unwrap().iter().filter(waits).collect();
    assert!(known.len() > 6 && !dry["waiting"].as_object().unwrap().is_empty(), "{dry}");
    assert_eq!(dry["moves"].as_array().unwrap().iter().collect::<Vec<_>>(), known);

    // Once more, with all judgements there: nothing waits, and every move is foreseen.
    dataset(&secchi.ground, &["correct", CORRECTED, "--abandon"]).stdout();
    secchi.import_as("twin", Split::Test, &changed_once_more(&release)[..]).await;
    let dry = dataset(&secchi.ground, &["correct", "twin", "--dry-run", "--json"]).json();
    assert_eq!((&dry["correction"]["waiting"], &dry["correction"]["cost"]["calls"]), (&json!({}), &json!(0)));
    assert_eq!(dry["correction"]["moves"], graded["moves"]);
}

/// The same release under another hash: the evidence of a question that no judge scores differs.
fn changed_once_more(release: &[u8]) -> Vec<u8> {
    let text = String::from_utf8(release.to_vec()).unwrap();
    let mut lines = String::new();
    for line in text.lines() {
        let mut record: Value = serde_json::from_str(line).unwrap();
        if record["question_id"] == "MVK--night_0001--q1" {
            record["evidence_attributes"]["movement_behavior"] = "swaying".into();
        }
        lines.push_str(&format!("{record}\n"));
    }
    lines.into_bytes()
}
