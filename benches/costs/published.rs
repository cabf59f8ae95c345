//! A server on PostgreSQL with 10,000 published submissions of 200 teams: what its board costs, and how soon one more is
//! on it. The database is that of `SECCHI_TEST_DATABASE_URL`, beside others (`.ci/with-services`).

use std::process::Command;
use std::time::{Duration, Instant};

use diesel::connection::SimpleConnection as _;
use diesel::{Connection as _, PgConnection};
use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{Rng as _, SeedableRng as _};
use secchi::accounts::{NewTeam, create_team};
use secchi::benchmark::import::{NewRelease, import_release};
use secchi::domain::actor::Actor;
use secchi::domain::choice::{Choice, Reason};
use secchi::domain::column::Column;
use secchi::domain::outcome::Outcome;
use secchi::domain::question::{QuestionFormat, Split};
use secchi::domain::submission::{Feedback, Visibility};
use secchi::domain::team::Role;
use secchi::evaluation::catalogue::GradingRelease;
use secchi::scoring::columns::QuestionFacts;
use secchi::scoring::rubric::oemu_value;
use secchi::store::configurations::find_current_configuration;
use secchi::store::ranges::{Scope, find_ranked_board};
use secchi::store::scores::{Score, Under, save_outcomes};
use secchi::store::{Store, StoreError, bump_board_revision};
use serde_json::json;

use crate::board::{Entry, entry_id, insert_entry};
use crate::process::{Process, bare_server, start};
use crate::scaled::Scaled;
use crate::{MIB, load, milliseconds};

const ENTRIES: usize = 10_000;
const TEAMS: usize = 200;

/// Entries that are written in one transaction.
const CHUNK: usize = 500;

const BOARD: &str = "/api/v1/leaderboard";

/// What browsers take.
const COMPRESSED: &str = "Accept-Encoding: gzip, br\r\n";

/// How long anything may take before the bench gives up.
const PATIENCE: Duration = Duration::from_secs(600);

/// A ledger with its entries, and one more that is private.
struct Published {
    store: Store,
    database_url: String,
    release_id: String,
    configuration_id: String,
    /// Of the team of the private one.
    key: String,
    private_id: String,
}

/// Measures, where there is a PostgreSQL.
pub async fn ten_thousand(scaled: &Scaled) {
    let Ok(server) = std::env::var("SECCHI_TEST_DATABASE_URL") else {
        println!(
            "10,000 published    skipped: there is no SECCHI_TEST_DATABASE_URL (.ci/with-services gives one)"
        );
        return;
    };
    let data = tempfile::TempDir::new().unwrap();
    let ledger = Published::seed(new_database(&server), scaled, data.path()).await;
    let server = serve(&ledger.database_url, data.path());
    let started = Instant::now();
    let first = ledger.until_ranked(None).await;
    println!("all compared        {:8.1} s     {ENTRIES} entries", started.elapsed().as_secs_f64());
    println!("memory              {:8.1} MiB  once all are compared", server.resident("VmRSS") / MIB);
    requests(&server.address).await;
    println!("memory              {:8.1} MiB  serving them  (below 500)", server.resident("VmRSS") / MIB);
    ledger.publish(&server.address).await;
    ledger.until_ranked(Some(&first)).await;
    println!("memory peak         {:8.1} MiB  over all of this  (below 500)", server.resident("VmHWM") / MIB);
}

/// The address of a database of its own on a server.
pub fn new_database(server: &str) -> String {
    let name = format!("bench{}", uuid::Uuid::now_v7().simple());
    let mut connection = PgConnection::establish(server).unwrap();
    connection.batch_execute(&format!("CREATE DATABASE {name}")).unwrap();
    let (base, _) = server.rsplit_once('/').unwrap();
    format!("{base}/{name}")
}

fn serve(database_url: &str, data: &std::path::Path) -> Process {
    let mut command = Command::new(env!("CARGO_BIN_EXE_secchi"));
    command.args(["serve", "--listen", "127.0.0.1:0", "--metrics-listen", "127.0.0.1:0"]);
    command.args(["--http-rate-per-minute", "0", "--database-url", database_url]);
    if let Ok(redis_url) = std::env::var("SECCHI_TEST_REDIS_URL") {
        command.args(["--redis-url", &redis_url]);
    }
    start(command.arg("--data-dir").arg(data))
}

/// The board from memory: first byte, and answers a second against a bare handler that sends the same bytes.
async fn requests(address: &str) {
    let url = format!("http://{address}{BOARD}");
    let asked = Instant::now();
    let plain = reqwest::get(&url).await.unwrap().bytes().await.unwrap();
    println!("board built         {:8.1} ms    {} bytes", milliseconds(asked.elapsed()), plain.len());
    let coded = reqwest::Client::new().get(&url).header("Accept-Encoding", "gzip, br").send().await.unwrap();
    let coded = coded.bytes().await.unwrap();
    println!("board compressed    {:8.1} ms    {} bytes", milliseconds(asked.elapsed()), coded.len());
    for (name, headers) in [("plain", ""), ("compressed", COMPRESSED)] {
        let median = load::first_byte(address, BOARD, headers).await;
        println!("first byte          {:8.3} ms    {name}, median  (below 1)", milliseconds(median));
    }
    let bare = bare_server(&coded);
    let (mut best_board, mut best_bare) = (0.0_f64, 0.0_f64);
    for _ in 0..3 {
        best_bare = best_bare.max(load::requests_per_second(&bare.address, "/", "").await);
        best_board = best_board.max(load::requests_per_second(address, BOARD, COMPRESSED).await);
    }
    println!(
        "board requests      {best_board:8.0} a second    bare handler {best_bare:.0}    ratio {:.2}  (at least 0.8)",
        best_board / best_bare
    );
}

impl Published {
    async fn seed(database_url: String, scaled: &Scaled, data: &std::path::Path) -> Published {
        // The first start makes the tables and the judge configuration.
        drop(serve(&database_url, data));
        let store = Store::open(&database_url).await.unwrap();
        let new =
            NewRelease { name: "scaled".into(), split: Split::Test, feedback: Feedback::None, videos: None };
        let imported =
            import_release(&store, &Actor::command_line(), new, scaled.records.as_slice(), None, 0)
                .await
                .unwrap();
        let current = store.read(find_current_configuration).await.unwrap().unwrap();
        let (mut teams, mut keys) = (Vec::new(), Vec::new());
        for number in 0..TEAMS {
            let (slug, name) = (format!("team-{number}"), format!("Team {number}"));
            let new = NewTeam { slug, name, email: None, role: Role::Team };
            let (team, key) = create_team(&store, &Actor::command_line(), new, 0).await.unwrap();
            teams.push(team.id);
            keys.push(key);
        }
        let (release_id, configuration_id) = (imported.release.id, current.id);
        let facts = GradingRelease::new(scaled.release.clone(), scaled.keyed.clone()).unwrap().key.facts;
        for first in (0..=ENTRIES).step_by(CHUNK) {
            let (teams, facts) = (teams.clone(), facts.clone());
            let (release_id, configuration_id) = (release_id.clone(), configuration_id.clone());
            let seeded: Result<(), StoreError> = store
                .write_recoverable(move |connection| {
                    for number in first..(first + CHUNK).min(ENTRIES + 1) {
                        let entry = Entry {
                            number,
                            team_id: &teams[number % TEAMS],
                            release_id: &release_id,
                            configuration_id: &configuration_id,
                            visibility: visibility(number),
                            answers: &[],
                        };
                        let outcomes = outcomes(&facts, number);
                        insert_entry(connection, &entry, &scores(&facts, &outcomes))?;
                        let under = Under::new(&release_id, &configuration_id);
                        save_outcomes(connection, &entry_id(number), &under, &outcomes)?;
                    }
                    bump_board_revision(connection)
                })
                .await;
            seeded.unwrap();
        }
        let (key, private_id) = (keys.swap_remove(ENTRIES % TEAMS), entry_id(ENTRIES));
        Published { store, database_url, release_id, configuration_id, key, private_id }
    }

    /// Waits until all entries are compared in both scopes, for other rows than those of this fingerprint; gives theirs.
    async fn until_ranked(&self, before: Option<&str>) -> String {
        let asked = Instant::now();
        while asked.elapsed() < PATIENCE {
            let (release_id, configuration_id) = (self.release_id.clone(), self.configuration_id.clone());
            let found = self.store.read(move |connection| {
                find_ranked_board(connection, (&release_id, &configuration_id, Scope::All))
            });
            if let Some(ranked) = found.await.unwrap()
                && before != Some(ranked.fingerprint.as_str())
            {
                return ranked.fingerprint;
            }
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
        panic!("the entries were not compared within {} s", PATIENCE.as_secs());
    }

    /// Publishes the private entry, and waits until the board shows it and then its rank range.
    async fn publish(&self, address: &str) {
        let http = reqwest::Client::new();
        let board = async || {
            let answer = http.get(format!("http://{address}{BOARD}")).send().await.unwrap();
            String::from_utf8(answer.bytes().await.unwrap().to_vec()).unwrap()
        };
        let shown = format!("\"entry\":\"{}\"", self.private_id);
        let without_range = format!("\"rank_range\":null,\"tier\":null,{shown}");
        assert!(!board().await.contains(&shown), "it is private");
        let asked = Instant::now();
        let changed = http
            .patch(format!("http://{address}/api/v1/submissions/{}", self.private_id))
            .bearer_auth(&self.key)
            .json(&json!({ "visibility": "public" }));
        assert!(changed.send().await.unwrap().status().is_success());
        let mut seen = None;
        while asked.elapsed() < PATIENCE {
            let body = board().await;
            if body.contains(&shown) {
                seen.get_or_insert(asked.elapsed());
                if !body.contains(&without_range) {
                    break;
                }
            }
        }
        let visible = seen.map_or(f64::NAN, |seen| seen.as_secs_f64());
        println!("one more visible    {visible:8.2} s     after it was published  (below 1)");
        println!(
            "one more ranged     {:8.2} s     after it was published  (below 10)",
            asked.elapsed().as_secs_f64()
        );
    }
}

fn visibility(number: usize) -> Visibility {
    if number < ENTRIES { Visibility::Public } else { Visibility::Private }
}

/// Answers of a model that is as good as its number says.
fn outcomes(facts: &[QuestionFacts], number: usize) -> Vec<Outcome> {
    let mut random = ChaCha8Rng::seed_from_u64(number as u64);
    let skill = 30 + (number * 7919 % 690) as u64 / 10;
    let mut is_right = || random.next_u64() % 100 < skill;
    let mut outcome = |facts: &QuestionFacts| match facts.question_type.format() {
        QuestionFormat::MultipleChoice => {
            Outcome::Choice { choice: Choice::letter('A', Reason::LabelOnly), correct: is_right() }
        }
        QuestionFormat::OpenEnded => {
            let mut criterion = || (0..5).map(|_| u8::from(is_right())).sum();
            Outcome::Rubric { scores: [criterion(), criterion(), criterion()] }
        }
    };
    facts.iter().map(&mut outcome).collect()
}

/// The values that these outcomes have, with made-up intervals: a bootstrap for each would take minutes.
fn scores(facts: &[QuestionFacts], outcomes: &[Outcome]) -> Vec<Score> {
    let value_in = |column: &Column, outcome: &Outcome| match (outcome, column.caption_dimension()) {
        (Outcome::Choice { correct, .. }, _) => 100.0 * f64::from(u8::from(*correct)),
        (Outcome::Rubric { scores }, Some(dimension)) => f64::from(scores[dimension.criterion()]),
        (Outcome::Rubric { scores }, None) => oemu_value(*scores),
        _ => 0.0,
    };
    let mean = |column: &Column| {
        let counted: Vec<f64> = facts
            .iter()
            .zip(outcomes)
            .filter(|(facts, _)| column.counts(facts.question_type, facts.camera))
            .map(|(_, outcome)| value_in(column, outcome))
            .collect();
        counted.iter().sum::<f64>() / counted.len() as f64
    };
    let value = |column: &Column| match column {
        Column::Mcq => Column::PERCENT.iter().map(mean).sum::<f64>() / Column::PERCENT.len() as f64,
        _ => mean(column),
    };
    let score = |column: &Column| {
        let value = value(column);
        Score { column: *column, value, ci95: [value * 0.97, value * 1.01], n: 500 }
    };
    Column::ALL.iter().map(score).collect()
}
