//! The rows of a sheet, one at a time. Knows nothing of what a column means.

use quick_xml::events::{BytesStart, Event};

use super::Damage;
use super::package::{Part, Xml, attribute};
use super::texts::{Texts, read_text, unescaped};
use crate::predictions::columns::Cell;
use crate::predictions::decompress::Stop;

/// The last column of a sheet is XFD.
const MAX_COLUMNS: usize = 16_384;

/// The rows of a sheet; the text of their cells has at most so many bytes together.
pub(super) struct Sheet<'p> {
    xml: Xml<'p>,
    texts: &'p Texts,
    row: u64,
    left: u64,
    max_bytes: u64,
}

/// One row, with the cells that were asked for.
#[derive(Debug)]
pub(super) struct Row {
    /// Its number, from 1.
    pub(super) number: u64,
    cells: Vec<(usize, Value)>,
}

/// What stands in a cell.
#[derive(Debug)]
enum Value {
    Text(String),
    Number(String),
    Other(&'static str, String),
}

impl Row {
    /// Whether nothing stands in it.
    pub(super) fn is_empty(&self) -> bool {
        self.cells.is_empty()
    }

    /// The cell in a column, from 0.
    pub(super) fn cell(&self, column: usize) -> Option<Cell<'_>> {
        let (_, value) = self.cells.iter().find(|(place, _)| *place == column)?;
        Some(match value {
            Value::Text(text) => Cell::Text(text),
            Value::Number(text) => Cell::Number(text),
            Value::Other(kind, text) => Cell::Other(kind, text),
        })
    }

    /// What stands in each column, as it is written.
    pub(super) fn texts(&self) -> Vec<&str> {
        let mut texts = vec![""; self.cells.iter().map(|(column, _)| column + 1).max().unwrap_or_default()];
        for (column, value) in &self.cells {
            let (Value::Text(text) | Value::Number(text) | Value::Other(_, text)) = value;
            texts[*column] = text;
        }
        texts
    }
}

impl<'p> Sheet<'p> {
    pub(super) fn new(part: Part<'p>, texts: &'p Texts, max_bytes: u64) -> Self {
        Self { xml: Xml::new(part), texts, row: 0, left: max_bytes, max_bytes }
    }

    /// The next row with the cells of the columns that `reads` names.
    pub(super) fn next_row(&mut self, reads: &dyn Fn(usize) -> bool) -> Result<Option<Row>, Damage> {
        while let Some(element) = self.xml.next_start()? {
            if element.local_name().as_ref() != "row" {
                continue;
            }
            let number = match attribute(&element, "r")? {
                Some(number) => number.parse().map_err(Damage::malformed)?,
                None => self.row + 1,
            };
            self.row = number;
            return Ok(Some(Row { number, cells: self.cells(reads)? }));
        }
        Ok(None)
    }

    fn cells(&mut self, reads: &dyn Fn(usize) -> bool) -> Result<Vec<(usize, Value)>, Damage> {
        let mut cells = Vec::new();
        let mut next = 0;
        loop {
            let element = match self.xml.next()? {
                Event::Start(element) if element.local_name().as_ref() == "c" => element.into_owned(),
                Event::End(element) if element.local_name().as_ref() == "row" => return Ok(cells),
                Event::Eof => return Err(Damage::malformed("the sheet ends within a row")),
                _ => continue,
            };
            let column = attribute(&element, "r")?.map_or(Some(next), |name| column(&name));
            let column = column.filter(|column| *column < MAX_COLUMNS);
            let column = column.ok_or_else(|| Damage::malformed("a cell is in no column"))?;
            next = column + 1;
            let value = self.value(&element)?;
            if let Some(value) = value.filter(|_| reads(column)) {
                self.spend(&value)?;
                cells.push((column, value));
            }
        }
    }

    fn value(&mut self, cell: &BytesStart) -> Result<Option<Value>, Damage> {
        let (mut value, mut formula, mut inline) = (String::new(), String::new(), String::new());
        loop {
            let name = match self.xml.next()? {
                Event::Start(element) => element.local_name().as_ref().to_owned(),
                Event::End(element) if element.local_name().as_ref() == "c" => break,
                Event::Eof => return Err(Damage::malformed("the sheet ends within a cell")),
                _ => continue,
            };
            match name.as_str() {
                "v" => read_text(&mut self.xml, "v", &mut value)?,
                "f" => read_text(&mut self.xml, "f", &mut formula)?,
                "is" => read_text(&mut self.xml, "is", &mut inline)?,
                _ => {}
            }
        }
        let kind = attribute(cell, "t")?;
        Ok(Some(match kind.as_deref() {
            Some("s") => {
                let number = value.trim().parse().ok();
                let text = number.and_then(|number| self.texts.get(number));
                let missing =
                    || Damage::malformed(format!("a cell refers to text {value}, which is not there"));
                Value::Text(text.ok_or_else(missing)?.to_owned())
            }
            Some("inlineStr") => Value::Text(unescaped(&inline)),
            Some("str") => Value::Text(unescaped(&value)),
            // Writers take text that begins with `=` for a formula; its value is none of the model's.
            _ if !formula.is_empty() => Value::Text(format!("={}", unescaped(&formula))),
            Some("b") => Value::Other("a truth value", value),
            Some("e") => Value::Other("an error", value),
            Some("d") => Value::Other("a date", value),
            _ if value.is_empty() => return Ok(None),
            _ => Value::Number(value),
        }))
    }

    /// Counts the bytes of a cell that is kept: many cells may share one long text.
    fn spend(&mut self, value: &Value) -> Result<(), Damage> {
        let (Value::Text(text) | Value::Number(text) | Value::Other(_, text)) = value;
        let left = self.left.checked_sub(text.len() as u64);
        self.left = left.ok_or(Damage::Stop(Stop::TooLarge { max_bytes: self.max_bytes }))?;
        Ok(())
    }
}

/// The column of a cell by its name, such as `AB12`, from 0.
fn column(name: &str) -> Option<usize> {
    let letters = name.trim_end_matches(|c: char| c.is_ascii_digit());
    if letters.is_empty() || letters.len() > 3 || !letters.bytes().all(|byte| byte.is_ascii_uppercase()) {
        return None;
    }
    let number = letters.bytes().fold(0, |number, byte| number * 26 + usize::from(byte - b'A') + 1);
    Some(number - 1)
}
