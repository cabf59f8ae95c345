//! Tests of reading, settling and summarizing a release.

use proptest::prelude::*;
use serde_json::{Value, json};

use super::cameras::settle_cameras;
use super::release::{RecordFaults, ReleaseContent, ReleaseError, read_release};
use super::summary::summarize;
use crate::domain::column::Column;
use crate::domain::question::{Camera, QuestionType};

const SAMPLE: &str = include_str!("../../tests/fixtures/sample/test.jsonl");

fn read(file: &str) -> ReleaseContent {
    read_release(file.as_bytes()).map_err(|error| error.to_string()).expect("the file is good")
}

fn faults_of<T>(result: Result<T, ReleaseError>) -> RecordFaults {
    match result.err().expect("the file has faults") {
        ReleaseError::Faulty(faults) => faults,
        ReleaseError::Read(error) => {
            RecordFaults { total: 0, listed: Vec::from([fault(0, &error.to_string())]) }
        }
    }
}

fn fault(line: u64, detail: &str) -> super::release::RecordFault {
    super::release::RecordFault { line, detail: detail.to_owned() }
}

/// Lines and sentences of a file's faults.
fn faults(file: &[u8]) -> Vec<(u64, String)> {
    faults_of(read_release(file)).listed.into_iter().map(|fault| (fault.line, fault.detail)).collect()
}

fn closed() -> Value {
    json!({
        "question_id": "MVK--reef--1--q1", "id": "MVK--reef--1", "task": "qa", "type": "central_object",
        "question_format": "multiple_choice", "collection": "MVK", "video_id": "reef--1",
        "video_file": "reef--1.mp4", "video_path": "MVK/reef--1.mp4", "central_object": "goby",
        "question": "What is the central object in the video?", "prompt": "What is …\n(A) goby\n(B) moray",
        "options": [{"label": "A", "text": "goby"}, {"label": "B", "text": "moray"}],
        "answer": "A", "answer_text": "goby",
        "evidence_attributes": {"central_object": "goby", "texture": null},
    })
}

fn caption() -> Value {
    let changes = json!({
        "question_id": "MVK--reef--1--q2", "type": "caption", "question_format": "open_ended", "options": [],
        "answer": "", "answer_text": "A goby rests.",
        "evidence_attributes": {"texture": "  ", "camera_angle": "static camera, eye level"},
    });
    with(closed(), &changes)
}

fn with(mut record: Value, changes: &Value) -> Value {
    for (name, value) in changes.as_object().expect("changes are an object") {
        record[name] = value.clone();
    }
    record
}

fn lines(records: &[Value]) -> String {
    records.iter().map(|record| format!("{record}\n")).collect()
}

#[track_caller]
fn assert_one_fault(records: &[Value], line: u64, words: &str) {
    let found = faults(lines(records).as_bytes());
    assert!(matches!(found.as_slice(), [(at, detail)] if *at == line && detail.contains(words)), "{found:?}");
}

#[test]
fn the_sample_is_clean_and_keeps_its_order() {
    let content = read(SAMPLE);
    assert_eq!((content.videos.len(), content.questions.len()), (24, SAMPLE.lines().count()));
    for (question, line) in content.questions.iter().zip(SAMPLE.lines()) {
        let record: Value = serde_json::from_str(line).expect("JSON");
        let video = &content.videos[question.video];
        assert_eq!(question.question_id, record["question_id"]);
        assert_eq!(video.id, record["id"]);
        assert_eq!(question.key.answer, record["answer"]);
        let evidence: Value = serde_json::from_str(&question.key.evidence).expect("JSON");
        assert_eq!(evidence.to_string(), record["evidence_attributes"].to_string());
    }
}

#[test]
fn the_cameras_of_the_sample_are_those_that_were_meant() {
    let meant: Value =
        serde_json::from_str(include_str!("../../tests/fixtures/sample/camera_class.json")).expect("JSON");
    for video in read(SAMPLE).videos {
        let class = if video.camera == Camera::Unknown { "unspecified" } else { video.camera.as_str() };
        assert_eq!(class, meant[&video.id], "{}", video.id);
    }
}

#[test]
fn a_mark_at_the_start_crlf_and_blank_lines_are_no_faults() {
    let file = format!("\u{feff}{}\r\n\r\n{}", closed(), caption());
    let content = read(&file);
    assert_eq!((content.videos.len(), content.questions.len()), (1, 2));
    assert_eq!(content.videos[0].camera, Camera::Static);
    assert_eq!(content.questions[0].key.evidence, r#"{"central_object":"goby","texture":null}"#);
}

#[test]
fn a_line_that_is_no_object_is_a_fault() {
    for line in ["{", "[]", "\"text\"", "{} {}", "{\"id\": \"\\ud800\"}x"] {
        let found = faults(format!("{}\n{line}\n", closed()).as_bytes());
        assert!(matches!(found.as_slice(), [(2, detail)] if detail.contains("no JSON object")), "{found:?}");
    }
    assert!(faults(b"{\"id\": \"\xff\"}")[0].1.contains("UTF-8"));
}

#[test]
fn an_empty_file_and_an_endless_line_are_faults() {
    assert_eq!(faults(b"\n  \n")[0].0, 1);
    let endless = std::iter::repeat_n(b' ', 3 << 20).collect::<Vec<u8>>();
    let found = faults(&endless);
    assert!(matches!(found.as_slice(), [(1, detail)] if detail.contains("1 MiB")), "{found:?}");
}

#[test]
fn every_field_must_be_there_with_its_type() {
    let record = closed();
    for name in record.as_object().expect("an object").keys() {
        let mut missing = record.clone();
        missing.as_object_mut().expect("an object").remove(name);
        assert_one_fault(&[missing], 1, &format!("`{name}` is missing"));
        assert_one_fault(&[with(record.clone(), &json!({name: 7}))], 1, &format!("`{name}` is not"));
        assert_one_fault(&[with(record.clone(), &json!({name: null}))], 1, &format!("`{name}` is not"));
    }
}

#[test]
fn a_field_that_is_unknown_or_repeated_is_a_fault() {
    assert_one_fault(&[with(closed(), &json!({"answers": "A"}))], 1, "`answers` is unknown");
    let twice = closed().to_string().replacen('{', r#"{"answer": "B","#, 1);
    assert!(faults(twice.as_bytes())[0].1.contains("`answer` is unknown or occurs twice"));
    let evidence = closed().to_string().replace(r#""texture":null"#, r#""central_object":"moray""#);
    assert!(faults(evidence.as_bytes())[0].1.contains("`evidence_attributes` is not"));
}

#[test]
fn ids_follow_from_collection_file_and_number() {
    for number in ["", "0", "01", "+1", "x", "1--q"] {
        let changes = json!({"question_id": format!("MVK--reef--1--q{number}")});
        assert_one_fault(&[with(closed(), &changes)], 1, "`{id}--q{n}`");
    }
    let decomposed = json!({
        "id": "MVK--re\u{301}f", "question_id": "MVK--re\u{301}f--q1",
        "video_file": "re\u{301}f.mp4", "video_path": "MVK/re\u{301}f.mp4",
    });
    assert_one_fault(&[with(closed(), &decomposed)], 1, "in NFC");
    let composed = json!({"id": "MVK--r\u{e9}f", "question_id": "MVK--r\u{e9}f--q1"});
    read(&lines(&[with(with(closed(), &decomposed), &composed)]));
    assert_one_fault(&[with(closed(), &json!({"video_path": "reef--1.mp4"}))], 1, "`video_path`");
}

#[test]
fn a_path_cannot_lead_out_of_its_folder() {
    for (collection, stem) in
        [("..", "reef"), ("MVK", "../reef"), ("MVK", "a\\b"), ("MVK", "a\nb"), ("a/b", "reef")]
    {
        let changes = json!({
            "collection": collection, "id": format!("{collection}--{stem}"),
            "question_id": format!("{collection}--{stem}--q1"), "video_file": format!("{stem}.mp4"),
            "video_path": format!("{collection}/{stem}.mp4"),
        });
        assert_one_fault(&[with(closed(), &changes)], 1, "plain name");
    }
}

#[test]
fn the_format_must_fit_the_type() {
    assert_one_fault(
        &[with(closed(), &json!({"question_format": "open_ended"}))],
        1,
        "mend `question_format`",
    );
    assert_one_fault(&[with(closed(), &json!({"type": "species"}))], 1, "`type` is not one of the nine");
    assert_one_fault(&[with(caption(), &json!({"answer": "A"}))], 1, "leave `options` and `answer` empty");
    assert_one_fault(&[with(caption(), &json!({"answer_text": "  "}))], 1, "`answer_text` is blank");
}

#[test]
fn options_are_labelled_in_order_and_hold_the_answer() {
    let option = |label: &str| json!({"label": label, "text": format!("goby {label}")});
    let alphabet: Vec<Value> = ('A'..='Z').map(|label| option(&label.to_string())).collect();
    read(&lines(&[with(closed(), &json!({"options": alphabet, "answer": "Z", "answer_text": "goby Z"}))]));
    let labels: [&[&str]; 6] = [&[], &["A"], &["B", "A"], &["A", "A"], &["A", "C"], &["AB", "C"]];
    for labels in labels {
        let options: Vec<Value> = labels.iter().map(|label| option(label)).collect();
        assert_one_fault(&[with(closed(), &json!({"options": options}))], 1, "2 to 26 with the labels");
    }
    let blank = json!({"options": [{"label": "A", "text": "goby"}, {"label": "B", "text": " "}]});
    assert_one_fault(&[with(closed(), &blank)], 1, "an option has no text");
    assert_one_fault(&[with(closed(), &json!({"answer": "C"}))], 1, "`answer` is none of the labels");
    assert_one_fault(&[with(closed(), &json!({"answer": "B"}))], 1, "make them agree");
}

#[test]
fn a_null_character_is_a_fault() {
    assert_one_fault(
        &[with(closed(), &json!({"question": "What\0?"}))],
        1,
        "`question` holds a null character",
    );
}

#[test]
fn records_of_one_video_must_agree() {
    let changes = [
        ("video_id", json!({"video_id": "other"})),
        ("central_object", json!({"central_object": "moray"})),
        ("video_file", json!({"video_file": "reef--1.MP4", "video_path": "MVK/reef--1.MP4"})),
    ];
    for (name, changes) in changes {
        let found = faults(lines(&[closed(), with(caption(), &changes)]).as_bytes());
        assert!(found.iter().all(|(line, _)| *line == 2), "{found:?}");
        assert!(found[0].1.contains(&format!("`{name}` is not what line 1 says")), "{found:?}");
    }
    let changes = json!({
        "question_id": "MVK--reef--1--q3", "type": "camera_object_open_ended",
        "evidence_attributes": {"camera_angle": "horizontal pan"},
    });
    let records = [closed(), caption(), with(caption(), &changes)];
    assert_one_fault(&records, 3, "`camera_angle` is not what line 2 says");
}

#[test]
fn ids_are_given_once_and_types_once_a_video() {
    let found = faults(lines(&[closed(), closed()]).as_bytes());
    assert!(found[0].1.contains("stands in line 1 already"), "{found:?}");
    let second = with(closed(), &json!({"question_id": "MVK--reef--1--q2"}));
    assert_one_fault(&[closed(), second], 2, "second `central_object` question");
}

#[test]
fn the_first_hundred_faults_are_listed_and_all_are_counted() {
    let found = faults_of(read_release("{}\n".repeat(10).as_bytes()));
    assert_eq!((found.listed.len(), found.total), (100, 160));
    assert_eq!(found.listed[16], fault(2, "`type` is missing; add it as one of the nine question types"));
}

proptest! {
    #[test]
    fn a_damaged_line_is_read_or_refused(place in 0_usize..900, byte in any::<u8>()) {
        let mut file = lines(&[closed(), caption()]).into_bytes();
        let place = place % file.len();
        file[place] = byte;
        match read_release(file.as_slice()) {
            Ok(content) => prop_assert_eq!(content.questions.len(), 2),
            Err(ReleaseError::Faulty(faults)) => prop_assert!(faults.total > 0),
            Err(ReleaseError::Read(error)) => prop_assert!(false, "{}", error),
        }
    }
}

#[test]
fn no_fault_repeats_a_key() {
    let secret = "zebra moray";
    for name in ["answer", "answer_text", "options", "evidence_attributes", "type"] {
        for value in [json!(secret), json!([secret]), json!({"x": [secret]})] {
            for (_, detail) in faults(lines(&[with(closed(), &json!({name: value}))]).as_bytes()) {
                assert!(!detail.contains(secret), "{detail}");
            }
        }
    }
    assert!(!faults(format!("\"{secret}\"").as_bytes())[0].1.contains(secret));
}

#[test]
fn a_summary_counts_types_letters_and_cameras() {
    let summary = summarize(&read(SAMPLE));
    assert_eq!((summary.videos, summary.types.len()), (24, 9));
    assert_eq!(summary.questions, summary.types.iter().map(|summary| summary.questions).sum::<usize>());
    let cameras = summary.static_cameras + summary.moving_cameras + summary.unknown_cameras.len();
    assert_eq!(cameras, 24);
    assert_eq!(summary.empty_columns, []);
    for of_type in &summary.types {
        assert_eq!(of_type.questions + of_type.videos_without, 24);
        let letters: usize = of_type.letters.iter().map(|(_, count)| count).sum();
        assert_eq!(letters, if of_type.question_type.rubric().is_some() { 0 } else { of_type.questions });
    }
}

#[test]
fn a_summary_says_what_is_missing() {
    let summary = summarize(&read(&lines(&[closed()])));
    assert_eq!(summary.unknown_cameras, ["MVK--reef--1"]);
    assert_eq!(summary.empty_columns, Column::ALL[1..]);
    let of_type = |question_type| summary.types.iter().find(|summary| summary.question_type == question_type);
    let letters = of_type(QuestionType::CentralObject).map(|summary| summary.letters.clone());
    assert_eq!(letters, Some(vec![('A', 1), ('B', 0)]));
    assert_eq!(of_type(QuestionType::Lighting).map(|summary| summary.videos_without), Some(1));
}

#[test]
fn a_file_of_cameras_settles_the_unknown_ones() {
    let mut content = read(&lines(&[closed()]));
    let settled = settle_cameras(&mut content, "\u{feff}id,camera\r\nMVK--reef--1 , moving\r\n".as_bytes());
    assert!(matches!(settled, Ok(1)));
    assert_eq!(content.videos[0].camera, Camera::Moving);
    assert!(matches!(settle_cameras(&mut content, "id,camera\nMVK--reef--1,moving\n".as_bytes()), Ok(0)));
}

#[test]
fn a_file_of_cameras_with_a_fault_settles_nothing() {
    let mut content = read(&lines(&[caption()]));
    let file = "id,camera\nMVK--reef--1,moving\nMVK--reef--1,unknown\nMVK--reef--2,static\n\
                MVK--reef--1,static\nMVK--reef--1,static\nMVK--reef--1\n";
    let found = faults_of(settle_cameras(&mut content, file.as_bytes()));
    let words = ["another camera", "`unknown` is no class", "no video", "a row already", "two cells"];
    let lines_expected = [2, 3, 4, 6, 7];
    assert_eq!(found.total, words.len());
    for ((fault, words), line) in found.listed.iter().zip(words).zip(lines_expected) {
        assert!(fault.line == line && fault.detail.contains(words), "{fault:?}");
    }
    assert_eq!(content.videos[0].camera, Camera::Static);
    assert_eq!(faults_of(settle_cameras(&mut content, "video\nMVK--reef--1\n".as_bytes())).listed[0].line, 1);
}
