//! `secchi submit`, `status`, `publish` and `withdraw`: what a team does from its own machine.

use std::path::PathBuf;
use std::time::Duration;

use clap::Args;
use indicatif::{ProgressBar, ProgressStyle};
use serde_json::Value;

use crate::client::{Client, ClientError};
use crate::config::ClientSettings;
use crate::domain::question::Split;
use crate::domain::submission::{Access, Metadata, Visibility};
use crate::scoring::decimals::to_decimals;

use super::report::table;

/// How often a watched submission is asked about.
const WATCH_EVERY: Duration = Duration::from_secs(1);

/// Validate and upload a prediction file
#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  secchi submit predictions.jsonl --split val --model-name Reef-8B --access open --parameters-b 8 --dry-run\n  secchi submit predictions.jsonl --split test --model-name Reef-8B --access open --parameters-b 8 --watch"
)]
pub struct SubmitArgs {
    /// JSONL, a JSON array or object, or CSV; plain, gzip or zstd
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
    /// Only validate: nothing is stored and no quota is used
    #[arg(long)]
    dry_run: bool,
    /// Follow the submission until it ends and print its scores
    #[arg(long)]
    watch: bool,
    /// Print JSON
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    server: ClientSettings,
}

/// Show one submission, or the newest ones
#[derive(Debug, Args)]
pub struct StatusArgs {
    /// The submission's id
    id: Option<String>,
    /// Print JSON
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    server: ClientSettings,
}

/// Put a scored submission on the leaderboard
#[derive(Debug, Args)]
pub struct PublishArgs {
    /// The submission's id
    id: String,
    /// Show it without the team's name
    #[arg(long)]
    anonymous: bool,
    #[command(flatten)]
    server: ClientSettings,
}

/// Take a submission off every board for good; its address says why
#[derive(Debug, Args)]
pub struct WithdrawArgs {
    /// The submission's id
    id: String,
    /// What readers are told
    #[arg(long)]
    reason: String,
    #[command(flatten)]
    server: ClientSettings,
}

/// Uploads a prediction file.
///
/// # Errors
/// When the server refuses it or is not reached, or a watched submission does not end `scored`.
pub async fn submit(arguments: SubmitArgs) -> anyhow::Result<()> {
    let client = client(&arguments.server)?;
    let metadata = Metadata {
        split: arguments.split,
        model_name: arguments.model_name,
        access: arguments.access,
        parameters_b: arguments.parameters_b,
        backbone: arguments.backbone,
        description: arguments.description,
        paper_url: arguments.paper_url,
        code_url: arguments.code_url,
        visibility: arguments.visibility,
    };
    let accepted = match client.submit(&arguments.file, &metadata, arguments.dry_run).await {
        Err(ClientError::Refused { status, detail, errors }) => {
            for error in &errors {
                println!("{}", fault_line(error));
            }
            anyhow::bail!("refused ({status}): {detail}");
        }
        other => other?,
    };
    if arguments.dry_run {
        print_dry_run(&accepted, arguments.json);
        return Ok(());
    }
    let id = accepted["id"].as_str().unwrap_or_default().to_owned();
    if !arguments.watch {
        print_submission(&accepted, arguments.json);
        return Ok(());
    }
    let ended = watch(&client, &id).await?;
    print_submission(&ended, arguments.json);
    anyhow::ensure!(ended["state"] == "scored", "the submission ended `{}`", word(&ended["state"]));
    Ok(())
}

/// Shows one submission or the newest ones.
///
/// # Errors
/// When there is none or the server is not reached.
pub async fn status(arguments: StatusArgs) -> anyhow::Result<()> {
    let client = client(&arguments.server)?;
    if let Some(id) = &arguments.id {
        print_submission(&client.find_submission(id).await?, arguments.json);
        return Ok(());
    }
    let list = client.list_submissions().await?;
    if arguments.json {
        println!("{list}");
        return Ok(());
    }
    let items = list["items"].as_array().map(Vec::as_slice).unwrap_or_default();
    let rows = items.iter().map(|item| {
        let shown = if item["withdrawn_reason"].is_null() {
            word(&item["visibility"])
        } else {
            "withdrawn".to_owned()
        };
        let [id, split, model, state, submitted] =
            ["id", "split", "model_name", "state", "created_at"].map(|field| word(&item[field]));
        vec![id, split, model, state, shown, submitted]
    });
    println!("{}", table(&["id", "split", "model", "state", "visibility", "submitted"], rows));
    Ok(())
}

/// Publishes a submission.
///
/// # Errors
/// When there is none or the server is not reached.
pub async fn publish(arguments: PublishArgs) -> anyhow::Result<()> {
    let visibility = if arguments.anonymous { Visibility::Anonymous } else { Visibility::Public };
    let published = client(&arguments.server)?.publish(&arguments.id, visibility.as_str()).await?;
    println!("`{}` is {visibility} and `{}`", word(&published["model_name"]), word(&published["state"]));
    Ok(())
}

/// Withdraws a submission.
///
/// # Errors
/// When there is none, it is not scored, or the server is not reached.
pub async fn withdraw(arguments: WithdrawArgs) -> anyhow::Result<()> {
    let withdrawn = client(&arguments.server)?.withdraw(&arguments.id, &arguments.reason).await?;
    println!("`{}` is withdrawn", word(&withdrawn["model_name"]));
    Ok(())
}

fn client(settings: &ClientSettings) -> Result<Client, ClientError> {
    Client::new(&settings.url, settings.api_key.as_deref())
}

/// Follows a submission until it ends, with a bar on a terminal.
async fn watch(client: &Client, id: &str) -> anyhow::Result<Value> {
    let bar = ProgressBar::new(0);
    if let Ok(style) = ProgressStyle::with_template("{msg:10} {bar:30} {pos}/{len} {elapsed}") {
        bar.set_style(style);
    }
    loop {
        let submission = client.find_submission(id).await?;
        let count = |field: &str| submission["progress"][field].as_u64().unwrap_or_default();
        bar.set_message(word(&submission["state"]));
        bar.set_length(submission["coverage"]["questions"].as_u64().unwrap_or_default());
        bar.set_position(count("graded") + count("judged") + count("failed"));
        if !submission["finished_at"].is_null() {
            bar.finish_and_clear();
            return Ok(submission);
        }
        tokio::time::sleep(WATCH_EVERY).await;
    }
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
        word(&quota["resets_at"])
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

fn print_submission(submission: &Value, json: bool) {
    if json {
        println!("{submission}");
        return;
    }
    println!(
        "{}  {}  {}",
        word(&submission["id"]),
        word(&submission["model_name"]),
        word(&submission["state"])
    );
    if let Some(cause) = submission["paused_for"].as_str() {
        match cause {
            "budget" => println!("judging waits for the next day's budget (UTC); it goes on by itself"),
            _ => println!("judging waits till the judge can be reached ({cause}); it goes on by itself"),
        }
    }
    if submission["state"] == "incomplete" {
        println!(
            "{} answer(s) could not be judged and count as nothing; a maintainer has them tried again or decides them",
            submission["progress"]["failed"]
        );
    }
    if let Some(reason) = submission["withdrawn_reason"].as_str() {
        println!("withdrawn: {}", word(&reason.into()));
    }
    print_warnings(submission);
    let scores = submission["scores"].as_object().into_iter().flatten();
    let rows: Vec<Vec<String>> = scores
        .map(|(column, score)| {
            let places = if score["unit"] == "percent" { 1 } else { 2 };
            let number =
                |value: &Value| value.as_f64().map(|value| to_decimals(value, places)).unwrap_or_default();
            let interval = format!("{} to {}", number(&score["ci95"][0]), number(&score["ci95"][1]));
            vec![
                column.clone(),
                number(&score["value"]),
                interval,
                score["n"].to_string(),
                word(&score["unit"]),
            ]
        })
        .collect();
    if !rows.is_empty() {
        println!("{}", table(&["column", "value", "95 % interval", "questions", "unit"], rows));
    }
    if let Some(judge) = submission["judge"]["model"].as_str() {
        println!("judge of the open-ended columns: {judge}");
    }
}

fn print_warnings(answer: &Value) {
    for warning in answer["warnings"].as_array().into_iter().flatten() {
        println!("warning: {}", word(&warning["detail"]));
    }
}

fn fault_line(fault: &Value) -> String {
    let place = match (fault["line"].as_u64(), fault["column"].as_u64()) {
        (Some(line), Some(column)) => format!("line {line}, column {column}: "),
        (Some(line), None) => format!("line {line}: "),
        _ => fault["pointer"].as_str().map(|pointer| format!("{pointer}: ")).unwrap_or_default(),
    };
    format!("{place}{}", word(&fault["detail"]))
}

/// A JSON text without its quotes and without characters that a terminal would obey.
fn word(value: &Value) -> String {
    let text = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
    text.chars().filter(|c| !c.is_control()).collect()
}
