//! Teams, for maintainers: which there are, shutting one out, granting one more submissions.

use actix_web::http::StatusCode;
use actix_web::{HttpResponse, get, post, web};
use serde::{Deserialize, Serialize};

use crate::accounts::{AccountError, disable_team as shut_out};
use crate::domain::instant::rfc3339;
use crate::domain::question::Split;
use crate::domain::team::Role;
use crate::evaluation::quota::{Grant, grant_quota};
use crate::http::Shared;
use crate::http::auth::MaintainerOnly;
use crate::http::error::{Answer, Problem};
use crate::http::page::{Page, PageQuery};
use crate::http::quota::LedgerView;
use crate::store::StoreError;
use crate::store::teams::{Team, load_teams};

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
    #[serde(skip)]
    id: String,
}

impl From<Team> for TeamView {
    fn from(team: Team) -> TeamView {
        TeamView {
            id: team.id,
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

/// Lists all teams, newest first
#[utoipa::path(
    tag = "administration",
    security(("bearer" = [])),
    params(PageQuery),
    responses(
        (status = 200, description = "Teams, disabled ones too", body = Page<TeamView>),
        (status = 401, description = "No valid key or token", body = Problem, content_type = "application/problem+json"),
        (status = 403, description = "Not a maintainer", body = Problem, content_type = "application/problem+json"),
    )
)]
#[get("/api/v1/admin/teams")]
pub async fn list_teams(
    state: Shared,
    MaintainerOnly(_principal): MaintainerOnly,
    page: web::Query<PageQuery>,
) -> Answer<web::Json<Page<TeamView>>> {
    let (limit, before) = (page.limit()?, page.after_id()?);
    let teams: Result<Vec<Team>, StoreError> = state.evaluation.store.read(load_teams).await;
    let mut teams = teams?;
    teams.sort_by(|one, other| other.id.cmp(&one.id));
    let views = teams
        .into_iter()
        .filter(|team| before.as_ref().is_none_or(|before| team.id < *before))
        .map(TeamView::from);
    Ok(web::Json(Page::cut(views.collect(), limit, |team| team.id.clone())))
}

/// Shuts a team out at once, with its keys and tokens
#[utoipa::path(
    tag = "administration",
    security(("bearer" = [])),
    params(("slug" = String, Path, description = "The team's short name")),
    responses(
        (status = 200, description = "The team", body = TeamView),
        (status = 401, description = "No valid key or token", body = Problem, content_type = "application/problem+json"),
        (status = 403, description = "Not a maintainer", body = Problem, content_type = "application/problem+json"),
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
    let (actor, slug) = (principal.actor(), slug.into_inner());
    if actor.name == slug {
        let detail = "this is your own team; another maintainer, or `secchi team disable`, may shut it out";
        return Err(Problem::new(StatusCode::CONFLICT, "own_team", detail));
    }
    let (store, now_ms) = (&state.evaluation.store, state.evaluation.clock.now_ms());
    Ok(web::Json(shut_out(store, &actor, slug, now_ms).await?.into()))
}

/// Gives a team more submissions, today and in all
#[utoipa::path(
    tag = "administration",
    security(("bearer" = [])),
    params(("slug" = String, Path, description = "The team's short name")),
    request_body = GrantRequest,
    responses(
        (status = 201, description = "The entry of the team's ledger", body = LedgerView),
        (status = 401, description = "No valid key or token", body = Problem, content_type = "application/problem+json"),
        (status = 403, description = "Not a maintainer", body = Problem, content_type = "application/problem+json"),
        (status = 404, description = "There is no such team", body = Problem, content_type = "application/problem+json"),
        (status = 422, description = "The grant is faulty; `errors` lists what", body = Problem, content_type = "application/problem+json"),
    )
)]
#[post("/api/v1/admin/teams/{slug}/grants")]
pub async fn create_grant(
    state: Shared,
    MaintainerOnly(principal): MaintainerOnly,
    slug: web::Path<String>,
    request: web::Json<GrantRequest>,
) -> Answer<HttpResponse> {
    let GrantRequest { split, amount, reason } = request.into_inner();
    let (store, now_ms) = (&state.evaluation.store, state.evaluation.clock.now_ms());
    let grant = Grant { split, amount, reason };
    let entry = grant_quota(store, &principal.actor(), &slug, grant, now_ms).await?;
    Ok(HttpResponse::Created().json(LedgerView::from(entry)))
}

impl From<AccountError> for Problem {
    fn from(error: AccountError) -> Problem {
        let code = match error {
            AccountError::UnknownTeam(_) => return Problem::not_found(error.to_string()),
            AccountError::Store(error) => return error.into(),
            AccountError::Slug(_) => "invalid_slug",
            AccountError::BlankName => "blank_name",
            AccountError::Taken(_) => "slug_taken",
            AccountError::Disabled(_) => "disabled_team",
        };
        Problem::new(StatusCode::CONFLICT, code, error.to_string())
    }
}
