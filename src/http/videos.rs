//! What is known of a video's file.

use actix_web::http::StatusCode;
use actix_web::{get, web};
use serde::Serialize;

use super::auth::TeamOnly;
use super::error::{Answer, Problem};
use super::{Shared, State};
use crate::domain::question::Split;
use crate::store::StoreError;
use crate::store::releases::find_active_release;
use crate::store::videos::{ReleaseVideo, VideoFileRow, find_release_video};

/// The facts of a video.
#[derive(Debug, Serialize, utoipa::ToSchema)]
pub struct Video {
    /// The video's key.
    id: String,
    /// How long it plays; null, as all below, while the server has not seen its file.
    duration_ms: Option<i64>,
    /// Pixels across, before rotation.
    width: Option<i32>,
    /// Pixels down, before rotation.
    height: Option<i32>,
    /// The average.
    frames_per_second: Option<f64>,
    /// Frames that a player shows.
    frames: Option<i32>,
    /// The codec's name.
    codec: Option<String>,
    /// Degrees counterclockwise by which a player turns the picture, as ffprobe tells them.
    rotation: Option<i32>,
    /// The file's size.
    bytes: Option<i64>,
    /// The file's hash, in hex.
    sha256: Option<String>,
}

/// What is known of a video's file
#[utoipa::path(
    tag = "questions",
    security(("bearer" = [])),
    params(("key" = String, Path, description = "The `id` of a question's video")),
    responses(
        (status = 200, description = "The facts", body = Video),
        (status = 404, description = "No active release has such a video", body = Problem, content_type = "application/problem+json"),
    )
)]
#[get("/api/v1/videos/{key}")]
pub async fn find_video(state: Shared, _team: TeamOnly, key: web::Path<String>) -> Answer<web::Json<Video>> {
    let id = key.into_inner();
    let file = find_in_active(&state, &id).await?.file;
    let of = |number: fn(&VideoFileRow) -> i32| file.as_ref().map(number);
    Ok(web::Json(Video {
        id,
        width: of(|file| file.width),
        height: of(|file| file.height),
        frames: of(|file| file.frames),
        rotation: of(|file| file.rotation),
        duration_ms: file.as_ref().map(|file| file.duration_ms),
        frames_per_second: file.as_ref().map(|file| file.frames_per_second),
        bytes: file.as_ref().map(|file| file.bytes),
        codec: file.as_ref().map(|file| file.codec.clone()),
        sha256: file.map(|file| file.sha256),
    }))
}

/// The file's name and what is known of it, of a video whose file was added.
pub(super) async fn find_added_video(state: &State, key: &str) -> Answer<(String, VideoFileRow)> {
    let video = find_in_active(state, key).await?;
    let file = video.file.ok_or_else(|| missing(key))?;
    Ok((video.video_file, file))
}

/// 404 for a video without a file.
pub(super) fn missing(key: &str) -> Problem {
    let detail = format!("the maintainers have not added the file of the video `{key}`; ask them for it");
    Problem::new(StatusCode::NOT_FOUND, "video_missing", detail)
}

/// Looks in the active releases of the splits that teams answer.
async fn find_in_active(state: &State, key: &str) -> Answer<ReleaseVideo> {
    let wanted = key.to_owned();
    let found: Result<Option<ReleaseVideo>, StoreError> = state
        .evaluation
        .store
        .read(move |connection| {
            // No key holds a null character, and PostgreSQL would not even look for it.
            if wanted.contains('\0') {
                return Ok(None);
            }
            for split in [Split::Test, Split::Val] {
                if let Some(release) = find_active_release(connection, split)?
                    && let Some(video) = find_release_video(connection, &release.id, &wanted)?
                {
                    return Ok(Some(video));
                }
            }
            Ok(None)
        })
        .await;
    found?.ok_or_else(|| Problem::not_found(format!("no active release has a video `{key}`")))
}
