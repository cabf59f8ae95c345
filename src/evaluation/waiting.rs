//! Where a submission stands among those that have not ended, and how long its judging may take: a range that follows
//! from measured answers, or nothing. Does not touch the queue, whose order follows from the ledger.

use std::sync::Arc;
use std::time::Duration;

use serde::Serialize;
use tokio::sync::Mutex;
use tokio::time::Instant;

use crate::domain::line::Line;
use crate::store::StoreError;
use crate::store::configurations::find_current_configuration;
use crate::store::submissions::Submission;
use crate::store::waiting::{OpenSubmission, count_judged_since, load_open};

use super::Evaluation;
use super::judging::SLICE_ANSWERS;

/// For how long what was read last is taken for the present.
const FRESH: Duration = Duration::from_secs(2);

/// Over how long the judge's speed is measured.
const MEASURED_MS: i64 = 120_000;

/// Fewer answers say nothing of the judge's speed.
const MIN_MEASURED: i64 = 10;

/// How far the judge's speed may drift from what was measured, beyond what chance explains.
const DRIFT: f64 = 1.25;

/// A submission's place among those that have not ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, utoipa::ToSchema)]
pub struct QueuePlace {
    /// Submissions that came before it and have not ended; those to test come before those to val.
    pub ahead: usize,
    /// Seconds that its judging still takes at least; null while nothing can be said: nothing was measured in the last
    /// minutes, or judging waits.
    pub seconds_low: Option<u64>,
    /// Seconds that it takes at most, unless more submissions come.
    pub seconds_high: Option<u64>,
}

/// What has not ended, as read last.
#[derive(Default)]
pub struct Waiting {
    read: Mutex<Option<(Instant, Arc<Overview>)>>,
}

/// What has not ended, and how fast it goes on.
struct Overview {
    /// In the order in which it is worked on.
    open: Vec<Entry>,
    /// Answers a second, none where that is unknown.
    speed: Option<Speed>,
}

/// A submission that has not ended.
struct Entry {
    id: String,
    line: Line,
    /// Calls that it takes at least and at most: how many judgements stand already is known once it is graded.
    calls: [f64; 2],
}

/// Answers that the judge scores in a second, at least and at most.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Speed {
    slow: f64,
    fast: f64,
}

/// The place of a submission; none where it has ended.
///
/// # Errors
/// When the database fails.
pub async fn queue_place(
    evaluation: &Evaluation,
    submission: &Submission,
) -> Result<Option<QueuePlace>, StoreError> {
    if submission.state.is_final() {
        return Ok(None);
    }
    let mut read = evaluation.waiting.read.lock().await;
    let known = read.as_ref().filter(|(at, overview)| at.elapsed() < FRESH && overview.holds(&submission.id));
    let overview = match known {
        Some((_, overview)) => overview.clone(),
        None => {
            let overview = Arc::new(overview(evaluation).await?);
            *read = Some((Instant::now(), overview.clone()));
            overview
        }
    };
    drop(read);
    Ok(overview.place(&submission.id))
}

async fn overview(evaluation: &Evaluation) -> Result<Overview, StoreError> {
    let now_ms = evaluation.clock.now_ms();
    let found: Result<_, StoreError> = evaluation
        .store
        .read(move |connection| {
            let open = load_open(connection)?;
            let judged = match find_current_configuration(connection)? {
                Some(current) => count_judged_since(connection, &current.id, now_ms - MEASURED_MS)?,
                None => (0, None),
            };
            Ok((open, judged))
        })
        .await;
    let (found, (judged, first_ms)) = found?;
    let is_closed = evaluation.judges.gate().is_some_and(|gate| gate.closed().is_some());
    let waits = is_closed || found.iter().any(|open| open.is_paused);
    let speed = first_ms.filter(|_| !waits).and_then(|first_ms| speed(judged, now_ms - first_ms));
    let mut open = Vec::with_capacity(found.len());
    for submission in found {
        open.push(entry(evaluation, submission).await?);
    }
    // Within a line they stay in the order in which they came.
    open.sort_by_key(|entry| entry.line);
    Ok(Overview { open, speed })
}

async fn entry(evaluation: &Evaluation, open: OpenSubmission) -> Result<Entry, StoreError> {
    let calls = match open.to_judge {
        Some(left) => [f64::from(left); 2],
        None => {
            let release = evaluation.catalogue.release(&evaluation.store, &open.release_id).await?;
            [0.0, release.key.to_judge() as f64]
        }
    };
    Ok(Entry { line: Line::of(open.split), id: open.id, calls })
}

/// The speed that `judged` answers in `span_ms` show, within twice the chance error of such a count.
fn speed(judged: i64, span_ms: i64) -> Option<Speed> {
    if judged < MIN_MEASURED || span_ms <= 0 {
        return None;
    }
    let mean = judged as f64 / (span_ms as f64 / 1000.0);
    let chance = 2.0 / (judged as f64).sqrt();
    Some(Speed { slow: mean * (1.0 - chance) / DRIFT, fast: mean * (1.0 + chance) * DRIFT })
}

impl Overview {
    fn holds(&self, id: &str) -> bool {
        self.open.iter().any(|entry| entry.id == id)
    }

    fn place(&self, id: &str) -> Option<QueuePlace> {
        let ahead = self.open.iter().position(|entry| entry.id == id)?;
        let own = &self.open[ahead];
        let [mut least, mut most] = own.calls;
        for (place, other) in self.open.iter().enumerate().filter(|(place, _)| *place != ahead) {
            if other.line < own.line {
                // An answer that needs no call waits for nobody.
                least += if own.calls[0] > 0.0 { other.calls[0] } else { 0.0 };
                most += other.calls[1];
            } else if other.line == own.line {
                // They take turns: nobody else gets further than this one and a slice more before it ends.
                least += if place < ahead { other.calls[0].min(own.calls[0]) } else { 0.0 };
                most += other.calls[1].min(own.calls[1] + SLICE_ANSWERS as f64);
            }
        }
        let seconds_low = self.speed.map(|speed| coarse(least / speed.fast, f64::floor));
        let seconds_high = self.speed.map(|speed| coarse(most / speed.slow, f64::ceil));
        Some(QueuePlace { ahead, seconds_low, seconds_high })
    }
}

/// Seconds to as many digits as such an estimate deserves.
fn coarse(seconds: f64, round: fn(f64) -> f64) -> u64 {
    let step = match seconds {
        ..10.0 => 1.0,
        ..60.0 => 5.0,
        ..600.0 => 30.0,
        ..3600.0 => 60.0,
        _ => 600.0,
    };
    (round(seconds / step) * step) as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry(id: &str, line: Line, calls: [f64; 2]) -> Entry {
        Entry { id: id.into(), line, calls }
    }

    fn overview(speed: Option<Speed>) -> Overview {
        let open = vec![
            entry("t1", Line::Test, [300.0; 2]),
            entry("t2", Line::Test, [100.0; 2]),
            entry("t3", Line::Test, [0.0, 1000.0]),
            entry("v1", Line::Val, [50.0; 2]),
        ];
        Overview { open, speed }
    }

    fn place(id: &str) -> (usize, Option<u64>, Option<u64>) {
        let place = overview(Some(Speed { slow: 1.0, fast: 2.0 })).place(id).unwrap();
        (place.ahead, place.seconds_low, place.seconds_high)
    }

    #[test]
    fn turns_are_taken_within_a_line_and_test_comes_before_val() {
        // 100 own calls, at least 100 of `t1`; at most a slice more than its own of `t1` and of `t3`.
        assert_eq!(place("t2"), (1, Some(90), Some(720)));
        // All of test, then its own.
        assert_eq!(place("v1"), (3, Some(210), Some(1500)));
    }

    #[test]
    fn a_file_that_is_not_graded_may_need_no_call_at_all() {
        assert_eq!(place("t3"), (2, Some(0), Some(1440)));
    }

    #[test]
    fn where_no_speed_was_measured_only_the_place_is_known() {
        let place = overview(None).place("t2").unwrap();
        assert_eq!(place, QueuePlace { ahead: 1, seconds_low: None, seconds_high: None });
        assert_eq!(overview(None).place("gone"), None);
        assert_eq!(speed(9, 60_000), None);
        assert_eq!(speed(100, 0), None);
    }

    #[test]
    fn more_answers_make_the_speed_surer() {
        let few = speed(16, 16_000).unwrap();
        let many = speed(1600, 1_600_000).unwrap();
        assert!(few.slow < many.slow && many.slow < 1.0 && 1.0 < many.fast && many.fast < few.fast);
    }
}
