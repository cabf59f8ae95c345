//! Human ratings of answers: importing a file of them, and what has come of it; for maintainers. Shows no answer.

use actix_web::{get, post, web};
use serde::{Deserialize, Serialize};

use crate::domain::instant::rfc3339;
use crate::evaluation::validity::gate::{AgreementChange, agreement_change};
use crate::evaluation::validity::importing::import_ratings;
use crate::evaluation::validity::ratings_file::MAX_BYTES;
use crate::evaluation::validity::report::{RaterView, by_rater};
use crate::http::Shared;
use crate::http::auth::MaintainerOnly;
use crate::http::error::{Answer, Problem};
use crate::store::calibrations::{Run, load_newest_runs};
use crate::store::configurations::{CURRENT, STAGED, load_configurations};
use crate::store::ratings::{Study, find_active_study, load_rated, load_studies};
use crate::store::{DbConnection, StoreError};

/// Runs over rated answers that are listed.
const MAX_RUNS: i64 = 100;

/// How a file of ratings is imported.
#[derive(Debug, Deserialize, utoipa::IntoParams)]
#[into_params(parameter_in = Query)]
#[serde(deny_unknown_fields)]
pub struct ImportQuery {
    /// Whose the file's `judge_score` is: the id of a configuration, which it then measures, or any name.
    judge: Option<String>,
}

/// What an import came to.
#[derive(Debug, Serialize, utoipa::ToSchema)]
pub struct ImportedView {
    /// The id of the ratings, by which agreement is measured now.
    id: String,
    /// Whether anything changed.
    is_new: bool,
    /// Whose the file's judge scores are, as was said.
    judge: Option<String>,
    /// Items that were rated.
    items: usize,
    /// Ratings of these.
    ratings: usize,
    /// Whether the rated answers are there, so that any configuration can be measured.
    has_answers: bool,
}

/// A file of ratings.
#[derive(Debug, Serialize, utoipa::ToSchema)]
pub struct StudyView {
    /// Its id.
    id: String,
    /// Hash of the file.
    sha256: String,
    /// Whose its judge scores are, as was said.
    judge: Option<String>,
    /// Whether agreement is measured by it.
    active: bool,
    /// When it was imported.
    imported_at: String,
}

impl From<Study> for StudyView {
    fn from(study: Study) -> StudyView {
        StudyView {
            id: study.id,
            sha256: study.content_sha256,
            judge: study.judge,
            active: study.active,
            imported_at: rfc3339(study.created_at_ms),
        }
    }
}

/// A run of a configuration over rated answers.
#[derive(Debug, Serialize, utoipa::ToSchema)]
pub struct RunView {
    /// Its id.
    id: String,
    /// The ratings.
    study: String,
    /// The judge configuration.
    configuration: String,
    /// When it began.
    started_at: String,
    /// When it ended; null while answers are left.
    finished_at: Option<String>,
    /// Items that were rated.
    items: i32,
    /// Of these, items whose answer could not be judged.
    failed: i32,
    /// The mean of the judge's scores.
    mean: Option<f64>,
    /// The quadratic-weighted kappa with people's means.
    agreement: Option<f64>,
    /// The mean minus that of the configuration's first run, on what both have scored.
    drift: Option<f64>,
    /// The same of the agreement.
    agreement_drift: Option<f64>,
}

impl From<Run> for RunView {
    fn from(run: Run) -> RunView {
        RunView {
            id: run.id,
            study: run.study_id,
            configuration: run.configuration_id,
            started_at: rfc3339(run.started_at_ms),
            finished_at: run.finished_at_ms.map(rfc3339),
            items: run.items,
            failed: run.failed,
            mean: run.mean,
            agreement: run.agreement,
            drift: run.drift,
            agreement_drift: run.agreement_drift,
        }
    }
}

/// All that is known of human ratings.
#[derive(Debug, Serialize, utoipa::ToSchema)]
pub struct RatingsOverview {
    /// The files of ratings, the newest first.
    studies: Vec<StudyView>,
    /// Who rated in the active one.
    raters: Vec<RaterView>,
    /// The newest runs over rated answers, the newest first.
    runs: Vec<RunView>,
    /// How the staged configuration agrees beside the current one; null while none is staged.
    staged: Option<AgreementChange>,
}

/// Imports a file of human ratings, by which agreement is then measured
///
/// The body is the CSV itself. The same file again changes nothing.
#[utoipa::path(
    tag = "administration",
    security(("bearer" = [])),
    params(ImportQuery),
    request_body(content = String, content_type = "text/csv", description = "item,question_id,dimension,rater,rating,judge_score and, if there is, answer"),
    responses(
        (status = 200, description = "It is imported", body = ImportedView),
        (status = 400, description = "The query or the body is faulty", body = Problem, content_type = "application/problem+json"),
        (status = 413, description = "The file is too large", body = Problem, content_type = "application/problem+json"),
        (status = 422, description = "The file is faulty; every fault is in `errors`", body = Problem, content_type = "application/problem+json"),
    )
)]
#[post("/api/v1/admin/ratings")]
pub async fn create_ratings(
    state: Shared,
    MaintainerOnly(principal): MaintainerOnly,
    query: web::Query<ImportQuery>,
    body: web::Payload,
) -> Answer<web::Json<ImportedView>> {
    let bytes = match body.to_bytes_limited(MAX_BYTES).await {
        Ok(Ok(bytes)) => bytes,
        Ok(Err(error)) => return Err(Problem::unreadable_body(&error)),
        Err(_) => return Err(Problem::too_large(MAX_BYTES)),
    };
    let evaluation = &state.evaluation;
    let (judge, now_ms) = (query.into_inner().judge, evaluation.clock.now_ms());
    let (store, catalogue) = (&evaluation.store, &evaluation.catalogue);
    let imported = import_ratings(store, catalogue, &bytes, judge, &principal.actor(), now_ms).await?;
    Ok(web::Json(ImportedView {
        id: imported.study.id,
        is_new: imported.is_new,
        judge: imported.study.judge,
        items: imported.items,
        ratings: imported.ratings,
        has_answers: imported.has_answers,
    }))
}

/// Lists the files of human ratings, who rated, and how the judge was asked about the same answers
#[utoipa::path(
    tag = "administration",
    security(("bearer" = [])),
    responses(
        (status = 200, description = "All that is known of human ratings", body = RatingsOverview),
    )
)]
#[get("/api/v1/admin/ratings")]
pub async fn list_ratings(state: Shared, _maintainer: MaintainerOnly) -> Answer<web::Json<RatingsOverview>> {
    let overview: Result<RatingsOverview, StoreError> = state.evaluation.store.snapshot(overview).await;
    Ok(web::Json(overview?))
}

fn overview(connection: &mut DbConnection) -> Result<RatingsOverview, StoreError> {
    let rated = match find_active_study(connection)? {
        Some(study) => load_rated(connection, &study.id)?,
        None => Vec::new(),
    };
    let known = load_configurations(connection)?;
    let of = |state: &str| known.iter().find(|row| row.state == state);
    let staged = match (of(STAGED), of(CURRENT)) {
        (Some(staged), Some(current)) => Some(agreement_change(connection, &staged.id, &current.id)?),
        _ => None,
    };
    Ok(RatingsOverview {
        studies: load_studies(connection)?.into_iter().map(StudyView::from).collect(),
        raters: by_rater(&rated),
        runs: load_newest_runs(connection, MAX_RUNS)?.into_iter().map(RunView::from).collect(),
        staged,
    })
}
