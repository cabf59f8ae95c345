//! Releases of the benchmark: reading and checking their files. Knows nothing of submissions.

pub mod cameras;
mod record;
pub mod release;
pub mod summary;
#[cfg(test)]
mod tests;
