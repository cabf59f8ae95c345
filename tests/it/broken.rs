//! Faulty files: each is refused whole with what is wrong with it and where, and leaves nothing behind.

use std::io::{Read as _, Write as _};

use flate2::Compression;
use flate2::write::GzEncoder;
use serde::Deserialize;
use serde_json::Value;

use secchi::domain::question::Split;

use crate::support::{Options, Secchi, metadata, problem};

const OPEN_ENDED: &str = "MVK--reef_dive_0007--q5";

/// A line of `EXPECTED.json`.
#[derive(Deserialize)]
struct Case {
    file: String,
    outcome: String,
    code: String,
    line: Value,
}

impl Case {
    fn is_accepted(&self) -> bool {
        self.outcome.starts_with("accept")
    }

    fn status(&self) -> u16 {
        match self.code.as_str() {
            _ if self.is_accepted() => 202,
            "too_large" => 413,
            _ => 422,
        }
    }

    /// That a dry run or a submission says what is odd about the file, which has few of the split's answers.
    fn assert_warned(&self, said: &Value) {
        let warnings = said["warnings"].as_array().unwrap();
        let warned = |code: &str| warnings.iter().any(|warning| warning["code"] == code);
        assert!(warned("missing_answers"), "{}", self.file);
        if let Some((code, "(warning)")) = self.code.split_once(' ') {
            assert!(warned(code), "{}: {warnings:?}", self.file);
        }
    }

    /// What the file may be called instead of its code.
    fn other_code(&self) -> &str {
        match self.file.as_str() {
            "huge_float.jsonl" => "malformed_json",
            "answer_1mb.jsonl" => "line_too_long",
            _ => &self.code,
        }
    }
}

fn fixture(name: &str) -> std::path::PathBuf {
    std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/broken").join(name)
}

fn cases() -> Vec<Case> {
    serde_json::from_slice(&std::fs::read(fixture("EXPECTED.json")).unwrap()).unwrap()
}

/// A file of the folder, or one that is too large to be kept there.
fn bytes(name: &str) -> Vec<u8> {
    match name {
        "deep_nesting.json" => ("[".repeat(50_000) + "]".repeat(50_000).as_str()).into_bytes(),
        "bomb_100mb.jsonl.gz" => gzip_of_spaces(95 << 20),
        "bomb_2gb.jsonl.zst" => zstd_of_spaces(2 << 30),
        "answer_1mb.jsonl" => {
            let kept = std::fs::read_to_string(fixture("incomplete.jsonl")).unwrap();
            let lines: Vec<&str> = kept.lines().collect();
            let long = record(OPEN_ENDED, &"the turtle glides over the reef ".repeat(32_768));
            [lines[0], lines[1], &long, lines[3]].join("\n").into_bytes()
        }
        _ => std::fs::read(fixture(name)).unwrap_or_else(|error| panic!("{name}: {error}")),
    }
}

pub fn record(id: &str, answer: &str) -> String {
    serde_json::json!({ "question_id": id, "answer": answer }).to_string()
}

pub fn gzip_of_spaces(length: u64) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
    std::io::copy(&mut std::io::repeat(b' ').take(length), &mut encoder).unwrap();
    encoder.finish().unwrap()
}

/// A frame of run-length blocks (RFC 8878, 3.1.1.2): four bytes for each 128 KiB.
pub fn zstd_of_spaces(length: usize) -> Vec<u8> {
    const BLOCK: usize = 128 << 10;
    let mut frame = vec![0x28, 0xb5, 0x2f, 0xfd, 0x00, 0x50];
    let blocks = length / BLOCK;
    for block in 1..=blocks {
        let header = (BLOCK << 3) | (1 << 1) | usize::from(block == blocks);
        frame.extend(&header.to_le_bytes()[..3]);
        frame.push(b' ');
    }
    frame
}

fn generous() -> Options {
    Options { quota: vec!["--quota-per-day", "1000", "--quota-total", "1000"], ..Options::default() }
}

fn assert_is_a_fault(fault: &Value) {
    let fields: Vec<&String> = fault.as_object().unwrap().keys().collect();
    assert_eq!(fields, ["code", "line", "column", "pointer", "question_id", "detail"]);
    assert!(fault["detail"].as_str().is_some_and(|detail| detail.len() > 10), "{fault}");
}

#[tokio::test(flavor = "multi_thread")]
async fn every_broken_file_gets_its_status_code_and_line_and_a_refused_one_leaves_nothing() {
    let secchi = Secchi::with(generous()).await;
    for split in [Split::Test, Split::Val, Split::Train] {
        secchi.import(split, &format!("{split}.jsonl")).await;
    }
    let team = secchi.team("ocean-lab").await;
    let mut accepted: Vec<(String, Case)> = Vec::new();
    let cases = cases();
    assert_eq!(cases.len(), 81);
    for case in cases {
        let file = bytes(&case.file);
        let tried = secchi.submission_with("?dry_run=true", &team, &metadata(&case.file), file.clone());
        let tried = tried.send().await.unwrap();
        let response = secchi.submit(&team, &metadata(&case.file), file).await;
        if case.is_accepted() {
            assert_eq!((tried.status().as_u16(), response.status().as_u16()), (200, 202), "{}", case.file);
            case.assert_warned(&tried.json().await.unwrap());
            let submission: Value = response.json().await.unwrap();
            accepted.insert(0, (submission["id"].as_str().unwrap().to_owned(), case));
            continue;
        }
        let refusal = problem(response, case.status()).await;
        let fault = &refusal["errors"][0];
        let code = fault["code"].as_str().unwrap();
        assert!(code == case.code || code == case.other_code(), "{}: {refusal}", case.file);
        assert_eq!(fault["line"].as_u64(), case.line.as_u64(), "{}: {refusal}", case.file);
        refusal["errors"].as_array().unwrap().iter().for_each(assert_is_a_fault);
        assert_eq!(problem(tried, case.status()).await, refusal, "{}: a dry run says the same", case.file);
    }
    let ids: Vec<&String> = accepted.iter().map(|(id, _)| id).collect();
    assert_eq!(secchi.submission_ids(&team).await.iter().collect::<Vec<_>>(), ids);
    assert_eq!(secchi.used_today(&team).await, accepted.len() as i64);

    secchi.drain().await;
    for (id, case) in accepted {
        let submission = secchi.get_json(&format!("/api/v1/submissions/{id}"), Some(&team.key)).await;
        assert_eq!(submission["state"], "scored", "{}", case.file);
        case.assert_warned(&submission);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn of_many_faults_the_first_hundred_are_listed_and_all_are_counted() {
    let (secchi, team) = Secchi::with_sample(Options::default()).await;
    let file: String = (0..4020).map(|n| record(&format!("MVK--none--q{n}"), "A") + "\n").collect();
    let refusal = problem(secchi.submit(&team, &metadata("Broken"), file.into()).await, 422).await;
    let errors = refusal["errors"].as_array().unwrap();
    assert_eq!((errors.len(), &refusal["total"]), (100, &Value::from(4020)));
    for (error, line) in errors.iter().zip(1..) {
        assert_is_a_fault(error);
        assert_eq!(error["line"], line);
        assert_eq!(error["code"], "unknown_question");
        assert_eq!(error["question_id"], format!("MVK--none--q{}", line - 1));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_file_of_another_split_is_named_so_with_the_split_it_is_of() {
    let secchi = Secchi::start().await;
    secchi.import(Split::Test, "test.jsonl").await;
    secchi.import(Split::Val, "val.jsonl").await;
    let team = secchi.team("ocean-lab").await;
    let mut of_val = metadata("Mistaken");
    of_val["split"] = "val".into();
    let perfect = crate::support::sample_bytes("predictions/perfect.jsonl");
    let refusal = problem(secchi.submit(&team, &of_val, perfect).await, 422).await;
    assert_eq!((&refusal["errors"][0]["code"], &refusal["total"]), (&"wrong_split".into(), &199.into()));
    assert!(refusal["errors"][0]["detail"].as_str().unwrap().contains("`test`"), "{refusal}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_file_over_the_limit_is_too_large_however_it_is_packed() {
    const LIMIT: usize = 20_000;
    let options = Options { http: vec!["--max-upload-bytes", "20000"], ..generous() };
    let (secchi, team) = Secchi::with_sample(options).await;
    let answer = record(OPEN_ENDED, "a turtle");
    // The first just fits.
    for (length, status) in [(LIMIT, 202), (LIMIT + 1, 413), (40 * LIMIT, 413)] {
        let plain = format!("{answer}\n{}", "\n".repeat(length - answer.len() - 1)).into_bytes();
        let mut gzip = GzEncoder::new(Vec::new(), Compression::best());
        gzip.write_all(&plain).unwrap();
        let zstd = zstd::encode_all(&plain[..], 3).unwrap();
        let packed = [("plain", plain), ("gzip", gzip.finish().unwrap()), ("zstd", zstd)];
        for (name, file) in packed {
            let response = secchi.submit(&team, &metadata(name), file).await;
            if status == 202 {
                assert_eq!(response.status(), 202);
                continue;
            }
            let refusal = problem(response, 413).await;
            assert_eq!(refusal["code"], "too_large");
            assert_eq!((&refusal["errors"][0]["code"], &refusal["total"]), (&"too_large".into(), &1.into()));
            assert_is_a_fault(&refusal["errors"][0]);
        }
    }
    assert_eq!(secchi.used_today(&team).await, 3);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_file_that_is_too_large_for_one_line_is_told_of_the_line() {
    let options = Options { http: vec!["--max-upload-bytes", "2000000"], ..generous() };
    let (secchi, team) = Secchi::with_sample(options).await;
    let line = record(OPEN_ENDED, &"a".repeat(3_000_000)).into_bytes();
    let refusal = problem(secchi.submit(&team, &metadata("Large"), line).await, 422).await;
    assert_eq!((&refusal["errors"][0]["code"], &refusal["total"]), (&"line_too_long".into(), &1.into()));
    assert_eq!(refusal["errors"][0]["line"], 1);
}
