//! What a file holds and whether it is whole, found by decoding all of it. Knows nothing of releases.

use std::fs::File;
use std::io::{BufRead as _, BufReader};
use std::ops::{ControlFlow, Range};
use std::path::Path;

use ffmpeg_next::{Packet, ffi::AV_TIME_BASE};
use sha2::{Digest as _, Sha256};

use super::VideoError;
use super::clip::{Clip, best_stream, open_input};
use super::orientation::Orientation;

/// By how many frames everything in a file may end before a length that is told for all of it: such lengths are rounded.
const FILE_SLACK: f64 = 0.75;

/// By how many frames they may end before a length that is told for their own stream.
const STREAM_SLACK: f64 = 0.5;

/// By what part a told rate may differ from the counted one.
const RATE_SLACK: f64 = 0.02;

/// By how many frames the data may go on after the last picture.
const STALE_SLACK: f64 = 1.5;

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
    /// Frames that a player shows.
    pub frames: u64,
    /// The codec's name.
    pub codec: String,
    /// Degrees counterclockwise by which a player turns the picture, as ffprobe tells them.
    pub rotation: i32,
    /// The file's size.
    pub bytes: u64,
    /// The file's hash, in hex.
    pub sha256: String,
}

/// Reads the facts of a file, decoding all of its pictures.
///
/// # Errors
/// When the file is unreadable, no video, cut or damaged.
pub fn probe(path: &Path) -> Result<VideoFacts, VideoError> {
    let (bytes, sha256) = measure(path)?;
    if bytes == 0 {
        return Err(VideoError::Empty);
    }
    // One thread: files are looked at side by side.
    let mut clip = Clip::open(path, 1)?;
    let told = Told::by(&clip)?;
    let (width, height) = (clip.decoder.width(), clip.decoder.height());
    let codec = clip.decoder.id().name().to_owned();
    let mut seen = Seen::default();
    let mut data = Data { packets: 0, within: 0, end: i64::MIN, file_end_ms: 0.0 };
    let (stream, span) = (clip.stream, told.span());
    let time_bases: Vec<f64> = clip.input.streams().map(|stream| stream.time_base().into()).collect();
    let look_at = |packet: &Packet| {
        if packet.stream() == stream {
            data.note(packet.pts().filter(|at| span.contains(at)));
        }
        if let (Some(at), Some(time_base)) = (packet.pts(), time_bases.get(packet.stream())) {
            let end_ms = (at + packet.duration().max(0)) as f64 * time_base * 1000.0;
            data.file_end_ms = data.file_end_ms.max(end_ms);
        }
    };
    let show = |_, shown: super::clip::Shown| {
        seen.note(shown.at, shown.picture.packet().duration);
        Ok(ControlFlow::Continue(()))
    };
    let frames = clip.decode(look_at, show)?;
    if frames == 0 {
        return Err(VideoError::NoFrame);
    }
    check_whole(path, &clip, &told, &data, frames)?;
    seen.check_length(&clip, &told, &data)?;
    let duration_ms = clip.milliseconds(told.duration.unwrap_or(0).max(seen.end() - seen.first));
    Ok(VideoFacts {
        duration_ms,
        width,
        height,
        frames_per_second: told.rate_of(frames, duration_ms),
        frames,
        codec,
        rotation: told.orientation.degrees(),
        bytes,
        sha256,
    })
}

/// A file's size and hash.
///
/// # Errors
/// When it cannot be read.
pub fn measure(path: &Path) -> std::io::Result<(u64, String)> {
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

/// What a file says of itself before anything is decoded; times in units of the stream's time base.
struct Told {
    frames: u64,
    start: Option<i64>,
    duration: Option<i64>,
    file_ms: Option<i64>,
    rate: f64,
    orientation: Orientation,
}

impl Told {
    fn by(clip: &Clip) -> Result<Told, VideoError> {
        let stream = best_stream(&clip.input)?;
        let file = clip.input.duration();
        Ok(Told {
            frames: u64::try_from(stream.frames()).unwrap_or(0),
            start: (stream.start_time() != i64::MIN).then(|| stream.start_time()),
            duration: (stream.duration() > 0).then(|| stream.duration()),
            file_ms: (file > 0).then(|| file * 1000 / i64::from(AV_TIME_BASE)),
            rate: f64::from(stream.avg_frame_rate()),
            orientation: Orientation::of(&stream),
        })
    }

    /// The frames a second that are told, unless they are not what was counted, as where the rate varies.
    fn rate_of(&self, frames: u64, duration_ms: i64) -> f64 {
        let counted = frames as f64 * 1000.0 / duration_ms.max(1) as f64;
        if (self.rate / counted - 1.0).abs() < RATE_SLACK { self.rate } else { counted }
    }

    /// The time in which something is shown, as far as it is told.
    fn span(&self) -> Range<i64> {
        match self.start.zip(self.duration) {
            Some((start, duration)) => start..start.saturating_add(duration),
            None => i64::MIN..i64::MAX,
        }
    }
}

/// The packets that came, in units of the stream's time base.
struct Data {
    packets: u64,
    /// Those within the time that is shown: an edit list may cut off what is before and behind it.
    within: u64,
    end: i64,
    /// Where the data of all streams end.
    file_end_ms: f64,
}

impl Data {
    fn note(&mut self, shown_at: Option<i64>) {
        self.packets += 1;
        self.within += u64::from(shown_at.is_some());
        self.end = self.end.max(shown_at.unwrap_or(i64::MIN));
    }
}

/// QuickTime and MP4 count their frames, and have one in each packet: all must be there and come out.
fn check_whole(path: &Path, clip: &Clip, told: &Told, data: &Data, frames: u64) -> Result<(), VideoError> {
    let promised = told.frames;
    if !clip.is_quicktime() {
        return Ok(());
    }
    if data.packets < promised {
        // An edit list may hide some of them: counted again without it.
        let mut input = open_input(path, true)?;
        let found = input.packets().filter(|(stream, _)| stream.index() == clip.stream).count() as u64;
        if found < promised {
            return Err(VideoError::Cut { found, promised });
        }
    } else if data.within == data.packets && frames < data.packets {
        return Err(VideoError::Undecodable { found: frames, packets: data.packets });
    }
    Ok(())
}

/// The frames that came, in units of the stream's time base.
#[derive(Default)]
struct Seen {
    count: i64,
    first: i64,
    last: i64,
    last_duration: i64,
}

impl Seen {
    fn note(&mut self, at: i64, duration: i64) {
        if self.count == 0 {
            self.first = at;
        }
        self.count += 1;
        (self.last, self.last_duration) = (at, duration);
    }

    /// The mean time from one frame to the next.
    fn step(&self) -> f64 {
        if self.count > 1 {
            (self.last - self.first) as f64 / (self.count - 1) as f64
        } else {
            self.last_duration as f64
        }
    }

    fn end(&self) -> i64 {
        self.last + self.last_duration.max(self.step().round() as i64)
    }

    /// The pictures must go on as long as the file says, and as long as its data do. Where frames are counted one by one
    /// the count says more than a length.
    fn check_length(&self, clip: &Clip, told: &Told, data: &Data) -> Result<(), VideoError> {
        let step = self.step();
        let shown_ms = clip.milliseconds(self.last);
        if data.end.saturating_sub(self.last) as f64 > STALE_SLACK * step {
            return Err(VideoError::Stale { shown_ms, data_ms: clip.milliseconds(data.end) });
        }
        if clip.is_quicktime() && told.frames > 0 {
            return Ok(());
        }
        let end = self.end();
        let end_ms = clip.milliseconds(end);
        if let Some(duration) = told.duration {
            let told_end = told.start.unwrap_or(self.first) + duration;
            if (told_end - end) as f64 > STREAM_SLACK * step {
                return Err(VideoError::Short { end_ms, told_ms: clip.milliseconds(told_end) });
            }
        } else if let Some(told_ms) = told.file_ms {
            let step_ms = step * f64::from(clip.time_base) * 1000.0;
            // Sound may go on for longer.
            let missing_ms = told_ms as f64 - data.file_end_ms.max(end_ms as f64);
            if missing_ms > FILE_SLACK * step_ms {
                return Err(VideoError::Short { end_ms, told_ms });
            }
        }
        Ok(())
    }
}
