//! What a video looks like, in a few numbers that survive another size, codec or bit rate. Knows nothing of what is compared.

use std::ops::ControlFlow;
use std::path::Path;

use super::VideoError;
use super::clip::{Clip, Shown, best_stream};
use super::jpeg::filtered;
use super::orientation::Orientation;
use super::sample::chosen;

/// Pictures that are looked at.
const PICTURES: u32 = 4;

/// Columns and rows of a picture that is shrunk; each bit compares two neighbours of a row.
const COLUMNS: usize = 9;
const ROWS: usize = 8;

/// Shades of 256 that a picture must span to look like anything.
const MIN_SPAN: u8 = 24;

/// 64 bits for each of four pictures at even steps out of so many frames: whether it gets brighter from left to right. Empty
/// where a picture is too flat to tell anything.
///
/// # Errors
/// When the file is damaged.
pub fn fingerprint(path: &Path, frames: u64) -> Result<Vec<u64>, VideoError> {
    let wanted = chosen(frames, PICTURES);
    let mut clip = Clip::open(path, 0)?;
    let orientation = Orientation::of(&best_stream(&clip.input)?);
    let filters = format!(
        "{}scale=w={COLUMNS}:h={ROWS}:flags=area+accurate_rnd+bitexact,format=gray",
        orientation.filters()
    );
    let mut bits = Vec::new();
    let show = |number: u64, shown: Shown| {
        let times = wanted.iter().filter(|index| **index == number).count();
        if times > 0 {
            let small = filtered(shown.picture, &filters).map_err(VideoError::Picture)?;
            bits.extend(std::iter::repeat_n(gradients(small.data(0), small.stride(0)), times));
        }
        Ok(if wanted.last() == Some(&number) { ControlFlow::Break(()) } else { ControlFlow::Continue(()) })
    };
    clip.decode(|_| {}, show)?;
    Ok(bits.into_iter().collect::<Option<Vec<u64>>>().unwrap_or_default())
}

/// One bit a pair of neighbours; none where there is nothing to be seen.
fn gradients(shades: &[u8], stride: usize) -> Option<u64> {
    let rows: Vec<&[u8]> =
        (0..ROWS).filter_map(|row| shades.get(row * stride..row * stride + COLUMNS)).collect();
    let darkest = rows.iter().copied().flatten().min()?;
    let brightest = rows.iter().copied().flatten().max()?;
    if rows.len() < ROWS || brightest - darkest < MIN_SPAN {
        return None;
    }
    let pairs = rows.iter().flat_map(|row| row.windows(2));
    Some(pairs.fold(0, |bits, pair| (bits << 1) | u64::from(pair[0] < pair[1])))
}
