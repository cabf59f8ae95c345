//! One submission as a page for maintainers. Decides nothing.

use maud::{Markup, html};

use super::desk::{Sheet, Stood, act, document, foreign, is_retriable, reason, table, team_link};
use super::submissions::{retry_button, trouble, why};
use super::{flags_page, history, rejudging};
use crate::administration::audit::AuditView;
use crate::administration::flags::QueuedFlagView;
use crate::domain::fault::{Warning, WarningCode};
use crate::domain::outcome::{FailureReason, MAX_SCORE};
use crate::domain::submission::SubmissionState;
use crate::evaluation::failed_answers::FailedAnswer;
use crate::evaluation::flagged_answers::FlaggedAnswer;
use crate::evaluation::waiting::QueuePlace;
use crate::store::anew::Anew;
use crate::store::notes::NoteRow;
use crate::store::submissions::Submission;
use crate::web::fields::capital;
use crate::web::frame::when;
use crate::web::session::Session;
use crate::web::submission_page::{Seen, model, scores};
use crate::web::submission_state::{badge, queue_sentence, sentence};
use crate::web::submit_page::warnings;

/// Failed answers that can be decided from one page; the rest come when these are.
const SHOWN: usize = 20;

/// What the page of one submission shows beyond what its team sees.
pub(super) struct Beside {
    pub(super) queue: Option<QueuePlace>,
    /// Why answers of it failed, and how many.
    pub(super) reasons: Vec<(FailureReason, i64)>,
    /// Configurations under which it could not be rejudged whole.
    pub(super) stuck_under: Vec<String>,
    /// Where all of its answers are asked about again: how far that is.
    pub(super) anew: Option<Anew>,
    pub(super) failed: Vec<FailedAnswer>,
    pub(super) flags: Vec<QueuedFlagView>,
    /// Answers that show signs of talking to the judge.
    pub(super) answers: Vec<FlaggedAnswer>,
    pub(super) notes: Vec<NoteRow>,
    pub(super) acts: Vec<AuditView>,
}

impl Beside {
    /// Answers that wait for a decision.
    fn undecided(&self) -> Vec<&FailedAnswer> {
        self.failed.iter().filter(|failed| failed.decision.is_none()).collect()
    }
}

pub(super) fn page(session: &Session, seen: &Seen, beside: &Beside, stood: Option<&Stood>) -> Markup {
    let submission = &seen.submission;
    let metadata = &submission.metadata;
    let sheet = Sheet {
        title: &metadata.model_name,
        address: "/admin/submissions",
        above: Some(("/admin/submissions", "Submissions")),
        stood,
    };
    let content = html! {
        p.facts {
            (badge(submission)) " by " (team_link(&submission.team)) " · split " strong { (metadata.split) }
            " · release " strong { (foreign(&submission.release)) } " · " (metadata.visibility)
            " · submitted " (when(submission.created_at_ms))
            @if submission.has_entry() { " · " a href={ "/entries/" (submission.id) } { "Its entry" } }
        }
        (needs(session, seen, beside))
        (failures(session, submission, beside))
        (flags(session, beside))
        (notes(session, submission, &beside.notes))
        @if !seen.scores.is_empty() { (scores(seen)) }
        (about(seen))
        (history::section(&beside.acts, Some(&submission.id)))
    };
    document(session, &sheet, &content)
}

fn withheld(seen: &Seen) -> Option<&Warning> {
    seen.warnings.iter().find(|warning| warning.code == WarningCode::ScoresWithheld)
}

fn needs(session: &Session, seen: &Seen, beside: &Beside) -> Markup {
    let submission = &seen.submission;
    let is_stuck = is_retriable(submission) || !beside.stuck_under.is_empty();
    let undecided = beside.undecided().len();
    html! {
        section.needs aria-labelledby="needs" {
            h2 #needs { "Needs you now" }
            @if is_stuck {
                p { (trouble(submission, &beside.reasons)) }
                @for id in &beside.stuck_under { p.facts { "Rejudging is incomplete under " code { (id) } "." } }
            } @else {
                p { (sentence(submission)) @if let Some(place) = &beside.queue { " " (queue_sentence(place)) } }
            }
            @if beside.flags.iter().any(|flag| flag.closed.is_none()) { p { a href="#flags" { "It has an open flag" } "." } }
            @if let Some(warning) = withheld(seen) { p.notice role="note" { strong { "Scores withheld. " } (warning.detail) } }
            @if let Some(reason) = &submission.withdrawn_reason { p { "Withdrawn for good. Readers are told: " q { (foreign(reason)) } } }
            div.actions {
                @if is_stuck { (retry_button(session, submission)) }
                @if undecided > 0 { a href="#failures" { "Decide " (undecided) " by hand" } }
            }
            @if let Some(anew) = &beside.anew {
                p {
                    a href=(rejudging::address(&submission.id)) { "Rejudging" } " since " (when(anew.since_ms))
                    @if anew.is_pending { " is under way." } @else { " is incomplete: " (anew.failed) " answers could not be judged." }
                }
            }
            (acts(session, seen))
        }
    }
}

fn acts(session: &Session, seen: &Seen) -> Markup {
    let submission = &seen.submission;
    let address = |act: &str| format!("/admin/submissions/{}/{act}", submission.id);
    let may_withdraw = submission.state == SubmissionState::Scored && submission.withdrawn_reason.is_none();
    html! {
        @if withheld(seen).is_some() {
            (act(session, &address("tell"), ("Tell the scores", "that are withheld"), html! {
                p { "The team then reads its multiple-choice scores, and the entry may stand on the board." }
                (reason("tell-reason", "Reason, for the audit log"))
            }))
        }
        @if may_withdraw {
            p { a href=(rejudging::address(&submission.id)) { "Rejudge" } ": what it costs, and whom it touches" }
            (act(session, &address("withdraw"), ("Withdraw", "for good"), html! {
                p { "It leaves every board for good. The quota is not given back." }
                (reason("withdraw-reason", "Reason, which the team and readers are told"))
            }))
        }
    }
}

fn failures(session: &Session, submission: &Submission, beside: &Beside) -> Markup {
    let undecided = beside.undecided();
    let decided: Vec<&FailedAnswer> =
        beside.failed.iter().filter(|failed| failed.decision.is_some()).collect();
    html! {
        @if !undecided.is_empty() {
            h2 #failures { "Answers without a score" }
            p.facts {
                "A decision stands as a judgement, which the same answer of any submission gets too; the entry says that \
                 it was made and why. When none is left, the submission is scored."
            }
            @if undecided.len() > SHOWN { p { "The first " (SHOWN) " of " (undecided.len()) "." } }
            ul.cards.wide {
                @for (place, failed) in undecided.into_iter().take(SHOWN).enumerate() { (failure(session, submission, failed, place)) }
            }
        }
        @if !decided.is_empty() {
            h2 #decided { "Decided by hand" }
            (table("decided", &["Question", "Scores", "Reason", "By"], &html! { @for failed in decided { (decision(failed)) } }))
        }
    }
}

fn failure(session: &Session, submission: &Submission, failed: &FailedAnswer, place: usize) -> Markup {
    let action = format!("/admin/submissions/{}/decisions", submission.id);
    let criteria = failed.question_type.rubric().map(|rubric| rubric.criteria()).unwrap_or_default();
    let id = |name: &str| format!("{name}-{place}");
    let fields = html! {
        input type="hidden" name="question_id" value=(failed.question_id);
        input type="hidden" name="configuration" value=(failed.configuration_id);
        div.row {
            @for name in criteria {
                div.field {
                    label for=(id(name)) { (name.replace('_', " ")) }
                    select id=(id(name)) name=(name) required {
                        option value="" { "–" }
                        @for score in 0..=MAX_SCORE { option value=(score) { (score) } }
                    }
                }
            }
        }
        (reason(&id("reason"), "Reason, which readers of the entry are told"))
    };
    html! {
        li {
            h3 { code { (failed.question_id) } }
            p.facts {
                (failed.question_type) " · " (why(failed.reason)) " · " (failed.calls) " failed calls"
                @if let Some((_, last)) = failed.failed_at_ms { ", the last " (when(last)) }
            }
            @if !failed.detail.is_empty() { p.line { (failed.detail) } }
            blockquote.line tabindex="0" aria-label="The team's answer" { (failed.answer) }
            (act(session, &action, ("Decide", &failed.question_id), fields))
        }
    }
}

fn decision(failed: &FailedAnswer) -> Markup {
    html! {
        @if let Some(decision) = &failed.decision {
            tr {
                th scope="row" { code { (failed.question_id) } }
                td { (decision.scores.map(|score| score.to_string()).join(", ")) }
                td { (foreign(&decision.reason)) }
                td { (decision.by) br; small.wrap { (when(decision.at_ms)) } }
            }
        }
    }
}

/// What was suspected of it, with the evidence.
fn flags(session: &Session, beside: &Beside) -> Markup {
    html! {
        @if !beside.flags.is_empty() || !beside.answers.is_empty() {
            h2 #flags { "Flags" }
            p.facts { "A flag is a hint: no score depends on it, and the team does not see it." }
            @for flag in &beside.flags {
                p {
                    @if flag.closed.is_none() { span.badge.bad { (flags_page::name(flag.kind)) } }
                    @else { span.badge.ended { (flags_page::name(flag.kind)) } }
                    " " (capital(&flag.detail)) ". "
                    @if let Some(other) = &flag.other { a href={ "/admin/submissions/" (other) } { "The other one" } " " }
                    (flags_page::closed_by(flag))
                }
                @if flag.closed.is_none() { (flags_page::closing(session, flag, true)) }
            }
            @if !beside.answers.is_empty() {
                details {
                    summary { "Answers that show signs of talking to the judge" }
                    div.folded { (flags_page::answers(&beside.answers)) }
                }
            }
        }
    }
}

fn notes(session: &Session, submission: &Submission, notes: &[NoteRow]) -> Markup {
    html! {
        h2 #notes { "Notes" }
        p.facts { "Only maintainers read them." }
        @for note in notes {
            figure.evidence {
                figcaption { strong { (note.author) } ", " (when(note.created_at_ms)) }
                blockquote.text { (foreign(&note.text)) }
            }
        }
        (act(session, &format!("/admin/submissions/{}/notes", submission.id), ("Add a note", "on it"), html! {
            div.field {
                label for="note" { "Note" }
                // Browsers drop the first line feed.
                textarea #note name="text" rows="4" required { "\n" }
            }
        }))
    }
}

fn about(seen: &Seen) -> Markup {
    let submission = &seen.submission;
    let (metadata, progress) = (&submission.metadata, submission.progress);
    let link = |address: &str| html! { a href=(address) rel="nofollow noopener" { (foreign(address)) } };
    html! {
        h2 { "About the run" }
        dl {
            dt { "Answered" } dd { (submission.answered) " of " (submission.questions) " questions, " (submission.unparsed) " without a letter that could be read" }
            @if progress.to_judge > 0 {
                dt { "Judged" }
                dd { (progress.judged) " of " (progress.to_judge) ", " (progress.reused) " known before, " (progress.failed) " failed" }
            }
            @if let Some(judge) = &seen.judge { dt { "Judge" } dd { (foreign(&judge.model)) " " code { (judge.configuration) } } }
            @if let Some(at_ms) = seen.rejudged_at_ms { dt { "Rejudged" } dd { (when(at_ms)) } }
            (model(metadata))
            @if let Some(text) = &metadata.description { dt { "Description" } dd.text { (foreign(text)) } }
            @if let Some(address) = &metadata.paper_url { dt { "Paper" } dd { (link(address)) } }
            @if let Some(address) = &metadata.code_url { dt { "Code" } dd { (link(address)) } }
            @if let Some(day) = &metadata.anonymous_until { dt { "Anonymous until" } dd { (day) } }
            dt { "Id" } dd { code { (submission.id) } }
            @if let Some(at_ms) = submission.finished_at_ms { dt { "Ended" } dd { (when(at_ms)) } }
        }
        (warnings(&seen.warnings))
    }
}
