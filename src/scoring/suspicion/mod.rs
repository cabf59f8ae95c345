//! Signs that an open-ended answer speaks to the judge instead of describing a video. They are hints for maintainers:
//! no score depends on them, and nothing here knows of scores. Every step takes time linear in the answer's length.

mod disguise;
mod noise;
mod speech;
#[cfg(test)]
mod tests;
mod words;

use std::collections::BTreeSet;

use super::choice::clean::plain_signs;
use crate::domain::sign::Sign;

/// The signs that a raw answer shows, in the order of [`Sign::ALL`]; none if it only describes.
pub fn signs(answer: &str) -> Vec<Sign> {
    let mut found = BTreeSet::new();
    disguise::find(answer, &mut found);
    let plain = plain_signs(answer);
    let said = disguise::without_leaked_marks(&plain);
    disguise::find_marks(said, &mut found);
    noise::find(said, &mut found);
    speech::find(said, &mut found);
    found.into_iter().collect()
}
