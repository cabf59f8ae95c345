//! What the judge costs: as the command and the API tell it.

use serde_json::{Value, json};

use secchi::clock::Clock;

use crate::program::run_on;
use crate::stand_in::StandIn;
use crate::support::{Options, Secchi, metadata};

const USAGE: &str = "/api/v1/admin/judge/usage";

/// Calls of a file of the sample: one for each open-ended question.
const CALLS: u64 = 48;

/// Of these, captions.
const CAPTIONS: u64 = 24;

/// Dollars of one call: 100 tokens sent and 10 received, by the prices of [`flags`].
const CALL_USD: f64 = 100.0 * 2.0 / 1e6 + 10.0 * 10.0 / 1e6;

fn flags(judge: &StandIn) -> Vec<String> {
    let money = ["--judge-price-in", "2", "--judge-price-out", "10", "--judge-budget-usd-per-day", "5"];
    judge.flags(8).into_iter().chain(money.map(str::to_owned)).collect()
}

fn dollars(value: &Value) -> f64 {
    value["cost_usd"].as_f64().unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn usage_is_summed_by_whatever_is_asked_and_the_command_says_what_the_api_says() {
    let judge = StandIn::start(0).await;
    let options = Options { judge: flags(&judge), clock: Some(Clock::System), ..Options::default() };
    let (secchi, team) = Secchi::with_sample(options).await;
    let (other, maintainer) = (secchi.team("reef-lab").await, secchi.maintainer("harbour").await);
    let nothing = secchi.get_json(USAGE, Some(&maintainer.key)).await;
    assert_eq!((&nothing["items"], &nothing["total"]["calls"]), (&json!([]), &json!(0)));
    assert_eq!(nothing["budget"], json!({ "per_day_usd": 5.0, "spent_usd": 0.0, "left_usd": 5.0 }));

    secchi.scored(&team, &metadata("Reef-8B"), "strong_model.jsonl").await;
    secchi.scored(&other, &metadata("Their-8B"), "weak_model.jsonl").await;
    // What stands is not paid for again.
    secchi.scored(&other, &metadata("Their-9B"), "strong_model.jsonl").await;

    let by_day = secchi.get_json(USAGE, Some(&maintainer.key)).await;
    assert_eq!(by_day["by"], json!(["day"]));
    assert_eq!(by_day["total"]["calls"], judge.calls());
    assert!((dollars(&by_day["total"]) - judge.calls() as f64 * CALL_USD).abs() < 1e-9, "{by_day}");
    let left = by_day["budget"]["left_usd"].as_f64().unwrap();
    assert!((5.0 - left - dollars(&by_day["total"])).abs() < 1e-9, "{by_day}");

    let path = format!("{USAGE}?by=rubric,team");
    let split = secchi.get_json(&path, Some(&maintainer.key)).await;
    let of = |team: &str, rubric: &str| {
        let is = |item: &&Value| item["team"] == team && item["rubric"] == rubric;
        split["items"].as_array().unwrap().iter().find(is).unwrap().clone()
    };
    let calls = |team: &str, rubric: &str| of(team, rubric)["calls"].as_u64().unwrap();
    assert_eq!((calls("ocean-lab", "caption"), calls("ocean-lab", "oemu")), (CAPTIONS, CALLS - CAPTIONS));
    assert!(of("ocean-lab", "oemu").get("day").is_none() && split["total"] == by_day["total"], "{split}");

    let run = |more: &[&str]| {
        let arguments = ["judge", "usage", "--judge-budget-usd-per-day", "5"];
        tokio::task::block_in_place(|| run_on(&secchi.ground, &[&arguments[..], more].concat()))
    };
    assert_eq!(run(&["--by", "team", "--by", "rubric", "--json"]).json(), split);
    let text = run(&["--by", "configuration"]).stdout();
    assert!(text.contains("total") && text.contains("of today's budget are left"), "{text}");
    assert!(text.contains(&judge.calls().to_string()) && text.contains("no price is set"), "{text}");
    assert_eq!(run(&["--from", "2020-01-01", "--to", "2020-01-31", "--json"]).json()["total"]["calls"], 0);
    let refused = run(&["--from", "yesterday"]);
    assert!(refused.code == Some(1) && refused.stderr.contains("`yesterday`"), "{refused:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_faulty_question_about_usage_is_refused() {
    let secchi = Secchi::start().await;
    let maintainer = secchi.maintainer("harbour").await;
    let queries =
        ["by=colour", "by=", "from=2026-13-01", "to=now", "from=2026-11-02&to=2026-11-01", "team=x"];
    for query in queries {
        let response = secchi.get(&format!("{USAGE}?{query}"), Some(&maintainer.key)).await;
        assert_eq!(response.status(), 400, "{query}");
    }
    let without_budget = secchi.get_json(USAGE, Some(&maintainer.key)).await;
    assert_eq!(without_budget["budget"], Value::Null);
}
