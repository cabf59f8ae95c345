//! What only maintainers may do to submissions.

use actix_web::{HttpResponse, get, post, web};
use serde::Deserialize;
use uuid::Uuid;

use crate::domain::question::Split;
use crate::domain::submission::SubmissionState;
use crate::domain::team::is_slug;
use crate::evaluation::lifecycle;
use crate::evaluation::staging_cost::{StagingCost, retry_cost};
use crate::http::Shared;
use crate::http::auth::MaintainerOnly;
use crate::http::body::Body;
use crate::http::error::{Answer, Problem};
use crate::http::page::{Page, PageQuery};
use crate::http::submission_view::{SubmissionView, submissions_page, viewed};
use crate::http::submissions::Withdrawal;
use crate::store::submissions::SubmissionFilter;

/// Which submissions are asked for.
#[derive(Debug, Deserialize, utoipa::IntoParams)]
#[into_params(parameter_in = Query)]
#[serde(deny_unknown_fields)]
pub struct SubmissionsQuery {
    /// Only those of the team with this short name.
    team: Option<String>,
    /// Only those in this state.
    state: Option<SubmissionState>,
    /// Only those to this split.
    split: Option<Split>,
    /// `true`: only those that are failed, incomplete, paused, or have an open flag.
    #[serde(default)]
    needs_attention: bool,
    /// Items at most, 1 to 1,000; 100 unless said.
    limit: Option<i64>,
    /// `next_cursor` of the page before.
    cursor: Option<String>,
}

/// Lists all teams' submissions, newest first
#[utoipa::path(
    tag = "administration",
    operation_id = "list_all_submissions",
    security(("bearer" = [])),
    params(SubmissionsQuery),
    responses(
        (status = 200, description = "Submissions", body = Page<SubmissionView>),
        (status = 400, description = "The query is faulty", body = Problem, content_type = "application/problem+json"),
    )
)]
#[get("/api/v1/admin/submissions")]
pub async fn list_submissions(
    state: Shared,
    _maintainer: MaintainerOnly,
    query: web::Query<SubmissionsQuery>,
) -> Answer<web::Json<Page<SubmissionView>>> {
    let SubmissionsQuery { team, state: asked, split, needs_attention, limit, cursor } = query.into_inner();
    if team.as_ref().is_some_and(|team| !is_slug(team)) {
        return Err(Problem::parameter("`team` is no short name; `GET /api/v1/admin/teams` lists them"));
    }
    let filter = SubmissionFilter { team_id: None, team, state: asked, split, needs_attention };
    Ok(web::Json(submissions_page(&state, filter, &PageQuery::new(limit, cursor)).await?))
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

/// Says what trying a submission again would ask the judge, and what that costs
///
/// Asked are the answers without a judgement under the current configuration, and nothing else: what was judged under it
/// stands. Whoever does not believe judgements has the submission rejudged.
#[utoipa::path(
    tag = "administration",
    security(("bearer" = [])),
    params(("id" = String, Path, description = "The submission's id")),
    responses(
        (status = 200, description = "Calls, tokens and dollars", body = StagingCost),
        (status = 404, description = "There is none with this id", body = Problem, content_type = "application/problem+json"),
    )
)]
#[get("/api/v1/admin/submissions/{id}/retry")]
pub async fn find_retry_cost(
    state: Shared,
    _maintainer: MaintainerOnly,
    id: web::Path<Uuid>,
) -> Answer<web::Json<StagingCost>> {
    let evaluation = &state.evaluation;
    let (store, catalogue, judges) = (&evaluation.store, &evaluation.catalogue, &evaluation.judges);
    Ok(web::Json(retry_cost(store, catalogue, judges, &id.to_string()).await?))
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
    withdrawal: Body<Withdrawal>,
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
