//! Boards by hand: marks, sentences, and what a page weighs. Knows nothing of databases.

use std::io::Write as _;

use flate2::Compression;
use flate2::write::GzEncoder;

use super::BoardView;
use super::finding::finding;
use super::page;
use crate::domain::column::Column;
use crate::domain::instant::rfc3339;
use crate::domain::question::Split;
use crate::domain::submission::Group;
use crate::evaluation::board_query::BoardQuery;
use crate::evaluation::board_rows::{Row, ScoreCell};
use crate::evaluation::marks::{Mark, Marks};
use crate::evaluation::standing::{BoardFacts, Leaderboard, column_head};
use crate::scoring::standings::Standing;

fn entry(place: usize, value: f64, ties_best: Option<bool>) -> Row {
    // Columns do not print alike, as those of real entries do not.
    let cell = |column: &Column| {
        let unit = column.unit();
        let places = value - *column as usize as f64 / 7.3;
        let value = if places > 5.0 && unit.as_str() == "points" { places / 20.0 } else { places };
        let value = if *column == Column::Mcq { value + Column::Mcq as usize as f64 / 7.3 } else { value };
        (*column, ScoreCell { value, unit, ci95: Some([value - 2.17, value + 1.93]), n: Some(500) })
    };
    let standing = |ties_best| Standing { range: [1, 4], tier: 1, ties_best };
    let standings =
        ties_best.into_iter().flat_map(|ties| Column::ALL.iter().map(move |c| (*c, standing(ties))));
    Row {
        standings: standings.collect(),
        entry: Some(format!("01a22963-3f09-7089-bfaa-{place:012}")),
        team: Some(format!("team-{place}")),
        backbone: Some("ViT/Qwen2.5".to_owned()),
        group: Some(Group::ALL[place % Group::ALL.len()]),
        scores: Column::ALL.iter().map(cell).collect(),
        attempts: Some(1),
        submitted_at: Some(rfc3339(0)),
        ..Row::named(format!("Model-{place}"))
    }
}

/// A board of rows that come highest first.
fn board(rows: Vec<Row>) -> Leaderboard {
    let value = |row: &Row| row.scores[&Column::Mcq].value;
    let rank = |row: &Row| 1 + rows.iter().filter(|other| value(other) > value(row)).count() as u32;
    let ranks: Vec<u32> = rows.iter().map(rank).collect();
    let ranked = |(row, rank): (Row, u32)| {
        let range = row.standings.get(&Column::Mcq).map(|standing| standing.range);
        Row { rank: Some(rank), rank_range: range, tier: range.map(|_| 1), ..row }
    };
    let facts = BoardFacts {
        entries: rows.len(),
        questions: 4020,
        videos: 500,
        newest_at: Some(rfc3339(0)),
        ..BoardFacts::default()
    };
    Leaderboard {
        split: Split::Test,
        release: Some("2026-06".to_owned()),
        release_sha256: Some("0123456789abcdef".repeat(4)),
        correction: None,
        superseded_by: None,
        judge: None,
        as_of: None,
        sort: "-MCQ".to_owned(),
        columns: Column::ALL.iter().map(|column| column_head(*column)).collect(),
        marks: Marks::of(&rows),
        rows: rows.into_iter().zip(ranks).map(ranked).collect(),
        groups: Vec::new(),
        query: BoardQuery::of(Split::Test),
        facts,
    }
}

fn marks(rows: &[Row]) -> Vec<Option<Mark>> {
    let marks = Marks::of(rows);
    rows.iter().map(|row| marks.find(row, Column::Mcq)).collect()
}

#[test]
fn the_best_its_equals_and_the_first_clearly_below_are_marked() {
    let rows = [
        entry(0, 81.24, Some(true)),
        entry(1, 80.9, Some(true)),
        entry(2, 78.0, Some(false)),
        entry(3, 77.0, Some(false)),
    ];
    assert_eq!(marks(&rows), [Some(Mark::Best), Some(Mark::TiesBest), Some(Mark::Second), None]);
}

#[test]
fn values_that_are_printed_alike_share_their_mark() {
    let rows = [
        entry(0, 81.24, Some(true)),
        entry(1, 81.21, Some(true)),
        entry(2, 78.04, Some(false)),
        entry(3, 78.01, Some(false)),
    ];
    let (best, second) = (Some(Mark::Best), Some(Mark::Second));
    assert_eq!(marks(&rows), [best, best, second, second]);
}

#[test]
fn while_entries_are_not_compared_only_the_best_is_marked_and_no_other_row_ever() {
    let mut reported = entry(0, 99.0, None);
    (reported.entry, reported.reported) = (None, true);
    let rows = [reported, entry(1, 81.2, None), entry(2, 80.9, None)];
    assert_eq!(marks(&rows), [None, Some(Mark::Best), None]);
}

#[test]
fn the_finding_names_who_leads_and_who_cannot_be_told_apart_from_it() {
    let of = |rows: Vec<Row>| finding(&board(rows)).unwrap();
    assert_eq!(of(vec![entry(0, 81.24, None)]), "Model-0 is the only entry so far, with 81.2\u{a0}% in MCQ.");
    let waits = of(vec![entry(0, 81.24, Some(true)), entry(1, 80.0, None)]);
    assert!(waits.ends_with("Which entries can be told apart from it is not computed yet."), "{waits}");
    let clear =
        of(vec![entry(0, 81.24, Some(true)), entry(1, 60.0, Some(false)), entry(2, 50.0, Some(false))]);
    assert_eq!(clear, "Model-0 leads with 81.2\u{a0}% in MCQ; all 2 others are clearly below it.");
    let mut rows: Vec<Row> =
        (0..6).map(|place| entry(place, 81.24 - place as f64 / 10.0, Some(true))).collect();
    rows.push(entry(6, 50.0, Some(false)));
    let tied = "Model-0 leads with 81.2\u{a0}% in MCQ. Model-1, Model-2, Model-3 and 2 more cannot be told apart from it \
                on these 500 questions; 1 entry is clearly below.";
    assert_eq!(of(rows), tied);
    let equal =
        of(vec![entry(0, 81.24, Some(true)), entry(1, 81.24, Some(true)), entry(2, 50.0, Some(false))]);
    assert_eq!(
        equal,
        "Model-0 and Model-1 lead together with 81.2\u{a0}% in MCQ; the other entry is clearly below them."
    );
    assert_eq!(finding(&board(Vec::new())), None);
}

#[test]
fn a_page_with_fifty_entries_is_light() {
    let rows = (0..50).map(|place| entry(place, 90.0 - place as f64 / 1.7, Some(place < 5))).collect();
    let page = page(&board(rows), &BoardView::plain(Split::Test), None);
    let mut writer = GzEncoder::new(Vec::new(), Compression::default());
    writer.write_all(&page).unwrap();
    let light = writer.finish().unwrap().len();
    assert!(light < 40 << 10, "{light} bytes of {}", page.len());
}

#[test]
fn a_long_board_comes_in_pages_and_loses_no_row() {
    let rows: Vec<Row> = (0..450).map(|place| entry(place, 90.0 - place as f64 / 17.0, None)).collect();
    let board = board(rows);
    let mut seen = Vec::new();
    for number in 1..=3 {
        let view = BoardView::plain(Split::Test).with(|view| view.page = number);
        let page = String::from_utf8(page(&board, &view, None)).unwrap();
        let table = page.split("id=\"questions-box\"").nth(1).unwrap().split("</table>").next().unwrap();
        let names = table
            .split("<a href=\"/entries/")
            .skip(1)
            .map(|part| part.split(['>', '<']).nth(1).unwrap().to_owned());
        seen.extend(names);
        assert_eq!(page.contains("rel=\"prev\""), number > 1);
        assert_eq!(page.contains("rel=\"next\""), number < 3);
    }
    assert_eq!(seen.len(), 450);
    seen.sort_unstable();
    seen.dedup();
    assert_eq!(seen.len(), 450);
}
