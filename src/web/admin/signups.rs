//! Sign-ups as the maintainers see them: who waits, whom each is like, and the decision.

use actix_web::http::StatusCode;
use actix_web::web;
use maud::{Markup, html};
use serde::Deserialize;
use uuid::Uuid;

use crate::accounts::approval::{self, ApprovalError, Compared, Similar};
use crate::domain::signup::{Likeness, SignupState};
use crate::store::StoreError;
use crate::web::Pages;
use crate::web::fields::{capital, summary};
use crate::web::frame::{self, Page, Viewer, when};
use crate::web::refusal::{Refusal, Shown, html as page_of, see_other};
use crate::web::session::{Posted, Session};
use crate::web::sign_in::Nothing;

/// Sign-ups on one page.
const LISTED: i64 = 50;

/// Which sign-ups are listed.
#[derive(Default, Deserialize)]
pub struct Which {
    /// There, if also the decided ones are asked for.
    all: Option<String>,
    /// Below which one the page begins.
    before: Option<Uuid>,
}

pub async fn list(pages: web::Data<Pages>, session: Session, which: web::Query<Which>) -> Shown {
    session.needs_maintainer()?;
    page(&pages, &session, StatusCode::OK, &which, None).await
}

pub async fn approve(
    pages: web::Data<Pages>,
    Posted { session, .. }: Posted<Nothing>,
    id: web::Path<String>,
) -> Shown {
    session.needs_maintainer()?;
    let (store, actor) = (&pages.evaluation.store, session.principal.actor());
    let approved = approval::approve_signup(store, &actor, &id, pages.evaluation.clock.now_ms()).await;
    decided(&pages, &session, approved.map(drop)).await
}

/// Why a sign-up is turned down.
#[derive(Deserialize)]
pub struct Rejection {
    reason: String,
}

pub async fn reject(
    pages: web::Data<Pages>,
    Posted { session, form }: Posted<Rejection>,
    id: web::Path<String>,
) -> Shown {
    session.needs_maintainer()?;
    let (store, actor) = (&pages.evaluation.store, session.principal.actor());
    let now_ms = pages.evaluation.clock.now_ms();
    let rejected = approval::reject_signup(store, &actor, &id, &form.reason, now_ms).await;
    decided(&pages, &session, rejected.map(drop)).await
}

async fn decided(pages: &Pages, session: &Session, decision: Result<(), ApprovalError>) -> Shown {
    let (status, detail) = match decision {
        Ok(()) => return Ok(see_other("/admin/signups")),
        Err(ApprovalError::Unknown(_)) => return Err(Refusal::not_found()),
        Err(ApprovalError::Store(error)) => return Err(error.into()),
        Err(error @ ApprovalError::Reason(_)) => (StatusCode::UNPROCESSABLE_ENTITY, error.to_string()),
        Err(error @ (ApprovalError::Decided(_) | ApprovalError::Taken(_))) => {
            (StatusCode::CONFLICT, error.to_string())
        }
    };
    page(pages, session, status, &Which::default(), Some(&detail)).await
}

async fn page(
    pages: &Pages,
    session: &Session,
    status: StatusCode,
    which: &Which,
    error: Option<&str>,
) -> Shown {
    let state = which.all.is_none().then_some(SignupState::Pending);
    let before = which.before.map(|id| id.to_string());
    let found: Result<Vec<Compared>, StoreError> = pages
        .evaluation
        .store
        .read(move |connection| approval::list_signups(connection, state, before.as_deref(), LISTED + 1))
        .await;
    let mut found = found?;
    let more = found.len() > LISTED as usize;
    found.truncate(LISTED as usize);
    Ok(page_of(status, listed(session, &found, more, which.all.is_some(), error)))
}

fn listed(session: &Session, found: &[Compared], more: bool, all: bool, error: Option<&str>) -> Markup {
    let title = if error.is_some() { "Error: Sign-ups" } else { "Sign-ups" };
    let page = Page { title, address: "/admin/signups", viewer: Viewer::Team(session), script: None };
    let content = html! {
        h1 { "Sign-ups" }
        @if let Some(error) = error { (summary("That could not be done", html! { p { (capital(error)) "." } })) }
        @if all { (cards(session, found, more, all)) p { a href="/admin/signups" { "Only those that wait" } } }
        @else {
            section.needs aria-labelledby="needs" {
                h2 #needs { "Needs you now" }
                @if found.is_empty() { p.empty { "Nothing. No sign-up waits." } }
                (cards(session, found, more, all))
            }
            p { a href="/admin/signups?all" { "Also those that were decided" } }
        }
    };
    frame::document(&page, &content)
}

fn cards(session: &Session, found: &[Compared], more: bool, all: bool) -> Markup {
    html! {
        ul.cards { @for compared in found { (card(session, compared)) } }
        @if let Some(last) = found.last().filter(|_| more) {
            p { a href={ "/admin/signups?before=" (last.signup.id) @if all { "&all" } } { "Older ones" } }
        }
    }
}

fn card(session: &Session, Compared { signup, similar }: &Compared) -> Markup {
    let said = &signup.application;
    html! {
        li {
            h2 { (said.name) }
            p { span.badge { (signup.state) } " " code { (said.slug) } }
            dl {
                dt { "E-mail" } dd { (said.email) }
                @if let Some(text) = &said.affiliation { dt { "Affiliation" } dd { (text) } }
                @if let Some(text) = &said.purpose { dt { "Purpose" } dd.text { (text) } }
                dt { "Signed up" } dd { (when(signup.created_at_ms)) }
                @if let Some(reason) = &signup.reason { dt { "Reason" } dd { (reason) } }
            }
            @if !similar.is_empty() {
                p.wrong { "It may be somebody's second:" }
                ul { @for other in similar { li { (like(other)) } } }
            }
            @if signup.state == SignupState::Pending { (decisions(session, &signup.id, &said.name)) }
        }
    }
}

fn like(other: &Similar) -> Markup {
    let words: Vec<&str> = other.likeness.iter().map(|likeness| word(*likeness)).collect();
    html! {
        @match other.state { Some(state) => { "Sign-up (" (state) ") " }, None => "Team " }
        strong { (other.name) } " " code { (other.slug) } ": " (words.join(", "))
    }
}

fn word(likeness: Likeness) -> &'static str {
    match likeness {
        Likeness::Email => "the same e-mail",
        Likeness::DomainAndName => "the same name and e-mail domain",
        Likeness::Address => "from the same address",
        Likeness::Slug => "a short name that reads alike",
    }
}

fn decisions(session: &Session, id: &str, name: &str) -> Markup {
    let reason = format!("reason-{id}");
    html! {
        details {
            summary { "Approve" span.hidden { " " (name) } }
            form method="post" action={ "/admin/signups/" (id) "/approve" } {
                (session.token_field())
                p { "The team is made; its key is told to the applicant." }
                button type="submit" { "Yes, approve" span.hidden { " " (name) } }
            }
        }
        details {
            summary { "Reject" span.hidden { " " (name) } }
            form method="post" action={ "/admin/signups/" (id) "/reject" } {
                (session.token_field())
                div.field {
                    label for=(reason) { "Reason, which the applicant reads" }
                    input id=(reason) name="reason" type="text" required maxlength="500" autocomplete="off";
                }
                button type="submit" { "Yes, reject" span.hidden { " " (name) } }
            }
        }
    }
}
