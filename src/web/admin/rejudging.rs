//! Asking about a submission's answers again: what it takes and whom it touches, the request, how far it is, and giving it up.

use actix_web::web;
use maud::{Markup, html};
use serde::Deserialize;

use super::desk::{self, Sheet, Stood, act, document, reason};
use crate::domain::instant::parse_rfc3339;
use crate::evaluation::anew::{AnewError, Rejudging, cancel_rejudging, find_rejudging, rejudge_submission};
use crate::evaluation::lifecycle::{LifecycleError, find_any_submission};
use crate::scoring::decimals::to_decimals;
use crate::web::Pages;
use crate::web::frame::when;
use crate::web::refusal::{Refusal, Shown, html as page_of, see_other};
use crate::web::session::{Posted, Session};
use crate::web::sign_in::Nothing;

/// Why answers are asked about again.
#[derive(Deserialize)]
pub(super) struct Reason {
    reason: String,
}

pub(super) async fn show(pages: web::Data<Pages>, session: Session, id: web::Path<String>) -> Shown {
    session.needs_maintainer()?;
    page(&pages, &session, &desk::id(&id)?, None).await
}

pub(super) async fn rejudge(
    pages: web::Data<Pages>,
    Posted { session, form }: Posted<Reason>,
    id: web::Path<String>,
) -> Shown {
    session.needs_maintainer()?;
    let (id, actor) = (desk::id(&id)?, session.principal.actor());
    let done = rejudge_submission(&pages.evaluation, &actor, &id, &form.reason).await;
    ended(&pages, &session, &id, done).await
}

pub(super) async fn cancel(
    pages: web::Data<Pages>,
    Posted { session, .. }: Posted<Nothing>,
    id: web::Path<String>,
) -> Shown {
    session.needs_maintainer()?;
    let (id, actor) = (desk::id(&id)?, session.principal.actor());
    let evaluation = &pages.evaluation;
    let done = cancel_rejudging(&evaluation.store, &actor, &id, evaluation.clock.now_ms()).await;
    ended(&pages, &session, &id, done).await
}

/// The page of rejudging a submission.
pub(super) fn address(id: &str) -> String {
    format!("/admin/submissions/{id}/rejudge")
}

async fn ended(pages: &Pages, session: &Session, id: &str, done: Result<(), AnewError>) -> Shown {
    match done {
        Ok(()) => Ok(see_other(&address(id))),
        Err(error) => {
            let stood = stood(error)?;
            page(pages, session, id, Some(stood)).await
        }
    }
}

fn stood(error: AnewError) -> Result<Stood, Refusal> {
    match error {
        AnewError::Lifecycle(LifecycleError::Faults(faults)) => Ok(Stood::faults(&faults)),
        AnewError::Lifecycle(error @ (LifecycleError::State { .. } | LifecycleError::Withdrawn)) => {
            Ok(Stood::conflict(error))
        }
        AnewError::Lifecycle(error) => Err(error.into()),
        AnewError::Store(error) => Err(error.into()),
        AnewError::Cost(error) => Err(Refusal::Inside(error.to_string())),
        error => Ok(Stood::conflict(error)),
    }
}

async fn page(pages: &Pages, session: &Session, id: &str, stood_against: Option<Stood>) -> Shown {
    let evaluation = &pages.evaluation;
    let submission = find_any_submission(evaluation, id).await?;
    let (store, catalogue, judges) = (&evaluation.store, &evaluation.catalogue, &evaluation.judges);
    let found = find_rejudging(store, catalogue, judges, id, evaluation.clock.now_ms()).await;
    let (content, against) = match found {
        Ok(view) => (seen(session, &view), stood_against),
        Err(error) => (html! {}, Some(stood(error)?)),
    };
    let model_name = &submission.metadata.model_name;
    let above = format!("/admin/submissions/{id}");
    let sheet = Sheet {
        title: &format!("Rejudge {model_name}"),
        address: "/admin/submissions",
        above: Some((&above, model_name)),
        stood: against.as_ref(),
    };
    Ok(page_of(Stood::status(against.as_ref()), document(session, &sheet, &content)))
}

fn seen(session: &Session, view: &Rejudging) -> Markup {
    let Rejudging { submission, answers, calls, failed, .. } = view;
    html! {
        section.needs aria-labelledby="needs" {
            h2 #needs { "Needs you now" }
            @if let Some(requested_at) = &view.requested_at {
                p {
                    @if view.pending { "Under way since " (at(requested_at)) ": " } @else { "Incomplete since " (at(requested_at)) ": " }
                    (answers - calls) " of " (answers) " answers are judged anew"
                    @if *failed > 0 { ", " (failed) " could not be judged" }
                    ". Till all are, everything stays as it is."
                }
                @if !view.pending { p { a href={ "/admin/submissions/" (submission) } { "Retry" } " asks about those that are left." } }
                (act(session, &format!("{}/cancel", address(submission)), ("Give up", "rejudging"), html! {
                    p { "Everything stays as it is; what was judged anew is not used." }
                }))
            } @else {
                p { "Nothing. Ask the judge again where you do not believe what it said, as after a bad hour of its provider." }
            }
            @if view.budget_spent && *calls > 0 { p.notice role="note" { "Today's budget is spent: it waits till tomorrow." } }
        }
        h2 #costs { @if view.requested_at.is_some() { "What it takes" } @else { "What it would take" } }
        dl {
            dt { "Answers asked about again" } dd { (answers) }
            @if view.decided > 0 { dt { "Decided by hand" } dd { (view.decided) ", which stay" } }
            dt { "Calls to the judge" } dd { (calls) }
            dt { "Cost" } dd {
                @match view.cost_usd { Some(cost) => { "at most $" (to_decimals(cost, 2)) } None => "unknown: no price is set" }
            }
            dt { "Other submissions" } dd { (view.others) " gave some of these answers too, and take over what comes without a call" }
            dt { "Judge" } dd { (view.model) " " code { (view.configuration) } }
        }
        @if !view.pending {
            (act(session, &address(submission), ("Rejudge", "this submission"), html! {
                p { "The entry keeps its scores until all answers are judged; then new ones replace them in one step." }
                (reason("rejudge-reason", "Reason, for the audit log"))
            }))
        }
    }
}

fn at(instant: &str) -> Markup {
    html! { @match parse_rfc3339(instant) { Some(at_ms) => (when(at_ms)), None => (instant) } }
}
