//! `secchi build`: the data engine, from annotations to the files of a release.

mod captions;
mod endpoint;
mod questions;
mod release;

use std::fs::File;
use std::io::BufReader;
use std::path::Path;

use anyhow::Context as _;
use clap::Subcommand;
use serde_json::{Value, json};

use crate::benchmark::building::asking::AskError;
use crate::benchmark::building::giveaway::Guess;
use crate::benchmark::release::ReleaseError;

use super::evaluate::stopped;
use super::exit::Exit;
use super::report::{counted, table};

/// Make questions and releases from annotated videos
#[derive(Debug, Subcommand)]
pub enum BuildCommand {
    Captions(captions::CaptionsArgs),
    Questions(questions::QuestionsArgs),
    Release(release::ReleaseArgs),
}

/// Runs a command of the data engine.
///
/// # Errors
/// Whatever kept it from doing its work, in words for the maintainer.
pub async fn run(command: BuildCommand) -> anyhow::Result<()> {
    match command {
        BuildCommand::Captions(arguments) => captions::captions(arguments).await,
        BuildCommand::Questions(arguments) => questions::questions(arguments).await,
        BuildCommand::Release(arguments) => release::release(arguments).await,
    }
}

/// Opens a file to be read.
fn open(path: &Path) -> anyhow::Result<BufReader<File>> {
    let file = File::open(path).with_context(|| format!("`{}` cannot be read", path.display()))?;
    Ok(BufReader::new(file))
}

/// What is wrong with a file, a fault a line.
fn faulty(path: &Path, error: ReleaseError) -> anyhow::Error {
    let faults = match error {
        ReleaseError::Faulty(faults) => faults,
        other => return Exit::Other.with(format!("`{}`: {other}", path.display())),
    };
    let listed = faults.listed.iter().map(|fault| format!("line {}: {}\n", fault.line, fault.detail));
    let listed: String = listed.collect();
    let more = faults.total - faults.listed.len();
    let rest = if more > 0 { format!("and {more} more\n") } else { String::new() };
    let total = counted(faults.total as u64, "fault");
    Exit::Refused
        .with(format!("`{}` has {total}; nothing was written:\n{listed}{rest}", path.display()).trim_end())
}

/// A prompt: the folder's file of that name, or the one that is compiled in.
fn prompt(folder: Option<&Path>, name: &str, builtin: &str) -> anyhow::Result<String> {
    match folder.map(|folder| folder.join(name)).filter(|path| path.exists()) {
        Some(path) => std::fs::read_to_string(&path).with_context(|| format!("`{}`", path.display())),
        None => Ok(builtin.to_owned()),
    }
}

/// Why a run that asks models came to no end.
fn ended(error: AskError) -> anyhow::Error {
    match error {
        AskError::Endpoint { fault, left }
            if fault.fault.kind.stops_all() || fault.fault.kind.is_outage() =>
        {
            let ended = stopped(&fault);
            ended.exit.with(format!("{}; {} left", ended.words, counted(left as u64, "video")))
        }
        AskError::Endpoint { .. } | AskError::Videos(_) => {
            Exit::Incomplete.with(format!("{error}; the same command asks about them again"))
        }
        AskError::Budget { .. } => Exit::Incomplete.with(error.to_string()),
        AskError::Journal(_) => Exit::Refused.with(error.to_string()),
    }
}

/// How far guessing comes, a row a type and a column a rule.
/// Names that are told one by one at most.
const MAX_NAMED: usize = 10;

/// Some names, and how many more there are.
fn some_of<S: AsRef<str>>(names: &[S]) -> String {
    let told: Vec<&str> = names.iter().take(MAX_NAMED).map(AsRef::as_ref).collect();
    let more = match names.len().saturating_sub(MAX_NAMED) {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    told.join(", ") + &more
}

fn guesses_table(guesses: &[Guess]) -> String {
    let mut rules: Vec<&str> = Vec::new();
    for guess in guesses {
        if !rules.contains(&guess.rule) {
            rules.push(guess.rule);
        }
    }
    let percent =
        |guess: &Guess| format!("{:.1} %{}", guess.percent(), if guess.is_inherent { " *" } else { "" });
    let mut rows: Vec<Vec<String>> = Vec::new();
    for of_type in guesses.chunk_by(|one, other| one.question_type == other.question_type) {
        let cells = of_type.iter().map(percent);
        rows.push(std::iter::once(of_type[0].question_type.to_string()).chain(cells).collect());
    }
    let header: Vec<&str> = std::iter::once("guessed right").chain(rules).collect();
    format!(
        "{}\n* the paper's other questions name the central object; no option mends that",
        table(&header, rows)
    )
}

fn guesses_json(guesses: &[Guess]) -> Vec<Value> {
    let row = |guess: &Guess| {
        json!({
            "type": guess.question_type, "rule": guess.rule, "right": guess.right, "questions": guess.questions,
            "percent": guess.percent(), "inherent": guess.is_inherent,
        })
    };
    guesses.iter().map(row).collect()
}
