//! The videos' files as Secchi keeps them: each under its hash, so that what a release names never changes. Knows nothing
//! of releases, nor of what is in a file.

use std::fs::{DirBuilder, File, OpenOptions};
use std::io::{self, Read as _, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};

use sha2::{Digest as _, Sha256};

/// Bytes that are copied at once.
const PART: usize = 1 << 20;

/// Why a file is not kept.
#[derive(Debug, thiserror::Error)]
pub enum MediaError {
    /// The file or the folder refuses.
    #[error("`{0}`: {1}")]
    Io(PathBuf, io::Error),
    /// The file changed since it was looked at.
    #[error("`{0}` changed while it was read; import again when it is finished")]
    Changed(PathBuf),
}

/// The folder of the kept files.
#[derive(Debug, Clone)]
pub struct Media {
    videos: PathBuf,
}

impl Media {
    /// The media in a folder, which is made when something is first kept.
    pub fn new(folder: &Path) -> Media {
        Media { videos: folder.join("videos") }
    }

    /// Where the file with this hash is kept.
    pub fn path(&self, sha256: &str) -> PathBuf {
        self.videos.join(sha256)
    }

    /// Opens the file with this hash; none if it is not there whole.
    ///
    /// # Errors
    /// When it is there and cannot be opened.
    pub fn open(&self, sha256: &str, bytes: u64) -> io::Result<Option<File>> {
        match File::open(self.path(sha256)) {
            Ok(file) => Ok((file.metadata()?.len() == bytes).then_some(file)),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Keeps a copy of a file that has this hash and size: it is there whole or not at all, also after a power cut. What
    /// is there already stays.
    ///
    /// # Errors
    /// When the file is not the one that it was, or the disk refuses.
    pub fn keep(&self, source: &Path, sha256: &str, bytes: u64) -> Result<(), MediaError> {
        let refused = |error| MediaError::Io(self.videos.clone(), error);
        if self.open(sha256, bytes).map_err(refused)?.is_some() {
            return Ok(());
        }
        DirBuilder::new().recursive(true).mode(0o700).create(&self.videos).map_err(refused)?;
        let part = self.path(&format!("{sha256}.part"));
        let opened = OpenOptions::new().write(true).create(true).truncate(false).mode(0o600).open(&part);
        let mut copy = opened.map_err(refused)?;
        // Somebody else may be copying the same file, and be done by the time that this one may.
        copy.lock().map_err(refused)?;
        if self.open(sha256, bytes).map_err(refused)?.is_some() {
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
        let media = Media::new(folder.path());
        assert!(media.open(&sha256, 17).unwrap().is_none());
        // What a process that was killed has left does no harm.
        std::fs::create_dir(folder.path().join("videos")).unwrap();
        std::fs::write(media.path(&format!("{sha256}.part")), "something longer than the file itself")
            .unwrap();
        media.keep(&source, &sha256, 17).unwrap();
        assert_eq!(std::fs::read_to_string(media.path(&sha256)).unwrap(), "a ray glides past");
        assert!(media.open(&sha256, 17).unwrap().is_some());
        assert!(media.open(&sha256, 16).unwrap().is_none(), "a file of another size is not that file");

        std::fs::write(&source, "another").unwrap();
        media.keep(&source, &sha256, 17).unwrap();
        assert_eq!(std::fs::read_to_string(media.path(&sha256)).unwrap(), "a ray glides past");
        let other = hex::encode(Sha256::digest("other"));
        assert!(matches!(media.keep(&source, &other, 5), Err(MediaError::Changed(_))));
        assert_eq!(std::fs::read_dir(folder.path().join("videos")).unwrap().count(), 1);
    }

    #[test]
    fn the_same_file_may_be_kept_by_several_at_once() {
        let folder = tempfile::tempdir().unwrap();
        let source = folder.path().join("source");
        let content = vec![7; 3 * PART + 5];
        std::fs::write(&source, &content).unwrap();
        let sha256 = hex::encode(Sha256::digest(&content));
        let media = Media::new(folder.path());
        std::thread::scope(|scope| {
            for _ in 0..8 {
                scope.spawn(|| media.keep(&source, &sha256, content.len() as u64).unwrap());
            }
        });
        assert_eq!(std::fs::read(media.path(&sha256)).unwrap(), content);
        assert_eq!(std::fs::read_dir(folder.path().join("videos")).unwrap().count(), 1);
    }
}
