//! `secchi judge`: trying the configured judge. What changes the judge configuration stands in `staging.rs`.

use std::sync::Arc;
use std::time::{Duration, Instant};

use clap::{Args, Subcommand};
use serde_json::{Map, Value, json};

use super::judge_attacks;
use super::judge_usage::{self, UsageArgs};
use crate::clock::Clock;
use crate::config::{JudgeSettings, StoreSettings};
use crate::domain::actor::Actor;
use crate::domain::question::Rubric;
use crate::evaluation::judges::{Judges, JudgesError};
use crate::judge::{Asked, Asking, Failure, Item, Kind, Usage, Verdict};
use crate::store::Store;
use crate::store::configurations::ConfigurationRow;
use crate::telemetry::Metrics;

use super::staging::{self, ActivateArgs, ListArgs, StageArgs};

/// Try the judge, see what it costs, and change it
#[derive(Debug, Subcommand)]
pub enum JudgeCommand {
    Check(CheckArgs),
    Usage(UsageArgs),
    Stage(StageArgs),
    Activate(ActivateArgs),
    List(ListArgs),
}

/// Make one real call per rubric to the configured judge and say what came back
///
/// Where all is well and the configuration is in force, judging that waits for the judge goes on at once.
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  secchi judge check\n  secchi judge check --judge-model gpt-6 --attacks")]
pub struct CheckArgs {
    /// Also ask about answers that try to talk the judge into a score
    #[arg(long)]
    attacks: bool,
    /// Print JSON
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    store: StoreSettings,
    #[command(flatten)]
    judge: JudgeSettings,
}

/// Runs a command on the judge.
///
/// # Errors
/// When the judge cannot be asked or gives no valid score, or a configuration cannot be changed.
pub async fn run(command: JudgeCommand) -> anyhow::Result<()> {
    match command {
        JudgeCommand::Check(arguments) => check(arguments).await,
        JudgeCommand::Usage(arguments) => judge_usage::usage(arguments).await,
        JudgeCommand::Stage(arguments) => staging::stage(arguments).await,
        JudgeCommand::Activate(arguments) => staging::activate(arguments).await,
        JudgeCommand::List(arguments) => staging::list(arguments).await,
    }
}

async fn check(arguments: CheckArgs) -> anyhow::Result<()> {
    let store = Store::open(&arguments.store.database_url).await?;
    let metrics = Arc::new(Metrics::new(false)?);
    let judges = Judges::alone(&arguments.judge, metrics)?;
    let configuration = judges.wanted().id();
    let current = judges.current(&store).await;
    let is_in_force = current.as_ref().is_ok_and(|current| current.id == configuration);
    let note = standing(current, &configuration)?;
    if !arguments.json {
        println!("{note}");
        if judges.wanted().kind == Kind::Offline {
            println!("no endpoint is set (SECCHI_JUDGE_BASE_URL): this is the built-in offline judge");
        }
        if judges.is_unlimited() {
            println!(
                "warning: there is no budget; set SECCHI_JUDGE_BUDGET_USD_PER_DAY to limit what a day may cost"
            );
        }
    }
    let judge = judges.wanted_judge()?;
    let mut failed = 0;
    for rubric in Rubric::ALL {
        let started = Instant::now();
        let Asked { result, usage, .. } =
            judge.judge(&item(*rubric, &evidence()), Asking::to_the_end()).await;
        let took = Took { latency: started.elapsed(), usage, cost_usd: judges.cost_usd(usage) };
        if arguments.json {
            let mut line = json!({"rubric": rubric, "configuration": configuration, "note": note});
            took.add_to(&mut line, &result);
            println!("{line}");
        } else {
            println!("{rubric}: {}", took.sentence(&result));
        }
        failed += usize::from(result.is_err());
        // The other rubrics would only hear that the circuit is open.
        anyhow::ensure!(!matches!(result, Err(Failure::Pause { .. })), "nothing can be judged so; see above");
    }
    anyhow::ensure!(failed == 0, "{failed} of {} rubrics got no valid score", Rubric::ALL.len());
    if is_in_force {
        judges.note_check(&store, &Actor::command_line(), Clock::System.now_ms()).await?;
        if !arguments.json {
            println!("the judge answers; judging that waited for it goes on");
        }
    }
    if arguments.attacks {
        judge_attacks::check(&judges, judge.as_ref(), arguments.json).await?;
    }
    Ok(())
}

/// What one call took.
struct Took {
    latency: Duration,
    usage: Usage,
    cost_usd: f64,
}

impl Took {
    fn add_to(&self, line: &mut Value, result: &Result<Verdict, Failure>) {
        line["latency_ms"] = json!(self.latency.as_millis());
        line["prompt_tokens"] = json!(self.usage.prompt_tokens);
        line["completion_tokens"] = json!(self.usage.completion_tokens);
        line["cost_usd"] = json!(self.cost_usd);
        match result {
            Ok(verdict) => {
                line["model"] = json!(verdict.model);
                line["scores"] = json!(verdict.scores);
            }
            Err(failure) => line["error"] = json!(advised(failure)),
        }
    }

    fn sentence(&self, result: &Result<Verdict, Failure>) -> String {
        let Took { latency, usage, cost_usd } = self;
        let (sent, received) = (usage.prompt_tokens, usage.completion_tokens);
        let took =
            format!("in {} ms, {sent} tokens sent, {received} received, ${cost_usd:.6}", latency.as_millis());
        match result {
            Ok(verdict) => format!("scores {:?} from `{}` {took}", verdict.scores, verdict.model),
            Err(failure) => format!("{} ({took})", advised(failure)),
        }
    }
}

fn item(rubric: Rubric, evidence: &Map<String, Value>) -> Item<'_> {
    Item {
        question_id: "check--q1",
        rubric,
        question: "How do the camera movement and viewpoint capture the sea turtle?",
        reference: REFERENCE,
        evidence,
        answer: REFERENCE,
    }
}

/// What went wrong, and what to do about it.
fn advised(failure: &Failure) -> String {
    match failure.advice() {
        Some(advice) => format!("{failure}; {advice}"),
        None => failure.to_string(),
    }
}

/// How the configuration of the settings stands to the one that is in force.
fn standing(
    current: Result<ConfigurationRow, JudgesError>,
    configuration: &str,
) -> Result<String, JudgesError> {
    match current {
        Ok(current) if current.id == configuration => {
            Ok(format!("configuration {configuration} is in force"))
        }
        Ok(current) => Ok(format!(
            "configuration {configuration} is NOT in force: everything is judged under {} (`{}`); \
             `secchi judge stage` prepares the change",
            current.id, current.model
        )),
        Err(JudgesError::NoneCurrent) => Ok(format!(
            "configuration {configuration} will be in force once `secchi serve` or `secchi worker` starts"
        )),
        Err(error) => Err(error),
    }
}

/// A made-up clip: no question of any release leaves the server for a check.
const REFERENCE: &str = "The camera pans slowly to the right in a full view and follows a green sea turtle that glides over \
                         a coral reef in clear, sunlit water.";

fn evidence() -> Map<String, Value> {
    let pairs = [
        ("central_object", "green sea turtle"),
        ("movement_behavior", "glides over the reef"),
        ("camera_position", "full scene"),
        ("camera_angle", "slow pan to the right"),
        ("environment", "coral reef"),
        ("lighting", "sunlit"),
    ];
    pairs.into_iter().map(|(key, value)| (key.to_owned(), value.into())).collect()
}
