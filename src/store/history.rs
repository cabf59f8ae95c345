//! Which release and judge configuration the board of a split showed, and from when on.

use diesel::prelude::*;

use super::configurations::find_current_configuration;
use super::releases::find_active_release;
use super::schema::board_changes;
use super::{DbConnection, Result};
use crate::domain::question::Split;

/// The ids of a release and of a judge configuration.
pub type Shown = (String, String);

/// What the board of a split showed at an instant; none before there was one.
pub fn find_shown(connection: &mut DbConnection, split: Split, at_ms: i64) -> Result<Option<Shown>> {
    let found = board_changes::table
        .filter(board_changes::split.eq(split.as_str()))
        .filter(board_changes::at_ms.le(at_ms))
        .order((board_changes::at_ms.desc(), board_changes::release_id.desc()))
        .select((board_changes::release_id, board_changes::configuration_id))
        .first(connection)
        .optional()?;
    Ok(found)
}

/// Notes for each split what its board shows from now on, where that is something else than before.
pub fn note_board_changes(connection: &mut DbConnection, now_ms: i64) -> Result<()> {
    let Some(configuration) = find_current_configuration(connection)? else { return Ok(()) };
    for split in [Split::Test, Split::Val] {
        let Some(release) = find_active_release(connection, split)? else { continue };
        let shown = (release.id, configuration.id.clone());
        if find_shown(connection, split, i64::MAX)?.as_ref() == Some(&shown) {
            continue;
        }
        let same_instant = board_changes::table
            .filter(board_changes::split.eq(split.as_str()))
            .filter(board_changes::at_ms.ge(now_ms));
        // Of several changes within a millisecond, or after a clock that went back, the last one counts.
        diesel::delete(same_instant).execute(connection)?;
        diesel::insert_into(board_changes::table)
            .values((
                board_changes::split.eq(split.as_str()),
                board_changes::at_ms.eq(now_ms),
                board_changes::release_id.eq(shown.0),
                board_changes::configuration_id.eq(shown.1),
            ))
            .execute(connection)?;
    }
    Ok(())
}
