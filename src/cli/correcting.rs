//! `secchi dataset correct`: from a release with wrong keys to the corrected one.

use std::sync::Arc;

use clap::Args;
use serde_json::json;

use crate::clock::Clock;
use crate::config::{JudgeSettings, StoreSettings};
use crate::domain::actor::Actor;
use crate::domain::question::Split;
use crate::evaluation::activating::make_active;
use crate::evaluation::catalogue::Catalogue;
use crate::evaluation::correcting::{
    CorrectionProgress, CorrectionView, abandon_correction, correction, progress, stage_correction,
};
use crate::evaluation::judges::Judges;
use crate::store::Store;
use crate::store::configurations::find_current_configuration;
use crate::telemetry::Metrics;

use super::report::{self, table};
use super::staging::{WATCH_EVERY, print_cost_lines, print_incomplete, print_moves};

/// Replace the active release by one with the same questions, corrected
///
/// Says which questions differ, what moves on the board, and what judging costs: only answers to questions that differ are
/// judged. Any running server or worker then scores all that is published under the release in the background, while the
/// board stays as it is. The same command again changes nothing and says how far it is. `--apply` waits for the end and then
/// makes it the active release in one step, as `secchi dataset activate` does; `secchi dataset activate` with the former
/// name is the way back.
#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  secchi dataset correct 2026-06b --split test --dry-run\n  secchi dataset correct 2026-06b --split test --notice \"Three keys were wrong.\"\n  secchi dataset correct 2026-06b --split test --apply"
)]
pub struct CorrectArgs {
    /// Name of the corrected release, which was imported before
    name: String,
    /// test or val
    #[arg(long)]
    split: Split,
    /// Say what it changes and costs, and change nothing
    #[arg(long, conflicts_with_all = ["apply", "abandon", "notice"])]
    dry_run: bool,
    /// What readers of the board are told about it
    #[arg(long, value_name = "WORDS")]
    notice: Option<String>,
    /// Wait until everything is scored, then make it the active release
    #[arg(long, conflicts_with = "abandon")]
    apply: bool,
    /// Give up the correction that was begun
    #[arg(long)]
    abandon: bool,
    /// Print JSON
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    store: StoreSettings,
    #[command(flatten)]
    judge: JudgeSettings,
}

/// Corrects the active release, or says how far that is.
///
/// # Errors
/// When the release is no correction, an entry cannot be scored under it, or the database refuses.
pub async fn run(arguments: CorrectArgs) -> anyhow::Result<()> {
    let store = Store::open(&arguments.store.database_url).await?;
    let (split, name) = (arguments.split, arguments.name.clone());
    let of = || (split, name.clone());
    let (actor, now_ms) = (&Actor::command_line(), Clock::System.now_ms());
    if arguments.abandon {
        abandon_correction(&store, actor, of(), now_ms).await?;
        println!("`{name}` of `{split}` is not staged any more; the board stays as it is");
        return Ok(());
    }
    if !arguments.dry_run {
        stage_correction(&store, actor, of(), arguments.notice.clone(), now_ms).await?;
    }
    if arguments.apply {
        watch(&store, of()).await?;
    }
    let judges = Judges::alone(&arguments.judge, Arc::new(Metrics::new(false)?))?;
    let bar = report::bar("foreseeing", "{msg} {wide_bar} {pos}/{len} entries", 0);
    let progress = |done: usize, of: usize| {
        bar.set_length(of as u64);
        bar.set_position(done as u64);
    };
    let view = correction(&store, &Catalogue::default(), &judges, (split, name.clone()), progress).await?;
    bar.finish_and_clear();
    if arguments.apply {
        make_active(&store, actor, split, name.clone(), Clock::System.now_ms()).await?;
    }
    if arguments.json {
        println!("{}", json!({ "correction": view, "applied": arguments.apply }));
        return Ok(());
    }
    let current = store.read(find_current_configuration).await?;
    print(&view, current.map(|row| row.kind).as_deref().unwrap_or_default());
    match (arguments.apply, arguments.dry_run) {
        (true, _) => println!(
            "`{name}` is the active release of `{split}`\nthe way back: secchi dataset activate {} --split {split}",
            view.corrects
        ),
        (false, true) => println!("nothing was changed"),
        (false, false) => print_next(&view),
    }
    Ok(())
}

/// Waits until nothing is pending under the release.
async fn watch(store: &Store, (split, name): (Split, String)) -> anyhow::Result<()> {
    let bar = report::bar("rescored", "{msg} {bar:30} {pos}/{len} {elapsed}", 0);
    loop {
        let name = name.clone();
        let CorrectionProgress { entries, complete, pending, incomplete, ranked } =
            store.snapshot(move |connection| progress(connection, split, &name)).await?;
        bar.set_length(u64::try_from(entries).unwrap_or_default());
        bar.set_position(u64::try_from(complete + incomplete).unwrap_or_default());
        // The ranks come with the scores, where these can.
        if pending == 0 && (ranked || incomplete > 0) {
            break;
        }
        tokio::time::sleep(WATCH_EVERY).await;
    }
    bar.finish_and_clear();
    Ok(())
}

fn print(view: &CorrectionView, judge_kind: &str) {
    let CorrectionView { release, corrects, split, changes, .. } = view;
    println!("`{release}` of `{split}` differs from the active release `{corrects}` in");
    let rows = changes.questions.iter().map(|question| {
        let differences: Vec<&str> = question.differences.iter().map(|part| part.as_str()).collect();
        vec![question.question_id.clone(), question.question_type.to_string(), differences.join(", ")]
    });
    println!("{}", table(&["question", "type", "differs in"], rows));
    let columns = changes.by_column.iter().map(|(column, count)| format!("{column} {count}"));
    let columns = columns.collect::<Vec<_>>().join(", ");
    println!("{} question(s); by column: {columns}", changes.questions.len());
    if view.new_questions > 0 {
        println!("{} are new: no entry was asked them, so that each counts as missing", view.new_questions);
    }
    if view.asked_otherwise > 0 {
        println!(
            "{} were asked in other words or with other options: the answers to the former ones are scored",
            view.asked_otherwise
        );
    }
    print_moves(&view.moves, "what moves on the board:", "nothing moves on the board");
    for (column, answers) in &view.waiting {
        println!("  {column}: not known before a judge has scored {answers} answer(s)");
    }
    println!("judging what is published under it takes");
    print_cost_lines(judge_kind, &view.cost);
    let CorrectionProgress { entries, complete, pending, incomplete, .. } = view.progress;
    println!(
        "{complete} of {entries} published entries scored under it, {pending} pending, {incomplete} incomplete"
    );
}

fn print_next(view: &CorrectionView) {
    let CorrectionView { release, split, progress, .. } = view;
    if progress.pending > 0 {
        println!("a running server or worker scores the rest; the same command again says how far it is");
    }
    print_incomplete(view.incomplete_entries.clone(), "");
    if progress.complete == progress.entries && !progress.ranked {
        println!("the ranks that tests allow are being worked out");
    }
    if progress.complete == progress.entries {
        println!("secchi dataset activate {release} --split {split} makes it the active release");
    }
}
