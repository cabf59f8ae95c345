//! What the judge was asked and what it cost, for maintainers.

use actix_web::{get, web};
use serde::Deserialize;

use crate::evaluation::usage::{Grouping, JudgeUsage, UsageQuery, judge_usage};
use crate::http::Shared;
use crate::http::auth::MaintainerOnly;
use crate::http::error::{Answer, Problem};
use crate::store::StoreError;

/// Which usage is asked for.
#[derive(Debug, Deserialize, utoipa::IntoParams)]
#[into_params(parameter_in = Query)]
#[serde(deny_unknown_fields)]
pub struct UsageParameters {
    /// The first UTC day, such as `2026-11-01`; 29 days before today unless said.
    from: Option<String>,
    /// The last UTC day; today unless said.
    to: Option<String>,
    /// What to tell apart by: `day`, `team`, `rubric` and `configuration`, separated by commas; `day` unless said.
    by: Option<String>,
}

/// What the judge was asked and what it cost
#[utoipa::path(
    tag = "administration",
    security(("bearer" = [])),
    params(UsageParameters),
    responses(
        (status = 200, description = "Sums of calls, tokens and dollars", body = JudgeUsage),
        (status = 400, description = "The query is faulty", body = Problem, content_type = "application/problem+json"),
    )
)]
#[get("/api/v1/admin/judge/usage")]
pub async fn find_judge_usage(
    state: Shared,
    _maintainer: MaintainerOnly,
    parameters: web::Query<UsageParameters>,
) -> Answer<web::Json<JudgeUsage>> {
    let UsageParameters { from, to, by } = parameters.into_inner();
    let by = by.iter().flat_map(|by| by.split(','));
    let by: Result<Vec<Grouping>, String> = by.map(str::parse).collect();
    let by = by.map_err(|error| Problem::parameter(format!("`by`: {error}")))?;
    let evaluation = &state.evaluation;
    let now_ms = evaluation.clock.now_ms();
    let query =
        UsageQuery::new(from, to, by, now_ms).map_err(|error| Problem::parameter(error.to_string()))?;
    let budget_usd = evaluation.judges.budget_usd();
    let usage: Result<JudgeUsage, StoreError> =
        evaluation.store.snapshot(move |connection| judge_usage(connection, query, budget_usd, now_ms)).await;
    Ok(web::Json(usage?))
}
