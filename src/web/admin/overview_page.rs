//! The overview as a page: what needs somebody, how things stand, what was done last. Decides nothing.

use maud::{Markup, html};

use super::desk::{Sheet, document, foreign};
use super::judge_page::{circuit, words};
use super::submissions::{Needing, task};
use super::{flags_page, history};
use crate::administration::audit::AuditView;
use crate::administration::overview::{Overview, Waiting};
use crate::domain::instant::parse_rfc3339;
use crate::domain::submission::SubmissionState;
use crate::limiter::Closed;
use crate::scoring::decimals::to_decimals;
use crate::store::releases::Release;
use crate::web::figures::grouped;
use crate::web::frame::when;
use crate::web::session::Session;

/// What the page is made of.
pub(super) struct Seen {
    pub(super) overview: Overview,
    /// Some of the submissions that do not get on by themselves.
    pub(super) stuck: Vec<Needing>,
    pub(super) more_stuck: bool,
    /// How many submissions stand in each state.
    pub(super) states: Vec<(SubmissionState, i64)>,
    /// Why the judge is not asked at present.
    pub(super) closed: Option<Closed>,
    pub(super) releases: Vec<Release>,
    pub(super) acts: Vec<AuditView>,
}

pub(super) fn page(session: &Session, seen: &Seen) -> Markup {
    let sheet = Sheet { title: "Administration", address: "/admin", above: None, stood: None };
    let content = html! {
        section.needs aria-labelledby="needs" {
            h2 #needs { "Needs you now" }
            @if !seen.overview.needs_attention && seen.stuck.is_empty() {
                p.empty { "Nothing. Everything gets on by itself." }
            }
            ul.tasks { (people(seen)) (judging(seen)) (submissions(session, seen)) (changes(seen)) }
        }
        (standing(seen))
        (history::section(&seen.acts, None))
    };
    document(session, &sheet, &content)
}

/// A line of what needs somebody, with the way to do it.
fn line(says: impl maud::Render, (address, name): (&str, &str)) -> Markup {
    html! { li { div { (says) } a href=(address) { (name) } } }
}

fn people(seen: &Seen) -> Markup {
    let Overview { signups, flags, .. } = &seen.overview;
    html! {
        @if signups.count > 0 {
            (line(html! { (counted(signups.count, "sign-up waits", "sign-ups wait")) (since(signups)) }, ("/admin/signups", "Decide")))
        }
        @for (kind, waiting) in flags.iter().filter(|(_, waiting)| waiting.count > 0) {
            @let says = html! { (counted(waiting.count, "open flag", "open flags")) ": " (flags_page::name(*kind)) (since(waiting)) };
            (line(says, (&format!("/admin/flags?kind={kind}"), "Look")))
        }
    }
}

fn counted(count: i64, one: &str, many: &str) -> String {
    format!("{} {}", grouped(count), if count == 1 { one } else { many })
}

/// When the oldest came.
fn since(waiting: &Waiting) -> Markup {
    let at_ms = waiting.oldest_at.as_deref().and_then(parse_rfc3339);
    html! { @if let Some(at_ms) = at_ms { ", " @if waiting.count > 1 { "the oldest " } "since " (when(at_ms)) } }
}

fn judging(seen: &Seen) -> Markup {
    let Overview { submissions, judge, .. } = &seen.overview;
    let rests = |waiting: &Waiting| counted(waiting.count, "submission rests", "submissions rest");
    let attention = ("/admin/submissions?attention=1", "Look");
    html! {
        @if let Some(closed) = &seen.closed { li { div { (circuit(closed)) } } }
        @if submissions.paused_for_judge.count > 0 {
            (line(format!("{}, since the judge does not answer", rests(&submissions.paused_for_judge)), attention))
        }
        @if submissions.paused_for_budget.count > 0 {
            (line(format!("{} till tomorrow, since today's budget is used up", rests(&submissions.paused_for_budget)), attention))
        } @else if judge.left_usd == Some(0.0) {
            (line("Today's budget is used up", ("/admin/judge#spending", "Spending")))
        }
    }
}

fn submissions(session: &Session, seen: &Seen) -> Markup {
    html! {
        @for submission in &seen.stuck { (task(session, submission)) }
        @if seen.more_stuck { (line("More submissions do not get on", ("/admin/submissions", "All of them"))) }
    }
}

fn changes(seen: &Seen) -> Markup {
    let Overview { staged, releases, .. } = &seen.overview;
    html! {
        @if let Some(staged) = staged.as_ref().filter(|staged| staged.pending == 0) {
            @let says = html! {
                "Staged configuration " code { (staged.configuration) } " (" (foreign(&staged.model)) "): "
                (words(staged.complete, staged.entries, staged.pending, staged.incomplete))
            };
            (line(says, ("/admin/judge", "See what moves")))
        }
        @for release in releases {
            @let says = html! { "Release " strong { (foreign(&release.release)) } " of " (release.split) " is newer than the active one" };
            (line(says, ("/admin/releases", "Releases")))
        }
    }
}

fn standing(seen: &Seen) -> Markup {
    let dollars = |amount: f64| format!("${}", to_decimals(amount, 2));
    let Overview { judge, staged, .. } = &seen.overview;
    html! {
        div.panels {
            section.panel aria-labelledby="states" {
                h2 #states { "Submissions" }
                @if seen.states.is_empty() { p.empty { "None yet." } }
                dl { @for (state, count) in &seen.states {
                    dt { a href={ "/admin/submissions?state=" (state) } { (state) } } dd { (grouped(count)) }
                } }
            }
            section.panel aria-labelledby="judge" {
                h2 #judge { "Judge" }
                dl {
                    @if let (Some(id), Some(model)) = (&judge.configuration, &judge.model) {
                        dt { "Current" } dd { (foreign(model)) " " code { (id) } }
                    }
                    dt { "Asked" } dd { @if seen.closed.is_some() { "not at present" } @else { "yes" } }
                    dt { "Today" }
                    dd {
                        a href="/admin/judge#spending" { (dollars(judge.spent_usd)) }
                        @match judge.budget_usd { Some(budget) => { " of " (dollars(budget)) }, None => ", no budget is set" }
                    }
                    @if let Some(staged) = staged {
                        dt { "Staged" }
                        dd { (foreign(&staged.model)) ": " (words(staged.complete, staged.entries, staged.pending, staged.incomplete)) }
                    }
                }
            }
            section.panel aria-labelledby="releases" {
                h2 #releases { "Active releases" }
                @if !seen.releases.iter().any(|release| release.active) { p.empty { "None: nothing can be submitted." } }
                dl { @for release in seen.releases.iter().filter(|release| release.active) {
                    dt { (release.split) } dd { (foreign(&release.name)) ", " (when(release.created_at_ms)) }
                } }
            }
        }
    }
}
