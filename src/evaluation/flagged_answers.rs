//! The answers behind a flag, as evidence for whoever decides on it. Changes nothing.

use std::collections::HashMap;

use crate::domain::sign::Sign;
use crate::predictions::visible;
use crate::store::StoreError;
use crate::store::flags::{Flag, load_flags};
use crate::store::submissions::Submission;

use super::Evaluation;
use super::work::{WorkError, answered};

/// Characters of an answer that are shown: a sign stands out in them, and a page holds many.
const SHOWN_CHARS: usize = 1000;

/// An answer that shows signs of talking to the judge.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FlaggedAnswer {
    /// The question.
    pub question_id: String,
    /// What the answer shows.
    pub signs: Vec<Sign>,
    /// The team's text, with pictures in the place of what prints nothing, and cut where it is long.
    pub answer: String,
}

/// At most `limit` flagged answers of a submission, in the order of their questions' ids.
///
/// # Errors
/// When the stored answers cannot be read, or the database fails.
pub async fn flagged_answers(
    evaluation: &Evaluation,
    submission: &Submission,
    limit: i64,
) -> Result<Vec<FlaggedAnswer>, WorkError> {
    let id = submission.id.clone();
    let flags: Result<Vec<Flag>, StoreError> =
        evaluation.store.read(move |connection| load_flags(connection, Some(&id), None, limit)).await;
    let flags = flags?;
    if flags.is_empty() {
        return Ok(Vec::new());
    }
    let (release, answers) = answered(evaluation, submission, &submission.release_id).await?;
    let places: HashMap<&String, usize> =
        release.key.question_ids.iter().enumerate().map(|(place, id)| (id, place)).collect();
    let shown = flags.into_iter().map(|flag| {
        let answer = places.get(&flag.question_id).and_then(|place| answers.get(*place)?.as_deref());
        FlaggedAnswer {
            answer: shown(answer.unwrap_or_default()),
            question_id: flag.question_id,
            signs: flag.signs,
        }
    });
    Ok(shown.collect())
}

fn shown(answer: &str) -> String {
    let kept = answer.chars().take(SHOWN_CHARS).map(|c| if c == '\n' { c } else { visible(c) });
    let end = if answer.chars().nth(SHOWN_CHARS).is_some() { "…" } else { "" };
    kept.chain(end.chars()).collect()
}

#[cfg(test)]
mod tests {
    use super::{SHOWN_CHARS, shown};

    #[test]
    fn what_prints_nothing_is_seen_and_lines_stay() {
        assert_eq!(shown("a\u{1b}[2J\n\u{202e}b"), "a␛[2J\n\u{fffd}b");
        let long = "é".repeat(SHOWN_CHARS + 1);
        assert_eq!(shown(&long).chars().count(), SHOWN_CHARS + 1);
        assert!(shown(&long).ends_with('…'));
    }
}
