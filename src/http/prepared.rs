//! Answers from memory: what was made before is sent as it is, or not at all to whoever has it.

use std::convert::Infallible;

use actix_web::body::SizedStream;
use actix_web::http::header;
use actix_web::{HttpRequest, HttpResponse};
use futures::stream;

use crate::evaluation::rendered::Rendered;

/// The answer to a request for a body that was made before.
pub async fn prepared(request: &HttpRequest, rendered: &Rendered, content_type: &str) -> HttpResponse {
    let text = |name: header::HeaderName| request.headers().get(name)?.to_str().ok();
    let answer = rendered.answer(text(header::IF_NONE_MATCH), text(header::ACCEPT_ENCODING)).await;
    let mut response = if answer.is_some() { HttpResponse::Ok() } else { HttpResponse::NotModified() };
    response
        .insert_header((header::ETAG, rendered.etag()))
        .insert_header((header::CACHE_CONTROL, "no-cache"))
        .insert_header((header::VARY, "accept, accept-encoding"));
    let Some((coding, body)) = answer else { return response.finish() };
    if let Some(coding) = coding {
        response.insert_header((header::CONTENT_ENCODING, coding.as_str()));
    }
    let parts = stream::iter(Rendered::parts(body.clone()).map(Ok::<_, Infallible>));
    response.content_type(content_type).body(SizedStream::new(body.len() as u64, parts))
}
