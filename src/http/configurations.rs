//! The judge configurations, for maintainers. They are changed by commands alone.

use actix_web::{get, web};

use super::Shared;
use super::auth::MaintainerOnly;
use super::error::Answer;
use super::page::{Page, PageQuery};
use crate::evaluation::staging::{ConfigurationView, configurations};

/// Lists the judge configurations, oldest first, and how far each has come with what is published
#[utoipa::path(
    tag = "administration",
    security(("bearer" = [])),
    params(PageQuery),
    responses(
        (status = 200, description = "All of them", body = Page<ConfigurationView>),
    )
)]
#[get("/api/v1/admin/judge/configurations")]
pub async fn list_judge_configurations(
    state: Shared,
    _maintainer: MaintainerOnly,
    page: web::Query<PageQuery>,
) -> Answer<web::Json<Page<ConfigurationView>>> {
    let items = state.evaluation.store.snapshot(configurations).await?;
    Ok(web::Json(page.part(items)?))
}
