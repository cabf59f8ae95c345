//! `secchi export`: a split as a task or data set that evaluation harnesses run as it is, and whose results are submitted
//! as they are.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::Context as _;
use clap::{Args, ValueEnum};
use serde::Deserialize;
use serde_json::json;

use crate::client::{Client, ClientError};
use crate::config::ClientSettings;
use crate::domain::question::Split;

use super::pull::pull_usual;
use super::pulled::Folder;

const TASK: &str = include_str!("lmms_eval.yaml");
const TASK_CODE: &str = include_str!("lmms_eval.py");
const DATASET_CODE: &str = include_str!("vlmevalkit.py");

/// Most missing videos that are named.
const MAX_NAMED: usize = 5;

/// Write a split as a task or data set of an evaluation harness
///
/// lmms-eval and VLMEvalKit run what is written as it is; what they write is submitted as it is.
#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  secchi export lmms-eval --split val task\n  python -m lmms_eval --model openai --model_args model_version=M,base_url=URL --tasks secchi_val --include_path task --log_samples --output_path runs\n\n  secchi export vlmevalkit --split val --videos videos data\n  python data/secchi_vlmevalkit.py --data Secchi_val --model M --mode infer"
)]
pub struct ExportArgs {
    /// The harness that is to run it
    harness: Harness,
    /// The folder to write to
    dir: PathBuf,
    /// test or val
    #[arg(long)]
    split: Split,
    /// Folder of `secchi pull`, or one that holds a folder of JPEG frames for each video, named by its `id`; without this and
    /// `--videos` eight frames of each video are pulled into secchi-data/SPLIT
    #[arg(long, value_name = "DIR")]
    frames: Option<PathBuf>,
    /// Folder of `secchi pull --videos`, or one that holds the videos' files
    #[arg(long, value_name = "DIR", conflicts_with = "frames")]
    videos: Option<PathBuf>,
    #[command(flatten)]
    server: ClientSettings,
}

/// An evaluation harness.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Harness {
    LmmsEval,
    #[value(name = "vlmevalkit")]
    VlmEvalKit,
}

/// A question, with its key where the server gives it.
#[derive(Deserialize)]
struct Question {
    question_id: String,
    id: String,
    video_file: String,
    prompt: String,
    #[serde(default)]
    answer: String,
    #[serde(default)]
    answer_text: String,
}

impl Question {
    /// The right letter or a right answer; empty where the key is not given.
    fn target(&self) -> &str {
        if self.answer.is_empty() { &self.answer_text } else { &self.answer }
    }
}

/// Fetches a split and writes it.
///
/// # Errors
/// When the server refuses or is not reached, a video is missing, or the folder cannot be written.
pub async fn export(arguments: ExportArgs) -> anyhow::Result<()> {
    let split = arguments.split;
    let client = Client::new(&arguments.server.url, arguments.server.api_key.as_deref())?;
    let lines = match client.questions(split, true).await {
        // A test split, or a release whose keys are withheld: results need none.
        Err(ClientError::Refused(refusal)) if refusal.status == 403 => client.questions(split, false).await?,
        other => other?,
    };
    let questions: Vec<Question> = serde_json::Deserializer::from_slice(&lines)
        .into_iter()
        .collect::<Result<_, _>>()
        .context("the questions that the server sent cannot be read")?;
    let frames = match (arguments.frames, &arguments.videos) {
        (None, None) => Some(pull_usual(&client, split).await?),
        (frames, _) => frames,
    };
    let media = media(&questions, frames.as_deref(), arguments.videos.as_deref())?;
    fs::create_dir_all(&arguments.dir).with_context(|| format!("`{}`", arguments.dir.display()))?;
    let dir = arguments.dir.canonicalize()?;
    let told = match arguments.harness {
        Harness::LmmsEval => write_task(&dir, split, &questions, &media),
        Harness::VlmEvalKit => write_dataset(&dir, split, &questions, &media),
    };
    println!("{}", told.with_context(|| format!("`{}` cannot be written", dir.display()))?);
    Ok(())
}

/// The folder of frames or the file of each question's video.
fn media(
    questions: &[Question],
    frames: Option<&Path>,
    videos: Option<&Path>,
) -> anyhow::Result<Vec<String>> {
    let dir = frames.or(videos).unwrap_or(Path::new(""));
    let pulled = Folder::new(dir).manifest()?.map(|manifest| manifest.videos).unwrap_or_default();
    let (mut found, mut missing): (Vec<String>, Vec<&str>) = (Vec::new(), Vec::new());
    for question in questions {
        let mut places = Vec::new();
        if let Some(pulled) = pulled.iter().find(|video| video.id == question.id) {
            let frame = pulled.frames.first().and_then(|frame| Path::new(&frame.file).parent());
            let file = pulled.file.as_ref().map(Path::new);
            places.extend(if frames.is_some() { frame } else { file }.map(Path::to_owned));
        }
        if frames.is_some() {
            places.push(PathBuf::from(&question.id));
        } else {
            places.extend(video_places(question));
        }
        let is_there = |path: &PathBuf| if frames.is_some() { path.is_dir() } else { path.is_file() };
        match places.iter().map(|place| dir.join(place)).find(is_there) {
            Some(path) => found.push(path.canonicalize()?.to_string_lossy().into_owned()),
            None if missing.last() == Some(&question.id.as_str()) => {}
            None => missing.push(&question.id),
        }
    }
    let named = missing.iter().take(MAX_NAMED).map(|id| format!("`{id}`")).collect::<Vec<_>>().join(", ");
    anyhow::ensure!(
        missing.is_empty(),
        "`{}` lacks {} of the split's videos, such as {named}; `secchi pull` fetches them",
        dir.display(),
        missing.len()
    );
    Ok(found)
}

/// Where a video's file may be: in its collection's folder, under its key, or under its own name.
fn video_places(question: &Question) -> Vec<PathBuf> {
    let (collection, _) = question.id.split_once("--").unwrap_or_default();
    let extension = Path::new(&question.video_file).extension().unwrap_or_default();
    let by_key = format!("{}.{}", question.id, extension.to_string_lossy());
    let places = [format!("{collection}/{}", question.video_file), by_key, question.video_file.clone()];
    places.map(PathBuf::from).into()
}

/// Writes a task of lmms-eval; says how it is run.
fn write_task(dir: &Path, split: Split, questions: &[Question], media: &[String]) -> anyhow::Result<String> {
    let data = dir.join(format!("secchi_{split}.jsonl"));
    let lines = questions.iter().zip(media).map(|(question, media)| {
        let Question { question_id, prompt, .. } = question;
        let record = json!({
            "question_id": question_id, "media": media, "prompt": prompt, "target": question.target(),
        });
        format!("{record}\n")
    });
    fs::write(&data, lines.collect::<String>())?;
    let task = format!("secchi_{split}");
    let text = TASK.replace("TASK", &task).replace("SPLIT", split.as_str());
    // JSON text is YAML too, whatever the path holds.
    let text = text.replace("DATA", &json!(data.to_string_lossy()).to_string());
    fs::write(dir.join(format!("{task}.yaml")), text)?;
    fs::write(dir.join("secchi_lmms_eval.py"), TASK_CODE)?;
    Ok(format!(
        "{} questions as task `{task}`:\n  python -m lmms_eval --model … --tasks {task} --include_path {} --log_samples --output_path runs",
        questions.len(),
        dir.display()
    ))
}

/// Writes a data set of VLMEvalKit; says how it is run.
fn write_dataset(
    dir: &Path,
    split: Split,
    questions: &[Question],
    media: &[String],
) -> anyhow::Result<String> {
    let name = format!("Secchi_{split}");
    let mut table = csv::WriterBuilder::new()
        .delimiter(b'\t')
        .quote_style(csv::QuoteStyle::Always)
        .from_path(dir.join(format!("{name}.tsv")))?;
    table.write_record(["index", "question_id", "id", "video", "question"])?;
    for (index, (question, media)) in questions.iter().zip(media).enumerate() {
        let index = index.to_string();
        table.write_record([&index, &question.question_id, &question.id, media, &question.prompt])?;
    }
    table.flush()?;
    let code = dir.join("secchi_vlmevalkit.py");
    fs::write(&code, DATASET_CODE)?;
    Ok(format!(
        "{} questions as data set `{name}`:\n  python {} --data {name} --model … --mode infer",
        questions.len(),
        code.display()
    ))
}
