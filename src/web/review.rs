//! An entry as reviewers see it: a page at a secret address, without its team's name and without what may tell it.

use actix_web::http::{StatusCode, header};
use actix_web::web;
use maud::{Markup, html};

use super::Pages;
use super::frame::{self, Page, Viewer, when};
use super::refusal::{Refusal, Shown, html as page_of};
use super::submission_page::{Seen, model, scores};
use super::submissions::seen;
use crate::evaluation::anonymity::find_reviewed;
use crate::store::StoreError;

pub(super) async fn show(pages: web::Data<Pages>, token: web::Path<String>) -> Shown {
    let found: Result<Option<Seen>, StoreError> = pages
        .evaluation
        .store
        .snapshot(move |connection| match find_reviewed(connection, &token)? {
            Some(submission) => seen(connection, submission).map(Some),
            None => Ok(None),
        })
        .await;
    let no_link = "There is no such link for reviewers, or the team has ended it.";
    let seen =
        found?.ok_or_else(|| Refusal::said(StatusCode::NOT_FOUND, "This page does not exist", no_link))?;
    if let Some(reason) = &seen.submission.withdrawn_reason {
        let detail = format!("Its team took it off the board for good and says why: {reason}");
        return Err(Refusal::said(StatusCode::GONE, "This entry was withdrawn", detail));
    }
    let mut response = page_of(StatusCode::OK, page(&seen));
    // The token in the address is all that is needed to see it.
    let noindex =
        (header::HeaderName::from_static("x-robots-tag"), header::HeaderValue::from_static("noindex"));
    response.headers_mut().insert(noindex.0, noindex.1);
    Ok(response)
}

fn page(seen: &Seen) -> Markup {
    let submission = &seen.submission;
    let metadata = &submission.metadata;
    let page = Page { title: &metadata.model_name, address: "", viewer: Viewer::Anybody, script: None };
    let content = html! {
        h1 { (metadata.model_name) }
        p.facts {
            "Split " strong { (metadata.split) } " · release " strong { (submission.release) }
            " · submitted " (when(submission.created_at_ms))
        }
        p.notice role="note" {
            strong { "For reviewers. " }
            "This address is secret: whoever has it sees the entry, without its team's name, as long as the team lets it stand."
        }
        (scores(seen))
        section aria-labelledby="about" {
            h2 #about { "About the run" }
            dl {
                (model(metadata))
                dt { "Answered" } dd { (submission.answered) " of " (submission.questions) " questions" }
                dt { "Without a letter that could be read" } dd { (submission.unparsed) }
                @if let Some(judge) = &seen.judge { dt { "Judge" } dd { (judge.model) " " code { (judge.configuration) } } }
                @if seen.decided_by_hand > 0 { dt { "Decided by hand" } dd { (seen.decided_by_hand) } }
            }
        }
    };
    frame::document(&page, &content)
}
