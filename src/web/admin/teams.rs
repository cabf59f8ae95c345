//! The list of teams, for maintainers.

use std::collections::HashMap;

use actix_web::http::StatusCode;
use actix_web::web;
use maud::{Markup, html};

use super::desk::{Sheet, document, foreign, table, team_link};
use crate::domain::team::Role;
use crate::store::StoreError;
use crate::store::listings::count_usable_keys;
use crate::store::signups::count_pending;
use crate::store::teams::{Activity, Team, load_activity, load_teams};
use crate::web::Pages;
use crate::web::frame::when;
use crate::web::refusal::{Shown, html as page_of};
use crate::web::session::Session;

struct Listed {
    teams: Vec<Team>,
    activity: HashMap<String, Activity>,
    usable_keys: HashMap<String, i64>,
    waiting_signups: i64,
}

impl Listed {
    fn activity(&self, team: &Team) -> Activity {
        self.activity.get(&team.id).copied().unwrap_or_default()
    }

    fn usable_keys(&self, team: &Team) -> i64 {
        self.usable_keys.get(&team.id).copied().unwrap_or_default()
    }

    /// Teams that may come in and have no key to do it with.
    fn keyless(&self) -> Vec<&Team> {
        let is_keyless = |team: &&Team| team.disabled_at_ms.is_none() && self.usable_keys(team) == 0;
        self.teams.iter().filter(is_keyless).collect()
    }
}

pub(super) async fn list(pages: web::Data<Pages>, session: Session) -> Shown {
    session.needs_maintainer()?;
    let now_ms = pages.evaluation.clock.now_ms();
    let found: Result<Listed, StoreError> = pages
        .evaluation
        .store
        .read(move |connection| {
            let mut teams = load_teams(connection)?;
            // Newest first, and those that were shut out below.
            teams.sort_by(|one, other| {
                let key = |team: &Team| team.disabled_at_ms.is_none();
                key(other).cmp(&key(one)).then_with(|| other.id.cmp(&one.id))
            });
            let ids: Vec<&str> = teams.iter().map(|team| team.id.as_str()).collect();
            Ok(Listed {
                activity: load_activity(connection, &ids)?,
                usable_keys: count_usable_keys(connection, now_ms)?,
                waiting_signups: count_pending(connection)?,
                teams,
            })
        })
        .await;
    Ok(page_of(StatusCode::OK, page(&session, &found?)))
}

fn page(session: &Session, listed: &Listed) -> Markup {
    let sheet = Sheet { title: "Teams", address: "/admin/teams", above: None, stood: None };
    let keyless = listed.keyless();
    let rows =
        html! { @for team in &listed.teams { (row(team, listed.activity(team), listed.usable_keys(team))) } };
    let heads = ["Team", "Access", "#Keys", "Last used", "#Submissions", "Last one", "Made"];
    let content = html! {
        section.needs aria-labelledby="needs" {
            h2 #needs { "Needs you now" }
            @if listed.waiting_signups == 0 && keyless.is_empty() { p.empty { "Nothing: nobody waits to be let in." } }
            ul {
                @if listed.waiting_signups > 0 {
                    li { a href="/admin/signups" { "Decide on sign-ups" } ": " (listed.waiting_signups) " waiting" }
                }
                @for team in keyless {
                    li {
                        (team_link(&team.slug)) " has no key that works. Make it one: "
                        code { "secchi team rotate-key " (team.slug) }
                    }
                }
            }
        }
        h2 #teams { "All teams" }
        (table("teams", &heads, &rows))
    };
    document(session, &sheet, &content)
}

fn row(team: &Team, activity: Activity, usable_keys: i64) -> Markup {
    let instant =
        |at_ms: Option<i64>| html! { @if let Some(at_ms) = at_ms { (when(at_ms)) } @else { "never" } };
    html! {
        tr {
            th.model scope="row" { (team_link(&team.slug)) br; small.wrap { (foreign(&team.name)) } }
            td { (access(team)) }
            td.number { (usable_keys) }
            td { (instant(activity.last_used_at_ms)) }
            td.number {
                @if activity.submissions > 0 {
                    a href={ "/admin/submissions?team=" (team.slug) } { (activity.submissions) span.hidden { " of " (team.slug) } }
                } @else { "0" }
            }
            td { (instant(activity.last_submitted_at_ms)) }
            td { (when(team.created_at_ms)) }
        }
    }
}

/// Whether a team may come in, and as what.
pub(super) fn access(team: &Team) -> Markup {
    html! {
        @if team.disabled_at_ms.is_some() { span.badge.bad { "disabled" } }
        @else if team.role == Role::Maintainer { span.badge.fine { "maintainer" } }
        @else { span.badge.fine { "enabled" } }
    }
}
