//! Releases: which there are, which are active, and making another one active.

use actix_web::http::StatusCode;
use actix_web::web;
use maud::{Markup, html};
use serde::Deserialize;

use super::correction::address;
use super::desk::{Sheet, Stood, act, document, foreign, table};
use crate::administration::overview::is_newer_than_active;
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
    let all = || releases.iter().map(|counted| &counted.release);
    let waiting: Vec<&Counted> =
        releases.iter().filter(|counted| is_newer_than_active(&counted.release, all())).collect();
    let content = html! {
        section.needs aria-labelledby="needs" {
            h2 #needs { "Needs you now" }
            @if releases.is_empty() {
                p { "There is no release yet. Import one: " code { "secchi dataset import --release NAME --split test FILE" } }
            } @else if waiting.is_empty() { p.empty { "Nothing: no release is newer than the active one of its split." } }
            @for counted in waiting {
                p { strong { (foreign(&counted.release.name)) } " of " (counted.release.split) " is newer than the active one." }
                @if has_active(releases, counted.release.split) {
                    p { a href=(address(counted.release.split, &counted.release.name)) { "What it would change, and what judging it costs" } }
                }
                (activation(session, counted.release.split, &counted.release.name))
            }
        }
        h2 #releases { "All releases" }
        (table("releases", &["Release", "Split", "State", "#Videos", "#Questions", "Feedback", "Imported", "Do"], &html! {
            @for counted in releases { (row(session, counted, has_active(releases, counted.release.split))) }
        }))
    };
    document(session, &sheet, &content)
}

/// Whether a split has an active release, which another one may correct.
fn has_active(releases: &[Counted], split: Split) -> bool {
    releases.iter().any(|counted| counted.release.active && counted.release.split == split)
}

fn row(session: &Session, counted: &Counted, corrects: bool) -> Markup {
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
            td { @if !release.active {
                (activation(session, release.split, &release.name))
                @if corrects { a href=(address(release.split, &release.name)) { "As a correction" } }
             } }
        }
    }
}

/// Making a release the active one of its split.
pub(super) fn activation(session: &Session, split: Split, name: &str) -> Markup {
    let about = format!("{name} of {split}");
    act(
        session,
        "/admin/releases/activate",
        ("Activate", &about),
        html! {
            input type="hidden" name="split" value=(split);
            input type="hidden" name="name" value=(name);
            p {
                "New submissions are graded by it, and the board shows its entries. The board of the release before stays at its \
                 own address; activating that one again is the way back."
            }
        },
    )
}
