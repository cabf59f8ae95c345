//! What reaches no handler: bodies, queries and paths that the framework refuses, and requests that no route takes. Knows
//! nothing of what handlers say.

use actix_web::error::{JsonPayloadError, PathError, QueryPayloadError};
use actix_web::http::header::{self, HeaderValue};
use actix_web::http::{Method, StatusCode};
use actix_web::{HttpRequest, HttpResponse, ResponseError as _, web};

use super::error::Problem;

/// Bytes of a JSON body: twice what the longest description takes.
const MAX_JSON_BYTES: usize = 100_000;

/// Makes the framework's own refusals of a body, query or path problems too.
pub fn extractor_errors(config: &mut web::ServiceConfig) {
    let json = |error: JsonPayloadError, _: &HttpRequest| {
        let problem = match &error {
            JsonPayloadError::OverflowKnownLength { .. } | JsonPayloadError::Overflow { .. } => Problem::new(
                StatusCode::PAYLOAD_TOO_LARGE,
                "too_large",
                "the body is too large for this route",
            ),
            JsonPayloadError::ContentType => {
                let detail = "the body must be JSON; send `Content-Type: application/json`";
                Problem::new(StatusCode::UNSUPPORTED_MEDIA_TYPE, "unsupported_media_type", detail)
            }
            JsonPayloadError::Deserialize(error) if error.is_data() => {
                Problem::new(StatusCode::UNPROCESSABLE_ENTITY, "invalid_body", format!("the body: {error}"))
            }
            _ => Problem::new(
                StatusCode::BAD_REQUEST,
                "malformed_json",
                format!("the body is no JSON: {error}"),
            ),
        };
        problem.into()
    };
    let query =
        |error: QueryPayloadError, _: &HttpRequest| Problem::parameter(format!("the query: {error}")).into();
    let path = |_: PathError, request: &HttpRequest| {
        let given = request.match_info().iter().last().map_or("", |(_, value)| value);
        Problem::not_found(format!("`{given}` names nothing here; check that it was copied whole")).into()
    };
    config
        .app_data(web::JsonConfig::default().limit(MAX_JSON_BYTES).error_handler(json))
        .app_data(web::QueryConfig::default().error_handler(query))
        .app_data(web::PathConfig::default().error_handler(path));
}

/// The answer to a request that no route takes: 405 where another method would do, else 404.
pub async fn unmatched(request: HttpRequest) -> Result<HttpResponse, Problem> {
    let allowed = super::openapi::methods_at(request.path());
    if allowed.is_empty() {
        return Err(Problem::not_found(format!(
            "there is nothing at `{}`; `/docs` lists what there is",
            request.path()
        )));
    }
    let methods = allowed.iter().map(Method::as_str).collect::<Vec<_>>().join(", ");
    let detail = format!("`{}` does not take {}; it takes {methods}", request.path(), request.method());
    let problem = Problem::new(StatusCode::METHOD_NOT_ALLOWED, "method_not_allowed", detail);
    let mut response = problem.error_response();
    if let Ok(value) = HeaderValue::from_str(&methods) {
        response.headers_mut().insert(header::ALLOW, value);
    }
    Ok(response)
}
