//! The report on a submission, as its team reads it.

use actix_web::{get, web};
use serde::Serialize;
use uuid::Uuid;

use super::Shared;
use super::auth::TeamOnly;
use super::error::{Answer, Problem};
use super::submission_view::viewed;
use crate::domain::column::Column;
use crate::domain::fault::Warning;
use crate::domain::submission::SubmissionState;
use crate::evaluation::board_rows::{ScoreCell, ScoreCells};
use crate::evaluation::lifecycle::own_submission;
use crate::evaluation::report::{CaptionReport, NeighbourReport, Report, TypeCoverage, UnreadCount, report};

/// What there is to say of a graded submission.
#[derive(Debug, Serialize, utoipa::ToSchema)]
pub struct ReportView {
    /// The submission's id.
    id: String,
    /// Where it stands.
    state: SubmissionState,
    /// What was answered, by type of question.
    coverage: Vec<TypeCoverage>,
    /// Letters that could not be read, by reason, the most frequent first.
    unread: Vec<UnreadCount>,
    /// How the captions are worded; null without any.
    captions: Option<CaptionReport>,
    /// Scores by column with their intervals; one that does not stand yet is absent.
    #[schema(value_type = BTreeMap<String, ScoreCell>)]
    scores: ScoreCells,
    /// The column by which neighbours are chosen and compared.
    column: Column,
    /// The published entries of other teams next above and next below, the best first.
    neighbours: Vec<NeighbourReport>,
    /// What was odd about the file.
    warnings: Vec<Warning>,
    /// Where single answers are listed; null where the split gives no such feedback.
    answers: Option<String>,
}

/// The report on one of the team's submissions
///
/// From its first scores on. On a split without feedback it tells nothing of single answers: counts follow from the
/// answers' text alone, and comparisons are rounded.
#[utoipa::path(
    tag = "submissions",
    security(("bearer" = [])),
    params(("id" = String, Path, description = "The submission's id")),
    responses(
        (status = 200, description = "The report", body = ReportView),
        (status = 404, description = "There is none with this id, or it is another team's", body = Problem, content_type = "application/problem+json"),
        (status = 409, description = "It is not graded yet", body = Problem, content_type = "application/problem+json"),
    )
)]
#[get("/api/v1/submissions/{id}/report")]
pub async fn find_report(
    state: Shared,
    TeamOnly(principal): TeamOnly,
    id: web::Path<Uuid>,
) -> Answer<web::Json<ReportView>> {
    let submission = own_submission(&state.evaluation, &principal.team.id, &id.to_string()).await?;
    let Report { coverage, unread, captions, column, neighbours, has_answers } =
        report(&state.evaluation, &submission).await?;
    let (id, stands) = (submission.id.clone(), submission.state);
    let (scores, warnings) = viewed(&state, submission).await?.told();
    let answers = has_answers.then(|| format!("/api/v1/submissions/{id}/answers"));
    Ok(web::Json(ReportView {
        id,
        state: stands,
        coverage,
        unread,
        captions,
        scores,
        column,
        neighbours,
        warnings,
        answers,
    }))
}
