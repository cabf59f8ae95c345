//! The frames of a video: their list, and each as a JPEG.

use actix_web::http::StatusCode;
use actix_web::http::header::{self, EntityTag};
use actix_web::{HttpRequest, HttpResponse, get, web};
use serde::{Deserialize, Serialize};

use super::Shared;
use super::auth::TeamOnly;
use super::error::{Answer, Problem};
use super::range::is_known;
use super::videos::{find_added_video, missing};
use crate::frames::{Choice, FrameFacts, FramesError};

/// Frames and pixels that may be asked for.
const N: (u32, u32, u32) = (1, 8, 64);
const SIZE: (u32, u32, u32) = (16, 512, 2048);

/// Which frames are wanted. As text, so that what is wrong with one can be named.
#[derive(Debug, Deserialize, utoipa::IntoParams)]
#[into_params(parameter_in = Query)]
#[serde(deny_unknown_fields)]
pub struct FrameQuery {
    /// How many, at even steps from the first to the last; one is the middle. Of a shorter video some come twice.
    #[param(value_type = Option<u32>, minimum = 1, maximum = 64, default = 8)]
    n: Option<String>,
    /// Pixels along the longest side; a video is never enlarged.
    #[param(value_type = Option<u32>, minimum = 16, maximum = 2048, default = 512)]
    size: Option<String>,
}

impl FrameQuery {
    fn choice(&self) -> Result<Choice, Problem> {
        Ok(Choice {
            n: number("n", self.n.as_deref(), N)?,
            size: number("size", self.size.as_deref(), SIZE)?,
        })
    }
}

fn number(name: &str, text: Option<&str>, (least, default, most): (u32, u32, u32)) -> Result<u32, Problem> {
    let Some(text) = text else { return Ok(default) };
    let number = text.parse().ok().filter(|number| (least..=most).contains(number));
    number.ok_or_else(|| {
        Problem::parameter(format!("`{name}` is `{text}`; give a whole number from {least} to {most}"))
    })
}

/// The frames of a video.
#[derive(Debug, Serialize, utoipa::ToSchema)]
pub struct FrameList {
    /// The video's key.
    id: String,
    /// How many were asked for.
    n: u32,
    /// Pixels along the longest side, at most.
    size: u32,
    /// The frames in their order.
    frames: Vec<FrameFacts>,
}

/// The frames of a video at even steps
///
/// Frame k of n is the one with number ⌊k·(F−1)/(n−1)⌋ of the F that a player shows.
#[utoipa::path(
    tag = "questions",
    security(("bearer" = [])),
    params(("key" = String, Path, description = "The `id` of a question's video"), FrameQuery),
    responses(
        (status = 200, description = "The frames", body = FrameList),
        (status = 400, description = "A parameter is wrong", body = Problem, content_type = "application/problem+json"),
        (status = 404, description = "No active release has such a video (`not_found`), or its file was not added (`video_missing`)", body = Problem, content_type = "application/problem+json"),
        (status = 503, description = "The bucket of the videos is not to be reached", body = Problem, content_type = "application/problem+json"),
    )
)]
#[get("/api/v1/videos/{key}/frames")]
pub async fn list_frames(
    state: Shared,
    _team: TeamOnly,
    key: web::Path<String>,
    query: web::Query<FrameQuery>,
) -> Answer<web::Json<FrameList>> {
    let choice = query.choice()?;
    let (_, video) = find_added_video(&state, &key).await?;
    let frames = state.frames.list(&video, choice).await.map_err(|error| problem(error, &key))?;
    Ok(web::Json(FrameList { id: key.into_inner(), n: choice.n, size: choice.size, frames }))
}

/// One of the frames of a video
///
/// Upright, and the same bytes whenever it is asked for; the entity tag is its SHA-256, as the list names it.
#[utoipa::path(
    tag = "questions",
    security(("bearer" = [])),
    params(
        ("key" = String, Path, description = "The `id` of a question's video"),
        ("i" = u32, Path, description = "The frame's place in the list, from 0"),
        FrameQuery,
    ),
    responses(
        (status = 200, description = "The frame", content_type = "image/jpeg"),
        (status = 304, description = "The frame that `If-None-Match` names still stands"),
        (status = 400, description = "A parameter is wrong", body = Problem, content_type = "application/problem+json"),
        (status = 404, description = "No active release has such a video or the list no such frame (`not_found`), or the video's file was not added (`video_missing`)", body = Problem, content_type = "application/problem+json"),
        (status = 503, description = "The bucket of the videos is not to be reached", body = Problem, content_type = "application/problem+json"),
    )
)]
#[get("/api/v1/videos/{key}/frames/{i}.jpg")]
pub async fn find_frame(
    request: HttpRequest,
    state: Shared,
    _team: TeamOnly,
    path: web::Path<(String, String)>,
    query: web::Query<FrameQuery>,
) -> Answer<HttpResponse> {
    let choice = query.choice()?;
    let (key, i) = path.into_inner();
    let (_, video) = find_added_video(&state, &key).await?;
    let i = i.parse().ok().filter(|i| *i < choice.n).ok_or_else(|| {
        Problem::not_found(format!(
            "there is no frame `{i}`; with n={} they are 0 to {}",
            choice.n,
            choice.n - 1
        ))
    })?;
    let (facts, jpeg) = state.frames.jpeg(&video, choice, i).await.map_err(|error| problem(error, &key))?;
    let etag = EntityTag::new_strong(facts.sha256);
    let mut answer = HttpResponse::Ok();
    answer
        .insert_header((header::ETAG, etag.to_string()))
        .insert_header((header::CACHE_CONTROL, "private, max-age=31536000, immutable"));
    if is_known(&request, &etag) {
        return Ok(answer.status(StatusCode::NOT_MODIFIED).finish());
    }
    Ok(answer.content_type("image/jpeg").body(jpeg))
}

fn problem(error: FramesError, key: &str) -> Problem {
    match error {
        FramesError::Missing => missing(key),
        FramesError::Media(error) => error.into(),
        FramesError::Video(..) | FramesError::Disk(_) | FramesError::Task(_) => Problem::internal(error),
    }
}
