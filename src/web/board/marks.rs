//! Which scores of a column are marked: the best, what cannot be told apart from it, and the highest that is clearly below.
//! Knows nothing of how marks look.

use std::collections::BTreeMap;

use crate::domain::column::Column;
use crate::evaluation::board_rows::Row;
use crate::scoring::decimals::to_decimals;
use crate::web::figures::places;

/// How a score stands to the best of its column.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Mark {
    /// The highest value, or one that is printed like it.
    Best,
    /// Lower, and not to be told apart from the best.
    TiesBest,
    /// The highest value that is clearly below the best, or one that is printed like it.
    Second,
}

/// The marks of a board: by column what is printed of the best and of the second value.
pub(super) struct Marks(BTreeMap<Column, (String, Option<String>)>);

impl Marks {
    /// The marks of all entries of a board, whichever of them are shown.
    pub(super) fn of(rows: &[Row]) -> Marks {
        let of_column = |column: &Column| {
            let entries = || rows.iter().filter(|row| row.entry.is_some());
            let value = |row: &Row| Some(row.scores.get(column)?.value);
            let best = entries().filter_map(value).max_by(f64::total_cmp)?;
            let is_below = |row: &&Row| row.standings.get(column).is_some_and(|standing| !standing.ties_best);
            let second = entries().filter(is_below).filter_map(value).max_by(f64::total_cmp);
            Some((*column, (printed(*column, best), second.map(|second| printed(*column, second)))))
        };
        Marks(Column::ALL.iter().filter_map(of_column).collect())
    }

    /// The mark of a row's score; only entries have any.
    pub(super) fn find(&self, row: &Row, column: Column) -> Option<Mark> {
        row.entry.as_ref()?;
        let (best, second) = self.0.get(&column)?;
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
    to_decimals(value, places(column.unit()))
}
