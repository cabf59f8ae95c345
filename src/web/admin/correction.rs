//! One release as the correction of the active one: what it changes, what moves, what judging it costs, how far it is, and
//! what a maintainer does with it.

use actix_web::web;
use maud::{Markup, html};
use serde::Deserialize;

use super::desk::{Sheet, Stood, act, document, foreign, table};
use super::moves::moves;
use super::releases::activation;
use crate::domain::question::Split;
use crate::evaluation::correcting::{
    CorrectionError, CorrectionProgress, CorrectionView, abandon_correction, correction, stage_correction,
};
use crate::scoring::decimals::to_decimals;
use crate::web::Pages;
use crate::web::refusal::{Refusal, Shown, html as page_of, see_other};
use crate::web::session::{Posted, Session};

/// Questions that are listed at most.
const SHOWN: usize = 100;

/// Which release is looked at.
#[derive(Deserialize)]
pub(super) struct Named {
    split: Split,
    name: String,
}

pub(super) async fn show(pages: web::Data<Pages>, session: Session, named: web::Query<Named>) -> Shown {
    session.needs_maintainer()?;
    let Named { split, name } = named.into_inner();
    page(&pages, &session, (split, name), None).await
}

/// The release that is scored, and what readers of the board are told.
#[derive(Deserialize)]
pub(super) struct Staged {
    split: Split,
    name: String,
    notice: String,
}

pub(super) async fn stage(pages: web::Data<Pages>, Posted { session, form }: Posted<Staged>) -> Shown {
    session.needs_maintainer()?;
    let (store, now_ms) = (&pages.evaluation.store, pages.evaluation.clock.now_ms());
    let notice = Some(form.notice).filter(|notice| !notice.trim().is_empty());
    let named = (form.split, form.name);
    let done = stage_correction(store, &session.principal.actor(), named.clone(), notice, now_ms).await;
    ended(&pages, &session, named, done).await
}

pub(super) async fn abandon(pages: web::Data<Pages>, Posted { session, form }: Posted<Named>) -> Shown {
    session.needs_maintainer()?;
    let (store, now_ms) = (&pages.evaluation.store, pages.evaluation.clock.now_ms());
    let named = (form.split, form.name);
    let done = abandon_correction(store, &session.principal.actor(), named.clone(), now_ms).await;
    ended(&pages, &session, named, done).await
}

async fn ended(
    pages: &Pages,
    session: &Session,
    (split, name): (Split, String),
    done: Result<(), CorrectionError>,
) -> Shown {
    match done {
        Ok(()) => Ok(see_other(&address(split, &name))),
        Err(error) => {
            let stood = stood(error)?;
            page(pages, session, (split, name), Some(stood)).await
        }
    }
}

fn stood(error: CorrectionError) -> Result<Stood, Refusal> {
    match error {
        CorrectionError::Unknown(..) => Err(Refusal::not_found()),
        CorrectionError::Faults(faults) => Ok(Stood::faults(&faults)),
        CorrectionError::Store(error) => Err(error.into()),
        error => Ok(Stood::conflict(error)),
    }
}

/// The page of a release as a correction.
pub(super) fn address(split: Split, name: &str) -> String {
    let mut query = form_urlencoded::Serializer::new(String::new());
    let query = query.append_pair("split", split.as_str()).append_pair("name", name).finish();
    format!("/admin/releases/correction?{query}")
}

async fn page(
    pages: &Pages,
    session: &Session,
    (split, name): (Split, String),
    stood_against: Option<Stood>,
) -> Shown {
    let evaluation = &pages.evaluation;
    let found = correction(
        &evaluation.store,
        &evaluation.catalogue,
        &evaluation.judges,
        (split, name.clone()),
        |_, _| (),
    )
    .await;
    let (content, against) = match found {
        Ok(view) => (seen(session, &view), stood_against),
        Err(error) => (html! {}, Some(stood(error)?)),
    };
    let above = Some(("/admin/releases", "Releases"));
    let title = format!("{name} of {split}");
    let sheet = Sheet { title: &title, address: "/admin/releases", above, stood: against.as_ref() };
    let status = Stood::status(against.as_ref());
    Ok(page_of(status, document(session, &sheet, &content)))
}

fn seen(session: &Session, view: &CorrectionView) -> Markup {
    let CorrectionView { changes, progress, .. } = view;
    html! {
        section.needs aria-labelledby="needs" {
            h2 #needs { "Needs you now" }
            (next(session, view))
        }
        h2 #costs { "What it changes and costs" }
        dl {
            dt { "Corrects" } dd { (foreign(&view.corrects)) }
            dt { "Questions that differ" } dd { (changes.questions.len()) }
            @if view.new_questions > 0 {
                dt { "New questions" } dd { (view.new_questions) ", which count as missing for entries that were not asked them" }
            }
            @if view.asked_otherwise > 0 {
                dt { "Asked otherwise" } dd { (view.asked_otherwise) ", whose answers to the former words or options are scored" }
            }
            dt { "Calls to the judge" } dd { (view.cost.calls) ", " (view.cost.reused) " judgements are used again" }
            dt { "Cost" } dd {
                @match view.cost.cost_usd { Some(cost) => { "$" (to_decimals(cost, 2)) } None => "unknown: no price is set" }
            }
            dt { "Entries" } dd { (scored(progress)) }
            dt { "Readers are told" } dd {
                @match &view.notice { Some(notice) => (foreign(notice)), None => "nothing but what was corrected" }
            }
        }
        @if !view.waiting.is_empty() {
            p {
                "Answers that a judge has yet to score, in whose columns it is not known what moves: "
                (view.waiting.iter().map(|(column, answers)| format!("{column} {answers}")).collect::<Vec<_>>().join(", ")) "."
            }
        }
        (moves(&view.moves))
        h2 #questions { "Questions that differ" }
        @if changes.questions.len() > SHOWN { p { "The first " (SHOWN) " of " (changes.questions.len()) "." } }
        (table("questions", &["Question", "Type", "What differs"], &html! {
            @for question in changes.questions.iter().take(SHOWN) {
                tr {
                    th scope="row" { code { (foreign(&question.question_id)) } }
                    td { (question.question_type) }
                    td { (question.differences.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ")) }
                }
            }
        }))
    }
}

fn scored(progress: &CorrectionProgress) -> String {
    let CorrectionProgress { entries, complete, pending, incomplete, .. } = progress;
    format!(
        "{complete} of {entries} have complete scores under it; {pending} are being scored, {incomplete} lack answers"
    )
}

/// What a maintainer can do with it as it stands.
fn next(session: &Session, view: &CorrectionView) -> Markup {
    let about = format!("{} of {}", view.release, view.split);
    let CorrectionProgress { entries, complete, .. } = view.progress;
    let is_complete = complete == entries;
    html! {
        @for entry in &view.incomplete_entries {
            p {
                a href={ "/admin/submissions/" (entry.entry) } { (foreign(&entry.model_name)) }
                " has " (entry.failed) " answers that could not be judged under it: have them tried again, or decide them."
            }
        }
        @if !view.staged {
            p { "Nothing is scored under it yet. The board stays as it is until the release is activated." }
            (act(session, "/admin/releases/stage", ("Score in the background", &about), notice(view)))
        } @else if is_complete {
            p { "All entries are scored under it" @if !view.progress.ranked { "; their rank ranges are still worked out" } "." }
        } @else {
            p { "Entries are being scored under it: " (complete) " of " (entries) " are." }
        }
        @if is_complete && (view.staged || entries == 0) { (activation(session, view.split, &view.release)) }
        @if view.staged {
            (act(session, "/admin/releases/stage", ("Change what readers are told", &about), notice(view)))
            (act(session, "/admin/releases/abandon", ("Give up", &about), html! {
                (named(view))
                p { "What was judged stays, and is used again if it is staged again." }
            }))
        }
    }
}

fn named(view: &CorrectionView) -> Markup {
    html! {
        input type="hidden" name="split" value=(view.split);
        input type="hidden" name="name" value=(view.release);
    }
}

fn notice(view: &CorrectionView) -> Markup {
    html! {
        (named(view))
        div.field {
            label for="notice" { "What readers of the board are told" }
            input id="notice" name="notice" type="text" maxlength="500" autocomplete="off" value=[view.notice.as_deref()];
        }
    }
}
