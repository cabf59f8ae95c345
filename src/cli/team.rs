//! `secchi team`: who may submit.

use clap::{Args, Subcommand};

use crate::accounts::{self, NewTeam};
use crate::clock::Clock;
use crate::config::{QuotaSettings, StoreSettings};
use crate::domain::actor::Actor;
use crate::domain::question::Split;
use crate::domain::team::Role;
use crate::evaluation::quota::{Grant, grant_quota};
use crate::evaluation::team_standing::{TeamStanding, list_teams};
use crate::store::{Store, StoreError};

use super::report::table;
use super::team_keys::{self, KeyCommand};
use super::team_signups::{self, ApproveArgs, RejectArgs, SignupsArgs};

/// Make, list and disable teams; their keys, their quota and who signed up
#[derive(Debug, Subcommand)]
pub enum TeamCommand {
    Create(CreateArgs),
    List(ListArgs),
    Disable(DisableArgs),
    Enable(EnableArgs),
    RotateKey(RotateKeyArgs),
    #[command(subcommand)]
    Key(KeyCommand),
    Grant(GrantArgs),
    Signups(SignupsArgs),
    Approve(ApproveArgs),
    Reject(RejectArgs),
}

/// Make a team and print its API key, once
#[derive(Debug, Args)]
#[command(
    after_help = "Example:\n  secchi team create ocean-lab --name \"Ocean Lab\" --email lab@example.org"
)]
pub struct CreateArgs {
    /// Short name: a-z, 0-9 and `-`
    slug: String,
    /// Full name
    #[arg(long)]
    name: String,
    /// Where to reach the team
    #[arg(long)]
    email: Option<String>,
    /// A team of maintainers, who may also administer
    #[arg(long)]
    maintainer: bool,
    /// Print JSON
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    store: StoreSettings,
}

/// List all teams, with what they have done and what is left to them
#[derive(Debug, Args)]
pub struct ListArgs {
    /// Print JSON
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    store: StoreSettings,
    #[command(flatten)]
    quota: QuotaSettings,
}

/// Shut a team out: its keys and tokens end at once
#[derive(Debug, Args)]
pub struct DisableArgs {
    #[command(flatten)]
    team: SlugArgs,
}

/// Let a team in again that was shut out, with the keys that it had
#[derive(Debug, Args)]
#[command(after_help = "Example:\n  secchi team enable ocean-lab")]
pub struct EnableArgs {
    #[command(flatten)]
    team: SlugArgs,
}

/// End all keys of a team at once and print a new one, once
#[derive(Debug, Args)]
pub struct RotateKeyArgs {
    #[command(flatten)]
    team: SlugArgs,
}

/// Give a team more submissions, today and in all; the team reads why
#[derive(Debug, Args)]
#[command(
    after_help = "Example:\n  secchi team grant ocean-lab --split test --amount 2 --reason \"the judge was down on Monday\""
)]
pub struct GrantArgs {
    #[command(flatten)]
    team: SlugArgs,
    /// test or val
    #[arg(long)]
    split: Split,
    /// How many submissions more
    #[arg(long)]
    amount: i32,
    /// Why
    #[arg(long)]
    reason: String,
}

/// One team
#[derive(Debug, Args)]
struct SlugArgs {
    /// Short name
    slug: String,
    /// Print JSON
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    store: StoreSettings,
}

/// Runs a command on teams.
///
/// # Errors
/// When the database or the team's name refuses.
pub async fn run(command: TeamCommand) -> anyhow::Result<()> {
    let now_ms = Clock::System.now_ms();
    match command {
        TeamCommand::Create(arguments) => create(arguments, now_ms).await,
        TeamCommand::List(arguments) => list(arguments).await,
        TeamCommand::Disable(DisableArgs { team: SlugArgs { slug, json, store } }) => {
            let store = Store::open(&store.database_url).await?;
            accounts::disable_team(&store, &Actor::command_line(), slug.clone(), now_ms).await?;
            if json {
                println!("{}", serde_json::json!({"slug": slug, "disabled": true}));
            } else {
                println!("`{slug}` is disabled; its keys and tokens have ended");
            }
            Ok(())
        }
        TeamCommand::Enable(EnableArgs { team: SlugArgs { slug, json, store } }) => {
            let store = Store::open(&store.database_url).await?;
            accounts::enable_team(&store, &Actor::command_line(), slug.clone(), now_ms).await?;
            if json {
                println!("{}", serde_json::json!({"slug": slug, "disabled": false}));
            } else {
                println!("`{slug}` is enabled; the keys that it had are good again");
            }
            Ok(())
        }
        TeamCommand::RotateKey(RotateKeyArgs { team: SlugArgs { slug, json, store } }) => {
            let store = Store::open(&store.database_url).await?;
            let key = accounts::rotate_key(&store, &Actor::command_line(), slug.clone(), now_ms).await?;
            if json {
                println!("{}", serde_json::json!({"slug": slug, "api_key": key}));
            } else {
                println!("New API key of `{slug}`, shown only now (older ones have ended):\n{key}");
            }
            Ok(())
        }
        TeamCommand::Key(command) => team_keys::run(command).await,
        TeamCommand::Grant(arguments) => grant(arguments, now_ms).await,
        TeamCommand::Signups(arguments) => team_signups::list(arguments).await,
        TeamCommand::Approve(arguments) => team_signups::approve(arguments).await,
        TeamCommand::Reject(arguments) => team_signups::reject(arguments).await,
    }
}

async fn grant(arguments: GrantArgs, now_ms: i64) -> anyhow::Result<()> {
    let GrantArgs { team: SlugArgs { slug, json, store }, split, amount, reason } = arguments;
    let store = Store::open(&store.database_url).await?;
    let grant = Grant { split, amount, reason };
    let entry = grant_quota(&store, &Actor::command_line(), &slug, grant, now_ms).await?;
    if json {
        println!("{}", serde_json::json!({"slug": slug, "split": split, "amount": amount, "day": entry.day}));
    } else {
        println!(
            "`{slug}` may make {amount} more submission(s) to {split}: in all, and on {} (UTC)",
            entry.day
        );
    }
    Ok(())
}

async fn create(arguments: CreateArgs, now_ms: i64) -> anyhow::Result<()> {
    let store = Store::open(&arguments.store.database_url).await?;
    let new = NewTeam {
        slug: arguments.slug,
        name: arguments.name,
        email: arguments.email,
        role: if arguments.maintainer { Role::Maintainer } else { Role::Team },
    };
    let (team, key) = accounts::create_team(&store, &Actor::command_line(), new, now_ms).await?;
    if arguments.json {
        let made = serde_json::json!({
            "id": team.id, "slug": team.slug, "name": team.name, "role": team.role, "api_key": key,
        });
        println!("{made}");
    } else {
        println!("Team `{}` is made. Its API key, shown only now:\n{key}", team.slug);
    }
    Ok(())
}

async fn list(arguments: ListArgs) -> anyhow::Result<()> {
    let store = Store::open(&arguments.store.database_url).await?;
    let (settings, now_ms) = (arguments.quota, Clock::System.now_ms());
    let teams: Result<Vec<TeamStanding>, StoreError> =
        store.snapshot(move |connection| list_teams(connection, &settings, None, i64::MAX, now_ms)).await;
    let mut teams = teams?;
    teams.sort_by(|one, other| one.slug.cmp(&other.slug));
    if arguments.json {
        let items: Vec<_> = teams
            .iter()
            .map(|team| {
                serde_json::json!({
                    "id": team.id, "slug": team.slug, "name": team.name, "email": team.email, "role": team.role,
                    "disabled": team.disabled_at.is_some(), "created_at": team.created_at,
                    "submissions": team.submissions, "last_submitted_at": team.last_submitted_at,
                    "last_used_at": team.last_used_at, "quota": team.quota,
                })
            })
            .collect();
        println!("{}", serde_json::Value::from(items));
        return Ok(());
    }
    let rows = teams.into_iter().map(|team| {
        let state = if team.disabled_at.is_some() { "disabled" } else { "" };
        let left = team.quota.iter().map(|quota| format!("{} {}", quota.left, quota.split));
        vec![
            team.slug,
            team.name,
            team.role.to_string(),
            team.email.unwrap_or_default(),
            state.to_owned(),
            team.submissions.to_string(),
            team.last_used_at.unwrap_or_default(),
            left.collect::<Vec<_>>().join(", "),
        ]
    });
    let header = ["team", "name", "role", "e-mail", "state", "submissions", "last use", "left today"];
    println!("{}", table(&header, rows));
    Ok(())
}
