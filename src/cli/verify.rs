//! `secchi verify`: checks a signed record on this machine, without any server.

use std::fs::File;
use std::io::{Read, stdin};
use std::path::{Path, PathBuf};

use clap::Args;
use serde_json::json;

use super::exit::{Exit, help};
use super::report::{table, word};
use crate::records::{Checked, KeySet, Record, RecordFault, check};
use crate::scoring::decimals::to_decimals;

/// More than any record or set of keys has; what is longer is refused without being read to its end.
const MAX_BYTES: u64 = 1024 * 1024;

/// Where a server shows its keys.
const KEYS_PATH: &str = "/.well-known/secchi-keys.json";

/// Check a signed record on this machine, without any server
///
/// A record is what `/api/v1/entries/ID/record` of a server says about an entry. Its signature tells that nobody changed it.
/// That the server made it, and not somebody with a key of their own, is told by the key: give the server's keys by
/// `--keys`, or compare the key's id with those at `/.well-known/secchi-keys.json` of the server.
#[derive(Debug, Args)]
#[command(after_help = help(
    "  curl -O https://secchi.example.org/.well-known/secchi-keys.json\n  \
       secchi verify record.json --keys secchi-keys.json\n  \
       curl -s https://secchi.example.org/api/v1/entries/ID/record | secchi verify -"
))]
pub struct VerifyArgs {
    /// The record, or `-` for standard input
    record: PathBuf,
    /// The server's public keys, as they stand at its `/.well-known/secchi-keys.json`
    #[arg(long, value_name = "FILE")]
    keys: Option<PathBuf>,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

/// Checks a record and prints what it says.
///
/// # Errors
/// When a file cannot be read, or the record is refused.
pub async fn verify(arguments: VerifyArgs) -> anyhow::Result<()> {
    let keys = arguments.keys.as_deref().map(read_keys).transpose()?;
    let text = read(&arguments.record)?;
    match check(&text, keys.as_ref()) {
        Ok(checked) if arguments.json => {
            let Checked { record, key, key_is_known } = checked;
            let result =
                json!({ "valid": true, "key_id": key.id(), "key_is_known": key_is_known, "record": record });
            println!("{result}");
            Ok(())
        }
        Ok(checked) => {
            print_checked(&checked);
            Ok(())
        }
        Err(fault) => Err(refused(&fault, arguments.json)),
    }
}

fn refused(fault: &RecordFault, json: bool) -> anyhow::Error {
    if json {
        println!("{}", json!({ "valid": false, "code": fault.code(), "detail": fault.to_string() }));
    }
    Exit::Refused.with(format!("the record is refused: {fault}"))
}

fn read_keys(path: &Path) -> anyhow::Result<KeySet> {
    let words = || {
        let words = format!("`{}` holds no Ed25519 key; give what stands at {KEYS_PATH}", path.display());
        Exit::Refused.with(words)
    };
    KeySet::read(&read(path)?).ok_or_else(words)
}

fn read(path: &Path) -> anyhow::Result<Vec<u8>> {
    let unreadable = |error: std::io::Error| anyhow::anyhow!("`{}` cannot be read: {error}", path.display());
    let source: Box<dyn Read> = match path.to_str() {
        Some("-") => Box::new(stdin()),
        _ => Box::new(File::open(path).map_err(unreadable)?),
    };
    let mut text = Vec::new();
    source.take(MAX_BYTES).read_to_end(&mut text).map_err(unreadable)?;
    Ok(text)
}

fn print_checked(checked: &Checked) {
    let Checked { record, key, key_is_known } = checked;
    println!("The signature holds.\n");
    for (name, value) in facts(record) {
        println!("{name:<12} {}", word(&value.into()));
    }
    let rows = record.scores.iter().map(|(column, score)| {
        let places = if score.unit == crate::domain::column::Unit::Percent { 1 } else { 2 };
        let [low, high] = score.ci95.map(|bound| to_decimals(bound, places));
        let value = to_decimals(score.value, places);
        vec![
            column.to_string(),
            value,
            format!("{low} to {high}"),
            score.n.to_string(),
            score.unit.to_string(),
        ]
    });
    println!("{}", table(&["column", "value", "95 % interval", "questions", "unit"], rows));
    println!("\nChecked: nothing of this was changed since it was signed by the key\n  {}", key.id());
    if *key_is_known {
        println!("and that key is among those given by `--keys`.");
    } else {
        println!(
            "Not checked: whose key that is. It came with the record, and anybody can make one. Compare its id with those at \
             {KEYS_PATH} of the server, or give that file by `--keys`."
        );
    }
    println!(
        "Not checked: whether the entry still stands, or was withdrawn or rescored since; the server tells."
    );
}

fn facts(record: &Record) -> [(&'static str, String); 11] {
    let coverage = &record.coverage;
    let by_hand = match record.decided_by_hand {
        0 => String::new(),
        count => format!(", {count} scored by hand"),
    };
    [
        ("model", record.model_name.clone()),
        ("team", record.team.clone().unwrap_or_else(|| "anonymous".to_owned())),
        ("entry", record.entry.clone()),
        ("issuer", record.issuer.clone()),
        (
            "release",
            format!("{} ({} split), SHA-256 {}", record.release.name, record.split, record.release.sha256),
        ),
        (
            "predictions",
            record.predictions_sha256.as_ref().map_or_else(
                || "not told of an anonymous entry".to_owned(),
                |sha256| format!("SHA-256 {sha256}"),
            ),
        ),
        ("judge", format!("{}, configuration {}", record.judge.model, record.judge.configuration)),
        ("answered", format!("{} of {} questions{by_hand}", coverage.answered, coverage.questions)),
        ("code", record.code_version.clone()),
        ("submitted", record.submitted_at.clone()),
        ("scored", record.scored_at.clone().unwrap_or_else(|| "unknown".to_owned())),
    ]
}
