//! Places for files that are held in memory while they are read, in fair turns between teams. Knows nothing of what a
//! file says.

use std::collections::HashMap;
use std::io;
use std::sync::{Arc, Mutex, PoisonError, Weak};

use tokio::sync::{Mutex as AsyncMutex, OwnedMutexGuard, OwnedSemaphorePermit, Semaphore};

/// Most files at once; each takes about four times its text.
const MOST: u32 = 8;

/// Places for files; a long file takes all of them, and a team has one file read at a time.
pub struct ReadingTurns {
    places: Arc<Semaphore>,
    count: u32,
    teams: Mutex<HashMap<String, Weak<AsyncMutex<()>>>>,
}

/// Leave to hold a file in memory, given back when dropped. It belongs to whoever reads the file, and not to whoever
/// waits for that: a client that hangs up ends no reading.
pub struct Turn {
    _place: OwnedSemaphorePermit,
    team: OwnedMutexGuard<()>,
}

impl ReadingTurns {
    /// As many places as there are processors, within bounds.
    pub fn new() -> ReadingTurns {
        let processors = std::thread::available_parallelism().map_or(2, usize::from);
        let count = u32::try_from(processors).unwrap_or(MOST).clamp(2, MOST);
        ReadingTurns { places: Arc::new(Semaphore::new(count as usize)), count, teams: Mutex::default() }
    }

    /// Waits for a place, behind the team's other files.
    ///
    /// # Errors
    /// None that can happen: the places are never closed.
    pub async fn take(&self, team_id: &str) -> io::Result<Turn> {
        let team = self.of_team(team_id).lock_owned().await;
        let place = self.places.clone().acquire_owned().await.map_err(io::Error::other)?;
        Ok(Turn { _place: place, team })
    }

    /// Waits for all places instead of the one.
    ///
    /// # Errors
    /// As [`Self::take`].
    pub async fn take_all(&self, turn: Turn) -> io::Result<Turn> {
        let Turn { _place: one, team } = turn;
        drop(one);
        let all = self.places.clone().acquire_many_owned(self.count).await.map_err(io::Error::other)?;
        Ok(Turn { _place: all, team })
    }

    fn of_team(&self, team_id: &str) -> Arc<AsyncMutex<()>> {
        let mut teams = self.teams.lock().unwrap_or_else(PoisonError::into_inner);
        teams.retain(|_, turn| turn.strong_count() > 0);
        if let Some(turn) = teams.get(team_id).and_then(Weak::upgrade) {
            return turn;
        }
        let turn = Arc::new(AsyncMutex::new(()));
        teams.insert(team_id.to_owned(), Arc::downgrade(&turn));
        turn
    }
}

impl Default for ReadingTurns {
    fn default() -> ReadingTurns {
        ReadingTurns::new()
    }
}

#[cfg(test)]
mod tests {
    use futures::FutureExt as _;

    use super::*;

    #[tokio::test]
    async fn a_team_has_one_file_read_at_a_time_and_a_long_file_waits_for_all_others() {
        let turns = ReadingTurns::new();
        let first = turns.take("reef").await.unwrap();
        assert!(turns.take("reef").now_or_never().is_none(), "the same team");
        let other = turns.take("kelp").now_or_never().unwrap().unwrap();
        assert!(turns.take_all(first).now_or_never().is_none(), "another file is being read");
        drop(other);
        let long = turns.take("reef").now_or_never().unwrap().unwrap();
        let _all = turns.take_all(long).now_or_never().unwrap().unwrap();
        assert!(turns.take("kelp").now_or_never().is_none(), "a long file is being read");
    }
}
