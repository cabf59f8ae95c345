//! What is known of a video's file.

use actix_web::{get, web};
use serde::Serialize;

use super::Shared;
use super::auth::TeamOnly;
use super::error::{Answer, Problem};
use crate::domain::question::Split;
use crate::store::releases::find_active_release;
use crate::store::videos::{VideoFileRow, find_video_file};
use crate::store::{DbConnection, StoreError};

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
    /// Frames in the file.
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
        (status = 401, description = "No valid key or token", body = Problem, content_type = "application/problem+json"),
        (status = 404, description = "No active release has such a video", body = Problem, content_type = "application/problem+json"),
    )
)]
#[get("/api/v1/videos/{key}")]
pub async fn find_video(state: Shared, _team: TeamOnly, key: web::Path<String>) -> Answer<web::Json<Video>> {
    let id = key.into_inner();
    let wanted = id.clone();
    let found: Result<Option<Option<VideoFileRow>>, StoreError> =
        state.evaluation.store.read(move |connection| find_file(connection, &wanted)).await;
    let file = found?.ok_or_else(|| Problem::not_found(format!("no active release has a video `{id}`")))?;
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

/// Looks in the active releases of the splits that teams answer.
fn find_file(connection: &mut DbConnection, key: &str) -> Result<Option<Option<VideoFileRow>>, StoreError> {
    // No key holds a null character, and PostgreSQL would not even look for it.
    if key.contains('\0') {
        return Ok(None);
    }
    for split in [Split::Test, Split::Val] {
        if let Some(release) = find_active_release(connection, split)?
            && let Some(file) = find_video_file(connection, &release.id, key)?
        {
            return Ok(Some(file));
        }
    }
    Ok(None)
}
