//! The files of a release's videos: which are there, which are not, and whether each is whole; the whole ones are kept. Knows
//! nothing of the database.

use std::collections::{HashMap, HashSet};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};

use futures::stream::{self, StreamExt as _, TryStreamExt as _};
use indicatif::{ProgressBar, ProgressStyle};
use unicode_normalization::UnicodeNormalization as _;

use crate::media::{Media, MediaError};
use crate::store::videos::VideoFileRow;
use crate::video::{VideoError, VideoFacts, measure, probe};

/// Files that are copied at once: a bucket answers slowly, and a disk loses nothing.
const KEPT_AT_ONCE: usize = 8;

/// Why the files were not taken.
#[derive(Debug, thiserror::Error)]
pub enum FilesError {
    /// The folder cannot be read.
    #[error("`{0}` cannot be read: {1}")]
    Folder(PathBuf, std::io::Error),
    /// Files are damaged, or are not those that the release holds.
    #[error("{} video file(s) are unusable; nothing was stored:\n{}", .0.len(), .0.join("\n"))]
    Unusable(Vec<String>),
    /// A file cannot be kept.
    #[error(transparent)]
    Media(#[from] MediaError),
    /// The thread that looked at the files died.
    #[error("a task ended early: {0}")]
    Task(#[from] tokio::task::JoinError),
}

/// Where videos are taken from and kept.
#[derive(Debug, Clone)]
pub struct VideoFolder {
    /// The folder that the files lie in.
    pub folder: PathBuf,
    /// Where they are kept.
    pub media: Media,
}

/// A video whose file is wanted.
#[derive(Debug, Clone)]
pub struct Wanted {
    /// The file's place, `{collection}/{video_file}`.
    pub video_path: String,
    /// The file's name.
    pub video_file: String,
    /// Hash of the file that the release holds already.
    pub standing_sha256: Option<String>,
}

/// What a folder of videos holds of a release.
#[derive(Debug, Default)]
pub struct Files {
    /// What is new, by the position of its video.
    added: Vec<(usize, VideoFacts)>,
    /// Files that the release held already.
    pub standing: usize,
    /// The paths of videos that have no file, neither before nor now.
    pub missing: Vec<String>,
    /// Files that belong to no video.
    pub surplus: Vec<String>,
}

impl Wanted {
    /// The file of a video that no release holds yet.
    pub fn new(collection: &str, video_file: &str) -> Wanted {
        let video_path = format!("{collection}/{video_file}");
        Wanted { video_path, video_file: video_file.to_owned(), standing_sha256: None }
    }
}

impl Files {
    /// How many files are new.
    pub fn added(&self) -> usize {
        self.added.len()
    }

    /// What is known of the new files, as it is stored.
    pub fn rows(&self, release_id: &str) -> Vec<VideoFileRow> {
        let row = |(position, facts): &(usize, VideoFacts)| {
            Some(VideoFileRow {
                release_id: release_id.to_owned(),
                position: i32::try_from(*position).ok()?,
                duration_ms: facts.duration_ms,
                width: i32::try_from(facts.width).ok()?,
                height: i32::try_from(facts.height).ok()?,
                frames_per_second: facts.frames_per_second,
                frames: i32::try_from(facts.frames).ok()?,
                codec: facts.codec.clone(),
                rotation: facts.rotation,
                bytes: i64::try_from(facts.bytes).ok()?,
                sha256: facts.sha256.clone(),
            })
        };
        self.added.iter().filter_map(row).collect()
    }
}

/// Looks at the file of each video on threads of its own and keeps a copy of each, unless one of them is unusable.
///
/// # Errors
/// When the folder cannot be read, a file is damaged or another one than the release holds, or the disk refuses; all
/// unusable files are named.
pub async fn take_files(videos: Vec<Wanted>, from: VideoFolder) -> Result<Files, FilesError> {
    let VideoFolder { folder, media } = from;
    let (files, usable) = tokio::task::spawn_blocking(move || look(&videos, &folder)).await??;
    let bar = bar("keeping videos", usable.len());
    let keep = async |file: Usable| {
        media.keep(&file.path, &file.sha256, file.bytes).await?;
        bar.inc(1);
        Ok::<(), FilesError>(())
    };
    let kept = stream::iter(usable).map(keep).buffer_unordered(KEPT_AT_ONCE);
    kept.try_collect::<()>().await?;
    bar.finish_and_clear();
    Ok(files)
}

/// A file to be kept.
struct Usable {
    path: PathBuf,
    sha256: String,
    bytes: u64,
}

fn look(videos: &[Wanted], folder: &Path) -> Result<(Files, Vec<Usable>), FilesError> {
    let there = paths_below(folder).map_err(|error| FilesError::Folder(folder.to_owned(), error))?;
    let places = places(videos, &there);
    let mut files = Files::default();
    let surplus = there.iter().filter(|(_, path)| !places.iter().flatten().any(|found| found == *path));
    files.surplus = surplus.map(|(name, _)| name.clone()).collect();
    files.surplus.sort_unstable();
    let found: Vec<(usize, &Wanted, &PathBuf)> = videos
        .iter()
        .zip(&places)
        .enumerate()
        .filter_map(|(position, (video, path))| Some((position, video, path.as_ref()?)))
        .collect();
    let looked = side_by_side("looking at videos", &found, |(_, video, path)| look_at(video, path));
    let mut unusable = Vec::new();
    for ((position, video, _), looked) in found.iter().zip(&looked) {
        match looked {
            Ok(Looked::New(facts)) => files.added.push((*position, facts.clone())),
            Ok(Looked::Standing { .. }) => files.standing += 1,
            Err(detail) => unusable.push(format!("  {}: {detail}", video.video_path)),
        }
    }
    if !unusable.is_empty() {
        return Err(FilesError::Unusable(unusable));
    }
    let without =
        videos.iter().zip(&places).filter(|(video, path)| path.is_none() && video.standing_sha256.is_none());
    files.missing = without.map(|(video, _)| video.video_path.clone()).collect();
    let usable = found.into_iter().zip(looked).filter_map(|((.., path), looked)| {
        let (sha256, bytes) = match looked.ok()? {
            Looked::New(facts) => (facts.sha256, facts.bytes),
            Looked::Standing { sha256, bytes } => (sha256, bytes),
        };
        Some(Usable { path: path.clone(), sha256, bytes })
    });
    Ok((files, usable.collect()))
}

/// What was found in a file.
enum Looked {
    New(VideoFacts),
    Standing { sha256: String, bytes: u64 },
}

fn look_at(video: &Wanted, path: &Path) -> Result<Looked, String> {
    let Some(standing) = &video.standing_sha256 else {
        return probe(path).map(Looked::New).map_err(|error| error.to_string());
    };
    let (bytes, sha256) = measure(path).map_err(|error| VideoError::from(error).to_string())?;
    if sha256 == *standing {
        return Ok(Looked::Standing { sha256, bytes });
    }
    Err("it is another file than the one that the release holds; a release never changes".into())
}

/// The file of each video in a folder, or in the folders directly in it; none where there is none.
///
/// # Errors
/// When the folder cannot be read.
pub fn find_videos(videos: &[Wanted], folder: &Path) -> Result<Vec<Option<PathBuf>>, FilesError> {
    let there = paths_below(folder).map_err(|error| FilesError::Folder(folder.to_owned(), error))?;
    Ok(places(videos, &there))
}

/// Each video's file: at its path, or under its name where no other video has the same.
fn places(videos: &[Wanted], there: &HashMap<String, PathBuf>) -> Vec<Option<PathBuf>> {
    let mut seen = HashSet::new();
    let shared: HashSet<String> =
        videos.iter().map(|video| nfc(&video.video_file)).filter(|name| !seen.insert(name.clone())).collect();
    let place = |video: &Wanted| {
        let name = Some(nfc(&video.video_file)).filter(|name| !shared.contains(name));
        there.get(&nfc(&video.video_path)).or_else(|| there.get(&name?)).cloned()
    };
    videos.iter().map(place).collect()
}

/// Some file systems give names back decomposed.
fn nfc(text: &str) -> String {
    text.nfc().collect()
}

/// The files in a folder and in the folders directly in it, by their path in it.
fn paths_below(folder: &Path) -> std::io::Result<HashMap<String, PathBuf>> {
    let mut paths = HashMap::new();
    let mut add = |path: PathBuf| {
        let name = path.strip_prefix(folder).unwrap_or(&path).to_string_lossy();
        paths.insert(nfc(&name), path);
    };
    for entry in std::fs::read_dir(folder)? {
        let path = entry?.path();
        if path.is_dir() {
            for inner in std::fs::read_dir(&path)? {
                let inner = inner?.path();
                if inner.is_file() {
                    add(inner);
                }
            }
        } else if path.is_file() {
            add(path);
        }
    }
    Ok(paths)
}

/// Does the same with each item, on as many threads as there are cores, with a bar on a terminal.
pub(super) fn side_by_side<T: Sync, R: Send>(
    what: &'static str,
    items: &[T],
    work: impl Fn(&T) -> R + Sync,
) -> Vec<R> {
    let bar = bar(what, items.len());
    let next = AtomicUsize::new(0);
    let threads = std::thread::available_parallelism().map_or(2, usize::from).min(items.len());
    let turn = || {
        let mut results = Vec::new();
        loop {
            let place = next.fetch_add(1, Ordering::Relaxed);
            let Some(item) = items.get(place) else { return results };
            results.push((place, work(item)));
            bar.inc(1);
        }
    };
    let mut results: Vec<(usize, R)> = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..threads).map(|_| scope.spawn(turn)).collect();
        let joined = threads.into_iter().map(std::thread::ScopedJoinHandle::join);
        joined.flat_map(|results| results.unwrap_or_else(|panic| std::panic::resume_unwind(panic))).collect()
    });
    bar.finish_and_clear();
    results.sort_unstable_by_key(|(place, _)| *place);
    results.into_iter().map(|(_, result)| result).collect()
}

fn bar(what: &'static str, length: usize) -> ProgressBar {
    let bar = ProgressBar::new(length as u64).with_message(what);
    match ProgressStyle::with_template("{msg} {bar:30} {pos}/{len} {per_sec} {eta}") {
        Ok(style) => bar.with_style(style),
        Err(_) => bar,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn wanted(video_path: &str) -> Wanted {
        let (_, video_file) = video_path.split_once('/').unwrap();
        Wanted { video_path: video_path.into(), video_file: video_file.into(), standing_sha256: None }
    }

    #[test]
    fn a_name_that_two_collections_share_is_found_at_its_path_alone() {
        let videos = [wanted("A/reef.mp4"), wanted("B/reef.mp4"), wanted("B/r\u{e9}f.mp4")];
        let folder = tempfile::tempdir().unwrap();
        std::fs::create_dir(folder.path().join("A")).unwrap();
        for name in ["A/reef.mp4", "reef.mp4", "re\u{301}f.mp4"] {
            std::fs::write(folder.path().join(name), "").unwrap();
        }
        let there = paths_below(folder.path()).unwrap();
        let found = places(&videos, &there);
        assert_eq!(found[0], Some(folder.path().join("A/reef.mp4")));
        assert_eq!(found[1], None);
        assert_eq!(found[2], Some(folder.path().join("re\u{301}f.mp4")));
    }

    #[test]
    fn what_is_done_side_by_side_keeps_its_order() {
        let items: Vec<usize> = (0..100).collect();
        assert_eq!(
            side_by_side("doubling", &items, |item| item * 2),
            (0..200).step_by(2).collect::<Vec<_>>()
        );
        assert!(side_by_side("nothing", &[], |item: &usize| *item).is_empty());
    }
}
