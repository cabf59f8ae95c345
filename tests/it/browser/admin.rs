//! The pages of administration in a real browser: everything can be done on a narrow phone without scripts, and axe finds
//! nothing serious.

use serde_json::Value;
use thirtyfour::By;

use super::driver::{DESKTOP, Window, is_here};
use super::looks::{assert_sound, axe};
use super::sign_in;
use crate::by_hand::{captions, refusing};
use crate::pages_admin_desk::attacking;
use crate::support::{Secchi, TestTeam, metadata};

/// The narrowest phone that pages are made for.
const NARROW: (u32, u32) = (360, 740);

const LONG: &str = "A-model-with-a-very-long-name-and-no-space-in-it-at-all-v2.1-instruct";

/// A server with a submission whose first captions the judge refuses, an entry, and who wants in.
async fn troubled(refused: usize) -> (Secchi, TestTeam, String) {
    let (secchi, _, _) = refusing(captions()[..refused].to_vec()).await;
    let team = secchi.team("the-kelp-forest-observation-and-long-nam").await;
    secchi.scored(&team, &metadata("Reef-8B"), "strong_model.jsonl").await;
    let sent: Value = secchi.submit(&team, &metadata(LONG), attacking()).await.json().await.unwrap();
    secchi.drain().await;
    let maintainer = secchi.maintainer("harbour").await;
    (secchi, maintainer, sent["id"].as_str().unwrap().to_owned())
}

async fn open_folds(window: &Window) {
    for summary in window.page.find_all(By::Css("main summary")).await.unwrap() {
        summary.scroll_into_view().await.unwrap();
        summary.click().await.unwrap();
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn no_page_of_administration_has_a_serious_fault_or_is_wider_than_a_narrow_phone() {
    if !is_here() {
        return;
    }
    let (secchi, maintainer, id) = troubled(2).await;
    let axe = axe();
    for size in [NARROW, DESKTOP] {
        let window = Window::open(size, true).await;
        sign_in(&window, &secchi, &maintainer, "/admin/teams").await;
        let pages = [
            ("/admin".to_owned(), "overview"),
            ("/admin/teams".to_owned(), "teams"),
            ("/admin/teams/the-kelp-forest-observation-and-long-nam".to_owned(), "team"),
            ("/admin/submissions".to_owned(), "submissions"),
            ("/admin/submissions?attention=1&split=test".to_owned(), "submissions-found"),
            (format!("/admin/submissions/{id}"), "submission"),
            ("/admin/releases".to_owned(), "releases"),
            ("/admin/judge".to_owned(), "judge"),
            ("/admin/flags".to_owned(), "flags"),
            ("/admin/audit".to_owned(), "audit"),
        ];
        for (path, name) in pages {
            window.page.goto(format!("{}{path}", secchi.base)).await.unwrap();
            window.find("nav.sections [aria-current]").await;
            open_folds(&window).await;
            assert_sound(&window, &axe, &format!("admin-{name}-{}", size.0)).await;
        }
        window.close().await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_answer_without_a_score_is_decided_on_a_narrow_phone_without_scripts() {
    if !is_here() {
        return;
    }
    let (secchi, maintainer, id) = troubled(1).await;
    let window = Window::open(NARROW, false).await;
    sign_in(&window, &secchi, &maintainer, "/admin/submissions").await;
    window
        .until("listed", |text, _| text.contains("1 of 48 open-ended answers have no score"), async || {})
        .await;
    window.click(&format!(".needs a[href='/admin/submissions/{id}']")).await;
    let address = format!("/admin/submissions/{id}");
    window.until("shown", |_, path| path == address, async || {}).await;
    window.click(".cards summary").await;
    for (place, score) in [0, 3, 5].into_iter().enumerate() {
        let option = format!(".cards .row .field:nth-child({}) option[value='{score}']", place + 1);
        window.click(&option).await;
    }
    window.write(".cards input[type=text]", "The ray is there").await;
    window.click(".cards button").await;
    let is_scored =
        |text: &str, _: &str| text.contains("Every answer has its score.") && text.contains("0, 3, 5");
    window.until("scored", is_scored, async || {}).await;
    window.close().await;
}
