//! How a judge configuration becomes staged, then current, then retired, and the way back. Knows nothing of how answers
//! are judged under it.

use serde::Serialize;

use crate::domain::actor::Actor;
use crate::domain::instant;
use crate::domain::submission::{SubmissionState, reason_fault};
use crate::store::audit::insert_audit;
use crate::store::configurations::{
    CURRENT, ConfigurationRow, STAGED, insert_configuration, load_configurations, lock_configurations,
    retire_configuration, update_configuration_state,
};
use crate::store::history::note_board_changes;
use crate::store::rejudgings::{load_coverage, revoke_rejudgers};
use crate::store::standing::{adopt_configuration, load_unjudged};
use crate::store::{DbConnection, Store, StoreError, bump_board_revision, leases, submissions};

use super::judges::{Judges, JudgesError};
use super::lifecycle::start_anew;
use super::rejudging::settle_rejudgings;
use super::staging_moves::{Move, rank_moves};
use super::validity::gate::{AgreementChange, agreement_change};

/// Why a configuration cannot be staged or made current.
#[derive(Debug, thiserror::Error)]
pub enum StagingError {
    /// There is none with this id.
    #[error("there is no judge configuration `{0}`; `secchi judge list` lists them")]
    Unknown(String),
    /// There is no submission with this id.
    #[error("there is no submission `{0}`")]
    UnknownSubmission(String),
    /// None is staged.
    #[error(
        "no judge configuration is staged; `secchi judge stage` stages the one that the settings describe"
    )]
    NothingStaged,
    /// The board would lose rows.
    #[error(
        "{missing} of {entries} published entries have no complete scores under `{id}`; \
         `secchi judge stage --configuration {id}` has them judged, and says how far it is and which answers are in the \
         way"
    )]
    Unjudged {
        /// The configuration.
        id: String,
        /// Entries without complete scores.
        missing: usize,
        /// All published entries.
        entries: i64,
    },
    /// It agrees less with people than the current one.
    #[error(
        "configuration `{id}` agrees less with people than the current one: {words}; `--accept-worse-agreement \"REASON\"` \
         makes it current all the same, and the reason stays in the audit log"
    )]
    WorseAgreement {
        /// The configuration.
        id: String,
        /// What is known, in words.
        words: String,
    },
    /// The reason for accepting that is none.
    #[error("the reason for a worse agreement {0}")]
    Reason(String),
    /// The configuration cannot be had or read.
    #[error(transparent)]
    Judges(#[from] JudgesError),
    /// The database failed.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// A judge configuration, and how far it has come with the published entries of active releases.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, utoipa::ToSchema)]
pub struct ConfigurationView {
    /// Hash of all that a judgement depends on.
    pub id: String,
    /// `offline` or `llm`.
    pub kind: String,
    /// The model that judges.
    pub model: String,
    /// `staged`, `current` or `retired`.
    pub state: String,
    /// When it was first seen.
    pub created_at: String,
    /// When it last ceased to be current, if it ever did.
    pub retired_at: Option<String>,
    /// Published entries.
    pub entries: i64,
    /// Of these, entries that have complete scores under it.
    pub complete: i64,
    /// Of these, entries that wait to be judged under it.
    pub pending: i64,
    /// Of these, entries with answers that could not be judged under it.
    pub incomplete: i64,
}

/// All judge configurations, oldest first.
///
/// # Errors
/// When the database fails.
pub fn configurations(connection: &mut DbConnection) -> Result<Vec<ConfigurationView>, StoreError> {
    let (entries, coverage) = load_coverage(connection)?;
    let view = |row: ConfigurationRow| {
        let coverage = coverage.get(&row.id).copied().unwrap_or_default();
        ConfigurationView {
            id: row.id,
            kind: row.kind,
            model: row.model,
            state: row.state,
            created_at: instant::rfc3339(row.created_at_ms),
            retired_at: row.retired_at_ms.map(instant::rfc3339),
            entries,
            complete: coverage.complete,
            pending: coverage.pending,
            incomplete: coverage.incomplete,
        }
    };
    Ok(load_configurations(connection)?.into_iter().map(view).collect())
}

/// The stored configuration with this id, or the one that the settings describe, which may not be stored yet.
///
/// # Errors
/// When there is none with the id, none is current, or the database fails.
pub async fn find_candidate(
    store: &Store,
    judges: &Judges,
    id: Option<String>,
    now_ms: i64,
) -> Result<ConfigurationRow, StagingError> {
    let known = store.read(load_configurations).await?;
    if !known.iter().any(ConfigurationRow::is_current) {
        return Err(JudgesError::NoneCurrent.into());
    }
    let wanted = match id {
        Some(id) => return known.into_iter().find(|row| row.id == id).ok_or(StagingError::Unknown(id)),
        None => judges.wanted_row(now_ms)?,
    };
    // A stored one has its fence's secret.
    Ok(known.into_iter().find(|row| row.id == wanted.id).unwrap_or(wanted))
}

/// Stages a configuration: from here on everything that is published is judged under it too. One that was staged before
/// is retired. Does nothing about one that is staged or current already.
///
/// # Errors
/// When the database fails.
pub async fn stage(
    store: &Store,
    actor: &Actor,
    candidate: ConfigurationRow,
    now_ms: i64,
) -> Result<(), StoreError> {
    let actor = actor.clone();
    store
        .write(move |connection| {
            let known = lock_configurations(connection)?;
            let before = known.iter().find(|row| row.id == candidate.id).map(|row| row.state.as_str());
            if [Some(CURRENT), Some(STAGED)].contains(&before) {
                return Ok(());
            }
            if let Some(other) = known.iter().find(|row| row.state == STAGED) {
                revoke_rejudgers(connection, &other.id)?;
                retire_configuration(connection, STAGED, now_ms)?;
            }
            match before {
                Some(_) => update_configuration_state(connection, &candidate.id, STAGED)?,
                None => insert_configuration(connection, &candidate)?,
            }
            settle_rejudgings(connection, now_ms)?;
            insert_audit(connection, now_ms, (&actor, "stage_judge", &candidate.id), before, Some(STAGED))
        })
        .await
}

/// What would come of making a configuration current.
#[derive(Debug, Clone, PartialEq, Serialize, utoipa::ToSchema)]
pub struct ActivationPreview {
    /// The configuration.
    pub configuration: String,
    /// Its model.
    pub model: String,
    /// The one that it replaces; null where it is current already.
    pub replaces: Option<String>,
    /// Published entries.
    pub entries: i64,
    /// Of these, entries without complete scores under it: while there are any, it cannot become current.
    pub missing: usize,
    /// Ranks that move, among the entries with complete scores under both.
    pub moves: Vec<Move>,
}

/// Says what would come of making a configuration current, the staged one unless another is named.
///
/// # Errors
/// When there is no such configuration, or the database fails.
pub fn preview_activation(
    connection: &mut DbConnection,
    id: Option<String>,
) -> Result<ActivationPreview, StagingError> {
    let known = load_configurations(connection)?;
    let (next, current) = pair(&known, id)?;
    let (configuration, model) = (next.id.clone(), next.model.clone());
    let replaces = (!next.is_current()).then(|| current.id.clone());
    let moves = match replaces {
        Some(_) => rank_moves(connection, &current.id, &next.id)?,
        None => Vec::new(),
    };
    let (entries, _) = load_coverage(connection)?;
    let missing = load_unjudged(connection, &configuration)?.len();
    Ok(ActivationPreview { configuration, model, replaces, entries, missing, moves })
}

/// The configuration that is to become current, the staged one unless another is named, and the one that is.
fn pair(
    known: &[ConfigurationRow],
    id: Option<String>,
) -> Result<(&ConfigurationRow, &ConfigurationRow), StagingError> {
    let of_state = |state: &str| known.iter().find(|row| row.state == state);
    let next = match id {
        Some(id) => known.iter().find(|row| row.id == id).ok_or(StagingError::Unknown(id))?,
        None => of_state(STAGED).ok_or(StagingError::NothingStaged)?,
    };
    Ok((next, of_state(CURRENT).ok_or(JudgesError::NoneCurrent)?))
}

/// What making a configuration current came to.
#[derive(Debug, Clone, PartialEq)]
pub struct Activated {
    /// The configuration that is current now.
    pub id: String,
    /// Its model.
    pub model: String,
    /// The one that it replaced; none if it was current already.
    pub retired: Option<String>,
    /// Submissions that were being graded or judged and start anew under it.
    pub restarted: usize,
    /// What is known of its agreement with people beside the other's; none if it was current already.
    pub agreement: Option<AgreementChange>,
}

/// Makes a configuration current in one step, the staged one unless another is named. The board is then what its scores
/// say; nothing is judged for it. One that agrees less with people than the current one needs a reason; where agreement is
/// not known, nothing is held against it.
///
/// # Errors
/// When there is no such configuration, a published entry lacks complete scores under it, it agrees less and no reason is
/// given, or the database fails.
pub async fn activate(
    store: &Store,
    actor: &Actor,
    id: Option<String>,
    accept_worse_agreement: Option<String>,
    now_ms: i64,
) -> Result<Activated, StagingError> {
    if let Some(fault) = accept_worse_agreement.as_deref().and_then(reason_fault) {
        return Err(StagingError::Reason(fault.detail));
    }
    let actor = actor.clone();
    store
        .write(move |connection| {
            let known = lock_configurations(connection)?;
            let (next, current) = pair(&known, id)?;
            let (id, model) = (next.id.clone(), next.model.clone());
            if next.is_current() {
                return Ok(Activated { id, model, retired: None, restarted: 0, agreement: None });
            }
            let missing = load_unjudged(connection, &id)?.len();
            if missing > 0 {
                let (entries, _) = load_coverage(connection)?;
                return Err(StagingError::Unjudged { id, missing, entries });
            }
            let agreement = agreement_change(connection, &id, &current.id)?;
            if agreement.is_worse() {
                let words = agreement.words();
                let Some(reason) = accept_worse_agreement else {
                    return Err(StagingError::WorseAgreement { id, words });
                };
                let subject = (&actor, "accept_worse_agreement", id.as_str());
                insert_audit(connection, now_ms, subject, Some(&words), Some(reason.trim()))?;
            }
            revoke_rejudgers(connection, &current.id)?;
            let restarted = restart_begun(connection, now_ms)?;
            retire_configuration(connection, CURRENT, now_ms)?;
            update_configuration_state(connection, &id, CURRENT)?;
            adopt_configuration(connection, &id)?;
            note_board_changes(connection, now_ms)?;
            settle_rejudgings(connection, now_ms)?;
            let subject = (&actor, "activate_judge", id.as_str());
            insert_audit(connection, now_ms, subject, Some(&current.id), Some(&id))?;
            bump_board_revision(connection)?;
            Ok(Activated {
                id,
                model,
                retired: Some(current.id.clone()),
                restarted,
                agreement: Some(agreement),
            })
        })
        .await
}

/// Puts what is being graded or judged back to the start; says how many there were.
fn restart_begun(connection: &mut DbConnection, now_ms: i64) -> Result<usize, StoreError> {
    let mut restarted = 0;
    for id in submissions::load_begun(connection)? {
        leases::revoke_lease(connection, &id)?;
        let begun = [SubmissionState::Grading, SubmissionState::Judging];
        if submissions::update_state(connection, &id, &begun, SubmissionState::Queued, now_ms)? {
            let submission = submissions::find_submission(connection, &id)?;
            start_anew(connection, &submission.ok_or(StoreError::missing("submission", &id))?)?;
            restarted += 1;
        }
    }
    Ok(restarted)
}
