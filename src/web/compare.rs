//! `/compare`: which entries are asked for, and what there is to choose from. Knows nothing of how the page is laid out.

use actix_web::http::{StatusCode, header};
use actix_web::{HttpResponseBuilder, web};

use super::Pages;
use super::compare_page::{Choice, Chosen, page};
use super::refusal::{Refusal, Shown};
use crate::domain::column::Column;
use crate::domain::question::Split;
use crate::evaluation::board_query::{BoardQuery, BoardQueryError};
use crate::evaluation::comparing::{CompareError, Comparison, compare};
use crate::evaluation::standing::Leaderboard;
use crate::scoring::decimals::to_decimals;

/// Entries that are compared at once, at most.
pub(super) const MOST: usize = 5;

/// Entries that can be chosen from a list, at most; any other by its id in the address.
pub(super) const MOST_CHOICES: usize = 200;

/// What an address asks for.
struct Asked {
    entries: Vec<String>,
    split: Split,
    judge: Option<String>,
}

pub(super) async fn show(pages: web::Data<Pages>, query: web::Query<Vec<(String, String)>>) -> Shown {
    let asked = read(&query)?;
    let mut found = None;
    let mut fault = None;
    if !asked.entries.is_empty() {
        match compare(&pages.evaluation, asked.entries.clone(), asked.judge.clone()).await {
            Ok(comparison) => found = Some(comparison),
            Err(CompareError::Store(error) | CompareError::Board(BoardQueryError::Store(error))) => {
                return Err(error.into());
            }
            Err(error) => fault = Some(error),
        }
    }
    let split = found.as_ref().map_or(asked.split, |comparison| comparison.split);
    let board = pages.boards.board(&pages.evaluation.store, &BoardQuery::of(split)).await;
    let board = board.map_err(|error| match error {
        BoardQueryError::Store(error) => Refusal::from(error),
        error => Refusal::Inside(error.to_string()),
    })?;
    let status = fault.as_ref().map_or(StatusCode::OK, status);
    let fault = fault.map(|fault| fault.to_string());
    let (choices, left_out) = choices(&board, found.as_ref(), &asked.entries);
    let chosen = Chosen { ids: asked.entries, split, judge: asked.judge, choices, left_out };
    Ok(HttpResponseBuilder::new(status)
        .insert_header((header::CACHE_CONTROL, "no-cache"))
        .content_type("text/html; charset=utf-8")
        .body(page(&chosen, found.as_ref(), fault.as_deref()).into_string()))
}

/// Reads `entry`, as often as there are entries, or `a` and `b`. An empty one is a list that nothing was chosen from.
fn read(query: &[(String, String)]) -> Result<Asked, Refusal> {
    let wrong = |detail: String| Refusal::said(StatusCode::BAD_REQUEST, "This cannot be compared", detail);
    let all = |name: &'static str| query.iter().filter(move |(other, _)| other == name);
    let known = ["entry", "a", "b", "split", "judge"];
    if let Some((name, _)) = query.iter().find(|(name, _)| !known.contains(&name.as_str())) {
        return Err(wrong(format!("There is no parameter `{name}`; give {}.", known.join(", "))));
    }
    let ids = all("a").chain(all("b")).chain(all("entry")).map(|(_, id)| id.trim().to_owned());
    let entries: Vec<String> = ids.filter(|id| !id.is_empty()).collect();
    if entries.len() > MOST {
        return Err(wrong(format!(
            "These are {} entries; at most {MOST} are compared at once.",
            entries.len()
        )));
    }
    let split = match all("split").next_back().map(|(_, split)| split.as_str()) {
        None | Some("test") => Split::Test,
        Some("val") => Split::Val,
        Some(other) => return Err(wrong(format!("`split` is `{other}`; give `test` or `val`."))),
    };
    let judge = all("judge").next_back().map(|(_, judge)| judge.clone()).filter(|judge| !judge.is_empty());
    Ok(Asked { entries, split, judge })
}

fn status(fault: &CompareError) -> StatusCode {
    match fault {
        CompareError::Twice(_) => StatusCode::BAD_REQUEST,
        CompareError::LeftOut => StatusCode::FORBIDDEN,
        CompareError::Unknown(_) | CompareError::Board(_) => StatusCode::NOT_FOUND,
        CompareError::Withdrawn { .. } => StatusCode::GONE,
        CompareError::Releases(..) | CompareError::Judges | CompareError::NotJudged { .. } => {
            StatusCode::CONFLICT
        }
        CompareError::Store(_) => StatusCode::SERVICE_UNAVAILABLE,
    }
}

/// The entries to choose from, those that are asked for among them, and how many of the board's are left out.
fn choices(board: &Leaderboard, found: Option<&Comparison>, asked: &[String]) -> (Vec<Choice>, usize) {
    let of_board = board.rows.iter().filter_map(|row| {
        let id = row.entry.clone()?;
        let value = row.scores.get(&Column::Mcq);
        let value = value.map(|cell| format!(", {} {}", Column::Mcq, to_decimals(cell.value, 1)));
        Some(Choice { id, label: label(&row.model_name, row.team.as_deref()) + &value.unwrap_or_default() })
    });
    let mut choices: Vec<Choice> = of_board.collect();
    let left_out = choices.len().saturating_sub(MOST_CHOICES);
    let mut place = 0;
    choices.retain(|choice| {
        place += 1;
        place <= MOST_CHOICES || asked.contains(&choice.id)
    });
    for id in asked.iter().filter(|id| !choices.iter().any(|choice| choice.id == **id)).collect::<Vec<_>>() {
        let entry = found.and_then(|found| found.entries.iter().find(|entry| entry.entry == *id));
        let label = entry.map_or_else(|| id.clone(), |entry| label(&entry.model_name, entry.team.as_deref()));
        choices.push(Choice { id: id.clone(), label });
    }
    (choices, left_out)
}

/// An entry by its model and its team.
fn label(model_name: &str, team: Option<&str>) -> String {
    format!("{model_name} ({})", team.unwrap_or("anonymous"))
}
