//! `/submit` as a page: the form, and above it what came of sending it. Decides nothing.

use maud::{Markup, html};

use super::fields::{Field, capital, choice, fault_of, incomplete, labelled, line, lines, summary};
use super::frame::{self, Page, Script, Viewer};
use super::session::Session;
use super::snippets;
use super::submit_form::Typed;
use crate::domain::fault::{Fault, Warning};
use crate::domain::submission::MetadataFault;
use crate::evaluation::intake::DryRun;
use crate::evaluation::quota::Quota;
use crate::predictions::Refusal;

/// What came of sending the form.
pub(super) enum Verdict {
    /// It was not sent yet.
    None,
    /// A check found nothing wrong.
    Checked(DryRun),
    /// Fields are faulty.
    Faulty(Vec<MetadataFault>),
    /// The file is faulty; beside each fault the text of its line.
    Refused(Refusal, Vec<Option<String>>),
    /// Something else stands against it.
    Said(String),
}

impl Verdict {
    fn is_error(&self) -> bool {
        !matches!(self, Verdict::None | Verdict::Checked(_))
    }

    /// What is wrong with the fields.
    fn faults(&self) -> &[MetadataFault] {
        if let Verdict::Faulty(faults) = self { faults } else { &[] }
    }
}

pub(super) fn page(
    session: &Session,
    typed: &Typed,
    verdict: &Verdict,
    quotas: &[Quota],
    max_bytes: u64,
) -> Markup {
    let title = if verdict.is_error() { "Error: Submit" } else { "Submit" };
    let page =
        Page { title, address: "/submit", viewer: Viewer::Team(session), script: Some(Script::Submit) };
    let content = html! {
        h1 { "Submit predictions" }
        (outcome(verdict))
        p.facts { @for quota in quotas { (left(quota)) " " } }
        form.fields method="post" action="/submit" enctype="multipart/form-data" data-upload {
            (session.token_field())
            input type="hidden" name="form_key" value=(uuid::Uuid::new_v4());
            (model(typed, verdict))
            (run(typed, verdict))
            (file(verdict, max_bytes))
            div.actions {
                // The first button is the one that Enter presses: it must do no harm.
                button.second name="step" value="check" type="submit" { "Check only" }
                button name="step" value="submit" type="submit" { "Submit" }
                p.hint { "A check reads the whole file, stores nothing and uses no quota." }
            }
        }
        (snippets::section())
    };
    frame::document(&page, &content)
}

/// The page of a browser that is not signed in: how to submit, and where to sign in for the form.
pub(super) fn guest_page() -> Markup {
    let page = Page { title: "Submit", address: "/submit", viewer: Viewer::Guest, script: None };
    let content = html! {
        h1 { "Submit predictions" }
        p {
            a href="/sign-in?next=/submit" { "Sign in with your team's API key" }
            " to check and submit a file in this browser. A team that has no key yet can " a href="/sign-up" { "sign up" } "."
        }
        (snippets::section())
    };
    frame::document(&page, &content)
}

fn left(quota: &Quota) -> Markup {
    html! {
        span {
            strong { (quota.left) } " left for " (quota.split)
            @if quota.left == 0 && quota.resets() { " (more from " (quota.resets_at) ")" }
            "."
        }
    }
}

fn outcome(verdict: &Verdict) -> Markup {
    html! {
        @match verdict {
            Verdict::None => {}
            Verdict::Checked(checked) => (found_good(checked)),
            Verdict::Faulty(faults) => {
                (incomplete(faults, label, "Choose the file again before you send the form: browsers forget it."))
            }
            Verdict::Refused(refusal, lines) => (refused(refusal, lines)),
            Verdict::Said(detail) => (summary("The file was not accepted", html! { p { (capital(detail)) "." } })),
        }
    }
}

fn found_good(checked: &DryRun) -> Markup {
    let DryRun { coverage, warnings: odd, .. } = checked;
    html! {
        section.good #summary role="status" tabindex="-1" aria-labelledby="summary-title" {
            h2 #summary-title { "The file can be submitted" }
            p { "It answers " (coverage.answered) " of " (coverage.questions) " questions. Nothing was stored and no quota was used." }
            (warnings(odd))
        }
    }
}

/// What is odd about a file.
pub(super) fn warnings(warnings: &[Warning]) -> Markup {
    html! {
        @if !warnings.is_empty() {
            ul.warnings {
                @for warning in warnings {
                    li { (capital(&warning.detail)) " " code { (warning.code) } " × " (warning.count) }
                }
            }
        }
    }
}

fn refused(refusal: &Refusal, lines: &[Option<String>]) -> Markup {
    let (shown, total) = (refusal.faults.len() as u64, refusal.total);
    let title = match total {
        1 => "The file has one fault and was refused whole".to_owned(),
        total => format!("The file has {total} faults and was refused whole"),
    };
    let body = html! {
        p {
            "No quota was used. "
            @if shown < total { "These are the first " (shown) ". " }
            "Mend the file and send it again."
        }
        div.scroll tabindex="0" role="region" aria-label="Faults of the file" {
            table.faults {
                thead { tr { th.number scope="col" { "Line" } th scope="col" { "Fault" } th.beside scope="col" { "Text of the line" } } }
                tbody {
                    @for (fault, line) in refusal.faults.iter().zip(lines) { (fault_row(fault, line.as_deref())) }
                }
            }
        }
    };
    summary(&title, body)
}

fn fault_row(fault: &Fault, line: Option<&str>) -> Markup {
    let text = html! {
        @match line {
            Some("") => em { "blank" },
            Some(line) => code.line dir="ltr" { (line) },
            None => "–",
        }
    };
    html! {
        tr {
            th.number scope="row" { @match fault.line { Some(line) => (line), None => "–" } }
            td {
                (capital(&fault.detail))
                br;
                small {
                    code { (fault.code) }
                    @if let Some(column) = fault.column { " · column " (column) }
                    @if let Some(pointer) = &fault.pointer { " · field " code { (pointer) } }
                    @if let Some(question) = &fault.question_id { " · question " code { (question) } }
                }
                // On a phone the line stands below the fault.
                @if line.is_some() { div.below { (text) } }
            }
            td.beside { (text) }
        }
    }
}

fn label(field: &str) -> &'static str {
    match field {
        "split" => "Split",
        "model_name" => "Model name",
        "access" => "Access to the weights",
        "parameters_b" => "Parameters, in billions",
        "backbone" => "Backbone",
        "description" => "Description",
        "paper_url" => "Paper",
        "code_url" => "Code",
        "visibility" => "Who sees the entry",
        "anonymous_until" => "Our name is shown from",
        _ => "File",
    }
}

fn of<'a>(name: &'a str, hint: &'a str, verdict: &'a Verdict) -> Field<'a> {
    Field { name, label: label(name), hint, fault: fault_of(verdict.faults(), name) }
}

fn model(typed: &Typed, verdict: &Verdict) -> Markup {
    let access = [("open", "Open", "the weights can be had"), ("closed", "Closed", "")];
    html! {
        fieldset {
            legend { "The model" }
            (line(of("model_name", "As the leaderboard shall show it.", verdict), "text", &typed.model_name))
            (choice(of("access", "", verdict), &typed.access, &access))
            (line(of("parameters_b", "Required for an open model, such as 8 or 0.5.", verdict), "text", &typed.parameters_b))
            (line(of("backbone", "Optional: the vision or language backbone.", verdict), "text", &typed.backbone))
        }
    }
}

fn run(typed: &Typed, verdict: &Verdict) -> Markup {
    let splits = [("test", "Test", "the leaderboard"), ("val", "Val", "with the outcome of each question")];
    let seen = [
        ("private", "Only us", "you can publish later"),
        ("anonymous", "Everybody, without our name", ""),
        ("public", "Everybody, with our name", ""),
    ];
    let until = "Optional, for an entry without your name: the UTC day from which it is shown.";
    let link = "Optional: an address with http or https.";
    html! {
        fieldset {
            legend { "The run" }
            (choice(of("split", "", verdict), &typed.split, &splits))
            (choice(of("visibility", "", verdict), &typed.visibility, &seen))
            (line(of("anonymous_until", until, verdict), "date", &typed.anonymous_until))
            (line(of("paper_url", link, verdict), "text", &typed.paper_url))
            (line(of("code_url", link, verdict), "text", &typed.code_url))
            (lines(of("description", "Optional: what a reader should know.", verdict), &typed.description))
        }
    }
}

fn file(verdict: &Verdict, max_bytes: u64) -> Markup {
    let hint = format!(
        "One answer a question as JSONL, JSON or CSV, plain or packed with gzip or zstd; at most {} MB.",
        max_bytes >> 20
    );
    let field = of("predictions", &hint, verdict);
    html! {
        fieldset {
            legend { "The file" }
            div.drop data-drop {
                (labelled(field, html! {
                    input #predictions type="file" name="predictions" aria-describedby=(field.described())
                        aria-invalid=[field.invalid()];
                }))
                p.dropped data-dropped role="status" {}
            }
        }
    }
}
