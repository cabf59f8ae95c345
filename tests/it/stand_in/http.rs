//! The stand-in's HTTP: requests off a socket and answers onto it, in the ways that a well-behaved server library would
//! refuse to send. Knows nothing of what is asked.

use std::io;
use std::time::Duration;

use serde_json::Value;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio::time::sleep;

use super::faults::{Answer, Call, Delivery};
use super::{Desk, Entry};

const DRIP_BYTES: usize = 16;
const DRIP_INTERVAL: Duration = Duration::from_millis(500);

/// Long enough for the client to read what came before a reset.
const BEFORE_RESET: Duration = Duration::from_millis(20);

/// Serves each connection until its client goes away.
pub async fn serve(listener: TcpListener, desk: Desk) {
    while let Ok((stream, _)) = listener.accept().await {
        let connection = Connection { stream, unread: Vec::new() };
        // However a connection ends, the next one is served.
        tokio::spawn(connection.serve(desk.clone()));
    }
}

struct Connection {
    stream: TcpStream,
    unread: Vec<u8>,
}

impl Connection {
    async fn serve(mut self, desk: Desk) -> io::Result<()> {
        self.stream.set_nodelay(true)?;
        loop {
            let request = self.request().await?;
            let Entry { seat, latency, answer } = match desk.enter(&Call::read(&request)) {
                Ok(entry) => entry,
                Err(rejection) => {
                    self.send(&rejection).await?;
                    continue;
                }
            };
            tokio::select! {
                () = sleep(latency) => {}
                gone = gone(&mut self.stream, &mut self.unread) => return gone,
            }
            seat.goes_out();
            // A client that has the whole answer may ask again before this task goes on.
            let _seat = (answer.delivery != Delivery::Whole).then_some(seat);
            self.send(&answer).await?;
        }
    }

    /// The next request's body.
    async fn request(&mut self) -> io::Result<Value> {
        loop {
            if let Some((length, body)) = split(&self.unread) {
                self.unread.drain(..length);
                return Ok(body);
            }
            if self.stream.read_buf(&mut self.unread).await? == 0 {
                return Err(io::ErrorKind::UnexpectedEof.into());
            }
        }
    }

    /// Sends an answer; an error where the connection cannot go on.
    async fn send(&mut self, answer: &Answer) -> io::Result<()> {
        let (stream, body) = (&mut self.stream, &answer.body[..]);
        let half = &body[..body.len() / 2];
        match answer.delivery {
            Delivery::Whole => {
                return stream.write_all(&[&head(answer, body.len())[..], body].concat()).await;
            }
            Delivery::Drip => {
                stream.write_all(&head(answer, body.len())).await?;
                for part in body.chunks(DRIP_BYTES) {
                    sleep(DRIP_INTERVAL).await;
                    stream.write_all(part).await?;
                }
                return Ok(());
            }
            Delivery::Never => gone(stream, &mut self.unread).await?,
            Delivery::Close => {}
            Delivery::Reset => {
                stream.write_all(&[&head(answer, body.len())[..], half].concat()).await?;
                sleep(BEFORE_RESET).await;
                stream.set_zero_linger()?;
            }
            Delivery::CutChunks => {
                let mut head = head(answer, body.len());
                let at = head.windows(14).position(|name| name == b"content-length").unwrap_or_default();
                head.truncate(at);
                head.extend(format!("transfer-encoding: chunked\r\n\r\n{:x}\r\n", half.len()).bytes());
                stream.write_all(&[&head[..], half, b"\r\n"].concat()).await?;
            }
            Delivery::Short => {
                stream.write_all(&[&head(answer, body.len() + 400)[..], body].concat()).await?
            }
        }
        Err(io::ErrorKind::ConnectionAborted.into())
    }
}

/// Ends when the client does.
async fn gone(stream: &mut TcpStream, unread: &mut Vec<u8>) -> io::Result<()> {
    while stream.read_buf(unread).await? > 0 {}
    Err(io::ErrorKind::UnexpectedEof.into())
}

/// The first request's length in bytes and its body, once all of it is there.
fn split(bytes: &[u8]) -> Option<(usize, Value)> {
    let head = bytes.windows(4).position(|end| end == b"\r\n\r\n")?;
    let text = String::from_utf8_lossy(&bytes[..head]).to_ascii_lowercase();
    let length: usize = text.split_once("content-length:")?.1.lines().next()?.trim().parse().ok()?;
    let body = bytes.get(head + 4..head + 4 + length)?;
    Some((head + 4 + length, serde_json::from_slice(body).unwrap_or_default()))
}

/// The head of an answer whose body is so long; the length comes last.
fn head(answer: &Answer, length: usize) -> Vec<u8> {
    let mut head = format!("HTTP/1.1 {} X\r\ncontent-type: {}\r\n", answer.status, answer.content_type);
    if let Some(wait) = answer.wait {
        // Rounded up, or whoever keeps to it would come too soon.
        head += &format!("retry-after: {:.3}\r\n", (wait.as_secs_f64() * 1e3).ceil() / 1e3);
    }
    if let Some(left) = answer.left {
        head += &format!("x-ratelimit-remaining-requests: {}\r\n", left.floor());
    }
    head += &format!("content-length: {length}\r\n\r\n");
    head.into_bytes()
}
