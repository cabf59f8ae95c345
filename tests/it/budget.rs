//! Money: a day's budget is never passed, not even by several workers, and what a kill leaves reserved comes back.

use serde_json::{Value, json};

use secchi::domain::question::Split;

use crate::process::{Process, refusal, secchi, until};
use crate::staging::{judge_command, judged_by};
use crate::stand_in::{Conduct, Plan, StandIn};
use crate::support::{Ground, Options, Secchi, TestTeam, metadata, sample_bytes};

/// What the stand-in bills for a call at these prices, in cents of a dollar: 100 tokens sent, and next to nothing received.
const CALL_CENTS: usize = 10;
const PRICES: [&str; 4] = ["--judge-price-in", "1000", "--judge-price-out", "0.001"];

/// Dollars a day, enough for 20 calls and not for 21.
const BUDGET: [&str; 2] = ["--judge-budget-usd-per-day", "2"];
const CALLS_A_DAY: usize = 200 / CALL_CENTS;

const DAY_MS: i64 = 86_400_000;

/// Flags of a server that asks here within the budget.
fn flags(judge: &StandIn, at_once: usize) -> Vec<String> {
    let money = PRICES.iter().chain(&BUDGET).map(|flag| (*flag).to_owned());
    judge.flags(at_once).into_iter().chain(money).collect()
}

fn options(judge: &StandIn) -> Options {
    Options { judge: flags(judge, 8), ..Options::default() }
}

async fn view(secchi: &Secchi, team: &TestTeam, id: &str) -> Value {
    secchi.get_json(&format!("/api/v1/submissions/{id}"), Some(&team.key)).await
}

/// The value of a series, if it is told.
async fn metric(secchi: &Secchi, series: &str) -> Option<f64> {
    let address = secchi.running.metrics_address;
    let text = reqwest::get(format!("http://{address}/metrics")).await.unwrap().text().await.unwrap();
    let line = text.lines().find_map(|line| line.strip_prefix(series)?.strip_prefix(' '));
    line.map(|value| value.parse().unwrap())
}

/// What the day has left.
async fn remaining_usd(secchi: &Secchi) -> Option<f64> {
    metric(secchi, "secchi_judge_budget_remaining_usd").await
}

fn is_paused(submission: &Value) -> bool {
    (&submission["state"], &submission["paused_for"]) == (&json!("judging"), &json!("budget"))
}

#[tokio::test(flavor = "multi_thread")]
async fn at_the_budget_judging_pauses_and_goes_on_the_next_day() {
    let judge = StandIn::start(0).await;
    let (secchi, team) = Secchi::with_sample(options(&judge)).await;
    let first = secchi.scored(&team, &metadata("Reef-8B"), "strong_model.jsonl").await;
    assert!(is_paused(&first), "{first}");
    assert!(first["scores"]["MCQ"]["value"].is_number(), "{first}");
    assert!(first["scores"].get("OEMU").is_none());
    assert_eq!(judge.calls(), CALLS_A_DAY);
    assert!(remaining_usd(&secchi).await.unwrap().abs() < 0.001);
    let resting = "secchi_submissions_paused{paused_for=\"budget\"}";
    assert_eq!(metric(&secchi, resting).await, Some(1.0));

    // Nothing goes on while the day lasts, however often it is looked at.
    secchi.clock.advance_ms(60_000);
    secchi.drain().await;
    assert_eq!(judge.calls(), CALLS_A_DAY);

    let id = first["id"].as_str().unwrap();
    for calls in [2 * CALLS_A_DAY, 48] {
        secchi.clock.advance_ms(DAY_MS);
        secchi.drain().await;
        assert_eq!(judge.calls(), calls);
    }
    let scored = view(&secchi, &team, id).await;
    assert_eq!((&scored["state"], &scored["paused_for"]), (&json!("scored"), &Value::Null));
    assert_eq!(judge.repeated(), 0);
    assert_eq!(metric(&secchi, resting).await, Some(0.0));
    // Two days are far more than the judge itself needs.
    let ratio = async |end: &str| metric(&secchi, &format!("secchi_submission_judge_time_ratio_{end}")).await;
    assert_eq!(ratio("count{split=\"test\"}").await, Some(1.0));
    assert_eq!(ratio("bucket{split=\"test\",le=\"100\"}").await, Some(0.0));
    assert!(ratio("sum{split=\"test\"}").await.unwrap() > 2.0 * 86_400.0 / 15.0);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_raised_budget_lets_judging_go_on_the_same_day() {
    let judge = StandIn::start(0).await;
    let (secchi, team) = Secchi::with_sample(options(&judge)).await;
    let paused = secchi.scored(&team, &metadata("Reef-8B"), "strong_model.jsonl").await;
    let mut raised = flags(&judge, 8);
    *raised.last_mut().unwrap() = "50".into();
    let secchi = Secchi::on(secchi.stop().await, Options { judge: raised, ..Options::default() }).await;
    secchi.clock.advance_ms(60_000);
    secchi.drain().await;
    let scored = view(&secchi, &team, paused["id"].as_str().unwrap()).await;
    assert_eq!((&scored["state"], judge.calls()), (&json!("scored"), 48));
    assert!((remaining_usd(&secchi).await.unwrap() - (50.0 - 4.8)).abs() < 0.001);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_raised_budget_lets_what_is_judged_in_the_background_go_on_too() {
    let judge = StandIn::start(0).await;
    let (mut secchi, team) = judged_by(&judge, "a").await;
    secchi.scored(&team, &metadata("Reef-8B"), "strong_model.jsonl").await;
    judge_command(&secchi.ground, &["stage"], &judge.flags_of("b", 8)).stdout();
    for (budget_usd, calls) in [("2", CALLS_A_DAY), ("50", 48)] {
        let mut flags = flags(&judge, 8);
        *flags.last_mut().unwrap() = budget_usd.into();
        let ground = secchi.stop().await;
        secchi = Secchi::on(ground, Options { judge: flags, ..Options::default() }).await;
        secchi.clock.advance_ms(60_000);
        secchi.drain().await;
        assert_eq!(judge.calls_of("b"), calls);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn further_tries_about_an_answer_are_made_within_the_budget_too() {
    // It never says what it bills, so each try counts as the most that it can have been: nine tenths of a dollar or so.
    let conduct = Conduct { plan: Plan::Always("invalid_envelope"), ..Conduct::default() };
    let judge = StandIn::with(conduct).await;
    let (secchi, team) = Secchi::with_sample(options(&judge)).await;
    let submission = secchi.scored(&team, &metadata("Reef-8B"), "strong_model.jsonl").await;
    assert!(is_paused(&submission), "{submission}");
    let left_usd = remaining_usd(&secchi).await.unwrap();
    assert!((-1.0..=0.0).contains(&left_usd), "{left_usd} dollars are left after {} calls", judge.calls());
}

#[tokio::test(flavor = "multi_thread")]
async fn without_a_budget_there_is_no_gauge() {
    let judge = StandIn::start(0).await;
    let (secchi, _) = Secchi::with_sample(Options { judge: judge.flags(4), ..Options::default() }).await;
    assert_eq!(remaining_usd(&secchi).await, None);
}

/// Metadata and answers of a val submission.
fn of_val() -> (Value, Vec<u8>) {
    let mut of_val = metadata("Reef-8B");
    of_val["split"] = "val".into();
    let questions: String = String::from_utf8(sample_bytes("val.jsonl")).unwrap();
    let answers = questions.lines().map(|line| {
        let id = serde_json::from_str::<Value>(line).unwrap()["question_id"].clone();
        json!({"question_id": id, "answer": "A fish."}).to_string() + "\n"
    });
    (of_val, answers.collect::<String>().into_bytes())
}

#[tokio::test(flavor = "multi_thread")]
async fn val_makes_way_for_test_where_there_is_not_enough_money_for_both_at_once() {
    let judge = StandIn::start(200).await;
    let (secchi, team) = Secchi::with_sample(Options { judge: judge.flags(1), ..Options::default() }).await;
    secchi.import(Split::Val, "val.jsonl").await;
    let ground = secchi.stop().await;
    let server = Process::serve(&ground, "127.0.0.1:0", &flags(&judge, 8));
    let (of_val, answers) = of_val();
    let val = server.submit(&team, &of_val, answers).await;
    until("judging", async || judge.calls() >= 2).await;
    let answers = sample_bytes("predictions/strong_model.jsonl");
    let test = server.submit(&team, &metadata("Reef-8B"), answers).await;
    until("the budget", async || judge.answered() >= CALLS_A_DAY).await;
    let judged = async |id: &str| server.submission(&team, id).await["progress"]["judged"].as_u64().unwrap();
    let (test, val) = (judged(&test).await, judged(&val).await);
    assert!(test > val, "{test} of test and {val} of val");
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_left_of_a_budget_goes_to_test_before_val() {
    let judge = StandIn::start(0).await;
    let (secchi, team) = Secchi::with_sample(options(&judge)).await;
    secchi.import(Split::Val, "val.jsonl").await;
    let (of_val, answers) = of_val();
    let response = secchi.submit(&team, &of_val, answers).await;
    let val = response.json::<Value>().await.unwrap()["id"].as_str().unwrap().to_owned();
    let test = secchi.accepted(&team, &metadata("Reef-8B"), "strong_model.jsonl").await;
    secchi.drain().await;
    let (test, val) = (view(&secchi, &team, &test).await, view(&secchi, &team, &val).await);
    assert!(is_paused(&test) && is_paused(&val), "{test} {val}");
    assert_eq!((&test["progress"]["judged"], &val["progress"]["judged"]), (&json!(CALLS_A_DAY), &json!(0)));
}

#[tokio::test(flavor = "multi_thread")]
async fn three_workers_together_do_not_pass_the_budget_either() {
    let ground = Ground::new();
    if !ground.is_shared() {
        return;
    }
    let judge = StandIn::start(30).await;
    let flags = flags(&judge, 8);
    let secchi = Secchi::on(ground, Options { judge: judge.flags(8), ..Options::default() }).await;
    secchi.import(Split::Test, "test.jsonl").await;
    let team = secchi.team("ocean-lab").await;
    let ground = secchi.stop().await;
    let server =
        Process::serve(&ground, "127.0.0.1:0", &[&["--no-worker".to_owned()], flags.as_slice()].concat());
    let _workers: Vec<Process> = (0..3).map(|_| Process::worker(&ground, "127.0.0.1:0", &flags)).collect();
    let mut ids = Vec::new();
    for file in ["strong_model", "weak_model", "random"] {
        let answers = sample_bytes(&format!("predictions/{file}.jsonl"));
        ids.push(server.submit(&team, &metadata(file), answers).await);
    }
    for id in &ids {
        until("the budget", async || is_paused(&server.submission(&team, id).await)).await;
    }
    assert!(judge.calls() <= CALLS_A_DAY + 1, "{} calls", judge.calls());
    assert!(judge.calls() >= CALLS_A_DAY - 1, "{} calls: the budget was not used", judge.calls());
}

#[tokio::test(flavor = "multi_thread")]
async fn what_a_killed_process_had_reserved_is_free_again() {
    let judge = StandIn::start(200).await;
    let (secchi, team) = Secchi::with_sample(Options { judge: judge.flags(1), ..Options::default() }).await;
    let ground = secchi.stop().await;
    let flags = flags(&judge, 8);
    let mut server = Process::serve(&ground, "127.0.0.1:0", &flags);
    let id = server.submit(&team, &metadata("Reef-8B"), sample_bytes("predictions/strong_model.jsonl")).await;
    until("judging", async || judge.calls() >= 2).await;
    server.kill();
    judge.set_latency_ms(0);
    let server = Process::serve(&ground, &server.metrics, &flags);
    until("the budget", async || is_paused(&server.submission(&team, &id).await)).await;
    let left_usd = server.metric("secchi_judge_budget_remaining_usd").await;
    assert!(left_usd < 0.1, "{left_usd} dollars are left and nothing is asked");
}

#[test]
fn a_budget_that_could_not_be_kept_is_refused_at_start() {
    let ground = Ground::new();
    let mut serve = secchi("serve", &ground);
    serve.args(["--metrics-listen", "127.0.0.1:0", "--listen", "127.0.0.1:0"]);
    let said = refusal(serve.args(["--judge-base-url", "http://127.0.0.1:9/v1"]).args(BUDGET));
    assert!(said.contains("SECCHI_JUDGE_PRICE_IN"), "{said}");
}
