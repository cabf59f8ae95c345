//! `secchi submit`: a prediction file is sent, its faults are shown, and it is followed till it ends.

use std::path::PathBuf;
use std::sync::Arc;

use clap::Args;
use indicatif::ProgressBar;
use serde_json::Value;

use crate::client::{Client, ClientError, Refusal, Upload};
use crate::config::ClientSettings;
use crate::domain::question::Split;
use crate::domain::submission::{Access, Metadata, Visibility};

use super::exit::{Exit, exit_of, help};
use super::report::{bar, counted, print_faults, time, word};
use super::status::{print_submission, print_warnings};

/// Validate and upload a prediction file
#[derive(Debug, Args)]
#[command(after_help = help(
    "  secchi submit predictions.jsonl --split val --model-name Reef-8B --access open --parameters-b 8 --dry-run\n  secchi submit predictions.jsonl --split test --model-name Reef-8B --access open --parameters-b 8 --watch"
))]
pub struct SubmitArgs {
    /// JSONL, a JSON array or object, CSV or TSV, the samples of `lmms-eval --log_samples`, or a result table of VLMEvalKit
    /// (.xlsx, .tsv or .json); plain, gzip or zstd
    file: PathBuf,
    /// test or val
    #[arg(long)]
    split: Split,
    /// The model's name as the leaderboard shall show it
    #[arg(long)]
    model_name: String,
    /// open or closed: whether the weights can be had
    #[arg(long)]
    access: Access,
    /// Billions of parameters; required for open models
    #[arg(long)]
    parameters_b: Option<f64>,
    /// The model's backbone
    #[arg(long)]
    backbone: Option<String>,
    /// Anything a reader should know about the run
    #[arg(long)]
    description: Option<String>,
    /// Address of a paper
    #[arg(long)]
    paper_url: Option<String>,
    /// Address of code
    #[arg(long)]
    code_url: Option<String>,
    /// private, anonymous or public
    #[arg(long, default_value = "private")]
    visibility: Visibility,
    /// The day (UTC, as 2027-03-01) from which an anonymous entry shows the team's name
    #[arg(long)]
    anonymous_until: Option<String>,
    /// Only validate: nothing is stored and no quota is used
    #[arg(long)]
    dry_run: bool,
    /// Follow the submission until it ends and print its scores
    #[arg(long)]
    watch: bool,
    /// Submit anew what was cancelled, has failed or was withdrawn; without this, the same command makes no second
    /// submission
    #[arg(long)]
    again: bool,
    /// Print JSON
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    server: ClientSettings,
}

/// Uploads a prediction file.
///
/// # Errors
/// When the server refuses it or is not reached, or a watched submission does not end `scored`.
pub async fn submit(arguments: SubmitArgs) -> anyhow::Result<()> {
    let client = Client::new(&arguments.server.url, arguments.server.api_key.as_deref())?;
    let unreadable =
        |error| Exit::Refused.with(format!("`{}` cannot be read: {error}", arguments.file.display()));
    let file = Arc::new(tokio::fs::read(&arguments.file).await.map_err(unreadable)?);
    let sent =
        bar("sending", "{msg:10} {bar:30} {bytes}/{total_bytes} {bytes_per_sec} {eta}", file.len() as u64);
    let upload = Upload {
        metadata: Metadata {
            split: arguments.split,
            model_name: arguments.model_name,
            access: arguments.access,
            parameters_b: arguments.parameters_b,
            backbone: arguments.backbone,
            description: arguments.description,
            paper_url: arguments.paper_url,
            code_url: arguments.code_url,
            visibility: arguments.visibility,
            anonymous_until: arguments.anonymous_until,
        },
        file,
        dry_run: arguments.dry_run,
        nonce: if arguments.again { uuid::Uuid::now_v7().to_string() } else { String::new() },
        on_sent: on_sent(&sent),
    };
    let answered = client.submit(&upload).await;
    sent.finish_and_clear();
    let accepted = match answered {
        Err(ClientError::Refused(refusal)) => {
            return Err(refused(refusal, arguments.json));
        }
        other => other?,
    };
    if arguments.dry_run {
        print_dry_run(&accepted, arguments.json);
        return Ok(());
    }
    let is_old = !accepted["finished_at"].is_null();
    if is_old && !arguments.json {
        println!("this very file was submitted before{}", again_hint(&accepted));
    }
    if !arguments.watch {
        print_submission(&accepted, arguments.json);
        return Ok(());
    }
    let id = accepted["id"].as_str().unwrap_or_default();
    if !arguments.json && !is_old {
        println!("accepted as {id}; `secchi status {id}` shows it too");
    }
    let ended = watch(&client, id).await?;
    print_submission(&ended, arguments.json);
    if ended["state"] == "scored" {
        if ended["visibility"] == Visibility::Private.as_str() && !arguments.json {
            println!("only your team sees it; `secchi publish {}` puts it on the board", word(&ended["id"]));
        }
        return Ok(());
    }
    Err(Exit::Incomplete.with(format!("the submission ended `{}`", word(&ended["state"]))))
}

/// What may be done about an old submission that counts for nothing.
fn again_hint(submission: &Value) -> &'static str {
    let counts = ["scored", "incomplete"].iter().any(|state| submission["state"] == *state);
    let is_withdrawn = !submission["withdrawn_reason"].is_null();
    if counts && !is_withdrawn { "" } else { "; `--again` submits it anew" }
}

/// Moves a bar as bytes are sent.
fn on_sent(bar: &ProgressBar) -> Arc<dyn Fn(u64) + Send + Sync> {
    let bar = bar.clone();
    Arc::new(move |bytes| bar.set_position(bytes))
}

/// Follows a submission until it ends, with a bar on a terminal.
async fn watch(client: &Client, id: &str) -> Result<Value, ClientError> {
    let bar = bar("", "{msg:28} {bar:30} {pos}/{len} {per_sec} {eta}", 0);
    let ended = client
        .follow(id, |submission| {
            let count = |field: &str| submission["progress"][field].as_u64().unwrap_or_default();
            let state = word(&submission["state"]);
            let queue = &submission["queue"];
            let waits = (
                submission["paused_for"].as_str(),
                queue["seconds_low"].as_u64(),
                queue["seconds_high"].as_u64(),
            );
            bar.set_message(match waits {
                (Some(cause), ..) => format!("{state}, waits: {cause}"),
                (None, Some(low), Some(high)) => format!("{state}, {low} to {high} s left"),
                _ => state,
            });
            bar.set_length(submission["coverage"]["questions"].as_u64().unwrap_or_default());
            bar.set_position(count("graded") + count("judged") + count("failed"));
        })
        .await;
    bar.finish_and_clear();
    ended
}

/// Shows every fault that the server listed, and the error to end with.
fn refused(refusal: Box<Refusal>, json: bool) -> anyhow::Error {
    if json {
        println!("{}", refusal.problem);
        return ClientError::Refused(refusal).into();
    }
    if refusal.errors.is_empty() {
        return ClientError::Refused(refusal).into();
    }
    print_faults(&refusal.errors, refusal.total);
    let words = format!(
        "the server refused ({}, `{}`): mend what is listed above ({}) and submit again; no quota was used",
        refusal.status,
        refusal.code,
        counted(refusal.total, "fault")
    );
    exit_of(&ClientError::Refused(refusal)).with(words)
}

fn print_dry_run(dry_run: &Value, json: bool) {
    if json {
        println!("{dry_run}");
        return;
    }
    let (coverage, quota) = (&dry_run["coverage"], &dry_run["quota"]);
    println!("{} of {} questions answered", coverage["answered"], coverage["questions"]);
    print_warnings(dry_run);
    if dry_run["judging"].is_object() {
        println!("{}", judging_line(&dry_run["judging"]));
    }
    println!(
        "{} submissions left; the day's count starts anew at {}",
        quota["left"],
        time(&quota["resets_at"])
    );
}

/// What judging would take, as a maintainer is told.
fn judging_line(judging: &Value) -> String {
    let cost = match judging["cost_usd"].as_f64() {
        Some(cost_usd) => format!("${cost_usd:.2}"),
        None => "of unknown cost, since the server has no price".to_owned(),
    };
    format!(
        "judging: {} calls ({} answers are judged already, {} need no call), about {} + {} tokens, {cost}",
        judging["calls"],
        judging["reused"],
        judging["without_call"],
        judging["prompt_tokens"],
        judging["completion_tokens"],
    )
}
