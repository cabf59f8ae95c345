//! Rows of any table as cells, read one by one from either database and written to either. Knows no table.

use diesel::connection::{DefaultLoadingMode, SimpleConnection as _};
use diesel::deserialize::{self, FromSql, QueryableByName};
use diesel::pg::{Pg, PgRowByRowLoadingMode, PgValue};
use diesel::prelude::*;
use diesel::row::{Field as _, NamedRow};
use diesel::sql_types::{BigInt, Binary, Bool, Double, Integer, Nullable, Text};
use diesel::sqlite::{Sqlite, SqliteType, SqliteValue};
use sha2::{Digest as _, Sha256};

use super::connection::on_each;
use super::tables::{Kind, Table};
use super::{DbConnection, Result, StoreError};

/// One value of one row. It has no `Debug`: it may be a secret.
#[derive(Clone, PartialEq)]
pub enum Cell {
    /// No value.
    Null,
    /// A whole number or a truth value.
    Integer(i64),
    /// Another number.
    Real(f64),
    /// A text.
    Text(String),
    /// Bytes.
    Bytes(Vec<u8>),
}

impl Cell {
    /// The same value as a column of this type holds it; none where it cannot.
    pub fn fit(self, kind: Kind) -> Option<Cell> {
        match (kind, self) {
            (_, Cell::Null) => Some(Cell::Null),
            (Kind::Text, cell @ Cell::Text(_)) | (Kind::Bytes, cell @ Cell::Bytes(_)) => Some(cell),
            (Kind::Bytes, Cell::Text(text)) => Some(Cell::Bytes(text.into_bytes())),
            (Kind::BigInt, cell @ Cell::Integer(_)) | (Kind::Double, cell @ Cell::Real(_)) => Some(cell),
            (Kind::Integer, Cell::Integer(number)) => {
                i32::try_from(number).ok().map(|_| Cell::Integer(number))
            }
            (Kind::Boolean, Cell::Integer(number @ (0 | 1))) => Some(Cell::Integer(number)),
            (Kind::Double, Cell::Integer(number)) => Some(Cell::Real(number as f64)),
            _ => None,
        }
    }

    /// About how many bytes it takes.
    pub fn size(&self) -> usize {
        match self {
            Cell::Null | Cell::Integer(_) | Cell::Real(_) => 8,
            Cell::Text(text) => text.len(),
            Cell::Bytes(bytes) => bytes.len(),
        }
    }

    fn integer(&self) -> Option<i64> {
        if let Cell::Integer(number) = self { Some(*number) } else { None }
    }

    fn real(&self) -> Option<f64> {
        if let Cell::Real(number) = self { Some(*number) } else { None }
    }

    fn text(&self) -> Option<&str> {
        if let Cell::Text(text) = self { Some(text) } else { None }
    }

    fn bytes(&self) -> Option<&[u8]> {
        if let Cell::Bytes(bytes) = self { Some(bytes) } else { None }
    }

    fn hash_into(&self, hash: &mut Sha256) {
        let (tag, number) = match self {
            Cell::Null => (0, [0; 8]),
            Cell::Integer(number) => (1, number.to_le_bytes()),
            Cell::Real(number) => (2, number.to_bits().to_le_bytes()),
            Cell::Text(text) => (3, (text.len() as u64).to_le_bytes()),
            Cell::Bytes(bytes) => (4, (bytes.len() as u64).to_le_bytes()),
        };
        hash.update([tag]);
        hash.update(number);
        hash.update(self.text().map_or_else(|| self.bytes().unwrap_or_default(), str::as_bytes));
    }
}

/// A row's cells, in the order of the columns that were asked for.
pub type Cells = Vec<Cell>;

/// How many rows a table has, and a sum over them that does not depend on their order: databases sort texts differently.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Content {
    /// The rows.
    pub rows: i64,
    sum: [u8; 32],
}

impl Content {
    /// Counts a row. No table has two equal ones, since each has a key: none cancels another out.
    pub fn add(&mut self, row: &[Cell]) {
        let mut hash = Sha256::new();
        row.iter().for_each(|cell| cell.hash_into(&mut hash));
        self.sum.iter_mut().zip(hash.finalize()).for_each(|(sum, byte)| *sum ^= byte);
        self.rows += 1;
    }

    /// The sum in hex.
    pub fn sha256(&self) -> String {
        hex::encode(self.sum)
    }
}

struct Found(Cells);

impl QueryableByName<Sqlite> for Found {
    fn build<'a>(row: &impl NamedRow<'a, Sqlite>) -> deserialize::Result<Self> {
        let cells = (0..row.field_count()).map(|place| {
            let field = diesel::row::Row::get(row, place).ok_or("a row is too short")?;
            field.value().map_or(Ok(Cell::Null), sqlite_cell)
        });
        cells.collect::<deserialize::Result<_>>().map(Found)
    }
}

impl QueryableByName<Pg> for Found {
    fn build<'a>(row: &impl NamedRow<'a, Pg>) -> deserialize::Result<Self> {
        let cells = (0..row.field_count()).map(|place| {
            let field = diesel::row::Row::get(row, place).ok_or("a row is too short")?;
            field.value().map_or(Ok(Cell::Null), postgres_cell)
        });
        cells.collect::<deserialize::Result<_>>().map(Found)
    }
}

fn sqlite_cell(value: SqliteValue<'_, '_, '_>) -> deserialize::Result<Cell> {
    Ok(match value.value_type() {
        None => Cell::Null,
        Some(SqliteType::Text) => Cell::Text(FromSql::<Text, Sqlite>::from_sql(value)?),
        Some(SqliteType::Binary) => Cell::Bytes(FromSql::<Binary, Sqlite>::from_sql(value)?),
        Some(SqliteType::Float | SqliteType::Double) => {
            Cell::Real(FromSql::<Double, Sqlite>::from_sql(value)?)
        }
        Some(SqliteType::SmallInt | SqliteType::Integer | SqliteType::Long) => {
            Cell::Integer(FromSql::<BigInt, Sqlite>::from_sql(value)?)
        }
    })
}

fn postgres_cell(value: PgValue<'_>) -> deserialize::Result<Cell> {
    // The types of `pg_type` that a query over the migrations' columns can give.
    match value.get_oid().get() {
        16 => Ok(Cell::Integer(<bool as FromSql<Bool, Pg>>::from_sql(value)?.into())),
        17 => Ok(Cell::Bytes(FromSql::<Binary, Pg>::from_sql(value)?)),
        20 => Ok(Cell::Integer(FromSql::<BigInt, Pg>::from_sql(value)?)),
        23 => Ok(Cell::Integer(<i32 as FromSql<Integer, Pg>>::from_sql(value)?.into())),
        25 => Ok(Cell::Text(FromSql::<Text, Pg>::from_sql(value)?)),
        701 => Ok(Cell::Real(FromSql::<Double, Pg>::from_sql(value)?)),
        other => Err(format!("a column has PostgreSQL's type {other}, which no migration uses").into()),
    }
}

/// Hands the rows that `select` finds to `each`, one after the other, without holding all of them.
///
/// # Errors
/// Those of `each`, and when the database refuses.
pub fn each_row<E: From<StoreError>>(
    connection: &mut DbConnection,
    select: &str,
    mut each: impl FnMut(Cells) -> std::result::Result<(), E>,
) -> std::result::Result<(), E> {
    let query = diesel::sql_query(select);
    match connection {
        DbConnection::Sqlite(inner) => {
            for row in query.load_iter::<Found, DefaultLoadingMode>(inner).map_err(StoreError::from)? {
                each(row.map_err(StoreError::from)?.0)?;
            }
        }
        DbConnection::Postgres(inner) => {
            for row in query.load_iter::<Found, PgRowByRowLoadingMode>(inner).map_err(StoreError::from)? {
                each(row.map_err(StoreError::from)?.0)?;
            }
        }
    }
    Ok(())
}

/// How many rows `select` finds.
pub fn count_rows(connection: &mut DbConnection, select: &str) -> Result<u64> {
    let mut count = 0;
    each_row(connection, &format!("SELECT count(*) FROM ({select}) AS found"), |row| {
        count = row.first().and_then(Cell::integer).and_then(|count| u64::try_from(count).ok()).unwrap_or(0);
        Ok::<_, StoreError>(())
    })?;
    Ok(count)
}

/// Removes all rows of the table with this name.
pub fn empty_table(connection: &mut DbConnection, name: &str) -> Result<()> {
    connection.batch_execute(&format!("DELETE FROM \"{name}\""))?;
    Ok(())
}

/// Adds rows whose cells fit the table's columns.
pub fn insert_rows(connection: &mut DbConnection, table: &Table, rows: &[Cells]) -> Result<()> {
    if rows.is_empty() {
        return Ok(());
    }
    let is_postgres = matches!(connection, DbConnection::Postgres(_));
    let width = table.columns.len();
    let place = |row: usize, column: usize| match is_postgres {
        true => format!("${}", row * width + column + 1),
        false => "?".to_owned(),
    };
    let group = |row: usize| {
        let places: Vec<String> = (0..width).map(|column| place(row, column)).collect();
        format!("({})", places.join(","))
    };
    let groups: Vec<String> = (0..rows.len()).map(group).collect();
    let (name, columns, groups) = (&table.name, table.column_names(), groups.join(","));
    let insert = format!("INSERT INTO \"{name}\" ({columns}) VALUES {groups}");
    on_each!(connection, |inner| {
        let mut query = diesel::sql_query(insert).into_boxed();
        for (column, cell) in rows.iter().flat_map(|row| table.columns.iter().zip(row)) {
            query = match column.kind {
                Kind::Text => query.bind::<Nullable<Text>, _>(cell.text()),
                Kind::Integer => {
                    query.bind::<Nullable<Integer>, _>(cell.integer().map(|number| number as i32))
                }
                Kind::BigInt => query.bind::<Nullable<BigInt>, _>(cell.integer()),
                Kind::Boolean => query.bind::<Nullable<Bool>, _>(cell.integer().map(|number| number == 1)),
                Kind::Double => query.bind::<Nullable<Double>, _>(cell.real()),
                Kind::Bytes => query.bind::<Nullable<Binary>, _>(cell.bytes()),
            };
        }
        query.execute(inner)
    })?;
    Ok(())
}
