//! Lines of the audit log as a table, as every page of administration ends with them. Knows no single page.

use std::collections::BTreeSet;

use maud::{Markup, html};
use serde_json::{Map, Value};
use uuid::Uuid;

use super::desk::{foreign, table};
use crate::administration::audit::{AuditView, list_audit};
use crate::domain::instant::parse_rfc3339;
use crate::store::audit::AuditFilter;
use crate::store::{DbConnection, StoreError};
use crate::web::frame::when;

/// Lines that a page about something else shows.
const SHOWN: i64 = 10;

/// The last acts on a subject, or on anything.
///
/// # Errors
/// When the database fails.
pub(super) fn last_acts(
    connection: &mut DbConnection,
    subject: Option<&str>,
) -> Result<Vec<AuditView>, StoreError> {
    let filter = AuditFilter { subject: subject.map(str::to_owned), ..AuditFilter::default() };
    list_audit(connection, &filter, None, SHOWN)
}

/// What was last done, with the way to all of it.
pub(super) fn section(acts: &[AuditView], subject: Option<&str>) -> Markup {
    let query = subject.map(|subject| {
        let mut query = form_urlencoded::Serializer::new(String::from("?"));
        query.append_pair("subject", subject).finish()
    });
    html! {
        h2 #history { "What was done" }
        @if acts.is_empty() { p.empty { "Nothing yet." } } @else {
            (lines("history", acts))
            p { a href={ "/admin/audit" (query.unwrap_or_default()) } { "All of it" } }
        }
    }
}

/// Lines under the heading with this id.
pub(super) fn lines(heading: &str, acts: &[AuditView]) -> Markup {
    table(
        heading,
        &["When", "Who", "What", "To", "Change"],
        &html! {
            @for act in acts {
                tr {
                    td { @match parse_rfc3339(&act.at) { Some(at_ms) => (when(at_ms)), None => (act.at) } }
                    td.slug {
                        (act.actor)
                        @if let Some(place) = act.place.as_ref().filter(|place| **place != act.actor) { br; small { (foreign(place)) } }
                    }
                    td { (act.action.replace('_', " ")) }
                    td { (subject(act)) }
                    td.text { (change(act.before.as_ref(), act.after.as_ref())) }
                }
            }
        },
    )
}

/// What was acted on, with the way to it.
fn subject(act: &AuditView) -> Markup {
    let subject = &act.subject;
    let address = match act.action.as_str() {
        "grant_quota" | "rotate_key" => Some(format!("/admin/teams/{subject}")),
        "close_flag" => Some("/admin/flags".to_owned()),
        action if action.ends_with("_team") => Some(format!("/admin/teams/{subject}")),
        action if action.ends_with("_signup") => Some("/admin/signups?all".to_owned()),
        action if action.ends_with("_release") => Some("/admin/releases".to_owned()),
        action if action.ends_with("_judge") => Some("/admin/judge".to_owned()),
        "decide_answer" | "tell_scores" | "add_note" | "cancel_rejudging" => {
            Some(format!("/admin/submissions/{subject}"))
        }
        action if action.ends_with("_submission") => Some(format!("/admin/submissions/{subject}")),
        _ => None,
    };
    // An id is told by its end; its beginning is the time.
    let is_id = Uuid::parse_str(subject).is_ok();
    let short = subject.rsplit('-').next().filter(|_| is_id).map(|end| format!("…{end}"));
    let name = short.as_ref().unwrap_or(subject);
    html! {
        @match address {
            Some(address) => a href=(address) { (foreign(name)) },
            None => (foreign(name)),
        }
    }
}

/// What was so before and is so since; of objects only what differs.
fn change(before: Option<&Value>, after: Option<&Value>) -> Markup {
    match (before, after) {
        (Some(Value::Object(before)), Some(Value::Object(after))) => {
            let fields: BTreeSet<&String> = before.keys().chain(after.keys()).collect();
            let differing = fields.into_iter().filter(|field| before.get(*field) != after.get(*field));
            html! { ul.change-list { @for field in differing {
                li { (field) ": " (change(before.get(field), after.get(field))) }
            } } }
        }
        (None, Some(Value::Object(after))) => object(after),
        (Some(Value::Object(before)), None) => object(before),
        (None, None) => html! { "–" },
        (None, Some(after)) => foreign(&text(after)),
        (Some(before), None) => html! { del { (foreign(&text(before))) } },
        (Some(before), Some(after)) => html! {
            span.hidden { "from " } (foreign(&text(before))) span aria-hidden="true" { " → " } span.hidden { " to " }
            strong { (foreign(&text(after))) }
        },
    }
}

fn object(fields: &Map<String, Value>) -> Markup {
    html! { ul.change-list { @for (field, value) in fields { li { (field) ": " (foreign(&text(value))) } } } }
}

fn text(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}
