//! The queue of flags as a page. Decides nothing.

use maud::{Markup, html};

use super::desk::{Sheet, Stood, act, document, foreign, picker, reason, submission_link, table, team_link};
use crate::administration::flags::QueuedFlagView;
use crate::domain::flag::FlagKind;
use crate::domain::instant::parse_rfc3339;
use crate::evaluation::flagged_answers::FlaggedAnswer;
use crate::store::submissions::Submission;
use crate::web::fields::capital;
use crate::web::frame::when;
use crate::web::session::Session;
use crate::web::submission_state::badge;

/// What there is to see of what a flag is about.
pub(super) struct Evidence {
    pub(super) submission: Option<Submission>,
    /// The submission that it is like.
    pub(super) other: Option<Submission>,
    /// Of kind `attack`, some of the answers.
    pub(super) answers: Vec<FlaggedAnswer>,
}

/// What the page is made of.
pub(super) struct Seen {
    pub(super) open: Vec<(QueuedFlagView, Evidence)>,
    pub(super) more: bool,
    /// Those that were closed, of the newest subjects first.
    pub(super) closed: Vec<QueuedFlagView>,
    /// The kind that is asked for.
    pub(super) kind: Option<FlagKind>,
}

pub(super) fn page(session: &Session, seen: &Seen, stood: Option<&Stood>) -> Markup {
    let sheet = Sheet { title: "Flags", address: "/admin/flags", above: None, stood };
    let content = html! {
        p.facts { "A flag is a hint: no score depends on it, and teams do not see it." }
        form.filters method="get" action="/admin/flags" {
            (picker("kind", "Kind", seen.kind, FlagKind::ALL))
            button.second type="submit" { "Show" }
        }
        section.needs aria-labelledby="needs" {
            h2 #needs { "Needs you now" }
            @if seen.open.is_empty() { p.empty { "Nothing: no flag is open." } }
            ul.cards.wide { @for (flag, evidence) in &seen.open { li { (card(session, flag, evidence)) } } }
            @if let Some((last, _)) = seen.open.last().filter(|_| seen.more) { p { a href=(further(seen.kind, last)) { "Further ones" } } }
        }
        h2 #closed { "Closed" }
        @if seen.closed.is_empty() { p.empty { "None yet." } } @else {
            (table("closed", &["Flag", "About", "Found", "Closed with", "By"], &html! {
                @for flag in &seen.closed { (closed_row(flag)) }
            }))
            p { a href="/admin/audit?action=close_flag" { "All in the audit log" } }
        }
    };
    document(session, &sheet, &content)
}

fn further(kind: Option<FlagKind>, last: &QueuedFlagView) -> String {
    let kind = kind.map(|kind| format!("kind={kind}&")).unwrap_or_default();
    format!("/admin/flags?{kind}after={}/{}", last.subject, last.kind)
}

/// What a kind of flag is called.
pub(super) fn name(kind: FlagKind) -> &'static str {
    match kind {
        FlagKind::Attack => "talks to the judge",
        FlagKind::Series => "probing series",
        FlagKind::Twin => "like another team's",
        FlagKind::Signup => "double sign-up",
    }
}

fn card(session: &Session, flag: &QueuedFlagView, evidence: &Evidence) -> Markup {
    html! {
        h3 { span.badge.bad { (name(flag.kind)) } " " (about(flag)) }
        p { (capital(&flag.detail)) ". " small.wrap { "Found " (instant(&flag.raised_at)) } }
        (shown(flag, evidence))
        (closing(session, flag, false))
    }
}

/// The way to what a flag is about.
fn about(flag: &QueuedFlagView) -> Markup {
    html! {
        @match (&flag.model_name, flag.kind) {
            (Some(model_name), _) => {
                a href={ "/admin/submissions/" (flag.subject) } { (foreign(model_name)) } " by " (team_link(&flag.team))
            }
            (None, _) => { a href="/admin/signups?all" { "Sign-up" } " of " code { (flag.team) } }
        }
    }
}

fn shown(flag: &QueuedFlagView, evidence: &Evidence) -> Markup {
    html! {
        (answers(&evidence.answers))
        @if let (Some(submission), Some(other)) = (&evidence.submission, &evidence.other) {
            (table(&format!("like-{}-{}", flag.kind, flag.subject), &["Submission", "Team", "State", "Submitted"], &html! {
                @for submission in [submission, other] {
                    tr {
                        th scope="row" { (submission_link(submission)) }
                        td { (team_link(&submission.team)) }
                        td { (badge(submission)) " " (submission.metadata.visibility) }
                        td { (when(submission.created_at_ms)) }
                    }
                }
            }))
            @if submission.has_entry() && other.has_entry() {
                p { a href={ "/compare?entry=" (submission.id) "&entry=" (other.id) } { "Compare them question by question" } }
            }
        }
    }
}

/// Flagged answers with what they show.
pub(super) fn answers(answers: &[FlaggedAnswer]) -> Markup {
    html! {
        @for answer in answers {
            figure.evidence {
                figcaption {
                    code { (answer.question_id) } ": "
                    (answer.signs.iter().map(|sign| sign.as_str().replace('_', " ")).collect::<Vec<_>>().join(", "))
                }
                blockquote.line tabindex="0" { (answer.answer) }
            }
        }
    }
}

/// The form that closes a flag; `from_submission` where it stands on its submission's page.
pub(super) fn closing(session: &Session, flag: &QueuedFlagView, from_submission: bool) -> Markup {
    let action = format!("/admin/flags/{}/{}/close", flag.kind, flag.subject);
    let id = format!("reason-{}-{}", flag.kind, flag.subject);
    let about = format!("the flag “{}” of {}", name(flag.kind), flag.team);
    act(
        session,
        &action,
        ("Close", &about),
        html! {
            @if from_submission { input type="hidden" name="from_submission" value="1"; }
            (reason(&id, "Reason, for other maintainers"))
        },
    )
}

/// Who closed a flag and why.
pub(super) fn closed_by(flag: &QueuedFlagView) -> Markup {
    html! {
        @if let Some(closed) = &flag.closed {
            (foreign(&closed.reason)) " " small.wrap { "closed by " (closed.by) " " (instant(&closed.at)) }
        }
    }
}

fn closed_row(flag: &QueuedFlagView) -> Markup {
    html! {
        tr {
            th scope="row" { (name(flag.kind)) }
            td { (about(flag)) }
            td.text { (capital(&flag.detail)) }
            @if let Some(closed) = &flag.closed {
                td.text { (foreign(&closed.reason)) }
                td { (closed.by) br; small.wrap { (instant(&closed.at)) } }
            }
        }
    }
}

fn instant(rfc3339: &str) -> Markup {
    html! { @match parse_rfc3339(rfc3339) { Some(at_ms) => (when(at_ms)), None => (rfc3339) } }
}
