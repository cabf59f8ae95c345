//! The texts of a workbook: those that cells share, and how text is written in its XML. Knows nothing of cells.

use quick_xml::events::Event;

use super::Damage;
use super::package::{Part, Xml};

/// The texts that cells refer to by number; in one piece, since a list of texts could need more memory than the file.
#[derive(Debug, Default)]
pub(super) struct Texts {
    text: String,
    ends: Vec<u32>,
}

impl Texts {
    /// Reads the part that holds them.
    pub(super) fn read(part: Part) -> Result<Self, Damage> {
        let mut texts = Self::default();
        let mut xml = Xml::new(part);
        let mut text = String::new();
        while let Some(element) = xml.next_start()? {
            if element.local_name().as_ref() != "si" {
                continue;
            }
            text.clear();
            read_text(&mut xml, "si", &mut text)?;
            texts.text.push_str(&unescaped(&text));
            // A part has less than 4 GiB.
            texts.ends.push(u32::try_from(texts.text.len()).map_err(Damage::malformed)?);
        }
        Ok(texts)
    }

    /// The text with this number.
    pub(super) fn get(&self, number: usize) -> Option<&str> {
        let end = *self.ends.get(number)? as usize;
        let start = number.checked_sub(1).map_or(0, |before| self.ends[before] as usize);
        self.text.get(start..end)
    }
}

/// Adds all text inside an element `end`, which has begun; what tells how to pronounce it is left out.
pub(super) fn read_text(xml: &mut Xml, end: &str, text: &mut String) -> Result<(), Damage> {
    let mut spoken = false;
    loop {
        match xml.next()? {
            Event::Start(element) if element.local_name().as_ref() == "rPh" => spoken = true,
            Event::End(element) if element.local_name().as_ref() == "rPh" => spoken = false,
            Event::End(element) if element.local_name().as_ref() == end => return Ok(()),
            Event::Text(part) if !spoken => text.push_str(&part.xml10_content()),
            Event::CData(part) if !spoken => text.push_str(&part.xml10_content()),
            Event::GeneralRef(reference) if !spoken => {
                let character = match &*reference {
                    "lt" => '<',
                    "gt" => '>',
                    "amp" => '&',
                    "apos" => '\'',
                    "quot" => '"',
                    name => {
                        let unknown = || Damage::malformed(format!("`&{name};` is no character"));
                        reference.resolve_char_ref().map_err(Damage::malformed)?.ok_or_else(unknown)?
                    }
                };
                text.push(character);
            }
            Event::Eof => return Err(Damage::malformed("a part ends before it is complete")),
            _ => {}
        }
    }
}

/// Undoes `_x000D_`, by which workbooks write characters that XML does not have (ECMA-376, 22.9.2.19).
pub(super) fn unescaped(text: &str) -> String {
    let mut plain = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find("_x") {
        let code = rest.get(at + 2..at + 6).filter(|_| rest.as_bytes().get(at + 6) == Some(&b'_'));
        let character = code
            .filter(|code| code.bytes().all(|byte| byte.is_ascii_hexdigit()))
            .and_then(|code| char::from_u32(u32::from_str_radix(code, 16).ok()?));
        let (written, taken) = match character {
            Some(character) => (character, 7),
            None => ('_', 1),
        };
        plain.push_str(&rest[..at]);
        plain.push(written);
        rest = &rest[at + taken..];
    }
    plain + rest
}
