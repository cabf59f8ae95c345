//! `secchi record-key`: the keys that the server signs records with.

use clap::{Args, Subcommand};
use serde_json::json;

use super::report::table;
use crate::clock::Clock;
use crate::config::StoreSettings;
use crate::domain::actor::Actor;
use crate::domain::instant::rfc3339;
use crate::evaluation::record_keys::rotate_record_key;
use crate::store::Store;
use crate::store::record_keys::{RecordKeyRow, load_record_keys};

/// List and replace the keys that records are signed with
#[derive(Debug, Subcommand)]
pub enum RecordKeyCommand {
    List(ListRecordKeysArgs),
    Rotate(RotateRecordKeyArgs),
}

/// List the keys that sign or have signed records, without their secrets
#[derive(Debug, Args)]
pub struct ListRecordKeysArgs {
    /// Print JSON
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    store: StoreSettings,
}

/// Sign records with a new key from now on; those signed before stay valid
#[derive(Debug, Args)]
#[command(after_help = "Example:\n  secchi record-key rotate\n\nThe old public key stays at \
/.well-known/secchi-keys.json, so that `secchi verify --keys` still accepts what it signed. The first key is made by itself.")]
pub struct RotateRecordKeyArgs {
    /// Print JSON
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    store: StoreSettings,
}

/// Runs a command on record keys.
///
/// # Errors
/// When the database refuses.
pub async fn run(command: RecordKeyCommand) -> anyhow::Result<()> {
    match command {
        RecordKeyCommand::List(ListRecordKeysArgs { json, store }) => {
            let store = Store::open(&store.database_url).await?;
            let keys = store.read(load_record_keys).await?;
            if json {
                println!("{}", serde_json::Value::from_iter(keys.iter().map(shown)));
                return Ok(());
            }
            let row = |key: RecordKeyRow| {
                let retired = key.retired_at_ms.map_or_else(|| "signs".to_owned(), rfc3339);
                vec![key.id, rfc3339(key.created_at_ms), retired]
            };
            println!("{}", table(&["id", "made", "retired"], keys.into_iter().map(row)));
        }
        RecordKeyCommand::Rotate(RotateRecordKeyArgs { json, store }) => {
            let store = Store::open(&store.database_url).await?;
            let made = rotate_record_key(&store, &Actor::command_line(), Clock::System.now_ms()).await?;
            if json {
                println!("{}", shown(&made));
            } else {
                println!("Records are signed from now on by the key\n{}", made.id);
            }
        }
    }
    Ok(())
}

fn shown(key: &RecordKeyRow) -> serde_json::Value {
    json!({
        "id": key.id, "public_key": key.public_key, "created_at": rfc3339(key.created_at_ms),
        "retired_at": key.retired_at_ms.map(rfc3339),
    })
}
