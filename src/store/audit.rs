//! The audit log: who did what to which subject, from where, and what was so before and after. Rows are added and read;
//! the database itself refuses to change or delete one.

use diesel::prelude::*;

use super::schema::audit_log;
use super::{DbConnection, Result};
use crate::domain::actor::Actor;

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
