//! The audit log: searched page by page, and taken away whole.

use actix_web::http::{StatusCode, header};
use actix_web::{HttpResponse, web};
use futures::TryStreamExt as _;
use maud::{Markup, html};
use serde::Deserialize;

use super::desk::{LISTED, Sheet, cut, document, id};
use super::history::lines;
use crate::administration::audit::{AuditQuery, AuditView, Export, exported, list_audit};
use crate::store::StoreError;
use crate::store::audit::AuditFilter;
use crate::web::Pages;
use crate::web::refusal::{Refusal, Shown, html as page_of};
use crate::web::session::Session;

/// Which lines are asked for, as it is typed.
#[derive(Clone, Default, Deserialize)]
pub(super) struct Asked {
    q: Option<String>,
    actor: Option<String>,
    action: Option<String>,
    subject: Option<String>,
    from: Option<String>,
    to: Option<String>,
    before: Option<String>,
}

impl Asked {
    fn fields(&self) -> [(&'static str, &Option<String>); 6] {
        [
            ("q", &self.q),
            ("actor", &self.actor),
            ("action", &self.action),
            ("subject", &self.subject),
            ("from", &self.from),
            ("to", &self.to),
        ]
    }

    fn filter(&self) -> Result<AuditFilter, Refusal> {
        let given = |field: &Option<String>| {
            field.as_deref().map(str::trim).filter(|text| !text.is_empty()).map(str::to_owned)
        };
        let query = AuditQuery {
            actor: given(&self.actor),
            // As the page writes it.
            action: given(&self.action).map(|action| action.replace(' ', "_")),
            subject: given(&self.subject),
            from: given(&self.from),
            to: given(&self.to),
            text: given(&self.q),
        };
        query.filter().map_err(|error| {
            Refusal::said(StatusCode::BAD_REQUEST, "The log cannot be searched so", format!("{error}."))
        })
    }

    /// The query of a link that asks for the same, with one parameter more.
    fn query(&self, (name, value): (&str, &str)) -> String {
        let mut query = form_urlencoded::Serializer::new(String::new());
        for (name, value) in self.fields() {
            if let Some(value) = value.as_ref().filter(|value| !value.is_empty()) {
                query.append_pair(name, value);
            }
        }
        query.append_pair(name, value).finish()
    }

    fn narrows(&self) -> bool {
        self.fields().iter().any(|(_, value)| value.as_ref().is_some_and(|value| !value.is_empty()))
    }
}

pub(super) async fn list(pages: web::Data<Pages>, session: Session, asked: web::Query<Asked>) -> Shown {
    session.needs_maintainer()?;
    let filter = asked.filter()?;
    let before = asked.before.as_deref().map(id).transpose()?;
    let found: Result<Vec<AuditView>, StoreError> = pages
        .evaluation
        .store
        .read(move |connection| list_audit(connection, &filter, before.as_deref(), LISTED + 1))
        .await;
    let mut acts = found?;
    let more = cut(&mut acts);
    Ok(page_of(StatusCode::OK, page(&session, &asked, &acts, more)))
}

/// In which form the log is taken away.
#[derive(Deserialize)]
pub(super) struct Taking {
    format: Export,
}

pub(super) async fn export(
    pages: web::Data<Pages>,
    session: Session,
    asked: web::Query<Asked>,
    taking: web::Query<Taking>,
) -> Shown {
    session.needs_maintainer()?;
    let (export, store) = (taking.format, pages.evaluation.store.clone());
    let disposition = format!("attachment; filename=\"{}\"", export.file_name());
    Ok(HttpResponse::Ok()
        .content_type(export.media_type())
        .insert_header((header::CACHE_CONTROL, "no-store"))
        .insert_header((header::CONTENT_DISPOSITION, disposition))
        .streaming(exported(store, asked.filter()?, export).map_ok(web::Bytes::from)))
}

fn page(session: &Session, asked: &Asked, acts: &[AuditView], more: bool) -> Markup {
    let sheet = Sheet { title: "Audit log", address: "/admin/audit", above: None, stood: None };
    let content = html! {
        p.facts { "Who changed what, from where. Nothing here is ever changed or taken away." }
        (search(asked))
        h2 #lines { @if asked.narrows() { "Found" } @else { "All, newest first" } }
        @if acts.is_empty() {
            p.empty { "No line is like that. " a href="/admin/audit" { "The whole log" } }
        } @else {
            (lines("lines", acts))
        }
        @if let Some(last) = acts.last().filter(|_| more) {
            p { a href={ "/admin/audit?" (asked.query(("before", &last.id))) } { "Older ones" } }
        }
        p {
            "Take " @if asked.narrows() { "what is found" } @else { "the whole log" } " away: "
            a href={ "/admin/audit/export?" (asked.query(("format", "csv"))) } { "CSV" } " · "
            a href={ "/admin/audit/export?" (asked.query(("format", "jsonl"))) } { "JSON lines" }
        }
    };
    document(session, &sheet, &content)
}

fn search(asked: &Asked) -> Markup {
    let field = |(name, label, kind): (&str, &str, &str), value: &Option<String>| {
        html! {
            div {
                label for=(name) { (label) }
                input id=(name) name=(name) type=(kind) autocomplete="off" value=[value.as_ref().filter(|value| !value.is_empty())];
            }
        }
    };
    html! {
        form.filters role="search" method="get" action="/admin/audit" {
            (field(("q", "Any text", "search"), &asked.q))
            (field(("actor", "Who", "text"), &asked.actor))
            (field(("action", "What", "text"), &asked.action))
            (field(("subject", "To", "text"), &asked.subject))
            (field(("from", "From", "date"), &asked.from))
            (field(("to", "To the day", "date"), &asked.to))
            button.second type="submit" { "Search" }
            @if asked.narrows() { a href="/admin/audit" { "Reset" } }
        }
    }
}
