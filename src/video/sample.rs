//! Pictures of a video at even steps, taken in one pass (contract 3). Knows nothing of who asks and keeps nothing.

use std::ops::ControlFlow;
use std::path::Path;

use super::VideoError;
use super::clip::{Clip, best_stream};
use super::jpeg;
use super::orientation::Orientation;

/// One frame of a video as a JPEG.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Picture {
    /// The frame's number in display order, from 0.
    pub index: u64,
    /// When it is shown.
    pub timestamp_ms: i64,
    /// Pixels across.
    pub width: u32,
    /// Pixels down.
    pub height: u32,
    /// The JPEG.
    pub jpeg: Vec<u8>,
}

/// The numbers of `n` frames at even steps out of so many, the first and the last among them: ⌊k·(F−1)/(n−1)⌋, and of one
/// frame ⌊(F−1)/2⌋, the middle.
pub fn chosen(frames: u64, n: u32) -> Vec<u64> {
    let last = frames.saturating_sub(1);
    match n {
        1 => vec![last / 2],
        _ => (0..n).map(|k| u64::from(k) * last / (u64::from(n) - 1)).collect(),
    }
}

/// Takes `n` pictures of a video that has so many frames, with at most `size` pixels along the longest side. Decodes the
/// file once, up to the last frame that is wanted; a frame that is wanted twice is written once.
///
/// # Errors
/// When the file is damaged, or does not have that many frames.
pub fn sample(path: &Path, frames: u64, n: u32, size: u32) -> Result<Vec<Picture>, VideoError> {
    let wanted = chosen(frames, n);
    let mut clip = Clip::open(path, 0)?;
    let orientation = Orientation::of(&best_stream(&clip.input)?);
    let time_base = f64::from(clip.time_base);
    let mut pictures: Vec<Picture> = Vec::with_capacity(wanted.len());
    let show = |number: u64, shown: super::clip::Shown| {
        let times = wanted.iter().filter(|index| **index == number).count();
        if times > 0 {
            let jpeg = jpeg::write(shown.picture, orientation, size)?;
            let picture = Picture {
                index: number,
                timestamp_ms: (shown.at as f64 * time_base * 1000.0).round() as i64,
                width: jpeg.width,
                height: jpeg.height,
                jpeg: jpeg.bytes,
            };
            pictures.extend(std::iter::repeat_n(picture, times));
        }
        Ok(if wanted.last() == Some(&number) { ControlFlow::Break(()) } else { ControlFlow::Continue(()) })
    };
    let found = clip.decode(|_| {}, show)?;
    if pictures.len() < wanted.len() {
        return Err(VideoError::Cut { found, promised: frames });
    }
    Ok(pictures)
}
