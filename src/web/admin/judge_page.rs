//! The judge as a page for maintainers: configurations, moves, spending. Decides nothing.

use std::collections::HashMap;

use maud::{Markup, html};

use super::desk::{Sheet, Stood, act, document, foreign, table, team_link};
use super::moves::moves;
use crate::evaluation::staging::ConfigurationView;
use crate::evaluation::staging_moves::Move;
use crate::evaluation::usage::{JudgeUsage, Spent, UsageRow};
use crate::evaluation::validity::gate::AgreementChange;
use crate::limiter::Closed;
use crate::scoring::agreement::Compared;
use crate::scoring::decimals::to_decimals;
use crate::store::configurations::CURRENT;
use crate::store::rejudgings::IncompleteEntry;
use crate::web::charts::{Day, spend};
use crate::web::fields::capital;
use crate::web::figures::{grouped, signed};
use crate::web::frame::when;
use crate::web::session::Session;

/// The configuration that is staged, and what making it current would change.
pub(super) struct Staged {
    pub(super) view: ConfigurationView,
    pub(super) moves: Vec<Move>,
    /// Entries with answers that could not be judged under it.
    pub(super) stuck: Vec<IncompleteEntry>,
}

/// What the page is made of.
pub(super) struct Seen {
    /// Oldest first.
    pub(super) configurations: Vec<ConfigurationView>,
    pub(super) staged: Option<Staged>,
    /// How far each of them agrees with people beside the current one, by id.
    pub(super) agreements: HashMap<String, AgreementChange>,
    /// Id and model of the configuration that this server's settings describe.
    pub(super) settings: (String, String),
    /// Why this process asks the judge nothing at present.
    pub(super) closed: Option<Closed>,
    pub(super) by_day: JudgeUsage,
    pub(super) by_team: JudgeUsage,
    pub(super) by_rubric: JudgeUsage,
}

pub(super) fn page(session: &Session, seen: &Seen, stood: Option<&Stood>) -> Markup {
    let sheet = Sheet { title: "Judge", address: "/admin/judge", above: None, stood };
    let content = html! {
        section.needs aria-labelledby="needs" {
            h2 #needs { "Needs you now" }
            (needs(seen))
            @if let Some(staged) = &seen.staged { (staging(session, staged, seen.agreements.get(&staged.view.id))) }
        }
        @if let Some(staged) = &seen.staged { (moves(&staged.moves)) }
        (configurations(session, seen))
        (spending(seen))
    };
    document(session, &sheet, &content)
}

fn needs(seen: &Seen) -> Markup {
    let current = seen.configurations.iter().find(|view| view.state == CURRENT);
    let (settings, model) = &seen.settings;
    let differs = current.is_some_and(|current| current.id != *settings);
    let is_staged = seen.staged.as_ref().is_some_and(|staged| staged.view.id == *settings);
    let is_quiet = seen.closed.is_none() && seen.staged.is_none() && !differs;
    html! {
        @if is_quiet { p.empty { "Nothing: the settings are those of the current configuration, and the judge is asked." } }
        @if let Some(closed) = &seen.closed { (circuit(closed)) }
        @if differs && !is_staged {
            p {
                "This server's settings describe another configuration, " code { (settings) } " (" (foreign(model)) "), \
                 which is not in force. Prepare the change: " code { "secchi judge stage" }
            }
        }
    }
}

/// Why the judge is not asked.
pub(super) fn circuit(closed: &Closed) -> Markup {
    html! {
        p.wrong { "The judge is not asked since " (when(closed.since_ms)) ": " (closed.cause) "." }
        p.line { (closed.detail) }
        p { "It is tried again by itself, next " (when(closed.retry_at_ms)) ". To try it now: " code { "secchi judge check" } }
    }
}

/// How far a configuration has come with what is published, in words.
pub(super) fn words(complete: i64, entries: i64, pending: i64, incomplete: i64) -> String {
    let mut words = format!("{complete} of {entries} entries have complete scores");
    if pending > 0 {
        words += &format!("; {pending} to go");
    }
    if incomplete > 0 {
        words += &format!("; {incomplete} could not be judged whole");
    }
    words
}

fn progress(view: &ConfigurationView) -> String {
    words(view.complete, view.entries, view.pending, view.incomplete)
}

fn staging(session: &Session, staged: &Staged, agreement: Option<&AgreementChange>) -> Markup {
    let view = &staged.view;
    let is_ready = view.complete >= view.entries;
    html! {
        h3 { "Staged: " code { (view.id) } " (" (foreign(&view.model)) ")" }
        p { (progress(view)) "." }
        progress value=(view.complete) max=(view.entries.max(1)) aria-label="Entries judged under the staged configuration" {}
        @if !staged.stuck.is_empty() {
            ul {
                @for entry in &staged.stuck {
                    li {
                        a href={ "/admin/submissions/" (entry.entry) } { (foreign(&entry.model_name)) } " by " (team_link(&entry.team)) ": "
                        (entry.failed) " answers without a score"
                    }
                }
            }
        }
        p {
            @if staged.moves.is_empty() { "No rank would move." }
            @else { a href="#moves" { (staged.moves.len()) " ranks" } " would move." }
        }
        @if let Some(agreement) = agreement {
            p.wrong[agreement.is_worse()] { (capital(&agreement.words())) "." }
        }
        @if is_ready { (activation(session, view, Some(staged.moves.len()))) }
    }
}

fn activation(session: &Session, view: &ConfigurationView, moves: Option<usize>) -> Markup {
    // It may stand twice on the page.
    let accept = format!("accept-{}-{}", if moves.is_some() { "staged" } else { "listed" }, view.id);
    act(
        session,
        "/admin/judge/activate",
        ("Activate", &view.id),
        html! {
            input type="hidden" name="configuration" value=(view.id);
            p {
                "Everything is judged under " code { (view.id) } " (" (foreign(&view.model)) ") from then on, and the board shows its scores"
                @if let Some(moves) = moves { "; " (moves) " ranks move" }
                ". Nothing is judged for it. Submissions under way start anew. Activating the present one again is the way back."
            }
            div.field {
                label for=(accept) { "Where it agrees less with people than the present one: why it is taken all the same" }
                input id=(accept) name="accept_worse_agreement" type="text" maxlength="500" autocomplete="off";
            }
        },
    )
}

fn configurations(session: &Session, seen: &Seen) -> Markup {
    let row = |view: &ConfigurationView| {
        let kind = if view.state == CURRENT { "fine" } else { "ended" };
        let may_activate = view.state != CURRENT && view.complete >= view.entries;
        html! {
            tr {
                th scope="row" { code.nowrap { (view.id) } br; small.wrap { (foreign(&view.model)) } }
                td {
                    span.badge.(kind) { (view.state) }
                    br; small { "stored " (day(&view.created_at)) }
                    @if let Some(at) = &view.retired_at { br; small { "retired " (day(at)) } }
                }
                td { (progress(view)) }
                td { @if let Some(agreement) = seen.agreements.get(&view.id) { (agreed(view, agreement)) } }
                td { @if may_activate { (activation(session, view, None)) } }
            }
        }
    };
    html! {
        h2 #configurations { "Configurations" }
        (table("configurations", &["Configuration", "State", "What is published", "Agreement with people", "Do"], &html! {
            @for view in seen.configurations.iter().rev() { (row(view)) }
        }))
        p {
            "Agreement is the quadratic-weighted kappa with people's means: 1 is perfect, 0 is chance. Where a configuration clearly \
             agrees less than the current one on the same answers, activating it takes a reason. "
            a href="/judge/agreement" { "All figures" } "; what the judge is asked: " a href="/judge" { "the public page" }
        }
    }
}

/// How far a configuration agrees with people, and how much more or less than the current one on the same answers.
fn agreed(view: &ConfigurationView, agreement: &AgreementChange) -> Markup {
    match agreement {
        AgreementChange::NoRatings => {
            html! { "unknown" br; small.wrap { "people's ratings: " code { "secchi validity import" } } }
        }
        AgreementChange::Unmeasured { candidate: false, .. } => html! {
            "unknown" br; small.wrap { "measure it: " code { "secchi validity calibrate --judge " (view.id) } }
        },
        AgreementChange::Unmeasured { .. } => html! {
            "known" br;
            small.wrap {
                a href={ "/judge/agreement?judge=" (view.id) } { "its figures" } "; the current one is not measured"
            }
        },
        AgreementChange::Compared { comparison: Compared { items, first, difference, .. } } => html! {
            a href={ "/judge/agreement?judge=" (view.id) } { (decimals(*first)) } br;
            small.wrap {
                "on " (items) " answers"
                @if view.state != CURRENT {
                    ", "
                    @match (difference.value, difference.ci95) {
                        (Some(value), Some([low, high])) => {
                            (signed(value, 3)) " against the current one (" (signed(low, 3)) " to " (signed(high, 3)) ")"
                        }
                        _ => "the difference is not known",
                    }
                }
            }
            @if agreement.is_worse() { br; span.badge.bad { "clearly less" } }
        },
    }
}

fn decimals(value: Option<f64>) -> String {
    value.map_or_else(|| "unknown".to_owned(), |value| to_decimals(value, 3))
}

fn day(rfc3339: &str) -> Markup {
    html! { time datetime=(rfc3339) { (rfc3339.get(..10).unwrap_or_default()) } }
}

fn spending(seen: &Seen) -> Markup {
    let usage = &seen.by_day;
    let days: Vec<Day> = usage
        .items
        .iter()
        .map(|row| Day {
            day: row.day.clone().unwrap_or_default(),
            calls: row.spent.calls,
            cost_usd: row.spent.cost_usd,
        })
        .collect();
    html! {
        h2 #spending { "Spending" }
        @match &usage.budget {
            Some(budget) => p {
                "Today $" (to_decimals(budget.spent_usd, 2)) " of $" (to_decimals(budget.per_day_usd, 2)) " are spent, $"
                (to_decimals(budget.left_usd, 2)) " are left."
            },
            None => p { "No budget is set: " code { "SECCHI_JUDGE_BUDGET_USD_PER_DAY" } " limits what a day may cost." }
        }
        form.filters method="get" action="/admin/judge#spending" {
            div { label for="from" { "From" } input #from name="from" type="date" value=(usage.from); }
            div { label for="to" { "To" } input #to name="to" type="date" value=(usage.to); }
            button.second type="submit" { "Show" }
        }
        @if usage.items.is_empty() { p.empty { "The judge was asked nothing on these days." } } @else {
            (spend(&days, (&usage.from, &usage.to), usage.budget.map(|budget| budget.per_day_usd)))
            h3 #by-team { "By team" }
            (sums("by-team", "Team", &seen.by_team, |row| row.team.as_deref()))
            h3 #by-rubric { "By rubric" }
            (sums("by-rubric", "Rubric", &seen.by_rubric, |row| row.rubric.as_deref()))
        }
    }
}

fn sums<'u>(
    id: &str,
    head: &str,
    usage: &'u JudgeUsage,
    name: impl Fn(&'u UsageRow) -> Option<&'u str>,
) -> Markup {
    let cells = |spent: &Spent| {
        html! {
            td.number { (grouped(spent.calls)) }
            td.number { (grouped(spent.prompt_tokens)) }
            td.number { (grouped(spent.cached_tokens)) }
            td.number { (grouped(spent.completion_tokens)) }
            td.number { (to_decimals(spent.cost_usd, 4)) }
        }
    };
    table(
        id,
        &[head, "#Calls", "#Tokens sent", "#of them cached", "#Tokens back", "#Dollars"],
        &html! {
            @for row in &usage.items { tr { th scope="row" { (name(row).unwrap_or("–")) } (cells(&row.spent)) } }
            tr.average { th scope="row" { "All" } (cells(&usage.total)) }
        },
    )
}
