//! What maintainers look at and decide that belongs to no single use case: the audit log, what needs them now, the queue of
//! flags and their notes. Knows nothing of requests and commands.

pub mod audit;
pub mod flags;
pub mod notes;
pub mod overview;
