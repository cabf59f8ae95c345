//! A public archive holds what the board shows to everybody and nothing else: by a closed list of tables and columns, and
//! by a search for everything that is secret.

use std::path::Path;

use reqwest::Method;
use serde_json::{Value, json};

use secchi::store::archive::create_archive;
use secchi::store::public::public_select;
use secchi::store::tables::{Column, Kind, Table};

use crate::archive::{archived, boards, by_name, lived_in, seen_as};
use crate::operations::{answers, application};
use crate::record::{KEYS, bytes, record_of};
use crate::secrecy::{ANSWER_MARK, MARK, marked_release};
use crate::support::{Ground, Options, Secchi, TestTeam, metadata, problem, sample_bytes};

fn tables(folder: &Path) -> Vec<Table> {
    create_archive(&folder.join("empty")).unwrap().1
}

#[test]
fn somebody_has_decided_of_every_table_and_column_whether_it_is_public() {
    let folder = tempfile::tempdir().unwrap();
    let tables = tables(folder.path());
    assert!(tables.len() > 30);
    for table in &tables {
        let decided = public_select(table);
        assert!(
            decided.is_ok(),
            "`{}` is neither public nor left out: see src/store/public.rs",
            decided.unwrap_err()
        );
    }
}

#[test]
fn a_new_table_or_column_makes_no_public_archive_until_somebody_decides() {
    let folder = tempfile::tempdir().unwrap();
    let tables = tables(folder.path());
    let public = |table: &&Table| matches!(public_select(table), Ok(Some(_)));
    for table in tables.iter().filter(public) {
        let mut wider = table.clone();
        wider.columns.push(Column { name: "secret".into(), kind: Kind::Text });
        assert_eq!(public_select(&wider), Err(format!("{}.secret", table.name)));
        let mut narrower = table.clone();
        let gone = narrower.columns.remove(0);
        assert_eq!(public_select(&narrower), Err(format!("{}.{}", table.name, gone.name)));
        let mut renamed = table.clone();
        renamed.name = "attic".into();
        assert_eq!(public_select(&renamed), Err("attic".into()));
    }
}

/// A server whose secrets can be recognised, with everything that is public and private.
async fn marked() -> (Secchi, TestTeam, TestTeam) {
    let secchi = Secchi::with(by_name()).await;
    let release = marked_release(secchi.ground.data.path());
    secchi
        .import_as("sample", secchi::domain::question::Split::Test, std::fs::File::open(release).unwrap())
        .await;
    let (team, other) = (secchi.team("ocean-lab").await, secchi.team("zqshadow-lab").await);
    secchi.maintainer("zqharbour").await;
    let signed_up = secchi.request(Method::POST, "/api/v1/signup", None).json(&application("zqnewcomers"));
    let signed_up = signed_up.send().await.unwrap();
    assert!(signed_up.status().is_success(), "{}", signed_up.text().await.unwrap());
    let file = |letter: &str| answers("test.jsonl", |_| format!("({letter}) {ANSWER_MARK}"));
    for (team, metadata, letter) in [
        (&team, seen_as("zqprivate", "private"), "A"),
        (&team, metadata("Reef-8B"), "B"),
        (&other, seen_as("Nameless", "anonymous"), "C"),
        (&other, seen_as("Nameless too", "anonymous"), "D"),
        (&other, seen_as("zqwithdrawn", "public"), "B"),
    ] {
        let mut metadata = metadata;
        metadata["description"] =
            json!(if metadata["visibility"] == "public" { "our run" } else { "zqdescribed" });
        let sent = secchi.submit(team, &metadata, file(letter)).await;
        let accepted: Value = sent.json().await.unwrap();
        let id = accepted["id"].as_str().unwrap_or_else(|| panic!("{accepted}")).to_owned();
        secchi.drain().await;
        if metadata["model_name"] == "zqwithdrawn" {
            let path = format!("/api/v1/submissions/{id}/withdraw");
            let reason = json!({ "reason": "zqreason" });
            let sent = secchi.request(Method::POST, &path, Some(&team.key)).json(&reason).send();
            assert!(sent.await.unwrap().status().is_success());
        }
    }
    // A correction that waits.
    let release = sample_bytes("test.jsonl");
    let shorter = &release[1 + release.iter().position(|byte| *byte == b'\n').unwrap()..];
    secchi.import_as("zqwaiting", secchi::domain::question::Split::Test, shorter).await;
    (secchi, team, other)
}

/// Every text of a column, as a command of SQLite would give it.
fn column(secchi: &Ground, sql: &str) -> Vec<String> {
    use secchi::store::{Store, StoreError};
    let (url, sql) = (secchi.database_url.clone(), sql.to_owned());
    let read = async move {
        let store = Store::open(&url).await.unwrap();
        let mut found = Vec::new();
        store
            .read(move |connection| {
                secchi::store::rows::each_row(connection, &sql, |row| {
                    found.extend(row.into_iter().filter_map(|cell| match cell {
                        secchi::store::rows::Cell::Text(text) => Some(text.into_bytes()),
                        secchi::store::rows::Cell::Bytes(bytes) => Some(bytes),
                        _ => None,
                    }));
                    Ok::<_, StoreError>(())
                })?;
                Ok::<_, StoreError>(found)
            })
            .await
            .unwrap()
    };
    let found = tokio::task::block_in_place(|| tokio::runtime::Handle::current().block_on(read));
    found
        .into_iter()
        .map(|bytes| String::from_utf8(bytes.clone()).unwrap_or_else(|_| hex::encode(bytes)))
        .collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn no_mark_of_a_key_an_answer_a_credential_or_a_private_thing_is_in_a_public_archive() {
    let (secchi, team, other) = marked().await;
    // The key that signs records is made when the first is asked for.
    secchi.get(KEYS, None).await;
    let (full, _) = archived(&secchi.ground, &[]);
    let full = std::fs::read(full).unwrap();
    let (public, archive) = archived(&secchi.ground, &["--public"]);
    let public = std::fs::read(public).unwrap();
    let holds = |bytes: &[u8], words: &[u8]| bytes.windows(words.len()).any(|window| window == words);
    assert_eq!(archive["public"], true);

    let ground = &secchi.ground;
    let mut secrets: Vec<String> =
        [MARK, "zqshadow", "zqharbour", "zqnewcomers", "zqprivate", "zqwithdrawn", "zqwaiting"]
            .into_iter()
            .chain(["zqdescribed", "zqreason", ".example.org"])
            .map(str::to_owned)
            .collect();
    for sql in [
        "SELECT sha256 FROM api_keys",
        "SELECT id FROM api_keys",
        "SELECT claim_sha256, address_sha256, email FROM signups",
        "SELECT question_id, question, prompt FROM questions",
        "SELECT video_id, video_file FROM videos",
        "SELECT content_sha256 FROM submissions",
        "SELECT key FROM judgements",
        "SELECT id FROM teams",
        "SELECT id FROM audit_log",
        "SELECT id FROM quota_ledger",
        "SELECT id FROM submissions WHERE visibility = 'private' OR withdrawn_reason IS NOT NULL",
        "SELECT id FROM installation",
        "SELECT id, content_sha256 FROM releases WHERE NOT shown",
        "SELECT answer_text FROM answer_keys WHERE length(answer_text) > 30",
    ] {
        let found = column(ground, sql);
        assert!(!found.is_empty(), "{sql}");
        secrets.extend(found);
    }
    let texts = column(ground, "SELECT text FROM judge_configurations");
    let fence =
        serde_json::from_str::<Value>(&texts[0]).unwrap()["fence_secret"].as_str().unwrap().to_owned();
    secrets.push(fence);
    for secret in &secrets {
        assert!(holds(&full, secret.as_bytes()), "`{secret}` is not even in a full archive");
        assert!(!holds(&public, secret.as_bytes()), "`{secret}` is in a public archive");
    }
    let blobs = column(ground, "SELECT seed FROM record_keys")
        .into_iter()
        .chain(column(ground, "SELECT vector FROM outcomes"));
    for blob in blobs.chain(column(ground, "SELECT answers FROM predictions")) {
        let bytes = hex::decode(&blob).unwrap_or_else(|_| blob.clone().into_bytes());
        assert!(
            holds(&full, &bytes[..bytes.len().min(32)]) && !holds(&public, &bytes[..bytes.len().min(32)])
        );
    }
    for key in [&team.key, &other.key, ANSWER_MARK] {
        assert!(!holds(&public, key.as_bytes()));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_board_of_a_public_archive_is_the_board_to_the_last_digit() {
    let (secchi, ..) = lived_in().await;
    let before = boards(&secchi).await;
    let keys = bytes(&secchi, KEYS).await;
    let rows = secchi.entries("/api/v1/leaderboard?all=1").await;
    let ids: Vec<&str> = rows.as_array().unwrap().iter().map(|row| row["entry"].as_str().unwrap()).collect();
    let mut entries = Vec::new();
    for id in &ids {
        entries.push(secchi.get_json(&format!("/api/v1/entries/{id}"), None).await);
    }
    let (file, archive) = archived(&secchi.ground, &["--public"]);
    assert_eq!((&archive["tables"]["submissions"]["rows"], ids.len()), (&json!(3), 3));
    assert_eq!(archive["tables"]["teams"]["rows"], 2);

    let here = Secchi::on(Ground::sqlite(), Options { archive: Some(file), ..by_name() }).await;
    assert_eq!(boards(&here).await, before);
    assert_eq!(bytes(&here, KEYS).await, keys);
    for (id, entry) in ids.iter().zip(entries) {
        assert_eq!(here.get_json(&format!("/api/v1/entries/{id}"), None).await, entry);
        assert_eq!(here.get(&format!("/entries/{id}"), None).await.status(), 200);
        let refused = problem(here.get(&record_of(id), None).await, 403).await;
        assert_eq!(refused["code"], "not_archived");
    }
    let compared = format!("/api/v1/compare?a={}&b={}", ids[0], ids[1]);
    assert_eq!(problem(here.get(&compared, None).await, 403).await["code"], "not_archived");
    let page = here.get(&format!("/compare?a={}&b={}", ids[0], ids[1]), None).await;
    assert_eq!(page.status(), 403);
    let judge = here.get("/judge", None).await.text().await.unwrap();
    assert!(judge.contains("The configuration in force") && !judge.contains("What it has done"), "{judge}");
}
