//! Whole files: the broken ones, the variants of one file, bombs, and what holds for any bytes.

mod harnesses;
mod workbooks;

use std::collections::HashMap;
use std::fs;
use std::io::{self, Read, Write};
use std::path::PathBuf;
use std::sync::LazyLock;

use proptest::prelude::*;

use super::{Limits, MAX_LISTED_FAULTS, Predictions, QuestionIndex, ReadError, Refusal, read};
use crate::domain::fault::{Fault, FaultCode, WarningCode};
use crate::domain::question::{QuestionFormat, Split};

const LIMITS: Limits = Limits { max_bytes: 64 * 1024 * 1024 };

fn fixture(name: &str) -> PathBuf {
    PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/fixtures")).join(name)
}

#[derive(serde::Deserialize)]
struct Question {
    question_id: String,
    question_format: QuestionFormat,
}

fn questions(split: Split) -> Vec<(String, QuestionFormat)> {
    let text = fs::read_to_string(fixture(&format!("sample/{split}.jsonl"))).unwrap();
    let questions = text.lines().map(|line| serde_json::from_str::<Question>(line).unwrap());
    questions.map(|question| (question.question_id, question.question_format)).collect()
}

fn index() -> &'static QuestionIndex {
    static INDEX: LazyLock<QuestionIndex> = LazyLock::new(load_index);
    &INDEX
}

fn load_index() -> QuestionIndex {
    let others = [Split::Val, Split::Train]
        .into_iter()
        .flat_map(|split| questions(split).into_iter().map(move |(id, _)| (id, split)));
    QuestionIndex::new(Split::Test, questions(Split::Test), others)
}

fn refusal(file: &[u8], index: &QuestionIndex) -> Refusal {
    match read(file, index, &LIMITS).unwrap_err() {
        ReadError::Refused(refusal) => refusal,
        ReadError::Io(error) => unreachable!("{error}"),
    }
}

fn first_fault(file: &[u8]) -> Fault {
    refusal(file, index()).faults.swap_remove(0)
}

fn accepted(file: &[u8], index: &QuestionIndex) -> Predictions {
    read(file, index, &LIMITS).unwrap()
}

fn record(id: &str, answer: &str) -> String {
    format!("{}\n", serde_json::json!({"question_id": id, "answer": answer}))
}

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::best());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

#[derive(serde::Deserialize)]
struct Expected {
    file: String,
    outcome: String,
    code: String,
    line: serde_json::Value,
    field: String,
}

#[test]
fn every_broken_file_gets_its_outcome_code_and_line() {
    let index = index();
    let expected = fs::read_to_string(fixture("broken/EXPECTED.json")).unwrap();
    let expected: Vec<Expected> = serde_json::from_str(&expected).unwrap();
    let mut seen = 0;
    for Expected { file, outcome, code, line, field } in expected {
        // The large ones are made by the tests below.
        let Ok(bytes) = fs::read(fixture("broken").join(&file)) else { continue };
        seen += 1;
        match read(&bytes[..], index, &LIMITS) {
            Ok(predictions) => {
                assert!(outcome.starts_with("accept"), "{file}: {outcome}");
                let warned = predictions.warnings.iter().any(|w| code == format!("{} (warning)", w.code));
                // Letters are read later, by grading.
                assert!(warned || code.is_empty() || code.starts_with("unparsed"), "{file}: {predictions:?}");
            }
            Err(ReadError::Refused(refusal)) => {
                assert_eq!(outcome, "reject", "{file}: {refusal:?}");
                let fault = &refusal.faults[0];
                assert_eq!(fault.code.as_str(), code, "{file}: {refusal:?}");
                assert_eq!(fault.line, line.as_u64(), "{file}: {refusal:?}");
                let pointer = fault.pointer.as_deref().unwrap_or_default();
                let named =
                    pointer == format!("/{field}") || fault.question_id.is_some() && field == "question_id";
                assert!(field.is_empty() || named, "{file}: {refusal:?}");
                assert!(!fault.detail.chars().any(char::is_control), "{file}");
            }
            Err(ReadError::Io(error)) => unreachable!("{file}: {error}"),
        }
    }
    assert!(seen >= 76, "{seen}");
}

#[test]
fn every_variant_of_a_file_reads_the_same() {
    let index = index();
    let plain = accepted(&fs::read(fixture("sample/predictions/strong_model.jsonl")).unwrap(), index);
    assert_eq!(plain.answered, index.len());
    let mut seen = 0;
    for entry in fs::read_dir(fixture("sample/predictions")).unwrap() {
        let path = entry.unwrap().path();
        if path.file_name().unwrap().to_string_lossy().starts_with("variant") {
            seen += 1;
            assert_eq!(accepted(&fs::read(&path).unwrap(), index), plain, "{}", path.display());
        }
    }
    assert_eq!(seen, 14);
}

#[test]
fn a_partial_file_says_how_much_is_missing() {
    let index = index();
    let partial = accepted(&fs::read(fixture("sample/predictions/partial.jsonl")).unwrap(), index);
    assert_eq!(partial.answered, 139);
    let warning = &partial.warnings[0];
    assert_eq!((warning.code, warning.count), (WarningCode::MissingAnswers, 60));
}

#[test]
fn a_bomb_is_too_large_and_a_packed_bomb_is_nested() {
    let bomb = gzip(&vec![b' '; 95 << 20]);
    let refused = refusal(&bomb, index());
    assert!(refused.is_too_large());
    assert_eq!(refused.total, 1);
    let zstd_bomb = zstd::encode_all(io::repeat(b' ').take(256 << 20), 1).unwrap();
    assert_eq!(first_fault(&zstd_bomb).code, FaultCode::TooLarge);
    assert_eq!(first_fault(&gzip(&bomb)).code, FaultCode::NestedCompression);
    let document = [&b"["[..], &vec![b' '; 65 << 20]].concat();
    assert_eq!(first_fault(&document).code, FaultCode::TooLarge);
}

#[test]
fn deep_nesting_is_refused_without_recursion() {
    for file in
        ["[".repeat(50_000) + "]".repeat(50_000).as_str(), "[".repeat(50_000), "{\"a\":".repeat(50_000)]
    {
        let fault = first_fault(file.as_bytes());
        assert_eq!((fault.code, fault.line), (FaultCode::TooDeep, Some(1)));
    }
}

#[test]
fn an_endless_line_is_too_long_and_reported_once() {
    let line = || {
        let start = &br#"{"question_id": "MVK--reef_dive_0007--q1", "answer": ""#[..];
        start.chain(io::repeat(b'a').take(200_000_000)).chain(&b"\"}\n"[..])
    };
    let packed = zstd::encode_all(line(), 1).unwrap();
    for result in [read(line(), index(), &LIMITS), read(&packed[..], index(), &LIMITS)] {
        let ReadError::Refused(refused) = result.unwrap_err() else { unreachable!() };
        assert_eq!((refused.faults[0].code, refused.faults[0].line), (FaultCode::LineTooLong, Some(1)));
        assert_eq!(refused.total, 1);
    }
}

#[test]
fn an_answer_may_be_as_long_as_its_format_allows() {
    let index = index();
    for (id, limit) in [("MVK--reef_dive_0007--q1", 64 * 1024), ("MVK--reef_dive_0007--q5", 8 * 1024)] {
        let file = |length: usize| record(id, &"é".repeat(length / 2));
        assert_eq!(accepted(file(limit).as_bytes(), index).answered, 1);
        let fault = refusal(file(limit + 2).as_bytes(), index).faults.swap_remove(0);
        assert_eq!((fault.code, fault.pointer.as_deref()), (FaultCode::AnswerTooLong, Some("/answer")));
    }
    let long = record("MVK--reef_dive_0007--q5", &"the turtle glides over the reef ".repeat(32_000));
    assert_eq!(first_fault(long.as_bytes()).code, FaultCode::AnswerTooLong);
}

#[test]
fn the_first_hundred_faults_are_listed_and_all_are_counted() {
    let file: String = (0..4020).map(|n| record(&format!("MVK--none--q{n}"), "A")).collect();
    let refused = refusal(file.as_bytes(), index());
    assert_eq!((refused.faults.len(), refused.total), (MAX_LISTED_FAULTS, 4020));
}

#[test]
fn a_fault_has_line_column_pointer_and_id() {
    let list = "[\n {\"question_id\": \"MVK--reef_dive_0007--q1\",\n  \"answer\": 2}]";
    let fault = first_fault(list.as_bytes());
    assert_eq!((fault.line, fault.column, fault.pointer.as_deref()), (Some(3), Some(13), Some("/0/answer")));
    assert_eq!(fault.question_id.as_deref(), Some("MVK--reef_dive_0007--q1"));
    let map = "{\"MVK--reef_dive_0007--q1\":\n 2}";
    let fault = first_fault(map.as_bytes());
    assert_eq!((fault.code, fault.line, fault.column), (FaultCode::WrongType, Some(2), Some(2)));
}

#[test]
fn every_fault_of_a_record_is_reported() {
    let refused = refusal(br#"{"question_id": "MVK--none--q1", "answer": 2}"#, index());
    let codes: Vec<_> = refused.faults.iter().map(|fault| fault.code).collect();
    assert_eq!(codes, [FaultCode::WrongType, FaultCode::UnknownQuestion]);
}

#[test]
fn other_names_are_taken_for_answer_and_answer_wins() {
    let index = index();
    let id = "MVK--reef_dive_0007--q1";
    for name in ["prediction", "pred", "response", "model_answer"] {
        let read = accepted(format!(r#"{{"question_id": "{id}", "{name}": "B"}}"#).as_bytes(), index);
        assert_eq!(read.answers[0].as_deref(), Some("B"));
        let csv = accepted(format!("{name},question_id\nB,{id}\n").as_bytes(), index);
        assert_eq!(csv.answers, read.answers);
    }
    let both =
        accepted(format!(r#"{{"question_id": "{id}", "response": 7, "answer": "B"}}"#).as_bytes(), index);
    assert_eq!(both.answers[0].as_deref(), Some("B"));
    let extra = both.warnings.iter().find(|warning| warning.code == WarningCode::ExtraField).unwrap();
    assert_eq!(extra.count, 1);
    assert!(extra.detail.contains("`response` in line 1"), "{}", extra.detail);
}

#[test]
fn what_a_file_was_meant_to_be_is_told() {
    let record = r#"{"question_id": "MVK--reef_dive_0007--q1", "answer": "B"}"#;
    let encoded = serde_json::to_string(record).unwrap();
    for (file, code, word) in [
        (encoded.clone(), FaultCode::WrongType, "encoded twice"),
        (format!("{encoded}\n{encoded}\n"), FaultCode::WrongType, "encoded twice"),
        (
            serde_json::to_string(&format!("{record}\n").repeat(1000)).unwrap(),
            FaultCode::WrongType,
            "encoded twice",
        ),
        (format!("[\n{record}\n{record}\n]"), FaultCode::MalformedJson, "comma is missing"),
        (format!("[\n{record}\n]\n[\n{record}\n]"), FaultCode::MalformedJson, "one document, or JSONL"),
        (format!(r#"{{"predictions": [{record}]}}"#), FaultCode::WrongType, "the list alone"),
        (
            "{\"MVK--reef_dive_0007--q1\": \"B\"}\n{\"MVK--reef_dive_0007--q2\": \"B\"}".to_owned(),
            FaultCode::MissingField,
            "one object `{question_id: answer}`",
        ),
        (record.replace("reef_dive", "reef_div"), FaultCode::UnknownQuestion, "nearest"),
    ] {
        let fault = first_fault(file.as_bytes());
        assert_eq!(fault.code, code, "{file}: {fault:?}");
        assert!(fault.detail.contains(word), "{word}: {}", fault.detail);
    }
}

#[test]
fn details_say_how_to_mend() {
    for (file, word) in [
        ("semicolon.csv", "semicolons"),
        ("no_header.csv", "`question_id,answer`"),
        ("unquoted_comma.csv", "double quotes"),
        ("id_case.jsonl", "`MVK--reef_dive_0007--q3` is known"),
        ("id_spaces.jsonl", "spaces"),
        ("unknown_index.jsonl", "`MVK--reef_dive_0007--q1` to"),
        ("wrong_split.jsonl", "split `train`"),
        ("duplicate_id_same.jsonl", "line 2"),
        ("latin1.jsonl", "`0xe8`"),
        ("pretty_printed.jsonl", "one line"),
        ("python_repr.jsonl", "json.dumps"),
    ] {
        let detail = first_fault(&fs::read(fixture("broken").join(file)).unwrap()).detail;
        assert!(detail.contains(word), "{file}: {detail}");
    }
}

/// A file of valid records in some order, then damaged: bytes replaced, a part cut out.
fn damaged() -> impl Strategy<Value = Vec<u8>> {
    let names = [
        "sample/predictions/variant.csv",
        "sample/predictions/variant_array.json",
        "broken/extra_fields.jsonl",
        "sample/predictions/variant_map.json",
        "sample/predictions/variant.jsonl.gz",
        "broken/formula.csv",
        "sample/predictions/variant_utf16le_bom.jsonl",
        "sample/predictions/variant.jsonl.zst",
    ];
    let files = names.map(|name| fs::read(fixture(name)).unwrap());
    let edits = prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 0..6);
    (prop::sample::select(files.to_vec()), edits, any::<prop::sample::Index>()).prop_map(
        |(mut file, edits, cut)| {
            for (at, byte) in edits {
                let at = at.index(file.len());
                file[at] = byte;
            }
            file.truncate(cut.index(file.len() * 2).max(1));
            file
        },
    )
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(100) })]

    #[test]
    fn any_bytes_are_read_or_refused(bytes in prop::collection::vec(any::<u8>(), 0..300)) {
        let index = QuestionIndex::new(Split::Test, [], []);
        prop_assert!(!matches!(read(&bytes[..], &index, &LIMITS), Err(ReadError::Io(_))));
    }

    #[test]
    fn nearly_json_is_read_or_refused(text in "[\\[\\]{}\",:a-c\\\\\n'é0-9 ]{0,60}") {
        let index = QuestionIndex::new(Split::Test, [("a".to_owned(), QuestionFormat::OpenEnded)], []);
        let (record, row) = (format!("{{\"question_id\":{text}\n"), format!("question_id,answer\n{text}"));
        for text in [text, record, row] {
            prop_assert!(!matches!(read(text.as_bytes(), &index, &LIMITS), Err(ReadError::Io(_))));
        }
    }

    #[test]
    fn damaged_files_are_read_or_refused(file in damaged()) {
        if let Err(error) = read(&file[..], index(), &LIMITS) {
            let ReadError::Refused(refusal) = error else { unreachable!() };
            prop_assert!(refusal.total as usize >= refusal.faults.len() && !refusal.faults.is_empty());
        }
    }

    #[test]
    fn the_order_of_records_does_not_matter(
        records in Just(fs::read_to_string(fixture("sample/predictions/letters_noisy.jsonl")).unwrap()
            .lines().map(str::to_owned).collect::<Vec<_>>()).prop_shuffle()
    ) {
        let index = index();
        let sorted = accepted(&fs::read(fixture("sample/predictions/letters_noisy.jsonl")).unwrap(), index);
        let shuffled = accepted(records.join("\n").as_bytes(), index);
        let counts = |read: &Predictions| -> HashMap<_, _> {
            read.warnings.iter().map(|warning| (warning.code, warning.count)).collect()
        };
        prop_assert_eq!(&sorted.answers, &shuffled.answers);
        prop_assert_eq!(counts(&sorted), counts(&shuffled));
    }
}
