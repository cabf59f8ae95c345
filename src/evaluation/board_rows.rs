//! The rows of a leaderboard: entries, the paper's rows and blind baselines, their order and the averages of groups. Knows
//! nothing of which board is asked for.

use std::collections::{BTreeMap, HashMap, HashSet};

use serde::Serialize;

use crate::domain::column::{CaptionDimension, Column, Unit};
use crate::domain::instant;
use crate::domain::paper::{paper_tables, printed_number};
use crate::domain::submission::{Group, Visibility};
use crate::scoring::baselines::Rule;
use crate::scoring::ranking::{self, Direction};
use crate::store::ranges::{Scope, Standings};
use crate::store::scores::Score;
use crate::store::standing::StandingRow;

use super::board_query::{Sort, View};

/// One score (contract 4).
#[derive(Debug, Clone, Copy, PartialEq, Serialize, utoipa::ToSchema)]
pub struct ScoreCell {
    /// The value, unrounded.
    pub value: f64,
    /// Percent of 100, or points from 0 to 5.
    pub unit: Unit,
    /// The 95 % interval; null where the score was not made here.
    pub ci95: Option<[f64; 2]>,
    /// How many questions it rests on; null where the score was not made here.
    pub n: Option<i32>,
}

/// Scores by column.
pub type ScoreCells = BTreeMap<Column, ScoreCell>;

/// Scores as they are shown.
pub fn score_cells(scores: &[Score]) -> ScoreCells {
    let cell = |score: &Score| {
        let unit = score.column.unit();
        (score.column, ScoreCell { value: score.value, unit, ci95: Some(score.ci95), n: Some(score.n) })
    };
    scores.iter().map(cell).collect()
}

/// One row of the leaderboard (contract 5).
#[derive(Debug, Clone, Serialize, utoipa::ToSchema)]
pub struct Row {
    /// Its place by the sorted column, 1 the best; equal values share one.
    pub rank: Option<u32>,
    /// The best and worst place that the pairwise tests allow; null until they are made.
    pub rank_range: Option<[u32; 2]>,
    /// The tier by the sorted column, 1 the best: entries of one tier cannot be told apart from its first.
    pub tier: Option<u32>,
    /// How the entry stands in each column; empty until the pairwise tests are made.
    #[serde(skip)]
    pub standings: Standings,
    /// The entry's id.
    pub entry: Option<String>,
    /// The team's short name; null for an anonymous entry.
    pub team: Option<String>,
    /// The model's name.
    pub model_name: String,
    /// The model's backbone.
    pub backbone: Option<String>,
    /// The model's group; null for a baseline.
    pub group: Option<Group>,
    /// Scores by column; one that does not stand is absent.
    #[schema(value_type = BTreeMap<String, ScoreCell>)]
    pub scores: ScoreCells,
    /// True for rows that were printed in the paper and not scored here.
    pub reported: bool,
    /// The values of such a row as they are printed; empty for others.
    #[serde(skip)]
    pub printed: BTreeMap<Column, String>,
    /// True for baselines that never see a video.
    pub blind: bool,
    /// The team's scored submissions to this split up to then, anonymous ones left out; null for an anonymous entry, whose team the number would
    /// tell.
    pub attempts: Option<usize>,
    /// When it was submitted.
    pub submitted_at: Option<String>,
    /// Since when it has been scored and not private.
    #[serde(skip)]
    pub published_at_ms: Option<i64>,
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

/// The rows that a board shows: of each team and model the newest, unless all are in its scope.
pub(super) fn in_scope(standing: Vec<StandingRow>, scope: Scope) -> Vec<StandingRow> {
    let mut seen = HashSet::new();
    let is_shown = |row: &StandingRow| scope == Scope::All || seen.insert(line_of(row));
    let mut rows: Vec<StandingRow> = standing.into_iter().rev().filter(is_shown).collect();
    rows.reverse();
    rows
}

/// What an entry is the newest of: a team's model, with or without the name. Were they one line, a named entry that
/// disappears when a nameless one comes would tell whose that is.
fn line_of(row: &StandingRow) -> (String, String, bool) {
    (row.team_id.clone(), row.model_name.clone(), row.visibility == Visibility::Public)
}

/// By submission, how many scored submissions its team had made up to then.
pub(super) fn attempts(times: Vec<(String, String)>) -> HashMap<String, usize> {
    let mut made = HashMap::<String, usize>::new();
    let mut number = |(team_id, submission_id): (String, String)| {
        let count = made.entry(team_id).or_default();
        *count += 1;
        (submission_id, *count)
    };
    times.into_iter().map(&mut number).collect()
}

pub(super) fn shown(row: StandingRow, attempts: &HashMap<String, usize>, standings: Standings) -> Row {
    let is_named = row.visibility == Visibility::Public;
    Row {
        attempts: attempts.get(&row.submission_id).copied().filter(|_| is_named),
        group: Some(Group::of(row.access, row.parameters_b)),
        entry: Some(row.submission_id),
        team: is_named.then_some(row.team),
        backbone: row.backbone,
        scores: score_cells(&row.scores),
        submitted_at: Some(instant::rfc3339(row.created_at_ms)),
        published_at_ms: Some(row.published_at_ms),
        standings,
        ..Row::named(row.model_name)
    }
}

impl Row {
    /// A row of which nothing is known but its model's name.
    pub fn named(model_name: String) -> Row {
        Row {
            rank: None,
            rank_range: None,
            tier: None,
            standings: Standings::new(),
            entry: None,
            team: None,
            model_name,
            backbone: None,
            group: None,
            scores: ScoreCells::new(),
            reported: false,
            printed: BTreeMap::new(),
            blind: false,
            attempts: None,
            submitted_at: None,
            published_at_ms: None,
        }
    }
}

/// The paper's rows, in its order.
pub fn reported_rows() -> impl Iterator<Item = Row> {
    paper_tables().iter().flat_map(|group| {
        group.models.iter().map(|model| Row {
            group: Some(group.group),
            backbone: model.backbone.clone(),
            scores: printed_cells(&model.values),
            printed: model.values.clone(),
            reported: true,
            ..Row::named(model.model.clone())
        })
    })
}

/// Printed values as scores; `MCQ` is the mean of the seven printed percentages.
fn printed_cells(printed: &BTreeMap<Column, String>) -> ScoreCells {
    let cell =
        |column: Column, value| (column, ScoreCell { value, unit: column.unit(), ci95: None, n: None });
    let values: BTreeMap<Column, f64> =
        printed.iter().filter_map(|(column, printed)| Some((*column, printed_number(printed)?))).collect();
    let mean = Column::PERCENT.iter().map(|column| values.get(column)).sum::<Option<f64>>();
    let mean = mean.map(|sum| (Column::Mcq, sum / Column::PERCENT.len() as f64));
    values.into_iter().chain(mean).map(|(column, value)| cell(column, value)).collect()
}

pub(super) fn blind_row(rule: Rule, scores: &[Score]) -> Row {
    Row { scores: score_cells(scores), blind: true, ..Row::named(rule.label().to_owned()) }
}

/// The rows in order. Only entries are ranked; the others stand where their values put them.
pub fn ordered(rows: Vec<Row>, sort: Sort, view: View) -> Vec<Row> {
    let value = |row: &Row| row.scores.get(&sort.column).map(|cell| cell.value);
    let values: Vec<Option<f64>> = rows.iter().map(value).collect();
    let own = |row: &Row| value(row).filter(|_| row.entry.is_some());
    let ranked: Vec<Option<f64>> = rows.iter().map(own).collect();
    let direction = if sort.descending { Direction::Descending } else { Direction::Ascending };
    let mut order = ranking::rank(&values, direction).order;
    let ranks = ranking::rank(&ranked, direction).ranks;
    if view == View::Groups {
        // A stable sort: the order within a group stays.
        order.sort_by_key(|place| rows[*place].group.map_or(Group::ALL.len(), |group| group as usize));
    }
    let mut rows: Vec<Option<Row>> = rows.into_iter().map(Some).collect();
    let placed = |place: usize| {
        let row = rows[place].take()?;
        let rank = ranks[place];
        let standing = row.standings.get(&sort.column);
        // What was published since may have pushed it out of the range that was worked out before.
        let range = standing.zip(rank).map(|(standing, rank)| {
            let [best, worst] = standing.range;
            [best.min(rank), worst.max(rank)]
        });
        let tier = standing.map(|standing| standing.tier);
        Some(Row { rank, rank_range: range, tier, ..row })
    };
    order.into_iter().filter_map(placed).collect()
}

/// The averages of every group over its rows.
pub fn groups(rows: &[Row]) -> Vec<GroupAverages> {
    let of = |group: Group, reported: bool| {
        let of_group: Vec<BTreeMap<Column, f64>> = rows
            .iter()
            .filter(|row| row.group == Some(group) && row.reported == reported)
            .map(|row| row.scores.iter().map(|(column, cell)| (*column, cell.value)).collect())
            .collect();
        ranking::averages(&of_group)
    };
    let average = |group: &Group| {
        let (averages, reported_averages) = (of(*group, false), of(*group, true));
        let change = ranking::change(&averages);
        let reported_change = ranking::change(&reported_averages);
        GroupAverages { group: *group, averages, change, reported_averages, reported_change }
    };
    Group::ALL.iter().map(average).collect()
}
