//! The leaderboard as JSON and CSV, answered from what was built last.

use actix_web::http::{StatusCode, header};
use actix_web::{HttpRequest, HttpResponse, get, web};

use super::Shared;
use super::csv;
use super::error::{Answer, Problem};
use super::prepared::prepared;
use crate::evaluation::board_query::{BoardParameters, BoardQueryError, View};
use crate::evaluation::standing::Leaderboard;

/// The leaderboard of a split
///
/// Rows are the newest published submission of each team and model, scored on the active release under the current
/// judge configuration, or under the one that `judge` names.
#[utoipa::path(
    tag = "board",
    params(BoardParameters),
    responses(
        (status = 200, description = "The board", content((Leaderboard = "application/json"), (String = "text/csv"))),
        (status = 304, description = "The board that `If-None-Match` names still stands"),
        (status = 400, description = "A parameter is wrong", body = Problem, content_type = "application/problem+json"),
        (status = 404, description = "`judge` was never current, or the split has no such `release`; the detail names those that there are", body = Problem, content_type = "application/problem+json"),
    )
)]
#[get("/api/v1/leaderboard")]
pub async fn find_leaderboard(
    request: HttpRequest,
    state: Shared,
    parameters: web::Query<BoardParameters>,
) -> Answer<HttpResponse> {
    let query = parameters.query(View::Ranks)?;
    let format = format(&request, &parameters)?;
    let (content_type, render): (_, fn(&Leaderboard) -> Vec<u8>) = match format {
        Format::Csv => ("text/csv; charset=utf-8", csv::leaderboard),
        Format::Json => ("application/json", json),
    };
    let store = &state.evaluation.store;
    let rendered = state.boards.rendered(store, query, format!("{format:?}"), render).await?;
    Ok(prepared(&request, &rendered, content_type).await)
}

/// How a board is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Format {
    Json,
    Csv,
}

fn format(request: &HttpRequest, parameters: &BoardParameters) -> Result<Format, Problem> {
    match parameters.format.as_deref() {
        Some("json") => Ok(Format::Json),
        Some("csv") => Ok(Format::Csv),
        Some(other) => Err(Problem::parameter(format!("`format` is `{other}`; give `json` or `csv`"))),
        None => {
            let csv = header_text(request, header::ACCEPT).is_some_and(|accept| accept.contains("text/csv"));
            Ok(if csv { Format::Csv } else { Format::Json })
        }
    }
}

fn header_text(request: &HttpRequest, name: header::HeaderName) -> Option<&str> {
    request.headers().get(name)?.to_str().ok()
}

fn json(board: &Leaderboard) -> Vec<u8> {
    // Maps of text and numbers cannot fail to be written.
    serde_json::to_vec(board).unwrap_or_default()
}

impl From<BoardQueryError> for Problem {
    fn from(error: BoardQueryError) -> Problem {
        match error {
            BoardQueryError::UnknownColumn(_) => {
                Problem::new(StatusCode::BAD_REQUEST, "unknown_column", error.to_string())
            }
            BoardQueryError::UnknownJudge { .. } => {
                Problem::new(StatusCode::NOT_FOUND, "unknown_judge", error.to_string())
            }
            BoardQueryError::UnknownRelease { .. } => {
                Problem::new(StatusCode::NOT_FOUND, "unknown_release", error.to_string())
            }
            BoardQueryError::Parameter { .. } => Problem::parameter(error.to_string()),
            BoardQueryError::Store(error) => error.into(),
        }
    }
}
