//! Following submissions as they go: whoever follows one is told how it stands now and whenever that changes. The ledger
//! is read once for all who follow the same submission in this process, and reads are in order, so that nobody is told
//! something old after something new. Knows nothing of how it is told.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::{Mutex as Turn, watch};

use crate::store::StoreError;
use crate::store::scores::{Score, Under, load_scores};
use crate::store::submissions::{Submission, find_submission};

use super::Evaluation;
use super::waiting::{QueuePlace, queue_place};

/// How often the ledger is asked about a submission that somebody follows.
const POLL_EVERY: Duration = Duration::from_secs(1);

/// Submissions that one key may follow at once in this process.
const MAX_FOLLOWED: usize = 16;

/// Why a submission cannot be followed.
#[derive(Debug, thiserror::Error)]
pub enum FollowError {
    /// The key follows as many as it may.
    #[error("this key follows {MAX_FOLLOWED} submissions already; close one of those connections")]
    TooMany,
    /// There is no such submission.
    #[error("there is no submission `{0}`")]
    Unknown(String),
    /// The database failed.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// How a submission stands.
#[derive(Debug, Clone, PartialEq)]
pub struct Standing {
    /// The submission.
    pub submission: Submission,
    /// Its scores so far.
    pub scores: Vec<Score>,
    /// Its place among those that have not ended.
    pub queue: Option<QueuePlace>,
}

/// The submissions that are followed in this process.
#[derive(Default)]
pub struct Following {
    watched: Mutex<HashMap<String, Arc<Watched>>>,
    by_key: Mutex<HashMap<String, usize>>,
}

/// One submission that is followed.
struct Watched {
    standing: watch::Sender<Option<Arc<Standing>>>,
    /// Held from the read to the telling.
    turn: Turn<()>,
}

/// One who follows a submission; who falls behind is told the newest alone.
pub struct Follower {
    /// How the submission stands.
    pub standing: watch::Receiver<Option<Arc<Standing>>>,
    _counted: Counted,
}

/// One of those that a key follows, as long as it lives.
struct Counted {
    following: Arc<Following>,
    key_id: String,
}

impl Following {
    /// Follows the submission `id` for the holder of an API key; how it stands is known at once.
    ///
    /// # Errors
    /// When the key follows too many already, there is no such submission, or the database fails.
    pub async fn follow(
        self: &Arc<Self>,
        evaluation: &Arc<Evaluation>,
        key_id: &str,
        id: &str,
    ) -> Result<Follower, FollowError> {
        let counted = self.count(key_id)?;
        let (watched, standing) = self.watch(evaluation, id);
        // Not what was read last: the asker may have been told something newer by another server.
        if !watched.read(evaluation, id).await? {
            return Err(FollowError::Unknown(id.to_owned()));
        }
        Ok(Follower { standing, _counted: counted })
    }

    fn count(self: &Arc<Self>, key_id: &str) -> Result<Counted, FollowError> {
        let mut by_key = locked(&self.by_key);
        let open = by_key.entry(key_id.to_owned()).or_default();
        if *open >= MAX_FOLLOWED {
            return Err(FollowError::TooMany);
        }
        *open += 1;
        Ok(Counted { following: self.clone(), key_id: key_id.to_owned() })
    }

    fn watch(
        self: &Arc<Self>,
        evaluation: &Arc<Evaluation>,
        id: &str,
    ) -> (Arc<Watched>, watch::Receiver<Option<Arc<Standing>>>) {
        let mut all = locked(&self.watched);
        if let Some(watched) = all.get(id) {
            return (watched.clone(), watched.standing.subscribe());
        }
        let watched = Arc::new(Watched { standing: watch::Sender::new(None), turn: Turn::default() });
        let standing = watched.standing.subscribe();
        all.insert(id.to_owned(), watched.clone());
        tokio::spawn(self.clone().poll(evaluation.clone(), watched.clone(), id.to_owned()));
        (watched, standing)
    }

    /// Reads again and again, until nobody follows any more.
    async fn poll(self: Arc<Self>, evaluation: Arc<Evaluation>, watched: Arc<Watched>, id: String) {
        loop {
            tokio::select! {
                () = watched.standing.closed() => {
                    // Nobody can begin to follow while the map is locked.
                    let mut all = locked(&self.watched);
                    if watched.standing.is_closed() {
                        all.remove(&id);
                        return;
                    }
                }
                () = tokio::time::sleep(POLL_EVERY) => {
                    if let Err(error) = watched.read(&evaluation, &id).await {
                        tracing::warn!(submission = id, %error, "how it stands could not be read");
                    }
                }
            }
        }
    }
}

impl Watched {
    /// Reads how the submission stands and tells it if it has changed; false if there is none.
    async fn read(&self, evaluation: &Evaluation, id: &str) -> Result<bool, StoreError> {
        let _turn = self.turn.lock().await;
        let wanted = id.to_owned();
        let found: Result<_, StoreError> = evaluation
            .store
            .snapshot(move |connection| {
                let Some(submission) = find_submission(connection, &wanted)? else { return Ok(None) };
                let scores = match Under::of(&submission) {
                    Some(under) => load_scores(connection, &wanted, &under)?,
                    None => Vec::new(),
                };
                Ok(Some((submission, scores)))
            })
            .await;
        let Some((submission, scores)) = found? else { return Ok(false) };
        let queue = queue_place(evaluation, &submission).await?;
        let standing = Standing { submission, scores, queue };
        self.standing.send_if_modified(|known| {
            let is_news = known.as_deref() != Some(&standing);
            if is_news {
                *known = Some(Arc::new(standing));
            }
            is_news
        });
        Ok(true)
    }
}

impl Drop for Counted {
    fn drop(&mut self) {
        let mut by_key = locked(&self.following.by_key);
        if let Some(open) = by_key.get_mut(&self.key_id) {
            *open -= 1;
            if *open == 0 {
                by_key.remove(&self.key_id);
            }
        }
    }
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
