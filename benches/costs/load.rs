//! A bounded load of HTTP requests over kept connections.

use std::time::{Duration, Instant};

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

const CONNECTIONS: usize = 32;
const WINDOW: Duration = Duration::from_secs(3);

/// Answers whose first byte is waited for.
const FIRST_BYTES: usize = 200;

/// The head of an answer is shorter than this.
const HEAD: usize = 4096;

/// A request with further headers, each with its line's end.
fn request(address: &str, path: &str, headers: &str) -> String {
    format!("GET {path} HTTP/1.1\r\nHost: {address}\r\n{headers}\r\n")
}

/// Answers a second over 32 connections for three seconds, to a request with these headers.
pub async fn requests_per_second(address: &str, path: &str, headers: &str) -> f64 {
    let request = request(address, path, headers);
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

/// The median time from a request to the first byte of its answer, over one kept connection.
pub async fn first_byte(address: &str, path: &str, headers: &str) -> Duration {
    let request = request(address, path, headers);
    let mut stream = TcpStream::connect(address).await.unwrap();
    let mut buffer = Vec::with_capacity(1 << 16);
    let mut times = Vec::new();
    for _ in 0..FIRST_BYTES {
        let asked = Instant::now();
        stream.write_all(request.as_bytes()).await.unwrap();
        buffer.clear();
        stream.read_buf(&mut buffer).await.unwrap();
        times.push(asked.elapsed());
        while whole_length(&buffer).is_none_or(|length| buffer.len() < length) {
            assert!(stream.read_buf(&mut buffer).await.unwrap() > 0, "the server closed the connection");
        }
    }
    times.sort();
    times[times.len() / 2]
}

/// The length of an answer whose head has come.
fn whole_length(answer: &[u8]) -> Option<usize> {
    let head_of = &answer[..answer.len().min(HEAD)];
    let end = head_of.windows(4).position(|window| window == b"\r\n\r\n")?;
    let head = std::str::from_utf8(&answer[..end]).unwrap().to_ascii_lowercase();
    let body = head.lines().find_map(|line| line.strip_prefix("content-length: "));
    Some(end + 4 + body.map_or(0, |body| body.parse::<usize>().unwrap()))
}
