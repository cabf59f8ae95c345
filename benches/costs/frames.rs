//! Frames a second against one `ffmpeg` process that takes the same frames in one pass.

use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

use secchi::video::{chosen, probe, sample};

const FRAMES: u32 = 8;
const SIZE: u32 = 512;

/// Takes eight frames of a long clip with one key frame, and of one with many.
pub fn frames_of_clips() {
    let folder = tempfile::TempDir::new().unwrap();
    for (name, group) in [("one key frame in 20 s", "500"), ("a key frame each second", "25")] {
        let clip = folder.path().join(format!("{group}.mp4"));
        let source = "testsrc2=s=1280x720:r=25:d=20";
        let mut make = Command::new("ffmpeg");
        make.args(["-v", "error", "-nostdin", "-f", "lavfi", "-i", source, "-c:v", "libx264"]);
        make.args(["-preset", "veryfast", "-pix_fmt", "yuv420p", "-g", group]).arg(&clip);
        match make.status() {
            Ok(status) => assert!(status.success()),
            Err(error) => {
                println!("frames: skipped, the program `ffmpeg` cannot be started: {error}");
                return;
            }
        }
        let count = probe(&clip).unwrap().frames;
        let (mut ours, mut theirs) = (Duration::MAX, Duration::MAX);
        for _ in 0..5 {
            ours = ours.min(time(|| assert_eq!(sample(&clip, count, FRAMES, SIZE).unwrap().len(), 8)));
            theirs = theirs.min(time(|| take_with_ffmpeg(&clip, count, folder.path())));
        }
        let rate = |time: Duration| f64::from(FRAMES) / time.as_secs_f64();
        println!(
            "frames              {:8.1} a second    one ffmpeg process {:.1}    ratio {:.2}  (720p, {name})",
            rate(ours),
            rate(theirs),
            rate(ours) / rate(theirs)
        );
    }
}

fn time(work: impl FnOnce()) -> Duration {
    let started = Instant::now();
    work();
    started.elapsed()
}

fn take_with_ffmpeg(clip: &Path, count: u64, folder: &Path) {
    let wanted: Vec<String> = chosen(count, FRAMES).iter().map(|index| format!("eq(n,{index})")).collect();
    let filter = format!("select='{}',scale={SIZE}:-2", wanted.join("+"));
    let mut take = Command::new("ffmpeg");
    take.args(["-v", "error", "-nostdin", "-y", "-i"]).arg(clip);
    take.args(["-vf", &filter, "-vsync", "vfr", "-q:v", "3"]).arg(folder.join("%d.jpg"));
    assert!(take.status().unwrap().success());
    assert!(folder.join(format!("{FRAMES}.jpg")).exists());
}
