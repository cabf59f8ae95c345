//! What became of a submission's single answers as a page, where its split gives that feedback.

use actix_web::http::StatusCode;
use actix_web::web;
use maud::{Markup, html};
use serde::Deserialize;

use super::Pages;
use super::frame::{self, Page, Viewer};
use super::refusal::{Refusal, Shown, html as page_of};
use super::session::Session;
use super::submission_report::in_words;
use super::submissions::own;
use crate::domain::outcome::Outcome;
use crate::domain::question::QuestionType;
use crate::evaluation::answers::{AnswerOutcome, AnswersError, answers};
use crate::scoring::decimals::to_decimals;
use crate::scoring::rubric::value;
use crate::store::submissions::Submission;

/// Answers on one page.
const LISTED: usize = 100;

/// The position of the first answer on a page, from 0.
#[derive(Deserialize)]
pub(super) struct Place {
    from: Option<usize>,
}

pub(super) async fn show(
    pages: web::Data<Pages>,
    session: Session,
    id: web::Path<String>,
    place: web::Query<Place>,
) -> Shown {
    let submission = own(&pages, &session, &id).await?;
    let from = place.from.unwrap_or_default();
    let (items, has_more) = answers(&pages.evaluation, &submission, from, LISTED).await?;
    if items.is_empty() && from > 0 {
        return Err(Refusal::not_found());
    }
    Ok(page_of(StatusCode::OK, page(&session, &submission, &items, from, has_more)))
}

impl From<AnswersError> for Refusal {
    fn from(error: AnswersError) -> Refusal {
        let said = |status, title| {
            let detail = super::fields::capital(&format!("{error}."));
            Refusal::said(status, title, detail)
        };
        match error {
            AnswersError::Withheld(_) => said(StatusCode::FORBIDDEN, "Single answers are not told"),
            AnswersError::NotGraded(_) => said(StatusCode::CONFLICT, "Not yet"),
            AnswersError::Store(error) => error.into(),
        }
    }
}

fn page(
    session: &Session,
    submission: &Submission,
    items: &[AnswerOutcome],
    from: usize,
    has_more: bool,
) -> Markup {
    let (model, own) = (&submission.metadata.model_name, format!("/submissions/{}", submission.id));
    let title = format!("Answers: {model}");
    let page = Page { title: &title, address: "", viewer: Viewer::Team(session), script: None };
    let earlier = (from > 0).then(|| from.saturating_sub(LISTED));
    let content = html! {
        p.crumb { a href=(own) { (model) } }
        h1 { "What became of each answer" }
        p.facts { "Answers " (from + 1) " to " (from + items.len()) " of " (submission.questions) "." }
        div.scroll tabindex="0" role="region" aria-label="Answers" {
            table.faults {
                thead { tr { th scope="col" { "Question" } th scope="col" { "Outcome" } th.beside scope="col" { "Type" } } }
                tbody { @for item in items { (row(item)) } }
            }
        }
        nav aria-label="Answers" {
            @if let Some(earlier) = earlier { a rel="prev" href={ (own) "/answers?from=" (earlier) } { "Earlier ones" } }
            @if has_more { a rel="next" href={ (own) "/answers?from=" (from + LISTED) } { "Later ones" } }
        }
    };
    frame::document(&page, &content)
}

fn row(item: &AnswerOutcome) -> Markup {
    let kind = item.question_type.as_str().replace('_', " ");
    html! {
        tr {
            td { code { (item.question_id) } small.below { (kind) } }
            td { (outcome(&item.outcome, item.question_type)) }
            td.beside { (kind) }
        }
    }
}

fn outcome(outcome: &Outcome, question_type: QuestionType) -> Markup {
    html! {
        @match (outcome, question_type.rubric()) {
            (Outcome::Choice { choice, correct }, _) => {
                @if *correct { strong { "right" } } @else { "wrong" }
                @match choice.letter { Some(letter) => { ", " (letter) " was read" }, None => ", no letter was read" }
                br;
                small { (in_words(choice.reason).replace('_', " ")) }
            }
            (Outcome::Rubric { scores }, Some(rubric)) => {
                strong { (to_decimals(value(rubric, *scores), 2)) } " of 5"
                @for (criterion, score) in rubric.criteria().into_iter().zip(scores) {
                    br; small { (criterion.replace('_', " ")) ": " (score) }
                }
            }
            (Outcome::Failed(reason), _) => { "could not be judged" br; small { code { (reason) } } }
            (Outcome::Pending | Outcome::Rubric { .. }, _) => "not judged yet",
        }
    }
}
