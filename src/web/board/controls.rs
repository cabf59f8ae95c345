//! The form that chooses a view, the filters that are on, and how many rows they leave. Knows nothing of tables.

use maud::{Markup, html};

use super::header::group_label;
use super::shown::Shown;
use super::view::BoardView;
use crate::domain::column::Column;
use crate::domain::submission::Group;
use crate::evaluation::board_query::View;
use crate::web::figures::grouped;

/// Groups in a few words, where there is little room.
const SHORT_LABELS: [&str; 3] = ["Open, below 10 B", "Open, 10 B and more", "Closed"];

/// A form that works by itself; the page's script only sends it sooner.
pub(super) fn form(shown: &Shown<'_>) -> Markup {
    let view = shown.view;
    let ranks = view.board.view == View::Ranks;
    html! {
        form.controls method="get" action="/" role="search" aria-label="What the board shows" {
            div #kept data-part hidden { (kept(view)) }
            div.field {
                label for="q" { "Search" }
                input #q type="search" name="q" value=(view.search) maxlength="100" placeholder="Model, team or backbone" autocomplete="off";
            }
            fieldset {
                legend { "Only these groups" }
                @for (group, label) in Group::ALL.iter().zip(SHORT_LABELS) {
                    (switch("group", group.as_str(), view.groups.contains(group), label))
                }
            }
            fieldset {
                legend { "Layout" }
                (switch("view", "ranks", ranks, "Rank across groups"))
                (switch("ci", "0", view.hides_intervals, "Hide intervals"))
                (switch("all", "1", view.board.all, "All submissions"))
            }
            details.columns {
                summary { "Columns" }
                fieldset {
                    legend { "Only these columns" }
                    @for column in Column::ALL {
                        (switch("cols", column.as_str(), view.columns.contains(column), column.as_str()))
                    }
                }
            }
            button.second type="submit" { "Show" }
        }
    }
}

/// What the form has no field for.
fn kept(view: &BoardView) -> Markup {
    html! {
        @for (name, value) in view.parameters() {
            @if ["split", "sort", "judge", "release", "as_of"].contains(&name) {
                input type="hidden" name=(name) value=(value);
            }
        }
    }
}

fn switch(name: &str, value: &str, checked: bool, label: &str) -> Markup {
    let id = format!("{name}-{value}");
    html! {
        div.choice {
            input type="checkbox" id=(id) name=(name) value=(value) checked[checked];
            label for=(id) { (label) }
        }
    }
}

/// The filters that are on, each a link to the view without it, and what they leave.
pub(super) fn state(shown: &Shown<'_>) -> Markup {
    let chips = chips(shown.view);
    html! {
        div #state data-part {
            @if !shown.view.unknown.is_empty() {
                p.notice role="note" {
                    "The address holds " @for (place, name) in shown.view.unknown.iter().enumerate() {
                        @if place > 0 { ", " }
                        code { (name) }
                    }
                    ", which means nothing here and was left out."
                }
            }
            @if !chips.is_empty() {
                ul.chips aria-label="Filters that are on" {
                    @for (label, view) in &chips {
                        li { a href=(view.address()) { span.hidden { "Remove: " } (label) span aria-hidden="true" { " ×" } } }
                    }
                    li { a.reset href=(BoardView::plain(shown.board.split).address()) { "Reset" } }
                }
            }
            p.count tabindex="-1" data-address=(shown.view.address()) { (count(shown)) }
            (pages(shown))
        }
    }
}

/// What differs from the usual view, and the view without it.
fn chips(view: &BoardView) -> Vec<(String, BoardView)> {
    let mut chips = Vec::new();
    if !view.search.is_empty() {
        chips.push((format!("“{}”", view.search), view.with(|view| view.search.clear())));
    }
    for group in &view.groups {
        let without = view.with(|view| view.groups.retain(|other| other != group));
        chips.push((group_label(*group).to_owned(), without));
    }
    if !view.columns.is_empty() {
        let columns = view.columns.iter().map(|column| column.as_str()).collect::<Vec<_>>().join(", ");
        chips.push((columns, view.with(|view| view.columns.clear())));
    }
    if view.board.view == View::Ranks {
        chips.push(("Rank across groups".to_owned(), view.with(|view| view.board.view = View::Groups)));
    }
    if view.hides_intervals {
        chips.push(("Intervals hidden".to_owned(), view.with(|view| view.hides_intervals = false)));
    }
    if view.board.all {
        chips.push(("All submissions".to_owned(), view.with(|view| view.board.all = false)));
    }
    if let Some(release) = &view.board.release {
        chips.push((format!("Release {release}"), view.with(|view| view.board.release = None)));
    }
    if let Some(judge) = &view.board.judge {
        let judge = super::header::short(judge);
        chips.push((format!("Judge {judge}"), view.with(|view| view.board.judge = None)));
    }
    if view.board.as_of_ms.is_some() {
        chips.push(("As of a date".to_owned(), view.with(|view| view.board.as_of_ms = None)));
    }
    chips
}

/// How many rows are shown, and in which order.
fn count(shown: &Shown<'_>) -> String {
    let sort = shown.view.board.sort;
    let order = if sort.descending { "highest first" } else { "lowest first" };
    let within = if shown.is_by_group() { " within groups" } else { "" };
    let all = shown.board.facts.entries;
    let sorted = format!("sorted by {}{within}, {order}.", sort.column);
    if shown.view.is_filtered() {
        let [left, all] = [shown.entries, all].map(grouped);
        return format!(
            "{left} of {all} entries shown, {sorted} Filters are on: ranks still count all {all} entries, so numbers may skip."
        );
    }
    let entries = if all == 1 { "entry" } else { "entries" };
    format!("{} {entries}, {sorted}", grouped(all))
}

/// The way through a board of several pages.
pub(super) fn pages(shown: &Shown<'_>) -> Markup {
    let [before, after] = shown.beside();
    let last = shown.first + shown.rows.len();
    html! {
        @if before.is_some() || after.is_some() {
            nav.pages aria-label="Pages of the board" {
                @if let Some(view) = before { a href=(view.address()) rel="prev" { "Previous page" } }
                span { "Rows " (grouped(shown.first + 1)) "–" (grouped(last)) " of " (grouped(shown.total)) }
                @if let Some(view) = after { a href=(view.address()) rel="next" { "Next page" } }
            }
        }
    }
}
