//! Every error as RFC 9457 `application/problem+json`. The only place that knows statuses.

mod validity;

use actix_multipart::MultipartError;
use actix_web::http::StatusCode;
use actix_web::http::header::{self, HeaderValue};
use actix_web::{HttpResponse, HttpResponseBuilder, ResponseError};
use serde::Serialize;

use super::page::PageError;
use super::upload::UploadError;
use crate::accounts::Unauthenticated;
use crate::evaluation::deciding::DecisionError;
use crate::evaluation::following::FollowError;
use crate::evaluation::intake::IntakeError;
use crate::evaluation::lifecycle::LifecycleError;
use crate::evaluation::report::ReportError;
use crate::evaluation::series::SeriesError;
use crate::media::MediaError;
use crate::store::StoreError;

/// An error as the outside sees it.
#[derive(Debug, Clone, Serialize, utoipa::ToSchema)]
pub struct Problem {
    /// A URN that names the kind of problem.
    #[serde(rename = "type")]
    kind: String,
    /// The HTTP status in words.
    title: &'static str,
    /// The HTTP status.
    status: u16,
    /// What is wrong here and how to mend it.
    detail: String,
    /// The kind of problem for programs.
    code: &'static str,
    #[serde(flatten, skip_serializing_if = "Option::is_none")]
    faults: Option<Box<Faults>>,
    #[serde(skip)]
    #[schema(ignore)]
    inside: Option<Box<Inside>>,
}

/// The single faults, where there are several.
#[derive(Debug, Clone, Serialize, utoipa::ToSchema)]
struct Faults {
    /// The faults, at most the first 100.
    errors: Vec<serde_json::Value>,
    /// How many there are in all.
    total: u64,
}

/// What the body of the answer does not hold.
#[derive(Debug, Clone, Default)]
struct Inside {
    retry_after_s: Option<u64>,
    cause: Option<String>,
}

/// The result of a handler.
pub type Answer<T> = Result<T, Problem>;

/// Why an internal error happened; the door logs it with the request's id.
pub struct Cause(pub String);

impl Problem {
    /// A problem of a status and code, with what is wrong and how to mend it.
    pub fn new(status: StatusCode, code: &'static str, detail: impl Into<String>) -> Problem {
        Problem {
            kind: format!("urn:secchi:problem:{code}"),
            title: status.canonical_reason().unwrap_or("Error"),
            status: status.as_u16(),
            detail: detail.into(),
            code,
            faults: None,
            inside: None,
        }
    }

    /// Adds the seconds to wait, for `Retry-After`.
    pub fn retry_after(mut self, seconds: u64) -> Problem {
        self.inside.get_or_insert_default().retry_after_s = Some(seconds);
        self
    }

    /// 500 for a fault of the server, whose cause goes to the log only.
    pub fn internal(cause: impl std::fmt::Display) -> Problem {
        let detail =
            "the server failed; nothing was changed. Try again, and tell the maintainers the request's id";
        Problem::new(StatusCode::INTERNAL_SERVER_ERROR, "internal_error", detail).caused_by(cause)
    }

    fn caused_by(mut self, cause: impl std::fmt::Display) -> Problem {
        self.inside.get_or_insert_default().cause = Some(cause.to_string());
        self
    }

    /// 403 for whatever an archive does not do.
    pub fn read_only() -> Problem {
        let detail = "this server shows an archive: its board can be read, nobody signs in, and nothing can be changed. \
                      Ask the server that takes submissions";
        Problem::new(StatusCode::FORBIDDEN, "read_only", detail)
    }

    /// 404 for a thing that is not there or not the asker's.
    pub fn not_found(detail: impl Into<String>) -> Problem {
        Problem::new(StatusCode::NOT_FOUND, "not_found", detail)
    }

    /// 400 for a query parameter.
    pub fn parameter(detail: impl Into<String>) -> Problem {
        Problem::new(StatusCode::BAD_REQUEST, "invalid_parameter", detail)
    }

    pub(super) fn with_errors<T: Serialize>(mut self, faults: &[T], total: u64) -> Problem {
        let errors = faults.iter().filter_map(|fault| serde_json::to_value(fault).ok()).collect();
        self.faults = Some(Box::new(Faults { errors, total }));
        self
    }
}

impl std::fmt::Display for Problem {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}: {}", self.code, self.detail)
    }
}

impl ResponseError for Problem {
    fn status_code(&self) -> StatusCode {
        StatusCode::from_u16(self.status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR)
    }

    fn error_response(&self) -> HttpResponse {
        let mut response = HttpResponseBuilder::new(self.status_code())
            .insert_header((header::CACHE_CONTROL, "no-store"))
            .json(self);
        let headers = response.headers_mut();
        headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("application/problem+json"));
        let inside = self.inside.as_deref().cloned().unwrap_or_default();
        if let Some(seconds) = inside.retry_after_s {
            headers.insert(header::RETRY_AFTER, HeaderValue::from(seconds));
        }
        if self.status_code() == StatusCode::UNAUTHORIZED {
            headers.insert(header::WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"));
        }
        if let Some(cause) = inside.cause {
            response.extensions_mut().insert(Cause(cause));
        }
        response
    }
}

impl From<StoreError> for Problem {
    fn from(error: StoreError) -> Problem {
        match error {
            StoreError::Connect(_) => {
                let detail = "the database is not to be reached; try again soon";
                Problem::new(StatusCode::SERVICE_UNAVAILABLE, "database_unavailable", detail)
                    .retry_after(5)
                    .caused_by(error)
            }
            StoreError::ReadOnly => Problem::read_only(),
            StoreError::Address(_)
            | StoreError::InUse(_)
            | StoreError::OtherVersion
            | StoreError::Migrate(_)
            | StoreError::Statement(_)
            | StoreError::Unknown { .. }
            | StoreError::Task(_) => Problem::internal(error),
        }
    }
}

impl From<Unauthenticated> for Problem {
    fn from(error: Unauthenticated) -> Problem {
        let code = match error {
            Unauthenticated::Store(error) => return error.into(),
            Unauthenticated::Sign(error) => return Problem::internal(error),
            Unauthenticated::ReadOnly => return Problem::read_only(),
            Unauthenticated::Missing => "missing_credential",
            Unauthenticated::Unknown => "unknown_credential",
            Unauthenticated::Expired | Unauthenticated::SessionExpired => "expired_token",
            Unauthenticated::ExpiredKey => "expired_key",
            Unauthenticated::Revoked => "revoked_key",
            Unauthenticated::Disabled => "disabled_team",
        };
        Problem::new(StatusCode::UNAUTHORIZED, code, error.to_string())
    }
}

impl From<IntakeError> for Problem {
    fn from(error: IntakeError) -> Problem {
        match error {
            IntakeError::Metadata(faults) => {
                let detail = "the metadata are faulty; mend each of the `errors`";
                Problem::new(StatusCode::UNPROCESSABLE_ENTITY, "invalid_metadata", detail)
                    .with_errors(&faults, faults.len() as u64)
            }
            IntakeError::NoRelease(_) => {
                Problem::new(StatusCode::CONFLICT, "no_active_release", error.to_string())
            }
            IntakeError::Refused(refusal) => {
                let detail = format!(
                    "the file has {} fault(s) and was refused whole; no quota was used. Mend each of the `errors`",
                    refusal.total
                );
                let problem = if refusal.is_too_large() {
                    Problem::new(StatusCode::PAYLOAD_TOO_LARGE, "too_large", detail)
                } else {
                    Problem::new(StatusCode::UNPROCESSABLE_ENTITY, "invalid_predictions", detail)
                };
                problem.with_errors(&refusal.faults, refusal.total)
            }
            IntakeError::Quota(quota) => {
                let problem = Problem::new(StatusCode::TOO_MANY_REQUESTS, "quota_exceeded", quota.used_up());
                if quota.resets() { problem.retry_after(quota.resets_in_s) } else { problem }
            }
            IntakeError::OtherContent => {
                Problem::new(StatusCode::CONFLICT, "idempotency_conflict", error.to_string())
            }
            IntakeError::Io(error) => Problem::internal(error),
            IntakeError::Store(error) => error.into(),
        }
    }
}

impl From<LifecycleError> for Problem {
    fn from(error: LifecycleError) -> Problem {
        match error {
            LifecycleError::Unknown(_) => Problem::not_found(error.to_string()),
            LifecycleError::State { .. } => {
                Problem::new(StatusCode::CONFLICT, "wrong_state", error.to_string())
            }
            LifecycleError::Withdrawn => Problem::new(StatusCode::CONFLICT, "withdrawn", error.to_string()),
            LifecycleError::Faults(faults) => {
                let detail = "the change is faulty; mend each of the `errors`";
                Problem::new(StatusCode::UNPROCESSABLE_ENTITY, "invalid_change", detail)
                    .with_errors(&faults, faults.len() as u64)
            }
            LifecycleError::Store(error) => error.into(),
        }
    }
}

impl From<DecisionError> for Problem {
    fn from(error: DecisionError) -> Problem {
        let code = match error {
            DecisionError::Unknown(_) | DecisionError::NotJudged(_) => {
                return Problem::not_found(error.to_string());
            }
            DecisionError::Faults(faults) => {
                let detail = "the decision is faulty; mend each of the `errors`";
                return Problem::new(StatusCode::UNPROCESSABLE_ENTITY, "invalid_decision", detail)
                    .with_errors(&faults, faults.len() as u64);
            }
            DecisionError::Work(error) => return Problem::internal(error),
            DecisionError::Store(error) => return error.into(),
            DecisionError::State(_) => "wrong_state",
            DecisionError::NotFailed(_) => "not_failed",
            DecisionError::Judged | DecisionError::Decided(..) => "already_judged",
        };
        Problem::new(StatusCode::CONFLICT, code, error.to_string())
    }
}

impl From<UploadError> for Problem {
    fn from(error: UploadError) -> Problem {
        match error {
            UploadError::TooLarge(fault) => {
                let detail = format!("{}; no quota was used", fault.detail);
                Problem::new(StatusCode::PAYLOAD_TOO_LARGE, "too_large", detail).with_errors(&[fault], 1)
            }
            UploadError::Metadata { fault, unreadable } => {
                let (status, code) = if unreadable {
                    (StatusCode::BAD_REQUEST, "malformed_json")
                } else {
                    (StatusCode::UNPROCESSABLE_ENTITY, "invalid_metadata")
                };
                Problem::new(status, code, format!("the metadata are faulty: {}", fault.detail))
                    .with_errors(&[fault], 1)
            }
            UploadError::Slow(_) => {
                Problem::new(StatusCode::REQUEST_TIMEOUT, "slow_upload", error.to_string())
            }
            UploadError::Io(error) => Problem::internal(error),
            UploadError::Form(
                MultipartError::ContentTypeMissing | MultipartError::ContentTypeIncompatible,
            ) => {
                Problem::new(StatusCode::UNSUPPORTED_MEDIA_TYPE, "unsupported_media_type", error.to_string())
            }
            UploadError::Form(_) | UploadError::Missing(_) | UploadError::Twice(_) | UploadError::Key => {
                Problem::new(StatusCode::BAD_REQUEST, "malformed_form", error.to_string())
            }
        }
    }
}

impl From<FollowError> for Problem {
    fn from(error: FollowError) -> Problem {
        match error {
            FollowError::TooMany => {
                Problem::new(StatusCode::TOO_MANY_REQUESTS, "too_many_streams", error.to_string())
                    .retry_after(5)
            }
            FollowError::Unknown(_) => Problem::not_found(error.to_string()),
            FollowError::Store(error) => error.into(),
        }
    }
}

impl From<ReportError> for Problem {
    fn from(error: ReportError) -> Problem {
        match error {
            ReportError::NotGraded(_) => Problem::new(StatusCode::CONFLICT, "wrong_state", error.to_string()),
            ReportError::Store(error) => error.into(),
        }
    }
}

impl From<SeriesError> for Problem {
    fn from(error: SeriesError) -> Problem {
        match error {
            SeriesError::Unknown(_) => Problem::not_found(error.to_string()),
            SeriesError::Faults(faults) => LifecycleError::Faults(faults).into(),
            SeriesError::Store(error) => error.into(),
        }
    }
}

impl From<MediaError> for Problem {
    fn from(error: MediaError) -> Problem {
        match error {
            MediaError::Unavailable(_) => {
                let detail = "the store of the videos is not to be reached; try again soon";
                Problem::new(StatusCode::SERVICE_UNAVAILABLE, "media_unavailable", detail)
                    .retry_after(5)
                    .caused_by(error)
            }
            MediaError::Io(..) | MediaError::Changed(_) | MediaError::Settings(_) | MediaError::Task(_) => {
                Problem::internal(error)
            }
        }
    }
}

impl From<PageError> for Problem {
    fn from(error: PageError) -> Problem {
        Problem::parameter(error.to_string())
    }
}
