//! The one client of OpenAI-compatible endpoints: a single HTTP try, to a typed reply or a typed fault.
//! Knows nothing of rubrics, prompts or retries.

use std::error::Error as _;
use std::fmt;
use std::time::Duration;

use reqwest::header::{AUTHORIZATION, HeaderMap, HeaderName, HeaderValue};
use reqwest::{Client, Url, redirect};
use serde::Deserialize;
use serde_json::{Map, Value};
use thiserror::Error;

use super::Usage;
use super::fault::{CallFault, ErrorObject, FaultKind};

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

/// A chat completion: the first choice.
#[derive(Clone)]
pub struct Reply {
    /// The model that says it answered.
    pub model: String,
    /// Why the completion ended.
    pub finish_reason: FinishReason,
    /// The text, if there is any.
    pub content: Option<String>,
    /// The words of a refusal, if the model refused.
    pub refusal: Option<String>,
    /// What the server billed.
    pub usage: Usage,
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
        let wait = told_wait(response.headers());
        let body = read_body(response).await?;
        if !status.is_success() {
            let fault = ErrorObject::read(&body).classify(status.as_u16(), request.keys());
            return Err(CallFault { wait, ..fault });
        }
        match serde_json::from_slice::<Completion>(&body) {
            Ok(completion) => completion.reply(),
            // Some proxies send an error object or a page with status 200.
            Err(_) => {
                let fault = ErrorObject::read(&body).classify(status.as_u16(), request.keys());
                Err(CallFault { detail: format!("no chat completion, {}", fault.detail), ..fault })
            }
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
    CallFault::new(FaultKind::Transport, cause)
}

/// The wait that a server tells: `retry-after-ms`, else `retry-after` in seconds or as an HTTP date.
fn told_wait(headers: &HeaderMap) -> Option<Duration> {
    let text = |name: HeaderName| headers.get(name)?.to_str().ok().map(str::trim);
    let seconds = |number: f64| Duration::try_from_secs_f64(number).ok();
    let in_ms = text(HeaderName::from_static("retry-after-ms")).and_then(|ms| ms.parse::<f64>().ok());
    if let Some(wait) = in_ms.and_then(|ms| seconds(ms / 1000.0)) {
        return Some(wait);
    }
    let told = text(reqwest::header::RETRY_AFTER)?;
    match told.parse() {
        Ok(number) => seconds(number),
        Err(_) => {
            let until = chrono::DateTime::parse_from_rfc2822(told).ok()?;
            let wait = (until.to_utc() - chrono::Utc::now()).to_std().ok()?;
            // A date was cut to its second; only that second's end is surely late enough.
            Some(wait + Duration::from_secs(1))
        }
    }
}

#[derive(Deserialize)]
struct Completion {
    model: String,
    choices: Vec<Choice>,
    usage: Option<RawUsage>,
}

#[derive(Deserialize)]
struct Choice {
    finish_reason: Option<String>,
    message: Message,
}

#[derive(Deserialize)]
struct Message {
    content: Option<String>,
    refusal: Option<String>,
}

#[derive(Deserialize)]
struct RawUsage {
    prompt_tokens: Option<u64>,
    completion_tokens: Option<u64>,
    prompt_tokens_details: Option<PromptDetails>,
}

#[derive(Deserialize)]
struct PromptDetails {
    cached_tokens: Option<u64>,
}

impl Completion {
    fn reply(self) -> Result<Reply, CallFault> {
        let usage = self.usage.map_or_else(Usage::default, |raw| Usage {
            prompt_tokens: raw.prompt_tokens.unwrap_or(0),
            cached_tokens: raw.prompt_tokens_details.and_then(|details| details.cached_tokens).unwrap_or(0),
            completion_tokens: raw.completion_tokens.unwrap_or(0),
        });
        let Some(choice) = self.choices.into_iter().next() else {
            let fault = CallFault::new(FaultKind::Server, "the completion has no choice");
            return Err(CallFault { usage, ..fault });
        };
        let finish_reason = match choice.finish_reason.as_deref() {
            Some("stop") => FinishReason::Stop,
            Some("length") => FinishReason::Length,
            Some("content_filter") => FinishReason::ContentFilter,
            _ => FinishReason::Other,
        };
        let Message { content, refusal } = choice.message;
        let refusal = refusal.filter(|words| !words.is_empty());
        Ok(Reply { model: self.model, finish_reason, content, refusal, usage })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn wait(name: &'static str, value: &str) -> Option<Duration> {
        let mut headers = HeaderMap::new();
        headers.insert(name, HeaderValue::from_str(value).unwrap());
        told_wait(&headers)
    }

    #[test]
    fn a_told_wait_is_read_in_every_form() {
        assert_eq!(wait("retry-after-ms", "1500"), Some(Duration::from_millis(1500)));
        assert_eq!(wait("retry-after", "2"), Some(Duration::from_secs(2)));
        assert_eq!(wait("retry-after", "0.25"), Some(Duration::from_millis(250)));
        let date = (chrono::Utc::now() + Duration::from_secs(100)).format("%a, %d %b %Y %H:%M:%S GMT");
        let told = wait("retry-after", &date.to_string()).unwrap();
        assert!((90..=101).contains(&told.as_secs()), "{told:?}");
    }

    #[test]
    fn a_told_wait_that_makes_no_sense_is_none() {
        for odd in ["-3", "NaN", "inf", "soon", "", "1e300"] {
            assert_eq!(wait("retry-after", odd), None, "{odd}");
        }
        assert_eq!(wait("retry-after", "Sun, 06 Nov 1994 08:49:37 GMT"), None);
    }

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
