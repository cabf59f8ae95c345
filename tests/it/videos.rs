//! The files of videos: what is refused at import and why, what is kept, and how teams get it.

use std::path::{Path, PathBuf};

use reqwest::Method;
use serde_json::Value;
use tempfile::TempDir;

use crate::clips::{WHOLE, add, clip, ffmpeg, lay, make, videos, with_clips};
use crate::program::{Ended, run, run_on, secchi as program};
use crate::support::{Ground, Options, Secchi, sample};
use crate::surface::{header, problem};

fn import(ground: &Ground, folder: &Path, more: &[&str]) -> Ended {
    let file = sample("val.jsonl");
    let arguments = ["dataset", "import", "--release", "r1", "--split", "val", file.to_str().unwrap()];
    run_on(ground, &[arguments.as_slice(), &["--videos", folder.to_str().unwrap()], more].concat())
}

/// Names of the files that are kept.
fn kept(ground: &Ground) -> Vec<PathBuf> {
    let folder = ground.data.path().join("data/media/videos");
    let Ok(entries) = std::fs::read_dir(folder) else { return Vec::new() };
    entries.map(|entry| entry.unwrap().path()).collect()
}

/// A part of a file, with 40 bytes from `rot` on overwritten.
fn spoilt(folder: &Path, of: &Path, name: &str, length: Option<usize>, rot: Option<usize>) -> PathBuf {
    let mut bytes = std::fs::read(of).unwrap();
    bytes.truncate(length.unwrap_or(bytes.len()));
    if let Some(rot) = rot {
        bytes[rot..rot + 40].fill(0xa5);
    }
    let path = folder.join(name);
    std::fs::write(&path, bytes).unwrap();
    path
}

/// The H.265 clip with its last `count` pictures declared to be filling, which a decoder passes over without a word.
fn muted(folder: &Path, name: &str, count: usize) -> PathBuf {
    const FILLER: u8 = 38;
    let mut file = std::fs::read(clip("still_h265.mp4")).unwrap();
    let data = file.windows(4).position(|window| window == b"mdat").unwrap();
    let end = data - 4 + u32::from_be_bytes(file[data - 4..data].try_into().unwrap()) as usize;
    let (mut at, mut units) = (data + 4, Vec::new());
    while at < end {
        units.push(at + 4);
        at += 4 + u32::from_be_bytes(file[at..at + 4].try_into().unwrap()) as usize;
    }
    for unit in units.iter().rev().take(count) {
        file[*unit] = FILLER << 1;
    }
    let path = folder.join(name);
    std::fs::write(&path, file).unwrap();
    path
}

#[test]
fn damaged_clips_refuse_the_import_each_with_its_reason() {
    let made = TempDir::new().unwrap();
    let spoil = |of: &str, name: &str, length, rot| spoilt(made.path(), &clip(of), name, length, rot);
    let length = |name: &str| std::fs::metadata(clip(name)).unwrap().len() as usize;
    // Half of a clip whose data are not decoded in any way: its index names frames that it does not have.
    let hidden = made.path().join("hidden.mkv");
    ffmpeg(&["-i", clip("tilt_vp9.webm").to_str().unwrap(), "-c", "copy", hidden.to_str().unwrap()]);
    let sound = make(made.path(), "sound.mkv", "sine=d=1", &["-c:a", "aac"]);
    let stale = made.path().join("stale.mkv");
    let muted_eight = muted(made.path(), "eight.mp4", 8);
    ffmpeg(&["-i", muted_eight.to_str().unwrap(), "-c", "copy", stale.to_str().unwrap()]);
    let damaged = [
        (muted(made.path(), "one.mp4", 1), "59 of its 60 frames can be decoded"),
        (stale, "the last picture is stale"),
        (clip("zero_bytes.mp4"), "the file is empty"),
        (clip("text_renamed.mp4"), "no video that FFmpeg can open"),
        (clip("truncated_no_index.mp4"), "no video that FFmpeg can open"),
        (clip("audio_only.mp4"), "no video stream"),
        (sound, "no video stream"),
        (clip("truncated_faststart.mp4"), "cut off"),
        (spoil("pan_h264.mp4", "last.mp4", Some(length("pan_h264.mp4") - 100), None), "cut off"),
        (spoil("zoom_h264.mkv", "cut.mkv", Some(20_000), None), "cut"),
        (spoilt(made.path(), &hidden, "cut.webm", Some(30_000), None), "its pictures end at"),
        (spoil("motion_mjpeg.avi", "cut.avi", Some(40_000), None), "cut"),
        (spoil("pan_h264.mp4", "rot.mp4", None, Some(20_000)), "the picture is damaged at"),
        (spoil("pan_mpeg4.mov", "rot.mov", None, Some(30_000)), "the picture is damaged at"),
        (spoil("motion_mjpeg.avi", "rot.avi", None, Some(30_000)), "the picture is damaged at"),
    ];
    let ground = Ground::new();
    let folder = TempDir::new().unwrap();
    let clips: Vec<PathBuf> =
        damaged.iter().map(|(path, _)| path.clone()).chain([clip("pan_h264.mp4")]).collect();
    lay(folder.path(), &clips);
    let ended = import(&ground, folder.path(), &[]);
    assert_eq!(ended.code, Some(1), "{ended:?}");
    assert!(ended.stderr.contains("15 video file(s) are unusable; nothing was stored"), "{ended:?}");
    for ((_, video_path), (path, reason)) in videos("val.jsonl").iter().zip(&damaged) {
        let line = ended.stderr.lines().find(|line| line.contains(video_path));
        let line = line.unwrap_or_else(|| panic!("{}: no line in {}", path.display(), ended.stderr));
        assert!(line.contains(reason), "{}: {line}", path.display());
    }
    assert_eq!(ended.stderr.lines().filter(|line| line.starts_with("  ")).count(), damaged.len());
    assert_eq!(run_on(&ground, &["dataset", "list", "--json"]).json(), Value::Array(Vec::new()));
    assert_eq!(kept(&ground), Vec::<PathBuf>::new());
}

#[test]
fn an_import_keeps_the_files_and_lists_what_is_missing_and_surplus() {
    let ground = Ground::new();
    let folder = TempDir::new().unwrap();
    lay(folder.path(), &WHOLE.map(clip));
    std::fs::write(folder.path().join("notes.txt"), "x").unwrap();
    let files = import(&ground, folder.path(), &["--json"]).json()["files"].clone();
    assert_eq!((&files["added"], &files["standing"]), (&12.into(), &0.into()));
    assert_eq!(files["missing"].as_array().unwrap().len(), 24 - 12);
    assert_eq!(files["surplus"], serde_json::json!(["notes.txt"]));
    // The clip with sound is the twelfth; no two are the same.
    assert_eq!(kept(&ground).len(), 12);
    let again = import(&ground, folder.path(), &["--json"]).json();
    assert_eq!((&again["already_there"], &again["files"]), (&true.into(), &Value::Null));
}

#[test]
fn files_are_added_to_a_release_that_stands_and_none_is_ever_another_one() {
    let ground = Ground::new();
    let folder = TempDir::new().unwrap();
    let dir = folder.path().to_str().unwrap();
    let videos =
        |more: &[&str]| run_on(&ground, &[&["dataset", "videos", "--split", "val", dir], more].concat());
    let none = videos(&[]);
    assert!(none.code == Some(1) && none.stderr.contains("no release of `val` is active"), "{none:?}");
    lay(folder.path(), &[clip("pan_h264.mp4")]);
    import(&ground, folder.path(), &[]).stdout();
    let unknown = videos(&["--release", "r9"]);
    assert!(unknown.code == Some(1) && unknown.stderr.contains("`r9`"), "{unknown:?}");

    // One of the new ones is damaged: none is added.
    lay(folder.path(), &["pan_h264.mp4", "tilt_vp9.webm", "zero_bytes.mp4"].map(clip));
    let refused = videos(&[]);
    assert!(
        refused.code == Some(1) && refused.stderr.contains("1 video file(s) are unusable"),
        "{refused:?}"
    );
    assert_eq!(kept(&ground).len(), 1);
    lay(folder.path(), &["pan_h264.mp4", "tilt_vp9.webm", "with_audio.mp4"].map(clip));
    let files = videos(&["--json"]).json()["files"].clone();
    assert_eq!((&files["added"], &files["standing"]), (&2.into(), &1.into()));
    assert_eq!(files["missing"].as_array().unwrap().len(), 21);
    let text = videos(&["--release", "r1"]).stdout();
    assert!(text.contains("0 file(s) were added, 3 stood already") && text.contains("all but 21"), "{text}");

    lay(folder.path(), &["pan_h264.mp4", "pan_h264.mp4"].map(clip));
    let changed = videos(&[]);
    assert!(changed.code == Some(1) && changed.stderr.contains("a release never changes"), "{changed:?}");
    // A kept file that was lost comes back.
    kept(&ground).iter().for_each(|path| std::fs::remove_file(path).unwrap());
    lay(folder.path(), &["pan_h264.mp4", "tilt_vp9.webm"].map(clip));
    videos(&[]).stdout();
    assert_eq!(kept(&ground).len(), 3);
}

#[test]
fn media_are_kept_in_a_folder_and_nowhere_else() {
    let folder = TempDir::new().unwrap();
    let built_without = cfg!(not(feature = "s3"));
    for (url, words) in [
        ("s3://", if built_without { "--features s3" } else { "the name of the bucket is missing" }),
        ("s3:///videos", if built_without { "--features s3" } else { "the name of the bucket is missing" }),
        ("/var/videos", "`file://PATH`"),
        ("file://", "file://PATH"),
    ] {
        let ended = run(program(folder.path(), &["serve"]).env("SECCHI_MEDIA_URL", url));
        assert!(ended.code == Some(2) && ended.stderr.contains(words), "{ended:?}");
    }
    let (ground, clips) = (Ground::new(), TempDir::new().unwrap());
    lay(clips.path(), &[clip("one_frame_h264.mp4")]);
    let url = format!("file://{}", folder.path().join("elsewhere").display());
    import(&ground, clips.path(), &["--media-url", &url]).stdout();
    assert_eq!(std::fs::read_dir(folder.path().join("elsewhere/videos")).unwrap().count(), 1);
    assert_eq!(kept(&ground), Vec::<PathBuf>::new());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_file_is_sent_whole_or_in_parts() {
    let (secchi, team, keys) =
        with_clips(Options::default(), &[clip("pan_h264.mp4"), clip("tilt_vp9.webm")]).await;
    let bytes = std::fs::read(clip("pan_h264.mp4")).unwrap();
    let address = format!("/api/v1/videos/{}/file", keys[0]);
    let facts = secchi.get_json(address.trim_end_matches("/file"), Some(&team.key)).await;
    let etag = format!("\"{}\"", facts["sha256"].as_str().unwrap());
    let get = async |headers: &[(&str, &str)]| {
        let request = secchi.request(Method::GET, &address, Some(&team.key));
        let request = headers.iter().fold(request, |request, (name, value)| request.header(*name, *value));
        let response = request.send().await.unwrap();
        assert!(response.status() == 416 || header(&response, "etag") == etag, "{headers:?}");
        response
    };
    let whole = get(&[("accept-encoding", "gzip, br")]).await;
    assert_eq!((whole.status().as_u16(), header(&whole, "content-type")), (200, "video/mp4".into()));
    assert_eq!(
        (header(&whole, "accept-ranges"), header(&whole, "x-content-type-options")),
        ("bytes".into(), "nosniff".into())
    );
    assert_eq!(header(&whole, "content-length"), bytes.len().to_string());
    assert_eq!(whole.bytes().await.unwrap(), bytes);
    let head = secchi.request(Method::HEAD, &address, Some(&team.key)).send().await.unwrap();
    assert_eq!(
        (header(&head, "content-length"), header(&head, "etag")),
        (bytes.len().to_string(), etag.clone())
    );
    assert!(head.bytes().await.unwrap().is_empty());

    let length = bytes.len();
    for (range, from, to) in [
        ("bytes=0-99", 0, 100),
        ("bytes=39000-", 39_000, length),
        ("bytes=-7", length - 7, length),
        ("bytes=5-5", 5, 6),
    ] {
        let part = get(&[("range", range)]).await;
        assert_eq!(part.status(), 206, "{range}");
        assert_eq!(header(&part, "content-range"), format!("bytes {from}-{}/{length}", to - 1));
        assert_eq!(part.bytes().await.unwrap(), bytes[from..to], "{range}");
    }
    let parts = get(&[("range", "bytes=0-9,-10")]).await;
    let media = header(&parts, "content-type");
    let boundary = media.strip_prefix("multipart/byteranges; boundary=").unwrap();
    let part = |from: usize, to: usize| {
        let head = format!(
            "\r\n--{boundary}\r\nContent-Type: video/mp4\r\nContent-Range: bytes {from}-{}/{length}\r\n\r\n",
            to - 1
        );
        [head.as_bytes(), &bytes[from..to]].concat()
    };
    let expected =
        [part(0, 10), part(length - 10, length), format!("\r\n--{boundary}--\r\n").into_bytes()].concat();
    assert_eq!((parts.status().as_u16(), parts.bytes().await.unwrap()), (206, expected.into()));
    for range in ["bytes=39559-", "bytes=9-3", "bytes=-0", "bytes=x"] {
        let refused = get(&[("range", range)]).await;
        assert_eq!(header(&refused, "content-range"), format!("bytes */{length}"), "{range}");
        problem(refused, 416, "range_not_satisfiable").await;
    }
    for (headers, status) in [
        ([("if-none-match", etag.as_str()), ("range", "bytes=0-9")], 304),
        ([("if-none-match", "\"other\""), ("range", "bytes=0-9")], 206),
        ([("if-range", etag.as_str()), ("range", "bytes=0-9")], 206),
        ([("if-range", "\"other\""), ("range", "bytes=0-9")], 200),
        ([("if-range", "Sun, 29 Nov 2026 00:00:00 GMT"), ("range", "bytes=0-9")], 200),
        ([("if-range", "garbage"), ("range", "lines=0-9")], 200),
    ] {
        assert_eq!(get(&headers).await.status(), status, "{headers:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_video_without_its_file_says_so() {
    let (secchi, team, keys) = with_clips(Options::default(), &[clip("pan_h264.mp4")]).await;
    let other = &videos("val.jsonl")[1].0;
    let facts = secchi.get_json(&format!("/api/v1/videos/{other}"), Some(&team.key)).await;
    assert_eq!((&facts["frames"], &facts["sha256"]), (&Value::Null, &Value::Null));
    // And one whose kept file was lost.
    let kept = secchi.ground.data.path().join("media/videos");
    std::fs::remove_dir_all(kept).unwrap();
    for key in [other, &keys[0]] {
        for rest in ["file", "frames", "frames/0.jpg"] {
            let response = secchi.get(&format!("/api/v1/videos/{key}/{rest}"), Some(&team.key)).await;
            let missing = problem(response, 404, "video_missing").await;
            assert!(missing["detail"].as_str().unwrap().contains("the maintainers have not added the file"));
        }
    }
    for key in ["MVK--no-such", "..%2F..%2Fsecchi.db", "%2e%2e", "a%00b", "x%5B1%5D%20%C3%A9"] {
        for rest in ["file", "frames", "frames/0.jpg"] {
            let response = secchi.get(&format!("/api/v1/videos/{key}/{rest}"), Some(&team.key)).await;
            problem(response, 404, "not_found").await;
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn only_the_videos_of_active_releases_are_served_and_as_they_were_imported() {
    let secchi = Secchi::start().await;
    secchi.import(secchi::domain::question::Split::Val, "val.jsonl").await;
    let team = secchi.team("ocean-lab").await;
    let folder = TempDir::new().unwrap();
    // Each of the sample's keys works, whatever letters it has.
    let clips: Vec<PathBuf> = (0..24).map(|_| clip("one_frame_h264.mp4")).collect();
    let keys = lay(folder.path(), &clips);
    assert!(keys.iter().any(|key| !key.is_ascii()));
    let files = add(&secchi, folder.path()).await.unwrap();
    assert_eq!((files.added(), files.missing.len(), files.surplus.len()), (24, 0, 0));
    let original = std::fs::read(clip("one_frame_h264.mp4")).unwrap();
    for (_, path) in videos("val.jsonl") {
        std::fs::write(folder.path().join(path), "changed").unwrap();
    }
    let get = async |key: &str, rest: &str| {
        secchi.get(&format!("/api/v1/videos/{key}/{rest}"), Some(&team.key)).await
    };
    for key in &keys {
        assert_eq!(get(key, "file").await.bytes().await.unwrap(), original, "{key}");
        assert_eq!(get(key, "frames/7.jpg").await.status(), 200, "{key}");
    }
    // Another release, without files.
    let text = std::fs::read_to_string(sample("val.jsonl")).unwrap();
    let (_, shorter) = text.split_once('\n').unwrap();
    secchi.import_as("r2", secchi::domain::question::Split::Val, shorter.as_bytes()).await;
    assert_eq!(get(&keys[0], "file").await.status(), 200);
    let run = |arguments: &[&str]| tokio::task::block_in_place(|| run_on(&secchi.ground, arguments));
    run(&["dataset", "activate", "r2", "--split", "val"]).stdout();
    problem(get(&keys[0], "file").await, 404, "video_missing").await;
    // The frames are still on disk, and yet nobody's.
    problem(get(&keys[0], "frames/7.jpg").await, 404, "video_missing").await;
    secchi.import(secchi::domain::question::Split::Train, "train.jsonl").await;
    problem(get(&videos("train.jsonl")[0].0, "file").await, 404, "not_found").await;
}
