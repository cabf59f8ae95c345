//! What a team may decide about a submission, as forms behind folds. Decides nothing itself.

use maud::{Markup, html};
use serde::Deserialize;

use super::fields::{Field, fault_of, line, lines};
use super::frame::when;
use super::session::Session;
use super::submission_page::Word;
use crate::domain::key::Scope;
use crate::domain::submission::{Metadata, SubmissionState, Visibility};
use crate::evaluation::lifecycle::SubmissionChange;
use crate::store::submissions::Submission;

const UNTIL: &str = "Optional: a UTC day to come; without one it is never shown by itself.";

/// What is said of a run beside its model, as it is typed into the form that changes it.
#[derive(Deserialize)]
pub(super) struct Details {
    description: String,
    paper_url: String,
    code_url: String,
    /// Only an anonymous entry has it: the day from which it shows the team's name; blank for never.
    anonymous_until: Option<String>,
}

impl Details {
    fn of(metadata: &Metadata) -> Details {
        let text = |field: &Option<String>| field.clone().unwrap_or_default();
        let is_anonymous = metadata.visibility == Visibility::Anonymous;
        Details {
            description: text(&metadata.description),
            paper_url: text(&metadata.paper_url),
            code_url: text(&metadata.code_url),
            anonymous_until: is_anonymous.then(|| text(&metadata.anonymous_until)),
        }
    }

    /// The change that the form asks for; a blank field empties what it stands for.
    pub(super) fn change(&self) -> SubmissionChange {
        let given = |text: &str| {
            let text = text.trim().replace("\r\n", "\n");
            Some(Some(text).filter(|text| !text.is_empty()))
        };
        SubmissionChange {
            description: given(&self.description),
            paper_url: given(&self.paper_url),
            code_url: given(&self.code_url),
            visibility: None,
            anonymous_until: self.anonymous_until.as_deref().and_then(given),
        }
    }
}

/// What a team may decide now; each behind a fold, so that no single press does it.
pub(super) fn folds(
    session: &Session,
    submission: &Submission,
    link_made_at_ms: Option<i64>,
    word: Option<Word<'_>>,
) -> Markup {
    let is_standing = submission.withdrawn_reason.is_none();
    let is_scored = submission.state == SubmissionState::Scored;
    let visibility = submission.metadata.visibility;
    let others = Visibility::ALL.iter().filter(|other| **other != visibility);
    html! {
        @if session.principal.scope >= Scope::Submit && is_standing && (is_scored || !submission.state.is_final()) {
            section.decisions aria-labelledby="decisions" {
                h2 #decisions { "Decide" }
                @for other in others { (visibility_form(session, submission, *other)) }
                (details_form(session, submission, word))
                @if is_scored {
                    (link_forms(session, submission, link_made_at_ms))
                    (decision(session, submission, "withdraw", "Withdraw for good", html! {
                        p { "The entry leaves every board, and its address tells the reason. This cannot be undone, and the quota is not given back." }
                        div.field {
                            label for="reason" { "Reason for readers" }
                            input #reason name="reason" type="text" required maxlength="500" autocomplete="off";
                        }
                    }))
                } @else {
                    (decision(session, submission, "cancel", "Cancel", html! {
                        p { "It is not graded any further. The quota is given back while none of its scores could be read." }
                    }))
                }
            }
        }
    }
}

/// What a field of a change is called.
pub(super) fn label(field: &str) -> &'static str {
    match field {
        "description" => "Description",
        "paper_url" => "Paper",
        "code_url" => "Code",
        _ => "Our name is shown from",
    }
}

/// Open with what was typed where that was faulty.
fn details_form(session: &Session, submission: &Submission, word: Option<Word<'_>>) -> Markup {
    let stored = Details::of(&submission.metadata);
    let (faults, typed) = match word {
        Some(Word::Faulty(faults, typed)) => (faults, typed),
        _ => (&[][..], &stored),
    };
    let of = |name: &'static str, hint: &'static str| Field {
        name,
        label: label(name),
        hint,
        fault: fault_of(faults, name),
    };
    let link = "An address with http or https; blank for none.";
    html! {
        details open[!faults.is_empty()] {
            summary { "Change description and links" }
            form method="post" action={ "/submissions/" (submission.id) "/details" } {
                (session.token_field())
                (lines(of("description", "What a reader should know; blank for nothing."), &typed.description))
                (line(of("paper_url", link), "text", &typed.paper_url))
                (line(of("code_url", link), "text", &typed.code_url))
                @if let (Some(_), Some(until)) = (&stored.anonymous_until, &typed.anonymous_until) { (line(of("anonymous_until", UNTIL), "date", until)) }
                button type="submit" { "Save" }
            }
        }
    }
}

fn link_forms(session: &Session, submission: &Submission, made_at_ms: Option<i64>) -> Markup {
    let fields = html! {
        p {
            "A secret address is made and shown once. Whoever has it sees the entry without your team's name, description \
             and links, even while it is private."
            @if let Some(made_at_ms) = made_at_ms { " It ends the link of " (when(made_at_ms)) "." }
        }
    };
    let name =
        if made_at_ms.is_some() { "Replace the link for reviewers" } else { "Make a link for reviewers" };
    html! {
        (decision(session, submission, "reviewers-link", name, fields))
        @if let Some(made_at_ms) = made_at_ms {
            (decision(session, submission, "reviewers-link/end", "End the link for reviewers", html! {
                p { "The link of " (when(made_at_ms)) " leads nowhere any more." }
            }))
        }
    }
}

fn visibility_form(session: &Session, submission: &Submission, to: Visibility) -> Markup {
    let scored = submission.state == SubmissionState::Scored;
    let (name, detail) = match to {
        Visibility::Public if scored => {
            ("Publish", "The entry stands on the leaderboard under your team's name.")
        }
        Visibility::Anonymous if scored => (
            "Publish anonymously",
            "The entry stands on the leaderboard; your team's name and links are not shown.",
        ),
        Visibility::Private if scored => {
            ("Back to private", "The entry leaves the leaderboard; only your team sees it.")
        }
        Visibility::Public => {
            ("Publish when scored", "It stands on the leaderboard under your team's name once it is scored.")
        }
        Visibility::Anonymous => (
            "Publish anonymously when scored",
            "It stands on the leaderboard once it is scored; your team's name is not shown.",
        ),
        Visibility::Private => ("Keep private", "It is not published when it is scored."),
    };
    let until = submission.metadata.anonymous_until.as_deref().unwrap_or_default();
    let day = Field { name: "anonymous_until", label: label("anonymous_until"), hint: UNTIL, fault: None };
    let fields = html! {
        input type="hidden" name="visibility" value=(to);
        p { (detail) }
        @if to == Visibility::Anonymous { (line(day, "date", until)) }
    };
    decision(session, submission, "visibility", name, fields)
}

fn decision(session: &Session, submission: &Submission, action: &str, name: &str, fields: Markup) -> Markup {
    html! {
        details {
            summary { (name) }
            form method="post" action={ "/submissions/" (submission.id) "/" (action) } {
                (session.token_field())
                (fields)
                button type="submit" { "Yes, " (name.to_lowercase()) }
            }
        }
    }
}
