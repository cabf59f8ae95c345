//! What a submission comes to under a corrected release, from what it came to under the one that is corrected: only answers
//! to questions that differ are graded anew. Knows neither storage nor boards.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use crate::domain::column::Column;
use crate::domain::outcome::Outcome;
use crate::scoring::columns::column_value;

use super::catalogue::GradingRelease;
use super::release_changes::ReleaseChanges;

/// A release beside the one that it corrects. It has no `Debug`, so that no log can hold it.
pub(super) struct Corrected {
    /// The release that corrects.
    pub(super) release: Arc<GradingRelease>,
    /// By question position where the other release has the same question; none where it differs.
    former: Vec<Option<usize>>,
    /// The columns whose values can differ.
    pub(super) columns: Vec<Column>,
}

impl Corrected {
    /// A release beside the one that it corrects, with what is different about their questions.
    pub(super) fn new(
        release: Arc<GradingRelease>,
        corrects: &GradingRelease,
        changes: &ReleaseChanges,
    ) -> Corrected {
        let differing: HashSet<&str> =
            changes.questions.iter().map(|question| question.question_id.as_str()).collect();
        let places: HashMap<&String, usize> = corrects.key.question_ids.iter().zip(0..).collect();
        let former = |id: &String| places.get(id).copied().filter(|_| !differing.contains(id.as_str()));
        let former = release.key.question_ids.iter().map(former).collect();
        let counts_others = |column: &Column| changes.by_column.contains_key(column);
        let columns = Column::ALL.iter().copied().filter(|column| match column {
            Column::Mcq => Column::PERCENT.iter().any(counts_others),
            _ => counts_others(column),
        });
        Corrected { former, columns: columns.collect(), release }
    }

    /// The outcomes of answers, given in the release's order, before a judge is asked; `former` are those under the other
    /// release, as far as there are any.
    pub(super) fn outcomes(&self, answers: &[Option<String>], former: Option<&[Outcome]>) -> Vec<Outcome> {
        let known = |same: Option<usize>| {
            let is_known =
                |outcome: &Outcome| matches!(outcome, Outcome::Choice { .. } | Outcome::Rubric { .. });
            former?.get(same?).copied().filter(is_known)
        };
        let gradings = self.release.key.gradings.iter().zip(&self.former).enumerate();
        let outcomes = gradings.map(|(place, (grading, same))| {
            known(*same).unwrap_or_else(|| grading.outcome(answers.get(place).and_then(Option::as_deref)))
        });
        outcomes.collect()
    }

    /// The values in the columns that can differ, as far as they stand.
    pub(super) fn values(&self, outcomes: &[Outcome]) -> Vec<(Column, f64)> {
        let value =
            |column: &Column| Some((*column, column_value(*column, &self.release.key.facts, outcomes)?));
        self.columns.iter().filter_map(value).collect()
    }
}
