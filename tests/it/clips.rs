//! Clips as files of the sample's videos, and the programs `ffmpeg` and `ffprobe` as the measure of them.

use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;
use tempfile::TempDir;

use secchi::benchmark::files::{Files, VideoFolder};
use secchi::benchmark::import::ImportError;
use secchi::benchmark::videos::add_videos;
use secchi::config::MediaAddress;
use secchi::domain::actor::Actor;
use secchi::domain::question::Split;
use secchi::media::Media;

use crate::support::{Options, Secchi, TestTeam, sample_bytes};

/// The whole clips among the fixtures.
pub const WHOLE: [&str; 12] = [
    "pan_h264.mp4",
    "still_h265.mp4",
    "tilt_vp9.webm",
    "motion_mjpeg.avi",
    "pan_mpeg4.mov",
    "zoom_h264.mkv",
    "vfr_h264.mp4",
    "rotated90_h264.mp4",
    "one_frame_h264.mp4",
    "five_frames_h264.mp4",
    "odd_size_vp9.webm",
    "with_audio.mp4",
];

/// The path of a clip among the fixtures.
pub fn clip(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/videos").join(name)
}

/// Keys and paths of the videos of a release file of the sample, in its order.
pub fn videos(release: &str) -> Vec<(String, String)> {
    let mut videos: Vec<(String, String)> = Vec::new();
    for line in String::from_utf8(sample_bytes(release)).unwrap().lines() {
        let record: Value = serde_json::from_str(line).unwrap();
        let text = |name: &str| record[name].as_str().unwrap().to_owned();
        if videos.last().is_none_or(|(id, _)| *id != text("id")) {
            videos.push((text("id"), text("video_path")));
        }
    }
    videos
}

/// Lays clips in a folder as the files of the first videos of the sample's val, and gives the videos' keys.
pub fn lay(folder: &Path, clips: &[PathBuf]) -> Vec<String> {
    let videos = videos("val.jsonl");
    for ((_, path), clip) in videos.iter().zip(clips) {
        let place = folder.join(path);
        std::fs::create_dir_all(place.parent().unwrap()).unwrap();
        std::fs::copy(clip, place).unwrap();
    }
    videos.into_iter().take(clips.len()).map(|(key, _)| key).collect()
}

/// Adds the files of a folder to the active release of val.
pub async fn add(secchi: &Secchi, folder: &Path) -> Result<Files, ImportError> {
    let media = Media::at(&MediaAddress::Folder(secchi.ground.data.path().join("media"))).unwrap();
    let from = VideoFolder { folder: folder.to_owned(), media };
    let store = &secchi.running.evaluation.store;
    add_videos(store, &Actor::command_line(), Split::Val, None, from, secchi.clock.now_ms())
        .await
        .map(|(_, files)| files)
}

/// A server with the sample's val and these clips as the files of its first videos.
pub async fn with_clips(options: Options, clips: &[PathBuf]) -> (Secchi, TestTeam, Vec<String>) {
    let secchi = Secchi::with(options).await;
    secchi.import(Split::Val, "val.jsonl").await;
    let team = secchi.team("ocean-lab").await;
    let folder = TempDir::new().unwrap();
    let keys = lay(folder.path(), clips);
    add(&secchi, folder.path()).await.unwrap();
    (secchi, team, keys)
}

/// Runs `ffmpeg` without a word, and gives what it writes to its standard output.
pub fn ffmpeg(arguments: &[&str]) -> Vec<u8> {
    output(Command::new("ffmpeg").args(["-v", "error", "-nostdin", "-y"]).args(arguments))
}

/// Makes a clip of the test picture with these options.
pub fn make(folder: &Path, name: &str, source: &str, options: &[&str]) -> PathBuf {
    let path = folder.join(name);
    let mut arguments = vec!["-f", "lavfi", "-i", source];
    arguments.extend(options);
    arguments.push(path.to_str().unwrap());
    ffmpeg(&arguments);
    path
}

/// The times of all frames in the order in which `ffprobe` shows them, in seconds.
pub fn shown_times(path: &Path) -> Vec<f64> {
    let mut command = Command::new("ffprobe");
    command.args(["-v", "error", "-select_streams", "v:0", "-show_frames", "-of", "json"]).arg(path);
    let told: Value = serde_json::from_slice(&output(&mut command)).unwrap();
    let times = told["frames"].as_array().unwrap().iter();
    times.map(|frame| frame["best_effort_timestamp_time"].as_str().unwrap().parse().unwrap()).collect()
}

fn output(command: &mut Command) -> Vec<u8> {
    let output = command.output().expect("Debian's package `ffmpeg`, which `make setup` installs");
    assert!(output.status.success(), "{command:?}: {}", String::from_utf8_lossy(&output.stderr));
    output.stdout
}
