//! Teams, for maintainers: which there are, shutting one out, granting one more submissions.

use actix_web::http::StatusCode;
use actix_web::{HttpResponse, get, post, web};
use serde::{Deserialize, Serialize};

use crate::accounts::{self, AccountError, NewTeam};
use crate::domain::instant::rfc3339;
use crate::domain::question::Split;
use crate::domain::team::Role;
use crate::evaluation::quota::{Grant, grant_quota};
use crate::evaluation::team_standing::{self, TeamStanding};
use crate::http::Shared;
use crate::http::auth::MaintainerOnly;
use crate::http::body::Body;
use crate::http::error::{Answer, Problem};
use crate::http::page::{Page, PageQuery};
use crate::http::quota::LedgerView;
use crate::store::StoreError;
use crate::store::teams::Team;

/// A team, as maintainers see it.
#[derive(Debug, Serialize, utoipa::ToSchema)]
pub struct TeamView {
    /// The short name.
    slug: String,
    /// The full name.
    name: String,
    /// Where to reach it.
    email: Option<String>,
    /// What it may do.
    role: Role,
    /// When it was shut out, if it was.
    disabled_at: Option<String>,
    /// When it was made.
    created_at: String,
}

impl From<Team> for TeamView {
    fn from(team: Team) -> TeamView {
        TeamView {
            slug: team.slug,
            name: team.name,
            email: team.email,
            role: team.role,
            disabled_at: team.disabled_at_ms.map(rfc3339),
            created_at: rfc3339(team.created_at_ms),
        }
    }
}

/// More submissions for a team: today and in all.
#[derive(Debug, Deserialize, utoipa::ToSchema)]
#[serde(deny_unknown_fields)]
pub struct GrantRequest {
    /// `test` or `val`.
    split: Split,
    /// How many, 1 to 1,000.
    amount: i32,
    /// Why; the team reads it.
    reason: String,
}

/// Lists all teams, newest first, with what they have done and what is left to them
#[utoipa::path(
    tag = "administration",
    security(("bearer" = [])),
    params(PageQuery),
    responses(
        (status = 200, description = "Teams, disabled ones too", body = Page<TeamStanding>),
    )
)]
#[get("/api/v1/admin/teams")]
pub async fn list_teams(
    state: Shared,
    _maintainer: MaintainerOnly,
    page: web::Query<PageQuery>,
) -> Answer<web::Json<Page<TeamStanding>>> {
    let (limit, before) = (page.limit()?, page.after_id()?);
    let (settings, now_ms) = (state.evaluation.quota, state.evaluation.clock.now_ms());
    let teams: Result<Vec<TeamStanding>, StoreError> = state
        .evaluation
        .store
        .snapshot(move |connection| {
            team_standing::list_teams(connection, &settings, before.as_deref(), limit + 1, now_ms)
        })
        .await;
    Ok(web::Json(Page::cut(teams?, limit, |team| team.id.clone())))
}

/// Shuts a team out at once, with its keys and tokens
#[utoipa::path(
    tag = "administration",
    security(("bearer" = [])),
    params(("slug" = String, Path, description = "The team's short name")),
    responses(
        (status = 200, description = "The team", body = TeamView),
        (status = 404, description = "There is no such team", body = Problem, content_type = "application/problem+json"),
        (status = 409, description = "It is the asker's own team", body = Problem, content_type = "application/problem+json"),
    )
)]
#[post("/api/v1/admin/teams/{slug}/disable")]
pub async fn disable_team(
    state: Shared,
    MaintainerOnly(principal): MaintainerOnly,
    slug: web::Path<String>,
) -> Answer<web::Json<TeamView>> {
    let (store, now_ms) = (&state.evaluation.store, state.evaluation.clock.now_ms());
    let disabled = accounts::disable_team(store, &principal.actor(), slug.into_inner(), now_ms).await?;
    Ok(web::Json(disabled.into()))
}

/// A team as it is made.
#[derive(Debug, Deserialize, utoipa::ToSchema)]
#[serde(deny_unknown_fields)]
pub struct TeamRequest {
    /// The short name: 1 to 40 of a-z, 0-9 and `-`.
    slug: String,
    /// The full name.
    name: String,
    /// Where to reach it.
    email: Option<String>,
    /// What it may do: `team` unless said.
    role: Option<Role>,
}

/// A team with a key that is told only here.
#[derive(Debug, Serialize, utoipa::ToSchema)]
pub struct KeyedTeam {
    /// The short name.
    slug: String,
    /// The key itself.
    #[schema(example = "sk_secchi_…")]
    api_key: String,
}

impl KeyedTeam {
    fn created(slug: String, api_key: String) -> HttpResponse {
        HttpResponse::Created().insert_header(("Cache-Control", "no-store")).json(KeyedTeam { slug, api_key })
    }
}

/// Makes a team and its first key
#[utoipa::path(
    tag = "administration",
    security(("bearer" = [])),
    request_body = TeamRequest,
    responses(
        (status = 201, description = "The team's key, told only here", body = KeyedTeam),
        (status = 409, description = "The short name is taken", body = Problem, content_type = "application/problem+json"),
        (status = 422, description = "What is said of the team is faulty", body = Problem, content_type = "application/problem+json"),
    )
)]
#[post("/api/v1/admin/teams")]
pub async fn create_team(
    state: Shared,
    MaintainerOnly(principal): MaintainerOnly,
    request: Body<TeamRequest>,
) -> Answer<HttpResponse> {
    let TeamRequest { slug, name, email, role } = request.into_inner();
    let new = NewTeam { slug, name, email, role: role.unwrap_or(Role::Team) };
    let (store, now_ms) = (&state.evaluation.store, state.evaluation.clock.now_ms());
    let (team, api_key) = accounts::create_team(store, &principal.actor(), new, now_ms).await?;
    Ok(KeyedTeam::created(team.slug, api_key))
}

/// Lets a team in again that was shut out, with the keys that it had
#[utoipa::path(
    tag = "administration",
    security(("bearer" = [])),
    params(("slug" = String, Path, description = "The team's short name")),
    responses(
        (status = 200, description = "The team", body = TeamView),
        (status = 404, description = "There is no such team", body = Problem, content_type = "application/problem+json"),
    )
)]
#[post("/api/v1/admin/teams/{slug}/enable")]
pub async fn enable_team(
    state: Shared,
    MaintainerOnly(principal): MaintainerOnly,
    slug: web::Path<String>,
) -> Answer<web::Json<TeamView>> {
    let (store, now_ms) = (&state.evaluation.store, state.evaluation.clock.now_ms());
    let enabled = accounts::enable_team(store, &principal.actor(), slug.into_inner(), now_ms).await?;
    Ok(web::Json(enabled.into()))
}

/// Ends all keys of a team at once and makes a new one
#[utoipa::path(
    tag = "administration",
    security(("bearer" = [])),
    params(("slug" = String, Path, description = "The team's short name")),
    responses(
        (status = 201, description = "The new key, told only here", body = KeyedTeam),
        (status = 404, description = "There is no such team", body = Problem, content_type = "application/problem+json"),
        (status = 409, description = "The team is disabled", body = Problem, content_type = "application/problem+json"),
    )
)]
#[post("/api/v1/admin/teams/{slug}/rotate-key")]
pub async fn rotate_team_key(
    state: Shared,
    MaintainerOnly(principal): MaintainerOnly,
    slug: web::Path<String>,
) -> Answer<HttpResponse> {
    let (store, now_ms) = (&state.evaluation.store, state.evaluation.clock.now_ms());
    let slug = slug.into_inner();
    let key = accounts::rotate_key(store, &principal.actor(), slug.clone(), now_ms).await?;
    Ok(KeyedTeam::created(slug, key))
}

/// Gives a team more submissions, today and in all
#[utoipa::path(
    tag = "administration",
    security(("bearer" = [])),
    params(("slug" = String, Path, description = "The team's short name")),
    request_body = GrantRequest,
    responses(
        (status = 201, description = "The entry of the team's ledger", body = LedgerView),
        (status = 404, description = "There is no such team", body = Problem, content_type = "application/problem+json"),
        (status = 422, description = "The grant is faulty; `errors` lists what", body = Problem, content_type = "application/problem+json"),
    )
)]
#[post("/api/v1/admin/teams/{slug}/grants")]
pub async fn create_grant(
    state: Shared,
    MaintainerOnly(principal): MaintainerOnly,
    slug: web::Path<String>,
    request: Body<GrantRequest>,
) -> Answer<HttpResponse> {
    let GrantRequest { split, amount, reason } = request.into_inner();
    let (store, now_ms) = (&state.evaluation.store, state.evaluation.clock.now_ms());
    let grant = Grant { split, amount, reason };
    let entry = grant_quota(store, &principal.actor(), &slug, grant, now_ms).await?;
    Ok(HttpResponse::Created().json(LedgerView::from(entry)))
}

fn unprocessable(code: &'static str, error: &AccountError) -> Problem {
    Problem::new(StatusCode::UNPROCESSABLE_ENTITY, code, error.to_string())
}

impl From<AccountError> for Problem {
    fn from(error: AccountError) -> Problem {
        let code = match error {
            AccountError::UnknownTeam(_) => return Problem::not_found(error.to_string()),
            AccountError::Store(error) => return error.into(),
            AccountError::Slug(_) => return unprocessable("invalid_slug", &error),
            AccountError::BlankName => return unprocessable("blank_name", &error),
            AccountError::Faults(faults) => {
                let detail = "what is said of the team is faulty; mend each of the `errors`";
                return Problem::new(StatusCode::UNPROCESSABLE_ENTITY, "invalid_team", detail)
                    .with_errors(&faults, faults.len() as u64);
            }
            AccountError::Taken(_) => "slug_taken",
            AccountError::Disabled(_) => "disabled_team",
            AccountError::Own => "own_team",
        };
        Problem::new(StatusCode::CONFLICT, code, error.to_string())
    }
}
