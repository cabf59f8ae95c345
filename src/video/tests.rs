//! Whole and damaged files, and the pictures that are taken of them.

use std::path::{Path, PathBuf};

use super::*;

fn clip(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/videos").join(name)
}

#[test]
fn the_facts_of_a_clip_are_read() {
    let facts = probe(&clip("five_frames_h264.mp4")).unwrap();
    assert_eq!((facts.frames, facts.codec.as_str(), facts.rotation), (5, "h264", 0));
    assert_eq!(facts.bytes, 6583);
    assert!(facts.width > 0 && facts.height > 0 && facts.frames_per_second > 0.0 && facts.duration_ms > 0);
}

#[test]
fn a_display_matrix_is_a_rotation() {
    assert_eq!(probe(&clip("rotated90_h264.mp4")).unwrap().rotation, 90);
}

#[test]
fn what_is_no_whole_video_is_refused_with_the_reason() {
    assert!(matches!(probe(&clip("audio_only.mp4")), Err(VideoError::NoPicture)));
    assert!(matches!(probe(&clip("zero_bytes.mp4")), Err(VideoError::Empty)));
    assert!(matches!(probe(&clip("truncated_no_index.mp4")), Err(VideoError::Unknown(_))));
    assert!(matches!(probe(&clip("there_is_none.mp4")), Err(VideoError::Io(_))));
    assert!(matches!(probe(&clip("truncated_faststart.mp4")), Err(VideoError::Damaged { .. })));
}

#[test]
fn frames_are_chosen_at_even_steps() {
    assert_eq!(chosen(60, 8), [0, 8, 16, 25, 33, 42, 50, 59]);
    assert_eq!(chosen(5, 8), [0, 0, 1, 1, 2, 2, 3, 4]);
    assert_eq!((chosen(1, 3), chosen(60, 1), chosen(5, 1)), (vec![0; 3], vec![29], vec![2]));
    assert_eq!(chosen(7, 2), [0, 6]);
}

#[test]
fn pictures_are_the_same_bytes_each_time_and_upright() {
    let path = clip("rotated90_h264.mp4");
    let pictures = sample(&path, 60, 8, 64).unwrap();
    assert_eq!(pictures, sample(&path, 60, 8, 64).unwrap());
    assert!(pictures.iter().all(|picture| (picture.width, picture.height) == (36, 64)));
    assert!(pictures.iter().all(|picture| picture.jpeg.starts_with(&[0xff, 0xd8, 0xff])));
    assert!(matches!(sample(&path, 61, 8, 64), Err(VideoError::Cut { found: 60, promised: 61 })));
}
