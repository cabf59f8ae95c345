//! How far a judge agrees with people, for everybody: sums over items, nothing of a question or an answer.

use actix_web::{get, web};
use serde::Deserialize;

use super::Shared;
use super::error::{Answer, Problem};
use crate::evaluation::validity::report::AgreementReport;

/// Whose agreement is asked for.
#[derive(Debug, Deserialize, utoipa::IntoParams)]
#[into_params(parameter_in = Query)]
#[serde(deny_unknown_fields)]
pub struct AgreementQuery {
    /// A judge configuration's id, or `file` for the scores that came with the ratings; unless said the current
    /// configuration if it is measured, else the file's.
    judge: Option<String>,
}

/// Says how far a judge agrees with people, with intervals over videos and people's own agreement
#[utoipa::path(
    tag = "board",
    params(AgreementQuery),
    responses(
        (status = 200, description = "Measures over all items and by dimension", body = AgreementReport),
        (status = 400, description = "The query is faulty", body = Problem, content_type = "application/problem+json"),
        (status = 404, description = "There are no ratings, no such judge, or nothing is known of it", body = Problem, content_type = "application/problem+json"),
    )
)]
#[get("/api/v1/judge/agreement")]
pub async fn find_agreement(
    state: Shared,
    query: web::Query<AgreementQuery>,
) -> Answer<web::Json<AgreementReport>> {
    let evaluation = &state.evaluation;
    let report = evaluation.agreements.report(&evaluation.store, query.into_inner().judge).await?;
    Ok(web::Json(AgreementReport::clone(&report)))
}
