//! The suite that runs against a whole server, on both back ends: one binary, so that it is linked once.
//!
//! Without further word it runs on SQLite with the embedded queue. `SECCHI_TEST_DATABASE_URL` (a PostgreSQL whose user
//! may create databases) and `SECCHI_TEST_REDIS_URL` make it run on PostgreSQL with Redis.
#![expect(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test fails by panicking")]

mod anonymous;
mod attacker;
mod attacks;
mod board;
mod board_formats;
mod broken;
mod browser;
mod budget;
mod by_hand;
mod circuit;
mod client_submit;
mod clips;
mod commands;
mod compare;
mod crash;
mod credentials;
mod estimate;
mod evaluate;
mod events;
mod export;
mod failures;
mod fault_runs;
mod faults;
mod feed;
mod fences;
mod flags;
mod formats;
mod frames;
mod full;
mod grade;
mod grading;
mod hostile;
mod intake;
mod judging;
mod keys;
#[cfg(feature = "smtp")]
mod mail;
mod metadata;
mod metering;
mod migrations;
mod odd_server;
mod operations;
mod pages;
mod pages_accounts;
mod pages_board;
mod pages_public;
mod pages_submission;
mod process;
mod program;
mod pull;
mod question_keys;
mod quota;
mod ranges;
mod record;
mod rejudging;
mod report;
mod roles;
mod secrecy;
mod series;
mod sessions;
mod settings;
mod signup;
mod snippets;
mod soak;
mod staging;
mod stand_in;
mod statistics;
mod support;
mod surface;
mod usage;
mod verify;
mod videos;
