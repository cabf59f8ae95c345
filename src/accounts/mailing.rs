//! Sending the keys of new teams by e-mail. Knows nothing of mail servers.

use std::time::Duration;

use tokio::sync::watch;

use crate::clock::Clock;
use crate::mail::Mailer;
use crate::store::keys::revoke_key;
use crate::store::signups::{self, Signup};
use crate::store::{Store, StoreError};

use super::signup::{MAX_MAIL_ATTEMPTS, SignupError, ToldKey, make_key};

/// How often keys that are due are looked for.
const LOOK_EVERY: Duration = Duration::from_secs(5);

/// Rest after the first try in vain; each further one is twice as long.
const FIRST_REST_MS: i64 = 60_000;

/// Sends keys as they fall due, until `stopping` turns true.
pub async fn keep_sending(
    store: &Store,
    clock: &Clock,
    mailer: &Mailer,
    public_url: &str,
    mut stopping: watch::Receiver<bool>,
) {
    while !*stopping.borrow() {
        if let Err(error) = send_due_keys(store, mailer, public_url, clock.now_ms()).await {
            tracing::warn!(%error, "the keys that are to be sent could not be looked for");
        }
        // An error means that the sender is gone, and so the process.
        let _stops = tokio::time::timeout(LOOK_EVERY, stopping.wait_for(|stop| *stop)).await;
    }
}

/// Sends the keys that are due, each made for its message; how many were sent. What cannot be sent now is tried again later,
/// with another key.
///
/// # Errors
/// When the database fails.
pub async fn send_due_keys(
    store: &Store,
    mailer: &Mailer,
    public_url: &str,
    now_ms: i64,
) -> Result<usize, SignupError> {
    let mut sent = 0;
    while let Some((signup, key_id, told)) = take_due(store, now_ms).await? {
        let subject = format!("Your API key of team {}", told.team.slug);
        let outcome = mailer.send(&signup.application.email, &subject, text(&told, public_url)).await;
        if let Err(error) = &outcome {
            tracing::warn!(signup = signup.id, attempt = signup.mail_attempts + 1, %error, "a key was not sent");
        }
        let is_sent = outcome.is_ok();
        let settled: Result<bool, StoreError> = store
            .write(move |connection| {
                let is_told = is_sent && signups::note_told(connection, &signup.id, &key_id)?;
                if !is_told {
                    revoke_key(connection, &key_id, now_ms)?;
                }
                Ok(is_told)
            })
            .await;
        sent += usize::from(settled?);
    }
    Ok(sent)
}

/// Takes a sign-up whose key is due, so that no other process does, and makes the key.
async fn take_due(store: &Store, now_ms: i64) -> Result<Option<(Signup, String, ToldKey)>, SignupError> {
    store
        .write(move |connection| {
            signups::lock_signups(connection)?;
            let Some(signup) = signups::find_mail_due(connection, MAX_MAIL_ATTEMPTS, now_ms)? else {
                return Ok(None);
            };
            let rest_ms = FIRST_REST_MS << signup.mail_attempts.clamp(0, MAX_MAIL_ATTEMPTS);
            signups::note_mail_attempt(connection, &signup.id, now_ms + rest_ms)?;
            let (key_id, told) = make_key(connection, &signup, now_ms)?;
            Ok(Some((signup, key_id, told)))
        })
        .await
}

fn text(told: &ToldKey, public_url: &str) -> String {
    format!(
        "The team `{}` is made at {public_url}. This is its API key, told only here; whoever has it acts as the team:\n\n\
         {}\n\n\
         Send it as `Authorization: Bearer …`, or set SECCHI_API_KEY for the command line. Further keys, each with its \
         scope and end, come from {public_url}/api/v1/keys.\n",
        told.team.slug, told.api_key
    )
}
