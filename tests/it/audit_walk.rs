//! Whatever maintainers change leaves a line in the audit log: every route of the API and of the pages, and every command.
//! A new route or command without an entry fails.

use std::collections::BTreeSet;
use std::path::Path;
use std::sync::Arc;

use reqwest::Method;
use serde_json::{Value, json};

use secchi::domain::question::Split;
use secchi::store::StoreError;
use secchi::store::configurations::{
    ConfigurationRow, RETIRED, find_current_configuration, insert_configuration,
};

use crate::by_hand::execute;
use crate::operations::{operations, val_decision};
use crate::pages::Browser;
use crate::program::{Ended, run, run_on, secchi};
use crate::roles::{On, judge, object, submission};
use crate::series::withheld;
use crate::support::{Options, Secchi, TestTeam, sample};

/// What an operation of the API is tried on, and what the log calls it. The judge's come first: nothing is published yet.
const OPERATIONS: &[(&str, On, &str)] = &[
    ("stage_judge", On::Nothing, "stage_judge"),
    ("activate_judge", On::Nothing, "activate_judge"),
    ("create_correction", On::Release, "stage_correction"),
    ("cancel_correction", On::StagedRelease, "abandon_correction"),
    ("update_active_release", On::Release, "activate_release"),
    ("approve_signup", On::Signup, "approve_signup"),
    ("close_flag", On::Flagged, "close_flag"),
    ("create_decision", On::Incomplete, "decide_answer"),
    ("create_grant", On::Team, "grant_quota"),
    ("create_ratings", On::Nothing, "import_ratings"),
    ("create_note", On::Scored, "add_note"),
    ("create_team", On::Slug, "create_team"),
    ("disable_team", On::Team, "disable_team"),
    ("enable_team", On::Team, "enable_team"),
    ("reject_signup", On::Signup, "reject_signup"),
    ("retry_submission", On::Incomplete, "retry_submission"),
    ("rejudge_submission", On::Scored, "rejudge_submission"),
    ("cancel_rejudging", On::Rejudged, "cancel_rejudging"),
    ("rotate_team_key", On::Team, "rotate_key"),
    ("update_series", On::Nothing, "tell_scores"),
    ("withdraw_any_submission", On::Scored, "withdraw_submission"),
];

/// What a form holds: its fields, in which `{object}` is what it is about.
type Fields = &'static [(&'static str, &'static str)];

/// The forms of the pages, with what they are sent and what the log calls it.
const FORMS: &[(&str, On, Fields, &str)] = &[
    // First: where there are entries, all of them must be judged before.
    ("/admin/judge/activate", On::Nothing, &[("configuration", "another")], "activate_judge"),
    ("/admin/signups/{id}/approve", On::Signup, &[], "approve_signup"),
    ("/admin/signups/{id}/reject", On::Signup, &[("reason", "nobody knows them")], "reject_signup"),
    (
        "/admin/teams/{slug}/grants",
        On::Team,
        &[("split", "test"), ("amount", "1"), ("reason", "the server was down")],
        "grant_quota",
    ),
    ("/admin/teams/{slug}/disable", On::Team, &[], "disable_team"),
    ("/admin/teams/{slug}/enable", On::Team, &[], "enable_team"),
    ("/admin/submissions/{id}/retry", On::Incomplete, &[], "retry_submission"),
    ("/admin/submissions/{id}/rejudge", On::Scored, &[("reason", "a bad hour")], "rejudge_submission"),
    ("/admin/submissions/{id}/rejudge/cancel", On::Rejudged, &[], "cancel_rejudging"),
    ("/admin/submissions/{id}/withdraw", On::Scored, &[("reason", "wrong weights")], "withdraw_submission"),
    (
        "/admin/submissions/{id}/decisions",
        On::Incomplete,
        &[
            ("question_id", "{question}"),
            ("configuration", "{configuration}"),
            ("subject_correspondence", "3"),
            ("temporal_description", "3"),
            ("hallucination_detection", "3"),
            ("reason", "the judge refuses"),
        ],
        "decide_answer",
    ),
    ("/admin/submissions/{id}/tell", On::Nothing, &[("reason", "an honest series")], "tell_scores"),
    ("/admin/submissions/{id}/notes", On::Scored, &[("text", "asked the team by e-mail")], "add_note"),
    ("/admin/flags/{kind}/{id}/close", On::Flagged, &[("reason", "a joke")], "close_flag"),
    ("/admin/releases/activate", On::Release, &[("split", "val"), ("name", "{object}")], "activate_release"),
    (
        "/admin/releases/stage",
        On::Release,
        &[("split", "val"), ("name", "{object}"), ("notice", "Two keys were wrong.")],
        "stage_correction",
    ),
    (
        "/admin/releases/abandon",
        On::StagedRelease,
        &[("split", "val"), ("name", "{object}")],
        "abandon_correction",
    ),
];

fn options() -> Options {
    let quota = vec!["--quota-val-per-day", "1000", "--quota-per-day", "100", "--quota-total", "100"];
    Options { given_judge: Some(Arc::new(judge())), quota, ..Options::default() }
}

/// The newest line of the log, as the maintainer reads it.
async fn newest(secchi: &Secchi, maintainer: &TestTeam) -> Value {
    let page = secchi.get_json("/api/v1/admin/audit?limit=1", Some(&maintainer.key)).await;
    page["items"][0].clone()
}

/// Another configuration than the current one, by its id.
async fn another_configuration(secchi: &Secchi) -> String {
    let stored: Result<(), StoreError> = secchi
        .running
        .evaluation
        .store
        .write(|connection| {
            let current = find_current_configuration(connection)?.unwrap();
            let row = ConfigurationRow { id: "another".into(), state: RETIRED.into(), ..current };
            insert_configuration(connection, &row)
        })
        .await;
    stored.unwrap();
    "another".into()
}

#[tokio::test(flavor = "multi_thread")]
async fn every_operation_of_maintainers_is_in_the_audit_log() {
    let secchi = Secchi::with(options()).await;
    secchi.import(Split::Val, "val.jsonl").await;
    secchi.import(Split::Test, "test.jsonl").await;
    let (team, maintainer) = (secchi.team("ocean-lab").await, secchi.maintainer("harbour").await);
    let all = operations();
    let changing: BTreeSet<&str> = all
        .iter()
        .filter(|operation| operation.route.starts_with("/api/v1/admin/") && operation.method != Method::GET)
        .map(|operation| operation.id.as_str())
        .collect();
    let listed: BTreeSet<&str> = OPERATIONS.iter().map(|(id, ..)| *id).collect();
    assert_eq!(changing, listed, "give each operation an entry");
    let another = another_configuration(&secchi).await;
    let server = (&secchi.http, secchi.base.as_str());
    for (id, on, action) in OPERATIONS {
        let operation = all.iter().find(|operation| operation.id == *id).unwrap();
        let subject = match *id {
            "update_series" => withheld(&secchi, &team).await,
            _ => object(&secchi, &team, *on).await,
        };
        if *id == "enable_team" {
            run_on(&secchi.ground, &["team", "disable", &subject]).stdout();
        }
        let before = newest(&secchi, &maintainer).await;
        let request = operation.request(server, Some(&maintainer.key), &subject, &maintainer.key);
        let request = match *id {
            "stage_judge" => request.json(&json!({ "configuration": another })),
            "activate_judge" => request.json(&json!({})),
            _ => request,
        };
        let response = request.send().await.unwrap();
        assert!(response.status().is_success(), "{id}: {}", response.text().await.unwrap());
        let line = newest(&secchi, &maintainer).await;
        assert_ne!(line["id"], before["id"], "{id} left no line");
        assert_eq!(
            [&line["actor"], &line["place"], &line["action"]],
            ["harbour", "127.0.0.1", action],
            "{id}: {line}"
        );
    }
}

/// The addresses of forms below `/admin`, as the pages' sources register them.
fn forms(folder: &Path, found: &mut BTreeSet<String>) {
    for file in std::fs::read_dir(folder).unwrap() {
        let path = file.unwrap().path();
        if path.is_dir() {
            forms(&path, found);
            continue;
        }
        let text = std::fs::read_to_string(&path).unwrap();
        for part in text.split("page(").skip(1) {
            let call = part.split(");").next().unwrap();
            let address = call.split('"').nth(1).filter(|address| address.starts_with("/admin"));
            if let Some(address) = address.filter(|_| call.contains("web::post()")) {
                found.insert(address.to_owned());
            }
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn every_form_of_maintainers_is_in_the_audit_log() {
    let mut registered = BTreeSet::new();
    forms(&Path::new(env!("CARGO_MANIFEST_DIR")).join("src/web"), &mut registered);
    let listed: BTreeSet<String> = FORMS.iter().map(|(address, ..)| (*address).to_owned()).collect();
    assert_eq!(registered, listed, "give each form an entry");
    let secchi = Secchi::with(options()).await;
    secchi.import(Split::Val, "val.jsonl").await;
    secchi.import(Split::Test, "test.jsonl").await;
    let (team, maintainer) = (secchi.team("ocean-lab").await, secchi.maintainer("harbour").await);
    let decided = val_decision();
    another_configuration(&secchi).await;
    for (address, on, fields, action) in FORMS {
        let id = match *action {
            "tell_scores" => withheld(&secchi, &team).await,
            _ => object(&secchi, &team, *on).await,
        };
        if *action == "enable_team" {
            run_on(&secchi.ground, &["team", "disable", &id]).stdout();
        }
        let configuration = match *action {
            "decide_answer" => submission(&secchi, &team, &id).await["judge"]["configuration"].clone(),
            _ => Value::Null,
        };
        let filled = |value: &'static str| match value {
            "{object}" => id.clone(),
            "{question}" => decided["question_id"].as_str().unwrap().to_owned(),
            "{configuration}" => configuration.as_str().unwrap().to_owned(),
            value => value.to_owned(),
        };
        let fields: Vec<(&str, String)> = fields.iter().map(|(name, value)| (*name, filled(value))).collect();
        let fields: Vec<(&str, &str)> = fields.iter().map(|(name, value)| (*name, value.as_str())).collect();
        let address = address.replace("{id}", &id).replace("{slug}", &id).replace("{kind}", "attack");
        // To make an object may take longer than a session lasts.
        let browser = Browser::signed_in(&secchi, &maintainer).await;
        let before = newest(&secchi, &maintainer).await;
        let shown = browser.send(&address, &fields).await;
        assert!(shown.status < 400, "{address}: {}", shown.text);
        let line = newest(&secchi, &maintainer).await;
        assert_ne!(line["id"], before["id"], "{address} left no line");
        assert_eq!(
            [&line["actor"], &line["place"], &line["action"]],
            ["harbour", "127.0.0.1", action],
            "{address}: {line}"
        );
    }
}

/// The commands that change what maintainers answer for, and what the log calls it.
const CHANGING: &[(&str, &str)] = &[
    ("admin close", "close_flag"),
    ("dataset activate", "activate_release"),
    ("dataset correct", "stage_correction"),
    ("dataset import", "import_release"),
    ("dataset videos", "add_videos"),
    ("judge activate", "activate_judge"),
    ("judge check", "check_judge"),
    ("judge stage", "stage_judge"),
    ("record-key rotate", "rotate_record_key"),
    ("submission note", "add_note"),
    ("submission rejudge", "rejudge_submission"),
    ("submission retry", "retry_submission"),
    ("submission withdraw", "withdraw_submission"),
    ("validity import", "import_ratings"),
    ("team approve", "approve_signup"),
    ("team create", "create_team"),
    ("team disable", "disable_team"),
    ("team enable", "enable_team"),
    ("team grant", "grant_quota"),
    ("team key create", "create_key"),
    ("team key revoke", "revoke_key"),
    ("team reject", "reject_signup"),
    ("team rotate-key", "rotate_key"),
];

/// The other commands: they read, run the program, or are a team's.
const OTHERS: &[&str] = &[
    "admin flags",
    "archive",
    "audit",
    "build captions",
    "build questions",
    "build release",
    "dataset list",
    "evaluate",
    "export",
    "grade",
    "judge list",
    "judge usage",
    "migrate",
    "openapi",
    "publish",
    "pull",
    "record-key list",
    "restore",
    "serve",
    "status",
    "submission list",
    "submission notes",
    "submit",
    "team key list",
    "team list",
    "team signups",
    "validity calibrate",
    "validity report",
    "verify",
    "withdraw",
    "worker",
];

/// The commands below some words, as `--help` lists them.
fn commands(words: &[&str], found: &mut BTreeSet<String>) {
    let folder = std::env::temp_dir();
    let arguments: Vec<&str> = words.iter().copied().chain(["--help"]).collect();
    let help = run(&mut secchi(&folder, &arguments)).stdout();
    let Some((_, listed)) = help.split_once("Commands:\n") else {
        found.insert(words.join(" "));
        return;
    };
    let names = listed.lines().take_while(|line| !line.is_empty()).filter(|line| !line.starts_with("    "));
    for name in names.filter_map(|line| line.split_whitespace().next()).filter(|name| *name != "help") {
        let below: Vec<&str> = words.iter().copied().chain([name]).collect();
        commands(&below, found);
    }
}

#[test]
fn every_command_is_known_to_change_something_or_not() {
    let mut found = BTreeSet::new();
    commands(&[], &mut found);
    let listed: BTreeSet<String> = CHANGING
        .iter()
        .map(|(command, _)| *command)
        .chain(OTHERS.iter().copied())
        .map(str::to_owned)
        .collect();
    assert_eq!(found, listed, "name each command in one of the two lists");
}

#[tokio::test(flavor = "multi_thread")]
async fn every_command_that_changes_something_is_in_the_audit_log() {
    let (secchi, maintainer) = (Secchi::start().await, "harbour");
    let maintainer = secchi.maintainer(maintainer).await;
    let ground = &secchi.ground;
    let folder = tempfile::tempdir().unwrap();
    crate::clips::lay(folder.path(), &[crate::clips::clip("one_frame_h264.mp4")]);
    let (val, clips) = (sample("val.jsonl"), folder.path().to_owned());
    let (val, clips) = (val.to_str().unwrap(), clips.to_str().unwrap());
    let team = async |slug: &str| secchi.team(slug).await;
    let mut seen = BTreeSet::new();
    let mut tried = async |command: &str, arguments: &[&str]| -> Ended {
        let (_, action) = CHANGING.iter().find(|(known, _)| *known == command).unwrap();
        let words: Vec<&str> = command.split(' ').chain(arguments.iter().copied()).collect();
        let ended = run_on(ground, &words);
        assert_eq!(ended.code, Some(0), "{command}: {ended:?}");
        let line = newest(&secchi, &maintainer).await;
        assert_eq!(
            [&line["actor"], &line["place"], &line["action"]],
            ["command line", "command line", action],
            "{command}: {line}"
        );
        seen.insert(command.to_owned());
        ended
    };
    tried("judge check", &[]).await;
    // As long as nothing is published, nothing has to be judged for it.
    let another = another_configuration(&secchi).await;
    tried("judge stage", &["--configuration", &another]).await;
    tried("judge activate", &[]).await;
    tried("dataset import", &["--release", "one", "--split", "val", val]).await;
    run_on(ground, &["dataset", "import", "--release", "two", "--split", "val", val]).stdout();
    tried("dataset activate", &["two", "--split", "val"]).await;
    tried("dataset correct", &["one", "--split", "val"]).await;
    let ratings = folder.path().join("ratings.csv");
    let row = "item,question_id,dimension,rater,rating,judge_score\nS1,MVK--reef--q5,OEMU,E1,3,2.65\n";
    std::fs::write(&ratings, row).unwrap();
    tried("validity import", &[ratings.to_str().unwrap()]).await;
    std::fs::remove_file(ratings).unwrap();
    tried("dataset videos", &["--split", "val", clips]).await;
    tried("team create", &["ocean-lab", "--name", "Ocean Lab"]).await;
    tried("team grant", &["ocean-lab", "--split", "val", "--amount", "1", "--reason", "a lost day"]).await;
    let made =
        tried("team key create", &["ocean-lab", "--name", "cluster", "--scope", "read", "--json"]).await;
    let key: Value = serde_json::from_str(&made.stdout).unwrap();
    tried("team key revoke", &["ocean-lab", key["id"].as_str().unwrap()]).await;
    tried("team disable", &["ocean-lab"]).await;
    tried("team enable", &["ocean-lab"]).await;
    tried("team rotate-key", &["ocean-lab"]).await;
    let reef = team("reef-lab").await;
    let [one, two] = [object(&secchi, &reef, On::Signup).await, object(&secchi, &reef, On::Signup).await];
    tried("team approve", &[&one]).await;
    tried("team reject", &[&two, "--reason", "nobody knows them"]).await;
    let flagged = object(&secchi, &reef, On::Flagged).await;
    tried("admin close", &["attack", &flagged, "--reason", "it quotes a sign"]).await;
    tried("record-key rotate", &[]).await;
    tried("submission note", &[&flagged, "asked them for the log"]).await;
    tried("submission rejudge", &[&flagged, "--reason", "a bad hour"]).await;
    tried("submission withdraw", &[&flagged, "--reason", "trained on the clips"]).await;
    let given_up = object(&secchi, &reef, On::Queued).await;
    execute(ground, &format!("UPDATE submissions SET state = 'failed' WHERE id = '{given_up}'"));
    tried("submission retry", &[&given_up]).await;
    let listed: BTreeSet<String> = CHANGING.iter().map(|(command, _)| (*command).to_owned()).collect();
    assert_eq!(seen, listed, "try each command");
}
