//! How alike the letters of two files are, and whether more so than two models that err apart. Knows nothing of teams.

use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{Rng, SeedableRng};
use sha2::{Digest as _, Sha256};

use super::intervals::seed;

/// The mark of a question without a letter.
pub const NO_LETTER: u8 = 0;

/// Files that differ less than this share of what independent errors would make are near-duplicates: a mixture of two
/// independent files differs from each of them by a half.
const NEAR: f64 = 0.6;

/// The same for files of two teams, which have the same models to start from.
const TWIN: f64 = 0.25;

/// A wrong answer is one of so many.
const WRONG_OPTIONS: f64 = 3.0;

/// Parts of a file that are hashed, and how many letters each has at most.
const BANDS: usize = 16;
const BAND_LETTERS: usize = 48;

/// How far two files of letters agree.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Likeness {
    /// Questions for which both have a letter.
    pub compared: u32,
    /// Of these, the ones with different letters.
    pub differing: u32,
    /// Of those compared, the ones that the first and the second have right.
    pub right: [u32; 2],
}

/// Compares two files by question with the key, [`NO_LETTER`] where there is none.
pub fn likeness(key: &[u8], one: &[u8], other: &[u8]) -> Likeness {
    let mut likeness = Likeness { compared: 0, differing: 0, right: [0; 2] };
    for ((key, one), other) in key.iter().zip(one).zip(other) {
        if *one != NO_LETTER && *other != NO_LETTER {
            likeness.compared += 1;
            likeness.differing += u32::from(one != other);
            likeness.right[0] += u32::from(one == key);
            likeness.right[1] += u32::from(other == key);
        }
    }
    likeness
}

impl Likeness {
    /// Whether the two have more in common than how often they are right.
    pub fn is_near(&self) -> bool {
        self.is_below(NEAR)
    }

    /// Whether the two are nearly the same.
    pub fn is_twin(&self) -> bool {
        self.is_below(TWIN)
    }

    fn is_below(&self, share: f64) -> bool {
        if self.compared == 0 {
            return false;
        }
        let compared = f64::from(self.compared);
        let [one, other] = self.right.map(|right| f64::from(right) / compared);
        let agreeing = one * other + (1.0 - one) * (1.0 - other) / WRONG_OPTIONS;
        self.differing == 0 || f64::from(self.differing) < share * (1.0 - agreeing) * compared
    }
}

/// Hashes of parts of a file's letters, the same parts for every file of a release: nearly identical files share some.
pub fn bands(release: &str, letters: &[u8]) -> Vec<String> {
    let mut random = ChaCha8Rng::from_seed(seed(release, "letter bands"));
    let mut places: Vec<usize> = (0..letters.len()).collect();
    for last in (1..places.len()).rev() {
        let other = (random.next_u64() % (last as u64 + 1)) as usize;
        places.swap(last, other);
    }
    let band_letters = (places.len() / BANDS).min(BAND_LETTERS);
    if band_letters == 0 {
        return Vec::new();
    }
    let hash = |(band, places): (usize, &[usize])| {
        let mut hash = Sha256::new();
        hash.update([band as u8]);
        places.iter().for_each(|place| hash.update([letters[*place]]));
        hex::encode(&hash.finalize()[..12])
    };
    places.chunks_exact(band_letters).take(BANDS).enumerate().map(hash).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const QUESTIONS: usize = 3020;

    fn key() -> Vec<u8> {
        (0..QUESTIONS).map(|question| b'A' + (question * 7 % 11 % 4) as u8).collect()
    }

    /// A file that is wrong where `is_wrong` says so, each time by `shift` letters.
    fn file(is_wrong: impl Fn(usize) -> bool, shift: u8) -> Vec<u8> {
        let wrong = |letter: u8| b'A' + (letter - b'A' + shift) % 4;
        let letter =
            |(question, letter): (usize, u8)| if is_wrong(question) { wrong(letter) } else { letter };
        key().into_iter().enumerate().map(letter).collect()
    }

    #[test]
    fn strong_files_are_not_near_for_being_right_alone() {
        // Right in 90 % each, with errors in different places.
        let (one, other) = (file(|q| q % 10 == 0, 1), file(|q| q % 10 == 5, 1));
        let likeness = likeness(&key(), &one, &other);
        assert_eq!((likeness.compared, likeness.differing), (3020, 604));
        assert!(!likeness.is_near());
    }

    #[test]
    fn a_file_with_a_few_other_letters_is_near_whatever_is_left_out() {
        let one = file(|q| q % 3 == 0, 1);
        let mut other = file(|q| q % 3 == 0 || q % 20 == 1, 1);
        assert!(likeness(&key(), &one, &other).is_near());
        other[100..].fill(NO_LETTER);
        let part = likeness(&key(), &one, &other);
        assert!(part.is_near() && part.compared == 100);
        assert!(!likeness(&key(), &one, &vec![NO_LETTER; QUESTIONS]).is_near());
    }

    #[test]
    fn a_mixture_of_two_files_is_near_to_both() {
        let (one, other) = (file(|q| q % 5 == 0, 1), file(|q| q % 5 == 2, 2));
        assert!(!likeness(&key(), &one, &other).is_near());
        let mixed: Vec<u8> = (0..QUESTIONS).map(|q| if q / 3 % 2 == 0 { one[q] } else { other[q] }).collect();
        for part in [&one, &other] {
            assert!(likeness(&key(), &mixed, part).is_near());
            assert!(!likeness(&key(), &mixed, part).is_twin());
        }
    }

    #[test]
    fn nearly_identical_files_share_a_band_and_strangers_none() {
        let one = file(|q| q % 4 == 0, 1);
        let near = file(|q| q % 4 == 0 || q % 50 == 1, 1);
        let other = file(|q| q % 4 == 1, 2);
        let shared = |other: &[u8]| {
            let own = bands("r", &one);
            bands("r", other).iter().filter(|hash| own.contains(hash)).count()
        };
        assert_eq!(bands("r", &one).len(), BANDS);
        assert!(shared(&near) > 2);
        assert_eq!(shared(&other), 0);
        assert_ne!(bands("r", &one), bands("s", &one));
        assert_eq!(bands("r", b"ABC"), Vec::<String>::new());
    }
}
