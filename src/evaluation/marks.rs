//! Which scores of a column are marked: the best, what cannot be told apart from it, and the highest that is clearly below.
//! Over all entries of a board, whichever of them are shown. Knows nothing of how marks look.

use std::collections::BTreeMap;

use super::board_rows::Row;
use crate::domain::column::Column;
use crate::scoring::decimals::to_decimals;

/// How a score stands to the best of its column.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mark {
    /// The highest value, or one that is printed like it.
    Best,
    /// Lower, and not to be told apart from the best.
    TiesBest,
    /// The highest value that is clearly below the best, or one that is printed like it.
    Second,
}

/// The marks of a board, by column.
#[derive(Debug, Clone, Default)]
pub struct Marks(BTreeMap<Column, Ends>);

/// What the marks of a column rest on.
#[derive(Debug, Clone)]
struct Ends {
    /// The best value as it is printed.
    best: String,
    /// The highest value that is clearly below, as it is printed.
    second: Option<String>,
    /// Whether every entry was compared with the best.
    compared: bool,
}

impl Marks {
    /// The marks of these rows; only entries have any.
    pub fn of(rows: &[Row]) -> Marks {
        let of_column = |column: &Column| {
            let entries = || rows.iter().filter(|row| row.entry.is_some());
            let value = |row: &Row| Some(row.scores.get(column)?.value);
            let best = entries().filter_map(value).max_by(f64::total_cmp)?;
            let has_value = |row: &&Row| row.scores.contains_key(column);
            let compared = entries().filter(has_value).all(|row| row.standings.contains_key(column));
            let is_below = |row: &&Row| row.standings.get(column).is_some_and(|standing| !standing.ties_best);
            let second = entries().filter(is_below).filter_map(value).max_by(f64::total_cmp);
            let (best, second) = (printed(*column, best), second.map(|second| printed(*column, second)));
            Some((*column, Ends { best, second, compared }))
        };
        Marks(Column::ALL.iter().filter_map(of_column).collect())
    }

    /// Whether the marks of all columns rest on tests of every pair; without any entry they do not.
    pub fn are_tested(&self) -> bool {
        !self.0.is_empty() && self.0.values().all(|ends| ends.compared)
    }

    /// The mark of a row's score.
    pub fn find(&self, row: &Row, column: Column) -> Option<Mark> {
        row.entry.as_ref()?;
        let Ends { best, second, .. } = self.0.get(&column)?;
        let text = printed(column, row.scores.get(&column)?.value);
        let ties_best = row.standings.get(&column).is_some_and(|standing| standing.ties_best);
        if text == *best {
            Some(Mark::Best)
        } else if ties_best {
            Some(Mark::TiesBest)
        } else {
            second.as_ref().filter(|second| **second == text).map(|_| Mark::Second)
        }
    }
}

fn printed(column: Column, value: f64) -> String {
    to_decimals(value, column.unit().places())
}
