//! The maintainers' word on cameras that the annotations leave open. Knows nothing of the rule behind the
//! others.

use std::collections::HashMap;
use std::io::{self, Read};

use csv::{ReaderBuilder, StringRecord, Trim};
use unicode_normalization::UnicodeNormalization as _;

use super::release::{RecordFaults, ReleaseContent, ReleaseError, Video};
use crate::domain::question::Camera;

const HEADER: [&str; 2] = ["id", "camera"];

/// Settles unknown cameras by a CSV file with the columns `id` and `camera` (`static` or `moving`): by all of
/// its rows or, where one has a fault, by none. Gives how many cameras were settled.
///
/// # Errors
/// [`ReleaseError`] with every fault of the file: an id that is no video's, another value, an id given twice,
/// or a class that contradicts the annotation.
pub fn settle_cameras(content: &mut ReleaseContent, file: impl Read) -> Result<usize, ReleaseError> {
    let places: HashMap<&str, usize> =
        content.videos.iter().enumerate().map(|(place, video)| (video.id.as_str(), place)).collect();
    let mut faults = RecordFaults::default();
    let mut stated: HashMap<usize, Camera> = HashMap::new();
    let mut reader = ReaderBuilder::new().trim(Trim::All).from_reader(file);
    if reader.headers().map_err(io::Error::from)? != HEADER.as_slice() {
        faults.push(1, "the header is not `id,camera`; write it so".into());
        return Err(ReleaseError::Faulty(faults));
    }
    for row in reader.records() {
        let row = match row {
            Err(error) if error.is_io_error() => return Err(io::Error::from(error).into()),
            row => row,
        };
        let position = row.as_ref().map_or_else(|error| error.position(), StringRecord::position);
        let line = position.map_or(1, |position| position.line());
        let video_and_camera = match &row {
            Ok(row) => read_row(row, &places, &content.videos),
            Err(_) => Err("the row is not two cells in UTF-8; write an id and a camera".into()),
        };
        match video_and_camera {
            Err(detail) => faults.push(line, detail),
            Ok((place, camera)) => {
                if stated.insert(place, camera).is_some() {
                    let id = &content.videos[place].id;
                    faults.push(line, format!("`{id}` has a row already; keep one"));
                }
            }
        }
    }
    faults.into_result()?;
    let is_unknown = |(place, _): &(usize, Camera)| content.videos[*place].camera == Camera::Unknown;
    let settled: Vec<(usize, Camera)> = stated.into_iter().filter(is_unknown).collect();
    for (place, camera) in &settled {
        content.videos[*place].camera = *camera;
    }
    Ok(settled.len())
}

/// The position of the video that a row names, and the camera that it states.
fn read_row(
    row: &StringRecord,
    places: &HashMap<&str, usize>,
    videos: &[Video],
) -> Result<(usize, Camera), String> {
    let id: String = row[0].nfc().collect();
    let Some(place) = places.get(id.as_str()).copied() else {
        return Err(format!(
            "`{}` is no video of this release; give the `id` of its records",
            id.escape_debug()
        ));
    };
    let camera = match Camera::parse(&row[1]) {
        Some(camera @ (Camera::Static | Camera::Moving)) => camera,
        _ => {
            return Err(format!(
                "`{}` is no class of camera; give `static` or `moving`",
                row[1].escape_debug()
            ));
        }
    };
    if ![Camera::Unknown, camera].contains(&videos[place].camera) {
        return Err(format!(
            "`{id}` has another camera by its `camera_angle`; mend the annotation or leave out the row"
        ));
    }
    Ok((place, camera))
}
