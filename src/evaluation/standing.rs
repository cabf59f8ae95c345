//! The leaderboard: scored and published submissions of the active release under one judge configuration, in order. Knows nothing of pages and formats.

use std::collections::{BTreeMap, HashMap};

use serde::Serialize;

use super::marks::Marks;
use crate::domain::column::{Column, Unit};
use crate::domain::instant;
use crate::domain::question::Split;
use crate::judge::Kind;
use crate::store::DbConnection;
use crate::store::configurations::{ConfigurationRow, find_current_configuration, load_configurations};
use crate::store::history::find_shown;
use crate::store::ranges::{Scope, find_ranked_board, load_baselines, load_standings};
use crate::store::releases::{Release, find_active_release, load_counts, load_release, load_releases};
use crate::store::scores::Under;
use crate::store::standing::{StandingRow, load_archived_attempts, load_scored_times, load_standing};

use super::board_query::{BoardQuery, BoardQueryError};
use super::board_rows::{
    GroupAverages, Row, attempts, blind_row, groups, in_scope, ordered, reported_rows, shown,
};
use super::release_views::{Correction, applied_correction, superseding};

/// A column of the leaderboard.
#[derive(Debug, Clone, Serialize, utoipa::ToSchema)]
pub struct ColumnHead {
    /// As in `scores`.
    pub id: Column,
    /// What it measures, in words.
    pub label: &'static str,
    /// Percent of 100, or points from 0 to 5.
    pub unit: Unit,
    /// Always true here.
    pub higher_is_better: bool,
}

/// The judge configuration behind open-ended scores.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, utoipa::ToSchema)]
pub struct JudgeHead {
    /// Its id.
    pub configuration: String,
    /// The model that judges.
    pub model: String,
    /// `offline` for the built-in judge, which is no LLM; `llm` otherwise.
    pub kind: String,
    /// When it ceased to be current; absent while it is.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub retired_at: Option<String>,
}

impl From<ConfigurationRow> for JudgeHead {
    fn from(row: ConfigurationRow) -> JudgeHead {
        let retired_at_ms = row.retired_at_ms.filter(|_| !row.is_current());
        let retired_at = retired_at_ms.map(instant::rfc3339);
        JudgeHead { configuration: row.id, model: row.model, kind: row.kind, retired_at }
    }
}

impl JudgeHead {
    /// Whether open-ended scores come from the built-in judge.
    pub fn is_offline(&self) -> bool {
        self.kind == Kind::Offline.as_str()
    }
}

/// The leaderboard of a split (contract 5).
#[derive(Debug, Clone, Serialize, utoipa::ToSchema)]
pub struct Leaderboard {
    /// The split.
    pub split: Split,
    /// The release's name; null while none is active.
    pub release: Option<String>,
    /// SHA-256 of the release's content, in hex.
    pub release_sha256: Option<String>,
    /// What the release corrected; absent where it corrected nothing.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub correction: Option<Correction>,
    /// The active release that holds the same questions, corrected; absent where this is the active one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub superseded_by: Option<String>,
    /// The judge behind the open-ended columns.
    pub judge: Option<JudgeHead>,
    /// The instant whose board this is; null for the present one.
    pub as_of: Option<String>,
    /// The column that the rows are sorted by, `-` in front for descending.
    pub sort: String,
    /// The columns, in order.
    pub columns: Vec<ColumnHead>,
    /// The rows, in order.
    pub rows: Vec<Row>,
    /// Averages by group.
    pub groups: Vec<GroupAverages>,
    /// What is marked among all entries.
    #[serde(skip)]
    pub marks: Marks,
    /// What was asked for.
    #[serde(skip)]
    pub query: BoardQuery,
    /// Facts for readers of the page.
    #[serde(skip)]
    pub facts: BoardFacts,
}

/// What a page tells of a board beside its rows.
#[derive(Debug, Clone, Default)]
pub struct BoardFacts {
    /// Entries of all groups.
    pub entries: usize,
    /// Questions of the release.
    pub questions: i64,
    /// Videos of the release.
    pub videos: i64,
    /// When the newest entry was published.
    pub newest_at: Option<String>,
    /// How far apart two entries must be for a test of theirs alone to find it at 5 % in four cases of five, by column, in
    /// its unit; empty until the entries are compared.
    pub smallest_difference: BTreeMap<Column, f64>,
}

/// The leaderboard as it stands in the database, or stood at the instant that is asked for.
///
/// # Errors
/// When there is none of the release or under the judge that is asked for, or the database fails.
pub fn leaderboard(
    connection: &mut DbConnection,
    query: &BoardQuery,
) -> Result<Leaderboard, BoardQueryError> {
    let (release, judge) = shown_then(connection, query)?;
    let (mut rows, mut facts) = (Vec::new(), BoardFacts::default());
    let (mut correction, mut superseded_by) = (None, None);
    if let (Some(release), Some(judge)) = (&release, &judge) {
        rows = entries(connection, query, (release, judge), &mut facts)?;
    }
    if query.split == Split::Test {
        rows.extend(reported_rows());
    }
    if let Some(release) = &release {
        correction = applied_correction(connection, &release.id)?;
        superseded_by = superseding(connection, release)?;
        let baselines = load_baselines(connection, &release.id)?;
        let baselines = baselines.iter().filter(|(_, scores)| !scores.is_empty());
        rows.extend(baselines.map(|(rule, scores)| blind_row(*rule, scores)));
        let (videos, types) = load_counts(connection, &release.id)?;
        (facts.questions, facts.videos) = (types.iter().map(|(_, count)| count).sum(), videos);
    }
    let (groups, marks) = (groups(&rows), Marks::of(&rows));
    let mut rows = ordered(rows, query.sort, query.view);
    rows.retain(|row| query.group.is_none() || row.group == query.group);
    Ok(Leaderboard {
        split: query.split,
        release_sha256: release.as_ref().map(|release| release.content_sha256.clone()),
        release: release.map(|release| release.name),
        correction,
        superseded_by,
        judge: judge.map(JudgeHead::from),
        as_of: query.as_of_ms.map(instant::rfc3339),
        sort: query.sort.to_string(),
        columns: Column::ALL.iter().map(|column| column_head(*column)).collect(),
        rows,
        groups,
        marks,
        query: query.clone(),
        facts,
    })
}

/// The release and the judge configuration that are asked for, or those of the instant that is asked for.
fn shown_then(
    connection: &mut DbConnection,
    query: &BoardQuery,
) -> Result<(Option<Release>, Option<ConfigurationRow>), BoardQueryError> {
    let then = match query.as_of_ms {
        Some(at_ms) => find_shown(connection, query.split, at_ms)?,
        None => None,
    };
    let release = match (&query.release, &then) {
        (Some(name), _) => Some(find_named_release(connection, query.split, name)?),
        (None, Some((release_id, _))) => Some(load_release(connection, release_id)?),
        (None, None) if query.as_of_ms.is_some() => None,
        (None, None) => find_active_release(connection, query.split)?,
    };
    let judge = match (&query.judge, &then) {
        (Some(id), _) => Some(find_judge(connection, id)?),
        (None, Some((_, id))) => Some(find_judge(connection, id)?),
        (None, None) => find_current_configuration(connection)?,
    };
    Ok((release, judge))
}

fn find_named_release(
    connection: &mut DbConnection,
    split: Split,
    name: &str,
) -> Result<Release, BoardQueryError> {
    let mut with_board = load_releases(connection)?;
    with_board.retain(|release| release.split == split && release.shown);
    if let Some(release) = with_board.iter().find(|release| release.name == name) {
        return Ok(release.clone());
    }
    let known = with_board.iter().map(|release| format!("`{}`", release.name)).collect();
    Err(BoardQueryError::UnknownRelease { split, asked: name.to_owned(), known })
}

/// The rows that were scored here, oldest first.
fn entries(
    connection: &mut DbConnection,
    query: &BoardQuery,
    (release, judge): (&Release, &ConfigurationRow),
    facts: &mut BoardFacts,
) -> Result<Vec<Row>, BoardQueryError> {
    let mut standing = load_standing(connection, &Under::new(&release.id, &judge.id))?;
    let scope = if query.all { Scope::All } else { Scope::Newest };
    let mut compared = HashMap::new();
    let present = standing.len();
    standing.retain(|row| query.as_of_ms.is_none_or(|at_ms| row.published_at_ms <= at_ms));
    // Only the present rows are compared with each other.
    if standing.len() == present {
        let board = (release.id.as_str(), judge.id.as_str(), scope);
        compared = load_standings(connection, board)?;
        let ranked = find_ranked_board(connection, board)?;
        facts.smallest_difference = ranked.map(|ranked| ranked.smallest_difference).unwrap_or_default();
    }
    let mut attempts = attempts(load_scored_times(connection, query.split)?);
    attempts.extend(load_archived_attempts(connection)?);
    let standing = in_scope(standing, scope);
    facts.entries = standing.len();
    facts.newest_at = standing.iter().map(|row| row.published_at_ms).max().map(instant::rfc3339);
    let row = |row: StandingRow| {
        let standings = compared.remove(&row.submission_id).unwrap_or_default();
        shown(row, &attempts, standings)
    };
    Ok(standing.into_iter().map(row).collect())
}

/// The configuration with this id, if there is a board under it.
pub(super) fn find_judge(
    connection: &mut DbConnection,
    id: &str,
) -> Result<ConfigurationRow, BoardQueryError> {
    let with_board: Vec<_> =
        load_configurations(connection)?.into_iter().filter(ConfigurationRow::has_board).collect();
    match with_board.iter().find(|row| row.id == id) {
        Some(row) => Ok(row.clone()),
        None => {
            let known = with_board.into_iter().map(|row| format!("`{}`", row.id)).collect();
            Err(BoardQueryError::UnknownJudge { asked: id.to_owned(), known })
        }
    }
}

/// A column with its words.
pub fn column_head(column: Column) -> ColumnHead {
    ColumnHead { id: column, label: column.label(), unit: column.unit(), higher_is_better: true }
}
