//! Whether the process lives and is ready to serve.

use std::sync::atomic::Ordering;

use actix_web::{HttpResponse, get};
use serde::Serialize;

use super::Shared;
use crate::domain::line::Line;
use crate::store::{StoreError, load_board_revision};

/// What a server needs, and whether it is there.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, utoipa::ToSchema)]
pub struct Readiness {
    /// The database answers.
    database: bool,
    /// The queue answers.
    queue: bool,
    /// The tables are those that this version needs.
    migrations: bool,
    /// The server is about to stop: others shall be asked instead.
    stopping: bool,
}

/// Says that the process lives
#[utoipa::path(tag = "health", responses((status = 200, description = "It lives", body = str, content_type = "text/plain")))]
#[get("/healthz")]
pub async fn check_health() -> HttpResponse {
    HttpResponse::Ok().insert_header(("Cache-Control", "no-store")).content_type("text/plain").body("ok\n")
}

/// Says whether database, queue and migrations are ready
#[utoipa::path(
    tag = "health",
    responses(
        (status = 200, description = "All are", body = Readiness),
        (status = 503, description = "Those that say false are not, or the server is stopping", body = Readiness),
    )
)]
#[get("/readyz")]
pub async fn check_readiness(state: Shared) -> HttpResponse {
    let evaluation = &state.evaluation;
    let revision: Result<i64, StoreError> = evaluation.store.read(load_board_revision).await;
    let (database, migrations) = match &revision {
        Ok(_) => (true, evaluation.store.is_migrated().await.unwrap_or(false)),
        Err(StoreError::Statement(_)) => (true, false),
        Err(_) => (false, false),
    };
    let queue = evaluation.queue.depth(Line::LAST).await.is_ok();
    let stopping = state.draining.load(Ordering::Relaxed);
    let readiness = Readiness { database, queue, migrations, stopping };
    let is_ready = database && queue && migrations && !stopping;
    let mut answer = if is_ready { HttpResponse::Ok() } else { HttpResponse::ServiceUnavailable() };
    answer.insert_header(("Cache-Control", "no-store")).json(readiness)
}
