//! `/compare` as a page: the form, and of each pair a verdict in words, a plot and a table. Decides nothing.

use maud::{Markup, html};

use super::compare::MOST_CHOICES;
use super::compare_chart::Panel;
use super::compare_words::{LETTERS, interval, name, p_in_words, shown_places, tally, verdict};
use super::figures::{grouped, signed};
use super::frame::{self, Page, Viewer};
use crate::domain::column::Unit;
use crate::domain::question::Split;
use crate::evaluation::comparing::{ComparedColumn, Comparison, Pair};
use crate::scoring::decimals::to_decimals;

/// An entry that may be chosen.
pub(super) struct Choice {
    pub(super) id: String,
    pub(super) label: String,
}

/// What is chosen, and from what.
pub(super) struct Chosen {
    pub(super) ids: Vec<String>,
    pub(super) split: Split,
    pub(super) judge: Option<String>,
    pub(super) choices: Vec<Choice>,
    /// Entries of the board that are not among the choices.
    pub(super) left_out: usize,
}

/// The page; `fault` says why there is no comparison.
pub(super) fn page(chosen: &Chosen, comparison: Option<&Comparison>, fault: Option<&str>) -> Markup {
    let compared = comparison.filter(|comparison| !comparison.pairs.is_empty());
    let content = html! {
        h1 { "Compare entries" }
        @match compared {
            Some(comparison) => (compared_entries(comparison)),
            None => p { "Two to five entries on the same questions: how far apart they are, and whether that is more than chance." }
        }
        @if let Some(fault) = fault {
            section.summary role="alert" { h2 { "These cannot be compared" } p { (fault) } }
        } @else if comparison.is_some() && compared.is_none() {
            p.notice role="note" { "Choose a second entry to compare the first one with." }
        }
        (form(chosen, compared.is_some()))
        @if compared.is_some() { (notes()) }
    };
    let title = match compared {
        _ if fault.is_some() => "Error: Compare entries".to_owned(),
        Some(Comparison { entries, .. }) => {
            entries.iter().map(|entry| entry.model_name.as_str()).collect::<Vec<_>>().join(" and ")
                + " compared"
        }
        None => "Compare entries".to_owned(),
    };
    frame::document(
        &Page { title: &title, address: "/compare", viewer: Viewer::Anybody, script: None },
        &content,
    )
}

fn compared_entries(comparison: &Comparison) -> Markup {
    let Comparison { entries, pairs, judge, .. } = comparison;
    html! {
        @for place in 0..pairs.len() { p.verdict { (verdict(comparison, place)) } }
        p.hint { "Who is ahead is said by MCQ, the mean of the seven multiple-choice columns, in percentage points." }
        p.facts {
            "Split " strong { (comparison.split) } " · release " strong { (comparison.release) } " · "
            (grouped(comparison.questions as i64)) " questions, " (grouped(comparison.videos as i64)) " videos · judge "
            strong { (judge.model) } " " code { (judge.configuration) }
            @if let Some(retired_at) = &judge.retired_at { ", retired " time datetime=(retired_at) { (retired_at) } }
        }
        (warnings(comparison))
        ul.entries {
            @for (letter, entry) in LETTERS.iter().zip(entries) {
                li {
                    strong { (letter) } " "
                    a href={ "/entries/" (entry.entry) } { (entry.model_name) } " "
                    small.wrap { @match &entry.team { Some(team) => (team), None => "anonymous" } ", " (entry.group) }
                }
            }
        }
        (links(comparison))
        @for (place, pair) in pairs.iter().enumerate() { (beside(comparison, place, pair)) }
    }
}

fn warnings(comparison: &Comparison) -> Markup {
    let Comparison { entries, pairs, .. } = comparison;
    html! {
        @if comparison.judge.is_offline() {
            p.notice role="note" {
                strong { "Offline judge. " }
                "Open-ended columns are scored by word overlap with the annotators' evidence, not by a language model."
            }
        }
        @for (letter, _) in LETTERS.iter().zip(entries).filter(|(_, entry)| entry.team.is_none()) {
            p.notice role="note" { "Entry " (letter) " is anonymous: its team is not named, and cannot be asked how it was run." }
        }
        @for (letter, _) in LETTERS[1..].iter().zip(pairs).filter(|(_, pair)| pair.are_alike) {
            p.notice role="note" {
                "A and " (letter) " are near-duplicates: they differ in few letters. "
                @if comparison.is_rounded { "No interval and no p is told of them, since on this split the key would show." }
            }
        }
    }
}

fn links(comparison: &Comparison) -> Markup {
    let ids: Vec<&str> = comparison.entries.iter().map(|entry| entry.entry.as_str()).collect();
    let judge = &comparison.judge.configuration;
    let first = |place: usize| {
        let mut order = ids.clone();
        let entry = order.remove(place);
        order.insert(0, entry);
        order
    };
    html! {
        p.links {
            @if let [a, b] = ids[..] {
                a href=(address(&[b, a], None)) { "Swap A and B" } " · "
                a href=(format!("/api/v1/compare?a={a}&b={b}")) { "JSON" } " · "
            } @else {
                @for (place, letter) in LETTERS.iter().enumerate().take(ids.len()).skip(1) {
                    a href=(address(&first(place), None)) { "Compare with " (letter) " instead of A" } " · "
                }
            }
            a href=(address(&ids, Some(judge))) { "Link to this comparison under this judge" }
        }
        p.printed { "Printed from " (address(&ids, Some(judge))) }
    }
}

fn address(ids: &[&str], judge: Option<&str>) -> String {
    let entries = ids.iter().map(|id| format!("entry={id}")).collect::<Vec<_>>().join("&");
    format!("/compare?{entries}{}", judge.map(|judge| format!("&judge={judge}")).unwrap_or_default())
}

/// The first entry beside the one at a place after it.
fn beside(comparison: &Comparison, place: usize, pair: &Pair) -> Markup {
    let entries = &comparison.entries;
    let (a, b) = (LETTERS[0], LETTERS[place + 1]);
    let heading = format!("pair-{b}");
    let of = |unit: Unit| pair.columns.iter().filter(|column| column.unit == unit).collect::<Vec<_>>();
    let panels = [
        (Unit::Percent, "Multiple choice, in percent", format!("{heading}-percent")),
        (Unit::Points, "Open-ended answers, in points from 0 to 5", format!("{heading}-points")),
    ];
    html! {
        section aria-labelledby=(heading) {
            h2 id=(heading) { (name(0, entries)) " and " (name(place + 1, entries)) }
            p { (tally(comparison, place)) }
            div.panels {
                @for (unit, title, id) in panels.iter().filter(|(unit, ..)| !of(*unit).is_empty()) {
                    figure {
                        figcaption { (title) }
                        (Panel { id, title, names: [a, b], columns: of(*unit), places: shown_places(comparison, *unit) }.draw())
                    }
                }
            }
            p.hint {
                "The dot is the difference " (a) " minus " (b) ", the bar its 95 % interval; filled: clear, hollow: not clear. Higher is better in every column."
            }
            (table(comparison, pair, [a, b]))
        }
    }
}

fn table(comparison: &Comparison, pair: &Pair, [a, b]: [char; 2]) -> Markup {
    let id = format!("table-{b}");
    let rows = |unit: Unit| pair.columns.iter().filter(move |column| column.unit == unit);
    let groups =
        [(Unit::Percent, "Multiple choice: percent right"), (Unit::Points, "Open-ended: points from 0 to 5")];
    html! {
        p.sideways.narrow { "Scroll the table sideways for both values, p and the number of questions." }
        div.scroll tabindex="0" role="region" aria-labelledby=(id) {
            table.compared {
                caption id=(id) { (a) " and " (b) " by column" }
                thead { tr {
                    th.model scope="col" { "Column" }
                    th.number scope="col" { (a) " − " (b) br; small { "95 % interval" } }
                    th scope="col" { "Verdict" }
                    th.number scope="col" { (a) }
                    th.number scope="col" { (b) }
                    th.number scope="col" { "p" }
                    th.number scope="col" { "Questions" }
                } }
                @for (unit, title) in groups {
                    @if rows(unit).next().is_some() {
                        tbody {
                            tr.group { th colspan="7" scope="rowgroup" { (title) } }
                            @for column in rows(unit) { (row(comparison, column, [a, b])) }
                        }
                    }
                }
            }
        }
    }
}

fn row(comparison: &Comparison, column: &ComparedColumn, [a, b]: [char; 2]) -> Markup {
    let (value, places) = (column.unit.places(), shown_places(comparison, column.unit));
    html! {
        tr {
            th.model scope="row" { (column.id) small.wrap.full { (column.id.label()) } }
            td.number {
                (signed(column.difference, places)) br;
                small { @match column.ci95 { Some(bounds) => (interval(bounds, places)), None => "not told" } }
            }
            td.verdict-of {
                @match (column.is_clear, column.difference > 0.0) {
                    (true, true) => { span aria-hidden="true" { "● " } strong { (a) " better" } }
                    (true, false) => { span aria-hidden="true" { "● " } strong { (b) " better" } }
                    (false, _) => { span aria-hidden="true" { "○ " } "not clear" }
                }
            }
            td.number { (to_decimals(column.a, value)) }
            td.number { (to_decimals(column.b, value)) }
            td.number { (p_in_words(column.p, comparison.is_rounded)) }
            td.number { (grouped(column.n)) }
        }
    }
}

fn form(chosen: &Chosen, is_again: bool) -> Markup {
    // Nothing chosen yet: the first two of the board.
    let offered: Vec<&str> = chosen.choices.iter().map(|choice| choice.id.as_str()).take(2).collect();
    let picked = |place: usize| match chosen.ids.get(place) {
        Some(id) => Some(id.as_str()),
        None if chosen.ids.is_empty() => offered.get(place).copied(),
        None => None,
    };
    html! {
        section aria-labelledby="choose" {
            h2 #choose { @if is_again { "Compare others" } @else { "Choose entries" } }
            @if chosen.choices.len() < 2 && chosen.ids.is_empty() {
                p.empty { "There are fewer than two published entries of split " (chosen.split) ", so there is nothing to compare yet." }
            } @else {
                form.choose method="get" action="/compare" {
                    @for (place, letter) in LETTERS.iter().enumerate() {
                        div.field {
                            label for={ "entry-" (letter) } { (letter) @match place {
                                0 => ", which the others are compared with", 1 => "", _ => ", if wanted"
                            } }
                            select id={ "entry-" (letter) } name="entry" {
                                option value="" { @if place < 2 { "Choose an entry" } @else { "None" } }
                                @for choice in &chosen.choices {
                                    option value=(choice.id) selected[picked(place) == Some(choice.id.as_str())] { (choice.label) }
                                }
                            }
                        }
                    }
                    @if let Some(judge) = &chosen.judge { input type="hidden" name="judge" value=(judge); }
                    p.actions { button type="submit" { "Compare" } }
                }
                @if chosen.left_out > 0 {
                    p.hint {
                        "The lists hold the first " (MOST_CHOICES) " entries of the board; " (grouped(chosen.left_out as i64))
                        " more can be compared by their ids in the address: " code { "/compare?entry=ID&entry=ID" } "."
                    }
                }
            }
            @let other = if chosen.split == Split::Test { Split::Val } else { Split::Test };
            p { a href={ "/compare?split=" (other) } { "Choose among the entries of split " (other) } }
        }
    }
}

fn notes() -> Markup {
    html! {
        section.notes aria-labelledby="notes" {
            h2 #notes { "How to read this" }
            ul {
                li { "95 % interval: differences that fit what was seen, allowing for which videos happened to be chosen." }
                li {
                    "p: how often chance alone would show so large a difference. Percent columns: McNemar's test (mid-p) on the \
                     questions that only one of the two has right; MCQ and points: a paired t test over videos."
                }
                li {
                    "Clear: p below 0.05. MCQ, which the board is sorted by, is one question of its own; the single columns of a \
                     pair are asked together and corrected for that (Holm), so that a p below 0.05 may still be not clear."
                }
                li { "Intervals that leave out zero and marks may differ, since intervals are of one column alone." }
                li { "On a split without feedback differences and intervals have one decimal and p two, so that no single answer shows." }
            }
        }
    }
}
