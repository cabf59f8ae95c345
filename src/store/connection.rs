//! One connection type over both databases, and how it is opened and migrated. Knows no table.

use std::fs::{DirBuilder, File, OpenOptions, TryLockError};
use std::io::ErrorKind;
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};

use diesel::connection::SimpleConnection as _;
use diesel::migration::{self, Migration, MigrationSource, MigrationVersion};
use diesel::pg::{Pg, PgConnection};
use diesel::r2d2::ManageConnection;
use diesel::sqlite::{Sqlite, SqliteConnection};
use diesel::{Connection as _, RunQueryDsl as _};
use diesel_migrations::{EmbeddedMigrations, MigrationHarness as _, embed_migrations};

use super::archive::{is_archive, read_only_address};
use super::{Result, StoreError};

const SQLITE_MIGRATIONS: EmbeddedMigrations = embed_migrations!("migrations/sqlite");
const POSTGRES_MIGRATIONS: EmbeddedMigrations = embed_migrations!("migrations/postgres");

/// Names the one lock in PostgreSQL under which processes that start together migrate one after the other.
const MIGRATION_LOCK: i64 = 0x5ecc_0001;

/// An archive is read by many and changed by nobody.
const ARCHIVE_SETTINGS: &str = "PRAGMA query_only = ON;";

const SQLITE_SETTINGS: &str = "PRAGMA busy_timeout = 10000; PRAGMA journal_mode = WAL; \
     PRAGMA foreign_keys = ON;";

/// The two databases.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Backend {
    /// A file, built in.
    Sqlite,
    /// A server.
    Postgres,
}

/// What a power cut may do to a transaction that was answered for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Durability {
    /// Nothing.
    Lasting,
    /// Undo it, with all that came after it.
    Recoverable,
}

/// A connection to either database.
#[derive(diesel::MultiConnection)]
pub enum DbConnection {
    /// To a PostgreSQL server.
    Postgres(PgConnection),
    /// To an SQLite file.
    Sqlite(SqliteConnection),
}

/// Says once, for both databases, what [`DbConnection`] itself cannot: batch inserts and `ON CONFLICT`.
macro_rules! on_each {
    ($connection:expr, |$inner:ident| $body:expr) => {
        match $connection {
            $crate::store::DbConnection::Postgres($inner) => $body,
            $crate::store::DbConnection::Sqlite($inner) => $body,
        }
    };
}
pub(super) use on_each;

/// Opens connections to one database.
#[derive(Debug, Clone)]
pub(super) struct Opener {
    backend: Backend,
    /// A path for SQLite, the whole address for PostgreSQL.
    target: String,
    settings: &'static str,
}

impl Opener {
    pub(super) fn new(url: &str) -> Result<Opener> {
        if let Some(path) = url.strip_prefix("sqlite://").filter(|path| !path.is_empty()) {
            let opener = Opener::of(Backend::Sqlite, path);
            if is_archive(Path::new(path)) {
                let way = "`secchi restore` makes a database of it, `secchi serve --archive` shows it";
                return Err(StoreError::Connect(format!("`{path}` is an archive; {way}")));
            }
            let folder = opener.folder();
            // The file holds the answer keys: it is its owner's alone.
            let made = DirBuilder::new().recursive(true).mode(0o700).create(folder);
            made.map_err(|error| unusable(folder, &error))?;
            return Ok(opener);
        }
        if url.starts_with("postgres://") || url.starts_with("postgresql://") {
            return Ok(Opener::of(Backend::Postgres, url));
        }
        Err(StoreError::Address(url.split("://").next().unwrap_or_default().to_owned()))
    }

    /// The same for a database that must be there.
    pub(super) fn existing(url: &str) -> Result<Opener> {
        if let Some(path) = url.strip_prefix("sqlite://").map(Path::new) {
            path.metadata().map_err(|error| unusable(path, &error))?;
        }
        Opener::new(url)
    }

    /// Opens an archive, which is never written to.
    pub(super) fn archive(path: &Path) -> Result<Opener> {
        let address = read_only_address(path).map_err(|error| unusable(path, &error))?;
        Ok(Opener { settings: ARCHIVE_SETTINGS, ..Opener::of(Backend::Sqlite, &address) })
    }

    fn of(backend: Backend, target: &str) -> Opener {
        Opener { backend, target: target.to_owned(), settings: SQLITE_SETTINGS }
    }

    pub(super) fn backend(&self) -> Backend {
        self.backend
    }

    /// Whether a file is the SQLite file or one of its companions.
    pub(super) fn is_kept_in(&self, path: &Path) -> bool {
        let is_same = |companion: &str| {
            let own = PathBuf::from(format!("{}{companion}", self.target));
            matches!((own.canonicalize(), path.canonicalize()), (Ok(own), Ok(path)) if own == path)
        };
        self.backend == Backend::Sqlite && ["", "-wal", "-shm", ".server"].into_iter().any(is_same)
    }

    /// The folder of an SQLite file.
    fn folder(&self) -> &Path {
        let folder = Path::new(&self.target).parent().filter(|folder| !folder.as_os_str().is_empty());
        folder.unwrap_or(Path::new("."))
    }

    /// Lets processes that start together on an SQLite file make it ready one after the other, as long as the result
    /// lives: SQLite does not wait for its own locks where a file becomes a WAL or a reader becomes a writer.
    fn lock_folder(&self) -> Result<Option<File>> {
        if self.backend == Backend::Postgres {
            return Ok(None);
        }
        let folder = self.folder();
        let locked = File::open(folder).and_then(|handle| handle.lock().map(|()| handle));
        locked.map(Some).map_err(|error| unusable(folder, &error))
    }

    /// Takes an SQLite file for the one server that may work on it, as long as the result lives.
    pub(super) fn lock_for_server(&self) -> Result<Option<File>> {
        if self.backend == Backend::Postgres {
            return Ok(None);
        }
        let path = PathBuf::from(format!("{}.server", self.target));
        let opened = OpenOptions::new().write(true).create(true).truncate(false).mode(0o600).open(&path);
        let file = opened.map_err(|error| unusable(&path, &error))?;
        match file.try_lock() {
            Ok(()) => Ok(Some(file)),
            Err(TryLockError::WouldBlock) => Err(StoreError::InUse(self.target.clone())),
            Err(TryLockError::Error(error)) => Err(unusable(&path, &error)),
        }
    }

    /// Makes an SQLite file that only its owner may read; SQLite gives its companions the same mode.
    fn make_private_file(&self) -> Result<()> {
        if self.backend == Backend::Postgres {
            return Ok(());
        }
        let made = OpenOptions::new().write(true).create_new(true).mode(0o600).open(&self.target);
        match made {
            Err(error) if error.kind() != ErrorKind::AlreadyExists => {
                Err(unusable(Path::new(&self.target), &error))
            }
            _ => Ok(()),
        }
    }

    fn open(&self) -> Result<DbConnection> {
        let refused = |error: diesel::ConnectionError| StoreError::Connect(error.to_string());
        match self.backend {
            Backend::Postgres => {
                Ok(DbConnection::Postgres(PgConnection::establish(&self.target).map_err(refused)?))
            }
            Backend::Sqlite => {
                let mut connection = SqliteConnection::establish(&self.target).map_err(refused)?;
                connection.batch_execute(self.settings)?;
                Ok(DbConnection::Sqlite(connection))
            }
        }
    }
}

fn unusable(path: &Path, error: &std::io::Error) -> StoreError {
    StoreError::Connect(format!("`{}`: {error}", path.display()))
}

impl ManageConnection for Opener {
    type Connection = DbConnection;
    type Error = StoreError;

    fn connect(&self) -> Result<DbConnection> {
        self.open()
    }

    fn is_valid(&self, connection: &mut DbConnection) -> Result<()> {
        match connection {
            // A file does not go away between two statements; a server may.
            DbConnection::Sqlite(_) => Ok(()),
            DbConnection::Postgres(inner) => {
                diesel::sql_query("SELECT 1").execute(inner)?;
                Ok(())
            }
        }
    }

    fn has_broken(&self, _: &mut DbConnection) -> bool {
        std::thread::panicking()
    }
}

/// Applies the migrations that are missing; several processes may do so at once.
pub(super) fn migrate(opener: &Opener) -> Result<()> {
    let _turn = opener.lock_folder()?;
    opener.make_private_file()?;
    match opener.open()? {
        DbConnection::Postgres(mut inner) => {
            diesel::sql_query(format!("SELECT pg_advisory_lock({MIGRATION_LOCK})")).execute(&mut inner)?;
            // The lock ends with the connection.
            inner.run_pending_migrations(POSTGRES_MIGRATIONS).map_err(failed)?;
        }
        DbConnection::Sqlite(mut inner) => {
            inner.run_pending_migrations(SQLITE_MIGRATIONS).map_err(failed)?;
        }
    }
    Ok(())
}

/// Applies the migrations that are missing in a file that nobody else works on.
pub(super) fn migrate_sqlite(inner: &mut SqliteConnection) -> Result<()> {
    inner.run_pending_migrations(SQLITE_MIGRATIONS).map_err(failed)?;
    Ok(())
}

/// How the migrations of a database stand to those of this version.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Versions {
    /// Some of this version are missing.
    Older,
    /// They are the same.
    Same,
    /// There are some that this version does not know.
    Newer,
}

/// How the migrations of an SQLite file stand to those of this version.
pub(super) fn sqlite_versions(inner: &mut SqliteConnection) -> Result<Versions> {
    versions(inner.applied_migrations(), MigrationSource::<Sqlite>::migrations(&SQLITE_MIGRATIONS))
}

/// How the migrations of a database stand to those of this version.
pub(super) fn database_versions(connection: &mut DbConnection) -> Result<Versions> {
    match connection {
        DbConnection::Sqlite(inner) => sqlite_versions(inner),
        DbConnection::Postgres(inner) => {
            versions(inner.applied_migrations(), MigrationSource::<Pg>::migrations(&POSTGRES_MIGRATIONS))
        }
    }
}

fn versions<DB: diesel::backend::Backend>(
    applied: migration::Result<Vec<MigrationVersion<'_>>>,
    known: migration::Result<Vec<Box<dyn Migration<DB>>>>,
) -> Result<Versions> {
    let (applied, known) = (applied.map_err(failed)?, known.map_err(failed)?);
    let is_known = |version: &MigrationVersion<'_>| {
        known.iter().any(|migration| migration.name().version().to_string() == version.to_string())
    };
    Ok(match applied.iter().all(is_known) {
        false => Versions::Newer,
        true if applied.len() < known.len() => Versions::Older,
        true => Versions::Same,
    })
}

fn failed(error: Box<dyn std::error::Error + Send + Sync>) -> StoreError {
    StoreError::Migrate(error.to_string())
}

/// Whether no migration is missing.
pub(super) fn is_migrated(connection: &mut DbConnection) -> Result<bool> {
    let pending = match connection {
        DbConnection::Postgres(inner) => inner.has_pending_migration(POSTGRES_MIGRATIONS),
        DbConnection::Sqlite(inner) => inner.has_pending_migration(SQLITE_MIGRATIONS),
    };
    Ok(!pending.map_err(failed)?)
}

/// Prepares SQLite for the next transaction: there, durability is a property of the connection.
pub(super) fn set_durability(connection: &mut DbConnection, durability: Durability) -> Result<()> {
    if let DbConnection::Sqlite(inner) = connection {
        inner.batch_execute(match durability {
            Durability::Lasting => "PRAGMA synchronous = FULL",
            Durability::Recoverable => "PRAGMA synchronous = NORMAL",
        })?;
    }
    Ok(())
}

/// The first statement of a transaction that writes.
pub(super) fn begin_writing(connection: &mut DbConnection, durability: Durability) -> Result<()> {
    match connection {
        // Takes the write lock before the first read; a transaction that has read cannot wait for it any more.
        DbConnection::Sqlite(inner) => inner.batch_execute("DELETE FROM installation WHERE 0")?,
        DbConnection::Postgres(inner) if durability == Durability::Recoverable => {
            inner.batch_execute("SET LOCAL synchronous_commit = off")?;
        }
        DbConnection::Postgres(_) => {}
    }
    Ok(())
}
