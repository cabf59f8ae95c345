//! The data engine's questions by the paper's rules out of annotations, without a model.

use std::collections::{BTreeMap, HashMap};
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::{Value, json};

use crate::full::{generate, generator};
use crate::program::{run, secchi as program};

pub fn annotations() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/building/annotations.jsonl")
}

pub fn lines(path: &Path) -> Vec<Value> {
    let text = std::fs::read_to_string(path).unwrap();
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

pub fn build_questions(folder: &Path, annotations: &Path, more: &[&str]) -> Command {
    let mut command = program(folder, &["build", "questions", "--json", "--annotations"]);
    command.arg(annotations).args(more);
    command
}

/// The questions of the fixture's annotations, made without a model.
pub fn built(folder: &Path) -> Vec<Value> {
    run(&mut build_questions(folder, &annotations(), &[])).json();
    lines(&folder.join("questions.jsonl"))
}

pub fn text<'a>(value: &'a Value, field: &str) -> &'a str {
    value[field].as_str().unwrap()
}

/// Asserts that what is asked and what is right are as expected; a reference sentence may be another one that says as much.
#[track_caller]
pub fn assert_as_expected(questions: &[Value], expected: &[Value]) {
    assert_eq!(questions.len(), expected.len());
    for (question, expected) in questions.iter().zip(expected) {
        for field in ["question_id", "type", "question", "evidence_attributes"] {
            assert_eq!(
                question[field].to_string(),
                expected[field].to_string(),
                "{field} of {}",
                question["question_id"]
            );
        }
        if expected["type"] == "camera_object_open_ended" {
            for value in expected["evidence_attributes"].as_object().unwrap().values() {
                assert!(text(question, "answer_text").contains(value.as_str().unwrap()), "{question}");
            }
        } else {
            assert_eq!(question["answer_text"], expected["answer_text"]);
        }
        assert_form(question);
    }
}

/// Asserts that options, letter and prompt agree.
#[track_caller]
pub fn assert_form(question: &Value) {
    let options = question["options"].as_array().unwrap();
    if options.is_empty() {
        assert_eq!((&question["prompt"], text(question, "answer")), (&question["question"], ""));
        return;
    }
    let labels: String = options.iter().map(|option| text(option, "label")).collect();
    assert_eq!(labels, "ABCD");
    let right: Vec<&Value> =
        options.iter().filter(|option| option["text"] == question["answer_text"]).collect();
    assert!(right.len() == 1 && right[0]["label"] == question["answer"], "{question}");
    let listed =
        options.iter().map(|option| format!("({}) {}\n", text(option, "label"), text(option, "text")));
    let listed: String = listed.collect();
    let prompt = format!("{}\n{listed}Answer with the option letter only.", text(question, "question"));
    assert_eq!(text(question, "prompt"), prompt);
}

/// How often each letter is right, by type and, under an empty name, in all.
fn letters(questions: &[Value]) -> BTreeMap<String, BTreeMap<String, usize>> {
    let mut counts = BTreeMap::<String, BTreeMap<String, usize>>::new();
    for question in questions.iter().filter(|question| question["answer"] != "") {
        for kind in [text(question, "type"), ""] {
            *counts
                .entry(kind.to_owned())
                .or_default()
                .entry(text(question, "answer").to_owned())
                .or_default() += 1;
        }
    }
    counts
}

#[track_caller]
pub fn assert_balanced(questions: &[Value]) {
    for (kind, counts) in letters(questions) {
        let all = counts.values().sum::<usize>();
        let of = |letter: &str| counts.get(letter).copied().unwrap_or_default();
        for letter in ["A", "B", "C", "D"] {
            assert!([all / 4, all.div_ceil(4)].contains(&of(letter)), "{kind}: {counts:?}");
        }
    }
}

#[test]
fn annotations_give_the_questions_and_answers_of_the_papers_rules() {
    let folder = tempfile::tempdir().unwrap();
    let told = run(&mut build_questions(folder.path(), &annotations(), &[])).json();
    let questions = lines(&folder.path().join("questions.jsonl"));
    assert_as_expected(&questions, &lines(&annotations().with_file_name("expected.jsonl")));
    assert_balanced(&questions);
    assert_eq!(
        (&told["questions"], &told["multiple_choice"], &told["videos"]),
        (&json!(106), &json!(80), &json!(13))
    );
    assert_eq!(told["doubtful"], json!([]));
    assert_eq!(told["movement_of_others"], json!(["MVK--wall--night_03", "MVK--Bunaken_Nov2022_0020"]));
}

#[test]
fn the_same_annotations_and_seed_give_the_same_bytes() {
    let folder = tempfile::tempdir().unwrap();
    let bytes = |out: &str, seed: &str| {
        run(&mut build_questions(folder.path(), &annotations(), &["--out", out, "--seed", seed])).json();
        std::fs::read(folder.path().join(out)).unwrap()
    };
    assert_eq!(bytes("a.jsonl", "7"), bytes("b.jsonl", "7"));
    assert_ne!(bytes("a.jsonl", "7"), bytes("b.jsonl", "8"));
}

#[test]
fn all_faults_of_the_annotations_are_told_at_once_and_nothing_is_written() {
    let folder = tempfile::tempdir().unwrap();
    let mut rows = lines(&annotations());
    rows[1]["color"] = json!("  ");
    rows[2].as_object_mut().unwrap().remove("camera_angle");
    rows[3]["objects_present"] = json!(["a", "b", "c", "d"]);
    rows[4]["lighting"] = json!(["dim"]);
    rows[5] = rows[6].clone();
    rows[7]["video_file"] = json!("../x.mp4");
    let mut text: String = rows.iter().map(|row| format!("{row}\n")).collect();
    text.push_str("{\"video_id\": \"x\", \n");
    let path = folder.path().join("a.jsonl");
    std::fs::write(&path, text).unwrap();
    let ended = run(&mut build_questions(folder.path(), &path, &[]));
    assert_eq!(ended.code, Some(2), "{ended:?}");
    for words in [
        "line 2: `color` is blank",
        "line 3: `camera_angle` is missing",
        "line 4: `objects_present` lists more than 3",
        "line 5: `lighting` is neither text nor null",
        "line 7: `MVK--O'Brien's_reef_01` is annotated in line 6 already",
        "line 8: `video_file` is no plain name",
        "line 14: the line is no JSON object",
        "has 7 faults",
    ] {
        assert!(ended.stderr.contains(words), "{words}: {}", ended.stderr);
    }
    assert!(!folder.path().join("questions.jsonl").exists());
}

#[test]
fn an_annotator_decides_what_the_central_object_does_and_captions_may_come_from_another_file() {
    let folder = tempfile::tempdir().unwrap();
    let mut rows = lines(&annotations());
    let place = rows.iter().position(|row| row["video_id"] == "wall--night_03").unwrap();
    rows[place]["central_object_motion"] = json!("resting on its fins");
    rows[1]["central_object_motion"] = Value::Null;
    rows[2]["lightning"] = json!("dim");
    let write = |name: &str, rows: &[Value]| {
        let path = folder.path().join(name);
        std::fs::write(&path, rows.iter().map(|row| format!("{row}\n")).collect::<String>()).unwrap();
        path
    };
    let caption_of = |row: &Value| {
        let (stem, _) = text(row, "video_file").rsplit_once('.').unwrap();
        json!({"id": format!("{}--{stem}", text(row, "collection")), "caption": format!("A caption of {stem}."), "score": 4.5})
    };
    let captions: Vec<Value> = rows.iter().map(caption_of).collect();
    write("captions.jsonl", &captions);
    let path = write("a.jsonl", &rows);
    let told = run(&mut build_questions(folder.path(), &path, &["--captions", "captions.jsonl"])).json();
    assert_eq!(told["unknown_fields"], json!({"lightning": 1}));
    let questions = lines(&folder.path().join("questions.jsonl"));
    let motions: HashMap<&str, &str> = questions
        .iter()
        .filter(|question| question["type"] == "central_object_motion")
        .map(|question| (text(question, "id"), text(question, "answer_text")))
        .collect();
    assert_eq!(motions.get("MVK--wall--night_03"), Some(&"resting on its fins"));
    assert!(!motions.contains_key("MSC--reef_dive_0007"));
    let caption = questions.iter().find(|question| question["type"] == "caption").unwrap();
    assert_eq!(text(caption, "answer_text"), "A caption of reef_dive_0007.");
    write("captions.jsonl", &captions[1..]);
    let ended = run(&mut build_questions(folder.path(), &path, &["--captions", "captions.jsonl"]));
    assert!(
        ended.code == Some(2)
            && ended.stderr.contains("line 1: `caption` of `MVK--reef_dive_0007` is missing"),
        "{ended:?}"
    );
}

#[test]
fn where_other_videos_give_too_few_wrong_values_it_is_said_which() {
    let folder = tempfile::tempdir().unwrap();
    let text = std::fs::read_to_string(annotations()).unwrap();
    let path = folder.path().join("a.jsonl");
    std::fs::write(&path, text.lines().take(3).map(|line| format!("{line}\n")).collect::<String>()).unwrap();
    let ended = run(&mut build_questions(folder.path(), &path, &[]));
    assert_eq!(ended.code, Some(2));
    assert!(
        ended.stderr.contains("line 3: `lighting` of `MVK--wall--night_03`: only 0 of 3 wrong values"),
        "{}",
        ended.stderr
    );
}

/// The benchmark's own counts (contract: 12,080 multiple-choice and 4,000 open-ended questions).
#[test]
fn the_generators_annotations_give_as_many_questions_of_each_type_as_its_own_files_have() {
    let Some(script) = generator() else {
        println!("skipped: the generator is not at hand; SECCHI_SHARED names its folder");
        return;
    };
    let (made, folder) = (generate(&script), tempfile::tempdir().unwrap());
    let path = made.path().join("annotations.jsonl");
    let told = run(&mut build_questions(folder.path(), &path, &[])).json();
    assert_eq!((&told["questions"], &told["multiple_choice"]), (&json!(16_080), &json!(12_080)));
    assert_eq!((&told["open_ended"], &told["doubtful"]), (&json!(4_000), &json!([])));
    let questions = lines(&folder.path().join("questions.jsonl"));
    assert_balanced(&questions);
    let by_id: HashMap<&str, &Value> =
        questions.iter().map(|question| (text(question, "question_id"), question)).collect();
    let (mut built, mut expected) = (Vec::new(), Vec::new());
    for split in ["train", "val", "test"] {
        for question in lines(&made.path().join(format!("{split}.jsonl"))) {
            built.push((*by_id[text(&question, "question_id")]).clone());
            expected.push(question);
        }
    }
    assert_eq!(built.len(), 16_080);
    assert_as_expected(&built, &expected);
}
