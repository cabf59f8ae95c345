//! The averages of a group: of its entries, and of the paper's rows as it prints them. Knows nothing of single rows.

use maud::{Markup, html};

use super::cells::{MISSING, printed_average};
use super::header::group_label;
use super::shown::Shown;
use super::table::{Field, Sheet};
use crate::domain::paper::paper_tables;
use crate::domain::submission::Group;
use crate::scoring::decimals::to_decimals;
use crate::web::figures::signed;

/// The rows of averages that a group has.
pub(super) fn average_rows(shown: &Shown<'_>, sheet: &Sheet, group: Group) -> Markup {
    let of_group = || shown.board.rows.iter().filter(|row| row.group == Some(group));
    let entries = of_group().filter(|row| row.entry.is_some()).count();
    let reported = of_group().filter(|row| row.reported).count();
    html! {
        @if entries > 0 { (entries_average(shown, sheet, group, entries)) }
        @if reported > 0 { (paper_average(shown, sheet, group, reported)) }
    }
}

fn row(
    shown: &Shown<'_>,
    sheet: &Sheet,
    (group, title): (Group, &str),
    content: impl Fn(Field) -> Markup,
) -> Markup {
    html! {
        tr.average {
            th.model scope="row" {
                (title)
                @if !shown.is_by_group() { small { (group_label(group)) } }
            }
            td.rank { span.hidden { "no rank" } }
            (sheet.cells(content))
        }
    }
}

fn entries_average(shown: &Shown<'_>, sheet: &Sheet, group: Group, entries: usize) -> Markup {
    let averages = shown.board.groups.iter().find(|averages| averages.group == group);
    let title =
        if entries == 1 { "Average of 1 entry".to_owned() } else { format!("Average of {entries} entries") };
    let text = |field: Field| match field {
        Field::Score(column) => Some(to_decimals(*averages?.averages.get(&column)?, column.unit().places())),
        Field::Change(dimension) => Some(signed(*averages?.change.get(&dimension)?, 2)),
    };
    row(shown, sheet, (group, &title), |field| html! { (text(field).as_deref().unwrap_or(MISSING)) })
}

fn paper_average(shown: &Shown<'_>, sheet: &Sheet, group: Group, reported: usize) -> Markup {
    let averages = shown.board.groups.iter().find(|averages| averages.group == group);
    let paper = paper_tables().iter().find(|paper| paper.group == group);
    let title = format!("Average of {reported} reported, as printed");
    row(shown, sheet, (group, &title), |field| match field {
        Field::Score(column) => {
            let printed = paper.and_then(|paper| paper.averages.get(&column));
            let of_rows = averages.and_then(|averages| averages.reported_averages.get(&column));
            printed_average(printed.map(String::as_str), of_rows.copied())
        }
        Field::Change(dimension) => {
            let printed = paper.and_then(|paper| paper.change.get(&dimension));
            html! { (printed.map_or_else(|| MISSING.to_owned(), |printed| printed.replace('-', "−"))) }
        }
    })
}
