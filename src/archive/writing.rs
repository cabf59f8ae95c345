//! Writing an archive from one unchanging view of the database. Knows nothing of how it is read.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use tempfile::NamedTempFile;

use crate::domain::instant;
use crate::store::archive::{ArchiveFacts, create_archive, finish_archive};
use crate::store::public::{public_select, veil};
use crate::store::rows::{Content, count_rows, each_row};
use crate::store::tables::Table;
use crate::store::{Backend, DbConnection, Store};

use super::{ArchiveError, Batch, Progress, Summary, verified};

/// Which archive is wanted.
#[derive(Debug, Clone)]
pub struct NewArchive {
    /// Its name.
    pub path: PathBuf,
    /// Whether it is to hold only what everybody may know.
    pub public: bool,
    /// Whether a file of this name is replaced.
    pub force: bool,
}

/// Writes an archive of what the database holds now; servers and workers go on meanwhile. It gets its name when all of
/// it is on the disk and was read back.
///
/// # Errors
/// When there is a file with its name, or the database or the disk refuses.
pub async fn write_archive(
    store: &Store,
    new: NewArchive,
    progress: Arc<Progress>,
    now_ms: i64,
) -> Result<Summary, ArchiveError> {
    if store.is_kept_in(&new.path) {
        return Err(ArchiveError::Itself(new.path));
    }
    if !new.force && new.path.exists() {
        return Err(ArchiveError::Exists(new.path));
    }
    let facts = ArchiveFacts {
        secchi_version: env!("CARGO_PKG_VERSION").to_owned(),
        written_at: instant::rfc3339(now_ms),
        from_database: match store.backend() {
            Backend::Sqlite => "sqlite".to_owned(),
            Backend::Postgres => "postgres".to_owned(),
        },
        public: new.public,
    };
    store.snapshot(move |source| write(source, &new, &facts, &progress)).await
}

fn write(
    source: &mut DbConnection,
    new: &NewArchive,
    facts: &ArchiveFacts,
    progress: &Progress,
) -> Result<Summary, ArchiveError> {
    let refused = |error| ArchiveError::Io(new.path.clone(), error);
    let folder = new.path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    // Its owner's alone from the first byte, and gone if anything fails.
    let part = tempfile::Builder::new().prefix(".secchi-archive-").tempfile_in(folder).map_err(refused)?;
    fill(source, part.path(), facts, progress)?;
    let (file, summary) = verified(part.path(), progress)?;
    drop(file);
    part.as_file().sync_all().map_err(refused)?;
    name(part, new)?;
    File::open(folder).and_then(|folder| folder.sync_all()).map_err(refused)?;
    Ok(summary)
}

fn fill(
    source: &mut DbConnection,
    path: &Path,
    facts: &ArchiveFacts,
    progress: &Progress,
) -> Result<(), ArchiveError> {
    let (mut target, tables) = create_archive(path)?;
    let mut selects = Vec::new();
    for table in &tables {
        let select = match facts.public {
            true => public_select(table).map_err(ArchiveError::Undecided)?,
            false => Some(table.select()),
        };
        if let Some(select) = &select {
            progress.expect(count_rows(source, select)?);
        }
        selects.push((table, select));
    }
    let salt: [u8; 32] = rand::random();
    let mut contents = Vec::new();
    for (table, select) in &selects {
        let mut content = Content::default();
        if let Some(select) = select {
            let salt = facts.public.then_some(salt.as_slice());
            content = copy(source, (table, select), &mut target, salt, progress)?;
        }
        contents.push((table.name.as_str(), content));
    }
    Ok(finish_archive(&mut target, facts, &contents)?)
}

fn copy(
    source: &mut DbConnection,
    (table, select): (&Table, &str),
    target: &mut DbConnection,
    salt: Option<&[u8]>,
    progress: &Progress,
) -> Result<Content, ArchiveError> {
    let (mut batch, mut content) = (Batch::new(table), Content::default());
    each_row(source, select, |row| {
        let row = match salt {
            Some(salt) => veil(table, row, salt),
            None => row,
        };
        let row = batch.fitted(row)?;
        content.add(&row);
        batch.push(target, row)?;
        progress.step()
    })?;
    batch.flush(target)?;
    Ok(content)
}

/// Gives the finished file its name, in one step.
fn name(part: NamedTempFile, new: &NewArchive) -> Result<(), ArchiveError> {
    let named = if new.force { part.persist(&new.path) } else { part.persist_noclobber(&new.path) };
    named.map(|_| ()).map_err(|refused| match refused.error.kind() {
        std::io::ErrorKind::AlreadyExists => ArchiveError::Exists(new.path.clone()),
        _ => ArchiveError::Io(new.path.clone(), refused.error),
    })
}
