//! Nouns of the benchmark and their rules. Knows nothing of storage, HTTP or time.

pub mod actor;
pub mod camera;
pub mod choice;
pub mod column;
pub mod dimension;
pub mod fault;
pub mod flag;
pub mod instant;
pub mod key;
pub mod line;
pub mod outcome;
pub mod paper;
pub mod question;
pub mod sign;
pub mod signup;
pub mod spreadsheet;
pub mod submission;
pub mod team;
