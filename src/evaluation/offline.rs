//! Grading a file of answers on a team's own machine: the server's grader, with the built-in judge. Touches no storage.

use crate::domain::fault::Warning;
use crate::domain::outcome::Outcome;
use crate::judge::{Asking, Judge as _, OfflineJudge, normalise};
use crate::scoring::columns::{ColumnScore, ScoringError, score_columns};

use super::grading::{GradingKey, grade};

/// What a file of answers comes to.
pub struct OfflineGrades {
    /// The columns that stand, in the benchmark's order.
    pub columns: Vec<ColumnScore>,
    /// Multiple-choice answers without a letter that could be read.
    pub unparsed: usize,
    /// The warning about those, if there are any.
    pub warning: Option<Warning>,
}

/// Grades the answers to the questions of `key`, given in their order; `content_sha256` is the release's hash, which
/// seeds the intervals.
///
/// # Errors
/// When the outcomes are not those of these questions.
pub async fn grade_offline(
    key: &GradingKey,
    content_sha256: &str,
    answers: &[Option<String>],
) -> Result<OfflineGrades, ScoringError> {
    let mut graded = grade(key, answers);
    for (place, outcome) in graded.outcomes.iter_mut().enumerate() {
        let (Outcome::Pending, Some(Some(answer))) = (&outcome, answers.get(place)) else { continue };
        let answer = normalise(answer);
        let Some(item) = key.item(place, &answer) else { continue };
        // The built-in judge scores every answer.
        if let Ok(verdict) = OfflineJudge.judge(&item, Asking::to_the_end()).await.result {
            *outcome = Outcome::Rubric { scores: verdict.scores };
        }
    }
    Ok(OfflineGrades {
        columns: score_columns(content_sha256, &key.facts, &graded.outcomes)?,
        unparsed: graded.unparsed,
        warning: graded.warning(key),
    })
}
