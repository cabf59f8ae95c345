//! What the entries of a board come to under a corrected release: from their stored scores where they have them, else graded
//! anew, with the judgements that stand. Asks no judge and stores nothing.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use crate::domain::column::Column;
use crate::domain::outcome::Outcome;
use crate::domain::question::Split;
use crate::judge;
use crate::store::judgements::load_judged;
use crate::store::ranges::Scope;
use crate::store::scores::{Score, Under};
use crate::store::standing::{StandingRow, load_standing};
use crate::store::{Store, StoreError};

use super::board_rows::in_scope;
use super::carrying::{Answers, carried};
use super::catalogue::{Catalogue, GradingRelease};
use super::ending::columns;
use super::grading::grade;
use super::staging_moves::{Move, column_moves};
use super::work::WorkError;

/// How a board would change.
#[derive(Debug, Default)]
pub(super) struct Moves {
    /// Ranks and values that change, in the order of columns and new ranks.
    pub(super) moves: Vec<Move>,
    /// Answers of entries whose scores are not known before a judge gives them, by column; such a column has no moves.
    pub(super) waiting: BTreeMap<Column, usize>,
}

/// What changes on the board of a split from one release to another.
pub(super) async fn correction_moves(
    store: &Store,
    catalogue: &Catalogue,
    split: Split,
    [from, to]: [&Under; 2],
) -> Result<Moves, WorkError> {
    let (standing, scored) = (from.clone(), to.clone());
    let found: Result<(Vec<StandingRow>, Vec<StandingRow>), StoreError> = store
        .snapshot(move |connection| {
            Ok((load_standing(connection, &standing)?, load_standing(connection, &scored)?))
        })
        .await;
    let (standing, scored) = found?;
    let mut scored: HashMap<String, Vec<Score>> =
        scored.into_iter().map(|row| (row.submission_id, row.scores)).collect();
    let before = in_scope(standing, Scope::Newest);
    let mut after = before.clone();
    let mut waiting = BTreeMap::new();
    for row in &mut after {
        row.scores = match scored.remove(&row.submission_id) {
            Some(scores) => scores,
            None => foreseen(store, catalogue, &row.submission_id, to, &mut waiting).await?,
        };
    }
    let known = Column::ALL.iter().filter(|column| !waiting.contains_key(*column));
    let moves = known.flat_map(|column| column_moves(split, *column, &before, &after)).collect();
    Ok(Moves { moves, waiting })
}

/// The columns that stand without a call to the judge; counts the answers that others wait for.
async fn foreseen(
    store: &Store,
    catalogue: &Catalogue,
    submission_id: &str,
    under: &Under,
    waiting: &mut BTreeMap<Column, usize>,
) -> Result<Vec<Score>, WorkError> {
    let (release, answers) = carried(store, catalogue, submission_id, &under.release_id).await?;
    let of_release = release.clone();
    let (mut outcomes, pending) = tokio::task::spawn_blocking(move || graded(&of_release, &answers)).await?;
    let (configuration_id, keys) =
        (under.configuration_id.clone(), pending.values().cloned().collect::<Vec<_>>());
    let judged: Result<HashMap<String, [u8; 3]>, StoreError> =
        store.read(move |connection| load_judged(connection, &configuration_id, &keys)).await;
    let judged = judged?;
    for (place, key) in pending {
        match judged.get(&key) {
            Some(scores) => outcomes[place] = Outcome::Rubric { scores: *scores },
            None => {
                let facts = release.key.facts[place];
                let waits = |column: &&Column| column.counts(facts.question_type, facts.camera);
                Column::ALL.iter().filter(waits).for_each(|column| *waiting.entry(*column).or_default() += 1);
            }
        }
    }
    Ok(tokio::task::spawn_blocking(move || columns(&release, &outcomes)).await??)
}

/// The outcomes of answers, and by their places the keys of those that a judge scores.
fn graded(release: &Arc<GradingRelease>, answers: &Answers) -> (Vec<Outcome>, HashMap<usize, String>) {
    let outcomes = grade(&release.key, answers).outcomes;
    let mut pending = HashMap::new();
    for (place, _) in outcomes.iter().enumerate().filter(|(_, outcome)| **outcome == Outcome::Pending) {
        let answer = answers.get(place).and_then(Option::as_deref).map(judge::normalise).unwrap_or_default();
        if let Some(item) = release.key.item(place, &answer) {
            pending.insert(place, judge::judgement_key(&item));
        }
    }
    (outcomes, pending)
}
