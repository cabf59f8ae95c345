//! Archives that are not taken, or not written, each with a word that says what is wrong; and those of older versions,
//! which are.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use diesel::connection::SimpleConnection as _;
use diesel::prelude::*;
use diesel_migrations::{FileBasedMigrations, MigrationHarness as _};

use secchi::archive::{ArchiveError, NewArchive, Progress, show_archive, write_archive};
use secchi::store::rows::{Cells, Content, each_row};
use secchi::store::tables::load_tables;
use secchi::store::{DbConnection, StoreError};

use crate::archive::{archived, boards, by_name, lived_in, restored};
use crate::program::{Ended, run_on};
use crate::support::{Ground, NOON_MS, Secchi};

/// Tries to restore a file, which must leave no database behind, and gives what was said.
#[track_caller]
fn refused(file: &Path) -> String {
    let ground = Ground::sqlite();
    let Ended { code, stderr, .. } = run_on(&ground, &["restore", file.to_str().unwrap()]);
    assert_eq!(code, Some(1), "{stderr}");
    let left: Vec<_> = std::fs::read_dir(ground.data.path()).unwrap().collect();
    assert!(left.is_empty(), "{left:?}");
    stderr
}

/// A copy of an archive that differs from it.
fn changed(file: &Path, name: &str, change: impl FnOnce(&mut Vec<u8>)) -> PathBuf {
    let mut bytes = std::fs::read(file).unwrap();
    change(&mut bytes);
    let path = file.with_file_name(name);
    std::fs::write(&path, bytes).unwrap();
    path
}

/// A pipe into which nobody writes.
fn pipe(file: &Path) -> PathBuf {
    let path = file.with_file_name("pipe");
    assert!(std::process::Command::new("mkfifo").arg(&path).status().unwrap().success());
    path
}

/// A copy of an archive after these statements.
fn altered(file: &Path, name: &str, statements: &str) -> PathBuf {
    let path = changed(file, name, |_| {});
    let mut connection = SqliteConnection::establish(path.to_str().unwrap()).unwrap();
    connection.batch_execute(statements).unwrap();
    path
}

#[tokio::test(flavor = "multi_thread")]
async fn a_damaged_foreign_newer_or_public_archive_is_refused_with_what_is_wrong() {
    let (secchi, ..) = lived_in().await;
    let (file, _) = archived(&secchi.ground, &[]);
    let length = file.metadata().unwrap().len() as usize;
    let at = |words: &[u8]| {
        let bytes = std::fs::read(&file).unwrap();
        bytes.windows(words.len()).rposition(|window| window == words).unwrap()
    };
    let place = at(b"ocean-lab");
    let cases = [
        (changed(&file, "flipped", |bytes| bytes[place] ^= 1), "is damaged"),
        (changed(&file, "zeroed", |bytes| bytes[length / 2..length / 2 + 4096].fill(0)), "is damaged"),
        (changed(&file, "cut", |bytes| bytes.truncate(length / 2)), "is damaged"),
        (changed(&file, "stub", |bytes| bytes.truncate(60)), "`secchi archive` did not write"),
        (changed(&file, "text", |bytes| *bytes = b"a board".to_vec()), "it is no SQLite file"),
        (file.with_file_name("nowhere"), "No such file"),
        (altered(&file, "foreign", "PRAGMA application_id = 0"), "`secchi archive` did not write"),
        (
            altered(&file, "form", "UPDATE archive SET format = 2, secchi_version = '9.1.0'"),
            "Secchi 9.1.0 wrote it",
        ),
        (
            altered(
                &file,
                "later",
                "INSERT INTO __diesel_schema_migrations (version) VALUES ('20990101000000')",
            ),
            "which is newer than this one",
        ),
        (altered(&file, "row", "DELETE FROM quota_ledger"), "the rows of `quota_ledger` are not those"),
        (altered(&file, "value", "UPDATE teams SET name = 'Reef'"), "the rows of `teams` are not those"),
        (altered(&file, "table", "DROP TABLE letter_bands"), "its tables are not those"),
        // What is worked out or run is not read: it might never end.
        (
            altered(
                &file,
                "endless",
                "DROP TABLE archive_tables; CREATE VIEW archive_tables AS WITH RECURSIVE more (n) AS \
                 (SELECT 1 UNION ALL SELECT n + 1 FROM more) SELECT 'a' AS name, n AS rows, 'a' AS sha256 FROM more",
            ),
            "`archive_tables` is no table",
        ),
        (
            altered(&file, "view", "CREATE VIEW keys AS SELECT * FROM answer_keys"),
            "no version of Secchi made `keys`",
        ),
        (
            altered(&file, "trigger", "CREATE TRIGGER t AFTER INSERT ON teams BEGIN SELECT 1; END"),
            "no version of Secchi made `t`",
        ),
        (
            altered(
                &file,
                "codes",
                "UPDATE archive SET format = 2, secchi_version = '9' || char(27) || '[2J'",
            ),
            "Secchi 9 [2J wrote it",
        ),
        (pipe(&file), "it is no file"),
    ];
    for (path, words) in cases {
        let said = refused(&path);
        assert!(said.contains(words) && said.contains(path.to_str().unwrap()), "{words}: {said}");
        let shown = show_archive(path.clone()).await;
        assert!(shown.is_err(), "{} was shown", path.display());
    }
    let (public, _) = archived(&secchi.ground, &["--public"]);
    assert!(refused(&public).contains("is a public archive"), "{}", refused(&public));
}

#[tokio::test(flavor = "multi_thread")]
async fn only_an_empty_database_is_restored_into_and_a_refusal_changes_nothing() {
    let (secchi, ..) = lived_in().await;
    let (file, _) = archived(&secchi.ground, &[]);
    let before = boards(&secchi).await;
    let ground = secchi.stop().await;
    let Ended { code, stderr, .. } = run_on(&ground, &["restore", file.to_str().unwrap()]);
    assert_eq!(code, Some(1));
    assert!(stderr.contains("the database is not empty: there are rows in `"), "{stderr}");
    let secchi = Secchi::on(ground, by_name()).await;
    assert_eq!(boards(&secchi).await, before);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_file_is_replaced_only_on_demand_and_what_is_broken_off_leaves_none() {
    let (secchi, ..) = lived_in().await;
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("a b?c#d%.archive");
    std::fs::write(&file, "precious").unwrap();
    let Ended { code, stderr, .. } = run_on(&secchi.ground, &["archive", file.to_str().unwrap()]);
    assert_eq!(code, Some(1));
    assert!(stderr.contains("exists; give another name, or `--force`"), "{stderr}");
    assert_eq!(std::fs::read_to_string(&file).unwrap(), "precious");

    let progress = Arc::new(Progress::default());
    progress.stop();
    let new = NewArchive { path: file.clone(), public: false, force: true };
    let ended = write_archive(&secchi.running.evaluation.store, new, progress, NOON_MS).await;
    assert!(matches!(ended, Err(ArchiveError::Interrupted)), "{ended:?}");
    assert_eq!(std::fs::read_to_string(&file).unwrap(), "precious");
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1);

    let said = run_on(&secchi.ground, &["archive", file.to_str().unwrap(), "--force"]).stdout();
    assert!(said.contains("1 release") || said.contains("2 releases, 2 teams, 6 submissions"), "{said}");
    restored(&Ground::sqlite(), &file);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_database_that_is_not_there_or_of_another_version_is_not_archived() {
    let ground = Ground::sqlite();
    let file = ground.data.path().join("x.archive");
    let nowhere = run_on(&ground, &["archive", file.to_str().unwrap()]);
    assert!(nowhere.stderr.contains("No such file"), "{nowhere:?}");
    assert!(!ground.data.path().join("secchi.db").exists());
    run_on(&ground, &["migrate"]).stdout();
    let path = ground.data.path().join("secchi.db");
    let mut connection = SqliteConnection::establish(path.to_str().unwrap()).unwrap();
    revert(&mut connection);
    let older = run_on(&ground, &["archive", file.to_str().unwrap()]);
    assert!(older.stderr.contains("run `secchi migrate` first"), "{older:?}");
    assert!(!file.exists());
}

#[tokio::test(flavor = "multi_thread")]
async fn an_archive_is_not_taken_for_a_database_to_work_on() {
    let (secchi, ..) = lived_in().await;
    let (file, _) = archived(&secchi.ground, &[]);
    let whole = std::fs::read(&file).unwrap();
    let mut ground = Ground::sqlite();
    ground.database_url = format!("sqlite://{}", file.display());
    for command in [&["migrate"][..], &["team", "list"], &["archive", "again.archive"]] {
        let Ended { code, stderr, .. } = run_on(&ground, command);
        assert_eq!(code, Some(1), "{stderr}");
        assert!(stderr.contains("is an archive; `secchi restore` makes a database of it"), "{stderr}");
    }
    assert_eq!(std::fs::read(&file).unwrap(), whole);
}

fn revert(connection: &mut SqliteConnection) {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("migrations/sqlite");
    connection.revert_last_migration(FileBasedMigrations::from_path(folder).unwrap()).unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn an_archive_of_an_older_version_is_brought_up_to_date_on_the_way() {
    let (secchi, ..) = lived_in().await;
    let (file, _) = archived(&secchi.ground, &[]);
    let older = changed(&file, "older.archive", |_| {});
    let mut connection = SqliteConnection::establish(older.to_str().unwrap()).unwrap();
    let tables = load_tables(&mut connection).unwrap().len();
    // Back to where a table and some columns are not there yet.
    while load_tables(&mut connection).unwrap().len() == tables {
        revert(&mut connection);
    }
    // What that version wrote of what it held.
    connection.batch_execute("DELETE FROM archive_tables").unwrap();
    let held = load_tables(&mut connection).unwrap();
    let mut connection = DbConnection::Sqlite(connection);
    for table in held {
        let mut content = Content::default();
        let add = |row: Cells| {
            content.add(&row);
            Ok::<(), StoreError>(())
        };
        each_row(&mut connection, &table.select(), add).unwrap();
        let (name, rows, sha256) = (&table.name, content.rows, content.sha256());
        let insert = format!("INSERT INTO archive_tables VALUES ('{name}', {rows}, '{sha256}')");
        connection.batch_execute(&insert).unwrap();
    }
    drop(connection);

    let bytes = std::fs::read(&older).unwrap();
    let here = Ground::sqlite();
    restored(&here, &older);
    let here = Secchi::on(here, by_name()).await;
    assert_eq!(boards(&here).await, boards(&secchi).await);
    let shown = show_archive(older.clone()).await.unwrap();
    assert!(shown.store().is_read_only());
    assert_eq!(std::fs::read(&older).unwrap(), bytes, "an archive was changed");
}

#[tokio::test(flavor = "multi_thread")]
async fn an_archive_never_takes_the_place_of_the_database_that_it_is_of() {
    let secchi = Secchi::on(Ground::sqlite(), Default::default()).await;
    let file = PathBuf::from(secchi.ground.database_url.strip_prefix("sqlite://").unwrap());
    let link = file.with_file_name("link");
    std::os::unix::fs::symlink(&file, &link).unwrap();
    for path in [file.clone(), file.with_file_name("secchi.db-wal"), link] {
        let ended = run_on(&secchi.ground, &["archive", "--force", path.to_str().unwrap()]);
        assert!(ended.code == Some(1) && ended.stderr.contains("is the database itself"), "{ended:?}");
    }
}
