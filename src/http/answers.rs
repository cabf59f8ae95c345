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
use crate::evaluation::answers::{AnswerOutcome, AnswersError, answers};
use crate::evaluation::lifecycle::own_submission;
use crate::scoring::rubric::value;

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
    let (first, limit) = (page.position()?, page.limit()?);
    let submission = own_submission(&state.evaluation, &principal.team.id, &id.to_string()).await?;
    let count = |number: i64| usize::try_from(number).unwrap_or_default();
    let (part, has_more) = answers(&state.evaluation, &submission, count(first.into()), count(limit)).await?;
    let items = part.into_iter().map(AnswerView::from).collect();
    let next_cursor = has_more.then(|| (i64::from(first) + limit).to_string());
    Ok(web::Json(Page { items, next_cursor }))
}

impl From<AnswersError> for Problem {
    fn from(error: AnswersError) -> Problem {
        match error {
            AnswersError::Withheld(_) => {
                Problem::new(StatusCode::FORBIDDEN, "feedback_withheld", error.to_string())
            }
            AnswersError::NotGraded(_) => {
                Problem::new(StatusCode::CONFLICT, "wrong_state", error.to_string())
            }
            AnswersError::Store(error) => error.into(),
        }
    }
}

impl From<AnswerOutcome> for AnswerView {
    fn from(answer: AnswerOutcome) -> AnswerView {
        let AnswerOutcome { question_id, question_type, outcome } = answer;
        AnswerView {
            question_id,
            r#type: question_type,
            result: result_view(outcome, question_type.rubric()),
        }
    }
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
