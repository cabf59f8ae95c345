//! A server that shows an archive: everything that is public from the file alone, nothing that changes anything, and no
//! trace left on the disk.

use std::path::Path;

use reqwest::{Client, Method, redirect};
use serde_json::Value;
use sha2::{Digest as _, Sha256};

use secchi::records::{KeySet, check};

use crate::archive::{archived, boards, by_name, lived_in};
use crate::operations::operations;
use crate::process::Process;
use crate::record::{KEYS, bytes, record_of};
use crate::support::{Ground, Options, Secchi, problem};

/// Pages that are for teams, or make one.
const OF_TEAMS: [&str; 8] = [
    "/sign-in",
    "/sign-up",
    "/submit",
    "/submissions",
    "/quota",
    "/keys",
    "/admin/signups",
    "/submissions/x",
];

fn sha256(file: &Path) -> String {
    hex::encode(Sha256::digest(std::fs::read(file).unwrap()))
}

#[tokio::test(flavor = "multi_thread")]
async fn an_archive_shows_the_board_entries_comparisons_and_records_and_takes_nothing() {
    let (secchi, team, _) = lived_in().await;
    let before = boards(&secchi).await;
    let keys = KeySet::read(&bytes(&secchi, KEYS).await).unwrap();
    let rows = secchi.entries("/api/v1/leaderboard").await;
    let ids: Vec<&str> = rows.as_array().unwrap().iter().map(|row| row["entry"].as_str().unwrap()).collect();
    let compare = format!("/api/v1/compare?a={}&b={}", ids[0], ids[1]);
    let compared = secchi.get_json(&compare, None).await;
    let (file, _) = archived(&secchi.ground, &[]);
    let whole = sha256(&file);

    let ground = Ground::sqlite();
    let folder = ground.data.path().to_owned();
    let here =
        Secchi::on(ground, Options { archive: Some(file.clone()), with_worker: true, ..by_name() }).await;
    assert_eq!(boards(&here).await, before);
    assert_eq!(here.get_json(&compare, None).await, compared);
    let record = bytes(&here, &record_of(ids[0])).await;
    assert!(check(&record, Some(&keys)).unwrap().key_is_known);
    let pages =
        ["/", "/about", "/judge", "/compare", "/docs/", "/feed.atom", "/readyz", "/healthz", "/og/board.png"];
    for page in pages {
        assert_eq!(here.get(page, None).await.status(), 200, "{page}");
    }
    for id in &ids {
        assert_eq!(here.get(&format!("/entries/{id}"), None).await.status(), 200);
    }
    for page in OF_TEAMS {
        let said = here.get(page, None).await;
        assert_eq!(said.status(), 403, "{page}");
        assert!(said.text().await.unwrap().contains("This server shows an archive"), "{page}");
    }
    for operation in operations() {
        for key in [None, Some(team.key.as_str())] {
            let request = operation.request((&here.http, &here.base), key, ids[0], &team.key);
            let response = request.send().await.unwrap();
            let is_public = operation.method == Method::GET && operation.scope().is_none();
            if is_public {
                assert!(response.status().as_u16() < 500, "{}: {}", operation.id, response.status());
            } else {
                assert_eq!(problem(response, 403).await["code"], "read_only", "{}", operation.id);
            }
        }
    }
    for path in ["/sign-in", "/submit", "/sign-up", "/keys", "/"] {
        let posted = here
            .request(Method::POST, path, None)
            .body(format!("api_key={}", team.key))
            .send()
            .await
            .unwrap();
        assert_eq!(problem(posted, 403).await["code"], "read_only", "{path}");
    }
    here.stop().await;
    assert_eq!(sha256(&file), whole, "the archive was changed");
    let left: Vec<_> = std::fs::read_dir(&folder).map(|left| left.collect()).unwrap_or_default();
    assert!(left.is_empty(), "{left:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn the_program_shows_an_archive_from_any_folder_and_leaves_nothing_in_it() {
    let (secchi, ..) = lived_in().await;
    let expected: Value = secchi.get_json("/api/v1/leaderboard", None).await;
    let (file, _) = archived(&secchi.ground, &[]);
    let whole = sha256(&file);
    let beside = std::fs::read_dir(file.parent().unwrap()).unwrap().count();
    let ground = Ground::sqlite();
    // What is set for the server that works is not obeyed by one that shows.
    let environment = [("SECCHI_REDIS_URL", "redis://127.0.0.1:1/"), ("SECCHI_LOG", "warn")];
    let mut server = Process::show(&ground, &file, &environment);
    let http = Client::builder().redirect(redirect::Policy::none()).build().unwrap();
    let board = http.get(format!("{}/api/v1/leaderboard", server.base)).send().await.unwrap();
    assert_eq!(board.json::<Value>().await.unwrap(), expected);
    let metrics = reqwest::get(format!("http://{}/metrics", server.metrics)).await.unwrap();
    assert_eq!(metrics.status(), 200);
    let (status, _) = server.terminate().await;
    assert!(status.success());
    assert_eq!(server.log(), "");
    assert_eq!(sha256(&file), whole);
    assert_eq!(std::fs::read_dir(file.parent().unwrap()).unwrap().count(), beside);
    let names = std::fs::read_dir(ground.data.path()).unwrap().map(|entry| entry.unwrap().file_name());
    let left: Vec<_> = names.filter(|name| !name.to_string_lossy().ends_with(".log")).collect();
    assert!(left.is_empty(), "{left:?}");
}
