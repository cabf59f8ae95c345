//! The ledger on SQLite or PostgreSQL: the only room that knows SQL. Functions take a connection, so that a use case
//! composes several of them in one transaction; they know no rules beyond the tables'.

pub mod accepting;
pub mod anew;
pub mod archive;
pub mod audit;
pub mod calibrations;
pub mod claims;
pub mod configurations;
mod connection;
pub mod corrections;
pub mod decisions;
pub mod failures;
pub mod flag_queue;
pub mod flags;
pub mod history;
pub mod idempotency;
mod installation;
pub mod judge_record;
pub mod judgements;
pub mod keys;
pub mod leases;
pub mod listings;
pub mod notes;
pub mod overview;
pub mod public;
pub mod publication;
pub mod quota;
pub mod ranges;
pub mod ratings;
pub mod record_keys;
pub mod rejudgings;
pub mod releases;
pub mod repeats;
pub mod reviewers;
pub mod rows;
mod schema;
pub mod scores;
pub mod series;
pub mod signups;
pub mod spend;
pub mod standing;
pub mod submissions;
pub mod tables;
pub mod teams;
pub mod videos;
pub mod waiting;

use std::fs::File;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use diesel::Connection as _;
use diesel::connection::SimpleConnection as _;
use diesel::r2d2;

use connection::Durability;
pub use connection::{Backend, DbConnection};
pub use installation::{
    bump_board_revision, load_board_revision, load_installation_id, load_judge_checked, note_judge_checked,
    rename_installation,
};

/// How many connections one process holds at most.
const MAX_CONNECTIONS: u32 = 12;

/// What can go wrong between Secchi and its database.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// The address names neither of the two databases.
    #[error("`{0}` is no database address; give `sqlite://PATH` or `postgres://…`")]
    Address(String),
    /// The database could not be reached or opened.
    #[error("the database cannot be reached: {0}")]
    Connect(String),
    /// Another server works on the SQLite file.
    #[error(
        "another server works on `{0}`; stop it, or give this one a database of its own, or use PostgreSQL and Redis"
    )]
    InUse(String),
    /// The tables could not be brought up to date.
    #[error("the migrations failed: {0}")]
    Migrate(String),
    /// The tables are not those of this version, and it is not for the asker to change them.
    #[error(
        "the database's tables are those of another version of Secchi; use that version, or run `secchi migrate` first"
    )]
    OtherVersion,
    /// An archive is shown, and something would have changed it.
    #[error("this server shows an archive, which nothing changes")]
    ReadOnly,
    /// A statement failed.
    #[error("the database refused a statement: {0}")]
    Statement(#[from] diesel::result::Error),
    /// A stored value is none that this version writes.
    #[error("the database holds an unknown {what}: `{value}`")]
    Unknown {
        /// What kind of value.
        what: &'static str,
        /// The value found.
        value: String,
    },
    /// The thread that ran a statement died.
    #[error("a database task ended early: {0}")]
    Task(#[from] tokio::task::JoinError),
}

impl StoreError {
    /// The error for a row that must be there and is not.
    pub fn missing(what: &'static str, id: &str) -> StoreError {
        StoreError::Unknown { what, value: id.to_owned() }
    }

    /// Whether a statement was refused because a row with the same key stands already.
    pub fn is_duplicate(&self) -> bool {
        use diesel::result::{DatabaseErrorKind, Error};
        matches!(self, Self::Statement(Error::DatabaseError(DatabaseErrorKind::UniqueViolation, _)))
    }
}

/// The result of a store function.
pub type Result<T> = std::result::Result<T, StoreError>;

/// A pool of connections to one database; cheap to clone.
#[derive(Clone)]
pub struct Store {
    pool: r2d2::Pool<connection::Opener>,
    opener: connection::Opener,
    /// SQLite has one writer: waiting here is fair, its own busy handler is not.
    write_gate: Arc<Mutex<()>>,
    writes: Arc<AtomicU64>,
    content: StoredContent,
}

/// What a database is to those who ask it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum StoredContent {
    Ledger,
    Archive { is_public: bool },
}

impl Store {
    /// Opens the database at `url` and brings its tables up to date.
    ///
    /// # Errors
    /// When the address is unknown, the database cannot be reached, or a migration fails.
    pub async fn open(url: &str) -> Result<Store> {
        Store::pooled(connection::Opener::new(url)?, connection::migrate, StoredContent::Ledger).await
    }

    /// Opens the database at `url` as it is: neither it nor its tables are made.
    ///
    /// # Errors
    /// When it is not there, or its tables are those of another version.
    pub async fn open_existing(url: &str) -> Result<Store> {
        let opener = connection::Opener::existing(url)?;
        let store = Store::pooled(opener, |_| Ok(()), StoredContent::Ledger).await?;
        match store.read(connection::database_versions).await? {
            connection::Versions::Same => Ok(store),
            connection::Versions::Older | connection::Versions::Newer => Err(StoreError::OtherVersion),
        }
    }

    /// Opens an archive with this version's tables for reading.
    ///
    /// # Errors
    /// When it cannot be opened.
    pub async fn open_archive(path: &Path, is_public: bool) -> Result<Store> {
        let opener = connection::Opener::archive(path)?;
        Store::pooled(opener, |_| Ok(()), StoredContent::Archive { is_public }).await
    }

    async fn pooled(
        opener: connection::Opener,
        prepare: impl FnOnce(&connection::Opener) -> Result<()> + Send + 'static,
        content: StoredContent,
    ) -> Result<Store> {
        let pooled = opener.clone();
        let opened = tokio::task::spawn_blocking(move || {
            prepare(&pooled)?;
            r2d2::Pool::builder()
                .max_size(MAX_CONNECTIONS)
                .min_idle(Some(1))
                .build(pooled)
                .map_err(|error| StoreError::Connect(error.to_string()))
        });
        Ok(Store {
            pool: opened.await??,
            opener,
            write_gate: Arc::default(),
            writes: Arc::default(),
            content,
        })
    }

    /// Whether this is an archive, which nothing changes.
    pub fn is_read_only(&self) -> bool {
        self.content != StoredContent::Ledger
    }

    /// Whether this is an archive without what only some may know.
    pub fn is_public_archive(&self) -> bool {
        self.content == StoredContent::Archive { is_public: true }
    }

    /// Takes the database for a server: an SQLite file has one at a time, as long as the result lives.
    ///
    /// # Errors
    /// [`StoreError::InUse`] when another server has it.
    pub fn lock_for_server(&self) -> Result<Option<File>> {
        self.opener.lock_for_server()
    }

    /// Whether a file is the database or one that stands beside it.
    pub fn is_kept_in(&self, path: &Path) -> bool {
        self.opener.is_kept_in(path)
    }

    /// Which of the two databases this is.
    pub fn backend(&self) -> Backend {
        self.opener.backend()
    }

    /// How many transactions this process has run that might have written: while it stands still, only another process
    /// can have changed anything.
    pub fn writes(&self) -> u64 {
        self.writes.load(Ordering::SeqCst)
    }

    /// Whether the tables are those that this version needs.
    ///
    /// # Errors
    /// When the database cannot be asked.
    pub async fn is_migrated(&self) -> Result<bool> {
        self.read(connection::is_migrated).await
    }

    /// Runs `work` with a connection, outside any transaction, on a thread where blocking is allowed.
    ///
    /// # Errors
    /// Those of `work`, and [`StoreError::Connect`] when no connection is to be had.
    pub async fn read<T, E, F>(&self, work: F) -> std::result::Result<T, E>
    where
        F: FnOnce(&mut DbConnection) -> std::result::Result<T, E> + Send + 'static,
        T: Send + 'static,
        E: From<StoreError> + Send + 'static,
    {
        let store = self.clone();
        tokio::task::spawn_blocking(move || work(&mut *store.connection()?))
            .await
            .map_err(StoreError::from)?
    }

    /// Runs `work` on one unchanging view of the database, for what is read by several statements and must fit together.
    ///
    /// # Errors
    /// Those of `work`, and those of [`Store::read`].
    pub async fn snapshot<T, E, F>(&self, work: F) -> std::result::Result<T, E>
    where
        F: FnOnce(&mut DbConnection) -> std::result::Result<T, E> + Send + 'static,
        T: Send + 'static,
        E: From<StoreError> + Send + 'static,
    {
        let backend = self.backend();
        self.read(move |connection| {
            transaction(connection, |connection| {
                if backend == Backend::Postgres {
                    let isolation = "SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY";
                    connection.batch_execute(isolation).map_err(StoreError::from)?;
                }
                work(connection)
            })
        })
        .await
    }

    /// Runs `work` in one transaction that may write and that a power cut does not undo, on a thread where blocking is
    /// allowed.
    ///
    /// # Errors
    /// Those of `work`, after which nothing of the transaction stays, and those of [`Store::read`].
    pub async fn write<T, E, F>(&self, work: F) -> std::result::Result<T, E>
    where
        F: FnOnce(&mut DbConnection) -> std::result::Result<T, E> + Send + 'static,
        T: Send + 'static,
        E: From<StoreError> + Send + 'static,
    {
        self.transact(Durability::Lasting, work).await
    }

    /// Like [`Store::write`], for what can be worked out again: a power cut may undo the last such transactions, whole
    /// and in order, which saves waiting for the disk.
    ///
    /// # Errors
    /// Those of [`Store::write`].
    pub async fn write_recoverable<T, E, F>(&self, work: F) -> std::result::Result<T, E>
    where
        F: FnOnce(&mut DbConnection) -> std::result::Result<T, E> + Send + 'static,
        T: Send + 'static,
        E: From<StoreError> + Send + 'static,
    {
        self.transact(Durability::Recoverable, work).await
    }

    fn connection(&self) -> Result<r2d2::PooledConnection<connection::Opener>> {
        self.pool.get().map_err(|error| StoreError::Connect(error.to_string()))
    }

    async fn transact<T, E, F>(&self, durability: Durability, work: F) -> std::result::Result<T, E>
    where
        F: FnOnce(&mut DbConnection) -> std::result::Result<T, E> + Send + 'static,
        T: Send + 'static,
        E: From<StoreError> + Send + 'static,
    {
        if self.is_read_only() {
            return Err(StoreError::ReadOnly.into());
        }
        let store = self.clone();
        let transacted = tokio::task::spawn_blocking(move || {
            let _turn = match store.backend() {
                Backend::Sqlite => Some(store.write_gate.lock().unwrap_or_else(PoisonError::into_inner)),
                Backend::Postgres => None,
            };
            let mut connection = store.connection()?;
            connection::set_durability(&mut connection, durability)?;
            let outcome = transaction(&mut connection, |connection| {
                connection::begin_writing(connection, durability)?;
                work(connection)
            });
            store.writes.fetch_add(1, Ordering::SeqCst);
            outcome
        });
        transacted.await.map_err(StoreError::from)?
    }
}

/// Runs `work` in a transaction, which is undone when `work` fails.
fn transaction<T, E: From<StoreError>>(
    connection: &mut DbConnection,
    work: impl FnOnce(&mut DbConnection) -> std::result::Result<T, E>,
) -> std::result::Result<T, E> {
    let outcome = connection.transaction(|connection| work(connection).map_err(Rollback::Work));
    outcome.map_err(|rollback| match rollback {
        Rollback::Work(error) => error,
        Rollback::Store(error) => error.into(),
    })
}

/// Why a transaction was undone.
enum Rollback<E> {
    Work(E),
    Store(StoreError),
}

impl<E> From<diesel::result::Error> for Rollback<E> {
    fn from(error: diesel::result::Error) -> Self {
        Rollback::Store(error.into())
    }
}

/// Reads an enum from its stored text.
fn stored<T>(what: &'static str, value: &str, parse: impl Fn(&str) -> Option<T>) -> Result<T> {
    parse(value).ok_or_else(|| StoreError::Unknown { what, value: value.to_owned() })
}
