//! Servers that misbehave, for clients that must say so: any bytes for an answer, or none that make sense.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};

/// A server that answers each request on a connection of its own with what `answer` makes of its number and text.
pub async fn odd_server(answer: impl Fn(usize, &str) -> Vec<u8> + Send + Sync + 'static) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let base = format!("http://{}", listener.local_addr().unwrap());
    let (answer, count) = (Arc::new(answer), Arc::new(AtomicUsize::new(0)));
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            tokio::spawn(answer_once(stream, answer.clone(), count.clone()));
        }
    });
    base
}

async fn answer_once(
    mut stream: TcpStream,
    answer: Arc<impl Fn(usize, &str) -> Vec<u8>>,
    count: Arc<AtomicUsize>,
) {
    let mut request = Vec::new();
    let (mut length, mut buffer) = (None, vec![0; 1 << 16]);
    while length.is_none_or(|length| request.len() < length) {
        match stream.read(&mut buffer).await {
            Ok(read) if read > 0 => request.extend_from_slice(&buffer[..read]),
            _ => return,
        }
        if let Some(head) = request.windows(4).position(|end| end == b"\r\n\r\n") {
            let text = String::from_utf8_lossy(&request[..head]).to_ascii_lowercase();
            let body = text.split_once("content-length:").and_then(|(_, rest)| rest.lines().next());
            length = Some(head + 4 + body.map_or(0, |body| body.trim().parse().unwrap()));
        }
    }
    let request = String::from_utf8_lossy(&request).into_owned();
    let bytes = answer(count.fetch_add(1, Ordering::SeqCst), &request);
    for part in bytes.chunks(64 * 1024) {
        if stream.write_all(part).await.is_err() {
            // Whoever asked is gone.
            return;
        }
        // What is large takes its time, so that it can be broken off.
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
}

/// An HTTP answer that closes the connection.
pub fn http(status: &str, headers: &str, body: &str) -> Vec<u8> {
    let length = body.len();
    format!("HTTP/1.1 {status}\r\nconnection: close\r\ncontent-length: {length}\r\n{headers}\r\n{body}")
        .into_bytes()
}

/// The https address of a server that understands no word of TLS.
pub async fn speechless() -> String {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let base = format!("https://{}", listener.local_addr().unwrap());
    tokio::spawn(async move {
        while let Ok((mut stream, _)) = listener.accept().await {
            let mut hello = [0; 16];
            if stream.read(&mut hello).await.is_ok() {
                let _is_sent = stream.write_all(&http("400 Bad Request", "", "")).await.is_ok();
            }
        }
    });
    base
}
