//! The shipped sample scaled to the size of the test split: the same questions about more videos.

use std::path::Path;

use secchi::benchmark::release::read_release;
use secchi::domain::question::Split;
use secchi::domain::submission::Feedback;
use secchi::predictions::QuestionIndex;
use secchi::store::releases::{KeyRow, KeyedQuestion, PublicQuestion, Release, Video};
use serde_json::Value;

/// Videos of the test split.
const VIDEOS: usize = 500;

pub struct Scaled {
    pub videos: usize,
    pub answers: usize,
    /// The release file.
    pub records: Vec<u8>,
    /// A prediction file that answers every question.
    pub jsonl: Vec<u8>,
    pub release: Release,
    pub keyed: Vec<KeyedQuestion>,
    pub index: QuestionIndex,
}

impl Scaled {
    pub fn new() -> Scaled {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/sample");
        let records = lines(&folder.join("test.jsonl"));
        let predictions = lines(&folder.join("predictions/strong_model.jsonl"));
        let mut ids: Vec<String> = records.iter().map(|record| text(record, "id")).collect();
        ids.dedup();
        let (mut release_file, mut jsonl, mut answers) = (Vec::new(), Vec::new(), 0);
        for number in 0..VIDEOS {
            let id = &ids[number % ids.len()];
            let round = number / ids.len();
            for record in records.iter().filter(|record| text(record, "id") == *id) {
                push(&mut release_file, &renamed(record, id, round));
            }
            let prefix = format!("{id}--q");
            for answer in predictions.iter().filter(|answer| text(answer, "question_id").starts_with(&prefix))
            {
                push(&mut jsonl, &renamed(answer, id, round));
                answers += 1;
            }
        }
        let content = read_release(release_file.as_slice()).unwrap_or_else(|error| panic!("{error}"));
        let formats = content
            .questions
            .iter()
            .map(|question| (question.question_id.clone(), question.question_type.format()));
        let index = QuestionIndex::new(Split::Test, formats, []);
        let keyed = content.questions.iter().enumerate().map(|(position, question)| {
            let video = &content.videos[question.video];
            KeyedQuestion {
                public: PublicQuestion {
                    position: position as i32,
                    question_id: question.question_id.clone(),
                    question_type: question.question_type,
                    question: question.question.clone(),
                    prompt: question.prompt.clone(),
                    options: question.options.clone(),
                    video: Video {
                        release_id: String::new(),
                        position: question.video as i32,
                        id: video.id.clone(),
                        collection: video.collection.clone(),
                        video_id: video.video_id.clone(),
                        video_file: video.video_file.clone(),
                        video_path: video.video_path.clone(),
                    },
                },
                key: KeyRow {
                    release_id: String::new(),
                    position: position as i32,
                    task: question.key.task.clone(),
                    central_object: question.key.central_object.clone(),
                    answer: question.key.answer.clone(),
                    answer_text: question.key.answer_text.clone(),
                    evidence: question.key.evidence.clone(),
                    camera: video.camera.to_string(),
                },
                camera: video.camera,
            }
        });
        let keyed = keyed.collect();
        let release = Release {
            id: String::new(),
            name: "scaled".into(),
            split: Split::Test,
            content_sha256: String::new(),
            feedback: Feedback::None,
            active: true,
            created_at_ms: 0,
            line_id: String::new(),
            staged: false,
            shown: true,
        };
        Scaled { videos: VIDEOS, answers, records: release_file, jsonl, release, keyed, index }
    }
}

fn lines(path: &Path) -> Vec<Value> {
    let text = std::fs::read_to_string(path).unwrap();
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

fn text(record: &Value, field: &str) -> String {
    record[field].as_str().unwrap().to_owned()
}

fn push(file: &mut Vec<u8>, record: &Value) {
    serde_json::to_writer(&mut *file, record).unwrap();
    file.push(b'\n');
}

/// The record about another video of the same kind: the stem is changed wherever it stands.
fn renamed(record: &Value, id: &str, round: usize) -> Value {
    let (_, stem) = id.split_once("--").unwrap();
    let mut record = record.clone();
    for field in ["question_id", "id", "video_id", "video_file", "video_path"] {
        if let Some(Value::String(text)) = record.get_mut(field) {
            *text = text.replacen(stem, &format!("{stem}_{round}"), 1);
        }
    }
    record
}
