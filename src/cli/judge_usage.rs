//! `secchi judge usage`: what the judge was asked and what it cost.

use clap::Args;

use super::report::table;
use crate::clock::Clock;
use crate::config::{JudgeSettings, StoreSettings};
use crate::evaluation::usage::{Grouping, JudgeUsage, Spent, UsageQuery, UsageRow, judge_usage};
use crate::store::{Store, StoreError};

/// Sum calls, tokens and dollars of the judge
#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  secchi judge usage\n  secchi judge usage --from 2026-11-01 --by team --by rubric"
)]
pub struct UsageArgs {
    /// The first UTC day, such as 2026-11-01 [default: 29 days before today]
    #[arg(long, value_name = "DAY")]
    from: Option<String>,
    /// The last UTC day [default: today]
    #[arg(long, value_name = "DAY")]
    to: Option<String>,
    /// day, team, rubric or configuration; several for each combination [default: day]
    #[arg(long, value_name = "WHAT", value_delimiter = ',')]
    by: Vec<Grouping>,
    /// Print JSON
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    store: StoreSettings,
    #[command(flatten)]
    judge: JudgeSettings,
}

/// Sums what the judge was asked.
///
/// # Errors
/// When a day is none or the database fails.
pub async fn usage(arguments: UsageArgs) -> anyhow::Result<()> {
    let UsageArgs { from, to, by, json, store, judge } = arguments;
    let now_ms = Clock::System.now_ms();
    let query = UsageQuery::new(from, to, by, now_ms)?;
    let store = Store::open(&store.database_url).await?;
    let budget_usd = judge.judge_budget_usd_per_day;
    let usage: Result<JudgeUsage, StoreError> =
        store.snapshot(move |connection| judge_usage(connection, query, budget_usd, now_ms)).await;
    let usage = usage?;
    if json {
        println!("{}", serde_json::to_string(&usage)?);
        return Ok(());
    }
    println!("{}", text(&usage));
    if judge.judge_price_in + judge.judge_price_out <= 0.0 {
        println!(
            "no price is set now (SECCHI_JUDGE_PRICE_IN, SECCHI_JUDGE_PRICE_OUT); calls without one count as $0"
        );
    }
    Ok(())
}

fn text(usage: &JudgeUsage) -> String {
    let mut header: Vec<&str> = usage.by.iter().map(|grouping| grouping.as_str()).collect();
    header.extend(["calls", "prompt", "cached", "completion", "dollars"]);
    let mut rows: Vec<Vec<String>> = usage.items.iter().map(|row| line(names(row), row.spent)).collect();
    let mut total = vec![String::new(); usage.by.len()];
    if let Some(first) = total.first_mut() {
        *first = "total".to_owned();
    }
    rows.push(line(total, usage.total));
    let budget = match usage.budget {
        Some(budget) => {
            format!("\n${:.4} of ${:.2} of today's budget are left", budget.left_usd, budget.per_day_usd)
        }
        None => String::new(),
    };
    format!("{} to {}\n{}{budget}", usage.from, usage.to, table(&header, rows))
}

/// What a row is told apart by, in the order of its header.
fn names(row: &UsageRow) -> Vec<String> {
    [&row.day, &row.team, &row.rubric, &row.configuration].into_iter().flatten().cloned().collect()
}

fn line(mut names: Vec<String>, spent: Spent) -> Vec<String> {
    let counts = [spent.calls, spent.prompt_tokens, spent.cached_tokens, spent.completion_tokens];
    names.extend(counts.map(|count| count.to_string()));
    names.push(format!("{:.4}", spent.cost_usd));
    names
}
