//! What the pictures to share show: the first entries of a board, or one entry among all. Computes no score.
//!
//! A PNG has one scheme, the light one, so colours stand here.

use maud::{Markup, html};

use super::super::charts::{Axis, cut};
use super::super::figures::interval;
use super::raster::{HEIGHT, WIDTH};
use crate::domain::column::{Column, Unit};
use crate::domain::submission::Group;
use crate::evaluation::board_rows::{Row, ScoreCell};
use crate::evaluation::standing::Leaderboard;
use crate::scoring::decimals::to_decimals;

const TEXT: &str = "#14212b";
const MUTED: &str = "#4a5a66";
const WHISKER: &str = "#5b6b77";
const HAIRLINE: &str = "#d5dde3";

const MARGIN: u32 = 80;
const ROWS: usize = 6;
const ROW_PX: u32 = 58;

/// Where the values of the board's rows are drawn.
const PLOT_X: f64 = 600.0;
const PLOT_PX: f64 = 370.0;

/// The first entries of a board with their intervals.
pub(super) fn board(board: &Leaderboard) -> Markup {
    let scored: Vec<(&Row, &ScoreCell)> = scored(board).collect();
    let first = &scored[..scored.len().min(ROWS)];
    let ends = first.iter().flat_map(|(_, cell)| cell.ci95.unwrap_or([cell.value; 2]));
    let axis = Axis::around(Unit::Percent, ends);
    let entries = match scored.len() {
        0 => "no entry yet".to_owned(),
        1 => "1 entry".to_owned(),
        entries => format!("{entries} entries"),
    };
    sheet(html! {
        (text(MARGIN, 122, 50, true, TEXT, "MarineLife-16K leaderboard"))
        (text(MARGIN, 172, 26, false, MUTED, &format!("{} · {entries} · MCQ, percent right, with 95 % intervals", of(board))))
        @for (place, (row, cell)) in first.iter().enumerate() {
            @let y = 242 + ROW_PX * place as u32;
            (text(MARGIN, y, 28, false, TEXT, &printable(&row.model_name, 26)))
            (value_line(&axis, row, cell, (PLOT_X, PLOT_PX), f64::from(y) - 10.0))
            (right(y, 28, &to_decimals(cell.value, cell.unit.places())))
        }
        @if first.is_empty() { (text(MARGIN, 300, 32, false, TEXT, "No published entry yet.")) }
    })
}

/// An entry's `MCQ` among those of all entries.
pub(super) fn entry(board: &Leaderboard, id: &str) -> Markup {
    let Some(row) = board.rows.iter().find(|row| row.entry.as_deref() == Some(id)) else {
        return sheet(text(MARGIN, 122, 50, true, TEXT, "MarineLife-16K leaderboard"));
    };
    let size = if row.model_name.chars().count() <= 24 { 60 } else { 42 };
    let by = format!("by {}", row.team.as_deref().unwrap_or("an anonymous team"));
    let group = row.group.map_or("", group_words);
    sheet(html! {
        (text(MARGIN, 108, 26, false, MUTED, &format!("MarineLife-16K · {}", of(board))))
        (text(MARGIN, 200, size, true, TEXT, &printable(&row.model_name, 36)))
        (text(MARGIN, 252, 28, false, MUTED, &format!("{by} · {group}")))
        @match row.scores.get(&Column::Mcq) {
            Some(cell) => (standing(board, row, cell)),
            None => (text(MARGIN, 380, 40, false, TEXT, "MCQ is not scored")),
        }
    })
}

fn standing(board: &Leaderboard, row: &Row, cell: &ScoreCell) -> Markup {
    let others: Vec<f64> = scored(board).map(|(_, cell)| cell.value).collect();
    let rank = match row.standings.get(&Column::Mcq).map(|standing| standing.range) {
        Some([best, worst]) if best != worst => format!("{best}–{worst}"),
        Some([best, _]) => best.to_string(),
        None => (1 + others.iter().filter(|value| **value > cell.value).count()).to_string(),
    };
    let axis = Axis::whole(Unit::Percent);
    let (left, width) = (f64::from(MARGIN), f64::from(WIDTH - 2 * MARGIN));
    html! {
        (text(MARGIN, 372, 72, true, TEXT, &format!("{} %", to_decimals(cell.value, cell.unit.places()))))
        (text(410, 340, 28, false, TEXT, &format!("MCQ, 95 % interval {}", interval(cell))))
        (text(410, 378, 28, false, TEXT, &format!("rank {rank} of {}", others.len())))
        line x1=(left) x2=(left + width) y1="470" y2="470" stroke=(HAIRLINE) stroke-width="2" {}
        @for value in others {
            @let x = axis.share(value).mul_add(width, left);
            line x1=(x) x2=(x) y1="452" y2="488" stroke=(WHISKER) stroke-width="2" {}
        }
        (value_line(&axis, row, cell, (left, width), 470.0))
        (text(MARGIN, 526, 22, false, MUTED, "0"))
        text x=(WIDTH - MARGIN) y="526" font-size="22" fill=(MUTED) text-anchor="end" { "100" }
    }
}

/// The entries that have an `MCQ`, in the board's order.
fn scored(board: &Leaderboard) -> impl Iterator<Item = (&Row, &ScoreCell)> {
    let entries = board.rows.iter().filter(|row| row.entry.is_some());
    entries.filter_map(|row| Some((row, row.scores.get(&Column::Mcq)?)))
}

fn of(board: &Leaderboard) -> String {
    let release = board.release.as_deref().map(|release| format!(", release {}", printable(release, 24)));
    format!("{} split{}", board.split, release.unwrap_or_default())
}

fn value_line(axis: &Axis, row: &Row, cell: &ScoreCell, (left, width): (f64, f64), y: f64) -> Markup {
    let x = |value: f64| axis.share(value).mul_add(width, left);
    let (colour, shape) = match row.group {
        Some(Group::OpenSmall) => ("#0b62a8", html! { circle r="10" {} }),
        Some(Group::OpenLarge) => ("#b8500a", html! { path d="M-9-9h18v18h-18z" {} }),
        Some(Group::Closed) | None => ("#4a1342", html! { path d="M0-12 12 0 0 12-12 0z" {} }),
    };
    html! {
        @if let Some([low, high]) = cell.ci95 {
            line x1=(x(low)) x2=(x(high)) y1=(y) y2=(y) stroke=(WHISKER) stroke-width="4" {}
        }
        g fill=(colour) transform={ "translate(" (x(cell.value)) " " (y) ")" } { (shape) }
    }
}

fn group_words(group: Group) -> &'static str {
    match group {
        Group::OpenSmall => "open, below 10 B parameters",
        Group::OpenLarge => "open, 10 B parameters and more",
        Group::Closed => "closed",
    }
}

/// A text of at most so many characters, without those that XML cannot hold.
fn printable(text: &str, max_chars: usize) -> String {
    let known = |char: char| !char.is_control() && !matches!(char, '\u{fffe}' | '\u{ffff}');
    cut(&text.chars().map(|char| if known(char) { char } else { ' ' }).collect::<String>(), max_chars)
}

fn text(x: u32, y: u32, size: u32, bold: bool, colour: &str, words: &str) -> Markup {
    html! {
        text x=(x) y=(y) font-size=(size) fill=(colour) font-weight=(if bold { "700" } else { "400" }) { (words) }
    }
}

fn right(y: u32, size: u32, words: &str) -> Markup {
    html! {
        text x=(WIDTH - MARGIN) y=(y) font-size=(size) fill=(TEXT) font-weight="700" text-anchor="end" { (words) }
    }
}

fn sheet(content: Markup) -> Markup {
    html! {
        svg xmlns="http://www.w3.org/2000/svg" width=(WIDTH) height=(HEIGHT) {
            rect width=(WIDTH) height=(HEIGHT) fill="#ffffff" {}
            rect width="20" height=(HEIGHT) fill="#0a5c96" {}
            (content)
            text x=(WIDTH - MARGIN) y=(HEIGHT - 36) font-size="22" fill=(MUTED) text-anchor="end" { "Secchi" }
        }
    }
}
