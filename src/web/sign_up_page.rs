//! `/sign-up` as pages: the form, and what its applicant sees afterwards. Decides nothing.

use maud::{Markup, html};

use super::fields::{Field, capital, fault_of, incomplete, line, lines, summary};
use super::frame::{self, Page, Viewer, told_key, when};
use super::sign_up::Typed;
use crate::accounts::signup::is_mailed;
use crate::config::SignupMode;
use crate::domain::signup::SignupState;
use crate::domain::submission::MetadataFault;
use crate::store::signups::Signup;

/// What stands against a sign-up.
pub(super) enum Against {
    Nothing,
    /// Fields are faulty.
    Fields(Vec<MetadataFault>),
    /// It is not taken at all now.
    All(String),
}

impl Against {
    pub(super) fn field(name: &str, detail: String) -> Against {
        Against::Fields(vec![MetadataFault { pointer: format!("/{name}"), detail }])
    }

    fn faults(&self) -> &[MetadataFault] {
        if let Against::Fields(faults) = self { faults } else { &[] }
    }
}

fn framed(title: &str, content: &Markup) -> Markup {
    frame::document(&Page { title, address: "/sign-up", viewer: Viewer::Guest, script: None }, content)
}

pub(super) fn form(mode: SignupMode, typed: &Typed, against: &Against) -> Markup {
    let of = |name: &'static str, hint: &'static str| Field {
        name,
        label: label(name),
        hint,
        fault: fault_of(against.faults(), name),
    };
    let content = html! {
        h1 { "Sign up" }
        @match against {
            Against::Nothing => {}
            Against::Fields(faults) => (incomplete(faults, label, "")),
            Against::All(detail) => (summary("The sign-up was not taken", html! { p { (capital(detail)) "." } })),
        }
        p {
            "A team submits answers to MarineLife-16K and publishes what they score. "
            @if mode == SignupMode::Open { "The team is made at once." }
            @else { "A maintainer looks at each sign-up; the next page tells where yours stands." }
        }
        form.fields method="post" action="/sign-up" {
            (line(of("name", "The team's full name, as the leaderboard's readers know it."), "text", &typed.name))
            (line(of("slug", "1 to 40 of a-z, 0-9 and hyphens, such as ocean-lab. It stands on the leaderboard."), "text", &typed.slug))
            (line(of("email", "Only the maintainers see it."), "email", &typed.email))
            (line(of("affiliation", "Optional: the university, institute or company."), "text", &typed.affiliation))
            (lines(of("purpose", "Optional: what you want to do here."), &typed.purpose))
            p { button type="submit" { "Sign up" } }
        }
    };
    let title = if matches!(against, Against::Nothing) { "Sign up" } else { "Error: Sign up" };
    framed(title, &content)
}

fn label(field: &str) -> &'static str {
    match field {
        "name" => "Team name",
        "slug" => "Short name",
        "email" => "E-mail",
        "affiliation" => "Affiliation",
        _ => "Purpose",
    }
}

/// Where a sign-up stands, on the page that its applicant keeps.
pub(super) fn followed(signup: &Signup, claim: &str, by_mail: bool) -> Markup {
    let mailed = is_mailed(signup, by_mail);
    let content = html! {
        h1 { "Sign-up of " (signup.application.name) }
        p.notice role="note" {
            strong { "Keep the address of this page. " }
            "It is the only way to your key, and whoever has it can take the key."
        }
        p role="status" {
            @match signup.state {
                SignupState::Pending => {
                    span.badge.going { "waiting" } " A maintainer has not decided yet. Look again later."
                }
                SignupState::Rejected => {
                    span.badge.bad { "rejected" } " The maintainers turned it down"
                    @match &signup.reason { Some(reason) => { ": " q { (reason) } }, None => "." }
                }
                SignupState::Approved if signup.key_id.is_some() => {
                    span.badge.fine { "approved" } " The key was told. " a href="/sign-in" { "Sign in with it" }
                }
                SignupState::Approved if mailed => {
                    span.badge.fine { "approved" } " The key is on its way to " (signup.application.email) "."
                }
                SignupState::Approved => { span.badge.fine { "approved" } " Your team is made." }
            }
        }
        @if signup.state == SignupState::Approved && signup.key_id.is_none() && !mailed {
            form method="post" action={ "/sign-up/" (claim) "/key" } {
                p { "The key is shown once. Have a place for it before you go on." }
                button type="submit" { "Show the key" }
            }
        }
        dl {
            dt { "Short name" } dd { (signup.application.slug) }
            dt { "E-mail" } dd { (signup.application.email) }
            dt { "Signed up" } dd { (when(signup.created_at_ms)) }
            @if let Some(decided_at_ms) = signup.decided_at_ms { dt { "Decided" } dd { (when(decided_at_ms)) } }
        }
    };
    framed("Sign-up", &content)
}

/// The key of a new team, once.
pub(super) fn told(slug: &str, api_key: &str) -> Markup {
    let content = html! {
        h1 { "Welcome, " (slug) }
        (told_key("Your API key", api_key))
        p { a href="/sign-in" { "Sign in with it" } }
    };
    framed("Your API key", &content)
}
