//! How often what is annotated (paper, "Statistics" and its Figure 5). Knows no pictures.

use std::collections::{BTreeMap, HashMap};

use serde::Serialize;

use super::super::release::ReleaseContent;
use super::annotation::Annotation;
use super::splits::SPLITS;
use crate::domain::camera::camera_of;
use crate::domain::question::{Camera, QuestionType, Split};

/// Objects that a video has at most.
const OBJECTS: usize = 4;

/// Words of a caption that are counted together.
const WORDS_A_BAR: usize = 10;

/// How often something occurs.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Count {
    /// What.
    pub value: String,
    /// How often.
    pub count: usize,
}

/// How often each value of one attribute is annotated.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Frequencies {
    /// The attribute.
    pub attribute: &'static str,
    /// Videos for which it is annotated.
    pub videos: usize,
    /// The values, the most frequent first.
    pub values: Vec<Count>,
}

/// What one split holds.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct SplitCounts {
    /// The split; none for all of them together.
    pub split: Option<Split>,
    /// Its videos.
    pub videos: usize,
    /// Its questions.
    pub questions: usize,
    /// Of these the multiple-choice ones.
    pub multiple_choice: usize,
    /// Questions by type.
    pub types: BTreeMap<QuestionType, usize>,
    /// Videos by camera.
    pub cameras: BTreeMap<Camera, usize>,
    /// Videos by collection.
    pub collections: BTreeMap<String, usize>,
}

/// What a release holds.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Statistics {
    /// Each split, then all together.
    pub splits: Vec<SplitCounts>,
    /// Videos by their number of objects.
    pub objects_per_video: Vec<Count>,
    /// What is the first to the fourth object.
    pub objects: Vec<Frequencies>,
    /// The other attributes.
    pub attributes: Vec<Frequencies>,
    /// Captions by their number of words.
    pub caption_words: Vec<Count>,
}

/// The value of one attribute.
type ValueOf = fn(&Annotation) -> Option<String>;

/// Counts what a release holds; videos, annotations and splits stand in the same order.
pub fn statistics(content: &ReleaseContent, videos: &[Annotation], splits: &[Split]) -> Statistics {
    let counts =
        SPLITS.iter().copied().map(Some).chain([None]).map(|split| count_split(content, splits, split));
    let object = |place: usize| {
        move |video: &Annotation| match place {
            0 => Some(video.central_object.clone()),
            _ => video.objects_present.get(place - 1).cloned(),
        }
    };
    let names = ["object 1 (central)", "object 2", "object 3", "object 4"];
    let attributes: [(&'static str, ValueOf); 12] = [
        ("texture", |video| video.texture.clone()),
        ("color", |video| Some(video.color.clone())),
        ("size and shape", |video| Some(video.size_shape.clone())),
        ("environment", |video| video.environment.clone()),
        ("lighting", |video| video.lighting.clone()),
        ("video clarity", |video| video.video_clarity.clone()),
        ("movement or behavior", |video| video.movement_behavior.clone()),
        ("movement of the central object", |video| video.central_motion.clone()),
        ("camera position", |video| Some(video.camera_position.clone())),
        ("camera angle", |video| Some(video.camera_angle.clone())),
        ("location", |video| video.location.clone()),
        ("country", |video| video.country.clone()),
    ];
    let per_video = (1..=OBJECTS).map(|number| Count {
        value: number.to_string(),
        count: videos.iter().filter(|video| video.objects_present.len() + 1 == number).count(),
    });
    Statistics {
        splits: counts.collect(),
        objects_per_video: per_video.collect(),
        objects: names
            .into_iter()
            .enumerate()
            .map(|(place, name)| frequencies(name, videos, object(place)))
            .collect(),
        attributes: attributes.into_iter().map(|(name, of)| frequencies(name, videos, of)).collect(),
        caption_words: caption_words(videos),
    }
}

fn count_split(content: &ReleaseContent, splits: &[Split], split: Option<Split>) -> SplitCounts {
    let is_in = |place: usize| split.is_none_or(|split| splits[place] == split);
    let mut counts = SplitCounts {
        split,
        videos: 0,
        questions: 0,
        multiple_choice: 0,
        types: BTreeMap::new(),
        cameras: BTreeMap::new(),
        collections: BTreeMap::new(),
    };
    for (_, video) in content.videos.iter().enumerate().filter(|(place, _)| is_in(*place)) {
        counts.videos += 1;
        *counts.cameras.entry(video.camera).or_default() += 1;
        *counts.collections.entry(video.collection.clone()).or_default() += 1;
    }
    for question in content.questions.iter().filter(|question| is_in(question.video)) {
        counts.questions += 1;
        counts.multiple_choice += usize::from(!question.options.is_empty());
        *counts.types.entry(question.question_type).or_default() += 1;
    }
    counts
}

fn frequencies(
    attribute: &'static str,
    videos: &[Annotation],
    of: impl Fn(&Annotation) -> Option<String>,
) -> Frequencies {
    let mut counts = HashMap::<String, usize>::new();
    for value in videos.iter().filter_map(of) {
        *counts.entry(value).or_default() += 1;
    }
    let annotated = counts.values().sum();
    let mut values: Vec<Count> = counts.into_iter().map(|(value, count)| Count { value, count }).collect();
    values
        .sort_unstable_by(|one, other| other.count.cmp(&one.count).then_with(|| one.value.cmp(&other.value)));
    Frequencies { attribute, videos: annotated, values }
}

fn caption_words(videos: &[Annotation]) -> Vec<Count> {
    let mut bars = BTreeMap::<usize, usize>::new();
    for video in videos {
        *bars.entry(video.caption.split_whitespace().count() / WORDS_A_BAR).or_default() += 1;
    }
    let last = bars.keys().next_back().copied().unwrap_or_default();
    let first = bars.keys().next().copied().unwrap_or_default();
    let named = |bar: usize| format!("{} to {}", bar * WORDS_A_BAR, (bar + 1) * WORDS_A_BAR - 1);
    let count = |bar: usize| bars.get(&bar).copied().unwrap_or_default();
    (first..=last).map(|bar| Count { value: named(bar), count: count(bar) }).collect()
}

/// The class of each video's camera, as the benchmark's files name it.
pub fn camera_class(video: &Annotation) -> &'static str {
    match camera_of(&video.camera_angle) {
        Camera::Static => "static",
        Camera::Moving => "moving",
        Camera::Unknown => "unspecified",
    }
}
