//! One submission as a page. Decides nothing.

use maud::{Markup, html};

use super::fields::{capital, incomplete, summary};
use super::figures::interval;
use super::frame::{self, Page, Script, Viewer, when};
use super::session::Session;
use super::submission_decisions::{self, Details};
use super::submission_report;
use super::submission_state::standing;
use super::submit_page::warnings;
use crate::domain::column::{Column, Unit};
use crate::domain::fault::Warning;
use crate::domain::submission::{Group, Metadata, MetadataFault, SubmissionState};
use crate::evaluation::board_rows::ScoreCells;
use crate::evaluation::report::Report;
use crate::evaluation::standing::JudgeHead;
use crate::evaluation::waiting::QueuePlace;
use crate::scoring::decimals::to_decimals;
use crate::store::submissions::Submission;

/// A submission with what its page shows beside it.
pub(super) struct Seen {
    pub(super) submission: Submission,
    pub(super) judge: Option<JudgeHead>,
    pub(super) scores: ScoreCells,
    /// Answers that maintainers decided by hand.
    pub(super) decided_by_hand: usize,
    /// When judgements behind its scores were last replaced.
    pub(super) rejudged_at_ms: Option<i64>,
    /// What was odd about the file, and whether its scores are withheld.
    pub(super) warnings: Vec<Warning>,
}

/// What the page of one submission shows beyond what a list does.
pub(super) struct Beside {
    /// Its place in the queue; none once it has ended.
    pub(super) queue: Option<QueuePlace>,
    /// What there is to say of it once it has ended; none where it was not graded.
    pub(super) report: Option<Report>,
    /// When its link for reviewers was made, if it has one.
    pub(super) link_made_at_ms: Option<i64>,
}

/// What is said above a submission.
#[derive(Clone, Copy)]
pub(super) enum Word<'a> {
    /// Something could not be done.
    Refused(&'a str),
    /// Fields of a change are faulty; they are shown as they were typed.
    Faulty(&'a [MetadataFault], &'a Details),
    /// The same file was sent before.
    Repeated,
    /// A link for reviewers, which is told this once.
    Link(&'a str),
}

pub(super) fn page(session: &Session, seen: &Seen, beside: &Beside, word: Option<Word<'_>>) -> Markup {
    let submission = &seen.submission;
    let metadata = &submission.metadata;
    let title = match word {
        Some(Word::Refused(_) | Word::Faulty(..)) => format!("Error: {}", metadata.model_name),
        _ => metadata.model_name.clone(),
    };
    let follows = !submission.state.is_final();
    let page = Page {
        title: &title,
        address: "",
        viewer: Viewer::Team(session),
        script: follows.then_some(Script::Progress),
    };
    let content = html! {
        p.crumb { a href="/submissions" { "Submissions" } }
        h1 { (metadata.model_name) }
        p.facts {
            "Split " strong { (metadata.split) } " · release " strong { (submission.release) }
            " · submitted " (when(submission.created_at_ms))
        }
        @if let Some(word) = word { (said(word)) }
        (standing(seen, beside.queue.as_ref()))
        @if !seen.scores.is_empty() { (scores(seen)) }
        @if let Some(report) = &beside.report { (submission_report::neighbours(seen, report)) }
        (answers(seen, beside.report.as_ref()))
        (about(submission))
        (submission_decisions::folds(session, submission, beside.link_made_at_ms, word))
    };
    frame::document(&page, &content)
}

fn said(word: Word<'_>) -> Markup {
    match word {
        Word::Refused(error) => summary("That could not be done", html! { p { (capital(error)) "." } }),
        Word::Faulty(faults, _) => incomplete(faults, submission_decisions::label, ""),
        Word::Repeated => html! {
            p.notice role="status" { "You sent this file before. This is its submission; no quota was used for it again." }
        },
        Word::Link(address) => html! {
            section.good #summary role="status" aria-labelledby="summary-title" {
                h2 #summary-title { "The link for reviewers" }
                p { code.key { (address) } }
                p {
                    "It is shown only now. Whoever has it sees the entry without your team's name, description and links, \
                     even while it is private, until you end it."
                }
            }
        },
    }
}

pub(super) fn scores(seen: &Seen) -> Markup {
    let stands = Column::ALL.iter().filter_map(|column| Some((column, seen.scores.get(column)?)));
    let waits = seen.submission.state != SubmissionState::Scored && seen.scores.len() < Column::ALL.len();
    html! {
        section aria-labelledby="scores" {
            h2 #scores { "Scores" }
            @if seen.judge.as_ref().is_some_and(JudgeHead::is_offline) {
                p.notice role="note" {
                    strong { "Offline judge. " }
                    "Open-ended columns are scored by word overlap with the annotators' evidence, not by a language model."
                }
            }
            p.facts { "Beside each score: its 95 % interval, and n, the questions that it rests on." }
            @if waits { p { "Columns that need open-ended answers come when all of these are judged." } }
            div.scroll tabindex="0" role="region" aria-labelledby="scores" {
                table.scores {
                    thead { tr {
                        th scope="col" { "Column" }
                        th.number scope="col" { "Score" }
                        th.number scope="col" { "95 % interval" }
                        th.number scope="col" { "n" }
                    } }
                    tbody {
                        @for (column, cell) in stands {
                            tr {
                                th scope="row" { (column) br; small.wrap { (column.label()) } }
                                td.number { strong { (to_decimals(cell.value, cell.unit.places())) } (unit(cell.unit)) }
                                td.number { (interval(cell)) }
                                td.number { @if let Some(n) = cell.n { (n) } @else { "–" } }
                            }
                        }
                    }
                }
            }
        }
    }
}

fn unit(unit: Unit) -> &'static str {
    match unit {
        Unit::Percent => " %",
        Unit::Points => " of 5",
    }
}

fn answers(seen: &Seen, report: Option<&Report>) -> Markup {
    let submission = &seen.submission;
    let progress = submission.progress;
    html! {
        section aria-labelledby="answers" {
            h2 #answers { "Answers" }
            dl {
                dt { "Answered" } dd { (submission.answered) " of " (submission.questions) " questions" }
                @if submission.configuration_id.is_some() {
                    dt { "Without a letter that could be read" } dd { (submission.unparsed) }
                    dt { "Open-ended answers judged" }
                    dd {
                        (progress.judged) " of " (progress.to_judge)
                        @if progress.reused > 0 { ", " (progress.reused) " of them known before" }
                        @if progress.failed > 0 { "; " (progress.failed) " could not be judged" }
                    }
                }
                @if let Some(judge) = &seen.judge { dt { "Judge" } dd { (judge.model) " " code { (judge.configuration) } } }
                @if let Some(at_ms) = seen.rejudged_at_ms { dt { "Rejudged" } dd { (when(at_ms)) } }
                @if seen.decided_by_hand > 0 { dt { "Decided by hand" } dd { (seen.decided_by_hand) } }
            }
            (warnings(&seen.warnings))
            @if let Some(report) = report { (submission_report::answers(&submission.id, report)) }
        }
    }
}

/// What is said of a model, which tells nothing of its team.
pub(super) fn model(metadata: &Metadata) -> Markup {
    let group = match Group::of(metadata.access, metadata.parameters_b) {
        Group::Closed => "closed model",
        Group::OpenSmall => "open model below 10 B parameters",
        Group::OpenLarge => "open model of 10 B parameters and more",
    };
    html! {
        dt { "Group" } dd { (group) }
        @if let Some(billions) = metadata.parameters_b { dt { "Parameters" } dd { (billions) " B" } }
        @if let Some(backbone) = &metadata.backbone { dt { "Backbone" } dd { (backbone) } }
    }
}

fn about(submission: &Submission) -> Markup {
    let metadata = &submission.metadata;
    let link = |address: &str| html! { a href=(address) rel="nofollow noopener" { (address) } };
    html! {
        section aria-labelledby="about" {
            h2 #about { "About the run" }
            dl {
                (model(metadata))
                @if let Some(text) = &metadata.description { dt { "Description" } dd.text { (text) } }
                @if let Some(address) = &metadata.paper_url { dt { "Paper" } dd { (link(address)) } }
                @if let Some(address) = &metadata.code_url { dt { "Code" } dd { (link(address)) } }
                dt { "Id" } dd { code { (submission.id) } }
                @if let Some(finished_at_ms) = submission.finished_at_ms { dt { "Ended" } dd { (when(finished_at_ms)) } }
            }
        }
    }
}
