//! The command line: one file a command. Prints results to standard output and errors to standard error.
#![expect(clippy::print_stdout, reason = "commands print their results")]

#[cfg(feature = "server")]
mod admin;
mod answers;
#[cfg(feature = "server")]
mod archive;
#[cfg(feature = "server")]
mod audit;
#[cfg(feature = "server")]
mod build;
#[cfg(feature = "server")]
mod correcting;
#[cfg(feature = "server")]
mod dataset;
mod evaluate;
pub mod exit;
mod export;
mod grade;
#[cfg(feature = "server")]
mod judge;
#[cfg(feature = "server")]
mod judge_attacks;
#[cfg(feature = "server")]
mod judge_usage;
mod pull;
mod pulled;
#[cfg(feature = "server")]
mod record_key;
mod report;
#[cfg(feature = "server")]
mod serve;
#[cfg(feature = "server")]
mod staging;
mod status;
#[cfg(feature = "server")]
mod submission;
mod submit;
#[cfg(feature = "server")]
mod team;
#[cfg(feature = "server")]
mod team_keys;
#[cfg(feature = "server")]
mod team_signups;
#[cfg(feature = "server")]
mod validity;
#[cfg(feature = "server")]
mod validity_report;
mod verify;

use std::ffi::OsString;
use std::path::PathBuf;

use clap::{CommandFactory as _, FromArgMatches as _, Parser, Subcommand};

use crate::config;
use crate::telemetry::{Started, start_logging, start_notes};

/// Evaluation server and public leaderboard of MarineLife-16K
#[derive(Debug, Parser)]
#[command(name = "secchi", version, arg_required_else_help = true, max_term_width = 110)]
struct Cli {
    /// Settings file; flags and the environment beat it [default: secchi.toml, if there is one]
    #[arg(long, global = true, value_name = "FILE")]
    config: Option<PathBuf>,
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    #[cfg(feature = "server")]
    Serve(serve::ServeArgs),
    #[cfg(feature = "server")]
    Worker(serve::WorkerArgs),
    #[cfg(feature = "server")]
    Migrate(serve::MigrateArgs),
    #[cfg(feature = "server")]
    #[command(subcommand)]
    Dataset(dataset::DatasetCommand),
    #[cfg(feature = "server")]
    #[command(subcommand)]
    Team(team::TeamCommand),
    #[cfg(feature = "server")]
    #[command(subcommand)]
    Judge(judge::JudgeCommand),
    #[cfg(feature = "server")]
    #[command(subcommand)]
    Validity(validity::ValidityCommand),
    #[cfg(feature = "server")]
    #[command(subcommand)]
    RecordKey(record_key::RecordKeyCommand),
    #[cfg(feature = "server")]
    Archive(archive::ArchiveArgs),
    #[cfg(feature = "server")]
    Restore(archive::RestoreArgs),
    #[cfg(feature = "server")]
    #[command(subcommand)]
    Submission(submission::SubmissionCommand),
    #[cfg(feature = "server")]
    Admin(admin::AdminArgs),
    #[cfg(feature = "server")]
    Audit(audit::AuditArgs),
    Pull(pull::PullArgs),
    Evaluate(evaluate::EvaluateArgs),
    Submit(submit::SubmitArgs),
    Status(status::StatusArgs),
    Publish(status::PublishArgs),
    Withdraw(status::WithdrawArgs),
    Grade(grade::GradeArgs),
    Verify(verify::VerifyArgs),
    Export(export::ExportArgs),
    #[cfg(feature = "server")]
    #[command(subcommand)]
    Build(build::BuildCommand),
    /// Prints the OpenAPI document that stands in openapi/openapi.json
    #[cfg(feature = "server")]
    Openapi,
}

impl Command {
    /// Whether it runs until it is told to end, whoever reads what it prints.
    fn is_service(&self) -> bool {
        #[cfg(feature = "server")]
        return matches!(self, Command::Serve(_) | Command::Worker(_));
        #[cfg(not(feature = "server"))]
        false
    }

    /// Whether it speaks to a server rather than being one or having its database.
    fn is_clients(&self) -> bool {
        use Command::{Evaluate, Grade, Publish, Pull, Status, Submit, Verify, Withdraw};
        matches!(
            self,
            Pull(_) | Evaluate(_) | Submit(_) | Status(_) | Publish(_) | Withdraw(_) | Grade(_) | Verify(_)
        )
    }
}

/// Lets a command say what happens: a client's in a line each, all others' as logs.
fn start_telemetry(command: &Command) -> Option<Started> {
    if command.is_clients() {
        start_notes(&config::notes_filter(), config::no_color());
        return None;
    }
    let traced = command.is_service() && config::is_traced();
    Some(start_logging(&config::log_filter(), config::no_color(), traced))
}

/// Runs the command that `arguments` name.
///
/// # Errors
/// Whatever kept the command from doing its work, in words for the user.
pub async fn run(arguments: Vec<OsString>) -> anyhow::Result<()> {
    let file = config::file_argument(&arguments);
    let command = config::with_file(Cli::command(), file.as_deref())?;
    let unknown = config::unknown_variables(&command);
    let matches = config::without_empty(command).get_matches_from(arguments);
    let cli = Cli::from_arg_matches(&matches).unwrap_or_else(|error| error.exit());
    if !cli.command.is_service() {
        exit::end_with_the_reader();
    }
    // Dropped at the end, when the last traces are sent.
    let _started = start_telemetry(&cli.command);
    for name in unknown {
        tracing::warn!(
            "`{name}` is no setting of this version and is not obeyed; `secchi serve --help` lists them"
        );
    }
    match cli.command {
        #[cfg(feature = "server")]
        Command::Serve(arguments) => serve::serve(arguments).await,
        #[cfg(feature = "server")]
        Command::Worker(arguments) => serve::worker(arguments).await,
        #[cfg(feature = "server")]
        Command::Migrate(arguments) => serve::migrate(arguments).await,
        #[cfg(feature = "server")]
        Command::Dataset(command) => dataset::run(command).await,
        #[cfg(feature = "server")]
        Command::Team(command) => team::run(command).await,
        #[cfg(feature = "server")]
        Command::Judge(command) => judge::run(command).await,
        #[cfg(feature = "server")]
        Command::Validity(command) => validity::run(command).await,
        #[cfg(feature = "server")]
        Command::RecordKey(command) => record_key::run(command).await,
        #[cfg(feature = "server")]
        Command::Archive(arguments) => archive::archive(arguments).await,
        #[cfg(feature = "server")]
        Command::Restore(arguments) => archive::restore(arguments).await,
        #[cfg(feature = "server")]
        Command::Submission(command) => submission::run(command).await,
        #[cfg(feature = "server")]
        Command::Admin(arguments) => admin::run(arguments).await,
        #[cfg(feature = "server")]
        Command::Audit(arguments) => audit::audit(arguments).await,
        Command::Pull(arguments) => pull::pull(arguments).await,
        Command::Evaluate(arguments) => evaluate::evaluate(arguments).await,
        Command::Submit(arguments) => submit::submit(arguments).await,
        Command::Status(arguments) => status::status(arguments).await,
        Command::Publish(arguments) => status::publish(arguments).await,
        Command::Withdraw(arguments) => status::withdraw(arguments).await,
        Command::Grade(arguments) => grade::grade(arguments).await,
        Command::Verify(arguments) => verify::verify(arguments).await,
        Command::Export(arguments) => export::export(arguments).await,
        #[cfg(feature = "server")]
        Command::Build(command) => build::run(command).await,
        #[cfg(feature = "server")]
        Command::Openapi => {
            println!("{}", crate::http::document().to_pretty_json()?);
            Ok(())
        }
    }
}
