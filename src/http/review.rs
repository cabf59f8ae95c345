//! An entry as reviewers see it: at a secret address, without its team's name.

use actix_web::http::header;
use actix_web::{HttpResponse, delete, get, post, web};
use serde::Serialize;
use uuid::Uuid;

use super::Shared;
use super::auth::TeamOnly;
use super::entries::standing;
use super::error::{Answer, Problem};
use crate::evaluation::anonymity::{create_reviewers_link as make_link, end_reviewers_link, find_reviewed};
use crate::evaluation::entries::{Entry, Found, nameless_entry};
use crate::store::StoreError;

/// A link for reviewers. It is told only here.
#[derive(Debug, Serialize, utoipa::ToSchema)]
pub struct ReviewersLink {
    /// The secret part of the address.
    token: String,
    /// The address of its page: whoever has it sees the entry, without the team's name, even while it is private. The same
    /// as JSON stands at `/api/v1/review/{token}`.
    url: String,
}

/// Makes a link at which reviewers see a scored submission without its team's name
///
/// A submission has one link at most: making another ends the one before.
#[utoipa::path(
    tag = "submissions",
    security(("bearer" = [])),
    params(("id" = String, Path, description = "The submission's id")),
    responses(
        (status = 201, description = "The link, told only here", body = ReviewersLink),
        (status = 404, description = "There is none with this id, or it is another team's", body = Problem, content_type = "application/problem+json"),
        (status = 409, description = "It is not scored, or was withdrawn", body = Problem, content_type = "application/problem+json"),
    )
)]
#[post("/api/v1/submissions/{id}/reviewers-link")]
pub async fn create_reviewers_link(
    state: Shared,
    TeamOnly(principal): TeamOnly,
    id: web::Path<Uuid>,
) -> Answer<HttpResponse> {
    let token = make_link(&state.evaluation, &principal.team.id, &id.to_string()).await?;
    let url = state.link(&format!("/review/{token}"));
    let answer = ReviewersLink { token, url };
    Ok(HttpResponse::Created().insert_header((header::CACHE_CONTROL, "no-store")).json(answer))
}

/// Ends the reviewers' link of a submission
#[utoipa::path(
    tag = "submissions",
    security(("bearer" = [])),
    params(("id" = String, Path, description = "The submission's id")),
    responses(
        (status = 204, description = "There is no link any more"),
        (status = 404, description = "There is none with this id, or it is another team's", body = Problem, content_type = "application/problem+json"),
    )
)]
#[delete("/api/v1/submissions/{id}/reviewers-link")]
pub async fn revoke_reviewers_link(
    state: Shared,
    TeamOnly(principal): TeamOnly,
    id: web::Path<Uuid>,
) -> Answer<HttpResponse> {
    end_reviewers_link(&state.evaluation, &principal.team.id, &id.to_string()).await?;
    Ok(HttpResponse::NoContent().finish())
}

/// An entry as reviewers see it
#[utoipa::path(
    tag = "board",
    params(("token" = String, Path, description = "The secret part of the link")),
    responses(
        (status = 200, description = "The entry, without its team's name, description and links", body = Entry),
        (status = 404, description = "There is no such link, or its team has ended it", body = Problem, content_type = "application/problem+json"),
        (status = 410, description = "The entry was withdrawn; the detail says why", body = Problem, content_type = "application/problem+json"),
    )
)]
#[get("/api/v1/review/{token}")]
pub async fn find_reviewed_entry(state: Shared, token: web::Path<String>) -> Answer<HttpResponse> {
    let found: Result<Option<Found>, StoreError> = state
        .evaluation
        .store
        .snapshot(move |connection| match find_reviewed(connection, &token)? {
            Some(submission) => nameless_entry(connection, submission).map(Some),
            None => Ok(None),
        })
        .await;
    let unknown = || Problem::not_found("there is no such link, or the team has ended it");
    let entry = standing(found?.ok_or_else(unknown)?)?;
    Ok(HttpResponse::Ok()
        .insert_header((header::CACHE_CONTROL, "no-store"))
        .insert_header(("X-Robots-Tag", "noindex"))
        .json(entry))
}
