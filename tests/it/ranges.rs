//! Rank ranges and tiers: worked out in the background, for the rows that a board shows, and again when those change.

use std::sync::atomic::Ordering;

use reqwest::Method;
use serde_json::{Value, json};
use tokio::sync::watch;

use secchi::evaluation::ranging::range_boards;
use secchi::store::leases::{self, claim_lease, release_lease};
use secchi::store::ranges::{Scope, load_standings};
use secchi::store::{StoreError, load_board_revision};

use crate::support::{Options, Secchi, TestTeam, entries, metadata};

/// Entries that anybody can tell apart, and two that nobody can.
const FILES: [(&str, &str); 4] = [
    ("Weak", "weak_model.jsonl"),
    ("Strong", "strong_model.jsonl"),
    ("Strong again", "variant_shuffled.jsonl"),
    ("Random", "random.jsonl"),
];

/// Submits a file privately, has it scored, and publishes it without any work after that.
async fn publish(secchi: &Secchi, team: &TestTeam, name: &str, file: &str) -> String {
    let mut private = metadata(name);
    private["visibility"] = json!("private");
    let submission = secchi.scored(team, &private, file).await;
    let path = format!("/api/v1/submissions/{}", submission["id"].as_str().unwrap());
    let change = json!({ "visibility": "public" });
    let changed = secchi.request(Method::PATCH, &path, Some(&team.key)).json(&change).send().await.unwrap();
    assert_eq!(changed.status(), 200);
    submission["id"].as_str().unwrap().to_owned()
}

async fn rows(secchi: &Secchi, path: &str) -> Vec<Value> {
    entries(&secchi.get_json(path, None).await).as_array().unwrap().clone()
}

/// Asserts that each row has a range among so many that holds its rank, and a tier.
#[track_caller]
fn assert_ranges(rows: &[Value], count: u64) {
    assert_eq!(rows.len() as u64, count);
    for row in rows {
        let number = |value: &Value| value.as_u64().unwrap_or_else(|| panic!("{row}"));
        let (best, worst) = (number(&row["rank_range"][0]), number(&row["rank_range"][1]));
        let (rank, tier) = (number(&row["rank"]), number(&row["tier"]));
        assert!(1 <= best && best <= rank && rank <= worst && worst <= count, "{row}");
        assert!(1 <= tier && tier <= rank, "{row}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_range_is_null_until_the_tests_are_made_and_then_holds_the_rank() {
    let (secchi, team) = Secchi::with_sample(Options::default()).await;
    for (name, file) in FILES {
        publish(&secchi, &team, name, file).await;
    }
    let last = rows(&secchi, "/api/v1/leaderboard").await;
    assert!(last.iter().any(|row| row["rank_range"].is_null() && row["tier"].is_null()), "{last:?}");
    secchi.drain().await;
    for column in ["MCQ", "PMT", "OEMU", "static/BEH"] {
        for path in ["/api/v1/leaderboard?sort=-", "/api/v1/leaderboard?all=1&sort="] {
            assert_ranges(&rows(&secchi, &format!("{path}{column}")).await, 4);
        }
    }
    let rows = rows(&secchi, "/api/v1/leaderboard").await;
    let of = |name: &str| rows.iter().find(|row| row["model_name"] == name).unwrap();
    assert_eq!(of("Strong")["rank_range"], of("Strong again")["rank_range"]);
    assert_eq!(of("Strong")["tier"], 1);
    assert!(of("Random")["tier"].as_u64().unwrap() > 1, "{rows:?}");
    assert!(of("Random")["rank_range"][0].as_u64().unwrap() > 2, "{rows:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_new_entry_gets_its_range_and_moves_those_of_others() {
    let (secchi, team) = Secchi::with_sample(Options::default()).await;
    for (name, file) in [FILES[0], FILES[3]] {
        secchi.scored(&team, &metadata(name), file).await;
    }
    assert_ranges(&rows(&secchi, "/api/v1/leaderboard").await, 2);
    publish(&secchi, &team, "Strong", "strong_model.jsonl").await;
    let before = rows(&secchi, "/api/v1/leaderboard").await;
    assert_eq!((&before[0]["model_name"], &before[0]["rank_range"]), (&json!("Strong"), &Value::Null));
    // What is known of the others stays meanwhile, and holds their ranks.
    for row in &before[1..] {
        let (rank, worst) = (row["rank"].as_u64().unwrap(), row["rank_range"][1].as_u64().unwrap());
        assert!(rank <= worst, "{row}");
    }
    secchi.drain().await;
    let after = rows(&secchi, "/api/v1/leaderboard").await;
    assert_ranges(&after, 3);
    assert_eq!(after[0]["rank_range"], json!([1, 1]));
    assert_eq!(after[2]["rank_range"][1], 3);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_withdrawn_entry_leaves_the_comparisons() {
    let (secchi, team) = Secchi::with_sample(Options::default()).await;
    let mut ids = Vec::new();
    for (name, file) in FILES {
        ids.push(publish(&secchi, &team, name, file).await);
    }
    secchi.drain().await;
    assert_ranges(&rows(&secchi, "/api/v1/leaderboard").await, 4);
    let path = format!("/api/v1/submissions/{}/withdraw", ids[3]);
    let reason = json!({ "reason": "Wrong weights." });
    let withdrawn = secchi.request(Method::POST, &path, Some(&team.key)).json(&reason).send().await.unwrap();
    assert!(withdrawn.status().is_success(), "{}", withdrawn.status());
    secchi.drain().await;
    let left = rows(&secchi, "/api/v1/leaderboard").await;
    assert_ranges(&left, 3);
    assert_eq!(left[2]["rank_range"][1], 3);
    let judge = secchi.get_json("/api/v1/leaderboard", None).await["judge"]["configuration"].clone();
    let store = &secchi.running.evaluation.store;
    let stored: Result<Vec<usize>, StoreError> = store
        .read(move |connection| {
            let release = secchi::store::releases::load_releases(connection)?.remove(0);
            let of = |scope| {
                let board = (release.id.as_str(), judge.as_str().unwrap_or_default(), scope);
                Ok(load_standings(connection, board)?.len())
            };
            [Scope::Newest, Scope::All].into_iter().map(of).collect()
        })
        .await;
    assert_eq!(stored.unwrap(), [3, 3]);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_older_entry_of_a_model_is_compared_among_all_alone() {
    let (secchi, team) = Secchi::with_sample(Options::default()).await;
    for (name, file) in
        [("Reef", "weak_model.jsonl"), ("Reef", "strong_model.jsonl"), ("Other", "random.jsonl")]
    {
        secchi.scored(&team, &metadata(name), file).await;
    }
    assert_ranges(&rows(&secchi, "/api/v1/leaderboard").await, 2);
    assert_ranges(&rows(&secchi, "/api/v1/leaderboard?all=1").await, 3);
}

async fn revision(secchi: &Secchi) -> i64 {
    secchi.running.evaluation.store.read(load_board_revision).await.unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn nothing_is_worked_out_again_where_nothing_changed() {
    let (secchi, team) = Secchi::with_sample(Options::default()).await;
    secchi.scored(&team, &metadata("Reef"), "weak_model.jsonl").await;
    secchi.drain().await;
    let settled = revision(&secchi).await;
    let writes = secchi.running.evaluation.store.writes();
    let (_keeps_running, mut stopping) = watch::channel(false);
    let range = async |stopping: &mut watch::Receiver<bool>| {
        range_boards(&secchi.running.evaluation, "test", stopping).await.unwrap();
    };
    range(&mut stopping).await;
    assert_eq!((revision(&secchi).await, secchi.running.evaluation.store.writes()), (settled, writes));
    // Another process, which has not looked before, finds that all stands.
    secchi.running.evaluation.ranged_revision.store(-1, Ordering::SeqCst);
    range(&mut stopping).await;
    assert_eq!(revision(&secchi).await, settled);
    assert_eq!(secchi.running.evaluation.ranged_revision.load(Ordering::SeqCst), settled);
}

#[tokio::test(flavor = "multi_thread")]
async fn one_process_at_a_time_works_out_ranges_and_one_that_stops_leaves_them_to_the_next() {
    let (secchi, team) = Secchi::with_sample(Options::default()).await;
    publish(&secchi, &team, "Reef", "weak_model.jsonl").await;
    let (evaluation, now_ms) = (&secchi.running.evaluation, secchi.clock.now_ms());
    let of_board = async || rows(&secchi, "/api/v1/leaderboard").await[0]["rank_range"].clone();
    let (stop, mut stopping) = watch::channel(false);
    let held: Result<_, StoreError> = evaluation
        .store
        .write(move |connection| claim_lease(connection, leases::RANGES, "other", now_ms, 15_000))
        .await;
    range_boards(evaluation, "test", &mut stopping).await.unwrap();
    assert_eq!(of_board().await, Value::Null);
    let lease = held.unwrap().unwrap();
    let released: Result<(), StoreError> =
        evaluation.store.write(move |connection| release_lease(connection, &lease)).await;
    released.unwrap();

    stop.send_replace(true);
    // Whether it got anywhere or not, it gives the work back.
    range_boards(evaluation, "test", &mut stopping).await.unwrap();
    stop.send_replace(false);
    range_boards(evaluation, "another", &mut stopping).await.unwrap();
    assert_eq!(of_board().await, json!([1, 1]));
}
