//! The one row that says which installation this is, and the counters that all processes of it look at.

use diesel::prelude::*;

use super::schema::installation;
use super::{DbConnection, Result};

/// The id that this database got when it was made.
pub fn load_installation_id(connection: &mut DbConnection) -> Result<String> {
    Ok(installation::table.select(installation::id).first(connection)?)
}

/// Gives this database another id.
pub fn rename_installation(connection: &mut DbConnection, id: &str) -> Result<()> {
    diesel::update(installation::table).set(installation::id.eq(id)).execute(connection)?;
    Ok(())
}

/// The number that rises with every change that a board may show.
pub fn load_board_revision(connection: &mut DbConnection) -> Result<i64> {
    Ok(installation::table.select(installation::board_revision).first(connection)?)
}

/// Notes that what a board shows has changed.
pub fn bump_board_revision(connection: &mut DbConnection) -> Result<()> {
    diesel::update(installation::table)
        .set(installation::board_revision.eq(installation::board_revision + 1))
        .execute(connection)?;
    Ok(())
}

/// When the judge was last seen to answer by somebody who checked it.
pub fn load_judge_checked(connection: &mut DbConnection) -> Result<i64> {
    Ok(installation::table.select(installation::judge_checked_at_ms).first(connection)?)
}

/// Notes that somebody checked the judge and it answered.
pub fn note_judge_checked(connection: &mut DbConnection, now_ms: i64) -> Result<()> {
    diesel::update(installation::table)
        .set(installation::judge_checked_at_ms.eq(now_ms))
        .execute(connection)?;
    Ok(())
}
