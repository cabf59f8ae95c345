//! What stands behind a row of the board: the entry's page, its badge, and the pictures that others show of it.

use reqwest::{Method, Response};
use secchi::domain::actor::Actor;
use secchi::evaluation::staging::activate;
use serde_json::{Value, json};

use crate::staging::{AT_ONCE, judge_command, judged_by};
use crate::stand_in::StandIn;
use crate::support::{Options, Secchi, TestTeam, metadata, problem};

/// A hostile text, for every field that a team may fill.
const HOSTILE: &str = "<script>alert(1)</script>&\"'";

async fn entry(secchi: &Secchi, team: &TestTeam, metadata: &Value, file: &str) -> Value {
    secchi.scored(team, metadata, file).await
}

fn path(submission: &Value) -> String {
    format!("/entries/{}", submission["id"].as_str().unwrap())
}

/// The page at a path, which is there.
async fn page(secchi: &Secchi, path: &str) -> String {
    let response = secchi.get(path, None).await;
    assert_eq!(response.status(), 200, "{path}");
    response.text().await.unwrap()
}

#[track_caller]
fn assert_says(page: &str, parts: &[&str]) {
    for part in parts {
        assert!(page.contains(part), "no `{part}`");
    }
}

async fn sent_again(secchi: &Secchi, path: &str) -> (Response, u16) {
    let first = secchi.get(path, None).await;
    let etag = first.headers()["etag"].to_str().unwrap().to_owned();
    let again = secchi.request(Method::GET, path, None).header("If-None-Match", etag).send().await.unwrap();
    (first, again.status().as_u16())
}

#[tokio::test(flavor = "multi_thread")]
async fn an_entrys_page_shows_its_scores_and_where_they_come_from() {
    let options = Options { http: vec!["--public-url", "https://board.example"], ..Options::default() };
    let (secchi, team) = Secchi::with_sample(options).await;
    let mut described = metadata("Reef-8B");
    described["description"] = json!("Eight frames.");
    described["paper_url"] = json!("https://example.org/paper");
    let first = entry(&secchi, &team, &described, "strong_model.jsonl").await;
    let second = entry(&secchi, &team, &metadata("Kelp-8B"), "random.jsonl").await;
    let json = secchi.get_json(&format!("/api/v1{}", path(&first)), None).await;
    let shown = page(&secchi, &path(&first)).await;
    let mcq = first["scores"]["MCQ"]["value"].as_f64().unwrap();
    let rival = format!(
        "/compare?entry={}&amp;entry={}",
        first["id"].as_str().unwrap(),
        second["id"].as_str().unwrap()
    );
    assert_says(
        &shown,
        &[
            &format!("<strong>{mcq:.1}</strong>"),
            "Rank 1 of 2 by MCQ",
            json["release_sha256"].as_str().unwrap(),
            json["judge"]["configuration"].as_str().unwrap(),
            "Scored here from the team's predictions file",
            "Number 1 of its team's scored submissions",
            "No answer was decided by hand.",
            "Eight frames.",
            "<a href=\"https://example.org/paper\" rel=\"nofollow noopener\">",
            "Reef-8B beside the field",
            "↓ Below: Kelp-8B",
            &rival,
            &format!("content=\"https://board.example/og{}.png\"", path(&first)),
            &format!("/api/v1{0}/badge.svg)](https://board.example{0})", path(&first)),
        ],
    );
    assert!(!shown.contains("Above: ") && !shown.contains("style="), "{shown}");
    assert_eq!(sent_again(&secchi, &path(&first)).await.1, 304);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_anonymous_entrys_page_tells_nothing_of_its_team() {
    let (secchi, team) = Secchi::with_sample(Options::default()).await;
    let mut anonymous = metadata("Nameless");
    for (field, value) in [
        ("visibility", "anonymous"),
        ("description", "By the ocean lab"),
        ("paper_url", "https://ocean.example/paper"),
        ("code_url", "https://ocean.example/code"),
    ] {
        anonymous[field] = json!(value);
    }
    let submission = entry(&secchi, &team, &anonymous, "strong_model.jsonl").await;
    let shown = page(&secchi, &path(&submission)).await;
    assert_says(&shown, &["Nameless", "an anonymous team"]);
    for told in ["ocean", "Attempts", "Described by its team"] {
        assert!(!shown.contains(told), "`{told}` in {shown}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_a_team_says_is_escaped_on_the_page_in_the_badge_and_in_the_pictures() {
    let (secchi, team) = Secchi::with_sample(Options::default()).await;
    let mut hostile = metadata(HOSTILE);
    hostile["description"] = json!(HOSTILE);
    hostile["backbone"] = json!(HOSTILE);
    hostile["code_url"] = json!("https://example.org/\"><script>");
    let submission = entry(&secchi, &team, &hostile, "strong_model.jsonl").await;
    let shown = page(&secchi, &path(&submission)).await;
    assert_says(&shown, &["&lt;script&gt;alert(1)"]);
    assert!(!shown.contains("<script"), "{shown}");
    for picture in ["/og/board.png", &format!("/og{}.png", path(&submission))] {
        assert_picture(&secchi, picture).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_not_published_has_no_page_badge_or_picture() {
    let (secchi, team) = Secchi::with_sample(Options::default()).await;
    let mut private = metadata("Secret");
    private["visibility"] = json!("private");
    let submission = entry(&secchi, &team, &private, "random.jsonl").await;
    let unknown = "/entries/01a22c1f-7e94-7515-a274-39531f6a0747";
    for entry in [path(&submission).as_str(), unknown] {
        for address in [entry.to_owned(), format!("/og{entry}.png")] {
            let refused = secchi.get(&address, None).await;
            assert_eq!(refused.status(), 404, "{address}");
            assert!(!refused.text().await.unwrap().contains("Secret"));
        }
        problem(secchi.get(&format!("/api/v1{entry}/badge.svg"), None).await, 404).await;
    }
    for address in ["/entries/nothing", "/og/entries/nothing.png", "/og/entries/nothing"] {
        assert_eq!(secchi.get(address, None).await.status(), 404, "{address}");
    }
    assert_eq!(secchi.get("/og/board.png?split=train", None).await.status(), 400);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_withdrawn_entrys_page_says_when_and_why() {
    let (secchi, team) = Secchi::with_sample(Options::default()).await;
    let submission = entry(&secchi, &team, &metadata("Reef-8B"), "strong_model.jsonl").await;
    let withdraw = format!("/api/v1/submissions/{}/withdraw", submission["id"].as_str().unwrap());
    let reason = json!({ "reason": "Trained on the <test> split." });
    let withdrawn =
        secchi.request(Method::POST, &withdraw, Some(&team.key)).json(&reason).send().await.unwrap();
    assert_eq!(withdrawn.status(), 200);
    let gone = secchi.get(&path(&submission), None).await;
    assert_eq!(gone.status(), 410);
    let text = gone.text().await.unwrap();
    assert_says(&text, &["off every board for good on 2026-11-30", "Trained on the &lt;test&gt; split."]);
    let badge = format!("/api/v1{}/badge.svg", path(&submission));
    assert_eq!(problem(secchi.get(&badge, None).await, 410).await["code"], "withdrawn");
    assert_eq!(secchi.get(&format!("/og{}.png", path(&submission)), None).await.status(), 410);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_replaced_entrys_page_leads_to_the_newer_one() {
    let (secchi, team) = Secchi::with_sample(Options::default()).await;
    let older = entry(&secchi, &team, &metadata("Reef-8B"), "weak_model.jsonl").await;
    let newer = entry(&secchi, &team, &metadata("Reef-8B"), "strong_model.jsonl").await;
    let shown = page(&secchi, &path(&older)).await;
    assert_says(&shown, &["<strong>Replaced.", &format!("<a href=\"{}\">the newer entry", path(&newer))]);
    assert!(!page(&secchi, &path(&newer)).await.contains("Replaced."));
}

#[tokio::test(flavor = "multi_thread")]
async fn an_entrys_page_tells_its_scores_under_every_judge() {
    let judge = StandIn::start(0).await;
    let (secchi, team) = judged_by(&judge, "a").await;
    let submission = entry(&secchi, &team, &metadata("Reef-8B"), "strong_model.jsonl").await;
    assert!(!page(&secchi, &path(&submission)).await.contains("Under other judges"));
    judge_command(&secchi.ground, &["stage"], &judge.flags_of("b", AT_ONCE)).stdout();
    secchi.drain().await;
    let store = &secchi.running.evaluation.store;
    activate(store, &Actor::command_line(), None, None, secchi.clock.now_ms()).await.unwrap();
    let now = secchi.get_json(&format!("/api/v1{}", path(&submission)), None).await;
    let shown = page(&secchi, &path(&submission)).await;
    let value = |of: &Value| {
        format!("<td class=\"number\">{:.2}</td>", of["scores"]["OEMU"]["value"].as_f64().unwrap())
    };
    assert_ne!(now["scores"]["OEMU"], submission["scores"]["OEMU"]);
    assert_says(&shown, &["Under other judges", "current", "retired ", &value(&submission), &value(&now)]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_badge_shows_a_column_and_knows_no_other() {
    let (secchi, team) = Secchi::with_sample(Options::default()).await;
    let submission = entry(&secchi, &team, &metadata("Reef-8B"), "strong_model.jsonl").await;
    let badge = format!("/api/v1{}/badge.svg", path(&submission));
    let (response, again) = sent_again(&secchi, &badge).await;
    assert_eq!(
        (response.headers()["content-type"].to_str().unwrap(), again),
        ("image/svg+xml; charset=utf-8", 304)
    );
    assert!(response.headers().contains_key("cache-control"));
    let mcq = submission["scores"]["MCQ"]["value"].as_f64().unwrap();
    assert_says(&response.text().await.unwrap(), &[&format!("MarineLife-16K MCQ: {mcq:.1} %")]);
    let oemu = submission["scores"]["OEMU"]["value"].as_f64().unwrap();
    let other = page(&secchi, &format!("{badge}?column=OEMU")).await;
    assert_says(&other, &[&format!("MarineLife-16K OEMU: {oemu:.2} of 5")]);
    let refused = problem(secchi.get(&format!("{badge}?column=%3Cb%3E"), None).await, 400).await;
    assert_eq!(refused["code"], "unknown_column");
    assert_says(refused["detail"].as_str().unwrap(), &["`column` is `<b>`", "static/BEH"]);
}

/// Asserts that a path holds a picture of the size that others ask for, which is not sent twice.
async fn assert_picture(secchi: &Secchi, path: &str) -> Vec<u8> {
    let (response, again) = sent_again(secchi, path).await;
    assert_eq!((response.headers()["content-type"].to_str().unwrap(), again), ("image/png", 304), "{path}");
    let bytes = response.bytes().await.unwrap().to_vec();
    assert_eq!(&bytes[..8], b"\x89PNG\r\n\x1a\n", "{path}");
    let side = |at: usize| u32::from_be_bytes(bytes[at..at + 4].try_into().unwrap());
    assert_eq!((side(16), side(20)), (1200, 630), "{path}");
    bytes
}

#[tokio::test(flavor = "multi_thread")]
async fn boards_and_entries_have_pictures_that_change_with_them() {
    let (secchi, team) = Secchi::with_sample(Options::default()).await;
    let empty = assert_picture(&secchi, "/og/board.png").await;
    assert_picture(&secchi, "/og/board.png?split=val").await;
    let submission = entry(&secchi, &team, &metadata(&"Long name ".repeat(11)), "strong_model.jsonl").await;
    let one = assert_picture(&secchi, "/og/board.png").await;
    assert_ne!(empty, one);
    let picture = format!("/og{}.png", path(&submission));
    let alone = assert_picture(&secchi, &picture).await;
    entry(&secchi, &team, &metadata("Kelp-8B"), "random.jsonl").await;
    assert_ne!(assert_picture(&secchi, &picture).await, alone);
}
