//! Single published entries: what is told of one, and of one that was withdrawn. Knows nothing of how it is asked for.

use std::cmp::Reverse;
use std::sync::Arc;

use serde::Serialize;

use super::board_query::{BoardQuery, BoardQueryError};
use super::board_rows::{ScoreCell, ScoreCells, score_cells};
use super::boards::Boards;
use super::standing::{JudgeHead, Leaderboard};
use crate::domain::instant;
use crate::domain::question::Split;
use crate::domain::submission::{Access, Group, Visibility};
use crate::store::configurations::{
    ConfigurationRow, find_current_configuration, load_configuration, load_configurations,
};
use crate::store::decisions::{Decision, load_decisions};
use crate::store::publication::find_withdrawn_at_ms;
use crate::store::releases::{Release, load_release, load_releases};
use crate::store::scores::{Under, find_rejudged_at_ms, load_scores};
use crate::store::submissions::{Submission, find_submission};
use crate::store::{DbConnection, Store, StoreError};

/// How much of a split a submission answers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, utoipa::ToSchema)]
pub struct Coverage {
    /// Questions of the release.
    pub questions: i32,
    /// Questions with an answer.
    pub answered: i32,
    /// Multiple-choice answers without a letter that could be read.
    pub unparsed: i32,
}

impl Coverage {
    /// The coverage of a submission.
    pub fn of(submission: &Submission) -> Coverage {
        let Submission { questions, answered, unparsed, .. } = *submission;
        Coverage { questions, answered, unparsed }
    }
}

/// A published entry.
#[derive(Debug, Serialize, utoipa::ToSchema)]
pub struct Entry {
    /// The entry's id: its submission's.
    pub id: String,
    /// The team's short name; null for an anonymous entry.
    pub team: Option<String>,
    /// The split.
    pub split: Split,
    /// The release's name.
    pub release: String,
    /// SHA-256 of the release's content, in hex.
    pub release_sha256: String,
    /// Whether it is on the present board: its release is active, and its scores are those of the current judge.
    pub current: bool,
    /// The model's name.
    pub model_name: String,
    /// The model's backbone.
    pub backbone: Option<String>,
    /// Whether the model's weights can be had.
    pub access: Access,
    /// Billions of parameters.
    pub parameters_b: Option<f64>,
    /// The model's group.
    pub group: Group,
    /// What the team says about the run; null for an anonymous entry.
    pub description: Option<String>,
    /// The paper's address; null for an anonymous entry.
    pub paper_url: Option<String>,
    /// The code's address; null for an anonymous entry.
    pub code_url: Option<String>,
    /// How much was answered.
    pub coverage: Coverage,
    /// Scores by column.
    #[schema(value_type = std::collections::BTreeMap<String, ScoreCell>)]
    pub scores: ScoreCells,
    /// The judge configuration behind open-ended scores.
    pub judge: Option<JudgeHead>,
    /// Answers that the judge gave no score for, and that maintainers decided by hand.
    pub decided_by_hand: Vec<DecidedAnswer>,
    /// The version of the code that serves this.
    pub code_version: &'static str,
    /// When it was submitted.
    pub submitted_at: String,
    /// When it was scored.
    pub scored_at: Option<String>,
    /// When maintainers had the judge asked again, so that these scores replaced others; null where they never did.
    pub rejudged_at: Option<String>,
}

/// An answer that maintainers decided by hand.
#[derive(Debug, Serialize, utoipa::ToSchema)]
pub struct DecidedAnswer {
    /// The question.
    pub question_id: String,
    /// Why.
    pub reason: String,
    /// When.
    pub decided_at: String,
}

impl From<Decision> for DecidedAnswer {
    fn from(decision: Decision) -> DecidedAnswer {
        let Decision { question_id, reason, at_ms, .. } = decision;
        DecidedAnswer { question_id, reason, decided_at: instant::rfc3339(at_ms) }
    }
}

/// A published entry as it is found.
#[derive(Debug)]
pub enum Found {
    /// It stands.
    Entry(Box<Entry>),
    /// It was withdrawn.
    Withdrawn {
        /// Why.
        reason: String,
        /// When, as far as that is known.
        at_ms: Option<i64>,
    },
}

/// A published entry; none where there is none with this id, or it is private or not scored.
///
/// # Errors
/// When the database fails.
pub fn find_entry(connection: &mut DbConnection, id: &str) -> Result<Option<Found>, StoreError> {
    let Some(submission) = find_published_submission(connection, id)? else { return Ok(None) };
    let is_named = submission.metadata.visibility == Visibility::Public;
    found(connection, submission, is_named).map(Some)
}

/// The submission with this id, if it is an entry or was one before it was withdrawn.
pub(super) fn find_published_submission(
    connection: &mut DbConnection,
    id: &str,
) -> Result<Option<Submission>, StoreError> {
    Ok(find_submission(connection, id)?.filter(Submission::has_entry))
}

/// A submission as an entry without a name, unless it was withdrawn.
///
/// # Errors
/// When the database fails.
pub fn nameless_entry(connection: &mut DbConnection, submission: Submission) -> Result<Found, StoreError> {
    found(connection, submission, false)
}

fn found(connection: &mut DbConnection, submission: Submission, is_named: bool) -> Result<Found, StoreError> {
    match submission.withdrawn_reason {
        Some(reason) => {
            Ok(Found::Withdrawn { reason, at_ms: find_withdrawn_at_ms(connection, &submission.id)? })
        }
        None => Ok(Found::Entry(Box::new(entry(connection, submission, is_named)?))),
    }
}

/// What a submission stands on: nothing before it has been graded.
#[derive(Default)]
pub struct Numbers {
    /// The scores.
    pub scores: ScoreCells,
    /// The answers that maintainers decided.
    pub decided_by_hand: Vec<DecidedAnswer>,
    /// When other scores were replaced by these, if they were.
    pub rejudged_at: Option<String>,
}

/// The numbers of a submission, as under its own release and judge configuration.
///
/// # Errors
/// When the database fails.
pub fn numbers(connection: &mut DbConnection, submission: &Submission) -> Result<Numbers, StoreError> {
    let Some(under) = Under::of(submission) else { return Ok(Numbers::default()) };
    let id = &submission.id;
    let decisions = load_decisions(connection, id, &under)?;
    Ok(Numbers {
        scores: score_cells(&load_scores(connection, id, &under)?),
        decided_by_hand: decisions.into_iter().map(DecidedAnswer::from).collect(),
        rejudged_at: find_rejudged_at_ms(connection, id, &under)?.map(instant::rfc3339),
    })
}

/// The judge configuration with this id, or the current one.
///
/// # Errors
/// When there is none with this id, or the database fails.
pub fn judge_head(
    connection: &mut DbConnection,
    configuration_id: Option<&str>,
) -> Result<Option<JudgeHead>, StoreError> {
    let row = match configuration_id {
        Some(id) => Some(load_configuration(connection, id)?),
        None => find_current_configuration(connection)?,
    };
    Ok(row.map(JudgeHead::from))
}

/// Where an entry stands.
pub struct Place {
    /// The board that it is on: the present one, if it is on that.
    pub board: Arc<Leaderboard>,
    /// The present board of its split.
    pub present: Arc<Leaderboard>,
    /// Whether its team has published a newer submission of the model, which stands on the board instead.
    pub is_replaced: bool,
}

/// The board that an entry is on; none while it is on no board.
///
/// # Errors
/// When the database fails.
pub async fn find_place(
    boards: &Boards,
    store: &Store,
    entry: &Entry,
) -> Result<Option<Place>, BoardQueryError> {
    let present = boards.board(store, &BoardQuery::of(entry.split)).await?;
    let mut query = BoardQuery::of(entry.split);
    if !entry.current {
        query.release = Some(entry.release.clone());
        query.judge = entry.judge.as_ref().map(|judge| judge.configuration.clone());
    }
    for all in [false, true] {
        query.all = all;
        let board = boards.board(store, &query).await?;
        if board.rows.iter().any(|row| row.entry.as_ref() == Some(&entry.id)) {
            return Ok(Some(Place { board, present, is_replaced: all }));
        }
    }
    Ok(None)
}

/// Scores of an entry under a release and a judge.
#[derive(Debug)]
pub struct Rescoring {
    /// The release.
    pub release: Release,
    /// The judge behind the open-ended columns.
    pub judge: JudgeHead,
    /// The scores.
    pub scores: ScoreCells,
}

/// The scores of a submission under each release and judge configuration that have a board, the active release and the
/// current judge first.
///
/// # Errors
/// When the database fails.
pub fn rescorings(connection: &mut DbConnection, submission_id: &str) -> Result<Vec<Rescoring>, StoreError> {
    let mut configurations = load_configurations(connection)?;
    configurations.retain(ConfigurationRow::has_board);
    configurations.sort_by_key(|row| (!row.is_current(), Reverse(row.created_at_ms)));
    let mut releases = load_releases(connection)?;
    releases.retain(|release| release.shown);
    releases.sort_by_key(|release| (!release.active, Reverse(release.created_at_ms)));
    let mut scored = Vec::new();
    for release in releases {
        for row in &configurations {
            let scores = load_scores(connection, submission_id, &Under::new(&release.id, &row.id))?;
            if !scores.is_empty() {
                let (release, judge) = (release.clone(), JudgeHead::from(row.clone()));
                scored.push(Rescoring { release, judge, scores: score_cells(&scores) });
            }
        }
    }
    Ok(scored)
}

fn entry(connection: &mut DbConnection, submission: Submission, is_named: bool) -> Result<Entry, StoreError> {
    let release = load_release(connection, &submission.release_id)?;
    let judge = judge_head(connection, submission.configuration_id.as_deref())?;
    let current_judge = find_current_configuration(connection)?.map(|row| row.id);
    let Numbers { scores, decided_by_hand, rejudged_at } = numbers(connection, &submission)?;
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
        scores,
        judge,
        decided_by_hand,
        code_version: env!("CARGO_PKG_VERSION"),
        submitted_at: instant::rfc3339(submission.created_at_ms),
        scored_at: submission.finished_at_ms.map(instant::rfc3339),
        rejudged_at,
    })
}
