//! The form of `/submit` as a browser sends it: what was typed, and the file. Knows nothing of what the file says.

use std::io::{Read, Seek, SeekFrom};
use std::sync::{Arc, Mutex, PoisonError};

use actix_multipart::{Field, Multipart, MultipartError};
use actix_web::http::StatusCode;
use futures::TryStreamExt as _;
use tempfile::SpooledTempFile;

use super::refusal::Refusal;
use super::session::{Session, TOKEN_FIELD};
use crate::domain::fault::Fault;
use crate::domain::question::Split;
use crate::domain::submission::{Access, Metadata, MetadataFault, Visibility};
use crate::evaluation::spool::{Pace, SpoolError, Spooled, spool};

/// All that is typed, in bytes.
const MAX_TYPED_BYTES: usize = 64 << 10;

/// The text fields as they were typed, so that nothing is lost when the page comes back.
#[derive(Debug, Clone, Default)]
pub(super) struct Typed {
    pub(super) split: String,
    pub(super) model_name: String,
    pub(super) access: String,
    pub(super) parameters_b: String,
    pub(super) backbone: String,
    pub(super) description: String,
    pub(super) paper_url: String,
    pub(super) code_url: String,
    pub(super) visibility: String,
    pub(super) anonymous_until: String,
    /// Makes one submission of a form that is sent twice.
    form_key: String,
    /// The button that was pressed.
    step: String,
}

/// A form that was read to its end.
pub(super) struct Sent {
    pub(super) typed: Typed,
    pub(super) file: Option<SentFile>,
}

/// An uploaded file that is read twice: for its answers, and for the lines beside its faults.
#[derive(Clone)]
pub(super) struct SentFile {
    bytes: Arc<Mutex<SpooledTempFile>>,
    pub(super) sha256: String,
}

impl Seek for SentFile {
    fn seek(&mut self, place: SeekFrom) -> std::io::Result<u64> {
        self.bytes.lock().unwrap_or_else(PoisonError::into_inner).seek(place)
    }
}

impl Read for SentFile {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        self.bytes.lock().unwrap_or_else(PoisonError::into_inner).read(buffer)
    }
}

/// Why a form was not read to its end.
pub(super) enum Broken {
    /// The page that says so has the form no more.
    Refused(Refusal),
    /// The file is too large; what was typed before it is kept.
    TooLarge(Box<Typed>, Fault),
}

impl From<SpoolError<MultipartError>> for Broken {
    fn from(error: SpoolError<MultipartError>) -> Broken {
        let said = |status, title, detail| Broken::Refused(Refusal::said(status, title, detail));
        match error {
            SpoolError::Io(error) => Broken::Refused(Refusal::Inside(error.to_string())),
            SpoolError::Silent | SpoolError::Slow { .. } => {
                let detail = format!("{error}. Nothing was submitted and no quota was used.");
                said(StatusCode::REQUEST_TIMEOUT, "The upload stopped", detail)
            }
            SpoolError::Source(_) | SpoolError::TooLarge(_) => {
                let detail = format!(
                    "The upload ended early or is no form ({error}). No quota was used; send it again."
                );
                said(StatusCode::BAD_REQUEST, "The upload could not be read", detail)
            }
        }
    }
}

/// Reads the whole form. It must show first that it belongs to the session.
pub(super) async fn read(session: &Session, mut form: Multipart, max_bytes: u64) -> Result<Sent, Broken> {
    let (mut typed, mut file, mut known, mut room) = (Typed::default(), None, false, MAX_TYPED_BYTES);
    let mut pace = Pace::start();
    while let Some(field) = pace.spoken(form.try_next()).await? {
        let name = field.name().unwrap_or_default().to_owned();
        if name != TOKEN_FIELD && !known {
            return Err(Broken::Refused(Refusal::foreign_form()));
        }
        if name == "predictions" {
            let named =
                field.content_disposition().and_then(|it| it.get_filename()).is_some_and(|it| !it.is_empty());
            let spooled = spool(field, max_bytes, &mut pace).await.map_err(|error| match error {
                SpoolError::TooLarge(fault) => Broken::TooLarge(Box::new(typed.clone()), fault),
                error => error.into(),
            })?;
            // A browser sends an empty part without a name where no file was chosen.
            if named || spooled.bytes > 0 {
                file = Some(sent_file(spooled));
            }
            continue;
        }
        let text = read_text(field, &mut room, &mut pace).await?;
        match typed.field(&name) {
            _ if name == TOKEN_FIELD => known = session.gave(&text),
            Some(place) => *place = text,
            None => {}
        }
    }
    if known { Ok(Sent { typed, file }) } else { Err(Broken::Refused(Refusal::foreign_form())) }
}

fn sent_file(Spooled { file, sha256, .. }: Spooled) -> SentFile {
    SentFile { bytes: Arc::new(Mutex::new(file)), sha256 }
}

async fn read_text(mut field: Field, room: &mut usize, pace: &mut Pace) -> Result<String, Broken> {
    let mut text = Vec::new();
    while let Some(bytes) = pace.bytes_of(&mut field).await? {
        *room = room.checked_sub(bytes.len()).ok_or_else(|| {
            let detail = format!(
                "The fields hold more than {MAX_TYPED_BYTES} bytes in all. Go back and shorten them."
            );
            Broken::Refused(Refusal::said(StatusCode::PAYLOAD_TOO_LARGE, "Too much was typed", detail))
        })?;
        text.extend_from_slice(&bytes);
    }
    // Browsers send lines as CRLF.
    Ok(String::from_utf8_lossy(&text).replace("\r\n", "\n"))
}

impl Typed {
    /// An empty form.
    pub(super) fn blank() -> Typed {
        let text = str::to_owned;
        Typed { split: text("test"), visibility: text("private"), ..Typed::default() }
    }

    fn field(&mut self, name: &str) -> Option<&mut String> {
        Some(match name {
            "split" => &mut self.split,
            "model_name" => &mut self.model_name,
            "access" => &mut self.access,
            "parameters_b" => &mut self.parameters_b,
            "backbone" => &mut self.backbone,
            "description" => &mut self.description,
            "paper_url" => &mut self.paper_url,
            "code_url" => &mut self.code_url,
            "visibility" => &mut self.visibility,
            "anonymous_until" => &mut self.anonymous_until,
            "form_key" => &mut self.form_key,
            "step" => &mut self.step,
            _ => return None,
        })
    }

    /// Whether the file is only to be tried.
    pub(super) fn is_check(&self) -> bool {
        self.step != "submit"
    }

    /// The key under which this form is accepted once.
    pub(super) fn idempotency_key(&self) -> Option<String> {
        uuid::Uuid::parse_str(&self.form_key).ok().map(|key| format!("page-{key}"))
    }

    /// What the fields say, or everything that is wrong with them.
    pub(super) fn metadata(&self) -> Result<Metadata, Vec<MetadataFault>> {
        let mut faults = Vec::new();
        let mut fault = |field: &str, detail: String| {
            faults.push(MetadataFault { pointer: format!("/{field}"), detail });
        };
        let given = |text: &str| Some(text.trim()).filter(|text| !text.is_empty()).map(str::to_owned);
        let split = Split::parse(&self.split).unwrap_or_else(|| {
            fault("split", "choose one".into());
            Split::Test
        });
        let access = Access::parse(&self.access);
        if access.is_none() {
            fault("access", "choose one".into());
        }
        let parameters_b = given(&self.parameters_b).map(|text| {
            // Where a number is written with a comma, it is one before decimals.
            text.replace(',', ".").parse().unwrap_or_else(|_| {
                fault("parameters_b", format!("`{text}` is no number; give billions, such as 8 or 0.5"));
                1.0
            })
        });
        let visibility = Visibility::parse(&self.visibility).unwrap_or_else(|| {
            fault("visibility", "choose one".into());
            Visibility::Private
        });
        let metadata = Metadata {
            split,
            model_name: self.model_name.trim().to_owned(),
            // Without a word on access nothing is said about the size either.
            access: access.unwrap_or(Access::Closed),
            parameters_b,
            backbone: given(&self.backbone),
            description: given(&self.description),
            paper_url: given(&self.paper_url),
            code_url: given(&self.code_url),
            visibility,
            anonymous_until: given(&self.anonymous_until),
        };
        faults.extend(metadata.faults());
        if faults.is_empty() { Ok(metadata) } else { Err(faults) }
    }
}
