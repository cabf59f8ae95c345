//! Judge configurations: one is current, at most one is staged to become it, and the others are retired.

use diesel::prelude::*;

use super::schema::judge_configurations;
use super::{DbConnection, Result};

/// A judge configuration as stored; `text` is what the room `judge` makes of it.
#[derive(Clone, PartialEq, Eq, Queryable, Insertable)]
#[diesel(table_name = judge_configurations, treat_none_as_default_value = false)]
pub struct ConfigurationRow {
    /// Hash of all that a judgement depends on.
    pub id: String,
    /// `offline` or `llm`.
    pub kind: String,
    /// The model that is asked.
    pub model: String,
    /// The whole configuration as JSON, the secret of the fence included.
    pub text: String,
    /// `staged`, `current` or `retired`.
    pub state: String,
    /// When it was first seen.
    pub created_at_ms: i64,
    /// When it last ceased to be current, if it ever did.
    pub retired_at_ms: Option<i64>,
}

impl ConfigurationRow {
    /// Whether submissions are judged under it now.
    pub fn is_current(&self) -> bool {
        self.state == CURRENT
    }

    /// Whether there is a board under it: it is current or was so once.
    pub fn has_board(&self) -> bool {
        self.is_current() || self.retired_at_ms.is_some()
    }
}

/// The state of the one configuration that everything is judged under.
pub const CURRENT: &str = "current";

/// The state of the one configuration under which the board is judged anew, so that it can become current.
pub const STAGED: &str = "staged";

/// The state of all others.
pub const RETIRED: &str = "retired";

/// The current configuration.
pub fn find_current_configuration(connection: &mut DbConnection) -> Result<Option<ConfigurationRow>> {
    let current = judge_configurations::table.filter(judge_configurations::state.eq(CURRENT));
    Ok(current.first(connection).optional()?)
}

/// The configuration with this id.
pub fn load_configuration(connection: &mut DbConnection, id: &str) -> Result<ConfigurationRow> {
    Ok(judge_configurations::table.find(id).first(connection)?)
}

/// All configurations, oldest first.
pub fn load_configurations(connection: &mut DbConnection) -> Result<Vec<ConfigurationRow>> {
    let oldest_first = (judge_configurations::created_at_ms, judge_configurations::id);
    Ok(judge_configurations::table.order(oldest_first).load(connection)?)
}

/// Adds a configuration.
pub fn insert_configuration(connection: &mut DbConnection, row: &ConfigurationRow) -> Result<()> {
    diesel::insert_into(judge_configurations::table).values(row).execute(connection)?;
    Ok(())
}

/// The configuration with this id, whose state then stays till the transaction ends.
pub fn lock_configuration(connection: &mut DbConnection, id: &str) -> Result<ConfigurationRow> {
    diesel::update(judge_configurations::table.find(id))
        .set(judge_configurations::state.eq(judge_configurations::state))
        .execute(connection)?;
    load_configuration(connection, id)
}

/// All configurations, oldest first; their states then stay till the transaction ends, unless it changes them.
pub fn lock_configurations(connection: &mut DbConnection) -> Result<Vec<ConfigurationRow>> {
    // In one order, so that two who do so do not wait for each other in a circle.
    for row in load_configurations(connection)? {
        lock_configuration(connection, &row.id)?;
    }
    load_configurations(connection)
}

/// Retires the configuration that is in `state`, if there is one.
pub fn retire_configuration(connection: &mut DbConnection, state: &str, now_ms: i64) -> Result<()> {
    let concerned = || judge_configurations::table.filter(judge_configurations::state.eq(state));
    if state == CURRENT {
        diesel::update(concerned())
            .set(judge_configurations::retired_at_ms.eq(now_ms))
            .execute(connection)?;
    }
    diesel::update(concerned()).set(judge_configurations::state.eq(RETIRED)).execute(connection)?;
    Ok(())
}

/// Puts a configuration into a state that no other is in.
pub fn update_configuration_state(connection: &mut DbConnection, id: &str, state: &str) -> Result<()> {
    diesel::update(judge_configurations::table.find(id))
        .set(judge_configurations::state.eq(state))
        .execute(connection)?;
    Ok(())
}
