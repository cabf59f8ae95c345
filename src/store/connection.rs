//! One connection type over both databases, and how it is opened and migrated. Knows no table.

use std::path::Path;

use diesel::connection::SimpleConnection as _;
use diesel::pg::PgConnection;
use diesel::r2d2::ManageConnection;
use diesel::sqlite::SqliteConnection;
use diesel::{Connection as _, RunQueryDsl as _};
use diesel_migrations::{EmbeddedMigrations, MigrationHarness as _, embed_migrations};

use super::{Result, StoreError};

const SQLITE_MIGRATIONS: EmbeddedMigrations = embed_migrations!("migrations/sqlite");
const POSTGRES_MIGRATIONS: EmbeddedMigrations = embed_migrations!("migrations/postgres");

/// Names the one lock in PostgreSQL under which processes that start together migrate one after the other.
const MIGRATION_LOCK: i64 = 0x5ecc_0001;

/// `synchronous=FULL` keeps what a 202 promised over a power cut.
const SQLITE_SETTINGS: &str = "PRAGMA busy_timeout = 10000; PRAGMA journal_mode = WAL; \
     PRAGMA synchronous = FULL; PRAGMA foreign_keys = ON;";

/// The two databases.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Backend {
    /// A file, built in.
    Sqlite,
    /// A server.
    Postgres,
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
}

impl Opener {
    pub(super) fn new(url: &str) -> Result<Opener> {
        if let Some(path) = url.strip_prefix("sqlite://").filter(|path| !path.is_empty()) {
            if let Some(folder) = Path::new(path).parent().filter(|folder| !folder.as_os_str().is_empty()) {
                std::fs::create_dir_all(folder)
                    .map_err(|error| StoreError::Connect(format!("`{}`: {error}", folder.display())))?;
            }
            return Ok(Opener { backend: Backend::Sqlite, target: path.to_owned() });
        }
        if url.starts_with("postgres://") || url.starts_with("postgresql://") {
            return Ok(Opener { backend: Backend::Postgres, target: url.to_owned() });
        }
        Err(StoreError::Address(url.split("://").next().unwrap_or_default().to_owned()))
    }

    pub(super) fn backend(&self) -> Backend {
        self.backend
    }

    fn open(&self) -> Result<DbConnection> {
        let refused = |error: diesel::ConnectionError| StoreError::Connect(error.to_string());
        match self.backend {
            Backend::Postgres => {
                Ok(DbConnection::Postgres(PgConnection::establish(&self.target).map_err(refused)?))
            }
            Backend::Sqlite => {
                let mut connection = SqliteConnection::establish(&self.target).map_err(refused)?;
                connection.batch_execute(SQLITE_SETTINGS)?;
                Ok(DbConnection::Sqlite(connection))
            }
        }
    }
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
    let failed = |error: Box<dyn std::error::Error + Send + Sync>| StoreError::Migrate(error.to_string());
    match opener.open()? {
        DbConnection::Postgres(mut inner) => {
            diesel::sql_query(format!("SELECT pg_advisory_lock({MIGRATION_LOCK})")).execute(&mut inner)?;
            // The lock ends with the connection.
            inner.run_pending_migrations(POSTGRES_MIGRATIONS).map_err(failed)?;
        }
        DbConnection::Sqlite(mut inner) => {
            let pending =
                |inner: &mut SqliteConnection| inner.has_pending_migration(SQLITE_MIGRATIONS).map_err(failed);
            if pending(&mut inner)? {
                // A twin process may have migrated while this one waited for the write lock.
                let outcome = inner.run_pending_migrations(SQLITE_MIGRATIONS).map(|_| ()).map_err(failed);
                if pending(&mut inner)? {
                    outcome?;
                }
            }
        }
    }
    Ok(())
}

/// Whether no migration is missing.
pub(super) fn is_migrated(connection: &mut DbConnection) -> Result<bool> {
    let failed = |error: Box<dyn std::error::Error + Send + Sync>| StoreError::Migrate(error.to_string());
    let pending = match connection {
        DbConnection::Postgres(inner) => inner.has_pending_migration(POSTGRES_MIGRATIONS),
        DbConnection::Sqlite(inner) => inner.has_pending_migration(SQLITE_MIGRATIONS),
    };
    Ok(!pending.map_err(failed)?)
}
