//! `/og/…`: the pictures of 1200 x 630 pixels that others show when an address of this server is handed on. Made once for
//! each state of a board, outside the threads that answer requests.

mod drawing;
mod raster;

use actix_web::http::StatusCode;
use actix_web::{HttpRequest, web};
use serde::Deserialize;
use uuid::Uuid;

use super::refusal::{Refusal, Shown};
use super::{Pages, prepared};
use crate::domain::question::Split;
use crate::evaluation::board_query::BoardQuery;
use crate::evaluation::entries::{Found, find_entry, find_place};
use crate::evaluation::standing::Leaderboard;
use crate::store::StoreError;

const PNG: &str = "image/png";

/// Which board.
#[derive(Deserialize)]
pub(super) struct BoardOf {
    split: Option<String>,
}

pub(super) async fn show_board(
    request: HttpRequest,
    pages: web::Data<Pages>,
    asked: web::Query<BoardOf>,
) -> Shown {
    let split = match asked.split.as_deref() {
        None | Some("test") => Split::Test,
        Some("val") => Split::Val,
        Some(other) => {
            let detail = format!("`split` is `{other}`; give `test` or `val`");
            return Err(Refusal::said(StatusCode::BAD_REQUEST, "This picture does not exist", detail));
        }
    };
    let render = |board: &Leaderboard| raster::png(&drawing::board(board));
    let store = &pages.evaluation.store;
    let rendered = pages.boards.rendered(store, BoardQuery::of(split), "og".to_owned(), render).await?;
    Ok(prepared(&request, &rendered, PNG).await)
}

pub(super) async fn show_entry(
    request: HttpRequest,
    pages: web::Data<Pages>,
    file: web::Path<String>,
) -> Shown {
    let unknown = || {
        let detail = "There is no published entry with this id, or it is on no board.";
        Refusal::said(StatusCode::NOT_FOUND, "This picture does not exist", detail)
    };
    let id = file.strip_suffix(".png").and_then(|id| Uuid::parse_str(id).ok()).ok_or_else(unknown)?;
    let (id, store) = (id.to_string(), &pages.evaluation.store);
    let asked = id.clone();
    let found: Result<Option<Found>, StoreError> =
        store.snapshot(move |connection| find_entry(connection, &asked)).await;
    let entry = match found?.ok_or_else(unknown)? {
        Found::Entry(entry) => entry,
        Found::Withdrawn { .. } => {
            let detail = "The entry was withdrawn; its page says why.";
            return Err(Refusal::said(StatusCode::GONE, "This entry was withdrawn", detail));
        }
    };
    let place = find_place(&pages.boards, store, &entry).await?.ok_or_else(unknown)?;
    let variant = format!("og {id}");
    let render = move |board: &Leaderboard| raster::png(&drawing::entry(board, &id));
    let rendered = pages.boards.rendered(store, place.board.query.clone(), variant, render).await?;
    Ok(prepared(&request, &rendered, PNG).await)
}
