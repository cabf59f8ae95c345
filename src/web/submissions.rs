//! A team's submissions as pages: the list, one of them, its progress, and what its team decides about it.

use actix_web::http::StatusCode;
use actix_web::{HttpRequest, HttpResponse, web};
use serde::Deserialize;
use serde_json::json;
use uuid::Uuid;

use super::Pages;
use super::refusal::{Refusal, Shown, html, see_other};
use super::session::{Posted, Session};
use super::sign_in::Nothing;
use super::submission_decisions::Details;
use super::submission_list;
use super::submission_page::{self, Beside, Seen, Word};
use super::submission_state;
use crate::domain::key::Scope;
use crate::domain::submission::Visibility;
use crate::evaluation::Evaluation;
use crate::evaluation::anonymity::{create_reviewers_link, end_reviewers_link};
use crate::evaluation::board_rows::{ScoreCells, score_cells};
use crate::evaluation::lifecycle::{self, LifecycleError, SubmissionChange};
use crate::evaluation::report::{Report, ReportError, report};
use crate::evaluation::series::withheld_warning;
use crate::evaluation::standing::JudgeHead;
use crate::evaluation::waiting::queue_place;
use crate::store::configurations::load_configuration;
use crate::store::decisions::load_decisions;
use crate::store::reviewers::find_link;
use crate::store::scores::{Under, find_rejudged_at_ms, load_scores};
use crate::store::submissions::{Submission, load_submissions};
use crate::store::{DbConnection, StoreError};

/// Submissions on one page of the list.
const LISTED: i64 = 50;

/// Below which item a page of a list begins.
#[derive(Deserialize)]
pub(super) struct Before {
    before: Option<String>,
}

impl Before {
    /// The id below which the page begins, if it is not the first.
    pub(super) fn id(&self) -> Result<Option<String>, Refusal> {
        let Some(text) = &self.before else { return Ok(None) };
        Ok(Some(Uuid::parse_str(text).map_err(|_| Refusal::not_found())?.to_string()))
    }
}

pub(super) async fn list(pages: web::Data<Pages>, session: Session, before: web::Query<Before>) -> Shown {
    let before = before.id()?;
    let team_id = session.principal.team.id.clone();
    let found: Result<Vec<Seen>, StoreError> = pages
        .evaluation
        .store
        .read(move |connection| {
            let found = load_submissions(connection, Some(&team_id), before.as_deref(), LISTED + 1)?;
            found.into_iter().map(|submission| seen(connection, submission)).collect()
        })
        .await;
    let mut items = found?;
    let more = items.len() > LISTED as usize;
    items.truncate(LISTED as usize);
    Ok(html(StatusCode::OK, submission_list::page(&session, &items, more)))
}

/// How a browser came to a submission.
#[derive(Deserialize)]
pub(super) struct Arrival {
    /// There, if the file was sent before.
    repeated: Option<String>,
}

pub(super) async fn show(
    pages: web::Data<Pages>,
    session: Session,
    id: web::Path<String>,
    arrival: web::Query<Arrival>,
) -> Shown {
    let submission = own(&pages, &session, &id).await?;
    let word = arrival.repeated.as_ref().map(|_| Word::Repeated);
    page(&pages, &session, submission, StatusCode::OK, word).await
}

/// How far a submission has come, for the page's script.
pub(super) async fn find_progress(pages: web::Data<Pages>, session: Session, id: web::Path<String>) -> Shown {
    let submission = own(&pages, &session, &id).await?;
    let queue = queue_place(&pages.evaluation, &submission).await?;
    let done = submission_state::done(&submission);
    let answer = json!({
        "sentence": submission_state::sentence(&submission),
        "queue": queue.as_ref().map(submission_state::queue_sentence),
        "state": submission.state,
        "done": done.map(|(done, _)| done),
        "of": done.map(|(_, of)| of),
    });
    Ok(HttpResponse::Ok().insert_header(("Cache-Control", "no-store")).json(answer))
}

/// Who shall see an entry.
#[derive(Deserialize)]
pub(super) struct Seeing {
    visibility: Visibility,
    /// The day from which an anonymous entry shows the team's name; blank for never.
    #[serde(default)]
    anonymous_until: String,
}

pub(super) async fn update_visibility(
    pages: web::Data<Pages>,
    Posted { session, form }: Posted<Seeing>,
    id: web::Path<String>,
) -> Shown {
    let until = Some(form.anonymous_until).filter(|until| !until.is_empty());
    let change = SubmissionChange {
        visibility: Some(form.visibility),
        anonymous_until: Some(until.filter(|_| form.visibility == Visibility::Anonymous)),
        ..SubmissionChange::default()
    };
    let before = own_to_change(&pages, &session, &id).await?;
    let changed =
        lifecycle::update_submission(&pages.evaluation, &session.principal.team.id, &before.id, change).await;
    decided(&pages, &session, before, changed).await
}

pub(super) async fn update_details(
    pages: web::Data<Pages>,
    Posted { session, form }: Posted<Details>,
    id: web::Path<String>,
) -> Shown {
    let before = own_to_change(&pages, &session, &id).await?;
    let team_id = &session.principal.team.id;
    match lifecycle::update_submission(&pages.evaluation, team_id, &before.id, form.change()).await {
        Err(LifecycleError::Faults(faults)) => {
            let word = Word::Faulty(&faults, &form);
            page(&pages, &session, before, StatusCode::UNPROCESSABLE_ENTITY, Some(word)).await
        }
        changed => decided(&pages, &session, before, changed).await,
    }
}

pub(super) async fn create_link(
    request: HttpRequest,
    pages: web::Data<Pages>,
    Posted { session, .. }: Posted<Nothing>,
    id: web::Path<String>,
) -> Shown {
    let before = own_to_change(&pages, &session, &id).await?;
    match create_reviewers_link(&pages.evaluation, &session.principal.team.id, &before.id).await {
        Ok(token) => {
            let address = format!("{}/review/{token}", pages.origin(&request));
            page(&pages, &session, before, StatusCode::CREATED, Some(Word::Link(&address))).await
        }
        Err(error) => decided(&pages, &session, before, Err(error)).await,
    }
}

pub(super) async fn end_link(
    pages: web::Data<Pages>,
    Posted { session, .. }: Posted<Nothing>,
    id: web::Path<String>,
) -> Shown {
    let before = own_to_change(&pages, &session, &id).await?;
    let ended = end_reviewers_link(&pages.evaluation, &session.principal.team.id, &before.id).await;
    decided(&pages, &session, before.clone(), ended.map(|()| before)).await
}

/// Why an entry is taken off the board.
#[derive(Deserialize)]
pub(super) struct Withdrawal {
    pub(super) reason: String,
}

pub(super) async fn withdraw(
    pages: web::Data<Pages>,
    Posted { session, form }: Posted<Withdrawal>,
    id: web::Path<String>,
) -> Shown {
    let before = own_to_change(&pages, &session, &id).await?;
    let team = &session.principal.team;
    let reason = form.reason.replace("\r\n", "\n");
    let evaluation = &pages.evaluation;
    let withdrawn = lifecycle::withdraw_submission(
        evaluation,
        Some(&team.id),
        &session.principal.actor(),
        &before.id,
        &reason,
    )
    .await;
    decided(&pages, &session, before, withdrawn).await
}

pub(super) async fn cancel(
    pages: web::Data<Pages>,
    Posted { session, .. }: Posted<Nothing>,
    id: web::Path<String>,
) -> Shown {
    let before = own_to_change(&pages, &session, &id).await?;
    let cancelled =
        lifecycle::cancel_submission(&pages.evaluation, &session.principal.team.id, &before.id).await;
    decided(&pages, &session, before, cancelled).await
}

pub(super) async fn own(pages: &Pages, session: &Session, id: &str) -> Result<Submission, Refusal> {
    let id = Uuid::parse_str(id).map_err(|_| Refusal::not_found())?.to_string();
    Ok(lifecycle::own_submission(&pages.evaluation, &session.principal.team.id, &id).await?)
}

/// A submission that its team is about to change.
async fn own_to_change(pages: &Pages, session: &Session, id: &str) -> Result<Submission, Refusal> {
    session.needs(Scope::Submit)?;
    own(pages, session, id).await
}

/// The submission's page after a decision, or before it with what stood against it.
async fn decided(
    pages: &Pages,
    session: &Session,
    before: Submission,
    decision: Result<Submission, LifecycleError>,
) -> Shown {
    let (status, detail) = match decision {
        Ok(after) => return Ok(see_other(&format!("/submissions/{}", after.id))),
        Err(LifecycleError::Faults(faults)) => {
            let details = faults
                .iter()
                .map(|fault| format!("`{}` {}", fault.pointer.trim_start_matches('/'), fault.detail));
            (StatusCode::UNPROCESSABLE_ENTITY, details.collect::<Vec<_>>().join("; "))
        }
        Err(error @ (LifecycleError::State { .. } | LifecycleError::Withdrawn)) => {
            (StatusCode::CONFLICT, error.to_string())
        }
        Err(error) => return Err(error.into()),
    };
    // As it is now: what stood against the decision may be news to the page.
    let now = own(pages, session, &before.id).await?;
    page(pages, session, now, status, Some(Word::Refused(&detail))).await
}

async fn page(
    pages: &Pages,
    session: &Session,
    submission: Submission,
    status: StatusCode,
    word: Option<Word<'_>>,
) -> Shown {
    let evaluation = &pages.evaluation;
    let queue = queue_place(evaluation, &submission).await?;
    let report = match submission.state.is_final() {
        true => find_report(evaluation, &submission).await?,
        false => None,
    };
    let found: Result<(Seen, Option<i64>), StoreError> = evaluation
        .store
        .read(move |connection| {
            let link_made_at_ms = find_link(connection, &submission.id)?;
            Ok((seen(connection, submission)?, link_made_at_ms))
        })
        .await;
    let (seen, link_made_at_ms) = found?;
    let beside = Beside { queue, report, link_made_at_ms };
    Ok(html(status, submission_page::page(session, &seen, &beside, word)))
}

/// The report on a submission; none where it was not graded.
async fn find_report(evaluation: &Evaluation, submission: &Submission) -> Result<Option<Report>, Refusal> {
    match report(evaluation, submission).await {
        Ok(report) => Ok(Some(report)),
        Err(ReportError::NotGraded(_)) => Ok(None),
        Err(ReportError::Store(error)) => Err(error.into()),
    }
}

/// A submission as lists and pages show it.
pub(super) fn seen(connection: &mut DbConnection, submission: Submission) -> Result<Seen, StoreError> {
    let mut warnings = submission.warnings.clone();
    warnings.extend(withheld_warning(connection, &submission.id)?);
    let (mut judge, mut scores, mut decided_by_hand, mut rejudged_at_ms) = (None, ScoreCells::new(), 0, None);
    if let Some(under) = Under::of(&submission) {
        judge = Some(JudgeHead::from(load_configuration(connection, &under.configuration_id)?));
        scores = score_cells(&load_scores(connection, &submission.id, &under)?);
        decided_by_hand = load_decisions(connection, &submission.id, &under)?.len();
        rejudged_at_ms = find_rejudged_at_ms(connection, &submission.id, &under)?;
    }
    Ok(Seen { submission, judge, scores, decided_by_hand, rejudged_at_ms, warnings })
}
