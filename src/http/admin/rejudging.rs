//! Asking about a scored submission's answers again, for maintainers who do not believe the judgements.

use actix_web::http::StatusCode;
use actix_web::{HttpResponse, delete, get, post, web};
use serde::Deserialize;
use uuid::Uuid;

use super::Trial;
use crate::evaluation::anew::{
    self, AnewError, Rejudging, cancel_rejudging as cancel, rejudge_submission as rejudge, rejudging_cost,
};
use crate::http::Shared;
use crate::http::auth::MaintainerOnly;
use crate::http::body::Body;
use crate::http::error::{Answer, Problem};

/// Why answers are asked about again.
#[derive(Debug, Deserialize, utoipa::ToSchema)]
#[serde(deny_unknown_fields)]
pub struct RejudgingRequest {
    /// Why, for the audit log.
    reason: String,
}

/// Says what asking about a submission's answers again takes, and how far it is
#[utoipa::path(
    tag = "administration",
    security(("bearer" = [])),
    params(("id" = String, Path, description = "The submission's id")),
    responses(
        (status = 200, description = "Calls that are left, dollars at most, and whom it touches", body = Rejudging),
        (status = 404, description = "There is none with this id", body = Problem, content_type = "application/problem+json"),
        (status = 409, description = "It is not scored, was withdrawn, does not stand under the present release and judge, or nothing of it was judged", body = Problem, content_type = "application/problem+json"),
    )
)]
#[get("/api/v1/admin/submissions/{id}/rejudge")]
pub async fn find_rejudging(
    state: Shared,
    _maintainer: MaintainerOnly,
    id: web::Path<Uuid>,
) -> Answer<web::Json<Rejudging>> {
    Ok(web::Json(found(&state, &id.to_string()).await?))
}

async fn found(state: &Shared, id: &str) -> Result<Rejudging, AnewError> {
    let evaluation = &state.evaluation;
    let (store, catalogue, judges) = (&evaluation.store, &evaluation.catalogue, &evaluation.judges);
    anew::find_rejudging(store, catalogue, judges, id, evaluation.clock.now_ms()).await
}

/// Asks the judge about all answers of a scored submission again that it has scored
///
/// For whoever does not believe the judgements. It is judged under the release and the judge configuration of the present
/// board; what maintainers decided by hand stays. Until the last answer is judged the entry keeps its scores; then new
/// judgements replace the old ones in one step, also for other submissions that gave one of the answers.
#[utoipa::path(
    tag = "administration",
    security(("bearer" = [])),
    params(("id" = String, Path, description = "The submission's id"), Trial),
    request_body = RejudgingRequest,
    responses(
        (status = 200, description = "What it would take; nothing was changed", body = Rejudging),
        (status = 202, description = "It is under way", body = Rejudging),
        (status = 404, description = "There is none with this id", body = Problem, content_type = "application/problem+json"),
        (status = 409, description = "It is not scored, was withdrawn, is being rejudged, does not stand under the present release and judge, or nothing of it was judged", body = Problem, content_type = "application/problem+json"),
        (status = 422, description = "The reason is blank or too long", body = Problem, content_type = "application/problem+json"),
    )
)]
#[post("/api/v1/admin/submissions/{id}/rejudge")]
pub async fn rejudge_submission(
    state: Shared,
    MaintainerOnly(principal): MaintainerOnly,
    id: web::Path<Uuid>,
    query: web::Query<Trial>,
    request: Body<RejudgingRequest>,
) -> Answer<HttpResponse> {
    let (evaluation, id) = (&state.evaluation, id.to_string());
    if query.dry_run {
        let (store, catalogue, judges) = (&evaluation.store, &evaluation.catalogue, &evaluation.judges);
        let cost = rejudging_cost(store, catalogue, judges, &id, evaluation.clock.now_ms()).await?;
        return Ok(HttpResponse::Ok().json(cost));
    }
    rejudge(evaluation, &principal.actor(), &id, &request.reason).await?;
    Ok(HttpResponse::Accepted().json(found(&state, &id).await?))
}

/// Gives up asking about a submission's answers again
///
/// Everything stays as it is, and what was judged meanwhile is not used.
#[utoipa::path(
    tag = "administration",
    security(("bearer" = [])),
    params(("id" = String, Path, description = "The submission's id")),
    responses(
        (status = 204, description = "It is given up"),
        (status = 404, description = "There is none with this id", body = Problem, content_type = "application/problem+json"),
        (status = 409, description = "It is not being rejudged", body = Problem, content_type = "application/problem+json"),
    )
)]
#[delete("/api/v1/admin/submissions/{id}/rejudge")]
pub async fn cancel_rejudging(
    state: Shared,
    MaintainerOnly(principal): MaintainerOnly,
    id: web::Path<Uuid>,
) -> Answer<HttpResponse> {
    let (store, now_ms) = (&state.evaluation.store, state.evaluation.clock.now_ms());
    cancel(store, &principal.actor(), &id.to_string(), now_ms).await?;
    Ok(HttpResponse::NoContent().finish())
}

impl From<AnewError> for Problem {
    fn from(error: AnewError) -> Problem {
        let code = match error {
            AnewError::Lifecycle(error) => return error.into(),
            AnewError::Cost(error) => return Problem::internal(error),
            AnewError::Store(error) => return error.into(),
            AnewError::NotCurrent => "not_current",
            AnewError::UnderWay(_) => "being_rejudged",
            AnewError::Idle => "not_being_rejudged",
            AnewError::NothingJudged => "nothing_judged",
        };
        Problem::new(StatusCode::CONFLICT, code, error.to_string())
    }
}
