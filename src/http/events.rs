//! Server-Sent Events about one submission: what is said, in what form, and until when. Reads nothing itself.

use std::convert::Infallible;
use std::time::Duration;

use actix_web::http::header::{self, HeaderMap};
use actix_web::{HttpRequest, HttpResponse, get, web};
use bytes::Bytes;
use futures::stream;
use serde::Serialize;
use sha2::{Digest as _, Sha256};
use tokio::sync::watch;
use tokio::time::Instant;
use uuid::Uuid;

use super::Shared;
use super::auth::TeamOnly;
use super::error::{Answer, Problem};
use super::submission_view::ProgressView;
use crate::accounts::is_standing;
use crate::domain::submission::{PausedFor, SubmissionState};
use crate::evaluation::board_rows::score_cells;
use crate::evaluation::following::{Follower, Standing};
use crate::evaluation::lifecycle::own_submission;
use crate::evaluation::waiting::QueuePlace;

const LAST_EVENT_ID: &str = "last-event-id";

/// How long a stream is silent at most: a proxy closes what it takes for dead.
const BEAT_EVERY: Duration = Duration::from_secs(15);

/// How long a stream outlives its key at most.
const CHECK_KEY_EVERY: Duration = Duration::from_secs(5);

/// How long a client shall wait before it connects again, in milliseconds.
const RETRY_MS: u32 = 2000;

/// The mark of what was not told yet, and of no scores.
const NOTHING: &str = "0";

/// The longest mark that is believed.
const MAX_MARK: usize = 16;

/// The data of an event `state`, and of `end`.
#[derive(Serialize)]
struct StateEvent<'a> {
    id: &'a str,
    state: SubmissionState,
    paused_for: Option<PausedFor>,
    queue: Option<QueuePlace>,
}

/// The data of an event `progress`.
#[derive(Serialize)]
struct ProgressEvent {
    #[serde(flatten)]
    progress: ProgressView,
    queue: Option<QueuePlace>,
}

/// What a client was told last of each kind. It is the id of every event, follows from what is stored alone, and so means
/// the same on every server and after a restart.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Told {
    state: String,
    progress: String,
    scores: String,
}

impl Default for Told {
    fn default() -> Told {
        let nothing = || NOTHING.to_owned();
        Told { state: nothing(), progress: nothing(), scores: nothing() }
    }
}

impl std::fmt::Display for Told {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}.{}.{}", self.state, self.progress, self.scores)
    }
}

impl Told {
    /// What the header `Last-Event-ID` says; nothing was told to a client without one, or with one that is not ours.
    fn of(headers: &HeaderMap) -> Told {
        let id = headers.get(LAST_EVENT_ID).and_then(|value| value.to_str().ok()).unwrap_or_default();
        match id.split('.').collect::<Vec<_>>()[..] {
            [state, progress, scores] if id.len() <= 3 * MAX_MARK => {
                Told { state: state.into(), progress: progress.into(), scores: scores.into() }
            }
            _ => Told::default(),
        }
    }

    /// The events that tell what is new, and the last one where nothing will be; empty if there is no news.
    fn news(&mut self, standing: &Standing) -> String {
        let Standing { submission, scores, queue } = standing;
        let (id, state, queue) = (submission.id.as_str(), submission.state, *queue);
        let paused_for = submission.paused_for;
        let mut events = String::new();
        let pause = paused_for.map_or("", PausedFor::as_str);
        if replaced(&mut self.state, mark(&format!("{state}/{pause}"))) {
            push(&mut events, "state", Some(self), &StateEvent { id, state, paused_for, queue });
        }
        let progress = ProgressEvent { progress: ProgressView::of(submission), queue };
        if replaced(&mut self.progress, mark(&json(&progress))) {
            push(&mut events, "progress", Some(self), &progress);
        }
        let cells = score_cells(scores);
        let scores_mark = if cells.is_empty() { NOTHING.into() } else { mark(&json(&cells)) };
        if replaced(&mut self.scores, scores_mark) {
            push(&mut events, "scores", Some(self), &cells);
        }
        events
    }
}

fn replaced(mark: &mut String, new: String) -> bool {
    let is_news = *mark != new;
    *mark = new;
    is_news
}

fn mark(text: &str) -> String {
    hex::encode(&Sha256::digest(text.as_bytes())[..4])
}

fn json(data: &impl Serialize) -> String {
    // Text and numbers cannot fail to be written.
    serde_json::to_string(data).unwrap_or_default()
}

fn push(events: &mut String, event: &str, id: Option<&Told>, data: &impl Serialize) {
    let id = id.map(|told| format!("id: {told}\n")).unwrap_or_default();
    // JSON has no line break outside of strings, and escapes those within.
    events.push_str(&format!("event: {event}\n{id}data: {}\n\n", json(data)));
}

/// A stream of events under way.
struct Events {
    state: Shared,
    key_id: String,
    follower: Follower,
    told: Told,
    stopping: watch::Receiver<bool>,
    /// When the next sign of life is due.
    beat_at: Instant,
    check_at: Instant,
    has_ended: bool,
}

/// Why a stream goes on.
enum Woken {
    /// There may be news, or the key is to be looked at.
    Again,
    /// It was silent for long.
    Beat,
    /// The process stops.
    End,
}

impl Events {
    /// What is sent next, asked for only when the client has taken what came before.
    async fn next(mut self) -> Option<(Result<Bytes, Infallible>, Events)> {
        while !self.has_ended {
            if Instant::now() >= self.check_at {
                self.check().await?;
            }
            let standing = self.follower.standing.borrow_and_update().clone();
            if let Some(standing) = standing {
                let mut events = self.told.news(&standing);
                if standing.submission.state.is_final() {
                    events.push_str(&end(&standing));
                    self.has_ended = true;
                }
                if !events.is_empty() {
                    return Some(self.said(events));
                }
            }
            match self.woken().await {
                Woken::Again => {}
                Woken::Beat => return Some(self.said(":\n\n".into())),
                Woken::End => return None,
            }
        }
        None
    }

    async fn woken(&mut self) -> Woken {
        tokio::select! {
            changed = self.follower.standing.changed() => if changed.is_ok() { Woken::Again } else { Woken::End },
            () = tokio::time::sleep_until(self.check_at) => Woken::Again,
            () = tokio::time::sleep_until(self.beat_at) => Woken::Beat,
            _stops = self.stopping.wait_for(|stops| *stops) => Woken::End,
        }
    }

    fn said(mut self, text: String) -> (Result<Bytes, Infallible>, Events) {
        self.beat_at = Instant::now() + BEAT_EVERY;
        (Ok(Bytes::from(text)), self)
    }

    /// Whether the key would still be let in; where the database cannot say, it is asked again.
    async fn check(&mut self) -> Option<()> {
        self.check_at = Instant::now() + CHECK_KEY_EVERY;
        let evaluation = &self.state.evaluation;
        let standing = is_standing(&evaluation.store, &self.key_id, evaluation.clock.now_ms()).await;
        standing.unwrap_or(true).then_some(())
    }
}

fn end(standing: &Standing) -> String {
    let submission = &standing.submission;
    let mut event = String::new();
    let (id, state, paused_for) = (submission.id.as_str(), submission.state, submission.paused_for);
    push(&mut event, "end", None, &StateEvent { id, state, paused_for, queue: None });
    event
}

/// Follows a submission by Server-Sent Events
///
/// `state`, `progress` and `scores` say how it stands now and whenever that changes; `end` follows a final state, and the
/// stream ends. A client that connects again with `Last-Event-ID` is told the newest of what it missed.
#[utoipa::path(
    tag = "submissions",
    security(("bearer" = [])),
    params(
        ("id" = String, Path, description = "The submission's id"),
        ("Last-Event-ID" = Option<String>, Header, description = "The id of the last event that was received"),
    ),
    responses(
        (status = 200, description = "Events whose data are JSON", body = String, content_type = "text/event-stream"),
        (status = 204, description = "It has ended, and all was told up to `Last-Event-ID`"),
        (status = 404, description = "There is none with this id, or it is another team's", body = Problem, content_type = "application/problem+json"),
        (status = 429, description = "The key follows too many submissions at once", body = Problem, content_type = "application/problem+json"),
    )
)]
#[get("/api/v1/submissions/{id}/events")]
pub async fn list_events(
    request: HttpRequest,
    state: Shared,
    TeamOnly(principal): TeamOnly,
    id: web::Path<Uuid>,
) -> Answer<HttpResponse> {
    let own = own_submission(&state.evaluation, &principal.team.id, &id.to_string()).await?;
    let follower = state.following.follow(&state.evaluation, &principal.key_id, &own.id).await?;
    let told = Told::of(request.headers());
    let standing = follower.standing.borrow().clone();
    let is_over = standing.is_some_and(|standing| {
        standing.submission.state.is_final() && told.clone().news(&standing).is_empty()
    });
    if is_over {
        // Which tells a browser not to connect again.
        return Ok(HttpResponse::NoContent().insert_header((header::CACHE_CONTROL, "no-store")).finish());
    }
    let now = Instant::now();
    let events = Events {
        stopping: state.stopping.clone(),
        state,
        key_id: principal.key_id,
        follower,
        told,
        beat_at: now + BEAT_EVERY,
        check_at: now + CHECK_KEY_EVERY,
        has_ended: false,
    };
    let first = stream::iter([Ok(Bytes::from(format!("retry: {RETRY_MS}\n\n")))]);
    let events = stream::StreamExt::chain(first, stream::unfold(events, Events::next));
    Ok(HttpResponse::Ok()
        .content_type("text/event-stream")
        .insert_header((header::CACHE_CONTROL, "no-store"))
        // Compression would hold events back, and so would a proxy's buffer.
        .insert_header((header::CONTENT_ENCODING, "identity"))
        .insert_header(("X-Accel-Buffering", "no"))
        .streaming(events))
}
