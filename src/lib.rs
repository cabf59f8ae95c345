//! Secchi: the evaluation server and public leaderboard of MarineLife-16K.

#[cfg(feature = "server")]
pub mod accounts;
pub mod clock;
pub mod config;
pub mod domain;
#[cfg(feature = "server")]
pub mod evaluation;
pub mod judge;
#[cfg(feature = "server")]
pub mod limiter;
pub mod predictions;
#[cfg(feature = "server")]
pub mod queue;
pub mod scoring;
#[cfg(feature = "server")]
pub mod store;
pub mod telemetry;
#[cfg(feature = "server")]
pub mod tokens;
