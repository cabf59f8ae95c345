//! Series of near-duplicates, for maintainers alone: who sent them, how alike they are, and telling scores that were
//! withheld. Shows no letter and no score.

use actix_web::{get, patch, web};
use serde::{Deserialize, Serialize};
use uuid::Uuid;

use crate::domain::instant;
use crate::evaluation::lifecycle::find_any_submission;
use crate::evaluation::series::{FLAGGED_FROM, tell_scores};
use crate::http::Shared;
use crate::http::auth::MaintainerOnly;
use crate::http::body::Body;
use crate::http::error::{Answer, Problem};
use crate::http::page::{Page, PageQuery};
use crate::http::submission_view::{SubmissionView, viewed};
use crate::store::StoreError;
use crate::store::series::{FlaggedMember, Neighbour, load_flagged};

/// Another submission, and how far it agrees.
#[derive(Debug, Serialize, utoipa::ToSchema)]
pub struct NeighbourView {
    /// The other submission's id.
    submission: String,
    /// Multiple-choice questions for which both have a letter.
    compared: i32,
    /// Of these, the ones with different letters.
    differing: i32,
}

impl From<Neighbour> for NeighbourView {
    fn from(other: Neighbour) -> NeighbourView {
        let Neighbour { submission_id, compared, differing } = other;
        NeighbourView { submission: submission_id, compared, differing }
    }
}

/// A submission that differs little from others.
#[derive(Debug, Serialize, utoipa::ToSchema)]
pub struct SeriesView {
    /// The submission's id.
    submission: String,
    /// The team's short name.
    team: String,
    /// The model's name.
    model_name: String,
    /// The first submission of its series.
    series: String,
    /// Which different file of its series it is, from 1.
    place: i32,
    /// Whether its multiple-choice scores are told.
    told: bool,
    /// The most alike of its team.
    nearest: Option<NeighbourView>,
    /// The most alike of another team, where it is nearly the same.
    twin: Option<NeighbourView>,
    /// When it was graded.
    flagged_at: String,
}

impl From<FlaggedMember> for SeriesView {
    fn from(flagged: FlaggedMember) -> SeriesView {
        SeriesView {
            submission: flagged.submission_id,
            team: flagged.team,
            model_name: flagged.model_name,
            series: flagged.series_id,
            place: flagged.place,
            told: flagged.told,
            nearest: flagged.nearest.map(NeighbourView::from),
            twin: flagged.twin.map(NeighbourView::from),
            flagged_at: instant::rfc3339(flagged.flagged_at_ms),
        }
    }
}

/// Lists submissions to test that differ little from others, newest first
///
/// From the fourth of a team's near-duplicates on, and whatever is nearly the same as another team's. A flag is a hint.
#[utoipa::path(
    tag = "administration",
    security(("bearer" = [])),
    params(PageQuery),
    responses(
        (status = 200, description = "Flagged submissions", body = Page<SeriesView>),
        (status = 400, description = "The query is faulty", body = Problem, content_type = "application/problem+json"),
    )
)]
#[get("/api/v1/admin/series")]
pub async fn list_series(
    state: Shared,
    _maintainer: MaintainerOnly,
    page: web::Query<PageQuery>,
) -> Answer<web::Json<Page<SeriesView>>> {
    let (limit, before) = (page.limit()?, page.after_id()?);
    let found: Result<Vec<FlaggedMember>, StoreError> = state
        .evaluation
        .store
        .read(move |connection| load_flagged(connection, FLAGGED_FROM, before.as_deref(), limit + 1))
        .await;
    let page = Page::cut(found?, limit, |flagged| flagged.submission_id.clone());
    let items = page.items.into_iter().map(SeriesView::from).collect();
    Ok(web::Json(Page { items, next_cursor: page.next_cursor }))
}

/// Why withheld scores are told.
#[derive(Debug, Deserialize, utoipa::ToSchema)]
#[serde(deny_unknown_fields)]
pub struct Telling {
    /// What the audit log keeps.
    reason: String,
}

/// Tells the scores of a near-duplicate that were withheld
#[utoipa::path(
    tag = "administration",
    security(("bearer" = [])),
    params(("id" = String, Path, description = "The submission's id")),
    request_body = Telling,
    responses(
        (status = 200, description = "They are told from now on", body = SubmissionView),
        (status = 404, description = "There is none with this id whose scores are withheld", body = Problem, content_type = "application/problem+json"),
        (status = 422, description = "The reason is blank or too long", body = Problem, content_type = "application/problem+json"),
    )
)]
#[patch("/api/v1/admin/series/{id}")]
pub async fn update_series(
    state: Shared,
    MaintainerOnly(principal): MaintainerOnly,
    id: web::Path<Uuid>,
    telling: Body<Telling>,
) -> Answer<web::Json<SubmissionView>> {
    let (evaluation, id) = (&state.evaluation, id.to_string());
    tell_scores(evaluation, &principal.actor(), &id, &telling.reason).await?;
    Ok(web::Json(viewed(&state, find_any_submission(evaluation, &id).await?).await?))
}
