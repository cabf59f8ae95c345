//! A bounded load of HTTP requests over kept connections.

use std::time::{Duration, Instant};

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

const CONNECTIONS: usize = 32;
const WINDOW: Duration = Duration::from_secs(3);

/// Answers a second over 32 connections for three seconds.
pub async fn requests_per_second(address: &str, path: &str, etag: Option<&str>) -> f64 {
    let condition = etag.map(|etag| format!("If-None-Match: {etag}\r\n")).unwrap_or_default();
    let request = format!("GET {path} HTTP/1.1\r\nHost: {address}\r\n{condition}\r\n");
    let started = Instant::now();
    let connections: Vec<_> =
        (0..CONNECTIONS).map(|_| tokio::spawn(ask(address.to_owned(), request.clone(), started))).collect();
    let mut answers = 0_u64;
    for connection in connections {
        answers += connection.await.unwrap();
    }
    answers as f64 / started.elapsed().as_secs_f64()
}

async fn ask(address: String, request: String, started: Instant) -> u64 {
    let mut stream = TcpStream::connect(&address).await.unwrap();
    let mut buffer = Vec::with_capacity(1 << 16);
    // All answers have one length, which is learnt from the first: the client shall cost little.
    let mut length = usize::MAX;
    let mut answers = 0;
    while started.elapsed() < WINDOW {
        stream.write_all(request.as_bytes()).await.unwrap();
        buffer.clear();
        while buffer.len() < length {
            let read = stream.read_buf(&mut buffer).await.unwrap();
            assert!(read > 0, "the server closed the connection");
            if length == usize::MAX {
                length = whole_length(&buffer).unwrap_or(usize::MAX);
            }
        }
        assert!(buffer.starts_with(b"HTTP/1.1 200") || buffer.starts_with(b"HTTP/1.1 304"));
        answers += 1;
    }
    answers
}

/// The length of an answer whose head has come.
fn whole_length(answer: &[u8]) -> Option<usize> {
    let end = answer.windows(4).position(|window| window == b"\r\n\r\n")?;
    let head = std::str::from_utf8(&answer[..end]).unwrap().to_ascii_lowercase();
    let body = head.lines().find_map(|line| line.strip_prefix("content-length: "));
    Some(end + 4 + body.map_or(0, |body| body.parse::<usize>().unwrap()))
}
