//! What all pages of administration share: the document, what stood against an act, the form of an act, tables. Knows no
//! single page.

use std::fmt::Display;
use std::str::FromStr;

use actix_web::http::StatusCode;
use maud::{Markup, Render, html};
use uuid::Uuid;

use crate::domain::submission::{MetadataFault, SubmissionState};
use crate::store::submissions::Submission;
use crate::web::fields::{capital, summary};
use crate::web::frame::{self, Page, Viewer};
use crate::web::refusal::Refusal;
use crate::web::session::Session;

/// Items on one page of a list.
pub(super) const LISTED: i64 = 50;

/// Why an act was not done, for the page that it was asked from.
pub(super) struct Stood {
    pub(super) status: StatusCode,
    pub(super) detail: String,
}

impl Stood {
    /// What was sent is faulty.
    pub(super) fn faulty(detail: impl Display) -> Stood {
        Stood { status: StatusCode::UNPROCESSABLE_ENTITY, detail: detail.to_string() }
    }

    /// What was asked does not fit what is there.
    pub(super) fn conflict(detail: impl Display) -> Stood {
        Stood { status: StatusCode::CONFLICT, detail: detail.to_string() }
    }

    /// Fields that are faulty, by their names.
    pub(super) fn faults(faults: &[MetadataFault]) -> Stood {
        let detail =
            |fault: &MetadataFault| format!("`{}` {}", fault.pointer.trim_start_matches('/'), fault.detail);
        Stood::faulty(faults.iter().map(detail).collect::<Vec<_>>().join("; "))
    }

    /// The status of the page that says it.
    pub(super) fn status(stood: Option<&Stood>) -> StatusCode {
        stood.map_or(StatusCode::OK, |stood| stood.status)
    }
}

/// What a page of administration is, beside its content.
pub(super) struct Sheet<'a> {
    pub(super) title: &'a str,
    /// The link of the navigation that leads here or above.
    pub(super) address: &'a str,
    /// The list that the page's subject is one of.
    pub(super) above: Option<(&'a str, &'a str)>,
    pub(super) stood: Option<&'a Stood>,
}

/// The whole document, with its heading.
pub(super) fn document(session: &Session, sheet: &Sheet<'_>, content: &Markup) -> Markup {
    let title = match sheet.stood {
        Some(_) => format!("Error: {}", sheet.title),
        None => sheet.title.to_owned(),
    };
    let page = Page { title: &title, address: sheet.address, viewer: Viewer::Team(session), script: None };
    let content = html! {
        @if let Some((address, name)) = sheet.above { p.crumb { a href=(address) { (name) } } }
        h1 { (foreign(sheet.title)) }
        @if let Some(stood) = sheet.stood {
            (summary("That could not be done", html! { p { (capital(&stood.detail)) "." } }))
        }
        (content)
    };
    frame::document(&page, &content)
}

/// A text of somebody else's, which cannot turn around what stands beside it.
pub(super) fn foreign(text: &str) -> Markup {
    html! { bdi { (text) } }
}

/// An act behind a fold, so that no single press does it. `about` is read out with its name.
pub(super) fn act(
    session: &Session,
    action: &str,
    (name, about): (&str, &str),
    fields: impl Render,
) -> Markup {
    html! {
        details.act {
            summary { (name) span.hidden { " " (about) } }
            form method="post" action=(action) {
                (session.token_field())
                (fields)
                button type="submit" { "Yes, " (name.to_lowercase()) span.hidden { " " (about) } }
            }
        }
    }
}

/// The field for the reason of an act.
pub(super) fn reason(id: &str, label: &str) -> Markup {
    html! {
        div.field {
            label for=(id) { (label) }
            input id=(id) name="reason" type="text" required maxlength="500" autocomplete="off";
        }
    }
}

/// A table in a box that scrolls by itself, under the heading with this id. A head that begins with `#` is of numbers.
pub(super) fn table(heading: &str, heads: &[&str], rows: &Markup) -> Markup {
    html! {
        div.scroll tabindex="0" role="region" aria-labelledby=(heading) {
            table.dense {
                thead { tr {
                    @for head in heads {
                        @match head.strip_prefix('#') {
                            Some(head) => th.number scope="col" { (head) },
                            None => th scope="col" { (head) },
                        }
                    }
                } }
                tbody { (rows) }
            }
        }
    }
}

/// Cuts a list that was asked for one item more than a page holds; says whether there are more.
pub(super) fn cut<T>(items: &mut Vec<T>) -> bool {
    let more = items.len() > LISTED as usize;
    items.truncate(LISTED as usize);
    more
}

/// The id in a path, as it is stored.
pub(super) fn id(text: &str) -> Result<String, Refusal> {
    Ok(Uuid::parse_str(text).map_err(|_| Refusal::not_found())?.to_string())
}

/// The value of a filter: none where it is blank.
///
/// # Errors
/// A page that says which values there are.
pub(super) fn chosen<T: FromStr<Err = String>>(
    name: &str,
    typed: Option<&str>,
) -> Result<Option<T>, Refusal> {
    let Some(typed) = typed.map(str::trim).filter(|typed| !typed.is_empty()) else { return Ok(None) };
    typed.parse().map(Some).map_err(|error| {
        let detail = format!("`{name}`: {error}. Choose one of these, or leave it out.");
        Refusal::said(StatusCode::BAD_REQUEST, "This list cannot be shown", detail)
    })
}

/// One of a few as a field of a filter, where a blank one stands for all.
pub(super) fn picker<T: Copy + Display>(name: &str, label: &str, chosen: Option<T>, all: &[T]) -> Markup {
    let chosen = chosen.map(|value| value.to_string());
    html! {
        div {
            label for=(name) { (label) }
            select id=(name) name=(name) {
                option value="" { "all" }
                @for value in all.iter().map(ToString::to_string) {
                    option value=(value) selected[chosen.as_ref() == Some(&value)] { (value) }
                }
            }
        }
    }
}

/// A link to a maintainer's view of a submission.
pub(super) fn submission_link(submission: &Submission) -> Markup {
    html! { a href={ "/admin/submissions/" (submission.id) } { (foreign(&submission.metadata.model_name)) } }
}

/// A link to a maintainer's view of a team.
pub(super) fn team_link(slug: &str) -> Markup {
    html! { a.slug href={ "/admin/teams/" (slug) } { (slug) } }
}

/// Whether a maintainer can have a submission tried again as it stands.
pub(super) fn is_retriable(submission: &Submission) -> bool {
    matches!(submission.state, SubmissionState::Failed | SubmissionState::Incomplete)
}
