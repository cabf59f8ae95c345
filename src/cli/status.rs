//! `secchi status`, `publish` and `withdraw`: what became of submissions, and who may see them.

use clap::Args;
use serde_json::Value;

use crate::client::{Client, ClientError};
use crate::config::ClientSettings;
use crate::domain::submission::Visibility;
use crate::scoring::decimals::to_decimals;

use super::exit::{Exit, help};
use super::report::{counted, table, time, word};

/// Show one submission, or the newest ones
#[derive(Debug, Args)]
#[command(after_help = help(""))]
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
#[command(after_help = help(""))]
pub struct PublishArgs {
    /// The submission's id
    id: String,
    /// Show it without the team's name
    #[arg(long)]
    anonymous: bool,
    /// Show the team's name on an anonymous entry
    #[arg(long, conflicts_with = "anonymous")]
    show_team: bool,
    /// Print JSON
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    server: ClientSettings,
}

/// Take a submission off every board for good; its address says why
#[derive(Debug, Args)]
#[command(after_help = help(""))]
pub struct WithdrawArgs {
    /// The submission's id
    id: String,
    /// What readers are told
    #[arg(long)]
    reason: String,
    /// Print JSON
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    server: ClientSettings,
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
        let [id, split, model, state] =
            ["id", "split", "model_name", "state"].map(|field| word(&item[field]));
        vec![id, split, model, state, shown, time(&item["created_at"])]
    });
    println!("{}", table(&["id", "split", "model", "state", "visibility", "submitted"], rows));
    Ok(())
}

/// Publishes a submission.
///
/// # Errors
/// When there is none, it would show a name that was kept hidden, or the server is not reached.
pub async fn publish(arguments: PublishArgs) -> anyhow::Result<()> {
    let client = client(&arguments.server)?;
    let visibility = if arguments.anonymous { Visibility::Anonymous } else { Visibility::Public };
    if visibility == Visibility::Public && !arguments.show_team {
        let submission = client.find_submission(&arguments.id).await?;
        if let Some(told) = kept_nameless(&submission) {
            return Err(Exit::Refused.with(told));
        }
    }
    let published = client.publish(&arguments.id, visibility.as_str()).await?;
    if arguments.json {
        println!("{published}");
        return Ok(());
    }
    println!("`{}` is {visibility} and `{}`", word(&published["model_name"]), word(&published["state"]));
    let board = format!("{}/?split={}", client.server(), word(&published["split"]));
    if published["state"] == "scored" {
        println!("it is on the board: {board}");
    } else {
        println!("once it is scored, it is on the board: {board}");
    }
    Ok(())
}

/// Why a submission is not published under the team's name unasked, if its team chose to keep that hidden.
fn kept_nameless(submission: &Value) -> Option<String> {
    let until = submission["anonymous_until"].as_str().map(|_| word(&submission["anonymous_until"]));
    if until.is_none() && submission["visibility"] != Visibility::Anonymous.as_str() {
        return None;
    }
    let until = until.map(|day| format!(" before {day}")).unwrap_or_default();
    Some(format!(
        "`{}` is not to show the team's name{until}; `--show-team` shows it at once, `--anonymous` publishes without it",
        word(&submission["model_name"])
    ))
}

/// Withdraws a submission.
///
/// # Errors
/// When there is none, it is not scored, or the server is not reached.
pub async fn withdraw(arguments: WithdrawArgs) -> anyhow::Result<()> {
    let withdrawn = client(&arguments.server)?.withdraw(&arguments.id, &arguments.reason).await?;
    if arguments.json {
        println!("{withdrawn}");
        return Ok(());
    }
    println!("`{}` is withdrawn", word(&withdrawn["model_name"]));
    Ok(())
}

fn client(settings: &ClientSettings) -> Result<Client, ClientError> {
    Client::new(&settings.url, settings.api_key.as_deref())
}

/// Prints a submission with its scores.
pub(super) fn print_submission(submission: &Value, json: bool) {
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
    if let Some(ahead) = submission["queue"]["ahead"].as_u64() {
        let queue = &submission["queue"];
        match (queue["seconds_low"].as_u64(), queue["seconds_high"].as_u64()) {
            (Some(low), Some(high)) => {
                println!("{} ahead; {low} to {high} seconds are left", counted(ahead, "submission"))
            }
            _ => println!("{} ahead", counted(ahead, "submission")),
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
    print_scores(submission);
    if let Some(judge) = submission["judge"]["model"].as_str() {
        println!("judge of the open-ended columns: {judge}");
    }
}

/// Prints what was odd about a file.
pub(super) fn print_warnings(answer: &Value) {
    for warning in answer["warnings"].as_array().into_iter().flatten() {
        println!("warning: {}", word(&warning["detail"]));
    }
}

/// Prints the scores of a submission as a table.
pub(super) fn print_scores(submission: &Value) {
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
}
