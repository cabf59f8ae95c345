//! The maintainers' pages of releases: making one the active one, and one as the correction of another.

use secchi::domain::question::Split;
use serde_json::Value;

use crate::pages_admin::{maintainer, needs};
use crate::support::{Options, Secchi, metadata, sample_bytes};

#[tokio::test(flavor = "multi_thread")]
async fn a_newer_release_is_made_active_by_form_and_the_one_before_again() {
    let (secchi, _) = Secchi::with_sample(Options::default()).await;
    let maintainer = maintainer(&secchi).await;
    assert!(needs(&maintainer.get("/admin/releases").await.text).contains("Nothing"));
    let text = sample_bytes("test.jsonl");
    let lines: Vec<&[u8]> = text.split_inclusive(|byte| *byte == b'\n').collect();
    let fewer = lines[..lines.len() - 1].concat();
    secchi.clock.advance_ms(1000);
    secchi.import_as("2026 <b>", Split::Test, fewer.as_slice()).await;
    let page = maintainer.get("/admin/releases").await.text;
    assert!(
        needs(&page).contains("2026 &lt;b&gt;") && needs(&page).contains("/admin/releases/activate"),
        "{page}"
    );
    for name in ["2026 <b>", "sample"] {
        let activated =
            maintainer.send("/admin/releases/activate", &[("split", "test"), ("name", name)]).await;
        assert_eq!(activated.location, "/admin/releases");
        let board = secchi.get_json("/api/v1/leaderboard", None).await;
        assert_eq!(board["release"], name);
    }
}

/// The sample's test split with another right letter in its first question.
fn corrected() -> Vec<u8> {
    let text = String::from_utf8(sample_bytes("test.jsonl")).unwrap();
    let (first, rest) = text.split_once('\n').unwrap();
    let mut question: Value = serde_json::from_str(first).unwrap();
    let options = question["options"].as_array().unwrap().clone();
    let wrong = options.iter().find(|option| option["label"] != question["answer"]).unwrap();
    (question["answer"], question["answer_text"]) = (wrong["label"].clone(), wrong["text"].clone());
    format!("{question}\n{rest}").into_bytes()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_correction_is_looked_at_scored_and_given_up_or_made_active_by_form() {
    let (secchi, team) = Secchi::with_sample(Options::default()).await;
    let id = secchi.scored(&team, &metadata("Reef-8B"), "strong_model.jsonl").await["id"].clone();
    let maintainer = maintainer(&secchi).await;
    secchi.clock.advance_ms(1000);
    secchi.import_as("2026 b & c", Split::Test, corrected().as_slice()).await;
    let address = "/admin/releases/correction?split=test&name=2026+b+%26+c";
    assert!(maintainer.get("/admin/releases").await.text.contains(&address.replace('&', "&amp;")));
    let named = [("split", "test"), ("name", "2026 b & c")];
    let page = maintainer.get(address).await.text;
    assert!(page.contains("--q1") && page.contains("<dd>1</dd>") && page.contains("key"), "{page}");
    assert!(needs(&page).contains("Nothing is scored under it yet"), "{page}");

    let notice = [&named[..], &[("notice", "One key <was> wrong.")]].concat();
    assert_eq!(maintainer.send("/admin/releases/stage", &notice).await.location, address);
    assert_eq!(maintainer.send("/admin/releases/abandon", &named).await.location, address);
    let again = maintainer.send("/admin/releases/abandon", &named).await;
    assert!(again.status == 409 && again.text.contains("That could not be done"), "{}", again.text);
    let long = "x".repeat(1200);
    let long = [&named[..], &[("notice", long.as_str())]].concat();
    assert_eq!(maintainer.send("/admin/releases/stage", &long).await.status, 422);

    assert_eq!(maintainer.send("/admin/releases/stage", &notice).await.location, address);
    secchi.drain().await;
    let page = maintainer.get(address).await.text;
    assert!(
        needs(&page).contains("All entries are scored") && page.contains("One key &lt;was&gt; wrong."),
        "{page}"
    );
    assert_eq!(maintainer.send("/admin/releases/activate", &named).await.location, "/admin/releases");
    assert_eq!(secchi.get_json("/api/v1/leaderboard", None).await["release"], "2026 b & c");
    assert_eq!(secchi.entries("/api/v1/leaderboard").await[0]["entry"], id);
    assert_eq!(maintainer.get("/admin/releases/correction?split=test&name=nothing").await.status, 404);
}
