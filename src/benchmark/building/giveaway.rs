//! What the options and the other questions of a release give away to somebody who never sees a video. Knows nothing of how
//! options are made.

use std::collections::HashSet;

use super::super::baselines::blind;
use super::super::release::{Question, ReleaseContent};
use super::sameness::{may_be_same, meaning};
use crate::domain::question::{QuestionFormat, QuestionType};
use crate::scoring::baselines::{BlindQuestion, Rule, blind_letters};
use crate::scoring::intervals::wilson;

/// How far guessing by one rule comes with the questions of one type.
#[derive(Debug, Clone, PartialEq)]
pub struct Guess {
    /// The type.
    pub question_type: QuestionType,
    /// What is guessed by.
    pub rule: &'static str,
    /// Questions that are guessed right.
    pub right: u64,
    /// Questions of the type.
    pub questions: u64,
    /// Whether other questions of the video name the answer by the paper's own wording, so that no option could mend it.
    pub is_inherent: bool,
}

impl Guess {
    /// Percent that is guessed right.
    pub fn percent(&self) -> f64 {
        100.0 * self.right as f64 / self.questions.max(1) as f64
    }

    /// Whether it is surely more than this percentage, and could be mended.
    pub fn is_above(&self, percent: f64) -> bool {
        !self.is_inherent && wilson(self.right, self.questions)[0] > percent
    }
}

/// Guesses by every rule, for each multiple-choice type that there is.
pub fn guesses(content: &ReleaseContent) -> Vec<Guess> {
    let questions: Vec<BlindQuestion<'_>> = content.questions.iter().filter_map(blind).collect();
    let of_release = Rule::ALL.iter().map(|rule| (rule.as_str(), blind_letters(*rule, &questions)));
    let most_alike = ("alike_option", questions.iter().map(most_alike).collect());
    let rules: Vec<(&str, Vec<Option<char>>)> = of_release.chain([most_alike]).collect();
    let mut guesses = Vec::new();
    let types = QuestionType::ALL.iter().filter(|known| known.format() == QuestionFormat::MultipleChoice);
    for question_type in types {
        for (rule, letters) in &rules {
            let of_type =
                questions.iter().zip(letters).filter(|(question, _)| question.kind == question_type.as_str());
            let (mut right, mut count) = (0, 0);
            for (question, letter) in of_type {
                count += 1;
                right += u64::from(*letter == Some(question.right));
            }
            // The questions about its looks and its movement name the central object.
            let is_inherent =
                *question_type == QuestionType::CentralObject && *rule == Rule::SharedWords.as_str();
            if count > 0 {
                guesses.push(Guess {
                    question_type: *question_type,
                    rule,
                    right,
                    questions: count,
                    is_inherent,
                });
            }
        }
    }
    guesses
}

/// The option that shares most words with the others; the first of equals.
fn most_alike(question: &BlindQuestion<'_>) -> Option<char> {
    let meanings: Vec<_> = question.options.iter().map(|(_, text)| meaning(text)).collect();
    let shared = |place: usize| -> usize {
        let others = meanings.iter().enumerate().filter(|(other, _)| *other != place);
        others.map(|(_, other)| meanings[place].intersection(other).count()).sum()
    };
    let claims = question.options.iter().enumerate().map(|(place, (letter, _))| (*letter, shared(place)));
    claims.reduce(|best, next| if next.1 > best.1 { next } else { best }).map(|(letter, _)| letter)
}

/// The ids of questions with an option beside the right one that may be right too, or two that say the same.
pub fn doubtful(content: &ReleaseContent) -> Vec<&str> {
    let is_doubtful = |question: &&Question| {
        let right = &question.key.answer_text;
        let mut folded = HashSet::new();
        let is_again = question.options.iter().any(|option| !folded.insert(option.text.to_lowercase()));
        let wrong = question.options.iter().filter(|option| option.label != question.key.answer);
        // An option of several parts says as much as another one only where all of its parts do.
        let is_right = |text: &str| match question.question_type {
            QuestionType::CentralObjectAppearance | QuestionType::CameraMotion => {
                meaning(text) == meaning(right)
            }
            QuestionType::ObjectDetect => meaning(text).is_subset(&meaning(right)),
            _ => may_be_same(text, right),
        };
        is_again || wrong.map(|option| option.text.as_str()).any(is_right)
    };
    content.questions.iter().filter(is_doubtful).map(|question| question.question_id.as_str()).collect()
}
