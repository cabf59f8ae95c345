//! Boards of made-up entries, straight in the ledger.

use secchi::accounts::{NewTeam, create_team};
use secchi::benchmark::import::{NewRelease, import_release};
use secchi::domain::actor::Actor;
use secchi::domain::column::Column;
use secchi::domain::question::Split;
use secchi::domain::submission::{Access, Feedback, Metadata, SubmissionState, Visibility};
use secchi::domain::team::Role;
use secchi::evaluation::board_query::{BoardQuery, BoardQueryError};
use secchi::evaluation::standing::leaderboard;
use secchi::store::accepting::{NewSubmission, insert_submission};
use secchi::store::configurations::{CURRENT, ConfigurationRow, insert_configuration};
use secchi::store::scores::{Answered, Score, Under, save_scores};
use secchi::store::submissions::{update_graded, update_state};
use secchi::store::{DbConnection, Store, StoreError};

use crate::scaled::Scaled;

const CONFIGURATION: &str = "bench";

/// The board that everyone sees first.
pub fn query() -> BoardQuery {
    BoardQuery { all: true, ..BoardQuery::of(Split::Test) }
}

/// A ledger with so many published entries.
pub async fn ledger_of(entries: usize, scaled: &Scaled, folder: &std::path::Path) -> Store {
    let store = Store::open(&format!("sqlite://{}", folder.join("board.db").display())).await.unwrap();
    let new =
        NewRelease { name: "scaled".into(), split: Split::Test, feedback: Feedback::None, videos: None };
    let imported = import_release(&store, &Actor::command_line(), new, scaled.records.as_slice(), None, 0)
        .await
        .unwrap();
    let team = NewTeam { slug: "bench".into(), name: "Bench".into(), email: None, role: Role::Team };
    let (team, _) = create_team(&store, &Actor::command_line(), team, 0).await.unwrap();
    let seeded: Result<(), StoreError> = store
        .write(move |connection| {
            let configuration = ConfigurationRow {
                id: CONFIGURATION.into(),
                kind: "offline".into(),
                model: "offline".into(),
                text: "{}".into(),
                state: CURRENT.into(),
                created_at_ms: 0,
                retired_at_ms: None,
            };
            insert_configuration(connection, &configuration)?;
            let by = |number| Entry {
                number,
                team_id: &team.id,
                release_id: &imported.release.id,
                configuration_id: CONFIGURATION,
                visibility: Visibility::Public,
                answers: &[],
            };
            (0..entries).try_for_each(|number| insert_entry(connection, &by(number), &made_up(number)))
        })
        .await;
    seeded.unwrap();
    store
}

/// A scored submission, and whose it is.
pub struct Entry<'a> {
    pub number: usize,
    pub team_id: &'a str,
    pub release_id: &'a str,
    pub configuration_id: &'a str,
    pub visibility: Visibility,
    /// As they are stored.
    pub answers: &'a [u8],
}

/// The id of a scored submission.
pub fn entry_id(number: usize) -> String {
    format!("00000000-0000-7000-8000-{number:012}")
}

fn made_up(number: usize) -> Vec<Score> {
    let score = |(place, column): (usize, &Column)| {
        let value = ((number * 7919 + place * 104_729) % 1000) as f64 / 10.0;
        Score { column: *column, value, ci95: [value, value], n: 500 }
    };
    Column::ALL.iter().enumerate().map(score).collect()
}

pub fn insert_entry(
    connection: &mut DbConnection,
    entry: &Entry<'_>,
    scores: &[Score],
) -> Result<(), StoreError> {
    let metadata = Metadata {
        split: Split::Test,
        model_name: format!("Model {}", entry.number),
        access: Access::Open,
        parameters_b: Some(8.0),
        backbone: Some("ViT".into()),
        description: None,
        paper_url: None,
        code_url: None,
        visibility: entry.visibility,
        anonymous_until: None,
    };
    let new = NewSubmission {
        id: entry_id(entry.number),
        team_id: entry.team_id.into(),
        release_id: entry.release_id.into(),
        content_sha256: String::new(),
        questions: 4020,
        answered: 4020,
        warnings: Vec::new(),
        created_at_ms: entry.number as i64,
    };
    insert_submission(connection, &new, &metadata, entry.answers)?;
    update_graded(connection, &new.id, entry.configuration_id, 0, &[])?;
    update_state(connection, &new.id, &[SubmissionState::Queued], SubmissionState::Scored, 0)?;
    let under = Under::new(entry.release_id, entry.configuration_id);
    let of = Answered { questions: 4020, answered: 4020, unparsed: 0 };
    save_scores(connection, &new.id, &under, scores, of, true)
}

/// Builds the board from the ledger and writes it as JSON; gives its size.
pub async fn rebuild(store: &Store) -> usize {
    let built: Result<usize, BoardQueryError> = store
        .read(|connection| {
            let board = leaderboard(connection, &query())?;
            Ok(serde_json::to_vec(&board).unwrap().len())
        })
        .await;
    built.unwrap()
}
