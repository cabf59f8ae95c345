//! `/keys` as a page. Decides nothing.

use maud::{Markup, html};
use serde::Deserialize;

use super::fields::{Field, capital, choice, fault_of, incomplete, line, summary};
use super::frame::{self, Page, Viewer, told_key, when};
use super::session::Session;
use crate::domain::key::Scope;
use crate::domain::submission::MetadataFault;
use crate::store::keys::Key;

/// The form of a new key as it was typed.
#[derive(Debug, Deserialize)]
pub(super) struct Typed {
    #[serde(default)]
    pub(super) name: String,
    #[serde(default)]
    pub(super) scope: String,
    #[serde(default)]
    pub(super) expires_at: String,
}

impl Typed {
    pub(super) fn blank() -> Typed {
        Typed { name: String::new(), scope: Scope::Submit.to_string(), expires_at: String::new() }
    }
}

/// What came of a form.
pub(super) enum Outcome {
    None,
    /// A key that is told this once.
    Told {
        name: String,
        api_key: String,
    },
    /// Fields of a new key are faulty.
    Faulty(Vec<MetadataFault>),
    /// Something else stands against it.
    Refused(String),
}

pub(super) fn page(session: &Session, keys: &[Key], typed: &Typed, outcome: &Outcome, now_ms: i64) -> Markup {
    let is_error = matches!(outcome, Outcome::Faulty(_) | Outcome::Refused(_));
    let title = if is_error { "Error: Keys" } else { "Keys" };
    let page = Page { title, address: "/keys", viewer: Viewer::Team(session), script: None };
    let (usable, ended): (Vec<&Key>, Vec<&Key>) = keys.iter().partition(|key| key.is_usable(now_ms));
    let may_change = session.principal.scope >= Scope::Submit;
    let content = html! {
        h1 { "Keys" }
        @match outcome {
            Outcome::None => {}
            Outcome::Told { name, api_key } => (told_key(&format!("The new key “{name}”"), api_key)),
            Outcome::Faulty(faults) => (incomplete(faults, label, "")),
            Outcome::Refused(detail) => (summary("That could not be done", html! { p { (capital(detail)) "." } })),
        }
        ul.cards { @for key in usable { (card(session, key, may_change)) } }
        @if may_change { (new_key(session, typed, outcome)) }
        @else { p.facts { "This browser signed in with a key that may only read, so it changes no keys." } }
        @if !ended.is_empty() {
            details {
                summary { (ended.len()) @if ended.len() == 1 { " key has ended" } @else { " keys have ended" } }
                ul { @for key in ended { li { (key.name) " " code { (key.prefix) "…" } } } }
            }
        }
    };
    frame::document(&page, &content)
}

fn card(session: &Session, key: &Key, may_change: bool) -> Markup {
    let is_own = key.id == session.principal.key_id;
    html! {
        li {
            h2 { (key.name) }
            p {
                span.badge { (key.scope) } " " code { (key.prefix) "…" }
                @if is_own { " · this browser signed in with it" }
            }
            dl {
                dt { "Made" } dd { (when(key.created_at_ms)) }
                dt { "Last used" } dd { @match key.last_used_at_ms { Some(ms) => (when(ms)), None => "never" } }
                dt { "Ends" } dd { @match key.expires_at_ms { Some(ms) => (when(ms)), None => "not by itself" } }
            }
            @if may_change && key.scope <= session.principal.scope { (decisions(session, key, is_own)) }
        }
    }
}

fn decisions(session: &Session, key: &Key, is_own: bool) -> Markup {
    let overlap = format!("overlap-{}", key.id);
    let last = format!("last-{}", key.id);
    html! {
        details {
            summary { "Replace" span.hidden { " " (key.name) } }
            form method="post" action={ "/keys/" (key.id) "/rotate" } {
                (session.token_field())
                p { "A new key of the same name and scope is made and shown once." }
                div.field {
                    label for=(overlap) { "The old one goes on for" }
                    select id=(overlap) name="overlap_days" {
                        option value="1" { "a day" }
                        option value="7" { "7 days" }
                        option value="0" { "no longer" }
                    }
                }
                button type="submit" { "Yes, replace" span.hidden { " " (key.name) } }
            }
        }
        details {
            summary { "Revoke" span.hidden { " " (key.name) } }
            form method="post" action={ "/keys/" (key.id) "/revoke" } {
                (session.token_field())
                p {
                    "It ends at once, with all that signed in with it"
                    @if is_own { ", this browser too" }
                    "."
                }
                div.choice {
                    input id=(last) type="checkbox" name="last" value="true";
                    label for=(last) { "Even if the team cannot submit without it" }
                }
                button type="submit" { "Yes, revoke" span.hidden { " " (key.name) } }
            }
        }
    }
}

fn new_key(session: &Session, typed: &Typed, outcome: &Outcome) -> Markup {
    let faults: &[MetadataFault] = if let Outcome::Faulty(faults) = outcome { faults } else { &[] };
    let of = |name: &'static str, hint: &'static str| Field {
        name,
        label: label(name),
        hint,
        fault: fault_of(faults, name),
    };
    let scopes = [
        ("read", "Read", "questions, results, quota"),
        ("submit", "Submit", "that, and submit and publish"),
        ("admin", "Admin", "that, and what maintainers do"),
    ];
    let within = scopes
        .iter()
        .filter(|(scope, ..)| Scope::parse(scope).is_some_and(|it| it <= session.principal.scope));
    let within: Vec<_> = within.copied().collect();
    html! {
        form.fields method="post" action="/keys" {
            (session.token_field())
            fieldset {
                legend { "A further key" }
                (line(of("name", "What it is for, such as cluster."), "text", &typed.name))
                (choice(of("scope", ""), &typed.scope, &within))
                (line(of("expires_at", "Optional: the last UTC day on which it is good."), "date", &typed.expires_at))
            }
            button type="submit" { "Make a key" }
        }
    }
}

fn label(field: &str) -> &'static str {
    match field {
        "name" => "Name",
        "scope" => "What it may do",
        _ => "Ends after",
    }
}
