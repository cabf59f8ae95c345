//! `secchi pull`: questions, frames and videos of a split are fetched into a folder, going on where it was stopped.

use std::collections::HashSet;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};

use clap::Args;
use futures::{StreamExt as _, TryStreamExt as _, stream};
use indicatif::ProgressBar;
use serde_json::{Value, json};

use crate::client::{Client, ClientError, FrameList, VideoFile, hash_file};
use crate::config::ClientSettings;
use crate::domain::question::Split;

use super::exit::{Exit, help};
use super::pulled::{Folder, Manifest, PulledFrame, PulledVideo, Question, Wanted, extension, safe_name};
use super::report::bar;

/// The code of a video whose file the server does not have.
const MISSING: &str = "video_missing";

/// Frames of a video that the paper shows a model.
const FRAMES: u32 = 8;
/// Pixels of a frame's longest side.
const SIZE: u32 = 512;

/// Fetch the questions of a split and the frames of its videos
///
/// Writes `questions.jsonl`, `frames/NAME/0.jpg` and so on, and `manifest.json`, which tells the NAME of each video and the
/// order, time and SHA-256 of its frames. The same command again goes on where it was stopped and mends what is damaged.
#[derive(Debug, Args)]
#[command(after_help = help(
    "  secchi pull --split val --frames 8 val\n  secchi pull --split val --frames 0 --key keys"
))]
pub struct PullArgs {
    /// The folder to fill
    #[arg(value_name = "DIR")]
    folder: PathBuf,
    /// test or val
    #[arg(long)]
    split: Split,
    /// Frames of each video, uniformly sampled; 0 for none
    #[arg(long, default_value_t = FRAMES)]
    frames: u32,
    /// Pixels of a frame's longest side
    #[arg(long, default_value_t = SIZE)]
    size: u32,
    /// Fetch the videos themselves too, into `videos/`
    #[arg(long)]
    videos: bool,
    /// Whole records with their keys, where the split's feedback policy gives them
    #[arg(long)]
    key: bool,
    /// Videos that are fetched at once
    #[arg(long, default_value_t = 8, value_parser = clap::value_parser!(u16).range(1..=64))]
    concurrency: u16,
    /// Print JSON
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    server: ClientSettings,
}

/// How a folder is to be filled.
pub struct Plan {
    /// What it is to hold.
    pub wanted: Wanted,
    /// Whether the videos themselves are wanted too.
    pub videos: bool,
    /// Whether the keys are wanted.
    pub key: bool,
    /// Videos that are fetched at once.
    pub concurrency: usize,
}

/// What came of filling a folder.
pub struct Pulled {
    /// What it holds now.
    pub manifest: Manifest,
    /// Files that arrived damaged each time.
    pub damaged: Vec<String>,
    /// Files that were fetched, the others having been there.
    pub fetched: u64,
}

/// Fills a folder and says what it holds.
///
/// # Errors
/// When the server is not reached or refuses, or a file cannot be written; exit 3 when something is missing.
pub async fn pull(arguments: PullArgs) -> anyhow::Result<()> {
    let PullArgs { split, frames, size, videos, key, .. } = arguments;
    let client = Client::new(&arguments.server.url, arguments.server.api_key.as_deref())?;
    let wanted = Wanted { split, n: frames, size };
    let plan = Plan { wanted, videos, key, concurrency: arguments.concurrency.into() };
    let mut folder = Folder::new(&arguments.folder);
    let pulled = pull_into(&client, &mut folder, &plan).await?;
    let Pulled { manifest, damaged, fetched } = pulled;
    if arguments.json {
        let counted = |video: &PulledVideo| video.frames.len();
        println!(
            "{}",
            json!({
                "folder": arguments.folder, "split": split, "release": manifest.release,
                "complete": manifest.complete, "videos": manifest.videos.len(),
                "frames": manifest.videos.iter().map(counted).sum::<usize>(), "fetched": fetched,
                "missing": manifest.missing, "damaged": damaged,
            })
        );
    } else {
        println!(
            "`{}` holds {split} of release `{}`: {} videos with {frames} frames each; {fetched} files were fetched",
            arguments.folder.display(),
            manifest.release,
            manifest.videos.len() - manifest.missing.len(),
        );
        manifest.missing.iter().for_each(|id| println!("the server has no file of `{id}`"));
        damaged.iter().for_each(|file| println!("damaged each time: {file}"));
    }
    let (missing, damaged) = (manifest.missing.len(), damaged.len());
    if missing + damaged > 0 {
        let words =
            format!("{missing} video(s) are missing on the server, {damaged} file(s) arrived damaged");
        return Err(Exit::Incomplete.with(words));
    }
    Ok(())
}

/// Where a split lies unless another folder is named.
pub fn usual_folder(split: Split) -> PathBuf {
    PathBuf::from("secchi-data").join(split.as_str())
}

/// Pulls the paper's eight frames of each video of a split into the usual folder, and says which that is.
///
/// # Errors
/// Those of [`pull_into`], and when the server has no file of a video.
pub async fn pull_usual(client: &Client, split: Split) -> anyhow::Result<PathBuf> {
    let root = usual_folder(split);
    let wanted = Wanted { split, n: FRAMES, size: SIZE };
    let plan = Plan { wanted, videos: false, key: false, concurrency: 8 };
    let missing = pull_into(client, &mut Folder::new(&root), &plan).await?.manifest.missing;
    match missing.first() {
        None => Ok(root),
        Some(first) => {
            let words = format!("the server has no file of {} video(s), such as `{first}`", missing.len());
            Err(Exit::Incomplete.with(words))
        }
    }
}

/// Fills a folder, going on where it was stopped.
///
/// # Errors
/// When the folder holds something else, the server is not reached or refuses, or a file cannot be written.
pub async fn pull_into(client: &Client, folder: &mut Folder, plan: &Plan) -> anyhow::Result<Pulled> {
    let wanted = &plan.wanted;
    if let Some(other) = folder.manifest()?.map(|manifest| manifest.wanted).filter(|held| held != wanted) {
        let words = format!(
            "`{}` holds {} with {} frames of {} pixels; choose another folder, or remove this one",
            folder.root.display(),
            other.split,
            other.n,
            other.size
        );
        return Err(Exit::Refused.with(words));
    }
    folder.take()?;
    let benchmark = client.benchmark().await?;
    let splits = benchmark["splits"].as_array().into_iter().flatten();
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let release = splits.clone().find(|release| release["split"] == wanted.split.as_str());
    let Some(release) = release else {
        return Err(Exit::Refused.with(format!("the server has no release of `{}`", wanted.split)));
    };
    let bytes = client.questions(wanted.split, plan.key).await?;
    let (questions, questions_sha256) = folder.save_questions(&bytes)?;
    let mut manifest = Manifest {
        wanted: wanted.clone(),
        complete: false,
        release: text(&release["release"]),
        release_sha256: text(&release["sha256"]),
        questions_sha256,
        videos: Vec::new(),
        missing: Vec::new(),
    };
    // From now on the folder is this pull's, also if it is stopped.
    folder.save_manifest(&manifest)?;
    let videos = videos_of(questions);
    let bar = bar(
        "frames",
        "{msg:8} {bar:30} {pos}/{len} {per_sec} {eta}",
        videos.len() as u64 * u64::from(wanted.n),
    );
    let job = Job { client, folder, wanted, bar, fetched: AtomicU64::new(0) };
    let mut found: Vec<Found> =
        stream::iter(&videos).map(|video| job.frames(video)).buffered(plan.concurrency).try_collect().await?;
    job.bar.finish_and_clear();
    if plan.videos {
        job.files(&videos, &mut found, plan.concurrency).await?;
    }
    let damaged: Vec<String> = found.iter().flat_map(|found| found.damaged.clone()).collect();
    let is_missing = |found: &&Found| found.is_missing;
    manifest.missing = found.iter().filter(is_missing).map(|found| found.video.id.clone()).collect();
    manifest.complete = damaged.is_empty();
    let fetched = job.fetched.load(Ordering::Relaxed);
    manifest.videos = found.into_iter().map(|found| found.video).collect();
    folder.save_manifest(&manifest)?;
    Ok(Pulled { manifest, damaged, fetched })
}

/// One question of each video, in the order of the questions.
fn videos_of(questions: Vec<Question>) -> Vec<Question> {
    let mut seen = HashSet::new();
    questions.into_iter().filter(|question| seen.insert(question.id.clone())).collect()
}

/// What was found of a video.
struct Found {
    video: PulledVideo,
    is_missing: bool,
    damaged: Vec<String>,
}

/// What came of fetching a video's file.
enum Fetched {
    /// It is whole, at this place below the folder.
    File(String),
    /// The server has none.
    Missing,
    /// It arrived damaged each time.
    Damaged(String),
}

/// One pull.
struct Job<'a> {
    client: &'a Client,
    folder: &'a Folder,
    wanted: &'a Wanted,
    bar: ProgressBar,
    fetched: AtomicU64,
}

impl Job<'_> {
    /// The frames of a video.
    async fn frames(&self, question: &Question) -> anyhow::Result<Found> {
        let video = PulledVideo { id: question.id.clone(), file: None, frames: Vec::new() };
        let mut found = Found { video, is_missing: false, damaged: Vec::new() };
        let Wanted { n, size, .. } = *self.wanted;
        if n == 0 {
            return Ok(found);
        }
        let list = match self.client.frame_list(&question.id, n, size).await {
            Err(error) if error.code() == Some(MISSING) => {
                found.is_missing = true;
                self.bar.inc(n.into());
                return Ok(found);
            }
            list => list?,
        };
        let name = safe_name(&question.id);
        for place in 0..list.frames.len() {
            match self.frame(&list, place, &name).await {
                Ok(frame) => found.video.frames.push(frame),
                Err(error) => match error.downcast_ref::<ClientError>() {
                    Some(ClientError::Damaged(file, _)) => found.damaged.push(file.clone()),
                    _ => return Err(error),
                },
            }
            self.bar.inc(1);
        }
        Ok(found)
    }

    async fn frame(&self, list: &FrameList, place: usize, name: &str) -> anyhow::Result<PulledFrame> {
        let frame = &list.frames[place];
        let file = format!("frames/{name}/{}.jpg", frame.i);
        if self.folder.read(&file, &frame.sha256).is_none() {
            let bytes = self.client.frame(list, frame).await?;
            self.folder.write(&file, &bytes, false)?;
            self.fetched.fetch_add(1, Ordering::Relaxed);
        }
        let (index, timestamp_ms, sha256) = (frame.index, frame.timestamp_ms, frame.sha256.clone());
        Ok(PulledFrame { file, index, timestamp_ms, sha256 })
    }

    /// The files of all videos.
    async fn files(
        &self,
        videos: &[Question],
        found: &mut [Found],
        concurrency: usize,
    ) -> anyhow::Result<()> {
        let facts: Vec<_> = stream::iter(videos)
            .map(|video| self.client.video_file(&video.id))
            .buffered(concurrency)
            .try_collect()
            .await?;
        let total = facts.iter().filter_map(|facts| facts.bytes).sum();
        let bar = bar("videos", "{msg:8} {bar:30} {bytes}/{total_bytes} {bytes_per_sec} {eta}", total);
        let fetch = |(question, facts): (&Question, VideoFile)| {
            let (bar, question) = (bar.clone(), question.clone());
            async move {
                let (Some(sha256), Some(bytes)) = (facts.sha256, facts.bytes) else {
                    return Ok(Fetched::Missing);
                };
                match self.file(&question, &sha256, bytes, &bar).await {
                    Ok(file) => Ok(Fetched::File(file)),
                    Err(ClientError::Damaged(name, _)) => Ok(Fetched::Damaged(name)),
                    Err(error) if error.code() == Some(MISSING) => Ok(Fetched::Missing),
                    Err(error) => Err(error),
                }
            }
        };
        let fetches = stream::iter(videos.iter().zip(facts)).map(fetch).buffered(concurrency);
        let fetched: Vec<Fetched> = fetches.try_collect().await?;
        bar.finish_and_clear();
        for (found, fetched) in found.iter_mut().zip(fetched) {
            match fetched {
                Fetched::File(file) => found.video.file = Some(file),
                Fetched::Missing => found.is_missing = true,
                Fetched::Damaged(name) => found.damaged.push(name),
            }
        }
        Ok(())
    }

    /// One video's file, below the folder.
    async fn file(
        &self,
        question: &Question,
        sha256: &str,
        bytes: u64,
        bar: &ProgressBar,
    ) -> Result<String, ClientError> {
        let file = format!("videos/{}{}", safe_name(&question.id), extension(&question.video_file));
        let (path, part) = (self.folder.root.join(&file), self.folder.root.join(format!("{file}.part")));
        let file_fault = |error| ClientError::File(path.display().to_string(), error);
        if hash_file(&path).await.is_ok_and(|hash| hash == sha256) {
            bar.inc(bytes);
            return Ok(file);
        }
        tokio::fs::create_dir_all(self.folder.root.join("videos")).await.map_err(file_fault)?;
        bar.inc(tokio::fs::metadata(&part).await.map_or(0, |facts| facts.len()));
        self.client.download(&question.id, sha256, &part, &|bytes| bar.inc(bytes)).await?;
        tokio::fs::rename(&part, &path).await.map_err(file_fault)?;
        self.fetched.fetch_add(1, Ordering::Relaxed);
        Ok(file)
    }
}
