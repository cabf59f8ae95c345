//! What a video's file holds, as FFmpeg sees it. Knows nothing of releases.

use std::fs::File;
use std::io::{BufRead as _, BufReader};
use std::path::Path;

use ffmpeg_next as ffmpeg;
use ffmpeg_next::codec::packet::side_data::Type as SideDataType;
use ffmpeg_next::media;
use sha2::{Digest as _, Sha256};

/// A frame is missing where the index promises more than one in so many frames beyond what the file holds.
const TOLERATED_LOSS: i64 = 100;

/// Why a file is no usable video.
#[derive(Debug, thiserror::Error)]
pub enum VideoError {
    /// The file cannot be read.
    #[error("the file cannot be read: {0}")]
    Io(#[from] std::io::Error),
    /// FFmpeg does not understand the file.
    #[error("the file is damaged or no video: {0}")]
    Damaged(#[from] ffmpeg::Error),
    /// There is no picture in it.
    #[error("the file has no video stream")]
    NoPicture,
    /// The file ends before its index says.
    #[error("the file is cut: {found} of {promised} frames are there")]
    Cut {
        /// Frames in the file.
        found: i64,
        /// Frames that its index names.
        promised: i64,
    },
}

/// Facts of a video's file.
#[derive(Debug, Clone, PartialEq)]
pub struct VideoFacts {
    /// How long it plays.
    pub duration_ms: i64,
    /// Pixels across, before rotation.
    pub width: u32,
    /// Pixels down, before rotation.
    pub height: u32,
    /// The average.
    pub frames_per_second: f64,
    /// Frames in the file.
    pub frames: i64,
    /// The codec's name.
    pub codec: String,
    /// Degrees counterclockwise by which a player turns the picture, as ffprobe tells them.
    pub rotation: i32,
    /// The file's size.
    pub bytes: u64,
    /// The file's hash, in hex.
    pub sha256: String,
}

/// Reads the facts of a file, going through all of its packets without decoding them.
///
/// # Errors
/// When the file is unreadable, no video, or cut.
pub fn probe(path: &Path) -> Result<VideoFacts, VideoError> {
    ffmpeg::init()?;
    ffmpeg::log::set_level(ffmpeg::log::Level::Fatal);
    let (bytes, sha256) = measure(path)?;
    let mut input = ffmpeg::format::input(path)?;
    let stream = input.streams().best(media::Type::Video).ok_or(VideoError::NoPicture)?;
    let index = stream.index();
    let promised = stream.frames();
    let rate = f64::from(stream.avg_frame_rate());
    let time_base = f64::from(stream.time_base());
    let stream_ms = (stream.duration() > 0).then_some(stream.duration() as f64 * time_base * 1000.0);
    let decoder = ffmpeg::codec::context::Context::from_parameters(stream.parameters())?.decoder().video()?;
    let (width, height) = (decoder.width(), decoder.height());
    let codec = decoder.codec().map(|codec| codec.name().to_owned()).unwrap_or_default();
    let rotation = rotation(&stream);
    let container_ms = (input.duration() > 0).then_some(input.duration() as f64 / 1000.0);
    let frames = input.packets().filter(|(stream, _)| stream.index() == index).count() as i64;
    if promised - frames > promised / TOLERATED_LOSS {
        return Err(VideoError::Cut { found: frames, promised });
    }
    Ok(VideoFacts {
        duration_ms: stream_ms.or(container_ms).unwrap_or_default().round() as i64,
        width,
        height,
        frames_per_second: rate,
        frames,
        codec,
        rotation,
        bytes,
        sha256,
    })
}

/// A file's size and hash.
fn measure(path: &Path) -> std::io::Result<(u64, String)> {
    let mut reader = BufReader::with_capacity(1 << 20, File::open(path)?);
    let (mut bytes, mut hash) = (0, Sha256::new());
    loop {
        let part = reader.fill_buf()?;
        if part.is_empty() {
            return Ok((bytes, hex::encode(hash.finalize())));
        }
        hash.update(part);
        let count = part.len();
        bytes += count as u64;
        reader.consume(count);
    }
}

/// The counterclockwise angle of a stream's display matrix: nine native 16.16 numbers, of which the first two are its
/// cosine and its negative sine.
fn rotation(stream: &ffmpeg::format::stream::Stream<'_>) -> i32 {
    let matrix = stream.side_data().find(|data| data.kind() == SideDataType::DisplayMatrix);
    let Some(matrix) = matrix else { return 0 };
    let number = |place: usize| {
        let bytes = matrix.data().get(4 * place..4 * place + 4)?;
        Some(f64::from(i32::from_ne_bytes(bytes.try_into().ok()?)))
    };
    let (Some(cosine), Some(negative_sine)) = (number(0), number(1)) else { return 0 };
    ((-negative_sine).atan2(cosine).to_degrees().round() as i32).rem_euclid(360)
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use super::*;

    fn clip(name: &str) -> PathBuf {
        Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/videos").join(name)
    }

    #[test]
    fn the_facts_of_a_clip_are_read() {
        let facts = probe(&clip("five_frames_h264.mp4")).unwrap();
        assert_eq!((facts.frames, facts.codec.as_str(), facts.rotation), (5, "h264", 0));
        assert_eq!(facts.bytes, 6583);
        assert!(
            facts.width > 0 && facts.height > 0 && facts.frames_per_second > 0.0 && facts.duration_ms > 0
        );
    }

    #[test]
    fn a_display_matrix_is_a_rotation() {
        assert_eq!(probe(&clip("rotated90_h264.mp4")).unwrap().rotation, 90);
    }

    #[test]
    fn what_is_no_whole_video_is_refused_with_the_reason() {
        assert!(matches!(probe(&clip("audio_only.mp4")), Err(VideoError::NoPicture)));
        assert!(matches!(probe(&clip("zero_bytes.mp4")), Err(VideoError::Damaged(_))));
        assert!(matches!(probe(&clip("truncated_no_index.mp4")), Err(VideoError::Damaged(_))));
        assert!(matches!(probe(&clip("truncated_faststart.mp4")), Err(VideoError::Cut { promised: 60, .. })));
        assert!(matches!(probe(&clip("there_is_none.mp4")), Err(VideoError::Io(_))));
    }
}
