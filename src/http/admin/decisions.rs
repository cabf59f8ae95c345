//! Answers that the judge failed at, and deciding them by hand; for maintainers.

use std::collections::BTreeMap;

use actix_web::{get, post, web};
use serde::{Deserialize, Serialize};
use uuid::Uuid;

use crate::domain::instant::rfc3339;
use crate::domain::outcome::FailureReason;
use crate::domain::question::QuestionType;
use crate::evaluation::deciding::{NewDecision, decide};
use crate::evaluation::failed_answers::{FailedAnswer, failed_answers};
use crate::http::Shared;
use crate::http::auth::MaintainerOnly;
use crate::http::body::Body;
use crate::http::error::{Answer, Problem};
use crate::http::page::{Page, PageQuery};
use crate::http::submission_view::{SubmissionView, viewed};

/// Which failed answers of a submission are asked for.
#[derive(Debug, Deserialize, utoipa::IntoParams)]
#[into_params(parameter_in = Query)]
#[serde(deny_unknown_fields)]
pub struct FailuresQuery {
    /// The judge configuration under which they failed; the submission's own unless said.
    configuration: Option<String>,
    /// Items at most, 1 to 1,000; 100 unless said.
    limit: Option<i64>,
    /// `next_cursor` of the page before.
    cursor: Option<String>,
}

/// A decision by hand.
#[derive(Debug, Serialize, utoipa::ToSchema)]
pub struct DecisionView {
    /// The rubric's three integers, 0 to 5.
    criteria: BTreeMap<&'static str, u8>,
    /// Why, as readers of the entry are told.
    reason: String,
    /// The short name of the maintainers who decided.
    by: String,
    /// When.
    at: String,
}

/// An answer that the judge failed at.
#[derive(Debug, Serialize, utoipa::ToSchema)]
pub struct FailureView {
    /// The question.
    question_id: String,
    /// What it asks about.
    r#type: QuestionType,
    /// The judge configuration.
    configuration: String,
    /// Why there is no score of the judge.
    reason: FailureReason,
    /// The last fault in words; empty where none was noted.
    detail: String,
    /// Failed calls since a maintainer last had it tried again.
    calls: i32,
    /// When a call first failed; null where that was not noted.
    first_failed_at: Option<String>,
    /// When the last call failed; null where that was not noted.
    last_failed_at: Option<String>,
    /// The team's text.
    answer: String,
    /// The decision by hand; null while there is none.
    decided: Option<DecisionView>,
}

impl From<FailedAnswer> for FailureView {
    fn from(failed: FailedAnswer) -> FailureView {
        let criteria = failed.question_type.rubric().map(|rubric| rubric.criteria()).unwrap_or_default();
        let decided = failed.decision.map(|decision| DecisionView {
            criteria: criteria.into_iter().zip(decision.scores).collect(),
            reason: decision.reason,
            by: decision.by,
            at: rfc3339(decision.at_ms),
        });
        FailureView {
            question_id: failed.question_id,
            r#type: failed.question_type,
            configuration: failed.configuration_id,
            reason: failed.reason,
            detail: failed.detail,
            calls: failed.calls,
            first_failed_at: failed.failed_at_ms.map(|(first, _)| rfc3339(first)),
            last_failed_at: failed.failed_at_ms.map(|(_, last)| rfc3339(last)),
            answer: failed.answer,
            decided,
        }
    }
}

/// Lists a submission's answers that the judge failed at or that were decided by hand
#[utoipa::path(
    tag = "administration",
    security(("bearer" = [])),
    params(("id" = String, Path, description = "The submission's id"), FailuresQuery),
    responses(
        (status = 200, description = "Failed and decided answers in the order of the questions", body = Page<FailureView>),
        (status = 400, description = "The query is faulty", body = Problem, content_type = "application/problem+json"),
        (status = 404, description = "There is none with this id, or it was not judged under that configuration", body = Problem, content_type = "application/problem+json"),
    )
)]
#[get("/api/v1/admin/submissions/{id}/failures")]
pub async fn list_failures(
    state: Shared,
    _maintainer: MaintainerOnly,
    id: web::Path<Uuid>,
    query: web::Query<FailuresQuery>,
) -> Answer<web::Json<Page<FailureView>>> {
    let FailuresQuery { configuration, limit, cursor } = query.into_inner();
    let page = PageQuery::new(limit, cursor);
    let (first, limit) = (page.position()?, page.limit()?);
    let failed = failed_answers(&state.evaluation, &id.to_string(), configuration).await?;
    let part: Vec<(usize, FailedAnswer)> = failed
        .into_iter()
        .enumerate()
        .skip(usize::try_from(first).unwrap_or_default())
        .take(usize::try_from(limit).unwrap_or_default() + 1)
        .collect();
    let page = Page::cut(part, limit, |(place, _)| (place + 1).to_string());
    let items = page.items.into_iter().map(|(_, failed)| FailureView::from(failed)).collect();
    Ok(web::Json(Page { items, next_cursor: page.next_cursor }))
}

/// Decides an answer that the judge failed at
///
/// The decision stands as a judgement, which the same answer of any submission gets too; the entry says that it was made
/// and why. When no answer has failed any more, the submission is scored. The same decision again changes nothing.
#[utoipa::path(
    tag = "administration",
    security(("bearer" = [])),
    params(("id" = String, Path, description = "The submission's id")),
    request_body = NewDecision,
    responses(
        (status = 200, description = "It is decided", body = SubmissionView),
        (status = 404, description = "There is none with this id", body = Problem, content_type = "application/problem+json"),
        (status = 409, description = "The submission is not incomplete, the answer has not failed, or a judgement on it stands", body = Problem, content_type = "application/problem+json"),
        (status = 422, description = "The decision is faulty", body = Problem, content_type = "application/problem+json"),
    )
)]
#[post("/api/v1/admin/submissions/{id}/decisions")]
pub async fn create_decision(
    state: Shared,
    MaintainerOnly(principal): MaintainerOnly,
    id: web::Path<Uuid>,
    decision: Body<NewDecision>,
) -> Answer<web::Json<SubmissionView>> {
    let decided =
        decide(&state.evaluation, &principal.actor(), &id.to_string(), decision.into_inner()).await?;
    Ok(web::Json(viewed(&state, decided).await?))
}
