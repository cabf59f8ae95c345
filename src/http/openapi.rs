//! The OpenAPI document, made from the handlers, and the routes that it names.

use std::sync::LazyLock;

use actix_web::dev::{Path, ResourceDef};
use actix_web::http::Method;
use actix_web::{App, HttpResponse, get};
use utoipa::OpenApi as _;
use utoipa::openapi::OpenApi;
use utoipa::openapi::path::PathItem;
use utoipa::openapi::security::{HttpAuthScheme, HttpBuilder, SecurityScheme};
use utoipa_actix_web::AppExt as _;

#[derive(utoipa::OpenApi)]
#[openapi(
    info(
        title = "Secchi",
        description = "Evaluation server and public leaderboard of MarineLife-16K. Errors are `application/problem+json`; \
                       every answer carries `X-Request-Id`.",
        license(name = "Apache-2.0", identifier = "Apache-2.0"),
    ),
    tags(
        (name = "board", description = "The public leaderboard"),
        (name = "teams", description = "Who asks"),
        (name = "questions", description = "What is asked"),
        (name = "submissions", description = "A team's prediction files"),
        (name = "administration", description = "For maintainers"),
        (name = "health", description = "For probes"),
    )
)]
struct Document;

/// The document that stands in `openapi/openapi.json`.
pub fn document() -> OpenApi {
    let (_, mut document) =
        App::new().into_utoipa_app().openapi(Document::openapi()).configure(super::routes).split_for_parts();
    let bearer = HttpBuilder::new()
        .scheme(HttpAuthScheme::Bearer)
        .description(Some("An API key `sk_secchi_…`, or the token that it was exchanged for"))
        .build();
    if let Some(components) = &mut document.components {
        components.add_security_scheme("bearer", SecurityScheme::Http(bearer));
    }
    document
}

/// The OpenAPI document
#[utoipa::path(tag = "health", responses((status = 200, description = "This document", body = Object)))]
#[get("/api/v1/openapi.json")]
pub async fn find_document() -> HttpResponse {
    static TEXT: LazyLock<String> = LazyLock::new(|| document().to_json().unwrap_or_default());
    HttpResponse::Ok().content_type("application/json").body(TEXT.as_str())
}

/// The methods that the routes at an address take; none where there is no route.
pub(super) fn methods_at(path: &str) -> Vec<Method> {
    static ROUTES: LazyLock<Vec<(ResourceDef, Vec<Method>)>> = LazyLock::new(|| {
        let mut routes: Vec<_> = document()
            .paths
            .paths
            .iter()
            .map(|(pattern, item)| (ResourceDef::new(pattern.as_str()), methods(item)))
            .collect();
        routes.push((ResourceDef::new("/"), vec![Method::GET, Method::HEAD]));
        routes
    });
    let matching = ROUTES.iter().find(|(pattern, _)| pattern.capture_match_info(&mut Path::new(path)));
    matching.map(|(_, methods)| methods.clone()).unwrap_or_default()
}

fn methods(item: &PathItem) -> Vec<Method> {
    let known = [
        (Method::GET, item.get.is_some()),
        (Method::HEAD, item.get.is_some()),
        (Method::POST, item.post.is_some()),
        (Method::PATCH, item.patch.is_some()),
        (Method::DELETE, item.delete.is_some()),
    ];
    known.into_iter().filter_map(|(method, taken)| taken.then_some(method)).collect()
}
