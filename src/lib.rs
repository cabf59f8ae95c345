//! Secchi: the evaluation server and public leaderboard of MarineLife-16K.
//!
//! The crate is built in floors. A file imports only from floors below its own or from its own folder; rooms on one
//! floor do not know each other. `tests/architecture.rs` holds this.
//!
//! | floor | rooms |
//! | --- | --- |
//! | 5 | `main.rs` and [`cli`], the door; [`app`], the wiring |
//! | 4 | [`http`], [`web`], [`worker`] |
//! | 3 | [`evaluation`], [`benchmark`], [`frames`], [`accounts`], [`administration`], [`archive`]: the use cases, which own the transactions |
//! | 2 | [`store`], [`queue`], [`judge`], [`video`], [`media`], [`tokens`], [`records`], [`client`], `mail` |
//! | 1 | [`scoring`], [`predictions`], [`limiter`], [`telemetry`] |
//! | 0 | [`domain`], [`config`], [`clock`] |

#[cfg(feature = "server")]
pub mod accounts;
#[cfg(feature = "server")]
pub mod administration;
#[cfg(feature = "server")]
pub mod app;
#[cfg(feature = "server")]
pub mod archive;
pub mod benchmark;
pub mod cli;
pub mod client;
pub mod clock;
pub mod config;
pub mod domain;
pub mod evaluation;
#[cfg(feature = "server")]
pub mod frames;
#[cfg(feature = "server")]
pub mod http;
pub mod judge;
pub mod limiter;
#[cfg(feature = "smtp")]
pub mod mail;
#[cfg(feature = "server")]
pub mod media;
pub mod predictions;
#[cfg(feature = "server")]
pub mod queue;
pub mod records;
pub mod scoring;
#[cfg(feature = "server")]
pub mod store;
pub mod telemetry;
#[cfg(feature = "server")]
pub mod tokens;
#[cfg(feature = "server")]
pub mod video;
#[cfg(feature = "server")]
pub mod web;
#[cfg(feature = "server")]
pub mod worker;
