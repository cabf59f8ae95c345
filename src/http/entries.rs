//! Single published entries of the leaderboard.

use actix_web::http::StatusCode;
use actix_web::{get, web};
use uuid::Uuid;

use super::Shared;
use super::error::{Answer, Problem};
use crate::evaluation::entries::{self, Entry, Found};
use crate::store::StoreError;

/// One published entry
#[utoipa::path(
    tag = "board",
    params(("id" = String, Path, description = "The entry's id")),
    responses(
        (status = 200, description = "The entry", body = Entry),
        (status = 404, description = "There is no such entry, or it is not published", body = Problem, content_type = "application/problem+json"),
        (status = 410, description = "The entry was withdrawn; the detail says why", body = Problem, content_type = "application/problem+json"),
    )
)]
#[get("/api/v1/entries/{id}")]
pub async fn find_entry(state: Shared, id: web::Path<Uuid>) -> Answer<web::Json<Entry>> {
    let id = id.to_string();
    let unknown = format!("there is no published entry `{id}`");
    let found: Result<Option<Found>, StoreError> =
        state.evaluation.store.snapshot(move |connection| entries::find_entry(connection, &id)).await;
    standing(found?.ok_or_else(|| Problem::not_found(unknown))?).map(web::Json)
}

/// The entry, unless it was withdrawn.
pub(super) fn standing(found: Found) -> Answer<Entry> {
    match found {
        Found::Entry(entry) => Ok(*entry),
        Found::Withdrawn { reason, .. } => {
            Err(Problem::new(StatusCode::GONE, "withdrawn", format!("the entry was withdrawn: {reason}")))
        }
    }
}
