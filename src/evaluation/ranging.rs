//! Comparing the entries of every board with each other in the background, wherever its rows changed: first those that
//! nobody has compared yet, then all anew, as a new entry moves the ranks of others. Whatever breaks off begins again, and
//! comes to the same. Knows nothing of the tests.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::watch;

use crate::domain::column::Column;
use crate::domain::question::Split;
use crate::scoring::standings::{Contest, Field, Walk};
use crate::store::configurations::{ConfigurationRow, load_configurations};
use crate::store::leases::{self, Lease, claim_lease, release_lease};
use crate::store::ranges::{
    BoardKey, RankedBoard, Scope, Standings, delete_standings, load_standings, save_ranked_board,
    save_standings,
};
use crate::store::rejudgings::has_pending;
use crate::store::releases::load_releases;
use crate::store::scores::{Under, load_outcomes};
use crate::store::{DbConnection, StoreError, bump_board_revision, load_board_revision};

use super::Evaluation;
use super::board_scopes::{Seen, load_scopes};
use super::catalogue::GradingRelease;
use super::holding::{LEASE_TTL_MS, fenced, heartbeat};
use super::work::WorkError;

/// Entries whose outcomes are read at once: some 4 MB.
const READ_AT_ONCE: usize = 200;

/// Entries that are compared with all others before anything else gets a turn: a fraction of a second.
const COMPARED_AT_ONCE: usize = 32;

/// Entries that are compared before all others are, at most; more of them are as soon done with all.
const NEW_AT_ONCE: usize = 200;

/// Rows that are written in one transaction.
const SAVED_AT_ONCE: usize = 500;

/// Works out the ranges of every board whose rows are not those for which they were worked out last, if no other process
/// does so.
///
/// # Errors
/// When it broke off; what stands stays, and the rest is worked out the next time.
pub async fn range_boards(
    evaluation: &Evaluation,
    owner: &str,
    stopping: &mut watch::Receiver<bool>,
) -> Result<(), WorkError> {
    // First: what changes later has a later revision.
    let revision = evaluation.store.read(load_board_revision).await?;
    if revision == evaluation.ranged_revision.load(Ordering::SeqCst) {
        return Ok(());
    }
    let (claimant, now_ms) = (owner.to_owned(), evaluation.clock.now_ms());
    let claimed: Result<Option<Lease>, StoreError> = evaluation
        .store
        .write_recoverable(move |connection| {
            claim_lease(connection, leases::RANGES, &claimant, now_ms, LEASE_TTL_MS)
        })
        .await;
    let Some(lease) = claimed? else { return Ok(()) };
    let ended = tokio::select! {
        ended = range_each(evaluation, &lease) => ended.map(|()| true),
        never = heartbeat(evaluation, &lease) => match never {},
        _stops = stopping.wait_for(|stop| *stop) => Ok(false),
    };
    let released: Result<(), StoreError> =
        evaluation.store.write_recoverable(move |connection| release_lease(connection, &lease)).await;
    released?;
    if ended? {
        evaluation.ranged_revision.store(revision, Ordering::SeqCst);
    }
    Ok(())
}

async fn range_each(evaluation: &Evaluation, lease: &Lease) -> Result<(), WorkError> {
    let boards: Result<Vec<(String, String)>, StoreError> = evaluation
        .store
        .read(|connection| {
            let mut releases = load_releases(connection)?;
            releases.retain(|release| (release.active || release.staged) && release.split != Split::Train);
            let mut judges = load_configurations(connection)?;
            judges.retain(ConfigurationRow::has_board);
            let mut boards = Vec::new();
            for release in &releases {
                // When a staged release becomes active, its ranges are there; before all its rows are, there is no hurry.
                if release.staged && has_pending(connection, &release.id)? {
                    continue;
                }
                let of_release = judges.iter().filter(|judge| release.active || judge.is_current());
                boards.extend(of_release.map(|judge| (release.id.clone(), judge.id.clone())));
            }
            Ok(boards)
        })
        .await;
    for (release_id, configuration_id) in boards? {
        let release = evaluation.catalogue.release(&evaluation.store, &release_id).await?;
        let field = Arc::new(Mutex::new(Field::new(&release.key.facts)));
        let positions = HashMap::new();
        let board = Board { evaluation, lease, release, configuration_id, field, positions };
        board.range().await?;
    }
    Ok(())
}

/// What was worked out for a scope.
#[derive(Clone)]
struct Found {
    standings: Vec<(String, Standings)>,
    smallest_difference: BTreeMap<Column, f64>,
}

/// A release under a judge configuration, with the outcomes that were read so far.
struct Board<'a> {
    evaluation: &'a Evaluation,
    lease: &'a Lease,
    release: Arc<GradingRelease>,
    configuration_id: String,
    field: Arc<Mutex<Field>>,
    /// Positions in the field by submission.
    positions: HashMap<String, usize>,
}

impl Board<'_> {
    async fn range(mut self) -> Result<(), WorkError> {
        let (mut revision, seen) = self.look().await?;
        if seen.iter().all(|seen| seen.stands) {
            return Ok(());
        }
        self.range_new(&seen).await?;
        let mut last: Option<(String, Found)> = None;
        for seen in seen.into_iter().filter(|seen| !seen.stands) {
            self.read(&seen.submission_ids).await?;
            let found = match last.take() {
                Some((fingerprint, found)) if fingerprint == seen.fingerprint => found,
                _ => self.range_all(&seen, &mut revision).await?,
            };
            self.save(&seen, found.clone()).await?;
            last = Some((seen.fingerprint, found));
        }
        Ok(())
    }

    /// The rows of either scope at present, and the board's revision.
    async fn look(&self) -> Result<(i64, [Seen; 2]), StoreError> {
        let (release_id, configuration_id) = self.key();
        self.evaluation
            .store
            .snapshot(move |connection| load_scopes(connection, &release_id, &configuration_id))
            .await
    }

    /// Reads the outcomes of those submissions that were not read yet.
    async fn read(&mut self, submission_ids: &[String]) -> Result<(), StoreError> {
        let unread: Vec<String> =
            submission_ids.iter().filter(|id| !self.positions.contains_key(*id)).cloned().collect();
        for chunk in unread.chunks(READ_AT_ONCE) {
            let (ids, (release_id, configuration_id)) = (chunk.to_vec(), self.key());
            let under = Under { release_id, configuration_id };
            let field = self.field.clone();
            let pushed: Result<usize, StoreError> = self
                .evaluation
                .store
                .read(move |connection| {
                    let outcomes = load_outcomes(connection, &ids, &under)?;
                    let mut field = lock(&field);
                    let first = field.len();
                    // One without outcomes has no value in any column.
                    ids.iter().for_each(|id| field.push(outcomes.get(id).map_or(&[], Vec::as_slice)));
                    Ok(first)
                })
                .await;
            self.positions.extend(chunk.iter().cloned().zip(pushed?..));
        }
        Ok(())
    }

    /// Compares those entries that nobody has compared yet, on boards that were compared before.
    async fn range_new(&mut self, seen: &[Seen]) -> Result<(), WorkError> {
        for seen in seen.iter().filter(|seen| !seen.stands) {
            let known = self.stored(seen.scope).await?;
            let is_new = |id: &&String| !known.contains_key(*id);
            let new: Vec<String> = seen.submission_ids.iter().rev().filter(is_new).cloned().collect();
            if known.is_empty() || new.is_empty() {
                continue;
            }
            self.read(&seen.submission_ids).await?;
            let entries: Vec<usize> = new.iter().take(NEW_AT_ONCE).map(|id| self.positions[id]).collect();
            let members = self.members(seen);
            let known: HashMap<usize, Standings> = known
                .into_iter()
                .filter_map(|(id, standings)| Some((*self.positions.get(&id)?, standings)))
                .collect();
            let compared = self.compute(move |field| compare_new(field, &entries, &members, &known)).await?;
            let standings = new.into_iter().zip(compared).collect();
            self.save_rows(seen.scope, standings, |_, _| Ok(())).await?;
        }
        Ok(())
    }

    /// Compares all entries with each other. Where others come meanwhile, they get their turn.
    async fn range_all(&mut self, seen: &Seen, revision: &mut i64) -> Result<Found, WorkError> {
        let members = self.members(seen);
        let mut standings: HashMap<usize, Standings> = HashMap::new();
        let mut smallest_difference = BTreeMap::new();
        for &column in Column::ALL {
            let of_column = members.clone();
            let (mut walk, smallest) = self
                .compute(move |field| {
                    let smallest = field.smallest_difference(column, &of_column);
                    (Walk::new(Contest::new(field, column, &of_column)), smallest)
                })
                .await?;
            smallest_difference.extend(smallest.map(|smallest| (column, smallest)));
            loop {
                let stepped = self.compute(move |field| {
                    let step = walk.step(field, COMPARED_AT_ONCE);
                    (walk, step)
                });
                let (walked, step) = stepped.await?;
                walk = walked;
                if step.is_empty() {
                    break;
                }
                for (entry, standing) in step {
                    standings.entry(entry).or_default().insert(column, standing);
                }
                if self.evaluation.store.read(load_board_revision).await? != *revision {
                    let (present, seen) = self.look().await?;
                    self.range_new(&seen).await?;
                    *revision = present;
                }
            }
        }
        let of_entry =
            |(id, entry): (&String, &usize)| (id.clone(), standings.remove(entry).unwrap_or_default());
        let standings = seen.submission_ids.iter().zip(&members).map(of_entry).collect();
        Ok(Found { standings, smallest_difference })
    }

    /// Stores what was found for a scope, and forgets those entries that are no longer in it.
    async fn save(&self, seen: &Seen, found: Found) -> Result<(), WorkError> {
        // Those that came meanwhile have been compared already.
        let (_, present) = self.look().await?;
        let of_scope = present.into_iter().filter(|other| other.scope == seen.scope);
        let mut kept: HashSet<String> = of_scope.flat_map(|present| present.submission_ids).collect();
        kept.extend(seen.submission_ids.iter().cloned());
        let stored = self.stored(seen.scope).await?;
        let gone: Vec<String> = stored.keys().filter(|id| !kept.contains(*id)).cloned().collect();
        let changed = found.standings.into_iter().filter(|(id, found)| stored.get(id) != Some(found));
        let smallest_difference = found.smallest_difference;
        let ranked = RankedBoard { fingerprint: seen.fingerprint.clone(), smallest_difference };
        self.save_rows(seen.scope, changed.collect(), move |connection, board| {
            for gone in gone.chunks(SAVED_AT_ONCE) {
                delete_standings(connection, board, &gone.iter().map(String::as_str).collect::<Vec<_>>())?;
            }
            save_ranked_board(connection, board, &ranked)
        })
        .await
    }

    /// Stores standings, and with the last of them what `end` does; boards show them from then on.
    async fn save_rows<F>(
        &self,
        scope: Scope,
        rows: Vec<(String, Standings)>,
        end: F,
    ) -> Result<(), WorkError>
    where
        F: FnOnce(&mut DbConnection, BoardKey<'_>) -> Result<(), StoreError> + Send + 'static,
    {
        for chunk in rows.chunks(SAVED_AT_ONCE) {
            let (rows, (release_id, configuration_id)) = (chunk.to_vec(), self.key());
            fenced(self.evaluation, self.lease, move |connection, _, _| {
                save_standings(connection, (&release_id, &configuration_id, scope), &rows)?;
                Ok(true)
            })
            .await?;
        }
        let (release_id, configuration_id) = self.key();
        fenced(self.evaluation, self.lease, move |connection, _, _| {
            end(connection, (&release_id, &configuration_id, scope))?;
            bump_board_revision(connection)?;
            Ok(true)
        })
        .await
    }

    /// How the entries of a scope stood when they were compared last.
    async fn stored(&self, scope: Scope) -> Result<HashMap<String, Standings>, StoreError> {
        let (release_id, configuration_id) = self.key();
        let read = move |connection: &mut DbConnection| {
            load_standings(connection, (&release_id, &configuration_id, scope))
        };
        self.evaluation.store.read(read).await
    }

    /// Works on the field where that keeps nobody waiting.
    async fn compute<T, F>(&self, work: F) -> Result<T, WorkError>
    where
        F: FnOnce(&Field) -> T + Send + 'static,
        T: Send + 'static,
    {
        let field = self.field.clone();
        Ok(tokio::task::spawn_blocking(move || work(&lock(&field))).await?)
    }

    /// The positions of a scope's entries, which were read before.
    fn members(&self, seen: &Seen) -> Vec<usize> {
        seen.submission_ids.iter().map(|id| self.positions[id]).collect()
    }

    /// The ids of the release and of the judge configuration.
    fn key(&self) -> (String, String) {
        (self.release.release.id.clone(), self.configuration_id.clone())
    }
}

/// How each of these entries stands in each column, given the standings of those that were compared before.
fn compare_new(
    field: &Field,
    entries: &[usize],
    members: &[usize],
    known: &HashMap<usize, Standings>,
) -> Vec<Standings> {
    let mut standings = vec![Standings::new(); entries.len()];
    for &column in Column::ALL {
        let mut contest = Contest::new(field, column, members);
        let tier_of = |entry: usize| Some(known.get(&entry)?.get(&column)?.tier);
        for (entry, standings) in entries.iter().zip(&mut standings) {
            standings.extend(contest.standing(field, *entry, tier_of).map(|standing| (column, standing)));
        }
    }
    standings
}

fn lock(field: &Mutex<Field>) -> MutexGuard<'_, Field> {
    field.lock().unwrap_or_else(PoisonError::into_inner)
}
