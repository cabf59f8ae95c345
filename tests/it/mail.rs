//! Keys of new teams by e-mail: sent once, made for the message, tried again, and told otherwise when all is in vain.

use std::sync::{Arc, Mutex};

use reqwest::Method;
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader};
use tokio::net::TcpListener;

use secchi::accounts::mailing::send_due_keys;
use secchi::mail::Mailer;

use crate::operations::application;
use crate::program::{run, secchi as program};
use crate::roles::body;
use crate::support::{Options, Secchi, problem};

/// A mail server that refuses so many messages and keeps the others.
struct MailServer {
    url: String,
    kept: Arc<Mutex<Vec<String>>>,
}

impl MailServer {
    async fn start(refused: usize) -> MailServer {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("smtp://{}", listener.local_addr().unwrap());
        let kept = Arc::new(Mutex::new(Vec::new()));
        let (messages, mut left) = (kept.clone(), refused);
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                let refuse = left > 0;
                left = left.saturating_sub(1);
                if let Some(message) = converse(stream, refuse).await {
                    messages.lock().unwrap().push(message);
                }
            }
        });
        MailServer { url, kept }
    }

    fn kept(&self) -> Vec<String> {
        self.kept.lock().unwrap().clone()
    }
}

/// One message as far as RFC 5321 needs it.
async fn converse(stream: tokio::net::TcpStream, refuse: bool) -> Option<String> {
    let (reader, mut writer) = stream.into_split();
    let mut lines = BufReader::new(reader).lines();
    writer.write_all(b"220 here\r\n").await.ok()?;
    let mut message = None;
    while let Ok(Some(line)) = lines.next_line().await {
        let reply = match line.split([' ', ':']).next().unwrap_or_default() {
            "MAIL" if refuse => "451 later\r\n",
            "DATA" => {
                writer.write_all(b"354 go on\r\n").await.ok()?;
                let mut text = String::new();
                while let Ok(Some(line)) = lines.next_line().await {
                    if line == "." {
                        break;
                    }
                    text += &(line + "\n");
                }
                message = Some(text);
                "250 kept\r\n"
            }
            "QUIT" => {
                writer.write_all(b"221 bye\r\n").await.ok()?;
                return message;
            }
            _ => "250 fine\r\n",
        };
        writer.write_all(reply.as_bytes()).await.ok()?;
    }
    message
}

/// The API key in a message, in whichever of the encodings of RFC 2045 it came.
fn key_in(message: &str) -> String {
    let text = message.replace("=\n", "");
    let start = text.find("sk_secchi_").unwrap_or_else(|| panic!("{message}"));
    text[start..].chars().take("sk_secchi_".len() + 64).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_key_is_sent_once_and_tried_again_with_another_key() {
    let server = MailServer::start(1).await;
    let secchi = Secchi::with(Options { http: vec!["--signup", "open"], ..Options::default() }).await;
    let request = secchi.request(Method::POST, "/api/v1/signup", None).json(&application("ocean-lab"));
    body(request.send().await.unwrap()).await;
    let mailer = Mailer::new(&server.url, "Secchi <secchi@example.org>").unwrap();
    let store = &secchi.running.evaluation.store;
    let send = async || {
        send_due_keys(store, &mailer, "https://secchi.example.org", secchi.clock.now_ms()).await.unwrap()
    };
    assert_eq!((send().await, server.kept().len()), (0, 0), "refused");
    assert_eq!(send().await, 0, "it rests");
    secchi.clock.advance_ms(60_000);
    assert_eq!(send().await, 1);
    secchi.clock.advance_ms(24 * 3_600_000);
    assert_eq!(send().await, 0, "sent once");
    let kept = server.kept();
    assert_eq!(kept.len(), 1);
    assert!(kept[0].contains("To: ocean-lab@ocean-lab.example.org"), "{}", kept[0]);
    let key = key_in(&kept[0]);
    assert_eq!(secchi.get_json("/api/v1/me", Some(&key)).await["team"], "ocean-lab");
    // The key of the first try opens nothing.
    let keys = secchi.get_json("/api/v1/keys", Some(&key)).await;
    let usable: Vec<&Value> = keys["items"].as_array().unwrap().iter().map(|key| &key["usable"]).collect();
    assert_eq!(usable, [&json!(true), &json!(false)]);
}

#[tokio::test(flavor = "multi_thread")]
async fn after_eight_tries_in_vain_the_claim_tells_the_key() {
    let server = MailServer::start(usize::MAX).await;
    let url: &'static str = server.url.clone().leak();
    let http = vec!["--signup", "open", "--smtp-url", url, "--smtp-from", "secchi@example.org"];
    let secchi = Secchi::with(Options { http, ..Options::default() }).await;
    let request = secchi.request(Method::POST, "/api/v1/signup", None).json(&application("ocean-lab"));
    let applied = body(request.send().await.unwrap()).await;
    assert_eq!(applied["key_by_email"], true);
    let path = format!("/api/v1/signup/{}/key", applied["claim"].as_str().unwrap());
    let take = async || secchi.request(Method::POST, &path, None).send().await.unwrap();
    assert_eq!(problem(take().await, 409).await["code"], "key_by_email");
    let mailer = Mailer::new(url, "secchi@example.org").unwrap();
    for _ in 0..9 {
        secchi.clock.advance_ms(6 * 3_600_000);
        let store = &secchi.running.evaluation.store;
        assert_eq!(send_due_keys(store, &mailer, "", secchi.clock.now_ms()).await.unwrap(), 0);
    }
    assert_eq!(take().await.status(), 201);
    assert_eq!(problem(take().await, 410).await["code"], "key_told");
    assert_eq!(server.kept(), Vec::<String>::new());
}

#[test]
fn settings_that_send_nothing_are_named() {
    let folder = tempfile::tempdir().unwrap();
    for (settings, word) in [
        (vec![("SECCHI_SMTP_URL", "smtp://127.0.0.1:1")], "SECCHI_SMTP_FROM"),
        (vec![("SECCHI_SMTP_URL", "mail"), ("SECCHI_SMTP_FROM", "a@example.org")], "SECCHI_SMTP_URL"),
        (vec![("SECCHI_SMTP_URL", "smtp://127.0.0.1:1"), ("SECCHI_SMTP_FROM", "nobody")], "`nobody`"),
    ] {
        let arguments = ["serve", "--listen", "127.0.0.1:0", "--metrics-listen", "127.0.0.1:0"];
        let ended = run(program(folder.path(), &arguments).envs(settings));
        assert!(ended.code == Some(1) && ended.stderr.contains(word), "{ended:?}");
    }
}
