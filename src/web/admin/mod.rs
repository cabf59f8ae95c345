//! Pages of administration, for maintainers only.

pub mod signups;
