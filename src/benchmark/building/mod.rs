//! Building a release: from annotations to questions, and from questions to the files of three splits. Knows nothing of
//! the database.
//!
//! In the order of the work: `annotation` and `movement` read, `rules` asks (paper, rules A1 to A6 and B7 to B9), `distractors`
//! and `drafting` give wrong options that `sameness` holds against the right one, `letters` places the right one, `giveaway`
//! says what can be guessed; `duplicates`, `splits` and `statistics` make three files of one.

pub mod annotation;
pub mod asking;
pub mod captioning;
mod dice;
pub mod distractors;
pub mod drafting;
pub mod duplicates;
pub mod files;
pub mod giveaway;
pub mod journal;
pub mod letters;
pub mod looks;
mod movement;
pub mod purse;
pub mod questions;
pub mod report;
mod rules;
mod sameness;
pub mod splits;
pub mod statistics;
