//! The videos' files as Secchi keeps them: each under its hash, so that what a release names never changes; in a folder of
//! this machine, or in a bucket that several servers share. Knows nothing of releases, nor of what is in a file.

#[cfg(feature = "s3")]
mod bucket;
mod folder;

use std::io;
use std::ops::Range;
use std::path::{Path, PathBuf};

use bytes::Bytes;
use futures::stream::BoxStream;
use tempfile::TempPath;

#[cfg(feature = "s3")]
use bucket::{Bucket, InBucket};
use folder::{Folder, InFolder};

use crate::config::MediaAddress;

/// Why a file is not kept or found.
#[derive(Debug, thiserror::Error)]
pub enum MediaError {
    /// The file or the folder refuses.
    #[error("`{0}`: {1}")]
    Io(PathBuf, io::Error),
    /// The file changed since it was looked at.
    #[error("`{0}` changed while it was read; import again when it is finished")]
    Changed(PathBuf),
    /// The bucket cannot be used as the settings say.
    #[error("SECCHI_MEDIA_URL: {0}")]
    Settings(String),
    /// The bucket cannot be reached, or refuses.
    #[error("the bucket of the videos: {0}")]
    Unavailable(String),
    /// A thread died.
    #[error("a task ended early: {0}")]
    Task(#[from] tokio::task::JoinError),
}

/// Where files are kept.
#[derive(Debug, Clone)]
pub struct Media(Place);

#[derive(Debug, Clone)]
enum Place {
    Folder(Folder),
    #[cfg(feature = "s3")]
    Bucket(Bucket),
}

/// A file that is kept.
#[derive(Debug, Clone)]
pub struct Kept(File);

#[derive(Debug, Clone)]
enum File {
    InFolder(InFolder),
    #[cfg(feature = "s3")]
    InBucket(InBucket),
}

/// A file on this machine's disk, as long as it is held.
#[derive(Debug)]
pub struct OnDisk {
    /// Where it lies.
    pub path: PathBuf,
    /// What is removed with it.
    _copy: Option<TempPath>,
}

impl Media {
    /// The media at an address. A folder is made when something is first kept; nobody is asked yet.
    ///
    /// # Errors
    /// When there can be no such bucket.
    pub fn at(address: &MediaAddress) -> Result<Media, MediaError> {
        Ok(Media(match address {
            MediaAddress::Folder(folder) => Place::Folder(Folder::new(folder)),
            #[cfg(feature = "s3")]
            MediaAddress::Bucket { bucket, prefix } => Place::Bucket(Bucket::new(bucket, prefix)?),
        }))
    }

    /// Whether files can be looked for.
    ///
    /// # Errors
    /// Why not.
    pub async fn check(&self) -> Result<(), MediaError> {
        match &self.0 {
            Place::Folder(_) => Ok(()),
            #[cfg(feature = "s3")]
            Place::Bucket(bucket) => bucket.check().await,
        }
    }

    /// The file with this hash; none if it is not there whole.
    ///
    /// # Errors
    /// When that cannot be found out.
    pub async fn find(&self, sha256: &str, bytes: u64) -> Result<Option<Kept>, MediaError> {
        match &self.0 {
            Place::Folder(folder) => {
                Ok(folder.find(sha256, bytes).await?.map(|file| Kept(File::InFolder(file))))
            }
            #[cfg(feature = "s3")]
            Place::Bucket(bucket) => {
                Ok(bucket.find(sha256, bytes).await?.map(|file| Kept(File::InBucket(file))))
            }
        }
    }

    /// Keeps a copy of a file that has this hash and size: it is there whole or not at all, also after a power cut. What
    /// is there already stays.
    ///
    /// # Errors
    /// When the file is not the one that it was, or disk or bucket refuse.
    pub async fn keep(&self, source: &Path, sha256: &str, bytes: u64) -> Result<(), MediaError> {
        match &self.0 {
            Place::Folder(folder) => folder.keep(source, sha256, bytes).await,
            #[cfg(feature = "s3")]
            Place::Bucket(bucket) => bucket.keep(source, sha256, bytes).await,
        }
    }

    /// What a server that shares the media has made of a file and left under a name. In a folder nothing is left: its
    /// server has what it made.
    ///
    /// # Errors
    /// When the bucket does not say.
    pub async fn find_derived(&self, sha256: &str, name: &str) -> Result<Option<Bytes>, MediaError> {
        match &self.0 {
            Place::Folder(_) => {
                let _nobody_shares_it = (sha256, name);
                Ok(None)
            }
            #[cfg(feature = "s3")]
            Place::Bucket(bucket) => bucket.find_derived(sha256, name).await,
        }
    }

    /// Leaves what was made of a file to the servers that share the media, and of all that was made of it the newest
    /// `most`. Gives what is there then: where two make the same at once, it is the first one's.
    ///
    /// # Errors
    /// When the bucket refuses.
    pub async fn share_derived(
        &self,
        sha256: &str,
        name: &str,
        made: Bytes,
        most: usize,
    ) -> Result<Bytes, MediaError> {
        match &self.0 {
            Place::Folder(_) => {
                let _nobody_shares_it = (sha256, name, most);
                Ok(made)
            }
            #[cfg(feature = "s3")]
            Place::Bucket(bucket) => bucket.share_derived(sha256, name, made, most).await,
        }
    }
}

impl Kept {
    /// The bytes of a part of the file, read as they are taken.
    pub fn stream(&self, range: Range<u64>) -> BoxStream<'static, io::Result<Bytes>> {
        match &self.0 {
            File::InFolder(file) => file.stream(range),
            #[cfg(feature = "s3")]
            File::InBucket(file) => file.stream(range),
        }
    }

    /// The file on this machine's disk: itself, or a copy in the folder `scratch`.
    ///
    /// # Errors
    /// When it cannot be fetched.
    pub async fn on_disk(&self, scratch: &Path) -> Result<OnDisk, MediaError> {
        match &self.0 {
            File::InFolder(file) => {
                let _needs_no_copy = scratch;
                Ok(OnDisk { path: file.path().to_owned(), _copy: None })
            }
            #[cfg(feature = "s3")]
            File::InBucket(file) => {
                let copy = file.copy_to(scratch).await?;
                Ok(OnDisk { path: copy.to_path_buf(), _copy: Some(copy) })
            }
        }
    }
}
