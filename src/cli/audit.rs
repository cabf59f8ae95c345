//! `secchi audit`: who changed what, when and from where.

use std::io::Write as _;

use clap::Args;
use futures::TryStreamExt as _;

use super::report::table;
use crate::administration::audit::{AuditQuery, AuditView, Export, exported, list_audit, said};
use crate::config::StoreSettings;
use crate::store::audit::AuditFilter;
use crate::store::{Store, StoreError};

/// Show who changed what, when and from where, newest first
#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  secchi audit --since 2026-11-01 --action grant_quota\n  secchi audit --actor harbour --search ocean-lab\n  secchi audit --csv > audit.csv"
)]
pub struct AuditArgs {
    /// A team's short name, or `command line`
    #[arg(long, value_name = "WHO")]
    actor: Option<String>,
    /// An action, such as grant_quota
    #[arg(long, value_name = "WHAT")]
    action: Option<String>,
    /// What was acted on: an id, a short name
    #[arg(long, value_name = "NAME")]
    subject: Option<String>,
    /// The first UTC day or instant, such as 2026-11-01 or 2026-11-01T08:00:00Z
    #[arg(long, value_name = "WHEN")]
    since: Option<String>,
    /// The last UTC day or instant
    #[arg(long, value_name = "WHEN")]
    until: Option<String>,
    /// A text that stands anywhere in the line
    #[arg(long, value_name = "TEXT")]
    search: Option<String>,
    /// Lines of the table at most; JSON and CSV hold all matches
    #[arg(long, default_value_t = 50, value_parser = clap::value_parser!(u32).range(1..=10_000))]
    limit: u32,
    /// Print all matches, one JSON object a line
    #[arg(long, conflicts_with = "csv")]
    json: bool,
    /// Print all matches as CSV
    #[arg(long)]
    csv: bool,
    #[command(flatten)]
    store: StoreSettings,
}

/// Shows lines of the audit log.
///
/// # Errors
/// When a bound is none or the database refuses.
pub async fn audit(arguments: AuditArgs) -> anyhow::Result<()> {
    let AuditArgs { actor, action, subject, since, until, search, limit, json, csv, store } = arguments;
    let filter = AuditQuery { actor, action, subject, from: since, to: until, text: search }.filter()?;
    let store = Store::open(&store.database_url).await?;
    if json || csv {
        return export(store, filter, if csv { Export::Csv } else { Export::JsonLines }).await;
    }
    let limit = i64::from(limit);
    let found: Result<Vec<AuditView>, StoreError> =
        store.read(move |connection| list_audit(connection, &filter, None, limit + 1)).await;
    let mut views = found?;
    let more = views.len() > usize::try_from(limit).unwrap_or_default();
    views.truncate(usize::try_from(limit).unwrap_or_default());
    let rows = views.into_iter().map(|view| {
        let change = match (said(&view.before), said(&view.after)) {
            (before, after) if before.is_empty() => after,
            (before, after) => format!("{before} → {after}"),
        };
        let place = view.place.unwrap_or_default();
        let cells = [view.at, view.actor, place, view.action, view.subject, change];
        // A terminal would obey them.
        cells.map(|cell| cell.replace(char::is_control, " ")).to_vec()
    });
    println!("{}", table(&["when", "who", "from where", "what", "to what", "before → after"], rows));
    if more {
        println!("older lines are left out; narrow the search, or raise --limit");
    }
    Ok(())
}

async fn export(store: Store, filter: AuditFilter, export: Export) -> anyhow::Result<()> {
    let mut out = std::io::stdout().lock();
    let mut parts = std::pin::pin!(exported(store, filter, export));
    while let Some(part) = parts.try_next().await? {
        out.write_all(&part)?;
    }
    Ok(out.flush()?)
}
