//! What it costs to look at a corrected release of a large board before it is staged. The database is SQLite, or that of
//! `SECCHI_TEST_DATABASE_URL`.

use std::time::Instant;

use clap::{Args as _, Command, FromArgMatches as _};
use secchi::accounts::{NewTeam, create_team};
use secchi::benchmark::import::{NewRelease, import_release};
use secchi::config::JudgeSettings;
use secchi::domain::actor::Actor;
use secchi::domain::outcome::Outcome;
use secchi::domain::question::Split;
use secchi::domain::submission::{Feedback, Visibility};
use secchi::domain::team::Role;
use secchi::evaluation::catalogue::{Catalogue, GradingRelease};
use secchi::evaluation::correcting::correction;
use secchi::evaluation::grading::grade;
use secchi::evaluation::judges::Judges;
use secchi::judge::{judgement_key, normalise};
use secchi::predictions::{Limits, read};
use secchi::scoring::columns::score_columns;
use secchi::store::configurations::{CURRENT, ConfigurationRow, insert_configuration};
use secchi::store::judgements::{JudgementRow, insert_judgements};
use secchi::store::scores::{Score, Under, save_outcomes};
use secchi::store::{Store, StoreError};
use secchi::telemetry::Metrics;
use serde_json::Value;

use crate::board::{Entry, entry_id, insert_entry};
use crate::published::new_database;
use crate::scaled::Scaled;

const ENTRIES: usize = 2000;

/// Files with answers of their own.
const FILES: usize = 20;

/// One question of so many is different.
const EVERY: usize = 201;

/// Of one file: the answers as stored, and what they come to.
struct File {
    blob: Vec<u8>,
    outcomes: Vec<Outcome>,
    scores: Vec<Score>,
    judgements: Vec<JudgementRow>,
}

/// Measures the dry run of a correction.
pub async fn dry_run(scaled: &Scaled) {
    let folder = tempfile::TempDir::new().unwrap();
    let address = match std::env::var("SECCHI_TEST_DATABASE_URL") {
        Ok(server) => new_database(&server),
        Err(_) => format!("sqlite://{}", folder.path().join("corrected.db").display()),
    };
    let store = Store::open(&address).await.unwrap();
    let settings = JudgeSettings::augment_args(Command::new("bench")).get_matches_from(["bench"]);
    let settings = JudgeSettings::from_arg_matches(&settings).unwrap();
    let judges = Judges::alone(&settings, Metrics::new(false).unwrap().into()).unwrap();
    let configuration = ConfigurationRow { state: CURRENT.into(), ..judges.wanted_row(0).unwrap() };
    seed(&store, scaled, configuration).await;
    let corrected = corrected(&scaled.records);
    import(&store, "corrected", &corrected).await;
    let started = Instant::now();
    let view =
        correction(&store, &Catalogue::default(), &judges, (Split::Test, "corrected".into()), |_, _| ())
            .await
            .unwrap();
    let took = started.elapsed().as_secs_f64();
    println!(
        "correction foreseen {took:8.2} s     {ENTRIES} entries, {} questions, {} calls, {} places move",
        view.changes.questions.len(),
        view.cost.calls,
        view.moves.len()
    );
}

async fn import(store: &Store, name: &str, records: &[u8]) -> String {
    let new = NewRelease { name: name.into(), split: Split::Test, feedback: Feedback::None, videos: None };
    import_release(store, &Actor::command_line(), new, records, None, 0).await.unwrap().release.id
}

async fn seed(store: &Store, scaled: &Scaled, configuration: ConfigurationRow) {
    let release_id = import(store, "scaled", &scaled.records).await;
    let team = NewTeam { slug: "bench".into(), name: "Bench".into(), email: None, role: Role::Team };
    let (team, _) = create_team(store, &Actor::command_line(), team, 0).await.unwrap();
    let release = GradingRelease::new(scaled.release.clone(), scaled.keyed.clone()).unwrap();
    let answers =
        read(scaled.jsonl.as_slice(), &scaled.index, &Limits { max_bytes: 64 << 20 }).unwrap().answers;
    let files: Vec<File> =
        (0..FILES).map(|number| file(&release, &answers, &configuration.id, number)).collect();
    let seeded: Result<(), StoreError> = store
        .write_recoverable(move |connection| {
            insert_configuration(connection, &configuration)?;
            for file in &files {
                insert_judgements(connection, file.judgements.clone())?;
            }
            for number in 0..ENTRIES {
                let file = &files[number % FILES];
                let entry = Entry {
                    number,
                    team_id: &team.id,
                    release_id: &release_id,
                    configuration_id: &configuration.id,
                    visibility: Visibility::Public,
                    answers: &file.blob,
                };
                insert_entry(connection, &entry, &file.scores)?;
                let under = Under::new(&release_id, &configuration.id);
                save_outcomes(connection, &entry_id(number), &under, &file.outcomes)?;
            }
            Ok(())
        })
        .await;
    seeded.unwrap();
}

fn file(release: &GradingRelease, answers: &[Option<String>], configuration_id: &str, number: usize) -> File {
    let key = &release.key;
    let answers: Vec<Option<String>> = answers
        .iter()
        .enumerate()
        .map(|(place, answer)| match key.item(place, "") {
            Some(_) => answer
                .as_ref()
                .map(|answer| format!("{answer} It is seen {} times.", "again ".repeat(number))),
            None if place % FILES == number => None,
            None => answer.clone(),
        })
        .collect();
    let mut outcomes = grade(key, &answers).outcomes;
    let mut judgements = Vec::new();
    for place in 0..outcomes.len() {
        let answer = normalise(answers[place].as_deref().unwrap_or_default());
        let (Outcome::Pending, Some(item)) = (outcomes[place], key.item(place, &answer)) else { continue };
        outcomes[place] = Outcome::Rubric { scores: [(place % 6) as u8, (number % 6) as u8, 3] };
        judgements.push(JudgementRow {
            configuration_id: configuration_id.to_owned(),
            key: judgement_key(&item),
            vote: 0,
            question_id: item.question_id.to_owned(),
            scores: format!("[{},{},3]", place % 6, number % 6),
            explanations: "[null,null,null]".into(),
            answered_model: String::new(),
            prompt_tokens: 0,
            cached_tokens: 0,
            completion_tokens: 0,
            cost_usd: 0.0,
            created_at_ms: 0,
        });
    }
    let scored = score_columns("scaled", &key.facts, &outcomes).unwrap().into_iter();
    let scores = scored
        .map(|score| Score { column: score.column, value: score.value, ci95: score.ci95, n: score.n as i32 })
        .collect();
    let blob = zstd::encode_all(serde_json::to_vec(&answers).unwrap().as_slice(), 1).unwrap();
    File { blob, outcomes, scores, judgements }
}

/// The release with other letters and references here and there.
fn corrected(records: &[u8]) -> Vec<u8> {
    let mut lines = Vec::new();
    for (number, line) in records.split(|byte| *byte == b'\n').filter(|line| !line.is_empty()).enumerate() {
        let mut record: Value = serde_json::from_slice(line).unwrap();
        if number % EVERY == 0 {
            let other = record["options"].as_array().and_then(|options| {
                options.iter().find(|option| option["label"] != record["answer"]).cloned()
            });
            match other {
                Some(other) => {
                    (record["answer"], record["answer_text"]) =
                        (other["label"].clone(), other["text"].clone());
                }
                None => record["answer_text"] = "A yellow grouper rests on sand.".into(),
            }
        }
        serde_json::to_writer(&mut lines, &record).unwrap();
        lines.push(b'\n');
    }
    lines
}
