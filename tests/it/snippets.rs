//! The lines of shell and Python that a team is shown, run exactly as they are printed.

use std::path::Path;
use std::process::Command;

use serde_json::json;

use secchi::domain::question::Split;

use crate::pages::Browser;
use crate::program::{Ended, run};
use crate::support::{Options, Secchi, TestTeam, entries, sample_bytes};

const SHELL: &str = include_str!("../../src/web/assets/submit.sh");
const PYTHON: &str = include_str!("../../src/web/assets/submit.py");

/// A server that works by itself on the sample's val release, and a team.
async fn server() -> (Secchi, TestTeam) {
    let secchi = Secchi::with(Options { with_worker: true, ..Options::default() }).await;
    secchi.import(Split::Val, "val.jsonl").await;
    let team = secchi.team("ocean-lab").await;
    (secchi, team)
}

/// Runs a program in a folder as a team that has set what the text before the snippet says.
async fn run_as(secchi: &Secchi, team: &TestTeam, folder: &Path, program: &str, arguments: &[&str]) -> Ended {
    let mut command = Command::new(program);
    command.args(arguments).current_dir(folder).env("NO_PROXY", "127.0.0.1");
    command.env("SECCHI_URL", &secchi.base).env("SECCHI_API_KEY", &team.key);
    tokio::task::spawn_blocking(move || run(&mut command)).await.unwrap()
}

/// A Python that has `requests`: the one in front may be another than Debian's, which `make setup` cares for.
fn python() -> &'static str {
    let has_requests = |program: &&str| {
        let tried = Command::new(program).args(["-c", "import requests"]).output();
        tried.is_ok_and(|ended| ended.status.success())
    };
    ["python3", "/usr/bin/python3"]
        .into_iter()
        .find(has_requests)
        .expect("a Python with requests: make setup")
}

#[test]
fn the_readme_shows_the_snippets_as_they_are() {
    let readme = std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("README.md")).unwrap();
    for (language, snippet) in [("sh", SHELL), ("python", PYTHON)] {
        assert!(readme.contains(&format!("```{language}\n{snippet}```\n")), "{language}");
    }
}

/// The text that a browser shows for these characters.
fn unescaped(html: &str) -> String {
    let entities = [("&lt;", "<"), ("&gt;", ">"), ("&quot;", "\""), ("&amp;", "&")];
    entities.iter().fold(html.to_owned(), |text, (entity, plain)| text.replace(entity, plain))
}

#[tokio::test(flavor = "multi_thread")]
async fn the_page_to_submit_shows_the_snippets_as_they_are_signed_in_or_not() {
    let secchi = Secchi::start().await;
    let team = secchi.team("ocean-lab").await;
    for browser in [Browser::new(&secchi), Browser::signed_in(&secchi, &team).await] {
        let shown = browser.get("/submit").await;
        assert_eq!(shown.status, 200);
        for snippet in [SHELL, PYTHON] {
            assert!(
                unescaped(&shown.text).contains(&format!("<code>{snippet}</code></pre>")),
                "{}",
                shown.text
            );
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_shell_lines_submit_a_file_and_publish_its_scores() {
    let (secchi, team) = server().await;
    let folder = tempfile::tempdir().unwrap();
    let questions = String::from_utf8(sample_bytes("val.jsonl")).unwrap();
    let answers = questions.lines().map(|line| {
        let question: serde_json::Value = serde_json::from_str(line).unwrap();
        json!({"question_id": question["question_id"], "answer": "B"}).to_string() + "\n"
    });
    std::fs::write(folder.path().join("predictions.jsonl"), answers.collect::<String>()).unwrap();
    let ended = run_as(&secchi, &team, folder.path(), "bash", &["-euo", "pipefail", "-c", SHELL]).await;
    assert_eq!(ended.code, Some(0), "{ended:?}");
    assert!(ended.stdout.contains("\"coverage\"") && ended.stdout.contains("MBC-so"), "{ended:?}");
    let kept = std::fs::read_to_string(folder.path().join("questions.jsonl")).unwrap();
    assert_eq!(kept.lines().count(), questions.lines().count());
    let board = secchi.get_json("/api/v1/leaderboard?split=val", None).await;
    assert_eq!(entries(&board)[0]["model_name"], "Reef-8B", "{board}");
}

#[tokio::test(flavor = "multi_thread")]
async fn the_python_lines_answer_submit_and_print_the_scores() {
    let (secchi, team) = server().await;
    let folder = tempfile::tempdir().unwrap();
    let ended = run_as(&secchi, &team, folder.path(), python(), &["-c", PYTHON]).await;
    assert_eq!(ended.code, Some(0), "{ended:?}");
    assert!(ended.stdout.starts_with("scored\n") && ended.stdout.contains("MBC-so"), "{ended:?}");
}
