//! One entry beside the field: a strip for each column. Knows one entry.

use std::collections::BTreeSet;

use maud::{Markup, html};

use super::axis::{Axis, percent};
use super::marks::{MISSING, Origin, figure, figure_with_interval, mark, whisker};
use super::{Drawing, Numbers};
use crate::domain::column::{Column, Unit};
use crate::evaluation::board_rows::{Row, ScoreCell};
use crate::evaluation::standing::Leaderboard;

const ROW_PX: u32 = 33;
const MARK_Y: u32 = 21;
const HEAD_PX: u32 = 38;

/// How far a tick of the field reaches above and below the middle.
const TICK_PX: u32 = 6;

/// Entries of which each has its own tick.
const MAX_EXACT: usize = 200;

/// A column in which the entry has a value, with the values of the whole field, the entry's among them.
struct Strip<'a> {
    column: Column,
    own: &'a ScoreCell,
    field: Vec<f64>,
}

impl Strip<'_> {
    /// The entry's place by value, 1 the highest.
    fn place(&self) -> usize {
        1 + self.field.iter().filter(|value| value.total_cmp(&self.own.value).is_gt()).count()
    }

    /// Where the field's ticks lie: of many entries no two closer than an eye can tell.
    fn ticks(&self, axis: &Axis) -> BTreeSet<String> {
        let near = |value: &f64| match self.field.len() {
            0..=MAX_EXACT => axis.x(*value),
            _ => percent((axis.share(*value) * 200.0).round() / 200.0),
        };
        self.field.iter().map(near).collect()
    }

    /// How much of the field lies above the entry, from 0 to 1.
    fn depth(&self) -> f64 {
        (self.place() - 1) as f64 / self.field.len() as f64
    }
}

/// The entry's value in each column among those of all entries; nothing if it is not on the board.
pub(in super::super) fn profile(board: &Leaderboard, entry_id: &str) -> Markup {
    let Some(own) = board.rows.iter().find(|row| row.entry.as_deref() == Some(entry_id)) else {
        return html! {};
    };
    let columns = Column::ALL.iter().filter(|column| **column != Column::Mcq);
    let columns = std::iter::once(&Column::Mcq).chain(columns);
    let strips: Vec<Strip<'_>> = columns.filter_map(|column| strip(board, own, *column)).collect();
    if strips.is_empty() {
        return html! {};
    }
    let title = format!("{} beside the field", own.model_name);
    let finding = finding(&strips);
    let panel = |unit: Unit| {
        let of_unit: Vec<&Strip<'_>> = strips.iter().filter(|strip| strip.column.unit() == unit).collect();
        panel(unit, own, &of_unit, &finding)
    };
    let drawings = html! { div.panels.two { (panel(Unit::Percent)) (panel(Unit::Points)) } };
    super::figure("profile", (&title, &finding), &key(own), &drawings, &numbers(&strips))
}

fn strip<'a>(board: &Leaderboard, own: &'a Row, column: Column) -> Option<Strip<'a>> {
    let scored = board.rows.iter().filter(|row| Origin::of(row) == Origin::Scored);
    let field = scored.filter_map(|row| Some(row.scores.get(&column)?.value)).collect();
    Some(Strip { column, own: own.scores.get(&column)?, field })
}

fn key(own: &Row) -> Markup {
    html! {
        ul.legend {
            li { svg width="14" height="14" aria-hidden="true" { (mark(own, "7", 7)) } " this entry, with its 95 % interval" }
            li {
                svg width="14" height="14" aria-hidden="true" { line.field x1="7" x2="7" y1="1" y2="13" {} }
                " an entry of the board"
            }
        }
    }
}

fn panel(unit: Unit, own: &Row, strips: &[&Strip<'_>], description: &str) -> Markup {
    if strips.is_empty() {
        return html! {};
    }
    let axis = Axis::whole(unit);
    let content = html! {
        text.axis x="0" y="12" { (axis.words()) }
        (axis.figures_across(30))
        (axis.upright_lines(HEAD_PX, ROW_PX * strips.len() as u32))
        @for (place, strip) in strips.iter().enumerate() {
            svg.row y=(HEAD_PX + ROW_PX * place as u32) height=(ROW_PX) {
                text.name y="12" { (strip.column) }
                text.value x="100%" y="12" { tspan.figure { (figure(strip.own)) } }
                @for x in strip.ticks(&axis) {
                    line.field x1=(x) x2=(x) y1=(MARK_Y - TICK_PX) y2=(MARK_Y + TICK_PX) {}
                }
                (whisker(&axis, strip.own, MARK_Y))
                (mark(own, &axis.x(strip.own.value), MARK_Y))
            }
        }
    };
    let id = format!("chart-profile-{unit}");
    let title = match unit {
        Unit::Percent => "Multiple choice, percent right",
        Unit::Points => "Open-ended, points of 5",
    };
    let height = HEAD_PX + ROW_PX * strips.len() as u32 + 4;
    Drawing { id: &id, title, description, height, wide: false, content }.markup()
}

fn finding(strips: &[Strip<'_>]) -> String {
    let entries = strips.iter().map(|strip| strip.field.len()).max().unwrap_or_default();
    if entries < 2 {
        return "There is no other entry to compare with yet.".to_owned();
    }
    // The first of equals, in the order of the columns.
    let least = |deepest: bool| {
        let depth = |strip: &&Strip<'_>| if deepest { -strip.depth() } else { strip.depth() };
        strips.iter().min_by(|left, right| depth(left).total_cmp(&depth(right)))
    };
    let (Some(best), Some(worst)) = (least(false), least(true)) else { return String::new() };
    let place =
        |strip: &Strip<'_>| format!("{} (place {} of {})", strip.column, strip.place(), strip.field.len());
    if best.place() == worst.place() {
        return format!("Place {} of {entries} by value in every column.", best.place());
    }
    format!("By value it stands best in {} and lowest in {}.", place(best), place(worst))
}

fn numbers(strips: &[Strip<'_>]) -> Numbers {
    let ends = |strip: &Strip<'_>| {
        let bound = |end: fn(f64, f64) -> f64| strip.field.iter().copied().reduce(end);
        let text = |value: Option<f64>| {
            value.map_or_else(|| MISSING.to_owned(), |value| figure(&ScoreCell { value, ..*strip.own }))
        };
        [text(bound(f64::min)), text(bound(f64::max))]
    };
    let row = |strip: &Strip<'_>| {
        let [lowest, highest] = ends(strip);
        let place = format!("{} of {}", strip.place(), strip.field.len());
        vec![strip.column.to_string(), figure_with_interval(strip.own), lowest, highest, place]
    };
    Numbers {
        head: ["Column", "This entry", "Lowest", "Highest", "Place by value"].map(str::to_owned).to_vec(),
        rows: strips.iter().map(row).collect(),
    }
}
