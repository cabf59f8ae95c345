//! A team's submissions: sending, following, describing, publishing and cancelling them.

use actix_multipart::Multipart;
use actix_web::http::header;
use actix_web::{HttpRequest, HttpResponse, delete, get, patch, post, web};
use serde::{Deserialize, Serialize};
use uuid::Uuid;

use super::auth::TeamOnly;
use super::error::{Answer, Problem};
use super::page::{Page, PageQuery};
use super::upload::read_upload;
use super::{Shared, State};
use crate::domain::fault::Warning;
use crate::domain::instant;
use crate::domain::question::Split;
use crate::domain::submission::{Access, Metadata, PausedFor, SubmissionState, Visibility};
use crate::evaluation::intake::{self, DryRun};
use crate::evaluation::lifecycle::{self, SubmissionChange};
use crate::evaluation::standing::{JudgeHead, ScoreCell, ScoreCells, score_cells};
use crate::store::configurations::{find_current_configuration, load_configuration};
use crate::store::scores::load_scores;
use crate::store::submissions::{self as stored, Submission};
use crate::store::{DbConnection, StoreError};

/// How much of a split a submission answers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, utoipa::ToSchema)]
pub struct Coverage {
    /// Questions of the release.
    questions: i32,
    /// Questions with an answer.
    answered: i32,
    /// Multiple-choice answers without a letter that could be read.
    unparsed: i32,
}

impl Coverage {
    pub(super) fn of(submission: &Submission) -> Coverage {
        let Submission { questions, answered, unparsed, .. } = *submission;
        Coverage { questions, answered, unparsed }
    }
}

/// How far a submission has come, in answers.
#[derive(Debug, Clone, Copy, Serialize, utoipa::ToSchema)]
pub struct ProgressView {
    /// Multiple-choice questions graded.
    graded: i32,
    /// Open-ended answers scored.
    judged: i32,
    /// Open-ended answers to score.
    to_judge: i32,
    /// Of those scored, the ones whose judgement stood already.
    reused: i32,
    /// Open-ended answers that could not be judged.
    failed: i32,
}

/// A submission (contract 4).
#[derive(Debug, Serialize, utoipa::ToSchema)]
pub struct SubmissionView {
    /// The submission's id.
    id: String,
    /// The team's short name.
    team: String,
    /// The split.
    split: Split,
    /// The release's name.
    release: String,
    /// The model's name.
    model_name: String,
    /// The model's backbone.
    backbone: Option<String>,
    /// Whether the model's weights can be had.
    access: Access,
    /// Billions of parameters.
    parameters_b: Option<f64>,
    /// What the team says about the run.
    description: Option<String>,
    /// The paper's address.
    paper_url: Option<String>,
    /// The code's address.
    code_url: Option<String>,
    /// Who may see it once it is scored.
    visibility: Visibility,
    /// Where it stands.
    state: SubmissionState,
    /// Why judging waits, if it does.
    paused_for: Option<PausedFor>,
    /// How far it has come.
    progress: ProgressView,
    /// How much is answered.
    coverage: Coverage,
    /// Scores by column; one that does not stand yet is absent.
    #[schema(value_type = BTreeMap<String, ScoreCell>)]
    scores: ScoreCells,
    /// The judge configuration behind open-ended scores.
    judge: Option<JudgeHead>,
    /// What was odd about the file.
    warnings: Vec<Warning>,
    /// Why it was taken off the board, if it was.
    withdrawn_reason: Option<String>,
    /// When it was accepted.
    created_at: String,
    /// When it reached a final state.
    finished_at: Option<String>,
}

/// The judge configuration with this id, or the current one.
pub(super) fn judge_head(
    connection: &mut DbConnection,
    configuration_id: Option<&str>,
) -> Result<Option<JudgeHead>, StoreError> {
    let row = match configuration_id {
        Some(id) => Some(load_configuration(connection, id)?),
        None => find_current_configuration(connection)?,
    };
    Ok(row.map(JudgeHead::from))
}

pub(super) fn view(
    connection: &mut DbConnection,
    submission: Submission,
) -> Result<SubmissionView, StoreError> {
    let judge = judge_head(connection, submission.configuration_id.as_deref())?;
    let scores = match &submission.configuration_id {
        Some(configuration_id) => load_scores(connection, &submission.id, configuration_id)?,
        None => Vec::new(),
    };
    let progress = submission.progress;
    Ok(SubmissionView {
        coverage: Coverage::of(&submission),
        id: submission.id,
        team: submission.team,
        split: submission.metadata.split,
        release: submission.release,
        model_name: submission.metadata.model_name,
        backbone: submission.metadata.backbone,
        access: submission.metadata.access,
        parameters_b: submission.metadata.parameters_b,
        description: submission.metadata.description,
        paper_url: submission.metadata.paper_url,
        code_url: submission.metadata.code_url,
        visibility: submission.metadata.visibility,
        state: submission.state,
        paused_for: submission.paused_for,
        progress: ProgressView {
            graded: progress.graded,
            judged: progress.judged,
            to_judge: progress.to_judge,
            reused: progress.reused,
            failed: progress.failed,
        },
        scores: score_cells(&scores),
        judge,
        warnings: submission.warnings,
        withdrawn_reason: submission.withdrawn_reason,
        created_at: instant::rfc3339(submission.created_at_ms),
        finished_at: submission.finished_at_ms.map(instant::rfc3339),
    })
}

pub(super) async fn viewed(state: &State, submission: Submission) -> Result<SubmissionView, StoreError> {
    state.evaluation.store.read(move |connection| view(connection, submission)).await
}

/// Whether a submission is only tried.
#[derive(Debug, Default, Deserialize, utoipa::IntoParams)]
#[into_params(parameter_in = Query)]
#[serde(deny_unknown_fields)]
pub struct SubmitQuery {
    /// `true` validates the file and stores nothing.
    dry_run: Option<bool>,
}

/// The form of a submission.
#[derive(utoipa::ToSchema)]
#[expect(
    dead_code,
    reason = "it describes the form for the OpenAPI document; the upload is read as a stream"
)]
pub struct SubmissionForm {
    /// What the team says about the model.
    metadata: Metadata,
    /// The prediction file: JSONL, a JSON array or object, or CSV; plain, gzip or zstd.
    #[schema(value_type = String, format = Binary)]
    predictions: Vec<u8>,
}

/// Submits a prediction file
///
/// The file is validated whole: it is accepted with 202 and graded, or refused with every fault listed.
#[utoipa::path(
    tag = "submissions",
    security(("bearer" = [])),
    params(
        SubmitQuery,
        ("Idempotency-Key" = Option<String>, Header, description = "Repeating a request with the same key makes one submission"),
    ),
    request_body(content = SubmissionForm, content_type = "multipart/form-data"),
    responses(
        (status = 200, description = "What a dry run found", body = DryRun),
        (status = 202, description = "Accepted; `Location` is the submission", body = SubmissionView),
        (status = 400, description = "The form is malformed", body = Problem, content_type = "application/problem+json"),
        (status = 401, description = "No valid key or token", body = Problem, content_type = "application/problem+json"),
        (status = 409, description = "The idempotency key was used with other content, or the split has no active release", body = Problem, content_type = "application/problem+json"),
        (status = 413, description = "The file is too large", body = Problem, content_type = "application/problem+json"),
        (status = 422, description = "The file or its metadata are faulty; `errors` lists what", body = Problem, content_type = "application/problem+json"),
        (status = 429, description = "The quota is used up", body = Problem, content_type = "application/problem+json"),
    )
)]
#[post("/api/v1/submissions")]
pub async fn create_submission(
    request: HttpRequest,
    state: Shared,
    TeamOnly(principal): TeamOnly,
    query: web::Query<SubmitQuery>,
    form: Multipart,
) -> Answer<HttpResponse> {
    let evaluation = &state.evaluation;
    let upload = read_upload(&request, form, principal.team.id, evaluation.max_upload_bytes).await?;
    if query.dry_run == Some(true) {
        return Ok(HttpResponse::Ok().json(intake::dry_run(evaluation, upload).await?));
    }
    let submission = intake::submit(evaluation, upload).await?;
    let location = format!("/api/v1/submissions/{}", submission.id);
    let view = viewed(&state, submission).await?;
    Ok(HttpResponse::Accepted().insert_header((header::LOCATION, location)).json(view))
}

/// Lists the team's submissions, newest first
#[utoipa::path(
    tag = "submissions",
    security(("bearer" = [])),
    params(PageQuery),
    responses(
        (status = 200, description = "Submissions", body = Page<SubmissionView>),
        (status = 401, description = "No valid key or token", body = Problem, content_type = "application/problem+json"),
    )
)]
#[get("/api/v1/submissions")]
pub async fn list_submissions(
    state: Shared,
    TeamOnly(principal): TeamOnly,
    page: web::Query<PageQuery>,
) -> Answer<web::Json<Page<SubmissionView>>> {
    Ok(web::Json(submissions_page(&state, Some(principal.team.id), &page).await?))
}

pub(super) async fn submissions_page(
    state: &State,
    team_id: Option<String>,
    page: &PageQuery,
) -> Result<Page<SubmissionView>, Problem> {
    let (limit, before) = (page.limit()?, page.after_id()?);
    let found: Result<Page<SubmissionView>, StoreError> = state
        .evaluation
        .store
        .read(move |connection| {
            let found =
                stored::load_submissions(connection, team_id.as_deref(), before.as_deref(), limit + 1)?;
            let page = Page::cut(found, limit, |submission| submission.id.clone());
            let items: Result<Vec<_>, _> =
                page.items.into_iter().map(|submission| view(connection, submission)).collect();
            Ok(Page { items: items?, next_cursor: page.next_cursor })
        })
        .await;
    Ok(found?)
}

/// One of the team's submissions
#[utoipa::path(
    tag = "submissions",
    security(("bearer" = [])),
    params(("id" = String, Path, description = "The submission's id")),
    responses(
        (status = 200, description = "The submission", body = SubmissionView),
        (status = 401, description = "No valid key or token", body = Problem, content_type = "application/problem+json"),
        (status = 404, description = "There is none with this id, or it is another team's", body = Problem, content_type = "application/problem+json"),
    )
)]
#[get("/api/v1/submissions/{id}")]
pub async fn find_submission(
    state: Shared,
    TeamOnly(principal): TeamOnly,
    id: web::Path<Uuid>,
) -> Answer<web::Json<SubmissionView>> {
    let found = lifecycle::own_submission(&state.evaluation, &principal.team.id, &id.to_string()).await?;
    Ok(web::Json(viewed(&state, found).await?))
}

/// Changes a submission's description, links or visibility
#[utoipa::path(
    tag = "submissions",
    security(("bearer" = [])),
    params(("id" = String, Path, description = "The submission's id")),
    request_body = SubmissionChange,
    responses(
        (status = 200, description = "The changed submission", body = SubmissionView),
        (status = 401, description = "No valid key or token", body = Problem, content_type = "application/problem+json"),
        (status = 404, description = "There is none with this id, or it is another team's", body = Problem, content_type = "application/problem+json"),
        (status = 409, description = "It was withdrawn", body = Problem, content_type = "application/problem+json"),
        (status = 422, description = "The change is faulty", body = Problem, content_type = "application/problem+json"),
    )
)]
#[patch("/api/v1/submissions/{id}")]
pub async fn update_submission(
    state: Shared,
    TeamOnly(principal): TeamOnly,
    id: web::Path<Uuid>,
    change: web::Json<SubmissionChange>,
) -> Answer<web::Json<SubmissionView>> {
    let evaluation = &state.evaluation;
    let changed =
        lifecycle::update_submission(evaluation, &principal.team.id, &id.to_string(), change.into_inner())
            .await?;
    Ok(web::Json(viewed(&state, changed).await?))
}

/// Cancels a submission that has not ended
///
/// The quota charge is given back while none of its scores could be read.
#[utoipa::path(
    tag = "submissions",
    security(("bearer" = [])),
    params(("id" = String, Path, description = "The submission's id")),
    responses(
        (status = 200, description = "The cancelled submission", body = SubmissionView),
        (status = 401, description = "No valid key or token", body = Problem, content_type = "application/problem+json"),
        (status = 404, description = "There is none with this id, or it is another team's", body = Problem, content_type = "application/problem+json"),
        (status = 409, description = "It has ended", body = Problem, content_type = "application/problem+json"),
    )
)]
#[delete("/api/v1/submissions/{id}")]
pub async fn cancel_submission(
    state: Shared,
    TeamOnly(principal): TeamOnly,
    id: web::Path<Uuid>,
) -> Answer<web::Json<SubmissionView>> {
    let cancelled =
        lifecycle::cancel_submission(&state.evaluation, &principal.team.id, &id.to_string()).await?;
    Ok(web::Json(viewed(&state, cancelled).await?))
}

/// Why an entry is withdrawn.
#[derive(Debug, Deserialize, utoipa::ToSchema)]
#[serde(deny_unknown_fields)]
pub struct Withdrawal {
    /// What readers are told at the entry's address.
    pub reason: String,
}

/// Takes a scored submission off every board for good
#[utoipa::path(
    tag = "submissions",
    security(("bearer" = [])),
    params(("id" = String, Path, description = "The submission's id")),
    request_body = Withdrawal,
    responses(
        (status = 200, description = "It is withdrawn", body = SubmissionView),
        (status = 401, description = "No valid key or token", body = Problem, content_type = "application/problem+json"),
        (status = 404, description = "There is none with this id, or it is another team's", body = Problem, content_type = "application/problem+json"),
        (status = 409, description = "It is not scored, or was withdrawn already", body = Problem, content_type = "application/problem+json"),
        (status = 422, description = "The reason is blank or too long", body = Problem, content_type = "application/problem+json"),
    )
)]
#[post("/api/v1/submissions/{id}/withdraw")]
pub async fn withdraw_submission(
    state: Shared,
    TeamOnly(principal): TeamOnly,
    id: web::Path<Uuid>,
    withdrawal: web::Json<Withdrawal>,
) -> Answer<web::Json<SubmissionView>> {
    let (team, reason) = (principal.team, &withdrawal.reason);
    let withdrawn = lifecycle::withdraw_submission(
        &state.evaluation,
        Some(&team.id),
        &team.slug,
        &id.to_string(),
        reason,
    )
    .await?;
    Ok(web::Json(viewed(&state, withdrawn).await?))
}
