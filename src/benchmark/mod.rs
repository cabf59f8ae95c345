//! Releases of the benchmark: reading, checking and importing their files. Knows nothing of submissions.

pub mod appended;
#[cfg(feature = "server")]
mod baselines;
#[cfg(feature = "server")]
pub mod building;
pub mod cameras;
#[cfg(feature = "server")]
pub mod files;
#[cfg(feature = "server")]
pub mod import;
mod record;
pub mod release;
pub mod summary;
#[cfg(test)]
mod tests;
#[cfg(feature = "server")]
pub mod videos;
