//! Whether the judge is believable: human ratings come in, each judge configuration is measured by them, one that agrees
//! less is held back, and what the judge says of the same answers is watched over time. Shows no text of an answer.

pub mod calibration;
mod calibration_run;
mod calibration_set;
pub mod gate;
pub mod importing;
pub mod measuring;
pub mod ratings_file;
pub mod report;
