//! What happens to every request before and after its handler: an id, who asks, the rate limit, headers, metrics and
//! the log line. Knows no route.

use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use actix_web::body::{BodySize, BoxBody, MessageBody, None as NoBody};
use actix_web::dev::{RequestHead, ServiceRequest, ServiceResponse};
use actix_web::http::header::{self, HeaderMap, HeaderName, HeaderValue};
use actix_web::http::{ConnectionType, Method, StatusCode};
use actix_web::middleware::Next;
use actix_web::{HttpMessage as _, ResponseError as _, web};
use tracing::field::Empty;
use tracing::{Instrument as _, Span};

use super::State;
use super::error::{Cause, Problem};
use crate::accounts::{Principal, Unauthenticated, authenticate};
use crate::limiter::{HttpLimiter, Turn, origin};
use crate::telemetry::SPANS;

const REQUEST_ID: HeaderName = HeaderName::from_static("x-request-id");
const FORWARDED_FOR: &str = "x-forwarded-for";
const RATE_LIMIT: HeaderName = HeaderName::from_static("ratelimit");
const RATE_LIMIT_POLICY: HeaderName = HeaderName::from_static("ratelimit-policy");

/// The methods that metrics tell apart; a client may make up any number of others.
const KNOWN_METHODS: [Method; 7] =
    [Method::GET, Method::HEAD, Method::POST, Method::PUT, Method::PATCH, Method::DELETE, Method::OPTIONS];

/// The route of a request that none takes.
const UNMATCHED: &str = "unmatched";
/// The methods that ask for no change.
const READING: [Method; 3] = [Method::GET, Method::HEAD, Method::OPTIONS];
/// Where a server says whether it is ready.
const READINESS: &str = "/readyz";

/// Routes that probes ask all day.
const UNLIMITED: [&str; 2] = ["/healthz", READINESS];

/// Routes below a video are media, which are counted apart.
const VIDEOS: &str = "/api/v1/videos/";

/// Who a request says it comes from, as its handler finds it.
pub(super) type Identity = Result<Principal, Unauthenticated>;

/// What a page may load: nothing but this server's own files, and no script in the page itself.
const CONTENT_POLICY: HeaderValue = HeaderValue::from_static(
    "default-src 'none'; style-src 'self'; img-src 'self' data:; script-src 'self'; connect-src 'self'; \
     form-action 'self'; base-uri 'none'; frame-ancestors 'none'",
);

/// The same for the browser page of the API, whose vendored scripts set styles.
const DOCS_POLICY: HeaderValue = HeaderValue::from_static(
    "default-src 'none'; style-src 'self' 'unsafe-inline'; img-src 'self' data:; script-src 'self'; \
     connect-src 'self'; font-src 'self' data:; base-uri 'none'; frame-ancestors 'none'",
);

/// What the API's own answers may load, should a browser show one: nothing.
const DATA_POLICY: HeaderValue = HeaderValue::from_static("default-src 'none'; frame-ancestors 'none'");

/// Headers that keep a browser from doing more with an answer than showing it.
fn secure(headers: &mut HeaderMap, path: &str) {
    let policy = match path {
        _ if path.starts_with("/api/") => DATA_POLICY,
        _ if path.starts_with("/docs") => DOCS_POLICY,
        _ => CONTENT_POLICY,
    };
    headers.insert(header::CONTENT_SECURITY_POLICY, policy);
    headers.insert(header::X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    // Not `no-referrer`: a form's `Origin` would be `null` with it.
    headers.insert(header::REFERRER_POLICY, HeaderValue::from_static("same-origin"));
}

/// Lets a request through to its handler, or not, and writes down what came of it.
///
/// # Errors
/// Those of the handler.
pub async fn guard(
    mut request: ServiceRequest,
    next: Next<impl MessageBody + 'static>,
) -> Result<ServiceResponse<BoxBody>, actix_web::Error> {
    let started = Instant::now();
    let mut request_id = uuid::Uuid::encode_buffer();
    let request_id = uuid::Uuid::now_v7().hyphenated().encode_lower(&mut request_id);
    let method = request.method().clone();
    if method == Method::HEAD {
        // Answered as GET; the connection remembers what was asked and sends no body.
        request.head_mut().method = Method::GET;
    }
    let Some(state) = request.app_data::<web::Data<State>>().cloned() else {
        return Ok(next.call(request).await?.map_into_boxed_body());
    };
    let span = tracing::info_span!(
        target: SPANS,
        "request",
        otel.name = Empty,
        otel.kind = "server",
        otel.status_code = Empty,
        request_id = &*request_id,
        http.request.method = known(&method),
        http.route = Empty,
        http.response.status_code = Empty,
    );
    let turn = admit(&state, &request).instrument(span.clone()).await;
    let mut response = match turn {
        _ if state.evaluation.store.is_read_only() && !READING.contains(&method) => {
            let (request, _) = request.into_parts();
            ServiceResponse::new(request, Problem::read_only().error_response())
        }
        Some(Turn::Wait(wait)) => {
            let (request, _) = request.into_parts();
            let answer = too_many(wait).error_response();
            ServiceResponse::new(request, answer)
        }
        _ => next.call(request).instrument(span.clone()).await?.map_into_boxed_body(),
    };
    if method == Method::HEAD && matches!(response.response().body().size(), BodySize::Stream) {
        // Nothing would be sent of it, and it may have no end.
        response = response.map_body(|_, _| BoxBody::new(NoBody::new()));
    }
    let request = response.request().clone();
    if response.status() == StatusCode::NOT_ACCEPTABLE {
        response = ServiceResponse::new(request.clone(), not_acceptable().error_response());
    }
    secure(response.headers_mut(), request.path());
    note_limit(response.headers_mut(), limiter(&state, request.path()), turn);
    if state.draining.load(Ordering::Relaxed) {
        // The next request shall come over a connection of its own, which a proxy leads elsewhere.
        response.response_mut().head_mut().set_connection_type(ConnectionType::Close);
    }
    if let Ok(value) = HeaderValue::from_str(request_id) {
        response.headers_mut().insert(REQUEST_ID, value);
    }
    let method = known(&method);
    record(&state, method, request_id, &response, started.elapsed());
    end_span(&span, method, &response);
    Ok(response)
}

/// The answer where a client takes no coding that there is, nor the plain body: the only 406, and one without a word.
fn not_acceptable() -> Problem {
    let detail = "`Accept-Encoding` leaves none of `br`, `gzip` and `identity`; allow one of them";
    Problem::new(StatusCode::NOT_ACCEPTABLE, "not_acceptable", detail)
}

/// The name of a method among those that are told apart.
fn known(method: &Method) -> &str {
    if KNOWN_METHODS.contains(method) { method.as_str() } else { "other" }
}

/// Writes what is known only now into a request's span.
fn end_span(span: &Span, method: &str, response: &ServiceResponse<BoxBody>) {
    if span.is_disabled() {
        return;
    }
    let pattern = response.request().match_pattern();
    let route = pattern.as_deref().unwrap_or(UNMATCHED);
    span.record("otel.name", format!("{method} {route}"));
    span.record("http.route", route);
    span.record("http.response.status_code", response.status().as_u16());
    if response.status().is_server_error() {
        span.record("otel.status_code", "ERROR");
    }
}

/// Finds out who asks and counts the request; none where there is no limit.
async fn admit(state: &State, request: &ServiceRequest) -> Option<Turn> {
    let mut key_id = None;
    if state.evaluation.store.is_read_only() {
        request.extensions_mut().insert::<Identity>(Err(Unauthenticated::ReadOnly));
    } else if let Some(credential) = request.headers().get(header::AUTHORIZATION) {
        let identity = match credential.to_str().ok().and_then(bearer) {
            Some(credential) => {
                let evaluation = &state.evaluation;
                let place = address(state, request.head());
                authenticate(&evaluation.store, &state.signer, credential, place, evaluation.clock.now_ms())
                    .await
            }
            None => Err(Unauthenticated::Unknown),
        };
        key_id = identity.as_ref().ok().map(|principal| principal.key_id.clone());
        request.extensions_mut().insert(identity);
    }
    let limiter = limiter(state, request.path())?;
    // A credential that nobody holds counts against the address: guessing keys shall not lift the limit.
    Some(limiter.take(&key_id.unwrap_or_else(|| address(state, request.head()))))
}

/// What counts the requests for an address.
fn limiter<'a>(state: &'a State, path: &str) -> Option<&'a HttpLimiter> {
    let of_video = path.strip_prefix(VIDEOS).and_then(|rest| rest.split_once('/'));
    match of_video {
        _ if UNLIMITED.contains(&path) => None,
        Some((_, below)) if below == "file" || below.starts_with("frames") => state.media_limiter.as_ref(),
        _ => state.limiter.as_ref(),
    }
}

fn bearer(value: &str) -> Option<&str> {
    let (scheme, credential) = value.split_once(' ')?;
    scheme.eq_ignore_ascii_case("bearer").then(|| credential.trim())
}

/// The name under which a request without a key is counted.
pub(super) fn address(state: &State, head: &RequestHead) -> String {
    let forwarded_for = head.headers().get(FORWARDED_FOR).and_then(|value| value.to_str().ok());
    origin(head.peer_addr.map(|address| address.ip()), forwarded_for, &state.trusted_proxies)
}

fn too_many(wait: Duration) -> Problem {
    let seconds = wait.as_secs() + 1;
    let detail = format!("too many requests; wait {seconds} s");
    Problem::new(StatusCode::TOO_MANY_REQUESTS, "rate_limited", detail).retry_after(seconds)
}

fn note_limit(headers: &mut HeaderMap, limiter: Option<&HttpLimiter>, turn: Option<Turn>) {
    let (Some(turn), Some(limiter)) = (turn, limiter) else { return };
    let (remaining, reset_s) = match turn {
        Turn::Pass { remaining } => (remaining, 60),
        Turn::Wait(wait) => (0, wait.as_secs() + 1),
    };
    let values = [
        (RATE_LIMIT, format!("\"minute\";r={remaining};t={reset_s}")),
        (RATE_LIMIT_POLICY, format!("\"minute\";q={};w=60", limiter.per_minute())),
    ];
    for (name, value) in values {
        if let Ok(value) = HeaderValue::from_str(&value) {
            headers.insert(name, value);
        }
    }
}

fn record(
    state: &State,
    method: &str,
    request_id: &str,
    response: &ServiceResponse<BoxBody>,
    took: Duration,
) {
    let status = response.status();
    let pattern = response.request().match_pattern();
    let route = pattern.as_deref().unwrap_or(UNMATCHED);
    let metrics = &state.evaluation.metrics;
    metrics.http_requests.with_label_values(&[method, route, status.as_str()]).inc();
    metrics.http_duration.with_label_values(&[method, route]).observe(took.as_secs_f64());
    let took_ms = took.as_secs_f64() * 1000.0;
    let says_that_it_stops = route == READINESS && state.draining.load(Ordering::Relaxed);
    if status.is_server_error() && !says_that_it_stops {
        let extensions = response.response().extensions();
        let cause = extensions.get::<Cause>().map_or("", |cause| cause.0.as_str());
        tracing::error!(
            request_id,
            method,
            route,
            status = status.as_u16(),
            took_ms,
            cause,
            "request failed"
        );
    } else if method == "GET" || method == "HEAD" {
        tracing::debug!(request_id, method, route, status = status.as_u16(), took_ms, "request");
    } else {
        tracing::info!(request_id, method, route, status = status.as_u16(), took_ms, "request");
    }
}
