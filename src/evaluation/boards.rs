//! Leaderboards as last built, and what was made of them, kept until the ledger says that something a board shows has
//! changed; what is asked for most is then made anew before anybody asks. Knows nothing of requests.

use std::cmp::Reverse;
use std::collections::HashMap;
use std::convert::Infallible;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use tokio::sync::OnceCell;

use crate::store::{Store, StoreError, load_board_revision};

use super::board_query::{BoardQuery, BoardQueryError};
use super::rendered::Rendered;
use super::standing::{Leaderboard, leaderboard};

/// For how long the revision that was read last is taken for the present one, unless this process has written since.
/// Under load it keeps the database out of almost every answer; another process's change shows this much later.
const REVISION_FRESH: Duration = Duration::from_millis(20);

/// Boards kept at most: the rows of 10,000 entries take some 20 MB.
const MAX_BOARDS: usize = 6;

/// Bytes of bodies kept at most, before they are compressed.
const MAX_BODY_BYTES: usize = 96 << 20;

/// How often it is looked whether something changed while nobody asks.
const PREPARE_EVERY: Duration = Duration::from_millis(250);

/// Bodies made anew at most after a change, those first that were asked for most.
const MAX_PREPARED: usize = 12;

/// What is to be made of a board: a format, with whatever else decides the bytes.
pub type Variant = String;

/// A body's name.
type Key = (BoardQuery, Variant);

/// Makes a body of a board.
type Render = Arc<dyn Fn(&Leaderboard) -> Vec<u8> + Send + Sync>;

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
    boards: HashMap<BoardQuery, Built<Arc<Leaderboard>>>,
    bodies: HashMap<Key, Body>,
    /// Bodies that were asked for before the last change, and how often.
    wanted: HashMap<Key, (Render, u64)>,
}

/// A body, and how often it was asked for since it was made.
struct Body {
    render: Render,
    asked: u64,
    built: Built<Rendered>,
}

/// What is built once, however many ask for it at the same time.
type Built<T> = Arc<OnceCell<T>>;

impl Kept {
    /// Whether the revision was read just now and nothing was written since.
    fn is_fresh(&self, store: &Store) -> bool {
        let fresh = |(at, writes): (Instant, u64)| at.elapsed() < REVISION_FRESH && writes == store.writes();
        self.checked.is_some_and(fresh)
    }

    /// Takes note of the revision that was read.
    fn note(&mut self, revision: i64) {
        if revision > self.revision {
            self.boards.clear();
            for (key, body) in self.bodies.drain().filter(|(_, body)| body.asked > 0) {
                self.wanted.entry(key).or_insert((body.render, 0)).1 += body.asked;
            }
            self.revision = revision;
        }
    }

    /// The place of a board.
    fn board(&mut self, query: &BoardQuery) -> Built<Arc<Leaderboard>> {
        if self.boards.len() >= MAX_BOARDS && !self.boards.contains_key(query) {
            self.boards.clear();
        }
        self.boards.entry(query.clone()).or_default().clone()
    }

    /// The place of a body, which somebody has asked for or not.
    fn body(&mut self, key: &Key, render: &Render, is_asked: bool) -> Built<Rendered> {
        if !self.bodies.contains_key(key) {
            let bytes = |body: &Body| body.built.get().map_or(0, Rendered::len);
            if self.bodies.values().map(bytes).sum::<usize>() >= MAX_BODY_BYTES {
                self.bodies.clear();
            }
        }
        let new = || Body { render: render.clone(), asked: 0, built: Built::default() };
        let body = self.bodies.entry(key.clone()).or_insert_with(new);
        body.asked += u64::from(is_asked);
        body.built.clone()
    }

    /// What is to be made anew, the most asked for first.
    fn take_wanted(&mut self) -> impl Iterator<Item = (Key, Render)> + use<> {
        let mut wanted: Vec<_> = std::mem::take(&mut self.wanted).into_iter().collect();
        wanted.sort_by_key(|(_, (_, asked))| Reverse(*asked));
        wanted.into_iter().take(MAX_PREPARED).map(|(key, (render, _))| (key, render))
    }
}

impl Boards {
    /// The board for `query`, built anew if something changed.
    ///
    /// # Errors
    /// When there is no such board or the database fails.
    pub async fn board(
        &self,
        store: &Store,
        query: &BoardQuery,
    ) -> Result<Arc<Leaderboard>, BoardQueryError> {
        self.renew(store).await?;
        self.built(store, query).await
    }

    async fn built(&self, store: &Store, query: &BoardQuery) -> Result<Arc<Leaderboard>, BoardQueryError> {
        let place = self.kept().board(query);
        let build = async || {
            let query = query.clone();
            store.snapshot(move |connection| Ok(Arc::new(leaderboard(connection, &query)?))).await
        };
        place.get_or_try_init(build).await.cloned()
    }

    /// What `render` makes of the board for `query`, built anew if something changed. `variant` names the format and all
    /// else that `render` depends on.
    ///
    /// # Errors
    /// When there is no such board or the database fails.
    pub async fn rendered<F>(
        &self,
        store: &Store,
        query: BoardQuery,
        variant: Variant,
        render: F,
    ) -> Result<Rendered, BoardQueryError>
    where
        F: Fn(&Leaderboard) -> Vec<u8> + Send + Sync + 'static,
    {
        self.renew(store).await?;
        self.body(store, (query, variant), Arc::new(render), true).await
    }

    /// Makes anew what was asked for before a change; does not end.
    pub async fn keep_prepared(&self, store: &Store) -> Infallible {
        loop {
            tokio::time::sleep(PREPARE_EVERY).await;
            if let Err(error) = self.prepare(store).await {
                tracing::warn!(%error, "a board could not be prepared; whoever asks next waits for it");
            }
        }
    }

    async fn prepare(&self, store: &Store) -> Result<(), BoardQueryError> {
        let revision = store.read(load_board_revision).await?;
        let wanted = {
            let mut kept = self.kept();
            // Not for fresh: else who asks just after a change would meet the board before it more often.
            kept.note(revision);
            kept.take_wanted()
        };
        for (key, render) in wanted {
            match self.body(store, key, render, false).await {
                Ok(body) => body.compress().await,
                // A board that is no more.
                Err(BoardQueryError::UnknownJudge { .. } | BoardQueryError::UnknownRelease { .. }) => {}
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    async fn body(
        &self,
        store: &Store,
        key: Key,
        render: Render,
        is_asked: bool,
    ) -> Result<Rendered, BoardQueryError> {
        let place = self.kept().body(&key, &render, is_asked);
        let build = async || {
            let board = self.built(store, &key.0).await?;
            let body = tokio::task::spawn_blocking(move || Rendered::new(render(&board)));
            body.await.map_err(|error| StoreError::from(error).into())
        };
        place.get_or_try_init(build).await.cloned()
    }

    /// Forgets what is kept if something has changed.
    async fn renew(&self, store: &Store) -> Result<(), StoreError> {
        if self.kept().is_fresh(store) {
            return Ok(());
        }
        let checked = (Instant::now(), store.writes());
        let revision = store.read(load_board_revision).await?;
        let mut kept = self.kept();
        kept.note(revision);
        if revision == kept.revision {
            kept.checked = Some(checked);
        }
        Ok(())
    }

    fn kept(&self) -> MutexGuard<'_, Kept> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
