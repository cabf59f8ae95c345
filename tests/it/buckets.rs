//! Videos and frames in a bucket: two servers that share nothing else but it, PostgreSQL and Redis. `make check-s3` runs these
//! tests beside moto, which stands in for S3 at `SECCHI_TEST_S3_URL`.

use std::collections::BTreeMap;
use std::net::TcpListener;
use std::path::Path;
use std::time::Instant;

use secchi::domain::question::Split;
use tempfile::TempDir;

use crate::clips::{clip, lay, make};
use crate::process::Process;
use crate::program::{Ended, run, secchi as program};
use crate::support::{Ground, Options, Secchi, TestTeam};
use crate::surface::{header, problem};

/// The settings of a bucket at an endpoint.
fn settings<'a>(endpoint: &'a str, bucket: &'a str) -> Vec<(&'a str, &'a str)> {
    vec![
        ("SECCHI_MEDIA_URL", bucket),
        ("AWS_ENDPOINT", endpoint),
        ("AWS_REGION", "us-east-1"),
        ("AWS_ACCESS_KEY_ID", "test"),
        ("AWS_SECRET_ACCESS_KEY", "test"),
    ]
}

/// A new bucket of the stand-in; none where there is no stand-in.
#[expect(clippy::print_stderr, reason = "a test that skips says so")]
async fn bucket() -> Option<(String, String)> {
    let Ok(endpoint) = std::env::var("SECCHI_TEST_S3_URL") else {
        eprintln!("skipped: `make check-s3` starts the stand-in for S3");
        return None;
    };
    let name = format!("b{}", uuid::Uuid::now_v7().simple());
    let made = reqwest::Client::new().put(format!("{endpoint}/{name}")).send().await.unwrap();
    assert_eq!(made.status(), 200);
    Some((endpoint, name))
}

/// The names of everything in a bucket.
async fn names(endpoint: &str, bucket: &str) -> Vec<String> {
    let url = format!("{endpoint}/{bucket}?list-type=2");
    let list = reqwest::get(url).await.unwrap().text().await.unwrap();
    let keys = list.split("<Key>").skip(1);
    keys.map(|rest| rest.split_once("</Key>").unwrap().0.to_owned()).collect()
}

/// A ground with the sample's val and a team.
async fn with_val() -> (Ground, TestTeam) {
    let secchi =
        Secchi::with(Options { clock: Some(secchi::clock::Clock::System), ..Options::default() }).await;
    secchi.import(Split::Val, "val.jsonl").await;
    let team = secchi.team("ocean-lab").await;
    (secchi.stop().await, team)
}

fn add(ground: &Ground, folder: &Path, environment: &[(&str, &str)]) -> Ended {
    let arguments = ["dataset", "videos", "--split", "val", "--json", folder.to_str().unwrap()];
    let mut command = program(ground.data.path(), &arguments);
    run(command.env("SECCHI_DATABASE_URL", &ground.database_url).envs(environment.iter().copied()))
}

fn pull(server: &Process, team: &TestTeam, folder: &Path) {
    let arguments = ["pull", "--split", "val", "--frames", "8", "--videos", "pulled"];
    let mut command = program(folder, &arguments);
    let ended = run(command.env("SECCHI_URL", &server.base).env("SECCHI_API_KEY", &team.key));
    // Most of the sample's videos have no file, which it says.
    assert_eq!(ended.code, Some(3), "{ended:?}");
}

/// What is in a folder and below, by its path.
fn contents(folder: &Path) -> BTreeMap<String, Vec<u8>> {
    let mut contents = BTreeMap::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(next) = folders.pop() {
        for entry in std::fs::read_dir(next).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else if path
                .extension()
                .is_some_and(|ending| ["jpg", "mp4", "webm", "mkv"].iter().any(|e| ending == *e))
            {
                let name = path.strip_prefix(folder).unwrap().display().to_string();
                contents.insert(name, std::fs::read(path).unwrap());
            }
        }
    }
    contents
}

async fn taken(server: &Process) -> f64 {
    server.metric("secchi_frame_sets_total{outcome=\"taken\"}").await
}

#[tokio::test(flavor = "multi_thread")]
async fn servers_that_share_a_bucket_give_the_same_files_and_frames_and_need_no_disk_of_each_other() {
    let Some((endpoint, bucket)) = bucket().await else { return };
    let url = format!("s3://{bucket}/secchi/media");
    let environment = settings(&endpoint, &url);
    let (ground, team) = with_val().await;
    let (made, folder) = (TempDir::new().unwrap(), TempDir::new().unwrap());
    // Larger than what is sent in one piece.
    let large = make(made.path(), "large.mkv", "testsrc2=s=640x360:r=25:d=2", &["-c:v", "rawvideo"]);
    let bytes = std::fs::read(&large).unwrap();
    assert!(bytes.len() > 9 << 20, "{}", bytes.len());
    let keys = lay(folder.path(), &[clip("pan_h264.mp4"), clip("tilt_vp9.webm"), large]);
    let added = add(&ground, folder.path(), &environment).json();
    assert_eq!(added["files"]["added"], 3);
    assert_eq!(add(&ground, folder.path(), &environment).json()["files"]["standing"], 3);
    let kept = names(&endpoint, &bucket).await;
    assert!(kept.len() == 3 && kept.iter().all(|name| name.starts_with("secchi/media/videos/")), "{kept:?}");

    let one = Process::serve_with(&ground, &environment);
    let other_ground = if ground.is_shared() { Some(ground.shared()) } else { None };
    let other = other_ground.as_ref().map(|ground| Process::serve_with(ground, &environment));
    let (first, second) = (TempDir::new().unwrap(), TempDir::new().unwrap());
    pull(&one, &team, first.path());
    let pulled = contents(first.path());
    assert_eq!(pulled.len(), 3 + 3 * 8, "{:?}", pulled.keys());
    assert_eq!(taken(&one).await, 3.0);
    assert_eq!(names(&endpoint, &bucket).await.len(), 6, "three videos, and their frames");
    let last = other.as_ref().unwrap_or(&one);
    pull(last, &team, second.path());
    assert_eq!(contents(second.path()), pulled);
    assert_eq!(
        taken(last).await,
        if other.is_some() { 0.0 } else { 3.0 },
        "frames that are shared were taken again"
    );
    for ground in [Some(&ground), other_ground.as_ref()].into_iter().flatten() {
        assert!(!ground.data.path().join("media").exists());
        let unfinished = ground.data.path().join("frames/unfinished");
        assert_eq!(std::fs::read_dir(unfinished).unwrap().count(), 0);
    }

    let address = format!("{}/api/v1/videos/{}/file", last.base, keys[2]);
    let (middle, end) = (5 << 20, bytes.len() - 1);
    for (range, expected) in [
        ("bytes=0-0", bytes[..1].to_vec()),
        (&format!("bytes={middle}-{}", middle + 299_999), bytes[middle..middle + 300_000].to_vec()),
        (&format!("bytes={end}-"), bytes[end..].to_vec()),
    ] {
        let part = reqwest::Client::new().get(&address).bearer_auth(&team.key).header("range", range);
        let part = part.send().await.unwrap();
        assert_eq!(part.status(), 206, "{range}");
        assert!(part.bytes().await.unwrap() == expected, "{range}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_video_that_the_bucket_lost_is_missing_and_comes_back() {
    let Some((endpoint, bucket)) = bucket().await else { return };
    let (lost, kept) = (format!("s3://{bucket}/lost"), format!("s3://{bucket}"));
    let environment = settings(&endpoint, &kept);
    let (ground, team) = with_val().await;
    let folder = TempDir::new().unwrap();
    let keys = lay(folder.path(), &[clip("five_frames_h264.mp4")]);
    assert_eq!(add(&ground, folder.path(), &settings(&endpoint, &lost)).json()["files"]["added"], 1);
    let server = Process::serve_with(&ground, &environment);
    let get = async |rest: &str| {
        let url = format!("{}/api/v1/videos/{}/{rest}", server.base, keys[0]);
        reqwest::Client::new().get(url).bearer_auth(&team.key).send().await.unwrap()
    };
    for rest in ["file", "frames"] {
        problem(get(rest).await, 404, "video_missing").await;
    }
    assert_eq!(add(&ground, folder.path(), &environment).json()["files"]["standing"], 1);
    assert_eq!(
        get("file").await.bytes().await.unwrap(),
        std::fs::read(clip("five_frames_h264.mp4")).unwrap()
    );
    assert_eq!(get("frames").await.status(), 200);
    // A team may ask for any number of choices; the bucket keeps the newest.
    for n in 1..=24 {
        assert_eq!(get(&format!("frames?n={n}&size=16")).await.status(), 200);
    }
    assert_eq!(names(&endpoint, &bucket).await.len(), 2 + 16);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_bucket_that_is_down_takes_videos_with_it_and_nothing_else() {
    let free = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let endpoint = format!("http://{free}");
    let environment = settings(&endpoint, "s3://bucket/media");
    let (ground, team) = with_val().await;
    let folder = TempDir::new().unwrap();
    let keys = lay(folder.path(), &[clip("five_frames_h264.mp4")]);
    let refused = add(&ground, folder.path(), &environment);
    assert!(refused.code == Some(1) && refused.stderr.contains("the bucket of the videos: "), "{refused:?}");
    let local = TempDir::new().unwrap();
    let url = format!("file://{}", local.path().display());
    assert_eq!(add(&ground, folder.path(), &[("SECCHI_MEDIA_URL", &url)]).json()["files"]["added"], 1);

    let server = Process::serve_with(&ground, &environment);
    assert!(
        server.log().contains("videos and frames cannot be sent until this is mended"),
        "{}",
        server.log()
    );
    let get = async |path: &str| {
        let request = reqwest::Client::new().get(format!("{}{path}", server.base)).bearer_auth(&team.key);
        request.send().await.unwrap()
    };
    for rest in ["file", "frames", "frames/0.jpg"] {
        let asked = Instant::now();
        let response = get(&format!("/api/v1/videos/{}/{rest}", keys[0])).await;
        assert!(asked.elapsed().as_secs() < 12, "{:?}", asked.elapsed());
        assert_eq!(header(&response, "retry-after"), "5");
        let told = problem(response, 503, "media_unavailable").await;
        assert!(!told.to_string().contains(&free.to_string()), "{told}");
    }
    for path in ["/readyz", "/api/v1/leaderboard", &format!("/api/v1/videos/{}", keys[0])] {
        assert_eq!(get(path).await.status(), 200, "{path}");
    }
}

#[test]
fn a_bucket_without_credentials_is_refused_and_nobody_is_asked_for_some() {
    let folder = TempDir::new().unwrap();
    let mut command = program(folder.path(), &["serve", "--media-url", "s3://bucket"]);
    for (name, _) in std::env::vars_os().filter(|(name, _)| name.to_string_lossy().starts_with("AWS_")) {
        command.env_remove(name);
    }
    let refused = run(&mut command);
    assert!(refused.code == Some(1) && refused.stderr.contains("set AWS_ACCESS_KEY_ID"), "{refused:?}");
}
