//! The one client of OpenAI-compatible endpoints: a single HTTP try, to a typed reply or a typed fault.
//! Knows nothing of rubrics, prompts or retries.

use std::error::Error as _;
use std::fmt;
use std::time::Duration;

use reqwest::header::{AUTHORIZATION, HeaderMap, HeaderValue};
use reqwest::{Client, StatusCode, Url, redirect};
use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json::{Map, Value};
use thiserror::Error;

use super::Usage;
use super::fault::{CallFault, ErrorObject, FaultKind};
use super::headers::{Remaining, Told};

const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);
const MAX_BODY_BYTES: usize = 1024 * 1024;

/// A key of an endpoint; `Debug` does not show it.
#[derive(Clone)]
pub struct ApiKey(String);

impl ApiKey {
    /// Takes the key as it was given.
    pub fn new(key: impl Into<String>) -> ApiKey {
        ApiKey(key.into())
    }
}

impl fmt::Debug for ApiKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("ApiKey(..)")
    }
}

/// Where an OpenAI-compatible server is and how it may be used; no part of a judge configuration.
#[derive(Debug, Clone)]
pub struct Endpoint {
    /// The address up to and without `/chat/completions`.
    pub base_url: String,
    /// Sent as a bearer token, if the server wants one.
    pub api_key: Option<ApiKey>,
    /// Deadline of one try, from connecting to the last byte.
    pub timeout: Duration,
}

/// Why an [`Endpoint`] cannot be used.
#[derive(Debug, Error)]
pub enum EndpointError {
    /// The base URL is none; it is not repeated, since it may hold a password.
    #[error("the endpoint's base URL is not an http or https address; write one such as `https://host/v1`")]
    Address,
    /// The key has characters that no header can carry.
    #[error("the endpoint's API key has characters that cannot be sent; check it for line breaks")]
    Key,
    /// The HTTP client could not be set up.
    #[error("the HTTP client could not be set up; check the machine's CA certificates")]
    Client(#[source] reqwest::Error),
}

/// Why a completion ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FinishReason {
    /// By itself.
    Stop,
    /// At the token cap.
    Length,
    /// Withheld by the provider.
    ContentFilter,
    /// Any other reason, or none given.
    Other,
}

/// A chat completion: its one choice.
#[derive(Clone)]
pub struct Reply {
    /// The model that says it answered.
    pub model: String,
    /// Why the completion ended.
    pub finish_reason: FinishReason,
    /// The text, if there is any that can be read.
    pub content: Option<String>,
    /// The words of a refusal, if the model refused.
    pub refusal: Option<String>,
    /// What the server billed, if it says so in sensible numbers.
    pub usage: Option<Usage>,
    /// What the server says is left of its limits.
    pub remaining: Remaining,
}

/// A client of one endpoint; cheap to clone.
#[derive(Clone)]
pub struct Chat {
    client: Client,
    url: Url,
    timeout: Duration,
}

impl Chat {
    /// A client of `endpoint`; makes no call.
    ///
    /// # Errors
    /// If the address or the key cannot be used, or TLS cannot be set up.
    pub fn new(endpoint: &Endpoint) -> Result<Chat, EndpointError> {
        let base = endpoint.base_url.trim_end_matches('/');
        let url = Url::parse(&format!("{base}/chat/completions")).map_err(|_| EndpointError::Address)?;
        if !matches!(url.scheme(), "http" | "https") {
            return Err(EndpointError::Address);
        }
        let mut headers = HeaderMap::new();
        if let Some(ApiKey(key)) = &endpoint.api_key {
            let mut bearer =
                HeaderValue::from_str(&format!("Bearer {key}")).map_err(|_| EndpointError::Key)?;
            bearer.set_sensitive(true);
            headers.insert(AUTHORIZATION, bearer);
        }
        let client = Client::builder()
            .default_headers(headers)
            .connect_timeout(CONNECT_TIMEOUT)
            // Retrying and following are the caller's: a hidden second layer would break limits and spending.
            .retry(reqwest::retry::never())
            .redirect(redirect::Policy::none())
            .build()
            .map_err(EndpointError::Client)?;
        Ok(Chat { client, url, timeout: endpoint.timeout })
    }

    /// Sends `request`, the JSON body, once.
    ///
    /// # Errors
    /// Any status but 2xx, a body that is cut, too large, late or no completion; see [`FaultKind`].
    pub async fn ask(&self, request: &Map<String, Value>) -> Result<Reply, CallFault> {
        let response = self
            .client
            .post(self.url.clone())
            .timeout(self.timeout)
            .json(request)
            .send()
            .await
            .map_err(transport_fault)?;
        let status = response.status();
        let told = Told::read(response.headers());
        let result = match read_body(response).await {
            Ok(body) => interpret(status, &body, request),
            // These say by themselves what is the matter.
            Err(_) if status.is_server_error() || status == StatusCode::TOO_MANY_REQUESTS => {
                interpret(status, &[], request)
            }
            Err(fault) => Err(fault),
        };
        match result {
            Ok(reply) => Ok(Reply { remaining: told.remaining, ..reply }),
            Err(fault) => Err(told.beside(fault)),
        }
    }
}

fn interpret(status: StatusCode, body: &[u8], request: &Map<String, Value>) -> Result<Reply, CallFault> {
    let fault = || ErrorObject::read(body).classify(status.as_u16(), request.keys());
    if !status.is_success() {
        return Err(fault());
    }
    match serde_json::from_slice::<Completion<'_>>(body) {
        Ok(completion) => completion.reply(),
        // Some proxies send an error object or a page with status 200.
        Err(_) => {
            let fault = fault();
            Err(CallFault { detail: format!("no chat completion, {}", fault.detail).into(), ..fault })
        }
    }
}

async fn read_body(mut response: reqwest::Response) -> Result<Vec<u8>, CallFault> {
    let mut body = Vec::new();
    while let Some(chunk) = response.chunk().await.map_err(transport_fault)? {
        if body.len() + chunk.len() > MAX_BODY_BYTES {
            return Err(CallFault::new(FaultKind::Server, "the reply is larger than 1 MiB"));
        }
        body.extend_from_slice(&chunk);
    }
    Ok(body)
}

fn transport_fault(error: reqwest::Error) -> CallFault {
    if error.is_timeout() && !error.is_connect() {
        return CallFault::new(FaultKind::Deadline, "no complete reply in time");
    }
    // The outer error names the address, which may hold a password; its root cause does not.
    let mut cause = error.source();
    while let Some(deeper) = cause.and_then(|error| error.source()) {
        cause = Some(deeper);
    }
    let cause = cause.map_or_else(|| "the request failed".to_owned(), ToString::to_string);
    // Whatever was sent may have been judged and billed before the connection broke.
    let usage = error.is_connect().then(Usage::default);
    CallFault { usage, ..CallFault::new(FaultKind::Transport, cause) }
}

/// Fields whose form is the model's or the server's whim stay raw: a whim is no fault of the envelope.
#[derive(Deserialize)]
struct Completion<'b> {
    model: String,
    #[serde(borrow)]
    choices: Vec<Choice<'b>>,
    #[serde(borrow)]
    usage: Option<&'b RawValue>,
}

#[derive(Deserialize)]
struct Choice<'b> {
    finish_reason: Option<String>,
    #[serde(borrow)]
    message: Message<'b>,
}

#[derive(Deserialize)]
struct Message<'b> {
    #[serde(borrow)]
    content: Option<&'b RawValue>,
    refusal: Option<String>,
}

/// No call has billed more tokens than fit here.
#[derive(Deserialize)]
struct RawUsage {
    prompt_tokens: u32,
    completion_tokens: u32,
    prompt_tokens_details: Option<PromptDetails>,
}

#[derive(Deserialize)]
struct PromptDetails {
    cached_tokens: Option<u32>,
}

impl RawUsage {
    fn usage(self) -> Usage {
        let cached_tokens = self.prompt_tokens_details.and_then(|details| details.cached_tokens);
        Usage {
            prompt_tokens: self.prompt_tokens.into(),
            cached_tokens: cached_tokens.unwrap_or(0).min(self.prompt_tokens).into(),
            completion_tokens: self.completion_tokens.into(),
        }
    }
}

impl Completion<'_> {
    fn reply(self) -> Result<Reply, CallFault> {
        let usage = self.usage.and_then(|raw| serde_json::from_str(raw.get()).ok()).map(RawUsage::usage);
        let fault = |kind, detail: &str| CallFault { usage, ..CallFault::new(kind, detail) };
        let mut choices = self.choices.into_iter();
        let choice = match (choices.next(), choices.next()) {
            (Some(choice), None) => choice,
            (None, _) => return Err(fault(FaultKind::Server, "the completion has no choice")),
            // One was asked for; which of them counts is nobody's guess.
            (Some(_), Some(_)) => {
                return Err(fault(FaultKind::Malformed, "the completion has several choices"));
            }
        };
        let finish_reason = match choice.finish_reason.as_deref() {
            Some("stop") => FinishReason::Stop,
            Some("length") => FinishReason::Length,
            Some("content_filter") => FinishReason::ContentFilter,
            _ => FinishReason::Other,
        };
        let Message { content, refusal } = choice.message;
        Ok(Reply {
            model: self.model,
            finish_reason,
            content: content.and_then(|raw| serde_json::from_str(raw.get()).ok()),
            refusal: refusal.filter(|words| !words.is_empty()),
            usage,
            remaining: Remaining::default(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_endpoint_shows_neither_key_nor_password() {
        let endpoint = |base_url: &str, key: &str| Endpoint {
            base_url: base_url.to_owned(),
            api_key: Some(ApiKey::new(key)),
            timeout: Duration::from_secs(1),
        };
        assert!(!format!("{:?}", endpoint("http://h/v1", "sk-1")).contains("sk-1"));
        for base_url in ["localhost:80", "", "ftp://h"] {
            assert!(matches!(Chat::new(&endpoint(base_url, "k")), Err(EndpointError::Address)), "{base_url}");
        }
        assert!(matches!(Chat::new(&endpoint("http://h/v1", "a\nb")), Err(EndpointError::Key)));
    }
}
