//! Reading an upload: a form of `metadata` (JSON) and `predictions` (file). Knows nothing of what the file says.

use actix_multipart::{Field, Multipart, MultipartError};
use actix_web::HttpRequest;
use futures::TryStreamExt as _;
use tempfile::SpooledTempFile;

use super::body::Object;
use crate::domain::fault::Fault;
use crate::domain::submission::{Metadata, MetadataFault};
use crate::evaluation::intake::Upload;
use crate::evaluation::spool::{Pace, SpoolError, Spooled, spool};

/// The metadata are a few fields.
const MAX_METADATA_BYTES: usize = 64 << 10;

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
    /// The sender fell silent or trickles, in words.
    #[error("{0}")]
    Slow(String),
    /// The file cannot be kept.
    #[error("the upload cannot be kept: {0}")]
    Io(#[from] std::io::Error),
}

impl From<SpoolError<MultipartError>> for UploadError {
    fn from(error: SpoolError<MultipartError>) -> Self {
        match error {
            SpoolError::Source(error) => UploadError::Form(error),
            SpoolError::TooLarge(fault) => UploadError::TooLarge(fault),
            error @ (SpoolError::Silent | SpoolError::Slow { .. }) => UploadError::Slow(error.to_string()),
            SpoolError::Io(error) => UploadError::Io(error),
        }
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
    let mut pace = Pace::start();
    while let Some(field) = pace.spoken(form.try_next()).await? {
        match field.name() {
            Some("metadata") if metadata.is_some() => return Err(UploadError::Twice("metadata")),
            Some("metadata") => metadata = Some(read_metadata(field, &mut pace).await?),
            Some("predictions") if predictions.is_some() => return Err(UploadError::Twice("predictions")),
            Some("predictions") => predictions = Some(spool(field, max_bytes, &mut pace).await?),
            other => {
                let pointer = format!("/{}", other.unwrap_or_default());
                let detail = "is no part of the form; send `metadata` and `predictions`".to_owned();
                let fault = MetadataFault { pointer, detail };
                return Err(UploadError::Metadata { fault, unreadable: false });
            }
        }
    }
    let metadata = metadata.ok_or(UploadError::Missing("metadata"))?;
    let Spooled { file, sha256: file_sha256, .. } = predictions.ok_or(UploadError::Missing("predictions"))?;
    Ok(Upload { team_id, metadata, file, file_sha256, idempotency_key })
}

async fn read_metadata(mut field: Field, pace: &mut Pace) -> Result<Metadata, UploadError> {
    let faulty = |pointer: &str, detail: String, unreadable| {
        let fault = MetadataFault { pointer: pointer.to_owned(), detail };
        UploadError::Metadata { fault, unreadable }
    };
    let mut text = Vec::new();
    while let Some(bytes) = pace.bytes_of(&mut field).await? {
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
    let Object(metadata) = serde_path_to_error::deserialize(&mut json).map_err(|error| {
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

fn idempotency_key(request: &HttpRequest) -> Result<Option<String>, UploadError> {
    let Some(value) = request.headers().get("idempotency-key") else { return Ok(None) };
    let key = value.to_str().map_err(|_| UploadError::Key)?.trim();
    let usable =
        !key.is_empty() && key.len() <= MAX_KEY_CHARS && key.bytes().all(|byte| byte.is_ascii_graphic());
    if usable { Ok(Some(key.to_owned())) } else { Err(UploadError::Key) }
}

#[cfg(test)]
mod tests {
    use actix_web::error::PayloadError;
    use actix_web::http::header::{CONTENT_TYPE, HeaderMap, HeaderValue};
    use actix_web::test::TestRequest;
    use actix_web::web::Bytes;
    use futures::StreamExt as _;
    use futures::stream::{self, Stream};
    use std::time::Duration;
    use tokio::time::Instant;

    use super::*;

    const START: &str = "--b\r\nContent-Disposition: form-data; name=\"predictions\"\r\n\r\n";

    /// What becomes of a form whose body comes so, and how long that takes; the clock leaps from event to event.
    async fn outcome(body: impl Stream<Item = Result<Bytes, PayloadError>> + 'static) -> (UploadError, u64) {
        tokio::time::pause();
        let began = Instant::now();
        let mut headers = HeaderMap::new();
        headers.insert(CONTENT_TYPE, HeaderValue::from_static("multipart/form-data; boundary=b"));
        let form = Multipart::new(&headers, Box::pin(body));
        let request = TestRequest::default().to_http_request();
        let read = read_upload(&request, form, "team".into(), 64 << 20).await;
        (read.err().unwrap(), began.elapsed().as_secs())
    }

    /// The start of a form, then `piece` once in so many milliseconds, without end.
    fn trickle(piece: &'static [u8], every_ms: u64) -> impl Stream<Item = Result<Bytes, PayloadError>> {
        let pieces = stream::unfold((), move |()| async move {
            tokio::time::sleep(Duration::from_millis(every_ms)).await;
            Some((Ok(Bytes::from_static(piece)), ()))
        });
        stream::iter([Ok(Bytes::from_static(START.as_bytes()))]).chain(pieces)
    }

    #[actix_web::test]
    async fn a_sender_that_trickles_is_told_so_after_a_minute() {
        let (error, took_s) = outcome(trickle(b"a", 1000)).await;
        assert!(
            matches!(&error, UploadError::Slow(detail) if detail.contains("bytes came in 60 s")),
            "{error}"
        );
        assert!((60..=61).contains(&took_s), "{took_s}");
    }

    #[actix_web::test]
    async fn a_sender_that_falls_silent_is_told_so_after_half_a_minute() {
        let (error, took_s) = outcome(trickle(b"a", 3_600_000)).await;
        assert!(
            matches!(&error, UploadError::Slow(detail) if detail.contains("nothing came for 30 s")),
            "{error}"
        );
        assert!((30..=31).contains(&took_s), "{took_s}");
    }

    #[actix_web::test]
    async fn a_slow_line_that_keeps_its_pace_may_take_its_time() {
        // The 16 KiB a second end after five minutes, without the end of the form.
        let body = trickle(&[b'a'; 16 << 10], 1000).take(300);
        let (error, took_s) = outcome(body).await;
        assert!(matches!(error, UploadError::Form(_)), "{error}");
        assert!((290..=310).contains(&took_s), "{took_s}");
    }
}
