//! A team's API keys from a page: which there are, further ones, new ones for old ones, and their end.

use actix_web::http::StatusCode;
use actix_web::web;
use serde::Deserialize;
use uuid::Uuid;

use super::Pages;
use super::keys_page::{self, Outcome, Typed};
use super::refusal::{Refusal, Shown, html, see_other};
use super::session::{Posted, Session};
use crate::accounts::keys::{self as accounts, KeyError, NewKey, Rotated};
use crate::domain::instant::parse_rfc3339;
use crate::domain::key::Scope;
use crate::domain::submission::MetadataFault;
use crate::store::StoreError;
use crate::store::keys::{Key, load_keys};

pub(super) async fn show(pages: web::Data<Pages>, session: Session) -> Shown {
    page(&pages, &session, StatusCode::OK, &Typed::blank(), &Outcome::None).await
}

pub(super) async fn create(pages: web::Data<Pages>, Posted { session, form }: Posted<Typed>) -> Shown {
    session.needs(Scope::Submit)?;
    let made = match new_key(&form) {
        Ok(new) => {
            let evaluation = &pages.evaluation;
            let now_ms = evaluation.clock.now_ms();
            accounts::create_key(&evaluation.store, &session.principal, new, now_ms).await
        }
        Err(faults) => Err(KeyError::Faults(faults)),
    };
    match made {
        Ok((key, api_key)) => {
            let told = Outcome::Told { name: key.name, api_key };
            page(&pages, &session, StatusCode::CREATED, &Typed::blank(), &told).await
        }
        Err(error) => refused(&pages, &session, &form, error).await,
    }
}

fn new_key(typed: &Typed) -> Result<NewKey, Vec<MetadataFault>> {
    let fault = |field: &str, detail: String| vec![MetadataFault { pointer: format!("/{field}"), detail }];
    let Some(scope) = Scope::parse(&typed.scope) else { return Err(fault("scope", "choose one".into())) };
    let expires_at_ms = match typed.expires_at.trim() {
        "" => None,
        day => Some(
            parse_rfc3339(&format!("{day}T23:59:59Z"))
                .ok_or_else(|| fault("expires_at", format!("`{day}` is no day; write it as 2027-03-01")))?,
        ),
    };
    Ok(NewKey { name: typed.name.clone(), scope, expires_at_ms })
}

/// How an old key is replaced.
#[derive(Deserialize)]
pub(super) struct Rotation {
    overlap_days: String,
}

pub(super) async fn rotate(
    pages: web::Data<Pages>,
    Posted { session, form }: Posted<Rotation>,
    id: web::Path<String>,
) -> Shown {
    session.needs(Scope::Submit)?;
    let days: i64 = form.overlap_days.parse().unwrap_or(-1);
    let (evaluation, id) = (&pages.evaluation, key_id(&id)?);
    let now_ms = evaluation.clock.now_ms();
    let overlap_s = days.saturating_mul(24 * 3600);
    match accounts::rotate_key(&evaluation.store, &session.principal, &id, overlap_s, now_ms).await {
        Ok(Rotated { new, api_key, .. }) => {
            let told = Outcome::Told { name: new.name, api_key };
            page(&pages, &session, StatusCode::CREATED, &Typed::blank(), &told).await
        }
        Err(error) => refused(&pages, &session, &Typed::blank(), error).await,
    }
}

/// Whether even the last key may go.
#[derive(Deserialize)]
pub(super) struct Revocation {
    last: Option<String>,
}

pub(super) async fn revoke(
    pages: web::Data<Pages>,
    Posted { session, form }: Posted<Revocation>,
    id: web::Path<String>,
) -> Shown {
    session.needs(Scope::Submit)?;
    let (evaluation, id) = (&pages.evaluation, key_id(&id)?);
    let (even_last, now_ms) = (form.last.is_some(), evaluation.clock.now_ms());
    match accounts::revoke_key(&evaluation.store, &session.principal, &id, even_last, now_ms).await {
        Ok(_) => Ok(see_other("/keys")),
        Err(error) => refused(&pages, &session, &Typed::blank(), error).await,
    }
}

fn key_id(id: &str) -> Result<String, Refusal> {
    Ok(Uuid::parse_str(id).map_err(|_| Refusal::not_found())?.to_string())
}

async fn refused(pages: &Pages, session: &Session, typed: &Typed, error: KeyError) -> Shown {
    let detail = error.to_string();
    let (status, outcome) = match error {
        KeyError::Faults(faults) => (StatusCode::UNPROCESSABLE_ENTITY, Outcome::Faulty(faults)),
        KeyError::Unknown(_) | KeyError::UnknownTeam(_) => return Err(Refusal::not_found()),
        KeyError::Store(error) => return Err(error.into()),
        KeyError::Scope { .. } | KeyError::Outlives(_) => (StatusCode::FORBIDDEN, Outcome::Refused(detail)),
        KeyError::Last => {
            let detail = "this is the team's last key that may submit and does not end by itself; make another first, or \
                          tick that it may go all the same";
            (StatusCode::CONFLICT, Outcome::Refused(detail.into()))
        }
        KeyError::Ended | KeyError::TooMany | KeyError::Admin(_) => {
            (StatusCode::CONFLICT, Outcome::Refused(detail))
        }
    };
    page(pages, session, status, typed, &outcome).await
}

async fn page(
    pages: &Pages,
    session: &Session,
    status: StatusCode,
    typed: &Typed,
    outcome: &Outcome,
) -> Shown {
    let team_id = session.principal.team.id.clone();
    let keys: Result<Vec<Key>, StoreError> =
        pages.evaluation.store.read(move |connection| load_keys(connection, &team_id)).await;
    let now_ms = pages.evaluation.clock.now_ms();
    Ok(html(status, keys_page::page(session, &keys?, typed, outcome, now_ms)))
}
