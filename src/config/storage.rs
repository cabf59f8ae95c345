//! Where the ledger and the files lie. Knows neither database nor bucket.

use std::path::PathBuf;

use clap::Args;

/// Where the ledger and the files lie.
#[derive(Debug, Clone, Args)]
#[command(next_help_heading = "Storage")]
pub struct StoreSettings {
    /// `sqlite://PATH` or `postgres://…`
    #[arg(
        long,
        env = "SECCHI_DATABASE_URL",
        default_value = "sqlite://data/secchi.db",
        hide_env_values = true
    )]
    pub database_url: String,
    /// Folder of secrets and caches
    #[arg(long, env = "SECCHI_DATA_DIR", default_value = "./data")]
    pub data_dir: PathBuf,
    /// Where the videos are kept: `file://PATH`, or `s3://BUCKET/PREFIX` with a binary that has the feature `s3` and the
    /// usual variables AWS_… [default: `media` in the data folder]
    #[arg(long, env = "SECCHI_MEDIA_URL", value_parser = media_address)]
    pub media_url: Option<MediaAddress>,
}

impl StoreSettings {
    /// Where the videos are kept.
    pub fn media(&self) -> MediaAddress {
        self.media_url.clone().unwrap_or_else(|| MediaAddress::Folder(self.data_dir.join("media")))
    }
}

/// Where the videos are kept.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum MediaAddress {
    /// A folder of this machine.
    Folder(PathBuf),
    /// An S3-compatible bucket.
    #[cfg(feature = "s3")]
    Bucket {
        /// Its name.
        bucket: String,
        /// What all names in it begin with; empty for the whole bucket.
        prefix: String,
    },
}

/// Reads the address of a folder or a bucket.
fn media_address(text: &str) -> Result<MediaAddress, String> {
    match text.split_once("://") {
        Some(("file", path)) if !path.is_empty() => Ok(MediaAddress::Folder(PathBuf::from(path))),
        Some(("s3", place)) => bucket(place),
        _ => Err("it must be a folder's address, `file://PATH`, or a bucket's, `s3://BUCKET/PREFIX`".into()),
    }
}

#[cfg(feature = "s3")]
fn bucket(place: &str) -> Result<MediaAddress, String> {
    let (bucket, prefix) = place.split_once('/').unwrap_or((place, ""));
    if bucket.is_empty() {
        return Err("the name of the bucket is missing; give `s3://BUCKET/PREFIX`".into());
    }
    Ok(MediaAddress::Bucket { bucket: bucket.to_owned(), prefix: prefix.to_owned() })
}

#[cfg(not(feature = "s3"))]
fn bucket(_place: &str) -> Result<MediaAddress, String> {
    Err("this binary was built without buckets; build it with `--features s3`, or give a folder as `file://PATH`"
        .into())
}
