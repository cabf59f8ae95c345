//! What changes from static to moving cameras, row by row: one panel for each dimension of captions. Computes no score.

use maud::{Markup, html};

use super::super::figures::signed;
use super::axis::Axis;
use super::marks::{MISSING, Origin, figure_with_interval, full_name, key, shape, short_name};
use super::{Drawing, MAX_ROWS, Numbers};
use crate::domain::column::{CaptionDimension, Unit};
use crate::domain::submission::Group;
use crate::evaluation::board_rows::{Row, ScoreCell};
use crate::evaluation::standing::Leaderboard;
use crate::scoring::changes::Change;

const ROW_PX: u32 = 33;
const MARK_Y: u32 = 21;
const HEAD_PX: u32 = 38;

/// A row with its two cells in one dimension.
type Pair<'a> = (&'a ScoreCell, &'a ScoreCell);

/// Static beside moving for BEH, AH and ECF, the rows in the board's order.
pub(in super::super) fn slopes(board: &Leaderboard) -> Markup {
    let has_pair = |row: &&Row| CaptionDimension::ALL.iter().any(|dimension| pair(row, *dimension).is_some());
    let all: Vec<&Row> = board.rows.iter().filter(has_pair).collect();
    if all.is_empty() {
        return html! {};
    }
    let shown = &all[..all.len().min(MAX_ROWS)];
    let values = shown.iter().flat_map(|row| {
        CaptionDimension::ALL
            .iter()
            .filter_map(|dimension| pair(row, *dimension))
            .flat_map(|(at_rest, moving)| [at_rest.value, moving.value])
    });
    // One axis for all three, so that panels compare.
    let axis = Axis::around(Unit::Points, values);
    let drawings = html! {
        div.panels { @for dimension in CaptionDimension::ALL { (panel(&axis, *dimension, shown)) } }
    };
    let findings: Vec<String> =
        CaptionDimension::ALL.iter().map(|dimension| finding(*dimension, &all)).collect();
    let mut finding = format!("When the camera moves: {}", findings.join(" "));
    if all.len() > MAX_ROWS {
        finding += &format!(" Drawn are the first {MAX_ROWS} of {} rows.", all.len());
    }
    let title = "From static to moving cameras";
    super::figure("slopes", (title, &finding), &legend(shown), &drawings, &numbers(shown))
}

fn legend(rows: &[&Row]) -> Markup {
    html! {
        ul.legend {
            li {
                svg width="46" height="14" aria-hidden="true" {
                    svg x="7" y="7" { (shape(Some(Group::OpenSmall), Origin::Scored, "rest plain")) }
                    line.change x1="13" x2="32" y1="7" y2="7" {}
                    svg x="37" y="7" { (shape(Some(Group::OpenSmall), Origin::Scored, "plain")) }
                }
                " from static (hollow) to moving (filled)"
            }
            li {
                svg width="26" height="14" aria-hidden="true" { line.change.unclear x1="1" x2="25" y1="7" y2="7" {} }
                " the change may be none"
            }
            @if rows.iter().any(|row| Origin::of(row) == Origin::Reported) {
                li {
                    svg width="26" height="14" aria-hidden="true" { line.change.faint x1="1" x2="25" y1="7" y2="7" {} }
                    " reported in the paper, without intervals"
                }
            }
        }
        (key(rows.iter().copied().filter(|row| Origin::of(row) == Origin::Scored)))
    }
}

fn pair(row: &Row, dimension: CaptionDimension) -> Option<Pair<'_>> {
    let [at_rest, moving] = dimension.columns().map(|column| row.scores.get(&column));
    Some((at_rest?, moving?))
}

fn change((at_rest, moving): Pair<'_>) -> Change {
    Change::between((at_rest.value, at_rest.ci95), (moving.value, moving.ci95))
}

fn panel(axis: &Axis, dimension: CaptionDimension, rows: &[&Row]) -> Markup {
    let title = format!("{dimension}, static and moving");
    let description = finding(dimension, rows);
    let content = html! {
        text.axis x="0" y="12" { tspan.figure { (dimension) } ", " (axis.words()) }
        (axis.figures_across(30))
        (axis.upright_lines(HEAD_PX, ROW_PX * rows.len() as u32))
        @for (place, row) in rows.iter().enumerate() {
            svg.row y=(HEAD_PX + ROW_PX * place as u32) height=(ROW_PX) {
                text.name y="12" { (short_name(row)) }
                @match pair(row, dimension) {
                    Some(pair) => {
                        text.value x="100%" y="12" { tspan.figure { (signed(change(pair).value, 2)) } }
                        (dumbbell(axis, row, pair))
                    }
                    None => text.value x="100%" y="12" { (MISSING) },
                }
            }
        }
    };
    let id = format!("chart-slopes-{}", dimension.as_str().to_lowercase());
    let height = HEAD_PX + ROW_PX * rows.len() as u32 + 4;
    Drawing { id: &id, title: &title, description: &description, height, wide: false, content }.markup()
}

fn dumbbell(axis: &Axis, row: &Row, (at_rest, moving): Pair<'_>) -> Markup {
    let unclear = change((at_rest, moving)).is_clear() == Some(false);
    let origin = Origin::of(row);
    let faint = if origin == Origin::Scored { "" } else { "faint" };
    let [from, to] = [at_rest, moving].map(|cell| axis.x(cell.value));
    html! {
        line.change.unclear[unclear].faint[!faint.is_empty()] x1=(from) x2=(to) y1=(MARK_Y) y2=(MARK_Y) {}
        svg x=(from) y=(MARK_Y) { (shape(row.group, Origin::Scored, &format!("rest {faint}"))) }
        svg x=(to) y=(MARK_Y) { (shape(row.group, Origin::Scored, faint)) }
    }
}

/// How many entries score clearly less, or more, when the camera moves.
fn finding(dimension: CaptionDimension, rows: &[&Row]) -> String {
    let scored = rows.iter().filter(|row| Origin::of(row) == Origin::Scored);
    let changes: Vec<Change> = scored.filter_map(|row| pair(row, dimension)).map(change).collect();
    let clear = |is_wanted: fn(&Change) -> bool| {
        changes.iter().filter(|change| change.is_clear() == Some(true) && is_wanted(change)).count()
    };
    let (lower, higher) = (clear(|change| change.value < 0.0), clear(|change| change.value > 0.0));
    match (changes.len(), lower, higher) {
        (0, ..) => format!("{dimension}: no entry is scored yet."),
        (1, 0, 0) => format!("{dimension}: the change of the only entry may be none."),
        (all, 0, 0) => format!("{dimension} changes clearly for none of {all} entries."),
        (all, lower, 0) => format!("{dimension} falls clearly for {lower} of {all} entries."),
        (all, 0, higher) => format!("{dimension} rises clearly for {higher} of {all} entries."),
        (all, lower, higher) => {
            format!("{dimension} falls clearly for {lower} of {all} entries and rises clearly for {higher}.")
        }
    }
}

fn numbers(rows: &[&Row]) -> Numbers {
    let mut head = vec!["Model".to_owned()];
    for dimension in CaptionDimension::ALL {
        head.extend(["static", "moving", "change"].map(|word| format!("{dimension} {word}")));
    }
    let cells = |row: &Row, dimension: CaptionDimension| match pair(row, dimension) {
        Some((at_rest, moving)) => {
            let change = change((at_rest, moving));
            let range = change.ci95.map(|ends| ends.map(|end| signed(end, 2)).join(" to "));
            let range = range.map(|range| format!(" ({range})")).unwrap_or_default();
            let change = format!("{}{range}", signed(change.value, 2));
            [figure_with_interval(at_rest), figure_with_interval(moving), change]
        }
        None => [MISSING; 3].map(str::to_owned),
    };
    let row = |row: &&Row| {
        let cells = CaptionDimension::ALL.iter().flat_map(|dimension| cells(row, *dimension));
        std::iter::once(full_name(row)).chain(cells).collect()
    };
    Numbers { head, rows: rows.iter().map(row).collect() }
}
