//! The HTTP server of the API and the pages: which routes there are, in which order they are tried, and what stands around
//! them. Knows nothing of what they do.

use std::net::SocketAddr;
use std::time::Duration;

use actix_web::dev::Server;
use actix_web::middleware::{Compress, from_fn};
use actix_web::{App, HttpRequest, HttpResponse, HttpServer, web};
use utoipa_swagger_ui::{Config as DocsConfig, SwaggerUi};

use super::StartError;
use crate::http::{self, Problem, State};
use crate::web as pages;

/// A request's head must have come by then.
const HEAD_TIMEOUT: Duration = Duration::from_secs(15);

/// How long a connection may be idle: longer than most proxies and clients keep one, which is a minute. Whoever uses it
/// again just when it is closed gets no answer.
const KEEP_ALIVE: Duration = Duration::from_secs(75);

/// The server at an address, which gives requests under way so long when it stops.
pub(super) fn api_server(
    listen: SocketAddr,
    shutdown: Duration,
    state: web::Data<State>,
    pages: web::Data<pages::Pages>,
) -> Result<(Server, SocketAddr), StartError> {
    let server = HttpServer::new(move || {
        App::new()
            .wrap(Compress::default())
            // Outermost, so that no answer goes out without its id and its line in the log.
            .wrap(from_fn(http::guard))
            .app_data(state.clone())
            .app_data(pages.clone())
            .configure(http::extractor_errors)
            .configure(http::routes)
            .configure(pages::routes)
            .service(web::redirect("/docs", "/docs/"))
            .service(SwaggerUi::new("/docs/{_:.*}").config(docs_config()))
            .default_service(web::to(unmatched))
    });
    let server = server
        .client_request_timeout(HEAD_TIMEOUT)
        .keep_alive(KEEP_ALIVE)
        .shutdown_timeout(shutdown.as_secs())
        // Whoever has gone away follows nothing any more; what was begun in the database ends all the same.
        .h1_allow_half_closed(false)
        .disable_signals()
        .bind(listen)
        .map_err(|error| StartError::Listen(listen, error))?;
    let address = server.addrs().first().copied().unwrap_or(listen);
    Ok((server.run(), address))
}

/// The answer to a request that no route takes: a page for browsers, a problem for programs.
async fn unmatched(request: HttpRequest) -> Result<HttpResponse, Problem> {
    if pages::expects_page(&request) { Ok(pages::unmatched().await) } else { http::unmatched(request).await }
}

/// The browser page of the API; without a validator, which would be a foreign host that is told of the document.
fn docs_config() -> DocsConfig<'static> {
    DocsConfig::from("/api/v1/openapi.json").validator_url("none")
}
