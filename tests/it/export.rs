//! `secchi export`: what it writes for the harnesses, of which split, and what it asks for first.

use std::path::Path;

use serde_json::{Value, json};

use secchi::domain::question::Split;

use crate::program::{Ended, run, secchi};
use crate::pull::{FRAMES, Media};
use crate::support::{Secchi, TestTeam, sample_bytes};

fn records(split: Split) -> Vec<Value> {
    let text = String::from_utf8(sample_bytes(&format!("{split}.jsonl"))).unwrap();
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

async fn server() -> (Secchi, TestTeam) {
    let secchi = Secchi::start().await;
    secchi.import(Split::Val, "val.jsonl").await;
    secchi.import(Split::Test, "test.jsonl").await;
    let team = secchi.team("ocean-lab").await;
    (secchi, team)
}

fn export(server: &Secchi, team: &TestTeam, arguments: &[&str]) -> Ended {
    let folder = server.ground.data.path();
    let mut command = secchi(folder, &[&["export"], arguments].concat());
    command.env("SECCHI_URL", &server.base).env("SECCHI_API_KEY", &team.key);
    tokio::task::block_in_place(|| run(&mut command))
}

/// A folder of frames for each video of a split.
fn frames(folder: &Path, split: Split) {
    for record in records(split) {
        std::fs::create_dir_all(folder.join("frames").join(record["id"].as_str().unwrap())).unwrap();
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_task_of_lmms_eval_holds_the_split_in_order_with_its_keys_and_frames() {
    let (server, team) = server().await;
    let folder = server.ground.data.path();
    frames(folder, Split::Val);
    let arguments = ["lmms-eval", "--split", "val", "--frames", "frames", "a \"task\""];
    let said = export(&server, &team, &arguments).stdout();
    assert!(said.contains("187 questions") && said.contains("--tasks secchi_val"), "{said}");
    let task = folder.join("a \"task\"");
    let yaml = std::fs::read_to_string(task.join("secchi_val.yaml")).unwrap();
    let data = task.canonicalize().unwrap().join("secchi_val.jsonl");
    let quoted = serde_json::to_string(data.to_str().unwrap()).unwrap();
    assert!(
        yaml.contains(&format!("    val: {quoted}\n")) && yaml.contains("\ntask: secchi_val\n"),
        "{yaml}"
    );
    assert!(!yaml.contains("TASK") && !yaml.contains("SPLIT") && !yaml.contains("DATA"), "{yaml}");
    assert!(task.join("secchi_lmms_eval.py").is_file());
    let written = std::fs::read_to_string(data).unwrap();
    let written: Vec<Value> = written.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let records = records(Split::Val);
    assert_eq!(written.len(), records.len());
    for (written, record) in written.iter().zip(&records) {
        assert_eq!(written["question_id"], record["question_id"]);
        assert_eq!(written["prompt"], record["prompt"]);
        let target = if record["answer"] == "" { &record["answer_text"] } else { &record["answer"] };
        assert_eq!(&written["target"], target);
        assert!(Path::new(written["media"].as_str().unwrap()).is_dir());
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_data_set_of_vlmevalkit_counts_its_rows_as_the_split_does_and_of_test_has_no_key() {
    let (server, team) = server().await;
    let folder = server.ground.data.path();
    for (place, record) in records(Split::Test).iter().enumerate() {
        let (id, file) = (record["id"].as_str().unwrap(), record["video_file"].as_str().unwrap());
        let (collection, _) = id.split_once("--").unwrap();
        let extension = file.rsplit_once('.').unwrap().1;
        let path = match place % 2 {
            0 => folder.join(format!("videos/{collection}/{file}")),
            _ => folder.join(format!("videos/{id}.{extension}")),
        };
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, "").unwrap();
    }
    let arguments = ["vlmevalkit", "--split", "test", "--videos", "videos", "data"];
    let said = export(&server, &team, &arguments).stdout();
    assert!(said.contains("199 questions") && said.contains("--data Secchi_test"), "{said}");
    assert!(folder.join("data/secchi_vlmevalkit.py").is_file());
    let mut table =
        csv::ReaderBuilder::new().delimiter(b'\t').from_path(folder.join("data/Secchi_test.tsv")).unwrap();
    assert_eq!(table.headers().unwrap(), ["index", "question_id", "id", "video", "question"].as_slice());
    let records = records(Split::Test);
    let rows: Vec<csv::StringRecord> = table.records().map(Result::unwrap).collect();
    assert_eq!(rows.len(), records.len());
    for (place, (row, record)) in rows.iter().zip(&records).enumerate() {
        assert_eq!(row[0], place.to_string());
        assert_eq!(row[1], record["question_id"]);
        assert_eq!(row[4], record["prompt"]);
        assert!(Path::new(&row[3]).is_file());
    }
    frames(folder, Split::Test);
    export(&server, &team, &["lmms-eval", "--split", "test", "--frames", "frames", "task"]).stdout();
    let task = std::fs::read_to_string(folder.join("task/secchi_test.jsonl")).unwrap();
    assert!(task.lines().all(|line| line.contains(r#""target":"""#)));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_pulled_folder_tells_where_its_frames_and_videos_are() {
    let (server, team) = server().await;
    let folder = server.ground.data.path();
    let mut ids: Vec<String> =
        records(Split::Val).iter().map(|record| record["id"].as_str().unwrap().to_owned()).collect();
    ids.dedup();
    let videos: Vec<Value> = ids
        .iter()
        .enumerate()
        .map(|(place, id)| {
            let (frames, file) = (format!("frames/safe-{place}"), format!("videos/safe-{place}.mp4"));
            std::fs::create_dir_all(folder.join("val").join(&frames)).unwrap();
            std::fs::create_dir_all(folder.join("val/videos")).unwrap();
            std::fs::write(folder.join("val").join(&file), "").unwrap();
            let frame = json!({
                "file": format!("{frames}/0.jpg"), "index": 0, "timestamp_ms": 0, "sha256": "",
            });
            json!({ "id": id, "file": file, "frames": [frame] })
        })
        .collect();
    let manifest = json!({
        "split": "val", "n": 1, "size": 512, "complete": true, "release": "sample", "release_sha256": "",
        "questions_sha256": "", "videos": videos, "missing": [],
    });
    std::fs::write(folder.join("val/manifest.json"), manifest.to_string()).unwrap();
    for (option, last) in [("--frames", "frames/safe-23"), ("--videos", "videos/safe-23.mp4")] {
        export(&server, &team, &["lmms-eval", "--split", "val", option, "val", "task"]).stdout();
        let task = std::fs::read_to_string(folder.join("task/secchi_val.jsonl")).unwrap();
        let record: Value = serde_json::from_str(task.lines().last().unwrap()).unwrap();
        assert!(record["media"].as_str().unwrap().ends_with(last), "{record}");
    }
    std::fs::write(folder.join("val/manifest.json"), "{").unwrap();
    let damaged = export(&server, &team, &["lmms-eval", "--split", "val", "--frames", "val", "task"]);
    assert!(
        damaged.code != Some(0) && damaged.stderr.contains("no manifest of `secchi pull`"),
        "{damaged:?}"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_missing_is_named_before_anything_is_written() {
    let (server, team) = server().await;
    let folder = server.ground.data.path();
    std::fs::create_dir(folder.join("stills")).unwrap();
    let lacking = export(&server, &team, &["lmms-eval", "--split", "val", "--frames", "stills", "task"]);
    assert_ne!(lacking.code, Some(0));
    let first = records(Split::Val)[0]["id"].as_str().unwrap().to_owned();
    assert!(lacking.stderr.contains("lacks 24 of") && lacking.stderr.contains(&first), "{lacking:?}");
    assert!(lacking.stderr.contains("`secchi pull`"), "{lacking:?}");
    assert!(!folder.join("task").exists());
    let none = TestTeam { slug: "x".into(), key: "sk_secchi_wrong".into() };
    let refused = export(&server, &none, &["lmms-eval", "--split", "val", "--frames", "stills", "task"]);
    assert!(refused.code != Some(0) && refused.stderr.contains("401"), "{refused:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn frames_that_nobody_names_are_pulled_first() {
    let media = Media::start(|_, _| None).await;
    let folder = tempfile::tempdir().unwrap();
    for (harness, dir) in [("lmms-eval", "task"), ("vlmevalkit", "data")] {
        let mut command = secchi(folder.path(), &["export", harness, "--split", "val", dir]);
        command.env("SECCHI_URL", &media.base).env("SECCHI_API_KEY", "sk_secchi_any");
        tokio::task::block_in_place(|| run(&mut command)).stdout();
    }
    let task = std::fs::read_to_string(folder.path().join("task/secchi_val.jsonl")).unwrap();
    for line in task.lines() {
        let record: Value = serde_json::from_str(line).unwrap();
        let frames = Path::new(record["media"].as_str().unwrap());
        assert_eq!(std::fs::read_dir(frames).unwrap().count(), FRAMES, "{record}");
        assert!(frames.to_string_lossy().contains("secchi-data/val/"), "{record}");
    }
    // Once for both.
    assert_eq!(media.asked(".jpg"), 24 * FRAMES);
}
