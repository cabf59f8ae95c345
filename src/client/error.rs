//! Why a server was not reached or refused, in words for whoever runs a command.

use std::error::Error as _;

use reqwest::StatusCode;
use serde_json::Value;

/// Most characters of a cause that are repeated.
const MAX_CAUSE_CHARS: usize = 200;

/// Why a server was not reached or refused.
#[derive(Debug, thiserror::Error)]
pub enum ClientError {
    /// No key was given.
    #[error("no API key; give `--api-key` or set SECCHI_API_KEY")]
    NoKey,
    /// The key has characters that no header can carry.
    #[error("the API key has characters that cannot be sent; check SECCHI_API_KEY for line breaks")]
    KeyForm,
    /// The address is none.
    #[error("`{0}` is no http or https address; set SECCHI_URL to one such as `https://secchi.example`")]
    Address(String),
    /// A file of this machine cannot be read or written.
    #[error("`{0}`: {1}")]
    File(String, #[source] std::io::Error),
    /// The server was not reached, or its answer broke off.
    #[error("`{server}` was not reached: {cause}")]
    Unreachable {
        /// The server's address.
        server: String,
        /// The root cause, and what to do about it where that is known.
        cause: String,
        /// Whether it may be over soon.
        passing: bool,
    },
    /// Something else than Secchi answered.
    #[error("`{server}` answered {status} with something that is not Secchi's: {hint}")]
    Stranger {
        /// The server's address.
        server: String,
        /// The HTTP status.
        status: u16,
        /// What may be the matter.
        hint: String,
    },
    /// What arrived is not what the server told.
    #[error("`{0}` arrived damaged again and again: {1}")]
    Damaged(String, &'static str),
    /// The server refused.
    #[error(transparent)]
    Refused(Box<Refusal>),
}

/// A problem as the server tells it (RFC 9457).
#[derive(Debug, thiserror::Error)]
#[error("the server refused ({status}, `{code}`): {detail}")]
pub struct Refusal {
    /// The HTTP status.
    pub status: u16,
    /// What kind of problem it is.
    pub code: String,
    /// What is wrong and how to mend it.
    pub detail: String,
    /// The single faults that are listed.
    pub errors: Vec<Value>,
    /// How many faults there are.
    pub total: u64,
    /// All of it.
    pub problem: Value,
}

impl ClientError {
    /// What an error of the transport means; never repeats the address, which may hold a password.
    pub(super) fn transport(server: &str, error: &reqwest::Error) -> ClientError {
        let mut root: Option<&dyn std::error::Error> = error.source();
        while let Some(deeper) = root.and_then(|error| error.source()) {
            root = Some(deeper);
        }
        let told: String = root.map(ToString::to_string).unwrap_or_default();
        let told: String = told.chars().filter(|c| !c.is_control()).take(MAX_CAUSE_CHARS).collect();
        let (cause, passing) = if error.is_timeout() {
            ("no answer in time".to_owned(), true)
        } else if told.contains("InvalidContentType") {
            ("it speaks no TLS; write `http://` instead of `https://`".to_owned(), false)
        } else if told.contains("No CA certificates") {
            ("this machine knows no certificate authorities; install ca-certificates".to_owned(), false)
        } else if told.contains("certificate") {
            let hint = "SSL_CERT_FILE may name further authorities";
            (format!("its certificate is not trusted ({told}); {hint}"), false)
        } else if told.contains("proxy") || told.contains("tunnel") {
            (format!("the proxy of HTTP_PROXY or HTTPS_PROXY does not let it through ({told})"), true)
        } else if told.contains("lookup") || told.contains("Name or service") {
            (format!("there is no such host ({told}); check SECCHI_URL"), true)
        } else if error.is_connect() {
            (format!("{told}; is it running, and are SECCHI_URL and HTTP_PROXY right?"), true)
        } else {
            (format!("the connection broke ({told})"), true)
        };
        ClientError::Unreachable { server: server.to_owned(), cause, passing }
    }

    /// What an answer that is no success means.
    pub(super) fn answer(
        server: &str,
        status: StatusCode,
        location: Option<&str>,
        body: &[u8],
    ) -> ClientError {
        let problem: Value = serde_json::from_slice(body).unwrap_or_default();
        let text = |field: &str| problem[field].as_str().map(str::to_owned);
        if let (Some(code), Some(detail), false) = (text("code"), text("detail"), status.is_success()) {
            let errors = problem["errors"].as_array().cloned().unwrap_or_default();
            let total = problem["total"].as_u64().unwrap_or(errors.len() as u64);
            let status = status.as_u16();
            return ClientError::Refused(Box::new(Refusal { status, code, detail, errors, total, problem }));
        }
        let hint = match (status.as_u16(), location) {
            (300..=399, Some(to)) => format!("it points to `{to}`; set SECCHI_URL to where Secchi is"),
            (407, _) => "the proxy of HTTP_PROXY or HTTPS_PROXY wants a sign-in".to_owned(),
            (413, _) => {
                "a proxy before it takes no file of this size; send it compressed (gzip or zstd)".to_owned()
            }
            (500..=599, _) => "a proxy before it does not reach it; try again later".to_owned(),
            _ => "check SECCHI_URL".to_owned(),
        };
        ClientError::Stranger { server: server.to_owned(), status: status.as_u16(), hint }
    }

    /// Whether asking again may help.
    pub(super) fn is_passing(&self) -> bool {
        match self {
            ClientError::Unreachable { passing, .. } => *passing,
            ClientError::Stranger { status, .. } => *status >= 500,
            // A quota is not given back by asking again.
            ClientError::Refused(refusal) => match refusal.status {
                429 => refusal.code != "quota_exceeded",
                status => status == 408 || status >= 500,
            },
            ClientError::Damaged(..) => true,
            ClientError::NoKey | ClientError::KeyForm | ClientError::Address(_) | ClientError::File(..) => {
                false
            }
        }
    }

    /// The code of a refusal.
    pub fn code(&self) -> Option<&str> {
        match self {
            ClientError::Refused(refusal) => Some(&refusal.code),
            _ => None,
        }
    }
}
