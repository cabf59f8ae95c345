//! Chance that is the same for the same seed, on every machine and for all time. Knows nothing of what is drawn.

use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{Rng as _, SeedableRng as _};

use crate::scoring::intervals;

/// Draws that follow from a seed and a label alone.
pub(super) struct Dice(ChaCha8Rng);

impl Dice {
    /// Dice of their own for each label, so that one more video changes no draw about another.
    pub(super) fn new(seed: u64, label: &str) -> Dice {
        Dice(ChaCha8Rng::from_seed(intervals::seed(&seed.to_string(), label)))
    }

    /// A number below `end`; 0 where there is none.
    pub(super) fn below(&mut self, end: usize) -> usize {
        (self.0.next_u64() % (end as u64).max(1)) as usize
    }

    /// Puts `items` into any order.
    pub(super) fn shuffle<T>(&mut self, items: &mut [T]) {
        for last in (1..items.len()).rev() {
            let other = self.below(last + 1);
            items.swap(last, other);
        }
    }
}
