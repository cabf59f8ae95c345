//! The files of a release's videos: which are there, which are not, and what is in them. Stores nothing.

use std::collections::HashSet;
use std::path::{Path, PathBuf};

use indicatif::{ProgressBar, ProgressStyle};

use crate::store::videos::VideoFileRow;
use crate::video::{VideoError, VideoFacts, probe};

use super::release::ReleaseContent;

/// Why the files were not taken.
#[derive(Debug, thiserror::Error)]
pub enum FilesError {
    /// The folder cannot be read.
    #[error("`{0}` cannot be read: {1}")]
    Folder(PathBuf, std::io::Error),
    /// Files are damaged.
    #[error("{} video file(s) are unusable; nothing was imported:\n{}", .0.len(), .0.join("\n"))]
    Unusable(Vec<String>),
}

/// What a folder of videos holds of a release.
pub struct Files {
    /// By position of the video: what its file holds, or none if it is missing.
    facts: Vec<Option<VideoFacts>>,
    /// The paths of videos without a file.
    pub missing: Vec<String>,
    /// Files that belong to no video.
    pub surplus: Vec<String>,
}

impl Files {
    /// What is known of the files, as it is stored.
    pub fn rows(&self, release_id: &str) -> Vec<VideoFileRow> {
        let row = |(position, facts): (usize, &Option<VideoFacts>)| {
            let facts = facts.as_ref()?;
            Some(VideoFileRow {
                release_id: release_id.to_owned(),
                position: i32::try_from(position).ok()?,
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
        self.facts.iter().enumerate().filter_map(row).collect()
    }
}

/// Looks at the file of each video, which lies at its path or under its name in `folder`, with a bar on a terminal.
///
/// # Errors
/// When the folder cannot be read or a file is damaged; all damaged ones are named.
pub fn look_at_files(content: &ReleaseContent, folder: &Path) -> Result<Files, FilesError> {
    let there = paths_below(folder).map_err(|error| FilesError::Folder(folder.to_owned(), error))?;
    let bar = ProgressBar::new(content.videos.len() as u64);
    if let Ok(style) = ProgressStyle::with_template("looking at videos {bar:30} {pos}/{len} {eta}") {
        bar.set_style(style);
    }
    let mut files = Files { facts: Vec::new(), missing: Vec::new(), surplus: Vec::new() };
    let mut unusable = Vec::new();
    let mut known = HashSet::new();
    for video in &content.videos {
        let places = [folder.join(&video.video_path), folder.join(&video.video_file)];
        let found = places.into_iter().find(|path| there.contains(path));
        let facts = match &found {
            Some(path) => probe(path).map(Some),
            None => Ok(None),
        };
        match facts {
            Ok(facts) => {
                if facts.is_none() {
                    files.missing.push(video.video_path.clone());
                }
                files.facts.push(facts);
            }
            Err(error) => unusable.push(unusable_line(&video.video_path, &error)),
        }
        known.extend(found);
        bar.inc(1);
    }
    bar.finish_and_clear();
    if !unusable.is_empty() {
        return Err(FilesError::Unusable(unusable));
    }
    let surplus = there.iter().filter(|path| !known.contains(*path));
    files.surplus =
        surplus.map(|path| path.strip_prefix(folder).unwrap_or(path).display().to_string()).collect();
    files.surplus.sort_unstable();
    Ok(files)
}

fn unusable_line(path: &str, error: &VideoError) -> String {
    format!("  {path}: {error}")
}

/// The files in a folder and in the folders directly in it.
fn paths_below(folder: &Path) -> std::io::Result<HashSet<PathBuf>> {
    let mut paths = HashSet::new();
    for entry in std::fs::read_dir(folder)? {
        let path = entry?.path();
        if path.is_dir() {
            for inner in std::fs::read_dir(&path)? {
                let inner = inner?.path();
                if inner.is_file() {
                    paths.insert(inner);
                }
            }
        } else {
            paths.insert(path);
        }
    }
    Ok(paths)
}
