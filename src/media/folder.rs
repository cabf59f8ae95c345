//! Kept files in a folder of this machine. Knows no other place for them.

use std::fs::{DirBuilder, File, OpenOptions};
use std::io::{self, Read as _, Write as _};
use std::ops::Range;
use std::os::unix::fs::{DirBuilderExt as _, FileExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use bytes::Bytes;
use futures::stream::{self, BoxStream, StreamExt as _};
use sha2::{Digest as _, Sha256};
use tokio::task::spawn_blocking;

use super::MediaError;

/// Bytes that are copied at once.
const PART: usize = 1 << 20;

/// Bytes that are read at once for who takes them as they come.
const CHUNK: u64 = 128 << 10;

/// The folder of the kept files.
#[derive(Debug, Clone)]
pub(super) struct Folder {
    videos: PathBuf,
}

/// An open file of the folder.
#[derive(Debug, Clone)]
pub(super) struct InFolder {
    file: Arc<File>,
    path: PathBuf,
}

impl Folder {
    pub(super) fn new(folder: &Path) -> Folder {
        Folder { videos: folder.join("videos") }
    }

    fn path(&self, sha256: &str) -> PathBuf {
        self.videos.join(sha256)
    }

    /// The file with this hash; none if it is not there whole.
    pub(super) async fn find(&self, sha256: &str, bytes: u64) -> Result<Option<InFolder>, MediaError> {
        let path = self.path(sha256);
        let looking = spawn_blocking(move || match open(&path, bytes) {
            Ok(file) => Ok(file.map(|file| InFolder { file: Arc::new(file), path })),
            Err(error) => Err(MediaError::Io(path, error)),
        });
        looking.await?
    }

    /// Keeps a copy of a file, whole or not at all.
    pub(super) async fn keep(&self, source: &Path, sha256: &str, bytes: u64) -> Result<(), MediaError> {
        let (folder, source, sha256) = (self.clone(), source.to_owned(), sha256.to_owned());
        spawn_blocking(move || folder.copy(&source, &sha256, bytes)).await?
    }

    fn copy(&self, source: &Path, sha256: &str, bytes: u64) -> Result<(), MediaError> {
        let refused = |error| MediaError::Io(self.videos.clone(), error);
        if open(&self.path(sha256), bytes).map_err(refused)?.is_some() {
            return Ok(());
        }
        DirBuilder::new().recursive(true).mode(0o700).create(&self.videos).map_err(refused)?;
        let part = self.path(&format!("{sha256}.part"));
        let opened = OpenOptions::new().write(true).create(true).truncate(false).mode(0o600).open(&part);
        let mut copy = opened.map_err(refused)?;
        // Somebody else may be copying the same file, and be done by the time that this one may.
        copy.lock().map_err(refused)?;
        if open(&self.path(sha256), bytes).map_err(refused)?.is_some() {
            let _gone_already = std::fs::remove_file(&part);
            return Ok(());
        }
        copy.set_len(0).map_err(refused)?;
        let original = File::open(source).map_err(|error| MediaError::Io(source.to_owned(), error))?;
        if copy_hashed(original, &mut copy).map_err(refused)? != sha256 {
            std::fs::remove_file(&part).map_err(refused)?;
            return Err(MediaError::Changed(source.to_owned()));
        }
        copy.sync_all().map_err(refused)?;
        std::fs::rename(&part, self.path(sha256)).map_err(refused)?;
        File::open(&self.videos).and_then(|folder| folder.sync_all()).map_err(refused)
    }
}

impl InFolder {
    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// Reads one chunk after the other, each when the one before was taken.
    pub(super) fn stream(&self, range: Range<u64>) -> BoxStream<'static, io::Result<Bytes>> {
        let start = (Arc::clone(&self.file), range);
        stream::try_unfold(start, async |(file, range)| {
            if range.is_empty() {
                return Ok(None);
            }
            let end = range.end.min(range.start + CHUNK);
            let chunk = read(Arc::clone(&file), range.start..end).await?;
            Ok(Some((chunk, (file, end..range.end))))
        })
        .boxed()
    }
}

/// Opens a file; none if it is not there or of another size.
fn open(path: &Path, bytes: u64) -> io::Result<Option<File>> {
    match File::open(path) {
        Ok(file) => Ok((file.metadata()?.len() == bytes).then_some(file)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error),
    }
}

async fn read(file: Arc<File>, range: Range<u64>) -> io::Result<Bytes> {
    let length = usize::try_from(range.end - range.start).map_err(io::Error::other)?;
    let reading = spawn_blocking(move || {
        let mut chunk = vec![0; length];
        file.read_exact_at(&mut chunk, range.start)?;
        Ok(chunk.into())
    });
    reading.await?
}

/// Copies a file and gives the hash of what was copied.
fn copy_hashed(mut original: File, copy: &mut File) -> io::Result<String> {
    let (mut hash, mut part) = (Sha256::new(), vec![0; PART]);
    loop {
        let read = original.read(&mut part)?;
        if read == 0 {
            return Ok(hex::encode(hash.finalize()));
        }
        hash.update(&part[..read]);
        copy.write_all(&part[..read])?;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_kept_whole_or_not_at_all() {
        let folder = tempfile::tempdir().unwrap();
        let source = folder.path().join("source");
        std::fs::write(&source, "a ray glides past").unwrap();
        let sha256 = hex::encode(Sha256::digest("a ray glides past"));
        let media = Folder::new(folder.path());
        let opened = |bytes| open(&media.path(&sha256), bytes).unwrap();
        assert!(opened(17).is_none());
        // What a process that was killed has left does no harm.
        std::fs::create_dir(folder.path().join("videos")).unwrap();
        std::fs::write(media.path(&format!("{sha256}.part")), "something longer than the file itself")
            .unwrap();
        media.copy(&source, &sha256, 17).unwrap();
        assert_eq!(std::fs::read_to_string(media.path(&sha256)).unwrap(), "a ray glides past");
        assert!(opened(17).is_some());
        assert!(opened(16).is_none(), "a file of another size is not that file");

        std::fs::write(&source, "another").unwrap();
        media.copy(&source, &sha256, 17).unwrap();
        assert_eq!(std::fs::read_to_string(media.path(&sha256)).unwrap(), "a ray glides past");
        let other = hex::encode(Sha256::digest("other"));
        assert!(matches!(media.copy(&source, &other, 5), Err(MediaError::Changed(_))));
        assert_eq!(std::fs::read_dir(folder.path().join("videos")).unwrap().count(), 1);
    }

    #[test]
    fn the_same_file_may_be_kept_by_several_at_once() {
        let folder = tempfile::tempdir().unwrap();
        let source = folder.path().join("source");
        let content = vec![7; 3 * PART + 5];
        std::fs::write(&source, &content).unwrap();
        let sha256 = hex::encode(Sha256::digest(&content));
        let media = Folder::new(folder.path());
        std::thread::scope(|scope| {
            for _ in 0..8 {
                scope.spawn(|| media.copy(&source, &sha256, content.len() as u64).unwrap());
            }
        });
        assert_eq!(std::fs::read(media.path(&sha256)).unwrap(), content);
        assert_eq!(std::fs::read_dir(folder.path().join("videos")).unwrap().count(), 1);
    }
}
