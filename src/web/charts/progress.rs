//! The best score over time: each entry that was the best of its day, as a staircase. Knows no clock.

use maud::{Markup, html};

use super::axis::{Axis, percent};
use super::marks::{Origin, cut, figure, figure_with_interval, full_name, key, mark};
use super::{Drawing, MAX_ROWS, Numbers};
use crate::domain::column::Column;
use crate::domain::instant;
use crate::evaluation::board_rows::{Row, ScoreCell};
use crate::evaluation::standing::Leaderboard;

const TOP_PX: u32 = 40;
const PLOT_PX: u32 = 220;

/// The part of the width that the axis' figures take on a phone.
const FIGURES: f64 = 0.08;

/// The narrowest width that names must not collide in, and what a character takes of it.
const NARROW_PX: f64 = 320.0;
const CHAR_PX: f64 = 7.0;

/// Entries of which those are drawn too that never were the best.
const MAX_POINTS: usize = 300;

/// An entry, its cell and when it was published.
type Point<'a> = (&'a Row, &'a ScoreCell, i64);

/// The highest value up to each day, by when entries were published.
pub(in super::super) fn best_over_time(board: &Leaderboard, column: Column) -> Markup {
    let point = |row| published(row, column);
    let mut points: Vec<Point<'_>> = board.rows.iter().filter_map(point).collect();
    points.sort_by_key(|(_, _, at_ms)| *at_ms);
    let records = records(&points);
    let (Some(first), Some(last)) = (points.first(), points.last()) else { return html! {} };
    let span = Span { from_ms: first.2, to_ms: last.2 };
    let axis = Axis::around(column.unit(), points.iter().map(|(_, cell, _)| cell.value));
    let title = format!("The best {column} over time");
    let finding = finding(&records, points.len());
    let drawing = Drawing {
        id: "chart-progress",
        title: &title,
        description: &finding,
        height: TOP_PX + PLOT_PX + 24,
        wide: false,
        content: drawn(&axis, column, &span, &points, &records),
    };
    let key = key(points.iter().map(|(row, ..)| *row));
    super::figure("progress", (&title, &finding), &key, &drawing.markup(), &numbers(column, &records))
}

fn published(row: &Row, column: Column) -> Option<Point<'_>> {
    let cell = row.scores.get(&column).filter(|_| Origin::of(row) == Origin::Scored)?;
    Some((row, cell, row.published_at_ms?))
}

/// The entries that were higher than all before them.
fn records<'a>(points: &[Point<'a>]) -> Vec<Point<'a>> {
    let mut records: Vec<Point<'a>> = Vec::new();
    for point in points {
        if records.last().is_none_or(|(_, best, _)| point.1.value > best.value) {
            records.push(*point);
        }
    }
    records
}

/// The time that the chart shows.
struct Span {
    from_ms: i64,
    to_ms: i64,
}

impl Span {
    /// How far across the plot an instant lies, from the place that the axis' figures leave free to 1.
    fn share(&self, at_ms: i64) -> f64 {
        if self.to_ms == self.from_ms {
            return FIGURES;
        }
        let share = (at_ms - self.from_ms) as f64 / (self.to_ms - self.from_ms) as f64;
        share.mul_add(1.0 - FIGURES, FIGURES)
    }

    fn x(&self, at_ms: i64) -> String {
        percent(self.share(at_ms))
    }
}

fn drawn(axis: &Axis, column: Column, span: &Span, points: &[Point<'_>], records: &[Point<'_>]) -> Markup {
    let foot = TOP_PX + PLOT_PX;
    let y = |cell: &ScoreCell| axis.y(cell.value, TOP_PX, PLOT_PX);
    html! {
        text.axis x="0" y="12" { (column) ", " (axis.words()) }
        (axis.level_lines(TOP_PX, PLOT_PX))
        text.tick.first x="0" y=(foot + 18) { (instant::day(span.from_ms)) }
        @if span.to_ms > span.from_ms { text.tick.last x="100%" y=(foot + 18) { (instant::day(span.to_ms)) } }
        @for (place, (_, cell, at_ms)) in records.iter().enumerate() {
            @let (x, level) = (span.x(*at_ms), y(cell));
            @if let Some((_, before, _)) = place.checked_sub(1).and_then(|before| records.get(before)) {
                line.step x1=(x) x2=(x) y1=(y(before)) y2=(level) {}
            }
            @let end = records.get(place + 1).map_or_else(|| "98%".to_owned(), |(.., at_ms)| span.x(*at_ms));
            line.step x1=(x) x2=(end) y1=(level) y2=(level) {}
        }
        @for (row, cell, at_ms) in points.iter().filter(|_| points.len() <= MAX_POINTS) {
            @let is_record = records.iter().any(|(record, ..)| std::ptr::eq(*record, *row));
            @if !is_record { g.dim { (mark(row, &span.x(*at_ms), y(cell))) } }
        }
        @for (row, cell, at_ms) in records { (mark(row, &span.x(*at_ms), y(cell))) }
        @for label in labels(axis, span, records) { (label) }
    }
}

/// The names of the records that have room even on a phone, the newest first.
fn labels(axis: &Axis, span: &Span, records: &[Point<'_>]) -> Vec<Markup> {
    let mut labels = Vec::new();
    let mut taken: Vec<[f64; 4]> = Vec::new();
    for (row, cell, at_ms) in records.iter().rev() {
        let name = format!("{} {}", cut(&row.model_name, 20), figure(cell));
        let width = name.chars().count() as f64 * CHAR_PX;
        let (x, y) = (span.share(*at_ms) * NARROW_PX, axis.y(cell.value, TOP_PX, PLOT_PX));
        // Nothing of the staircase lies above a step before it, nor below a step after it.
        let leftward = x > width;
        let (from, to) = if leftward { (x - width, x) } else { (x, x + width) };
        let below = !leftward && y + 20.0 < f64::from(TOP_PX + PLOT_PX);
        let foot = if below { y + 17.0 } else { y - 9.0 };
        let meets =
            |other: &[f64; 4]| from < other[1] && other[0] < to && foot - 14.0 < other[3] && other[2] < foot;
        if to > NARROW_PX || taken.iter().any(meets) {
            continue;
        }
        taken.push([from, to, foot - 14.0, foot]);
        let dx = if leftward { 4 } else { 7 };
        labels.push(html! {
            svg x=(span.x(*at_ms)) y=(foot) { text.over.last[leftward] x=(dx) { (name) } }
        });
    }
    labels
}

fn finding(records: &[Point<'_>], entries: usize) -> String {
    let (Some((first, low, from_ms)), Some((best, high, at_ms))) = (records.first(), records.last()) else {
        return String::new();
    };
    if entries == 1 {
        return format!("{} is the only entry, with {}.", first.model_name, figure(low));
    }
    if records.len() == 1 {
        let day = instant::day(*from_ms);
        return format!(
            "{} came first, on {day}, and none of {entries} entries is higher than its {}.",
            first.model_name,
            figure(low)
        );
    }
    format!(
        "From {} on {} to {} on {}, by {}; {} of {entries} entries were the highest of their day.",
        figure(low),
        instant::day(*from_ms),
        figure(high),
        instant::day(*at_ms),
        best.model_name,
        records.len()
    )
}

fn numbers(column: Column, records: &[Point<'_>]) -> Numbers {
    let row = |(row, cell, at_ms): &Point<'_>| {
        vec![full_name(row), instant::day(*at_ms), figure_with_interval(cell)]
    };
    Numbers {
        head: vec!["Highest from then on".to_owned(), "Published".to_owned(), column.to_string()],
        rows: records.iter().rev().take(MAX_ROWS).map(row).collect(),
    }
}
