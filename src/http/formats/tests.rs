//! Tests of the formats on boards that are made up: the same rows in the same order, and nothing that a name may do.

use std::collections::BTreeMap;

use proptest::prelude::*;

use super::{csv, latex, latex_text, markdown, on_one_line};
use crate::domain::column::Column;
use crate::domain::paper::paper_tables;
use crate::domain::question::Split;
use crate::domain::submission::Group;
use crate::evaluation::board_query::{BoardQuery, Sort, View};
use crate::evaluation::board_rows::{Row, ScoreCell, groups, ordered, reported_rows};
use crate::evaluation::marks::Marks;
use crate::evaluation::release_views::Correction;
use crate::evaluation::standing::{BoardFacts, Leaderboard, column_head};
use crate::scoring::standings::Standing;

const URL: &str = "https://secchi.example.org";

fn board(rows: Vec<Row>, sort: Sort, view: View) -> Leaderboard {
    let query = BoardQuery { sort, view, ..BoardQuery::of(Split::Test) };
    Leaderboard {
        split: Split::Test,
        release: Some("2026_06 & more".into()),
        release_sha256: Some("0123456789abcdef".repeat(4)),
        correction: None,
        superseded_by: None,
        judge: None,
        as_of: None,
        sort: sort.to_string(),
        columns: Column::ALL.iter().map(|column| column_head(*column)).collect(),
        groups: groups(&rows),
        marks: Marks::of(&rows),
        rows: ordered(rows, sort, view),
        query,
        facts: BoardFacts::default(),
    }
}

fn row(name: &str, values: &[(Column, f64)]) -> Row {
    let cell = |(column, value): &(Column, f64)| {
        (*column, ScoreCell { value: *value, unit: column.unit(), ci95: Some([0.0, 100.0]), n: Some(24) })
    };
    Row {
        entry: Some(format!("entry of {name}")),
        team: Some("ocean-lab".into()),
        group: Some(Group::OpenSmall),
        scores: values.iter().map(cell).collect(),
        ..Row::named(name.into())
    }
}

fn ties_best(mut row: Row, column: Column, ties_best: bool) -> Row {
    row.standings.insert(column, Standing { range: [1, 2], tier: 1, ties_best });
    row
}

fn latex_of(board: &Leaderboard) -> String {
    String::from_utf8(latex::leaderboard(board, URL)).unwrap()
}

fn markdown_of(board: &Leaderboard) -> String {
    String::from_utf8(markdown::leaderboard(board, URL)).unwrap()
}

#[test]
fn what_breaks_lines_or_turns_their_direction_is_gone() {
    assert_eq!(on_one_line(" a\r\n\tb\u{0}c \u{202e}d\u{200b}e "), "a b c de");
}

/// Every line of the paper's tables as LaTeX must print it.
#[test]
fn the_papers_rows_and_averages_come_out_as_printed() {
    let board = board(reported_rows().collect(), Sort::DEFAULT, View::Groups);
    let (latex, markdown) = (latex_of(&board), markdown_of(&board));
    let mut averages = 0;
    for group in paper_tables() {
        for columns in [&super::table::question_columns(&board)[..], &super::table::CAPTIONS] {
            for model in &group.models {
                let values: Vec<&str> = columns.iter().map(|column| model.values[column].as_str()).collect();
                let backbone = model.backbone.as_deref();
                let name = format!("{}$^{{\\dagger}}$ & {}", model.model, backbone.unwrap_or("--"));
                let expected = format!("\n{name} & {} \\\\\n", values.join(" & "));
                assert!(latex.contains(&expected), "{expected} in {latex}");
                let name = format!("| {} † |  | {} |", model.model, backbone.unwrap_or_default());
                let expected = format!("\n{name} {} |\n", values.join(" | "));
                assert!(markdown.contains(&expected), "{expected} in {markdown}");
            }
            let average = |column: &Column| {
                averages += 1;
                let mut printed = group.averages[column].clone();
                // The two that do not follow from their rows (paper_tables_check.md).
                match (group.group, column) {
                    (Group::OpenSmall, Column::Oemu) => printed.push_str("\\,(2.05)"),
                    (Group::Closed, Column::Pmt) => printed.push_str("\\,(82.48)"),
                    _ => {}
                }
                match column.caption_dimension().filter(|dimension| dimension.columns()[1] == *column) {
                    Some(dimension) => format!("{printed}$_{{{}}}$", group.change[&dimension]),
                    None => printed,
                }
            };
            let values: Vec<String> = columns.iter().map(average).collect();
            let expected = format!("\n\\textbf{{Average}}$^{{\\dagger}}$ &  & {} \\\\\n", values.join(" & "));
            assert!(latex.contains(&expected), "{expected} in {latex}");
        }
    }
    assert_eq!(averages, 42);
    assert_eq!(latex.matches("\\,(").count(), 2);
}

#[test]
fn the_best_is_bold_what_ties_it_is_marked_and_the_first_below_is_underlined() {
    let rows = |compared: bool| -> Vec<Row> {
        [("A", 90.0, true), ("B", 89.0, true), ("C", 80.0, false), ("D", 70.0, false)]
            .map(|(name, value, ties)| {
                let row = row(name, &[(Column::Pmt, value)]);
                if compared { ties_best(row, Column::Pmt, ties) } else { row }
            })
            .into_iter()
            .chain(reported_rows())
            .collect()
    };
    let sort = Sort { column: Column::Pmt, descending: true };
    let tested = latex_of(&board(rows(true), sort, View::Ranks));
    for value in ["\\textbf{90.0}", "89.0$^{\\approx}$", "\\underline{80.0}", " 70.0 "] {
        assert!(tested.contains(value), "{value} in {tested}");
    }
    assert!(tested.contains("cannot be told apart"), "{tested}");
    let untested = latex_of(&board(rows(false), sort, View::Ranks));
    for value in ["\\textbf{90.0}", " 89.0 ", " 80.0 "] {
        assert!(untested.contains(value), "{value} in {untested}");
    }
    assert!(untested.contains("is not tested yet"), "{untested}");
    let markdown = markdown_of(&board(rows(true), sort, View::Ranks));
    for value in ["**90.0**", "89.0 ≈", "<ins>80.0</ins>"] {
        assert!(markdown.contains(value), "{value} in {markdown}");
    }
}

#[test]
fn an_anonymous_entry_names_no_team_in_any_format() {
    let nameless = Row { team: None, ..row("Reef", &[(Column::Pmt, 80.0)]) };
    let board = board(vec![nameless], Sort::DEFAULT, View::Ranks);
    assert!(latex_of(&board).contains("Reef {\\scriptsize (anonymous)}"));
    assert!(markdown_of(&board).contains("| Reef | *anonymous* |"));
}

#[test]
fn a_correction_is_told_below_the_tables_and_is_not_in_the_csv() {
    let rows = || vec![row("Reef", &[(Column::Pmt, 80.0)])];
    let plain = board(rows(), Sort::DEFAULT, View::Ranks);
    let correction = Correction {
        corrects: "2026_05".into(),
        questions: 2,
        by_column: BTreeMap::from([(Column::Pmt, 2)]),
        notice: Some("Two keys of `MVK` were wrong & 100 %\nof <b>.".into()),
        applied_at: "2026-11-30T12:00:00Z".into(),
    };
    let told =
        Leaderboard { correction: Some(correction), superseded_by: Some("2026_07".into()), ..plain.clone() };
    let (latex, markdown) = (latex_of(&told), markdown_of(&told));
    let since = "Corrected: since 2026-11-30 this release mends 2 questions of release 2026\\_05;";
    let newer = "An earlier release: the present board is of release 2026\\_07.";
    assert_eq!((latex.matches(since).count(), latex.matches(newer).count()), (2, 2), "one a table: {latex}");
    assert_eq!(latex.matches("were wrong \\& 100 \\% of ").count(), 2, "{latex}");
    assert_eq!((markdown.matches(since).count(), markdown.matches(newer).count()), (1, 1), "{markdown}");
    assert!(markdown.contains("keys of \\`MVK\\` were wrong &#38; 100 % of &#60;b&#62;."), "{markdown}");
    assert!(markdown.rfind("\n|").unwrap() < markdown.find(since).unwrap(), "below the tables: {markdown}");
    assert_eq!(
        csv::leaderboard(&told),
        csv::leaderboard(&plain),
        "a reader of CSV takes every line for a row"
    );
    let empty = Leaderboard { rows: Vec::new(), ..told };
    assert!(markdown_of(&empty).contains(since));
}

#[test]
fn a_board_without_rows_is_two_tables_that_say_so() {
    let latex = latex_of(&board(Vec::new(), Sort::DEFAULT, View::Groups));
    assert_eq!(latex.matches("No published entry yet.").count(), 2);
    assert!(markdown_of(&board(Vec::new(), Sort::DEFAULT, View::Ranks)).contains("No published entry yet."));
}

#[test]
fn a_long_board_goes_on_in_further_tables() {
    let rows = (0..50).map(|place| row(&format!("m{place}"), &[(Column::Mcq, f64::from(place))])).collect();
    let latex = latex_of(&board(rows, Sort::DEFAULT, View::Ranks));
    assert_eq!(latex.matches("\\begin{table*}").count(), 4);
    assert!(latex.contains("Part 2 of 2."), "{latex}");
}

/// Names that a row can be told by, with everything in them that has a meaning somewhere.
fn name(place: usize, text: &str) -> String {
    // A word of its own, so that a long name is not broken there.
    format!("{text} q{place}q")
}

/// The places in the order in which their names stand in a text.
fn places(text: &str) -> Vec<usize> {
    let parts: Vec<&str> = text.split('q').collect();
    parts.iter().filter_map(|part| part.parse().ok()).collect()
}

#[derive(Debug, Clone)]
struct Drawn {
    text: String,
    value: Option<f64>,
    group: usize,
    kind: usize,
}

fn drawn() -> impl Strategy<Value = Drawn> {
    let value = prop::option::of((0_u8..6).prop_map(f64::from));
    ("[-=&%$#_{}~^\\\\|<>\\[\\]*`'\" a-fé海\\n]{0,12}", value, 0_usize..3, 0_usize..5)
        .prop_map(|(text, value, group, kind)| Drawn { text, value, group, kind })
}

/// The rows as drawn: entries, rows of a paper, and baselines.
fn made(drawn: &[Drawn]) -> Vec<Row> {
    let made = |(place, drawn): (usize, &Drawn)| {
        let value: Vec<(Column, f64)> = drawn.value.map(|value| (Column::Mcq, value)).into_iter().collect();
        let row = row(&name(place, &drawn.text), &value);
        match drawn.kind {
            0 => Row { entry: None, team: None, reported: true, group: Some(Group::ALL[drawn.group]), ..row },
            1 => Row { entry: None, team: None, blind: true, group: None, ..row },
            _ => Row { group: Some(Group::ALL[drawn.group]), entry: Some("e".into()), ..row },
        }
    };
    drawn.iter().enumerate().map(made).collect()
}

fn asked() -> impl Strategy<Value = (Sort, View)> {
    let sort = any::<bool>().prop_map(|descending| Sort { column: Column::Mcq, descending });
    (sort, prop_oneof![Just(View::Ranks), Just(View::Groups)])
}

fn value(row: &Row) -> Option<f64> {
    row.scores.get(&Column::Mcq).map(|cell| cell.value)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(128))]

    #[test]
    fn every_format_has_the_rows_in_the_order_of_the_json(
        drawn in prop::collection::vec(drawn(), 1..30),
        (sort, view) in asked(),
    ) {
        let board = board(made(&drawn), sort, view);
        let json = serde_json::to_value(&board).unwrap();
        let names = json["rows"].as_array().unwrap().iter().map(|row| row["model_name"].as_str().unwrap());
        let expected: Vec<usize> = names.flat_map(places).collect();
        prop_assert_eq!(expected.len(), drawn.len());

        let text = csv::leaderboard(&board);
        let mut reader = ::csv::Reader::from_reader(text.as_slice());
        let name = reader.headers().unwrap().iter().position(|header| header == "model_name").unwrap();
        let names: Vec<String> = reader.records().map(|record| record.unwrap()[name].to_owned()).collect();
        let from_csv: Vec<usize> = names.iter().flat_map(|name| places(name)).collect();
        prop_assert_eq!(&from_csv, &expected);
        prop_assert!(names.iter().all(|name| !name.starts_with(['=', '-'])));

        let twice = [expected.clone(), expected].concat();
        let latex = latex_of(&board);
        prop_assert_eq!(places(&latex), twice.clone());
        let lines = latex.lines().filter(|line| line.contains(" & "));
        prop_assert!(lines.clone().all(|line| line.ends_with("\\\\")), "{}", latex);

        let markdown = markdown_of(&board);
        prop_assert_eq!(places(&markdown), twice);
        let columns = |line: &str| line.matches('|').count();
        let tables = markdown.lines().filter(|line| line.starts_with('|'));
        let widths: std::collections::BTreeSet<usize> = tables.map(columns).collect();
        prop_assert_eq!(widths.len(), 2);
    }

    #[test]
    fn a_permutation_of_the_rows_changes_no_rank_and_no_order_of_values(
        (drawn, permutation) in prop::collection::vec(drawn(), 1..30).prop_flat_map(|drawn| {
            let places: Vec<usize> = (0..drawn.len()).collect();
            (Just(drawn), Just(places).prop_shuffle())
        }),
        (sort, view) in asked(),
    ) {
        let rows = made(&drawn);
        let permuted = permutation.iter().map(|place| rows[*place].clone()).collect();
        let (before, after) = (ordered(rows, sort, view), ordered(permuted, sort, view));
        let shown = |rows: &[Row]| -> Vec<(Option<Group>, Option<f64>)> {
            rows.iter().map(|row| (row.group.filter(|_| view == View::Groups), value(row))).collect()
        };
        prop_assert_eq!(shown(&before), shown(&after));
        let ranks = |rows: &[Row]| -> BTreeMap<String, Option<u32>> {
            rows.iter().map(|row| (row.model_name.clone(), row.rank)).collect()
        };
        prop_assert_eq!(ranks(&before), ranks(&after));
    }

    #[test]
    fn ties_share_a_rank_and_missing_values_are_last_both_ways(
        drawn in prop::collection::vec(drawn(), 1..30),
        (sort, view) in asked(),
    ) {
        let rows = ordered(made(&drawn), sort, view);
        for part in rows.chunk_by(|left, right| view == View::Ranks || left.group == right.group) {
            let missing = part.iter().position(|row| value(row).is_none()).unwrap_or(part.len());
            prop_assert!(part[missing..].iter().all(|row| value(row).is_none()));
            for pair in part[..missing].windows(2) {
                let (left, right) = (value(&pair[0]), value(&pair[1]));
                let in_order = if sort.descending { left >= right } else { left <= right };
                prop_assert!(in_order, "{:?} before {:?}", left, right);
            }
        }
        let ranked: Vec<&Row> = rows.iter().filter(|row| row.rank.is_some()).collect();
        prop_assert!(ranked.iter().all(|row| row.entry.is_some() && value(row).is_some()));
        for (left, right) in ranked.iter().flat_map(|left| ranked.iter().map(move |right| (left, right))) {
            prop_assert_eq!(value(left) == value(right), left.rank == right.rank);
            prop_assert!(value(left) <= value(right) || left.rank < right.rank);
        }
    }
}

#[test]
fn the_definition_of_what_stands_for_a_missing_character_is_in_every_document() {
    let latex = latex_of(&board(vec![row("海", &[])], Sort::DEFAULT, View::Ranks));
    assert!(latex.contains(latex_text::FALLBACK) && latex.contains("\\unicodechar{6D77}{海}"), "{latex}");
}
