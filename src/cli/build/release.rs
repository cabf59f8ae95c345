//! `secchi build release`: from questions to the files of three splits.

use std::collections::{BTreeMap, HashMap};
use std::path::{Path, PathBuf};

use anyhow::Context as _;
use clap::Args;
use serde_json::{Value, json};

use crate::benchmark::building::annotation::{Annotation, CaptionsFrom, read_annotations};
use crate::benchmark::building::duplicates::{Duplicate, duplicates, groups};
use crate::benchmark::building::files::{records, write_folder};
use crate::benchmark::building::giveaway::{Guess, doubtful, guesses};
use crate::benchmark::building::letters::deal;
use crate::benchmark::building::looks::looks_of;
use crate::benchmark::building::report::page;
use crate::benchmark::building::splits::{SIZES, SPLITS, drawn, given, torn};
use crate::benchmark::building::statistics::{Statistics, camera_class, statistics};
use crate::benchmark::release::{ReleaseContent, read_release};
use crate::domain::question::{QuestionType, Split};

use super::super::exit::{Exit, help};
use super::super::report::{counted, table};
use super::{faulty, guesses_json, guesses_table, open, some_of};

/// Pairs that are named at most.
const MAX_PAIRS: usize = 20;

/// Split questions into the files of a release
///
/// Writes `train.jsonl`, `val.jsonl` and `test.jsonl` as `secchi dataset import` takes them, `splits.json`,
/// `camera_class.json`, `statistics.json` and `report.html` with pictures: the folder is there whole or not at all. No video is
/// in two splits, and neither are two that are nearly the same.
#[derive(Debug, Args)]
#[command(after_help = help(
    "  secchi build release questions.jsonl --annotations annotations.jsonl --out release\n  secchi build release questions.jsonl --annotations annotations.jsonl --videos videos --splits splits.json --keep-letters --out 2026-12"
))]
pub struct ReleaseArgs {
    /// The questions, as `secchi build questions` writes them
    questions: PathBuf,
    /// The annotations that they were made of
    #[arg(long, value_name = "FILE")]
    annotations: PathBuf,
    /// The folder to write, which is not there yet
    #[arg(long, value_name = "DIR")]
    out: PathBuf,
    /// JSON with lists of ids by `train`, `val` and `test` [default: drawn]
    #[arg(long, value_name = "FILE")]
    splits: Option<PathBuf>,
    /// Videos of train, val and test; other numbers of videos are split in the same proportions
    #[arg(long, value_name = "TRAIN:VAL:TEST", default_value = "1300:200:500", value_parser = sizes)]
    sizes: Sizes,
    /// Folder of the videos' files, to find those that look the same
    #[arg(long, value_name = "DIR")]
    videos: Option<PathBuf>,
    /// Leave right letters as they are, as for a correction of a release; else they are placed anew, equally often in each split
    #[arg(long)]
    keep_letters: bool,
    /// Leave videos that are nearly the same in different splits, where `--splits` says so
    #[arg(long, requires = "splits")]
    accept_duplicates: bool,
    /// What is left to chance follows from this number
    #[arg(long, default_value_t = 16080)]
    seed: u64,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

/// Videos of each split.
#[derive(Debug, Clone, Copy)]
struct Sizes([usize; 3]);

fn sizes(text: &str) -> Result<Sizes, String> {
    let numbers: Result<Vec<usize>, _> = text.split(':').map(str::parse).collect();
    let numbers: Option<[usize; 3]> = numbers.ok().and_then(|numbers| numbers.try_into().ok());
    let is_sensible = |sizes: &[usize; 3]| {
        sizes.iter().all(|size| *size <= 1_000_000) && sizes.iter().any(|size| *size > 0)
    };
    numbers
        .filter(is_sensible)
        .map(Sizes)
        .ok_or_else(|| format!("write three numbers, such as {}:{}:{}", SIZES[0], SIZES[1], SIZES[2]))
}

/// Splits the questions and writes the folder.
///
/// # Errors
/// When a file is faulty, videos that are nearly the same are torn apart, or the folder cannot be written.
pub async fn release(arguments: ReleaseArgs) -> anyhow::Result<()> {
    tokio::task::spawn_blocking(move || build(&arguments)).await?
}

fn build(arguments: &ReleaseArgs) -> anyhow::Result<()> {
    let path = &arguments.questions;
    let content = read_release(open(path)?).map_err(|error| faulty(path, error))?;
    let videos = annotated(arguments, &content)?;
    let looks = match &arguments.videos {
        Some(folder) => looks_of(&videos, folder).map_err(|error| Exit::Refused.with(error.to_string()))?,
        None => vec![None; videos.len()],
    };
    let pairs = duplicates(&videos, &looks);
    let splits = split(arguments, &videos, &pairs)?;
    let is_torn = torn(&splits, &pairs);
    if !is_torn.is_empty() && !arguments.accept_duplicates {
        return Err(Exit::Refused.with(format!(
            "`{}` tears apart videos that are nearly the same; nothing was written. Put each pair into one split, or \
             `--accept-duplicates` where they are not:\n{}",
            arguments.splits.as_deref().unwrap_or(Path::new("")).display(),
            named(&videos, is_torn.into_iter(), Some(&splits)).join("\n")
        )));
    }
    let statistics = statistics(&content, &videos, &splits);
    let parts = parts(&content, &splits, (!arguments.keep_letters).then_some(arguments.seed));
    let mut files: Vec<(&str, String)> = Vec::new();
    for ((_, part), name) in parts.iter().zip(["train.jsonl", "val.jsonl", "test.jsonl"]) {
        let text = records(part)?;
        if !part.questions.is_empty() {
            // What comes out must be what an import takes.
            read_release(text.as_bytes()).map_err(|error| faulty(Path::new(name), error))?;
        }
        files.push((name, text));
    }
    let test: Vec<Guess> =
        parts.iter().filter(|(split, _)| *split == Split::Test).flat_map(|(_, part)| guesses(part)).collect();
    let ids = |split| {
        parts
            .iter()
            .filter(move |(known, _)| *known == split)
            .flat_map(|(_, part)| part.videos.iter().map(|video| &video.id))
    };
    let lists: serde_json::Map<String, Value> =
        SPLITS.iter().map(|split| (split.to_string(), json!(ids(*split).collect::<Vec<_>>()))).collect();
    let cameras: serde_json::Map<String, Value> =
        videos.iter().map(|video| (video.id.clone(), json!(camera_class(video)))).collect();
    let release = arguments.out.file_name().unwrap_or_default().to_string_lossy();
    files.push(("splits.json", pretty(&Value::Object(lists))?));
    files.push(("camera_class.json", pretty(&Value::Object(cameras))?));
    files.push(("statistics.json", pretty(&json!(statistics))?));
    files.push(("report.html", page(&release, &statistics, &test)));
    write_folder(&arguments.out, &files).with_context(|| format!("`{}`", arguments.out.display()))?;
    let told = Told {
        arguments,
        videos: &videos,
        pairs: &pairs,
        splits: &splits,
        statistics: &statistics,
        guesses: &test,
        content: &content,
        without_file: looks.iter().filter(|looks| looks.is_none()).count(),
    };
    println!("{}", if arguments.json { told.json().to_string() } else { told.lines() });
    Ok(())
}

/// The annotations of the questions' videos, in their order.
fn annotated(arguments: &ReleaseArgs, content: &ReleaseContent) -> anyhow::Result<Vec<Annotation>> {
    let captions =
        content.questions.iter().filter(|question| question.question_type == QuestionType::Caption);
    let captions: HashMap<String, String> = captions
        .map(|question| (content.videos[question.video].id.clone(), question.key.answer_text.clone()))
        .collect();
    let path = &arguments.annotations;
    let annotations = read_annotations(open(path)?, CaptionsFrom::There(&captions, "among the questions"));
    let annotations = annotations.map_err(|error| faulty(path, error))?;
    let mut by_id: HashMap<String, Annotation> =
        annotations.videos.into_iter().map(|video| (video.id.clone(), video)).collect();
    let videos: Vec<Annotation> = content.videos.iter().filter_map(|video| by_id.remove(&video.id)).collect();
    if videos.len() < content.videos.len() {
        let words = format!(
            "`{}`: a video has no `caption` question; build the questions again",
            arguments.questions.display()
        );
        return Err(Exit::Refused.with(words));
    }
    Ok(videos)
}

/// The split of each video.
fn split(arguments: &ReleaseArgs, videos: &[Annotation], pairs: &[Duplicate]) -> anyhow::Result<Vec<Split>> {
    let Some(path) = &arguments.splits else {
        return Ok(drawn(groups(videos.len(), pairs), arguments.sizes.0, arguments.seed));
    };
    let text =
        std::fs::read_to_string(path).with_context(|| format!("`{}` cannot be read", path.display()))?;
    let ids: Vec<&str> = videos.iter().map(|video| video.id.as_str()).collect();
    given(&text, &ids).map_err(|error| Exit::Refused.with(format!("`{}`: {error}", path.display())))
}

/// The questions of each split, right letters placed anew where there is a seed.
fn parts(content: &ReleaseContent, splits: &[Split], seed: Option<u64>) -> Vec<(Split, ReleaseContent)> {
    let part = |split: Split| {
        let mut part = content.part(|video| splits[video] == split);
        if let Some(seed) = seed {
            deal(&mut part, seed);
        }
        (split, part)
    };
    SPLITS.into_iter().map(part).collect()
}

fn pretty(value: &Value) -> serde_json::Result<String> {
    serde_json::to_string_pretty(value).map(|text| text + "\n")
}

/// Pairs in words, with their splits where these matter.
fn named<'a>(
    videos: &[Annotation],
    pairs: impl Iterator<Item = &'a Duplicate>,
    splits: Option<&[Split]>,
) -> Vec<String> {
    let name = |place: usize| {
        let split = splits.map_or_else(String::new, |splits| format!(" ({})", splits[place]));
        format!("`{}`{split}", videos[place].id)
    };
    let words = |pair: &Duplicate| format!("{} and {}: {}", name(pair.one), name(pair.other), pair.likeness);
    let mut named: Vec<String> = pairs.map(words).collect();
    if named.len() > MAX_PAIRS {
        let more = named.len() - MAX_PAIRS;
        named.truncate(MAX_PAIRS);
        named.push(format!("and {more} more"));
    }
    named
}

/// What was built, for who built it.
struct Told<'a> {
    arguments: &'a ReleaseArgs,
    videos: &'a [Annotation],
    pairs: &'a [Duplicate],
    splits: &'a [Split],
    statistics: &'a Statistics,
    guesses: &'a [Guess],
    content: &'a ReleaseContent,
    without_file: usize,
}

impl Told<'_> {
    fn json(&self) -> Value {
        let pair = |pair: &Duplicate| {
            let ids = [pair.one, pair.other].map(|place| self.videos[place].id.as_str());
            let splits = [pair.one, pair.other].map(|place| self.splits[place]);
            json!({ "ids": ids, "splits": splits, "likeness": pair.likeness })
        };
        let splits: BTreeMap<String, &_> = self
            .statistics
            .splits
            .iter()
            .map(|counts| (counts.split.map_or_else(|| "all".to_owned(), |split| split.to_string()), counts))
            .collect();
        json!({
            "out": self.arguments.out, "splits": splits, "duplicates": self.pairs.iter().map(pair).collect::<Vec<_>>(),
            "videos_without_file": self.arguments.videos.as_ref().map(|_| self.without_file),
            "letters_kept": self.arguments.keep_letters, "test_guesses": guesses_json(self.guesses),
            "doubtful": doubtful(self.content),
        })
    }

    fn lines(&self) -> String {
        let rows = self.statistics.splits.iter().map(|counts| {
            let name = counts.split.map_or_else(|| "all".to_owned(), |split| split.to_string());
            let numbers = [
                counts.videos,
                counts.questions,
                counts.multiple_choice,
                counts.questions - counts.multiple_choice,
            ];
            std::iter::once(name).chain(numbers.map(|number| number.to_string())).collect()
        });
        let mut lines = vec![
            table(&["split", "videos", "questions", "multiple choice", "open-ended"], rows),
            format!("written to `{}`; `report.html` shows what it holds", self.arguments.out.display()),
            format!("of the test split:\n{}", guesses_table(self.guesses)),
        ];
        if !self.pairs.is_empty() {
            let pairs = counted(self.pairs.len() as u64, "pair");
            lines.push(format!("{pairs} of videos that are nearly the same:"));
            lines.extend(named(self.videos, self.pairs.iter(), Some(self.splits)));
        }
        if self.arguments.videos.is_some() && self.without_file > 0 {
            lines.push(format!(
                "{} without a file, so that nobody looked at them",
                counted(self.without_file as u64, "video")
            ));
        }
        let doubtful = doubtful(self.content);
        if !doubtful.is_empty() {
            lines.push(format!(
                "warning: {} with an option that may be right too: {}",
                counted(doubtful.len() as u64, "question"),
                some_of(&doubtful)
            ));
        }
        lines.join("\n")
    }
}
