//! The questions of all videos, as a release holds them. Knows neither files nor models.

use std::collections::HashMap;

use serde_json::Value;

use super::super::release::{AnswerKey, Question, RecordFaults, ReleaseContent, ReleaseError, Video};
use super::annotation::Annotation;
use super::distractors::{Pool, Values, wrong_options};
use super::letters;
use super::rules;
use crate::domain::camera::camera_of;
use crate::domain::question::{QuestionFormat, QuestionOption, QuestionType};

/// What every question's `task` is.
const TASK: &str = "qa";

/// Questions, and where their wrong options are from.
pub struct Built {
    /// The videos and their questions.
    pub content: ReleaseContent,
    /// Wrong values that are annotated for other videos.
    pub drawn: usize,
}

/// Builds the questions of all videos; wrong values are taken from `drafted`, by the video's id, and else from the other
/// videos.
///
/// # Errors
/// [`ReleaseError`] with all videos for which there are too few wrong values.
pub fn build_questions(
    videos: &[Annotation],
    drafted: &HashMap<String, Values>,
    seed: u64,
) -> Result<Built, ReleaseError> {
    let pool = Pool::new(videos);
    let mut faults = RecordFaults::default();
    let mut built = Built { content: ReleaseContent { videos: Vec::new(), questions: Vec::new() }, drawn: 0 };
    let none = Values::new();
    for (place, video) in videos.iter().enumerate() {
        built.content.videos.push(Video {
            id: video.id.clone(),
            collection: video.collection.clone(),
            video_id: video.video_id.clone(),
            video_file: video.video_file.clone(),
            video_path: format!("{}/{}", video.collection, video.video_file),
            camera: camera_of(&video.camera_angle),
        });
        let drafted = drafted.get(&video.id).unwrap_or(&none);
        for (number, question_type) in (1..).zip(rules::types_for(video)) {
            let mut question = question(video, place, number, question_type);
            if question_type.format() == QuestionFormat::MultipleChoice {
                match wrong_options(video, question_type, &pool, drafted, seed) {
                    Ok(wrong) => {
                        built.drawn += wrong.drawn;
                        question.options.extend(wrong.options.into_iter().map(|text| option("", text)));
                    }
                    Err(lack) => {
                        let detail = format!(
                            "`{}` of `{}`: only {} of {} wrong values for its `{question_type}` question are found in the \
                             annotations; annotate more videos, or have a model write them (`--base-url`)",
                            lack.attribute, video.id, lack.found, lack.wanted
                        );
                        faults.push(video.line, detail);
                    }
                }
            }
            built.content.questions.push(question);
        }
    }
    faults.into_result()?;
    letters::deal(&mut built.content, seed);
    Ok(built)
}

/// A question with the right option alone, under the letter `A`.
fn question(video: &Annotation, place: usize, number: usize, question_type: QuestionType) -> Question {
    let parts = rules::parts(video, question_type);
    let texts: Vec<&str> = parts.iter().map(|(_, text)| text.as_str()).collect();
    let (options, answer, answer_text) = match question_type.format() {
        QuestionFormat::MultipleChoice => {
            let right = rules::option(video, question_type, &texts);
            (vec![option("A", right.clone())], "A".to_owned(), right)
        }
        QuestionFormat::OpenEnded => (Vec::new(), String::new(), rules::reference(video, question_type)),
    };
    let text = rules::question(video, question_type);
    Question {
        question_id: format!("{}--q{number}", video.id),
        video: place,
        question_type,
        prompt: letters::prompt(&text, &options),
        question: text,
        options,
        key: AnswerKey {
            task: TASK.to_owned(),
            central_object: video.central_object.clone(),
            answer,
            answer_text,
            evidence: Value::Object(rules::evidence(video, question_type)).to_string(),
        },
    }
}

fn option(label: &str, text: String) -> QuestionOption {
    QuestionOption { label: label.to_owned(), text }
}
