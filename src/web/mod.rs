//! The pages: HTML made on the server, useful without scripts. Knows nothing of the API.

mod about;
mod admin;
mod agreement;
mod agreement_words;
mod answers;
mod assets;
mod board;
mod charts;
mod compare;
mod compare_chart;
mod compare_page;
mod compare_words;
mod entry;
mod entry_scores;
mod entry_source;
mod fields;
mod figures;
mod frame;
mod judge;
mod keys;
mod keys_page;
mod og;
mod quota;
mod refusal;
mod review;
mod session;
mod sign_in;
mod sign_up;
mod sign_up_page;
mod snippets;
mod submission_decisions;
mod submission_list;
mod submission_page;
mod submission_report;
mod submission_state;
mod submissions;
mod submit;
mod submit_form;
mod submit_page;

use std::convert::Infallible;
use std::net::IpAddr;
use std::sync::Arc;

use actix_web::body::SizedStream;
use actix_web::http::{Method, StatusCode, header};
use actix_web::{HttpRequest, HttpResponse, Route, guard, web};
use futures::stream;

use self::board::BoardView;
use crate::config::{HttpSettings, SignupMode};
use crate::evaluation::Evaluation;
use crate::evaluation::board_query::BoardQueryError;
use crate::evaluation::boards::Boards;
use crate::evaluation::rendered::Rendered;
use crate::evaluation::standing::Leaderboard;
use crate::limiter::{HttpLimiter, origin};
use crate::tokens::Signer;

/// The title of a page instead of a board that is asked for wrongly.
const NO_BOARD: &str = "This board does not exist";

const FORWARDED_FOR: &str = "x-forwarded-for";

/// Attempts to sign in that one address has a minute.
const ATTEMPTS_PER_MINUTE: u32 = 20;

/// What the pages share.
pub struct Pages {
    /// The store and the use cases.
    evaluation: Arc<Evaluation>,
    /// Leaderboards as last built.
    boards: Arc<Boards>,
    /// Signs what a browser is recognised by.
    signer: Signer,
    /// Counts attempts to sign in by address.
    attempts: Option<HttpLimiter>,
    /// Who may sign up.
    signup: SignupMode,
    /// Whether a new team's key is sent by e-mail.
    mails: bool,
    /// Addresses whose `X-Forwarded-For` is believed.
    trusted_proxies: Vec<IpAddr>,
    /// Scheme and host under which browsers find this server, where it was told.
    public_origin: Option<String>,
}

impl Pages {
    /// Pages that recognise browsers by `signer`, under these settings.
    pub fn new(
        evaluation: Arc<Evaluation>,
        boards: Arc<Boards>,
        signer: Signer,
        settings: &HttpSettings,
        mails: bool,
    ) -> Pages {
        let origin = |url: &String| {
            let (scheme, rest) = url.split_once("://")?;
            Some(format!("{scheme}://{}", rest.split('/').next()?).to_ascii_lowercase())
        };
        Pages {
            evaluation,
            boards,
            signer,
            attempts: HttpLimiter::new(ATTEMPTS_PER_MINUTE),
            signup: settings.signup.signup,
            mails,
            trusted_proxies: settings.trusted_proxies.clone(),
            public_origin: settings.public_url.as_ref().and_then(origin),
        }
    }

    /// The address that limits count a request under.
    fn address(&self, request: &HttpRequest) -> String {
        let forwarded_for = request.headers().get(FORWARDED_FOR).and_then(|value| value.to_str().ok());
        origin(request.peer_addr().map(|address| address.ip()), forwarded_for, &self.trusted_proxies)
    }

    /// Scheme and host by which a browser found this server, for links that are handed on.
    fn origin(&self, request: &HttpRequest) -> String {
        let found = request.connection_info();
        self.public_origin.clone().unwrap_or_else(|| format!("{}://{}", found.scheme(), found.host()))
    }

    /// Whether browsers reach this server by TLS alone.
    fn is_secure(&self) -> bool {
        self.public_origin.as_ref().is_some_and(|origin| origin.starts_with("https://"))
    }
}

/// The routes of the pages.
pub fn routes(config: &mut web::ServiceConfig) {
    config.service(web::resource("/").guard(guard::Get()).to(find_board)).configure(assets::routes);
    let mut page = |path: &str, routes: Vec<Route>| add_page(config, path, routes);
    page("/entries/{id}", vec![web::get().to(entry::show)]);
    page("/og/board.png", vec![web::get().to(og::show_board)]);
    page("/og/entries/{file}", vec![web::get().to(og::show_entry)]);
    page("/judge", vec![web::get().to(judge::show)]);
    page("/judge/agreement", vec![web::get().to(agreement::show)]);
    page("/about", vec![web::get().to(about::show)]);
    page("/compare", vec![web::get().to(compare::show)]);
    page("/sign-in", vec![web::get().to(sign_in::show), web::post().to(sign_in::sign_in)]);
    page("/sign-out", vec![web::post().to(sign_in::sign_out)]);
    page("/submit", vec![web::get().to(submit::show), web::post().to(submit::create_submission)]);
    page("/submissions", vec![web::get().to(submissions::list)]);
    page("/submissions/{id}", vec![web::get().to(submissions::show)]);
    page("/submissions/{id}/progress", vec![web::get().to(submissions::find_progress)]);
    page("/submissions/{id}/answers", vec![web::get().to(answers::show)]);
    page("/submissions/{id}/details", vec![web::post().to(submissions::update_details)]);
    page("/submissions/{id}/reviewers-link", vec![web::post().to(submissions::create_link)]);
    page("/submissions/{id}/reviewers-link/end", vec![web::post().to(submissions::end_link)]);
    page("/submissions/{id}/visibility", vec![web::post().to(submissions::update_visibility)]);
    page("/submissions/{id}/withdraw", vec![web::post().to(submissions::withdraw)]);
    page("/submissions/{id}/cancel", vec![web::post().to(submissions::cancel)]);
    page("/quota", vec![web::get().to(quota::show)]);
    page("/keys", vec![web::get().to(keys::show), web::post().to(keys::create)]);
    page("/keys/{id}/rotate", vec![web::post().to(keys::rotate)]);
    page("/keys/{id}/revoke", vec![web::post().to(keys::revoke)]);
    page("/review/{token}", vec![web::get().to(review::show)]);
    page("/sign-up", vec![web::get().to(sign_up::show), web::post().to(sign_up::create)]);
    page("/sign-up/{claim}", vec![web::get().to(sign_up::follow)]);
    page("/sign-up/{claim}/key", vec![web::post().to(sign_up::tell_key)]);
    admin::routes(config);
}

/// Adds a page's address, which answers with a page when it is asked in another way than its `routes`.
fn add_page(config: &mut web::ServiceConfig, path: &str, routes: Vec<Route>) {
    let resource = web::resource(path).default_service(web::to(wrong_method));
    config.service(routes.into_iter().fold(resource, actix_web::Resource::route));
}

/// Whether an address that nothing stands at is to be answered by a page.
pub fn expects_page(request: &HttpRequest) -> bool {
    let accept = request.headers().get(header::ACCEPT).and_then(|value| value.to_str().ok());
    !request.path().starts_with("/api/") && accept.is_some_and(|accept| accept.contains("text/html"))
}

/// The page at an address that nothing stands at.
pub async fn unmatched() -> HttpResponse {
    let detail = "There is no page at this address. Check it for a slip, or start from the leaderboard.";
    refusal::html(StatusCode::NOT_FOUND, frame::message("This page does not exist", detail))
}

async fn wrong_method(request: HttpRequest) -> HttpResponse {
    let detail = "This address is not asked in this way. Start from the leaderboard.";
    let page = frame::message("This page is not asked like that", detail);
    let mut response = refusal::html(StatusCode::METHOD_NOT_ALLOWED, page);
    let allowed = if request.method() == Method::GET { "POST" } else { "GET, HEAD" };
    response.headers_mut().insert(header::ALLOW, header::HeaderValue::from_static(allowed));
    response
}

async fn find_board(
    request: HttpRequest,
    pages: web::Data<Pages>,
    parameters: web::Query<Vec<(String, String)>>,
) -> HttpResponse {
    let view = match BoardView::read(parameters.into_inner()) {
        Ok(view) => view,
        Err(error) => return message(StatusCode::BAD_REQUEST, NO_BOARD, &error.to_string()),
    };
    let store = &pages.evaluation.store;
    let (query, variant) = (view.board.clone(), view.variant());
    let origin = pages.public_origin.clone();
    let render = move |board: &Leaderboard| board::page(board, &view, origin.as_deref());
    match pages.boards.rendered(store, query, variant, render).await {
        Ok(rendered) => prepared(&request, &rendered, "text/html; charset=utf-8").await,
        Err(error @ (BoardQueryError::UnknownJudge { .. } | BoardQueryError::UnknownRelease { .. })) => {
            message(StatusCode::NOT_FOUND, NO_BOARD, &error.to_string())
        }
        Err(error) => {
            tracing::error!(%error, "the board could not be built");
            let detail = "The database is not to be reached. Try again in a moment.";
            message(StatusCode::SERVICE_UNAVAILABLE, "The board cannot be shown", detail)
        }
    }
}

/// The answer to a request for something that was made before.
async fn prepared(request: &HttpRequest, rendered: &Rendered, content_type: &str) -> HttpResponse {
    let text = |name: header::HeaderName| request.headers().get(name)?.to_str().ok();
    // A PNG is compressed already.
    let coding = text(header::ACCEPT_ENCODING).filter(|_| content_type != "image/png");
    let answer = rendered.answer(text(header::IF_NONE_MATCH), coding).await;
    let mut response = if answer.is_some() { HttpResponse::Ok() } else { HttpResponse::NotModified() };
    response
        .insert_header((header::ETAG, rendered.etag()))
        .insert_header((header::CACHE_CONTROL, "no-cache"))
        .insert_header((header::VARY, "accept-encoding"));
    let Some((coding, body)) = answer else { return response.finish() };
    if let Some(coding) = coding {
        response.insert_header((header::CONTENT_ENCODING, coding.as_str()));
    }
    let parts = stream::iter(Rendered::parts(body.clone()).map(Ok::<_, Infallible>));
    response.content_type(content_type).body(SizedStream::new(body.len() as u64, parts))
}

fn message(status: StatusCode, title: &str, detail: &str) -> HttpResponse {
    refusal::html(status, frame::message(title, detail))
}
