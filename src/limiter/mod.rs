//! Limits on how often and how much is asked: of this server by its users, and of the judge by this server. Knows
//! nothing of what a request or a call is about.

mod backoff;
mod flow;
mod gate;
#[cfg(feature = "server")]
mod http;
#[cfg(feature = "server")]
mod origin;
#[cfg(feature = "server")]
mod shared;
#[cfg(test)]
mod tests;

pub use backoff::{Backoff, told_wait};
pub use flow::{Closed, Effect, FlowLimits, Told};
pub use gate::{Gate, Pass, Refused};
#[cfg(feature = "server")]
pub use http::{HttpLimiter, Turn};
#[cfg(feature = "server")]
pub use origin::origin;
