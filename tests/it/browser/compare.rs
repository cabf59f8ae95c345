//! The page of comparisons in a real browser: its form with scripts and without, and how it looks.

use super::driver::{DESKTOP, Window, is_here};
use super::looks::{assert_sound, axe};
use crate::support::{Options, Secchi, TestTeam, metadata};

/// The narrowest phone that counts.
const NARROW: (u32, u32) = (360, 780);

/// A server with entries of two teams, the last of them anonymous and nearly the same as the first.
async fn compared() -> (Secchi, Vec<String>) {
    let (secchi, team) = Secchi::with_sample(Options::default()).await;
    let other = secchi.team("reef-lab").await;
    let scored = async |team: &TestTeam, name: &str, file: &str, visibility: &str| {
        let mut metadata = metadata(name);
        metadata["visibility"] = visibility.into();
        secchi.scored(team, &metadata, file).await["id"].as_str().unwrap().to_owned()
    };
    let ids = vec![
        scored(&team, "Reef-8B", "strong_model.jsonl", "public").await,
        scored(&team, "A-model-with-a-long-name-and-no-space-in-it-at-all", "weak_model.jsonl", "public")
            .await,
        scored(&other, "Kelp", "letters_noisy.jsonl", "public").await,
        scored(&other, "Reef-8B", "strong_model.jsonl", "anonymous").await,
    ];
    (secchi, ids)
}

/// Chooses two entries from the lists, reads who is ahead, and swaps them.
async fn walk(size: (u32, u32), scripts: bool) {
    let (secchi, ids) = compared().await;
    let window = Window::open(size, scripts).await;
    window.page.goto(format!("{}/", secchi.base)).await.unwrap();
    window.click("nav a[href='/compare']").await;
    window.until("offered", |text, path| path == "/compare" && text.contains("Choose"), async || {}).await;
    window.click(&format!("#entry-A option[value='{}']", ids[0])).await;
    window.click(&format!("#entry-B option[value='{}']", ids[2])).await;
    window.click("main form button").await;
    window
        .until("compared", |text, _| text.contains("Reef-8B (A) is ahead of Kelp (B) by"), async || {})
        .await;
    let address = window.page.current_url().await.unwrap();
    let query = address.query().unwrap();
    assert!(query.contains(&format!("entry={}&entry={}", ids[0], ids[2])), "{query}");
    window.click("main a[href^='/compare?entry=']").await;
    window
        .until("swapped", |text, _| text.contains("Reef-8B (B) is ahead of Kelp (A) by"), async || {})
        .await;
    let picked = window.find("#entry-A option:checked").await.text().await.unwrap();
    assert!(picked.starts_with("Kelp"), "the form keeps what is compared: {picked}");
    window.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn entries_are_chosen_compared_and_swapped_with_scripts_and_without() {
    if is_here() {
        walk(NARROW, false).await;
        walk(DESKTOP, true).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_comparison_has_no_serious_fault_and_is_no_wider_than_a_narrow_phone() {
    if !is_here() {
        return;
    }
    let (secchi, ids) = compared().await;
    let axe = axe();
    for size in [NARROW, DESKTOP] {
        let window = Window::open(size, true).await;
        let entries =
            |chosen: &[&String]| chosen.iter().map(|id| format!("entry={id}")).collect::<Vec<_>>().join("&");
        let pages = [
            (String::new(), "compare"),
            (entries(&[&ids[0], &ids[1]]), "compare-two"),
            (entries(&[&ids[0], &ids[3], &ids[1], &ids[2]]), "compare-four"),
            (entries(&[&ids[0], &ids[0]]), "compare-faulty"),
        ];
        for (query, name) in pages {
            window.page.goto(format!("{}/compare?{query}", secchi.base)).await.unwrap();
            assert_sound(&window, &axe, &format!("{name}-{}", size.0)).await;
        }
        window.close().await;
    }
}
