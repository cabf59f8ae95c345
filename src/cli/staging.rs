//! `secchi judge stage`, `activate` and `list`: from one judge configuration to another, and back.

use std::sync::Arc;
use std::time::Duration;

use clap::Args;
use serde_json::json;

use crate::clock::Clock;
use crate::config::{JudgeSettings, StoreSettings};
use crate::domain::actor::Actor;
use crate::evaluation::catalogue::Catalogue;
use crate::evaluation::judges::{Judges, is_offline};
use crate::evaluation::staging::{self, ConfigurationView, configurations, find_candidate};
use crate::evaluation::staging_cost::{Basis, StagingCost, staging_cost};
use crate::evaluation::staging_moves::{Move, rank_moves};
use crate::evaluation::validity::gate::{AgreementChange, agreement_change};
use crate::scoring::decimals::to_decimals;
use crate::store::configurations::{CURRENT, ConfigurationRow, STAGED, find_current_configuration};
use crate::store::rejudgings::{IncompleteEntry, load_incomplete_entries};
use crate::store::releases::load_releases;
use crate::store::standing::load_unjudged;
use crate::store::{Store, StoreError};
use crate::telemetry::Metrics;

use super::report::{self, table};

/// How often what is watched is looked at.
pub(super) const WATCH_EVERY: Duration = Duration::from_secs(1);

/// Judge all that is published under another configuration too, so that it can become current
///
/// The configuration is the one that the settings describe, or a stored one. First says what it costs. Any running server
/// or worker then judges in the background, while the board stays as it is. The same command again changes nothing and
/// says how far it is and which ranks would move.
#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  secchi judge stage --judge-model gpt-6 --dry-run\n  secchi judge stage --judge-model gpt-6 --watch"
)]
pub struct StageArgs {
    /// A stored configuration instead of the one that the settings describe
    #[arg(long, value_name = "ID")]
    configuration: Option<String>,
    /// Say what it costs and change nothing
    #[arg(long, conflicts_with = "watch")]
    dry_run: bool,
    /// Wait until everything is judged
    #[arg(long)]
    watch: bool,
    /// Print JSON
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    store: StoreSettings,
    #[command(flatten)]
    judge: JudgeSettings,
}

/// Make a configuration current, in one step and without a call to the judge
///
/// Refused while a published entry has no complete scores under it, and where it agrees less with people than the current one
/// (`secchi validity report`) and no reason is given. A retired configuration can be made current again.
#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  secchi judge activate\n  secchi judge activate d116640150d9646e\n  secchi judge activate \
                  --accept-worse-agreement \"the current model is switched off on Friday\""
)]
pub struct ActivateArgs {
    /// The configuration [default: the staged one]
    #[arg(value_name = "ID")]
    configuration: Option<String>,
    /// Why it is made current although it agrees less with people than the current one; noted in the audit log
    #[arg(long, value_name = "REASON")]
    accept_worse_agreement: Option<String>,
    /// Print JSON
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    store: StoreSettings,
}

/// List the judge configurations and how far each has come with what is published
#[derive(Debug, Args)]
pub struct ListArgs {
    /// Print JSON
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    store: StoreSettings,
}

/// Stages a configuration, or says how far the staged one is.
///
/// # Errors
/// When there is no such configuration or the database refuses.
pub async fn stage(arguments: StageArgs) -> anyhow::Result<()> {
    let store = Store::open(&arguments.store.database_url).await?;
    let judges = Judges::alone(&arguments.judge, Arc::new(Metrics::new(false)?))?;
    let now_ms = Clock::System.now_ms();
    let candidate = find_candidate(&store, &judges, arguments.configuration, now_ms).await?;
    let found = find_view(&store, &candidate.id).await?;
    let state = found.as_ref().map(|view| view.state.as_str());
    let mut cost = None;
    if arguments.dry_run || ![Some(CURRENT), Some(STAGED)].contains(&state) {
        let id = candidate.id.clone();
        let unjudged = store.read(move |connection| load_unjudged(connection, &id)).await?;
        let estimated = staging_cost(&store, &Catalogue::default(), &judges, &candidate, unjudged).await?;
        if !arguments.json {
            print_cost(&candidate, &estimated);
        }
        cost = Some(estimated);
    }
    if arguments.dry_run {
        if arguments.json {
            println!("{}", json!({ "configuration": head(&candidate, state), "cost": cost }));
        }
        return Ok(());
    }
    staging::stage(&store, &Actor::command_line(), candidate.clone(), now_ms).await?;
    if arguments.watch {
        watch(&store, &candidate.id).await?;
    }
    let view =
        find_view(&store, &candidate.id).await?.ok_or(StoreError::missing("configuration", &candidate.id))?;
    let moves = moves(&store, &candidate.id).await?;
    let id = candidate.id.clone();
    let incomplete: Result<Vec<IncompleteEntry>, StoreError> = store
        .read(move |connection| {
            let mut releases = load_releases(connection)?;
            releases.retain(|release| release.active);
            let releases: Vec<String> = releases.into_iter().map(|release| release.id).collect();
            load_incomplete_entries(connection, &releases, &id)
        })
        .await;
    let incomplete = incomplete?;
    let agreement = agreement(&store, &candidate.id).await?;
    if arguments.json {
        println!(
            "{}",
            json!({
                "configuration": view, "cost": cost, "moves": moves, "incomplete_entries": incomplete,
                "agreement": agreement,
            })
        );
        return Ok(());
    }
    print_standing(&view);
    if view.state == STAGED && view.complete > 0 {
        let heading = "ranks that would move, among the entries that are judged under both:";
        print_moves(&moves, heading, "no rank would move");
    }
    if view.state == STAGED
        && let Some(agreement) = agreement
    {
        println!("{}", agreement.words());
    }
    print_next(&view, incomplete);
    Ok(())
}

/// Makes a configuration current.
///
/// # Errors
/// When there is none, a published entry lacks complete scores under it, or the database refuses.
pub async fn activate(arguments: ActivateArgs) -> anyhow::Result<()> {
    let store = Store::open(&arguments.store.database_url).await?;
    let ActivateArgs { configuration, accept_worse_agreement, .. } = arguments;
    let now_ms = Clock::System.now_ms();
    let done =
        staging::activate(&store, &Actor::command_line(), configuration, accept_worse_agreement, now_ms)
            .await?;
    if arguments.json {
        let (id, retired) = (&done.id, &done.retired);
        println!(
            "{}",
            json!({
                "configuration": id, "model": done.model, "retired": retired, "restarted": done.restarted,
                "agreement": done.agreement,
            })
        );
        return Ok(());
    }
    if let Some(agreement) = &done.agreement {
        println!("{}", agreement.words());
    }
    match done.retired {
        None => println!("configuration {} (`{}`) is current already", done.id, done.model),
        Some(retired) => {
            println!("configuration {} (`{}`) is current; {retired} is retired", done.id, done.model);
            if done.restarted > 0 {
                println!("{} submission(s) that were being judged start anew under it", done.restarted);
            }
            println!("the way back: secchi judge activate {retired}");
        }
    }
    Ok(())
}

/// Lists all configurations.
///
/// # Errors
/// When the database refuses.
pub async fn list(arguments: ListArgs) -> anyhow::Result<()> {
    let store = Store::open(&arguments.store.database_url).await?;
    let views = store.snapshot(configurations).await?;
    if arguments.json {
        println!("{}", json!(views));
        return Ok(());
    }
    let rows = views.into_iter().map(|view| {
        let complete = format!("{} of {}", view.complete, view.entries);
        let counts = [view.pending, view.incomplete].map(|count| count.to_string());
        let [pending, incomplete] = counts;
        vec![view.id, view.kind, view.model, view.state, complete, pending, incomplete, view.created_at]
    });
    let header = ["id", "kind", "model", "state", "complete", "pending", "incomplete", "created"];
    println!("{}", table(&header, rows));
    Ok(())
}

async fn find_view(store: &Store, id: &str) -> Result<Option<ConfigurationView>, StoreError> {
    let views = store.snapshot(configurations).await?;
    Ok(views.into_iter().find(|view| view.id == id))
}

/// The ranks that would move if the configuration became current.
async fn moves(store: &Store, id: &str) -> Result<Vec<Move>, StoreError> {
    let id = id.to_owned();
    store
        .snapshot(move |connection| match find_current_configuration(connection)? {
            Some(current) => rank_moves(connection, &current.id, &id),
            None => Ok(Vec::new()),
        })
        .await
}

/// What is known of its agreement with people beside the current one's; none where there is no current one.
async fn agreement(store: &Store, id: &str) -> Result<Option<AgreementChange>, StoreError> {
    let id = id.to_owned();
    store
        .snapshot(move |connection| match find_current_configuration(connection)? {
            Some(current) => agreement_change(connection, &id, &current.id).map(Some),
            None => Ok(None),
        })
        .await
}

/// Waits until nothing is pending under a configuration.
async fn watch(store: &Store, id: &str) -> Result<(), StoreError> {
    let bar = report::bar("rejudged", "{msg} {bar:30} {pos}/{len} {elapsed}", 0);
    while let Some(view) = find_view(store, id).await? {
        bar.set_length(u64::try_from(view.entries).unwrap_or_default());
        bar.set_position(u64::try_from(view.complete + view.incomplete).unwrap_or_default());
        if view.pending == 0 {
            break;
        }
        tokio::time::sleep(WATCH_EVERY).await;
    }
    bar.finish_and_clear();
    Ok(())
}

fn head(candidate: &ConfigurationRow, state: Option<&str>) -> serde_json::Value {
    json!({ "id": candidate.id, "kind": candidate.kind, "model": candidate.model, "state": state })
}

fn print_cost(candidate: &ConfigurationRow, cost: &StagingCost) {
    println!("judging what is published under configuration {} (`{}`) takes", candidate.id, candidate.model);
    print_cost_lines(&candidate.kind, cost);
}

/// What judging takes under a configuration of this kind.
pub(super) fn print_cost_lines(kind: &str, cost: &StagingCost) {
    println!("  entries         {} without complete scores under it", cost.entries);
    println!("  answers         {} that a judge scores", cost.answers);
    println!("  reused          {} judgements that stand already", cost.reused);
    println!("  calls           {}", cost.calls);
    if is_offline(kind) || cost.calls == 0 {
        println!("  cost            none");
        return;
    }
    println!("  tokens sent     {} (a token for 4 characters)", cost.prompt_tokens);
    let assumed = cost.assumed_replies.iter().map(|(rubric, reply)| {
        let basis = match reply.basis {
            Basis::PastJudgements => "the mean so far",
            Basis::Cap => "the cap; nothing has been judged yet",
        };
        format!("{rubric}: {} a reply, {basis}", to_decimals(reply.tokens, 1))
    });
    let assumed = assumed.collect::<Vec<_>>().join("; ");
    println!("  tokens received {} ({assumed})", cost.completion_tokens);
    match cost.cost_usd {
        Some(cost_usd) => {
            println!("  cost            ${} at the prices of the settings", to_decimals(cost_usd, 2))
        }
        None => println!(
            "  cost            unknown: the settings name no price (--judge-price-in, --judge-price-out)"
        ),
    }
}

fn print_standing(view: &ConfigurationView) {
    let ConfigurationView { id, model, state, entries, complete, pending, incomplete, .. } = view;
    println!("configuration {id} (`{model}`) is {state}");
    println!(
        "{complete} of {entries} published entries judged under it, {pending} pending, {incomplete} incomplete"
    );
}

/// What moves on boards.
pub(super) fn print_moves(moves: &[Move], heading: &str, none: &str) {
    if moves.is_empty() {
        println!("{none}");
        return;
    }
    println!("{heading}");
    let rank = |rank: Option<u32>| rank.map_or_else(|| "–".to_owned(), |rank| rank.to_string());
    let value = |value: Option<f64>| value.map_or_else(|| "–".to_owned(), |value| to_decimals(value, 2));
    let arrow = |[from, to]: [String; 2]| format!("{from} → {to}");
    let rows = moves.iter().map(|moved| {
        vec![
            moved.split.to_string(),
            moved.column.to_string(),
            moved.model_name.clone(),
            moved.team.clone(),
            arrow(moved.rank.map(rank)),
            arrow(moved.value.map(value)),
            moved.entry.clone(),
        ]
    });
    println!("{}", table(&["split", "column", "model", "team", "rank", "value", "entry"], rows));
}

fn print_next(view: &ConfigurationView, incomplete: Vec<IncompleteEntry>) {
    if view.pending > 0 {
        println!("a running server or worker judges the rest; the same command again says how far it is");
    }
    print_incomplete(incomplete, &format!("?configuration={}", view.id));
    if view.state == STAGED && view.complete == view.entries {
        println!("secchi judge activate makes it current");
    }
}

/// Entries with answers that could not be judged, and where a maintainer reads them.
pub(super) fn print_incomplete(incomplete: Vec<IncompleteEntry>, query: &str) {
    if incomplete.is_empty() {
        return;
    }
    println!("entries with answers that could not be judged:");
    let rows = incomplete
        .into_iter()
        .map(|found| vec![found.entry, found.team, found.model_name, found.failed.to_string()]);
    println!("{}", table(&["entry", "team", "model", "failed answers"], rows));
    println!(
        "a maintainer reads them at /api/v1/admin/submissions/ENTRY/failures{query}, and has them tried again \
         (POST …/ENTRY/retry) or decides them (POST …/ENTRY/decisions)"
    );
}
