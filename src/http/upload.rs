//! Reading an upload: a form of `metadata` (JSON) and `predictions` (file), spooled with a limit. Knows nothing of what
//! the file says.

use std::io::{Seek as _, SeekFrom, Write as _};
use std::time::Duration;

use actix_multipart::{Field, Multipart, MultipartError};
use actix_web::HttpRequest;
use futures::TryStreamExt as _;
use sha2::{Digest as _, Sha256};
use tempfile::SpooledTempFile;
use tokio::time::timeout;

use crate::domain::fault::{Fault, FaultCode};
use crate::domain::submission::{Metadata, MetadataFault};
use crate::evaluation::intake::Upload;

/// A file up to this size stays in memory.
const IN_MEMORY_BYTES: usize = 1 << 20;

/// The metadata are a few fields.
const MAX_METADATA_BYTES: usize = 64 << 10;

/// How long the sender may be silent.
const SILENCE: Duration = Duration::from_secs(30);

/// Bytes that are read and dropped after the limit, so that an ordinary sender hears what is wrong before the line is
/// cut.
const DROPPED_BYTES: u64 = 256 << 20;

const MAX_KEY_CHARS: usize = 200;

/// Why an upload cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum UploadError {
    /// The form is none.
    #[error("the body must be `multipart/form-data` with `metadata` and `predictions`: {0}")]
    Form(MultipartError),
    /// A part is missing.
    #[error("the form has no part `{0}`; send `metadata` (JSON) and `predictions` (file)")]
    Missing(&'static str),
    /// A part comes twice.
    #[error("the form has the part `{0}` twice; send it once")]
    Twice(&'static str),
    /// The idempotency key cannot be one.
    #[error("`Idempotency-Key` must be 1 to {MAX_KEY_CHARS} visible ASCII characters")]
    Key,
    /// The metadata cannot be read.
    #[error("the metadata are faulty: {}", .fault.detail)]
    Metadata {
        /// What is wrong.
        fault: MetadataFault,
        /// Whether they are no JSON at all.
        unreadable: bool,
    },
    /// The file is too large.
    #[error("{}", .0.detail)]
    TooLarge(Fault),
    /// The sender fell silent.
    #[error("nothing came for {} s; send the file again", SILENCE.as_secs())]
    Slow,
    /// The file cannot be kept.
    #[error("the upload cannot be kept: {0}")]
    Io(#[from] std::io::Error),
}

impl From<MultipartError> for UploadError {
    fn from(error: MultipartError) -> Self {
        UploadError::Form(error)
    }
}

/// Reads the whole form.
///
/// # Errors
/// When it is malformed, incomplete, too large or too slow.
pub async fn read_upload(
    request: &HttpRequest,
    mut form: Multipart,
    team_id: String,
    max_bytes: u64,
) -> Result<Upload<SpooledTempFile>, UploadError> {
    let idempotency_key = idempotency_key(request)?;
    let (mut metadata, mut predictions) = (None, None);
    while let Some(field) = spoken(form.try_next()).await? {
        match field.name() {
            Some("metadata") if metadata.is_some() => return Err(UploadError::Twice("metadata")),
            Some("metadata") => metadata = Some(read_metadata(field).await?),
            Some("predictions") if predictions.is_some() => return Err(UploadError::Twice("predictions")),
            Some("predictions") => predictions = Some(spool(field, max_bytes).await?),
            other => {
                let pointer = format!("/{}", other.unwrap_or_default());
                let detail = "is no part of the form; send `metadata` and `predictions`".to_owned();
                let fault = MetadataFault { pointer, detail };
                return Err(UploadError::Metadata { fault, unreadable: false });
            }
        }
    }
    let metadata = metadata.ok_or(UploadError::Missing("metadata"))?;
    let (file, file_sha256) = predictions.ok_or(UploadError::Missing("predictions"))?;
    Ok(Upload { team_id, metadata, file, file_sha256, idempotency_key })
}

async fn spoken<T>(
    next: impl Future<Output = Result<Option<T>, MultipartError>>,
) -> Result<Option<T>, UploadError> {
    Ok(timeout(SILENCE, next).await.map_err(|_| UploadError::Slow)??)
}

async fn read_metadata(mut field: Field) -> Result<Metadata, UploadError> {
    let faulty = |pointer: &str, detail: String, unreadable| {
        let fault = MetadataFault { pointer: pointer.to_owned(), detail };
        UploadError::Metadata { fault, unreadable }
    };
    let mut text = Vec::new();
    while let Some(bytes) = spoken(field.try_next()).await? {
        if text.len() + bytes.len() > MAX_METADATA_BYTES {
            return Err(faulty(
                "",
                format!("have more than {MAX_METADATA_BYTES} bytes; shorten them"),
                false,
            ));
        }
        text.extend_from_slice(&bytes);
    }
    let mut json = serde_json::Deserializer::from_slice(&text);
    let metadata = serde_path_to_error::deserialize(&mut json).map_err(|error| {
        let pointer = pointer(&error);
        faulty(&pointer, error.inner().to_string(), !error.inner().is_data())
    })?;
    json.end().map_err(|error| faulty("", error.to_string(), true))?;
    Ok(metadata)
}

/// The field that an error is about.
fn pointer(error: &serde_path_to_error::Error<serde_json::Error>) -> String {
    if error.path().iter().len() > 0 {
        return format!("/{}", error.path());
    }
    // A field that is not there has no path, but a name in the message.
    let message = error.inner().to_string();
    let missing = message.strip_prefix("missing field `").and_then(|rest| rest.split_once('`'));
    missing.map(|(name, _)| format!("/{name}")).unwrap_or_default()
}

/// Keeps a file, counting and hashing it as it comes. Of one that is too large no more than its beginning is kept: a byte
/// over the limit, by which its reader finds that out, beside whatever else is wrong.
async fn spool(mut field: Field, max_bytes: u64) -> Result<(SpooledTempFile, String), UploadError> {
    let mut file = SpooledTempFile::new(IN_MEMORY_BYTES);
    let mut hash = Sha256::new();
    let (mut left, mut dropped) = (max_bytes.saturating_add(1), 0_u64);
    while let Some(bytes) = spoken(field.try_next()).await? {
        let (kept, rest) = bytes.split_at(bytes.len().min(usize::try_from(left).unwrap_or(usize::MAX)));
        hash.update(kept);
        file.write_all(kept)?;
        left -= kept.len() as u64;
        dropped += rest.len() as u64;
        if dropped > DROPPED_BYTES {
            return Err(too_large(max_bytes));
        }
    }
    file.seek(SeekFrom::Start(0))?;
    Ok((file, hex::encode(hash.finalize())))
}

fn too_large(max_bytes: u64) -> UploadError {
    UploadError::TooLarge(Fault {
        code: FaultCode::TooLarge,
        line: None,
        column: None,
        pointer: None,
        question_id: None,
        detail: format!(
            "the file has more than {max_bytes} bytes; send one answer a question and nothing else"
        ),
    })
}

fn idempotency_key(request: &HttpRequest) -> Result<Option<String>, UploadError> {
    let Some(value) = request.headers().get("idempotency-key") else { return Ok(None) };
    let key = value.to_str().map_err(|_| UploadError::Key)?.trim();
    let usable =
        !key.is_empty() && key.len() <= MAX_KEY_CHARS && key.bytes().all(|byte| byte.is_ascii_graphic());
    if usable { Ok(Some(key.to_owned())) } else { Err(UploadError::Key) }
}
