//! Taking off a byte-order mark and turning UTF-16 into UTF-8. Knows nothing of compression or formats.

use std::io::{self, BufRead, BufReader, Read};

use super::decompress::peek;

const CHUNK_BYTES: u64 = 16 * 1024;
/// Stands for what cannot be decoded: no UTF-8 text holds this byte, so the line that does is reported.
const UNDECODABLE: u8 = 0xff;

/// The text without its byte-order mark, as UTF-8 if the mark says UTF-16; whether it is valid is not checked
/// here.
pub(super) fn to_utf8<'a>(bytes: Box<dyn BufRead + 'a>) -> io::Result<Box<dyn BufRead + 'a>> {
    let (start, mut bytes) = peek(bytes, 3)?;
    let unit: fn([u8; 2]) -> u16 = match start[..] {
        [0xef, 0xbb, 0xbf] => {
            bytes.consume(3);
            return Ok(Box::new(bytes));
        }
        [0xff, 0xfe, ..] => u16::from_le_bytes,
        [0xfe, 0xff, ..] => u16::from_be_bytes,
        _ => return Ok(Box::new(bytes)),
    };
    bytes.consume(2);
    Ok(Box::new(BufReader::new(Utf16 { bytes, unit, text: Vec::new(), given: 0 })))
}

struct Utf16<R> {
    bytes: R,
    unit: fn([u8; 2]) -> u16,
    text: Vec<u8>,
    given: usize,
}

impl<R: Read> Utf16<R> {
    fn decode_chunk(&mut self) -> io::Result<()> {
        let mut raw = Vec::with_capacity(CHUNK_BYTES as usize + 2);
        self.bytes.by_ref().take(CHUNK_BYTES).read_to_end(&mut raw)?;
        let last = raw.last_chunk().map(|&pair| (self.unit)(pair));
        if last.is_some_and(|unit| (0xd800..0xdc00).contains(&unit)) {
            self.bytes.by_ref().take(2).read_to_end(&mut raw)?;
        }
        let (pairs, rest) = raw.as_chunks();
        self.text.clear();
        self.given = 0;
        for decoded in char::decode_utf16(pairs.iter().map(|&pair| (self.unit)(pair))) {
            match decoded {
                Ok(c) => self.text.extend_from_slice(c.encode_utf8(&mut [0; 4]).as_bytes()),
                Err(_) => self.text.push(UNDECODABLE),
            }
        }
        self.text.extend(rest.iter().map(|_| UNDECODABLE));
        Ok(())
    }
}

impl<R: Read> Read for Utf16<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.given == self.text.len() {
            self.decode_chunk()?;
        }
        let count = (&self.text[self.given..]).read(buffer)?;
        self.given += count;
        Ok(count)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn decoded(units: impl Iterator<Item = u16>, bytes: fn(u16) -> [u8; 2]) -> Vec<u8> {
        let file: Vec<u8> = std::iter::once(0xfeff).chain(units).flat_map(bytes).collect();
        let mut text = Vec::new();
        to_utf8(Box::new(&file[..])).unwrap().read_to_end(&mut text).unwrap();
        text
    }

    #[test]
    fn a_pair_that_straddles_two_chunks_is_one_character() {
        for padding in 0..3 {
            let text = "x".repeat(CHUNK_BYTES as usize / 2 - padding) + "🐠 é";
            assert_eq!(decoded(text.encode_utf16(), u16::to_le_bytes), text.as_bytes());
            assert_eq!(decoded(text.encode_utf16(), u16::to_be_bytes), text.as_bytes());
        }
    }

    #[test]
    fn half_a_pair_is_not_utf8() {
        assert_eq!(decoded([0x41, 0xd83d, 0x42].into_iter(), u16::to_le_bytes), [0x41, UNDECODABLE, 0x42]);
    }

    #[test]
    fn an_odd_last_byte_is_not_utf8() {
        let mut text = Vec::new();
        to_utf8(Box::new(&b"\xff\xfeA\0B"[..])).unwrap().read_to_end(&mut text).unwrap();
        assert_eq!(text, [b'A', UNDECODABLE]);
    }
}
