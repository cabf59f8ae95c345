//! One team as a page for maintainers. Decides nothing.

use maud::{Markup, html};

use super::desk::{Sheet, Stood, act, document, foreign, is_retriable, submission_link, table};
use super::history;
use super::team::GrantForm;
use super::teams::access;
use crate::administration::audit::AuditView;
use crate::domain::question::Split;
use crate::evaluation::quota::Quota;
use crate::store::keys::Key;
use crate::store::quota::LedgerEntry;
use crate::store::submissions::Submission;
use crate::store::teams::Team;
use crate::web::fields::capital;
use crate::web::frame::when;
use crate::web::quota;
use crate::web::session::Session;
use crate::web::submission_state::badge;

/// A team with what its page shows.
pub(super) struct Seen {
    pub(super) team: Team,
    pub(super) quotas: Vec<Quota>,
    pub(super) keys: Vec<Key>,
    pub(super) submissions: Vec<Submission>,
    pub(super) ledger: Vec<LedgerEntry>,
    pub(super) acts: Vec<AuditView>,
    pub(super) now_ms: i64,
}

pub(super) fn page(session: &Session, seen: &Seen, typed: &GrantForm, stood: Option<&Stood>) -> Markup {
    let team = &seen.team;
    let sheet =
        Sheet { title: &team.name, address: "/admin/teams", above: Some(("/admin/teams", "Teams")), stood };
    let content = html! {
        p.facts {
            (access(team)) " " code { (team.slug) } " · made " (when(team.created_at_ms))
            @if let Some(email) = &team.email { " · " (foreign(email)) }
            @if let Some(at_ms) = team.disabled_at_ms { " · shut out " (when(at_ms)) }
        }
        section.needs aria-labelledby="needs" {
            h2 #needs { "Needs you now" }
            (needs(seen))
            (grant_form(session, team, typed, stood.is_some()))
            (access_form(session, team))
        }
        (quotas(&seen.quotas))
        (submissions(seen))
        (keys(seen))
        (ledger(&seen.ledger))
        (history::section(&seen.acts, Some(&team.slug)))
    };
    document(session, &sheet, &content)
}

fn needs(seen: &Seen) -> Markup {
    let used_up: Vec<&Quota> = seen.quotas.iter().filter(|quota| quota.left == 0).collect();
    let stuck: Vec<&Submission> =
        seen.submissions.iter().filter(|submission| is_retriable(submission)).collect();
    let is_keyless =
        seen.team.disabled_at_ms.is_none() && !seen.keys.iter().any(|key| key.is_usable(seen.now_ms));
    html! {
        @if used_up.is_empty() && stuck.is_empty() && !is_keyless { p.empty { "Nothing." } }
        ul {
            @for submission in stuck {
                li { (submission_link(submission)) " is " (badge(submission)) }
            }
            @for quota in used_up { li { "Nothing is left on " strong { (quota.split) } ": " (quota.used_up()) "." } }
            @if is_keyless {
                li { "No key works. Make one: " code { "secchi team rotate-key " (seen.team.slug) } }
            }
        }
    }
}

fn grant_form(session: &Session, team: &Team, typed: &GrantForm, is_open: bool) -> Markup {
    html! {
        details.act open[is_open] {
            summary { "Grant more submissions" }
            form method="post" action={ "/admin/teams/" (team.slug) "/grants" } {
                (session.token_field())
                div.row {
                    div.field {
                        label for="split" { "Split" }
                        select #split name="split" {
                            @for split in [Split::Test, Split::Val] {
                                option value=(split) selected[split.as_str() == typed.split] { (split) }
                            }
                        }
                    }
                    div.field {
                        label for="amount" { "How many, today and in all" }
                        input #amount name="amount" type="number" min="1" max="1000" required value=(typed.amount);
                    }
                }
                div.field {
                    label for="grant-reason" { "Reason, which the team reads" }
                    input #grant-reason name="reason" type="text" required maxlength="500" autocomplete="off"
                        value=(typed.reason);
                }
                button type="submit" { "Yes, grant" }
            }
        }
    }
}

fn access_form(session: &Session, team: &Team) -> Markup {
    let action = |act: &str| format!("/admin/teams/{}/{act}", team.slug);
    html! {
        @if team.disabled_at_ms.is_none() {
            (act(session, &action("disable"), ("Disable", "the team"), html! {
                p { "It is shut out at once, with its keys and sessions. What it has published stays on the board." }
            }))
        } @else {
            (act(session, &action("enable"), ("Enable", "the team"), html! {
                p { "It is let in again, with the keys that it had." }
            }))
        }
    }
}

fn quotas(quotas: &[Quota]) -> Markup {
    let rows = html! {
        @for quota in quotas {
            tr {
                th scope="row" { (capital(quota.split.as_str())) }
                td.number { strong { (quota.left) } }
                td.number { (quota.used_today) " of " (quota.per_day + quota.granted_today) }
                td.number {
                    (quota.used_total)
                    @if let Some(total) = quota.total { " of " (total + quota.granted_total) }
                }
                td.number { (quota.granted_total) }
            }
        }
    };
    html! {
        h2 #quota { "Quota" }
        (table("quota", &["Split", "#Left now", "#Used today", "#Used in all", "#Granted"], &rows))
    }
}

fn submissions(seen: &Seen) -> Markup {
    let rows = html! {
        @for submission in &seen.submissions {
            tr {
                th.model scope="row" { (submission_link(submission)) }
                td { (badge(submission)) }
                td { (submission.metadata.split) }
                td { (submission.metadata.visibility) }
                td { (when(submission.created_at_ms)) }
            }
        }
    };
    html! {
        h2 #submissions { "Submissions" }
        @if seen.submissions.is_empty() { p.empty { "None yet." } } @else {
            (table("submissions", &["Model", "State", "Split", "Visibility", "Submitted"], &rows))
            p { a href={ "/admin/submissions?team=" (seen.team.slug) } { "All of this team" } }
        }
    }
}

fn keys(seen: &Seen) -> Markup {
    let instant = |at_ms: Option<i64>, none: &'static str| html! { @if let Some(at_ms) = at_ms { (when(at_ms)) } @else { (none) } };
    let state = |key: &Key| {
        let (word, kind) = match (key.revoked_at_ms, key.is_expired(seen.now_ms)) {
            (Some(_), _) => ("revoked", "ended"),
            (None, true) => ("expired", "ended"),
            (None, false) => ("good", "fine"),
        };
        html! { span.badge.(kind) { (word) } }
    };
    let rows = html! {
        @for key in &seen.keys {
            tr {
                th scope="row" { (foreign(&key.name)) br; small { code { (key.prefix) "…" } } }
                td { (state(key)) }
                td { (key.scope) }
                td { (instant(key.last_used_at_ms, "never")) }
                td { (instant(key.revoked_at_ms.or(key.expires_at_ms), "not by itself")) }
                td { (when(key.created_at_ms)) }
            }
        }
    };
    html! {
        h2 #keys { "Keys" }
        @if seen.keys.is_empty() { p.empty { "None." } } @else {
            (table("keys", &["Key", "State", "Scope", "Last used", "Ends", "Made"], &rows))
        }
    }
}

fn ledger(entries: &[LedgerEntry]) -> Markup {
    let rows = html! { @for entry in entries { (quota::row(entry, "/admin/submissions/")) } };
    html! {
        h2 #ledger { "Ledger of its quota" }
        @if entries.is_empty() { p.empty { "Nothing was charged yet." } } @else {
            (table("ledger", &["When", "Split", "#Change", "Why"], &rows))
        }
    }
}
