//! A real server under files and senders that mean it harm: its memory stays within bounds, it answers each with what is
//! wrong, and nothing is left behind.

use std::io::{Read as _, Write as _};
use std::net::{Shutdown, TcpStream};
use std::path::Path;
use std::time::Duration;

use futures::future::join_all;
use serde_json::Value;
use zip::write::{SimpleFileOptions, ZipWriter};

use crate::broken::{gzip_of_spaces, record, zstd_of_spaces};
use crate::operations::form;
use crate::process::{Process, until};
use crate::program::run_on;
use crate::support::{Ground, metadata, sample};

const MOST_BYTES: u64 = 300 << 20;
const OPEN_ENDED: &str = "MVK--reef_dive_0007--q5";

/// A server on a ground with the sample, a team's key, and the folder in which the server may keep files.
fn serve(ground: &Ground) -> (Process, String, std::path::PathBuf) {
    let file = sample("test.jsonl");
    let import = ["dataset", "import", "--release", "r1", "--split", "test", file.to_str().unwrap()];
    run_on(ground, &import).stdout();
    let made = run_on(ground, &["team", "create", "ocean-lab", "--name", "Ocean Lab", "--json"]).json();
    let kept = ground.data.path().join("kept");
    std::fs::create_dir(&kept).unwrap();
    let settings = [
        ("TMPDIR", kept.to_str().unwrap()),
        ("SECCHI_QUOTA_PER_DAY", "1000"),
        // As in the image: glibc else keeps what is done with.
        ("MALLOC_ARENA_MAX", "2"),
        ("MALLOC_MMAP_THRESHOLD_", "262144"),
        ("MALLOC_TRIM_THRESHOLD_", "262144"),
    ];
    let server = Process::serve_with(ground, &settings);
    (server, made["api_key"].as_str().unwrap().to_owned(), kept)
}

async fn send(server: &Process, key: &str, file: Vec<u8>) -> (u16, Value) {
    let request = reqwest::Client::new().post(format!("{}/api/v1/submissions", server.base));
    let response = request.bearer_auth(key).multipart(form(&metadata("Hostile"), file)).send().await.unwrap();
    (response.status().as_u16(), response.json().await.unwrap())
}

/// Sends all files at once and asserts what each is refused for.
async fn assert_refused(server: &Process, key: &str, files: Vec<(&str, Vec<u8>)>) {
    let (codes, files): (Vec<&str>, Vec<Vec<u8>>) = files.into_iter().unzip();
    let refusals = join_all(files.into_iter().map(|file| send(server, key, file))).await;
    for ((status, refusal), code) in refusals.into_iter().zip(codes) {
        assert_eq!(status, if code == "too_large" { 413 } else { 422 }, "{refusal}");
        assert_eq!(refusal["errors"][0]["code"], code, "{refusal}");
    }
}

fn assert_little_memory(server: &Process) {
    let peak = server.peak_bytes();
    assert!(peak < MOST_BYTES, "{} MiB", peak >> 20);
}

fn assert_nothing_is_kept(server: &Process, kept: &Path) {
    assert_eq!(std::fs::read_dir(kept).unwrap().count(), 0);
    let log = server.log();
    assert!(!log.contains("ERROR") && !log.contains("panicked"), "{log}");
}

#[tokio::test(flavor = "multi_thread")]
async fn sixteen_of_the_largest_broken_files_at_once_take_little_memory() {
    let ground = Ground::new();
    let (mut server, key, kept) = serve(&ground);
    let answer = record(OPEN_ENDED, &"a".repeat(1 << 20));
    let line = record(OPEN_ENDED, "").replace(":\"\"", &format!(":\"{}\"", "a".repeat(200_000_000)));
    assert!(line.len() > 200_000_000);
    let line = line.into_bytes();
    let list = [b"[", &vec![b' '; 60 << 20][..], b"{}]"].concat();
    let bomb = gzip_of_spaces(95 << 20);
    let gibibyte = gzip_of_spaces(16 << 20).repeat(64);
    let mut files = Vec::new();
    for _ in 0..2 {
        files.push(("line_too_long", line.clone()));
        files.push(("missing_field", list.clone()));
        files.push(("line_too_long", answer.clone().into_bytes()));
        files.push(("too_large", gibibyte.clone()));
        files.push(("too_large", bomb.clone()));
        files.push(("too_large", zstd_of_spaces(2 << 30)));
        files.push(("too_deep", ("[".repeat(50_000) + "]".repeat(50_000).as_str()).into_bytes()));
        files.push(("too_large", [b"[", &vec![b' '; 80 << 20][..]].concat()));
    }
    assert_refused(&server, &key, files).await;
    assert_little_memory(&server);
    assert_nothing_is_kept(&server, &kept);
    assert!(server.terminate().await.0.success());
}

/// A workbook whose cells are the given rows, with as many spaces between them.
fn workbook(rows: &str, spaces: usize) -> Vec<u8> {
    let sheet = format!("<worksheet><sheetData>{}{rows}</sheetData></worksheet>", " ".repeat(spaces));
    let texts = format!("<sst>{}</sst>", "<si><t>B</t></si>".repeat(100_000));
    let mut zip = ZipWriter::new(std::io::Cursor::new(Vec::new()));
    for (name, text) in [
        ("xl/workbook.xml", "<workbook><sheets><sheet r:id=\"r1\"/></sheets></workbook>"),
        ("xl/_rels/workbook.xml.rels", "<R><R Id=\"r1\" Target=\"sheet1.xml\"/></R>"),
        ("xl/sheet1.xml", sheet.as_str()),
        ("xl/sharedStrings.xml", texts.as_str()),
    ] {
        zip.start_file(name, SimpleFileOptions::default()).unwrap();
        zip.write_all(text.as_bytes()).unwrap();
    }
    zip.finish().unwrap().into_inner()
}

#[tokio::test(flavor = "multi_thread")]
async fn sixteen_large_workbooks_at_once_take_little_memory() {
    let ground = Ground::new();
    let (mut server, key, kept) = serve(&ground);
    let cell = |text: &str| format!("<c t=\"inlineStr\"><is><t>{text}</t></is></c>");
    let header = format!("<row>{}{}</row>", cell("question_id"), cell("answer"));
    let long = format!("<row>{}{}</row>", cell("MVK--none--q1"), cell(&"a".repeat(60_000))).repeat(60);
    let mut files = Vec::new();
    let (long, spaces) = (workbook(&format!("{header}{long}"), 0), workbook(&header, 80 << 20));
    for _ in 0..7 {
        files.push(("unknown_question", long.clone()));
        files.push(("too_large", spaces.clone()));
    }
    files.push(("empty_file", workbook(&header, 50 << 20)));
    files.push(("unknown_format", workbook("<row><c t=\"s\"><v>100000</v></c></row>", 0)));
    assert_refused(&server, &key, files).await;
    assert_little_memory(&server);
    assert_nothing_is_kept(&server, &kept);
    assert!(server.terminate().await.0.success());
}

#[tokio::test(flavor = "multi_thread")]
async fn long_files_without_a_fault_are_accepted_at_once_in_little_memory() {
    let ground = Ground::new();
    let (mut server, key, _) = serve(&ground);
    let questions = std::fs::read_to_string(sample("test.jsonl")).unwrap();
    let mut noise = 1_u64;
    let mut letters = |count: usize| -> String {
        let letter = |_| {
            noise = noise.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            char::from(b'!' + (noise >> 58) as u8)
        };
        (0..count).map(letter).collect()
    };
    let file: String = questions
        .lines()
        .map(|line| serde_json::from_str::<Value>(line).unwrap())
        .filter(|question| question["question_format"] == "multiple_choice")
        .map(|question| record(question["question_id"].as_str().unwrap(), &letters(60_000)) + "\n")
        .collect();
    assert!(file.len() > 8 << 20, "{}", file.len());
    let mut spoken = questions.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    let spoken = spoken.find(|question| question["question_format"] == "open_ended").unwrap();
    let id = spoken["question_id"].as_str().unwrap();
    // Each another one: a repeated file is only recognised.
    let files = (0..8).map(|place| file.clone() + record(id, &format!("Fish {place}")).as_str() + "\n");
    let accepted = join_all(files.map(|file| send(&server, &key, file.into_bytes()))).await;
    for (status, submission) in accepted {
        assert_eq!(status, 202, "{submission}");
    }
    assert_little_memory(&server);
    server.kill();
}

#[tokio::test(flavor = "multi_thread")]
async fn an_upload_that_is_cut_leaves_nothing() {
    let ground = Ground::new();
    let (mut server, key, kept) = serve(&ground);
    let address = server.base.trim_start_matches("http://").to_owned();
    let head = format!(
        "POST /api/v1/submissions HTTP/1.1\r\nHost: {address}\r\nAuthorization: Bearer {key}\r\n\
         Content-Type: multipart/form-data; boundary=b\r\nContent-Length: 50000000\r\n\r\n--b\r\n\
         Content-Disposition: form-data; name=\"predictions\"\r\n\r\n"
    );
    for (bytes, is_half_open) in [(0, false), (3 << 20, false), (3 << 20, true)] {
        let mut sender = TcpStream::connect(&address).unwrap();
        sender.write_all(head.as_bytes()).unwrap();
        sender.write_all(&vec![b'a'; bytes]).unwrap();
        if is_half_open {
            sender.shutdown(Shutdown::Write).unwrap();
            let mut answer = String::new();
            // Whoever still listens may hear that the form is no form.
            let _is_read = sender.read_to_string(&mut answer);
            assert!(answer.is_empty() || answer.contains(" 400 "), "{answer}");
        }
    }
    until("the cut uploads' end", async || {
        let ready = reqwest::get(format!("{}/healthz", server.base)).await.unwrap().status();
        ready.is_success() && server.open_files(&kept) == 0
    })
    .await;
    let request = reqwest::Client::new().get(format!("{}/api/v1/submissions", server.base)).bearer_auth(&key);
    let list: Value = request.send().await.unwrap().json().await.unwrap();
    assert_eq!(list["items"].as_array().unwrap().len(), 0);
    assert_nothing_is_kept(&server, &kept);
    assert!(server.terminate().await.0.success());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_sender_that_hangs_up_while_its_file_is_read_gets_no_second_one_read_beside_it() {
    let ground = Ground::new();
    let (mut server, key, _) = serve(&ground);
    let mut packed = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    packed.write_all(&[b"[".as_slice(), &b"null,".repeat(5 << 20), b"null]"].concat()).unwrap();
    let file = packed.finish().unwrap();
    for _ in 0..6 {
        let impatient = reqwest::Client::builder().timeout(Duration::from_millis(700)).build().unwrap();
        let request = impatient.post(format!("{}/api/v1/submissions?dry_run=true", server.base));
        let sent = request.bearer_auth(&key).multipart(form(&metadata("Hostile"), file.clone())).send().await;
        assert!(sent.is_err_and(|error| error.is_timeout()), "the file is read too fast to hang up");
    }
    // It waits behind whatever is still being read.
    assert_eq!(send(&server, &key, b"{".to_vec()).await.0, 422);
    assert_little_memory(&server);
    server.kill();
}
