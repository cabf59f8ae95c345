//! Grading: every multiple-choice answer at once, and which open-ended ones a judge must see. Does not touch storage.

use crate::domain::column::Column;
use crate::domain::fault::{Warning, WarningCode};
use crate::domain::outcome::Outcome;
use crate::judge;
use crate::scoring::choice::read_choice;
use crate::scoring::suspicion::signs;
use crate::store::flags::AnswerSigns;
use crate::telemetry::Metrics;

use super::catalogue::{Grading, GradingRelease};

/// What grading makes of a file of answers.
pub struct Graded {
    /// One outcome a question, in the release's order; answers that a judge must see are pending.
    pub outcomes: Vec<Outcome>,
    /// Multiple-choice questions.
    pub graded: usize,
    /// Multiple-choice answers without a letter that could be read.
    pub unparsed: usize,
    /// The first question with such an answer.
    first_unparsed: Option<usize>,
}

/// Grades the answers to a release, given in the order of its questions.
pub fn grade(release: &GradingRelease, answers: &[Option<String>]) -> Graded {
    let mut graded = Graded {
        outcomes: Vec::with_capacity(release.gradings.len()),
        graded: 0,
        unparsed: 0,
        first_unparsed: None,
    };
    for (place, grading) in release.gradings.iter().enumerate() {
        let answer = answers.get(place).and_then(Option::as_deref);
        let outcome = match grading {
            Grading::Choice { options, letter, .. } => {
                graded.graded += 1;
                let choice = read_choice(options, answer.unwrap_or_default());
                if answer.is_some() && choice.letter.is_none() {
                    graded.unparsed += 1;
                    graded.first_unparsed.get_or_insert(place);
                }
                Outcome::Choice { choice, correct: choice.letter == Some(*letter) }
            }
            // A missing answer, or one without a word, makes no false claim either: it is worth nothing.
            Grading::Judged { .. } if answer.is_none_or(judge::is_wordless) => {
                Outcome::Rubric { scores: [0; 3] }
            }
            Grading::Judged { .. } => Outcome::Pending,
        };
        graded.outcomes.push(outcome);
    }
    graded
}

/// The open-ended answers that show signs of talking to the judge; no score depends on them.
pub fn flag(release: &GradingRelease, answers: &[Option<String>]) -> Vec<AnswerSigns> {
    let open_ended = release.gradings.iter().enumerate().filter_map(|(place, grading)| match grading {
        Grading::Judged { .. } => Some((&release.question_ids[place], answers.get(place)?.as_deref()?)),
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

impl Graded {
    /// The warning about letters that could not be read, if there are any.
    pub fn warning(&self, release: &GradingRelease) -> Option<Warning> {
        let first = release.question_ids.get(self.first_unparsed?)?;
        Some(Warning {
            code: WarningCode::UnparsedAnswer,
            count: self.unparsed as u64,
            detail: format!(
                "In {} multiple-choice answers no option letter could be read (the first is `{first}`); they count as \
                 wrong. Answer with the option letter only.",
                self.unparsed
            ),
        })
    }

    /// Counts the graded answers by dimension and outcome.
    pub fn count(&self, release: &GradingRelease, answers: &[Option<String>], metrics: &Metrics) {
        let mut counts = [[0_u64; OUTCOMES.len()]; Column::PERCENT.len()];
        for (place, (grading, outcome)) in release.gradings.iter().zip(&self.outcomes).enumerate() {
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
}

const OUTCOMES: [&str; 4] = ["right", "wrong", "unparsed", "missing"];
