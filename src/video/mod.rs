//! Videos as FFmpeg sees them: what a file holds, whether it is whole, and pictures of it. FFmpeg is at home here alone.
//! Knows nothing of releases.

mod clip;
mod fingerprint;
mod jpeg;
mod orientation;
mod probe;
mod sample;
#[cfg(test)]
mod tests;

pub use fingerprint::fingerprint;
pub use probe::{VideoFacts, measure, probe};
pub use sample::{Picture, chosen, sample};

use ffmpeg_next as ffmpeg;

/// Why a file is no usable video.
#[derive(Debug, thiserror::Error)]
pub enum VideoError {
    /// The file cannot be read.
    #[error("the file cannot be read: {0}")]
    Io(#[from] std::io::Error),
    /// There is nothing in the file.
    #[error("the file is empty: it has 0 bytes")]
    Empty,
    /// FFmpeg takes no such path.
    #[error("the file's path is not UTF-8; rename it")]
    Path,
    /// FFmpeg does not understand the file.
    #[error("the file is no video that FFmpeg can open, or its index is damaged or cut off: {0}")]
    Unknown(ffmpeg::Error),
    /// There is no picture in it.
    #[error("the file has no video stream")]
    NoPicture,
    /// Not one frame comes out.
    #[error("the file has a video stream without a frame")]
    NoFrame,
    /// What is in the file cannot be decoded, or only by guessing.
    #[error("the picture is damaged at {at_ms} ms, after {frames} frames: {detail}")]
    Damaged {
        /// Time of the damage, as far as it is known.
        at_ms: i64,
        /// Frames before it.
        frames: u64,
        /// What the decoder says.
        detail: String,
    },
    /// The file ends before its index says.
    #[error("the file is cut: {found} of the {promised} frames that its index names are there")]
    Cut {
        /// Frames in the file.
        found: u64,
        /// Frames that its index names.
        promised: u64,
    },
    /// Some data give no picture.
    #[error("the file is damaged: {found} of its {packets} frames can be decoded")]
    Undecodable {
        /// Frames that come out.
        found: u64,
        /// Frames that are in the file.
        packets: u64,
    },
    /// The pictures end before the file's own word on its length.
    #[error("the file is cut: its pictures end at {end_ms} ms of {told_ms} ms")]
    Short {
        /// Where the last picture ends.
        end_ms: i64,
        /// Where it should.
        told_ms: i64,
    },
    /// The data go on after the last picture that can be decoded.
    #[error("the last picture is stale: it is from {shown_ms} ms, and the file's data go on to {data_ms} ms")]
    Stale {
        /// Time of the last picture.
        shown_ms: i64,
        /// Time of the last data.
        data_ms: i64,
    },
    /// FFmpeg refused to scale or to write a picture.
    #[error("a picture cannot be written: {0}")]
    Picture(ffmpeg::Error),
}
