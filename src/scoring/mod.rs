//! From answers to numbers: reading a letter, points of a rubric, columns with their intervals, ranks, how far a judge
//! agrees with people, and decimals as they are printed. Pure: no input or output, no clock, and randomness only from a seed that is
//! handed in.

pub mod agreement;
pub mod baselines;
pub mod captions;
pub mod changes;
pub mod choice;
pub mod columns;
#[cfg(test)]
mod coverage;
pub mod decimals;
pub mod intervals;
pub mod likeness;
pub mod pairs;
pub mod ranking;
pub mod rubric;
pub mod standings;
pub mod suspicion;

/// The processor's time that this thread took so far: what a test measures does not depend on what else the machine does.
#[cfg(test)]
fn thread_time() -> std::time::Duration {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::ThreadCPUTime);
    std::time::Duration::new(time.tv_sec as u64, time.tv_nsec as u32)
}
