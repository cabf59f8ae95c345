//! Files of questions as the paper's schema has them, written whole or not at all. Knows nothing of what is asked.

use std::fs::{self, File};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use serde::Serialize;
use serde_json::value::RawValue;

use super::super::release::{Question, ReleaseContent, Video};
use crate::domain::question::{QuestionFormat, QuestionOption, QuestionType};

/// A question's record, its fields in the order of the paper's schema.
#[derive(Serialize)]
struct Line<'a> {
    question_id: &'a str,
    id: &'a str,
    task: &'a str,
    #[serde(rename = "type")]
    question_type: QuestionType,
    question_format: QuestionFormat,
    collection: &'a str,
    video_id: &'a str,
    video_file: &'a str,
    video_path: &'a str,
    central_object: &'a str,
    question: &'a str,
    prompt: &'a str,
    options: &'a [QuestionOption],
    answer: &'a str,
    answer_text: &'a str,
    evidence_attributes: Box<RawValue>,
}

/// The records of a release, one a line.
///
/// # Errors
/// When evidence is no JSON.
pub fn records(content: &ReleaseContent) -> serde_json::Result<String> {
    let mut text = String::new();
    for question in &content.questions {
        text.push_str(&record(&content.videos[question.video], question)?);
        text.push('\n');
    }
    Ok(text)
}

fn record(video: &Video, question: &Question) -> serde_json::Result<String> {
    let key = &question.key;
    serde_json::to_string(&Line {
        question_id: &question.question_id,
        id: &video.id,
        task: &key.task,
        question_type: question.question_type,
        question_format: question.question_type.format(),
        collection: &video.collection,
        video_id: &video.video_id,
        video_file: &video.video_file,
        video_path: &video.video_path,
        central_object: &key.central_object,
        question: &question.question,
        prompt: &question.prompt,
        options: &question.options,
        answer: &key.answer,
        answer_text: &key.answer_text,
        evidence_attributes: RawValue::from_string(key.evidence.clone())?,
    })
}

/// Writes a file in one step: whoever reads it finds the old one or the new one.
///
/// # Errors
/// When it cannot be written.
pub fn write_file(path: &Path, text: &str) -> io::Result<()> {
    let part = beside(path);
    write_through(&part, text)?;
    fs::rename(&part, path)
}

/// Writes the files of a folder that is not there yet in one step. A folder with the same files stays as it is.
///
/// # Errors
/// When it cannot be written, or the folder is there and holds anything else.
pub fn write_folder(folder: &Path, files: &[(&str, String)]) -> io::Result<()> {
    if folder.exists() {
        let is_same = |(name, text): &(&str, String)| {
            fs::read(folder.join(name)).is_ok_and(|bytes| bytes == text.as_bytes())
        };
        let is_whole = files.iter().all(is_same) && fs::read_dir(folder)?.count() == files.len();
        let is_empty = fs::read_dir(folder)?.next().is_none();
        if is_whole {
            return Ok(());
        }
        if !is_empty {
            return Err(io::Error::new(
                io::ErrorKind::AlreadyExists,
                "it is there and holds other files; choose another folder",
            ));
        }
    }
    let part = beside(folder);
    match fs::remove_dir_all(&part) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
        _ => fs::create_dir_all(&part)?,
    }
    for (name, text) in files {
        write_through(&part.join(name), text)?;
    }
    fs::rename(&part, folder)
}

fn write_through(path: &Path, text: &str) -> io::Result<()> {
    let mut file = File::create(path)?;
    file.write_all(text.as_bytes())?;
    file.sync_all()
}

/// Where something is while it is being written.
fn beside(path: &Path) -> PathBuf {
    let mut name = path.file_name().unwrap_or_default().to_owned();
    name.push(".part");
    path.with_file_name(name)
}
