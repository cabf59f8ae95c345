//! Taking in a file of human ratings: whole or not at all, and the same file once. Knows nothing of what follows from it.

use sha2::{Digest as _, Sha256};

use crate::domain::actor::Actor;
use crate::domain::question::Split;
use crate::store::audit::insert_audit;
use crate::store::leases::{CALIBRATION, lock_lease};
use crate::store::ratings::{Rated, Study, activate_study, find_active_study, find_study, insert_study};
use crate::store::{Store, StoreError};

use super::super::catalogue::Catalogue;
use super::calibration_set::Questions;
use super::ratings_file::{ANSWER, RatingFault, read};

/// Characters of what says whose a file's scores are, at most.
const MAX_JUDGE_CHARS: usize = 100;

/// Why ratings were not imported.
#[derive(Debug, thiserror::Error)]
pub enum ImportRatingsError {
    /// The file is faulty.
    #[error("the file has {} fault(s); nothing was imported", .0.len())]
    Faulty(Vec<RatingFault>),
    /// What says whose the file's scores are is no name.
    #[error(
        "`{0}` says nothing of whose the judge scores are; give a configuration's id or a name of 1 to 100 characters"
    )]
    Judge(String),
    /// The database failed.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// What an import came to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ImportedRatings {
    /// The file by which agreement is measured now.
    pub study: Study,
    /// Whether anything changed.
    pub is_new: bool,
    /// Items that were rated.
    pub items: usize,
    /// Ratings of these.
    pub ratings: usize,
    /// Whether the rated answers are there, so that any configuration can be measured.
    pub has_answers: bool,
}

/// Imports a file, which is then the one by which agreement is measured. `judge` says whose the scores are that the file
/// holds. A file that was imported before becomes that one again; if it is already, nothing happens.
///
/// # Errors
/// With every fault of the file, also where a question is not of the type whose dimension was rated, or where its answer is
/// there and no active release has it.
pub async fn import_ratings(
    store: &Store,
    catalogue: &Catalogue,
    bytes: &[u8],
    judge: Option<String>,
    actor: &Actor,
    now_ms: i64,
) -> Result<ImportedRatings, ImportRatingsError> {
    if let Some(wrong) = judge.as_ref().filter(|judge| !is_name(judge)) {
        return Err(ImportRatingsError::Judge(wrong.escape_debug().to_string()));
    }
    let bytes = bytes.to_vec();
    let parsed = tokio::task::spawn_blocking(move || (read(&bytes), hex::encode(Sha256::digest(&bytes))));
    let (file, content_sha256) = parsed.await.map_err(StoreError::from)?;
    let file = file.map_err(ImportRatingsError::Faulty)?;
    let questions = Questions::load(store, catalogue).await?;
    let faults = question_faults(&file.items, &questions);
    if !faults.is_empty() {
        return Err(ImportRatingsError::Faulty(faults));
    }
    let has_answers = file.has_answers();
    let rated: Vec<Rated> = file.items.into_iter().map(|(_, rated)| rated).collect();
    let (items, ratings) = (rated.len(), rated.iter().map(|rated| rated.ratings.len()).sum());
    let actor = actor.clone();
    store
        .write(move |connection| {
            // Of two imports at once the second finds the first; nor does a run of the judge begin between.
            lock_lease(connection, CALIBRATION)?;
            let before = find_active_study(connection)?;
            let known = find_study(connection, &content_sha256)?;
            if let Some(study) = known.as_ref().filter(|study| study.active && study.judge == judge) {
                return Ok(ImportedRatings {
                    study: study.clone(),
                    is_new: false,
                    items,
                    ratings,
                    has_answers,
                });
            }
            let mut study = match known {
                Some(study) => study,
                None => {
                    let id = uuid::Uuid::now_v7().to_string();
                    let created_at_ms = now_ms;
                    let study = Study { id, content_sha256, judge: None, active: false, created_at_ms };
                    insert_study(connection, &study, &rated)?;
                    study
                }
            };
            activate_study(connection, &study.id, judge.as_deref())?;
            (study.active, study.judge) = (true, judge);
            let after = format!("{ratings} ratings of {items} items");
            let subject = (&actor, "import_ratings", study.id.as_str());
            insert_audit(
                connection,
                now_ms,
                subject,
                before.as_ref().map(|study| study.id.as_str()),
                Some(&after),
            )?;
            Ok(ImportedRatings { study, is_new: true, items, ratings, has_answers })
        })
        .await
}

fn is_name(judge: &str) -> bool {
    let chars = judge.chars().count();
    !judge.trim().is_empty() && chars <= MAX_JUDGE_CHARS && !judge.chars().any(char::is_control)
}

/// Items whose question cannot have been rated so.
fn question_faults(items: &[(u64, Rated)], questions: &Questions) -> Vec<RatingFault> {
    let fault = |(line, rated): &(u64, Rated)| {
        let id = rated.question_id.escape_debug();
        let wanted = rated.dimension.question_type();
        match questions.question_type(&rated.question_id) {
            Some(found) if found != wanted => {
                let detail = format!(
                    "`{}` rates answers to questions of type `{wanted}`, and `{id}` is of type `{found}`; mend one of them",
                    rated.dimension
                );
                Some(RatingFault { line: *line, column: Some("dimension"), detail })
            }
            None if rated.answer.is_some() => {
                let detail = format!(
                    "`{id}` is in no active release of {} or {}, so that no judge can be asked about its answer; import the \
                     release first, or leave out the column `{ANSWER}`",
                    Split::Test,
                    Split::Val
                );
                Some(RatingFault { line: *line, column: Some("question_id"), detail })
            }
            _ => None,
        }
    };
    items.iter().filter_map(fault).collect()
}
