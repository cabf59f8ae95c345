//! What became of a submission's single answers, where its release allows a team to read that.

use std::collections::BTreeMap;

use actix_web::http::StatusCode;
use actix_web::{get, web};
use serde::Serialize;
use uuid::Uuid;

use super::Shared;
use super::auth::TeamOnly;
use super::error::{Answer, Problem};
use super::page::{Page, PageQuery};
use crate::domain::choice::Reason;
use crate::domain::outcome::{FailureReason, Outcome};
use crate::domain::question::{QuestionType, Rubric};
use crate::domain::submission::Feedback;
use crate::evaluation::lifecycle::own_submission;
use crate::scoring::rubric::value;
use crate::store::StoreError;
use crate::store::scores::find_outcomes;

/// What became of one answer.
#[derive(Debug, Serialize, utoipa::ToSchema)]
pub struct AnswerView {
    /// The question.
    question_id: String,
    /// What it asks about.
    r#type: QuestionType,
    /// What was made of it.
    #[serde(flatten)]
    result: ResultView,
}

/// What was made of an answer, by the question's format.
#[derive(Debug, Serialize, utoipa::ToSchema)]
#[serde(untagged)]
pub enum ResultView {
    /// A multiple-choice answer.
    Choice {
        /// The letter that was read; null where none was.
        choice: Option<char>,
        /// Why it was read so.
        reason: Reason,
        /// Whether it is the right one.
        correct: bool,
    },
    /// A judged open-ended answer.
    Judged {
        /// The rubric's three integers, 0 to 5.
        criteria: BTreeMap<&'static str, u8>,
        /// The rubric's value, 0 to 5; of a caption the mean of its three.
        value: f64,
    },
    /// An open-ended answer without a score.
    Open {
        /// Why there is none; null while it waits for the judge.
        failure: Option<FailureReason>,
    },
}

/// Lists what became of a submission's answers
///
/// Only where the release's feedback is `per-question`.
#[utoipa::path(
    tag = "submissions",
    security(("bearer" = [])),
    params(("id" = String, Path, description = "The submission's id"), PageQuery),
    responses(
        (status = 200, description = "Outcomes in the order of the questions", body = Page<AnswerView>),
        (status = 401, description = "No valid key or token", body = Problem, content_type = "application/problem+json"),
        (status = 403, description = "The release gives no such feedback", body = Problem, content_type = "application/problem+json"),
        (status = 404, description = "There is none with this id, or it is another team's", body = Problem, content_type = "application/problem+json"),
        (status = 409, description = "It is not graded yet", body = Problem, content_type = "application/problem+json"),
    )
)]
#[get("/api/v1/submissions/{id}/answers")]
pub async fn list_answers(
    state: Shared,
    TeamOnly(principal): TeamOnly,
    id: web::Path<Uuid>,
    page: web::Query<PageQuery>,
) -> Answer<web::Json<Page<AnswerView>>> {
    let evaluation = &state.evaluation;
    let submission = own_submission(evaluation, &principal.team.id, &id.to_string()).await?;
    let release = evaluation.catalogue.release(&evaluation.store, &submission.release_id).await?;
    if release.release.feedback != Feedback::PerQuestion {
        let detail = format!("`{}` gives no feedback on single answers", release.release.split);
        return Err(Problem::new(StatusCode::FORBIDDEN, "feedback_withheld", detail));
    }
    let (first, limit) = (page.position()?, page.limit()?);
    let not_graded = || Problem::new(StatusCode::CONFLICT, "wrong_state", "the submission is not graded yet");
    let configuration_id = submission.configuration_id.ok_or_else(not_graded)?;
    let outcomes: Result<Option<Vec<Outcome>>, StoreError> = evaluation
        .store
        .read(move |connection| find_outcomes(connection, &submission.id, &configuration_id))
        .await;
    let outcomes = outcomes?.ok_or_else(not_graded)?;
    let answers = release.key.question_ids.iter().zip(&release.key.facts).zip(outcomes).enumerate();
    let part: Vec<(usize, AnswerView)> = answers
        .skip(usize::try_from(first).unwrap_or_default())
        .take(usize::try_from(limit).unwrap_or_default() + 1)
        .map(|(place, ((question_id, facts), outcome))| {
            let result = result_view(outcome, facts.question_type.rubric());
            (place, AnswerView { question_id: question_id.clone(), r#type: facts.question_type, result })
        })
        .collect();
    let page = Page::cut(part, limit, |(place, _)| (place + 1).to_string());
    let items = page.items.into_iter().map(|(_, answer)| answer).collect();
    Ok(web::Json(Page { items, next_cursor: page.next_cursor }))
}

fn result_view(outcome: Outcome, rubric: Option<Rubric>) -> ResultView {
    match (outcome, rubric) {
        (Outcome::Choice { choice, correct }, _) => {
            ResultView::Choice { choice: choice.letter, reason: choice.reason, correct }
        }
        (Outcome::Rubric { scores }, Some(rubric)) => {
            let criteria = rubric.criteria().into_iter().zip(scores).collect();
            ResultView::Judged { criteria, value: value(rubric, scores) }
        }
        (Outcome::Failed(reason), _) => ResultView::Open { failure: Some(reason) },
        (Outcome::Pending | Outcome::Rubric { .. }, _) => ResultView::Open { failure: None },
    }
}
