//! Releases: which there are, which are active, and making another one active.

use actix_web::http::StatusCode;
use actix_web::web;
use maud::{Markup, html};
use serde::Deserialize;

use super::desk::{Sheet, Stood, act, document, foreign, table};
use crate::domain::question::Split;
use crate::evaluation::activating::{ActivationError, make_active};
use crate::store::StoreError;
use crate::store::releases::{Release, load_counts, load_releases};
use crate::web::Pages;
use crate::web::figures::grouped;
use crate::web::frame::when;
use crate::web::refusal::{Shown, html as page_of, see_other};
use crate::web::session::{Posted, Session};

/// A release with how many videos and questions it has.
struct Counted {
    release: Release,
    videos: i64,
    questions: i64,
}

pub(super) async fn list(pages: web::Data<Pages>, session: Session) -> Shown {
    session.needs_maintainer()?;
    page(&pages, &session, None).await
}

/// Which release is to be active.
#[derive(Deserialize)]
pub(super) struct Chosen {
    split: Split,
    name: String,
}

pub(super) async fn activate(pages: web::Data<Pages>, Posted { session, form }: Posted<Chosen>) -> Shown {
    session.needs_maintainer()?;
    let (store, now_ms) = (&pages.evaluation.store, pages.evaluation.clock.now_ms());
    let stood = match make_active(store, &session.principal.actor(), form.split, form.name, now_ms).await {
        Ok(_) => return Ok(see_other("/admin/releases")),
        Err(ActivationError::Store(error)) => return Err(error.into()),
        Err(error @ ActivationError::Unknown(..)) => {
            Stood { status: StatusCode::NOT_FOUND, detail: error.to_string() }
        }
        Err(error @ ActivationError::Unscored { .. }) => Stood::conflict(error),
    };
    page(&pages, &session, Some(stood)).await
}

async fn page(pages: &Pages, session: &Session, stood: Option<Stood>) -> Shown {
    let found: Result<Vec<Counted>, StoreError> = pages
        .evaluation
        .store
        .read(|connection| {
            let mut counted = Vec::new();
            for release in load_releases(connection)? {
                let (videos, types) = load_counts(connection, &release.id)?;
                let questions = types.iter().map(|(_, count)| count).sum();
                counted.push(Counted { release, videos, questions });
            }
            // Newest first within the order of the splits.
            counted.sort_by(|one, other| {
                let key = |counted: &Counted| counted.release.split;
                key(one).cmp(&key(other)).then_with(|| other.release.id.cmp(&one.release.id))
            });
            Ok(counted)
        })
        .await;
    let status = Stood::status(stood.as_ref());
    Ok(page_of(status, listed(session, &found?, stood.as_ref())))
}

fn listed(session: &Session, releases: &[Counted], stood: Option<&Stood>) -> Markup {
    let sheet = Sheet { title: "Releases", address: "/admin/releases", above: None, stood };
    let waiting: Vec<&Counted> = waiting(releases);
    let content = html! {
        section.needs aria-labelledby="needs" {
            h2 #needs { "Needs you now" }
            @if releases.is_empty() {
                p { "There is no release yet. Import one: " code { "secchi dataset import --release NAME --split test FILE" } }
            } @else if waiting.is_empty() { p.empty { "Nothing: no release is newer than the active one of its split." } }
            @for counted in waiting {
                p { strong { (foreign(&counted.release.name)) } " of " (counted.release.split) " is newer than the active one." }
                (activation(session, &counted.release))
            }
        }
        h2 #releases { "All releases" }
        (table("releases", &["Release", "Split", "State", "#Videos", "#Questions", "Feedback", "Imported", "Do"], &html! {
            @for counted in releases { (row(session, counted)) }
        }))
    };
    document(session, &sheet, &content)
}

/// Releases that came after the active one of their split.
fn waiting(releases: &[Counted]) -> Vec<&Counted> {
    let active_ms = |split| {
        let active = releases.iter().find(|other| other.release.active && other.release.split == split);
        active.map(|active| active.release.created_at_ms)
    };
    let is_later = |counted: &&Counted| {
        let Release { active, split, created_at_ms, .. } = &counted.release;
        !active && active_ms(*split).is_none_or(|active_ms| *created_at_ms > active_ms)
    };
    releases.iter().filter(is_later).collect()
}

fn row(session: &Session, counted: &Counted) -> Markup {
    let release = &counted.release;
    html! {
        tr {
            th scope="row" { (foreign(&release.name)) br; small { code { (release.content_sha256.get(..12).unwrap_or_default()) } } }
            td { (release.split) }
            td { @if release.active { span.badge.fine { "active" } } @else { span.badge.ended { "inactive" } } }
            td.number { (grouped(counted.videos)) }
            td.number { (grouped(counted.questions)) }
            td { (release.feedback) }
            td { (when(release.created_at_ms)) }
            td { @if !release.active { (activation(session, release)) } }
        }
    }
}

fn activation(session: &Session, release: &Release) -> Markup {
    let about = format!("{} of {}", release.name, release.split);
    act(
        session,
        "/admin/releases/activate",
        ("Activate", &about),
        html! {
            input type="hidden" name="split" value=(release.split);
            input type="hidden" name="name" value=(release.name);
            p {
                "New submissions are graded by it, and the board shows its entries. The board of the release before stays at its \
                 own address; activating that one again is the way back."
            }
        },
    )
}
