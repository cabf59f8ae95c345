//! Maintainers' notes on submissions.

use actix_web::http::StatusCode;
use actix_web::{HttpResponse, get, post, web};
use serde::Deserialize;
use uuid::Uuid;

use crate::administration::notes::{self, Note, NoteError};
use crate::http::Shared;
use crate::http::auth::MaintainerOnly;
use crate::http::body::Body;
use crate::http::error::{Answer, Problem};
use crate::http::page::{Page, PageQuery};

/// A note as it is written.
#[derive(Debug, Deserialize, utoipa::ToSchema)]
#[serde(deny_unknown_fields)]
pub struct NewNote {
    /// What it says, in 1 to 4,000 characters.
    text: String,
}

/// Lists what maintainers wrote down about a submission, oldest first; no team sees it
#[utoipa::path(
    tag = "administration",
    security(("bearer" = [])),
    params(("id" = String, Path, description = "The submission's id"), PageQuery),
    responses(
        (status = 200, description = "Notes", body = Page<Note>),
        (status = 404, description = "There is none with this id", body = Problem, content_type = "application/problem+json"),
    )
)]
#[get("/api/v1/admin/submissions/{id}/notes")]
pub async fn list_notes(
    state: Shared,
    _maintainer: MaintainerOnly,
    id: web::Path<Uuid>,
    page: web::Query<PageQuery>,
) -> Answer<web::Json<Page<Note>>> {
    let id = id.to_string();
    let items = state.evaluation.store.read(move |connection| notes::list_notes(connection, &id)).await?;
    Ok(web::Json(page.part(items)?))
}

/// Writes a note on a submission down
#[utoipa::path(
    tag = "administration",
    security(("bearer" = [])),
    params(("id" = String, Path, description = "The submission's id")),
    request_body = NewNote,
    responses(
        (status = 201, description = "The note", body = Note),
        (status = 404, description = "There is none with this id", body = Problem, content_type = "application/problem+json"),
        (status = 422, description = "The text is blank or too long", body = Problem, content_type = "application/problem+json"),
    )
)]
#[post("/api/v1/admin/submissions/{id}/notes")]
pub async fn create_note(
    state: Shared,
    MaintainerOnly(principal): MaintainerOnly,
    id: web::Path<Uuid>,
    note: Body<NewNote>,
) -> Answer<HttpResponse> {
    let (store, now_ms) = (&state.evaluation.store, state.evaluation.clock.now_ms());
    let note = notes::add_note(store, &principal.actor(), &id.to_string(), &note.text, now_ms).await?;
    Ok(HttpResponse::Created().json(note))
}

impl From<NoteError> for Problem {
    fn from(error: NoteError) -> Problem {
        match error {
            NoteError::Unknown(_) => Problem::not_found(error.to_string()),
            NoteError::Fault(fault) => {
                let detail = "the note is faulty; mend each of the `errors`";
                Problem::new(StatusCode::UNPROCESSABLE_ENTITY, "invalid_note", detail)
                    .with_errors(&[fault], 1)
            }
            NoteError::Store(error) => error.into(),
        }
    }
}
