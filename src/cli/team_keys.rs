//! `secchi team key`: the keys of a team, for those who run the server.

use clap::{Args, Subcommand};

use crate::accounts::keys::{NewKey, grant_key, withdraw_key};
use crate::clock::Clock;
use crate::config::StoreSettings;
use crate::domain::actor::Actor;
use crate::domain::instant::{parse_rfc3339, rfc3339};
use crate::domain::key::Scope;
use crate::store::Store;
use crate::store::keys::{Key, load_keys};
use crate::store::teams::find_team;

use super::report::table;

/// List, make and revoke the keys of a team
#[derive(Debug, Subcommand)]
pub enum KeyCommand {
    List(ListKeysArgs),
    Create(CreateKeyArgs),
    Revoke(RevokeKeyArgs),
}

/// List the keys of a team, without the keys themselves
#[derive(Debug, Args)]
pub struct ListKeysArgs {
    /// Short name
    slug: String,
    /// Print JSON
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    store: StoreSettings,
}

/// Make a further key of a team and print it, once
#[derive(Debug, Args)]
#[command(
    after_help = "Example:\n  secchi team key create ocean-lab --name cluster --scope submit --expires-at 2027-03-01T00:00:00Z"
)]
pub struct CreateKeyArgs {
    /// Short name
    slug: String,
    /// What the key is for
    #[arg(long)]
    name: String,
    /// read, submit or admin (maintainers only); each includes those before it
    #[arg(long, default_value = "submit")]
    scope: Scope,
    /// When it ends, RFC 3339 [default: never]
    #[arg(long, value_parser = instant)]
    expires_at: Option<i64>,
    /// Print JSON
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    store: StoreSettings,
}

/// End a key of a team at once, even its last
#[derive(Debug, Args)]
pub struct RevokeKeyArgs {
    /// Short name
    slug: String,
    /// The key's id, as `secchi team key list` shows it
    id: String,
    /// Print JSON
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    store: StoreSettings,
}

/// Runs a command on keys.
///
/// # Errors
/// When the database refuses, or there is no such team or key.
pub async fn run(command: KeyCommand) -> anyhow::Result<()> {
    let now_ms = Clock::System.now_ms();
    match command {
        KeyCommand::List(arguments) => list(arguments, now_ms).await,
        KeyCommand::Create(arguments) => create(arguments, now_ms).await,
        KeyCommand::Revoke(RevokeKeyArgs { slug, id, json, store }) => {
            let store = Store::open(&store.database_url).await?;
            let key = withdraw_key(&store, &Actor::command_line(), &slug, &id, now_ms).await?;
            if json {
                println!("{}", serde_json::json!({"id": key.id, "name": key.name, "revoked": true}));
            } else {
                println!("The key `{}` of `{slug}` has ended, and its tokens with it", key.name);
            }
            Ok(())
        }
    }
}

async fn create(arguments: CreateKeyArgs, now_ms: i64) -> anyhow::Result<()> {
    let store = Store::open(&arguments.store.database_url).await?;
    let CreateKeyArgs { slug, name, scope, expires_at: expires_at_ms, .. } = arguments;
    let (key, api_key) =
        grant_key(&store, &Actor::command_line(), &slug, NewKey { name, scope, expires_at_ms }, now_ms)
            .await?;
    if arguments.json {
        let made = serde_json::json!({
            "id": key.id, "name": key.name, "scope": key.scope, "expires_at": key.expires_at_ms.map(rfc3339),
            "api_key": api_key,
        });
        println!("{made}");
    } else {
        println!("New key `{}` of `{slug}`, shown only now:\n{api_key}", key.name);
    }
    Ok(())
}

async fn list(arguments: ListKeysArgs, now_ms: i64) -> anyhow::Result<()> {
    let store = Store::open(&arguments.store.database_url).await?;
    let slug = arguments.slug.clone();
    let team = store.read(move |connection| find_team(connection, &slug)).await?;
    let Some(team) = team else {
        anyhow::bail!("there is no team `{}`; `secchi team list` shows all", arguments.slug)
    };
    let keys = store.read(move |connection| load_keys(connection, &team.id)).await?;
    if arguments.json {
        let items: Vec<_> = keys
            .iter()
            .map(|key| {
                serde_json::json!({
                    "id": key.id, "name": key.name, "scope": key.scope, "prefix": key.prefix,
                    "state": state(key, now_ms), "created_at": rfc3339(key.created_at_ms),
                    "expires_at": key.expires_at_ms.map(rfc3339), "last_used_at": key.last_used_at_ms.map(rfc3339),
                })
            })
            .collect();
        println!("{}", serde_json::Value::from(items));
        return Ok(());
    }
    let rows = keys.into_iter().map(|key| {
        let instant = |instant_ms: Option<i64>, none: &str| instant_ms.map_or(none.to_owned(), rfc3339);
        let (ends, used) = (instant(key.expires_at_ms, "never"), instant(key.last_used_at_ms, "never"));
        let state = state(&key, now_ms).to_owned();
        vec![key.id, key.name, key.scope.to_string(), key.prefix, ends, used, state]
    });
    println!("{}", table(&["id", "name", "scope", "begins", "ends", "last used", "state"], rows));
    Ok(())
}

fn state(key: &Key, now_ms: i64) -> &'static str {
    match key.revoked_at_ms {
        Some(_) => "revoked",
        None if key.is_expired(now_ms) => "expired",
        None => "usable",
    }
}

fn instant(text: &str) -> Result<i64, String> {
    parse_rfc3339(text).ok_or_else(|| "it must be an instant such as 2027-03-01T00:00:00Z".to_owned())
}
