//! Everything in one file and back: written on the one database while a server works, restored on the other, with the same
//! board to the last digit, and with what was being judged.

use std::collections::BTreeMap;
use std::os::unix::fs::PermissionsExt as _;
use std::path::PathBuf;

use diesel::pg::PgConnection;
use diesel::prelude::*;
use diesel::sql_types::Text;
use serde_json::{Value, json};

use secchi::domain::question::Split;
use secchi::records::{KeySet, check};

use crate::process::{Process, until};
use crate::program::run_on;
use crate::record::{KEYS, bytes, record_of};
use crate::stand_in::StandIn;
use crate::support::{Ground, Options, Secchi, TestTeam, metadata, sample, sample_bytes};

/// What of the public side must be the same to the byte.
pub const BOARDS: [&str; 7] = [
    "/api/v1/leaderboard",
    "/api/v1/leaderboard?all=1&sort=-OEMU",
    "/api/v1/leaderboard?format=csv",
    "/api/v1/leaderboard?format=tex&view=groups",
    "/api/v1/leaderboard?format=md&split=val",
    "/api/v1/leaderboard?as_of=2026-11-30",
    "/api/v1/benchmark",
];

/// Tables that differ after a move: who this is, who holds what, and that it was restored.
const ANOTHERS: [&str; 4] = ["installation", "leases", "judge_claims", "audit_log"];

/// A server that links to itself by the same name wherever it listens.
pub fn by_name() -> Options {
    Options { http: vec!["--public-url", "https://board.example"], ..Options::default() }
}

/// Metadata of a submission to the test split.
pub fn seen_as(model_name: &str, visibility: &str) -> Value {
    let mut metadata = metadata(model_name);
    metadata["visibility"] = json!(visibility);
    metadata
}

/// A server with boards of both splits, and two teams: public, anonymous, private, withdrawn and unfinished submissions.
pub async fn lived_in() -> (Secchi, TestTeam, TestTeam) {
    let (secchi, team) = Secchi::with_sample(by_name()).await;
    secchi.import(Split::Val, "val.jsonl").await;
    let other = secchi.team("reef-lab").await;
    for (team, name, visibility, file) in [
        (&team, "Weak", "public", "weak_model.jsonl"),
        (&team, "Hidden", "private", "random.jsonl"),
        (&other, "Nameless", "anonymous", "letters_noisy.jsonl"),
        (&team, "Strong", "public", "strong_model.jsonl"),
        (&other, "Gone", "public", "partial.jsonl"),
    ] {
        let submission = secchi.scored(team, &seen_as(name, visibility), file).await;
        assert_eq!(submission["state"], "scored", "{submission}");
        if name == "Gone" {
            let path = format!("/api/v1/submissions/{}/withdraw", submission["id"].as_str().unwrap());
            let reason = json!({ "reason": "a wrong checkpoint" });
            let sent = secchi.request(reqwest::Method::POST, &path, Some(&other.key)).json(&reason).send();
            assert!(sent.await.unwrap().status().is_success());
        }
    }
    secchi.drain().await;
    secchi.accepted(&team, &seen_as("Waiting", "public"), "perfect.jsonl").await;
    (secchi, team, other)
}

/// The bytes of everything that [`BOARDS`] names.
pub async fn boards(secchi: &Secchi) -> Vec<String> {
    let mut boards = Vec::new();
    for path in BOARDS {
        boards.push(String::from_utf8(bytes(secchi, path).await).unwrap());
    }
    boards
}

/// Writes an archive of a ground beside its data; gives the file and what the command said of it.
pub fn archived(ground: &Ground, flags: &[&str]) -> (PathBuf, Value) {
    let file = ground.data.path().join("secchi.archive");
    let words = ["archive", file.to_str().unwrap(), "--json", "--force"];
    let said = run_on(ground, &[&words[..], flags].concat()).json();
    (file, said["archive"].clone())
}

pub fn restored(ground: &Ground, file: &std::path::Path) -> Value {
    run_on(ground, &["restore", file.to_str().unwrap(), "--json"]).json()
}

/// The sums of the tables that a move leaves as they are.
fn sums(archive: &Value) -> BTreeMap<String, Value> {
    let tables = archive["tables"].as_object().unwrap().iter();
    tables
        .filter(|(name, _)| !ANOTHERS.contains(&name.as_str()))
        .map(|(name, table)| (name.clone(), table.clone()))
        .collect()
}

async fn own(secchi: &Secchi, team: &TestTeam) -> Value {
    let mut own = Vec::new();
    for id in secchi.submission_ids(team).await {
        own.push(secchi.get_json(&format!("/api/v1/submissions/{id}"), Some(&team.key)).await);
    }
    json!([own, secchi.get_json("/api/v1/quota", Some(&team.key)).await])
}

#[tokio::test(flavor = "multi_thread")]
async fn an_archive_restored_on_the_other_database_gives_the_same_board_to_the_last_digit() {
    let (secchi, team, other) = lived_in().await;
    let (before, owned) = (boards(&secchi).await, [own(&secchi, &team).await, own(&secchi, &other).await]);
    let entry = secchi.entries("/api/v1/leaderboard").await[0]["entry"].as_str().unwrap().to_owned();
    let record = bytes(&secchi, &record_of(&entry)).await;
    let (file, archive) = archived(&secchi.ground, &[]);
    assert_eq!(file.metadata().unwrap().permissions().mode() & 0o777, 0o600);
    assert_eq!((&archive["public"], &archive["tables"]["submissions"]["rows"]), (&json!(false), &json!(6)));
    assert_eq!(boards(&secchi).await, before, "archiving changed the board");

    let moved = Ground::sqlite();
    let said = restored(&moved, &file);
    assert_eq!(said["unfinished"], 1, "{said}");
    let (file, again) = archived(&moved, &[]);
    assert_eq!(sums(&again), sums(&archive));
    let back = Ground::new();
    restored(&back, &file);

    secchi.drain().await;
    let (drained, ended) = (boards(&secchi).await, own(&secchi, &team).await);
    assert_ne!(drained, before);
    for ground in [moved, back] {
        let here = Secchi::on(ground, by_name()).await;
        assert_eq!(boards(&here).await, before);
        assert_eq!([own(&here, &team).await, own(&here, &other).await], owned);
        let keys = KeySet::read(&bytes(&here, KEYS).await).unwrap();
        assert!(check(&record, Some(&keys)).unwrap().key_is_known);
        assert_eq!(bytes(&here, &record_of(&entry)).await, record);
        here.drain().await;
        assert_eq!(boards(&here).await, drained, "what waited ends as where it came from");
        assert_eq!(own(&here, &team).await, ended);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_was_being_judged_goes_on_where_it_was_and_nothing_is_asked_twice() {
    let judge = StandIn::start(60).await;
    let flags = judge.flags(4);
    let options = Options { judge: flags.clone(), ..by_name() };
    let (secchi, team) = Secchi::with_sample(options).await;
    let ground = secchi.stop().await;
    let mut server = Process::serve(&ground, "127.0.0.1:0", &flags);
    let strong = sample_bytes("predictions/strong_model.jsonl");
    let id = server.submit(&team, &metadata("Reef-8B"), strong).await;
    until("judging", async || judge.answered() >= 12).await;
    // The rest is not judged before the copy is made, however long that takes.
    judge.set_latency_ms(600_000);
    // The server works on meanwhile, and is gone afterwards.
    let (file, archive) = archived(&ground, &[]);
    server.kill();
    let stored = archive["tables"]["judgements"]["rows"].as_u64().unwrap();
    let total = judged_questions();
    assert!(stored >= 8 && stored < total, "{stored} of {total} judgements are in the archive");

    let moved = Ground::sqlite();
    assert_eq!(restored(&moved, &file)["unfinished"], 1);
    let (_, copy) = archived(&moved, &[]);
    assert_eq!(copy["tables"]["judge_claims"]["rows"], 0);
    judge.forget();
    judge.set_latency_ms(0);
    let server = Process::serve(&moved, "127.0.0.1:0", &flags);
    let submission = server.ended(&team, &id).await;
    assert_eq!(submission["state"], "scored", "{submission}");
    let (calls, left) = (judge.calls() as u64, total - stored);
    assert!(calls <= left, "{calls} calls for {left} answers");

    let undisturbed = StandIn::start(0).await;
    let options = Options { judge: undisturbed.flags(4), ..by_name() };
    let (secchi, team) = Secchi::with_sample(options).await;
    let expected = secchi.scored(&team, &metadata("Reef-8B"), "strong_model.jsonl").await;
    assert_eq!(submission["scores"], expected["scores"]);
}

/// Questions of the sample's test split that a judge scores.
fn judged_questions() -> u64 {
    let text = std::fs::read_to_string(sample("test.jsonl")).unwrap();
    text.lines().filter(|line| line.contains("\"open_ended\"")).count() as u64
}

#[derive(QueryableByName)]
struct Named {
    #[diesel(sql_type = Text)]
    name: String,
}

#[tokio::test(flavor = "multi_thread")]
async fn every_table_of_the_database_is_in_an_archive() {
    let (secchi, _) = Secchi::with_sample(by_name()).await;
    let (_, archive) = archived(&secchi.ground, &[]);
    let archived: Vec<&String> = archive["tables"].as_object().unwrap().keys().collect();
    let select = match secchi.ground.is_shared() {
        true => "SELECT tablename::text AS name FROM pg_tables WHERE schemaname = 'public'",
        false => "SELECT name FROM sqlite_master WHERE type = 'table'",
    };
    let select = format!("SELECT name FROM ({select}) AS tables WHERE name <> '__diesel_schema_migrations'");
    let mut found: Vec<Named> = match secchi.ground.is_shared() {
        true => {
            let mut connection = PgConnection::establish(&secchi.ground.database_url).unwrap();
            diesel::sql_query(select).load(&mut connection).unwrap()
        }
        false => {
            let mut connection = SqliteConnection::establish(&secchi.ground.database_url).unwrap();
            diesel::sql_query(select).load(&mut connection).unwrap()
        }
    };
    found.sort_by(|a, b| a.name.cmp(&b.name));
    let mut archived: Vec<&str> = archived.into_iter().map(String::as_str).collect();
    archived.sort_unstable();
    assert_eq!(archived, found.iter().map(|table| table.name.as_str()).collect::<Vec<_>>());
    assert!(archived.len() > 30, "{archived:?}");
}
