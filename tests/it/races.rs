//! Two who act at once: on PostgreSQL each waits behind a row or table that the test holds, so that they meet where they
//! would harm each other. On SQLite, which has one writer, the same holds without it.

use std::sync::Arc;
use std::time::{Duration, Instant};

use diesel::connection::SimpleConnection as _;
use diesel::prelude::*;
use diesel::sql_types::BigInt;
use diesel::{PgConnection, SqliteConnection, sql_query};
use reqwest::{Method, Response};
use serde_json::{Value, json};

use secchi::accounts::{self, AccountError, NewTeam};
use secchi::archive::restore_archive;
use secchi::benchmark::import::{NewRelease, import_release};
use secchi::domain::actor::Actor;
use secchi::domain::question::Split;
use secchi::domain::submission::Feedback;
use secchi::domain::team::Role;
use secchi::evaluation::correcting::{abandon_correction, stage_correction};
use secchi::store::Store;

use crate::archive::{archived, lived_in};
use crate::operations::application;
use crate::process::PATIENCE;
use crate::signup::audited;
use crate::support::{Ground, NOON_MS, Options, Secchi, TestTeam, metadata, sample_bytes};

#[derive(QueryableByName)]
struct Count {
    #[diesel(sql_type = BigInt)]
    count: i64,
}

/// What this holds others wait for; nothing on SQLite.
struct Hold(Option<Held>);

struct Held {
    holding: PgConnection,
    /// Sees what goes on outside the transaction that holds.
    looking: PgConnection,
}

impl Hold {
    fn of(ground: &Ground, statement: &str) -> Hold {
        let held = ground.is_shared().then(|| {
            let connect = || PgConnection::establish(&ground.database_url).unwrap();
            let (mut holding, looking) = (connect(), connect());
            holding.batch_execute(&format!("BEGIN; {statement}")).unwrap();
            Held { holding, looking }
        });
        Hold(held)
    }

    /// Waits until so many wait for a lock, or `is_over`.
    async fn until_waiting(&mut self, number: i64, is_over: impl Fn() -> bool) {
        let Some(Held { looking, .. }) = &mut self.0 else { return };
        let begun = Instant::now();
        loop {
            let waiting: Count = sql_query(
                "SELECT count(*) AS count FROM pg_stat_activity
                 WHERE datname = current_database() AND wait_event_type = 'Lock'",
            )
            .get_result(looking)
            .unwrap();
            if waiting.count >= number || is_over() {
                return;
            }
            assert!(begun.elapsed() < PATIENCE, "{} of {number} wait", waiting.count);
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    }

    fn release(self) {
        if let Some(Held { mut holding, .. }) = self.0 {
            holding.batch_execute("COMMIT").unwrap();
        }
    }
}

/// Lets both begin before either ends.
async fn at_once<A: Send + 'static, B: Send + 'static>(
    mut hold: Hold,
    first: impl Future<Output = A> + Send + 'static,
    second: impl Future<Output = B> + Send + 'static,
) -> (A, B) {
    let first = tokio::spawn(first);
    hold.until_waiting(1, || first.is_finished()).await;
    let second = tokio::spawn(second);
    hold.until_waiting(2, || second.is_finished()).await;
    hold.release();
    (first.await.unwrap(), second.await.unwrap())
}

fn execute(ground: &Ground, statements: &str) {
    match ground.database_url.strip_prefix("sqlite://") {
        Some(path) => SqliteConnection::establish(path).unwrap().batch_execute(statements).unwrap(),
        None => PgConnection::establish(&ground.database_url).unwrap().batch_execute(statements).unwrap(),
    }
}

fn send(
    secchi: &Secchi,
    (method, path): (Method, &str),
    key: &str,
    body: &Value,
) -> impl Future<Output = Response> + Send + use<> {
    let request = secchi.request(method, path, Some(key)).json(body);
    async move { request.send().await.unwrap() }
}

fn lease_of(id: &str) -> String {
    format!("SELECT 1 FROM leases WHERE name = '{id}' FOR UPDATE")
}

fn row_of(id: &str) -> String {
    format!("SELECT 1 FROM submissions WHERE id = '{id}' FOR UPDATE")
}

async fn published(secchi: &Secchi, team: &TestTeam, name: &str) -> String {
    secchi.scored(team, &metadata(name), "strong_model.jsonl").await["id"].as_str().unwrap().to_owned()
}

fn lines(secchi: &Secchi, action: &str) -> usize {
    audited(secchi).into_iter().filter(|(_, other, _)| other == action).count()
}

#[tokio::test(flavor = "multi_thread")]
async fn of_two_changes_of_an_entry_at_once_neither_undoes_the_other() {
    let (secchi, team) = Secchi::with_sample(Options::default()).await;
    let id = published(&secchi, &team, "Reef").await;
    let path = format!("/api/v1/submissions/{id}");
    let hidden = send(&secchi, (Method::PATCH, &path), &team.key, &json!({ "visibility": "private" }));
    let described = send(&secchi, (Method::PATCH, &path), &team.key, &json!({ "description": "New words" }));
    let hold = Hold::of(&secchi.ground, &row_of(&id));
    let (hidden, described) = at_once(hold, hidden, described).await;
    assert!(hidden.status().is_success() && described.status().is_success());
    let seen = secchi.get_json(&path, Some(&team.key)).await;
    assert_eq!((&seen["visibility"], &seen["description"]), (&json!("private"), &json!("New words")));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_submission_that_two_maintainers_try_again_at_once_is_charged_once() {
    let (secchi, team) = Secchi::with_sample(Options::default()).await;
    let maintainer = secchi.maintainer("harbour").await;
    let id = secchi.accepted(&team, &metadata("Reef"), "strong_model.jsonl").await;
    execute(
        &secchi.ground,
        &format!(
            "UPDATE submissions SET state = 'failed', finished_at_ms = created_at_ms WHERE id = '{id}';
             INSERT INTO quota_ledger (id, team_id, split, kind, amount, submission_id, reason, day, created_at_ms)
             SELECT 'refund', team_id, split, 'refund', amount, submission_id, reason, day, created_at_ms
             FROM quota_ledger WHERE submission_id = '{id}'"
        ),
    );
    assert_eq!(secchi.used_today(&team).await, 0);
    let path = format!("/api/v1/admin/submissions/{id}/retry");
    let retry = || send(&secchi, (Method::POST, &path), &maintainer.key, &json!({}));
    let (one, other) = at_once(Hold::of(&secchi.ground, &lease_of(&id)), retry(), retry()).await;
    let mut found = [one.status().as_u16(), other.status().as_u16()];
    found.sort_unstable();
    assert_eq!(found, [202, 409]);
    assert_eq!((secchi.used_today(&team).await, lines(&secchi, "retry_submission")), (1, 1));
}

#[tokio::test(flavor = "multi_thread")]
async fn of_two_reasons_for_a_withdrawal_the_first_stays() {
    let (secchi, team) = Secchi::with_sample(Options::default()).await;
    let id = published(&secchi, &team, "Reef").await;
    let path = format!("/api/v1/submissions/{id}/withdraw");
    let withdraw =
        |reason: &str| send(&secchi, (Method::POST, &path), &team.key, &json!({ "reason": reason }));
    let hold = Hold::of(&secchi.ground, &lease_of(&id));
    let (one, other) = at_once(hold, withdraw("Wrong weights."), withdraw("Wrong clips.")).await;
    let reason = match (one.status().as_u16(), other.status().as_u16()) {
        (200, 409) => "Wrong weights.",
        (409, 200) => "Wrong clips.",
        found => panic!("{found:?}"),
    };
    let seen = secchi.get_json(&format!("/api/v1/submissions/{id}"), Some(&team.key)).await;
    assert_eq!(seen["withdrawn_reason"], reason, "{seen}");
    assert_eq!(lines(&secchi, "withdraw_submission"), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn of_two_rotations_at_once_one_key_stays() {
    let (secchi, team) = Secchi::with_sample(Options::default()).await;
    let store = secchi.running.evaluation.store.clone();
    let rotate = || {
        let (store, slug) = (store.clone(), team.slug.clone());
        async move { accounts::rotate_key(&store, &Actor::command_line(), slug, NOON_MS).await.unwrap() }
    };
    let hold = Hold::of(&secchi.ground, "SELECT 1 FROM api_keys FOR UPDATE");
    let (one, other) = at_once(hold, rotate(), rotate()).await;
    let mut works = 0;
    for key in [&one, &other, &team.key] {
        works += usize::from(secchi.get("/api/v1/quota", Some(key)).await.status().is_success());
    }
    assert_eq!(works, 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_key_that_is_ended_makes_no_other_key() {
    let (secchi, team) = Secchi::with_sample(Options::default()).await;
    let new = json!({ "name": "stolen", "scope": "submit" });
    let made: Value =
        send(&secchi, (Method::POST, "/api/v1/keys"), &team.key, &new).await.json().await.unwrap();
    let (id, stolen) = (made["id"].as_str().unwrap(), made["api_key"].as_str().unwrap());
    let path = format!("/api/v1/keys/{id}");
    let revoke = send(&secchi, (Method::DELETE, &path), &team.key, &json!({}));
    let create =
        send(&secchi, (Method::POST, "/api/v1/keys"), stolen, &json!({ "name": "x", "scope": "submit" }));
    let hold = Hold::of(&secchi.ground, "SELECT 1 FROM teams FOR UPDATE");
    let (revoked, created) = at_once(hold, revoke, create).await;
    assert!(revoked.status().is_success());
    // Where nothing holds them up, the other key may have been made before this one was ended.
    let may_be_first = !secchi.ground.is_shared();
    assert!(may_be_first || created.status().is_client_error(), "{}", created.status());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_short_name_that_is_given_out_twice_at_once_is_told_to_be_taken() {
    let secchi = Secchi::start().await;
    let maintainer = secchi.maintainer("harbour").await;
    let asked = application("reef-crew");
    let applied = secchi.request(Method::POST, "/api/v1/signup", None).json(&asked).send().await.unwrap();
    let applied: Value = applied.json().await.unwrap();
    let path = format!("/api/v1/admin/signups/{}/approve", applied["id"].as_str().unwrap());
    let approve = send(&secchi, (Method::POST, &path), &maintainer.key, &json!({}));
    let store = secchi.running.evaluation.store.clone();
    let new = NewTeam { slug: "reef-crew".into(), name: "Other".into(), email: None, role: Role::Team };
    let create =
        async move { accounts::create_team(&store, &Actor::command_line(), new, NOON_MS).await.map(drop) };
    let hold = Hold::of(&secchi.ground, "LOCK TABLE teams IN SHARE ROW EXCLUSIVE MODE");
    let (created, approved) = at_once(hold, create, approve).await;
    match approved.status().as_u16() {
        409 => assert!(created.is_ok()),
        200 => assert!(matches!(created, Err(AccountError::Taken(_)))),
        other => panic!("{other}: {}", approved.text().await.unwrap()),
    }
}

/// The sample's test release without one question.
fn shorter(gone: usize) -> Vec<u8> {
    let text = String::from_utf8(sample_bytes("test.jsonl")).unwrap();
    let kept = text.lines().enumerate().filter(|(place, _)| *place != gone);
    kept.map(|(_, line)| format!("{line}\n")).collect::<String>().into_bytes()
}

#[tokio::test(flavor = "multi_thread")]
async fn giving_up_a_correction_leaves_the_one_that_was_staged_meanwhile() {
    let (secchi, team) = Secchi::with_sample(Options::default()).await;
    let maintainer = secchi.maintainer("harbour").await;
    let id = published(&secchi, &team, "Reef").await;
    secchi.import_as("first", Split::Test, &shorter(0)[..]).await;
    secchi.import_as("second", Split::Test, &shorter(1)[..]).await;
    let stage = |name: &str| {
        let (store, release) = (secchi.running.evaluation.store.clone(), (Split::Test, name.to_owned()));
        async move { stage_correction(&store, &Actor::command_line(), release, None, NOON_MS).await }
    };
    stage("first").await.unwrap();
    // Somebody scores the entry under it, so that giving it up takes the lease away.
    execute(
        &secchi.ground,
        &format!("UPDATE leases SET owner = 'a', expires_at_ms = 4e15 WHERE name = '{id}'"),
    );
    let store = secchi.running.evaluation.store.clone();
    let abandon = async move {
        abandon_correction(&store, &Actor::command_line(), (Split::Test, "first".to_owned()), NOON_MS).await
    };
    let hold = Hold::of(&secchi.ground, &lease_of(&id));
    let (_, staged) = at_once(hold, abandon, stage("second")).await;
    staged.unwrap();
    let releases = secchi.get_json("/api/v1/admin/releases", Some(&maintainer.key)).await;
    let second = releases["items"].as_array().unwrap().iter().find(|release| release["release"] == "second");
    assert_eq!(second.unwrap()["staged"], true, "{releases}");
}

/// Imports the sample's test release under a name.
fn import(store: &Store, name: &str) -> impl Future<Output = Result<bool, String>> + Send + use<> {
    let (store, name) = (store.clone(), name.to_owned());
    async move {
        let file = std::io::Cursor::new(sample_bytes("test.jsonl"));
        let new = NewRelease { name, split: Split::Test, feedback: Feedback::None, videos: None };
        let imported = import_release(&store, &Actor::command_line(), new, file, None, NOON_MS).await;
        imported.map(|imported| imported.already_there).map_err(|error| error.to_string())
    }
}

const HELD_RELEASES: &str = "LOCK TABLE releases IN SHARE ROW EXCLUSIVE MODE";

#[tokio::test(flavor = "multi_thread")]
async fn a_release_that_is_imported_twice_at_once_is_there_once() {
    let secchi = Secchi::start().await;
    let store = &secchi.running.evaluation.store;
    let hold = Hold::of(&secchi.ground, HELD_RELEASES);
    let found = at_once(hold, import(store, "sample"), import(store, "sample")).await;
    assert!(found == (Ok(false), Ok(true)) || found == (Ok(true), Ok(false)), "{found:?}");
    let hold = Hold::of(&secchi.ground, HELD_RELEASES);
    assert_eq!(at_once(hold, import(store, "b"), import(store, "c")).await, (Ok(false), Ok(false)));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_first_release_that_is_imported_while_the_first_server_starts_has_a_history() {
    let ground = Ground::new();
    let store = Store::open(&ground.database_url).await.unwrap();
    let hold = Hold::of(&ground, HELD_RELEASES);
    let starting = Secchi::on(ground, Options::default());
    let (imported, secchi) = at_once(hold, import(&store, "sample"), starting).await;
    assert_eq!(imported, Ok(false));
    let board = secchi.get_json("/api/v1/leaderboard?as_of=2099-01-01", None).await;
    assert_eq!(board["release"], "sample", "{board}");
}

#[tokio::test(flavor = "multi_thread")]
async fn ratings_that_are_imported_twice_at_once_are_there_once() {
    let (secchi, _) = Secchi::with_sample(Options::default()).await;
    let maintainer = secchi.maintainer("harbour").await;
    let post = |csv: String| {
        let request = secchi.request(Method::POST, "/api/v1/admin/ratings", Some(&maintainer.key));
        let request = request.header("Content-Type", "text/csv").body(csv);
        async move { request.send().await.unwrap() }
    };
    let csv = include_str!("../fixtures/human/ratings.csv");
    let table = "LOCK TABLE rating_studies IN SHARE ROW EXCLUSIVE MODE";
    let cut = |lines: usize| csv.lines().take(lines).map(|line| format!("{line}\n")).collect::<String>();
    for (one, other) in [(csv.to_owned(), csv.to_owned()), (cut(31), cut(61))] {
        let (one, other) = at_once(Hold::of(&secchi.ground, table), post(one), post(other)).await;
        for response in [one, other] {
            assert!(response.status().is_success(), "{}", response.text().await.unwrap());
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn of_two_restores_at_once_the_second_is_told_that_the_database_is_taken() {
    let (secchi, ..) = lived_in().await;
    let (file, _) = archived(&secchi.ground, &[]);
    let ground = Ground::new();
    Store::open(&ground.database_url).await.unwrap();
    let restore = || {
        let (url, file) = (ground.database_url.clone(), file.clone());
        async move {
            let actor = Actor::command_line();
            let restored = restore_archive(&url, file, (&actor, NOON_MS), Arc::default()).await;
            restored.map(drop).map_err(|error| error.to_string())
        }
    };
    let (one, other) = at_once(Hold::of(&ground, HELD_RELEASES), restore(), restore()).await;
    let refused = one.clone().err().or(other.clone().err()).unwrap();
    assert!(one.is_ok() != other.is_ok(), "{one:?} {other:?}");
    assert!(refused.contains("is not empty") || refused.contains("another server"), "{refused}");
}
