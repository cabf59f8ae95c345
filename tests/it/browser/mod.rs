//! The pages in a real browser: a team's whole way, on a phone and on a desktop, with scripts and without.

mod admin;
mod board;
mod compare;
mod driver;
mod entry;
mod looks;

use std::path::PathBuf;
use std::sync::Arc;

use futures::FutureExt as _;
use futures::future::BoxFuture;
use secchi::domain::question::Split;
use secchi::judge::{Asked, Asking, Item, Judge, ScriptedJudge};
use thirtyfour::By;
use tokio::sync::Semaphore;

use crate::operations::val_answers;
use crate::support::{Options, Secchi, TestTeam};
use driver::{DESKTOP, PHONE, Window, is_here};

/// A judge that answers as often as it is let.
struct HeldJudge {
    judge: ScriptedJudge,
    permits: Semaphore,
}

impl HeldJudge {
    fn new(answers: usize) -> HeldJudge {
        let judge = ScriptedJudge::new(|_| Ok(ScriptedJudge::verdict([3, 4, 5])));
        HeldJudge { judge, permits: Semaphore::new(answers) }
    }
}

impl Judge for HeldJudge {
    fn judge<'a>(&'a self, item: &'a Item<'a>, asking: Asking) -> BoxFuture<'a, Asked> {
        async move {
            self.permits.acquire().await.unwrap().forget();
            self.judge.judge(item, asking).await
        }
        .boxed()
    }
}

/// A server that works by itself, its judge, and a team.
async fn served() -> (Secchi, Arc<HeldJudge>, TestTeam) {
    let judge = Arc::new(HeldJudge::new(5));
    let options = Options { given_judge: Some(judge.clone()), with_worker: true, ..Options::default() };
    let secchi = Secchi::with(options).await;
    secchi.import(Split::Val, "val.jsonl").await;
    let team = secchi.team("ocean-lab").await;
    (secchi, judge, team)
}

/// A file of the test's own.
fn file(secchi: &Secchi, name: &str, bytes: &[u8]) -> PathBuf {
    let path = secchi.ground.data.path().join(name);
    std::fs::write(&path, bytes).unwrap();
    path
}

fn bad_file(secchi: &Secchi) -> PathBuf {
    let mut bytes = val_answers("A ray glides past.");
    bytes.extend(b"{\"question_id\": \"nobody--1--q1\", \"answer\": \"B\"}\n{\"question_id\": 7}\n{oops\n");
    file(secchi, "bad.jsonl", &bytes)
}

async fn sign_in(window: &Window, secchi: &Secchi, team: &TestTeam, path: &str) {
    window.page.goto(format!("{}/sign-in?next={path}", secchi.base)).await.unwrap();
    window.write("#api_key", &team.key).await;
    window.click("main button").await;
    window.until("signed in", |_, now| now == path, async || {}).await;
}

/// Drops a file on the form, as from a desktop.
const DROP: &str = "
    const data = new DataTransfer();
    data.items.add(new File(['{oops'], 'dropped.jsonl'));
    const drop = new DragEvent('drop', { dataTransfer: data, bubbles: true, cancelable: true });
    document.querySelector('[data-drop]').dispatchEvent(drop);
    return document.querySelector('#predictions').value + document.querySelector('[data-dropped]').textContent;";

/// What a team does from its key to a row of the board.
async fn walk(size: (u32, u32), scripts: bool) {
    let (secchi, judge, team) = served().await;
    let window = Window::open(size, scripts).await;
    sign_in(&window, &secchi, &team, "/submit").await;

    if scripts {
        let dropped = window.page.execute(DROP, Vec::new()).await.unwrap().convert::<String>().unwrap();
        assert_eq!(dropped.matches("dropped.jsonl").count(), 2, "{dropped}");
    }
    window.write("#model_name", "Reef-8B").await;
    window.click("#access-open").await;
    window.write("#parameters_b", "8").await;
    window.click("#split-val").await;
    window.write("#predictions", bad_file(&secchi).to_str().unwrap()).await;
    window.click("button[value=submit]").await;
    window.until("refused", |text, _| text.contains("The file has 4 faults"), async || {}).await;
    let text = window.text().await;
    for part in ["unknown_question", "malformed_json", "{oops", "No quota was used"] {
        assert!(text.contains(part), "no `{part}` in {text}");
    }
    let typed = window.find("#model_name").await.prop("value").await.unwrap();
    assert_eq!(typed.as_deref(), Some("Reef-8B"), "what was typed is lost");
    let kept = window.find("#predictions").await.prop("value").await.unwrap().unwrap_or_default();
    assert_eq!(kept.ends_with("bad.jsonl"), scripts, "with scripts the file stays chosen");

    let good = file(&secchi, "good.jsonl", &val_answers("A ray glides past."));
    window.write("#predictions", good.to_str().unwrap()).await;
    window.click("button[value=submit]").await;
    window.until("submitted", |_, path| path.starts_with("/submissions/"), async || {}).await;
    let submission = window.path().await;

    // Without scripts the page says how to see what is new.
    let look = async || {
        if !scripts && let Ok(link) = window.page.find(By::LinkText("Look again")).await {
            link.click().await.unwrap();
        }
    };
    let is_under_way = |text: &str, _: &str| text.contains("Judging: 5 of ");
    window.until("under way", is_under_way, look).await;
    if scripts {
        window.page.execute("window.isTheSame = true", Vec::new()).await.unwrap();
        judge.permits.add_permits(7);
        window.until("further", |text, _| text.contains("Judging: 12 of "), async || {}).await;
        let same = window.page.execute("return window.isTheSame === true", Vec::new()).await.unwrap();
        assert!(same.convert::<bool>().unwrap(), "progress was shown by loading the page anew");
    }
    judge.permits.add_permits(1000);
    window
        .until("scored", |text, _| text.contains("Every answer has its score.") && text.contains("MCQ"), look)
        .await;
    assert_eq!(window.path().await, submission);
    assert!(window.text().await.contains("Only your team sees it."));

    let publish = window.page.find(By::XPath("//summary[.='Publish']")).await.unwrap();
    publish.scroll_into_view().await.unwrap();
    publish.click().await.unwrap();
    window.click("details[open] button").await;
    let is_public = |text: &str, _: &str| text.contains("on the leaderboard under your team's name");
    window.until("published", is_public, async || {}).await;

    window.page.goto(format!("{}/?split=val", secchi.base)).await.unwrap();
    let board = window.text().await;
    assert!(board.contains("Reef-8B") && board.contains("ocean-lab"), "{board}");

    window.page.goto(format!("{}/submissions", secchi.base)).await.unwrap();
    window.click("form[action='/sign-out'] button").await;
    window.until("signed out", |_, path| path == "/sign-in", async || {}).await;
    window.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_team_gets_from_its_key_to_a_row_of_the_board_with_scripts() {
    if is_here() {
        walk(PHONE, true).await;
        walk(DESKTOP, true).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_team_gets_from_its_key_to_a_row_of_the_board_without_scripts() {
    if is_here() {
        walk(PHONE, false).await;
        walk(DESKTOP, false).await;
    }
}
