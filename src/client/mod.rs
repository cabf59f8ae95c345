//! What the client commands say to a server, over its public API. Prints nothing.

use std::path::Path;
use std::time::Duration;

use reqwest::multipart::{Form, Part};
use reqwest::{Method, RequestBuilder, Response, StatusCode};
use serde_json::{Value, json};

use crate::domain::submission::Metadata;

const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);

/// A file of 64 MB over a slow line takes its time.
const TOTAL_TIMEOUT: Duration = Duration::from_secs(900);

/// Why a server was not reached or refused.
#[derive(Debug, thiserror::Error)]
pub enum ClientError {
    /// No key was given.
    #[error("no API key; give `--api-key` or set SECCHI_API_KEY")]
    NoKey,
    /// The file cannot be read.
    #[error("`{0}` cannot be read: {1}")]
    File(String, std::io::Error),
    /// The server was not reached, or its answer broke off.
    #[error("the server was not reached")]
    Transport(#[from] reqwest::Error),
    /// The server refused.
    #[error("the server refused ({status}): {detail}")]
    Refused {
        /// The HTTP status.
        status: u16,
        /// What is wrong and how to mend it.
        detail: String,
        /// The single faults.
        errors: Vec<Value>,
    },
}

/// Speaks to one server in the name of one team.
pub struct Client {
    http: reqwest::Client,
    base: String,
    api_key: String,
}

impl Client {
    /// A client of the server at `url`.
    ///
    /// # Errors
    /// When there is no key or the client cannot be set up.
    pub fn new(url: &str, api_key: Option<&str>) -> Result<Client, ClientError> {
        let api_key = api_key.filter(|key| !key.is_empty()).ok_or(ClientError::NoKey)?.to_owned();
        let http =
            reqwest::Client::builder().connect_timeout(CONNECT_TIMEOUT).timeout(TOTAL_TIMEOUT).build()?;
        Ok(Client { http, base: format!("{}/api/v1", url.trim_end_matches('/')), api_key })
    }

    /// Sends a prediction file, or only has it validated.
    ///
    /// # Errors
    /// When the server refuses it or is not reached.
    pub async fn submit(
        &self,
        file: &Path,
        metadata: &Metadata,
        dry_run: bool,
    ) -> Result<Value, ClientError> {
        let unreadable = |error| ClientError::File(file.display().to_string(), error);
        let bytes = tokio::fs::read(file).await.map_err(unreadable)?;
        let form = Form::new()
            .part("metadata", Part::text(json!(metadata).to_string()).mime_str("application/json")?)
            .part("predictions", Part::bytes(bytes).file_name("predictions"));
        let path = if dry_run { "submissions?dry_run=true" } else { "submissions" };
        answer(self.request(Method::POST, path).multipart(form).send().await?).await
    }

    /// One of the team's submissions.
    ///
    /// # Errors
    /// When there is none or the server is not reached.
    pub async fn find_submission(&self, id: &str) -> Result<Value, ClientError> {
        answer(self.request(Method::GET, &format!("submissions/{id}")).send().await?).await
    }

    /// The team's newest submissions.
    ///
    /// # Errors
    /// When the server refuses or is not reached.
    pub async fn list_submissions(&self) -> Result<Value, ClientError> {
        answer(self.request(Method::GET, "submissions").send().await?).await
    }

    /// Publishes a submission, under the team's name or without it.
    ///
    /// # Errors
    /// When there is none or the server is not reached.
    pub async fn publish(&self, id: &str, visibility: &str) -> Result<Value, ClientError> {
        let change = json!({ "visibility": visibility });
        answer(self.request(Method::PATCH, &format!("submissions/{id}")).json(&change).send().await?).await
    }

    /// Takes a published submission off every board for good.
    ///
    /// # Errors
    /// When there is none or the server is not reached.
    pub async fn withdraw(&self, id: &str, reason: &str) -> Result<Value, ClientError> {
        let path = format!("submissions/{id}/withdraw");
        answer(self.request(Method::POST, &path).json(&json!({ "reason": reason })).send().await?).await
    }

    fn request(&self, method: Method, path: &str) -> RequestBuilder {
        self.http.request(method, format!("{}/{path}", self.base)).bearer_auth(&self.api_key)
    }
}

async fn answer(response: Response) -> Result<Value, ClientError> {
    let status: StatusCode = response.status();
    let body = response.bytes().await?;
    let value: Value = serde_json::from_slice(&body).unwrap_or(Value::Null);
    if status.is_success() && !value.is_null() {
        return Ok(value);
    }
    let detail =
        value["detail"].as_str().unwrap_or("the answer is none of Secchi's; check the address").to_owned();
    let errors = value["errors"].as_array().cloned().unwrap_or_default();
    Err(ClientError::Refused { status: status.as_u16(), detail, errors })
}
