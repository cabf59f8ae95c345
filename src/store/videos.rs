//! Videos of a release and what is known of their files.

use diesel::prelude::*;

use super::connection::on_each;
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
    /// Frames in the file.
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

/// Adds what is known of a release's files.
pub fn insert_video_files(connection: &mut DbConnection, rows: &[VideoFileRow]) -> Result<()> {
    for rows in rows.chunks(BATCH) {
        on_each!(connection, |inner| diesel::insert_into(video_files::table).values(rows).execute(inner))?;
    }
    Ok(())
}

/// The file of the video with this key in a release; none if the video is unknown, inner none if its file is.
pub fn find_video_file(
    connection: &mut DbConnection,
    release_id: &str,
    video_key: &str,
) -> Result<Option<Option<VideoFileRow>>> {
    let position: Option<i32> = videos::table
        .filter(videos::release_id.eq(release_id))
        .filter(videos::id.eq(video_key))
        .select(videos::position)
        .first(connection)
        .optional()?;
    let Some(position) = position else { return Ok(None) };
    Ok(Some(video_files::table.find((release_id, position)).first(connection).optional()?))
}
