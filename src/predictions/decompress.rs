//! Undoing one layer of gzip or zstd within fixed bounds, and what ends the reading of a file early. Knows
//! nothing of what the bytes mean.

use std::io::{self, BufRead, BufReader, Chain, Cursor, ErrorKind, Read};

use flate2::bufread::MultiGzDecoder;

use super::report::Place;
use super::wording;
use crate::domain::fault::{Fault, FaultCode};

/// 8 MiB, the window that every zstd decoder should support (RFC 8878, 3.1.1.1.2); no level up to 19 asks for
/// more.
const ZSTD_MAX_WINDOW_LOG: u32 = 23;
const BUFFER_BYTES: usize = 64 * 1024;

/// Why the bytes of a file end before its end; travels inside an [`io::Error`].
#[derive(Debug, thiserror::Error)]
pub(super) enum Stop {
    #[error("the source failed")]
    Source(#[source] io::Error),
    #[error("more than {max_bytes} bytes")]
    TooLarge { max_bytes: u64 },
    #[error("the zstd window is too large")]
    Window,
    #[error("the compression is corrupt: {0}")]
    Corrupt(io::Error),
    #[error("compressed twice")]
    Nested,
}

impl Stop {
    /// What ended the reading; an error that is no `Stop` is one of the source.
    pub(super) fn from_io(error: io::Error) -> Self {
        error.downcast::<Self>().unwrap_or_else(Self::Source)
    }

    /// Whether `error` says that the file is too large.
    pub(super) fn is_too_large(error: &io::Error) -> bool {
        let stop = error.get_ref().and_then(|inner| inner.downcast_ref::<Self>());
        matches!(stop, Some(Self::TooLarge { .. }))
    }

    /// The fault that stands for it in a refusal.
    pub(super) fn fault(&self) -> Fault {
        let (code, detail) = match self {
            Self::TooLarge { max_bytes } => (FaultCode::TooLarge, wording::too_large(*max_bytes)),
            Self::Window => (FaultCode::TooLarge, wording::zstd_window(1 << (ZSTD_MAX_WINDOW_LOG - 20))),
            Self::Nested => (FaultCode::NestedCompression, wording::nested_compression()),
            Self::Source(error) | Self::Corrupt(error) => {
                (FaultCode::CorruptCompression, wording::corrupt_compression(error))
            }
        };
        Place::default().fault(code, detail)
    }

    /// What ended the reading, by an error that others share.
    pub(super) fn of_shared(error: &io::Error) -> Self {
        match error.get_ref().and_then(|inner| inner.downcast_ref::<Self>()) {
            Some(Self::TooLarge { max_bytes }) => Self::TooLarge { max_bytes: *max_bytes },
            Some(other) => Self::Corrupt(io::Error::other(other.to_string())),
            None => Self::Corrupt(io::Error::new(error.kind(), error.to_string())),
        }
    }

    /// Sorts an error that came out of a decoder.
    pub(super) fn of_decoder(error: io::Error) -> Self {
        match error.downcast::<Self>() {
            Ok(stop) => stop,
            // zstd's codes are not public in the crate that wraps it, only its texts are.
            Err(error) if error.to_string().contains("requires too much memory for decoding") => Self::Window,
            Err(error) => Self::Corrupt(error),
        }
    }
}

impl From<Stop> for io::Error {
    fn from(stop: Stop) -> Self {
        Self::other(stop)
    }
}

/// Opens a file that may be compressed; at most `max_bytes` are read before and after decompression.
pub(super) fn open<'a>(input: impl Read + 'a, max_bytes: u64) -> io::Result<Box<dyn BufRead + 'a>> {
    let source = Bounded { input, left: max_bytes, max_bytes, sort: Stop::Source };
    let (magic, source) = peek(BufReader::with_capacity(BUFFER_BYTES, source), 4)?;
    let decoder: Box<dyn Read + 'a> = match Packing::of(&magic) {
        None => return Ok(Box::new(source)),
        Some(Packing::Gzip) => Box::new(MultiGzDecoder::new(source)),
        Some(Packing::Zstd) => {
            let mut decoder = zstd::Decoder::with_buffer(source)?;
            decoder.window_log_max(ZSTD_MAX_WINDOW_LOG)?;
            Box::new(decoder)
        }
    };
    let decoded = Bounded { input: decoder, left: max_bytes, max_bytes, sort: Stop::of_decoder };
    let (magic, text) = peek(BufReader::with_capacity(BUFFER_BYTES, decoded), 4)?;
    match Packing::of(&magic) {
        None => Ok(Box::new(text)),
        Some(_) => Err(Stop::Nested.into()),
    }
}

/// An input whose first bytes have been looked at.
pub(super) type Whole<R> = Chain<Cursor<Vec<u8>>, R>;

/// The first `length` bytes, or fewer at the end of the file, and all bytes from the start.
pub(super) fn peek<R: BufRead>(mut input: R, length: usize) -> io::Result<(Vec<u8>, Whole<R>)> {
    let mut start = Vec::with_capacity(length);
    input.by_ref().take(length as u64).read_to_end(&mut start)?;
    Ok((start.clone(), Cursor::new(start).chain(input)))
}

enum Packing {
    Gzip,
    Zstd,
}

impl Packing {
    fn of(magic: &[u8]) -> Option<Self> {
        match magic {
            [0x1f, 0x8b, ..] => Some(Self::Gzip),
            [0x28, 0xb5, 0x2f, 0xfd] => Some(Self::Zstd),
            _ => None,
        }
    }
}

/// Ends with an error, not in silence, where more than `left` bytes come.
struct Bounded<R> {
    input: R,
    left: u64,
    max_bytes: u64,
    sort: fn(io::Error) -> Stop,
}

impl<R: Read> Read for Bounded<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if buffer.is_empty() {
            return Ok(0);
        }
        // At the limit one byte more tells a file that is just as long from a longer one.
        let wanted = usize::try_from(self.left).unwrap_or(usize::MAX).clamp(1, buffer.len());
        let count = match self.input.read(&mut buffer[..wanted]) {
            Ok(count) => count,
            Err(error) if error.kind() == ErrorKind::Interrupted => return Err(error),
            Err(error) => return Err((self.sort)(error).into()),
        };
        if count as u64 > self.left {
            return Err(Stop::TooLarge { max_bytes: self.max_bytes }.into());
        }
        self.left -= count as u64;
        Ok(count)
    }
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;
    use std::io::Write;

    use super::*;

    const LIMIT: u64 = 1024 * 1024;

    /// Decompresses to the end; how many bytes came out, and what ended it.
    fn drain(file: &[u8]) -> (u64, Option<Stop>) {
        let mut text = match open(file, LIMIT) {
            Ok(text) => text,
            Err(error) => return (0, Some(Stop::from_io(error))),
        };
        let mut count = 0;
        let mut buffer = [0; 4096];
        loop {
            match text.read(&mut buffer) {
                Ok(0) => return (count, None),
                Ok(read) => count += read as u64,
                Err(error) => return (count, Some(Stop::from_io(error))),
            }
        }
    }

    fn gzip(bytes: &[u8]) -> Vec<u8> {
        let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::best());
        encoder.write_all(bytes).unwrap();
        encoder.finish().unwrap()
    }

    #[test]
    fn a_file_of_exactly_the_limit_is_read() {
        let bytes = vec![b' '; LIMIT as usize];
        for file in [bytes.clone(), gzip(&bytes), zstd::encode_all(&bytes[..], 3).unwrap()] {
            let (count, stop) = drain(&file);
            assert!(stop.is_none(), "{stop:?}");
            assert_eq!(count, LIMIT);
        }
    }

    #[test]
    fn a_bomb_ends_at_the_limit() {
        let bytes = vec![b' '; 20 * LIMIT as usize];
        for file in [bytes.clone(), gzip(&bytes), zstd::encode_all(&bytes[..], 3).unwrap()] {
            let (count, stop) = drain(&file);
            assert!(matches!(stop, Some(Stop::TooLarge { max_bytes: LIMIT })), "{stop:?}");
            assert!(count <= LIMIT);
        }
    }

    #[test]
    fn no_more_than_the_limit_is_read_from_the_source() {
        struct Endless<'a>(&'a Cell<u64>);
        impl Read for Endless<'_> {
            fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
                buffer.fill(b'x');
                self.0.set(self.0.get() + buffer.len() as u64);
                Ok(buffer.len())
            }
        }
        let taken = Cell::new(0);
        let mut text = open(Endless(&taken), LIMIT).unwrap();
        assert!(Stop::is_too_large(&io::copy(&mut text, &mut io::sink()).unwrap_err()));
        assert!(taken.get() <= LIMIT + 1, "{}", taken.get());
    }

    #[test]
    fn an_error_of_the_source_is_not_the_file_s_fault() {
        struct Broken;
        impl Read for Broken {
            fn read(&mut self, _: &mut [u8]) -> io::Result<usize> {
                Err(ErrorKind::ConnectionReset.into())
            }
        }
        let half = gzip(b"some text");
        let error = open((&half[..12]).chain(Broken), LIMIT).err().unwrap();
        assert!(matches!(Stop::from_io(error), Stop::Source(e) if e.kind() == ErrorKind::ConnectionReset));
    }

    #[test]
    fn two_zstd_frames_are_one_file_and_garbage_after_one_is_not() {
        let frame = zstd::encode_all(&b"half"[..], 3).unwrap();
        assert!(matches!(drain(&[&frame[..], &frame[..]].concat()), (8, None)));
        assert!(matches!(drain(&[&frame[..], b"garbage!"].concat()).1, Some(Stop::Corrupt(_))));
        assert!(matches!(drain(&frame[..frame.len() - 1]).1, Some(Stop::Corrupt(_))));
    }
}
