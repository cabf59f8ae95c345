//! Which tables and columns there are, as the SQLite twin of the migrations made them: nobody keeps a list of them that a
//! new table could be missing from. Knows no table by its meaning.

use std::collections::HashSet;

use diesel::prelude::*;
use diesel::sql_types::Text;
use diesel::sqlite::SqliteConnection;

use super::{Result, StoreError};

/// The type of a column, which is the same in both databases.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// `TEXT`.
    Text,
    /// `INTEGER`, 32 bits.
    Integer,
    /// `BIGINT`, 64 bits.
    BigInt,
    /// `BOOLEAN`.
    Boolean,
    /// `DOUBLE PRECISION`.
    Double,
    /// `BLOB` of SQLite, `BYTEA` of PostgreSQL.
    Bytes,
}

impl Kind {
    fn parse(declared: &str) -> Result<Kind> {
        match declared {
            "TEXT" => Ok(Kind::Text),
            "INTEGER" => Ok(Kind::Integer),
            "BIGINT" => Ok(Kind::BigInt),
            "BOOLEAN" => Ok(Kind::Boolean),
            "DOUBLE PRECISION" => Ok(Kind::Double),
            "BLOB" => Ok(Kind::Bytes),
            _ => Err(StoreError::Unknown { what: "type of a column", value: declared.to_owned() }),
        }
    }
}

/// A column of a table.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Column {
    /// Its name.
    pub name: String,
    /// Its type.
    pub kind: Kind,
}

/// A table with all its columns.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Table {
    /// Its name.
    pub name: String,
    /// Its columns, in order.
    pub columns: Vec<Column>,
    parents: HashSet<String>,
}

impl Table {
    /// Selects every row with every column.
    pub fn select(&self) -> String {
        format!("SELECT {} FROM \"{}\"", self.column_names(), self.name)
    }

    /// The columns' names, quoted, in order.
    pub(super) fn column_names(&self) -> String {
        let names: Vec<String> = self.columns.iter().map(|column| format!("\"{}\"", column.name)).collect();
        names.join(", ")
    }
}

#[derive(QueryableByName)]
struct Named {
    #[diesel(sql_type = Text)]
    name: String,
}

#[derive(QueryableByName)]
struct Declared {
    #[diesel(sql_type = Text)]
    name: String,
    #[diesel(sql_type = Text)]
    declared: String,
}

/// The tables of the migrations, each after those that it refers to.
///
/// # Errors
/// When SQLite refuses, or a column is of a type that no migration uses.
pub fn load_tables(connection: &mut SqliteConnection) -> Result<Vec<Table>> {
    let named: Vec<Named> = diesel::sql_query(
        "SELECT name FROM sqlite_master WHERE type = 'table' AND substr(name, 1, 7) <> 'sqlite_'
             AND name NOT IN ('__diesel_schema_migrations', 'archive', 'archive_tables') ORDER BY rowid",
    )
    .load(connection)?;
    let mut waiting = Vec::new();
    for Named { name } in named {
        waiting.push(load_table(connection, name)?);
    }
    let mut ordered: Vec<Table> = Vec::new();
    while !waiting.is_empty() {
        let stands = |parent: &String| ordered.iter().any(|table| table.name == *parent);
        let next = waiting.iter().position(|table| table.parents.iter().all(stands));
        // Tables that refer to each other stay as they were made.
        ordered.push(waiting.remove(next.unwrap_or_default()));
    }
    Ok(ordered)
}

fn load_table(connection: &mut SqliteConnection, name: String) -> Result<Table> {
    let columns: Vec<Declared> =
        diesel::sql_query("SELECT name, type AS declared FROM pragma_table_info(?) ORDER BY cid")
            .bind::<Text, _>(&name)
            .load(connection)?;
    let column = |Declared { name, declared }| Ok(Column { kind: Kind::parse(&declared)?, name });
    let columns = columns.into_iter().map(column).collect::<Result<_>>()?;
    let parents: Vec<Named> =
        diesel::sql_query("SELECT DISTINCT \"table\" AS name FROM pragma_foreign_key_list(?)")
            .bind::<Text, _>(&name)
            .load(connection)?;
    let parents = parents.into_iter().map(|parent| parent.name).filter(|parent| *parent != name).collect();
    Ok(Table { name, columns, parents })
}
