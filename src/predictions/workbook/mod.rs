//! A workbook (.xlsx): the first sheet's table. Knows nothing of questions; it finds the sheet and gives its rows on.

mod package;
mod sheet;
mod texts;

use std::io::{self, BufRead};

use super::columns::{Cell, Columns};
use super::decompress::Stop;
use super::report::{Place, Report};
use super::wording;
use crate::domain::fault::FaultCode;

use package::{Package, Xml};
use sheet::{Row, Sheet};
use texts::Texts;

const WORKBOOK: &str = "xl/workbook.xml";
const RELATIONS: &str = "xl/_rels/workbook.xml.rels";
const TEXTS: &str = "xl/sharedStrings.xml";

/// Why a workbook cannot be read to its end.
#[derive(Debug)]
enum Damage {
    /// It is another archive.
    OtherArchive,
    /// Its parts do not say what a workbook's must, in words.
    Malformed(String),
    /// What ends the reading of any file.
    Stop(Stop),
}

impl Damage {
    fn malformed(what: impl std::fmt::Display) -> Damage {
        Damage::Malformed(what.to_string())
    }
}

/// Reads the table of the first sheet; what is unpacked, and the text of its cells, has at most `max_bytes` bytes.
pub(super) fn read(mut archive: impl BufRead, max_bytes: u64, report: &mut Report) -> io::Result<()> {
    let mut bytes = Vec::new();
    archive.read_to_end(&mut bytes)?;
    let what = match read_table(&bytes, max_bytes, report) {
        Ok(()) => return Ok(()),
        Err(Damage::Stop(stop)) => return Err(stop.into()),
        Err(Damage::OtherArchive) => "a zip archive and no workbook".to_owned(),
        Err(Damage::Malformed(what)) => wording::unreadable_workbook(&what),
    };
    report.fault(|| Place::default().fault(FaultCode::UnknownFormat, wording::unknown_format(&what)));
    Ok(())
}

fn read_table(bytes: &[u8], max_bytes: u64, report: &mut Report) -> Result<(), Damage> {
    let mut package = Package::open(bytes, max_bytes)?;
    let path = first_sheet(&mut package)?;
    let texts = match package.part(TEXTS)? {
        Some(part) => Texts::read(part)?,
        None => Texts::default(),
    };
    let part =
        package.part(&path)?.ok_or_else(|| Damage::malformed(format!("its part `{path}` is missing")))?;
    let mut sheet = Sheet::new(part, &texts, max_bytes);
    let header = loop {
        match sheet.next_row(&|_| true)? {
            Some(row) if row.is_empty() => {}
            Some(row) => break row,
            None => return Ok(()),
        }
    };
    let names = header.texts();
    let Some(columns) = Columns::of(&names, header.number, report) else { return Ok(()) };
    while let Some(row) = sheet.next_row(&|column| columns.reads(column))? {
        if !row.is_empty() {
            read_row(&columns, &row, report);
        }
    }
    Ok(())
}

fn read_row(columns: &Columns, row: &Row, report: &mut Report) {
    let at = |column| Place { column: Some(column as u64 + 1), ..Place::line(row.number) };
    columns.read_row(row.number, &|column| row.cell(column).unwrap_or(Cell::Text("")), &at, report);
}

/// The path of the sheet that the workbook lists first.
fn first_sheet(package: &mut Package) -> Result<String, Damage> {
    let mut relation = None;
    let mut workbook = Xml::new(package.part(WORKBOOK)?.ok_or(Damage::OtherArchive)?);
    while let Some(element) = workbook.next_start()? {
        if element.local_name().as_ref() == "sheet" {
            relation = package::attribute(&element, "id")?;
            break;
        }
    }
    drop(workbook);
    let relation = relation.ok_or_else(|| Damage::malformed("it has no sheet"))?;
    let part =
        package.part(RELATIONS)?.ok_or_else(|| Damage::malformed("it does not say where its sheets are"))?;
    let mut relations = Xml::new(part);
    while let Some(element) = relations.next_start()? {
        if package::attribute(&element, "Id")?.as_ref() == Some(&relation) {
            let target = package::attribute(&element, "Target")?.unwrap_or_default();
            let path = target.strip_prefix('/').map_or_else(|| format!("xl/{target}"), str::to_owned);
            return Ok(path);
        }
    }
    Err(Damage::malformed("it does not say where its first sheet is"))
}
