//! `/submit` as a page: the form, and above it what came of sending it. Decides nothing.

use maud::{Markup, html};

use super::frame::{self, Page, Script, Viewer};
use super::session::Session;
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

    /// What is wrong with a field, if something is.
    fn fault(&self, field: &str) -> Option<&str> {
        let Verdict::Faulty(faults) = self else { return None };
        let fault = faults.iter().find(|fault| fault.pointer.trim_start_matches('/') == field);
        fault.map(|fault| fault.detail.as_str())
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
                button.second name="action" value="check" type="submit" { "Check only" }
                button name="action" value="submit" type="submit" { "Submit" }
                p.hint { "A check reads the whole file, stores nothing and uses no quota." }
            }
        }
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
            Verdict::Faulty(faults) => (summary("The form is not complete", html! {
                ul { @for fault in faults {
                    @let field = fault.pointer.trim_start_matches('/');
                    li { a href={ "#" (field) } { (label(field)) } ": " (fault.detail) }
                } }
                p { "Choose the file again before you send the form: browsers forget it." }
            })),
            Verdict::Refused(refusal, lines) => (refused(refusal, lines)),
            Verdict::Said(detail) => (summary("The file was not accepted", html! { p { (capital(detail)) "." } })),
        }
    }
}

fn summary(title: &str, body: Markup) -> Markup {
    html! {
        section.summary #summary role="alert" tabindex="-1" aria-labelledby="summary-title" {
            h2 #summary-title { (title) }
            (body)
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
                thead { tr { th.number scope="col" { "Line" } th scope="col" { "Fault" } th scope="col" { "Text of the line" } } }
                tbody {
                    @for (fault, line) in refusal.faults.iter().zip(lines) { (fault_row(fault, line.as_deref())) }
                }
            }
        }
    };
    summary(&title, body)
}

fn fault_row(fault: &Fault, line: Option<&str>) -> Markup {
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
            }
            td { @match line {
                Some("") => em { "blank" },
                Some(line) => code.line dir="ltr" { (line) },
                None => "–",
            } }
        }
    }
}

/// A sentence with its first letter as one begins.
pub(super) fn capital(text: &str) -> String {
    let mut letters = text.chars();
    letters.next().map_or_else(String::new, |first| format!("{}{}", first.to_uppercase(), letters.as_str()))
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
        _ => "File",
    }
}

fn model(typed: &Typed, verdict: &Verdict) -> Markup {
    let text = |name, value: &str, hint| text_field(name, value, hint, verdict);
    html! {
        fieldset {
            legend { "The model" }
            (text("model_name", &typed.model_name, "As the leaderboard shall show it."))
            (choice("access", &typed.access, &[("open", "Open", "the weights can be had"), ("closed", "Closed", "")], verdict))
            (text("parameters_b", &typed.parameters_b, "Required for an open model, such as 8 or 0.5."))
            (text("backbone", &typed.backbone, "Optional: the vision or language backbone."))
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
    html! {
        fieldset {
            legend { "The run" }
            (choice("split", &typed.split, &splits, verdict))
            (choice("visibility", &typed.visibility, &seen, verdict))
            (text_field("paper_url", &typed.paper_url, "Optional: an address with http or https.", verdict))
            (text_field("code_url", &typed.code_url, "Optional: an address with http or https.", verdict))
            (field("description", "Optional: what a reader should know.", verdict, |described| html! {
                textarea #description name="description" rows="3" aria-describedby=(described)
                    aria-invalid=[verdict.fault("description").map(|_| "true")] { "\n" (typed.description) }
            }))
        }
    }
}

fn file(verdict: &Verdict, max_bytes: u64) -> Markup {
    let hint = format!(
        "One answer a question as JSONL, JSON or CSV, plain or packed with gzip or zstd; at most {} MB.",
        max_bytes >> 20
    );
    html! {
        fieldset {
            legend { "The file" }
            div.drop data-drop {
                (field("predictions", &hint, verdict, |described| html! {
                    input #predictions type="file" name="predictions" aria-describedby=(described)
                        aria-invalid=[verdict.fault("predictions").map(|_| "true")];
                }))
                p.dropped data-dropped role="status" {}
            }
        }
    }
}

fn text_field(name: &str, value: &str, hint: &str, verdict: &Verdict) -> Markup {
    field(name, hint, verdict, |described| {
        html! {
            input id=(name) name=(name) type="text" value=(value) autocomplete="off" aria-describedby=(described)
                inputmode=[(name == "parameters_b").then_some("decimal")]
                aria-invalid=[verdict.fault(name).map(|_| "true")];
        }
    })
}

/// A labelled field with its hint and what is wrong with it.
fn field(name: &str, hint: &str, verdict: &Verdict, input: impl Fn(&str) -> Markup) -> Markup {
    let described = match verdict.fault(name) {
        Some(_) => format!("{name}-hint {name}-error"),
        None => format!("{name}-hint"),
    };
    html! {
        div.field {
            label for=(name) { (label(name)) }
            p.hint id={ (name) "-hint" } { (hint) }
            @if let Some(fault) = verdict.fault(name) { p.wrong id={ (name) "-error" } { (capital(fault)) } }
            (input(&described))
        }
    }
}

/// One of a few, each with its value, its name and a word more.
fn choice(name: &str, chosen: &str, choices: &[(&str, &str, &str)], verdict: &Verdict) -> Markup {
    let fault = verdict.fault(name);
    let error = format!("{name}-error");
    html! {
        fieldset.field id=(name) aria-describedby=[fault.map(|_| error.as_str())] {
            legend { (label(name)) }
            @if let Some(fault) = fault { p.wrong id=(error) { (capital(fault)) } }
            @for (value, text, more) in choices {
                div.choice {
                    input id={ (name) "-" (value) } type="radio" name=(name) value=(value) checked[*value == chosen];
                    label for={ (name) "-" (value) } { (text) @if !more.is_empty() { small { " " (more) } } }
                }
            }
        }
    }
}
