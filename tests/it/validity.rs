//! Whether the judge is believable: ratings come in whole, each configuration is measured by them, one that agrees less is
//! held back, and drift shows.

use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering};

use reqwest::Method;
use serde_json::{Value, json};

use secchi::domain::actor::Actor;
use secchi::evaluation::staging::{StagingError, activate, stage};
use secchi::judge::{Configuration, Failure, FenceSecret, Item, PauseCause, ScriptedJudge};
use secchi::store::configurations::{ConfigurationRow, STAGED};

use crate::program::{Ended, run_on};
use crate::signup::audited;
use crate::stand_in::{Conduct, Plan, StandIn};
use crate::support::{Ground, Options, Secchi, TestTeam, metadata, problem, sample};

const AGREEMENT: &str = "/api/v1/judge/agreement";
const RATINGS: &str = "/api/v1/admin/ratings";
const HEADER: &str = "item,question_id,dimension,rater,rating,judge_score";
const HOUR_MS: i64 = 3_600_000;

/// In every rated answer, so that a place where one is shown shows.
const MARK: &str = "zqrated";

fn study() -> &'static str {
    include_str!("../fixtures/human/ratings.csv")
}

fn expected() -> Value {
    serde_json::from_str(include_str!("../fixtures/human/expected.json")).unwrap()
}

/// Ratings of two answers to each video of the sample: one in OEMU, one in two dimensions of captions. An answer says how
/// many points it is worth, and people give that or one less.
fn rated_answers() -> String {
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
const ITEMS: usize = 72;
const CALLS: usize = 48;

/// How the scripted judge scores: as people do, a point more, at random, or not at all.
const FAIR: u8 = 0;
const MILD: u8 = 1;
const RANDOM: u8 = 2;
const OUT: u8 = 3;

/// A judge that scores by a mood which a test may change.
fn moody() -> (Arc<ScriptedJudge>, Arc<AtomicU8>) {
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
async fn served(judge: Arc<ScriptedJudge>) -> (Secchi, TestTeam) {
    let judge_flags = vec!["--calibration-every-hours".into(), "24".into()];
    let options = Options { given_judge: Some(judge), judge: judge_flags, ..Options::default() };
    let (secchi, _) = Secchi::with_sample(options).await;
    let maintainer = secchi.maintainer("harbour").await;
    (secchi, maintainer)
}

async fn import(secchi: &Secchi, maintainer: &TestTeam, query: &str, csv: impl Into<String>) -> Value {
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

async fn metric(secchi: &Secchi, name: &str) -> Option<f64> {
    let address = secchi.running.metrics_address;
    let text = reqwest::get(format!("http://{address}/metrics")).await.unwrap().text().await.unwrap();
    let prefix = format!("secchi_judge_calibration_{name} ");
    text.lines().find_map(|line| line.strip_prefix(&prefix)).map(|value| value.parse().unwrap())
}

#[tokio::test(flavor = "multi_thread")]
async fn the_judge_is_asked_anew_each_day_apart_from_submissions_and_drift_shows() {
    let (judge, mood) = moody();
    let (secchi, maintainer) = served(judge.clone()).await;
    secchi.drain().await;
    assert!(judge.asked().is_empty(), "nobody has rated yet");
    for name in ["mean", "drift", "agreement", "items_failed", "last_run_timestamp_seconds"] {
        assert_eq!(metric(&secchi, name).await, None, "{name} is unknown");
    }
    let imported = import(&secchi, &maintainer, "", rated_answers()).await;
    assert_eq!((&imported["items"], &imported["has_answers"]), (&json!(ITEMS), &json!(true)));
    let report = secchi.get_json(AGREEMENT, None).await;
    assert_eq!((&report["judge"]["source"], &report["overall"]["judged"]), (&json!("none"), &json!(0)));
    secchi.drain().await;
    assert_eq!(judge.asked().len(), CALLS, "an answer that was rated in two dimensions is asked about once");
    let report = secchi.get_json(AGREEMENT, None).await;
    assert_eq!((&report["judge"]["source"], &report["overall"]["judged"]), (&json!("run"), &json!(ITEMS)));
    let kappa =
        report["overall"]["measures"]["quadratic_weighted_kappa_item_mean_vs_judge"]["value"].as_f64();
    assert!(kappa.unwrap() > 0.95, "{kappa:?}");
    assert_eq!(metric(&secchi, "drift").await, Some(0.0));
    assert_eq!(metric(&secchi, "agreement").await, kappa);
    assert_eq!(metric(&secchi, "items").await, Some(72.0));
    let mean = metric(&secchi, "mean").await.unwrap();

    // Not before it is due, and then fresh.
    secchi.clock.advance_ms(23 * HOUR_MS);
    secchi.drain().await;
    assert_eq!(judge.asked().len(), CALLS);
    mood.store(MILD, Ordering::SeqCst);
    secchi.clock.advance_ms(HOUR_MS);
    secchi.drain().await;
    assert_eq!(judge.asked().len(), 2 * CALLS);
    let drift = metric(&secchi, "drift").await.unwrap();
    assert!((0.7..1.0).contains(&drift), "{drift}");
    assert!((metric(&secchi, "mean").await.unwrap() - mean - drift).abs() < 1e-9);
    assert!(metric(&secchi, "agreement_drift").await.unwrap() < 0.0);
    assert_eq!(metric(&secchi, "items_failed").await, Some(0.0));
    let overview = secchi.get_json(RATINGS, Some(&maintainer.key)).await;
    assert_eq!(overview["runs"].as_array().unwrap().len(), 2, "{overview}");

    // A submission with other answers is judged for itself; nothing of the rated ones is a judgement.
    let team = secchi.team("reef-lab").await;
    let submission = secchi.scored(&team, &metadata("Reef-8B"), "strong_model.jsonl").await;
    assert_eq!((&submission["state"], &submission["progress"]["reused"]), (&json!("scored"), &json!(0)));
    for (path, key) in
        [(AGREEMENT, None), ("/judge/agreement", None), ("/judge", None), (RATINGS, Some(&maintainer.key))]
    {
        let text = secchi.get(path, key.map(String::as_str)).await.text().await.unwrap();
        assert!(!text.contains(MARK) && !text.contains("reef_dive_0007"), "{path} shows what was rated");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_run_that_breaks_off_goes_on_where_it_stopped() {
    let (judge, mood) = moody();
    let (secchi, maintainer) = served(judge.clone()).await;
    import(&secchi, &maintainer, "", rated_answers()).await;
    mood.store(OUT, Ordering::SeqCst);
    secchi.drain().await;
    let met = judge.asked().len();
    assert!(met < CALLS, "the first that stops all stops the run, after {met} calls");
    assert_eq!(secchi.get_json(AGREEMENT, None).await["judge"]["source"], "none");
    assert_eq!(metric(&secchi, "mean").await, None);
    mood.store(FAIR, Ordering::SeqCst);
    secchi.drain().await;
    assert_eq!(judge.asked().len(), met + CALLS);
    assert_eq!(metric(&secchi, "items_failed").await, Some(0.0));
    let overview = secchi.get_json(RATINGS, Some(&maintainer.key)).await;
    assert_eq!(overview["runs"].as_array().unwrap().len(), 1, "{overview}");
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
    mood.store(RANDOM, Ordering::SeqCst);
    secchi.drain().await;
    let overview = secchi.get_json(RATINGS, Some(&maintainer.key)).await;
    let comparison = &overview["staged"]["comparison"];
    assert!(comparison["difference"]["ci95"][1].as_f64().unwrap() < 0.0, "{overview}");

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

/// What the stand-in bills for a call at these prices: ten cents.
const PRICES: [&str; 4] = ["--judge-price-in", "1000", "--judge-price-out", "0.001"];

#[tokio::test(flavor = "multi_thread")]
async fn calibration_is_paid_from_the_days_budget_and_goes_on_the_next_day() {
    let judge = StandIn::start(0).await;
    let mut flags = judge.flags(4);
    flags.extend(PRICES.map(str::to_owned));
    let more = ["--judge-budget-usd-per-day", "3", "--calibration-every-hours", "1000"];
    flags.extend(more.map(str::to_owned));
    let (secchi, _) = Secchi::with_sample(Options { judge: flags, ..Options::default() }).await;
    let maintainer = secchi.maintainer("harbour").await;
    import(&secchi, &maintainer, "", rated_answers()).await;
    secchi.drain().await;
    let first = judge.calls();
    assert!(first > 0 && first <= 30, "{first} calls of ten cents on three dollars");
    let usage = secchi.get_json("/api/v1/admin/judge/usage?by=team", Some(&maintainer.key)).await;
    assert_eq!(usage["items"][0]["team"], "(calibration)", "{usage}");
    assert_eq!(usage["items"][0]["calls"], json!(first), "{usage}");
    let spent = usage["budget"]["spent_usd"].as_f64().unwrap();
    assert!((spent - 0.1 * first as f64).abs() < 0.01, "{usage}");
    for _ in 0..4 {
        secchi.clock.advance_ms(24 * HOUR_MS);
        secchi.drain().await;
    }
    assert_eq!(judge.calls(), CALLS);
    assert_eq!(metric(&secchi, "items_failed").await, Some(0.0));
    // Fresh calls: the same messages are asked about again.
    secchi.clock.advance_ms(1000 * HOUR_MS);
    secchi.drain().await;
    assert!(judge.calls() > CALLS);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_reply_from_another_model_freezes_judging_also_where_calibration_meets_it() {
    let judge = StandIn::with(Conduct { plan: Plan::Always("model_swap"), ..Conduct::default() }).await;
    let mut flags = judge.flags(2);
    flags.extend(["--calibration-every-hours", "24"].map(str::to_owned));
    let (secchi, team) = Secchi::with_sample(Options { judge: flags, ..Options::default() }).await;
    let maintainer = secchi.maintainer("harbour").await;
    import(&secchi, &maintainer, "", rated_answers()).await;
    secchi.drain().await;
    let met = judge.calls();
    assert!(met > 0 && met < 10, "{met}");
    assert_eq!(metric(&secchi, "mean").await, None, "what another model says is no number");
    let address = secchi.running.metrics_address;
    let text = reqwest::get(format!("http://{address}/metrics")).await.unwrap().text().await.unwrap();
    assert!(text.lines().any(|line| line == "secchi_judge_circuit_open 1"), "the circuit is open");
    let submission = secchi.scored(&team, &metadata("Reef-8B"), "strong_model.jsonl").await;
    assert_eq!(submission["paused_for"], "judge_unavailable", "{submission}");
}
