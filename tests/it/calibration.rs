//! The judge asked anew about rated answers: each day, apart from submissions, within the budget, and what it drifts by.

use std::sync::atomic::Ordering;

use serde_json::json;

use crate::stand_in::{Conduct, Plan, StandIn};
use crate::support::{Options, Secchi, metadata};
use crate::validity::{
    AGREEMENT, CALLS, FAIR, HOUR_MS, ITEMS, MARK, MILD, OUT, RATINGS, import, moody, rated_answers, served,
};

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
