//! Which places on the board would change with another judge configuration or release. Knows nothing of how it gets its
//! scores.

use std::collections::HashSet;

use serde::Serialize;

use crate::domain::column::{Column, Unit};
use crate::domain::question::Split;
use crate::scoring::ranking::{self, Direction};
use crate::store::ranges::Scope;
use crate::store::releases::find_active_release;
use crate::store::scores::Under;
use crate::store::standing::{StandingRow, load_standing};
use crate::store::{DbConnection, StoreError};

use super::board_rows::in_scope;

/// An entry whose rank or value in a column would change.
#[derive(Debug, Clone, PartialEq, Serialize, utoipa::ToSchema)]
pub struct Move {
    /// The split.
    pub split: Split,
    /// The column; its questions are scored by the judge.
    pub column: Column,
    /// The entry's id.
    pub entry: String,
    /// The team's short name.
    pub team: String,
    /// The model's name.
    pub model_name: String,
    /// The rank now and then.
    pub rank: [Option<u32>; 2],
    /// The value now and then.
    pub value: [Option<f64>; 2],
}

/// The ranks that change from one configuration to another, in the order of splits, columns and new ranks. The boards are
/// those of today with the entries that have complete scores under both.
///
/// # Errors
/// When the database fails.
pub fn rank_moves(connection: &mut DbConnection, from: &str, to: &str) -> Result<Vec<Move>, StoreError> {
    let mut moves = Vec::new();
    for split in [Split::Test, Split::Val] {
        let Some(release) = find_active_release(connection, split)? else { continue };
        let from = load_standing(connection, &Under::new(&release.id, from))?;
        let to = load_standing(connection, &Under::new(&release.id, to))?;
        let (from, to) = (shown_beside(from.clone(), &to), shown_beside(to, &from));
        for column in Column::ALL.iter().filter(|column| column.unit() == Unit::Points) {
            let all = column_moves(split, *column, &to, [&from, &to].map(|rows| in_column(rows, *column)));
            moves.extend(all.into_iter().filter(|moved| moved.rank[0] != moved.rank[1]));
        }
    }
    Ok(moves)
}

/// The rows that a board shows of those that another configuration has too.
pub(super) fn shown_beside(rows: Vec<StandingRow>, others: &[StandingRow]) -> Vec<StandingRow> {
    let others: HashSet<&str> = others.iter().map(|row| row.submission_id.as_str()).collect();
    let common = rows.into_iter().filter(|row| others.contains(row.submission_id.as_str())).collect();
    in_scope(common, Scope::Newest)
}

/// The values of rows in a column.
fn in_column(rows: &[StandingRow], column: Column) -> Vec<Option<f64>> {
    let value = |row: &StandingRow| Some(row.scores.iter().find(|score| score.column == column)?.value);
    rows.iter().map(value).collect()
}

/// What changes in one column, rank or value, for `rows` with these values now and then.
pub(super) fn column_moves(
    split: Split,
    column: Column,
    rows: &[StandingRow],
    [now, then]: [Vec<Option<f64>>; 2],
) -> Vec<Move> {
    let [old, new] = [&now, &then].map(|values| ranking::rank(values, Direction::Descending));
    let is_moved = |place: &usize| old.ranks[*place] != new.ranks[*place] || now[*place] != then[*place];
    let moved = new.order.iter().copied().filter(is_moved);
    moved
        .map(|place| Move {
            split,
            column,
            entry: rows[place].submission_id.clone(),
            team: rows[place].team.clone(),
            model_name: rows[place].model_name.clone(),
            rank: [old.ranks[place], new.ranks[place]],
            value: [now[place], then[place]],
        })
        .collect()
}
