//! Archives of boards that were corrected, and of entries with answers that were decided by hand.

use serde_json::json;

use secchi::domain::question::Split;

use crate::archive::{archived, by_name};
use crate::by_hand::{captions, decide, decision, refusing, scored};
use crate::corrections::{CORRECTED, NOTICE, activate, changed, corrected, dataset, import};
use crate::record::{bytes, record_of};
use crate::staging::BOARD;
use crate::stand_in::StandIn;
use crate::support::{Ground, Options, Secchi, metadata};

/// A release that waits and was never active.
const WAITING: &str = "zqwaiting";

#[tokio::test(flavor = "multi_thread")]
async fn a_public_archive_has_the_boards_before_and_after_a_correction_and_names_no_release_that_had_none() {
    let judge = StandIn::start(0).await;
    let options = Options { judge: judge.flags(4), ..by_name() };
    let (secchi, team) = Secchi::with_sample(options).await;
    let mut ids = Vec::new();
    for (name, file) in [("Strong", "strong_model.jsonl"), ("Weak", "weak_model.jsonl")] {
        let entry = secchi.scored(&team, &metadata(name), file).await;
        ids.push(entry["id"].as_str().unwrap().to_owned());
    }
    import(&secchi, &corrected()).await;
    dataset(&secchi.ground, &["correct", CORRECTED, "--notice", NOTICE]).stdout();
    secchi.drain().await;
    activate(&secchi.ground, CORRECTED).stdout();
    secchi.drain().await;
    let shorter = changed(|record| record["question_id"] != "MVK--reef_dive_0007--q1");
    secchi.import_as(WAITING, Split::Test, &shorter[..]).await;

    let told = async |server: &Secchi| {
        let mut told = Vec::new();
        for path in [
            BOARD.to_owned(),
            format!("{BOARD}?release=sample&all=1"),
            format!("{BOARD}?format=md"),
            "/api/v1/benchmark".to_owned(),
            format!("/api/v1/entries/{}", ids[0]),
        ] {
            told.push(String::from_utf8(bytes(server, &path).await).unwrap());
        }
        let page = String::from_utf8(bytes(server, &format!("/entries/{}", ids[0])).await).unwrap();
        assert!(
            page.contains("Under other releases and judges") && page.contains("release=sample"),
            "{page}"
        );
        told
    };
    let before = told(&secchi).await;
    assert!(before[0].contains(NOTICE) && before[2].contains(NOTICE), "{before:?}");
    let compare = format!("/api/v1/compare?a={}&b={}", ids[0], ids[1]);
    let (compared, record) = (bytes(&secchi, &compare).await, bytes(&secchi, &record_of(&ids[0])).await);

    let shown = async |flags: &[&str]| {
        let (file, archive) = archived(&secchi.ground, flags);
        let holds = std::fs::read(&file).unwrap();
        let options = Options { archive: Some(file), ..by_name() };
        let is_named = holds.windows(WAITING.len()).any(|window| window == WAITING.as_bytes());
        (Secchi::on(Ground::sqlite(), options).await, archive["tables"]["releases"]["rows"].clone(), is_named)
    };
    let (here, releases, is_named) = shown(&["--public"]).await;
    assert_eq!((releases, is_named), (json!(2), false));
    assert_eq!(told(&here).await, before);
    assert_eq!(here.get(&compare, None).await.status(), 403, "single outcomes are not in it");
    here.stop().await;

    let (here, releases, is_named) = shown(&[]).await;
    assert_eq!((releases, is_named), (json!(3), true));
    assert_eq!(told(&here).await, before);
    assert_eq!(bytes(&here, &compare).await, compared);
    assert_eq!(bytes(&here, &record_of(&ids[0])).await, record);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_public_archive_tells_of_decisions_by_hand_what_entries_do_and_not_who_made_them() {
    let failing = captions()[2].clone();
    let (secchi, ..) = refusing(vec![failing.clone()]).await;
    let (team, other) = (secchi.team("reef-lab").await, secchi.team("ocean-deep").await);
    let maintainer = secchi.maintainer("zqharbour").await;
    let id = scored(&secchi, &team).await["id"].as_str().unwrap().to_owned();
    assert_eq!(decide(&secchi, &maintainer, &id, &decision(&failing, [4, 3, 5])).await.status(), 200);
    secchi.drain().await;
    // Another team's answer stands by the same decision, and its submission is on no board.
    let private = scored(&secchi, &other).await["id"].as_str().unwrap().to_owned();
    let path = format!("/api/v1/submissions/{private}");
    let request = secchi.request(reqwest::Method::PATCH, &path, Some(&other.key));
    let hidden = request.json(&json!({ "visibility": "private" })).send().await.unwrap();
    assert_eq!(hidden.status(), 200);
    let entry = secchi.get_json(&format!("/api/v1/entries/{id}"), None).await;
    assert_eq!(entry["decided_by_hand"][0]["question_id"], failing, "{entry}");

    let (file, archive) = archived(&secchi.ground, &["--public"]);
    let rows = |table: &str| archive["tables"][table]["rows"].clone();
    assert_eq!((rows("judgements"), rows("judge_failures")), (json!(1), json!(1)));
    let holds = std::fs::read(&file).unwrap();
    for secret in ["zqharbour", &private] {
        assert!(!holds.windows(secret.len()).any(|window| window == secret.as_bytes()), "{secret}");
    }
    let here = Secchi::on(Ground::sqlite(), Options { archive: Some(file), ..Options::default() }).await;
    assert_eq!(here.get_json(&format!("/api/v1/entries/{id}"), None).await, entry);
}
