//! The OpenAPI document, made from the handlers, and the routes that it names.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use actix_web::dev::{HttpServiceFactory, Path, ResourceDef};
use actix_web::http::Method;
use actix_web::{App, HttpResponse, get, web};
use serde::Deserialize;
use serde::de::IgnoredAny;
use utoipa::OpenApi as _;
use utoipa::openapi::security::{HttpAuthScheme, HttpBuilder, SecurityRequirement, SecurityScheme};
use utoipa::openapi::{Content, OpenApi, Ref, RefOr, Response, ResponseBuilder};
use utoipa_actix_web::service_config::ServiceConfig;
use utoipa_actix_web::{AppExt as _, OpenApiFactory};

use super::auth::team_scope;
use crate::domain::key::Scope;
use crate::telemetry::Metrics;

/// What the routes of the maintainers begin with.
const ADMIN: &str = "/api/v1/admin/";

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
        (name = "teams", description = "Who asks, with which keys and how often; and signing up"),
        (name = "questions", description = "What is asked"),
        (name = "submissions", description = "A team's prediction files"),
        (name = "administration", description = "For maintainers"),
        (name = "health", description = "For probes"),
    )
)]
struct Document;

/// What takes routes: a server, which serves them, or the document, which describes them. A server that described them too
/// would do so again in each of its threads, and hold on to the memory.
pub trait Routes {
    /// Takes a route.
    fn service(&mut self, route: impl HttpServiceFactory + OpenApiFactory + 'static) -> &mut Self;
}

impl Routes for web::ServiceConfig {
    fn service(&mut self, route: impl HttpServiceFactory + OpenApiFactory + 'static) -> &mut Self {
        self.service(route)
    }
}

impl Routes for ServiceConfig<'_> {
    fn service(&mut self, route: impl HttpServiceFactory + OpenApiFactory + 'static) -> &mut Self {
        self.service(route)
    }
}

/// The document that stands in `openapi/openapi.json`.
pub fn document() -> OpenApi {
    let (_, mut document) = App::new()
        .into_utoipa_app()
        .openapi(Document::openapi())
        .configure(|config| super::routes(config))
        .split_for_parts();
    let bearer = HttpBuilder::new()
        .scheme(HttpAuthScheme::Bearer)
        .description(Some("An API key `sk_secchi_…`, or the token that it was exchanged for"))
        .build();
    if let Some(components) = &mut document.components {
        components.add_security_scheme("bearer", SecurityScheme::Http(bearer));
    }
    state_keys(&mut document);
    document
}

/// States with each operation that needs a key the scope that it needs, and what the lack of either is answered.
fn state_keys(document: &mut OpenApi) {
    for (route, item) in &mut document.paths.paths {
        let is_admin = route.starts_with(ADMIN);
        let methods = [
            (Method::GET, &mut item.get),
            (Method::POST, &mut item.post),
            (Method::PATCH, &mut item.patch),
            (Method::DELETE, &mut item.delete),
        ];
        for (method, operation) in methods {
            let Some(operation) = operation.as_mut().filter(|operation| operation.security.is_some()) else {
                continue;
            };
            let scope = if is_admin { Scope::Admin } else { team_scope(&method) };
            operation.security = Some(vec![SecurityRequirement::new("bearer", [scope.as_str()])]);
            let answers = &mut operation.responses.responses;
            answers.insert("401".to_owned(), refusal("No valid key or token"));
            if is_admin {
                answers.insert("403".to_owned(), refusal("Not a maintainer"));
            }
        }
    }
}

/// A [`Problem`] as an answer of the document.
fn refusal(description: &str) -> RefOr<Response> {
    let problem = Content::new(Some(Ref::from_schema_name("Problem")));
    ResponseBuilder::new()
        .description(description)
        .content("application/problem+json", problem)
        .build()
        .into()
}

/// The document as it stands in the repository, which tests hold to [`document`]: to make it takes a server more memory than
/// all that it keeps.
const TEXT: &str = include_str!("../../openapi/openapi.json");

/// What a server needs to know of its own document.
#[derive(Deserialize)]
struct Described {
    paths: BTreeMap<String, DescribedPath>,
}

#[derive(Deserialize)]
struct DescribedPath {
    get: Option<DescribedOperation>,
    post: Option<DescribedOperation>,
    patch: Option<DescribedOperation>,
    delete: Option<DescribedOperation>,
}

#[derive(Deserialize)]
struct DescribedOperation {
    responses: BTreeMap<String, IgnoredAny>,
}

impl Described {
    #[expect(clippy::expect_used, reason = "the text is a constant, which tests hold to the document")]
    fn read() -> Described {
        serde_json::from_str(TEXT).expect("a document of OpenAPI")
    }
}

impl DescribedPath {
    fn operations(&self) -> impl Iterator<Item = (Method, &DescribedOperation)> {
        let known = [
            (Method::GET, &self.get),
            (Method::POST, &self.post),
            (Method::PATCH, &self.patch),
            (Method::DELETE, &self.delete),
        ];
        known.into_iter().filter_map(|(method, operation)| Some((method, operation.as_ref()?)))
    }
}

/// The OpenAPI document
#[utoipa::path(tag = "health", responses((status = 200, description = "This document", body = Object)))]
#[get("/api/v1/openapi.json")]
pub async fn find_document() -> HttpResponse {
    HttpResponse::Ok().content_type("application/json").body(TEXT)
}

/// The methods that the routes at an address take; none where there is no route.
pub(super) fn methods_at(path: &str) -> Vec<Method> {
    static ROUTES: LazyLock<Vec<(ResourceDef, Vec<Method>)>> = LazyLock::new(|| {
        let mut routes: Vec<_> = Described::read()
            .paths
            .iter()
            .map(|(pattern, path)| {
                (ResourceDef::new(pattern.as_str()), path.operations().map(|(method, _)| method).collect())
            })
            .collect();
        routes.push((ResourceDef::new(["/", "/assets/style.css"]), vec![Method::GET]));
        for (_, methods) in &mut routes {
            if let Some(place) = methods.iter().position(|method| method == Method::GET) {
                methods.insert(place + 1, Method::HEAD);
            }
        }
        routes
    });
    let matching = ROUTES.iter().find(|(pattern, _)| pattern.capture_match_info(&mut Path::new(path)));
    matching.map(|(_, methods)| methods.clone()).unwrap_or_default()
}

/// Makes the series of every operation and of the statuses that the document names for it stand from the start.
pub fn stand_at_zero(metrics: &Metrics) {
    // The board's page is no operation, and is as much asked for as the board itself.
    metrics.http_duration.with_label_values(&["GET", "/"]);
    for status in ["200", "304", "503"] {
        metrics.http_requests.with_label_values(&["GET", "/", status]);
    }
    for (route, path) in &Described::read().paths {
        for (method, operation) in path.operations() {
            metrics.http_duration.with_label_values(&[method.as_str(), route]);
            for status in operation.responses.keys() {
                metrics.http_requests.with_label_values(&[method.as_str(), route, status]);
            }
        }
    }
}
