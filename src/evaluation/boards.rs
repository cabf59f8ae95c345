//! Leaderboards as last built, and what was made of them, kept until the ledger says that something a board shows has
//! changed. Knows nothing of requests.

use std::collections::HashMap;
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

/// What is to be made of a board: a format, with whatever else decides the bytes.
pub type Variant = String;

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
    bodies: HashMap<(BoardQuery, Variant), Built<Rendered>>,
}

/// What is built once, however many ask for it at the same time.
type Built<T> = Arc<OnceCell<T>>;

impl Kept {
    /// Whether the revision was read just now and nothing was written since.
    fn is_fresh(&self, store: &Store) -> bool {
        let fresh = |(at, writes): (Instant, u64)| at.elapsed() < REVISION_FRESH && writes == store.writes();
        self.checked.is_some_and(fresh)
    }

    /// Takes note of the revision that was read when so much was written.
    fn note(&mut self, revision: i64, checked: (Instant, u64)) {
        if revision > self.revision {
            self.boards.clear();
            self.bodies.clear();
            self.revision = revision;
        }
        if revision == self.revision {
            self.checked = Some(checked);
        }
    }

    /// The place of a board.
    fn board(&mut self, query: &BoardQuery) -> Built<Arc<Leaderboard>> {
        if self.boards.len() >= MAX_BOARDS && !self.boards.contains_key(query) {
            self.boards.clear();
        }
        self.boards.entry(query.clone()).or_default().clone()
    }

    /// The place of a body.
    fn body(&mut self, key: &(BoardQuery, Variant)) -> Built<Rendered> {
        if !self.bodies.contains_key(key) {
            let bytes = |body: &Built<Rendered>| body.get().map_or(0, Rendered::len);
            if self.bodies.values().map(bytes).sum::<usize>() >= MAX_BODY_BYTES {
                self.bodies.clear();
            }
        }
        self.bodies.entry(key.clone()).or_default().clone()
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
        F: FnOnce(&Leaderboard) -> Vec<u8> + Send + 'static,
    {
        self.renew(store).await?;
        let key = (query, variant);
        let place = self.kept().body(&key);
        let build = async || {
            let board = self.board(store, &key.0).await?;
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
        self.kept().note(revision, checked);
        Ok(())
    }

    fn kept(&self) -> MutexGuard<'_, Kept> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
