//! What stands for a row in a chart: its name, its mark, its whisker, and the key that explains them. Places nothing.

use std::collections::BTreeSet;

use maud::{Markup, html};

use super::super::figures::interval;
use super::axis::Axis;
use crate::domain::submission::Group;
use crate::evaluation::board_rows::{Row, ScoreCell};
use crate::scoring::decimals::to_decimals;

/// Characters of a name that have room on a phone.
const MAX_NAME_CHARS: usize = 26;

/// Between what a row's table cell says and what it does not know.
pub(super) const MISSING: &str = "–";

/// Where a row comes from.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Origin {
    /// Scored here.
    Scored,
    /// Printed in the paper.
    Reported,
    /// A baseline that never sees a video.
    Blind,
}

impl Origin {
    pub(super) fn of(row: &Row) -> Origin {
        match row {
            Row { blind: true, .. } => Origin::Blind,
            Row { reported: true, .. } => Origin::Reported,
            _ => Origin::Scored,
        }
    }

    fn class(self) -> &'static str {
        match self {
            Origin::Scored => "scored",
            Origin::Reported => "reported",
            Origin::Blind => "blind",
        }
    }
}

/// A model's name, cut to what has room.
pub(super) fn short_name(row: &Row) -> String {
    cut(&row.model_name, MAX_NAME_CHARS)
}

/// A text of at most so many characters.
pub(in super::super) fn cut(text: &str, max_chars: usize) -> String {
    if text.chars().count() <= max_chars {
        return text.to_owned();
    }
    let kept: String = text.chars().take(max_chars - 1).collect();
    format!("{}…", kept.trim_end())
}

/// A row's whole name, and whose it is.
pub(super) fn full_name(row: &Row) -> String {
    match (Origin::of(row), &row.team) {
        (Origin::Scored, Some(team)) => format!("{} ({team})", row.model_name),
        (Origin::Scored, None) => format!("{} (anonymous)", row.model_name),
        (Origin::Reported, _) => format!("{} (reported in the paper)", row.model_name),
        (Origin::Blind, _) => row.model_name.clone(),
    }
}

/// A cell's value with its column's decimals.
pub(super) fn figure(cell: &ScoreCell) -> String {
    to_decimals(cell.value, cell.unit.places())
}

/// A cell's value and interval.
pub(super) fn figure_with_interval(cell: &ScoreCell) -> String {
    if cell.ci95.is_none() { figure(cell) } else { format!("{} ({})", figure(cell), interval(cell)) }
}

/// The mark of a row at a place of a plot.
pub(super) fn mark(row: &Row, x: &str, y: impl std::fmt::Display) -> Markup {
    let origin = Origin::of(row);
    html! { svg x=(x) y=(y) { (shape(row.group, origin, "")) } }
}

/// The mark of a row, with a class more.
pub(super) fn shape(group: Option<Group>, origin: Origin, class: &str) -> Markup {
    let name = group.map_or("none", Group::as_str);
    let class = format!("mark {name} {} {class}", origin.class());
    html! {
        @match group {
            _ if origin == Origin::Blind => path class=(class.trim_end()) d="M-4-4 4 4M4-4-4 4" {},
            Some(Group::OpenSmall) => circle class=(class.trim_end()) r="4.5" {},
            Some(Group::OpenLarge) => path class=(class.trim_end()) d="M-4-4h8v8h-8z" {},
            Some(Group::Closed) | None => path class=(class.trim_end()) d="M0-5.5 5.5 0 0 5.5-5.5 0z" {},
        }
    }
}

/// The interval of a cell as a line.
pub(super) fn whisker(axis: &Axis, cell: &ScoreCell, y: impl std::fmt::Display) -> Markup {
    html! {
        @if let Some([low, high]) = cell.ci95 {
            line.whisker x1=(axis.x(low)) x2=(axis.x(high)) y1=(y) y2=(y) {}
        }
    }
}

/// What the marks of these rows mean.
pub(super) fn key<'a>(rows: impl Iterator<Item = &'a Row>) -> Markup {
    let mut groups = BTreeSet::new();
    let mut origins = BTreeSet::new();
    for row in rows {
        groups.extend(row.group.map(|group| group as usize));
        origins.insert(Origin::of(row));
    }
    let item = |mark: Markup, words: &str| {
        html! { li { svg width="14" height="14" aria-hidden="true" { svg x="7" y="7" { (mark) } } " " (words) } }
    };
    html! {
        ul.legend {
            @for group in Group::ALL.iter().filter(|group| groups.contains(&(**group as usize))) {
                (item(shape(Some(*group), Origin::Scored, ""), group_words(*group)))
            }
            @if origins.contains(&Origin::Reported) {
                (item(shape(Some(Group::OpenSmall), Origin::Reported, "plain"), "hollow: reported in the paper, not scored here"))
            }
            @if origins.contains(&Origin::Blind) {
                (item(shape(None, Origin::Blind, ""), "blind baseline"))
            }
        }
    }
}

fn group_words(group: Group) -> &'static str {
    match group {
        Group::OpenSmall => "open, below 10 B",
        Group::OpenLarge => "open, 10 B and more",
        Group::Closed => "closed",
    }
}
