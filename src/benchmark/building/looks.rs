//! What the files of annotated videos look like. Knows nothing of what is done with it.

use std::path::Path;

use super::super::files::{FilesError, Wanted, find_videos, side_by_side};
use super::annotation::Annotation;
use super::duplicates::Looks;
use crate::video::{VideoError, fingerprint, probe};

/// Looks at each video's file in a folder, or in the folder of its collection there; none of a video without a file. Files
/// are decoded whole, side by side.
///
/// # Errors
/// When the folder cannot be read or files are damaged; all of these are named.
pub fn looks_of(videos: &[Annotation], folder: &Path) -> Result<Vec<Option<Looks>>, FilesError> {
    let wanted: Vec<Wanted> =
        videos.iter().map(|video| Wanted::new(&video.collection, &video.video_file)).collect();
    let places = find_videos(&wanted, folder)?;
    let seen = side_by_side("looking at videos", &places, |path| path.as_deref().map(look_at).transpose());
    let faulty = seen
        .iter()
        .zip(&wanted)
        .filter_map(|(seen, video)| Some(format!("  {}: {}", video.video_path, seen.as_ref().err()?)));
    let faulty: Vec<String> = faulty.collect();
    if faulty.is_empty() {
        Ok(seen.into_iter().flatten().collect())
    } else {
        Err(FilesError::Unusable(faulty))
    }
}

fn look_at(path: &Path) -> Result<Looks, VideoError> {
    let facts = probe(path)?;
    Ok(Looks { pictures: fingerprint(path, facts.frames)?, sha256: facts.sha256 })
}
