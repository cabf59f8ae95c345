//! The two sets of migrations are twins, and each can be undone.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use diesel::backend::Backend;
use diesel::connection::SimpleConnection as _;
use diesel::migration::MigrationConnection;
use diesel::prelude::*;
use diesel::sql_types::Text;
use diesel_migrations::{FileBasedMigrations, MigrationHarness};

use crate::support::Ground;

const BACKENDS: [&str; 2] = ["sqlite", "postgres"];

/// What is written otherwise on PostgreSQL, and how SQLite says it.
const DIALECT: [(&str, &str); 2] =
    [("BYTEA", "BLOB"), ("replace(gen_random_uuid()::text, '-', '')", "lower(hex(randomblob(16)))")];

/// Triggers are written otherwise on each: paragraphs that begin so are compared by what they do, in tests of what they keep.
const TRIGGERS: [&str; 2] = ["CREATE TRIGGER", "CREATE FUNCTION"];

/// Whether a line is a comment or drops a trigger.
fn is_aside(line: &str) -> bool {
    ["--", "DROP TRIGGER", "DROP FUNCTION"].iter().any(|start| line.trim_start().starts_with(start))
}

fn folder(backend: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("migrations").join(backend)
}

/// The files of a back end's migrations: name to statements, without comments and in SQLite's dialect.
fn statements(backend: &str) -> BTreeMap<String, Vec<String>> {
    let mut files = BTreeMap::new();
    for migration in std::fs::read_dir(folder(backend)).unwrap() {
        let migration = migration.unwrap();
        for file in std::fs::read_dir(migration.path()).unwrap() {
            let file = file.unwrap().path();
            let text = std::fs::read_to_string(&file).unwrap();
            let code = text.split("\n\n").filter(|part| !TRIGGERS.iter().any(|kind| part.starts_with(kind)));
            let code = code.flat_map(str::lines).filter(|line| !is_aside(line));
            let words = code.flat_map(str::split_whitespace).collect::<Vec<_>>().join(" ");
            let words =
                DIALECT.iter().fold(words, |words, (postgres, sqlite)| words.replace(postgres, sqlite));
            let name = format!(
                "{}/{}",
                migration.file_name().to_str().unwrap(),
                file.file_name().unwrap().to_str().unwrap()
            );
            files.insert(name, words.split_inclusive(';').map(|part| part.trim().to_owned()).collect());
        }
    }
    files
}

#[test]
fn both_databases_get_the_same_tables_columns_and_indexes_in_the_same_order() {
    let [sqlite, postgres] = BACKENDS.map(statements);
    assert!(!sqlite.is_empty());
    assert_eq!(sqlite.keys().collect::<Vec<_>>(), postgres.keys().collect::<Vec<_>>());
    for (name, statements) in &sqlite {
        assert_eq!(statements.len(), postgres[name].len(), "{name}");
        for (sqlite, postgres) in statements.iter().zip(&postgres[name]) {
            assert_eq!(sqlite, postgres, "{name}");
        }
    }
}

#[test]
fn every_table_that_is_made_is_dropped_again() {
    for backend in BACKENDS {
        let files = statements(backend);
        let named = |suffix: &str, before: &str| -> Vec<String> {
            let of_kind = files.iter().filter(|(name, _)| name.ends_with(suffix)).flat_map(|(_, all)| all);
            let mut names: Vec<String> = of_kind
                .filter_map(|statement| statement.strip_prefix(before))
                .map(|rest| rest.split([' ', ';']).next().unwrap().to_owned())
                .collect();
            names.sort();
            names
        };
        assert_eq!(named("/up.sql", "CREATE TABLE "), named("/down.sql", "DROP TABLE "), "{backend}");
    }
}

#[derive(Debug, PartialEq, QueryableByName)]
struct Line {
    #[diesel(sql_type = Text)]
    text: String,
}

/// Applies all migrations, undoes them and applies them again; `shape` tells what the database then holds.
fn there_and_back<C>(connection: &mut C, backend: &str, shape: &str)
where
    C: MigrationConnection + MigrationHarness<<C as Connection>::Backend> + 'static,
    <C as Connection>::Backend: Backend,
    for<'a> diesel::query_builder::SqlQuery: diesel::query_dsl::LoadQuery<'a, C, Line>,
{
    let migrations = FileBasedMigrations::from_path(folder(backend)).unwrap();
    let look = |connection: &mut C| -> Vec<Line> { diesel::sql_query(shape).load(connection).unwrap() };
    connection.run_pending_migrations(migrations.clone()).unwrap();
    let first = look(connection);
    assert!(first.len() > 18, "{first:?}");
    connection.revert_all_migrations(migrations.clone()).unwrap();
    let left = look(connection);
    assert!(left.iter().all(|line| line.text.contains("__diesel_schema_migrations")), "{left:?}");
    connection.run_pending_migrations(migrations).unwrap();
    assert_eq!(look(connection), first);
}

#[test]
fn up_down_and_up_again_gives_the_same_tables() {
    let ground = Ground::new();
    if ground.is_shared() {
        let mut connection = PgConnection::establish(&ground.database_url).unwrap();
        let shape =
            "SELECT table_name || '.' || column_name || ' ' || data_type || ' ' || is_nullable AS text
                     FROM information_schema.columns WHERE table_schema = 'public'
                     UNION SELECT indexdef FROM pg_indexes WHERE schemaname = 'public' ORDER BY 1";
        there_and_back(&mut connection, "postgres", shape);
    } else {
        let path = ground.data.path().join("twin.db");
        let mut connection = SqliteConnection::establish(path.to_str().unwrap()).unwrap();
        connection.batch_execute("PRAGMA foreign_keys = ON").unwrap();
        let shape = "SELECT coalesce(sql, name || ' ' || tbl_name) AS text FROM sqlite_master ORDER BY 1";
        there_and_back(&mut connection, "sqlite", shape);
    }
}
