//! Questions, frames and videos of a split: fetched whole or not at all, and held against the server's hashes.

use std::io::{self, Read as _};
use std::path::Path;
use std::time::Duration;

use reqwest::header::{ACCEPT, CONTENT_RANGE, ETAG, IF_RANGE, RANGE};
use reqwest::{Method, StatusCode};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use sha2::{Digest as _, Sha256};
use tokio::fs::OpenOptions;
use tokio::io::AsyncWriteExt as _;
use tokio::time::timeout;

use super::{ANSWER_TIMEOUT, Client, ClientError};
use crate::domain::question::Split;

/// How long a download may stand still.
const STALL: Duration = Duration::from_secs(60);

/// The sampled frames of a video.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct FrameList {
    /// The video's key.
    pub id: String,
    /// How many were asked for.
    pub n: u32,
    /// Pixels of the longest side at most.
    pub size: u32,
    /// The frames in the order in which a model is shown them.
    pub frames: Vec<Frame>,
}

/// One sampled frame.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Frame {
    /// Its place among the sampled ones, from 0.
    pub i: u32,
    /// Its place in the video, from 0.
    pub index: u64,
    /// When it is shown.
    pub timestamp_ms: i64,
    /// Pixels across.
    pub width: u32,
    /// Pixels down.
    pub height: u32,
    /// Size of the JPEG.
    pub bytes: u64,
    /// Hash of the JPEG, in hex.
    pub sha256: String,
}

/// A video's file, as the server tells it.
#[derive(Debug, Clone, PartialEq, Deserialize)]
pub struct VideoFile {
    /// Its size; null, as the hash, while the server has not seen it.
    pub bytes: Option<u64>,
    /// Its hash, in hex.
    pub sha256: Option<String>,
}

impl Client {
    /// What is public about the benchmark: its splits with their releases.
    ///
    /// # Errors
    /// When the server is not reached.
    pub async fn benchmark(&self) -> Result<Value, ClientError> {
        self.json(|| self.request(Method::GET, &["benchmark"])).await
    }

    /// All questions of a split, one a line; with their keys where the server gives those.
    ///
    /// # Errors
    /// When the server refuses or is not reached.
    pub async fn questions(&self, split: Split, with_key: bool) -> Result<Vec<u8>, ClientError> {
        let request = || {
            let request = self.request(Method::GET, &["splits", split.as_str(), "questions"]);
            let request = request.header(ACCEPT, "application/x-ndjson").timeout(ANSWER_TIMEOUT);
            if with_key { request.query(&[("key", "true")]) } else { request }
        };
        self.ask(request, |body| {
            let is_whole = body.ends_with(b"\n")
                && body.split(|byte| *byte == b'\n').all(|line| {
                    line.is_empty() || serde_json::from_slice::<serde_json::Map<String, Value>>(line).is_ok()
                });
            match is_whole {
                true => Ok(body),
                false => Err(self.stranger(&body)),
            }
        })
        .await
    }

    /// Which frames of a video a model is shown.
    ///
    /// # Errors
    /// When there is none or the server is not reached.
    pub async fn frame_list(&self, video: &str, n: u32, size: u32) -> Result<FrameList, ClientError> {
        let request = || {
            let request = self.request(Method::GET, &["videos", video, "frames"]);
            request.query(&[("n", n), ("size", size)]).timeout(ANSWER_TIMEOUT)
        };
        self.ask(request, |body| self.read(&body)).await
    }

    /// One of a list's frames as JPEG, with the hash that the list tells.
    ///
    /// # Errors
    /// When it is not there, arrives damaged each time, or the server is not reached.
    pub async fn frame(&self, list: &FrameList, frame: &Frame) -> Result<Vec<u8>, ClientError> {
        let name = format!("{}.jpg", frame.i);
        let request = || {
            let request = self.request(Method::GET, &["videos", &list.id, "frames", &name]);
            request.query(&[("n", list.n), ("size", list.size)]).timeout(ANSWER_TIMEOUT)
        };
        self.ask(request, |body| {
            if hex::encode(Sha256::digest(&body)) == frame.sha256 {
                return Ok(body);
            }
            Err(ClientError::Damaged(format!("{}/{name}", list.id), "its SHA-256 is not that of the list"))
        })
        .await
    }

    /// What the server knows of a video's file.
    ///
    /// # Errors
    /// When there is no such video or the server is not reached.
    pub async fn video_file(&self, video: &str) -> Result<VideoFile, ClientError> {
        self.json(|| self.request(Method::GET, &["videos", video])).await
    }

    /// Fetches a video into `part`, going on after what lies there already; `on_bytes` is told how many bytes came. The
    /// caller has checked that the file is known, and names it when it is whole.
    ///
    /// # Errors
    /// When it is not there, arrives damaged each time, `part` cannot be written, or the server is not reached.
    pub async fn download(
        &self,
        video: &str,
        sha256: &str,
        part: &Path,
        on_bytes: &(dyn Fn(u64) + Sync),
    ) -> Result<(), ClientError> {
        let mut tries = 0;
        loop {
            let (error, told) = match self.download_on(video, sha256, part, on_bytes).await {
                Ok(()) => return Ok(()),
                Err(fault) => fault,
            };
            tries += 1;
            self.wait_after(tries, error, told).await?;
        }
    }

    async fn download_on(
        &self,
        video: &str,
        sha256: &str,
        part: &Path,
        on_bytes: &(dyn Fn(u64) + Sync),
    ) -> Result<(), (ClientError, Option<Duration>)> {
        let file_fault = |error| (ClientError::File(part.display().to_string(), error), None);
        let there = tokio::fs::metadata(part).await.map_or(0, |facts| facts.len());
        let mut request = self.request(Method::GET, &["videos", video, "file"]);
        if there > 0 {
            // What was begun of another file is not gone on with.
            request =
                request.header(RANGE, format!("bytes={there}-")).header(IF_RANGE, format!("\"{sha256}\""));
        }
        let sent = match timeout(STALL, self.send(request)).await {
            Ok(sent) => sent,
            Err(_) => return Err((self.stalled(), None)),
        };
        let mut response = match sent {
            Ok(response) => response,
            // All of it is there already, or more than all.
            Err((error, _)) if is_status(&error, 416) => {
                return self.settle(video, sha256, part).await.map_err(|error| (error, None));
            }
            Err(fault) => return Err(fault),
        };
        let text = |name| response.headers().get(name).and_then(|value| value.to_str().ok());
        let goes_on = response.status() == StatusCode::PARTIAL_CONTENT
            && text(CONTENT_RANGE).is_some_and(|range| range.starts_with(&format!("bytes {there}-")));
        if text(ETAG).is_some_and(|etag| etag.trim_matches('"') != sha256) {
            let changed = "the server has another file by now; start again";
            return Err((ClientError::Damaged(video.to_owned(), changed), None));
        }
        let options = OpenOptions::new().create(true).write(true).append(goes_on).truncate(!goes_on).clone();
        let mut file = options.open(part).await.map_err(file_fault)?;
        loop {
            match timeout(STALL, response.chunk()).await {
                Ok(Ok(Some(chunk))) => {
                    file.write_all(&chunk).await.map_err(file_fault)?;
                    on_bytes(chunk.len() as u64);
                }
                Ok(Ok(None)) => break,
                Ok(Err(error)) => {
                    file.flush().await.map_err(file_fault)?;
                    return Err((ClientError::transport(self.server(), &error), None));
                }
                Err(_) => {
                    file.flush().await.map_err(file_fault)?;
                    return Err((self.stalled(), None));
                }
            }
        }
        file.sync_all().await.map_err(file_fault)?;
        self.settle(video, sha256, part).await.map_err(|error| (error, None))
    }

    /// Holds what was fetched against the hash; what does not fit is removed.
    async fn settle(&self, video: &str, sha256: &str, part: &Path) -> Result<(), ClientError> {
        let file_fault = |error| ClientError::File(part.display().to_string(), error);
        if hash_file(part).await.map_err(file_fault)? == sha256 {
            return Ok(());
        }
        tokio::fs::remove_file(part).await.map_err(file_fault)?;
        Err(ClientError::Damaged(video.to_owned(), "its SHA-256 is not the one that the server tells"))
    }

    fn stalled(&self) -> ClientError {
        let cause = "the download stood still for a minute".to_owned();
        ClientError::Unreachable { server: self.server().to_owned(), cause, passing: true }
    }
}

fn is_status(error: &ClientError, wanted: u16) -> bool {
    match error {
        ClientError::Refused(refusal) => refusal.status == wanted,
        ClientError::Stranger { status, .. } => *status == wanted,
        _ => false,
    }
}

/// The SHA-256 of a file, in hex.
///
/// # Errors
/// When it cannot be read.
pub async fn hash_file(path: &Path) -> io::Result<String> {
    let path = path.to_owned();
    let hashed = tokio::task::spawn_blocking(move || {
        let mut file = std::fs::File::open(path)?;
        let (mut hash, mut buffer) = (Sha256::new(), vec![0; 1 << 16]);
        loop {
            match file.read(&mut buffer)? {
                0 => return Ok(hex::encode(hash.finalize())),
                length => hash.update(&buffer[..length]),
            }
        }
    });
    hashed.await.map_err(io::Error::other)?
}
