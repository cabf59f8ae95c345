//! The folder that `secchi pull` fills and `secchi evaluate` reads. Every file in it is whole: what is being fetched is
//! called `.part`. Asks no server.
//!
//! `manifest.json` tells which folder holds the frames of a video. A video's key may hold any characters, so its files are
//! named after the ASCII letters, digits, `.`, `_` and `-` of the key, `_` for each other character, at most 80 of them,
//! then `-` and the first 8 hex digits of the key's SHA-256.

use std::fs::{self, File};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

use super::exit::Exit;
use crate::domain::question::{QuestionFormat, Split};

const MANIFEST: &str = "manifest.json";
const QUESTIONS: &str = "questions.jsonl";
const MAX_NAME_CHARS: usize = 80;

/// What a folder is to hold.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Wanted {
    /// The split.
    pub split: Split,
    /// Frames of each video; 0 for none.
    pub n: u32,
    /// Pixels of a frame's longest side at most.
    pub size: u32,
}

/// What a folder holds.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Manifest {
    /// What it is to hold.
    #[serde(flatten)]
    pub wanted: Wanted,
    /// Whether all of it is there that the server has.
    pub complete: bool,
    /// The release's name.
    pub release: String,
    /// The release's hash on the server, in hex.
    pub release_sha256: String,
    /// The hash of `questions.jsonl`, in hex.
    pub questions_sha256: String,
    /// The videos in the order of the questions.
    pub videos: Vec<PulledVideo>,
    /// The keys of videos that the server has no file of.
    pub missing: Vec<String>,
}

/// What a folder holds of a video; paths are below the folder.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct PulledVideo {
    /// The video's key.
    pub id: String,
    /// The video's file, if it was wanted.
    pub file: Option<String>,
    /// The frames in the order in which a model is shown them.
    pub frames: Vec<PulledFrame>,
}

/// One frame.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct PulledFrame {
    /// Its file.
    pub file: String,
    /// Its place in the video, from 0.
    pub index: u64,
    /// When it is shown.
    pub timestamp_ms: i64,
    /// The file's hash, in hex.
    pub sha256: String,
}

/// A question as a model is asked it.
#[derive(Debug, Clone, Deserialize)]
pub struct Question {
    /// The question's id.
    pub question_id: String,
    /// Its video's key.
    pub id: String,
    /// How it is answered.
    pub question_format: QuestionFormat,
    /// What a model is asked.
    pub prompt: String,
    /// The video file's name.
    pub video_file: String,
}

/// A folder of pulled files.
pub struct Folder {
    /// Where it is.
    pub root: PathBuf,
    /// Keeps a second `pull` out.
    lock: Option<File>,
}

impl Folder {
    /// The folder at `root`, which need not be there.
    pub fn new(root: &Path) -> Folder {
        Folder { root: root.to_owned(), lock: None }
    }

    /// Makes the folder, for one process at a time.
    ///
    /// # Errors
    /// When it cannot be made, or another process fills it.
    pub fn take(&mut self) -> anyhow::Result<()> {
        fs::create_dir_all(&self.root).map_err(|error| self.fault(&self.root, &error))?;
        let path = self.root.join(".lock");
        let lock = File::create(&path).map_err(|error| self.fault(&path, &error))?;
        if lock.try_lock().is_err() {
            return Err(Exit::Refused.with(format!("another process fills `{}`", self.root.display())));
        }
        self.lock = Some(lock);
        Ok(())
    }

    /// What it holds; none if nothing was pulled.
    ///
    /// # Errors
    /// When the manifest is none.
    pub fn manifest(&self) -> anyhow::Result<Option<Manifest>> {
        let path = self.root.join(MANIFEST);
        let bytes = match fs::read(&path) {
            Ok(bytes) => bytes,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(self.fault(&path, &error)),
        };
        let unreadable = |error| {
            let words = format!(
                "`{}` is no manifest of `secchi pull` ({error}); choose another folder",
                path.display()
            );
            Exit::Refused.with(words)
        };
        serde_json::from_slice(&bytes).map(Some).map_err(unreadable)
    }

    /// Keeps the manifest.
    ///
    /// # Errors
    /// When it cannot be written.
    pub fn save_manifest(&self, manifest: &Manifest) -> anyhow::Result<()> {
        self.write(MANIFEST, serde_json::to_string_pretty(manifest)?.as_bytes(), true)
    }

    /// Keeps the questions, and gives them and their hash.
    ///
    /// # Errors
    /// When they cannot be written or are none.
    pub fn save_questions(&self, bytes: &[u8]) -> anyhow::Result<(Vec<Question>, String)> {
        let questions = self.parse(bytes)?;
        if fs::read(self.root.join(QUESTIONS)).ok().as_deref() != Some(bytes) {
            self.write(QUESTIONS, bytes, true)?;
        }
        Ok((questions, hash(bytes)))
    }

    /// The questions, which must be those of the manifest.
    ///
    /// # Errors
    /// When they cannot be read or were changed.
    pub fn questions(&self, manifest: &Manifest) -> anyhow::Result<Vec<Question>> {
        let path = self.root.join(QUESTIONS);
        let bytes = fs::read(&path).map_err(|error| self.fault(&path, &error))?;
        if hash(&bytes) != manifest.questions_sha256 {
            let words = format!("`{}` was changed; `secchi pull` mends it", path.display());
            return Err(Exit::Refused.with(words));
        }
        self.parse(&bytes)
    }

    fn parse(&self, bytes: &[u8]) -> anyhow::Result<Vec<Question>> {
        let lines = bytes.split(|byte| *byte == b'\n').filter(|line| !line.is_empty());
        let questions: Result<Vec<Question>, _> = lines.map(serde_json::from_slice).collect();
        questions.map_err(|error| Exit::Other.with(format!("the questions cannot be read: {error}")))
    }

    /// The bytes of a file with this hash; none if it is not there or another.
    pub fn read(&self, file: &str, sha256: &str) -> Option<Vec<u8>> {
        fs::read(self.root.join(file)).ok().filter(|bytes| hash(bytes) == sha256)
    }

    /// Writes a file below the folder, whole or not at all; a lasting one also where the power fails, which costs time
    /// and is not needed where its hash is looked at anyway.
    ///
    /// # Errors
    /// When it cannot be written.
    pub fn write(&self, file: &str, bytes: &[u8], lasting: bool) -> anyhow::Result<()> {
        let path = self.root.join(file);
        let part = self.root.join(format!("{file}.part"));
        let write = || {
            if let Some(parent) = path.parent() {
                fs::create_dir_all(parent)?;
            }
            let mut out = File::create(&part)?;
            out.write_all(bytes)?;
            if lasting {
                out.sync_all()?;
            }
            fs::rename(&part, &path)
        };
        write().map_err(|error| self.fault(&path, &error))
    }

    fn fault(&self, path: &Path, error: &io::Error) -> anyhow::Error {
        Exit::Other.with(format!("`{}`: {error}", path.display()))
    }
}

/// The name of a video's files, without an extension.
pub fn safe_name(key: &str) -> String {
    let safe = |c: char| if c.is_ascii_alphanumeric() || "._-".contains(c) { c } else { '_' };
    let plain: String = key.chars().map(safe).take(MAX_NAME_CHARS).collect();
    format!("{plain}-{}", &hash(key.as_bytes())[..8])
}

/// The extension of a video's file, with its dot; empty if it has none that is plain.
pub fn extension(video_file: &str) -> String {
    match video_file.rsplit_once('.') {
        Some((_, extension))
            if extension.len() <= 5 && extension.chars().all(|c| c.is_ascii_alphanumeric()) =>
        {
            format!(".{extension}")
        }
        _ => String::new(),
    }
}

fn hash(bytes: &[u8]) -> String {
    hex::encode(Sha256::digest(bytes))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_key_has_a_name_of_its_own_that_leads_nowhere_else() {
        let keys = ["MVK--a/b", "MVK--a_b", "MVK--a b", "MVK--A_b", "MVK--ö [x]", "../../x", "..", "con", ""];
        let names: Vec<String> = keys.iter().map(|key| safe_name(key).to_lowercase()).collect();
        let mut distinct = names.clone();
        distinct.sort_unstable();
        distinct.dedup();
        assert_eq!(distinct.len(), keys.len(), "{names:?}");
        for name in names {
            assert!(name.len() > 8 && !name.contains(['/', '\\', ' ', '[']), "{name}");
            assert!(Path::new(&name).components().count() == 1 && name != "..", "{name}");
        }
        assert!(safe_name(&"ü".repeat(500)).len() < 100);
        assert_eq!(
            (extension("a.b.mp4"), extension("a./x"), extension("a")),
            (".mp4".into(), String::new(), String::new())
        );
    }
}
