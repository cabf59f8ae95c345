//! What a team may decide about a submission, as forms behind folds. Decides nothing itself.

use maud::{Markup, html};

use super::fields::{Field, line};
use super::session::Session;
use crate::domain::key::Scope;
use crate::domain::submission::{SubmissionState, Visibility};
use crate::store::submissions::Submission;

/// What a team may decide now; each behind a fold, so that no single press does it.
pub(super) fn folds(session: &Session, submission: &Submission) -> Markup {
    let is_standing = submission.withdrawn_reason.is_none();
    let is_scored = submission.state == SubmissionState::Scored;
    let visibility = submission.metadata.visibility;
    let others = Visibility::ALL.iter().filter(|other| **other != visibility);
    html! {
        @if session.principal.scope >= Scope::Submit && is_standing && (is_scored || !submission.state.is_final()) {
            section.decisions aria-labelledby="decisions" {
                h2 #decisions { "Decide" }
                @for other in others { (visibility_form(session, submission, *other)) }
                @if is_scored {
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
    let day = Field {
        name: "anonymous_until",
        label: "Our name is shown from",
        hint: "Optional: a UTC day to come; without one it is never shown by itself.",
        fault: None,
    };
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
