//! The board in a real browser: it is sorted, filtered, searched and narrowed in place, and its address shows the same without
//! scripts.

use thirtyfour::{By, Key};

use super::driver::{DESKTOP, PHONE, Window, is_here};
use super::looks::{assert_sound, axe};
use crate::support::{Options, Secchi, metadata};

/// The narrowest phone that pages are made for.
const NARROW: (u32, u32) = (360, 740);

/// A server with entries of three groups among the paper's rows.
async fn with_entries() -> Secchi {
    let (secchi, team) = Secchi::with_sample(Options::default()).await;
    let models = [
        ("Weak reef", "weak_model.jsonl", "open", 2),
        ("Strong reef", "strong_model.jsonl", "open", 38),
        ("Random", "random.jsonl", "closed", 0),
        ("Partial", "partial.jsonl", "open", 7),
    ];
    for (name, file, access, size) in models {
        let mut metadata = metadata(name);
        metadata["access"] = access.into();
        metadata["parameters_b"] = if size == 0 { serde_json::Value::Null } else { size.into() };
        if size == 0 {
            metadata.as_object_mut().unwrap().remove("parameters_b");
        }
        secchi.scored(&team, &metadata, file).await;
    }
    secchi
}

/// Everything that the tables and the state of the filters show.
async fn shown(window: &Window) -> String {
    let script =
        "return document.querySelector('#state').innerText + document.querySelector('#tables').innerText;";
    window.page.execute(script, Vec::new()).await.unwrap().convert().unwrap()
}

async fn address(window: &Window) -> String {
    let url = window.page.current_url().await.unwrap();
    url.query().map_or_else(|| url.path().to_owned(), |query| format!("{}?{query}", url.path()))
}

/// Waits until the page says what it did.
async fn said(window: &Window, what: &str) {
    let contains = |text: &str, _: &str| text.contains(what);
    window.until(what, contains, async || {}).await;
    let heard = "return document.querySelector('#said').textContent;";
    let heard: String = window.page.execute(heard, Vec::new()).await.unwrap().convert().unwrap();
    assert!(heard.contains(what), "`{heard}` is read out, not `{what}`");
}

async fn is_the_same_page(window: &Window) -> bool {
    window.page.execute("return window.isTheSame === true", Vec::new()).await.unwrap().convert().unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_done_in_place_has_an_address_that_shows_the_same_without_scripts() {
    if !is_here() {
        return;
    }
    let secchi = with_entries().await;
    let (window, plain) = (Window::open(DESKTOP, true).await, Window::open(DESKTOP, false).await);
    window.page.goto(format!("{}/", secchi.base)).await.unwrap();
    window.page.execute("window.isTheSame = true", Vec::new()).await.unwrap();
    let same = async |address_is: &str| {
        assert!(is_the_same_page(&window).await, "{address_is} was loaded anew");
        assert_eq!(address(&window).await, address_is);
        plain.page.goto(format!("{}{address_is}", secchi.base)).await.unwrap();
        // Without scripts the page cannot be asked by one: what is read is what is seen.
        let text = async |window: &Window, css: &str| window.find(css).await.text().await.unwrap();
        for css in ["#state", "#tables", "#lead", "#foot"] {
            assert_eq!(text(&window, css).await, text(&plain, css).await, "{address_is}: {css}");
        }
    };
    window.click("#by-PMT").await;
    said(&window, "sorted by PMT within groups, highest first").await;
    same("/?sort=-PMT").await;
    window.click("#by-PMT").await;
    said(&window, "sorted by PMT within groups, lowest first").await;
    same("/?sort=PMT").await;
    let sorted = window.page.find_all(By::Css("[aria-sort]")).await.unwrap();
    assert_eq!(sorted.len(), 1);
    assert_eq!(sorted[0].attr("aria-sort").await.unwrap().as_deref(), Some("ascending"));
    window.click("#view-ranks").await;
    said(&window, "sorted by PMT, lowest first").await;
    window.write("#q", "reef").await;
    said(&window, "2 of 4 entries shown").await;
    same("/?sort=PMT&view=ranks&q=reef").await;
    window.click("#group-open-large").await;
    said(&window, "1 of 4 entries shown").await;
    assert!(shown(&window).await.contains("Strong reef"));
    same("/?sort=PMT&view=ranks&group=open-large&q=reef").await;
    window.click("details.columns summary").await;
    window.click("[id='cols-PMT']").await;
    window.click("[id='cols-static/AH']").await;
    window.until("narrowed", |text, _| !text.contains("OEMU ↕"), async || {}).await;
    window.click("#ci-0").await;
    window.until("bare", |text, _| text.contains("Intervals hidden"), async || {}).await;
    same("/?sort=PMT&view=ranks&group=open-large&cols=PMT&cols=static/AH&q=reef&ci=0").await;
    window.click("a.reset").await;
    said(&window, "4 entries, sorted by MCQ within groups").await;
    same("/").await;
    let focused = window.page.active_element().await.unwrap().attr("class").await.unwrap();
    assert_eq!(focused.as_deref(), Some("count"), "a keyboard goes on where the filters were");
    let typed = window.find("#q").await.prop("value").await.unwrap();
    assert_eq!(typed.as_deref(), Some(""), "the form shows what is shown");
    window.close().await;
    plain.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn without_scripts_links_sort_and_the_form_filters() {
    if !is_here() {
        return;
    }
    let secchi = with_entries().await;
    let window = Window::open(NARROW, false).await;
    window.page.goto(format!("{}/", secchi.base)).await.unwrap();
    window.click("#by-MBC-so").await;
    window.until("sorted", |text, _| text.contains("sorted by MBC-so within groups"), async || {}).await;
    assert!(address(&window).await.starts_with("/?sort=-MBC-so"));
    window.write("#q", "random").await;
    window.click("#group-closed").await;
    window.click("form.controls button").await;
    window
        .until("filtered", |text, _| text.contains("1 of 4 entries shown, sorted by MBC-so"), async || {})
        .await;
    let text = window.find("#questions-box").await.text().await.unwrap();
    assert!(text.contains("Random") && !text.contains("Grok-4.3"), "{text}");
    window.click("a.reset").await;
    window
        .until("reset", |text, _| text.contains("4 entries, sorted by MCQ within groups"), async || {})
        .await;
    window.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_keyboard_reaches_every_header_and_keeps_its_place_when_it_sorts() {
    if !is_here() {
        return;
    }
    let secchi = with_entries().await;
    let window = Window::open(DESKTOP, true).await;
    window.page.goto(format!("{}/", secchi.base)).await.unwrap();
    let focused = "
        const element = document.activeElement;
        return [element.id || element.textContent, getComputedStyle(element).outlineStyle];";
    let mut stops = Vec::new();
    for _ in 0..80 {
        window.page.action_chain().send_keys(Key::Tab + "").perform().await.unwrap();
        let (stop, outline): (String, String) =
            window.page.execute(focused, Vec::new()).await.unwrap().convert().unwrap();
        assert_ne!(outline, "none", "the focus is not seen on {stop}");
        stops.push(stop);
        if stops.last().unwrap() == "by-moving/ECF" {
            break;
        }
    }
    let expected = [
        "Skip to the content",
        "q",
        "group-open-small",
        "view-ranks",
        "Columns",
        "questions-box",
        "by-MCQ",
        "by-OEMU",
        "Strong reef",
        "captions-box",
        "by-static/BEH",
        "by-moving/ECF",
    ];
    let mut left = stops.iter();
    for stop in expected {
        assert!(left.any(|found| found == stop), "no way to {stop} in {stops:?}");
    }
    window.page.action_chain().send_keys(Key::Enter + "").perform().await.unwrap();
    said(&window, "sorted by moving/ECF within groups, highest first").await;
    let kept: (String, String) = window.page.execute(focused, Vec::new()).await.unwrap().convert().unwrap();
    assert_eq!(kept.0, "by-moving/ECF", "the focus is lost");
    window.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_full_board_is_sound_in_every_layout_and_no_wider_than_a_phone() {
    if !is_here() {
        return;
    }
    let (secchi, axe) = (with_entries().await, axe());
    for size in [NARROW, PHONE, (900, 800), DESKTOP] {
        let window = Window::open(size, true).await;
        let views = [
            ("/", "groups"),
            ("/?view=ranks&sort=-static/BEH&q=reef", "ranks"),
            ("/?q=nobody&cols=PMT", "none"),
        ];
        for (path, name) in views {
            window.page.goto(format!("{}{path}", secchi.base)).await.unwrap();
            assert_sound(&window, &axe, &format!("board-{name}-{}", size.0)).await;
        }
        window.close().await;
    }
}
