//! What is changed about a submission after it was sent: its description, who sees it and under what name, and that it is
//! withdrawn. Knows nothing of who may.

use diesel::prelude::*;

use super::schema::{audit_log, submissions};
use super::{DbConnection, Result};
use crate::domain::submission::{Metadata, Visibility};

/// Replaces what a team may change about its submission.
pub fn update_description(
    connection: &mut DbConnection,
    id: &str,
    metadata: &Metadata,
    now_ms: i64,
) -> Result<()> {
    let private = Visibility::Private.as_str();
    let was_private = submissions::table.find(id).filter(submissions::visibility.eq(private));
    if metadata.visibility == Visibility::Private {
        let since = submissions::visible_since_ms.eq(None::<i64>);
        diesel::update(submissions::table.find(id)).set(since).execute(connection)?;
    } else {
        diesel::update(was_private).set(submissions::visible_since_ms.eq(now_ms)).execute(connection)?;
    }
    diesel::update(submissions::table.find(id))
        .set((
            submissions::description.eq(&metadata.description),
            submissions::paper_url.eq(&metadata.paper_url),
            submissions::code_url.eq(&metadata.code_url),
            submissions::visibility.eq(metadata.visibility.as_str()),
            submissions::anonymous_until.eq(&metadata.anonymous_until),
        ))
        .execute(connection)?;
    Ok(())
}

/// Takes a submission off every board for good.
pub fn withdraw_submission(connection: &mut DbConnection, id: &str, reason: &str) -> Result<()> {
    diesel::update(submissions::table.find(id))
        .set(submissions::withdrawn_reason.eq(reason))
        .execute(connection)?;
    Ok(())
}

/// When a submission was withdrawn; none if the audit log does not say.
pub fn find_withdrawn_at_ms(connection: &mut DbConnection, id: &str) -> Result<Option<i64>> {
    let withdrawn = audit_log::table
        .filter(audit_log::subject.eq(id))
        .filter(audit_log::action.eq("withdraw_submission"));
    let at_ms = withdrawn.order(audit_log::at_ms.desc()).select(audit_log::at_ms).first(connection);
    Ok(at_ms.optional()?)
}

/// Matches anonymous entries whose name is to be shown from the UTC day `today` or an earlier one.
#[diesel::dsl::auto_type(no_type_alias)]
fn due<'a>(today: &'a str) -> _ {
    let anonymous: &'static str = Visibility::Anonymous.as_str();
    submissions::anonymous_until.le(today).and(submissions::visibility.eq(anonymous))
}

/// Whether an anonymous entry is to show its team's name on the UTC day `today`.
pub fn is_name_due(connection: &mut DbConnection, today: &str) -> Result<bool> {
    let found: Option<String> =
        submissions::table.filter(due(today)).select(submissions::id).first(connection).optional()?;
    Ok(found.is_some())
}

/// Makes those anonymous entries public whose name is to be shown on the UTC day `today`.
pub fn show_due_names(connection: &mut DbConnection, today: &str) -> Result<()> {
    diesel::update(submissions::table.filter(due(today)))
        .set((
            submissions::visibility.eq(Visibility::Public.as_str()),
            submissions::anonymous_until.eq(None::<String>),
        ))
        .execute(connection)?;
    Ok(())
}
