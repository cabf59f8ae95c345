//! What needs a maintainer now.

use actix_web::{get, web};

use crate::administration::overview::{JudgeKnown, Overview, overview};
use crate::http::Shared;
use crate::http::auth::MaintainerOnly;
use crate::http::error::Answer;
use crate::store::StoreError;

/// Says what needs a maintainer now: how much waits, and since when
#[utoipa::path(
    tag = "administration",
    security(("bearer" = [])),
    responses(
        (status = 200, description = "What waits", body = Overview),
    )
)]
#[get("/api/v1/admin/overview")]
pub async fn find_overview(state: Shared, _maintainer: MaintainerOnly) -> Answer<web::Json<Overview>> {
    let evaluation = &state.evaluation;
    let now_ms = evaluation.clock.now_ms();
    let circuit = evaluation.judges.gate().map(|gate| gate.closed());
    let known = JudgeKnown::new(evaluation.judges.budget_usd(), circuit.as_ref().map(Option::as_ref));
    let found: Result<Overview, StoreError> =
        evaluation.store.snapshot(move |connection| overview(connection, known, now_ms)).await;
    Ok(web::Json(found?))
}
