//! `/judge`: who scores open-ended answers, by what words, and what is known of how well. Shows no secret of a
//! configuration and no money.

use std::sync::Arc;

use actix_web::http::StatusCode;
use actix_web::{HttpRequest, HttpResponse, web};
use maud::{Markup, html};
use sha2::{Digest as _, Sha256};

use super::agreement_words::{ceiling, leniency, whose};
use super::frame::{self, Page, Sharing, Viewer, when};
use super::{Pages, refusal};
use crate::domain::question::Rubric;
use crate::evaluation::validity::measuring::AgreementError;
use crate::evaluation::validity::report::AgreementReport;
use crate::judge::{Configuration, Kind};
use crate::store::StoreError;
use crate::store::configurations::{ConfigurationRow, load_configurations};
use crate::store::judge_record::{JudgeRecord, load_judge_record};

/// What the page is made of.
struct Seen {
    /// The configurations that have a board, newest first.
    rows: Vec<ConfigurationRow>,
    /// None where the submissions that it counts are not in the database.
    record: Option<JudgeRecord>,
    /// What is known of agreement with people, of this or another judge; none where nobody has rated.
    agreement: Option<Arc<AgreementReport>>,
}

pub(super) async fn show(_request: HttpRequest, pages: web::Data<Pages>) -> HttpResponse {
    let seen = load(&pages).await;
    match seen {
        Ok(seen) => refusal::html(StatusCode::OK, page(&seen, pages.public_origin.as_deref())),
        Err(error) => {
            tracing::error!(%error, "the judge page could not be built");
            let detail = "The database is not to be reached. Try again in a moment.";
            super::message(StatusCode::SERVICE_UNAVAILABLE, "The page cannot be shown", detail)
        }
    }
}

async fn load(pages: &Pages) -> Result<Seen, StoreError> {
    let evaluation = &pages.evaluation;
    let agreement = match evaluation.agreements.report(&evaluation.store, None).await {
        Ok(report) => Some(report),
        Err(AgreementError::Store(error)) => return Err(error),
        Err(_) => None,
    };
    let is_whole = !evaluation.store.is_public_archive();
    evaluation
        .store
        .snapshot(move |connection| {
            let mut rows = load_configurations(connection)?;
            rows.retain(ConfigurationRow::has_board);
            rows.sort_by_key(|row| (row.is_current(), row.created_at_ms));
            rows.reverse();
            let record = match rows.first().filter(|_| is_whole) {
                Some(current) => Some(load_judge_record(connection, &current.id)?),
                None => None,
            };
            Ok(Seen { rows, record, agreement })
        })
        .await
}

fn page(seen: &Seen, origin: Option<&str>) -> Markup {
    let current = seen.rows.first();
    let configuration = current.and_then(|row| serde_json::from_str::<Configuration>(&row.text).ok());
    let content = html! {
        h1 { "The judge" }
        p { "Open-ended answers cannot be graded by a letter. A judge compares each of them with what annotators saw in the video." }
        @match (current, &configuration) {
            (Some(row), Some(configuration)) => {
                (status(row, configuration))
                (scope())
                (in_force(row, configuration))
                (believable(row, seen.agreement.as_deref()))
                @if let Some(done) = &seen.record { (record(done)) }
                (over_time(&seen.rows))
                @if configuration.kind == Kind::Llm { (words(configuration)) }
            }
            _ => p { "No judge configuration is in force yet: a server that is started makes the first." }
        }
    };
    let sharing = Sharing {
        description: "Which judge scores the open-ended answers of MarineLife-16K, by what prompts, and what is known of it.",
        origin,
        canonical: "/judge",
        picture: "/og/board.png",
    };
    let page = Page { title: "The judge", address: "/judge", viewer: Viewer::Anybody, script: None };
    frame::shared_document(&page, &sharing, &content)
}

fn status(row: &ConfigurationRow, configuration: &Configuration) -> Markup {
    html! {
        p.facts {
            @if configuration.kind == Kind::Offline { "Built-in offline judge" } @else { "Model " strong { (row.model) } }
            " · configuration " code { (row.id) }
            " · stored " (when(row.created_at_ms))
        }
        @if configuration.kind == Kind::Offline {
            p.notice role="note" {
                strong { "Offline judge. " }
                "It counts words of the annotators' evidence and is no language model: its scores are for trying things out. \
                 They are never ranked beside those of a language model."
            }
        }
    }
}

fn scope() -> Markup {
    html! {
        section aria-labelledby="scope" {
            h2 #scope { "What it scores" }
            ul {
                li {
                    strong { "OEMU" } ": three whole numbers from 0 to 5 for an answer about camera and motion; the score is \
                     0.35 · camera + 0.30 · activity + 0.35 · relation."
                }
                li {
                    strong { "BEH, AH, ECF" } ": subject correspondence, temporal description and hallucination detection of a \
                     caption, each from 0 to 5, apart for static and moving cameras."
                }
                li { strong { "Nothing else. " } "The seven multiple-choice columns and MCQ follow from letters alone and need no judge." }
            }
            p {
                "It never sees the video and never learns whose answer it reads. A missing answer, or one without a letter of any \
                 script, scores 0 without a call. A reply that is not exactly what was asked for is asked for again; it is never \
                 turned into a number. Equal answers to a question get the same judgement once and for all."
            }
        }
    }
}

fn in_force(row: &ConfigurationRow, configuration: &Configuration) -> Markup {
    html! {
        section aria-labelledby="in-force" {
            h2 #in-force { "The configuration in force" }
            div.scroll tabindex="0" role="region" aria-labelledby="in-force" {
                table.facts-table {
                    tbody {
                        tr { th scope="row" { "Id" } td { code { (row.id) } } }
                        tr { th scope="row" { "Model" } td { (configuration.model) } }
                        @for (name, value) in &configuration.parameters {
                            tr { th scope="row" { "Parameter " code { (name) } } td { code { (value) } } }
                        }
                        @for (rubric, text) in &configuration.prompts {
                            tr {
                                th scope="row" { "Prompt " code { (rubric) } ", SHA-256" }
                                td.wrap { code { (sha256(text)) } }
                            }
                        }
                        tr { th scope="row" { "Votes an answer" } td { (configuration.votes) } }
                        tr { th scope="row" { "Normalisation of answers" } td { "version " (configuration.normalisation) } }
                    }
                }
            }
            p {
                "A score stands under one configuration. Where any of this changes, everything published is judged anew before \
                 the board switches, in one step; boards of before stay readable below."
            }
        }
    }
}

/// What is known of the agreement of the configuration in force.
fn believable(current: &ConfigurationRow, report: Option<&AgreementReport>) -> Markup {
    let own = report.filter(|report| report.judge.configuration.as_ref() == Some(&current.id));
    html! {
        section aria-labelledby="believable" {
            h2 #believable { "How far it agrees with people" }
            @match (own, report) {
                (Some(report), _) => {
                    p {
                        "People rated " (report.overall.items) " answers that it has scored too. " (leniency(&report.overall)) " "
                        (ceiling(&report.overall))
                    }
                }
                (None, Some(report)) => {
                    p {
                        strong { "Not known of this configuration. " }
                        "People rated " (report.overall.items) " answers; this configuration has not judged them. " (whose(report))
                    }
                }
                (None, None) => {
                    p {
                        strong { "Not known here. " }
                        "No human ratings of answers have been imported into this server, so nothing is said of this configuration. \
                         The paper had six experts rate 100 questions, three ratings each, and reports that they are largely \
                         consistent with its own judge, GPT-5.5, with some gap between the two; that judge had other prompts than \
                         this one."
                    }
                }
            }
            @if report.is_some() { p { a href="/judge/agreement" { "All figures, by type and with their intervals" } } }
            p {
                "Take a difference of a few tenths of a point between models of different style with care: a judge can \
                 favour a way of writing. The intervals on the board cover which videos were chosen, not the judge's own error."
            }
        }
    }
}

fn record(record: &JudgeRecord) -> Markup {
    let failed: i64 = record.failures.iter().map(|(_, count)| count).sum();
    html! {
        section aria-labelledby="record" {
            h2 #record { "What it has done" }
            p {
                @if record.submissions == 0 { "It has scored no submission yet." }
                @else {
                    "Under this configuration " strong { (record.submissions) }
                    @if record.submissions == 1 { " submission is scored, with " } @else { " submissions are scored, with " }
                    strong { (record.judged) } " judged answers; " strong { (record.reused) }
                    " of them were judged before and used again."
                }
            }
            @if record.failures.is_empty() {
                p { "No call has failed." }
            } @else {
                p { "Calls failed at " (failed) " answers; nearly all were judged by a later call. By the last reason:" }
                div.scroll tabindex="0" role="region" aria-labelledby="record" {
                    table {
                        thead { tr { th scope="col" { "Reason" } th.number scope="col" { "Answers" } } }
                        tbody { @for (reason, count) in &record.failures {
                            tr { th scope="row" { code { (reason) } } td.number { (count) } }
                        } }
                    }
                }
            }
            p {
                "A submission with an answer that could not be judged is not ranked. A maintainer may decide such an answer by \
                 hand, with a reason; its entry says so."
            }
        }
    }
}

fn over_time(rows: &[ConfigurationRow]) -> Markup {
    html! {
        section aria-labelledby="over-time" {
            h2 #over-time { "Configurations over time" }
            div.scroll tabindex="0" role="region" aria-labelledby="over-time" {
                table {
                    thead { tr {
                        th scope="col" { "Configuration" } th scope="col" { "Model" } th scope="col" { "Stored" }
                        th scope="col" { "In force until" } th scope="col" { "Its board" }
                    } }
                    tbody { @for row in rows {
                        tr {
                            th scope="row" { code { (row.id) } }
                            td { (row.model) }
                            td { (when(row.created_at_ms)) }
                            td { @match row.retired_at_ms.filter(|_| !row.is_current()) {
                                Some(retired_at_ms) => (when(retired_at_ms)),
                                None => "in force",
                            } }
                            td { a href={ "/?judge=" (row.id) } { "board under " (row.id) } }
                        }
                    } }
                }
            }
        }
    }
}

fn words(configuration: &Configuration) -> Markup {
    html! {
        section aria-labelledby="prompts" {
            h2 #prompts { "Its instructions, word for word" }
            p {
                "Double braces are where question, evidence, reference and answer are put in. The answer stands inside a fence \
                 that cannot be guessed, as data."
            }
            @for rubric in Rubric::ALL {
                @if let Some(text) = configuration.prompts.get(rubric) {
                    details {
                        summary { "Prompt for " code { (rubric) } }
                        pre.scroll tabindex="0" { code { (text) } }
                    }
                }
                @if let Some(schema) = configuration.schemas.get(rubric) {
                    details {
                        summary { "Schema of the reply for " code { (rubric) } }
                        pre.scroll tabindex="0" { code { (format!("{schema:#}")) } }
                    }
                }
            }
        }
    }
}

pub(super) fn sha256(text: &str) -> String {
    hex::encode(Sha256::digest(text))
}
