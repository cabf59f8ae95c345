//! A decoded frame as a JPEG: upright, scaled, and with the same bytes on every machine that has the same FFmpeg. Knows no
//! file.

use ffmpeg::filter::{self, Graph};
use ffmpeg::format::Pixel;
use ffmpeg::{Dictionary, Packet, Rational, codec, frame};
use ffmpeg_next as ffmpeg;

use super::VideoError;
use super::orientation::Orientation;

/// The encoder's quantiser, of 1 to 31: hardly to be told from the original.
const QUANTISER: &str = "3";

/// A scaled picture.
pub(super) struct Jpeg {
    pub(super) width: u32,
    pub(super) height: u32,
    pub(super) bytes: Vec<u8>,
}

/// Writes a frame upright with at most `size` pixels along its longest side; it is never enlarged.
pub(super) fn write(picture: frame::Video, orientation: Orientation, size: u32) -> Result<Jpeg, VideoError> {
    let scaled = scale(picture, orientation, size).map_err(VideoError::Picture)?;
    let (width, height) = (scaled.width(), scaled.height());
    let bytes = encode(&scaled).map_err(VideoError::Picture)?;
    Ok(Jpeg { width, height, bytes })
}

/// Width and height of a picture whose longest side has at most `size` pixels.
fn fitted(width: u32, height: u32, size: u32) -> (u32, u32) {
    let longest = width.max(height);
    if longest <= size {
        return (width, height);
    }
    let scaled = |side: u32| {
        let (side, size, longest) = (u64::from(side), u64::from(size), u64::from(longest));
        u32::try_from((2 * side * size + longest) / (2 * longest)).unwrap_or(1).max(1)
    };
    (scaled(width), scaled(height))
}

/// Turns and scales, and brings colours into JPEG's own matrix and range.
fn scale(picture: frame::Video, orientation: Orientation, size: u32) -> Result<frame::Video, ffmpeg::Error> {
    let (width, height) = (picture.width(), picture.height());
    let turned = if orientation.is_sideways() { (height, width) } else { (width, height) };
    let (fitted_width, fitted_height) = fitted(turned.0, turned.1, size);
    let filters = format!(
        "{}scale=w={fitted_width}:h={fitted_height}:flags=bicubic+accurate_rnd+full_chroma_int+bitexact\
         :in_color_matrix=auto:out_color_matrix=bt601:out_range=pc:threads=1,format=yuvj420p",
        orientation.filters()
    );
    filtered(picture, &filters)
}

/// What these filters make of a picture.
pub(super) fn filtered(mut picture: frame::Video, filters: &str) -> Result<frame::Video, ffmpeg::Error> {
    let (width, height) = (picture.width(), picture.height());
    let format = picture.format().descriptor().ok_or(ffmpeg::Error::InvalidData)?.name();
    let source = format!("video_size={width}x{height}:pix_fmt={format}:time_base=1/1000");
    let known = |name: &str| filter::find(name).ok_or(ffmpeg::Error::FilterNotFound);
    let mut graph = Graph::new();
    graph.add(&known("buffer")?, "in", &source)?;
    graph.add(&known("buffersink")?, "out", "")?;
    graph.output("in", 0)?.input("out", 0)?.parse(filters)?;
    graph.validate()?;
    picture.set_pts(Some(0));
    let (Some(mut source), Some(mut sink)) = (graph.get("in"), graph.get("out")) else {
        return Err(ffmpeg::Error::FilterNotFound);
    };
    source.source().add(&picture)?;
    source.source().flush()?;
    let mut scaled = frame::Video::empty();
    sink.sink().frame(&mut scaled)?;
    Ok(scaled)
}

fn encode(picture: &frame::Video) -> Result<Vec<u8>, ffmpeg::Error> {
    let codec = codec::encoder::find(codec::Id::MJPEG).ok_or(ffmpeg::Error::EncoderNotFound)?;
    let mut encoder = codec::Context::new_with_codec(codec).encoder().video()?;
    encoder.set_width(picture.width());
    encoder.set_height(picture.height());
    encoder.set_format(Pixel::YUVJ420P);
    encoder.set_time_base(Rational(1, 1000));
    let mut options = Dictionary::new();
    // No version in the file, integers only, one thread: nothing that differs from machine to machine.
    for (name, value) in [
        ("flags", "+bitexact+qscale"),
        ("dct", "int"),
        ("threads", "1"),
        ("qmin", QUANTISER),
        ("qmax", QUANTISER),
    ] {
        options.set(name, value);
    }
    let mut encoder = encoder.open_as_with(codec, options)?;
    encoder.send_frame(picture)?;
    encoder.send_eof()?;
    let mut packet = Packet::empty();
    encoder.receive_packet(&mut packet)?;
    Ok(packet.data().unwrap_or_default().to_vec())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_longest_side_is_fitted_and_nothing_is_enlarged() {
        assert_eq!(fitted(1920, 1080, 512), (512, 288));
        assert_eq!(fitted(1080, 1920, 512), (288, 512));
        assert_eq!(fitted(192, 108, 512), (192, 108));
        assert_eq!(fitted(107, 61, 16), (16, 9));
        assert_eq!(fitted(2000, 1, 16), (16, 1));
    }
}
