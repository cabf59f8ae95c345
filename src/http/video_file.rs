//! The videos' files, whole or in parts.

use std::io;
use std::ops::Range;

use actix_web::body::SizedStream;
use actix_web::http::StatusCode;
use actix_web::http::header::{self, EntityTag};
use actix_web::{HttpRequest, HttpResponse, get, web};
use bytes::Bytes;
use futures::stream::{self, Stream, StreamExt as _};

use super::Shared;
use super::auth::TeamOnly;
use super::error::{Answer, Problem};
use super::range::{Wanted, is_known, wanted};
use super::videos::{find_added_video, missing};
use crate::media::Kept;

/// A video's file
///
/// `Range`, `If-Range` and `If-None-Match` are honoured; the entity tag is the file's SHA-256.
#[utoipa::path(
    tag = "questions",
    security(("bearer" = [])),
    params(("key" = String, Path, description = "The `id` of a question's video")),
    responses(
        (status = 200, description = "The file", content_type = "video/mp4"),
        (status = 206, description = "The parts that `Range` asks for"),
        (status = 304, description = "The file that `If-None-Match` names still stands"),
        (status = 404, description = "No active release has such a video (`not_found`), or its file was not added (`video_missing`)", body = Problem, content_type = "application/problem+json"),
        (status = 416, description = "The file has no such bytes", body = Problem, content_type = "application/problem+json"),
        (status = 503, description = "The bucket of the videos is not to be reached", body = Problem, content_type = "application/problem+json"),
    )
)]
#[get("/api/v1/videos/{key}/file")]
pub async fn find_video_file(
    request: HttpRequest,
    state: Shared,
    _team: TeamOnly,
    key: web::Path<String>,
) -> Answer<HttpResponse> {
    let (name, row) = find_added_video(&state, &key).await?;
    let etag = EntityTag::new_strong(row.sha256.clone());
    let length = u64::try_from(row.bytes).unwrap_or_default();
    let file = state.media.find(&row.sha256, length).await?.ok_or_else(|| missing(&key))?;
    let mut answer = HttpResponse::Ok();
    answer
        .insert_header((header::ETAG, etag.to_string()))
        .insert_header((header::ACCEPT_RANGES, "bytes"))
        // Another release may have another file for the same key.
        .insert_header((header::CACHE_CONTROL, "private, no-cache"));
    if is_known(&request, &etag) {
        return Ok(answer.status(StatusCode::NOT_MODIFIED).finish());
    }
    let content_type = content_type(&name);
    let pieces = match wanted(&request, &etag, length) {
        Wanted::Whole => {
            answer.content_type(content_type);
            vec![Piece::File(0..length)]
        }
        Wanted::Parts(parts) if parts.len() == 1 => {
            answer.status(StatusCode::PARTIAL_CONTENT).content_type(content_type);
            answer.insert_header((header::CONTENT_RANGE, content_range(&parts[0], length)));
            parts.into_iter().map(Piece::File).collect()
        }
        Wanted::Parts(parts) => {
            let boundary = uuid::Uuid::new_v4().simple().to_string();
            answer.status(StatusCode::PARTIAL_CONTENT);
            answer.content_type(format!("multipart/byteranges; boundary={boundary}"));
            multipart(parts, &boundary, content_type, length)
        }
        Wanted::Unsatisfiable => {
            let detail = format!("the file has {length} bytes, and none of those that `Range` asks for");
            let problem = Problem::new(StatusCode::RANGE_NOT_SATISFIABLE, "range_not_satisfiable", detail);
            let mut answer = actix_web::ResponseError::error_response(&problem);
            let value =
                header::HeaderValue::from_str(&format!("bytes */{length}")).map_err(Problem::internal)?;
            answer.headers_mut().insert(header::CONTENT_RANGE, value);
            return Ok(answer);
        }
    };
    // Bytes are counted, so that nothing may be compressed on the way.
    answer.insert_header(header::ContentEncoding::Identity);
    let sum = pieces.iter().map(Piece::length).sum();
    Ok(answer.body(SizedStream::new(sum, Box::pin(send(file, pieces)))))
}

/// A piece of an answer's body.
#[derive(Debug)]
enum Piece {
    Text(Bytes),
    File(Range<u64>),
}

impl Piece {
    fn length(&self) -> u64 {
        match self {
            Piece::Text(text) => text.len() as u64,
            Piece::File(range) => range.end - range.start,
        }
    }
}

/// Several parts, each under a head of its own.
fn multipart(parts: Vec<Range<u64>>, boundary: &str, content_type: &str, length: u64) -> Vec<Piece> {
    let mut pieces = Vec::new();
    for part in parts {
        let range = content_range(&part, length);
        let head =
            format!("\r\n--{boundary}\r\nContent-Type: {content_type}\r\nContent-Range: {range}\r\n\r\n");
        pieces.extend([Piece::Text(head.into()), Piece::File(part)]);
    }
    pieces.push(Piece::Text(format!("\r\n--{boundary}--\r\n").into()));
    pieces
}

fn content_range(part: &Range<u64>, length: u64) -> String {
    format!("bytes {}-{}/{length}", part.start, part.end - 1)
}

/// Reads the pieces one after the other, each when the one before is on its way.
fn send(file: Kept, pieces: Vec<Piece>) -> impl Stream<Item = io::Result<Bytes>> {
    stream::iter(pieces).flat_map(move |piece| match piece {
        Piece::Text(text) => stream::iter([Ok(text)]).boxed(),
        Piece::File(range) => file.stream(range),
    })
}

/// The media type of a file with this name.
fn content_type(name: &str) -> &'static str {
    let ending = name.rsplit_once('.').map(|(_, ending)| ending.to_ascii_lowercase());
    match ending.as_deref() {
        Some("mp4" | "m4v") => "video/mp4",
        Some("webm") => "video/webm",
        Some("mov") => "video/quicktime",
        Some("mkv") => "video/x-matroska",
        Some("avi") => "video/x-msvideo",
        Some("mpg" | "mpeg") => "video/mpeg",
        Some("ts") => "video/mp2t",
        Some("ogv") => "video/ogg",
        Some("flv") => "video/x-flv",
        Some("3gp") => "video/3gpp",
        _ => "application/octet-stream",
    }
}
