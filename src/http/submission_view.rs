//! A submission as its team and the maintainers see it.

use serde::Serialize;

use super::State;
use super::error::Problem;
use super::page::{Page, PageQuery};
use crate::domain::fault::Warning;
use crate::domain::instant;
use crate::domain::question::Split;
use crate::domain::submission::{Access, PausedFor, SubmissionState, Visibility};
use crate::evaluation::board_rows::{ScoreCell, ScoreCells};
use crate::evaluation::entries::{Coverage, Numbers, judge_head, numbers};
use crate::evaluation::series::withheld_warning;
use crate::evaluation::standing::JudgeHead;
use crate::evaluation::waiting::{QueuePlace, queue_place};
use crate::store::submissions::{Progress, Submission, SubmissionFilter, search_submissions};
use crate::store::{DbConnection, StoreError};

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

impl ProgressView {
    pub(super) fn of(submission: &Submission) -> ProgressView {
        let Progress { graded, to_judge, judged, reused, failed } = submission.progress;
        ProgressView { graded, judged, to_judge, reused, failed }
    }
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
    /// The UTC day from which an anonymous entry shows the team's name; null for never.
    anonymous_until: Option<String>,
    /// Where it stands.
    state: SubmissionState,
    /// Why judging waits, if it does.
    paused_for: Option<PausedFor>,
    /// How far it has come.
    progress: ProgressView,
    /// Its place in the queue; null once it has ended.
    queue: Option<QueuePlace>,
    /// How much is answered.
    coverage: Coverage,
    /// Scores by column; one that does not stand yet is absent.
    #[schema(value_type = BTreeMap<String, ScoreCell>)]
    scores: ScoreCells,
    /// The judge configuration behind open-ended scores.
    judge: Option<JudgeHead>,
    /// How many answers maintainers decided by hand, since the judge gave no score for them.
    decided_by_hand: usize,
    /// When maintainers had the judge asked again, so that these scores replaced others; null where they never did.
    rejudged_at: Option<String>,
    /// What was odd about the file.
    warnings: Vec<Warning>,
    /// Why it was taken off the board, if it was.
    withdrawn_reason: Option<String>,
    /// When it was accepted.
    created_at: String,
    /// When it reached a final state.
    finished_at: Option<String>,
}

impl SubmissionView {
    /// The scores that are told, and what was odd.
    pub(super) fn told(self) -> (ScoreCells, Vec<Warning>) {
        (self.scores, self.warnings)
    }
}

pub(super) fn view(
    connection: &mut DbConnection,
    submission: Submission,
    queue: Option<QueuePlace>,
) -> Result<SubmissionView, StoreError> {
    let judge = judge_head(connection, submission.configuration_id.as_deref())?;
    let Numbers { scores, decided_by_hand, rejudged_at } = numbers(connection, &submission)?;
    let progress = ProgressView::of(&submission);
    let mut warnings = submission.warnings.clone();
    warnings.extend(withheld_warning(connection, &submission.id)?);
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
        anonymous_until: submission.metadata.anonymous_until,
        state: submission.state,
        paused_for: submission.paused_for,
        progress,
        queue,
        scores,
        judge,
        decided_by_hand: decided_by_hand.len(),
        rejudged_at,
        warnings,
        withdrawn_reason: submission.withdrawn_reason,
        created_at: instant::rfc3339(submission.created_at_ms),
        finished_at: submission.finished_at_ms.map(instant::rfc3339),
    })
}

impl SubmissionView {
    /// The same with one more warning.
    pub(super) fn warned(mut self, warning: Warning) -> SubmissionView {
        self.warnings.push(warning);
        self
    }
}

pub(super) async fn viewed(state: &State, submission: Submission) -> Result<SubmissionView, StoreError> {
    let queue = queue_place(&state.evaluation, &submission).await?;
    state.evaluation.store.read(move |connection| view(connection, submission, queue)).await
}

pub(super) async fn submissions_page(
    state: &State,
    filter: SubmissionFilter,
    page: &PageQuery,
) -> Result<Page<SubmissionView>, Problem> {
    let (limit, before) = (page.limit()?, page.after_id()?);
    let evaluation = &state.evaluation;
    let found: Result<Vec<Submission>, StoreError> = evaluation
        .store
        .read(move |connection| search_submissions(connection, &filter, before.as_deref(), limit + 1))
        .await;
    let page = Page::cut(found?, limit, |submission| submission.id.clone());
    let mut placed = Vec::with_capacity(page.items.len());
    for submission in page.items {
        let queue = queue_place(evaluation, &submission).await?;
        placed.push((submission, queue));
    }
    let items: Result<Vec<SubmissionView>, StoreError> = evaluation
        .store
        .read(move |connection| {
            placed.into_iter().map(|(submission, queue)| view(connection, submission, queue)).collect()
        })
        .await;
    Ok(Page { items: items?, next_cursor: page.next_cursor })
}
