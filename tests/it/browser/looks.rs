//! How the pages look: nothing that axe-core calls serious, and no page wider than a phone.

use std::path::Path;

use serde_json::Value;
use thirtyfour::{By, Key};

use secchi::domain::actor::Actor;
use secchi::evaluation::validity::importing::import_ratings;

use super::driver::{DESKTOP, PHONE, Window, is_here};
use super::{bad_file, file, served, sign_in};
use crate::operations::{answers, val_answers, val_metadata};
use crate::pages::submitted;
use crate::process::until;
use crate::support::{Secchi, TestTeam};

/// What `.ci/setup` fetches.
const AXE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/target/axe-core-4.14.1.min.js");

/// Runs axe and gives its findings as lines.
const ASK_AXE: &str = "
    const done = arguments[arguments.length - 1];
    axe.run(document, { resultTypes: ['violations'] }).then(({ violations }) => done(violations
        .filter(({ impact }) => impact === 'serious' || impact === 'critical')
        .flatMap(({ id, nodes }) => nodes.map(({ html, failureSummary }) => `${id}: ${html}: ${failureSummary}`))));";

const ASK_WIDTH: &str = "
    const root = document.documentElement;
    if (root.scrollWidth <= root.clientWidth) return [];
    return [...document.querySelectorAll('body *')]
        .filter((element) => element.getBoundingClientRect().right > root.clientWidth)
        .map((element) => element.outerHTML.slice(0, 120));";

pub fn axe() -> String {
    let axe = std::fs::read_to_string(Path::new(AXE));
    axe.unwrap_or_else(|error| panic!("{AXE}: {error}; run `make setup`"))
}

/// Asserts that nothing is wrong with the page as it stands, in both schemes.
pub async fn assert_sound(window: &Window, axe: &str, name: &str) {
    for scheme in ["light", "dark"] {
        window.set_scheme(scheme).await;
        window.keep_picture(&format!("{name}-{scheme}")).await;
        window.page.execute(axe, Vec::new()).await.unwrap();
        let faults = window.page.execute_async(ASK_AXE, Vec::new()).await.unwrap();
        let faults: Vec<String> = faults.convert().unwrap();
        assert!(faults.is_empty(), "{name}, {scheme}:\n{}", faults.join("\n"));
    }
    let wide: Vec<String> = window.page.execute(ASK_WIDTH, Vec::new()).await.unwrap().convert().unwrap();
    assert!(wide.is_empty(), "{name} is wider than the window:\n{}", wide.join("\n"));
}

async fn assert_all_sound(size: (u32, u32)) {
    let axe = axe();
    let (secchi, judge, team) = served().await;
    let window = Window::open(size, true).await;
    let name = |page: &str| format!("{page}-{}", size.0);
    let goto = async |path: &str| window.page.goto(format!("{}{path}", secchi.base)).await.unwrap();
    let open = [
        ("/?split=val", "board-empty"),
        ("/sign-in", "sign-in"),
        ("/submit", "submit-guest"),
        ("/nowhere", "nowhere"),
    ];
    for (path, page) in open {
        goto(path).await;
        assert_sound(&window, &axe, &name(page)).await;
    }
    sign_in(&window, &secchi, &team, "/submissions").await;
    assert_sound(&window, &axe, &name("submissions-none")).await;
    goto("/submit").await;
    assert_sound(&window, &axe, &name("submit")).await;
    window.find("body").await.send_keys(Key::Tab + "").await.unwrap();
    let focused = window.page.active_element().await.unwrap();
    assert_eq!(focused.text().await.unwrap(), "Skip to the content", "the first stop of a keyboard");
    assert!(focused.rect().await.unwrap().x >= 0.0, "what has the focus is seen");
    window.click("button[value=submit]").await;
    window.until("incomplete", |text, _| text.contains("The form is not complete"), async || {}).await;
    assert_sound(&window, &axe, &name("submit-incomplete")).await;
    window.write("#model_name", "Reef-8B").await;
    window.click("#access-closed").await;
    window.click("#split-val").await;
    window.write("#predictions", bad_file(&secchi).to_str().unwrap()).await;
    window.click("button[value=submit]").await;
    window.until("refused", |text, _| text.contains("4 faults"), async || {}).await;
    assert_sound(&window, &axe, &name("submit-refused")).await;
    let good = file(&secchi, "good.jsonl", &val_answers("A ray glides past."));
    window.write("#predictions", good.to_str().unwrap()).await;
    window.click("button[value=check]").await;
    window.until("checked", |text, _| text.contains("The file can be submitted"), async || {}).await;
    assert_sound(&window, &axe, &name("submit-checked")).await;
    let id = submitted(&secchi, &team).await;
    goto(&format!("/submissions/{id}")).await;
    window.until("under way", |text, _| text.contains("Judging: 5 of "), async || {}).await;
    assert_sound(&window, &axe, &name("submission-judging")).await;
    judge.permits.add_permits(1000);
    window.until("scored", |text, _| text.contains("Every answer has its score."), async || {}).await;
    for summary in window.page.find_all(By::Css(".decisions summary")).await.unwrap() {
        summary.click().await.unwrap();
    }
    assert_sound(&window, &axe, &name("submission-scored")).await;
    assert_report_sound(&window, &axe, size.0, &secchi, &team).await;
    let (ratings, evaluation) =
        (include_bytes!("../../fixtures/human/ratings.csv"), &secchi.running.evaluation);
    let (store, catalogue, actor) = (&evaluation.store, &evaluation.catalogue, Actor::command_line());
    import_ratings(store, catalogue, ratings, None, &actor, secchi.clock.now_ms()).await.unwrap();
    goto("/judge/agreement").await;
    window.click("figure summary").await;
    assert_sound(&window, &axe, &name("agreement")).await;
    for (path, page) in
        [("/?split=val", "board"), ("/submissions", "submissions"), ("/quota", "quota"), ("/keys", "keys")]
    {
        goto(path).await;
        assert_sound(&window, &axe, &name(page)).await;
    }
    window.write("#name", "cluster").await;
    window.click("main form.fields button").await;
    window.until("made", |text, _| text.contains("The new key"), async || {}).await;
    assert_sound(&window, &axe, &name("keys-told")).await;
    assert_sign_up_sound(&window, &axe, size.0, &secchi).await;
    window.close().await;
}

/// The report of a submission that has it all, its single answers, a change that is refused, and what reviewers see.
async fn assert_report_sound(window: &Window, axe: &str, width: u32, secchi: &Secchi, team: &TestTeam) {
    let name = |page: &str| format!("{page}-{width}");
    let goto = async |path: &str| window.page.goto(format!("{}{path}", secchi.base)).await.unwrap();
    let worked_off = async |team: &TestTeam, file: Vec<u8>| {
        let sent: Value = secchi.submit(team, &val_metadata(), file).await.json().await.unwrap();
        let path = format!("/submissions/{}", sent["id"].as_str().unwrap());
        let state =
            async || secchi.get_json(&format!("/api/v1{path}"), Some(&team.key)).await["state"].clone();
        until("scored", async || state().await == "scored").await;
        path
    };
    for slug in ["kelp-lab", "reef-lab"] {
        worked_off(&secchi.team(slug).await, val_answers("A crab")).await;
    }
    let path = worked_off(team, answers("val.jsonl", |_| "I am sorry, I cannot see it".into())).await;
    goto(&path).await;
    window.until("reported", |text, _| text.contains("really worse than 2 of them"), async || {}).await;
    assert_sound(window, axe, &name("submission-report")).await;
    goto(&format!("{path}/answers")).await;
    assert_sound(window, axe, &name("answers")).await;
    goto(&path).await;
    let fold = async |action: &str| {
        let summary = format!("//summary[following-sibling::form[contains(@action, '/{action}')]]");
        let summary = window.page.find(By::XPath(summary)).await.unwrap();
        summary.scroll_into_view().await.unwrap();
        summary.click().await.unwrap();
        format!("form[action$='/{action}'] ")
    };
    let form = fold("details").await;
    window.write("#paper_url", "nowhere").await;
    window.click(&format!("{form}button")).await;
    window.until("faulty", |text, _| text.contains("The form is not complete"), async || {}).await;
    assert_sound(window, axe, &name("submission-change-faulty")).await;
    let form = fold("reviewers-link").await;
    window.click(&format!("{form}button")).await;
    window.until("linked", |text, _| text.contains("It is shown only now."), async || {}).await;
    assert_sound(window, axe, &name("submission-link-told")).await;
    let link = window.find("code.key").await.text().await.unwrap();
    window.page.goto(link).await.unwrap();
    assert_sound(window, axe, &name("review")).await;
}

/// The pages of an applicant and of the maintainer who decides.
async fn assert_sign_up_sound(window: &Window, axe: &str, width: u32, secchi: &Secchi) {
    let name = |page: &str| format!("{page}-{width}");
    let goto = async |path: &str| window.page.goto(format!("{}{path}", secchi.base)).await.unwrap();
    window.page.delete_all_cookies().await.unwrap();
    goto("/sign-up").await;
    window.write("#name", "Ocean Lab").await;
    window.write("#slug", "Ocean Lab").await;
    window.write("#email", "lab@ocean.example").await;
    window.click("main form button").await;
    window.until("faulty", |text, _| text.contains("The form is not complete"), async || {}).await;
    assert_sound(window, axe, &name("sign-up")).await;
    window.find("#slug").await.clear().await.unwrap();
    window.write("#slug", "oceanlab").await;
    window.click("main form button").await;
    window.until("taken", |_, path| path.starts_with("/sign-up/"), async || {}).await;
    let mine = window.path().await;
    assert_sound(window, axe, &name("sign-up-waiting")).await;
    let maintainer = secchi.maintainer("harbour").await;
    sign_in(window, secchi, &maintainer, "/admin/signups").await;
    window.click("main details:last-of-type summary").await;
    assert_sound(window, axe, &name("admin-signups")).await;
    window.click("main details:first-of-type summary").await;
    window.click("main details:first-of-type button").await;
    window.until("approved", |text, _| text.contains("No sign-up waits."), async || {}).await;
    goto(&mine).await;
    assert_sound(window, axe, &name("sign-up-approved")).await;
    window.click("main form button").await;
    window.until("told", |text, _| text.contains("Your API key"), async || {}).await;
    assert_sound(window, axe, &name("sign-up-told")).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn no_page_has_a_serious_fault_or_is_wider_than_a_phone() {
    if is_here() {
        assert_all_sound(PHONE).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn no_page_has_a_serious_fault_on_a_desktop() {
    if is_here() {
        assert_all_sound(DESKTOP).await;
    }
}
