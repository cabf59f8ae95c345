//! What each of the fifty faults that a judge can commit comes to, and that the stand-in which commits them counts right.

use std::mem;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use futures::future::join_all;
use serde_json::{Map, Value, json};

use secchi::domain::question::Rubric;
use secchi::judge::{self, Asking, CallReport, Configuration, Endpoint, Failure, FaultKind, FenceSecret};
use secchi::judge::{Item, Judge, Prompts, Verdict};
use secchi::limiter::{FlowLimits, Gate};

use crate::process::until;
use crate::stand_in::{Conduct, FAULTS, Plan, Rate, StandIn};
use crate::support::{Options, Secchi, metadata};

/// The fault, what a try with it counts as, tries and outcome where it comes once, and where it comes always. The
/// waits of six tries would be too long here, so an outage comes once only.
const TABLE: &str = "\
http500               server            2 verdict           -
http502_html          server            2 verdict           -
http503               overload          2 verdict           -
rate_limit            rate_limit        2 verdict           -
insufficient_quota    money             1 money             1 money
spend_limit           money             1 money             1 money
slow_down             slow_down         2 verdict           -
bare_429              rate_limit        2 verdict           -
http401               key               1 key               1 key
http400               context_too_long  1 context_too_long  1 context_too_long
http400_filter        content_filter    2 verdict           2 content_filter
conn_reset            transport         2 verdict           -
conn_close            transport         2 verdict           -
slow_body             deadline          2 verdict           -
timeout               deadline          2 verdict           -
chunked_truncated     transport         2 verdict           -
short_body            transport         2 verdict           -
wrong_content_type    server            2 verdict           -
text_content_type     valid             1 verdict           1 verdict
invalid_envelope      server            2 verdict           -
bad_utf8              server            2 verdict           -
no_choices            server            2 verdict           -
error_200             server            2 verdict           -
huge_body             server            2 verdict           -
model_swap            wrong_model       2 verdict           3 wrong_model
empty_content         malformed         2 verdict           3 malformed
null_content          malformed         2 verdict           3 malformed
refusal               refusal           2 verdict           2 refusal
refusal_text          refusal           2 verdict           2 refusal
length                length            2 verdict           2 length
length_empty          length            2 verdict           2 length
length_valid          length            2 verdict           2 length
content_filter        content_filter    2 verdict           2 content_filter
invalid_json          malformed         2 verdict           3 malformed
fenced_json           valid             1 verdict           1 verdict
prose_json            malformed         2 verdict           3 malformed
trailing_json         malformed         2 verdict           3 malformed
wrapped_json          malformed         2 verdict           3 malformed
double_encoded        malformed         2 verdict           3 malformed
score_string          malformed         2 verdict           3 malformed
score_float           malformed         2 verdict           3 malformed
score_float_integral  malformed         2 verdict           3 malformed
score_out_of_range    malformed         2 verdict           3 malformed
score_bool            malformed         2 verdict           3 malformed
score_null            malformed         2 verdict           3 malformed
score_nan             malformed         2 verdict           3 malformed
missing_key           malformed         2 verdict           3 malformed
extra_key             malformed         2 verdict           3 malformed
duplicate_keys        malformed         2 verdict           3 malformed
no_explanation        valid             1 verdict           1 verdict
";

/// How long a try may take: short where the stand-in keeps it waiting, and still longer than any load makes another.
fn timeout(fault: &str) -> Duration {
    let is_slow = matches!(fault, "timeout" | "slow_body");
    if is_slow { Duration::from_secs(8) } else { Duration::from_secs(30) }
}

/// A judge over HTTP and the outcomes of its tries; this alone knows how a judge is built and asked.
struct OverHttp {
    judge: Arc<dyn Judge>,
    tries: Arc<Mutex<Vec<&'static str>>>,
}

impl OverHttp {
    fn at(stand_in: &StandIn, timeout: Duration) -> OverHttp {
        let prompts = Prompts::builtin().unwrap();
        let configuration = Configuration::llm("stand-in", &prompts, FenceSecret::random());
        let endpoint = Endpoint { base_url: stand_in.base_url.clone(), api_key: None, timeout };
        let limits = FlowLimits { concurrency: 16, requests_per_minute: None, tokens_per_minute: None };
        let gate = Arc::new(Gate::new(limits));
        let tries = Arc::<Mutex<Vec<_>>>::default();
        let seen = tries.clone();
        let observer = Arc::new(move |report: &CallReport| seen.lock().unwrap().push(report.outcome()));
        let judge = judge::build(&configuration, Some((&endpoint, gate)), Some(observer)).unwrap();
        OverHttp { judge, tries }
    }

    async fn judge(&self, rubric: Rubric, answer: &str) -> Result<Verdict, Failure> {
        let evidence = Map::from_iter([("camera_angle".to_owned(), json!("static"))]);
        let (question, reference) = ("How does the camera see it?", "It stands still.");
        let item = Item { question_id: "q", rubric, question, reference, evidence: &evidence, answer };
        self.judge.judge(&item, Asking::to_the_end()).await.result
    }
}

/// What an answer comes to by all its tries, and their outcomes, where its scores are known.
async fn comes_to(judge: &OverHttp, rubric: Rubric, scores: [u8; 3]) -> (Vec<&'static str>, &'static str) {
    let outcome = match judge.judge(rubric, "It moves.").await {
        Ok(verdict) => {
            assert_eq!(verdict.scores, scores, "another score");
            "verdict"
        }
        Err(Failure::Item { reason, .. }) => reason.as_str(),
        Err(Failure::Pause { cause, .. }) => cause.as_str(),
        Err(Failure::Stopped) => "stopped",
    };
    (mem::take(&mut *judge.tries.lock().unwrap()), outcome)
}

/// The line of the table that holds for a fault.
async fn line(fault: &'static str, rubric: Rubric, scores: [u8; 3]) -> String {
    let stand_in = StandIn::with(Conduct { plan: Plan::Once(fault), ..Conduct::default() }).await;
    let over_http = OverHttp::at(&stand_in, timeout(fault));
    let (tries, outcome) = comes_to(&over_http, rubric, scores).await;
    assert_eq!(stand_in.calls(), tries.len(), "{fault}: a try was not reported");
    let (classified, once) = (tries[0], format!("{} {outcome}", tries.len()));
    let is_outage = FaultKind::parse(classified).is_some_and(FaultKind::is_outage);
    let mut always = "-".to_owned();
    if !is_outage {
        stand_in.forget();
        stand_in.change(|conduct| conduct.plan = Plan::Always(fault));
        // Another judge: a fault that stops all has closed the first one's gate.
        let over_http = OverHttp::at(&stand_in, timeout(fault));
        let (tries, outcome) = comes_to(&over_http, rubric, scores).await;
        assert!(tries.iter().all(|tried| *tried == classified), "{fault}: {tries:?}");
        always = format!("{} {outcome}", tries.len());
    }
    assert_eq!(stand_in.stats().retry_after_violations, 0, "{fault}");
    format!("{fault:<20}  {classified:<16}  {once:<18}  {always}\n")
}

#[tokio::test(flavor = "multi_thread")]
async fn each_fault_counts_as_what_it_is_and_never_becomes_another_score() {
    let quiet = StandIn::start(0).await;
    let undisturbed = OverHttp::at(&quiet, timeout(""));
    let mut tables = Vec::new();
    for rubric in Rubric::ALL {
        let scores = undisturbed.judge(*rubric, "It moves.").await.unwrap().scores;
        // Tasks of their own: a busy one makes none of the others late.
        let lines = FAULTS.map(|fault| tokio::spawn(line(fault, *rubric, scores)));
        tables.push(join_all(lines));
    }
    for lines in join_all(tables).await {
        let table: String = lines.into_iter().map(Result::unwrap).collect();
        println!("{table}");
        let differs = table.lines().zip(TABLE.lines()).find(|(found, expected)| found != expected);
        assert_eq!((differs, table.lines().count()), (None, TABLE.lines().count()));
    }
}

/// Sends a message as no judge would: without a word on waits or limits.
async fn post(client: &reqwest::Client, judge: &StandIn, message: &str) -> reqwest::Response {
    let schema = json!({"properties": {"object_activity": {"type": "integer"}}});
    let body = json!({
        "model": "m",
        "messages": [{"role": "system", "content": ""}, {"role": "user", "content": message}],
        "response_format": {"json_schema": {"schema": schema}},
    });
    let url = format!("{}/chat/completions", judge.base_url);
    client.post(url).json(&body).send().await.unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn the_stand_in_sees_who_asks_too_soon_too_often_or_too_much_at_once() {
    let client = reqwest::Client::new();
    let rate_limited = Conduct {
        plan: Plan::Once("rate_limit"),
        retry_after: Duration::from_secs(60),
        ..Conduct::default()
    };
    let judge = StandIn::with(rate_limited).await;
    assert_eq!(post(&client, &judge, "a").await.headers()["retry-after"], "60.000");
    assert_eq!(post(&client, &judge, "a").await.status(), 200);
    assert_eq!(post(&client, &judge, "a").await.status(), 200);
    assert_eq!(post(&client, &judge, "b").await.status(), 429);
    let stats = judge.stats();
    assert_eq!((stats.retry_after_violations, stats.repeat_after_success, stats.distinct), (1, 1, 2));
    assert_eq!(stats.attempts, [(1, 1), (3, 1)].into());
    assert_eq!((judge.calls(), judge.repeated(), judge.answered()), (4, 2, 2));

    let narrow = Conduct { plan: Plan::Always("timeout"), max_concurrency: Some(1), ..Conduct::default() };
    let judge = StandIn::with(narrow).await;
    let mut first = Box::pin(post(&client, &judge, "a"));
    tokio::select! {
        _ = &mut first => unreachable!("the stand-in never answers"),
        () = until("the first call", async || judge.calls() == 1) => {}
    }
    assert_eq!(post(&client, &judge, "b").await.status(), 429);
    drop(first);
    judge.clear();
    until("the first call's end", async || post(&client, &judge, "b").await.status() == 200).await;
    let stats = judge.stats();
    assert_eq!((stats.max_concurrent, judge.calls()), (1, 2));
    assert!(stats.rejected_by_concurrency > 0, "{stats:?}");

    let rate = Rate { requests: 2.0, window: Duration::from_secs(3600) };
    let judge = StandIn::with(Conduct { rate: Some(rate), ..Conduct::default() }).await;
    for (status, left) in [(200, "1"), (200, "0"), (429, "0")] {
        let response = post(&client, &judge, "a").await;
        assert_eq!(response.status(), status);
        assert_eq!(response.headers()["x-ratelimit-remaining-requests"], left);
    }
    assert_eq!((judge.stats().rejected_by_rate, judge.calls()), (1, 2));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_plan_picks_messages_or_draws_them_by_seed_and_can_be_given_up() {
    let client = reqwest::Client::new();
    let picks = Plan::Only(Box::new(|message| message.contains("fish")), "http500");
    let judge = StandIn::with(Conduct { plan: picks, ..Conduct::default() }).await;
    for (message, status) in [("a fish", 500), ("a reef", 200), ("a fish", 500)] {
        assert_eq!(post(&client, &judge, message).await.status(), status, "{message}");
    }
    judge.clear();
    assert_eq!(post(&client, &judge, "a fish").await.status(), 200);

    let drawn = async |seed| {
        let plan = Plan::Mixture(vec![("http500", 0.3), ("bare_429", 0.2)], seed);
        let judge = StandIn::with(Conduct { plan, ..Conduct::default() }).await;
        for message in 0..200 {
            post(&client, &judge, &message.to_string()).await;
        }
        judge.stats().faults
    };
    let faults = drawn(1).await;
    assert!((40..80).contains(&faults["http500"]) && (25..55).contains(&faults["bare_429"]), "{faults:?}");
    assert_eq!(faults, drawn(1).await);
    assert_ne!(faults, drawn(2).await);
}

#[tokio::test(flavor = "multi_thread")]
async fn waits_and_limits_that_a_judge_is_told_are_kept() {
    let rate = Rate { requests: 1.0, window: Duration::from_secs(1) };
    let judge = StandIn::with(Conduct { rate: Some(rate), ..Conduct::default() }).await;
    let over_http = OverHttp::at(&judge, timeout(""));
    let answers = ["It moves.", "It rests.", "It hides."];
    let results = join_all(answers.map(|answer| over_http.judge(Rubric::Oemu, answer))).await;
    assert!(results.iter().all(Result::is_ok));
    let stats = judge.stats();
    assert_eq!((stats.retry_after_violations, stats.repeat_after_success, judge.calls()), (0, 0, 3));
    assert!(stats.rejected_by_rate > 0, "{stats:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_noisy_judge_gives_the_digits_of_a_quiet_one() {
    const AT_ONCE: usize = 8;
    let judge = StandIn::start(0).await;
    let scores = async || {
        let options = Options { judge: judge.flags(AT_ONCE), ..Options::default() };
        let (secchi, team) = Secchi::with_sample(options).await;
        let submission: Value = secchi.scored(&team, &metadata("Reef-8B"), "strong_model.jsonl").await;
        (submission["state"].clone(), submission["scores"].clone())
    };
    let quiet = scores().await;
    judge.forget();
    let kinds = ["http500", "slow_down", "conn_reset", "error_200", "length", "score_float", "prose_json"];
    judge.change(|conduct| conduct.plan = Plan::Mixture(kinds.map(|kind| (kind, 0.04)).into(), 7));
    assert_eq!(scores().await, quiet);
    let stats = judge.stats();
    assert!(stats.faults.len() >= 5, "{stats:?}");
    assert_eq!((stats.distinct, stats.repeat_after_success, stats.retry_after_violations), (48, 0, 0));
    assert!(stats.max_concurrent <= AT_ONCE, "{stats:?}");
}
