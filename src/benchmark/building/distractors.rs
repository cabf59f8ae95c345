//! Wrong options. The parts of the right answer are replaced one by one by values that are wrong for the video: written by a
//! model, or annotated for other videos. Knows neither letters nor models.
//!
//! Where an answer has two or three parts, each with one wrong value, the four options are rows of an orthogonal array: every
//! value stands in two options, so that the options alone do not show which row is the right one. Values of other videos are
//! drawn as often as they are annotated, so that a frequent value is right as often as it is wrong.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::rc::Rc;

use super::annotation::Annotation;
use super::dice::Dice;
use super::movement::has_subject;
use super::rules::{self, Attribute};
use super::sameness::meaning;
use crate::domain::question::QuestionType;

/// Wrong options of a question.
pub(super) const WRONG: usize = 3;

/// Letters of an option's part at most; what is longer is prose and no value.
const MAX_CHARS: usize = 200;

/// Draws before all values are looked through.
const DRAWS: usize = 64;

/// Which parts are wrong in the three wrong options, by how many parts there are.
const TWO: [[bool; 2]; WRONG] = [[true, false], [false, true], [true, true]];
const THREE: [[bool; 3]; WRONG] = [[false, true, true], [true, false, true], [true, true, false]];

/// Values by what they say, for one video.
pub type Values = HashMap<Attribute, Vec<String>>;

/// The annotated values of a release, to draw from.
pub struct Pool<'a> {
    entries: HashMap<Attribute, Vec<Entry<'a>>>,
    /// Places among `entries` of the movements of each central object.
    motions: HashMap<&'a str, Vec<usize>>,
}

/// The wrong options of one question.
pub(super) struct Wrong {
    pub(super) options: Vec<String>,
    /// Values that were drawn from other videos.
    pub(super) drawn: usize,
}

/// That there are too few wrong values.
pub(super) struct Lack {
    pub(super) attribute: Attribute,
    pub(super) wanted: usize,
    pub(super) found: usize,
}

#[derive(Clone)]
struct Entry<'a> {
    text: &'a str,
    meaning: Rc<BTreeSet<String>>,
    central_object: &'a str,
}

/// What no wrong value of a video may say.
pub(super) struct Bars {
    attribute: Attribute,
    meanings: Vec<Rc<BTreeSet<String>>>,
}

impl Bars {
    /// What is right, or may be, of this attribute.
    pub(super) fn new(video: &Annotation, attribute: Attribute) -> Bars {
        let one = |text: &String| vec![text.clone()];
        let some = |text: &Option<String>| text.iter().cloned().collect();
        let barred: Vec<String> = match attribute {
            // What is in the video is no wrong name for it either.
            Attribute::CentralObject | Attribute::ObjectsPresent => {
                [&one(&video.central_object)[..], &video.objects_present].concat()
            }
            Attribute::Color => one(&video.color),
            Attribute::SizeShape => one(&video.size_shape),
            Attribute::CameraPosition => one(&video.camera_position),
            Attribute::CameraAngle => one(&video.camera_angle),
            Attribute::MovementBehavior => some(&video.central_motion),
            Attribute::Environment => some(&video.environment),
            Attribute::Lighting => some(&video.lighting),
        };
        Bars { attribute, meanings: barred.iter().map(|text| Rc::new(meaning(text))).collect() }
    }

    /// Why a text is no wrong value; none if it is one, and then it bars its like.
    pub(super) fn refusal(&mut self, text: &str) -> Option<&'static str> {
        if text.trim().is_empty() || text.contains(char::is_control) || text.chars().count() > MAX_CHARS {
            return Some("is blank, longer than a value, or not in one line");
        }
        // All options must be about the central object (paper, rule B7).
        if self.attribute == Attribute::MovementBehavior && has_subject(text) {
            return Some("names who moves");
        }
        self.bars(&Rc::new(meaning(text))).then_some("may be right too, or says the same as another one")
    }

    fn bars(&mut self, told: &Rc<BTreeSet<String>>) -> bool {
        let is_barred = self.meanings.iter().any(|known| known.is_subset(told) || told.is_subset(known));
        if !is_barred {
            self.meanings.push(told.clone());
        }
        is_barred
    }
}

impl<'a> Pool<'a> {
    /// The values of these videos.
    pub fn new(videos: &'a [Annotation]) -> Pool<'a> {
        let mut known = HashMap::<&str, Rc<BTreeSet<String>>>::new();
        let mut pool = Pool { entries: HashMap::new(), motions: HashMap::new() };
        for video in videos {
            let some = |text: &'a Option<String>| text.as_deref();
            let motion = some(&video.central_motion).filter(|motion| !has_subject(motion));
            let single = [
                (Attribute::CentralObject, Some(video.central_object.as_str())),
                (Attribute::Color, Some(video.color.as_str())),
                (Attribute::SizeShape, Some(video.size_shape.as_str())),
                (Attribute::CameraPosition, Some(video.camera_position.as_str())),
                (Attribute::CameraAngle, Some(video.camera_angle.as_str())),
                (Attribute::MovementBehavior, motion),
                (Attribute::Environment, some(&video.environment)),
                (Attribute::Lighting, some(&video.lighting)),
            ];
            let objects =
                video.objects_present.iter().map(|name| (Attribute::ObjectsPresent, Some(name.as_str())));
            for (attribute, text) in single.into_iter().chain(objects) {
                let Some(text) = text else { continue };
                let meaning = known.entry(text).or_insert_with(|| Rc::new(meaning(text))).clone();
                let central_object = video.central_object.as_str();
                let entries = pool.entries.entry(attribute).or_default();
                if attribute == Attribute::MovementBehavior {
                    pool.motions.entry(central_object).or_default().push(entries.len());
                }
                entries.push(Entry { text, meaning, central_object });
            }
        }
        pool
    }

    /// Values of an attribute that are wrong for a video, `drafted` ones first; fewer than wanted where there are no more.
    fn alternatives(
        &self,
        video: &Annotation,
        bars: &mut Bars,
        wanted: usize,
        drafted: &[String],
        dice: &mut Dice,
    ) -> (Vec<String>, usize) {
        let attribute = bars.attribute;
        let drafted = drafted.iter().filter(|text| bars.refusal(text).is_none());
        let mut chosen: Vec<String> = drafted.take(wanted).cloned().collect();
        let before = chosen.len();
        let entries = self.entries.get(&attribute).map_or(&[][..], Vec::as_slice);
        let mut take = |entry: &Entry<'_>, chosen: &mut Vec<String>| {
            if chosen.len() < wanted && self.is_apart(video, attribute, entry) && !bars.bars(&entry.meaning) {
                chosen.push(entry.text.to_owned());
            }
        };
        if attribute == Attribute::MovementBehavior {
            // What the same animal does elsewhere is what it could do here.
            let mut own = self.motions.get(video.central_object.as_str()).cloned().unwrap_or_default();
            dice.shuffle(&mut own);
            own.into_iter().for_each(|place| take(&entries[place], &mut chosen));
        }
        for _ in 0..DRAWS {
            if chosen.len() >= wanted || entries.is_empty() {
                break;
            }
            take(&entries[dice.below(entries.len())], &mut chosen);
        }
        if chosen.len() < wanted {
            let mut seen = HashSet::new();
            let mut distinct: Vec<&Entry<'_>> =
                entries.iter().filter(|entry| seen.insert(entry.text)).collect();
            dice.shuffle(&mut distinct);
            distinct.into_iter().for_each(|entry| take(entry, &mut chosen));
        }
        let drawn = chosen.len() - before;
        (chosen, drawn)
    }

    /// Whether a value is of another kind of object: the looks of one kind are described in many words that mean the same.
    fn is_apart(&self, video: &Annotation, attribute: Attribute, entry: &Entry<'_>) -> bool {
        let is_looks = matches!(attribute, Attribute::Color | Attribute::SizeShape);
        !is_looks || entry.central_object != video.central_object
    }
}

/// The wrong options of a question.
///
/// # Errors
/// [`Lack`] where neither the drafted values nor the other videos give enough.
pub(super) fn wrong_options(
    video: &Annotation,
    question_type: QuestionType,
    pool: &Pool<'_>,
    drafted: &Values,
    seed: u64,
) -> Result<Wrong, Lack> {
    let parts = rules::parts(video, question_type);
    let wanted = if parts.len() == 1 { WRONG } else { 1 };
    let (mut alternatives, mut drawn) = (Vec::new(), 0);
    let mut all_bars = HashMap::<Attribute, Bars>::new();
    for (place, (attribute, _)) in parts.iter().enumerate() {
        let bars = all_bars.entry(*attribute).or_insert_with(|| Bars::new(video, *attribute));
        let dice = &mut Dice::new(seed, &format!("{}|{question_type}|{place}", video.id));
        let drafted = drafted.get(attribute).map_or(&[][..], Vec::as_slice);
        let (found, of_others) = pool.alternatives(video, bars, wanted, drafted, dice);
        if found.len() < wanted {
            return Err(Lack { attribute: *attribute, wanted, found: found.len() });
        }
        drawn += of_others;
        alternatives.push(found);
    }
    let right: Vec<&str> = parts.iter().map(|(_, text)| text.as_str()).collect();
    let mixed = |is_wrong: &[bool]| {
        let pick = |(place, is_wrong): (usize, &bool)| {
            if *is_wrong { alternatives[place][0].as_str() } else { right[place] }
        };
        let chosen: Vec<&str> = is_wrong.iter().enumerate().map(pick).collect();
        rules::option(video, question_type, &chosen)
    };
    let options = match parts.len() {
        1 => alternatives[0].iter().map(|text| rules::option(video, question_type, &[text])).collect(),
        2 => TWO.iter().map(|row| mixed(row)).collect(),
        _ => THREE.iter().map(|row| mixed(row)).collect(),
    };
    Ok(Wrong { options, drawn })
}
