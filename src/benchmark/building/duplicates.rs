//! Videos that are the same or nearly: what is learnt of one would answer questions about the other. Knows nothing of splits.

use std::collections::{BTreeSet, HashMap};

use unicode_normalization::UnicodeNormalization as _;

use super::annotation::Annotation;
use crate::text_enum;

/// Share of words that two annotations have in common from which on their videos are taken for nearly the same.
const NEAR: f64 = 0.9;

text_enum! {
    /// Why two videos are taken for nearly the same.
    Likeness {
        /// Two collections name a file alike.
        SameName = "same_name",
        /// The files are equal to the byte.
        SameFile = "same_file",
        /// The pictures look the same.
        SamePictures = "same_pictures",
        /// Annotation and caption hardly differ.
        SameWords = "same_words",
    }
}

/// Two videos, by their places, and why they are taken for nearly the same.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Duplicate {
    /// The one that stands first.
    pub one: usize,
    /// The other.
    pub other: usize,
    /// What they have in common.
    pub likeness: Likeness,
}

/// What is known of a video's file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Looks {
    /// The hash of its bytes, in hex.
    pub sha256: String,
    /// What its pictures look like, 64 bits each; empty where that is not known.
    pub pictures: Vec<u64>,
}

/// Bits of 64 in which pictures of the same scene may differ, on average.
const PICTURE_BITS: u32 = 6;

/// All pairs of videos that are nearly the same by name, words and, where files are known, by these.
pub fn duplicates(videos: &[Annotation], looks: &[Option<Looks>]) -> Vec<Duplicate> {
    let names = videos.iter().map(|video| {
        let (_, stem) = video.id.split_once("--")?;
        Some(stem.nfkc().collect::<String>().to_lowercase())
    });
    let mut found = equal(names, Likeness::SameName);
    let hashes = looks.iter().map(|looks| looks.as_ref().map(|looks| looks.sha256.clone()));
    found.extend(equal(hashes, Likeness::SameFile));
    found.extend(alike_pictures(looks));
    found.extend(alike_words(videos));
    found.sort_unstable();
    // One reason is enough.
    found.dedup_by_key(|pair| (pair.one, pair.other));
    found
}

/// Groups of places that hang together by these pairs, each in order; a video that is like none is a group of its own.
pub fn groups(videos: usize, pairs: &[Duplicate]) -> Vec<Vec<usize>> {
    let mut heads: Vec<usize> = (0..videos).collect();
    fn head(heads: &[usize], mut at: usize) -> usize {
        while heads[at] != at {
            at = heads[at];
        }
        at
    }
    for pair in pairs {
        let (one, other) = (head(&heads, pair.one), head(&heads, pair.other));
        heads[one.max(other)] = one.min(other);
    }
    let mut groups = vec![Vec::new(); videos];
    (0..videos).for_each(|place| groups[head(&heads, place)].push(place));
    groups.retain(|group| !group.is_empty());
    groups
}

fn equal(keys: impl Iterator<Item = Option<String>>, likeness: Likeness) -> Vec<Duplicate> {
    let mut first = HashMap::<String, usize>::new();
    let mut pairs = Vec::new();
    for (other, key) in keys.enumerate() {
        let Some(key) = key else { continue };
        match first.get(&key) {
            Some(&one) => pairs.push(Duplicate { one, other, likeness }),
            None => _ = first.insert(key, other),
        }
    }
    pairs
}

fn alike_pictures(looks: &[Option<Looks>]) -> Vec<Duplicate> {
    let known: Vec<(usize, &[u64])> = looks
        .iter()
        .enumerate()
        .filter_map(|(place, looks)| Some((place, looks.as_ref()?.pictures.as_slice())))
        .filter(|(_, pictures)| !pictures.is_empty())
        .collect();
    let mut pairs = Vec::new();
    for (number, (one, left)) in known.iter().enumerate() {
        for (other, right) in &known[number + 1..] {
            let bits: u32 = left.iter().zip(*right).map(|(left, right)| (left ^ right).count_ones()).sum();
            if left.len() == right.len() && bits <= PICTURE_BITS * left.len() as u32 {
                pairs.push(Duplicate { one: *one, other: *other, likeness: Likeness::SamePictures });
            }
        }
    }
    pairs
}

/// Pairs whose words are nearly the same. Two sets that share so much have one of their rarest words in common: only those are
/// compared.
fn alike_words(videos: &[Annotation]) -> Vec<Duplicate> {
    let told: Vec<BTreeSet<String>> = videos.iter().map(words).collect();
    let mut counts = HashMap::<&str, usize>::new();
    for word in told.iter().flatten() {
        *counts.entry(word).or_default() += 1;
    }
    let mut by_word = HashMap::<&str, Vec<usize>>::new();
    let mut pairs = Vec::new();
    for (other, words) in told.iter().enumerate() {
        let mut rarest: Vec<&str> = words.iter().map(String::as_str).collect();
        rarest.sort_unstable_by_key(|word| (counts.get(word), *word));
        // As many as may be missing in the other, and one more.
        rarest.truncate(words.len() - (words.len() as f64 * NEAR).ceil() as usize + 1);
        let mut near: BTreeSet<usize> = BTreeSet::new();
        for word in rarest {
            let known = by_word.entry(word).or_default();
            near.extend(known.iter());
            known.push(other);
        }
        for one in near {
            let shared = told[one].intersection(words).count();
            let all = told[one].len() + words.len() - shared;
            if shared as f64 >= NEAR * all as f64 {
                pairs.push(Duplicate { one, other, likeness: Likeness::SameWords });
            }
        }
    }
    pairs
}

/// The words of what an annotation says of the pictures, and of the caption.
fn words(video: &Annotation) -> BTreeSet<String> {
    let optional =
        [&video.texture, &video.environment, &video.lighting, &video.video_clarity, &video.movement_behavior];
    let texts = [
        &video.central_object,
        &video.color,
        &video.size_shape,
        &video.camera_position,
        &video.camera_angle,
        &video.caption,
    ];
    let texts = texts.into_iter().chain(optional.into_iter().flatten()).chain(&video.objects_present);
    let folded: String = texts.flat_map(|text| [text.as_str(), " "]).collect::<String>().to_lowercase();
    folded.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty()).map(str::to_owned).collect()
}
