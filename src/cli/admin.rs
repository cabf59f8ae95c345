//! `secchi admin`: what needs a maintainer now, and the queue of flags.

use clap::{Args, Subcommand};

use super::report::table;
use crate::administration::flags::{QueuedFlagView, close_flag, list_flags};
use crate::administration::overview::{JudgeKnown, Overview, Waiting, overview};
use crate::clock::Clock;
use crate::config::{JudgeSettings, StoreSettings};
use crate::domain::actor::Actor;
use crate::domain::flag::FlagKind;
use crate::scoring::decimals::to_decimals;
use crate::store::flag_queue::FlagFilter;
use crate::store::{Store, StoreError};

/// Say what needs a maintainer now, and work off the queue of flags
///
/// Without a further word: how much waits of each kind, and since when.
#[derive(Debug, Args)]
#[command(
    args_conflicts_with_subcommands = true,
    after_help = "Examples:\n  secchi admin\n  secchi admin flags --kind twin\n  secchi admin close twin 019aa4f2-… --reason \"one group, two accounts; told them\""
)]
pub struct AdminArgs {
    #[command(subcommand)]
    command: Option<AdminCommand>,
    /// Print JSON
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    store: StoreSettings,
    #[command(flatten)]
    judge: JudgeSettings,
}

#[derive(Debug, Subcommand)]
enum AdminCommand {
    Flags(FlagsArgs),
    Close(CloseArgs),
}

/// List the flags that are open: attack, series, twin (another team's near-duplicate), signup
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  secchi admin flags\n  secchi admin flags --kind attack --all --json")]
struct FlagsArgs {
    /// Only those of this kind
    #[arg(long)]
    kind: Option<FlagKind>,
    /// Also those that are closed
    #[arg(long)]
    all: bool,
    /// Flags at most
    #[arg(long, default_value_t = 100, value_parser = clap::value_parser!(u32).range(1..=10_000))]
    limit: u32,
    /// Print JSON
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    store: StoreSettings,
}

/// Close a flag with a reason
#[derive(Debug, Args)]
#[command(
    after_help = "Example:\n  secchi admin close attack 019aa4f2-… --reason \"a caption that quotes a sign in the clip\""
)]
struct CloseArgs {
    /// attack, series, twin or signup
    kind: FlagKind,
    /// The submission or sign-up
    #[arg(value_name = "ID")]
    subject: String,
    /// Why
    #[arg(long)]
    reason: String,
    /// Print JSON
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    store: StoreSettings,
}

/// Runs `secchi admin` or one of its commands.
///
/// # Errors
/// When the database or what is asked for refuses.
pub async fn run(arguments: AdminArgs) -> anyhow::Result<()> {
    match arguments.command {
        None => show(&arguments.store, &arguments.judge, arguments.json).await,
        Some(AdminCommand::Flags(arguments)) => flags(arguments).await,
        Some(AdminCommand::Close(CloseArgs { kind, subject, reason, json, store })) => {
            let store = Store::open(&store.database_url).await?;
            let (actor, now_ms) = (Actor::command_line(), Clock::System.now_ms());
            let closed = close_flag(&store, &actor, kind, &subject, &reason, now_ms).await?;
            if json {
                println!("{}", serde_json::to_string(&closed)?);
            } else {
                println!("the flag `{kind}` on `{subject}` is closed");
            }
            Ok(())
        }
    }
}

async fn show(store: &StoreSettings, judge: &JudgeSettings, json: bool) -> anyhow::Result<()> {
    let store = Store::open(&store.database_url).await?;
    // Another process holds the circuit.
    let known = JudgeKnown::new(judge.judge_budget_usd_per_day, None);
    let now_ms = Clock::System.now_ms();
    let found: Result<Overview, StoreError> =
        store.snapshot(move |connection| overview(connection, known, now_ms)).await;
    let found = found?;
    if json {
        println!("{}", serde_json::to_string(&found)?);
        return Ok(());
    }
    println!("{}", text(&found));
    Ok(())
}

fn text(overview: &Overview) -> String {
    let troubled = &overview.submissions;
    let mut rows = Vec::new();
    let mut row = |what: String, waiting: &Waiting, next: &str| {
        if waiting.count > 0 {
            let since = waiting.oldest_at.clone().unwrap_or_default();
            rows.push(vec![what, waiting.count.to_string(), since, next.to_owned()]);
        }
    };
    row("sign-ups".into(), &overview.signups, "secchi team signups");
    for (kind, waiting) in &overview.flags {
        row(format!("flags: {kind}"), waiting, &format!("secchi admin flags --kind {kind}"));
    }
    let reasons = troubled.unjudged_answers.iter().map(|(reason, count)| format!("{count} {reason}"));
    let reasons = reasons.collect::<Vec<_>>().join(", ");
    let listed = |state: &str| format!("secchi submission list --state {state}");
    row(format!("incomplete ({reasons})"), &troubled.incomplete, &listed("incomplete"));
    row("failed".into(), &troubled.failed, &listed("failed"));
    row("paused for the budget".into(), &troubled.paused_for_budget, "secchi judge usage");
    row("paused for the judge".into(), &troubled.paused_for_judge, "secchi judge check");
    for release in &overview.releases {
        let what = format!("release `{}` of `{}`", release.release, release.split);
        let next = format!("secchi dataset activate {} --split {}", release.release, release.split);
        rows.push(vec![what, "1".into(), release.imported_at.clone(), next]);
    }
    let mut lines = Vec::new();
    if rows.is_empty() {
        lines.push("nothing waits for a maintainer".to_owned());
    } else {
        lines.push(table(&["what waits", "how many", "since", "what next"], rows));
    }
    if let Some(staged) = &overview.staged {
        lines.push(format!(
            "staged judge configuration {} (`{}`): {} of {} published entries judged, {} pending, {} incomplete",
            staged.configuration, staged.model, staged.complete, staged.entries, staged.pending, staged.incomplete
        ));
    }
    lines.push(judge_line(overview));
    lines.join("\n")
}

fn judge_line(overview: &Overview) -> String {
    let judge = &overview.judge;
    let name = match (&judge.configuration, &judge.model) {
        (Some(configuration), Some(model)) => format!("judge {configuration} (`{model}`)"),
        _ => "no judge configuration is current".to_owned(),
    };
    let spent = to_decimals(judge.spent_usd, 2);
    match (judge.left_usd, judge.budget_usd) {
        (Some(left), Some(budget)) => {
            format!(
                "{name}: ${spent} spent today, ${} of ${} left",
                to_decimals(left, 2),
                to_decimals(budget, 2)
            )
        }
        _ => format!("{name}: ${spent} spent today, no budget is set here"),
    }
}

async fn flags(arguments: FlagsArgs) -> anyhow::Result<()> {
    let FlagsArgs { kind, all, limit, json, store } = arguments;
    let store = Store::open(&store.database_url).await?;
    let filter = FlagFilter { kind, is_open: (!all).then_some(true), subject: None };
    let found: Result<Vec<QueuedFlagView>, StoreError> =
        store.read(move |connection| list_flags(connection, filter, None, i64::from(limit))).await;
    let found = found?;
    if json {
        println!("{}", serde_json::to_string(&found)?);
        return Ok(());
    }
    let rows = found.into_iter().map(|flag| {
        let model = flag.model_name.unwrap_or_default();
        let closed =
            flag.closed.map(|closed| format!("{}: {}", closed.by, closed.reason)).unwrap_or_default();
        let cells =
            [flag.kind.to_string(), flag.subject, flag.team, model, flag.detail, flag.raised_at, closed];
        cells.map(|cell| cell.replace(char::is_control, " ")).to_vec()
    });
    println!("{}", table(&["kind", "on", "team", "model", "what", "since", "closed by"], rows));
    Ok(())
}
