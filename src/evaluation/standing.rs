//! The leaderboard: scored and published submissions of the active release under one judge configuration, in order. Knows nothing of pages and formats.

use std::collections::{BTreeMap, HashMap, HashSet};

use serde::Serialize;

use crate::domain::column::{CaptionDimension, Column, Unit};
use crate::domain::instant;
use crate::domain::question::Split;
use crate::domain::submission::{Group, Visibility};
use crate::judge::Kind;
use crate::scoring::ranking::{self, Direction};
use crate::store::DbConnection;
use crate::store::configurations::{ConfigurationRow, find_current_configuration, load_configurations};
use crate::store::releases::{Release, find_active_release};
use crate::store::scores::Score;
use crate::store::standing::{StandingRow, load_scored_times, load_standing};

use super::board_query::{BoardQuery, BoardQueryError, Sort};

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

/// One score (contract 4).
#[derive(Debug, Clone, Copy, PartialEq, Serialize, utoipa::ToSchema)]
pub struct ScoreCell {
    /// The value, unrounded.
    pub value: f64,
    /// Percent of 100, or points from 0 to 5.
    pub unit: Unit,
    /// The 95 % interval.
    pub ci95: [f64; 2],
    /// How many questions it rests on.
    pub n: i32,
}

/// Scores by column.
pub type ScoreCells = BTreeMap<Column, ScoreCell>;

/// Scores as they are shown.
pub fn score_cells(scores: &[Score]) -> ScoreCells {
    let cell = |score: &Score| {
        let unit = score.column.unit();
        (score.column, ScoreCell { value: score.value, unit, ci95: score.ci95, n: score.n })
    };
    scores.iter().map(cell).collect()
}

/// One row of the leaderboard (contract 5).
#[derive(Debug, Clone, Serialize, utoipa::ToSchema)]
pub struct Row {
    /// Its place by the sorted column, 1 the best; equal values share one.
    pub rank: Option<u32>,
    /// The best and worst place that the pairwise tests allow.
    pub rank_range: Option<[u32; 2]>,
    /// The entry's id.
    pub entry: Option<String>,
    /// The team's short name; null for an anonymous entry.
    pub team: Option<String>,
    /// The model's name.
    pub model_name: String,
    /// The model's backbone.
    pub backbone: Option<String>,
    /// The model's group.
    pub group: Group,
    /// Scores by column; one that does not stand is absent.
    #[schema(value_type = BTreeMap<String, ScoreCell>)]
    pub scores: ScoreCells,
    /// True for rows that were printed in the paper and not scored here.
    pub reported: bool,
    /// True for baselines that never see a video.
    pub blind: bool,
    /// The team's scored submissions to this split up to then; null for an anonymous entry, whose team the number would
    /// tell.
    pub attempts: Option<usize>,
    /// When it was submitted.
    pub submitted_at: Option<String>,
}

/// A group's averages, as in the paper's two tables.
#[derive(Debug, Clone, Serialize, utoipa::ToSchema)]
pub struct GroupAverages {
    /// The group.
    pub group: Group,
    /// The plain mean of each column over the group's scored entries.
    #[schema(value_type = BTreeMap<String, f64>)]
    pub averages: BTreeMap<Column, f64>,
    /// Moving minus static, for `BEH`, `AH` and `ECF`.
    #[schema(value_type = BTreeMap<String, f64>)]
    pub change: BTreeMap<CaptionDimension, f64>,
    /// The same averages over the paper's rows.
    #[schema(value_type = BTreeMap<String, f64>)]
    pub reported_averages: BTreeMap<Column, f64>,
    /// The same change over the paper's rows.
    #[schema(value_type = BTreeMap<String, f64>)]
    pub reported_change: BTreeMap<CaptionDimension, f64>,
}

/// The leaderboard of a split (contract 5).
#[derive(Debug, Clone, Serialize, utoipa::ToSchema)]
pub struct Leaderboard {
    /// The split.
    pub split: Split,
    /// The active release's name; null while there is none.
    pub release: Option<String>,
    /// The judge behind the open-ended columns.
    pub judge: Option<JudgeHead>,
    /// Whether that judge was asked for by its id.
    #[serde(skip)]
    pub is_judge_asked: bool,
    /// The column that the rows are sorted by, `-` in front for descending.
    pub sort: String,
    /// The columns, in order.
    pub columns: Vec<ColumnHead>,
    /// The rows, in order.
    pub rows: Vec<Row>,
    /// Averages by group.
    pub groups: Vec<GroupAverages>,
}

/// The leaderboard as it stands in the database.
///
/// # Errors
/// When there is none under the judge that is asked for, or the database fails.
pub fn leaderboard(
    connection: &mut DbConnection,
    query: &BoardQuery,
) -> Result<Leaderboard, BoardQueryError> {
    let release: Option<Release> = find_active_release(connection, query.split)?;
    let judge = match &query.judge {
        None => find_current_configuration(connection)?,
        Some(id) => Some(find_judge(connection, id)?),
    };
    let rows = match (&release, &judge) {
        (Some(release), Some(judge)) => {
            let standing = load_standing(connection, &release.id, &judge.id)?;
            let attempts = attempts(load_scored_times(connection, query.split)?);
            shown_rows(standing, query).into_iter().map(|row| shown(row, &attempts)).collect()
        }
        _ => Vec::new(),
    };
    let groups = groups(&rows);
    Ok(Leaderboard {
        split: query.split,
        release: release.map(|release| release.name),
        judge: judge.map(JudgeHead::from),
        is_judge_asked: query.judge.is_some(),
        sort: query.sort.to_string(),
        columns: Column::ALL.iter().map(|column| column_head(*column)).collect(),
        rows: ordered(rows, query.sort),
        groups,
    })
}

/// The configuration with this id, if there is a board under it.
fn find_judge(connection: &mut DbConnection, id: &str) -> Result<ConfigurationRow, BoardQueryError> {
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

/// The rows that a query shows: of each team and model the newest, unless all are asked for.
pub(super) fn shown_rows(standing: Vec<StandingRow>, query: &BoardQuery) -> Vec<StandingRow> {
    let mut seen = HashSet::new();
    let mut rows: Vec<StandingRow> = standing
        .into_iter()
        .rev()
        .filter(|row| query.group.is_none_or(|group| group == group_of(row)))
        .filter(|row| query.all || seen.insert(line_of(row)))
        .collect();
    rows.reverse();
    rows
}

/// What an entry is the newest of: a team's model, with or without the name. Were they one line, a named entry that
/// disappears when a nameless one comes would tell whose that is.
fn line_of(row: &StandingRow) -> (String, String, bool) {
    (row.team_id.clone(), row.model_name.clone(), row.visibility == Visibility::Public)
}

fn group_of(row: &StandingRow) -> Group {
    Group::of(row.access, row.parameters_b)
}

/// By submission, how many scored submissions its team had made up to then.
fn attempts(times: Vec<(String, String)>) -> HashMap<String, usize> {
    let mut made = HashMap::<String, usize>::new();
    let mut number = |(team_id, submission_id): (String, String)| {
        let count = made.entry(team_id).or_default();
        *count += 1;
        (submission_id, *count)
    };
    times.into_iter().map(&mut number).collect()
}

fn shown(row: StandingRow, attempts: &HashMap<String, usize>) -> Row {
    let is_named = row.visibility == Visibility::Public;
    Row {
        rank: None,
        rank_range: None,
        attempts: attempts.get(&row.submission_id).copied().filter(|_| is_named),
        group: group_of(&row),
        entry: Some(row.submission_id),
        team: is_named.then_some(row.team),
        model_name: row.model_name,
        backbone: row.backbone,
        scores: score_cells(&row.scores),
        reported: false,
        blind: false,
        submitted_at: Some(instant::rfc3339(row.created_at_ms)),
    }
}

fn ordered(rows: Vec<Row>, sort: Sort) -> Vec<Row> {
    let values: Vec<Option<f64>> =
        rows.iter().map(|row| row.scores.get(&sort.column).map(|cell| cell.value)).collect();
    let direction = if sort.descending { Direction::Descending } else { Direction::Ascending };
    let ranking = ranking::rank(&values, direction);
    let mut rows: Vec<Option<Row>> = rows.into_iter().map(Some).collect();
    ranking
        .order
        .into_iter()
        .filter_map(|place| Some(Row { rank: ranking.ranks[place], ..rows[place].take()? }))
        .collect()
}

fn groups(rows: &[Row]) -> Vec<GroupAverages> {
    let average = |group: &Group| {
        let of_group: Vec<BTreeMap<Column, f64>> = rows
            .iter()
            .filter(|row| row.group == *group)
            .map(|row| row.scores.iter().map(|(column, cell)| (*column, cell.value)).collect())
            .collect();
        let averages = ranking::averages(&of_group);
        let change = ranking::change(&averages);
        let none = BTreeMap::new();
        GroupAverages {
            group: *group,
            averages,
            change,
            reported_averages: none,
            reported_change: BTreeMap::new(),
        }
    };
    Group::ALL.iter().map(average).collect()
}
