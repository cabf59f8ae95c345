//! The secret addresses at which reviewers see an entry. Knows nothing of what they see there.

use diesel::prelude::*;

use super::schema::reviewer_links;
use super::{DbConnection, Result};

/// Gives a submission this link in the place of any other.
pub fn replace_link(
    connection: &mut DbConnection,
    submission_id: &str,
    token_sha256: &str,
    now_ms: i64,
) -> Result<()> {
    delete_link(connection, submission_id)?;
    let row = (
        reviewer_links::submission_id.eq(submission_id),
        reviewer_links::token_sha256.eq(token_sha256),
        reviewer_links::created_at_ms.eq(now_ms),
    );
    diesel::insert_into(reviewer_links::table).values(row).execute(connection)?;
    Ok(())
}

/// Ends a submission's link; false if it had none.
pub fn delete_link(connection: &mut DbConnection, submission_id: &str) -> Result<bool> {
    Ok(diesel::delete(reviewer_links::table.find(submission_id)).execute(connection)? == 1)
}

/// The submission that the link with this token leads to.
pub fn find_linked(connection: &mut DbConnection, token_sha256: &str) -> Result<Option<String>> {
    let linked = reviewer_links::table.filter(reviewer_links::token_sha256.eq(token_sha256));
    Ok(linked.select(reviewer_links::submission_id).first(connection).optional()?)
}

/// When a submission's link was made, in milliseconds since 1970; none where it has none.
pub fn find_link(connection: &mut DbConnection, submission_id: &str) -> Result<Option<i64>> {
    let link = reviewer_links::table.find(submission_id);
    Ok(link.select(reviewer_links::created_at_ms).first(connection).optional()?)
}
