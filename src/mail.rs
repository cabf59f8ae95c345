//! Sending e-mail through an SMTP server. Knows nothing of what is sent.

use std::time::Duration;

use lettre::message::{Mailbox, header::ContentType};
use lettre::{AsyncSmtpTransport, AsyncTransport as _, Message, Tokio1Executor};

/// How long one step of sending may take.
const TIMEOUT: Duration = Duration::from_secs(20);

/// Why no e-mail can be sent, or one was not.
#[derive(Debug, thiserror::Error)]
pub enum MailError {
    /// The server's address is none; it is not repeated, since it may hold a password.
    #[error(
        "SECCHI_SMTP_URL is no address of a mail server; give one such as smtps://user:password@mail.example.org"
    )]
    Url,
    /// An e-mail address is none.
    #[error("`{0}` is no e-mail address")]
    Address(String),
    /// The message cannot be built.
    #[error("the message cannot be built: {0}")]
    Message(#[from] lettre::error::Error),
    /// The server did not take it.
    #[error("the mail server did not take it: {0}")]
    Send(#[from] lettre::transport::smtp::Error),
}

/// A mail server and who writes through it.
pub struct Mailer {
    transport: AsyncSmtpTransport<Tokio1Executor>,
    from: Mailbox,
}

impl Mailer {
    /// A mailer of the server at `url`, writing as `from`.
    ///
    /// # Errors
    /// When either is none.
    pub fn new(url: &str, from: &str) -> Result<Mailer, MailError> {
        let transport = AsyncSmtpTransport::<Tokio1Executor>::from_url(url).map_err(|_| MailError::Url)?;
        let transport = transport.timeout(Some(TIMEOUT)).build();
        Ok(Mailer { transport, from: mailbox(from)? })
    }

    /// Sends a plain text.
    ///
    /// # Errors
    /// When the server does not take it.
    pub async fn send(&self, to: &str, subject: &str, text: String) -> Result<(), MailError> {
        let message = Message::builder()
            .from(self.from.clone())
            .to(mailbox(to)?)
            .subject(subject)
            .header(ContentType::TEXT_PLAIN)
            .body(text)?;
        self.transport.send(message).await?;
        Ok(())
    }
}

fn mailbox(address: &str) -> Result<Mailbox, MailError> {
    address.parse().map_err(|_| MailError::Address(address.to_owned()))
}
