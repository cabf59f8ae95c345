//! What a dry run tells a maintainer of judging, and a team not.

use serde_json::{Value, json};

use crate::judging::open_ended;
use crate::operations::answers;
use crate::program::{run, secchi as program};
use crate::stand_in::StandIn;
use crate::support::{Options, Secchi, TestTeam, metadata, sample, sample_bytes};

async fn dry_run(secchi: &Secchi, team: &TestTeam, file: Vec<u8>) -> Value {
    let request = secchi.submission_with("?dry_run=true", team, &metadata("Reef-8B"), file);
    let response = request.send().await.unwrap();
    assert_eq!(response.status(), 200);
    response.json().await.unwrap()
}

/// Counts of an estimate: calls, reused, without a call.
fn counts(dry_run: &Value) -> [u64; 3] {
    ["calls", "reused", "without_call"].map(|field| dry_run["judging"][field].as_u64().unwrap())
}

fn tokens(dry_run: &Value) -> [u64; 2] {
    ["prompt_tokens", "completion_tokens"].map(|field| dry_run["judging"][field].as_u64().unwrap())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_maintainer_learns_what_judging_would_take_and_a_team_does_not() {
    let judge = StandIn::start(0).await;
    let prices = ["--judge-price-in", "2", "--judge-price-out", "10"].map(str::to_owned);
    let options = Options { judge: [judge.flags(8), prices.to_vec()].concat(), ..Options::default() };
    let (secchi, team) = Secchi::with_sample(options).await;
    let maintainer = secchi.maintainer("harbour").await;
    let strong = || sample_bytes("predictions/strong_model.jsonl");
    assert!(dry_run(&secchi, &team, strong()).await.get("judging").is_none());

    let fresh = dry_run(&secchi, &maintainer, strong()).await;
    assert_eq!(counts(&fresh), [48, 0, 0]);
    let [prompt, completion] = tokens(&fresh);
    // The output's cap, since no call has told better; and nobody was asked.
    assert_eq!((completion, judge.calls()), (48 * 4_000, 0));
    assert!((20_000..60_000).contains(&prompt), "{prompt}");
    let cost_usd = fresh["judging"]["cost_usd"].as_f64().unwrap();
    let expected_usd = (prompt as f64 * 2.0 + completion as f64 * 10.0) / 1e6;
    assert!((cost_usd - expected_usd).abs() < 1e-9, "{cost_usd}, not {expected_usd}");

    secchi.scored(&team, &metadata("Reef-8B"), "strong_model.jsonl").await;
    let ids = open_ended();
    let mixed = answers("test.jsonl", |record| {
        match ids.iter().position(|id| record["question_id"] == id.as_str()) {
            Some(0) => "?! 123".into(),
            Some(1 | 2) => "A new answer about a ray.".into(),
            _ => record["answer"].as_str().unwrap_or_default().to_owned(),
        }
    });
    let again = dry_run(&secchi, &maintainer, strong()).await;
    assert_eq!((counts(&again), tokens(&again)), ([0, 48, 0], [0, 0]));
    assert_eq!(again["judging"]["cost_usd"], 0.0);
    // Captions and references of the release have no answer here: what is left says nothing.
    let mixed = dry_run(&secchi, &maintainer, mixed).await;
    assert_eq!(counts(&mixed), [2, 0, 46]);
    assert_eq!(tokens(&mixed)[1], 2 * 10, "as in calls so far");
    assert!(dry_run(&secchi, &team, strong()).await.get("judging").is_none());
    assert_eq!(judge.calls(), 48);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_cost_that_is_not_known_is_null_and_never_0() {
    let judge = StandIn::start(0).await;
    let (secchi, _) = Secchi::with_sample(Options { judge: judge.flags(8), ..Options::default() }).await;
    let maintainer = secchi.maintainer("harbour").await;
    let unpriced = dry_run(&secchi, &maintainer, sample_bytes("predictions/strong_model.jsonl")).await;
    assert_eq!(unpriced["judging"]["cost_usd"], Value::Null);
    assert!(unpriced["judging"].as_object().unwrap().contains_key("cost_usd"));

    let file = sample("predictions/strong_model.jsonl");
    let arguments = ["submit", file.to_str().unwrap(), "--split", "test", "--model-name", "Reef-8B"];
    let more = ["--access", "closed", "--dry-run", "--url", &secchi.base, "--api-key", &maintainer.key];
    let mut command = program(secchi.ground.data.path(), &[&arguments[..], &more].concat());
    let text = tokio::task::block_in_place(|| run(&mut command)).stdout();
    assert!(text.contains("48 calls") && text.contains("unknown cost"), "{text}");
}

#[tokio::test(flavor = "multi_thread")]
async fn the_offline_judge_costs_nothing() {
    let (secchi, _) = Secchi::with_sample(Options::default()).await;
    let maintainer = secchi.maintainer("harbour").await;
    let free = dry_run(&secchi, &maintainer, sample_bytes("predictions/strong_model.jsonl")).await;
    let expected = json!({
        "calls": 48, "reused": 0, "without_call": 0, "prompt_tokens": 0, "completion_tokens": 0, "cost_usd": 0.0,
    });
    assert_eq!(free["judging"], expected);
}
