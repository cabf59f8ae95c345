//! `secchi archive` and `secchi restore`: everything in one file, and back.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use clap::Args;
use serde_json::json;
use tokio::signal::unix::{SignalKind, signal};

use super::report;
use crate::archive::{ArchiveError, NewArchive, Progress, Restored, Summary, restore_archive, write_archive};
use crate::clock::Clock;
use crate::config::StoreSettings;
use crate::domain::actor::Actor;
use crate::store::Store;

/// Write everything that the database holds into one file, while servers and workers go on
///
/// The file holds the answer keys, so only its owner may read it. It is an SQLite file with the same tables, whichever
/// database it is written from: `restore` takes it into either, `serve --archive` shows it as it is. Videos are not in
/// it; keep a copy of the media folder beside it.
#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  secchi archive secchi-2026-11-30.archive\n  secchi archive --force latest.archive\n  \
secchi archive --public board.archive\n  secchi archive --database-url postgres://secchi@db/secchi --json nightly.archive\n\nA \
public archive holds what the board shows to everybody: published entries, their scores, intervals and rank ranges, the releases' hashes and \
counts, and the public keys of records. It holds no answer key, question, answer or outcome of one, no credential or its hash, no e-mail \
address, no private submission, no team of an anonymous entry, and no audit log; it can be shown, not restored."
)]
pub struct ArchiveArgs {
    /// The file to write
    #[arg(value_name = "FILE")]
    file: PathBuf,
    /// Leave out whatever not everybody may know
    #[arg(long)]
    public: bool,
    /// Replace the file if there is one
    #[arg(long)]
    force: bool,
    /// Print JSON
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    store: StoreSettings,
}

/// Restore an archive into an empty database: all of it or nothing
///
/// Everything goes on as it was: the same board, keys and quotas, and what was not scored yet is worked off by the next
/// server or worker. Browsers sign in again.
#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  secchi restore secchi-2026-11-30.archive\n  secchi restore --database-url \
postgres://secchi@db/secchi secchi-2026-11-30.archive\n\nThe database is made where there is none on SQLite; on PostgreSQL it must exist \
and be empty. Restore before `serve` or `worker` is started on it. Archives of older versions are brought up to date on the way."
)]
pub struct RestoreArgs {
    /// The archive
    #[arg(value_name = "FILE")]
    file: PathBuf,
    /// Print JSON
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    store: StoreSettings,
}

/// Writes an archive.
///
/// # Errors
/// When there is such a file, or the database or the disk refuses.
pub async fn archive(arguments: ArchiveArgs) -> anyhow::Result<()> {
    let ArchiveArgs { file, public, force, json, store } = arguments;
    let store = Store::open_existing(&store.database_url).await?;
    let new = NewArchive { path: file.clone(), public, force };
    let progress = Arc::new(Progress::default());
    let writing = write_archive(&store, new, progress.clone(), Clock::System.now_ms());
    let summary = watched("archiving", &progress, writing).await?;
    if json {
        println!("{}", json!({ "file": file, "archive": summary }));
        return Ok(());
    }
    println!("`{}` holds {} ({} bytes)", file.display(), held(&summary), summary.bytes);
    match public {
        true => {
            println!("It holds only what the board shows to everybody; `secchi serve --archive` shows it.")
        }
        false => println!("It holds the answer keys: keep it where secrets are kept. Videos are not in it."),
    }
    Ok(())
}

/// Restores an archive.
///
/// # Errors
/// When the file or the database refuses.
pub async fn restore(arguments: RestoreArgs) -> anyhow::Result<()> {
    let RestoreArgs { file, json, store } = arguments;
    let progress = Arc::new(Progress::default());
    let actor = Actor::command_line();
    let by = (&actor, Clock::System.now_ms());
    let restoring = restore_archive(&store.database_url, file, by, progress.clone());
    let Restored { archive, unfinished } = watched("restoring", &progress, restoring).await?;
    if json {
        println!("{}", json!(Restored { archive, unfinished }));
        return Ok(());
    }
    println!("restored {} as of {}", held(&archive), archive.written_at);
    if unfinished > 0 {
        println!("{unfinished} of the submissions go on when `secchi serve` or `secchi worker` starts");
    }
    Ok(())
}

fn held(summary: &Summary) -> String {
    let counted = |table, one: &str, more: &str| match summary.rows(table) {
        1 => format!("1 {one}"),
        count => format!("{count} {more}"),
    };
    [
        counted("releases", "release", "releases"),
        counted("teams", "team", "teams"),
        counted("submissions", "submission", "submissions"),
        counted("judgements", "judgement", "judgements"),
    ]
    .join(", ")
}

/// Draws how far the work is until it ends; Ctrl-C and SIGTERM end it in good order.
async fn watched<T>(
    what: &'static str,
    progress: &Progress,
    work: impl Future<Output = Result<T, ArchiveError>>,
) -> anyhow::Result<T> {
    let mut terminate = signal(SignalKind::terminate())?;
    let mut interrupt = signal(SignalKind::interrupt())?;
    let bar = report::bar(what, "{msg} {wide_bar} {pos}/{len} rows", 0);
    let mut tick = tokio::time::interval(Duration::from_millis(100));
    tokio::pin!(work);
    loop {
        tokio::select! {
            ended = &mut work => {
                bar.finish_and_clear();
                return Ok(ended?);
            }
            _ = tick.tick() => {
                let (done, total) = progress.rows();
                bar.set_length(total);
                bar.set_position(done);
            }
            _ = terminate.recv() => progress.stop(),
            _ = interrupt.recv() => progress.stop(),
        }
    }
}
