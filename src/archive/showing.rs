//! Showing an archive as it is: opened where it lies, or from a copy where its tables are older ones. Never writes to it.

use std::fs::Permissions;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use tempfile::TempDir;

use crate::store::archive::migrate_archive;
use crate::store::{Store, StoreError};

use super::{ArchiveError, Progress, verified};

/// An archive that is open for reading.
pub struct Shown {
    store: Store,
    scratch: TempDir,
}

impl Shown {
    /// The archive as a database that refuses every change.
    pub fn store(&self) -> &Store {
        &self.store
    }

    /// A folder of the process's own, which goes with this.
    pub fn scratch(&self) -> &Path {
        self.scratch.path()
    }
}

/// Opens an archive for showing what it holds, after all of it was read once.
///
/// # Errors
/// When it is no whole archive of this or an older version, or the disk refuses.
pub async fn show_archive(path: PathBuf) -> Result<Shown, ArchiveError> {
    let opened = tokio::task::spawn_blocking(move || {
        let refused = |error| ArchiveError::Io(path.clone(), error);
        let scratch = tempfile::tempdir().map_err(refused)?;
        let (file, summary) = verified(&path, &Progress::default())?;
        let shown = if file.is_current { path.clone() } else { current(&path, scratch.path())? };
        Ok::<_, ArchiveError>((shown, summary.public, scratch))
    });
    let (path, is_public, scratch) = opened.await.map_err(StoreError::from)??;
    Ok(Shown { store: Store::open_archive(&path, is_public).await?, scratch })
}

/// A copy of an older archive in `folder` with this version's tables.
pub(super) fn current(path: &Path, folder: &Path) -> Result<PathBuf, ArchiveError> {
    let refused = |error| ArchiveError::Io(path.to_owned(), error);
    let copy = folder.join("archive");
    std::fs::copy(path, &copy).map_err(refused)?;
    std::fs::set_permissions(&copy, Permissions::from_mode(0o600)).map_err(refused)?;
    migrate_archive(&copy)?;
    Ok(copy)
}
