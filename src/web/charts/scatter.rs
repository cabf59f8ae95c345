//! Multiple choice against open-ended questions: does who is right also see what moves. Knows two columns.

use maud::{Markup, html};

use super::axis::Axis;
use super::intervals::extent;
use super::marks::{Origin, cut, figure_with_interval, full_name, key, mark};
use super::{Drawing, Numbers};
use crate::domain::column::{Column, Unit};
use crate::evaluation::board_rows::{Row, ScoreCell};
use crate::evaluation::standing::Leaderboard;
use crate::scoring::decimals::to_decimals;

const TOP_PX: u32 = 36;
const PLOT_PX: u32 = 300;

/// Entries drawn at most; those with the highest `MCQ` come first.
const MAX_POINTS: usize = 300;

/// Names beside marks at most.
const MAX_LABELS: usize = 8;

/// The narrowest width that names must not collide in, what a character takes of it at most, and a line's height.
const NARROW_PX: f64 = 320.0;
const CHAR_PX: f64 = 7.0;
const LINE_PX: f64 = 15.0;

/// What the figures of the upright axis take of it.
const FIGURE_PX: f64 = 24.0;

/// A row with its `MCQ` and its `OEMU`.
type Point<'a> = (&'a Row, &'a ScoreCell, &'a ScoreCell);

/// `MCQ` against `OEMU`, with the intervals of both.
pub(in super::super) fn scatter(board: &Leaderboard) -> Markup {
    let point = |row| Some((row, score(row, Column::Mcq)?, score(row, Column::Oemu)?));
    let mut points: Vec<Point<'_>> = board.rows.iter().filter_map(point).collect();
    if points.is_empty() {
        return html! {};
    }
    points.sort_by(|left, right| right.1.value.total_cmp(&left.1.value));
    let all = points.len();
    points.truncate(MAX_POINTS);
    let across = Axis::around(Unit::Percent, points.iter().flat_map(|(_, x, _)| extent(x)));
    let up = Axis::around(Unit::Points, points.iter().flat_map(|(.., y)| extent(y)));
    let mut finding = finding(&points);
    if all > MAX_POINTS {
        finding += &format!(" Drawn are the {MAX_POINTS} of {all} rows with the highest MCQ.");
    }
    let title = "MCQ against OEMU";
    let drawing = Drawing {
        id: "chart-scatter",
        title,
        description: &finding,
        height: TOP_PX + PLOT_PX + 40,
        wide: false,
        content: drawn(&across, &up, &points),
    };
    let key = key(points.iter().map(|(row, ..)| *row));
    super::figure("scatter", (title, &finding), &key, &drawing.markup(), &numbers(&points))
}

fn score(row: &Row, column: Column) -> Option<&ScoreCell> {
    row.scores.get(&column)
}

fn drawn(across: &Axis, up: &Axis, points: &[Point<'_>]) -> Markup {
    let foot = TOP_PX + PLOT_PX;
    let y = |value: f64| up.y(value, TOP_PX, PLOT_PX);
    html! {
        text.axis x="0" y="12" { "OEMU, " (up.words()) }
        (up.level_lines(TOP_PX, PLOT_PX))
        (across.upright_lines(TOP_PX, PLOT_PX))
        (across.figures_across(foot + 16))
        text.axis.last x="100%" y=(foot + 34) { "MCQ, " (across.words()) }
        @for (_, x, score) in points {
            @if let (Some([left, right]), Some([low, high])) = (x.ci95, score.ci95) {
                @let (x, level) = (across.x(x.value), y(score.value));
                line.cross x1=(across.x(left)) x2=(across.x(right)) y1=(level) y2=(level) {}
                line.cross x1=(x) x2=(x) y1=(y(low)) y2=(y(high)) {}
            }
        }
        @for (row, x, score) in points { (mark(row, &across.x(x.value), y(score.value))) }
        @for label in labels(across, up, points) {
            svg x=(label.x) y=(label.y) { text class={ "over " (label.side.class) } x=(label.side.dx) y=(label.side.dy) { (label.name) } }
        }
    }
}

/// Where a name stands beside its mark.
struct Side {
    class: &'static str,
    /// The share of the name's width that lies left of its anchor.
    before: f64,
    dx: i32,
    dy: i32,
}

const SIDES: [Side; 4] = [
    Side { class: "from", before: 0.0, dx: 9, dy: 4 },
    Side { class: "last", before: 1.0, dx: -9, dy: 4 },
    Side { class: "mid", before: 0.5, dx: 0, dy: -10 },
    Side { class: "mid", before: 0.5, dx: 0, dy: 19 },
];

/// A name beside a mark.
struct Label {
    name: String,
    x: String,
    y: f64,
    side: &'static Side,
}

/// Left, right, top and bottom of a box in pixels.
type Area = [f64; 4];

/// The names that have room even on a phone: first of the best in either column, then down by `MCQ`.
fn labels(across: &Axis, up: &Axis, points: &[Point<'_>]) -> Vec<Label> {
    let place =
        |(_, x, score): &Point<'_>| (across.share(x.value) * NARROW_PX, up.y(score.value, TOP_PX, PLOT_PX));
    let mark = |point| {
        let (x, y) = place(point);
        [x - 4.0, x + 4.0, y - 4.0, y + 4.0]
    };
    let figures = up.level_figures(TOP_PX, PLOT_PX).map(|y| [0.0, FIGURE_PX, y - LINE_PX, y]);
    let mut taken: Vec<Area> = points.iter().map(mark).chain(figures).collect();
    let mut labels: Vec<Label> = Vec::new();
    let is_scored = |point: &&Point<'_>| Origin::of(point.0) == Origin::Scored;
    let best_open =
        points.iter().filter(is_scored).max_by(|left, right| left.2.value.total_cmp(&right.2.value));
    let (entries, others): (Vec<_>, Vec<_>) = points.iter().partition(|point| is_scored(point));
    let mut wanted: Vec<&Point<'_>> = entries.into_iter().chain(others).collect();
    if let Some(best_open) = best_open {
        wanted.retain(|point| !std::ptr::eq(*point, best_open));
        wanted.insert(1.min(wanted.len()), best_open);
    }
    for point in wanted {
        let name = cut(&point.0.model_name, 20);
        let (x, y) = place(point);
        let area = |side: &Side| {
            let width = name.chars().count() as f64 * CHAR_PX;
            let (left, foot) = (x + f64::from(side.dx) - side.before * width, y + f64::from(side.dy));
            [left, left + width, foot - LINE_PX, foot + 3.0]
        };
        let is_free = |side: &&Side| {
            let own = area(side);
            own[0] >= 0.0 && own[1] <= NARROW_PX && !taken.iter().any(|other| meet(own, *other))
        };
        if let Some(side) = SIDES.iter().find(is_free) {
            taken.push(area(side));
            labels.push(Label { name, x: across.x(point.1.value), y, side });
        }
        if labels.len() == MAX_LABELS {
            break;
        }
    }
    labels
}

fn meet(one: Area, other: Area) -> bool {
    one[0] < other[1] && other[0] < one[1] && one[2] < other[3] && other[2] < one[3]
}

fn finding(points: &[Point<'_>]) -> String {
    let scored: Vec<&Point<'_>> =
        points.iter().filter(|point| Origin::of(point.0) == Origin::Scored).collect();
    let highest = |value: fn(&Point<'_>) -> f64| {
        scored.iter().max_by(|left, right| value(left).total_cmp(&value(right)))
    };
    let (Some(letters), Some(open)) = (highest(|point| point.1.value), highest(|point| point.2.value)) else {
        return "No entry has both scores yet.".to_owned();
    };
    let lead = if std::ptr::eq(letters.0, open.0) {
        format!("{} has the highest value in both.", letters.0.model_name)
    } else {
        format!("{} is highest in MCQ, {} in OEMU.", letters.0.model_name, open.0.model_name)
    };
    match agreement(&scored) {
        Some((same, pairs)) => {
            let share = to_decimals(100.0 * same as f64 / pairs as f64, 0);
            format!("{lead} Of {pairs} pairs of entries {same} ({share} %) stand in the same order in both.")
        }
        None => lead,
    }
}

/// Of how many pairs of entries both columns give an order, and in how many it is the same one.
fn agreement(points: &[&Point<'_>]) -> Option<(usize, usize)> {
    let (mut same, mut pairs) = (0, 0);
    for (place, left) in points.iter().enumerate() {
        for right in &points[place + 1..] {
            let (letters, open) = (left.1.value - right.1.value, left.2.value - right.2.value);
            pairs += usize::from(letters * open != 0.0);
            same += usize::from(letters * open > 0.0);
        }
    }
    (pairs > 0).then_some((same, pairs))
}

fn numbers(points: &[Point<'_>]) -> Numbers {
    let row = |(row, x, score): &Point<'_>| {
        vec![full_name(row), figure_with_interval(x), figure_with_interval(score)]
    };
    Numbers {
        head: ["Model", "MCQ", "OEMU"].map(str::to_owned).to_vec(),
        rows: points.iter().map(row).collect(),
    }
}
