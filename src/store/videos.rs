//! Videos of a release and what is known of their files.

use diesel::prelude::*;

use super::connection::on_each;
use super::releases::Video;
use super::schema::{video_files, videos};
use super::{DbConnection, Result};

/// Rows of one INSERT.
const BATCH: usize = 1000;

/// What the import found in a video's file.
#[derive(Debug, Clone, PartialEq, Insertable, Queryable)]
#[diesel(table_name = video_files, treat_none_as_default_value = false)]
pub struct VideoFileRow {
    /// The release's id.
    pub release_id: String,
    /// The video's place in the release.
    pub position: i32,
    /// How long it plays.
    pub duration_ms: i64,
    /// Pixels across, before rotation.
    pub width: i32,
    /// Pixels down, before rotation.
    pub height: i32,
    /// The average.
    pub frames_per_second: f64,
    /// Frames that a player shows.
    pub frames: i32,
    /// The codec's name.
    pub codec: String,
    /// Degrees counterclockwise by which a player turns the picture, as ffprobe tells them.
    pub rotation: i32,
    /// The file's size.
    pub bytes: i64,
    /// The file's hash, in hex.
    pub sha256: String,
}

/// A video of a release with what is known of its file.
#[derive(Debug, Clone, PartialEq)]
pub struct ReleaseVideo {
    /// The file's name in the release; its ending tells the container.
    pub video_file: String,
    /// None while no file was imported.
    pub file: Option<VideoFileRow>,
}

/// Adds what is known of a release's files.
pub fn insert_video_files(connection: &mut DbConnection, rows: &[VideoFileRow]) -> Result<()> {
    for rows in rows.chunks(BATCH) {
        on_each!(connection, |inner| diesel::insert_into(video_files::table).values(rows).execute(inner))?;
    }
    Ok(())
}

/// The video with this key in a release; none if it is unknown.
pub fn find_release_video(
    connection: &mut DbConnection,
    release_id: &str,
    video_key: &str,
) -> Result<Option<ReleaseVideo>> {
    let video: Option<(i32, String)> = videos::table
        .filter(videos::release_id.eq(release_id))
        .filter(videos::id.eq(video_key))
        .select((videos::position, videos::video_file))
        .first(connection)
        .optional()?;
    let Some((position, video_file)) = video else { return Ok(None) };
    let file = video_files::table.find((release_id, position)).first(connection).optional()?;
    Ok(Some(ReleaseVideo { video_file, file }))
}

/// The videos of a release in its order.
pub fn load_videos(connection: &mut DbConnection, release_id: &str) -> Result<Vec<Video>> {
    let of_release = videos::table.filter(videos::release_id.eq(release_id));
    Ok(of_release.order(videos::position).load(connection)?)
}

/// What is known of a release's files, in its order.
pub fn load_video_files(connection: &mut DbConnection, release_id: &str) -> Result<Vec<VideoFileRow>> {
    let of_release = video_files::table.filter(video_files::release_id.eq(release_id));
    Ok(of_release.order(video_files::position).load(connection)?)
}
