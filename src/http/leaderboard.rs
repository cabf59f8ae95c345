//! The leaderboard as JSON and in the other formats, answered from what was built last.

use actix_web::http::{StatusCode, header};
use actix_web::{HttpRequest, HttpResponse, get, web};

use super::Shared;
use super::error::{Answer, Problem};
use super::formats::{csv, latex, markdown};
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
        (status = 200, description = "The board", content((Leaderboard = "application/json"), (String = "text/csv"), (String = "application/x-tex"), (String = "text/markdown"))),
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
    let public_url = state.link("");
    let render = move |board: &Leaderboard| match format {
        BoardFormat::Csv => csv::leaderboard(board),
        BoardFormat::Latex => latex::leaderboard(board, &public_url),
        BoardFormat::Markdown => markdown::leaderboard(board, &public_url),
        BoardFormat::Json => json(board),
    };
    let store = &state.evaluation.store;
    let rendered = state.boards.rendered(store, query, format!("{format:?}"), render).await?;
    Ok(prepared(&request, &rendered, content_type(format)).await)
}

/// How a board is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum BoardFormat {
    Json,
    Csv,
    Latex,
    Markdown,
}

/// The formats with their names and their types, the one first that is meant unless more is said.
const FORMATS: [(&str, &str, BoardFormat); 4] = [
    ("json", "application/json", BoardFormat::Json),
    ("csv", "text/csv", BoardFormat::Csv),
    ("tex", "application/x-tex", BoardFormat::Latex),
    ("md", "text/markdown", BoardFormat::Markdown),
];

fn format(request: &HttpRequest, parameters: &BoardParameters) -> Result<BoardFormat, Problem> {
    let found = match parameters.format.as_deref() {
        Some(asked) => {
            let unknown =
                || Problem::parameter(format!("`format` is `{asked}`; give `json`, `csv`, `tex` or `md`"));
            FORMATS.iter().find(|(name, ..)| *name == asked).ok_or_else(unknown)?
        }
        None => {
            let accept = header_text(request, header::ACCEPT).unwrap_or_default();
            FORMATS.iter().find(|(_, media_type, _)| accept.contains(media_type)).unwrap_or(&FORMATS[0])
        }
    };
    Ok(found.2)
}

fn content_type(format: BoardFormat) -> &'static str {
    match format {
        BoardFormat::Csv => "text/csv; charset=utf-8",
        BoardFormat::Latex => "application/x-tex; charset=utf-8",
        BoardFormat::Markdown => "text/markdown; charset=utf-8",
        BoardFormat::Json => "application/json",
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
