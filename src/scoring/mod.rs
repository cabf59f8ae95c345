//! From answers to numbers: reading a letter, points of a rubric, columns with their intervals, ranks, and
//! decimals as they are printed. Pure: no input or output, no clock, and randomness only from a seed that is
//! handed in.

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
