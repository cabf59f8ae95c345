//! A team's API keys: which there are, further ones, and new ones for old ones.

use actix_web::http::StatusCode;
use actix_web::{HttpResponse, delete, get, post, web};
use serde::{Deserialize, Serialize};
use uuid::Uuid;

use super::Shared;
use super::auth::{TeamOnly, wrong_scope};
use super::body::Body;
use super::error::{Answer, Problem};
use super::page::{Page, PageQuery};
use crate::accounts::keys::{self, KeyError, NewKey, OVERLAP_S, Rotated};
use crate::domain::instant::{parse_rfc3339, rfc3339};
use crate::domain::key::Scope;
use crate::domain::submission::MetadataFault;
use crate::store::StoreError;
use crate::store::keys::{Key, load_keys};

/// An API key, as its team sees it.
#[derive(Debug, Serialize, utoipa::ToSchema)]
pub struct KeyView {
    /// The key's id; not the key.
    id: String,
    /// What the team calls it.
    name: String,
    /// What it may be used for; a later scope includes those before it.
    scope: Scope,
    /// Its first characters; empty where they are not known.
    prefix: String,
    /// Whether it opens anything now.
    usable: bool,
    /// Whether it is the key that asks, or that the asking token was exchanged for.
    asking: bool,
    /// When it was made.
    created_at: String,
    /// When it ends by itself; null for never.
    expires_at: Option<String>,
    /// When it was last used, to the minute; null for never.
    last_used_at: Option<String>,
    /// When it was revoked, if it was.
    revoked_at: Option<String>,
}

impl KeyView {
    fn new(key: Key, asking: &str, now_ms: i64) -> KeyView {
        KeyView {
            usable: key.is_usable(now_ms),
            asking: key.id == asking,
            id: key.id,
            name: key.name,
            scope: key.scope,
            prefix: key.prefix,
            created_at: rfc3339(key.created_at_ms),
            expires_at: key.expires_at_ms.map(rfc3339),
            last_used_at: key.last_used_at_ms.map(rfc3339),
            revoked_at: key.revoked_at_ms.map(rfc3339),
        }
    }
}

/// A new API key. The key itself is told only here.
#[derive(Debug, Serialize, utoipa::ToSchema)]
pub struct NewKeyView {
    #[serde(flatten)]
    key: KeyView,
    /// The key itself.
    #[schema(example = "sk_secchi_…")]
    api_key: String,
    /// The key that it replaces, if it does.
    #[serde(skip_serializing_if = "Option::is_none")]
    replaces: Option<KeyView>,
}

/// What is said of a new key.
#[derive(Debug, Deserialize, utoipa::ToSchema)]
#[serde(deny_unknown_fields)]
pub struct KeyRequest {
    /// What it is for, such as `cluster`.
    name: String,
    /// What it may be used for: at most what the asking key may.
    scope: Scope,
    /// When it is to end, RFC 3339; never unless said.
    expires_at: Option<String>,
}

/// How an old key is replaced.
#[derive(Debug, Default, Deserialize, utoipa::IntoParams)]
#[into_params(parameter_in = Query)]
#[serde(deny_unknown_fields)]
pub struct RotateQuery {
    /// Seconds that the old key goes on: a day unless said, 7 days at most.
    overlap_s: Option<i64>,
}

/// Whether even the last key may go.
#[derive(Debug, Default, Deserialize, utoipa::IntoParams)]
#[into_params(parameter_in = Query)]
#[serde(deny_unknown_fields)]
pub struct RevokeQuery {
    /// `true` ends even the last key that may submit and does not end by itself.
    last: Option<bool>,
}

/// Lists the team's keys, newest first, ended ones too
#[utoipa::path(
    tag = "teams",
    security(("bearer" = [])),
    params(PageQuery),
    responses(
        (status = 200, description = "The keys, without the keys themselves", body = Page<KeyView>),
    )
)]
#[get("/api/v1/keys")]
pub async fn list_keys(
    state: Shared,
    TeamOnly(principal): TeamOnly,
    page: web::Query<PageQuery>,
) -> Answer<web::Json<Page<KeyView>>> {
    let (limit, before) = (page.limit()?, page.after_id()?);
    let (evaluation, team_id) = (&state.evaluation, principal.team.id);
    let found: Result<Vec<Key>, StoreError> =
        evaluation.store.read(move |connection| load_keys(connection, &team_id)).await;
    let now_ms = evaluation.clock.now_ms();
    let views = found?
        .into_iter()
        .filter(|key| before.as_ref().is_none_or(|before| key.id < *before))
        .map(|key| KeyView::new(key, &principal.key_id, now_ms));
    Ok(web::Json(Page::cut(views.collect(), limit, |key| key.id.clone())))
}

/// Makes a further key of the team
///
/// It may do at most what the asking key may, and ends no later than that.
#[utoipa::path(
    tag = "teams",
    security(("bearer" = [])),
    request_body = KeyRequest,
    responses(
        (status = 201, description = "The key, told only here", body = NewKeyView),
        (status = 403, description = "The asking key has less scope", body = Problem, content_type = "application/problem+json"),
        (status = 409, description = "The team has very many keys", body = Problem, content_type = "application/problem+json"),
        (status = 422, description = "The key is faulty; `errors` lists what", body = Problem, content_type = "application/problem+json"),
    )
)]
#[post("/api/v1/keys")]
pub async fn create_key(
    state: Shared,
    TeamOnly(principal): TeamOnly,
    request: Body<KeyRequest>,
) -> Answer<HttpResponse> {
    let KeyRequest { name, scope, expires_at } = request.into_inner();
    let expires_at_ms = expires_at.as_deref().map(instant).transpose()?;
    let new = NewKey { name, scope, expires_at_ms };
    let now_ms = state.evaluation.clock.now_ms();
    let (key, api_key) = keys::create_key(&state.evaluation.store, &principal, new, now_ms).await?;
    let key = KeyView::new(key, &principal.key_id, now_ms);
    Ok(created(NewKeyView { key, api_key, replaces: None }))
}

/// Ends a key of the team at once, and the tokens that it was exchanged for
#[utoipa::path(
    tag = "teams",
    security(("bearer" = [])),
    params(("id" = String, Path, description = "The key's id"), RevokeQuery),
    responses(
        (status = 200, description = "The key that has ended", body = KeyView),
        (status = 403, description = "The asking key has less scope", body = Problem, content_type = "application/problem+json"),
        (status = 404, description = "There is none with this id, or it is another team's", body = Problem, content_type = "application/problem+json"),
        (status = 409, description = "It has ended already, or is the last one", body = Problem, content_type = "application/problem+json"),
    )
)]
#[delete("/api/v1/keys/{id}")]
pub async fn revoke_key(
    state: Shared,
    TeamOnly(principal): TeamOnly,
    id: web::Path<Uuid>,
    query: web::Query<RevokeQuery>,
) -> Answer<web::Json<KeyView>> {
    let (evaluation, even_last) = (&state.evaluation, query.last == Some(true));
    let now_ms = evaluation.clock.now_ms();
    let key = keys::revoke_key(&evaluation.store, &principal, &id.to_string(), even_last, now_ms).await?;
    Ok(web::Json(KeyView::new(key, &principal.key_id, now_ms)))
}

/// Makes a new key for an old one, which goes on for a while
///
/// The new key has the name, scope and end of the old one.
#[utoipa::path(
    tag = "teams",
    security(("bearer" = [])),
    params(("id" = String, Path, description = "The old key's id"), RotateQuery),
    responses(
        (status = 201, description = "The new key, told only here", body = NewKeyView),
        (status = 403, description = "The asking key has less scope", body = Problem, content_type = "application/problem+json"),
        (status = 404, description = "There is none with this id, or it is another team's", body = Problem, content_type = "application/problem+json"),
        (status = 409, description = "It has ended already, or the team has very many keys", body = Problem, content_type = "application/problem+json"),
        (status = 422, description = "The overlap is out of range", body = Problem, content_type = "application/problem+json"),
    )
)]
#[post("/api/v1/keys/{id}/rotate")]
pub async fn rotate_key(
    state: Shared,
    TeamOnly(principal): TeamOnly,
    id: web::Path<Uuid>,
    query: web::Query<RotateQuery>,
) -> Answer<HttpResponse> {
    let overlap_s = query.overlap_s.unwrap_or(OVERLAP_S);
    let (store, now_ms) = (&state.evaluation.store, state.evaluation.clock.now_ms());
    let Rotated { old, new, api_key } =
        keys::rotate_key(store, &principal, &id.to_string(), overlap_s, now_ms).await?;
    let [key, replaced] = [new, old].map(|key| KeyView::new(key, &principal.key_id, now_ms));
    Ok(created(NewKeyView { key, api_key, replaces: Some(replaced) }))
}

fn created(key: NewKeyView) -> HttpResponse {
    HttpResponse::Created().insert_header(("Cache-Control", "no-store")).json(key)
}

fn instant(text: &str) -> Result<i64, KeyError> {
    parse_rfc3339(text).ok_or_else(|| {
        let detail = format!("`{}` is no instant; write it as 2027-03-01T00:00:00Z", text.escape_debug());
        KeyError::Faults(vec![MetadataFault { pointer: "/expires_at".into(), detail }])
    })
}

impl From<KeyError> for Problem {
    fn from(error: KeyError) -> Problem {
        let code = match error {
            KeyError::Scope { needed, held } => return wrong_scope(needed, held),
            KeyError::Faults(faults) => {
                let detail = "what is said of the key is faulty; mend each of the `errors`";
                return Problem::new(StatusCode::UNPROCESSABLE_ENTITY, "invalid_key", detail)
                    .with_errors(&faults, faults.len() as u64);
            }
            KeyError::Outlives(_) => {
                return Problem::new(StatusCode::FORBIDDEN, "key_outlives", error.to_string());
            }
            KeyError::Unknown(_) | KeyError::UnknownTeam(_) => return Problem::not_found(error.to_string()),
            KeyError::Store(error) => return error.into(),
            KeyError::Ended => "key_ended",
            KeyError::Last => "last_key",
            KeyError::TooMany => "too_many_keys",
            KeyError::Admin(_) => "maintainers_only",
        };
        Problem::new(StatusCode::CONFLICT, code, error.to_string())
    }
}
