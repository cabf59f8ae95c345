//! Grading: every multiple-choice answer at once, and which open-ended ones a judge must see. Knows neither storage nor
//! which judge scores them, so that a team's own machine grades as the server does.

use serde_json::{Map, Value};

use crate::domain::column::Column;
use crate::domain::fault::{Warning, WarningCode};
use crate::domain::outcome::Outcome;
use crate::domain::question::{QuestionFormat, QuestionOption, Rubric};
use crate::judge::{self, Item};
use crate::scoring::choice::{OptionSet, read_choice};
use crate::scoring::columns::QuestionFacts;

/// How a question is graded.
pub enum Grading {
    /// By reading a letter.
    Choice {
        /// The options.
        options: OptionSet,
        /// The right letter.
        letter: char,
        /// The percent column that it counts in.
        dimension: Column,
    },
    /// By a judge.
    Judged {
        /// The rubric.
        rubric: Rubric,
        /// The question.
        question: String,
        /// A right answer.
        reference: String,
        /// What the annotators saw.
        evidence: Map<String, Value>,
    },
}

/// A question with its key, wherever it comes from. It has no `Debug`, so that no log can hold it.
pub struct GradingQuestion {
    /// The question's id.
    pub question_id: String,
    /// What the columns need to know of it.
    pub facts: QuestionFacts,
    /// The question without its options.
    pub question: String,
    /// The options; none of an open-ended question.
    pub options: Vec<QuestionOption>,
    /// The right letter; empty for an open-ended question.
    pub answer: String,
    /// The right option's text, or the reference answer.
    pub answer_text: String,
    /// The evidence as JSON.
    pub evidence: String,
}

/// The question with this id has a key that no import lets pass.
#[derive(Debug, thiserror::Error)]
#[error("the key of `{0}` cannot be graded by")]
pub struct KeyFault(pub String);

/// The questions of a release with their keys, ready for grading. It has no `Debug`, so that no log can hold it.
#[derive(Default)]
pub struct GradingKey {
    /// The questions' ids, in order.
    pub question_ids: Vec<String>,
    /// How each question is graded.
    pub gradings: Vec<Grading>,
    /// What the columns need to know of each question.
    pub facts: Vec<QuestionFacts>,
}

impl GradingKey {
    /// Prepares the questions of a release, given in its order.
    ///
    /// # Errors
    /// When a key is none that an import lets pass.
    pub fn new(questions: impl IntoIterator<Item = GradingQuestion>) -> Result<GradingKey, KeyFault> {
        let mut key = GradingKey::default();
        for question in questions {
            key.question_ids.push(question.question_id.clone());
            key.facts.push(question.facts);
            key.gradings.push(grading(question)?);
        }
        Ok(key)
    }

    /// Every question's id with its format, in order.
    pub fn formats(&self) -> impl Iterator<Item = (String, QuestionFormat)> {
        let formats = self.facts.iter().map(|facts| facts.question_type.format());
        self.question_ids.iter().cloned().zip(formats)
    }

    /// The normalised answer to the question at `place` as a judge is asked about it; none where no judge is.
    pub fn item<'a>(&'a self, place: usize, answer: &'a str) -> Option<Item<'a>> {
        let Grading::Judged { rubric, question, reference, evidence } = self.gradings.get(place)? else {
            return None;
        };
        let question_id = self.question_ids.get(place)?;
        Some(Item { question_id, rubric: *rubric, question, reference, evidence, answer })
    }

    /// Whether a judge scores answers to the question at `place`.
    pub fn is_judged(&self, place: usize) -> bool {
        matches!(self.gradings.get(place), Some(Grading::Judged { .. }))
    }

    /// How many questions a judge scores.
    pub fn to_judge(&self) -> usize {
        (0..self.gradings.len()).filter(|place| self.is_judged(*place)).count()
    }
}

fn grading(question: GradingQuestion) -> Result<Grading, KeyFault> {
    let fault = || KeyFault(question.question_id.clone());
    let question_type = question.facts.question_type;
    if let Some(rubric) = question_type.rubric() {
        let evidence = serde_json::from_str(&question.evidence).map_err(|_| fault())?;
        let (question, reference) = (question.question, question.answer_text);
        return Ok(Grading::Judged { rubric, question, reference, evidence });
    }
    Ok(Grading::Choice {
        options: OptionSet::new(&question.options),
        letter: question.answer.chars().next().ok_or_else(fault)?,
        dimension: Column::percent_of(question_type).ok_or_else(fault)?,
    })
}

impl Grading {
    /// What becomes of an answer before a judge is asked.
    pub fn outcome(&self, answer: Option<&str>) -> Outcome {
        match self {
            Grading::Choice { options, letter, .. } => {
                let choice = read_choice(options, answer.unwrap_or_default());
                Outcome::Choice { choice, correct: choice.letter == Some(*letter) }
            }
            // A missing answer, or one without a word, makes no false claim either: it is worth nothing.
            Grading::Judged { .. } if answer.is_none_or(judge::is_wordless) => {
                Outcome::Rubric { scores: [0; 3] }
            }
            Grading::Judged { .. } => Outcome::Pending,
        }
    }
}

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
pub fn grade(key: &GradingKey, answers: &[Option<String>]) -> Graded {
    let mut graded = Graded {
        outcomes: Vec::with_capacity(key.gradings.len()),
        graded: 0,
        unparsed: 0,
        first_unparsed: None,
    };
    for (place, grading) in key.gradings.iter().enumerate() {
        let answer = answers.get(place).and_then(Option::as_deref);
        let outcome = grading.outcome(answer);
        if let Outcome::Choice { choice, .. } = outcome {
            graded.graded += 1;
            if answer.is_some() && choice.letter.is_none() {
                graded.unparsed += 1;
                graded.first_unparsed.get_or_insert(place);
            }
        }
        graded.outcomes.push(outcome);
    }
    graded
}

impl Graded {
    /// The warning about letters that could not be read, if there are any.
    pub fn warning(&self, key: &GradingKey) -> Option<Warning> {
        let first = key.question_ids.get(self.first_unparsed?)?;
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
}
