//! The part of a board that a page shows: which rows a filter leaves, and which of them stand on the page. Knows nothing of
//! how they look.

use super::view::BoardView;
use crate::domain::submission::Group;
use crate::evaluation::board_query::View;
use crate::evaluation::board_rows::Row;
use crate::evaluation::standing::Leaderboard;

/// Rows of one page; a longer board has several.
const ROWS_A_PAGE: usize = 200;

/// A board as a page shows it.
pub(super) struct Shown<'a> {
    pub(super) board: &'a Leaderboard,
    pub(super) view: &'a BoardView,
    /// Scheme and host of this server, where it was told.
    pub(super) origin: Option<&'a str>,
    /// Entries and the paper's rows on this page, in order.
    pub(super) rows: Vec<&'a Row>,
    /// Baselines that never see a video; they stand on every page.
    pub(super) blind: Vec<&'a Row>,
    /// Entries that the filter leaves, on all pages.
    pub(super) entries: usize,
    /// Rows that the filter leaves, on all pages.
    pub(super) total: usize,
    /// The place of the page's first row among them, from 0.
    pub(super) first: usize,
}

impl<'a> Shown<'a> {
    pub(super) fn of(board: &'a Leaderboard, view: &'a BoardView, origin: Option<&'a str>) -> Shown<'a> {
        let search = view.search.to_lowercase();
        let is_left = |row: &&Row| {
            row.group.is_some_and(|group| view.has_group(group))
                && (search.is_empty() || is_named(row, &search))
        };
        let left: Vec<&Row> = board.rows.iter().filter(is_left).collect();
        let last_page = left.len().saturating_sub(1) / ROWS_A_PAGE;
        let first = (view.page - 1).min(last_page) * ROWS_A_PAGE;
        Shown {
            board,
            view,
            origin,
            rows: left.iter().skip(first).take(ROWS_A_PAGE).copied().collect(),
            blind: board.rows.iter().filter(|row| row.blind).collect(),
            entries: left.iter().filter(|row| row.entry.is_some()).count(),
            total: left.len(),
            first,
        }
    }

    /// Whether rows stand by group.
    pub(super) fn is_by_group(&self) -> bool {
        self.view.board.view == View::Groups
    }

    /// Whether the last row of a group, or of all, stands on this page.
    pub(super) fn ends(&self, group: Option<Group>) -> bool {
        let is_last_page = self.first + self.rows.len() == self.total;
        let is_followed = self.rows.last().is_some_and(|last| last.group != group);
        is_last_page || (group.is_some() && is_followed)
    }

    /// Views of the page before and the page after this one.
    pub(super) fn beside(&self) -> [Option<BoardView>; 2] {
        let page = self.first / ROWS_A_PAGE + 1;
        let to = |page| self.view.with(|view| view.page = page);
        let has_next = self.first + ROWS_A_PAGE < self.total;
        [(page > 1).then(|| to(page - 1)), has_next.then(|| to(page + 1))]
    }
}

/// Whether a row's model, team or backbone has a name that holds this text, written small.
fn is_named(row: &Row, search: &str) -> bool {
    let names = [Some(&row.model_name), row.team.as_ref(), row.backbone.as_ref()];
    names.into_iter().flatten().any(|name| name.to_lowercase().contains(search))
}
