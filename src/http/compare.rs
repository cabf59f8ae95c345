//! Two published entries beside each other.

use actix_web::http::StatusCode;
use actix_web::{get, web};
use serde::{Deserialize, Serialize};

use super::Shared;
use super::error::{Answer, Problem};
use crate::domain::question::Split;
use crate::evaluation::comparing::{CompareError, ComparedColumn, ComparedEntry, Comparison, compare};
use crate::evaluation::standing::JudgeHead;

/// Which entries are compared.
#[derive(Debug, Deserialize, utoipa::IntoParams)]
#[into_params(parameter_in = Query)]
#[serde(deny_unknown_fields)]
pub struct CompareParameters {
    /// The id of a published entry.
    a: String,
    /// The id of another published entry to the same release.
    b: String,
    /// The id of a judge configuration that was current once; unless said, the current one or the last under which both
    /// have complete scores.
    judge: Option<String>,
}

/// Two published entries beside each other, on the same questions.
#[derive(Debug, Serialize, utoipa::ToSchema)]
pub struct ComparisonView {
    /// The split.
    split: Split,
    /// The release's name.
    release: String,
    /// The judge behind the open-ended columns of both.
    judge: JudgeHead,
    /// The first entry.
    a: ComparedEntry,
    /// The second entry.
    b: ComparedEntry,
    /// Whether differences, intervals and p are rounded, since the split gives no feedback.
    rounded: bool,
    /// Whether the two files differ in so few letters that they are near-duplicates.
    near_duplicates: bool,
    /// The columns that stand for both, in the benchmark's order.
    columns: Vec<ComparedColumn>,
}

/// Two published entries, column by column
///
/// On the same questions and under the same judge configuration. Differences are `a` minus `b`. On a split without feedback
/// they are rounded, and near-duplicates get neither interval nor p.
#[utoipa::path(
    tag = "board",
    params(CompareParameters),
    responses(
        (status = 200, description = "The comparison", body = ComparisonView),
        (status = 400, description = "A parameter is wrong, or both name the same entry", body = Problem, content_type = "application/problem+json"),
        (status = 404, description = "There is no such entry, it is not published, or `judge` was never current", body = Problem, content_type = "application/problem+json"),
        (status = 409, description = "The entries are of different releases, or were not judged under the same configuration", body = Problem, content_type = "application/problem+json"),
        (status = 410, description = "An entry was withdrawn; the detail says why", body = Problem, content_type = "application/problem+json"),
    )
)]
#[get("/api/v1/compare")]
pub async fn find_comparison(
    state: Shared,
    parameters: web::Query<CompareParameters>,
) -> Answer<web::Json<ComparisonView>> {
    let CompareParameters { a, b, judge } = parameters.into_inner();
    let Comparison { split, release, judge, is_rounded, mut entries, mut pairs, .. } =
        compare(&state.evaluation, vec![a, b], judge).await?;
    let (Some(b), Some(a), Some(pair)) = (entries.pop(), entries.pop(), pairs.pop()) else {
        return Err(Problem::internal("a comparison of two entries has no pair"));
    };
    let (near_duplicates, columns) = (pair.are_alike, pair.columns);
    Ok(web::Json(ComparisonView {
        split,
        release,
        judge,
        a,
        b,
        rounded: is_rounded,
        near_duplicates,
        columns,
    }))
}

impl From<CompareError> for Problem {
    fn from(error: CompareError) -> Problem {
        let (status, code) = match error {
            CompareError::Twice(_) => return Problem::parameter(error.to_string()),
            CompareError::Unknown(_) => return Problem::not_found(error.to_string()),
            CompareError::Board(error) => return error.into(),
            CompareError::Store(error) => return error.into(),
            CompareError::LeftOut => (StatusCode::FORBIDDEN, "not_archived"),
            CompareError::Withdrawn { .. } => (StatusCode::GONE, "withdrawn"),
            CompareError::Releases(..) => (StatusCode::CONFLICT, "different_releases"),
            CompareError::Judges | CompareError::NotJudged { .. } => {
                (StatusCode::CONFLICT, "different_judges")
            }
        };
        Problem::new(status, code, error.to_string())
    }
}
