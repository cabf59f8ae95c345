//! `secchi validity`: human ratings, how far the judge agrees with them, and asking the judge about the same answers anew.

use std::path::PathBuf;
use std::sync::Arc;

use anyhow::Context as _;
use clap::{Args, Subcommand};
use serde_json::json;
use tokio::sync::watch;

use super::report::{counted, table};
use super::validity_report::print_report;
use crate::clock::Clock;
use crate::config::{JudgeSettings, StoreSettings};
use crate::domain::actor::Actor;
use crate::evaluation::catalogue::Catalogue;
use crate::evaluation::judges::Judges;
use crate::evaluation::validity::calibration::{Calibrating, CalibrationEnd};
use crate::evaluation::validity::importing::{ImportRatingsError, import_ratings};
use crate::evaluation::validity::ratings_file::RatingFault;
use crate::evaluation::validity::report::{Agreements, by_rater};
use crate::scoring::decimals::to_decimals;
use crate::store::Store;
use crate::store::ratings::{find_active_study, load_rated};
use crate::telemetry::Metrics;

/// Faults that are listed at most.
const MAX_FAULTS: usize = 100;

/// Say how far the judge agrees with people: import human ratings, measure, watch drift
#[derive(Debug, Subcommand)]
pub enum ValidityCommand {
    Import(ImportArgs),
    Report(ReportArgs),
    Calibrate(CalibrateArgs),
}

/// Check a file of human ratings whole and import it, or list all of its faults
///
/// A CSV with one row a rating: item,question_id,dimension,rater,rating,judge_score. The dimension is OEMU, BEH, AH or ECF,
/// a rating a whole number from 0 to 5, an item one rated answer. A further column `answer` holds the text that was rated:
/// with it any judge configuration can be asked about the same answers (`secchi validity calibrate`); without it only the
/// file's judge_score can be measured. The newest import is the one that counts; the same file again changes nothing.
#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  secchi validity import human_ratings.csv --judge \"GPT-5.5, prompts of the paper\"\n  secchi \
                  validity import rated_answers.csv --judge d116640150d9646e"
)]
pub struct ImportArgs {
    /// The ratings
    #[arg(value_name = "FILE.csv")]
    file: PathBuf,
    /// Whose the file's judge_score is: the id of a configuration, which it then measures, or any name
    #[arg(long, value_name = "ID|NAME")]
    judge: Option<String>,
    /// Print JSON
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    store: StoreSettings,
}

/// Say how far a judge agrees with people, with 95 % intervals over videos and people's own agreement as the ceiling
#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  secchi validity report\n  secchi validity report --judge file --json\n  secchi validity report --judge \
                  d116640150d9646e"
)]
pub struct ReportArgs {
    /// A configuration's id, or `file` for the scores that came with the ratings [default: the current configuration if it is
    /// measured, else the file]
    #[arg(long, value_name = "ID|file")]
    judge: Option<String>,
    /// Print JSON
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    store: StoreSettings,
}

/// Ask a judge configuration about the answers that people rated, now and anew
///
/// The calls are apart from what submissions are judged by, cost money within the day's budget, and are compared with the
/// configuration's first run. What breaks off goes on with the same command. A server or worker does so by itself where
/// SECCHI_CALIBRATION_EVERY_HOURS is set.
#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  secchi validity calibrate\n  secchi validity calibrate --judge d116640150d9646e   # a staged one, \
                  before `secchi judge activate`"
)]
pub struct CalibrateArgs {
    /// The configuration [default: the current one]
    #[arg(long, value_name = "ID")]
    judge: Option<String>,
    /// Print JSON
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    store: StoreSettings,
    #[command(flatten)]
    settings: JudgeSettings,
}

/// Runs a command on validity.
///
/// # Errors
/// When the file, the judge or the database refuses.
pub async fn run(command: ValidityCommand) -> anyhow::Result<()> {
    match command {
        ValidityCommand::Import(arguments) => import(arguments).await,
        ValidityCommand::Report(arguments) => report(arguments).await,
        ValidityCommand::Calibrate(arguments) => calibrate(arguments).await,
    }
}

async fn import(arguments: ImportArgs) -> anyhow::Result<()> {
    let ImportArgs { file, judge, json, store } = arguments;
    let bytes = std::fs::read(&file).with_context(|| format!("`{}` cannot be read", file.display()))?;
    let store = Store::open(&store.database_url).await?;
    let now_ms = Clock::System.now_ms();
    let imported =
        import_ratings(&store, &Catalogue::default(), &bytes, judge, &Actor::command_line(), now_ms).await;
    let imported = match imported {
        Err(ImportRatingsError::Faulty(faults)) => {
            print_faults(&faults, json);
            return Err(ImportRatingsError::Faulty(faults).into());
        }
        other => other?,
    };
    if json {
        println!(
            "{}",
            json!({
                "id": imported.study.id, "judge": imported.study.judge, "is_new": imported.is_new,
                "items": imported.items, "ratings": imported.ratings, "has_answers": imported.has_answers,
            })
        );
        return Ok(());
    }
    let (ratings, items) =
        (counted(imported.ratings as u64, "rating"), counted(imported.items as u64, "item"));
    if imported.is_new {
        println!("{ratings} of {items} imported; agreement is measured by them from now on");
    } else {
        println!("{ratings} of {items} were imported before; nothing has changed");
    }
    let whose = imported.study.judge.as_deref().unwrap_or("not said (`--judge` says it)");
    println!("the file's judge scores are those of: {whose}");
    if imported.has_answers {
        println!(
            "the rated answers are there: `secchi validity calibrate` asks the current judge about them"
        );
    } else {
        println!("without a column `answer` no other judge can be measured by them");
    }
    println!("`secchi validity report` says how far the judge agrees");
    Ok(())
}

fn print_faults(faults: &[RatingFault], json: bool) {
    for fault in faults.iter().take(MAX_FAULTS) {
        if json {
            println!("{}", json!(fault));
            continue;
        }
        let column = fault.column.map(|column| format!(", column `{column}`")).unwrap_or_default();
        println!("line {}{column}: {}", fault.line, fault.detail);
    }
    if faults.len() > MAX_FAULTS && !json {
        println!("the first {MAX_FAULTS} of {} faults", faults.len());
    }
}

async fn report(arguments: ReportArgs) -> anyhow::Result<()> {
    let store = Store::open(&arguments.store.database_url).await?;
    let report = Agreements::default().report(&store, arguments.judge).await?;
    let rated = store.read(|connection| match find_active_study(connection)? {
        Some(study) => load_rated(connection, &study.id),
        None => Ok(Vec::new()),
    });
    let raters = by_rater(&rated.await?);
    if arguments.json {
        let mut whole = json!(*report);
        whole["raters"] = json!(raters);
        println!("{whole:#}");
        return Ok(());
    }
    print_report(&report);
    let rows =
        raters.into_iter().map(|view| vec![view.rater, view.ratings.to_string(), to_decimals(view.mean, 2)]);
    println!("{}", table(&["rater", "ratings", "mean"], rows));
    Ok(())
}

async fn calibrate(arguments: CalibrateArgs) -> anyhow::Result<()> {
    let CalibrateArgs { judge, json, store, settings } = arguments;
    let store = Store::open(&store.database_url).await?;
    let judges = Judges::alone(&settings, Arc::new(Metrics::new(false)?))?;
    let id = match judge {
        Some(id) => id,
        None => judges.current(&store).await?.id,
    };
    let (catalogue, clock) = (Catalogue::default(), Clock::System);
    let calibrating = Calibrating { store: &store, catalogue: &catalogue, judges: &judges, clock: &clock };
    // Nobody asks it to stop: an interrupt ends the process, and what came is stored.
    let stop = watch::Sender::new(false);
    let owner = format!("command/{}", std::process::id());
    let run = match calibrating.calibrate(&owner, &id, &stop.subscribe()).await? {
        CalibrationEnd::Finished(run) => run,
        CalibrationEnd::Paused { reason, left } => {
            anyhow::bail!(
                "{} left: {reason}; the same command goes on with them",
                counted(left as u64, "item")
            )
        }
    };
    let number =
        |value: Option<f64>| value.map_or_else(|| "unknown".to_owned(), |value| to_decimals(value, 3));
    if json {
        println!(
            "{}",
            json!({
                "run": run.id, "configuration": run.configuration_id, "items": run.items, "failed": run.failed,
                "mean": run.mean, "agreement": run.agreement, "drift": run.drift,
                "agreement_drift": run.agreement_drift,
            })
        );
        return Ok(());
    }
    println!("configuration {id} has judged {} of {} items anew", run.items - run.failed, run.items);
    println!("  mean       {} (since its first run {})", number(run.mean), number(run.drift));
    println!("  agreement  {} (since its first run {})", number(run.agreement), number(run.agreement_drift));
    println!("`secchi validity report --judge {id}` says more");
    Ok(())
}
