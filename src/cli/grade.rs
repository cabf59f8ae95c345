//! `secchi grade`: a prediction file is graded on this machine, by the server's own grader.

use std::fs::File;
use std::io::BufReader;
use std::path::{Path, PathBuf};

use clap::Args;
use serde_json::{Map, Value, json};

use crate::benchmark::cameras::settle_cameras;
use crate::benchmark::release::{ReleaseContent, ReleaseError, read_release};
use crate::domain::question::{Camera, Split};
use crate::evaluation::grading::{GradingKey, GradingQuestion};
use crate::evaluation::offline::grade_offline;
use crate::predictions::{self, Limits, Predictions, QuestionIndex, ReadError};
use crate::scoring::columns::{ColumnScore, QuestionFacts};

use super::exit::{Exit, help};
use super::report::{counted, print_faults};
use super::status::{print_scores, print_warnings};

/// What a server takes unless it is set otherwise.
const MAX_BYTES: u64 = 64 * 1024 * 1024;

/// What a file of questions is to be.
const WITH_KEYS: &str =
    "`--questions` takes whole records with their keys, as `secchi pull --key` writes them";

/// Grade a prediction file on this machine, as the server does
///
/// Multiple-choice columns are the server's to the last digit. Open-ended answers are scored by the built-in judge, as on
/// a server that has no other; such scores are never ranked beside an LLM judge's.
#[derive(Debug, Args)]
#[command(after_help = help("  secchi grade predictions.jsonl --questions val.jsonl"))]
pub struct GradeArgs {
    /// The prediction file, in any form that `secchi submit` takes
    file: PathBuf,
    /// The questions with their keys, one a line: a release file, or what `secchi pull --key` wrote
    #[arg(long, value_name = "FILE")]
    questions: PathBuf,
    /// CSV with the columns id and camera (static or moving), for cameras that the annotations leave open; the server's
    /// digits need the file that the server was given
    #[arg(long, value_name = "FILE")]
    camera: Option<PathBuf>,
    /// The split of the questions
    #[arg(long, default_value = "val")]
    split: Split,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

/// Grades a prediction file and prints its scores.
///
/// # Errors
/// When a file cannot be read or is faulty.
pub async fn grade(arguments: GradeArgs) -> anyhow::Result<()> {
    let content = read_content(&arguments)?;
    let unknown = content.videos.iter().filter(|video| video.camera == Camera::Unknown).count();
    let (sha256, questions) = (content.sha256(), content.questions.len());
    let key = grading_key(content)?;
    let index = QuestionIndex::new(arguments.split, key.formats(), []);
    let limits = Limits { max_bytes: MAX_BYTES };
    let predictions = match predictions::read(open(&arguments.file)?, &index, &limits) {
        Ok(predictions) => predictions,
        Err(ReadError::Io(error)) => return Err(unreadable(&arguments.file, &error)),
        Err(ReadError::Refused(refusal)) => {
            let faults: Vec<Value> = refusal.faults.iter().map(|fault| json!(fault)).collect();
            if arguments.json {
                println!("{}", json!({ "errors": faults, "total": refusal.total }));
            } else {
                print_faults(&faults, refusal.total);
            }
            let faults = counted(refusal.total, "fault");
            let words = format!("`{}` has {faults}; mend it and grade it again", arguments.file.display());
            return Err(Exit::Refused.with(words));
        }
    };
    let Predictions { answers, answered, mut warnings } = predictions;
    let grades = grade_offline(&key, &sha256, &answers).await?;
    warnings.extend(grades.warning);
    let scores: Map<String, Value> = grades.columns.iter().map(cell).collect();
    let result = json!({
        "split": arguments.split,
        "questions_sha256": sha256,
        "coverage": { "questions": questions, "answered": answered, "unparsed": grades.unparsed },
        "unknown_cameras": unknown,
        "scores": scores,
        "judge": { "model": "offline" },
        "warnings": warnings,
    });
    if arguments.json {
        println!("{result}");
        return Ok(());
    }
    println!("{answered} of {questions} questions answered");
    print_warnings(&result);
    print_scores(&result);
    println!("open-ended columns: by the built-in `offline` judge, which is never ranked beside an LLM");
    if unknown > 0 {
        println!(
            "{unknown} video(s) have an unknown camera and count in no static or moving column; see `--camera`"
        );
    }
    Ok(())
}

fn read_content(arguments: &GradeArgs) -> anyhow::Result<ReleaseContent> {
    let mut content = read_release(open(&arguments.questions)?)
        .map_err(|error| faulty(&arguments.questions, &error, WITH_KEYS))?;
    if let Some(camera) = &arguments.camera {
        let hint = "`--camera` takes CSV with the columns id and camera";
        settle_cameras(&mut content, open(camera)?).map_err(|error| faulty(camera, &error, hint))?;
    }
    Ok(content)
}

fn grading_key(content: ReleaseContent) -> anyhow::Result<GradingKey> {
    let ReleaseContent { videos, questions } = content;
    let questions = questions.into_iter().map(|question| GradingQuestion {
        question_id: question.question_id,
        facts: QuestionFacts {
            question_type: question.question_type,
            camera: videos[question.video].camera,
            video: question.video,
        },
        question: question.question,
        options: question.options,
        answer: question.key.answer,
        answer_text: question.key.answer_text,
        evidence: question.key.evidence,
    });
    Ok(GradingKey::new(questions)?)
}

fn cell(score: &ColumnScore) -> (String, Value) {
    let ColumnScore { column, value, ci95, n } = *score;
    (column.to_string(), json!({ "value": value, "unit": column.unit(), "ci95": ci95, "n": n }))
}

fn open(path: &Path) -> anyhow::Result<BufReader<File>> {
    File::open(path).map(BufReader::new).map_err(|error| unreadable(path, &error))
}

fn unreadable(path: &Path, error: &std::io::Error) -> anyhow::Error {
    Exit::Refused.with(format!("`{}` cannot be read: {error}", path.display()))
}

/// Lists what is wrong with a file of questions or cameras; of questions without keys, it is one thing alone.
fn faulty(path: &Path, error: &ReleaseError, hint: &str) -> anyhow::Error {
    if let ReleaseError::Faulty(faults) = error {
        let first = faults.listed.first().map(|fault| fault.line);
        let mut of_first = faults.listed.iter().filter(|fault| Some(fault.line) == first);
        if of_first.any(|fault| fault.detail.starts_with("`answer_text` is missing")) {
            return Exit::Refused.with(format!("`{}` has no keys; {hint}", path.display()));
        }
        for fault in &faults.listed {
            println!("line {}: {}", fault.line, fault.detail);
        }
    }
    Exit::Refused.with(format!("`{}`: {error}; {hint}", path.display()))
}
