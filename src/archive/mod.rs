//! Everything that Secchi knows in one file, and back: written from either database while servers work on it, restored
//! into either, or shown as it is. Knows nothing of what the tables hold beyond what is another one's after a move.

mod restoring;
mod showing;
mod writing;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use serde::Serialize;

use crate::store::archive::{ArchiveFacts, ArchiveFault, ArchiveFile};
use crate::store::rows::{Cell, Cells, insert_rows};
use crate::store::tables::Table;
use crate::store::{DbConnection, StoreError};

pub use restoring::{Restored, restore_archive};
pub use showing::{Shown, show_archive};
pub use writing::{NewArchive, write_archive};

/// Rows that one statement inserts, at most.
const ROWS_AT_ONCE: usize = 200;

/// Bytes that one statement inserts, about.
const BYTES_AT_ONCE: usize = 4 << 20;

/// Why an archive is not written, restored or shown.
#[derive(Debug, thiserror::Error)]
pub enum ArchiveError {
    /// There is a file with its name.
    #[error("`{}` exists; give another name, or `--force` to replace it", .0.display())]
    Exists(PathBuf),
    /// It would take the database's own place.
    #[error("`{}` is the database itself, which an archive would replace; give another name", .0.display())]
    Itself(PathBuf),
    /// The file is not taken.
    #[error("`{path}`: {why}", path = .0.display(), why = .1)]
    File(PathBuf, ArchiveFault),
    /// It lacks what a ledger needs.
    #[error(
        "`{}` is a public archive: what it was restored to would have no keys, answers and accounts. Restore one that was \
         written without `--public`, or show this one by `secchi serve --archive`",
        .0.display()
    )]
    Public(PathBuf),
    /// The database holds something already.
    #[error(
        "the database is not empty: there are rows in `{0}`. Restore into a new one, before anything is started on it"
    )]
    NotEmpty(String),
    /// Nobody has said whether it is public.
    #[error(
        "nobody has decided whether `{0}` is public, so there is no public archive; enter it in `src/store/public.rs`"
    )]
    Undecided(String),
    /// A value of one database is none of the other.
    #[error("a row of `{0}` holds a value that its column cannot")]
    Value(String),
    /// The disk refuses.
    #[error("`{path}`: {why}", path = .0.display(), why = .1)]
    Io(PathBuf, std::io::Error),
    /// Somebody asked for an end.
    #[error("interrupted; nothing was written")]
    Interrupted,
    /// The database refuses.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// How far a copy is, for whoever watches it.
#[derive(Debug, Default)]
pub struct Progress {
    total: AtomicU64,
    done: AtomicU64,
    stop: AtomicBool,
}

impl Progress {
    /// Rows that are done, and rows in all as far as they are counted.
    pub fn rows(&self) -> (u64, u64) {
        (self.done.load(Ordering::Relaxed), self.total.load(Ordering::Relaxed))
    }

    /// Asks for an end: nothing is written.
    pub fn stop(&self) {
        self.stop.store(true, Ordering::Relaxed);
    }

    fn expect(&self, rows: u64) {
        self.total.fetch_add(rows, Ordering::Relaxed);
    }

    fn step(&self) -> Result<(), ArchiveError> {
        self.done.fetch_add(1, Ordering::Relaxed);
        if self.stop.load(Ordering::Relaxed) { Err(ArchiveError::Interrupted) } else { Ok(()) }
    }
}

/// What an archive holds, for people and programs.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Summary {
    /// Whether it holds only what everybody may know.
    pub public: bool,
    /// The version of Secchi that wrote it.
    pub secchi_version: String,
    /// When, as RFC 3339.
    pub written_at: String,
    /// `sqlite` or `postgres`: where it was written from.
    pub from_database: String,
    /// Bytes of the file.
    pub bytes: u64,
    /// By table its rows and a sum over them, which is the same for the same rows in any order and database.
    pub tables: BTreeMap<String, TableSummary>,
}

/// What an archive holds of a table.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct TableSummary {
    /// How many rows.
    pub rows: i64,
    /// The exclusive or of the rows' SHA-256, in hex.
    pub sha256: String,
}

impl Summary {
    fn of(file: &ArchiveFile, bytes: u64) -> Summary {
        let ArchiveFacts { secchi_version, written_at, from_database, public } = file.facts.clone();
        let table = |(name, (rows, sha256)): (&String, &(i64, String))| {
            (name.clone(), TableSummary { rows: *rows, sha256: sha256.clone() })
        };
        let tables = file.contents.iter().map(table).collect();
        Summary { public, secchi_version, written_at, from_database, bytes, tables }
    }

    /// Rows of a table.
    pub fn rows(&self, table: &str) -> i64 {
        self.tables.get(table).map_or(0, |table| table.rows)
    }
}

/// Opens an archive and reads all of it, so that no damage is found later.
fn verified(path: &Path, progress: &Progress) -> Result<(ArchiveFile, Summary), ArchiveError> {
    let fault = |fault| ArchiveError::File(path.to_owned(), fault);
    let mut file = ArchiveFile::open(path).map_err(fault)?;
    let bytes = path.metadata().map_err(|error| ArchiveError::Io(path.to_owned(), error))?.len();
    let rows: i64 = file.contents.values().map(|(rows, _)| rows).sum();
    progress.expect(rows.unsigned_abs());
    file.verify(|| progress.step().map_err(Reading::Stopped)).map_err(|reading| match reading {
        Reading::Stopped(error) => error,
        Reading::Fault(found) => fault(found),
    })?;
    let summary = Summary::of(&file, bytes);
    Ok((file, summary))
}

enum Reading {
    Stopped(ArchiveError),
    Fault(ArchiveFault),
}

impl From<ArchiveFault> for Reading {
    fn from(fault: ArchiveFault) -> Self {
        Reading::Fault(fault)
    }
}

/// A table's rows on their way into a database, a handful at a time.
struct Batch<'a> {
    table: &'a Table,
    rows: Vec<Cells>,
    bytes: usize,
}

impl<'a> Batch<'a> {
    fn new(table: &'a Table) -> Batch<'a> {
        Batch { table, rows: Vec::new(), bytes: 0 }
    }

    /// Takes a row as the table's columns hold it.
    fn fitted(&self, row: Cells) -> Result<Cells, ArchiveError> {
        let cells = row.into_iter().zip(&self.table.columns);
        let fitted: Option<Cells> = cells.map(|(cell, column)| cell.fit(column.kind)).collect();
        fitted.ok_or_else(|| ArchiveError::Value(self.table.name.clone()))
    }

    fn push(&mut self, into: &mut DbConnection, row: Cells) -> Result<(), StoreError> {
        self.bytes += row.iter().map(Cell::size).sum::<usize>();
        self.rows.push(row);
        if self.rows.len() < ROWS_AT_ONCE && self.bytes < BYTES_AT_ONCE {
            return Ok(());
        }
        self.flush(into)
    }

    fn flush(&mut self, into: &mut DbConnection) -> Result<(), StoreError> {
        insert_rows(into, self.table, &self.rows)?;
        self.rows.clear();
        self.bytes = 0;
        Ok(())
    }
}
