//! `secchi team signups`, `approve` and `reject`: who asked for an account.

use clap::Args;

use crate::accounts::approval::{Compared, Similar, approve_signup, list_signups, reject_signup};
use crate::clock::Clock;
use crate::config::StoreSettings;
use crate::domain::actor::Actor;
use crate::domain::instant::rfc3339;
use crate::domain::signup::SignupState;
use crate::store::Store;

use super::report::table;

/// The newest sign-ups that are listed.
const LISTED: i64 = 1000;

/// List the sign-ups that wait, each with teams and sign-ups that may be the same people
#[derive(Debug, Args)]
pub struct SignupsArgs {
    /// Decided ones too
    #[arg(long)]
    all: bool,
    /// Print JSON
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    store: StoreSettings,
}

/// Make the team that a sign-up asks for; its applicant can then have the key
#[derive(Debug, Args)]
pub struct ApproveArgs {
    /// The sign-up's id, as `secchi team signups` shows it
    id: String,
    /// Print JSON
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    store: StoreSettings,
}

/// Turn a sign-up down
#[derive(Debug, Args)]
pub struct RejectArgs {
    /// The sign-up's id, as `secchi team signups` shows it
    id: String,
    /// What the applicant is told
    #[arg(long)]
    reason: String,
    /// Print JSON
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    store: StoreSettings,
}

/// Approves a sign-up.
///
/// # Errors
/// When the database refuses, or there is no such sign-up that waits.
pub async fn approve(ApproveArgs { id, json, store }: ApproveArgs) -> anyhow::Result<()> {
    let store = Store::open(&store.database_url).await?;
    let (_, team) = approve_signup(&store, &Actor::command_line(), &id, Clock::System.now_ms()).await?;
    if json {
        println!("{}", serde_json::json!({"id": id, "state": "approved", "slug": team.slug}));
    } else {
        println!("Team `{}` is made; whoever signed up gets its key, once", team.slug);
    }
    Ok(())
}

/// Rejects a sign-up.
///
/// # Errors
/// When the database refuses, or there is no such sign-up that waits.
pub async fn reject(RejectArgs { id, reason, json, store }: RejectArgs) -> anyhow::Result<()> {
    let store = Store::open(&store.database_url).await?;
    let rejected =
        reject_signup(&store, &Actor::command_line(), &id, &reason, Clock::System.now_ms()).await?;
    let slug = rejected.application.slug;
    if json {
        println!("{}", serde_json::json!({"id": id, "state": "rejected", "slug": slug}));
    } else {
        println!("The sign-up of `{slug}` is rejected; the applicant is told why");
    }
    Ok(())
}

/// Lists sign-ups.
///
/// # Errors
/// When the database refuses.
pub async fn list(SignupsArgs { all, json, store }: SignupsArgs) -> anyhow::Result<()> {
    let store = Store::open(&store.database_url).await?;
    let state = (!all).then_some(SignupState::Pending);
    let found = store.read(move |connection| list_signups(connection, state, None, LISTED)).await?;
    if json {
        println!("{}", found.iter().map(as_json).collect::<serde_json::Value>());
        return Ok(());
    }
    let rows = found.into_iter().map(|Compared { signup, similar }| {
        let said = signup.application;
        let like = similar.iter().map(similar_line).collect::<Vec<_>>().join("\n");
        let at = rfc3339(signup.created_at_ms);
        vec![signup.id, said.slug, said.name, said.email, signup.state.to_string(), at, like]
            .into_iter()
            .map(|text| text.chars().filter(|c| *c == '\n' || !c.is_control()).collect())
            .collect()
    });
    println!("{}", table(&["id", "short name", "name", "e-mail", "state", "made", "similar"], rows));
    Ok(())
}

fn similar_line(similar: &Similar) -> String {
    let what = match (&similar.signup_id, similar.state) {
        (Some(id), Some(state)) => format!("{state} sign-up {id} of `{}`", similar.slug),
        _ => format!("team `{}`", similar.slug),
    };
    let likeness: Vec<&str> = similar.likeness.iter().map(|likeness| likeness.as_str()).collect();
    format!("{what}: {}", likeness.join(", "))
}

fn as_json(Compared { signup, similar }: &Compared) -> serde_json::Value {
    let similar: Vec<_> = similar
        .iter()
        .map(|other| {
            serde_json::json!({
                "likeness": other.likeness, "slug": other.slug, "name": other.name, "signup": other.signup_id,
                "state": other.state,
            })
        })
        .collect();
    serde_json::json!({
        "id": signup.id, "application": signup.application, "state": signup.state, "reason": signup.reason,
        "created_at": rfc3339(signup.created_at_ms), "decided_at": signup.decided_at_ms.map(rfc3339),
        "similar": similar,
    })
}
