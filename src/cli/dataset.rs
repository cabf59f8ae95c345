//! `secchi dataset`: importing, listing and activating releases.

use std::fs::File;
use std::io::BufReader;
use std::path::PathBuf;

use anyhow::Context as _;
use clap::{Args, Subcommand};

use crate::benchmark::files::{Files, VideoFolder};
use crate::benchmark::import::{ImportError, Imported, NewRelease, import_release};
use crate::benchmark::release::ReleaseError;
use crate::benchmark::videos::add_videos;
use crate::clock::Clock;
use crate::config::StoreSettings;
use crate::domain::actor::Actor;
use crate::domain::question::Split;
use crate::domain::submission::Feedback;
use crate::evaluation::activating::make_active;
use crate::evaluation::release_views::releases;
use crate::media::{Media, MediaError};
use crate::store::Store;

use super::correcting::{self, CorrectArgs};
use super::report::{counted, table};

/// Import, list and activate releases of the benchmark
#[derive(Debug, Subcommand)]
pub enum DatasetCommand {
    Import(ImportArgs),
    Videos(VideosArgs),
    List(ListArgs),
    Correct(CorrectArgs),
    Activate(ActivateArgs),
}

/// Check a release file whole and import it, or list all of its faults
#[derive(Debug, Args)]
#[command(after_help = "Example:\n  secchi dataset import --release 2026-06 --split test test.jsonl")]
pub struct ImportArgs {
    /// The release file: the paper's records, one a line
    file: PathBuf,
    /// Name of the release, such as 2026-06
    #[arg(long)]
    release: String,
    /// test, val or train
    #[arg(long)]
    split: Split,
    /// Folder of the videos' files: each is decoded whole and kept, missing and surplus ones are listed
    #[arg(long, value_name = "DIR")]
    videos: Option<PathBuf>,
    /// CSV of `id,camera` for videos whose camera the annotation leaves open
    #[arg(long, value_name = "FILE.csv")]
    camera: Option<PathBuf>,
    /// What teams may read about single answers: none or per-question [default: per-question for val, else none]
    #[arg(long)]
    feedback: Option<Feedback>,
    /// Print JSON
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    store: StoreSettings,
}

/// Add the files of a release's videos: all that are missing, or none where one is damaged
#[derive(Debug, Args)]
#[command(after_help = "Example:\n  secchi dataset videos --split test videos/")]
pub struct VideosArgs {
    /// Folder of the files, each at its `video_path` or under its `video_file`
    #[arg(value_name = "DIR")]
    folder: PathBuf,
    /// test, val or train
    #[arg(long)]
    split: Split,
    /// Name of the release [default: the active one]
    #[arg(long)]
    release: Option<String>,
    /// Print JSON
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    store: StoreSettings,
}

/// List releases
#[derive(Debug, Args)]
pub struct ListArgs {
    /// Print JSON
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    store: StoreSettings,
}

/// Grade new submissions by this release from now on; entries follow to a corrected one and back
#[derive(Debug, Args)]
pub struct ActivateArgs {
    /// Name of the release
    name: String,
    /// test, val or train
    #[arg(long)]
    split: Split,
    #[command(flatten)]
    store: StoreSettings,
}

/// Runs a command on releases.
///
/// # Errors
/// When the file, the name or the database refuses.
pub async fn run(command: DatasetCommand) -> anyhow::Result<()> {
    match command {
        DatasetCommand::Import(arguments) => import(arguments).await,
        DatasetCommand::Videos(arguments) => videos(arguments).await,
        DatasetCommand::List(arguments) => list(arguments).await,
        DatasetCommand::Correct(arguments) => correcting::run(arguments).await,
        DatasetCommand::Activate(ActivateArgs { name, split, store }) => {
            let store = Store::open(&store.database_url).await?;
            let release =
                make_active(&store, &Actor::command_line(), split, name, Clock::System.now_ms()).await?;
            println!("`{}` is the active release of `{split}`", release.name);
            Ok(())
        }
    }
}

async fn import(arguments: ImportArgs) -> anyhow::Result<()> {
    let store = Store::open(&arguments.store.database_url).await?;
    let file = File::open(&arguments.file).with_context(|| format!("`{}`", arguments.file.display()))?;
    let cameras = match &arguments.camera {
        Some(path) => Some(std::fs::read(path).with_context(|| format!("`{}`", path.display()))?),
        None => None,
    };
    let default_feedback = if arguments.split == Split::Val { Feedback::PerQuestion } else { Feedback::None };
    let new = NewRelease {
        name: arguments.release,
        split: arguments.split,
        feedback: arguments.feedback.unwrap_or(default_feedback),
        videos: arguments.videos.map(|folder| video_folder(folder, &arguments.store)).transpose()?,
    };
    let imported = import_release(
        &store,
        &Actor::command_line(),
        new,
        BufReader::new(file),
        cameras,
        Clock::System.now_ms(),
    )
    .await;
    match imported {
        Ok(imported) if arguments.json => println!("{}", json(&imported)),
        Ok(imported) => print(&imported),
        Err(ImportError::Release(ReleaseError::Faulty(faults))) => {
            for fault in &faults.listed {
                println!("line {}: {}", fault.line, fault.detail);
            }
            anyhow::bail!("{}; nothing was imported", counted(faults.total as u64, "fault"));
        }
        Err(error) => return Err(error.into()),
    }
    Ok(())
}

async fn videos(arguments: VideosArgs) -> anyhow::Result<()> {
    let store = Store::open(&arguments.store.database_url).await?;
    let from = video_folder(arguments.folder, &arguments.store)?;
    let (split, now_ms) = (arguments.split, Clock::System.now_ms());
    let (release, files) =
        add_videos(&store, &Actor::command_line(), split, arguments.release, from, now_ms).await?;
    if arguments.json {
        println!(
            "{}",
            serde_json::json!({ "release": release.name, "split": split, "files": files_json(&files) })
        );
        return Ok(());
    }
    print_files(&files);
    println!("`{}` of `{split}` holds the files of all but {} video(s)", release.name, files.missing.len());
    Ok(())
}

fn video_folder(folder: PathBuf, settings: &StoreSettings) -> Result<VideoFolder, MediaError> {
    Ok(VideoFolder { folder, media: Media::at(&settings.media())? })
}

fn files_json(files: &Files) -> serde_json::Value {
    serde_json::json!({
        "added": files.added(), "standing": files.standing, "missing": files.missing, "surplus": files.surplus,
    })
}

fn print_files(files: &Files) {
    files.missing.iter().for_each(|path| println!("  no file: {path}"));
    files.surplus.iter().for_each(|path| println!("  file of no video: {path}"));
    println!("{} file(s) were added, {} stood already", files.added(), files.standing);
}

fn json(imported: &Imported) -> serde_json::Value {
    let Imported { release, summary, already_there, files } = imported;
    let types: Vec<_> = summary
        .types
        .iter()
        .map(|kind| {
            let letters: serde_json::Map<_, _> =
                kind.letters.iter().map(|(letter, count)| (letter.to_string(), (*count).into())).collect();
            serde_json::json!({
                "type": kind.question_type, "dimension": kind.dimension, "questions": kind.questions,
                "videos_without": kind.videos_without, "letters": letters,
            })
        })
        .collect();
    serde_json::json!({
        "release": release.name, "split": release.split, "sha256": release.content_sha256, "active": release.active,
        "already_there": already_there, "videos": summary.videos, "questions": summary.questions, "types": types,
        "cameras": {
            "static": summary.static_cameras, "moving": summary.moving_cameras, "unknown": summary.unknown_cameras,
        },
        "files": files.as_ref().map(files_json),
    })
}

fn print(imported: &Imported) {
    let Imported { release, summary, already_there, files } = imported;
    let rows = summary.types.iter().map(|kind| {
        let letters = kind.letters.iter().map(|(letter, count)| format!("{letter} {count}"));
        vec![
            kind.question_type.to_string(),
            kind.dimension.to_owned(),
            kind.questions.to_string(),
            kind.videos_without.to_string(),
            letters.collect::<Vec<_>>().join("  "),
        ]
    });
    println!("{}", table(&["type", "dimension", "questions", "videos without", "right letters"], rows));
    println!(
        "{} videos, {} questions; cameras: {} static, {} moving, {} unknown",
        summary.videos,
        summary.questions,
        summary.static_cameras,
        summary.moving_cameras,
        summary.unknown_cameras.len()
    );
    for id in &summary.unknown_cameras {
        println!("  camera unknown: {id}");
    }
    for column in &summary.empty_columns {
        println!("  no question counts in {column}: no submission will have it");
    }
    if let Some(files) = files {
        print_files(files);
    }
    match (already_there, release.active) {
        (true, _) => println!(
            "`{}` of `{}` stands already with this content; nothing was changed. `secchi dataset videos` adds files of videos",
            release.name, release.split
        ),
        (false, true) => {
            println!("imported `{}` of `{}`; it is the active release", release.name, release.split)
        }
        (false, false) => println!(
            "imported `{0}` of `{1}`; `secchi dataset activate {0} --split {1}` makes it the active one. If it corrects that: \
             `secchi dataset correct {0} --split {1} --dry-run`",
            release.name, release.split
        ),
    }
}

async fn list(arguments: ListArgs) -> anyhow::Result<()> {
    let store = Store::open(&arguments.store.database_url).await?;
    let releases = store.snapshot(releases).await?;
    if arguments.json {
        println!("{}", serde_json::json!(releases));
        return Ok(());
    }
    let rows = releases.into_iter().map(|release| {
        let state = match (release.active, release.staged) {
            (true, _) => "active",
            (_, true) => "staged",
            _ => "",
        };
        let corrects = release.correction.map(|correction| correction.corrects).unwrap_or_default();
        vec![
            release.split.to_string(),
            release.release,
            state.to_owned(),
            corrects,
            release.feedback.to_string(),
            release.sha256[..12].to_owned(),
            release.created_at,
        ]
    });
    println!("{}", table(&["split", "release", "", "corrected", "feedback", "hash", "imported"], rows));
    Ok(())
}
