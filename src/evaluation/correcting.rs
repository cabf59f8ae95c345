//! A corrected release: what it changes and costs, staging it, and giving that up. What is published is then scored under it
//! in the background, until it is made the active one. Knows nothing of how entries are scored.

use std::collections::{BTreeMap, HashMap};

use serde::Serialize;

use crate::domain::actor::Actor;
use crate::domain::column::Column;
use crate::domain::question::Split;
use crate::domain::submission::{MetadataFault, notice_fault};
use crate::store::audit::insert_audit;
use crate::store::configurations::{ConfigurationRow, find_current_configuration, lock_configurations};
use crate::store::corrections::{
    CorrectionRow, find_correction, stage_release, unstage_releases, update_notice,
};
use crate::store::rejudgings::{
    Coverage, IncompleteEntry, add_coverage, load_incomplete_entries, revoke_rejudgers_of,
};
use crate::store::releases::{Release, find_active_release, find_release, load_keyed_questions};
use crate::store::scores::Under;
use crate::store::{DbConnection, Store, StoreError};

use super::board_scopes::load_scopes;
use super::catalogue::Catalogue;
use super::corrected::Corrected;
use super::correction_outlook::{Outlook, Standing, outlook};
use super::judges::{Judges, JudgesError};
use super::rejudging::settle_rejudgings;
use super::release_changes::{Difference, ReleaseChanges, changes};
use super::staging::StagingError;
use super::staging_cost::StagingCost;
use super::staging_moves::Move;

/// Why a release is no correction, or cannot be staged as one.
#[derive(Debug, thiserror::Error)]
pub enum CorrectionError {
    /// There is no such release.
    #[error(
        "there is no release `{0}` of `{1}`; `secchi dataset import` imports one, `secchi dataset list` shows all"
    )]
    Unknown(String, Split),
    /// Nothing is there to be corrected.
    #[error(
        "no release of `{0}` is active, so that there is nothing to correct; `secchi dataset activate` makes one active"
    )]
    NoneActive(Split),
    /// It is what would be corrected.
    #[error("`{0}` is the active release of `{1}` already; name the release that is to replace it")]
    Active(String, Split),
    /// It holds other questions.
    #[error(
        "`{name}` has no question in common with the active release `{active}`, so that no entry can follow to it; \
         `secchi dataset activate {name} --split {split}` begins a new board"
    )]
    Apart {
        /// The release.
        name: String,
        /// The active release.
        active: String,
        /// The split of both.
        split: Split,
    },
    /// There is nothing to give up.
    #[error("`{0}` of `{1}` is not staged")]
    NotStaged(String, Split),
    /// What was sent is faulty.
    #[error("the notice {}", .0.iter().map(|fault| fault.detail.as_str()).collect::<Vec<_>>().join("; "))]
    Faults(Vec<MetadataFault>),
    /// The cost cannot be worked out.
    #[error(transparent)]
    Cost(#[from] StagingError),
    /// The database failed.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// How far the published entries have come under a release that corrects the active one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, utoipa::ToSchema)]
pub struct CorrectionProgress {
    /// Published entries.
    pub entries: i64,
    /// Of these, entries that have complete scores under it.
    pub complete: i64,
    /// Of these, entries that wait to be scored under it.
    pub pending: i64,
    /// Of these, entries with answers that could not be judged under it.
    pub incomplete: i64,
    /// Whether none waits and the ranks that tests allow are worked out for its board.
    pub ranked: bool,
}

/// What correcting the active release by another one changes and costs, and how far it is.
#[derive(Debug, Clone, Serialize, utoipa::ToSchema)]
pub struct CorrectionView {
    /// The split.
    pub split: Split,
    /// The release that corrects.
    pub release: String,
    /// The active release, which it corrects.
    pub corrects: String,
    /// Whether what is published is scored under it.
    pub staged: bool,
    /// A maintainer's words, for readers of the board.
    pub notice: Option<String>,
    /// The questions that are different.
    pub changes: ReleaseChanges,
    /// Questions that are new: no entry was asked them, so that each counts as missing.
    pub new_questions: usize,
    /// Questions that were asked in other words or with other options: the answers to the former ones are scored.
    pub asked_otherwise: usize,
    /// How far it is.
    pub progress: CorrectionProgress,
    /// Entries with answers that could not be judged under it.
    pub incomplete_entries: Vec<IncompleteEntry>,
    /// Entries on the board whose rank or value in a column changes.
    pub moves: Vec<Move>,
    /// Answers that a judge has yet to score, by column; what moves in such a column is not known before.
    #[schema(value_type = BTreeMap<String, usize>)]
    pub waiting: BTreeMap<Column, usize>,
    /// What judging takes that is left.
    pub cost: StagingCost,
}

/// The release with this name and the active one, which it corrects.
fn find_pair(
    connection: &mut DbConnection,
    split: Split,
    name: &str,
) -> Result<(Release, Release), CorrectionError> {
    let unknown = || CorrectionError::Unknown(name.to_owned(), split);
    let release = find_release(connection, split, name)?.ok_or_else(unknown)?;
    let active = find_active_release(connection, split)?.ok_or(CorrectionError::NoneActive(split))?;
    if release.id == active.id {
        return Err(CorrectionError::Active(release.name, split));
    }
    Ok((release, active))
}

/// What is different from the active release to another one, which has some questions in common with it.
fn find_changes(
    connection: &mut DbConnection,
    release: &Release,
    active: &Release,
) -> Result<ReleaseChanges, CorrectionError> {
    let after = load_keyed_questions(connection, &release.id)?;
    let found = changes(&load_keyed_questions(connection, &active.id)?, &after);
    if found.count(Difference::Added) == after.len() {
        let (name, active) = (release.name.clone(), active.name.clone());
        return Err(CorrectionError::Apart { name, active, split: release.split });
    }
    Ok(found)
}

/// What is read at once for a view.
struct Found {
    release: Release,
    active: Release,
    changes: ReleaseChanges,
    notice: Option<String>,
    progress: CorrectionProgress,
    incomplete_entries: Vec<IncompleteEntry>,
    standing: Standing,
    current: ConfigurationRow,
}

fn find(connection: &mut DbConnection, split: Split, name: &str) -> Result<Found, CorrectionError> {
    let (release, active) = find_pair(connection, split, name)?;
    let current = find_current(connection)?;
    let [from, to] = [&active, &release].map(|release| Under::new(&release.id, &current.id));
    Ok(Found {
        changes: find_changes(connection, &release, &active)?,
        notice: find_correction(connection, &release.id)?.and_then(|row| row.notice),
        progress: progress_of(connection, &release, &active, &current.id)?,
        incomplete_entries: load_incomplete_entries(
            connection,
            std::slice::from_ref(&release.id),
            &current.id,
        )?,
        standing: Standing::load(connection, &active.line_id, [&from, &to])?,
        release,
        active,
        current,
    })
}

/// How far the published entries of a split have come under the release with this name.
///
/// # Errors
/// When it is no correction, or the database fails.
pub fn progress(
    connection: &mut DbConnection,
    split: Split,
    name: &str,
) -> Result<CorrectionProgress, CorrectionError> {
    let (release, active) = find_pair(connection, split, name)?;
    let current = find_current(connection)?;
    Ok(progress_of(connection, &release, &active, &current.id)?)
}

fn progress_of(
    connection: &mut DbConnection,
    release: &Release,
    active: &Release,
    configuration_id: &str,
) -> Result<CorrectionProgress, StoreError> {
    let mut coverage = HashMap::new();
    // It joins the line only when it is staged.
    let entries = add_coverage(connection, &active.line_id, &release.id, &mut coverage)?;
    let Coverage { complete, pending, incomplete } = coverage.remove(configuration_id).unwrap_or_default();
    let ranked = pending == 0 && {
        let (_, scopes) = load_scopes(connection, &release.id, configuration_id)?;
        scopes.iter().all(|seen| seen.stands)
    };
    Ok(CorrectionProgress { entries, complete, pending, incomplete, ranked })
}

fn find_current(connection: &mut DbConnection) -> Result<ConfigurationRow, CorrectionError> {
    let current = find_current_configuration(connection)?;
    Ok(current.ok_or(StagingError::Judges(JudgesError::NoneCurrent))?)
}

/// What correcting the active release of a split by the one with this name changes and costs, and how far it is;
/// `progress` is told how many entries of how many are foreseen.
///
/// # Errors
/// When it is no correction, stored answers cannot be read, or the database fails.
pub async fn correction(
    store: &Store,
    catalogue: &Catalogue,
    judges: &Judges,
    (split, name): (Split, String),
    progress: impl Fn(usize, usize),
) -> Result<CorrectionView, CorrectionError> {
    let found = store.snapshot(move |connection| find(connection, split, &name)).await?;
    let Found { release, active, changes, current, .. } = found;
    let corrects = catalogue.release(store, &active.id).await?;
    let corrected = Corrected::new(catalogue.release(store, &release.id).await?, &corrects, &changes);
    let by = (Under::new(&active.id, &current.id), &current);
    let Outlook { moves, waiting, cost } =
        outlook((store, catalogue, judges), split, corrected, by, found.standing, progress).await?;
    let is_otherwise = |difference: &Difference| {
        [Difference::Type, Difference::Question, Difference::Options].contains(difference)
    };
    let otherwise = changes.questions.iter().filter(|question| question.differences.iter().any(is_otherwise));
    Ok(CorrectionView {
        split,
        release: release.name,
        corrects: active.name,
        staged: release.staged,
        notice: found.notice,
        new_questions: changes.count(Difference::Added),
        asked_otherwise: otherwise.count(),
        changes,
        progress: found.progress,
        incomplete_entries: found.incomplete_entries,
        moves,
        waiting,
        cost,
    })
}

/// Stages a release as the correction of the active one: what is published is scored under it too. Another that was staged
/// is given up. A notice replaces the one before.
///
/// # Errors
/// When it is no correction, the notice is faulty, or the database fails.
pub async fn stage_correction(
    store: &Store,
    actor: &Actor,
    (split, name): (Split, String),
    notice: Option<String>,
    now_ms: i64,
) -> Result<(), CorrectionError> {
    let actor = actor.clone();
    let notice = notice.map(|notice| notice.trim().to_owned());
    if let Some(fault) = notice.as_deref().and_then(notice_fault) {
        return Err(CorrectionError::Faults(vec![fault]));
    }
    store
        .write(move |connection| {
            lock_configurations(connection)?;
            let (release, active) = find_pair(connection, split, &name)?;
            let known = find_correction(connection, &release.id)?;
            let former = known.and_then(|row| row.notice);
            let subject = format!("{split}/{name}");
            if release.staged {
                let Some(notice) = notice.filter(|notice| former.as_ref() != Some(notice)) else {
                    return Ok(());
                };
                update_notice(connection, &release.id, &notice)?;
                let action = (&actor, "update_correction", subject.as_str());
                insert_audit(connection, now_ms, action, former.as_deref(), Some(&notice))?;
                return Ok(());
            }
            let changes = find_changes(connection, &release, &active)?;
            let row = CorrectionRow {
                release_id: release.id.clone(),
                corrected_id: active.id.clone(),
                questions: i32::try_from(changes.questions.len()).unwrap_or(i32::MAX),
                changes: serde_json::json!(changes.by_column).to_string(),
                notice,
                staged_at_ms: now_ms,
                applied_at_ms: None,
            };
            stage_release(connection, &release, &active.line_id, &row)?;
            settle_rejudgings(connection, now_ms)?;
            let action = (&actor, "stage_correction", subject.as_str());
            let after = serde_json::json!({
                "corrects": active.name, "questions": row.questions, "notice": row.notice,
            });
            insert_audit(connection, now_ms, action, None, Some(&after.to_string()))?;
            Ok(())
        })
        .await
}

/// Gives up a staged correction. What was scored and judged under it stays, and is used again if it is staged again.
///
/// # Errors
/// When it is not staged, or the database fails.
pub async fn abandon_correction(
    store: &Store,
    actor: &Actor,
    (split, name): (Split, String),
    now_ms: i64,
) -> Result<(), CorrectionError> {
    let actor = actor.clone();
    store
        .write(move |connection| {
            // As where one is staged or made active: what is given up is what stands.
            lock_configurations(connection)?;
            let found = find_release(connection, split, &name)?;
            let release = found.ok_or_else(|| CorrectionError::Unknown(name.clone(), split))?;
            if !release.staged {
                return Err(CorrectionError::NotStaged(name, split));
            }
            revoke_rejudgers_of(connection, &release.id)?;
            unstage_releases(connection, split)?;
            settle_rejudgings(connection, now_ms)?;
            let subject = format!("{split}/{name}");
            let action = (&actor, "abandon_correction", subject.as_str());
            insert_audit(connection, now_ms, action, Some("staged"), None)?;
            Ok(())
        })
        .await
}
