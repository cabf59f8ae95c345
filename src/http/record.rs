//! The signed record of an entry, and the public keys that such records are checked by.

use actix_web::http::StatusCode;
use actix_web::{HttpRequest, HttpResponse, get, web};
use uuid::Uuid;

use super::Shared;
use super::error::{Answer, Problem};
use super::prepared::prepared;
use crate::evaluation::entry_record::{Published, entry_record, find_published};
use crate::evaluation::record_keys::{RecordKeyError, public_keys, signing_key};
use crate::evaluation::rendered::Rendered;
use crate::records::SignedRecord;
use crate::store::StoreError;

/// The signed record of an entry
///
/// `secchi verify FILE` checks it without this server. The same state of the entry gives the same bytes.
#[utoipa::path(
    tag = "board",
    params(("id" = String, Path, description = "The entry's id")),
    responses(
        (status = 200, description = "The record", body = SignedRecord),
        (status = 304, description = "The record that `If-None-Match` names still stands"),
        (status = 404, description = "There is no such entry, it is not published, or some of its scores are withheld", body = Problem, content_type = "application/problem+json"),
        (status = 410, description = "The entry was withdrawn; the detail says why", body = Problem, content_type = "application/problem+json"),
    )
)]
#[get("/api/v1/entries/{id}/record")]
pub async fn find_record(request: HttpRequest, state: Shared, id: web::Path<Uuid>) -> Answer<HttpResponse> {
    let id = id.to_string();
    let none = Problem::not_found(format!("there is no record of a published entry `{id}`"));
    let (store, issuer) = (&state.evaluation.store, state.link(""));
    let found: Result<_, StoreError> = store
        .snapshot(move |connection| match find_published(connection, &id)? {
            Some(Published::Entry(submission)) => Ok(entry_record(connection, *submission, issuer)?.map(Ok)),
            Some(Published::Withdrawn(reason)) => Ok(Some(Err(reason))),
            None => Ok(None),
        })
        .await;
    match found? {
        Some(Ok(record)) => {
            let key = signing_key(store, state.evaluation.clock.now_ms()).await?;
            let signed = key.sign(record).map_err(RecordKeyError::from)?;
            // Text and numbers cannot fail to be written.
            let body = serde_json::to_vec_pretty(&signed).unwrap_or_default();
            Ok(prepared(&request, &Rendered::new(body), "application/json").await)
        }
        Some(Err(reason)) => {
            Err(Problem::new(StatusCode::GONE, "withdrawn", format!("the entry was withdrawn: {reason}")))
        }
        None => Err(none),
    }
}

/// The public keys of signed records
///
/// A JSON Web Key Set: the key that signs now, then those that signed before. `secchi verify --keys` takes it.
#[utoipa::path(
    tag = "board",
    responses(
        (status = 200, description = "The keys", body = Object, content_type = "application/jwk-set+json"),
        (status = 304, description = "The keys that `If-None-Match` names still stand"),
    )
)]
#[get("/.well-known/secchi-keys.json")]
pub async fn find_record_keys(request: HttpRequest, state: Shared) -> Answer<HttpResponse> {
    let store = &state.evaluation.store;
    if !store.is_read_only() {
        // A key that is made later would be missing where somebody fetched them now.
        signing_key(store, state.evaluation.clock.now_ms()).await?;
    }
    let keys = public_keys(store).await?;
    let body = Rendered::new(keys.to_json().into_bytes());
    Ok(prepared(&request, &body, "application/jwk-set+json").await)
}

impl From<RecordKeyError> for Problem {
    fn from(error: RecordKeyError) -> Problem {
        match error {
            RecordKeyError::Store(error) => error.into(),
            RecordKeyError::LeftOut => Problem::new(StatusCode::FORBIDDEN, "not_archived", error.to_string()),
            RecordKeyError::Key(_) => Problem::internal(error),
        }
    }
}
