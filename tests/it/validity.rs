//! Whether the judge is believable: ratings come in whole, each configuration is measured by them, and one that agrees less
//! is held back.

use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering};

use reqwest::Method;
use serde_json::{Value, json};

use secchi::domain::actor::Actor;
use secchi::evaluation::staging::{StagingError, activate, stage};
use secchi::judge::{Configuration, Failure, FenceSecret, Item, PauseCause, ScriptedJudge};
use secchi::store::configurations::{ConfigurationRow, STAGED};

use crate::pages::Browser;
use crate::program::{Ended, run_on};
use crate::signup::audited;
use crate::support::{Ground, Options, Secchi, TestTeam, problem, sample};

pub const AGREEMENT: &str = "/api/v1/judge/agreement";
pub const RATINGS: &str = "/api/v1/admin/ratings";
const HEADER: &str = "item,question_id,dimension,rater,rating,judge_score";
pub const HOUR_MS: i64 = 3_600_000;

/// In every rated answer, so that a place where one is shown shows.
pub const MARK: &str = "zqrated";

fn study() -> &'static str {
    include_str!("../fixtures/human/ratings.csv")
}

fn expected() -> Value {
    serde_json::from_str(include_str!("../fixtures/human/expected.json")).unwrap()
}

/// Ratings of two answers to each video of the sample: one in OEMU, one in two dimensions of captions. An answer says how
/// many points it is worth, and people give that or one less.
pub fn rated_answers() -> String {
    let text = std::fs::read_to_string(sample("test.jsonl")).unwrap();
    let records = text.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    let mut csv = format!("{HEADER},answer\n");
    for (place, record) in records.filter(|record| record["question_format"] == "open_ended").enumerate() {
        let (id, points) = (record["question_id"].as_str().unwrap(), place % 6);
        let dimensions: &[&str] = if record["type"] == "caption" { &["BEH", "AH"] } else { &["OEMU"] };
        for dimension in dimensions {
            for (rater, rating) in
                [("E1", points), ("E2", points.saturating_sub(usize::from(place % 4 == 0)))]
            {
                csv += &format!(
                    "{dimension}-{id},{id},{dimension},{rater},{rating},,\"{MARK}, worth {points}\"\n"
                );
            }
        }
    }
    csv
}

/// Items and calls that these ratings make.
pub const ITEMS: usize = 72;
pub const CALLS: usize = 48;

/// How the scripted judge scores: as people do, a point more, at random, or not at all.
pub const FAIR: u8 = 0;
pub const MILD: u8 = 1;
const RANDOM: u8 = 2;
pub const OUT: u8 = 3;

/// A judge that scores by a mood which a test may change.
pub fn moody() -> (Arc<ScriptedJudge>, Arc<AtomicU8>) {
    let mood = Arc::new(AtomicU8::new(FAIR));
    let told = mood.clone();
    let judge = ScriptedJudge::new(move |item: &Item<'_>| {
        let worth = item.answer.rsplit(' ').next().and_then(|word| word.parse().ok()).unwrap_or(3_u8);
        match told.load(Ordering::SeqCst) {
            FAIR => Ok(ScriptedJudge::verdict([worth; 3])),
            MILD => Ok(ScriptedJudge::verdict([(worth + 1).min(5); 3])),
            RANDOM => {
                let sum: u32 = item.question_id.bytes().map(u32::from).sum();
                Ok(ScriptedJudge::verdict([(sum % 6) as u8; 3]))
            }
            _ => Err(Failure::Pause { cause: PauseCause::WrongModel, detail: "another model".into() }),
        }
    });
    (Arc::new(judge), mood)
}

/// A server with the sample's test release and a maintainer, whose judge is calibrated each day.
pub async fn served(judge: Arc<ScriptedJudge>) -> (Secchi, TestTeam) {
    let judge_flags = vec!["--calibration-every-hours".into(), "24".into()];
    let options = Options { given_judge: Some(judge), judge: judge_flags, ..Options::default() };
    let (secchi, _) = Secchi::with_sample(options).await;
    let maintainer = secchi.maintainer("harbour").await;
    (secchi, maintainer)
}

pub async fn import(secchi: &Secchi, maintainer: &TestTeam, query: &str, csv: impl Into<String>) -> Value {
    let path = format!("{RATINGS}{query}");
    let request = secchi.request(Method::POST, &path, Some(&maintainer.key)).body(csv.into());
    let response = request.send().await.unwrap();
    let status = response.status();
    let body: Value = response.json().await.unwrap();
    assert_eq!(status, 200, "{body}");
    body
}

fn validity_command(ground: &Ground, arguments: &[&str]) -> Ended {
    let arguments: Vec<&str> = ["validity"].into_iter().chain(arguments.iter().copied()).collect();
    tokio::task::block_in_place(|| run_on(ground, &arguments))
}

/// Asserts that a report has every figure of the expected ones.
fn assert_figures(report: &Value) {
    let compare = |found: &Value, expected: &Value, what: &str| {
        for (name, expected) in expected.as_object().unwrap() {
            let found =
                if found[name].is_number() { &found[name] } else { &found["measures"][name]["value"] };
            let (found, expected) = (found.as_f64().unwrap(), expected.as_f64().unwrap());
            assert!((found - expected).abs() <= 1e-6, "{what} {name}: {found} is not {expected}");
        }
    };
    let expected = expected();
    compare(&report["overall"], &expected["overall"], "overall");
    for (dimension, expected) in expected["by_dimension"].as_object().unwrap() {
        compare(&report["by_dimension"][dimension], expected, dimension);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_human_study_is_imported_once_and_has_the_expected_figures() {
    let secchi = Secchi::start().await;
    let maintainer = secchi.maintainer("harbour").await;
    problem(secchi.get(AGREEMENT, None).await, 404).await;
    let imported = import(&secchi, &maintainer, "?judge=GPT-5.5", study()).await;
    assert_eq!((&imported["items"], &imported["ratings"]), (&json!(100), &json!(300)));
    assert_eq!((&imported["is_new"], &imported["has_answers"]), (&json!(true), &json!(false)));
    let again = import(&secchi, &maintainer, "?judge=GPT-5.5", study()).await;
    assert_eq!((&again["is_new"], &again["id"]), (&json!(false), &imported["id"]));
    let lines = audited(&secchi);
    let imports: Vec<_> = lines.iter().filter(|(_, action, _)| action == "import_ratings").collect();
    assert_eq!(imports.len(), 1, "{lines:?}");
    assert_eq!((&*imports[0].0, &*imports[0].2), ("harbour", imported["id"].as_str().unwrap()));

    let report = secchi.get_json(AGREEMENT, None).await;
    assert_figures(&report);
    assert_eq!((&report["judge"]["source"], &report["judge"]["said"]), (&json!("file"), &json!("GPT-5.5")));
    let kappa = &report["overall"]["measures"]["quadratic_weighted_kappa_each_rating_vs_judge"];
    let [low, high] = [0, 1].map(|place| kappa["ci95"][place].as_f64().unwrap());
    assert!(0.6 < low && low < 0.7604 && 0.7604 < high && high < 0.9, "{kappa}");
    assert_eq!(report, secchi.get_json(AGREEMENT, None).await);

    let overview = secchi.get_json(RATINGS, Some(&maintainer.key)).await;
    for rater in overview["raters"].as_array().unwrap() {
        let name = rater["rater"].as_str().unwrap();
        assert_eq!(rater["ratings"], expected()["ratings_per_rater"][name]);
        let mean = expected()["mean_per_rater"][name].as_f64().unwrap();
        assert!((rater["mean"].as_f64().unwrap() - mean).abs() < 1e-9);
    }
    let page = secchi.get("/judge/agreement", None).await.text().await.unwrap();
    for words in ["100", "milder than people by 0.26 points", "GPT-5.5", "about as well as", "0.76", "0.74"] {
        assert!(page.contains(words), "{words}");
    }
    let page = secchi.get("/judge", None).await.text().await.unwrap();
    assert!(page.contains("Not known of this configuration") && page.contains("/judge/agreement"));
}

#[tokio::test(flavor = "multi_thread")]
async fn many_who_ask_at_once_have_agreement_worked_out_once() {
    let secchi = Secchi::start().await;
    let maintainer = secchi.maintainer("harbour").await;
    import(&secchi, &maintainer, "", study()).await;
    let evaluation = &secchi.running.evaluation;
    let asked = (0..8).map(|_| evaluation.agreements.report(&evaluation.store, None));
    let reports = futures::future::try_join_all(asked).await.unwrap();
    assert!(reports.iter().all(|report| Arc::ptr_eq(report, &reports[0])));
}

#[tokio::test(flavor = "multi_thread")]
async fn the_command_imports_reports_and_lists_every_fault() {
    let secchi = Secchi::start().await;
    let ground = &secchi.ground;
    let path = ground.data.path().join("ratings.csv");
    let path = path.to_str().unwrap();
    let broken = format!("{HEADER}\nS1,A--b--q5,OEMU,E1,6,2.5\nS2,A--b--q5,oemu,E1,3,\n");
    std::fs::write(path, broken).unwrap();
    let refused = validity_command(ground, &["import", path]);
    assert_eq!(refused.code, Some(1));
    for words in
        ["line 2, column `rating`: `6`", "line 3, column `dimension`", "line 3, column `judge_score`"]
    {
        assert!(refused.stdout.contains(words), "{words}: {}", refused.stdout);
    }
    assert!(refused.stderr.contains("3 fault(s); nothing was imported"), "{}", refused.stderr);
    assert_eq!(validity_command(ground, &["report"]).code, Some(1));

    std::fs::write(path, study()).unwrap();
    let said = validity_command(ground, &["import", path, "--judge", "GPT-5.5"]).stdout();
    assert!(said.contains("300 ratings of 100 items imported"), "{said}");
    let said = validity_command(ground, &["import", path, "--judge", "GPT-5.5"]).stdout();
    assert!(said.contains("nothing has changed"), "{said}");
    assert_figures(&validity_command(ground, &["report", "--json"]).json());
    let said = validity_command(ground, &["report"]).stdout();
    for words in ["said to be of `GPT-5.5`", "0.76 (", "5.0e-29", "krippendorff alpha ordinal", "E6"] {
        assert!(said.contains(words), "{words}: {said}");
    }
    let unknown = validity_command(ground, &["report", "--judge", "nobody"]);
    assert!(unknown.stderr.contains("no judge configuration `nobody`"), "{}", unknown.stderr);
    let nothing = validity_command(ground, &["calibrate"]);
    assert!(nothing.stderr.contains("a column `answer`"), "{}", nothing.stderr);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_faulty_file_is_refused_whole_over_the_api() {
    let (secchi, _) = Secchi::with_sample(Options::default()).await;
    let maintainer = secchi.maintainer("harbour").await;
    let post = async |body: String| {
        let request = secchi.request(Method::POST, RATINGS, Some(&maintainer.key)).body(body);
        request.send().await.unwrap()
    };
    let wrong = rated_answers().replacen("BEH", "OEMU", 2);
    let body = problem(post(wrong).await, 422).await;
    assert_eq!(body["code"], "invalid_ratings");
    assert!(body["errors"][0]["detail"].as_str().unwrap().contains("type `caption`"), "{body}");
    assert!(!body.to_string().contains(MARK), "{body}");
    let unknown = format!("{HEADER},answer\nS1,A--b--q5,OEMU,E1,3,,text\n");
    let body = problem(post(unknown).await, 422).await;
    assert_eq!(
        (&body["errors"][0]["line"], &body["errors"][0]["column"]),
        (&json!(2), &json!("question_id"))
    );
    let many = format!("{HEADER}\n{}", "x\n".repeat(300));
    let body = problem(post(many).await, 422).await;
    assert_eq!((body["errors"].as_array().unwrap().len(), &body["total"]), (100, &json!(300)));
    problem(post("x".repeat((16 << 20) + 1)).await, 413).await;
    problem(secchi.get(AGREEMENT, None).await, 404).await;
    assert!(audited(&secchi).iter().all(|(_, action, _)| action != "import_ratings"));
}

/// Stages another configuration, which the handed-in judge answers for too.
async fn staged(secchi: &Secchi) -> String {
    let configuration = Configuration::offline(FenceSecret::random());
    let text = serde_json::to_string(&configuration).unwrap();
    let row = ConfigurationRow {
        id: "other".into(),
        kind: "offline".into(),
        text,
        model: "other".into(),
        state: STAGED.into(),
        created_at_ms: secchi.clock.now_ms(),
        retired_at_ms: None,
    };
    let id = row.id.clone();
    stage(&secchi.running.evaluation.store, &Actor::command_line(), row, secchi.clock.now_ms())
        .await
        .unwrap();
    id
}

#[tokio::test(flavor = "multi_thread")]
async fn a_configuration_that_agrees_less_is_made_current_only_with_a_reason_that_is_audited() {
    let (judge, mood) = moody();
    let (secchi, maintainer) = served(judge).await;
    import(&secchi, &maintainer, "", rated_answers()).await;
    secchi.drain().await;
    let id = staged(&secchi).await;
    let overview = secchi.get_json(RATINGS, Some(&maintainer.key)).await;
    assert_eq!(overview["staged"], json!({ "known": "unmeasured", "candidate": false, "current": true }));
    let browser = Browser::signed_in(&secchi, &maintainer).await;
    let page = browser.get("/admin/judge").await.text;
    assert!(page.contains(&format!("secchi validity calibrate --judge {id}")), "{page}");
    mood.store(RANDOM, Ordering::SeqCst);
    secchi.drain().await;
    let overview = secchi.get_json(RATINGS, Some(&maintainer.key)).await;
    let comparison = &overview["staged"]["comparison"];
    assert!(comparison["difference"]["ci95"][1].as_f64().unwrap() < 0.0, "{overview}");
    // Whoever decides sees both agreements beside the configurations, and not only once the activation is refused.
    let page = browser.get("/admin/judge").await.text;
    let (_, listed) = page.split_once("id=\"configurations\"").unwrap();
    for (judge, what) in [("candidate", "first"), ("current", "second")] {
        let kappa = format!("{:.3}</a>", comparison[what].as_f64().unwrap());
        assert!(listed.contains(&kappa), "{judge}: no {kappa} in {page}");
    }
    assert!(page.contains("Agreement with people on") && listed.contains("clearly less"), "{page}");

    let (store, now_ms) = (&secchi.running.evaluation.store, secchi.clock.now_ms());
    let refused = activate(store, &Actor::command_line(), Some(id.clone()), None, now_ms).await.unwrap_err();
    assert!(matches!(&refused, StagingError::WorseAgreement { .. }), "{refused}");
    assert!(refused.to_string().contains("--accept-worse-agreement"), "{refused}");
    let blank = activate(store, &Actor::command_line(), Some(id.clone()), Some(" ".into()), now_ms)
        .await
        .unwrap_err();
    assert!(matches!(blank, StagingError::Reason(_)), "{blank}");
    let command = run_on_judge(&secchi.ground, &["activate"]);
    assert_eq!(command.code, Some(1));
    assert!(command.stderr.contains("agrees less with people"), "{}", command.stderr);
    assert!(audited(&secchi).iter().all(|(_, action, _)| action != "activate_judge"));

    let command = run_on_judge(
        &secchi.ground,
        &["activate", "--accept-worse-agreement", "the other one is gone", "--json"],
    );
    let done = command.json();
    assert_eq!((&done["configuration"], &done["agreement"]["known"]), (&json!(id), &json!("compared")));
    let lines = audited(&secchi);
    for action in ["accept_worse_agreement", "activate_judge"] {
        assert_eq!(lines.iter().filter(|(_, other, _)| other == action).count(), 1, "{lines:?}");
    }
    // And back without one: it agrees better.
    let back = done["retired"].as_str().unwrap().to_owned();
    let said = run_on_judge(&secchi.ground, &["activate", &back]).stdout();
    assert!(said.contains("quadratic-weighted kappa"), "{said}");
}

fn run_on_judge(ground: &Ground, arguments: &[&str]) -> Ended {
    let arguments: Vec<&str> = ["judge"].into_iter().chain(arguments.iter().copied()).collect();
    tokio::task::block_in_place(|| run_on(ground, &arguments))
}

#[tokio::test(flavor = "multi_thread")]
async fn unknown_agreement_is_said_and_holds_nothing_back() {
    let (judge, _) = moody();
    let (secchi, _) = served(judge).await;
    staged(&secchi).await;
    let said = run_on_judge(&secchi.ground, &["activate"]).stdout();
    assert!(said.contains("agreement with people: unknown, since no human ratings"), "{said}");
}
