//! `secchi submission`: what maintainers do about submissions, beside the database.

use std::sync::Arc;

use clap::{Args, Subcommand};

use super::report::table;
use crate::administration::notes::{add_note, list_notes};
use crate::clock::Clock;
use crate::config::{JudgeSettings, StoreSettings};
use crate::domain::actor::Actor;
use crate::domain::instant::rfc3339;
use crate::domain::question::Split;
use crate::domain::submission::SubmissionState;
use crate::evaluation::anew::{
    AnewError, Rejudging, cancel_rejudging, find_rejudging, rejudge_stored, rejudging_cost,
};
use crate::evaluation::catalogue::Catalogue;
use crate::evaluation::judges::Judges;
use crate::evaluation::lifecycle::{LifecycleError, retry_stored, withdraw_stored};
use crate::evaluation::staging_cost::{StagingCost, retry_cost};
use crate::scoring::decimals::to_decimals;
use crate::store::submissions::{Submission, SubmissionFilter, search_submissions};
use crate::store::{Store, StoreError};
use crate::telemetry::Metrics;

/// List submissions, try them again, withdraw them and write notes on them; for maintainers
#[derive(Debug, Subcommand)]
pub enum SubmissionCommand {
    List(ListArgs),
    Retry(RetryArgs),
    Rejudge(RejudgeArgs),
    Withdraw(WithdrawArgs),
    Note(NoteArgs),
    Notes(NotesArgs),
}

/// List submissions of all teams, newest first
#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  secchi submission list --needs-attention\n  secchi submission list --team ocean-lab --split test --json"
)]
pub struct ListArgs {
    /// Only those of the team with this short name
    #[arg(long)]
    team: Option<String>,
    /// Only those in this state
    #[arg(long)]
    state: Option<SubmissionState>,
    /// Only those to this split
    #[arg(long)]
    split: Option<Split>,
    /// Only those that are failed, incomplete, paused, or have an open flag
    #[arg(long)]
    needs_attention: bool,
    /// Submissions at most
    #[arg(long, default_value_t = 50, value_parser = clap::value_parser!(u32).range(1..=10_000))]
    limit: u32,
    /// Print JSON
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    store: StoreSettings,
}

/// One submission
#[derive(Debug, Args)]
struct OneArgs {
    /// The submission
    id: String,
    /// Print JSON
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    store: StoreSettings,
}

/// Take a failed or incomplete submission up again, or one whose rejudging is incomplete
///
/// Only answers without a score are judged; all of them where another judge configuration is current by now. A running
/// server or worker takes it up within a minute.
#[derive(Debug, Args)]
#[command(after_help = "Example:\n  secchi submission retry 019aa4f2-0000-7000-8000-000000000000 --dry-run")]
pub struct RetryArgs {
    #[command(flatten)]
    one: OneArgs,
    /// Say what would be asked and what it costs, and change nothing
    #[arg(long)]
    dry_run: bool,
    #[command(flatten)]
    judge: JudgeSettings,
}

/// Ask the judge about all answers of a scored submission again that it has scored
///
/// For whoever does not believe the judgements. Until the last answer is judged the entry keeps its scores; then new judgements
/// replace the old ones in one step, also for other submissions that gave one of the answers. What maintainers decided by
/// hand stays. A running server or worker takes it up within a minute.
#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  secchi submission rejudge 019aa4f2-0000-7000-8000-000000000000 --dry-run\n  secchi submission rejudge 019aa4f2-0000-7000-8000-000000000000 --reason \"the provider had an outage\"\n  secchi submission rejudge 019aa4f2-0000-7000-8000-000000000000 --cancel"
)]
pub struct RejudgeArgs {
    #[command(flatten)]
    one: OneArgs,
    /// Why, for the audit log
    #[arg(long, required_unless_present_any = ["dry_run", "cancel"])]
    reason: Option<String>,
    /// Say what would be asked, what it costs at most and whom it touches, and change nothing
    #[arg(long)]
    dry_run: bool,
    /// Give up what was asked for before: everything stays as it is
    #[arg(long, conflicts_with_all = ["dry_run", "reason"])]
    cancel: bool,
    #[command(flatten)]
    judge: JudgeSettings,
}

/// Take a scored submission off every board for good; its team and its address say why
#[derive(Debug, Args)]
#[command(
    after_help = "Example:\n  secchi submission withdraw 019aa4f2-0000-7000-8000-000000000000 --reason \"trained on the test clips\""
)]
pub struct WithdrawArgs {
    #[command(flatten)]
    one: OneArgs,
    /// Why, as the team and readers are told
    #[arg(long)]
    reason: String,
}

/// Write a note on a submission; no team sees it
#[derive(Debug, Args)]
#[command(
    after_help = "Example:\n  secchi submission note 019aa4f2-0000-7000-8000-000000000000 \"asked them for the log\""
)]
pub struct NoteArgs {
    #[command(flatten)]
    one: OneArgs,
    /// What it says
    text: String,
}

/// Show the notes on a submission, oldest first
#[derive(Debug, Args)]
pub struct NotesArgs {
    #[command(flatten)]
    one: OneArgs,
}

/// Runs a command on submissions.
///
/// # Errors
/// When the database or the submission refuses.
pub async fn run(command: SubmissionCommand) -> anyhow::Result<()> {
    let (actor, now_ms) = (Actor::command_line(), Clock::System.now_ms());
    match command {
        SubmissionCommand::List(arguments) => list(arguments).await,
        SubmissionCommand::Retry(RetryArgs { one: OneArgs { id, json, store }, dry_run, judge }) => {
            let store = Store::open(&store.database_url).await?;
            if dry_run {
                let judges = Judges::alone(&judge, Arc::new(Metrics::new(false)?))?;
                let cost = retry_cost(&store, &Catalogue::default(), &judges, &id).await?;
                let StagingCost { answers, reused, calls, cost_usd, .. } = &cost;
                let usd = dollars(*cost_usd);
                let sentence = format!(
                    "{answers} answer(s) are scored by a judge; {reused} judgement(s) stand and are not asked again, \
                     {calls} call(s) are made, {usd} at the prices of the settings"
                );
                return said(json, &serde_json::to_value(&cost)?, &sentence);
            }
            let retried = retry_stored(&store, &actor, &id, now_ms).await.map_err(known)?;
            let sentence =
                format!("`{id}` is `{}` again; a running server or worker takes it up", retried.0.state);
            said(json, &line(&retried.0), &sentence)
        }
        SubmissionCommand::Rejudge(arguments) => rejudge(arguments, &actor, now_ms).await,
        SubmissionCommand::Withdraw(WithdrawArgs { one: OneArgs { id, json, store }, reason }) => {
            let store = Store::open(&store.database_url).await?;
            let what = (id.as_str(), reason.as_str());
            let withdrawn = withdraw_stored(&store, None, &actor, what, now_ms).await.map_err(known)?;
            said(json, &line(&withdrawn), &format!("`{id}` is withdrawn; its team reads why"))
        }
        SubmissionCommand::Note(NoteArgs { one: OneArgs { id, json, store }, text }) => {
            let store = Store::open(&store.database_url).await?;
            let note = add_note(&store, &actor, &id, &text, now_ms).await?;
            said(json, &serde_json::to_value(&note)?, "the note is kept; `secchi submission notes` shows all")
        }
        SubmissionCommand::Notes(NotesArgs { one: OneArgs { id, json, store } }) => {
            let store = Store::open(&store.database_url).await?;
            let notes = store.read(move |connection| list_notes(connection, &id)).await?;
            if json {
                println!("{}", serde_json::to_string(&notes)?);
                return Ok(());
            }
            let rows = notes.into_iter().map(|note| vec![note.at, note.author, note.text]);
            println!("{}", table(&["when", "who", "what"], rows));
            Ok(())
        }
    }
}

async fn rejudge(arguments: RejudgeArgs, actor: &Actor, now_ms: i64) -> anyhow::Result<()> {
    let RejudgeArgs { one: OneArgs { id, json, store }, reason, dry_run, cancel, judge } = arguments;
    let store = Store::open(&store.database_url).await?;
    if cancel {
        cancel_rejudging(&store, actor, &id, now_ms).await.map_err(known_anew)?;
        let value = serde_json::json!({ "submission": id, "pending": false });
        return said(json, &value, &format!("rejudging `{id}` is given up; everything stays as it is"));
    }
    let judges = Judges::alone(&judge, Arc::new(Metrics::new(false)?))?;
    let catalogue = Catalogue::default();
    let (cost, done) = if dry_run {
        (rejudging_cost(&store, &catalogue, &judges, &id, now_ms).await, "would be")
    } else {
        let request = (id.as_str(), reason.as_deref().unwrap_or_default());
        rejudge_stored(&store, &catalogue, actor, request, now_ms).await.map_err(known_anew)?;
        (find_rejudging(&store, &catalogue, &judges, &id, now_ms).await, "are")
    };
    let cost = cost.map_err(known_anew)?;
    let Rejudging { calls, others, decided, cost_usd, budget_spent, .. } = &cost;
    let mut sentence = format!(
        "{calls} answer(s) {done} asked about again, {} at most at the prices of the settings; {others} other \
         submission(s) gave some of them too and take over what comes; {decided} decided by hand stay",
        dollars(*cost_usd)
    );
    if *budget_spent {
        sentence += "; today's budget is spent, so that it waits till tomorrow";
    }
    if !dry_run {
        sentence += "; until the last is judged everything stays as it is";
    }
    said(json, &serde_json::to_value(&cost)?, &sentence)
}

fn dollars(cost_usd: Option<f64>) -> String {
    cost_usd.map_or_else(|| "an unknown sum".into(), |usd| format!("${}", to_decimals(usd, 2)))
}

fn known_anew(error: AnewError) -> anyhow::Error {
    match error {
        AnewError::Lifecycle(error) => known(error),
        other => other.into(),
    }
}

fn said(json: bool, value: &serde_json::Value, sentence: &str) -> anyhow::Result<()> {
    if json {
        println!("{value}");
    } else {
        println!("{sentence}");
    }
    Ok(())
}

/// The error in a maintainer's words: no submission is theirs.
fn known(error: LifecycleError) -> anyhow::Error {
    match error {
        LifecycleError::Unknown(id) => {
            anyhow::anyhow!("there is no submission `{id}`; `secchi submission list` shows all")
        }
        LifecycleError::Faults(faults) => {
            let details: Vec<&str> = faults.iter().map(|fault| fault.detail.as_str()).collect();
            anyhow::anyhow!("the reason {}", details.join("; "))
        }
        other => other.into(),
    }
}

async fn list(arguments: ListArgs) -> anyhow::Result<()> {
    let ListArgs { team, state, split, needs_attention, limit, json, store } = arguments;
    let store = Store::open(&store.database_url).await?;
    let filter = SubmissionFilter { team_id: None, team, state, split, needs_attention };
    let found: Result<Vec<Submission>, StoreError> =
        store.read(move |connection| search_submissions(connection, &filter, None, i64::from(limit))).await;
    let found = found?;
    if json {
        println!("{}", serde_json::Value::from(found.iter().map(line).collect::<Vec<_>>()));
        return Ok(());
    }
    let rows = found.into_iter().map(|submission| {
        let state = match (submission.paused_for, &submission.withdrawn_reason) {
            (_, Some(_)) => "withdrawn".to_owned(),
            (Some(paused_for), None) => format!("{}, paused for {paused_for}", submission.state),
            (None, None) => submission.state.to_string(),
        };
        let (judged, failed) = (submission.progress.judged, submission.progress.failed);
        vec![
            submission.id,
            submission.team,
            submission.metadata.split.to_string(),
            submission.metadata.model_name,
            state,
            format!("{judged} of {}, {failed} failed", submission.progress.to_judge),
            rfc3339(submission.created_at_ms),
        ]
    });
    println!("{}", table(&["id", "team", "split", "model", "state", "judged", "submitted"], rows));
    Ok(())
}

fn line(submission: &Submission) -> serde_json::Value {
    serde_json::json!({
        "id": submission.id, "team": submission.team, "split": submission.metadata.split, "release": submission.release,
        "model_name": submission.metadata.model_name, "visibility": submission.metadata.visibility,
        "state": submission.state, "paused_for": submission.paused_for, "to_judge": submission.progress.to_judge,
        "judged": submission.progress.judged, "failed": submission.progress.failed,
        "withdrawn_reason": submission.withdrawn_reason, "created_at": rfc3339(submission.created_at_ms),
        "finished_at": submission.finished_at_ms.map(rfc3339),
    })
}
