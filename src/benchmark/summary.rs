//! What a release holds, for the maintainer who imports it. Prints nothing.

use super::release::{Question, ReleaseContent};
use crate::domain::column::{self, Column};
use crate::domain::question::{Camera, QuestionFormat, QuestionType};

/// What a release holds and what it lacks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Summary {
    /// Number of videos.
    pub videos: usize,
    /// Number of questions.
    pub questions: usize,
    /// What there is of each of the nine types.
    pub types: Vec<TypeSummary>,
    /// How many videos have a camera that stays.
    pub static_cameras: usize,
    /// How many videos have a camera that moves.
    pub moving_cameras: usize,
    /// The ids of the videos whose camera is unknown, in the order of the file.
    pub unknown_cameras: Vec<String>,
    /// The columns that no question counts in, so that no submission will have them.
    pub empty_columns: Vec<Column>,
}

/// What there is of one type of question.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TypeSummary {
    /// The type.
    pub question_type: QuestionType,
    /// The dimension or dimensions that it measures.
    pub dimension: &'static str,
    /// Number of questions, at most one a video.
    pub questions: usize,
    /// Number of videos without such a question.
    pub videos_without: usize,
    /// How often each letter is the right one, from A to the last label in use; empty for an open-ended type.
    pub letters: Vec<(char, usize)>,
}

/// Counts what a release holds.
pub fn summarize(content: &ReleaseContent) -> Summary {
    let cameras = |wanted| content.videos.iter().filter(move |video| video.camera == wanted);
    let is_empty = |column: &Column| match column {
        Column::Mcq => Column::PERCENT.iter().any(|column| !has_question(content, *column)),
        _ => !has_question(content, *column),
    };
    Summary {
        videos: content.videos.len(),
        questions: content.questions.len(),
        types: QuestionType::ALL
            .iter()
            .map(|question_type| summarize_type(content, *question_type))
            .collect(),
        static_cameras: cameras(Camera::Static).count(),
        moving_cameras: cameras(Camera::Moving).count(),
        unknown_cameras: cameras(Camera::Unknown).map(|video| video.id.clone()).collect(),
        empty_columns: Column::ALL.iter().copied().filter(is_empty).collect(),
    }
}

fn has_question(content: &ReleaseContent, column: Column) -> bool {
    let camera = |question: &Question| content.videos[question.video].camera;
    content.questions.iter().any(|question| column.counts(question.question_type, camera(question)))
}

fn summarize_type(content: &ReleaseContent, question_type: QuestionType) -> TypeSummary {
    let questions: Vec<&Question> =
        content.questions.iter().filter(|question| question.question_type == question_type).collect();
    let letters = match question_type.format() {
        QuestionFormat::MultipleChoice => count_letters(&questions),
        QuestionFormat::OpenEnded => Vec::new(),
    };
    TypeSummary {
        question_type,
        dimension: column::dimension(question_type),
        questions: questions.len(),
        videos_without: content.videos.len() - questions.len(),
        letters,
    }
}

fn count_letters(questions: &[&Question]) -> Vec<(char, usize)> {
    let labels = questions.iter().map(|question| question.options.len()).max().unwrap_or(0);
    let count =
        |letter: char| questions.iter().filter(|question| question.key.answer.starts_with(letter)).count();
    ('A'..='Z').take(labels).map(|letter| (letter, count(letter))).collect()
}
