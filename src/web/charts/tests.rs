//! Charts of made-up boards: what is drawn, what the table says, and what happens at the edges.

use std::collections::BTreeMap;

use super::*;
use crate::domain::column::{Column, Unit};
use crate::domain::question::Split;
use crate::domain::submission::Group;
use crate::evaluation::board_query::BoardQuery;
use crate::evaluation::board_rows::{Row, ScoreCell};
use crate::evaluation::marks::Marks;
use crate::evaluation::standing::{BoardFacts, Leaderboard};
use crate::scoring::standings::Standing;

const DAY_MS: i64 = 86_400_000;

fn row(name: &str) -> Row {
    Row { group: Some(Group::OpenSmall), ..Row::named(name.to_owned()) }
}

fn cell(column: Column, value: f64, half: f64) -> ScoreCell {
    ScoreCell { value, unit: column.unit(), ci95: Some([value - half, value + half]), n: Some(245) }
}

/// An entry with every column, its percentages and its points around these, published on this day.
fn entry(name: &str, percent: f64, points: f64, day: i64) -> Row {
    let cell = |column: &Column| match column.unit() {
        Unit::Percent => (*column, cell(*column, percent, 2.0)),
        Unit::Points => (*column, cell(*column, points, 0.2)),
    };
    Row {
        entry: Some(name.to_owned()),
        team: Some("ocean-lab".to_owned()),
        scores: Column::ALL.iter().map(cell).collect(),
        published_at_ms: Some(day * DAY_MS),
        ..row(name)
    }
}

fn reported(name: &str, percent: f64) -> Row {
    let printed = ScoreCell { value: percent, unit: Unit::Percent, ci95: None, n: None };
    Row { reported: true, scores: BTreeMap::from([(Column::Mcq, printed)]), ..row(name) }
}

fn blind(name: &str, percent: f64) -> Row {
    let scores = BTreeMap::from([(Column::Mcq, cell(Column::Mcq, percent, 2.0))]);
    Row { blind: true, group: None, scores, ..row(name) }
}

fn board(rows: Vec<Row>) -> Leaderboard {
    Leaderboard {
        split: Split::Test,
        release: Some("2026-06".to_owned()),
        release_sha256: None,
        correction: None,
        superseded_by: None,
        judge: None,
        as_of: None,
        sort: "-MCQ".to_owned(),
        columns: Vec::new(),
        marks: Marks::of(&rows),
        rows,
        groups: Vec::new(),
        query: BoardQuery::of(Split::Test),
        facts: BoardFacts::default(),
    }
}

fn compared(mut entry: Row, ties_best: bool) -> Row {
    let standing = Standing { range: [1, 2], tier: 1, ties_best };
    entry.standings = Column::ALL.iter().map(|column| (*column, standing)).collect();
    entry
}

fn all(board: &Leaderboard) -> [String; 5] {
    [
        intervals(board, Column::Mcq),
        slopes(board),
        profile(board, "Reef"),
        scatter(board),
        best_over_time(board, Column::Mcq),
    ]
    .map(maud::PreEscaped::into_string)
}

/// The texts of the elements that open with `opening`, up to the next tag.
fn texts<'a>(markup: &'a str, opening: &str) -> Vec<&'a str> {
    markup.split(opening).skip(1).filter_map(|rest| rest.split('<').next()).collect()
}

fn full() -> Leaderboard {
    board(vec![
        entry("Reef", 71.2, 3.1, 20_000),
        entry("Kelp", 80.0, 2.9, 20_010),
        entry("Crab", 60.4, 3.4, 20_005),
        reported("Printed", 90.0),
        blind("Blind: longest option", 41.0),
    ])
}

#[test]
fn a_board_without_rows_has_no_charts() {
    assert_eq!(all(&board(Vec::new())), [const { String::new() }; 5]);
}

#[test]
fn one_entry_has_every_chart_and_is_compared_with_nobody() {
    let [intervals, slopes, profile, scatter, progress] = all(&board(vec![entry("Reef", 71.2, 3.1, 20_000)]));
    assert!(intervals.contains("Reef is the only entry, with 71.2."), "{intervals}");
    assert!(slopes.contains("BEH: the change of the only entry may be none."), "{slopes}");
    assert!(profile.contains("There is no other entry to compare with yet."), "{profile}");
    assert!(scatter.contains("Reef has the highest value in both."), "{scatter}");
    assert!(progress.contains("Reef is the only entry, with 71.2."), "{progress}");
    for chart in [intervals, slopes, profile, scatter, progress] {
        assert!(!chart.contains("NaN") && !chart.contains("inf"), "{chart}");
    }
}

#[test]
fn the_table_holds_the_numbers_that_are_drawn() {
    let intervals = intervals(&full(), Column::Mcq).into_string();
    let drawn = texts(&intervals, "<tspan class=\"figure\">");
    assert_eq!(drawn, ["90.0", "80.0", "71.2", "60.4", "41.0"]);
    let cells: Vec<&str> = texts(&intervals, "<td class=\"number\">").into_iter().step_by(3).collect();
    assert_eq!(
        cells,
        ["90.0", "80.0 (78.0–82.0)", "71.2 (69.2–73.2)", "60.4 (58.4–62.4)", "41.0 (39.0–43.0)"]
    );
    let slopes = slopes(&full()).into_string();
    let drawn = texts(&slopes, "<tspan class=\"figure\">");
    assert_eq!(drawn.iter().filter(|text| **text == "0.00").count(), 9);
    assert_eq!(slopes.matches("0.00 (−0.28 to +0.28)").count(), 9);
}

#[test]
fn names_and_values_are_escaped() {
    let hostile = "<script>alert(1)</script>";
    let mut board = full();
    board.rows[0].model_name = hostile.to_owned();
    board.rows[0].team = Some("\"><img>".to_owned());
    for chart in all(&board) {
        assert!(!chart.contains("<script") && !chart.contains("<img"), "{chart}");
    }
}

#[test]
fn a_chart_has_no_colour_and_no_style_of_its_own() {
    for chart in all(&full()) {
        for forbidden in [" style=", " fill=", " stroke=", " onload="] {
            assert!(!chart.contains(forbidden), "{forbidden} in {chart}");
        }
        assert!(chart.contains("role=\"img\"") && chart.contains("<figcaption>"), "{chart}");
    }
}

#[test]
fn an_anonymous_entry_is_named_by_its_model_alone() {
    let mut board = full();
    board.rows[0].team = None;
    let intervals = intervals(&board, Column::Mcq).into_string();
    assert!(intervals.contains("Reef (anonymous)") && intervals.contains("Kelp (ocean-lab)"), "{intervals}");
}

#[test]
fn what_a_row_has_no_value_for_is_not_drawn_as_zero() {
    let mut board = full();
    board.rows[0].scores.remove(&Column::MovingBeh);
    board.rows[0].scores.remove(&Column::Oemu);
    let slopes = slopes(&board).into_string();
    assert!(slopes.contains("<text class=\"value\" x=\"100%\" y=\"12\">–</text>"), "{slopes}");
    let scatter = scatter(&board).into_string();
    assert!(!scatter.contains("Reef"), "{scatter}");
    let profile = profile(&board, "Reef").into_string();
    assert!(!profile.contains(">OEMU<") && profile.contains(">PMT<"), "{profile}");
}

#[test]
fn an_entry_that_is_not_on_the_board_has_no_profile() {
    assert_eq!(profile(&full(), "nobody").into_string(), "");
}

#[test]
fn entries_that_cannot_be_told_apart_from_the_best_are_marked_and_counted() {
    let mut board = full();
    board.rows[..3].iter_mut().for_each(|row| *row = compared(row.clone(), row.model_name != "Crab"));
    let chart = intervals(&board, Column::Mcq).into_string();
    assert!(
        chart.contains("Kelp has the highest value, 80.0; 1 of 2 others cannot be told apart"),
        "{chart}"
    );
    assert_eq!(chart.matches("class=\"tie\"").count(), 2);
    let whole = intervals(&full(), Column::Mcq).into_string();
    assert!(whole.contains("is not worked out here"), "{whole}");
}

#[test]
fn of_many_entries_the_highest_are_drawn_and_the_chart_says_so() {
    let many = (0..100).map(|place| entry(&format!("M{place:03}"), f64::from(place), 2.0, 20_000)).collect();
    let chart = intervals(&board(many), Column::Mcq).into_string();
    assert!(chart.contains("Drawn are the highest 60 of 100 rows."), "{chart}");
    assert!(chart.contains(">M040<") && !chart.contains(">M039<"));
}

#[test]
fn the_staircase_holds_what_was_the_best_of_its_day() {
    let chart = best_over_time(&full(), Column::Mcq).into_string();
    assert!(
        chart.contains("From 71.2 on 2024-10-04 to 80.0 on 2024-10-14, by Kelp; 2 of 3 entries"),
        "{chart}"
    );
    assert!(!texts(&chart, "<th scope=\"row\">").contains(&"Crab (ocean-lab)"), "{chart}");
}

#[test]
fn the_scatter_counts_the_pairs_that_both_columns_order_alike() {
    let chart = scatter(&full()).into_string();
    assert!(chart.contains("Kelp is highest in MCQ, Crab in OEMU."), "{chart}");
    assert!(chart.contains("Of 3 pairs of entries 0 (0 %) stand in the same order in both."), "{chart}");
}

#[test]
fn ten_thousand_entries_make_no_heavy_picture() {
    let value = |place: i64| (place * 7919 % 10_000) as f64 / 100.0;
    let entries =
        (0..10_000).map(|place| entry(&format!("M{place}"), value(place), value(place) / 20.0, place));
    let board = board(entries.collect());
    let charts = [
        intervals(&board, Column::Mcq),
        slopes(&board),
        profile(&board, "M5"),
        scatter(&board),
        best_over_time(&board, Column::Mcq),
    ];
    for chart in charts.map(maud::PreEscaped::into_string) {
        assert!((1000..400_000).contains(&chart.len()), "{} bytes of {:.200}", chart.len(), chart);
    }
}
