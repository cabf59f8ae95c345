//! The files of a release out of questions, as an import takes them, and what keeps videos out of two splits.

use std::collections::{HashMap, HashSet};
use std::path::Path;
use std::process::Command;

use serde_json::{Value, json};

use crate::building::{annotations, assert_balanced, assert_form, built, lines, text};
use crate::program::{run, run_on, secchi as program};
use crate::support::Ground;

fn build_release(folder: &Path, more: &[&str]) -> Command {
    let mut command = program(folder, &["build", "release", "questions.jsonl", "--json", "--annotations"]);
    command.arg(annotations()).args(more);
    command
}

#[test]
fn a_release_is_imported_as_it_is_and_no_near_duplicates_are_in_two_splits() {
    let ground = Ground::new();
    let folder = ground.data.path();
    built(folder);
    let told = run(&mut build_release(folder, &["--out", "r1", "--sizes", "6:3:4"])).json();
    let pair = json!([{"ids": ["MVK--reef_dive_0007", "MSC--reef_dive_0007"], "likeness": "same_name",
        "splits": [told["duplicates"][0]["splits"][0], told["duplicates"][0]["splits"][0]]}]);
    assert_eq!(told["duplicates"], pair);
    let splits: Value =
        serde_json::from_slice(&std::fs::read(folder.join("r1/splits.json")).unwrap()).unwrap();
    let mut seen = HashSet::new();
    for (split, videos) in [("train", 6), ("val", 3), ("test", 4)] {
        let questions = lines(&folder.join(format!("r1/{split}.jsonl")));
        assert_balanced(&questions);
        questions.iter().for_each(assert_form);
        let mut ids: Vec<&str> = questions.iter().map(|question| text(question, "id")).collect();
        ids.dedup();
        assert_eq!((json!(ids), ids.len()), (splits[split].clone(), videos));
        assert!(ids.iter().all(|id| seen.insert((*id).to_owned())));
        let file = format!("r1/{split}.jsonl");
        let imported =
            run_on(&ground, &["dataset", "import", "--release", "r1", "--split", split, "--json", &file])
                .json();
        assert_eq!(imported["questions"], json!(questions.len()), "{imported}");
    }
    assert_eq!(seen.len(), 13);
    let cameras: Value =
        serde_json::from_slice(&std::fs::read(folder.join("r1/camera_class.json")).unwrap()).unwrap();
    assert_eq!(cameras.as_object().unwrap().len(), 13);
    let report = std::fs::read_to_string(folder.join("r1/report.html")).unwrap();
    assert!(
        report.contains("<svg") && report.contains("potato grouper") && !report.contains("http"),
        "{report}"
    );
    // The same again changes nothing; another seed is another release, which wants a folder of its own.
    run(&mut build_release(folder, &["--out", "r1", "--sizes", "6:3:4"])).json();
    let ended = run(&mut build_release(folder, &["--out", "r1", "--sizes", "6:3:4", "--seed", "2"]));
    assert!(ended.code == Some(1) && ended.stderr.contains("choose another folder"), "{ended:?}");
    assert!(!folder.join("r1.part").exists());
}

#[test]
fn given_splits_must_fit_and_letters_may_stay() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let questions = built(folder);
    let mut ids: Vec<&str> = questions.iter().map(|question| text(question, "id")).collect();
    ids.dedup();
    let write = |splits: Value| std::fs::write(folder.join("splits.json"), splits.to_string()).unwrap();
    let given = |more: &[&str]| {
        run(&mut build_release(folder, &[&["--out", "r", "--splits", "splits.json"], more].concat()))
    };
    write(json!({"train": ids[..1], "val": ids[2..4], "test": ids[3..]}));
    let ended = given(&[]);
    assert_eq!(ended.code, Some(2));
    assert!(
        ended.stderr.contains("and again in")
            && ended.stderr.contains("`MSC--reef_dive_0007` is in no split"),
        "{ended:?}"
    );
    write(json!({"train": ids[..1], "val": ids[1..3], "test": ids[3..]}));
    let ended = given(&[]);
    let words = "`MVK--reef_dive_0007` (train) and `MSC--reef_dive_0007` (val): same_name";
    assert!(ended.code == Some(2) && ended.stderr.contains(words) && !folder.join("r").exists(), "{ended:?}");
    given(&["--accept-duplicates", "--keep-letters"]).json();
    let kept: Vec<Value> = ["train", "val", "test"]
        .iter()
        .flat_map(|split| lines(&folder.join(format!("r/{split}.jsonl"))))
        .collect();
    assert_eq!(kept, questions);
}

#[test]
fn videos_that_look_the_same_are_found_whatever_their_codec() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let rows = lines(&annotations());
    built(folder);
    let videos = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/videos");
    let put = |row: &Value, file: &str| {
        let place = folder.join("videos").join(text(row, "collection"));
        std::fs::create_dir_all(&place).unwrap();
        std::fs::copy(videos.join(file), place.join(text(row, "video_file"))).unwrap();
    };
    // The same film twice, and once more in another container and codec; two others.
    for (row, file) in [
        (2, "pan_h264.mp4"),
        (3, "pan_h264.mp4"),
        (4, "pan_mpeg4.mov"),
        (5, "zoom_h264.mkv"),
        (6, "odd_size_vp9.webm"),
    ] {
        put(&rows[row], file);
    }
    let told = run(&mut build_release(folder, &["--out", "r", "--videos", "videos"])).json();
    let found: HashMap<String, &str> = told["duplicates"]
        .as_array()
        .unwrap()
        .iter()
        .map(|pair| (pair["ids"].to_string(), text(pair, "likeness")))
        .collect();
    let key = |one: usize, other: usize| {
        let id = |row: &Value| {
            format!("{}--{}", text(row, "collection"), text(row, "video_file").rsplit_once('.').unwrap().0)
        };
        json!([id(&rows[one]), id(&rows[other])]).to_string()
    };
    assert_eq!(found.get(&key(2, 3)), Some(&"same_file"), "{found:?}");
    assert_eq!(found.get(&key(2, 4)), Some(&"same_pictures"), "{found:?}");
    assert!(!found.contains_key(&key(5, 6)) && !found.contains_key(&key(2, 5)), "{found:?}");
    assert_eq!(told["videos_without_file"], json!(8));
    put(&rows[7], "truncated_faststart.mp4");
    let ended = run(&mut build_release(folder, &["--out", "r2", "--videos", "videos"]));
    assert!(
        ended.code == Some(2) && ended.stderr.contains("unusable") && !folder.join("r2").exists(),
        "{ended:?}"
    );
}
