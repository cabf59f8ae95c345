//! The zip archive that a workbook is, and its parts as XML, within bounds. Knows nothing of sheets.

use std::cell::Cell;
use std::io::{self, BufReader, Cursor, Read};
use std::rc::Rc;

use quick_xml::events::{BytesStart, Event};
use quick_xml::{Reader, XmlVersion};
use zip::ZipArchive;
use zip::result::ZipError;

use super::Damage;
use crate::predictions::decompress::Stop;

/// A workbook of one table has about ten parts.
const MAX_PARTS: usize = 1000;
/// What each entry of an archive's directory begins with (APPNOTE 4.3.12).
const ENTRY: &[u8] = b"PK\x01\x02";

/// An archive whose parts have at most so many bytes together.
pub(super) struct Package<'b> {
    archive: ZipArchive<Cursor<&'b [u8]>>,
    left: Rc<Cell<u64>>,
    max_bytes: u64,
}

impl<'b> Package<'b> {
    /// Opens an archive that is in memory.
    pub(super) fn open(bytes: &'b [u8], max_bytes: u64) -> Result<Self, Damage> {
        // Before the directory is read: it is kept in memory, entry by entry.
        if bytes.windows(ENTRY.len()).filter(|window| *window == ENTRY).nth(MAX_PARTS).is_some() {
            return Err(Damage::malformed(format!("it has more than {MAX_PARTS} parts")));
        }
        let archive = ZipArchive::new(Cursor::new(bytes)).map_err(damage)?;
        Ok(Self { archive, left: Rc::new(Cell::new(max_bytes)), max_bytes })
    }

    /// A part of the archive, unpacked as it is read; none where there is none of this name.
    pub(super) fn part(&mut self, path: &str) -> Result<Option<Part<'_>>, Damage> {
        let input: Box<dyn Read> = match self.archive.by_name(path) {
            Ok(file) => Box::new(file),
            Err(ZipError::FileNotFound) => return Ok(None),
            Err(error) => return Err(damage(error)),
        };
        Ok(Some(Part { input, left: self.left.clone(), max_bytes: self.max_bytes }))
    }
}

fn damage(error: ZipError) -> Damage {
    match error {
        ZipError::UnsupportedArchive(what) => Damage::malformed(what),
        ZipError::Io(error) => Damage::Stop(Stop::of_decoder(error)),
        other => Damage::Stop(Stop::Corrupt(io::Error::other(other))),
    }
}

/// One part. Ends with an error, not in silence, where more bytes come than the archive has left.
pub(super) struct Part<'p> {
    input: Box<dyn Read + 'p>,
    left: Rc<Cell<u64>>,
    max_bytes: u64,
}

impl Read for Part<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.input.read(buffer).map_err(Stop::of_decoder)?;
        let left = self.left.get().checked_sub(count as u64);
        self.left.set(left.ok_or(Stop::TooLarge { max_bytes: self.max_bytes })?);
        Ok(count)
    }
}

/// A part read as XML, event by event.
pub(super) struct Xml<'p> {
    reader: Reader<BufReader<Part<'p>>>,
    buffer: Vec<u8>,
}

impl<'p> Xml<'p> {
    pub(super) fn new(part: Part<'p>) -> Self {
        let mut reader = Reader::from_reader(BufReader::new(part));
        reader.config_mut().expand_empty_elements = true;
        Self { reader, buffer: Vec::new() }
    }

    /// The next event; the end of the part is one.
    pub(super) fn next(&mut self) -> Result<Event<'_>, Damage> {
        self.buffer.clear();
        self.reader.read_event_into(&mut self.buffer).map_err(|error| match error {
            quick_xml::Error::Io(error) => Damage::Stop(Stop::of_shared(&error)),
            other => Damage::malformed(other),
        })
    }

    /// The next element that begins; none at the end of the part.
    pub(super) fn next_start(&mut self) -> Result<Option<BytesStart<'_>>, Damage> {
        loop {
            match self.next()? {
                Event::Start(element) => return Ok(Some(element.into_owned())),
                Event::Eof => return Ok(None),
                _ => {}
            }
        }
    }
}

/// The value of an attribute, whatever its name space.
pub(super) fn attribute(element: &BytesStart, name: &str) -> Result<Option<String>, Damage> {
    for attribute in element.attributes() {
        let attribute = attribute.map_err(Damage::malformed)?;
        if attribute.key.local_name().as_ref() == name {
            let value = attribute.normalized_value(XmlVersion::Implicit1_0).map_err(Damage::malformed)?;
            return Ok(Some(value.into_owned()));
        }
    }
    Ok(None)
}
