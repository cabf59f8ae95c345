//! How entries stand among each other in a column, by tests of every pair: rank ranges, tiers, and who cannot be told
//! apart from the best. Knows nothing of whose the entries are.
//!
//! All three follow from an entry's own comparisons with every other one (Holm, at 5 % together), so that they agree: whom
//! nobody is clearly above has 1 as its best rank, ties with the best, and is no first of a tier below the first one
//! unless somebody above it is.

mod field;
mod levels;
#[cfg(test)]
mod tests;

use serde::{Deserialize, Serialize};

use crate::domain::column::Column;

pub use field::Field;
use levels::{Levels, cut};

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

/// The entries of a board that have a value in a column, highest first, made ready for comparing each with all others.
pub struct Contest {
    column: Column,
    /// Positions in the field.
    order: Vec<usize>,
    levels: Levels,
}

/// How sure it is of each entry of a contest, in its order, that it differs from the one that was compared with it.
struct Compared {
    levels: Vec<u32>,
    /// The level from which on a difference is clear.
    cut: u32,
}

impl Compared {
    /// Whether the one that was compared differs from the one at this place of the order.
    fn is_clear(&self, place: usize) -> bool {
        self.levels[place] >= self.cut
    }
}

impl Contest {
    /// The contest of these entries of a field, given by their positions.
    pub fn new(field: &Field, column: Column, members: &[usize]) -> Contest {
        let order = field.order(column, members);
        let levels = Levels::new(column, field.videos(column), order.len().saturating_sub(1));
        Contest { column, order, levels }
    }

    /// How one of the entries stands where nobody's place is known but those of some that were compared before, by the
    /// tiers that they got then.
    pub fn standing(
        &mut self,
        field: &Field,
        entry: usize,
        tier_of: impl Fn(usize) -> Option<u32>,
    ) -> Option<Standing> {
        let place = self.order.iter().position(|other| *other == entry)?;
        let tiers: Vec<Option<u32>> = self.order[..place].iter().map(|other| tier_of(*other)).collect();
        let above = tiers.iter().rev().find_map(|tier| *tier);
        let first = above.and_then(|above| tiers.iter().position(|tier| *tier == Some(above)));
        let compared = self.compare(field, &[entry]).pop()?;
        let tier = match above.zip(first) {
            Some((above, first)) => above + u32::from(compared.is_clear(first)),
            None => 1,
        };
        Some(self.read(field, place, &compared, tier))
    }

    /// What the comparisons of the entry at a place of the order come to.
    fn read(&self, field: &Field, place: usize, compared: &Compared, tier: u32) -> Standing {
        let value = |entry: usize| field.value(self.column, entry);
        let own = value(self.order[place]);
        let higher = self.order.partition_point(|other| value(*other) > own);
        let lower = self.order.partition_point(|other| value(*other) >= own);
        let clear = |levels: &[u32]| levels.iter().filter(|level| **level >= compared.cut).count() as u32;
        Standing {
            range: [
                1 + clear(&compared.levels[..higher]),
                self.order.len() as u32 - clear(&compared.levels[lower..]),
            ],
            tier,
            ties_best: !compared.is_clear(0),
        }
    }

    /// Compares some entries with all.
    fn compare(&mut self, field: &Field, entries: &[usize]) -> Vec<Compared> {
        let others = self.order.len();
        let mut levels = vec![vec![0; others]; entries.len()];
        field.gaps(self.column, entries, &self.order, |entry, other, gap| {
            levels[entry][other] = self.levels.of(gap);
        });
        // An entry does not differ from itself, which is level 0 and no comparison.
        let compared = |levels: Vec<u32>| Compared { cut: cut(&levels, others.saturating_sub(1)), levels };
        levels.into_iter().map(compared).collect()
    }
}

/// A whole contest, worked off from the highest value down in steps, so that it can be left between two of them.
pub struct Walk {
    contest: Contest,
    next: usize,
    tier: u32,
    /// The place of the first of the tier.
    first: usize,
}

impl Walk {
    /// A walk that is to begin.
    pub fn new(contest: Contest) -> Walk {
        Walk { contest, next: 0, tier: 1, first: 0 }
    }

    /// The standings of the next entries, at most so many, by their positions in the field; none at the end.
    pub fn step(&mut self, field: &Field, at_most: usize) -> Vec<(usize, Standing)> {
        let end = self.contest.order.len().min(self.next + at_most);
        let entries = self.contest.order[self.next..end].to_vec();
        let compared = self.contest.compare(field, &entries);
        let mut standings = Vec::with_capacity(entries.len());
        for (entry, compared) in entries.into_iter().zip(&compared) {
            if compared.is_clear(self.first) {
                (self.tier, self.first) = (self.tier + 1, self.next);
            }
            standings.push((entry, self.contest.read(field, self.next, compared, self.tier)));
            self.next += 1;
        }
        standings
    }
}
