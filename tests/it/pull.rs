//! `secchi pull` against a stand-in that serves frames and videos, damages them, and is killed in the middle.

use std::collections::HashMap;
use std::path::Path;
use std::process::Stdio;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};

use crate::odd_server::{http, odd_server};
use crate::process::until;
use crate::program::{Ended, run, secchi as program};
use crate::support::sample_bytes;

/// Frames that the stand-in tells of each video.
pub const FRAMES: usize = 8;

/// A video's size, so large that it is not sent at once.
const VIDEO_BYTES: usize = 3 << 20;

/// A server of questions, frames and videos whose bytes follow from their names.
pub struct Media {
    pub base: String,
    /// How often each path was asked for.
    pub asked: Arc<Mutex<HashMap<String, usize>>>,
    /// The `Range` headers that came.
    pub ranges: Arc<Mutex<Vec<String>>>,
    /// Answers to frames and videos so far.
    pub sent: Arc<AtomicUsize>,
}

/// What is wrong with an answer, by path and how often it was asked for before.
pub type Fault = fn(path: &str, before: usize) -> Option<Vec<u8>>;

pub fn frame_bytes(video: &str, place: usize) -> Vec<u8> {
    format!("\u{ff}\u{d8}{video}#{place}\n").repeat(50).into_bytes()
}

fn video_bytes(video: &str) -> Vec<u8> {
    let word = Sha256::digest(video.as_bytes());
    word.iter().copied().cycle().take(VIDEO_BYTES).collect()
}

fn hash(bytes: &[u8]) -> String {
    hex::encode(Sha256::digest(bytes))
}

impl Media {
    pub async fn start(fault: Fault) -> Media {
        let (asked, ranges) = (Arc::new(Mutex::new(HashMap::new())), Arc::new(Mutex::new(Vec::new())));
        let sent = Arc::new(AtomicUsize::new(0));
        let (counts, seen, served) = (asked.clone(), ranges.clone(), sent.clone());
        let base = odd_server(move |_, head| {
            let path = head.split(' ').nth(1).unwrap().to_owned();
            let before = {
                let mut counts = counts.lock().unwrap();
                let count: &mut usize = counts.entry(path.clone()).or_default();
                *count += 1;
                *count - 1
            };
            if path.contains("/videos/") {
                std::thread::sleep(Duration::from_millis(2));
                served.fetch_add(1, Ordering::SeqCst);
            }
            if let Some(answer) = fault(&path, before) {
                return answer;
            }
            let range = head.lines().find_map(|line| {
                let (name, value) = line.split_once(": ")?;
                name.eq_ignore_ascii_case("range").then(|| value.trim().to_owned())
            });
            seen.lock().unwrap().extend(range.clone());
            answer(&path, range.as_deref())
        })
        .await;
        Media { base, asked, ranges, sent }
    }

    pub fn asked(&self, part: &str) -> usize {
        let asked = self.asked.lock().unwrap();
        asked.iter().filter(|(path, _)| path.contains(part)).map(|(_, count)| count).sum()
    }
}

fn answer(path: &str, range: Option<&str>) -> Vec<u8> {
    let json = |value: Value| http("200 OK", "content-type: application/json\r\n", &value.to_string());
    let path = path.strip_prefix("/api/v1/").unwrap();
    if path == "benchmark" {
        return json(json!({"splits": [{"split": "val", "release": "r1", "sha256": "ab"}]}));
    }
    if path.starts_with("splits/val/questions") {
        return http("200 OK", "", &String::from_utf8(public_questions()).unwrap());
    }
    let (path, query) = path.split_once('?').unwrap_or((path, ""));
    let parts: Vec<&str> = path.split('/').collect();
    let video = percent_decoded(parts[1]);
    match parts[2..] {
        [] => json(json!({"id": video, "bytes": VIDEO_BYTES, "sha256": hash(&video_bytes(&video))})),
        ["frames"] => {
            assert_eq!(query, "n=8&size=512");
            let frame = |i: usize| {
                let bytes = frame_bytes(&video, i);
                json!({"i": i, "index": 7 * i, "timestamp_ms": 280 * i, "width": 512, "height": 288,
                    "bytes": bytes.len(), "sha256": hash(&bytes)})
            };
            let frames: Vec<Value> = (0..FRAMES).map(frame).collect();
            json(json!({"id": video, "n": 8, "size": 512, "frames": frames}))
        }
        ["frames", name] => {
            let place = name.trim_end_matches(".jpg").parse().unwrap();
            binary("200 OK", "", &frame_bytes(&video, place))
        }
        ["file"] => {
            let bytes = video_bytes(&video);
            let etag = format!("etag: \"{}\"\r\n", hash(&bytes));
            match range
                .and_then(|range| range.strip_prefix("bytes=")?.strip_suffix('-')?.parse::<usize>().ok())
            {
                Some(from) if from >= bytes.len() => http("416 Range Not Satisfiable", "", ""),
                Some(from) => {
                    let total = bytes.len();
                    let told = format!("{etag}content-range: bytes {from}-{}/{total}\r\n", total - 1);
                    binary("206 Partial Content", &told, &bytes[from..])
                }
                None => binary("200 OK", &etag, &bytes),
            }
        }
        _ => panic!("{path}"),
    }
}

/// The sample's public questions, with one video's key full of odd characters.
pub fn public_questions() -> Vec<u8> {
    let text = String::from_utf8(sample_bytes("val.jsonl")).unwrap();
    let first: Value = serde_json::from_str(text.lines().next().unwrap()).unwrap();
    let (odd, first) = ("MVK--R\u{e9}ef [1] a/b?c%20", first["id"].as_str().unwrap().to_owned());
    let public = text.lines().map(|line| {
        let record: Value =
            serde_json::from_str(&line.replace(&format!("\"{first}\""), &format!("\"{odd}\""))).unwrap();
        let fields = [
            "question_id",
            "id",
            "type",
            "question_format",
            "video_id",
            "video_file",
            "question",
            "prompt",
            "options",
        ];
        let public: serde_json::Map<String, Value> =
            fields.iter().map(|field| ((*field).to_owned(), record[field].clone())).collect();
        format!("{}\n", Value::Object(public))
    });
    public.collect::<String>().into_bytes()
}

fn percent_decoded(text: &str) -> String {
    let mut bytes = Vec::new();
    let mut rest = text.as_bytes();
    while let Some((first, more)) = rest.split_first() {
        if *first == b'%' {
            bytes.push(u8::from_str_radix(std::str::from_utf8(&more[..2]).unwrap(), 16).unwrap());
            rest = &more[2..];
        } else {
            bytes.push(*first);
            rest = more;
        }
    }
    String::from_utf8(bytes).unwrap()
}

fn binary(status: &str, headers: &str, body: &[u8]) -> Vec<u8> {
    let length = body.len();
    let head = format!("HTTP/1.1 {status}\r\nconnection: close\r\ncontent-length: {length}\r\n{headers}\r\n");
    [head.as_bytes(), body].concat()
}

fn pull(folder: &Path, media: &Media, more: &[&str]) -> std::process::Command {
    let mut command = program(folder, &["pull", "--split", "val", "out"]);
    command.args(more).env("SECCHI_URL", &media.base).env("SECCHI_API_KEY", "k");
    command
}

fn pulled(folder: &Path, media: &Media, more: &[&str]) -> Ended {
    tokio::task::block_in_place(|| run(&mut pull(folder, media, more)))
}

/// Asserts that the folder holds every frame of every video, in order and whole.
fn assert_whole(folder: &Path, videos: usize) -> Value {
    let root = folder.join("out");
    let manifest: Value =
        serde_json::from_slice(&std::fs::read(root.join("manifest.json")).unwrap()).unwrap();
    assert_eq!(std::fs::read(root.join("questions.jsonl")).unwrap(), public_questions());
    assert_eq!(manifest["videos"].as_array().unwrap().len(), videos);
    for video in manifest["videos"].as_array().unwrap() {
        let id = video["id"].as_str().unwrap();
        for (place, frame) in video["frames"].as_array().unwrap().iter().enumerate() {
            let bytes = std::fs::read(root.join(frame["file"].as_str().unwrap())).unwrap();
            assert_eq!(bytes, frame_bytes(id, place), "{id} {place}");
            assert_eq!((&frame["sha256"], &frame["index"]), (&json!(hash(&bytes)), &json!(7 * place)));
        }
        assert_eq!(video["frames"].as_array().unwrap().len(), FRAMES, "{id}");
    }
    manifest
}

#[tokio::test(flavor = "multi_thread")]
async fn a_split_is_fetched_whole_and_the_same_command_again_fetches_nothing() {
    let media = Media::start(|_, _| None).await;
    let folder = tempfile::tempdir().unwrap();
    let first = pulled(folder.path(), &media, &["--json"]).json();
    assert_eq!(
        (&first["videos"], &first["frames"], &first["fetched"]),
        (&json!(24), &json!(192), &json!(192))
    );
    let manifest = assert_whole(folder.path(), 24);
    assert_eq!(
        (&manifest["release"], &manifest["complete"], &manifest["n"]),
        (&json!("r1"), &json!(true), &json!(8))
    );
    let odd = manifest["videos"][0]["frames"][0]["file"].as_str().unwrap();
    assert!(odd.starts_with("frames/MVK--R_ef__1__a_b_c_20-") && odd.ends_with("/0.jpg"), "{odd}");
    assert_eq!(pulled(folder.path(), &media, &["--json"]).json()["fetched"], 0);
    // What was damaged or lost meanwhile is mended.
    let root = folder.path().join("out");
    std::fs::write(root.join(odd), b"damaged").unwrap();
    let lost = manifest["videos"][1]["frames"][3]["file"].as_str().unwrap();
    std::fs::remove_file(root.join(lost)).unwrap();
    assert_eq!(pulled(folder.path(), &media, &["--json"]).json()["fetched"], 2);
    assert_whole(folder.path(), 24);
    let other = pulled(folder.path(), &media, &["--frames", "4"]);
    assert!(other.code == Some(2) && other.stderr.contains("holds val with 8 frames"), "{other:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_killed_pull_goes_on_where_it_stopped() {
    let media = Media::start(|_, _| None).await;
    let folder = tempfile::tempdir().unwrap();
    for frames in [20, 60, 120] {
        let mut child = pull(folder.path(), &media, &["--concurrency", "2"])
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        until("frames", async || media.sent.load(Ordering::SeqCst) >= frames).await;
        child.kill().unwrap();
        child.wait().unwrap();
    }
    pulled(folder.path(), &media, &[]).stdout();
    assert_whole(folder.path(), 24);
    // Those under way at a kill were fetched again, the others were not.
    assert!((192..=192 + 3 * 3).contains(&media.asked(".jpg")), "{}", media.asked(".jpg"));
    let parts =
        std::process::Command::new("find").arg(folder.path()).args(["-name", "*.part"]).output().unwrap();
    assert!(parts.stdout.len() < 200, "{}", String::from_utf8_lossy(&parts.stdout));
}

#[tokio::test(flavor = "multi_thread")]
async fn faults_that_pass_are_tried_again_and_others_are_told() {
    fn fault(path: &str, before: usize) -> Option<Vec<u8>> {
        match (path.contains("/2.jpg"), path.ends_with("/frames?n=8&size=512"), before) {
            (true, _, 0) => Some(binary("200 OK", "", b"damaged")),
            (_, true, 0) => {
                Some(http("429 Too Many", "retry-after: 0\r\n", r#"{"code":"rate_limited","detail":"x"}"#))
            }
            _ => None,
        }
    }
    let media = Media::start(fault).await;
    let folder = tempfile::tempdir().unwrap();
    pulled(folder.path(), &media, &["--concurrency", "24"]).stdout();
    assert_whole(folder.path(), 24);

    fn gone(path: &str, _: usize) -> Option<Vec<u8>> {
        let missing = r#"{"code":"video_missing","detail":"its file is not here","status":404}"#;
        (path.contains("/frames?") && path.contains("%C3%A9")).then(|| http("404 Not Found", "", missing))
    }
    let media = Media::start(gone).await;
    let folder = tempfile::tempdir().unwrap();
    let ended = pulled(folder.path(), &media, &["--json"]);
    assert_eq!(ended.code, Some(3), "{ended:?}");
    let summary: Value = serde_json::from_str(&ended.stdout).unwrap();
    assert_eq!(
        (&summary["frames"], &summary["missing"]),
        (&json!(184), &json!(["MVK--R\u{e9}ef [1] a/b?c%20"]))
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_video_is_gone_on_with_by_range_and_held_against_its_hash() {
    fn cut(path: &str, before: usize) -> Option<Vec<u8>> {
        // The connection breaks in the middle of the first answer of each video.
        let whole = path.ends_with("/file") && before == 0;
        whole.then(|| {
            let video = percent_decoded(path.split('/').nth(4).unwrap());
            let bytes = video_bytes(&video);
            let head = format!(
                "HTTP/1.1 200 OK\r\ncontent-length: {VIDEO_BYTES}\r\netag: \"{}\"\r\n\r\n",
                hash(&bytes)
            );
            [head.as_bytes(), &bytes[..VIDEO_BYTES / 2]].concat()
        })
    }
    let media = Media::start(cut).await;
    let folder = tempfile::tempdir().unwrap();
    let more = ["--frames", "0", "--videos", "--concurrency", "24"];
    pulled(folder.path(), &media, &more).stdout();
    let ranges = media.ranges.lock().unwrap().clone();
    assert!(ranges.len() == 24 && ranges.iter().all(|range| *range != "bytes=0-"), "{ranges:?}");
    let manifest: Value =
        serde_json::from_slice(&std::fs::read(folder.path().join("out/manifest.json")).unwrap()).unwrap();
    for video in manifest["videos"].as_array().unwrap() {
        let bytes = std::fs::read(folder.path().join("out").join(video["file"].as_str().unwrap())).unwrap();
        assert!(bytes == video_bytes(video["id"].as_str().unwrap()), "{video}");
    }
    let asked = media.asked("/file");
    pulled(folder.path(), &media, &more).stdout();
    assert_eq!(media.asked("/file"), asked);
    // A part that the rest does not fit is fetched anew.
    let name = manifest["videos"][3]["file"].as_str().unwrap();
    let path = folder.path().join("out").join(name);
    std::fs::rename(&path, path.with_extension("mp4.part")).unwrap();
    std::fs::write(path.with_extension("mp4.part"), b"something else").unwrap();
    pulled(folder.path(), &media, &more).stdout();
    assert!(std::fs::read(&path).unwrap() == video_bytes(manifest["videos"][3]["id"].as_str().unwrap()));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_pull_that_is_killed_within_a_video_goes_on_within_it() {
    let media = Media::start(|_, _| None).await;
    let folder = tempfile::tempdir().unwrap();
    let more = ["--frames", "0", "--videos", "--concurrency", "1"];
    let mut child =
        pull(folder.path(), &media, &more).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    let videos = folder.path().join("out/videos");
    let begun = || {
        let entries = std::fs::read_dir(&videos).ok()?;
        let mut parts =
            entries.flatten().filter(|entry| entry.file_name().to_string_lossy().ends_with(".part"));
        parts.next().map(|part| part.metadata().map_or(0, |facts| facts.len()))
    };
    until("a part of a video", async || begun().is_some_and(|bytes| bytes > 200_000)).await;
    child.kill().unwrap();
    child.wait().unwrap();
    let there = begun().unwrap();
    pulled(folder.path(), &media, &more).stdout();
    assert_eq!(*media.ranges.lock().unwrap(), [format!("bytes={there}-")]);
    assert_eq!(std::fs::read_dir(&videos).unwrap().count(), 24);
}
