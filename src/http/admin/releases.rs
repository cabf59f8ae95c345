//! Releases, and the correction of the active one by another, for maintainers alone.

use actix_web::http::StatusCode;
use actix_web::{HttpResponse, delete, get, post, web};
use serde::Deserialize;

use super::Trial;
use crate::domain::question::Split;
use crate::evaluation::Evaluation;
use crate::evaluation::activating::{ActivationError, make_active};
use crate::evaluation::correcting::{
    CorrectionError, CorrectionView, abandon_correction, correction, stage_correction,
};
use crate::evaluation::release_views::{ReleaseView, releases};
use crate::http::Shared;
use crate::http::auth::MaintainerOnly;
use crate::http::body::Body;
use crate::http::error::{Answer, Problem};
use crate::http::page::{Page, PageQuery};

/// A release's split and name.
type Named = web::Path<(String, String)>;

/// What is to be told of a correction.
#[derive(Debug, Default, Deserialize, utoipa::ToSchema)]
#[serde(deny_unknown_fields)]
pub struct CorrectionRequest {
    /// What readers of the board are told about it; the words of before stay where there are none.
    #[serde(default)]
    notice: Option<String>,
}

/// Lists all releases
#[utoipa::path(
    tag = "administration",
    security(("bearer" = [])),
    params(PageQuery),
    responses(
        (status = 200, description = "Releases by split, oldest first", body = Page<ReleaseView>),
    )
)]
#[get("/api/v1/admin/releases")]
pub async fn list_releases(
    state: Shared,
    _maintainer: MaintainerOnly,
    page: web::Query<PageQuery>,
) -> Answer<web::Json<Page<ReleaseView>>> {
    let items = state.evaluation.store.snapshot(releases).await?;
    Ok(web::Json(page.part(items)?))
}

/// Says what correcting the active release by this one changes and costs, and how far it is
///
/// Which parts of questions differ is told, and not what they say.
#[utoipa::path(
    tag = "administration",
    security(("bearer" = [])),
    params(
        ("split" = Split, Path, description = "The split"),
        ("name" = String, Path, description = "The corrected release's name"),
    ),
    responses(
        (status = 200, description = "The correction", body = CorrectionView),
        (status = 404, description = "There is no such release", body = Problem, content_type = "application/problem+json"),
        (status = 409, description = "It corrects nothing", body = Problem, content_type = "application/problem+json"),
    )
)]
#[get("/api/v1/admin/releases/{split}/{name}/correction")]
pub async fn find_correction(
    state: Shared,
    _maintainer: MaintainerOnly,
    named: Named,
) -> Answer<web::Json<CorrectionView>> {
    let (split, name) = of(named)?;
    Ok(web::Json(viewed(&state, split, name).await?))
}

/// Scores all that is published under this release too, in the background
///
/// The board stays as it is until the release is made the active one. Only answers to questions that differ are judged.
#[utoipa::path(
    tag = "administration",
    security(("bearer" = [])),
    params(
        ("split" = Split, Path, description = "The split"),
        ("name" = String, Path, description = "The corrected release's name"),
        Trial,
    ),
    request_body = CorrectionRequest,
    responses(
        (status = 200, description = "What it would change and cost; nothing was changed", body = CorrectionView),
        (status = 202, description = "It is under way", body = CorrectionView),
        (status = 404, description = "There is no such release", body = Problem, content_type = "application/problem+json"),
        (status = 409, description = "It corrects nothing", body = Problem, content_type = "application/problem+json"),
        (status = 422, description = "The notice is faulty", body = Problem, content_type = "application/problem+json"),
    )
)]
#[post("/api/v1/admin/releases/{split}/{name}/correction")]
pub async fn create_correction(
    state: Shared,
    MaintainerOnly(principal): MaintainerOnly,
    named: Named,
    query: web::Query<Trial>,
    request: Body<CorrectionRequest>,
) -> Answer<HttpResponse> {
    let (split, name) = of(named)?;
    if query.dry_run {
        return Ok(HttpResponse::Ok().json(viewed(&state, split, name).await?));
    }
    let (store, now_ms) = (&state.evaluation.store, state.evaluation.clock.now_ms());
    let notice = request.into_inner().notice;
    stage_correction(store, &principal.actor(), (split, name.clone()), notice, now_ms).await?;
    Ok(HttpResponse::Accepted().json(viewed(&state, split, name).await?))
}

/// Gives up a correction that is under way
#[utoipa::path(
    tag = "administration",
    security(("bearer" = [])),
    params(
        ("split" = Split, Path, description = "The split"),
        ("name" = String, Path, description = "The corrected release's name"),
    ),
    responses(
        (status = 204, description = "It is given up; the board stays as it is"),
        (status = 404, description = "There is no such release", body = Problem, content_type = "application/problem+json"),
        (status = 409, description = "It is not under way", body = Problem, content_type = "application/problem+json"),
    )
)]
#[delete("/api/v1/admin/releases/{split}/{name}/correction")]
pub async fn cancel_correction(
    state: Shared,
    MaintainerOnly(principal): MaintainerOnly,
    named: Named,
) -> Answer<HttpResponse> {
    let (store, now_ms) = (&state.evaluation.store, state.evaluation.clock.now_ms());
    abandon_correction(store, &principal.actor(), of(named)?, now_ms).await?;
    Ok(HttpResponse::NoContent().finish())
}

/// Makes a release the active one of its split, in one step
///
/// Entries follow to a corrected release and back, once all that stand on the board have complete scores under it.
#[utoipa::path(
    tag = "administration",
    security(("bearer" = [])),
    params(
        ("split" = Split, Path, description = "The split"),
        ("name" = String, Path, description = "The release's name"),
    ),
    responses(
        (status = 200, description = "All releases", body = Page<ReleaseView>),
        (status = 404, description = "There is no such release", body = Problem, content_type = "application/problem+json"),
        (status = 409, description = "Entries lack complete scores under it", body = Problem, content_type = "application/problem+json"),
    )
)]
#[post("/api/v1/admin/releases/{split}/{name}/activation")]
pub async fn update_active_release(
    state: Shared,
    MaintainerOnly(principal): MaintainerOnly,
    named: Named,
) -> Answer<web::Json<Page<ReleaseView>>> {
    let (split, name) = of(named)?;
    let (store, now_ms) = (&state.evaluation.store, state.evaluation.clock.now_ms());
    make_active(store, &principal.actor(), split, name, now_ms).await?;
    let items = store.snapshot(releases).await?;
    Ok(web::Json(Page { items, next_cursor: None }))
}

fn of(named: Named) -> Answer<(Split, String)> {
    let (split, name) = named.into_inner();
    let unknown =
        || Problem::not_found(format!("there is no split `{split}`; there are test, val and train"));
    Ok((Split::parse(&split).ok_or_else(unknown)?, name))
}

async fn viewed(state: &Shared, split: Split, name: String) -> Answer<CorrectionView> {
    let Evaluation { store, catalogue, judges, .. } = &*state.evaluation;
    Ok(correction(store, catalogue, judges, (split, name), |_, _| ()).await?)
}

impl From<ActivationError> for Problem {
    fn from(error: ActivationError) -> Problem {
        match error {
            ActivationError::Unknown(..) => Problem::not_found(error.to_string()),
            ActivationError::Unscored { .. } => {
                Problem::new(StatusCode::CONFLICT, "entries_not_scored", error.to_string())
            }
            ActivationError::Store(error) => error.into(),
        }
    }
}

impl From<CorrectionError> for Problem {
    fn from(error: CorrectionError) -> Problem {
        let code = match error {
            CorrectionError::Unknown(..) => return Problem::not_found(error.to_string()),
            CorrectionError::Faults(faults) => {
                let detail = "the correction is faulty; mend each of the `errors`";
                return Problem::new(StatusCode::UNPROCESSABLE_ENTITY, "invalid_correction", detail)
                    .with_errors(&faults, faults.len() as u64);
            }
            CorrectionError::Cost(error) => return Problem::internal(error),
            CorrectionError::Store(error) => return error.into(),
            CorrectionError::NoneActive(_) => "no_active_release",
            CorrectionError::Active(..) => "active_release",
            CorrectionError::Apart { .. } => "other_questions",
            CorrectionError::NotStaged(..) => "not_staged",
        };
        Problem::new(StatusCode::CONFLICT, code, error.to_string())
    }
}
