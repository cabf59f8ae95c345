//! Sending submissions and reading and changing what became of them.

use std::sync::Arc;
use std::time::Duration;

use futures::stream;
use reqwest::multipart::{Form, Part};
use reqwest::{Body, Method, RequestBuilder};
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};

use super::{Client, ClientError};
use crate::domain::submission::Metadata;

/// A file of 64 MB over a slow line takes its time.
const UPLOAD_TIMEOUT: Duration = Duration::from_secs(1800);

/// Bytes of the file that are handed over at once.
const CHUNK_BYTES: usize = 64 * 1024;

/// A prediction file to be sent.
pub struct Upload {
    /// What is said of it.
    pub metadata: Metadata,
    /// The file's bytes.
    pub file: Arc<Vec<u8>>,
    /// Only validate it.
    pub dry_run: bool,
    /// What tells this submission from another of the same file and metadata; empty for the first.
    pub nonce: String,
    /// Told how many bytes of the file are on their way, from 0 again with each try.
    pub on_sent: Arc<dyn Fn(u64) + Send + Sync>,
}

impl Upload {
    /// The same for the same file, metadata and nonce: however often it is sent, it makes one submission.
    pub fn idempotency_key(&self) -> String {
        let mut hash = Sha256::new();
        for part in [json!(self.metadata).to_string().as_bytes(), self.nonce.as_bytes(), &self.file] {
            hash.update((part.len() as u64).to_be_bytes());
            hash.update(part);
        }
        format!("secchi-{}", hex::encode(hash.finalize()))
    }

    fn form(&self) -> Form {
        let (file, on_sent) = (self.file.clone(), self.on_sent.clone());
        let chunks = (0..self.file.len()).step_by(CHUNK_BYTES).map(move |start| {
            let end = file.len().min(start + CHUNK_BYTES);
            on_sent(end as u64);
            Ok::<_, std::io::Error>(file[start..end].to_vec())
        });
        let body = Body::wrap_stream(stream::iter(chunks));
        let file = Part::stream_with_length(body, self.file.len() as u64).file_name("predictions");
        Form::new().text("metadata", json!(self.metadata).to_string()).part("predictions", file)
    }
}

impl Client {
    /// Sends a prediction file, or only has it validated.
    ///
    /// # Errors
    /// When the server refuses it or is not reached.
    pub async fn submit(&self, upload: &Upload) -> Result<Value, ClientError> {
        let key = upload.idempotency_key();
        let request = || -> RequestBuilder {
            let request = self.request(Method::POST, &["submissions"]).timeout(UPLOAD_TIMEOUT);
            let request = if upload.dry_run {
                request.query(&[("dry_run", "true")])
            } else {
                request.header("Idempotency-Key", &key)
            };
            request.multipart(upload.form())
        };
        self.ask(request, |body| self.read(&body)).await
    }

    /// One of the team's submissions.
    ///
    /// # Errors
    /// When there is none or the server is not reached.
    pub async fn find_submission(&self, id: &str) -> Result<Value, ClientError> {
        self.json(|| self.request(Method::GET, &["submissions", id])).await
    }

    /// The team's newest submissions.
    ///
    /// # Errors
    /// When the server refuses or is not reached.
    pub async fn list_submissions(&self) -> Result<Value, ClientError> {
        self.json(|| self.request(Method::GET, &["submissions"])).await
    }

    /// Publishes a submission, under the team's name or without it.
    ///
    /// # Errors
    /// When there is none or the server is not reached.
    pub async fn publish(&self, id: &str, visibility: &str) -> Result<Value, ClientError> {
        let change = json!({ "visibility": visibility });
        self.json(|| self.request(Method::PATCH, &["submissions", id]).json(&change)).await
    }

    /// Takes a published submission off every board for good.
    ///
    /// # Errors
    /// When there is none or the server is not reached.
    pub async fn withdraw(&self, id: &str, reason: &str) -> Result<Value, ClientError> {
        let body = json!({ "reason": reason });
        self.json(|| self.request(Method::POST, &["submissions", id, "withdraw"]).json(&body)).await
    }
}
