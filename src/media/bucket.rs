//! Kept files in an S3-compatible bucket. Who may use it and where it is say the environment's usual `AWS_…` variables, which
//! the crate `object_store` reads. Knows no other place for files.

use std::io;
use std::ops::Range;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use futures::stream::{self, BoxStream, StreamExt as _, TryStreamExt as _};
use object_store::aws::{AmazonS3Builder, AmazonS3ConfigKey};
use object_store::buffered::BufWriter;
use object_store::path::Path as Name;
use object_store::prefix::PrefixStore;
use object_store::{
    ClientConfigKey, Error, GetOptions, ObjectMeta, ObjectStore, ObjectStoreExt as _, PutMode, PutOptions,
    RetryConfig,
};
use sha2::{Digest as _, Sha256};
use tempfile::TempPath;
use tokio::fs::File;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};

use super::MediaError;

/// Bytes that are sent at once; a smaller file is sent whole.
const PART: usize = 8 << 20;

/// Bytes that are read at once of a file that is sent.
const READ: usize = 1 << 20;

/// How often a request is tried again, and for how long: somebody waits for the answer.
const RETRIES: usize = 3;
const RETRY_FOR: Duration = Duration::from_secs(5);

/// How long the bucket may be silent. A transfer as a whole may take as long as whoever takes it.
const TIMEOUTS: [(ClientConfigKey, &str); 3] = [
    (ClientConfigKey::ConnectTimeout, "2 seconds"),
    (ClientConfigKey::ReadTimeout, "10 seconds"),
    (ClientConfigKey::Timeout, "6 hours"),
];

/// Where the right to use a bucket may come from; without any of them a foreign address would be asked, that of a cloud's
/// own machines.
const CREDENTIALS: [AmazonS3ConfigKey; 5] = [
    AmazonS3ConfigKey::AccessKeyId,
    AmazonS3ConfigKey::WebIdentityTokenFile,
    AmazonS3ConfigKey::ContainerCredentialsRelativeUri,
    AmazonS3ConfigKey::ContainerCredentialsFullUri,
    AmazonS3ConfigKey::MetadataEndpoint,
];

const NO_CREDENTIALS: &str = "a bucket needs credentials; set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or where a \
     machine has a role of its own, AWS_METADATA_ENDPOINT";

/// A bucket, or a folder of it.
#[derive(Debug, Clone)]
pub(super) struct Bucket {
    store: Arc<dyn ObjectStore>,
}

/// A file of the bucket.
#[derive(Debug, Clone)]
pub(super) struct InBucket {
    bucket: Bucket,
    name: Name,
    bytes: u64,
}

impl Bucket {
    /// The bucket of this name, and the folder of it whose names begin with `prefix`.
    pub(super) fn new(bucket: &str, prefix: &str) -> Result<Bucket, MediaError> {
        let retry = RetryConfig { max_retries: RETRIES, retry_timeout: RETRY_FOR, ..RetryConfig::default() };
        let builder = AmazonS3Builder::from_env().with_bucket_name(bucket).with_retry(retry);
        let builder = TIMEOUTS.into_iter().fold(builder, |builder, (key, value)| {
            builder.with_config(AmazonS3ConfigKey::Client(key), value)
        });
        let said = |key| builder.get_config_value(&key).filter(|value| !value.is_empty());
        if CREDENTIALS.into_iter().all(|key| said(key).is_none()) {
            return Err(MediaError::Settings(NO_CREDENTIALS.to_owned()));
        }
        // Whoever names an endpoint without TLS means it.
        let endpoint = said(AmazonS3ConfigKey::S3Endpoint).or_else(|| said(AmazonS3ConfigKey::Endpoint));
        let is_plain = endpoint.is_some_and(|endpoint| endpoint.starts_with("http://"));
        let builder = if is_plain { builder.with_allow_http(true) } else { builder };
        let store = builder.build().map_err(|error| MediaError::Settings(error.to_string()))?;
        Ok(Bucket { store: Arc::new(PrefixStore::new(store, prefix)) })
    }

    /// Whether the bucket is there and may be listed.
    pub(super) async fn check(&self) -> Result<(), MediaError> {
        match self.store.list(None).next().await {
            Some(Err(error)) => Err(unavailable(error)),
            _ => Ok(()),
        }
    }

    /// The file with this hash; none if it is not there whole.
    pub(super) async fn find(&self, sha256: &str, bytes: u64) -> Result<Option<InBucket>, MediaError> {
        let name = Name::from_iter(["videos", sha256]);
        let there = found(self.store.head(&name).await)?.is_some_and(|facts| facts.size == bytes);
        Ok(there.then(|| InBucket { bucket: self.clone(), name, bytes }))
    }

    /// Keeps a copy of a file, whole or not at all.
    pub(super) async fn keep(&self, source: &Path, sha256: &str, bytes: u64) -> Result<(), MediaError> {
        if self.find(sha256, bytes).await?.is_some() {
            return Ok(());
        }
        let refused = |error| MediaError::Io(source.to_owned(), error);
        let mut file = File::open(source).await.map_err(refused)?;
        let name = Name::from_iter(["videos", sha256]);
        let mut copy = BufWriter::with_capacity(Arc::clone(&self.store), name, PART);
        let mut hash = Sha256::new();
        loop {
            let mut part = Vec::with_capacity(READ);
            let read = (&mut file).take(READ as u64).read_to_end(&mut part).await.map_err(refused)?;
            if read == 0 {
                break;
            }
            hash.update(&part);
            copy.put(part.into()).await.map_err(unavailable)?;
        }
        if hex::encode(hash.finalize()) != sha256 {
            if let Err(error) = copy.abort().await {
                tracing::debug!(%error, "nothing was begun that could be broken off");
            }
            return Err(MediaError::Changed(source.to_owned()));
        }
        copy.shutdown().await.map_err(unavailable)
    }

    /// What was left under a name for a file.
    pub(super) async fn find_derived(&self, sha256: &str, name: &str) -> Result<Option<Bytes>, MediaError> {
        match found(self.store.get(&derived(sha256, name)).await)? {
            Some(found) => Ok(Some(found.bytes().await.map_err(unavailable)?)),
            None => Ok(None),
        }
    }

    /// Leaves what was made of a file, unless somebody did before; gives what is there then.
    pub(super) async fn share_derived(
        &self,
        sha256: &str,
        name: &str,
        made: Bytes,
        most: usize,
    ) -> Result<Bytes, MediaError> {
        let options = PutOptions { mode: PutMode::Create, ..PutOptions::default() };
        match self.store.put_opts(&derived(sha256, name), made.clone().into(), options).await {
            Ok(_) => {}
            Err(Error::AlreadyExists { .. }) => {
                return Ok(self.find_derived(sha256, name).await?.unwrap_or(made));
            }
            Err(error) => return Err(unavailable(error)),
        }
        if let Err(error) = self.forget_oldest(sha256, most).await {
            tracing::warn!(%error, "old frames could not be removed from the bucket");
        }
        Ok(made)
    }

    /// Removes what is too much of what was made of a file; who asks for it again gets it made again.
    async fn forget_oldest(&self, sha256: &str, most: usize) -> object_store::Result<()> {
        let mut all: Vec<ObjectMeta> =
            self.store.list(Some(&Name::from_iter(["frames", sha256]))).try_collect().await?;
        all.sort_unstable_by_key(|facts| facts.last_modified);
        for facts in all.iter().take(all.len().saturating_sub(most)) {
            match self.store.delete(&facts.location).await {
                Err(error) if !matches!(error, Error::NotFound { .. }) => return Err(error),
                _ => {}
            }
        }
        Ok(())
    }
}

impl InBucket {
    /// Reads a part of the file in one request, as fast as it is taken.
    pub(super) fn stream(&self, range: Range<u64>) -> BoxStream<'static, io::Result<Bytes>> {
        if range.is_empty() {
            return stream::empty().boxed();
        }
        let file = self.clone();
        let opened = async move {
            let options = GetOptions { range: Some(range.into()), ..GetOptions::default() };
            let found = file.bucket.store.get_opts(&file.name, options).await?;
            Ok::<_, Error>(found.into_stream())
        };
        stream::once(opened).try_flatten().map_err(io::Error::other).boxed()
    }

    /// A copy of the file in a folder, which is removed when it is dropped.
    pub(super) async fn copy_to(&self, folder: &Path) -> Result<TempPath, MediaError> {
        let refused = |error| MediaError::Io(folder.to_owned(), error);
        let (file, path) = tempfile::NamedTempFile::new_in(folder).map_err(refused)?.into_parts();
        let mut file = File::from_std(file);
        let mut parts = self.stream(0..self.bytes);
        while let Some(part) = parts.next().await {
            file.write_all(&part.map_err(unavailable)?).await.map_err(refused)?;
        }
        file.flush().await.map_err(refused)?;
        Ok(path)
    }
}

fn derived(sha256: &str, name: &str) -> Name {
    Name::from_iter(["frames", sha256, name])
}

/// What is there, or that it is not.
fn found<T>(result: object_store::Result<T>) -> Result<Option<T>, MediaError> {
    match result {
        Ok(found) => Ok(Some(found)),
        Err(Error::NotFound { .. }) => Ok(None),
        Err(error) => Err(unavailable(error)),
    }
}

fn unavailable(error: impl std::fmt::Display) -> MediaError {
    MediaError::Unavailable(error.to_string())
}
