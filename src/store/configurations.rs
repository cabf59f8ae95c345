//! Judge configurations, of which one is current.

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
}

/// The state of the one configuration that everything is judged under.
pub const CURRENT: &str = "current";

/// The current configuration.
pub fn find_current_configuration(connection: &mut DbConnection) -> Result<Option<ConfigurationRow>> {
    let current = judge_configurations::table.filter(judge_configurations::state.eq(CURRENT));
    Ok(current.first(connection).optional()?)
}

/// The configuration with this id.
pub fn load_configuration(connection: &mut DbConnection, id: &str) -> Result<ConfigurationRow> {
    Ok(judge_configurations::table.find(id).first(connection)?)
}

/// Adds a configuration.
pub fn insert_configuration(connection: &mut DbConnection, row: &ConfigurationRow) -> Result<()> {
    diesel::insert_into(judge_configurations::table).values(row).execute(connection)?;
    Ok(())
}
