//! Keeping an uploaded file while it comes: counted, hashed, within a limit, and not for ever. Knows nothing of forms
//! and of what a file says.

use std::io::{Seek as _, SeekFrom, Write as _};
use std::time::Duration;

use bytes::Bytes;
use futures::{Stream, StreamExt as _};
use sha2::{Digest as _, Sha256};
use tempfile::SpooledTempFile;
use tokio::time::{Instant, timeout};

use crate::domain::fault::{Fault, FaultCode};

/// How long the sender may be silent.
const SILENCE: Duration = Duration::from_secs(30);

/// How long an upload may take beside the time for its bytes at [`SLOWEST_BYTES_PER_S`]: a sender that trickles holds a
/// connection, and perhaps a file, as one that is silent does.
const GRACE: Duration = Duration::from_secs(60);

const SLOWEST_BYTES_PER_S: u64 = 8 << 10;

/// A file up to this size stays in memory.
const IN_MEMORY_BYTES: usize = 1 << 20;

/// Bytes that are read and dropped after the limit, so that an ordinary sender hears what is wrong before the line is
/// cut.
const DROPPED_BYTES: u64 = 256 << 20;

/// A file as it came.
pub struct Spooled {
    /// Its bytes, to be read from the start.
    pub file: SpooledTempFile,
    /// Their hash, in hex.
    pub sha256: String,
    /// How many came.
    pub bytes: u64,
}

/// Why a file cannot be kept.
#[derive(Debug, thiserror::Error)]
pub enum SpoolError<E> {
    /// The sender's side failed.
    #[error(transparent)]
    Source(#[from] E),
    /// The file is too large.
    #[error("{}", .0.detail)]
    TooLarge(Fault),
    /// The sender fell silent.
    #[error("nothing came for {} s; send the file again", SILENCE.as_secs())]
    Silent,
    /// The sender trickles.
    #[error(
        "{bytes} bytes came in {elapsed_s} s, which is slower than {SLOWEST_BYTES_PER_S} bytes a second; send the file \
         again over a faster line, compressed with gzip or zstd"
    )]
    Slow {
        /// How much came.
        bytes: u64,
        /// In which time.
        elapsed_s: u64,
    },
    /// The file cannot be stored.
    #[error("the upload cannot be kept: {0}")]
    Io(std::io::Error),
}

/// How fast an upload comes.
pub struct Pace {
    began: Instant,
    bytes: u64,
}

impl Pace {
    /// Of an upload that begins now.
    pub fn start() -> Pace {
        Pace { began: Instant::now(), bytes: 0 }
    }

    /// What comes next from a sender, if it comes in time.
    ///
    /// # Errors
    /// When the sender is silent, too slow or fails.
    pub async fn spoken<T, E>(&self, next: impl Future<Output = Result<T, E>>) -> Result<T, SpoolError<E>> {
        let allowed = GRACE + Duration::from_secs(self.bytes / SLOWEST_BYTES_PER_S);
        let left = allowed.saturating_sub(self.began.elapsed());
        let late = |_| match left < SILENCE {
            true => SpoolError::Slow { bytes: self.bytes, elapsed_s: self.began.elapsed().as_secs() },
            false => SpoolError::Silent,
        };
        Ok(timeout(left.min(SILENCE), next).await.map_err(late)??)
    }

    /// The next bytes of a part, counted.
    ///
    /// # Errors
    /// As [`Self::spoken`].
    pub async fn bytes_of<E>(
        &mut self,
        source: &mut (impl Stream<Item = Result<Bytes, E>> + Unpin),
    ) -> Result<Option<Bytes>, SpoolError<E>> {
        let bytes = self.spoken(async { source.next().await.transpose() }).await?;
        self.bytes += bytes.as_ref().map_or(0, |bytes| bytes.len() as u64);
        Ok(bytes)
    }
}

/// Keeps a file, counting and hashing it as it comes. Of one that is too large no more than its beginning is kept: a byte
/// over the limit, by which its reader finds that out, beside whatever else is wrong.
///
/// # Errors
/// When the sender is silent, too slow or fails, or goes on long after the limit.
pub async fn spool<E>(
    mut source: impl Stream<Item = Result<Bytes, E>> + Unpin,
    max_bytes: u64,
    pace: &mut Pace,
) -> Result<Spooled, SpoolError<E>> {
    let mut file = SpooledTempFile::new(IN_MEMORY_BYTES);
    let mut hash = Sha256::new();
    let (mut left, mut dropped, mut came) = (max_bytes.saturating_add(1), 0_u64, 0_u64);
    while let Some(bytes) = pace.bytes_of(&mut source).await? {
        let (kept, rest) = bytes.split_at(bytes.len().min(usize::try_from(left).unwrap_or(usize::MAX)));
        hash.update(kept);
        file.write_all(kept).map_err(SpoolError::Io)?;
        left -= kept.len() as u64;
        dropped += rest.len() as u64;
        came += bytes.len() as u64;
        if dropped > DROPPED_BYTES {
            return Err(SpoolError::TooLarge(too_large(max_bytes)));
        }
    }
    file.seek(SeekFrom::Start(0)).map_err(SpoolError::Io)?;
    Ok(Spooled { file, sha256: hex::encode(hash.finalize()), bytes: came })
}

fn too_large(max_bytes: u64) -> Fault {
    Fault {
        code: FaultCode::TooLarge,
        line: None,
        column: None,
        pointer: None,
        question_id: None,
        detail: format!(
            "the file has more than {max_bytes} bytes; send one answer a question and nothing else"
        ),
    }
}
