//! The scores of rules that never see a video, worked out of a release's own texts when it is imported. Knows nothing of
//! the rules themselves.

use crate::domain::choice::{Choice, Reason};
use crate::domain::outcome::Outcome;
use crate::scoring::baselines::{BlindQuestion, Rule, blind_letters};
use crate::scoring::columns::{QuestionFacts, ScoringError, score_columns};
use crate::store::scores::Score;

use super::release::{Question, ReleaseContent};

/// The scores of each rule in the multiple-choice columns of a release.
///
/// # Errors
/// When the columns cannot be worked out.
pub fn baseline_scores(
    release: &str,
    content: &ReleaseContent,
) -> Result<Vec<(Rule, Vec<Score>)>, ScoringError> {
    let facts: Vec<QuestionFacts> = content
        .questions
        .iter()
        .map(|question| QuestionFacts {
            question_type: question.question_type,
            camera: content.videos[question.video].camera,
            video: question.video,
        })
        .collect();
    let asked: Vec<(usize, BlindQuestion<'_>)> = content
        .questions
        .iter()
        .enumerate()
        .filter_map(|(place, question)| Some((place, blind(question)?)))
        .collect();
    let (places, questions): (Vec<usize>, Vec<BlindQuestion<'_>>) = asked.into_iter().unzip();
    let score = |rule: &Rule| {
        let mut outcomes = vec![Outcome::Pending; content.questions.len()];
        for ((place, question), letter) in places.iter().zip(&questions).zip(blind_letters(*rule, &questions))
        {
            let choice = Choice { letter, reason: Reason::LabelOnly };
            outcomes[*place] = Outcome::Choice { choice, correct: letter == Some(question.right) };
        }
        let columns = score_columns(release, &facts, &outcomes)?.into_iter();
        let scores = columns.map(|found| Score {
            column: found.column,
            value: found.value,
            ci95: found.ci95,
            n: i32::try_from(found.n).unwrap_or(i32::MAX),
        });
        Ok((*rule, scores.collect()))
    };
    Rule::ALL.iter().map(score).collect()
}

/// A multiple-choice question as the rules see it; none of an open-ended one.
pub(super) fn blind(question: &Question) -> Option<BlindQuestion<'_>> {
    let letter = |label: &str| label.chars().next();
    let options: Vec<(char, &str)> = question
        .options
        .iter()
        .filter_map(|option| Some((letter(&option.label)?, option.text.as_str())))
        .collect();
    Some(BlindQuestion {
        video: question.video,
        kind: question.question_type.as_str(),
        question: &question.question,
        right: letter(&question.key.answer).filter(|_| !options.is_empty())?,
        options,
    })
}
