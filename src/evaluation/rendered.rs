//! A body that is ready to send: its entity tag, and itself compressed once for each coding that is asked for. Knows
//! nothing of what it says.

use std::io::Write as _;
use std::sync::Arc;

use bytes::Bytes;
use flate2::Compression;
use flate2::write::GzEncoder;
use sha2::{Digest as _, Sha256};
use tokio::sync::OnceCell;

/// Brotli's level: what is prepared once and sent often is worth more than the default of what is sent once.
const BROTLI_LEVEL: u32 = 6;

/// From so many bytes on a change shall not wait for the compression: a level that is ten times as fast.
const LARGE: usize = 2 << 20;
const BROTLI_LEVEL_OF_LARGE: u32 = 2;
const BROTLI_WINDOW: u32 = 22;
const BUFFER: usize = 1 << 16;

/// Bytes of a part: a larger one makes the first byte wait, a smaller one costs a turn of the connection.
const PART: usize = 1 << 19;

/// A body in memory; cheap to clone.
#[derive(Clone)]
pub struct Rendered(Arc<Body>);

struct Body {
    plain: Bytes,
    etag: String,
    brotli: OnceCell<Bytes>,
    gzip: OnceCell<Bytes>,
}

/// How a body is coded, as in `Content-Encoding`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Coding {
    /// `br`
    Brotli,
    /// `gzip`
    Gzip,
}

/// Compresses a whole body.
type Compress = fn(&[u8]) -> Vec<u8>;

impl Coding {
    /// As in the header.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Brotli => "br",
            Self::Gzip => "gzip",
        }
    }

    /// The coding to answer an `Accept-Encoding` header with; none where it takes neither.
    fn of(accept_encoding: &str) -> Option<Coding> {
        let taken = |coding: &Coding| {
            accept_encoding.split(',').any(|part| {
                let mut parts = part.split(';').map(str::trim);
                let named = parts.next().is_some_and(|name| name.eq_ignore_ascii_case(coding.as_str()));
                let quality = parts.find_map(|part| part.strip_prefix("q=")).map(str::parse::<f64>);
                named && quality.is_none_or(|quality| quality.is_ok_and(|quality| quality > 0.0))
            })
        };
        [Self::Brotli, Self::Gzip].into_iter().find(taken)
    }
}

impl Rendered {
    /// Wraps a body. Its entity tag is weak, since it may be sent compressed.
    pub fn new(body: Vec<u8>) -> Rendered {
        let etag = format!("W/\"{}\"", hex::encode(&Sha256::digest(&body)[..16]));
        let plain = Bytes::from(body);
        Rendered(Arc::new(Body { plain, etag, brotli: OnceCell::new(), gzip: OnceCell::new() }))
    }

    /// The entity tag.
    pub fn etag(&self) -> &str {
        &self.0.etag
    }

    /// Bytes of the body, not compressed.
    pub(super) fn len(&self) -> usize {
        self.0.plain.len()
    }

    /// Compresses it as browsers ask for it, before one does.
    pub(super) async fn compress(&self) {
        self.coded(Some(Coding::Brotli)).await;
    }

    /// A body in parts, so that the first leaves before the last is copied.
    pub fn parts(mut body: Bytes) -> impl Iterator<Item = Bytes> {
        std::iter::from_fn(move || (!body.is_empty()).then(|| body.split_to(body.len().min(PART))))
    }

    /// What to answer whoever sent these `If-None-Match` and `Accept-Encoding` headers; none where the body is known.
    pub async fn answer(
        &self,
        if_none_match: Option<&str>,
        accept_encoding: Option<&str>,
    ) -> Option<(Option<Coding>, Bytes)> {
        if if_none_match.is_some_and(|known| self.is_known(known)) {
            return None;
        }
        Some(self.coded(Coding::of(accept_encoding.unwrap_or_default())).await)
    }

    /// Whether an `If-None-Match` header names this body.
    fn is_known(&self, if_none_match: &str) -> bool {
        let opaque = self.etag().trim_start_matches("W/");
        if_none_match.trim() == "*"
            || if_none_match.split(',').any(|tag| tag.trim().trim_start_matches("W/") == opaque)
    }

    /// The bytes in a coding, compressed once, outside the threads that answer requests; as they are where that fails.
    async fn coded(&self, coding: Option<Coding>) -> (Option<Coding>, Bytes) {
        let plain = &self.0.plain;
        let (place, compress): (_, Compress) = match coding {
            None => return (None, plain.clone()),
            Some(Coding::Brotli) => (&self.0.brotli, brotli),
            Some(Coding::Gzip) => (&self.0.gzip, gzip),
        };
        let build = || {
            let plain = plain.clone();
            tokio::task::spawn_blocking(move || Bytes::from(compress(&plain)))
        };
        match place.get_or_try_init(build).await {
            Ok(coded) => (coding, coded.clone()),
            Err(error) => {
                tracing::error!(%error, "an answer could not be compressed and is sent as it is");
                (None, plain.clone())
            }
        }
    }
}

fn gzip(plain: &[u8]) -> Vec<u8> {
    let level = if plain.len() < LARGE { Compression::default() } else { Compression::fast() };
    let mut writer = GzEncoder::new(Vec::new(), level);
    // Writing to memory does not fail.
    let _written = writer.write_all(plain);
    writer.finish().unwrap_or_default()
}

fn brotli(plain: &[u8]) -> Vec<u8> {
    let mut coded = Vec::new();
    let level = if plain.len() < LARGE { BROTLI_LEVEL } else { BROTLI_LEVEL_OF_LARGE };
    let mut writer = brotli::CompressorWriter::new(&mut coded, BUFFER, level, BROTLI_WINDOW);
    let _written = writer.write_all(plain);
    drop(writer);
    coded
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_coding_that_is_taken_is_used() {
        assert_eq!(Coding::of("gzip, deflate, br"), Some(Coding::Brotli));
        assert_eq!(Coding::of("gzip;q=1.0, br;q=0"), Some(Coding::Gzip));
        assert_eq!(Coding::of("identity"), None);
        assert_eq!(Coding::of(""), None);
    }

    #[tokio::test]
    async fn what_was_compressed_is_the_body() {
        use std::io::Read as _;
        let text = "a board ".repeat(1000);
        let rendered = Rendered::new(text.clone().into_bytes());
        let (mut from_gzip, mut from_brotli) = (String::new(), String::new());
        let (_, gzip) = rendered.coded(Some(Coding::Gzip)).await;
        let (_, brotli) = rendered.coded(Some(Coding::Brotli)).await;
        flate2::read::GzDecoder::new(&gzip[..]).read_to_string(&mut from_gzip).unwrap();
        brotli::Decompressor::new(&brotli[..], 4096).read_to_string(&mut from_brotli).unwrap();
        assert_eq!((from_gzip.as_str(), from_brotli.as_str()), (text.as_str(), text.as_str()));
        assert!(gzip.len() < 200 && brotli.len() < 200);
    }
}
