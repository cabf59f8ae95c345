//! Who may ask: the roles as extractors with the scope that a key needs, the exchange of a key for a token, and `me`.

use std::future::{Ready, ready};

use actix_web::dev::Payload;
use actix_web::http::{Method, StatusCode};
use actix_web::{FromRequest, HttpMessage as _, HttpRequest, HttpResponse, get, post, web};
use serde::{Deserialize, Serialize};

use super::body::Body;
use super::door::Identity;
use super::error::{Answer, Problem};
use super::{Shared, State};
use crate::accounts::{Principal, Unauthenticated, authenticate};
use crate::domain::key::Scope;
use crate::domain::question::Split;
use crate::domain::team::Role;
use crate::evaluation::quota::{Quota, quota};
use crate::store::StoreError;
use crate::tokens::TOKEN_TTL_S;

/// A request that a team makes, with a key of [`team_scope`]; maintainers are teams too.
pub struct TeamOnly(pub Principal);

/// A request that a maintainer makes, with a key of scope `admin`.
pub struct MaintainerOnly(pub Principal);

impl FromRequest for TeamOnly {
    type Error = Problem;
    type Future = Ready<Result<Self, Problem>>;

    fn from_request(request: &HttpRequest, _: &mut Payload) -> Self::Future {
        let asked = principal(request);
        ready(asked.and_then(|principal| scoped(principal, team_scope(request.method()))).map(TeamOnly))
    }
}

impl FromRequest for MaintainerOnly {
    type Error = Problem;
    type Future = Ready<Result<Self, Problem>>;

    fn from_request(request: &HttpRequest, _: &mut Payload) -> Self::Future {
        ready(principal(request).and_then(|principal| {
            if principal.is_maintainer() {
                return scoped(principal, Scope::Admin).map(MaintainerOnly);
            }
            Err(Problem::new(StatusCode::FORBIDDEN, "maintainers_only", "only a maintainer may do this"))
        }))
    }
}

/// The scope that a team's request needs: reading changes nothing.
pub(super) fn team_scope(method: &Method) -> Scope {
    if method == Method::GET { Scope::Read } else { Scope::Submit }
}

fn scoped(principal: Principal, needed: Scope) -> Result<Principal, Problem> {
    if needed <= principal.scope { Ok(principal) } else { Err(wrong_scope(needed, principal.scope)) }
}

/// 403 for a key that is known but not meant for this: another key of the same team would do.
pub(super) fn wrong_scope(needed: Scope, held: Scope) -> Problem {
    let detail = format!("this needs a key of scope `{needed}`; yours has `{held}`");
    Problem::new(StatusCode::FORBIDDEN, "wrong_scope", detail)
}

fn principal(request: &HttpRequest) -> Result<Principal, Problem> {
    let identity = request.extensions_mut().remove::<Identity>();
    Ok(identity.unwrap_or(Err(Unauthenticated::Missing))?)
}

/// An API key to exchange.
#[derive(Deserialize, utoipa::ToSchema)]
#[serde(deny_unknown_fields)]
pub struct TokenRequest {
    /// The team's API key.
    #[schema(example = "sk_secchi_…")]
    api_key: String,
}

/// A short-lived access token.
#[derive(Serialize, utoipa::ToSchema)]
pub struct TokenAnswer {
    /// A JWT for `Authorization: Bearer`.
    access_token: String,
    /// Always `Bearer`.
    token_type: &'static str,
    /// Seconds until it expires.
    expires_in: i64,
}

/// Exchanges an API key for an access token
#[utoipa::path(
    tag = "teams",
    request_body = TokenRequest,
    responses(
        (status = 200, description = "The token", body = TokenAnswer),
        (status = 401, description = "The key is unknown, revoked or of a disabled team", body = Problem, content_type = "application/problem+json"),
    )
)]
#[post("/api/v1/auth/token")]
pub async fn create_token(state: Shared, request: Body<TokenRequest>) -> Answer<HttpResponse> {
    let now_ms = state.evaluation.clock.now_ms();
    let principal =
        authenticate(&state.evaluation.store, &state.signer, &request.api_key, String::new(), now_ms).await?;
    // A token is no key: it cannot be prolonged by exchanging it.
    if !request.api_key.starts_with(crate::tokens::KEY_PREFIX) {
        return Err(Unauthenticated::Unknown.into());
    }
    let left_s = principal.key_expires_at_ms.map_or(TOKEN_TTL_S, |ends_ms| (ends_ms - now_ms) / 1000);
    let expires_in = left_s.min(TOKEN_TTL_S);
    let access_token = state.signer.sign(&principal.key_id, expires_in, now_ms).map_err(Problem::internal)?;
    let answer = TokenAnswer { access_token, token_type: "Bearer", expires_in };
    Ok(HttpResponse::Ok().insert_header(("Cache-Control", "no-store")).json(answer))
}

/// Who asks, and what is left to them.
#[derive(Serialize, utoipa::ToSchema)]
pub struct Me {
    /// The team's short name.
    team: String,
    /// The team's full name.
    name: String,
    /// What the team may do.
    role: Role,
    /// What the key may be used for that asks.
    scope: Scope,
    /// What the team may still submit, by split.
    quota: Vec<Quota>,
}

/// Says who asks and what quota is left
#[utoipa::path(
    tag = "teams",
    security(("bearer" = [])),
    responses(
        (status = 200, description = "The team", body = Me),
    )
)]
#[get("/api/v1/me")]
pub async fn find_me(state: Shared, TeamOnly(principal): TeamOnly) -> Answer<web::Json<Me>> {
    let quota = quotas(&state, principal.team.id.clone()).await?;
    let Principal { team, scope, .. } = principal;
    Ok(web::Json(Me { team: team.slug, name: team.name, role: team.role, scope, quota }))
}

pub(super) async fn quotas(state: &State, team_id: String) -> Result<Vec<Quota>, StoreError> {
    let (settings, now_ms) = (state.evaluation.quota, state.evaluation.clock.now_ms());
    state
        .evaluation
        .store
        .read(move |connection| {
            [Split::Test, Split::Val]
                .into_iter()
                .map(|split| quota(connection, &settings, &team_id, split, now_ms))
                .collect()
        })
        .await
}
