//! The audit log: who did what to which subject, from where, and what was so before and after. Rows are added and read;
//! the database itself refuses to change or delete one.

use diesel::prelude::*;

use super::schema::audit_log;
use super::{DbConnection, Result};
use crate::domain::actor::Actor;

diesel::define_sql_function! {
    /// The database's own notion of small letters.
    fn lower(text: diesel::sql_types::Text) -> diesel::sql_types::Text;
}

diesel::define_sql_function! {
    /// A text, or what stands for one that is missing.
    fn coalesce(text: diesel::sql_types::Nullable<diesel::sql_types::Text>, instead: diesel::sql_types::Text) -> diesel::sql_types::Text;
}

/// Appends one line to the audit log: who did what to which subject, with the state before and after.
pub fn insert_audit(
    connection: &mut DbConnection,
    now_ms: i64,
    (actor, action, subject): (&Actor, &str, &str),
    before: Option<&str>,
    after: Option<&str>,
) -> Result<()> {
    let row = (
        audit_log::id.eq(uuid::Uuid::now_v7().to_string()),
        audit_log::at_ms.eq(now_ms),
        audit_log::actor.eq(&actor.name),
        audit_log::place.eq(&actor.place),
        audit_log::action.eq(action),
        audit_log::subject.eq(subject),
        audit_log::before.eq(before),
        audit_log::after.eq(after),
    );
    diesel::insert_into(audit_log::table).values(row).execute(connection)?;
    Ok(())
}

/// A line of the audit log.
#[derive(Debug, Clone, PartialEq, Eq, Queryable)]
pub struct AuditRow {
    /// UUIDv7.
    pub id: String,
    /// When.
    pub at_ms: i64,
    /// Who.
    pub actor: String,
    /// From where; empty where that was not kept.
    pub place: String,
    /// What was done.
    pub action: String,
    /// To what.
    pub subject: String,
    /// What was so before, if there was something.
    pub before: Option<String>,
    /// What is so since.
    pub after: Option<String>,
}

/// Which lines are asked for; what is none is not asked about.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct AuditFilter {
    /// Whose.
    pub actor: Option<String>,
    /// Of this action.
    pub action: Option<String>,
    /// On this subject.
    pub subject: Option<String>,
    /// From this instant on.
    pub from_ms: Option<i64>,
    /// Up to this instant.
    pub to_ms: Option<i64>,
    /// With this text anywhere, in small or capital letters.
    pub text: Option<String>,
}

/// At most `limit` lines, newest first, below the id `before`.
pub fn load_audit(
    connection: &mut DbConnection,
    filter: &AuditFilter,
    before: Option<&str>,
    limit: i64,
) -> Result<Vec<AuditRow>> {
    // UUIDv7 ids sort by time.
    let mut query = audit_log::table.order(audit_log::id.desc()).limit(limit).into_boxed();
    if let Some(before) = before {
        query = query.filter(audit_log::id.lt(before));
    }
    if let Some(actor) = &filter.actor {
        query = query.filter(audit_log::actor.eq(actor));
    }
    if let Some(action) = &filter.action {
        query = query.filter(audit_log::action.eq(action));
    }
    if let Some(subject) = &filter.subject {
        query = query.filter(audit_log::subject.eq(subject));
    }
    if let Some(from_ms) = filter.from_ms {
        query = query.filter(audit_log::at_ms.ge(from_ms));
    }
    if let Some(to_ms) = filter.to_ms {
        query = query.filter(audit_log::at_ms.le(to_ms));
    }
    if let Some(text) = &filter.text {
        let pattern = format!("%{}%", text.replace('\\', "\\\\").replace('%', "\\%").replace('_', "\\_"));
        let like = || lower(pattern.clone());
        query = query.filter(
            (lower(audit_log::actor).like(like()).escape('\\'))
                .or(lower(audit_log::place).like(like()).escape('\\'))
                .or(lower(audit_log::action).like(like()).escape('\\'))
                .or(lower(audit_log::subject).like(like()).escape('\\'))
                .or(lower(coalesce(audit_log::before, "")).like(like()).escape('\\'))
                .or(lower(coalesce(audit_log::after, "")).like(like()).escape('\\')),
        );
    }
    let columns = (
        audit_log::id,
        audit_log::at_ms,
        audit_log::actor,
        audit_log::place,
        audit_log::action,
        audit_log::subject,
        audit_log::before,
        audit_log::after,
    );
    Ok(query.select(columns).load(connection)?)
}
