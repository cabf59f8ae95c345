//! A release file as a whole: its videos, its questions with their keys, and all of its faults. Reads from
//! what it is given and knows nothing of the database.
//!
//! What holds a key has no `Debug`, so that none is ever printed by chance.

use std::collections::{HashMap, HashSet};
use std::io::{self, BufRead, Read as _};

use sha2::{Digest as _, Sha256};

use super::record::{self, Record};
use crate::domain::camera::camera_of;
use crate::domain::question::{Camera, QuestionOption, QuestionType};

/// How many faults of a file are listed; the others are counted.
const MAX_LISTED: usize = 100;
pub(super) const MAX_LINE_BYTES: usize = 1 << 20;
pub(super) const BOM: &[u8] = b"\xef\xbb\xbf";

/// What a release file holds; questions and videos are named by their position, from 0.
pub struct ReleaseContent {
    /// The videos in the order in which the file first names them.
    pub videos: Vec<Video>,
    /// The questions in the order of the file.
    pub questions: Vec<Question>,
}

impl ReleaseContent {
    /// The part of it that is about some of its videos, picked by their places.
    pub fn part(&self, is_picked: impl Fn(usize) -> bool) -> ReleaseContent {
        let mut places = HashMap::new();
        let mut part = ReleaseContent { videos: Vec::new(), questions: Vec::new() };
        for (place, video) in self.videos.iter().enumerate().filter(|(place, _)| is_picked(*place)) {
            places.insert(place, part.videos.len());
            part.videos.push(video.clone());
        }
        let questions = self.questions.iter().filter_map(|question| {
            let video = *places.get(&question.video)?;
            Some(Question { video, ..question.clone() })
        });
        part.questions.extend(questions);
        part
    }

    /// A hash of everything that answers are graded by, in hex; each part is preceded by its length.
    pub fn sha256(&self) -> String {
        let mut hash = Sha256::new();
        let mut part = |text: &str| {
            hash.update((text.len() as u64).to_be_bytes());
            hash.update(text);
        };
        for video in &self.videos {
            [&video.id, &video.collection, &video.video_id, &video.video_file, &video.video_path]
                .into_iter()
                .for_each(|text| part(text));
            part(video.camera.as_str());
        }
        for question in &self.questions {
            part(&question.question_id);
            part(question.question_type.as_str());
            part(&question.question);
            part(&question.prompt);
            for option in &question.options {
                part(&option.label);
                part(&option.text);
            }
            let key = &question.key;
            [&key.task, &key.central_object, &key.answer, &key.answer_text, &key.evidence]
                .into_iter()
                .for_each(|text| part(text));
        }
        hex::encode(hash.finalize())
    }
}

/// A video of a release.
#[derive(Clone)]
pub struct Video {
    /// The video's key, `{collection}--{stem}`, unique in the benchmark.
    pub id: String,
    /// The collection that the video is from.
    pub collection: String,
    /// The video's name in its collection; two collections may share one.
    pub video_id: String,
    /// The file's name.
    pub video_file: String,
    /// The file's place, `{collection}/{video_file}`.
    pub video_path: String,
    /// Whether the camera moves: part of the key.
    pub camera: Camera,
}

/// A question of a release.
#[derive(Clone)]
pub struct Question {
    /// The question's id, `{id of the video}--q{n}`.
    pub question_id: String,
    /// Position of its video in the release.
    pub video: usize,
    /// What the question asks about, which also gives its format.
    pub question_type: QuestionType,
    /// The question alone.
    pub question: String,
    /// The question as a model is asked it, with its options.
    pub prompt: String,
    /// The options; none of an open-ended question.
    pub options: Vec<QuestionOption>,
    /// What no public answer may show of a test split.
    pub key: AnswerKey,
}

/// The part of a question that is secret in a test split.
#[derive(Clone)]
pub struct AnswerKey {
    /// The record's `task`.
    pub task: String,
    /// The name of the video's central object.
    pub central_object: String,
    /// The right letter; empty for an open-ended question.
    pub answer: String,
    /// The right option's text, or the reference answer.
    pub answer_text: String,
    /// The ground truth that was used: a JSON object of texts and nulls, as it stands in the file.
    pub evidence: String,
}

/// One fault of a file, with its place.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RecordFault {
    /// Line of the file, from 1.
    pub line: u64,
    /// What is wrong and how to mend it.
    pub detail: String,
}

/// The faults of a file: the first hundred, and how many there are.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct RecordFaults {
    /// The first hundred, in the order of the file.
    pub listed: Vec<RecordFault>,
    /// How many there are in all.
    pub total: usize,
}

/// Why a file is not imported.
#[derive(Debug, thiserror::Error)]
pub enum ReleaseError {
    /// The file could not be read.
    #[error("the file cannot be read: {0}")]
    Read(#[from] io::Error),
    /// The file has faults.
    #[error("the file has {} faults", .0.total)]
    Faulty(RecordFaults),
}

impl RecordFaults {
    pub(super) fn push(&mut self, line: u64, detail: String) {
        self.total += 1;
        if self.listed.len() < MAX_LISTED {
            self.listed.push(RecordFault { line, detail });
        }
    }

    pub(super) fn into_result(self) -> Result<(), ReleaseError> {
        if self.total == 0 { Ok(()) } else { Err(ReleaseError::Faulty(self)) }
    }
}

/// Reads and checks a whole release file: the paper's records, one a line; blank lines are skipped.
///
/// # Errors
/// [`ReleaseError`] with every fault of the file, not only the first.
pub fn read_release(mut reader: impl BufRead) -> Result<ReleaseContent, ReleaseError> {
    let mut draft = Draft::default();
    let mut buffer = Vec::new();
    for number in 1.. {
        buffer.clear();
        if reader.by_ref().take(MAX_LINE_BYTES as u64 + 1).read_until(b'\n', &mut buffer)? == 0 {
            break;
        }
        if buffer.len() > MAX_LINE_BYTES {
            let detail =
                "the line is longer than 1 MiB, and what follows was not read; write one record a line";
            draft.faults.push(number, detail.into());
            break;
        }
        let line = if number == 1 { buffer.strip_prefix(BOM).unwrap_or(&buffer) } else { &buffer };
        if line.trim_ascii().is_empty() {
            continue;
        }
        draft.lines += 1;
        match record::read(line) {
            Ok((record, faults)) => draft.add(number, record, faults),
            Err(faults) => faults.into_iter().for_each(|detail| draft.faults.push(number, detail)),
        }
    }
    draft.finish()
}

/// What was read so far, with what later records are held against.
#[derive(Default)]
struct Draft {
    videos: Vec<Video>,
    questions: Vec<Question>,
    lines: usize,
    faults: RecordFaults,
    seen_videos: HashMap<String, SeenVideo>,
    lines_by_question: HashMap<String, u64>,
    seen_types: HashSet<(usize, QuestionType)>,
}

/// The first record of a video, and the first that speaks of its camera.
struct SeenVideo {
    place: usize,
    line: u64,
    central_object: String,
    camera_angle: Option<(u64, String)>,
}

impl Draft {
    fn add(&mut self, line: u64, record: Record, faults: Vec<String>) {
        for detail in faults {
            self.faults.push(line, detail);
        }
        if let Some(first) = self.lines_by_question.get(&record.question_id) {
            let detail = format!("`{}` stands in line {first} already; number it anew", record.question_id);
            self.faults.push(line, detail);
        } else {
            self.lines_by_question.insert(record.question_id.clone(), line);
        }
        let video = self.place_of_video(line, &record);
        if !self.seen_types.insert((video, record.question_type)) {
            let (id, question_type) = (&record.id, record.question_type);
            self.faults.push(line, format!("`{id}` has a second `{question_type}` question; keep one"));
        }
        self.questions.push(Question {
            question_id: record.question_id,
            video,
            question_type: record.question_type,
            question: record.question,
            prompt: record.prompt,
            options: record.options,
            key: AnswerKey {
                task: record.task,
                central_object: record.central_object,
                answer: record.answer,
                answer_text: record.answer_text,
                evidence: record.evidence.json,
            },
        });
    }

    /// The position of the record's video, which is new or must agree with its first record.
    fn place_of_video(&mut self, line: u64, record: &Record) -> usize {
        if !self.seen_videos.contains_key(&record.id) {
            self.videos.push(Video {
                id: record.id.clone(),
                collection: record.collection.clone(),
                video_id: record.video_id.clone(),
                video_file: record.video_file.clone(),
                video_path: record.video_path.clone(),
                camera: Camera::Unknown,
            });
        }
        let seen = self.seen_videos.entry(record.id.clone()).or_insert_with(|| SeenVideo {
            place: self.videos.len() - 1,
            line,
            central_object: record.central_object.clone(),
            camera_angle: None,
        });
        let video = &mut self.videos[seen.place];
        let mut disagree = |field: &str, first: u64| {
            let detail =
                format!("`{field}` is not what line {first} says of the same video; make them agree");
            self.faults.push(line, detail);
        };
        for (field, first, this) in [
            ("collection", &video.collection, &record.collection),
            ("video_id", &video.video_id, &record.video_id),
            ("video_file", &video.video_file, &record.video_file),
            ("video_path", &video.video_path, &record.video_path),
            ("central_object", &seen.central_object, &record.central_object),
        ] {
            if first != this {
                disagree(field, seen.line);
            }
        }
        match (&seen.camera_angle, &record.evidence.camera_angle) {
            (None, Some(angle)) => {
                video.camera = camera_of(angle);
                seen.camera_angle = Some((line, angle.clone()));
            }
            (Some((first, stated)), Some(angle)) if stated != angle => disagree("camera_angle", *first),
            _ => {}
        }
        seen.place
    }

    fn finish(mut self) -> Result<ReleaseContent, ReleaseError> {
        if self.lines == 0 && self.faults.total == 0 {
            self.faults.push(1, "the file holds no record; give one JSON object a line".into());
        }
        self.faults.into_result()?;
        Ok(ReleaseContent { videos: self.videos, questions: self.questions })
    }
}
