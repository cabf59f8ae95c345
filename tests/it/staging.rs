//! From one judge configuration to another and back: staged, judged in the background, current in one step.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use serde_json::{Value, json};

use secchi::domain::actor::Actor;
use secchi::evaluation::staging::activate;
use secchi::store::spend::load_spend;

use crate::process::{Process, until};
use crate::program::{Ended, run_on};
use crate::stand_in::StandIn;
use crate::support::{Ground, Options, Secchi, TestTeam, entries, metadata, problem};

/// The board of the test split.
pub const BOARD: &str = "/api/v1/leaderboard";

/// Calls to the judge at once.
pub const AT_ONCE: usize = 4;

/// Model names of the entries, and their files.
pub const ENTRIES: [(&str, &str); 5] = [
    ("Strong", "strong_model.jsonl"),
    ("Weak", "weak_model.jsonl"),
    ("Random", "random.jsonl"),
    ("Noisy", "letters_noisy.jsonl"),
    ("Perfect", "perfect.jsonl"),
];

/// A server that judges by the stand-in's model, with one team.
pub async fn judged_by(judge: &StandIn, model: &str) -> (Secchi, TestTeam) {
    Secchi::with_sample(Options { judge: judge.flags_of(model, AT_ONCE), ..Options::default() }).await
}

/// The same with all entries on the board.
pub async fn board_of(judge: &StandIn, model: &str) -> (Secchi, TestTeam) {
    let (secchi, team) = judged_by(judge, model).await;
    for (name, file) in ENTRIES {
        let submission = secchi.scored(&team, &metadata(name), file).await;
        assert_eq!(submission["state"], "scored");
    }
    (secchi, team)
}

/// `secchi judge …` on a ground.
pub fn judge_command(ground: &Ground, arguments: &[&str], flags: &[String]) -> Ended {
    let flags = flags.iter().map(String::as_str);
    let arguments: Vec<&str> = ["judge"].into_iter().chain(arguments.iter().copied()).chain(flags).collect();
    tokio::task::block_in_place(|| run_on(ground, &arguments))
}

/// The judge configurations as a command lists them.
pub fn list(ground: &Ground) -> Vec<Value> {
    judge_command(ground, &["list", "--json"], &[]).json().as_array().unwrap().clone()
}

/// The configuration of a model.
pub fn find<'a>(configurations: &'a [Value], model: &str) -> &'a Value {
    configurations.iter().find(|configuration| configuration["model"] == model).unwrap()
}

/// A board's bytes and its entity tag.
pub async fn board(secchi: &Secchi, path: &str) -> (String, String) {
    let response = secchi.get(path, None).await;
    assert_eq!(response.status(), 200, "{path}");
    let etag = response.headers()["etag"].to_str().unwrap().to_owned();
    (response.text().await.unwrap(), etag)
}

/// The rows of a board.
pub fn rows(board: &str) -> Vec<Value> {
    entries(&serde_json::from_str::<Value>(board).unwrap()).as_array().unwrap().clone()
}

/// Asserts that who reads the board while it goes from one of `two` to the other and back sees the rows of one alone; `of`
/// points at what the board says which it is.
pub async fn assert_whole_steps(secchi: &Secchi, of: &str, two: [&str; 2], switch: impl AsyncFn(&str)) {
    let mut expected = Vec::new();
    for one in two {
        switch(one).await;
        let board = secchi.get_json(BOARD, None).await;
        assert_eq!(board.pointer(of), Some(&json!(one)));
        expected.push(board);
    }
    let changes = AtomicBool::new(true);
    let seen = [const { AtomicUsize::new(0) }; 2];
    let read = async || {
        while changes.load(Ordering::SeqCst) {
            let board = secchi.get_json(BOARD, None).await;
            let which = usize::from(board.pointer(of) == expected[1].pointer(of));
            assert_eq!(entries(&board), entries(&expected[which]));
            assert_eq!(board["correction"].is_null(), expected[which]["correction"].is_null());
            seen[which].fetch_add(1, Ordering::SeqCst);
        }
    };
    let change = async {
        for _ in 0..10 {
            for (which, one) in two.into_iter().enumerate() {
                let before = seen[which].load(Ordering::SeqCst);
                switch(one).await;
                until("a reader of it", async || seen[which].load(Ordering::SeqCst) > before).await;
            }
        }
        changes.store(false, Ordering::SeqCst);
    };
    tokio::join!(read(), read(), change);
}

/// The scores of a board's rows by model name.
fn scores(board: &str) -> Vec<(String, Value)> {
    let mut scores: Vec<_> = rows(board)
        .into_iter()
        .map(|row| (row["model_name"].as_str().unwrap().to_owned(), row["scores"].clone()))
        .collect();
    scores.sort_by(|one, other| one.0.cmp(&other.0));
    scores
}

#[tokio::test(flavor = "multi_thread")]
async fn the_board_moves_to_another_judge_in_one_step_and_back_without_a_call() {
    let judge = StandIn::start(0).await;
    let (secchi, _) = board_of(&judge, "a").await;
    let ground = &secchi.ground;
    let before = board(&secchi, BOARD).await;
    let calls = judge.calls_of("a");
    let to_b = [&judge.flags_of("b", AT_ONCE)[..], &["--judge-price-in".into(), "1".into()]].concat();

    let dry = judge_command(ground, &["stage", "--dry-run", "--json"], &to_b).json();
    let (b, cost) = (dry["configuration"]["id"].as_str().unwrap().to_owned(), &dry["cost"]);
    assert_eq!((&dry["configuration"]["state"], &cost["entries"]), (&Value::Null, &json!(5)));
    assert_eq!((&cost["calls"], &cost["reused"]), (&json!(calls), &json!(0)), "{cost}");
    assert!(cost["answers"].as_u64().unwrap() >= calls as u64);
    assert_eq!(cost["completion_tokens"], 10 * calls, "the stand-in's replies have 10 tokens");
    assert_eq!(cost["assumed_replies"]["oemu"]["basis"], "past_judgements");
    assert_eq!(cost["cost_usd"].as_f64().unwrap(), cost["prompt_tokens"].as_f64().unwrap() / 1e6);
    let known = list(ground);
    assert_eq!((known.len(), &known[0]["state"]), (1, &json!("current")), "a dry run stores nothing");
    let a = known[0]["id"].as_str().unwrap().to_owned();

    let staged = judge_command(ground, &["stage"], &to_b).stdout();
    assert!(staged.contains(&format!("calls           {calls}")) && staged.contains("5 pending"), "{staged}");
    let early = judge_command(ground, &["activate"], &[]);
    assert_eq!(early.code, Some(1));
    assert!(early.stderr.contains("5 of 5 published entries"), "{}", early.stderr);
    assert!(early.stderr.contains(&format!("secchi judge stage --configuration {b}")), "{}", early.stderr);

    secchi.drain().await;
    assert_eq!(board(&secchi, BOARD).await, before, "rejudging is not to be seen");
    assert_eq!((judge.calls_of("a"), judge.calls_of("b"), judge.repeated()), (calls, calls, 0));
    let merely_staged = problem(secchi.get(&format!("{BOARD}?judge={b}"), None).await, 404).await;
    assert!(merely_staged["detail"].as_str().unwrap().contains(&a), "{merely_staged}");
    let progress = judge_command(ground, &["stage", "--json"], &to_b).json();
    assert_eq!((&progress["configuration"]["complete"], &progress["cost"]), (&json!(5), &Value::Null));

    let activated = judge_command(ground, &["activate", "--json"], &[]).json();
    assert_eq!((&activated["configuration"], &activated["retired"]), (&json!(b), &json!(a)));
    let after = board(&secchi, BOARD).await;
    let (undisturbed, _) = board_of(&StandIn::start(0).await, "b").await;
    assert_eq!(scores(&after.0), scores(&board(&undisturbed, BOARD).await.0));
    assert_ne!(scores(&after.0), scores(&before.0));
    for row in rows(&after.0) {
        let entry = format!("/api/v1/entries/{}", row["entry"].as_str().unwrap());
        let entry = secchi.get_json(&entry, None).await;
        assert_eq!((&entry["scores"], &entry["judge"]["configuration"]), (&row["scores"], &json!(b)));
    }
    assert_moves(&secchi, progress["moves"].as_array().unwrap(), &a, &b).await;

    let past = board(&secchi, &format!("{BOARD}?judge={a}")).await;
    let bytes_of_rows = |board: &str| board.split_once("\"rows\":").unwrap().1.to_owned();
    assert_eq!(bytes_of_rows(&past.0), bytes_of_rows(&before.0));
    let page = secchi.get(&format!("/?judge={a}"), None).await.text().await.unwrap();
    assert!(page.contains("retired") && page.contains("To the current board"), "{page}");
    assert!(page.contains(&format!("sort=MCQ&amp;judge={a}#")), "the other orders are of the same judge");
    let unknown = problem(secchi.get(&format!("{BOARD}?judge=x"), None).await, 404).await;
    assert!(unknown["detail"].as_str().unwrap().contains(&b), "{unknown}");
    assert_eq!(secchi.get("/?judge=x", None).await.status(), 404);

    let back = judge_command(ground, &["activate", &a], &[]).stdout();
    assert!(back.contains(&format!("configuration {a} (`a`) is current")), "{back}");
    assert_eq!(board(&secchi, BOARD).await, before, "the same bytes, the same tag");
    assert_eq!((judge.calls_of("a"), judge.calls_of("b")), (calls, calls));
    let store = &secchi.running.evaluation.store;
    let spent = store.read(|connection| load_spend(connection, "2000-01-01", "2999-01-01")).await.unwrap();
    for id in [&a, &b] {
        let calls_under =
            spent.iter().filter(|spend| spend.configuration_id == **id).map(|spend| spend.calls);
        assert_eq!(calls_under.sum::<i64>(), calls as i64);
    }
    let current = judge_command(ground, &["stage"], &judge.flags_of("a", AT_ONCE)).stdout();
    assert!(current.contains("is current"), "{current}");
}

/// Asserts that the moves are the differences between the boards of two configurations.
async fn assert_moves(secchi: &Secchi, moves: &[Value], from: &str, to: &str) {
    let columns = ["OEMU", "static/BEH", "static/AH", "static/ECF", "moving/BEH", "moving/AH", "moving/ECF"];
    let mut expected = Vec::new();
    for column in columns {
        let path = |judge: &str| format!("{BOARD}?sort=-{column}&judge={judge}");
        let (from, to) = (board(secchi, &path(from)).await.0, board(secchi, &path(to)).await.0);
        for row in rows(&to) {
            let old = rows(&from).into_iter().find(|old| old["entry"] == row["entry"]).unwrap();
            if old["rank"] != row["rank"] {
                let [old_value, value] = [&old, &row].map(|row| row["scores"][column]["value"].clone());
                expected.push(json!({
                    "split": "test", "column": column, "entry": row["entry"], "team": row["team"],
                    "model_name": row["model_name"], "rank": [old["rank"], row["rank"]],
                    "value": [old_value, value],
                }));
            }
        }
    }
    assert!(!expected.is_empty());
    let sorted = |moves: &[Value]| {
        let mut texts: Vec<String> = moves.iter().map(Value::to_string).collect();
        texts.sort_unstable();
        texts
    };
    assert_eq!(sorted(moves), sorted(&expected));
}

#[tokio::test(flavor = "multi_thread")]
async fn who_reads_the_board_while_judges_change_never_sees_rows_of_two() {
    let judge = StandIn::start(0).await;
    let (secchi, _) = board_of(&judge, "a").await;
    judge_command(&secchi.ground, &["stage"], &judge.flags_of("b", AT_ONCE)).stdout();
    secchi.drain().await;
    let known = list(&secchi.ground);
    let [a, b] = ["a", "b"].map(|model| find(&known, model)["id"].as_str().unwrap().to_owned());
    let store = &secchi.running.evaluation.store;
    let switch = async |id: &str| {
        let now_ms = secchi.clock.now_ms();
        activate(store, &Actor::command_line(), Some(id.into()), None, now_ms).await.unwrap();
    };
    assert_whole_steps(&secchi, "/judge/configuration", [&b, &a], switch).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_being_judged_at_the_change_ends_under_the_new_judge() {
    let judge = StandIn::start(0).await;
    let (undisturbed, team) = judged_by(&judge, "b").await;
    let expected = undisturbed.scored(&team, &metadata("Reef-8B"), "letters_noisy.jsonl").await;
    judge.forget();
    judge.set_latency_ms(150);
    let flags = judge.flags_of("a", AT_ONCE);
    let options = Options { judge: flags, with_worker: true, ..Options::default() };
    let (secchi, team) = Secchi::with_sample(options).await;
    let id = secchi.accepted(&team, &metadata("Reef-8B"), "letters_noisy.jsonl").await;
    until("judging", async || judge.calls_of("a") > 2 * AT_ONCE).await;
    judge_command(&secchi.ground, &["stage"], &judge.flags_of("b", AT_ONCE)).stdout();
    let activated = judge_command(&secchi.ground, &["activate", "--json"], &[]).json();
    assert_eq!(activated["restarted"], 1);
    judge.set_latency_ms(0);
    let view = async || secchi.get_json(&format!("/api/v1/submissions/{id}"), Some(&team.key)).await;
    until("the end", async || view().await["state"] == "scored").await;
    let submission = view().await;
    assert_eq!(submission["judge"], expected["judge"]);
    for field in ["scores", "progress", "warnings", "coverage"] {
        assert_eq!(submission[field], expected[field], "{field}");
    }
    assert_eq!(rows(&board(&secchi, BOARD).await.0)[0]["scores"], expected["scores"]);
    secchi.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_kill_in_the_middle_of_rejudging_loses_nothing() {
    let judge = StandIn::start(0).await;
    let (secchi, _) = board_of(&judge, "a").await;
    let before = board(&secchi, BOARD).await.0;
    let ground = secchi.stop().await;
    let flags = judge.flags_of("a", AT_ONCE);
    let calls = judge.calls_of("a");
    judge.set_latency_ms(50);
    let mut server = Process::serve(&ground, "127.0.0.1:0", &flags);
    judge_command(&ground, &["stage"], &judge.flags_of("b", AT_ONCE)).stdout();
    let mut kills = 0;
    for share in [4, 2] {
        until("rejudging", async || judge.calls_of("b") >= calls / share).await;
        server.kill();
        kills += 1;
        server = Process::serve(&ground, &server.metrics, &flags);
    }
    let watched =
        judge_command(&ground, &["stage", "--watch", "--json"], &judge.flags_of("b", AT_ONCE)).json();
    assert_eq!(watched["configuration"]["complete"], 5);
    assert_eq!(judge.calls_of("a"), calls);
    // Of each submission in hand, the calls that are under way and the replies that are not stored yet.
    let in_hand = 4 * AT_ONCE;
    assert!(judge.repeated() <= kills * in_hand, "{} calls were repeated", judge.repeated());
    let read = async || {
        let response = reqwest::get(format!("{}{BOARD}", server.base)).await.unwrap();
        response.text().await.unwrap()
    };
    assert_eq!(read().await, before);
    judge_command(&ground, &["activate"], &[]).stdout();
    let (undisturbed, _) = board_of(&StandIn::start(0).await, "b").await;
    assert_eq!(scores(&read().await), scores(&board(&undisturbed, BOARD).await.0));
}
