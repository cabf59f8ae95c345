//! Why a page is not shown, as the page that says so. Knows no single page.

use actix_web::http::{StatusCode, header};
use actix_web::{HttpResponse, HttpResponseBuilder, ResponseError};

use super::frame;
use crate::accounts::Unauthenticated;
use crate::evaluation::lifecycle::LifecycleError;
use crate::store::StoreError;

/// Why a page is not shown.
#[derive(Debug, thiserror::Error)]
pub(super) enum Refusal {
    /// Nobody is signed in; afterwards the browser goes on to the address.
    #[error("sign in first")]
    SignIn { next: Option<String> },
    /// A page says what is wrong.
    #[error("{detail}")]
    Said { status: StatusCode, title: &'static str, detail: String },
    /// A fault of the server, whose cause goes to the log only.
    #[error("{0}")]
    Inside(String),
}

/// The result of a page's handler.
pub(super) type Shown = Result<HttpResponse, Refusal>;

impl Refusal {
    pub(super) fn said(status: StatusCode, title: &'static str, detail: impl Into<String>) -> Refusal {
        Refusal::Said { status, title, detail: detail.into() }
    }

    /// A form that no page of this server sent, or one of a session that has ended.
    pub(super) fn foreign_form() -> Refusal {
        let detail = "The form does not belong to this session, so nothing was done. Go back, load the page anew and send \
                      the form again.";
        Refusal::said(StatusCode::FORBIDDEN, "This form is out of date", detail)
    }

    /// What an archive does not do.
    pub(super) fn archive() -> Refusal {
        let detail = "This server shows an archive: a board as it once stood. Nobody signs in here, and nothing can be \
                      submitted or changed.";
        Refusal::said(StatusCode::FORBIDDEN, "This is an archive", detail)
    }

    pub(super) fn not_found() -> Refusal {
        let detail = "There is no page at this address, or it is another team's.";
        Refusal::said(StatusCode::NOT_FOUND, "This page does not exist", detail)
    }
}

impl ResponseError for Refusal {
    fn status_code(&self) -> StatusCode {
        match self {
            Refusal::SignIn { .. } => StatusCode::SEE_OTHER,
            Refusal::Said { status, .. } => *status,
            Refusal::Inside(_) => StatusCode::INTERNAL_SERVER_ERROR,
        }
    }

    fn error_response(&self) -> HttpResponse {
        let (title, detail) = match self {
            Refusal::SignIn { next } => {
                let address = match next {
                    Some(next) => format!("/sign-in?next={}", encoded(next)),
                    None => "/sign-in".to_owned(),
                };
                return see_other(&address);
            }
            Refusal::Said { title, detail, .. } => (*title, detail.as_str()),
            Refusal::Inside(cause) => {
                tracing::error!(cause, "a page could not be shown");
                (
                    "The server failed",
                    "Nothing was changed. Try again in a moment, and tell the maintainers if it stays so.",
                )
            }
        };
        html(self.status_code(), frame::message(title, detail))
    }
}

impl From<StoreError> for Refusal {
    fn from(error: StoreError) -> Refusal {
        if matches!(error, StoreError::ReadOnly) {
            return Refusal::archive();
        }
        if matches!(error, StoreError::Connect(_)) {
            tracing::error!(%error, "a page could not be shown");
            let detail = "The database is not to be reached, so nothing was changed. Try again in a moment.";
            return Refusal::said(StatusCode::SERVICE_UNAVAILABLE, "Not now", detail);
        }
        Refusal::Inside(error.to_string())
    }
}

impl From<LifecycleError> for Refusal {
    fn from(error: LifecycleError) -> Refusal {
        match error {
            LifecycleError::Unknown(_) => Refusal::not_found(),
            LifecycleError::Store(error) => error.into(),
            LifecycleError::State { .. } | LifecycleError::Withdrawn | LifecycleError::Faults(_) => {
                Refusal::said(StatusCode::CONFLICT, "This cannot be done", error.to_string())
            }
        }
    }
}

/// Ends a session whose key is no longer good; a fault of the database ends nothing.
impl From<Unauthenticated> for Refusal {
    fn from(error: Unauthenticated) -> Refusal {
        match error {
            Unauthenticated::Store(error) => error.into(),
            Unauthenticated::Sign(error) => Refusal::Inside(error.to_string()),
            Unauthenticated::ReadOnly => Refusal::archive(),
            _ => Refusal::SignIn { next: None },
        }
    }
}

/// A page of one team's: nobody else's browser or cache keeps it.
pub(super) fn html(status: StatusCode, page: maud::Markup) -> HttpResponse {
    HttpResponseBuilder::new(status)
        .insert_header((header::CACHE_CONTROL, "no-store"))
        .content_type("text/html; charset=utf-8")
        .body(page.into_string())
}

/// Sends the browser on after a form.
pub(super) fn see_other(address: &str) -> HttpResponse {
    HttpResponse::SeeOther()
        .insert_header((header::CACHE_CONTROL, "no-store"))
        .insert_header((header::LOCATION, address))
        .finish()
}

/// A text as the value of a query parameter.
fn encoded(text: &str) -> String {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"/-_.~".contains(&byte);
    text.bytes()
        .map(|byte| if plain(byte) { char::from(byte).to_string() } else { format!("%{byte:02X}") })
        .collect()
}
