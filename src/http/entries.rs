//! Single published entries of the leaderboard.

use actix_web::http::StatusCode;
use actix_web::{get, web};
use uuid::Uuid;

use super::Shared;
use super::error::{Answer, Problem};
use crate::evaluation::entries::{self, Entry, Found};
use crate::store::StoreError;
use super::submission_view::{Coverage, judge_head};
use crate::domain::instant;
use crate::domain::question::Split;
use crate::domain::submission::{Access, Group, Visibility};
use crate::evaluation::board_rows::{ScoreCell, ScoreCells, score_cells};
use crate::evaluation::entry_record::{Published, find_published};
use crate::evaluation::standing::JudgeHead;
use crate::store::configurations::find_current_configuration;
use crate::store::decisions::{Decision, load_decisions};
use crate::store::releases::load_release;
use crate::store::scores::load_scores;
use crate::store::submissions::Submission;
use crate::store::{DbConnection, StoreError};

/// A published entry.
#[derive(Debug, Serialize, utoipa::ToSchema)]
pub struct Entry {
    /// The entry's id: its submission's.
    id: String,
    /// The team's short name; null for an anonymous entry.
    team: Option<String>,
    /// The split.
    split: Split,
    /// The release's name.
    release: String,
    /// SHA-256 of the release's content, in hex.
    release_sha256: String,
    /// Whether it is on the present board: its release is active, and its scores are those of the current judge.
    current: bool,
    /// The model's name.
    model_name: String,
    /// The model's backbone.
    backbone: Option<String>,
    /// Whether the model's weights can be had.
    access: Access,
    /// Billions of parameters.
    parameters_b: Option<f64>,
    /// The model's group.
    group: Group,
    /// What the team says about the run; null for an anonymous entry.
    description: Option<String>,
    /// The paper's address; null for an anonymous entry.
    paper_url: Option<String>,
    /// The code's address; null for an anonymous entry.
    code_url: Option<String>,
    /// How much was answered.
    coverage: Coverage,
    /// Scores by column.
    #[schema(value_type = std::collections::BTreeMap<String, ScoreCell>)]
    scores: ScoreCells,
    /// The judge configuration behind open-ended scores.
    judge: Option<JudgeHead>,
    /// Answers that the judge gave no score for, and that maintainers decided by hand.
    decided_by_hand: Vec<DecidedAnswer>,
    /// The version of the code that serves this.
    code_version: &'static str,
    /// When it was submitted.
    submitted_at: String,
    /// When it was scored.
    scored_at: Option<String>,
}

/// An answer that maintainers decided by hand.
#[derive(Debug, Serialize, utoipa::ToSchema)]
pub struct DecidedAnswer {
    /// The question.
    question_id: String,
    /// Why.
    reason: String,
    /// When.
    decided_at: String,
}

impl From<Decision> for DecidedAnswer {
    fn from(decision: Decision) -> DecidedAnswer {
        let Decision { question_id, reason, at_ms, .. } = decision;
        DecidedAnswer { question_id, reason, decided_at: instant::rfc3339(at_ms) }
    }
}

/// One published entry
#[utoipa::path(
    tag = "board",
    params(("id" = String, Path, description = "The entry's id")),
    responses(
        (status = 200, description = "The entry", body = Entry),
        (status = 404, description = "There is no such entry, or it is not published", body = Problem, content_type = "application/problem+json"),
        (status = 410, description = "The entry was withdrawn; the detail says why", body = Problem, content_type = "application/problem+json"),
    )
)]
#[get("/api/v1/entries/{id}")]
pub async fn find_entry(state: Shared, id: web::Path<Uuid>) -> Answer<web::Json<Entry>> {
    let id = id.to_string();
    let unknown = format!("there is no published entry `{id}`");
    let found: Result<Option<Found>, StoreError> =
        state.evaluation.store.snapshot(move |connection| entries::find_entry(connection, &id)).await;
    standing(found?.ok_or_else(|| Problem::not_found(unknown))?).map(web::Json)
}

/// The entry, unless it was withdrawn.
pub(super) fn standing(found: Found) -> Answer<Entry> {
    match found {
        Found::Entry(entry) => Ok(*entry),
        Found::Withdrawn { reason, .. } => {
            Err(Problem::new(StatusCode::GONE, "withdrawn", format!("the entry was withdrawn: {reason}")))
        }
    }
}

/// A published entry, or why it was withdrawn.
fn load_entry(connection: &mut DbConnection, id: &str) -> Result<Option<Result<Entry, String>>, StoreError> {
    let submission = match find_published(connection, id)? {
        Some(Published::Entry(submission)) => *submission,
        Some(Published::Withdrawn(reason)) => return Ok(Some(Err(reason))),
        None => return Ok(None),
    };
    let is_named = submission.metadata.visibility == Visibility::Public;
    entry(connection, submission, is_named).map(|entry| Some(Ok(entry)))
}

/// A submission as an entry without a name, or why it was withdrawn.
pub(super) fn nameless_entry(
    connection: &mut DbConnection,
    submission: Submission,
) -> Result<Result<Entry, String>, StoreError> {
    match submission.withdrawn_reason {
        Some(reason) => Ok(Err(reason)),
        None => entry(connection, submission, false).map(Ok),
    }
}

fn entry(connection: &mut DbConnection, submission: Submission, is_named: bool) -> Result<Entry, StoreError> {
    let release = load_release(connection, &submission.release_id)?;
    let judge = judge_head(connection, submission.configuration_id.as_deref())?;
    let current_judge = find_current_configuration(connection)?.map(|row| row.id);
    let (scores, decisions) = match &judge {
        Some(judge) => (
            load_scores(connection, &submission.id, &judge.configuration)?,
            load_decisions(connection, &submission.id, &judge.configuration)?,
        ),
        None => (Vec::new(), Vec::new()),
    };
    let metadata = submission.metadata.clone();
    Ok(Entry {
        coverage: Coverage::of(&submission),
        id: submission.id,
        team: is_named.then_some(submission.team),
        split: metadata.split,
        release: release.name,
        release_sha256: release.content_sha256,
        current: release.active && submission.configuration_id == current_judge,
        group: Group::of(metadata.access, metadata.parameters_b),
        model_name: metadata.model_name,
        backbone: metadata.backbone,
        access: metadata.access,
        parameters_b: metadata.parameters_b,
        description: metadata.description.filter(|_| is_named),
        paper_url: metadata.paper_url.filter(|_| is_named),
        code_url: metadata.code_url.filter(|_| is_named),
        scores: score_cells(&scores),
        judge,
        decided_by_hand: decisions.into_iter().map(DecidedAnswer::from).collect(),
        code_version: env!("CARGO_PKG_VERSION"),
        submitted_at: instant::rfc3339(submission.created_at_ms),
        scored_at: submission.finished_at_ms.map(instant::rfc3339),
    })
}
