//! What only maintainers may do to submissions.

use actix_web::{HttpResponse, get, post, web};
use uuid::Uuid;

use crate::evaluation::lifecycle;
use crate::http::Shared;
use crate::http::auth::MaintainerOnly;
use crate::http::error::{Answer, Problem};
use crate::http::page::{Page, PageQuery};
use crate::http::submission_view::{SubmissionView, submissions_page, viewed};
use crate::http::submissions::Withdrawal;

/// Lists all teams' submissions, newest first
#[utoipa::path(
    tag = "administration",
    operation_id = "list_all_submissions",
    security(("bearer" = [])),
    params(PageQuery),
    responses(
        (status = 200, description = "Submissions", body = Page<SubmissionView>),
        (status = 401, description = "No valid key or token", body = Problem, content_type = "application/problem+json"),
        (status = 403, description = "Not a maintainer", body = Problem, content_type = "application/problem+json"),
    )
)]
#[get("/api/v1/admin/submissions")]
pub async fn list_submissions(
    state: Shared,
    _maintainer: MaintainerOnly,
    page: web::Query<PageQuery>,
) -> Answer<web::Json<Page<SubmissionView>>> {
    Ok(web::Json(submissions_page(&state, None, &page).await?))
}

/// Takes up a failed or incomplete submission again, or one whose rejudging is incomplete
///
/// Only answers without a score are judged; all of them where another judge configuration is current by now.
#[utoipa::path(
    tag = "administration",
    security(("bearer" = [])),
    params(("id" = String, Path, description = "The submission's id")),
    responses(
        (status = 202, description = "It is under way again", body = SubmissionView),
        (status = 401, description = "No valid key or token", body = Problem, content_type = "application/problem+json"),
        (status = 403, description = "Not a maintainer", body = Problem, content_type = "application/problem+json"),
        (status = 404, description = "There is none with this id", body = Problem, content_type = "application/problem+json"),
        (status = 409, description = "There is nothing to try again", body = Problem, content_type = "application/problem+json"),
    )
)]
#[post("/api/v1/admin/submissions/{id}/retry")]
pub async fn retry_submission(
    state: Shared,
    MaintainerOnly(principal): MaintainerOnly,
    id: web::Path<Uuid>,
) -> Answer<HttpResponse> {
    let retried = lifecycle::retry_submission(&state.evaluation, &principal.actor(), &id.to_string()).await?;
    Ok(HttpResponse::Accepted().json(viewed(&state, retried).await?))
}

/// Takes a scored submission off every board for good
#[utoipa::path(
    tag = "administration",
    operation_id = "withdraw_any_submission",
    security(("bearer" = [])),
    params(("id" = String, Path, description = "The submission's id")),
    request_body = Withdrawal,
    responses(
        (status = 200, description = "It is withdrawn", body = SubmissionView),
        (status = 401, description = "No valid key or token", body = Problem, content_type = "application/problem+json"),
        (status = 403, description = "Not a maintainer", body = Problem, content_type = "application/problem+json"),
        (status = 404, description = "There is none with this id", body = Problem, content_type = "application/problem+json"),
        (status = 409, description = "It is not scored, or was withdrawn already", body = Problem, content_type = "application/problem+json"),
        (status = 422, description = "The reason is blank or too long", body = Problem, content_type = "application/problem+json"),
    )
)]
#[post("/api/v1/admin/submissions/{id}/withdraw")]
pub async fn withdraw_submission(
    state: Shared,
    MaintainerOnly(principal): MaintainerOnly,
    id: web::Path<Uuid>,
    withdrawal: web::Json<Withdrawal>,
) -> Answer<web::Json<SubmissionView>> {
    let evaluation = &state.evaluation;
    let withdrawn = lifecycle::withdraw_submission(
        evaluation,
        None,
        &principal.actor(),
        &id.to_string(),
        &withdrawal.reason,
    )
    .await?;
    Ok(web::Json(viewed(&state, withdrawn).await?))
}
