//! How a board would change under a corrected release, and what judging it takes: from stored scores where entries have them,
//! else foreseen from their outcomes under the release that is corrected. Asks no judge and stores nothing.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::sync::Arc;

use crate::domain::column::Column;
use crate::domain::outcome::Outcome;
use crate::domain::question::{Rubric, Split};
use crate::judge::{self, Configuration, TokenEstimate};
use crate::store::configurations::ConfigurationRow;
use crate::store::judgements::load_judged;
use crate::store::ranges::Scope;
use crate::store::scores::{Under, load_outcomes};
use crate::store::standing::{StandingRow, load_standing, load_unscored};
use crate::store::submissions::load_predictions;
use crate::store::{DbConnection, Store, StoreError};

use super::board_rows::in_scope;
use super::carrying::{in_order_of, unpacked};
use super::catalogue::{Catalogue, GradingRelease};
use super::corrected::Corrected;
use super::judges::{Judges, JudgesError};
use super::staging::StagingError;
use super::staging_cost::{Calls, StagingCost, configuration_of};
use super::staging_moves::{Move, column_moves};

/// Entries that are foreseen at a time: some megabytes of answers.
const BATCH: usize = 32;

/// What a correction changes and costs.
#[derive(Debug, Default)]
pub(super) struct Outlook {
    /// Ranks and values that change, in the order of columns and new ranks.
    pub(super) moves: Vec<Move>,
    /// Answers on the board that a judge has yet to score, by column; such a column has no moves.
    pub(super) waiting: BTreeMap<Column, usize>,
    /// What judging takes that is left.
    pub(super) cost: StagingCost,
}

/// The published entries of a board, as they are read at once.
pub(super) struct Standing {
    /// Those that have scores under the release that is corrected.
    rows: Vec<StandingRow>,
    /// Those that have them under the one that corrects.
    scored: Vec<StandingRow>,
    /// Those that have none under it.
    unscored: Vec<String>,
}

impl Standing {
    /// Reads the entries of a line, with their scores under a release and the one that corrects it.
    pub(super) fn load(
        connection: &mut DbConnection,
        line_id: &str,
        [from, to]: [&Under; 2],
    ) -> Result<Standing, StoreError> {
        Ok(Standing {
            rows: load_standing(connection, from)?,
            scored: load_standing(connection, to)?,
            unscored: load_unscored(connection, line_id, to)?,
        })
    }
}

/// Values by column, as far as columns stand.
type Values = Vec<(Column, f64)>;

/// What is foreseen of an entry.
struct Foreseen {
    submission_id: String,
    /// In the columns that can differ.
    values: Values,
    /// The places of answers that a judge has yet to score.
    waiting: Vec<usize>,
    /// Of each answer that a judge scores what it is told from others by, and what a call takes unless one was made.
    judged: Vec<(u64, Option<(Rubric, TokenEstimate)>)>,
}

/// What an entry is foreseen from.
struct Entry {
    submission_id: String,
    blob: Vec<u8>,
    sent_for: Arc<GradingRelease>,
    /// Under the release that is corrected.
    outcomes: Option<Vec<Outcome>>,
}

/// By what entries are foreseen.
struct Foresight {
    corrected: Corrected,
    /// What stands.
    from: Under,
    configuration: Configuration,
}

/// What changes on the board of a split from one release to the one that corrects it, both under the configuration
/// `current`; `progress` is told how many entries of how many are done.
pub(super) async fn outlook(
    (store, catalogue, judges): (&Store, &Catalogue, &Judges),
    split: Split,
    corrected: Corrected,
    (from, current): (Under, &ConfigurationRow),
    standing: Standing,
    progress: impl Fn(usize, usize),
) -> Result<Outlook, StagingError> {
    let Standing { rows, scored, unscored } = standing;
    let before = in_scope(rows, Scope::Newest);
    let on_board: HashMap<&str, &StandingRow> =
        before.iter().map(|row| (row.submission_id.as_str(), row)).collect();
    let mut after: HashMap<String, Values> =
        scored.into_iter().map(|row| (row.submission_id.clone(), values(&row))).collect();
    let by = Arc::new(Foresight { corrected, from, configuration: configuration_of(current)? });
    let mut waiting = BTreeMap::new();
    let mut cost = StagingCost { entries: unscored.len(), ..StagingCost::default() };
    let (mut calls, mut seen) = (Calls::of(store, current).await?, HashSet::new());
    for (done, ids) in unscored.chunks(BATCH).enumerate() {
        progress(done * BATCH, unscored.len());
        for entry in foreseen(store, catalogue, &by, ids.to_vec()).await? {
            cost.answers += entry.judged.len();
            for (_, call) in entry.judged.into_iter().filter(|(answer, _)| seen.insert(*answer)) {
                match call {
                    Some((rubric, tokens)) => calls.add(rubric, tokens),
                    None => cost.reused += 1,
                }
            }
            let Some(row) = on_board.get(entry.submission_id.as_str()) else { continue };
            for place in entry.waiting {
                let facts = by.corrected.release.key.facts[place];
                let waits = |column: &&Column| column.counts(facts.question_type, facts.camera);
                let columns = Column::ALL.iter().filter(waits);
                columns.for_each(|column| *waiting.entry(*column).or_default() += 1);
            }
            let mut values = values(row);
            values.retain(|(column, _)| !by.corrected.columns.contains(column));
            values.extend(entry.values);
            after.insert(entry.submission_id, values);
        }
    }
    let known = Column::ALL.iter().filter(|column| !waiting.contains_key(*column));
    let moves = known.flat_map(|column| {
        let now = before.iter().map(|row| value(&values(row), *column));
        let then = before.iter().map(|row| value(after.get(&row.submission_id)?, *column));
        column_moves(split, *column, &before, [now.collect(), then.collect()])
    });
    Ok(Outlook { moves: moves.collect(), waiting, cost: calls.priced(judges, cost) })
}

fn values(row: &StandingRow) -> Values {
    row.scores.iter().map(|score| (score.column, score.value)).collect()
}

fn value(values: &Values, wanted: Column) -> Option<f64> {
    values.iter().find(|(column, _)| *column == wanted).map(|(_, value)| *value)
}

/// Foresees entries.
async fn foreseen(
    store: &Store,
    catalogue: &Catalogue,
    by: &Arc<Foresight>,
    ids: Vec<String>,
) -> Result<Vec<Foreseen>, StagingError> {
    let from = by.from.clone();
    let found: Result<_, StoreError> = store
        .read(move |connection| {
            let outcomes = load_outcomes(connection, &ids, &from)?;
            let stored = |id: String| load_predictions(connection, &id).map(|stored| (id, stored));
            Ok((outcomes, ids.into_iter().map(stored).collect::<Result<Vec<_>, _>>()?))
        })
        .await;
    let (mut outcomes, stored) = found?;
    let mut entries = Vec::new();
    for (submission_id, (blob, sent_for)) in stored {
        let sent_for = catalogue.release(store, &sent_for).await?;
        let outcomes = outcomes.remove(&submission_id);
        entries.push(Entry { submission_id, blob, sent_for, outcomes });
    }
    let by = by.clone();
    store
        .read(move |connection| entries.into_iter().map(|entry| by.foresee(connection, entry)).collect())
        .await
}

impl Foresight {
    fn foresee(&self, connection: &mut DbConnection, entry: Entry) -> Result<Foreseen, StagingError> {
        let Entry { submission_id, blob, sent_for, outcomes } = entry;
        let release = &self.corrected.release;
        let answers = in_order_of(release, &sent_for, unpacked(&submission_id, &blob)?);
        let mut outcomes = self.corrected.outcomes(&answers, outcomes.as_deref());
        let (mut judged, mut waiting, mut pending) = (Vec::new(), Vec::new(), Vec::new());
        for (place, answer) in answers.iter().enumerate() {
            let (true, Some(answer)) = (release.key.is_judged(place), answer) else { continue };
            if judge::is_wordless(answer) {
                continue;
            }
            let answer = judge::normalise(answer);
            match outcomes[place] {
                Outcome::Pending => pending.push((place, answer)),
                _ => judged.push((mark(place, &answer), None)),
            }
        }
        let items: Vec<_> = pending
            .iter()
            .filter_map(|(place, answer)| Some((*place, release.key.item(*place, answer)?)))
            .map(|(place, item)| (place, judge::judgement_key(&item), item))
            .collect();
        let keys: Vec<String> = items.iter().map(|(_, key, _)| key.clone()).collect();
        let standing = load_judged(connection, &self.from.configuration_id, &keys)?;
        for (place, key, item) in items {
            let mut call = None;
            match standing.get(&key) {
                Some(scores) => outcomes[place] = Outcome::Rubric { scores: *scores },
                None => {
                    waiting.push(place);
                    let tokens = self.configuration.estimate(&item).map_err(JudgesError::from)?;
                    call = Some((item.rubric, tokens));
                }
            }
            judged.push((mark(place, item.answer), call));
        }
        Ok(Foreseen { submission_id, values: self.corrected.values(&outcomes), waiting, judged })
    }
}

/// Tells the answers to a question apart, and is short: a board has millions of them.
fn mark(place: usize, answer: &str) -> u64 {
    let mut hasher = DefaultHasher::new();
    (place, answer).hash(&mut hasher);
    hasher.finish()
}
