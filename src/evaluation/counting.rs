//! What is counted about graded answers, and which of them talk to the judge. No score depends on it.

use crate::domain::column::Column;
use crate::domain::outcome::Outcome;
use crate::scoring::suspicion::signs;
use crate::store::flags::AnswerSigns;
use crate::telemetry::Metrics;

use super::grading::{Graded, Grading, GradingKey};

/// The open-ended answers that show signs of talking to the judge; no score depends on them.
pub fn flag(key: &GradingKey, answers: &[Option<String>]) -> Vec<AnswerSigns> {
    let open_ended = key.gradings.iter().enumerate().filter_map(|(place, grading)| match grading {
        Grading::Judged { .. } => Some((&key.question_ids[place], answers.get(place)?.as_deref()?)),
        Grading::Choice { .. } => None,
    });
    open_ended
        .map(|(question_id, answer)| (question_id.clone(), signs(answer)))
        .filter(|(_, signs)| !signs.is_empty())
        .collect()
}

/// Counts flagged answers by sign.
pub fn count_flags(flags: &[AnswerSigns], metrics: &Metrics) {
    for sign in flags.iter().flat_map(|(_, signs)| signs) {
        metrics.flagged_answers.with_label_values(&[sign.as_str()]).inc();
    }
}

/// Counts the graded answers by dimension and outcome.
pub fn count_graded(graded: &Graded, key: &GradingKey, answers: &[Option<String>], metrics: &Metrics) {
    let mut counts = [[0_u64; OUTCOMES.len()]; Column::PERCENT.len()];
    for (place, (grading, outcome)) in key.gradings.iter().zip(&graded.outcomes).enumerate() {
        let (Grading::Choice { dimension, .. }, Outcome::Choice { choice, correct }) = (grading, outcome)
        else {
            continue;
        };
        let kind = match (answers.get(place), choice.letter) {
            (None | Some(None), _) => 3,
            (_, None) => 2,
            _ => usize::from(!correct),
        };
        if let Some(row) = Column::PERCENT.iter().position(|column| column == dimension) {
            counts[row][kind] += 1;
        }
    }
    for (dimension, row) in Column::PERCENT.iter().zip(counts) {
        for (outcome, count) in OUTCOMES.iter().zip(row) {
            metrics.graded_answers.with_label_values(&[dimension.as_str(), outcome]).inc_by(count);
        }
    }
}

const OUTCOMES: [&str; 4] = ["right", "wrong", "unparsed", "missing"];
