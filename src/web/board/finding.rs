//! What a board comes to in one or two sentences: who leads, and who cannot be told apart from it. Knows nothing of tables.

use crate::domain::column::{Column, Unit};
use crate::evaluation::board_rows::{Row, ScoreCell};
use crate::evaluation::standing::Leaderboard;
use crate::scoring::decimals::to_decimals;
use crate::web::figures::grouped;

/// Names that are told at most before the rest is counted.
const MAX_NAMES: usize = 3;

/// What the sorted column comes to; none while no entry has a score there.
pub(super) fn finding(board: &Leaderboard) -> Option<String> {
    let column = board.query.sort.column;
    let scored: Vec<(&Row, &ScoreCell)> = board
        .rows
        .iter()
        .filter(|row| row.entry.is_some())
        .filter_map(|row| Some((row, row.scores.get(&column)?)))
        .collect();
    let (leaders, others): (Vec<_>, Vec<_>) = scored.iter().partition(|(row, _)| row.rank == Some(1));
    let (_, cell) = leaders.first()?;
    let score = format!("{} in {column}", amount(column, cell.value));
    let lead = listed(leaders.iter().map(|(row, _)| *row));
    if others.is_empty() {
        return Some(match leaders.len() {
            1 => format!("{lead} is the only entry so far, with {score}."),
            _ => format!("{lead} have the same score, {score}."),
        });
    }
    let verb = if leaders.len() == 1 { "leads" } else { "lead together" };
    let led = format!("{lead} {verb} with {score}");
    let ties_best = |row: &Row| row.standings.get(&column).map(|standing| standing.ties_best);
    let known: Option<Vec<bool>> = others.iter().map(|(row, _)| ties_best(row)).collect();
    let Some(known) = known else {
        return Some(match &board.as_of {
            Some(_) => format!("{led}, as the board stood then."),
            None => format!("{led}. Which entries can be told apart from it is not computed yet."),
        });
    };
    let tied: Vec<&Row> =
        others.iter().zip(&known).filter(|(_, ties)| **ties).map(|((row, _), _)| *row).collect();
    let below = others.len() - tied.len();
    let them = if leaders.len() == 1 { "it" } else { "them" };
    if tied.is_empty() {
        let all =
            if below == 1 { "the other entry is".to_owned() } else { format!("all {below} others are") };
        return Some(format!("{led}; {all} clearly below {them}."));
    }
    let questions = cell.n.map(|n| format!(" on these {} questions", grouped(n)));
    let below = match below {
        0 => String::new(),
        1 => "; 1 entry is clearly below".to_owned(),
        below => format!("; {below} entries are clearly below"),
    };
    let ties = listed(tied.iter().copied());
    Some(format!("{led}. {ties} cannot be told apart from {them}{}{below}.", questions.unwrap_or_default()))
}

/// The leader and the entry behind it, for a closer look at the two.
pub(super) fn first_two(board: &Leaderboard) -> Option<[&str; 2]> {
    let at = |rank: u32, place: usize| {
        board
            .rows
            .iter()
            .filter(|row| row.rank == Some(rank))
            .filter_map(|row| row.entry.as_deref())
            .nth(place)
    };
    Some([at(1, 0)?, at(1, 1).or_else(|| at(2, 0))?])
}

fn amount(column: Column, value: f64) -> String {
    let text = to_decimals(value, column.unit().places());
    match column.unit() {
        Unit::Percent => format!("{text}\u{a0}%"),
        Unit::Points => format!("{text} of 5"),
    }
}

fn listed<'a>(rows: impl ExactSizeIterator<Item = &'a Row>) -> String {
    let count = rows.len();
    let told = if count > MAX_NAMES + 1 { MAX_NAMES } else { count };
    let mut names: Vec<String> = rows.take(told).map(|row| row.model_name.clone()).collect();
    if told < count {
        names.push(format!("{} more", count - told));
    }
    match names.split_last() {
        Some((last, [])) => last.clone(),
        Some((last, before)) => format!("{} and {last}", before.join(", ")),
        None => String::new(),
    }
}
