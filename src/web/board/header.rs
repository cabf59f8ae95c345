//! What stands above the tables: what is measured, on which data, and how to read it. Knows nothing of single scores.

use maud::{Markup, html};

use super::finding::{finding, first_two};
use super::shown::Shown;
use super::view::BoardView;
use crate::domain::instant::parse_rfc3339;
use crate::domain::question::Split;
use crate::domain::submission::Group;
use crate::evaluation::standing::Leaderboard;
use crate::scoring::decimals::to_decimals;
use crate::web::figures::grouped;
use crate::web::frame;

/// Characters of a hash that tell one from another.
const SHORT_HASH: usize = 12;

/// A group in words.
pub(super) fn group_label(group: Group) -> &'static str {
    match group {
        Group::OpenSmall => "Open models below 10 B parameters",
        Group::OpenLarge => "Open models of 10 B parameters and more",
        Group::Closed => "Closed models",
    }
}

pub(super) fn short(hash: &str) -> &str {
    hash.get(..SHORT_HASH).unwrap_or(hash)
}

/// The view under an address that shows the same for good: of this release, this judge and these entries.
pub(super) fn permanent(shown: &Shown<'_>) -> BoardView {
    let board = shown.board;
    let as_of = board.as_of.as_deref().or(board.facts.newest_at.as_deref());
    shown.view.with(|view| {
        view.page = shown.view.page;
        view.board.release = board.release.clone();
        view.board.judge = board.judge.as_ref().map(|judge| judge.configuration.clone());
        view.board.as_of_ms = as_of.and_then(parse_rfc3339);
    })
}

/// The title, what is measured, and which data it rests on.
pub(super) fn title(shown: &Shown<'_>) -> Markup {
    html! {
        header.title {
            h1 { "MarineLife-16K leaderboard" }
            nav.splits aria-label="Splits" {
                @for split in [Split::Test, Split::Val] {
                    @let to = BoardView::plain(split).address();
                    a href=(to) aria-current=[(split == shown.board.split).then_some("page")] { (split) }
                }
            }
            p.lead {
                "How well models answer questions about marine videos: which animals are there, how they look, move and behave, \
                 and what a moving camera does to the answers."
            }
            (status(shown))
        }
    }
}

fn status(shown: &Shown<'_>) -> Markup {
    let Leaderboard { release, release_sha256, judge, as_of, facts, .. } = shown.board;
    let entries = if facts.entries == 1 { "entry" } else { "entries" };
    let newest = facts.newest_at.as_deref().and_then(parse_rfc3339);
    html! {
        p.facts #status data-part {
            @match (release, release_sha256) {
                (Some(release), Some(hash)) => {
                    "Release " strong { (release) } " " code title=(hash) { (short(hash)) }
                    " · " (grouped(facts.questions)) " questions, " (grouped(facts.videos)) " videos"
                }
                _ => "No release of this split is active"
            }
            " · " strong { (grouped(facts.entries)) } " " (entries)
            @if let Some(newest) = newest { ", newest " (frame::when(newest)) }
            @if let Some(judge) = judge {
                " · judged by " strong { (judge.model) } " " code title=(judge.configuration) { (short(&judge.configuration)) }
            }
            @if let Some(as_of) = as_of { " · as it stood at " time datetime=(as_of) { (as_of) } }
            @if release.is_some() { " · " a href=(permanent(shown).address()) { "Permanent address" } }
        }
    }
}

/// Who leads, in words.
pub(super) fn lead(shown: &Shown<'_>) -> Markup {
    html! {
        @if let Some(finding) = finding(shown.board) {
            p.finding {
                (finding)
                @if let Some([first, second]) = first_two(shown.board) {
                    " " a href={ "/compare?a=" (first) "&b=" (second) } { "Compare the first two" }
                }
            }
        }
    }
}

/// The marks of a table in one line, before anybody needs them, and all that there is to know behind it: the table itself is
/// not to stand far below, least of all on a phone.
pub(super) fn reading(shown: &Shown<'_>) -> Markup {
    let has_reported = shown.board.rows.iter().any(|row| row.reported);
    let column = shown.board.query.sort.column;
    html! {
        details.reading {
            summary #reading {
                strong { "How to read this: " }
                b { "81.2" } " best of its column, 80.9" i { "≈" } " cannot be told apart from it, " u { "76.0" }
                " the highest clearly below; small figures are the 95 % interval"
            }
            dl {
                dt { "59.1" small { "55.4–62.7" } }
                dd { "A score and its 95 % interval: the values that fit what was seen, had other videos been drawn." }
                dt { "1–4" }
                dd {
                    "The ranks that tests of each pair on the same questions allow. Entries of one tier cannot be told apart \
                     from its first."
                }
                dt { b { "81.2" } "  80.9" i { "≈" } "  " u { "76.0" } }
                dd {
                    "The best entry of a column; one that cannot be told apart from it; the highest that is clearly below. \
                     Intervals that overlap may still differ: the marks come from the tests."
                }
                @if let Some(smallest) = shown.board.facts.smallest_difference.get(&column) {
                    dt { (to_decimals(*smallest, column.unit().places())) }
                    dd {
                        "The smallest difference in " (column) " that two neighbours here would show four times in five; what is \
                         smaller will mostly pass for chance."
                    }
                }
                @if has_reported {
                    dt { em { "reported" } }
                    dd { "Printed in the paper, not scored here and not ranked: " a href="#notes" { "why" } "." }
                }
                @if !shown.blind.is_empty() {
                    dt { "Blind" }
                    dd { "Rules that never see a video. Up to their scores no look at the video is needed." }
                }
            }
        }
    }
}
