//! Leaderboards as last built, kept until the ledger says that something a board shows has changed. Knows nothing of
//! requests.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use bytes::Bytes;
use sha2::{Digest as _, Sha256};

use crate::store::{Store, load_board_revision};

use super::board_query::{BoardQuery, BoardQueryError};
use super::standing::{Leaderboard, leaderboard};

/// For how long the revision that was read last is taken for the present one, unless this process has written since.
/// Under load it keeps the database out of almost every answer; another process's change shows this much later.
const REVISION_FRESH: Duration = Duration::from_millis(20);

/// Bodies kept at most; there are fewer combinations of parameters than that in ordinary use.
const MAX_KEPT: usize = 512;

/// What a body is written in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum BoardFormat {
    /// `application/json`
    Json,
    /// `text/csv`
    Csv,
    /// `text/html`
    Html,
}

/// A board in one format, ready to send.
#[derive(Clone)]
pub struct Rendered {
    /// The body.
    pub body: Bytes,
    /// The entity tag: a hash of the body. Weak, since a body may be sent compressed.
    pub etag: String,
}

impl Rendered {
    /// Whether an `If-None-Match` header names this body.
    pub fn is_known(&self, if_none_match: &str) -> bool {
        let opaque = self.etag.trim_start_matches("W/");
        if_none_match.trim() == "*"
            || if_none_match.split(',').any(|tag| tag.trim().trim_start_matches("W/") == opaque)
    }
}

/// The boards of one process.
#[derive(Default)]
pub struct Boards {
    kept: Mutex<Kept>,
}

#[derive(Default)]
struct Kept {
    revision: i64,
    /// When the revision was read, and how many writes this process had made by then.
    checked: Option<(Instant, u64)>,
    rendered: HashMap<(BoardQuery, BoardFormat), Rendered>,
}

impl Kept {
    /// What is kept for these parameters, if the revision was read just now and nothing was written since.
    fn fresh(&self, store: &Store, parameters: &(BoardQuery, BoardFormat)) -> Option<Rendered> {
        let (at, writes) = self.checked?;
        let fresh = at.elapsed() < REVISION_FRESH && writes == store.writes();
        self.rendered.get(parameters).filter(|_| fresh).cloned()
    }

    /// What is kept of a revision that was read at this moment.
    fn at(&mut self, revision: i64, checked: (Instant, u64)) -> &Kept {
        if revision > self.revision {
            self.rendered.clear();
            self.revision = revision;
        }
        if revision == self.revision {
            self.checked = Some(checked);
        }
        self
    }
}

impl Boards {
    /// The board for `query`, built anew if something changed, and written by `render`.
    ///
    /// # Errors
    /// When there is no such board or the database fails.
    pub async fn rendered(
        &self,
        store: &Store,
        query: BoardQuery,
        format: BoardFormat,
        render: fn(&Leaderboard) -> Vec<u8>,
    ) -> Result<Rendered, BoardQueryError> {
        let parameters = (query, format);
        if let Some(rendered) = self.kept().fresh(store, &parameters) {
            return Ok(rendered);
        }
        let asked = (Instant::now(), store.writes());
        let revision = store.read(load_board_revision).await?;
        if let Some(rendered) = self.kept().at(revision, asked).rendered.get(&parameters) {
            return Ok(rendered.clone());
        }
        let query = parameters.0.clone();
        let body: Result<Vec<u8>, BoardQueryError> =
            store.snapshot(move |connection| Ok(render(&leaderboard(connection, &query)?))).await;
        let body = body?;
        let etag = format!("W/\"{}\"", hex::encode(&Sha256::digest(&body)[..16]));
        let rendered = Rendered { body: Bytes::from(body), etag };
        let mut kept = self.kept();
        // What was built while the ledger changed may be older than the revision that is known by now.
        if kept.revision == revision {
            if kept.rendered.len() >= MAX_KEPT {
                kept.rendered.clear();
            }
            kept.rendered.insert(parameters, rendered.clone());
        }
        Ok(rendered)
    }

    fn kept(&self) -> MutexGuard<'_, Kept> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
