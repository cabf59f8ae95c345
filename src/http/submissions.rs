//! A team's submissions: sending, following, describing, publishing and cancelling them.

use actix_multipart::Multipart;
use actix_web::http::header;
use actix_web::{HttpRequest, HttpResponse, delete, get, patch, post, web};
use serde::Deserialize;
use uuid::Uuid;

use super::Shared;
use super::auth::TeamOnly;
use super::body::Body;
use super::error::{Answer, Problem};
use super::page::{Page, PageQuery};
use super::submission_view::{SubmissionView, submissions_page, viewed};
use super::upload::read_upload;
use crate::domain::submission::Metadata;
use crate::domain::team::Role;
use crate::evaluation::intake::{self, Accepted, DryRun};
use crate::evaluation::lifecycle::{self, SubmissionChange};
use crate::store::submissions::SubmissionFilter;

/// Whether a submission is only tried.
#[derive(Debug, Default, Deserialize, utoipa::IntoParams)]
#[into_params(parameter_in = Query)]
#[serde(deny_unknown_fields)]
pub struct SubmitQuery {
    /// `true` validates the file and stores nothing.
    dry_run: Option<bool>,
}

/// The form of a submission.
#[derive(utoipa::ToSchema)]
#[expect(
    dead_code,
    reason = "it describes the form for the OpenAPI document; the upload is read as a stream"
)]
pub struct SubmissionForm {
    /// What the team says about the model.
    metadata: Metadata,
    /// The prediction file: JSONL, a JSON array or object, CSV, TSV or .xlsx, also as lmms-eval and VLMEvalKit write them;
    /// plain, gzip or zstd.
    #[schema(value_type = String, format = Binary)]
    predictions: Vec<u8>,
}

/// Submits a prediction file
///
/// The file is validated whole: it is accepted with 202 and graded, or refused with every fault listed. The same answers of
/// the same model again are free: 200 with the submission that they made before and the warning `repeated_file`.
#[utoipa::path(
    tag = "submissions",
    security(("bearer" = [])),
    params(
        SubmitQuery,
        ("Idempotency-Key" = Option<String>, Header, description = "Repeating a request with the same key makes one submission"),
    ),
    request_body(content = SubmissionForm, content_type = "multipart/form-data"),
    responses(
        (status = 200, description = "What a dry run found; or the submission that the same file made before", body = DryRun),
        (status = 202, description = "Accepted; `Location` is the submission", body = SubmissionView),
        (status = 400, description = "The form is malformed", body = Problem, content_type = "application/problem+json"),
        (status = 409, description = "The idempotency key was used with other content, or the split has no active release", body = Problem, content_type = "application/problem+json"),
        (status = 413, description = "The file is too large", body = Problem, content_type = "application/problem+json"),
        (status = 415, description = "The body is no form", body = Problem, content_type = "application/problem+json"),
        (status = 422, description = "The file or its metadata are faulty; `errors` lists what", body = Problem, content_type = "application/problem+json"),
        (status = 429, description = "The quota is used up", body = Problem, content_type = "application/problem+json"),
    )
)]
#[post("/api/v1/submissions")]
pub async fn create_submission(
    request: HttpRequest,
    state: Shared,
    TeamOnly(principal): TeamOnly,
    query: web::Query<SubmitQuery>,
    form: Multipart,
) -> Answer<HttpResponse> {
    let evaluation = &state.evaluation;
    let is_maintainer = principal.team.role == Role::Maintainer;
    let upload = read_upload(&request, form, principal.team.id, evaluation.max_upload_bytes).await?;
    if query.dry_run == Some(true) {
        return Ok(HttpResponse::Ok().json(intake::dry_run(evaluation, upload, is_maintainer).await?));
    }
    let Accepted { submission, is_repeated } = intake::submit(evaluation, upload).await?;
    let location = (header::LOCATION, format!("/api/v1/submissions/{}", submission.id));
    let repeated = is_repeated.then(|| intake::repeated(&submission));
    let view = viewed(&state, submission).await?;
    Ok(match repeated {
        Some(warning) => HttpResponse::Ok().insert_header(location).json(view.warned(warning)),
        None => HttpResponse::Accepted().insert_header(location).json(view),
    })
}

/// Lists the team's submissions, newest first
#[utoipa::path(
    tag = "submissions",
    security(("bearer" = [])),
    params(PageQuery),
    responses(
        (status = 200, description = "Submissions", body = Page<SubmissionView>),
    )
)]
#[get("/api/v1/submissions")]
pub async fn list_submissions(
    state: Shared,
    TeamOnly(principal): TeamOnly,
    page: web::Query<PageQuery>,
) -> Answer<web::Json<Page<SubmissionView>>> {
    let of_team = SubmissionFilter { team_id: Some(principal.team.id), ..SubmissionFilter::default() };
    Ok(web::Json(submissions_page(&state, of_team, &page).await?))
}

/// One of the team's submissions
#[utoipa::path(
    tag = "submissions",
    security(("bearer" = [])),
    params(("id" = String, Path, description = "The submission's id")),
    responses(
        (status = 200, description = "The submission", body = SubmissionView),
        (status = 404, description = "There is none with this id, or it is another team's", body = Problem, content_type = "application/problem+json"),
    )
)]
#[get("/api/v1/submissions/{id}")]
pub async fn find_submission(
    state: Shared,
    TeamOnly(principal): TeamOnly,
    id: web::Path<Uuid>,
) -> Answer<web::Json<SubmissionView>> {
    let found = lifecycle::own_submission(&state.evaluation, &principal.team.id, &id.to_string()).await?;
    Ok(web::Json(viewed(&state, found).await?))
}

/// Changes a submission's description, links or visibility
#[utoipa::path(
    tag = "submissions",
    security(("bearer" = [])),
    params(("id" = String, Path, description = "The submission's id")),
    request_body = SubmissionChange,
    responses(
        (status = 200, description = "The changed submission", body = SubmissionView),
        (status = 404, description = "There is none with this id, or it is another team's", body = Problem, content_type = "application/problem+json"),
        (status = 409, description = "It was withdrawn", body = Problem, content_type = "application/problem+json"),
        (status = 422, description = "The change is faulty", body = Problem, content_type = "application/problem+json"),
    )
)]
#[patch("/api/v1/submissions/{id}")]
pub async fn update_submission(
    state: Shared,
    TeamOnly(principal): TeamOnly,
    id: web::Path<Uuid>,
    change: Body<SubmissionChange>,
) -> Answer<web::Json<SubmissionView>> {
    let evaluation = &state.evaluation;
    let changed =
        lifecycle::update_submission(evaluation, &principal.team.id, &id.to_string(), change.into_inner())
            .await?;
    Ok(web::Json(viewed(&state, changed).await?))
}

/// Cancels a submission that has not ended
///
/// The quota charge is given back while none of its scores could be read.
#[utoipa::path(
    tag = "submissions",
    security(("bearer" = [])),
    params(("id" = String, Path, description = "The submission's id")),
    responses(
        (status = 200, description = "The cancelled submission", body = SubmissionView),
        (status = 404, description = "There is none with this id, or it is another team's", body = Problem, content_type = "application/problem+json"),
        (status = 409, description = "It has ended", body = Problem, content_type = "application/problem+json"),
    )
)]
#[delete("/api/v1/submissions/{id}")]
pub async fn cancel_submission(
    state: Shared,
    TeamOnly(principal): TeamOnly,
    id: web::Path<Uuid>,
) -> Answer<web::Json<SubmissionView>> {
    let cancelled =
        lifecycle::cancel_submission(&state.evaluation, &principal.team.id, &id.to_string()).await?;
    Ok(web::Json(viewed(&state, cancelled).await?))
}

/// Why an entry is withdrawn.
#[derive(Debug, Deserialize, utoipa::ToSchema)]
#[serde(deny_unknown_fields)]
pub struct Withdrawal {
    /// What readers are told at the entry's address.
    pub reason: String,
}

/// Takes a scored submission off every board for good
#[utoipa::path(
    tag = "submissions",
    security(("bearer" = [])),
    params(("id" = String, Path, description = "The submission's id")),
    request_body = Withdrawal,
    responses(
        (status = 200, description = "It is withdrawn", body = SubmissionView),
        (status = 404, description = "There is none with this id, or it is another team's", body = Problem, content_type = "application/problem+json"),
        (status = 409, description = "It is not scored, or was withdrawn already", body = Problem, content_type = "application/problem+json"),
        (status = 422, description = "The reason is blank or too long", body = Problem, content_type = "application/problem+json"),
    )
)]
#[post("/api/v1/submissions/{id}/withdraw")]
pub async fn withdraw_submission(
    state: Shared,
    TeamOnly(principal): TeamOnly,
    id: web::Path<Uuid>,
    withdrawal: Body<Withdrawal>,
) -> Answer<web::Json<SubmissionView>> {
    let (actor, team, reason) = (principal.actor(), principal.team, &withdrawal.reason);
    let withdrawn =
        lifecycle::withdraw_submission(&state.evaluation, Some(&team.id), &actor, &id.to_string(), reason)
            .await?;
    Ok(web::Json(viewed(&state, withdrawn).await?))
}
