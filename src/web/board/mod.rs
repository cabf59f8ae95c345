//! The leaderboard as a page: both tables of the paper, live. Knows nothing of requests.

mod averages;
mod cells;
mod controls;
mod finding;
mod foot;
mod header;
mod shown;
mod table;
#[cfg(test)]
mod tests;
mod view;

use maud::{Markup, html};

use self::shown::Shown;
use self::table::{Sheet, table};
use super::charts;
use super::frame::{self, Page, Script, Sharing, Viewer};
use crate::evaluation::release_views::Correction;
use crate::evaluation::standing::{JudgeHead, Leaderboard};

pub(super) use self::view::BoardView;

/// The page of a board, for a server that was told its `origin` or not.
pub(super) fn page(board: &Leaderboard, view: &BoardView, origin: Option<&str>) -> Vec<u8> {
    let shown = Shown::of(board, view, origin);
    let body = html! {
        (header::title(&shown))
        div #notices data-part { (notices(board)) }
        @if board.rows.is_empty() { (empty(board)) } @else { (content(&shown)) }
    };
    let title = format!("MarineLife-16K leaderboard, {} split", board.split);
    let page = Page { title: &title, address: "/", viewer: Viewer::Anybody, script: Some(Script::Board) };
    let about = "How well models understand marine videos: scores with 95 % intervals, and which differences are real.";
    let description = match finding::finding(board) {
        Some(finding) => format!("{finding} {about}"),
        None => about.to_owned(),
    };
    let canonical = BoardView::plain(board.split).address();
    let sharing =
        Sharing { description: &description, origin, canonical: &canonical, picture: "/og/board.png" };
    frame::shared_document(&page, &sharing, &body).into_string().into_bytes()
}

fn content(shown: &Shown<'_>) -> Markup {
    html! {
        div #lead data-part {
            @if shown.board.facts.entries == 0 { (empty(shown.board)) }
            (header::lead(shown))
        }
        (header::reading(shown))
        (controls::form(shown))
        p #said.hidden role="status" {}
        (controls::state(shown))
        div #tables data-part {
            (table(shown, &Sheet::questions(shown)))
            (charts::intervals(shown.board, shown.board.query.sort.column))
            (table(shown, &Sheet::captions(shown)))
            (charts::slopes(shown.board))
            (charts::scatter(shown.board))
            (charts::best_over_time(shown.board, shown.board.query.sort.column))
            (controls::pages(shown))
        }
        div #foot data-part {
            (foot::downloads(shown))
        }
        (foot::notes(shown))
    }
}

fn empty(board: &Leaderboard) -> Markup {
    html! {
        p.empty {
            "No published entry yet. "
            @if board.release.is_none() { "No release of this split is active." }
            @else { "A scored submission appears here when its team publishes it." }
        }
    }
}

fn notices(board: &Leaderboard) -> Markup {
    let asked = board.judge.as_ref().filter(|_| board.query.judge.is_some());
    let offline = board.judge.as_ref().is_some_and(JudgeHead::is_offline);
    html! {
        @if let Some(correction) = &board.correction { (correction_notice(board, correction)) }
        @if let Some(newer) = &board.superseded_by { (superseded_notice(board, newer)) }
        @if let Some(judge) = asked { (judge_notice(board, judge)) }
        @if offline {
            p.notice role="note" {
                strong { "Offline judge. " }
                "OEMU, BEH, AH and ECF are scored by word overlap with the annotators' evidence, not by a language model."
            }
        }
    }
}

/// What was corrected, when and why, and where the board before it is.
fn correction_notice(board: &Leaderboard, correction: &Correction) -> Markup {
    let questions = if correction.questions == 1 { "question" } else { "questions" };
    let columns = correction.by_column.iter().map(|(column, count)| format!("{column} {count}"));
    let columns = columns.collect::<Vec<_>>().join(", ");
    let judge = board.query.judge.as_deref();
    let former = BoardView::address_under(board.split, Some(&correction.corrects), judge);
    html! {
        p.notice role="note" {
            strong { "Corrected. " }
            "Since " time datetime=(correction.applied_at) { (correction.applied_at) } " this release mends "
            (correction.questions) " " (questions) " of release " (correction.corrects)
            @if !columns.is_empty() { " (" (columns) ")" }
            "; all entries were scored anew. "
            @if let Some(notice) = &correction.notice { (notice) " " }
            a href=(former) { "The board before the correction" }
        }
    }
}

fn superseded_notice(board: &Leaderboard, newer: &str) -> Markup {
    html! {
        p.notice role="note" {
            strong { "An earlier release. " }
            "The present board is of release " (newer) ", which holds the same questions, corrected or as they were before a correction. "
            a href=(BoardView::plain(board.split).address()) { "To the current board" }
        }
    }
}

fn judge_notice(board: &Leaderboard, judge: &JudgeHead) -> Markup {
    html! {
        p.notice role="note" {
            "This is the board under judge configuration " code { (judge.configuration) } " (" (judge.model) "), "
            @match &judge.retired_at {
                Some(retired_at) => { "retired " time datetime=(retired_at) { (retired_at) } ". " }
                None => "which is the current one. "
            }
            a href=(BoardView::plain(board.split).address()) { "To the current board" }
        }
    }
}
