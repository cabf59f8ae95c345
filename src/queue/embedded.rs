//! The queue inside one process. A restart empties it, and the reconciler fills it again from the ledger.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::Notify;

use super::Depth;
use crate::domain::line::Line;

type Lines = [VecDeque<(String, i64)>; Line::COUNT];

/// A queue in memory; clones share it.
#[derive(Clone, Default)]
pub struct EmbeddedQueue {
    /// In the order of [`Line`].
    lines: Arc<Mutex<Lines>>,
    pushed: Arc<Notify>,
}

impl EmbeddedQueue {
    fn lines(&self) -> MutexGuard<'_, Lines> {
        self.lines.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn push(&self, line: Line, id: &str, now_ms: i64) {
        let mut lines = self.lines();
        if lines.iter().flatten().all(|(waiting, _)| waiting != id) {
            lines[line as usize].push_back((id.to_owned(), now_ms));
            self.pushed.notify_one();
        }
    }

    pub(super) async fn pop(&self, wait: Duration) -> Option<String> {
        let head = || self.lines().iter_mut().find_map(VecDeque::pop_front);
        let arrival = async {
            loop {
                if let Some((id, _)) = head() {
                    return id;
                }
                self.pushed.notified().await;
            }
        };
        tokio::time::timeout(wait, arrival).await.ok()
    }

    pub(super) fn depth(&self, last: Line) -> Depth {
        let lines = self.lines();
        let lines = &lines[..=last as usize];
        Depth {
            waiting: lines.iter().map(|line| line.len() as u64).sum(),
            oldest_ms: lines.iter().filter_map(VecDeque::front).map(|(_, pushed_ms)| *pushed_ms).min(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NO_WAIT: Duration = Duration::ZERO;

    #[tokio::test]
    async fn an_id_waits_once_and_earlier_lines_go_first() {
        let queue = EmbeddedQueue::default();
        queue.push(Line::BackgroundVal, "bv", 0);
        queue.push(Line::BackgroundTest, "bt", 1);
        queue.push(Line::Val, "v", 1);
        queue.push(Line::Test, "t", 2);
        queue.push(Line::Val, "v", 3);
        assert_eq!(queue.depth(Line::LAST), Depth { waiting: 4, oldest_ms: Some(0) });
        assert_eq!(queue.depth(Line::Val), Depth { waiting: 2, oldest_ms: Some(1) });
        for expected in ["t", "v", "bt", "bv"] {
            assert_eq!(queue.pop(NO_WAIT).await.as_deref(), Some(expected));
        }
        assert_eq!(queue.pop(NO_WAIT).await, None);
    }

    #[tokio::test]
    async fn several_who_wait_are_all_served() {
        let queue = EmbeddedQueue::default();
        let waiting: Vec<_> = (0..4)
            .map(|_| {
                let queue = queue.clone();
                tokio::spawn(async move { queue.pop(Duration::from_secs(30)).await })
            })
            .collect();
        tokio::task::yield_now().await;
        for id in ["a", "b", "c", "d"] {
            queue.push(Line::Test, id, 0);
        }
        let mut served = Vec::new();
        for task in waiting {
            served.extend(task.await.unwrap());
        }
        served.sort_unstable();
        assert_eq!(served, ["a", "b", "c", "d"]);
    }
}
