//! Frames on disk: a folder for each choice of each video, with a JPEG for each frame and their list. What is read is checked
//! against its hash; what does not fit counts as not there.

use std::fs::{self, DirBuilder};
use std::io;
use std::os::unix::fs::DirBuilderExt as _;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

use super::Choice;
use crate::video::Picture;

/// Choices of one video that are kept, the newest: a team could ask for thousands.
pub(super) const MAX_CHOICES: usize = 16;

/// The file in which the frames of a choice are listed, under a line with the hash of what follows.
const LIST: &str = "list";

/// What is known of one frame.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, utoipa::ToSchema)]
pub struct FrameFacts {
    /// Its place among the frames that were asked for, from 0.
    pub i: u32,
    /// Its number in the video, in the order in which frames are shown, from 0.
    pub index: u64,
    /// When it is shown.
    pub timestamp_ms: i64,
    /// Pixels across.
    pub width: u32,
    /// Pixels down.
    pub height: u32,
    /// Size of the JPEG.
    pub bytes: u64,
    /// Hash of the JPEG, in hex.
    pub sha256: String,
}

/// The folder of all kept frames.
#[derive(Debug, Clone)]
pub(super) struct Kept {
    folder: PathBuf,
}

impl Kept {
    /// Makes the folder, and removes what a process that was killed has left unfinished.
    pub(super) fn open(folder: &Path) -> io::Result<Kept> {
        let kept = Kept { folder: folder.to_owned() };
        match fs::remove_dir_all(kept.unfinished()) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            _ => {}
        }
        make_folder(&kept.unfinished())?;
        Ok(kept)
    }

    /// Where what is under way lies; what is there at a start is gone.
    pub(super) fn unfinished(&self) -> PathBuf {
        self.folder.join("unfinished")
    }

    /// Where the frames of a choice lie.
    pub(super) fn folder(&self, sha256: &str, choice: Choice) -> PathBuf {
        self.folder.join(sha256).join(format!("{}-{}", choice.n, choice.size))
    }

    /// Puts the frames of a choice in their place, all at once.
    pub(super) fn put(&self, place: &Path, pictures: &[Picture]) -> io::Result<()> {
        let making = self.unfinished().join(uuid::Uuid::now_v7().to_string());
        make_folder(&making)?;
        let mut facts = Vec::new();
        for (i, picture) in (0..).zip(pictures) {
            fs::write(making.join(jpeg_name(i)), &picture.jpeg)?;
            facts.push(FrameFacts {
                i,
                index: picture.index,
                timestamp_ms: picture.timestamp_ms,
                width: picture.width,
                height: picture.height,
                bytes: picture.jpeg.len() as u64,
                sha256: hash(&picture.jpeg),
            });
        }
        let text = serde_json::to_string(&facts)?;
        fs::write(making.join(LIST), format!("{}\n{text}", hash(text.as_bytes())))?;
        let of_video = place.parent().unwrap_or(&self.folder);
        make_folder(of_video)?;
        if place.exists() {
            // Only where it was found to be damaged.
            fs::remove_dir_all(place)?;
        }
        fs::rename(&making, place)?;
        if let Err(error) = forget_oldest(of_video) {
            tracing::warn!(%error, folder = %of_video.display(), "old frames could not be removed");
        }
        Ok(())
    }
}

/// The list of a choice's frames.
pub(super) fn list(folder: &Path) -> Option<Vec<FrameFacts>> {
    let text = fs::read_to_string(folder.join(LIST)).ok()?;
    let (sha256, text) = text.split_once('\n')?;
    if hash(text.as_bytes()) != sha256 {
        return None;
    }
    serde_json::from_str(text).ok()
}

/// One frame of a choice.
pub(super) fn jpeg(folder: &Path, i: u32) -> Option<(FrameFacts, Vec<u8>)> {
    let facts = list(folder)?.into_iter().find(|facts| facts.i == i)?;
    let jpeg = fs::read(folder.join(jpeg_name(i))).ok()?;
    (hash(&jpeg) == facts.sha256).then_some((facts, jpeg))
}

fn jpeg_name(i: u32) -> String {
    format!("{i}.jpg")
}

fn hash(bytes: &[u8]) -> String {
    hex::encode(Sha256::digest(bytes))
}

fn make_folder(path: &Path) -> io::Result<()> {
    DirBuilder::new().recursive(true).mode(0o700).create(path)
}

/// Removes the choices of a video that are too many; who asks for them again gets them taken again.
fn forget_oldest(of_video: &Path) -> io::Result<()> {
    let mut choices: Vec<(SystemTime, PathBuf)> = Vec::new();
    for entry in fs::read_dir(of_video)? {
        let entry = entry?;
        // Another request for the same video may have removed it meanwhile.
        let Ok(modified) = entry.metadata().and_then(|facts| facts.modified()) else { continue };
        choices.push((modified, entry.path()));
    }
    choices.sort_unstable();
    let too_many = choices.len().saturating_sub(MAX_CHOICES);
    choices.iter().take(too_many).try_for_each(|(_, path)| match fs::remove_dir_all(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pictures(mark: u8) -> Vec<Picture> {
        let picture = |index| Picture { index, timestamp_ms: 40, width: 4, height: 2, jpeg: vec![mark; 9] };
        vec![picture(0), picture(3)]
    }

    #[test]
    fn what_is_kept_is_read_back_and_what_is_damaged_is_not_there() {
        let folder = tempfile::tempdir().unwrap();
        let kept = Kept::open(folder.path()).unwrap();
        let place = kept.folder("ab", Choice { n: 2, size: 16 });
        assert_eq!(list(&place), None);
        kept.put(&place, &pictures(1)).unwrap();
        let (facts, bytes) = jpeg(&place, 1).unwrap();
        assert_eq!((facts.i, facts.index, facts.bytes, bytes), (1, 3, 9, vec![1; 9]));
        assert_eq!(jpeg(&place, 2), None);
        fs::write(place.join("1.jpg"), [1; 8]).unwrap();
        assert_eq!(jpeg(&place, 1), None);
        assert_eq!(list(&place).map(|facts| facts.len()), Some(2));
        let text = fs::read_to_string(place.join(LIST)).unwrap();
        fs::write(place.join(LIST), text.replace("40", "41")).unwrap();
        assert_eq!(list(&place), None);
        kept.put(&place, &pictures(2)).unwrap();
        assert_eq!(jpeg(&place, 1).unwrap().1, [2; 9]);
        assert_eq!(fs::read_dir(kept.unfinished()).unwrap().count(), 0);
    }

    #[test]
    fn only_the_newest_choices_are_kept_and_nothing_unfinished() {
        let folder = tempfile::tempdir().unwrap();
        let kept = Kept::open(folder.path()).unwrap();
        for n in 1..=20 {
            kept.put(&kept.folder("ab", Choice { n, size: 16 }), &pictures(1)).unwrap();
        }
        assert_eq!(fs::read_dir(folder.path().join("ab")).unwrap().count(), MAX_CHOICES);
        assert!(list(&kept.folder("ab", Choice { n: 20, size: 16 })).is_some());
        fs::write(kept.unfinished().join("left"), "x").unwrap();
        Kept::open(folder.path()).unwrap();
        assert_eq!(fs::read_dir(kept.unfinished()).unwrap().count(), 0);
    }

    #[test]
    fn choices_that_are_too_many_are_forgotten_and_a_stray_file_keeps_nobody_from_the_newest() {
        let folder = tempfile::tempdir().unwrap();
        let kept = Kept::open(folder.path()).unwrap();
        for n in 1..=MAX_CHOICES as u32 + 4 {
            kept.put(&kept.folder("ab", Choice { n, size: 16 }), &pictures(1)).unwrap();
        }
        assert_eq!(fs::read_dir(folder.path().join("ab")).unwrap().count(), MAX_CHOICES);
        fs::write(folder.path().join("ab/stray"), "").unwrap();
        let last = kept.folder("ab", Choice { n: 2, size: 99 });
        kept.put(&last, &pictures(1)).unwrap();
        assert!(list(&last).is_some());
    }
}
