//! The command line as its users meet it: the real program, its help and its exit codes.

use std::path::Path;

use serde_json::Value;

use secchi::domain::question::Split;

use crate::program::{Ended, run, run_on, secchi as program};
use crate::support::{Ground, Options, Secchi, entries, metadata, sample};

/// Commands whose help shows how they are used.
const WITH_EXAMPLE: &[&str] = &[
    "serve",
    "archive",
    "restore",
    "worker",
    "dataset import",
    "dataset videos",
    "team create",
    "team key create",
    "team grant",
    "judge check",
    "judge usage",
    "judge stage",
    "judge activate",
    "pull",
    "evaluate",
    "submit",
    "grade",
    "verify",
    "record-key rotate",
    "export",
    "build captions",
    "build questions",
    "build release",
    "submission list",
    "submission retry",
    "submission rejudge",
    "submission withdraw",
    "submission note",
    "admin",
    "admin flags",
    "admin close",
    "audit",
    "team enable",
    "dataset correct",
    "validity import",
    "validity report",
    "validity calibrate",
];

/// Every command, as words, found by reading the help.
pub fn commands(folder: &Path) -> Vec<Vec<String>> {
    let mut found: Vec<Vec<String>> = vec![Vec::new()];
    let mut at = 0;
    while at < found.len() {
        let command = found[at].clone();
        let help = help(folder, &command, &[]).stdout();
        let listed = help.split("\nCommands:\n").nth(1).unwrap_or_default();
        for line in listed.lines().take_while(|line| !line.is_empty()) {
            let name = line.strip_prefix("  ").filter(|rest| !rest.starts_with(' '));
            let name = name.and_then(|rest| rest.split_whitespace().next());
            if let Some(name) = name.filter(|name| *name != "help") {
                found.push(command.iter().cloned().chain([name.to_owned()]).collect());
            }
        }
        at += 1;
    }
    found
}

pub fn help(folder: &Path, command: &[String], environment: &[(&str, &str)]) -> Ended {
    let mut arguments: Vec<&str> = command.iter().map(String::as_str).collect();
    arguments.push("--help");
    run(program(folder, &arguments).envs(environment.iter().copied()))
}

#[test]
fn every_command_explains_itself() {
    let folder = tempfile::tempdir().unwrap();
    let commands = commands(folder.path());
    let names: Vec<String> = commands.iter().map(|command| command.join(" ")).collect();
    let expected = [
        "",
        "serve",
        "worker",
        "migrate",
        "dataset",
        "team",
        "judge",
        "validity",
        "record-key",
        "archive",
        "restore",
        "submission",
        "admin",
        "audit",
        "pull",
        "evaluate",
        "submit",
        "status",
        "publish",
        "withdraw",
        "grade",
        "verify",
        "export",
        "build",
        "openapi",
        "dataset import",
        "dataset videos",
        "dataset list",
        "dataset correct",
        "dataset activate",
        "team create",
        "team list",
        "team disable",
        "team enable",
        "team rotate-key",
        "team key",
        "team grant",
        "team signups",
        "team approve",
        "team reject",
        "judge check",
        "judge usage",
        "judge stage",
        "judge activate",
        "judge list",
        "validity import",
        "validity report",
        "validity calibrate",
        "record-key list",
        "record-key rotate",
        "submission list",
        "submission retry",
        "submission rejudge",
        "submission withdraw",
        "submission note",
        "submission notes",
        "admin flags",
        "admin close",
        "build captions",
        "build questions",
        "build release",
        "team key list",
        "team key create",
        "team key revoke",
    ];
    assert_eq!(names, expected);
    for (command, name) in commands.iter().zip(&names) {
        let ended = help(folder.path(), command, &[]);
        let text = ended.stdout();
        assert!(text.contains("Usage: secchi"), "{name}: {text}");
        assert!(!text.starts_with("Usage"), "`{name}` does not say what it does: {text}");
        assert_eq!(text.contains("Example"), WITH_EXAMPLE.contains(&name.as_str()), "{name}: {text}");
        for line in text.lines() {
            assert!(line.chars().count() <= 200, "{name}: {line}");
        }
    }
    let version = run(&mut program(folder.path(), &["--version"])).stdout();
    assert_eq!(version, format!("secchi {}\n", env!("CARGO_PKG_VERSION")));
}

#[test]
fn teams_are_made_listed_rotated_and_disabled() {
    let ground = Ground::new();
    let run = |arguments: &[&str]| run_on(&ground, arguments);
    let made =
        run(&["team", "create", "ocean-lab", "--name", "Ocean Lab", "--email", "lab@example.org", "--json"])
            .json();
    assert_eq!(
        (&made["slug"], &made["name"], &made["role"]),
        (&"ocean-lab".into(), &"Ocean Lab".into(), &"team".into())
    );
    let key = made["api_key"].as_str().unwrap();
    assert!(key.starts_with("sk_secchi_") && key.len() == "sk_secchi_".len() + 64, "{key}");
    let text = run(&["team", "create", "harbour", "--name", "Harbour", "--maintainer"]).stdout();
    assert_eq!(text.lines().filter(|line| line.starts_with("sk_secchi_")).count(), 1, "{text}");
    for (arguments, words) in [
        (["team", "create", "ocean-lab", "--name", "Other"], "already"),
        (["team", "create", "Ocean Lab", "--name", "Other"], "short name"),
        (["team", "create", "other", "--name", "  "], "blank"),
    ] {
        let ended = run(&arguments);
        assert!(ended.code == Some(1) && ended.stderr.contains(words), "{ended:?}");
    }
    let rotated = run(&["team", "rotate-key", "ocean-lab", "--json"]).json();
    assert_ne!(rotated["api_key"], made["api_key"]);
    assert_eq!(run(&["team", "disable", "ocean-lab", "--json"]).json()["disabled"], true);
    assert_eq!(run(&["team", "rotate-key", "ocean-lab"]).code, Some(1));
    assert_eq!(run(&["team", "disable", "nobody"]).code, Some(1));
    let listed = run(&["team", "list", "--json"]).json();
    let teams: Vec<(&str, &str, bool)> = listed.as_array().unwrap().iter().map(team_facts).collect();
    assert_eq!(teams.len(), 2);
    assert!(
        teams.contains(&("ocean-lab", "team", true)) && teams.contains(&("harbour", "maintainer", false))
    );
    let text = run(&["team", "list"]).stdout();
    assert!(
        text.contains("Ocean Lab") && text.contains("disabled") && !text.contains("sk_secchi_"),
        "{text}"
    );
}

fn team_facts(team: &Value) -> (&str, &str, bool) {
    assert!(team.get("api_key").is_none());
    (team["slug"].as_str().unwrap(), team["role"].as_str().unwrap(), team["disabled"].as_bool().unwrap())
}

#[test]
fn a_faulty_release_is_refused_whole_with_its_lines() {
    let ground = Ground::new();
    let text = std::fs::read_to_string(sample("test.jsonl")).unwrap();
    let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();
    lines[4] = "{".into();
    lines[9] = lines[8].clone();
    let faulty = ground.data.path().join("faulty.jsonl");
    std::fs::write(&faulty, lines.join("\n")).unwrap();
    let import = ["dataset", "import", "--release", "r1", "--split", "test", faulty.to_str().unwrap()];
    let ended = run_on(&ground, &import);
    assert_eq!(ended.code, Some(1), "{ended:?}");
    assert!(ended.stdout.contains("line 5: ") && ended.stdout.contains("line 10: "), "{ended:?}");
    assert!(ended.stderr.contains("nothing was imported"), "{ended:?}");
    assert_eq!(run_on(&ground, &["dataset", "list", "--json"]).json(), Value::Array(Vec::new()));
}

#[test]
fn a_release_never_changes_and_the_same_file_again_is_nothing_new() {
    let ground = Ground::new();
    let (test, val) = (sample("test.jsonl"), sample("val.jsonl"));
    let import = |name: &str, split: &str, file: &Path, more: &[&str]| {
        let arguments = ["dataset", "import", "--release", name, "--split", split, file.to_str().unwrap()];
        run_on(&ground, &[&arguments, more].concat())
    };
    let first = import("r1", "test", &test, &["--json"]).json();
    assert_eq!((first["questions"].as_u64(), first["videos"].as_u64()), (Some(199), Some(24)));
    assert_eq!((&first["active"], &first["already_there"]), (&true.into(), &false.into()));
    let again = import("r1", "test", &test, &["--json"]).json();
    assert_eq!((&again["already_there"], &again["sha256"]), (&true.into(), &first["sha256"]));
    let text = import("r1", "test", &test, &[]).stdout();
    assert!(text.contains("nothing was changed") && text.contains("central_object"), "{text}");
    let other = import("r1", "test", &val, &[]);
    assert!(other.code == Some(1) && other.stderr.contains("never changes"), "{other:?}");
    let cameras = ground.data.path().join("cameras.csv");
    let unknown = first["cameras"]["unknown"].as_array().unwrap();
    let rows: String = unknown.iter().map(|id| format!("{},static\n", id.as_str().unwrap())).collect();
    std::fs::write(&cameras, format!("id,camera\n{rows}MVK--no-such,static\n")).unwrap();
    let faulty = import("r2", "test", &test, &["--camera", cameras.to_str().unwrap()]);
    assert!(faulty.code == Some(1) && faulty.stdout.contains("MVK--no-such"), "{faulty:?}");
    let none = import("r2", "test", Path::new("none.jsonl"), &[]);
    assert!(none.code == Some(1) && none.stderr.contains("none.jsonl"), "{none:?}");
    let listed = run_on(&ground, &["dataset", "list", "--json"]).json();
    assert_eq!(listed.as_array().unwrap().len(), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_running_server_sees_at_once_what_a_command_did() {
    let secchi = Secchi::with(Options::default()).await;
    let ground = &secchi.ground;
    let run = |arguments: &[&str]| tokio::task::block_in_place(|| run_on(ground, arguments));
    let release = async || secchi.get_json("/api/v1/benchmark", None).await["splits"][0]["release"].clone();
    let file = sample("test.jsonl");
    run(&["dataset", "import", "--release", "r1", "--split", "test", file.to_str().unwrap()]).stdout();
    assert_eq!(release().await, "r1");

    let made = run(&["team", "create", "ocean-lab", "--name", "Ocean Lab", "--json"]).json();
    let key = made["api_key"].as_str().unwrap().to_owned();
    assert_eq!(secchi.get_json("/api/v1/me", Some(&key)).await["team"], "ocean-lab");
    let rotated = run(&["team", "rotate-key", "ocean-lab", "--json"]).json();
    assert_eq!(secchi.get("/api/v1/me", Some(&key)).await.status(), 401);
    let key = rotated["api_key"].as_str().unwrap().to_owned();
    let team = crate::support::TestTeam { slug: "ocean-lab".into(), key };
    secchi.scored(&team, &metadata("Reef-8B"), "random.jsonl").await;
    assert_eq!(secchi.entries("/api/v1/leaderboard").await.as_array().unwrap().len(), 1);

    // The second release: one question less.
    let text = std::fs::read_to_string(&file).unwrap();
    let shorter = ground.data.path().join("shorter.jsonl");
    std::fs::write(&shorter, text.split_once('\n').unwrap().1).unwrap();
    let shorter = shorter.to_str().unwrap();
    let second = run(&["dataset", "import", "--release", "r2", "--split", "test", shorter, "--json"]).json();
    assert_eq!(second["active"], false);
    assert_eq!(release().await, "r1");
    assert_eq!(run(&["dataset", "activate", "r3", "--split", "test"]).code, Some(1));
    run(&["dataset", "activate", "r2", "--split", "test"]).stdout();
    assert_eq!(release().await, "r2");
    let board = secchi.get_json("/api/v1/leaderboard", None).await;
    assert_eq!((&board["release"], entries(&board).as_array().unwrap().len()), (&"r2".into(), 0));
    let questions = secchi.get_json("/api/v1/splits/test/questions?limit=1000", Some(&team.key)).await;
    assert_eq!(questions["items"].as_array().unwrap().len(), 198);
    let listed = run(&["dataset", "list", "--json"]).json();
    let active: Vec<(&str, bool)> = listed.as_array().unwrap().iter().map(release_facts).collect();
    assert!(active.contains(&("r1", false)) && active.contains(&("r2", true)), "{active:?}");

    run(&["team", "disable", "ocean-lab"]).stdout();
    assert_eq!(secchi.get("/api/v1/me", Some(&team.key)).await.status(), 401);
}

fn release_facts(release: &Value) -> (&str, bool) {
    assert_eq!(release["split"], Split::Test.as_str());
    (release["release"].as_str().unwrap(), release["active"].as_bool().unwrap())
}

#[test]
fn a_terminal_gets_colours_unless_it_asks_for_none() {
    let folder = tempfile::tempdir().unwrap();
    // `script` lends the program a terminal.
    let on_terminal = |no_color: Option<&str>| {
        let command = format!("{} serve --help", env!("CARGO_BIN_EXE_secchi"));
        let mut script = std::process::Command::new("script");
        script.args(["-qec", &command, "/dev/null"]).current_dir(folder.path()).env("TERM", "xterm");
        script.env_remove("NO_COLOR").envs(no_color.map(|value| ("NO_COLOR", value)));
        run(&mut script).stdout()
    };
    assert!(on_terminal(None).contains("\u{1b}["));
    let plain = on_terminal(Some("1"));
    assert!(plain.contains("Usage: secchi serve") && !plain.contains("\u{1b}[3"), "{plain:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_check_of_the_judge_decides_nothing_and_says_what_is_in_force() {
    let ground = Ground::new();
    let check = |ground: &Ground| {
        let ended = run_on(ground, &["judge", "check"]);
        assert_eq!(ended.code, Some(0), "{}", ended.stderr);
        ended.stdout
    };
    let before = check(&ground);
    assert!(before.contains("will be in force") && before.contains("oemu: scores"), "{before}");
    let ground = Secchi::on(ground, Options::default()).await.stop().await;
    let after = check(&ground);
    assert!(after.contains("is in force"), "{after}");
}

#[test]
fn the_file_with_the_answer_keys_is_its_owners_alone() {
    use std::os::unix::fs::PermissionsExt as _;
    let folder = tempfile::TempDir::new().unwrap();
    let database = folder.path().join("data/secchi.db");
    let url = format!("sqlite://{}", database.display());
    let output = std::process::Command::new(env!("CARGO_BIN_EXE_secchi"))
        .args(["migrate", "--database-url", &url])
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let mode = |path: &std::path::Path| path.metadata().unwrap().permissions().mode() & 0o777;
    assert_eq!((mode(database.parent().unwrap()), mode(&database)), (0o700, 0o600));
}

#[test]
fn a_command_whose_reader_has_gone_ends_without_a_word() {
    let folder = tempfile::tempdir().unwrap();
    let (reader, writer) = std::io::pipe().unwrap();
    drop(reader);
    let output = program(folder.path(), &["openapi"]).stdout(writer).output().unwrap();
    assert_eq!((output.status.code(), String::from_utf8_lossy(&output.stderr).as_ref()), (Some(141), ""));
}
