//! Restoring an archive into an empty database, on either of the two. Knows nothing of how it was written.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde::Serialize;

use crate::domain::actor::Actor;
use crate::store::archive::ArchiveFile;
use crate::store::audit::insert_audit;
use crate::store::leases::free_all_leases;
use crate::store::rows::{count_rows, each_row, empty_table};
use crate::store::tables::Table;
use crate::store::{
    DbConnection, Store, StoreError, bump_board_revision, load_installation_id, rename_installation,
};

use super::showing::current;
use super::{ArchiveError, Batch, Progress, Summary, verified};

/// Tables in which the migrations themselves put rows.
const SEEDED: [&str; 2] = ["installation", "leases"];

/// Who asks whom right now, which is over.
const LEFT_BEHIND: &str = "judge_claims";

/// What a restored database holds.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Restored {
    /// What the archive held.
    #[serde(flatten)]
    pub archive: Summary,
    /// Submissions that go on where they were.
    pub unfinished: u64,
}

/// Restores the archive at `path` into the database at `url`, which must be empty: all of it or nothing.
///
/// # Errors
/// When the file is no whole, full archive of this or an older version, the database holds something, or it refuses.
pub async fn restore_archive(
    url: &str,
    path: PathBuf,
    (actor, now_ms): (&Actor, i64),
    progress: Arc<Progress>,
) -> Result<Restored, ArchiveError> {
    let reading = progress.clone();
    let opened = tokio::task::spawn_blocking(move || open(&path, &reading).map(|opened| (path, opened)));
    let (path, (file, summary, _copy)) = opened.await.map_err(StoreError::from)??;
    // Only now, so that a file that is refused leaves no database behind.
    let store = Store::open(url).await?;
    let _lock = store.lock_for_server()?;
    let (actor, archive) = (actor.clone(), summary.clone());
    let unfinished = store
        .write(move |connection| {
            // Of two who restore or start at once the second finds what the first has done.
            bump_board_revision(connection)?;
            check_empty(connection, &file.tables)?;
            fill(connection, file, &progress)?;
            let from = format!("written {} from {}", archive.written_at, archive.from_database);
            let subject =
                path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
            insert_audit(connection, now_ms, (&actor, "restore_archive", &subject), None, Some(&from))?;
            let open = "SELECT id FROM submissions WHERE state IN ('queued', 'grading', 'judging')";
            Ok::<_, ArchiveError>(count_rows(connection, open)?)
        })
        .await?;
    Ok(Restored { archive: summary, unfinished })
}

/// The whole archive with this version's tables, what it held, and the copy that these may stand in.
fn open(
    path: &Path,
    progress: &Progress,
) -> Result<(ArchiveFile, Summary, Option<tempfile::TempDir>), ArchiveError> {
    let (file, summary) = verified(path, progress)?;
    if file.facts.public {
        return Err(ArchiveError::Public(path.to_owned()));
    }
    if file.is_current {
        return Ok((file, summary, None));
    }
    drop(file);
    let scratch = tempfile::tempdir().map_err(|error| ArchiveError::Io(path.to_owned(), error))?;
    let copy = current(path, scratch.path())?;
    let file = ArchiveFile::open(&copy).map_err(|fault| ArchiveError::File(path.to_owned(), fault))?;
    Ok((file, summary, Some(scratch)))
}

fn check_empty(connection: &mut DbConnection, tables: &[Table]) -> Result<(), ArchiveError> {
    for table in tables.iter().filter(|table| !SEEDED.contains(&table.name.as_str())) {
        if count_rows(connection, &format!("{} LIMIT 1", table.select()))? > 0 {
            return Err(ArchiveError::NotEmpty(table.name.clone()));
        }
    }
    Ok(())
}

fn fill(target: &mut DbConnection, mut file: ArchiveFile, progress: &Progress) -> Result<(), ArchiveError> {
    // The archive may be of a server that lives on: whoever shares Redis with it is another installation.
    let installation_id = load_installation_id(target)?;
    for name in SEEDED {
        empty_table(target, name)?;
    }
    for table in &file.tables {
        if table.name == LEFT_BEHIND {
            continue;
        }
        progress.expect(count_rows(&mut file.connection, &table.select())?);
        let mut batch = Batch::new(table);
        each_row(&mut file.connection, &table.select(), |row| {
            let row = batch.fitted(row)?;
            batch.push(target, row)?;
            progress.step()
        })?;
        batch.flush(target)?;
    }
    rename_installation(target, &installation_id)?;
    Ok(free_all_leases(target)?)
}
