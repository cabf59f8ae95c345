//! An entry's page and all charts in a real browser: they fit a phone, their text can be read, and axe finds nothing
//! serious.

use thirtyfour::By;

use super::driver::{DESKTOP, Window, is_here};
use super::looks::{assert_sound, axe};
use crate::support::{Options, Secchi, metadata};

/// The narrowest phone that pages are made for.
const NARROW: (u32, u32) = (360, 740);

/// Texts of charts that are small, meet another text or leave the window.
const ASK_TEXTS: &str = "
    const found = [];
    for (const chart of document.querySelectorAll('svg.drawing')) {
        const boxes = [...chart.querySelectorAll('text')].map((text) => {
            const { left, right, top, bottom } = text.getBoundingClientRect();
            if (parseFloat(getComputedStyle(text).fontSize) < 12) found.push(`small: ${text.textContent}`);
            if (left < 0 || right > innerWidth) found.push(`outside: ${text.textContent}`);
            // Type has room above and below its letters.
            return { left, right, top: top + 2, bottom: bottom - 2, text: text.textContent };
        });
        boxes.forEach((one, place) => boxes.slice(place + 1).forEach((other) => {
            const meet = one.left < other.right && other.left < one.right && one.top < other.bottom && other.top < one.bottom;
            if (meet) found.push(`${one.text} meets ${other.text}`);
        }));
    }
    return found;";

async fn assert_charts_legible(window: &Window, name: &str) {
    let faults: Vec<String> = window.page.execute(ASK_TEXTS, Vec::new()).await.unwrap().convert().unwrap();
    assert!(faults.is_empty(), "{name}:\n{}", faults.join("\n"));
}

#[tokio::test(flavor = "multi_thread")]
async fn an_entrys_page_and_all_charts_fit_a_phone_and_a_desktop() {
    if !is_here() {
        return;
    }
    let axe = axe();
    let (secchi, team) = Secchi::with_sample(Options::default()).await;
    let files =
        ["strong_model.jsonl", "weak_model.jsonl", "random.jsonl", "partial.jsonl", "letters_noisy.jsonl"];
    let mut entry = String::new();
    for (place, file) in files.into_iter().enumerate() {
        let mut described =
            metadata(&format!("Model {place} of a very long name that has no end").repeat(1 + place % 2));
        described["description"] = "A_word_without_any_place_to_break_".repeat(9).into();
        described["code_url"] = format!("https://example.org/{}", "path/".repeat(60)).into();
        entry = secchi.scored(&team, &described, file).await["id"].as_str().unwrap().to_owned();
    }
    for size in [NARROW, DESKTOP] {
        let window = Window::open(size, true).await;
        for (page, path) in [("entry", format!("/entries/{entry}")), ("charts", "/?split=test".to_owned())] {
            window.page.goto(format!("{}{path}", secchi.base)).await.unwrap();
            let name = format!("{page}-{}", size.0);
            assert_charts_legible(&window, &name).await;
            for summary in window.page.find_all(By::Css("figure summary")).await.unwrap() {
                summary.scroll_into_view().await.unwrap();
                summary.click().await.unwrap();
            }
            assert_sound(&window, &axe, &name).await;
        }
        window.close().await;
    }
}
