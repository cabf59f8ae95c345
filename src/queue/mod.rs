//! The queue that hands submissions to workers. It only delivers: what waits is known to the ledger, and whatever is
//! lost here the reconciler pushes again.

mod embedded;
mod redis;

use std::time::Duration;

use crate::domain::line::Line;

pub use self::embedded::EmbeddedQueue;
pub use self::redis::RedisQueue;

/// What can go wrong between Secchi and Redis.
#[derive(Debug, thiserror::Error)]
pub enum QueueError {
    /// Redis refused or could not be reached.
    #[error("Redis: {0}")]
    Redis(#[from] ::redis::RedisError),
}

/// How much waits.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Depth {
    /// Submissions that wait.
    pub waiting: u64,
    /// When the longest waiting one was pushed.
    pub oldest_ms: Option<i64>,
}

/// A queue of submission ids: lines that are first in, first out. An id that is pushed again keeps its place.
#[derive(Clone)]
pub enum Queue {
    /// In this process.
    Embedded(EmbeddedQueue),
    /// In Redis, for any number of processes.
    Redis(Box<RedisQueue>),
}

impl Queue {
    /// Puts a submission at the tail of a line; does nothing if it waits there already.
    ///
    /// # Errors
    /// When Redis cannot be reached.
    pub async fn push(&self, line: Line, id: &str, now_ms: i64) -> Result<(), QueueError> {
        match self {
            Queue::Embedded(queue) => {
                queue.push(line, id, now_ms);
                Ok(())
            }
            Queue::Redis(queue) => queue.push(line, id, now_ms).await,
        }
    }

    /// Takes the head, waiting for one at most so long.
    ///
    /// # Errors
    /// When Redis cannot be reached.
    pub async fn pop(&self, wait: Duration) -> Result<Option<String>, QueueError> {
        match self {
            Queue::Embedded(queue) => Ok(queue.pop(wait).await),
            Queue::Redis(queue) => queue.pop(wait).await,
        }
    }

    /// How much waits in the lines up to `last`.
    ///
    /// # Errors
    /// When Redis cannot be reached.
    pub async fn depth(&self, last: Line) -> Result<Depth, QueueError> {
        match self {
            Queue::Embedded(queue) => Ok(queue.depth(last)),
            Queue::Redis(queue) => queue.depth(last).await,
        }
    }
}
