//! The file that an archive is: an SQLite database with this version's tables, a word on what it is, and of each table the
//! number and a sum of its rows. Knows nothing of what the tables hold.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::fs::File;
use std::io::Read as _;
use std::path::Path;

use diesel::connection::SimpleConnection as _;
use diesel::prelude::*;
use diesel::sql_types::{BigInt, Bool, Integer, Text};
use diesel::sqlite::SqliteConnection;

use super::connection::{Versions, migrate_sqlite, sqlite_versions};
use super::rows::{Content, each_row};
use super::tables::{Table, load_tables};
use super::{DbConnection, Result, StoreError};

/// The number of this form of archive.
const FORMAT: i32 = 1;

/// `SECC` in the header of an SQLite file tells it from others.
const APPLICATION_ID: i32 = 0x5345_4343;

/// Where the header of an SQLite file holds that number.
const APPLICATION_ID_AT: usize = 68;

const SQLITE_MAGIC: &[u8] = b"SQLite format 3\0";

/// Nothing of a file that has no name yet need be undone or outlast a power cut; it is synced when it is whole.
const WRITING: &str =
    "PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF; PRAGMA foreign_keys = OFF; BEGIN IMMEDIATE";

const FACTS: &str = "CREATE TABLE archive (
    format INTEGER NOT NULL, secchi_version TEXT NOT NULL, written_at TEXT NOT NULL, from_database TEXT NOT NULL,
    public BOOLEAN NOT NULL);
CREATE TABLE archive_tables (name TEXT PRIMARY KEY NOT NULL, rows BIGINT NOT NULL, sha256 TEXT NOT NULL);";

/// Why a file is not taken for an archive.
#[derive(Debug, thiserror::Error)]
pub enum ArchiveFault {
    /// It is something else.
    #[error("it is no archive of Secchi: {0}")]
    Foreign(&'static str),
    /// A later version wrote it.
    #[error("Secchi {0} wrote it, which is newer than this one; use that version or a later one")]
    Newer(String),
    /// It is not as it was written.
    #[error("it is damaged ({0}); take another copy of it")]
    Damaged(String),
    /// It cannot be read.
    #[error(transparent)]
    Io(#[from] std::io::Error),
    /// The database refuses.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// What an archive says of itself.
#[derive(Debug, Clone, PartialEq, Eq, QueryableByName)]
pub struct ArchiveFacts {
    /// The version of Secchi that wrote it.
    #[diesel(sql_type = Text)]
    pub secchi_version: String,
    /// When, as RFC 3339.
    #[diesel(sql_type = Text)]
    pub written_at: String,
    /// `sqlite` or `postgres`: where it was written from.
    #[diesel(sql_type = Text)]
    pub from_database: String,
    /// Whether it holds only what everybody may know.
    #[diesel(sql_type = Bool)]
    pub public: bool,
}

/// An archive that is open for reading.
pub struct ArchiveFile {
    /// What it says of itself.
    pub facts: ArchiveFacts,
    /// Its tables, each after those that it refers to.
    pub tables: Vec<Table>,
    /// By table what it must hold.
    pub contents: BTreeMap<String, (i64, String)>,
    /// Whether this version adds nothing to its tables.
    pub is_current: bool,
    /// The connection, which cannot write.
    pub connection: DbConnection,
}

/// Makes the tables of an archive in an empty file and begins the one transaction that fills them.
///
/// # Errors
/// When SQLite refuses.
pub fn create_archive(path: &Path) -> Result<(DbConnection, Vec<Table>)> {
    let mut inner = establish(&path.to_string_lossy())?;
    migrate_sqlite(&mut inner)?;
    let tables = load_tables(&mut inner)?;
    inner.batch_execute(WRITING)?;
    // The migrations put some rows of their own into them.
    for table in tables.iter().rev() {
        inner.batch_execute(&format!("DELETE FROM \"{}\"", table.name))?;
    }
    Ok((DbConnection::Sqlite(inner), tables))
}

/// Writes down what an archive is and holds, and ends its transaction.
///
/// # Errors
/// When SQLite refuses, or a row refers to one that is not there.
pub fn finish_archive(
    connection: &mut DbConnection,
    facts: &ArchiveFacts,
    contents: &[(&str, Content)],
) -> Result<()> {
    connection.batch_execute(FACTS)?;
    diesel::sql_query(
        "INSERT INTO archive (format, secchi_version, written_at, from_database, public) VALUES (?, ?, ?, ?, ?)",
    )
    .bind::<Integer, _>(FORMAT)
    .bind::<Text, _>(&facts.secchi_version)
    .bind::<Text, _>(&facts.written_at)
    .bind::<Text, _>(&facts.from_database)
    .bind::<Bool, _>(facts.public)
    .execute(connection)?;
    for (name, content) in contents {
        diesel::sql_query("INSERT INTO archive_tables (name, rows, sha256) VALUES (?, ?, ?)")
            .bind::<Text, _>(*name)
            .bind::<BigInt, _>(content.rows)
            .bind::<Text, _>(content.sha256())
            .execute(connection)?;
    }
    let mut orphans = Vec::new();
    each_row(connection, "SELECT DISTINCT \"table\" FROM pragma_foreign_key_check", |row| {
        orphans.extend(row);
        Ok::<_, StoreError>(())
    })?;
    if !orphans.is_empty() {
        return Err(StoreError::Unknown { what: "number of orphans", value: orphans.len().to_string() });
    }
    connection.batch_execute(&format!("PRAGMA application_id = {APPLICATION_ID}; COMMIT"))?;
    Ok(())
}

/// Brings the tables of an archive up to date, in a copy of it.
///
/// # Errors
/// When a migration fails.
pub fn migrate_archive(path: &Path) -> Result<()> {
    migrate_sqlite(&mut establish(&path.to_string_lossy())?)
}

/// The address under which SQLite opens a file that nobody changes, and leaves nothing beside it.
pub(super) fn read_only_address(path: &Path) -> std::io::Result<String> {
    let mut address = "file:".to_owned();
    for c in path.canonicalize()?.to_string_lossy().chars() {
        match c {
            '%' | '?' | '#' => write!(address, "%{:02X}", c as u32).unwrap_or_default(),
            _ => address.push(c),
        }
    }
    Ok(address + "?mode=ro&immutable=1")
}

fn establish(address: &str) -> Result<SqliteConnection> {
    SqliteConnection::establish(address).map_err(|error| StoreError::Connect(error.to_string()))
}

impl ArchiveFile {
    /// Opens an archive and reads what it says of itself; whether it holds to that, [`ArchiveFile::verify`] tells.
    ///
    /// # Errors
    /// When it is none, or one that this version does not understand.
    pub fn open(path: &Path) -> std::result::Result<ArchiveFile, ArchiveFault> {
        check_header(path)?;
        let mut inner = establish(&read_only_address(path)?)?;
        check_is_stored(&mut inner)?;
        let (format, facts) = load_facts(&mut inner).map_err(damaged)?;
        if format > FORMAT {
            return Err(ArchiveFault::Newer(facts.secchi_version));
        }
        let versions = sqlite_versions(&mut inner).map_err(damaged)?;
        if versions == Versions::Newer {
            return Err(ArchiveFault::Newer(facts.secchi_version));
        }
        check_no_code(&mut inner)?;
        let tables = load_tables(&mut inner).map_err(damaged)?;
        let mut connection = DbConnection::Sqlite(inner);
        let contents = load_contents(&mut connection).map_err(damaged)?;
        Ok(ArchiveFile { facts, tables, contents, is_current: versions == Versions::Same, connection })
    }

    /// Reads the whole archive and compares it with what was written.
    ///
    /// # Errors
    /// [`ArchiveFault::Damaged`] with the first difference; those of `each`, which sees every row's table.
    pub fn verify<E: From<ArchiveFault>>(
        &mut self,
        mut each: impl FnMut() -> std::result::Result<(), E>,
    ) -> std::result::Result<(), E> {
        let checked = check_pages(&mut self.connection).map_err(damaged)?;
        if checked != "ok" {
            return Err(ArchiveFault::Damaged(plain(&checked)).into());
        }
        let names: BTreeSet<&String> = self.tables.iter().map(|table| &table.name).collect();
        if !self.contents.keys().eq(names) {
            return Err(ArchiveFault::Damaged("its tables are not those that were written".into()).into());
        }
        for table in &self.tables {
            let mut content = Content::default();
            each_row(&mut self.connection, &table.select(), |row| {
                content.add(&row);
                each().map_err(Stop::Each)
            })
            .map_err(|stop| match stop {
                Stop::Each(error) => error,
                Stop::Store(error) => damaged(error).into(),
            })?;
            if self.contents.get(&table.name) != Some(&(content.rows, content.sha256())) {
                let what = format!("the rows of `{}` are not those that were written", table.name);
                return Err(ArchiveFault::Damaged(what).into());
            }
        }
        Ok(())
    }
}

/// Why reading was broken off.
enum Stop<E> {
    Each(E),
    Store(StoreError),
}

impl<E> From<StoreError> for Stop<E> {
    fn from(error: StoreError) -> Self {
        Stop::Store(error)
    }
}

/// Whatever SQLite says against a file that opened: nobody else works on it.
fn damaged(error: StoreError) -> ArchiveFault {
    let said = match error {
        StoreError::Statement(error) => error.to_string(),
        other => other.to_string(),
    };
    // It may hold names out of the file.
    ArchiveFault::Damaged(plain(&said))
}

/// A text out of the file as a terminal may show it.
fn plain(text: &str) -> String {
    text.chars().map(|c| if c.is_control() { ' ' } else { c }).collect()
}

/// Makes sure that what is read first stands in the file: a view would be worked out, for as long as it pleases.
fn check_is_stored(inner: &mut SqliteConnection) -> std::result::Result<(), ArchiveFault> {
    let found = load_names(
        inner,
        "SELECT name FROM sqlite_master WHERE type <> 'table'
             AND name IN ('archive', 'archive_tables', '__diesel_schema_migrations')",
    )?;
    match found.first() {
        Some(name) => Err(ArchiveFault::Damaged(format!("`{name}` is no table"))),
        None => Ok(()),
    }
}

/// Makes sure that the file brings nothing that runs when its tables are read or brought up to date, but what the
/// migrations themselves made.
fn check_no_code(inner: &mut SqliteConnection) -> std::result::Result<(), ArchiveFault> {
    const CODE: &str = "SELECT name FROM sqlite_master WHERE type IN ('view', 'trigger')";
    let mut own = establish(":memory:")?;
    migrate_sqlite(&mut own)?;
    let own = load_names(&mut own, CODE)?;
    match load_names(inner, CODE)?.into_iter().find(|name| !own.contains(name)) {
        Some(name) => Err(ArchiveFault::Damaged(format!("no version of Secchi made `{}`", plain(&name)))),
        None => Ok(()),
    }
}

#[derive(QueryableByName)]
struct Named {
    #[diesel(sql_type = Text)]
    name: String,
}

fn load_names(inner: &mut SqliteConnection, query: &str) -> std::result::Result<Vec<String>, ArchiveFault> {
    let rows: std::result::Result<Vec<Named>, _> = diesel::sql_query(query).load(inner);
    Ok(rows.map_err(|error| damaged(error.into()))?.into_iter().map(|row| row.name).collect())
}

/// Whether a file says that it is an archive.
pub(super) fn is_archive(path: &Path) -> bool {
    check_header(path).is_ok()
}

fn check_header(path: &Path) -> std::result::Result<(), ArchiveFault> {
    // A pipe would have it wait for somebody who writes.
    if !path.metadata()?.is_file() {
        return Err(ArchiveFault::Foreign("it is no file"));
    }
    let mut header = Vec::new();
    File::open(path)?.take(100).read_to_end(&mut header)?;
    if !header.starts_with(SQLITE_MAGIC) {
        return Err(ArchiveFault::Foreign("it is no SQLite file"));
    }
    let marked = header.get(APPLICATION_ID_AT..APPLICATION_ID_AT + 4);
    if marked != Some(APPLICATION_ID.to_be_bytes().as_slice()) {
        return Err(ArchiveFault::Foreign("`secchi archive` did not write this SQLite file"));
    }
    Ok(())
}

#[derive(QueryableByName)]
struct Format {
    #[diesel(sql_type = Integer)]
    format: i32,
}

fn load_facts(inner: &mut SqliteConnection) -> Result<(i32, ArchiveFacts)> {
    let Format { format } = diesel::sql_query("SELECT format FROM archive").get_result(inner)?;
    // A later form still says which version wrote it.
    let facts = diesel::sql_query("SELECT secchi_version, written_at, from_database, public FROM archive");
    let facts: ArchiveFacts = facts.get_result(inner)?;
    let (secchi_version, written_at) = (plain(&facts.secchi_version), plain(&facts.written_at));
    Ok((
        format,
        ArchiveFacts { secchi_version, written_at, from_database: plain(&facts.from_database), ..facts },
    ))
}

#[derive(QueryableByName)]
struct TableContent {
    #[diesel(sql_type = Text)]
    name: String,
    #[diesel(sql_type = BigInt)]
    rows: i64,
    #[diesel(sql_type = Text)]
    sha256: String,
}

fn load_contents(connection: &mut DbConnection) -> Result<BTreeMap<String, (i64, String)>> {
    let rows: Vec<TableContent> =
        diesel::sql_query("SELECT name, rows, sha256 FROM archive_tables").load(connection)?;
    Ok(rows.into_iter().map(|row| (row.name, (row.rows, row.sha256))).collect())
}

#[derive(QueryableByName)]
struct Checked {
    #[diesel(sql_type = Text)]
    integrity_check: String,
}

fn check_pages(connection: &mut DbConnection) -> Result<String> {
    let checked: Checked = diesel::sql_query("PRAGMA integrity_check(1)").get_result(connection)?;
    Ok(checked.integrity_check)
}
