//! One submission as a maintainer sees it, and what a maintainer does about it.

use std::collections::BTreeMap;

use actix_web::web;
use serde::Deserialize;

use super::desk::{self, LISTED, Stood};
use super::flags::answers;
use super::history::last_acts;
use super::submission_page::{self, Beside};
use crate::administration::flags::{QueuedFlagView, list_flags};
use crate::administration::notes::{self, NoteError};
use crate::evaluation::deciding::{self, DecisionError, NewDecision};
use crate::evaluation::failed_answers::{FailedAnswer, failed_answers};
use crate::evaluation::lifecycle::{self, LifecycleError, find_any_submission};
use crate::evaluation::series::{SeriesError, tell_scores};
use crate::evaluation::waiting::queue_place;
use crate::store::anew::find_anew;
use crate::store::flag_queue::FlagFilter;
use crate::store::listings::load_failure_reasons;
use crate::store::notes::load_notes;
use crate::store::rejudgings::load_incomplete;
use crate::store::scores::Under;
use crate::store::submissions::Submission;
use crate::store::{DbConnection, StoreError};
use crate::web::Pages;
use crate::web::refusal::{Refusal, Shown, html, see_other};
use crate::web::session::{Posted, Session};
use crate::web::sign_in::Nothing;
use crate::web::submission_page::Seen;
use crate::web::submissions::{Withdrawal, seen};

/// Flagged answers that the page shows.
const FLAGGED: i64 = 20;

pub(super) async fn show(pages: web::Data<Pages>, session: Session, id: web::Path<String>) -> Shown {
    session.needs_maintainer()?;
    page(&pages, &session, &desk::id(&id)?, None).await
}

pub(super) async fn retry(
    pages: web::Data<Pages>,
    Posted { session, .. }: Posted<Nothing>,
    id: web::Path<String>,
) -> Shown {
    session.needs_maintainer()?;
    let (id, actor) = (desk::id(&id)?, session.principal.actor());
    let retried = lifecycle::retry_submission(&pages.evaluation, &actor, &id).await;
    changed(&pages, &session, &id, retried).await
}

pub(super) async fn withdraw(
    pages: web::Data<Pages>,
    Posted { session, form }: Posted<Withdrawal>,
    id: web::Path<String>,
) -> Shown {
    session.needs_maintainer()?;
    let (id, actor) = (desk::id(&id)?, session.principal.actor());
    let withdrawn = lifecycle::withdraw_submission(&pages.evaluation, None, &actor, &id, &form.reason).await;
    changed(&pages, &session, &id, withdrawn).await
}

/// A decision as it is typed: beside the named fields, a number for each criterion.
#[derive(Deserialize)]
pub(super) struct DecisionForm {
    question_id: String,
    reason: String,
    configuration: String,
    #[serde(flatten)]
    criteria: BTreeMap<String, String>,
}

impl DecisionForm {
    fn decision(self) -> NewDecision {
        // What is no number at all is refused as a number that is too large.
        let score = |text: &str| text.trim().parse().unwrap_or(u8::MAX);
        let given = self.criteria.into_iter().filter(|(_, text)| !text.is_empty());
        NewDecision {
            question_id: self.question_id,
            criteria: given.map(|(name, text)| (name, score(&text))).collect(),
            reason: self.reason,
            configuration: Some(self.configuration),
        }
    }
}

pub(super) async fn decide(
    pages: web::Data<Pages>,
    Posted { session, form }: Posted<DecisionForm>,
    id: web::Path<String>,
) -> Shown {
    session.needs_maintainer()?;
    let (id, actor) = (desk::id(&id)?, session.principal.actor());
    let stood = match deciding::decide(&pages.evaluation, &actor, &id, form.decision()).await {
        Ok(_) => return Ok(see_other(&address(&id))),
        Err(DecisionError::Unknown(_)) => return Err(Refusal::not_found()),
        Err(DecisionError::Store(error)) => return Err(error.into()),
        Err(DecisionError::Work(error)) => return Err(Refusal::Inside(error.to_string())),
        Err(DecisionError::Faults(faults)) => Stood::faults(&faults),
        Err(error) => Stood::conflict(error),
    };
    page(&pages, &session, &id, Some(stood)).await
}

/// Why scores that were withheld are told.
#[derive(Deserialize)]
pub(super) struct Telling {
    reason: String,
}

pub(super) async fn tell(
    pages: web::Data<Pages>,
    Posted { session, form }: Posted<Telling>,
    id: web::Path<String>,
) -> Shown {
    session.needs_maintainer()?;
    let (id, actor) = (desk::id(&id)?, session.principal.actor());
    let stood = match tell_scores(&pages.evaluation, &actor, &id, &form.reason).await {
        Ok(()) => return Ok(see_other(&address(&id))),
        Err(SeriesError::Store(error)) => return Err(error.into()),
        Err(SeriesError::Faults(faults)) => Stood::faults(&faults),
        Err(error @ SeriesError::Unknown(_)) => Stood::conflict(error),
    };
    page(&pages, &session, &id, Some(stood)).await
}

/// A note as it is typed.
#[derive(Deserialize)]
pub(super) struct NoteForm {
    text: String,
}

pub(super) async fn add_note(
    pages: web::Data<Pages>,
    Posted { session, form }: Posted<NoteForm>,
    id: web::Path<String>,
) -> Shown {
    session.needs_maintainer()?;
    let (store, now_ms) = (&pages.evaluation.store, pages.evaluation.clock.now_ms());
    let (id, text) = (desk::id(&id)?, form.text.replace("\r\n", "\n"));
    let stood = match notes::add_note(store, &session.principal.actor(), &id, &text, now_ms).await {
        Ok(_) => return Ok(see_other(&address(&id))),
        Err(NoteError::Unknown(_)) => return Err(Refusal::not_found()),
        Err(NoteError::Store(error)) => return Err(error.into()),
        Err(error @ NoteError::Fault(_)) => Stood::faulty(error),
    };
    page(&pages, &session, &id, Some(stood)).await
}

async fn changed(
    pages: &Pages,
    session: &Session,
    id: &str,
    change: Result<Submission, LifecycleError>,
) -> Shown {
    let stood = match change {
        Ok(_) => return Ok(see_other(&address(id))),
        Err(LifecycleError::Faults(faults)) => Stood::faults(&faults),
        Err(error @ (LifecycleError::State { .. } | LifecycleError::Withdrawn)) => Stood::conflict(error),
        Err(error) => return Err(error.into()),
    };
    page(pages, session, id, Some(stood)).await
}

fn address(id: &str) -> String {
    format!("/admin/submissions/{id}")
}

async fn page(pages: &Pages, session: &Session, id: &str, stood: Option<Stood>) -> Shown {
    let evaluation = &pages.evaluation;
    let submission = find_any_submission(evaluation, id).await?;
    let queue = queue_place(evaluation, &submission).await?;
    let own = id.to_owned();
    let found: Result<(Seen, Beside), StoreError> = evaluation
        .store
        .read(move |connection| {
            let mut reasons = load_failure_reasons(connection, &[&own])?;
            let beside = Beside {
                queue,
                reasons: reasons.remove(&own).unwrap_or_default(),
                stuck_under: {
                    let mut under = load_incomplete(connection, &own)?;
                    under.dedup_by(|one, other| one.configuration_id == other.configuration_id);
                    under.into_iter().map(|under| under.configuration_id).collect()
                },
                anew: match Under::of(&submission) {
                    Some(under) => find_anew(connection, &own, &under)?,
                    None => None,
                },
                flags: raised(connection, &own)?,
                notes: load_notes(connection, &own)?,
                failed: Vec::new(),
                answers: Vec::new(),
                acts: last_acts(connection, Some(&own))?,
            };
            Ok((seen(connection, submission)?, beside))
        })
        .await;
    let (seen, mut beside) = found?;
    beside.failed = failed(pages, &seen.submission, &beside.stuck_under).await?;
    beside.answers = answers(pages, &seen.submission, FLAGGED).await?;
    let status = Stood::status(stood.as_ref());
    Ok(html(status, submission_page::page(session, &seen, &beside, stood.as_ref())))
}

/// The flags that were raised on a submission, of all kinds.
fn raised(connection: &mut DbConnection, id: &str) -> Result<Vec<QueuedFlagView>, StoreError> {
    let filter = FlagFilter { subject: Some(id), ..FlagFilter::default() };
    list_flags(connection, filter, None, LISTED)
}

/// The failed answers under the submission's own configuration, and under those for which it is rejudged.
async fn failed(
    pages: &Pages,
    submission: &Submission,
    stuck_under: &[String],
) -> Result<Vec<FailedAnswer>, Refusal> {
    let mut failed = Vec::new();
    let others = stuck_under.iter().filter(|other| submission.configuration_id.as_ref() != Some(*other));
    for configuration in std::iter::once(None).chain(others.map(|other| Some(other.clone()))) {
        match failed_answers(&pages.evaluation, &submission.id, configuration).await {
            Ok(found) => failed.extend(found),
            // It was changed since it was looked at.
            Err(DecisionError::NotJudged(_)) => {}
            Err(DecisionError::Store(error)) => return Err(error.into()),
            Err(error) => return Err(Refusal::Inside(error.to_string())),
        }
    }
    Ok(failed)
}
