//! What became of one answer, and the bytes in which a submission's outcomes are kept. Knows nothing of
//! columns.

use super::choice::{Choice, Reason};
use crate::text_enum;

/// What became of the answer to one question.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outcome {
    /// A multiple-choice answer was read.
    Choice {
        /// The letter found, or why none was.
        choice: Choice,
        /// Whether it is the right one; a missing answer is wrong.
        correct: bool,
    },
    /// An open-ended answer was judged: three integers from 0 to 5, in the order of the rubric's criteria.
    Rubric {
        /// The three integers.
        scores: [u8; 3],
    },
    /// The answer is not graded or judged yet.
    Pending,
    /// The answer could not be judged, whatever was tried.
    Failed(FailureReason),
}

text_enum! {
    /// Why the judge gave no score for an answer.
    FailureReason {
        Malformed = "malformed",
        Truncated = "truncated",
        Refused = "refused",
        ContentFilter = "content_filter",
        TooLong = "too_long",
        Rejected = "rejected",
        /// The judge failed at this answer, again and again, while it judged others.
        Unavailable = "unavailable",
    }
}

/// Why stored outcomes cannot be read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum DecodeError {
    /// They were written by another version, or there are none.
    #[error("the outcomes are not of version {VERSION}")]
    Version,
    /// The bytes end inside an outcome.
    #[error("the outcomes end early")]
    Length,
    /// An outcome is none that this version writes.
    #[error("outcome {index} is unknown")]
    Unknown {
        /// Position of the outcome, from 0.
        index: usize,
    },
}

/// The highest score of a criterion.
pub const MAX_SCORE: u8 = 5;

/// Changes whenever the meaning of a byte changes, also when a reason is put before another.
const VERSION: u8 = 1;
const WIDTH: usize = 4;

const PENDING: u8 = 0;
const WRONG: u8 = 1;
const RIGHT: u8 = 2;
const RUBRIC: u8 = 3;
const FAILED: u8 = 4;

/// Outcomes in the order of the release's questions as bytes: a version, then four bytes an outcome.
pub fn encode(outcomes: &[Outcome]) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(1 + WIDTH * outcomes.len());
    bytes.push(VERSION);
    for outcome in outcomes {
        bytes.extend(match *outcome {
            Outcome::Pending => [PENDING, 0, 0, 0],
            Outcome::Choice { choice, correct } => {
                let letter = choice.letter.and_then(|letter| u8::try_from(letter).ok()).unwrap_or(0);
                [if correct { RIGHT } else { WRONG }, letter, place(Reason::ALL, choice.reason), 0]
            }
            Outcome::Rubric { scores: [first, second, third] } => [RUBRIC, first, second, third],
            Outcome::Failed(reason) => [FAILED, place(FailureReason::ALL, reason), 0, 0],
        });
    }
    bytes
}

/// The outcomes that [`encode`] wrote.
///
/// # Errors
/// [`DecodeError`] where the bytes are not what this version writes.
pub fn decode(bytes: &[u8]) -> Result<Vec<Outcome>, DecodeError> {
    let Some((&VERSION, bytes)) = bytes.split_first() else { return Err(DecodeError::Version) };
    let (chunks, []) = bytes.as_chunks::<WIDTH>() else { return Err(DecodeError::Length) };
    let read = |(index, chunk)| decode_one(chunk).ok_or(DecodeError::Unknown { index });
    chunks.iter().copied().enumerate().map(read).collect()
}

fn decode_one(chunk: [u8; WIDTH]) -> Option<Outcome> {
    match chunk {
        [PENDING, 0, 0, 0] => Some(Outcome::Pending),
        [kind @ (WRONG | RIGHT), letter, reason, 0] => {
            let letter = match letter {
                0 => None,
                b'A'..=b'Z' => Some(char::from(letter)),
                _ => return None,
            };
            let reason = *Reason::ALL.get(usize::from(reason))?;
            Some(Outcome::Choice { choice: Choice { letter, reason }, correct: kind == RIGHT })
        }
        [RUBRIC, scores @ ..] if scores.iter().all(|score| *score <= MAX_SCORE) => {
            Some(Outcome::Rubric { scores })
        }
        [FAILED, reason, 0, 0] => FailureReason::ALL.get(usize::from(reason)).copied().map(Outcome::Failed),
        _ => None,
    }
}

/// The position of a value among all, which fits a byte as no enum here has 256 values.
fn place<T: PartialEq>(all: &[T], value: T) -> u8 {
    (0..).zip(all).find(|(_, known)| **known == value).map_or(u8::MAX, |(place, _)| place)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn one_of_each() -> Vec<Outcome> {
        let mut outcomes = vec![Outcome::Pending, Outcome::Rubric { scores: [0, 3, 5] }];
        outcomes.extend(FailureReason::ALL.iter().map(|reason| Outcome::Failed(*reason)));
        for &reason in Reason::ALL {
            for letter in [None, Some('A'), Some('Z')] {
                let choice = Choice { letter, reason };
                outcomes.push(Outcome::Choice { choice, correct: letter.is_some() });
            }
        }
        outcomes
    }

    #[test]
    fn what_is_encoded_is_decoded() {
        let outcomes = one_of_each();
        let bytes = encode(&outcomes);
        assert_eq!(bytes.len(), 1 + 4 * outcomes.len());
        assert_eq!(decode(&bytes), Ok(outcomes));
        assert_eq!(decode(&encode(&[])), Ok(Vec::new()));
    }

    #[test]
    fn bytes_of_another_version_are_refused() {
        assert_eq!(decode(&[]), Err(DecodeError::Version));
        assert_eq!(decode(&[VERSION + 1, 0, 0, 0, 0]), Err(DecodeError::Version));
    }

    #[test]
    fn bytes_that_end_early_are_refused() {
        let bytes = encode(&one_of_each());
        assert_eq!(decode(&bytes[..bytes.len() - 1]), Err(DecodeError::Length));
    }

    #[test]
    fn a_value_out_of_range_is_never_taken_for_an_outcome() {
        for chunk in [
            [PENDING, 0, 0, 1],
            [WRONG, b'a', 0, 0],
            [RIGHT, b'A', u8::MAX, 0],
            [RUBRIC, 0, 6, 0],
            [FAILED, u8::MAX, 0, 0],
            [FAILED + 1, 0, 0, 0],
        ] {
            let bytes = [&[VERSION, PENDING, 0, 0, 0], chunk.as_slice()].concat();
            assert_eq!(decode(&bytes), Err(DecodeError::Unknown { index: 1 }), "{chunk:?}");
        }
    }

    #[test]
    fn the_numbers_of_reasons_are_fixed() {
        let texts: Vec<&str> = Reason::ALL.iter().map(|reason| reason.as_str()).collect();
        let expected = "label_only text_exact label_text declared verdict_list after_echo corrected \
                        preferred verdict_first verdict_last single_mention text ordinal empty \
                        infra_error reasoning_unclosed empty_field multiple stuffing conflict_label_text \
                        conflicting_declarations echo_only conditional hedge only_rejections \
                        out_of_range multiple_text none_of_above refusal injection no_signal";
        assert_eq!(texts.join(" "), expected, "put a new reason last, or raise the version");
    }

    #[test]
    fn the_numbers_of_failure_reasons_are_fixed() {
        let texts: Vec<&str> = FailureReason::ALL.iter().map(|reason| reason.as_str()).collect();
        let expected = "malformed truncated refused content_filter too_long rejected unavailable";
        assert_eq!(texts.join(" "), expected, "put a new reason last, or raise the version");
    }
}
