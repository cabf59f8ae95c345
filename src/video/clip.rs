//! A file opened for decoding: its frames in display order, each with its time, and every sign of damage as an error.
//! Knows nothing of what the frames are for.

use std::ops::ControlFlow;
use std::path::Path;

use ffmpeg::codec::decoder::{self, Check};
use ffmpeg::codec::threading;
use ffmpeg::format::context::Input;
use ffmpeg::format::stream::{Disposition, Stream};
use ffmpeg::{Dictionary, Packet, Rational, frame, media};
use ffmpeg_next as ffmpeg;

use super::VideoError;

/// Containers of moving pictures. Play lists and the like are none: they would make FFmpeg open other files.
const CONTAINERS: &str =
    "mov,mp4,m4a,3gp,3g2,mj2,matroska,webm,avi,mpegts,mpeg,mpegvideo,ogg,flv,asf,m4v,h264,hevc";

/// The part of the container's name that QuickTime and MP4 share.
const QUICKTIME: &str = "mov";

/// A file whose best video stream is being decoded.
pub(super) struct Clip {
    pub(super) input: Input,
    pub(super) decoder: decoder::Video,
    pub(super) stream: usize,
    pub(super) time_base: Rational,
}

/// One decoded frame, and when it is shown.
pub(super) struct Shown {
    pub(super) picture: frame::Video,
    /// In units of the stream's time base; as FFmpeg's best effort guesses it.
    pub(super) at: i64,
}

/// Opens a file; what is none of the known containers is refused.
pub(super) fn open_input(path: &Path, ignore_edits: bool) -> Result<Input, VideoError> {
    ffmpeg::init().map_err(VideoError::Unknown)?;
    ffmpeg::log::set_level(ffmpeg::log::Level::Quiet);
    let mut options = Dictionary::new();
    options.set("format_whitelist", CONTAINERS);
    options.set("protocol_whitelist", "file");
    if ignore_edits {
        options.set("ignore_editlist", "1");
    }
    // Without the prefix a colon in a relative path would name a protocol.
    let name = path.to_str().filter(|name| !name.contains('\0')).ok_or(VideoError::Path)?;
    ffmpeg::format::input_with_dictionary(&format!("file:{name}"), options).map_err(VideoError::Unknown)
}

/// The video stream that a player shows; a cover picture is none.
pub(super) fn best_stream(input: &Input) -> Result<Stream<'_>, VideoError> {
    let stream = input.streams().best(media::Type::Video);
    stream
        .filter(|stream| !stream.disposition().contains(Disposition::ATTACHED_PIC))
        .ok_or(VideoError::NoPicture)
}

impl Clip {
    /// Opens a file to be decoded by so many threads; 0 takes one for each core.
    pub(super) fn open(path: &Path, threads: usize) -> Result<Clip, VideoError> {
        let input = open_input(path, false)?;
        let stream = best_stream(&input)?;
        let (index, time_base) = (stream.index(), stream.time_base());
        let mut context =
            ffmpeg::codec::Context::from_parameters(stream.parameters()).map_err(VideoError::Unknown)?;
        let mut threading = threading::Config::kind(threading::Type::Frame);
        threading.count = threads;
        context.set_threading(threading);
        let mut decoder = context.decoder();
        decoder.set_packet_time_base(time_base);
        // A fault is an error and not something to be glossed over.
        decoder.check(Check::CRC | Check::EXPLODE);
        let codec =
            ffmpeg::decoder::find(decoder.id()).ok_or(VideoError::Unknown(ffmpeg::Error::DecoderNotFound))?;
        let mut options = Dictionary::new();
        // The same pixels whatever the processor can do.
        options.set("flags", "+bitexact");
        let opened = decoder.open_as_with(codec, options).and_then(decoder::Opened::video);
        Ok(Clip { decoder: opened.map_err(VideoError::Unknown)?, stream: index, time_base, input })
    }

    /// Whether the container counts its frames one by one.
    pub(super) fn is_quicktime(&self) -> bool {
        self.input.format().name().split(',').any(|name| name == QUICKTIME)
    }

    /// A time in units of the time base as milliseconds.
    pub(super) fn milliseconds(&self, at: i64) -> i64 {
        (at as f64 * f64::from(self.time_base) * 1000.0).round() as i64
    }

    /// Decodes the file once, from its beginning, and hands over each packet and each frame in the order in which it is
    /// shown, until one of the two has seen enough. Gives the number of frames handed over.
    pub(super) fn decode(
        &mut self,
        mut look_at: impl FnMut(&Packet),
        mut show: impl FnMut(u64, Shown) -> Result<ControlFlow<()>, VideoError>,
    ) -> Result<u64, VideoError> {
        let mut decoding = Decoding { frames: 0, last: 0 };
        loop {
            let mut packet = Packet::empty();
            match packet.read(&mut self.input) {
                Ok(()) => look_at(&packet),
                Err(ffmpeg::Error::Eof) => break,
                Err(error) => return Err(self.damaged(&decoding, &error)),
            }
            if packet.stream() != self.stream {
                continue;
            }
            if packet.is_corrupt() {
                return Err(self.damaged(&decoding, &"its data are cut off or marked as corrupt"));
            }
            self.decoder.send_packet(&packet).map_err(|error| self.damaged(&decoding, &error))?;
            if self.receive(&mut decoding, &mut show)?.is_break() {
                return Ok(decoding.frames);
            }
        }
        self.decoder.send_eof().map_err(|error| self.damaged(&decoding, &error))?;
        let _stopped_or_at_the_end = self.receive(&mut decoding, &mut show)?;
        Ok(decoding.frames)
    }

    fn receive(
        &mut self,
        decoding: &mut Decoding,
        show: &mut impl FnMut(u64, Shown) -> Result<ControlFlow<()>, VideoError>,
    ) -> Result<ControlFlow<()>, VideoError> {
        loop {
            let mut picture = frame::Video::empty();
            match self.decoder.receive_frame(&mut picture) {
                Ok(()) => {}
                Err(ffmpeg::Error::Eof | ffmpeg::Error::Other { errno: ffmpeg::error::EAGAIN }) => {
                    return Ok(ControlFlow::Continue(()));
                }
                Err(error) => return Err(self.damaged(decoding, &error)),
            }
            let at = picture.timestamp().unwrap_or(decoding.last);
            decoding.last = at;
            if picture.is_corrupt() || picture.has_decode_errors() {
                return Err(self.damaged(decoding, &"the decoder had to guess what is missing"));
            }
            let number = decoding.frames;
            decoding.frames += 1;
            if show(number, Shown { picture, at })?.is_break() {
                return Ok(ControlFlow::Break(()));
            }
        }
    }

    fn damaged(&self, decoding: &Decoding, detail: &dyn std::fmt::Display) -> VideoError {
        let at_ms = self.milliseconds(decoding.last);
        VideoError::Damaged { at_ms, frames: decoding.frames, detail: detail.to_string() }
    }
}

/// How far decoding has come.
struct Decoding {
    frames: u64,
    last: i64,
}
