//! The leaderboard as a page: both tables of the paper, live. Knows nothing of requests.

use maud::{Markup, html};

use super::frame::{self, Page, Sharing, Viewer};
use crate::domain::column::{CaptionDimension, Column, Unit};
use crate::domain::question::Split;
use crate::domain::submission::Group;
use crate::evaluation::board_rows::{GroupAverages, Row, ScoreCell};
use crate::evaluation::standing::{JudgeHead, Leaderboard};
use crate::scoring::decimals::to_decimals;

/// The columns of the first table: questions.
const QUESTION_COLUMNS: [Column; 9] = [
    Column::Mcq,
    Column::MbcSo,
    Column::MbcMo,
    Column::Pmt,
    Column::Pdo,
    Column::Obk,
    Column::SmE,
    Column::SmL,
    Column::Oemu,
];

/// The columns of the second table: captions.
const CAPTION_COLUMNS: [Column; 6] = [
    Column::StaticBeh,
    Column::StaticAh,
    Column::StaticEcf,
    Column::MovingBeh,
    Column::MovingAh,
    Column::MovingEcf,
];

/// The page of a board.
pub fn page(board: &Leaderboard) -> Vec<u8> {
    let offline = board.judge.as_ref().is_some_and(|judge| judge.is_offline());
    let body = html! {
        (header(board))
        @if let Some(judge) = asked_judge(board) { (judge_notice(board, judge)) }
        @if offline {
            p.notice role="note" {
                strong { "Offline judge. " }
                "Open-ended columns (OEMU, BEH, AH, ECF) are scored by word overlap with the annotators' evidence, not by a \
                 language model. They are never ranked beside an LLM judge's scores."
            }
        }
        @if board.rows.is_empty() {
            p.empty {
                "No published entry yet. "
                @if board.release.is_none() { "No release of this split is active." }
                @else { "A scored submission appears here when its team publishes it." }
            }
        } @else {
            (table(board, "Questions", "questions", &QUESTION_COLUMNS, offline))
            (table(board, "Captions", "captions", &CAPTION_COLUMNS, offline))
        }
        (notes(board))
        @let rows = address(board, board.split, Some(&board.sort)).replacen('/', "/api/v1/leaderboard", 1);
        p { "The same rows as " a href=(rows) { "JSON" } " or " a href={ (rows) "&format=csv" } { "CSV" } "." }
    };
    let title = title(board);
    let page = Page { title: &title, address: "/", viewer: Viewer::Anybody, script: None };
    let sharing = Sharing {
        description: "How well models understand marine videos: scores with 95 % intervals.",
        origin: None,
        canonical: "/",
        picture: "/og/board.png",
    };
    frame::shared_document(&page, &sharing, &body).into_string().into_bytes()
}

/// The judge, if it was asked for by its id.
fn asked_judge(board: &Leaderboard) -> Option<&JudgeHead> {
    board.judge.as_ref().filter(|_| board.query.judge.is_some())
}

fn judge_notice(board: &Leaderboard, judge: &JudgeHead) -> Markup {
    html! {
        p.notice role="note" {
            "This is the board under judge configuration " code { (judge.configuration) } " (" (judge.model) "), "
            @match &judge.retired_at {
                Some(retired_at) => { "retired " time datetime=(retired_at) { (retired_at) } ". " }
                None => "which is the current one. "
            }
            a href={ "/?split=" (board.split) } { "To the current board" }
        }
    }
}

/// The address of a board beside this one: of the same judge, if it was asked for.
fn address(board: &Leaderboard, split: Split, sort: Option<&str>) -> String {
    let sort = sort.map(|sort| format!("&sort={sort}")).unwrap_or_default();
    let judge = asked_judge(board).map(|judge| format!("&judge={}", judge.configuration));
    format!("/?split={split}{sort}{}", judge.unwrap_or_default())
}

fn title(board: &Leaderboard) -> String {
    format!("MarineLife-16K leaderboard, {} split", board.split)
}

fn header(board: &Leaderboard) -> Markup {
    html! {
        header {
            h1 { "MarineLife-16K leaderboard" }
            p.facts {
                "Split " strong { (board.split) }
                @if let Some(release) = &board.release { " · release " strong { (release) } }
                @if let Some(judge) = &board.judge { " · judge " strong { (judge.model) } " " code { (judge.configuration) } }
                " · " (board.rows.len()) @if board.rows.len() == 1 { " entry" } @else { " entries" }
            }
            nav aria-label="Splits" {
                @for split in [Split::Test, Split::Val] {
                    a href=(address(board, split, None)) aria-current=[(split == board.split).then_some("page")] { (split) }
                }
            }
        }
    }
}

fn table(board: &Leaderboard, caption: &str, id: &str, columns: &[Column], offline: bool) -> Markup {
    html! {
        section aria-labelledby=(id) {
            h2 id=(id) { (caption) }
            div.scroll tabindex="0" role="region" aria-labelledby=(id) {
                table {
                    thead {
                        tr {
                            th scope="col" { "Rank" }
                            th.model scope="col" { "Model" }
                            th.team scope="col" { "Team" }
                            @for column in columns { (column_header(board, *column, offline)) }
                        }
                    }
                    @for group in Group::ALL { (group_rows(board, *group, columns)) }
                }
            }
        }
    }
}

fn column_header(board: &Leaderboard, column: Column, offline: bool) -> Markup {
    let descending = format!("-{column}");
    let (order, target) = if board.sort == descending {
        (Some("descending"), column.to_string())
    } else if board.sort == column.as_str() {
        (Some("ascending"), descending)
    } else {
        (None, descending)
    };
    let judged = column.unit() == Unit::Points;
    html! {
        th.number scope="col" aria-sort=[order] title=(column.label()) {
            a href=(address(board, board.split, Some(&target))) {
                (column)
                @match order { Some("descending") => " ▼", Some(_) => " ▲", None => "" }
            }
            @if judged && offline { br; small { "offline judge" } }
        }
    }
}

fn group_rows(board: &Leaderboard, group: Group, columns: &[Column]) -> Markup {
    let rows: Vec<&Row> = board.rows.iter().filter(|row| row.group == Some(group)).collect();
    let averages = board.groups.iter().find(|averages| averages.group == group);
    html! {
        @if !rows.is_empty() {
            tbody {
                tr.group { th colspan=(columns.len() + 3) scope="rowgroup" { (group_label(group)) } }
                @for row in rows { (entry_row(row, columns)) }
                @if let Some(averages) = averages { (average_row(averages, columns)) }
            }
        }
    }
}

fn group_label(group: Group) -> &'static str {
    match group {
        Group::OpenSmall => "Open models below 10 B parameters",
        Group::OpenLarge => "Open models of 10 B parameters and more",
        Group::Closed => "Closed models",
    }
}

fn entry_row(row: &Row, columns: &[Column]) -> Markup {
    html! {
        tr {
            td.number { @match row.rank { Some(rank) => (rank), None => "–" } }
            th.model scope="row" {
                (row.model_name)
                @if let Some(backbone) = &row.backbone { br; small { (backbone) } }
                small.below { (team(row)) }
            }
            td.team { (team(row)) }
            @for column in columns { (score_cell(row.scores.get(column))) }
        }
    }
}

fn team(row: &Row) -> Markup {
    html! { @match &row.team { Some(team) => (team), None => em { "anonymous" } } }
}

fn score_cell(cell: Option<&ScoreCell>) -> Markup {
    html! {
        td.number {
            @match cell {
                Some(cell) => {
                    (to_decimals(cell.value, places(cell.unit)))
                    br;
                    small { (interval(cell)) }
                }
                None => span title="not scored" { "–" }
            }
        }
    }
}

fn average_row(averages: &GroupAverages, columns: &[Column]) -> Markup {
    html! {
        tr.average {
            td {}
            th.model scope="row" { "Average" }
            td.team {}
            @for column in columns {
                td.number {
                    @if let Some(value) = averages.averages.get(column) {
                        (to_decimals(*value, places(column.unit())))
                        @if let Some(change) = moving(*column).and_then(|dimension| averages.change.get(&dimension)) {
                            br;
                            small title="moving minus static" { (signed(*change)) }
                        }
                    } @else { "–" }
                }
            }
        }
    }
}

/// The dimension whose change from static to moving stands in a column.
fn moving(column: Column) -> Option<CaptionDimension> {
    let [_, moving] = column.caption_dimension()?.columns();
    (moving == column).then_some(column.caption_dimension()?)
}

pub(super) fn places(unit: Unit) -> usize {
    match unit {
        Unit::Percent => 1,
        Unit::Points => 2,
    }
}

pub(super) fn interval(cell: &ScoreCell) -> String {
    let places = places(cell.unit);
    let Some(bounds) = cell.ci95 else { return "–".to_owned() };
    let [low, high] = bounds.map(|bound| to_decimals(bound, places));
    format!("{low}–{high}")
}

fn signed(change: f64) -> String {
    let sign = if change >= 0.0 { "+" } else { "−" };
    format!("{sign}{}", to_decimals(change.abs(), 2))
}

fn notes(board: &Leaderboard) -> Markup {
    html! {
        section.notes aria-labelledby="notes" {
            h2 #notes { "How to read this" }
            ul {
                li { "Percent columns are percent right; OEMU, BEH, AH and ECF are points from 0 to 5. Higher is better everywhere." }
                li { "The small figures are 95 % intervals: Wilson's for percent columns, a bootstrap over videos for the others." }
                li { "MCQ is the plain mean of the seven percent columns. Rows with overlapping intervals may not differ." }
                @if !board.rows.is_empty() {
                    li { "The figure below a moving average is its change from the static one." }
                }
            }
        }
    }
}
