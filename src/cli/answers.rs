//! The two files that `secchi evaluate` appends to as answers arrive: the predictions, as `secchi submit` takes them, and
//! beside them a log with model, tokens and time of each, whose first line says what run it is. Asks nobody.

use std::collections::{HashMap, HashSet};
use std::fs::File;
use std::io::{self, Seek as _};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use super::exit::{Ended, Exit};
use crate::benchmark::appended::{append, open_whole};
use crate::domain::question::Split;

/// What must be the same in all answers of a file.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Run {
    /// The split.
    pub split: Split,
    /// The model that is asked for.
    pub model: String,
    /// Frames that it is shown.
    pub frames: u32,
    /// Pixels of a frame's longest side at most.
    pub size: u32,
    /// What is sent with each question.
    pub parameters: Map<String, Value>,
    /// The hash of the questions, in hex.
    pub questions_sha256: String,
}

/// One line of the predictions.
#[derive(Debug, Serialize, Deserialize)]
struct Prediction {
    question_id: String,
    answer: String,
}

/// One line of the log behind the first.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct Logged {
    /// The question.
    pub question_id: String,
    /// The model that says it answered.
    pub model: Option<String>,
    /// Tokens sent; null where the endpoint does not say.
    pub prompt_tokens: Option<u64>,
    /// Tokens that came back; null where the endpoint does not say.
    pub completion_tokens: Option<u64>,
    /// From the first try to the reply.
    pub duration_ms: u64,
    /// Tries that were made.
    pub tries: u32,
    /// Whether the reply was cut at the token cap.
    pub is_cut: bool,
    /// Whether nothing was said.
    pub is_empty: bool,
    /// Why there is no answer, if there is none.
    pub error: Option<String>,
}

/// The files of one run, of which no other process adds to.
pub struct Answers {
    predictions: File,
    log: File,
    /// Where the log is.
    pub log_path: PathBuf,
    /// The questions that have an answer.
    pub answered: HashSet<String>,
    logged: HashMap<String, Logged>,
}

impl Answers {
    /// Opens the files of `run`, which go on if they are there; what a kill left half written is dropped.
    ///
    /// # Errors
    /// When they are another run's or another process adds to them, or cannot be written.
    pub fn open(path: &Path, run: &Run) -> anyhow::Result<Answers> {
        let log_path = path.with_extension("log.jsonl");
        let (mut predictions, text) = open_whole(path).map_err(|error| fault(path, &error))?;
        if predictions.try_lock().is_err() {
            return Err(Exit::Refused.with(format!("another process adds to `{}`", path.display())));
        }
        let (mut log, logged) = open_whole(&log_path).map_err(|error| fault(&log_path, &error))?;
        let mut lines = logged.lines();
        match lines.next() {
            None if text.is_empty() => {
                append(&mut log, &json!({ "run": run })).map_err(|e| fault(&log_path, &e))?
            }
            None => return Err(foreign(path, "it was not made by `secchi evaluate`, or its log is gone")),
            Some(first) => {
                let first: Value = serde_json::from_str(first).unwrap_or_default();
                let of_run: Option<Run> = serde_json::from_value(first["run"].clone()).ok();
                let other = of_run.ok_or_else(|| foreign(&log_path, "its first line tells no run"))?;
                if let Some(difference) = difference(&other, run) {
                    return Err(foreign(path, &difference));
                }
            }
        }
        let logged = lines.filter_map(|line| serde_json::from_str::<Logged>(line).ok());
        let logged = logged.map(|line| (line.question_id.clone(), line)).collect();
        let mut answered = HashSet::new();
        for (number, line) in text.lines().enumerate() {
            let prediction: Prediction = serde_json::from_str(line)
                .map_err(|_| foreign(path, &format!("line {} is no answer of such a run", number + 1)))?;
            answered.insert(prediction.question_id);
        }
        predictions.seek(io::SeekFrom::End(0)).map_err(|error| fault(path, &error))?;
        Ok(Answers { predictions, log, log_path, answered, logged })
    }

    /// Keeps an answer, safe from a power cut before anything else is asked about it.
    ///
    /// # Errors
    /// When it cannot be written.
    pub fn keep(&mut self, answer: String, logged: Logged) -> Result<(), Ended> {
        let question_id = logged.question_id.clone();
        self.note(logged)?;
        append(&mut self.predictions, &json!(Prediction { question_id: question_id.clone(), answer }))
            .map_err(|error| Exit::Other.ended(format!("the answer cannot be kept: {error}")))?;
        self.answered.insert(question_id);
        Ok(())
    }

    /// Notes in the log alone what came of a question.
    ///
    /// # Errors
    /// When it cannot be written.
    pub fn note(&mut self, logged: Logged) -> Result<(), Ended> {
        append(&mut self.log, &json!(logged)).map_err(|error| fault(&self.log_path, &error))?;
        self.logged.insert(logged.question_id.clone(), logged);
        Ok(())
    }

    /// What is logged about the questions that have an answer.
    pub fn logged(&self) -> impl Iterator<Item = &Logged> {
        self.logged.values().filter(|logged| self.answered.contains(&logged.question_id))
    }
}

fn fault(path: &Path, error: &io::Error) -> Ended {
    Exit::Other.ended(format!("`{}`: {error}", path.display()))
}

fn foreign(path: &Path, why: &str) -> anyhow::Error {
    let words =
        format!("`{}` cannot be gone on with: {why}; give another `--out`, or remove it", path.display());
    Exit::Refused.with(words)
}

/// In what two runs differ, in words.
fn difference(other: &Run, run: &Run) -> Option<String> {
    let (other, run) = (json!(other), json!(run));
    let fields = other.as_object()?.iter().filter(|(name, value)| run[name.as_str()] != **value);
    let told: Vec<String> = fields
        .map(|(name, value)| format!("its {name} is `{value}` and not `{}`", run[name.as_str()]))
        .collect();
    (!told.is_empty()).then(|| told.join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(model: &str) -> Run {
        let parameters = Map::new();
        let (model, questions_sha256) = (model.to_owned(), "ab".to_owned());
        Run { split: Split::Val, model, frames: 8, size: 512, parameters, questions_sha256 }
    }

    fn logged(question_id: &str, prompt_tokens: u64) -> Logged {
        let prompt_tokens = Some(prompt_tokens);
        Logged { question_id: question_id.to_owned(), prompt_tokens, ..Logged::default() }
    }

    #[test]
    fn half_a_line_is_dropped_and_everything_before_it_is_gone_on_with() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("p.jsonl");
        let mut answers = Answers::open(&path, &run("m")).unwrap();
        answers.keep("B \u{1f420}\n".to_owned(), logged("q1", 5)).unwrap();
        answers.note(logged("q2", 70)).unwrap();
        drop(answers);
        let whole = std::fs::read(&path).unwrap();
        std::fs::write(&path, [&whole[..], b"{\"question_id\": \"q2\", \"ans"].concat()).unwrap();
        let mut answers = Answers::open(&path, &run("m")).unwrap();
        assert_eq!(answers.answered, HashSet::from(["q1".to_owned()]));
        assert_eq!(answers.logged().map(|logged| logged.prompt_tokens).sum::<Option<u64>>(), Some(5));
        answers.keep("C".to_owned(), logged("q2", 7)).unwrap();
        assert_eq!(answers.logged().map(|logged| logged.prompt_tokens).sum::<Option<u64>>(), Some(12));
        let text = std::fs::read_to_string(&path).unwrap();
        assert_eq!(text.lines().last(), Some(r#"{"question_id":"q2","answer":"C"}"#));
    }

    #[test]
    fn the_answers_of_another_run_are_not_gone_on_with() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("p.jsonl");
        let open = |run: &Run| Answers::open(&path, run).err().map(|error| error.to_string());
        assert_eq!(open(&run("a")), None);
        assert!(open(&run("b")).unwrap().contains("its model is `\"a\"` and not `\"b\"`"));
        std::fs::write(&path, "{\"question_id\": \"q\", \"answer\": \"A\"}\n").unwrap();
        assert_eq!(open(&run("a")), None);
        std::fs::remove_file(path.with_extension("log.jsonl")).unwrap();
        assert!(open(&run("a")).unwrap().contains("its log is gone"));
    }

    #[test]
    fn two_processes_do_not_add_to_one_file() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("p.jsonl");
        let _first = Answers::open(&path, &run("a")).unwrap();
        assert!(Answers::open(&path, &run("a")).err().unwrap().to_string().contains("another process"));
    }
}
