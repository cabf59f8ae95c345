//! What the client commands say to a server, over its public API: one way of asking, which tries again what may pass.
//! Prints nothing.

mod error;
mod follow;
mod media;
mod submissions;

use std::time::Duration;

use reqwest::header::{AUTHORIZATION, HeaderMap, HeaderValue, LOCATION, RETRY_AFTER};
use reqwest::{Method, RequestBuilder, Response, StatusCode, Url, redirect};
use serde::de::DeserializeOwned;
use tokio::time::sleep;

use crate::limiter::{Backoff, told_wait};

pub use error::{ClientError, Refusal};
pub use media::{Frame, FrameList, VideoFile, hash_file};
pub use submissions::Upload;

const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);

/// From the request to the last byte of an answer that is no file.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(120);

/// How often something is asked for at most.
const MAX_TRIES: u32 = 6;

/// The longest wait told by a server that is obeyed; a longer one is told to the user.
const MAX_TOLD_WAIT: Duration = Duration::from_secs(300);

/// Speaks to one server in the name of one team.
pub struct Client {
    http: reqwest::Client,
    /// Where the API is; ends in a slash.
    api: Url,
    /// The server's address without a password, for people.
    server: String,
}

impl Client {
    /// A client of the server at `url`.
    ///
    /// # Errors
    /// When the address is none, there is no key, or the client cannot be set up.
    pub fn new(url: &str, api_key: Option<&str>) -> Result<Client, ClientError> {
        let no_address = || ClientError::Address(url.to_owned());
        let api = Url::parse(&format!("{}/api/v1/", url.trim_end_matches('/'))).map_err(|_| no_address())?;
        if !matches!(api.scheme(), "http" | "https") || api.host_str().is_none() {
            return Err(no_address());
        }
        let mut shown = api.clone();
        // Neither can fail for an address with a host.
        let _is_done = shown.set_username("").and_then(|()| shown.set_password(None)).is_ok();
        let server = shown.as_str().trim_end_matches("/api/v1/").to_owned();
        let api_key = api_key.filter(|key| !key.is_empty()).ok_or(ClientError::NoKey)?;
        let mut bearer =
            HeaderValue::from_str(&format!("Bearer {api_key}")).map_err(|_| ClientError::KeyForm)?;
        bearer.set_sensitive(true);
        let http = reqwest::Client::builder()
            .default_headers(HeaderMap::from_iter([(AUTHORIZATION, bearer)]))
            .connect_timeout(CONNECT_TIMEOUT)
            .retry(reqwest::retry::never())
            // Followed, a POST would turn into a GET and seem to have worked.
            .redirect(redirect::Policy::none())
            .build()
            .map_err(|error| ClientError::transport(&server, &error))?;
        Ok(Client { http, api, server })
    }

    /// The server's address, for people.
    pub fn server(&self) -> &str {
        &self.server
    }

    /// A request below the API; each part of the path may hold any characters.
    fn request(&self, method: Method, path: &[&str]) -> RequestBuilder {
        let mut url = self.api.clone();
        if let Ok(mut segments) = url.path_segments_mut() {
            segments.pop_if_empty().extend(path);
        }
        self.http.request(method, url)
    }

    /// The JSON that a request is answered with.
    async fn json<T: DeserializeOwned>(
        &self,
        request: impl Fn() -> RequestBuilder,
    ) -> Result<T, ClientError> {
        self.ask(|| request().timeout(ANSWER_TIMEOUT), |body| self.read(&body)).await
    }

    /// What a body says in JSON; whatever says something else is no Secchi.
    fn read<T: DeserializeOwned>(&self, body: &[u8]) -> Result<T, ClientError> {
        serde_json::from_slice(body).map_err(|_| self.stranger(body))
    }

    /// A body that is not what Secchi says, though it came with success.
    fn stranger(&self, body: &[u8]) -> ClientError {
        ClientError::answer(&self.server, StatusCode::OK, None, body)
    }

    /// Sends a request until there is an answer that `read` takes, or a fault that will not pass.
    async fn ask<T>(
        &self,
        request: impl Fn() -> RequestBuilder,
        read: impl Fn(Vec<u8>) -> Result<T, ClientError>,
    ) -> Result<T, ClientError> {
        let mut tries = 0;
        loop {
            let (error, told) = match self.send(request()).await {
                Ok(response) => match self.body(response).await.and_then(&read) {
                    Ok(value) => return Ok(value),
                    Err(error) => (error, None),
                },
                Err(fault) => fault,
            };
            tries += 1;
            self.wait_after(tries, error, told).await?;
        }
    }

    /// Waits till another try may be made.
    ///
    /// # Errors
    /// `error`, if none is to be made.
    async fn wait_after(
        &self,
        tries: u32,
        error: ClientError,
        told: Option<Duration>,
    ) -> Result<(), ClientError> {
        let told = told.unwrap_or_default();
        if tries >= MAX_TRIES || !error.is_passing() || told > MAX_TOLD_WAIT {
            return Err(error);
        }
        let wait = told + Backoff::default().wait(tries, rand::random());
        tracing::warn!("{error}; trying again in {:.1} s", wait.as_secs_f64());
        sleep(wait).await;
        Ok(())
    }

    /// Sends a request once; an answer that is no success is an error, with the wait that the server told.
    async fn send(&self, request: RequestBuilder) -> Result<Response, (ClientError, Option<Duration>)> {
        let response =
            request.send().await.map_err(|error| (ClientError::transport(&self.server, &error), None))?;
        let status = response.status();
        if status.is_success() {
            return Ok(response);
        }
        let text = |name| Some(response.headers().get(name)?.to_str().ok()?.to_owned());
        let (told, location) = (text(RETRY_AFTER).as_deref().and_then(told_wait), text(LOCATION));
        let body = response.bytes().await.unwrap_or_default();
        Err((ClientError::answer(&self.server, status, location.as_deref(), &body), told))
    }

    async fn body(&self, response: Response) -> Result<Vec<u8>, ClientError> {
        let body = response.bytes().await.map_err(|error| ClientError::transport(&self.server, &error))?;
        Ok(body.into())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_holds_any_characters_and_the_address_shows_no_password() {
        let client = Client::new("http://me:secret@h:1/below/", Some("k")).unwrap();
        assert_eq!(client.server(), "http://h:1/below");
        let request = client.request(Method::GET, &["videos", "MVK--a b/[c] ö", "file"]).build().unwrap();
        assert_eq!(request.url().path(), "/below/api/v1/videos/MVK--a%20b%2F[c]%20%C3%B6/file");
    }

    #[test]
    fn what_cannot_be_asked_is_said_before_anything_is() {
        let new = |url: &str, key| Client::new(url, key).err().unwrap().to_string();
        assert!(new("localhost:80", Some("k")).contains("SECCHI_URL"));
        assert!(new("http://h", None).contains("SECCHI_API_KEY"));
        assert!(new("http://h", Some("a\nb")).contains("line breaks"));
    }
}
