//! How entries stand among each other in a column, by tests of every pair: rank ranges, tiers, and who cannot be told
//! apart from the best. Knows nothing of whose the entries are.

use serde::{Deserialize, Serialize};

/// How an entry stands in a column.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Standing {
    /// The best and the worst rank that the tests allow, 1 the highest value.
    pub range: [u32; 2],
    /// The tier, 1 the best: it opens with the highest value that is clearly below the first of the tier before, and
    /// holds those down to the next such one.
    pub tier: u32,
    /// Whether it cannot be told apart from the entry with the highest value; true for that entry itself.
    pub ties_best: bool,
}
