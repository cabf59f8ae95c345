//! Annotations of videos and their captions: reading both files, and everything that is wrong with them. Knows nothing of
//! questions.

use std::collections::{BTreeMap, HashMap};
use std::io::{self, BufRead, Read as _};

use serde_json::Value;
use unicode_normalization::UnicodeNormalization as _;

use super::super::record::{Members, is_plain_name};
use super::super::release::{BOM, MAX_LINE_BYTES, RecordFaults, ReleaseError};
use super::movement::of_central_object;

/// Secondary objects of a video at most (paper, "Multi-object").
const MAX_OBJECTS: usize = 3;

/// The field by which an annotator decides what moves in the central object, where the rule of [`super::movement`] errs.
const DECIDED_MOTION: &str = "central_object_motion";

/// What a video's annotation says of it; what is null, empty or blank is missing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Annotation {
    /// Line of the file, from 1.
    pub line: u64,
    /// The video's key, `{collection}--{stem}`.
    pub id: String,
    /// The video's name in its collection.
    pub video_id: String,
    /// The collection that the video is from.
    pub collection: String,
    /// The file's name.
    pub video_file: String,
    /// Where it was taken.
    pub location: Option<String>,
    /// The country of that place.
    pub country: Option<String>,
    /// What the video is about.
    pub central_object: String,
    /// Its texture.
    pub texture: Option<String>,
    /// Its colour.
    pub color: String,
    /// Its size and shape.
    pub size_shape: String,
    /// What else is in the video.
    pub objects_present: Vec<String>,
    /// What surrounds it.
    pub environment: Option<String>,
    /// Its light.
    pub lighting: Option<String>,
    /// Its sharpness.
    pub video_clarity: Option<String>,
    /// What moves, and how.
    pub movement_behavior: Option<String>,
    /// What the central object does; none where the movement is about other things.
    pub central_motion: Option<String>,
    /// What the camera takes in.
    pub camera_position: String,
    /// The camera's angle and movement.
    pub camera_angle: String,
    /// What describes the whole video; empty while it is still to be made.
    pub caption: String,
}

/// The annotations of a file, and what is odd about it.
#[derive(Debug, Default)]
pub struct Annotations {
    /// One a video, in the order of the file.
    pub videos: Vec<Annotation>,
    /// Fields that no question uses, with how often they occur: a misspelt one would be missed.
    pub unknown_fields: BTreeMap<String, usize>,
}

/// Where the captions of videos are.
#[derive(Debug, Clone, Copy)]
pub enum CaptionsFrom<'a> {
    /// In the annotations.
    Here,
    /// These, by the video's key, with words for where they stand.
    There(&'a HashMap<String, String>, &'a str),
    /// They are still to be made.
    Nowhere,
}

/// Reads a file of annotations, one JSON object a line, with their captions.
///
/// # Errors
/// [`ReleaseError`] with every fault, each with its line, the field and how to mend it.
pub fn read_annotations(file: impl BufRead, captions: CaptionsFrom<'_>) -> Result<Annotations, ReleaseError> {
    let mut read = Annotations::default();
    let mut faults = RecordFaults::default();
    let mut lines_by_id = HashMap::<String, u64>::new();
    for_each_object(file, &mut faults, |line, members, faults| {
        let mut fields = Fields { line, members, faults };
        let annotation = fields.annotation(captions);
        for (name, _) in fields.members {
            *read.unknown_fields.entry(name).or_default() += 1;
        }
        let Some(annotation) = annotation else { return };
        match lines_by_id.insert(annotation.id.clone(), line) {
            Some(first) => {
                let id = &annotation.id;
                faults
                    .push(line, format!("`{id}` is annotated in line {first} already; keep one of the two"));
            }
            None => read.videos.push(annotation),
        }
    })?;
    if read.videos.is_empty() && faults.total == 0 {
        faults.push(1, "the file holds no annotation; give one JSON object a line".into());
    }
    if let CaptionsFrom::There(captions, place) = captions
        && faults.total == 0
    {
        let mut unknown: Vec<&String> = captions.keys().filter(|id| !lines_by_id.contains_key(*id)).collect();
        unknown.sort_unstable();
        for id in unknown {
            faults.push(
                1,
                format!(
                    "`{id}` has a caption {place} and is not annotated; add it, or leave out its caption"
                ),
            );
        }
    }
    faults.into_result()?;
    Ok(read)
}

/// Reads a file of captions: JSON objects with `id` and `caption`, one a line; other fields are not looked at.
///
/// # Errors
/// [`ReleaseError`] with every fault of the file.
pub fn read_captions(file: impl BufRead) -> Result<HashMap<String, String>, ReleaseError> {
    let mut captions = HashMap::new();
    let mut faults = RecordFaults::default();
    for_each_object(file, &mut faults, |line, members, faults| {
        let mut fields = Fields { line, members, faults };
        if let (Some(id), Some(caption)) = (fields.required("id"), fields.required("caption"))
            && captions.insert(id.nfc().collect::<String>(), caption).is_some()
        {
            faults.push(line, format!("`{id}` has a caption already; keep one of the two"));
        }
    })?;
    faults.into_result()?;
    Ok(captions)
}

fn for_each_object(
    mut file: impl BufRead,
    faults: &mut RecordFaults,
    mut take: impl FnMut(u64, Vec<(String, Value)>, &mut RecordFaults),
) -> io::Result<()> {
    let mut buffer = Vec::new();
    for number in 1.. {
        buffer.clear();
        if file.by_ref().take(MAX_LINE_BYTES as u64 + 1).read_until(b'\n', &mut buffer)? == 0 {
            break;
        }
        if buffer.len() > MAX_LINE_BYTES {
            faults.push(
                number,
                "the line is longer than 1 MiB, and what follows was not read; write one object a line"
                    .into(),
            );
            break;
        }
        let line = if number == 1 { buffer.strip_prefix(BOM).unwrap_or(&buffer) } else { &buffer };
        if line.trim_ascii().is_empty() {
            continue;
        }
        match serde_json::from_slice::<Members<Value>>(line) {
            Ok(members) => take(number, members.0, faults),
            Err(error) => {
                let column = error.column();
                faults.push(
                    number,
                    format!("the line is no JSON object in UTF-8 (column {column}); write one object a line"),
                );
            }
        }
    }
    Ok(())
}

/// The fields of an object that are not taken yet.
struct Fields<'a> {
    line: u64,
    members: Vec<(String, Value)>,
    faults: &'a mut RecordFaults,
}

impl Fields<'_> {
    fn annotation(&mut self, captions: CaptionsFrom<'_>) -> Option<Annotation> {
        let before = self.faults.total;
        let mut required = |name| self.required(name).unwrap_or_default();
        let [video_id, collection, video_file] = ["video_id", "collection", "video_file"].map(&mut required);
        let [central_object, color, size_shape] =
            ["central_object", "color", "size_shape"].map(&mut required);
        let [camera_position, camera_angle] = ["camera_position", "camera_angle"].map(&mut required);
        let mut optional = |name| self.optional(name).flatten();
        let [texture, environment, lighting] = ["texture", "environment", "lighting"].map(&mut optional);
        let [video_clarity, movement_behavior, caption] =
            ["video_clarity", "movement_behavior", "caption"].map(&mut optional);
        let [location, country] = ["location", "country"].map(&mut optional);
        let central_motion = match (self.optional(DECIDED_MOTION), &movement_behavior) {
            (Some(decided), Some(_)) => decided,
            (Some(Some(_)), None) => {
                self.fault(format!("`{DECIDED_MOTION}` is given and `movement_behavior` is not; give both"));
                None
            }
            (_, movement) => {
                movement.as_ref().and_then(|movement| of_central_object(movement, &central_object))
            }
        };
        let objects_present = self.objects(&central_object);
        self.name_faults(&collection, &video_file);
        let stem: String = video_file.rsplit_once('.').map_or(&*video_file, |(stem, _)| stem).nfc().collect();
        let id = format!("{collection}--{stem}");
        let (caption, place) = match captions {
            CaptionsFrom::Here => (caption, "here"),
            CaptionsFrom::There(captions, place) => (captions.get(&id).cloned(), place),
            CaptionsFrom::Nowhere => (Some(caption.unwrap_or_default()), "here"),
        };
        if caption.is_none() {
            self.fault(format!("`caption` of `{id}` is missing {place}; every video has a question for it"));
        }
        let caption = caption.filter(|_| self.faults.total == before)?;
        Some(Annotation {
            line: self.line,
            id,
            video_id,
            collection,
            video_file,
            location,
            country,
            central_object,
            texture,
            color,
            size_shape,
            objects_present,
            environment,
            lighting,
            video_clarity,
            movement_behavior,
            central_motion,
            camera_position,
            camera_angle,
            caption,
        })
    }

    fn required(&mut self, name: &str) -> Option<String> {
        match self.optional(name) {
            Some(Some(text)) => Some(text),
            Some(None) => {
                self.fault(format!("`{name}` is blank; every video needs it: fill it in"));
                None
            }
            None => {
                self.fault(format!("`{name}` is missing; add it as text"));
                None
            }
        }
    }

    /// A field's text without blanks around it: none within where it is null or blank, none at all where it is absent or
    /// faulty.
    fn optional(&mut self, name: &str) -> Option<Option<String>> {
        match self.take(name)? {
            Value::Null => Some(None),
            Value::String(text) => {
                let text = text.trim();
                if text.contains(char::is_control) {
                    self.fault(format!(
                        "`{name}` holds a line break or another control character; write it in one line"
                    ));
                }
                Some((!text.is_empty()).then(|| text.to_owned()))
            }
            _ => {
                self.fault(format!("`{name}` is neither text nor null; write it as text"));
                // What is wrong with it is said already.
                Some(Some(String::new()))
            }
        }
    }

    fn objects(&mut self, central_object: &str) -> Vec<String> {
        let listed = match self.take("objects_present") {
            None | Some(Value::Null) => Vec::new(),
            Some(Value::Array(items)) => items,
            Some(_) => {
                self.fault("`objects_present` is no list of texts; write it so, `[]` for none".into());
                Vec::new()
            }
        };
        if listed.len() > MAX_OBJECTS {
            self.fault(format!(
                "`objects_present` lists more than {MAX_OBJECTS} objects; keep the most important"
            ));
        }
        let mut objects = Vec::<String>::new();
        for item in listed {
            let Some(name) = item
                .as_str()
                .map(str::trim)
                .filter(|name| !name.is_empty() && !name.contains(char::is_control))
            else {
                self.fault(
                    "`objects_present` holds something that is no text in one line; name each object".into(),
                );
                continue;
            };
            let folded = name.to_lowercase();
            if folded == central_object.to_lowercase()
                || objects.iter().any(|known| known.to_lowercase() == folded)
            {
                self.fault(format!(
                    "`objects_present` names `{name}` again; name each object once, and not the central one"
                ));
            }
            objects.push(name.to_owned());
        }
        objects
    }

    fn name_faults(&mut self, collection: &str, video_file: &str) {
        if collection.contains("--") {
            self.fault("`collection` holds `--`, which ends it in a video's key; write it otherwise".into());
        }
        for (field, name) in [("collection", collection), ("video_file", video_file)] {
            // What is missing is said already.
            if !name.is_empty() && !is_plain_name(name) {
                self.fault(format!(
                    "`{field}` is no plain name; leave out `/`, `\\` and names of dots alone"
                ));
            }
        }
    }

    /// Takes a field out; one that stands twice is a fault.
    fn take(&mut self, name: &str) -> Option<Value> {
        let place = self.members.iter().position(|(known, _)| known == name)?;
        let (_, value) = self.members.remove(place);
        while let Some(again) = self.members.iter().position(|(known, _)| known == name) {
            self.members.remove(again);
            self.fault(format!("`{name}` stands twice; keep one"));
        }
        Some(value)
    }

    fn fault(&mut self, detail: String) {
        self.faults.push(self.line, detail);
    }
}
