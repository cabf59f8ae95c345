//! The frames of videos: which ones, how they look, and that each clip is decoded once for each choice.

use std::path::{Path, PathBuf};
use std::time::Duration;

use reqwest::Method;
use serde_json::Value;
use sha2::{Digest as _, Sha256};
use tempfile::TempDir;

use crate::clips::{WHOLE, clip, ffmpeg, make, shown_times, with_clips};
use crate::support::{Options, Secchi, TestTeam};
use crate::surface::{header, problem};

fn path(key: &str, rest: &str) -> String {
    format!("/api/v1/videos/{key}/{rest}")
}

/// How many sets of frames came in a way, as the metrics say.
fn sets(secchi: &Secchi, outcome: &str) -> u64 {
    secchi.running.evaluation.metrics.frame_sets.with_label_values(&[outcome]).get()
}

async fn list(secchi: &Secchi, team: &TestTeam, key: &str, query: &str) -> Value {
    secchi.get_json(&path(key, &format!("frames{query}")), Some(&team.key)).await
}

async fn jpeg(secchi: &Secchi, team: &TestTeam, key: &str, i: usize, query: &str) -> Vec<u8> {
    let response = secchi.get(&path(key, &format!("frames/{i}.jpg{query}")), Some(&team.key)).await;
    assert_eq!((response.status().as_u16(), header(&response, "content-type")), (200, "image/jpeg".into()));
    response.bytes().await.unwrap().to_vec()
}

/// The index of each of `n` frames out of `count`.
fn rule(count: usize, n: usize) -> Vec<usize> {
    if n == 1 { vec![(count - 1) / 2] } else { (0..n).map(|k| k * (count - 1) / (n - 1)).collect() }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_frames_of_every_clip_are_those_that_the_rule_picks_from_the_ones_that_ffprobe_shows() {
    let made = TempDir::new().unwrap();
    let mut clips: Vec<PathBuf> = WHOLE.iter().map(|name| clip(name)).collect();
    let picture = "testsrc2=s=320x180:r=25:d=12";
    clips.push(make(made.path(), "long_gop.mp4", picture, &["-c:v", "libx264", "-g", "300", "-bf", "3"]));
    clips.push(make(
        made.path(),
        "open_gop.mkv",
        picture,
        &["-c:v", "libx264", "-x264-params", "open-gop=1"],
    ));
    clips.push(make(made.path(), "stream.ts", picture, &["-t", "2", "-c:v", "mpeg2video"]));
    let uneven = "select='lt(n,30)+not(mod(n,7))'";
    clips.push(make(
        made.path(),
        "uneven.mkv",
        picture,
        &["-vf", uneven, "-vsync", "vfr", "-c:v", "libx264"],
    ));
    // An edit list that hides the frames before a time which is no key frame's.
    let trimmed = made.path().join("trimmed.mp4");
    let long = clips[WHOLE.len()].to_str().unwrap();
    ffmpeg(&["-ss", "3.3", "-i", long, "-t", "4", "-c", "copy", trimmed.to_str().unwrap()]);
    clips.push(trimmed);

    let (secchi, team, keys) = with_clips(Options::default(), &clips).await;
    for (clip, key) in clips.iter().zip(&keys) {
        let times = shown_times(clip);
        let facts = secchi.get_json(path(key, "").trim_end_matches('/'), Some(&team.key)).await;
        assert_eq!(facts["frames"], times.len(), "{}", clip.display());
        for n in [1, 2, 8, 64] {
            let answer = list(&secchi, &team, key, &format!("?n={n}&size=16")).await;
            assert_eq!(
                (&answer["id"], &answer["n"], &answer["size"]),
                (&Value::from(key.as_str()), &n.into(), &16.into())
            );
            let frames: Vec<(usize, i64)> = answer["frames"]
                .as_array()
                .unwrap()
                .iter()
                .map(|frame| {
                    (frame["index"].as_u64().unwrap() as usize, frame["timestamp_ms"].as_i64().unwrap())
                })
                .collect();
            let expected: Vec<(usize, i64)> = rule(times.len(), n)
                .into_iter()
                .map(|index| (index, (times[index] * 1000.0).round() as i64))
                .collect();
            assert_eq!(frames, expected, "{}: n={n}", clip.display());
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_list_says_of_each_frame_what_its_jpeg_is() {
    let (secchi, team, keys) = with_clips(Options::default(), &[clip("pan_h264.mp4")]).await;
    let answer = list(&secchi, &team, &keys[0], "").await;
    assert_eq!((&answer["n"], &answer["size"]), (&8.into(), &512.into()));
    let frames = answer["frames"].as_array().unwrap();
    assert_eq!(frames.len(), 8);
    for (i, frame) in frames.iter().enumerate() {
        let jpeg = jpeg(&secchi, &team, &keys[0], i, "").await;
        assert_eq!((&frame["i"], &frame["bytes"]), (&i.into(), &jpeg.len().into()));
        assert_eq!(frame["sha256"], hex::encode(Sha256::digest(&jpeg)));
        // Smaller than what was asked for: never enlarged.
        assert_eq!((&frame["width"], &frame["height"]), (&192.into(), &108.into()));
    }
    let small = list(&secchi, &team, &keys[0], "?n=2&size=100").await;
    assert_eq!((&small["frames"][0]["width"], &small["frames"][0]["height"]), (&100.into(), &56.into()));
}

/// The eight ways in which a picture can be turned and mirrored, as a, b, c, d of a display matrix.
const ORIENTATIONS: [[i32; 4]; 8] = [
    [1, 0, 0, 1],
    [0, 1, -1, 0],
    [-1, 0, 0, -1],
    [0, -1, 1, 0],
    [-1, 0, 0, 1],
    [1, 0, 0, -1],
    [0, 1, 1, 0],
    [0, -1, -1, 0],
];

/// The same clip with another display matrix in its track's header.
fn turned(folder: &Path, place: usize) -> PathBuf {
    let mut file = std::fs::read(clip("pan_h264.mp4")).unwrap();
    let header = file.windows(4).position(|window| window == b"tkhd").unwrap();
    for (number, field) in ORIENTATIONS[place].into_iter().zip([0, 1, 3, 4]) {
        let at = header + 44 + 4 * field;
        file[at..at + 4].copy_from_slice(&(number << 16).to_be_bytes());
    }
    let path = folder.join(format!("{place}.mp4"));
    std::fs::write(&path, file).unwrap();
    path
}

/// Signal to noise of two pictures in dB.
fn psnr(one: &[u8], other: &[u8]) -> f64 {
    assert_eq!(one.len(), other.len());
    let square = |(a, b): (&u8, &u8)| f64::from(i32::from(*a) - i32::from(*b)).powi(2);
    let error = one.iter().zip(other).map(square).sum::<f64>() / one.len() as f64;
    10.0 * (255.0_f64.powi(2) / error.max(1e-9)).log10()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_turned_or_mirrored_clip_stands_as_ffmpeg_shows_it() {
    let folder = TempDir::new().unwrap();
    let mut clips: Vec<PathBuf> = (0..ORIENTATIONS.len()).map(|place| turned(folder.path(), place)).collect();
    clips.push(clip("rotated90_h264.mp4"));
    let (secchi, team, keys) = with_clips(Options::default(), &clips).await;
    let pixels = |path: &Path, filter: &str| {
        ffmpeg(&[
            "-i",
            path.to_str().unwrap(),
            "-vf",
            filter,
            "-frames:v",
            "1",
            "-f",
            "rawvideo",
            "-pix_fmt",
            "rgb24",
            "-",
        ])
    };
    for (clip, key) in clips.iter().zip(&keys) {
        let answer = list(&secchi, &team, key, "?n=1").await;
        let sideways = answer["frames"][0]["height"] == 192;
        let ours = folder.path().join("ours.jpg");
        std::fs::write(&ours, jpeg(&secchi, &team, key, 0, "?n=1").await).unwrap();
        let (ours, theirs) = (pixels(&ours, "null"), pixels(clip, "select=eq(n\\,29)"));
        let likeness = psnr(&ours, &theirs);
        assert!(likeness > 25.0, "{}: {likeness} dB, sideways: {sideways}", clip.display());
        // Upside down it would be another picture.
        let reversed: Vec<u8> = theirs.chunks(3).rev().flatten().copied().collect();
        assert!(psnr(&ours, &reversed) < 20.0, "{}", clip.display());
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn colours_of_high_definition_are_brought_into_those_of_jpeg() {
    let folder = TempDir::new().unwrap();
    let options = [
        "-vf",
        "scale=out_color_matrix=bt709,format=yuv420p",
        "-c:v",
        "libx264",
        "-colorspace",
        "bt709",
        "-color_primaries",
        "bt709",
        "-color_trc",
        "bt709",
    ];
    let made = make(folder.path(), "hd.mp4", "color=c=0x20C040:s=64x64:r=5:d=1", &options);
    let (secchi, team, keys) = with_clips(Options::default(), &[made]).await;
    let path = folder.path().join("ours.jpg");
    std::fs::write(&path, jpeg(&secchi, &team, &keys[0], 0, "").await).unwrap();
    let pixels = ffmpeg(&["-i", path.to_str().unwrap(), "-f", "rawvideo", "-pix_fmt", "rgb24", "-"]);
    for (found, meant) in pixels.chunks(3).next().unwrap().iter().zip([0x20_u8, 0xC0, 0x40]) {
        assert!(found.abs_diff(meant) <= 6, "{:?}", &pixels[..3]);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn fifty_requests_at_once_decode_a_clip_once() {
    let (secchi, team, keys) = with_clips(Options::default(), &[clip("pan_h264.mp4")]).await;
    let requests = (0..50).map(|i| jpeg(&secchi, &team, &keys[0], i % 8, "?size=96"));
    let jpegs = futures::future::join_all(requests).await;
    assert!(jpegs.iter().enumerate().all(|(i, jpeg)| *jpeg == jpegs[i % 8]));
    assert_eq!((sets(&secchi, "taken"), sets(&secchi, "kept"), sets(&secchi, "failed")), (1, 49, 0));
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_damaged_or_gone_on_disk_is_taken_again_with_the_same_bytes() {
    let (secchi, team, keys) = with_clips(Options::default(), &[clip("tilt_vp9.webm")]).await;
    let (before, all) =
        (jpeg(&secchi, &team, &keys[0], 3, "").await, list(&secchi, &team, &keys[0], "").await);
    let of_clip = |name: &str| {
        let frames = secchi.ground.data.path().join("frames");
        let hash = hex::encode(Sha256::digest(std::fs::read(clip("tilt_vp9.webm")).unwrap()));
        frames.join(hash).join("8-512").join(name)
    };
    let damages: [(&str, &[u8]); 5] =
        [("3.jpg", b""), ("3.jpg", b"garbage"), ("list", b"garbage"), ("list", b"{}\n[]"), ("list", b"")];
    for (number, (name, damage)) in (2..).zip(damages) {
        std::fs::write(of_clip(name), damage).unwrap();
        assert_eq!(jpeg(&secchi, &team, &keys[0], 3, "").await, before);
        assert_eq!(list(&secchi, &team, &keys[0], "").await, all);
        assert_eq!(sets(&secchi, "taken"), number);
    }
    std::fs::remove_dir_all(of_clip("")).unwrap();
    assert_eq!(jpeg(&secchi, &team, &keys[0], 3, "").await, before);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_request_that_is_cut_leaves_nothing_half_done() {
    let folder = TempDir::new().unwrap();
    let options = ["-c:v", "libx264", "-preset", "ultrafast", "-g", "500"];
    let made = make(folder.path(), "long.mp4", "testsrc2=s=640x360:r=25:d=10", &options);
    let (secchi, team, keys) = with_clips(Options::default(), &[made]).await;
    let address = path(&keys[0], "frames/7.jpg");
    let cut = secchi.request(Method::GET, &address, Some(&team.key)).timeout(Duration::from_millis(15));
    let _no_answer_in_that_time = cut.send().await;
    // Waits for what goes on.
    let jpeg = jpeg(&secchi, &team, &keys[0], 7, "").await;
    assert!(jpeg.starts_with(&[0xff, 0xd8]));
    assert_eq!((sets(&secchi, "taken"), sets(&secchi, "failed")), (1, 0));
    let unfinished = secchi.ground.data.path().join("frames/unfinished");
    assert_eq!(std::fs::read_dir(unfinished).unwrap().count(), 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_frame_that_is_known_is_not_sent_again() {
    let (secchi, team, keys) = with_clips(Options::default(), &[clip("five_frames_h264.mp4")]).await;
    let address = path(&keys[0], "frames/0.jpg");
    let response = secchi.get(&address, Some(&team.key)).await;
    let etag = header(&response, "etag");
    assert_eq!(etag, format!("\"{}\"", hex::encode(Sha256::digest(response.bytes().await.unwrap()))));
    for (condition, status) in [
        (etag.as_str(), 304),
        ("*", 304),
        (&format!("\"x\", W/{etag}"), 304),
        ("\"x\"", 200),
        ("garbage", 200),
    ] {
        let request =
            secchi.request(Method::GET, &address, Some(&team.key)).header("if-none-match", condition);
        let response = request.send().await.unwrap();
        assert_eq!(
            (response.status().as_u16(), header(&response, "etag")),
            (status, etag.clone()),
            "{condition}"
        );
        assert_eq!(header(&response, "cache-control"), "private, max-age=31536000, immutable");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_no_choice_of_frames_is_refused_by_name() {
    let (secchi, team, keys) = with_clips(Options::default(), &[clip("five_frames_h264.mp4")]).await;
    for (query, words) in [
        ("n=0", "`n` is `0`; give a whole number from 1 to 64"),
        ("n=65", "`n` is `65`"),
        ("n=many", "`n` is `many`"),
        ("size=15", "`size` is `15`; give a whole number from 16 to 2048"),
        ("size=2049", "`size` is `2049`"),
        ("size=", "`size` is ``"),
        ("count=3", "`count`"),
    ] {
        for rest in ["frames", "frames/0.jpg"] {
            let address = path(&keys[0], &format!("{rest}?{query}"));
            let refused =
                problem(secchi.get(&address, Some(&team.key)).await, 400, "invalid_parameter").await;
            assert!(refused["detail"].as_str().unwrap().contains(words), "{query}: {refused}");
        }
    }
    for place in ["8", "-1", "x", "4294967296"] {
        let address = path(&keys[0], &format!("frames/{place}.jpg"));
        problem(secchi.get(&address, Some(&team.key)).await, 404, "not_found").await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn media_are_counted_apart_from_other_requests() {
    let options = Options { http: vec!["--http-rate-per-minute", "2"], ..Options::default() };
    let (secchi, team, keys) = with_clips(options, &[clip("five_frames_h264.mp4")]).await;
    for _ in 0..10 {
        assert!(!jpeg(&secchi, &team, &keys[0], 0, "").await.is_empty());
    }
    assert_eq!(secchi.get("/api/v1/me", Some(&team.key)).await.status(), 200);
    assert_eq!(secchi.get("/api/v1/me", Some(&team.key)).await.status(), 200);
    problem(secchi.get("/api/v1/me", Some(&team.key)).await, 429, "rate_limited").await;
    let response = secchi.get(&path(&keys[0], "file"), Some(&team.key)).await;
    assert_eq!(header(&response, "ratelimit-policy"), "\"minute\";q=20;w=60");
}
