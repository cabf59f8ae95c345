//! The house: floors, homes of dependencies, names and sizes, held over every file of `src/`.
//!
//! A fault is a line `file:line: what is wrong and how to mend it`. Each rule has a test that shows that it can fail.

#[path = "architecture/paths.rs"]
mod paths;

use std::path::Path;

use paths::{NamedPath, paths};

/// The rooms by floor. A file imports its own room and rooms of lower floors; rooms of one floor do not know each other.
const FLOORS: [&[&str]; 6] = [
    &["domain", "config", "clock"],
    // The labels whose series stand at 0 from the start are the domain's nouns: telemetry stands above it.
    &["scoring", "predictions", "limiter", "telemetry"],
    &["store", "queue", "judge", "video", "media", "tokens", "records", "client", "mail"],
    &["evaluation", "benchmark", "frames", "accounts", "administration", "archive"],
    &["http", "web", "worker"],
    &["main", "lib", "app", "cli"],
];

/// Rooms of one floor that know each other all the same: the door opens the command line, which starts the wiring.
const NEIGHBOURS: [(&str, &str); 2] = [("main", "cli"), ("cli", "app")];

/// Names that stand at the root of the crate and belong to a room: a macro is exported there.
const ROOT_NAMES: [(&str, &str); 1] = [("text_enum", "domain")];

/// The homes of dependencies that only some rooms may know.
const HOMES: &[(&str, &[&str])] = &[
    ("actix_web", &["http", "web", "app"]),
    ("actix_multipart", &["http", "web"]),
    ("utoipa_actix_web", &["http", "app"]),
    ("utoipa_swagger_ui", &["app"]),
    ("maud", &["web"]),
    ("resvg", &["web"]),
    ("dejavu", &["web"]),
    ("form_urlencoded", &["web", "http"]),
    ("diesel", &["store"]),
    ("diesel_migrations", &["store"]),
    ("libsqlite3_sys", &["store"]),
    ("redis", &["queue", "limiter"]),
    ("reqwest", &["judge", "client"]),
    ("eventsource_stream", &["client"]),
    ("prometheus", &["telemetry"]),
    ("tracing_subscriber", &["telemetry"]),
    ("opentelemetry", &["telemetry"]),
    ("opentelemetry_sdk", &["telemetry"]),
    ("opentelemetry_otlp", &["telemetry"]),
    ("tracing_opentelemetry", &["telemetry"]),
    ("jsonwebtoken", &["tokens", "records"]),
    ("lettre", &["mail"]),
    ("governor", &["limiter"]),
    ("ffmpeg_next", &["video"]),
    ("object_store", &["media"]),
    ("clap", &["config", "cli"]),
    ("toml", &["config"]),
    ("indicatif", &["cli", "benchmark"]),
    ("comfy_table", &["cli"]),
    ("zip", &["predictions"]),
    ("quick_xml", &["predictions", "http"]),
    ("statrs", &["scoring"]),
];

/// Rooms that compute and nothing else: time, seeds and bytes come in as arguments.
const PURE_ROOMS: [&str; 3] = ["domain", "scoring", "predictions"];

/// What reaches out of a pure room.
const IMPURE: [&str; 13] = [
    "std::fs",
    "std::net",
    "std::process",
    "std::thread",
    "std::env",
    "std::io::stdin",
    "std::io::stdout",
    "std::io::stderr",
    "std::time::SystemTime",
    "std::time::Instant",
    "tokio",
    "rand",
    "chrono::Local",
];

/// Names that say nothing of what a file holds, and neither do their plurals.
const EMPTY_NAMES: [&str; 5] = ["util", "common", "helper", "manager", "service"];

const MAX_LINES: usize = 400;

/// Everything that is wrong with the file at `path`, which is relative to `src/`.
fn faults(path: &str, source: &str) -> Vec<String> {
    let mut faults = Vec::new();
    let mut fault = |line: usize, detail: String| faults.push(format!("src/{path}:{line}: {detail}"));
    if !source.starts_with("//! ") {
        fault(1, "the file does not open with `//!`; say what lives here and what it must not know".into());
    }
    let lines = source.lines().count();
    if lines > MAX_LINES {
        fault(lines, format!("the file has more than {MAX_LINES} lines; it has two subjects: split it"));
    }
    let module = module(path);
    for name in module.iter().filter(|name| is_empty_name(name)) {
        fault(1, format!("`{name}` says nothing of what is in it; name the subject"));
    }
    // A file of tests is compiled under `#[cfg(test)]` alone.
    if module.last().is_some_and(|name| name == "tests") {
        return faults;
    }
    let room = module.first().map_or_else(|| path.trim_end_matches(".rs").to_owned(), Clone::clone);
    for path in paths(&module, source) {
        let details = [floor_fault(&room, &path), home_fault(&room, &path), purity_fault(&room, &path)];
        for detail in details.into_iter().flatten() {
            fault(path.line, detail);
        }
    }
    faults
}

/// The module that a file is: `["http", "error"]` for `http/error/mod.rs`, none for the root.
fn module(path: &str) -> Vec<String> {
    let segments = path.trim_end_matches(".rs").split('/').map(str::to_owned);
    let mut segments: Vec<String> = segments.collect();
    if segments.last().is_some_and(|last| last == "mod") || path == "lib.rs" || path == "main.rs" {
        segments.pop();
    }
    segments
}

fn is_empty_name(name: &str) -> bool {
    EMPTY_NAMES.contains(&name.trim_end_matches('s'))
}

fn floor(room: &str) -> Option<usize> {
    FLOORS.iter().position(|rooms| rooms.contains(&room))
}

fn floor_fault(room: &str, path: &NamedPath) -> Option<String> {
    if path.segments[0] != "crate" && path.segments[0] != "secchi" {
        return None;
    }
    let name = path.segments[1].as_str();
    let other = ROOT_NAMES.iter().find(|(known, _)| *known == name).map_or(name, |(_, room)| room);
    let (Some(own_floor), Some(other_floor)) = (floor(room), floor(other)) else {
        return Some(format!("`{room}` or `{other}` is on no floor; enter it in this test's `FLOORS`"));
    };
    if other == room || other_floor < own_floor || NEIGHBOURS.contains(&(room, other)) {
        return None;
    }
    let way = if other_floor == own_floor { "sideways" } else { "upward" };
    Some(format!("`{}` is an import {way}: `{room}` must not know `{other}`", path.segments.join("::")))
}

fn home_fault(room: &str, path: &NamedPath) -> Option<String> {
    let text = path.segments.join("::");
    if path.segments[..2] == ["std", "env"] {
        let allowed = room == "config" || (room == "main" && text == "std::env::args_os");
        return (!allowed).then(|| format!("`{text}`: the environment is read in config alone"));
    }
    let (name, homes) = HOMES.iter().find(|(name, _)| *name == path.segments[0])?;
    (!homes.contains(&room)).then(|| format!("`{text}`: `{name}` is at home in {} alone", homes.join(", ")))
}

fn purity_fault(room: &str, path: &NamedPath) -> Option<String> {
    let text = path.segments.join("::");
    let reaches = |outside: &&str| text == **outside || text.starts_with(&format!("{outside}::"));
    let impure = IMPURE.iter().any(reaches) || text.ends_with("Utc::now");
    (PURE_ROOMS.contains(&room) && impure).then(|| {
        format!("`{text}`: `{room}` does no I/O and knows no clock or chance; take it as an argument")
    })
}

/// The files that stand beside the folder of their own parts.
fn outside_their_folder(names: &[String]) -> Vec<String> {
    let fault = |name: &String| {
        let folder = name.strip_suffix("rs").map(|stem| stem.replace('.', "/"))?;
        let is_outside = names.iter().any(|other| other.starts_with(&folder));
        is_outside.then(|| format!("src/{name}:1: the module has a folder: move it to `src/{folder}mod.rs`"))
    };
    names.iter().filter_map(fault).collect()
}

#[test]
fn the_house_is_in_order() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let mut faults_found = Vec::new();
    let mut folders = vec![root.clone()];
    let mut names = Vec::new();
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|extension| extension == "rs") {
                let name = path.strip_prefix(&root).unwrap().to_str().unwrap().to_owned();
                faults_found.extend(faults(&name, &std::fs::read_to_string(&path).unwrap()));
                names.push(name);
            }
        }
    }
    assert!(names.len() > 50, "only {} files were found", names.len());
    faults_found.extend(outside_their_folder(&names));
    assert!(faults_found.is_empty(), "\n{}", faults_found.join("\n"));
}

/// Asserts that the file has one fault, on this line and with these words; `source` begins after its first line.
#[track_caller]
fn assert_fault(path: &str, source: &str, line: usize, words: &str) {
    let found = faults(path, &format!("//! Made up.\n{source}"));
    let place = format!("src/{path}:{line}: ");
    assert!(found.len() == 1 && found[0].starts_with(&place) && found[0].contains(words), "{found:?}");
}

#[track_caller]
fn assert_no_fault(path: &str, source: &str) {
    assert_eq!(faults(path, &format!("//! Made up.\n{source}")), Vec::<String>::new());
}

#[test]
fn an_import_upward_is_a_fault() {
    assert_fault("store/teams.rs", "\nuse crate::accounts::Principal;", 3, "upward");
    assert_fault("evaluation/work.rs", "fn f() { crate::http::document(); }", 2, "upward");
    assert_fault("scoring/mod.rs", "use super::store::Store;", 2, "upward");
    assert_fault("domain/mod.rs", "use crate::{domain::column::Column, scoring::ranking};", 2, "upward");
    assert_no_fault(
        "http/error/mod.rs",
        "use crate::store::StoreError;\nuse super::page::Page;\ncrate::text_enum! {}",
    );
}

#[test]
fn an_import_sideways_is_a_fault() {
    assert_fault("web/mod.rs", "use crate::http::State;", 2, "sideways");
    assert_fault("queue/mod.rs", "mod a {\n    use crate::store::Store;\n}", 3, "sideways");
    assert_fault("app.rs", "use crate::cli;", 2, "sideways");
    assert_no_fault("cli/serve.rs", "use crate::app::Running;");
    assert_no_fault("main.rs", "fn main() { secchi::cli::run(std::env::args_os()); }");
}

#[test]
fn a_room_on_no_floor_is_a_fault() {
    assert_fault("attic.rs", "use crate::domain::team::Role;", 2, "on no floor");
}

#[test]
fn a_dependency_away_from_its_home_is_a_fault() {
    for (dependency, homes) in HOMES {
        let source = format!("use {dependency}::Thing;");
        assert_fault("evaluation/mod.rs", &source, 2, "is at home in");
        assert_no_fault(&format!("{}.rs", homes[0]), &source);
    }
    assert_fault("evaluation/mod.rs", "use ::redis::Client;", 2, "`redis` is at home in queue");
}

#[test]
fn the_environment_is_read_in_one_place() {
    assert_fault("store/mod.rs", "use std::{env, fs};", 2, "config alone");
    assert_fault("main.rs", "fn main() { std::env::var(\"X\"); }", 2, "config alone");
    assert_no_fault("config/mod.rs", "fn f() { std::env::var(\"X\"); }");
    assert_no_fault("cli/mod.rs", "const VERSION: &str = env!(\"CARGO_PKG_VERSION\");");
}

#[test]
fn what_reaches_out_of_a_pure_room_is_a_fault() {
    for outside in IMPURE.into_iter().filter(|outside| *outside != "std::env") {
        for room in PURE_ROOMS {
            assert_fault(&format!("{room}/x.rs"), &format!("use {outside}::thing;"), 2, "as an argument");
        }
    }
    assert_fault("scoring/x.rs", "use chrono::Utc;\nfn f() { chrono::Utc::now(); }", 3, "as an argument");
    assert_no_fault("scoring/x.rs", "use rand_chacha::ChaCha8Rng;\nuse std::time::Duration;");
}

#[test]
fn what_tests_import_is_no_fault() {
    let source =
        "#[cfg(test)]\nmod tests {\n    use crate::http::State;\n    fn f() { std::env::temp_dir(); }\n}";
    assert_no_fault("domain/team.rs", source);
    assert_no_fault("judge/tests.rs", "use tokio::net::TcpListener;\nuse crate::store::Store;");
    assert_fault("domain/team.rs", &format!("{source}\nuse crate::http::State;"), 7, "upward");
}

#[test]
fn a_name_that_says_nothing_is_a_fault() {
    for name in EMPTY_NAMES {
        assert_fault(&format!("store/{name}.rs"), "", 1, "name the subject");
        assert_fault(&format!("{name}s/mod.rs"), "", 1, "name the subject");
    }
}

#[test]
fn a_file_without_an_opening_word_is_a_fault() {
    assert_eq!(faults("store/x.rs", "use std::fmt;\n").len(), 1);
}

#[test]
fn a_file_of_two_subjects_is_a_fault() {
    assert_no_fault("store/x.rs", &"\n".repeat(MAX_LINES - 1));
    assert_fault("store/x.rs", &"\n".repeat(MAX_LINES), MAX_LINES + 1, "split it");
}

#[test]
fn a_module_beside_its_own_folder_is_a_fault() {
    let names =
        ["config.rs", "config/storage.rs", "clock.rs", "store/mod.rs", "clocks/mod.rs"].map(str::to_owned);
    let found = outside_their_folder(&names);
    assert!(found.len() == 1 && found[0].contains("`src/config/mod.rs`"), "{found:?}");
}
