//! The pages: HTML made on the server, useful without scripts. Knows nothing of the API.

mod board;

use std::sync::Arc;

use actix_web::http::header;
use actix_web::{HttpRequest, HttpResponse, guard, web};

use crate::evaluation::Evaluation;
use crate::evaluation::board_query::{BoardParameters, BoardQueryError};
use crate::evaluation::boards::{BoardFormat, Boards};

const STYLE: &str = include_str!("assets/style.css");

/// The title of a page instead of a board that is asked for wrongly.
const NO_BOARD: &str = "This board does not exist";

/// What the pages share.
pub struct Pages {
    /// The store.
    pub evaluation: Arc<Evaluation>,
    /// Leaderboards as last built.
    pub boards: Arc<Boards>,
}

/// The routes of the pages.
pub fn routes(config: &mut web::ServiceConfig) {
    config
        .service(web::resource("/").guard(guard::Get()).to(find_board))
        .service(web::resource("/assets/style.css").guard(guard::Get()).to(find_style));
}

async fn find_style() -> HttpResponse {
    HttpResponse::Ok()
        .insert_header((header::CACHE_CONTROL, "public, max-age=3600"))
        .content_type("text/css; charset=utf-8")
        .body(STYLE)
}

async fn find_board(
    request: HttpRequest,
    pages: web::Data<Pages>,
    parameters: web::Query<BoardParameters>,
) -> HttpResponse {
    let query = match parameters.query() {
        Ok(query) => query,
        Err(error) => {
            return message(HttpResponse::BadRequest(), NO_BOARD, &error.to_string());
        }
    };
    let store = &pages.evaluation.store;
    match pages.boards.rendered(store, query, BoardFormat::Html, board::page).await {
        Ok(rendered) => {
            let known = request.headers().get(header::IF_NONE_MATCH).and_then(|value| value.to_str().ok());
            let unchanged = known.is_some_and(|known| rendered.is_known(known));
            let mut response = if unchanged { HttpResponse::NotModified() } else { HttpResponse::Ok() };
            response
                .insert_header((header::ETAG, rendered.etag))
                .insert_header((header::CACHE_CONTROL, "no-cache"));
            if unchanged {
                return response.finish();
            }
            response.content_type("text/html; charset=utf-8").body(rendered.body)
        }
        Err(error @ BoardQueryError::UnknownJudge { .. }) => {
            message(HttpResponse::NotFound(), NO_BOARD, &error.to_string())
        }
        Err(error) => {
            tracing::error!(%error, "the board could not be built");
            let detail = "The database is not to be reached. Try again in a moment.";
            message(HttpResponse::ServiceUnavailable(), "The board cannot be shown", detail)
        }
    }
}

fn message(mut response: actix_web::HttpResponseBuilder, title: &str, detail: &str) -> HttpResponse {
    response.content_type("text/html; charset=utf-8").body(board::message(title, detail).into_string())
}
