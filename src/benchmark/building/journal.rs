//! Every reply that a model gave while a release was built, with what it cost: none is paid for twice, however often a run is
//! stopped. Knows nothing of what was asked for.
//!
//! A reply is found again by the model and the very words that it was asked, so that another prompt, model or annotation asks
//! anew and what has not changed does not.

use std::collections::HashMap;
use std::fs::File;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use serde_json::json;
use sha2::{Digest as _, Sha256};

use crate::benchmark::appended::{append, open_whole};

/// Why the journal cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum JournalError {
    /// It cannot be read or written.
    #[error("`{0}`: {1}")]
    Io(PathBuf, std::io::Error),
    /// Another process adds to it.
    #[error("another process adds to `{0}`")]
    Taken(PathBuf),
    /// Something else is in it.
    #[error("line {1} of `{0}` is no reply that was kept; give another file, or remove it")]
    Foreign(PathBuf, usize),
}

/// A reply that was kept.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Kept {
    /// What it is found by, in hex.
    pub key: String,
    /// What it was asked for.
    pub step: String,
    /// The video that it is about.
    pub id: String,
    /// The model that says it answered.
    pub model: String,
    /// What it said.
    pub reply: String,
    /// Tokens sent; null where the endpoint does not say.
    pub prompt_tokens: Option<u64>,
    /// Tokens received; null where the endpoint does not say.
    pub completion_tokens: Option<u64>,
    /// What it cost, or at most, in dollars.
    pub cost_usd: f64,
}

/// The file, and what is in it.
pub struct Journal {
    file: File,
    path: PathBuf,
    kept: HashMap<String, Kept>,
}

impl Journal {
    /// Opens the file, which goes on if it is there.
    ///
    /// # Errors
    /// When it cannot be used.
    pub fn open(path: &Path) -> Result<Journal, JournalError> {
        let (file, text) = open_whole(path).map_err(|error| JournalError::Io(path.to_owned(), error))?;
        if file.try_lock().is_err() {
            return Err(JournalError::Taken(path.to_owned()));
        }
        let mut kept = HashMap::new();
        for (number, line) in (1..).zip(text.lines()) {
            let reply: Kept =
                serde_json::from_str(line).map_err(|_| JournalError::Foreign(path.to_owned(), number))?;
            kept.insert(reply.key.clone(), reply);
        }
        Ok(Journal { file, path: path.to_owned(), kept })
    }

    /// What a reply of this model to these words is found by.
    pub fn key(model: &str, words: &str) -> String {
        let mut hash = Sha256::new();
        hash.update(model);
        hash.update([0]);
        hash.update(words);
        hex::encode(&hash.finalize()[..16])
    }

    /// The reply of this key, if there is one.
    pub fn find(&self, key: &str) -> Option<&Kept> {
        self.kept.get(key)
    }

    /// Keeps a reply, safe from a power cut when this returns.
    ///
    /// # Errors
    /// When it cannot be written.
    pub fn keep(&mut self, reply: Kept) -> Result<(), JournalError> {
        append(&mut self.file, &json!(reply)).map_err(|error| JournalError::Io(self.path.clone(), error))?;
        self.kept.insert(reply.key.clone(), reply);
        Ok(())
    }

    /// All that was kept, in no order.
    pub fn replies(&self) -> impl Iterator<Item = &Kept> {
        self.kept.values()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reply(key: &str) -> Kept {
        let (step, id, model) = ("s".to_owned(), "MVK--a".to_owned(), "m".to_owned());
        let (prompt_tokens, completion_tokens) = (Some(1), None);
        Kept {
            key: key.to_owned(),
            step,
            id,
            model,
            reply: "r\n".into(),
            prompt_tokens,
            completion_tokens,
            cost_usd: 0.5,
        }
    }

    #[test]
    fn what_a_kill_left_half_written_is_dropped_and_the_rest_is_found() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("j.jsonl");
        Journal::open(&path).unwrap().keep(reply("k1")).unwrap();
        let whole = std::fs::read(&path).unwrap();
        std::fs::write(&path, [&whole[..], &whole[..9]].concat()).unwrap();
        let mut journal = Journal::open(&path).unwrap();
        assert_eq!((journal.find("k1"), journal.find("k2")), (Some(&reply("k1")), None));
        assert!(matches!(Journal::open(&path), Err(JournalError::Taken(_))));
        journal.keep(reply("k2")).unwrap();
        drop(journal);
        assert_eq!(Journal::open(&path).unwrap().replies().count(), 2);
    }

    #[test]
    fn another_model_or_other_words_have_another_key() {
        assert_ne!(Journal::key("a", "bc"), Journal::key("ab", "c"));
        assert_ne!(Journal::key("a", "b"), Journal::key("a", "c"));
    }
}
