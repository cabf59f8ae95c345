//! Which videos are of which split: drawn, or as a file says. What is nearly the same stays together. Knows nothing of why
//! two videos are nearly the same.

use std::collections::{BTreeMap, HashMap};

use super::dice::Dice;
use super::duplicates::Duplicate;
use crate::domain::question::Split;

/// The splits in the order of the paper.
pub const SPLITS: [Split; 3] = [Split::Train, Split::Val, Split::Test];

/// Videos of each split (paper, "Dataset Split").
pub const SIZES: [usize; 3] = [1300, 200, 500];

/// Faults of a file that are listed; the others are counted.
const MAX_LISTED: usize = 100;

/// Why a file of splits is not taken.
#[derive(Debug, thiserror::Error)]
pub enum SplitsError {
    /// It is no JSON of that form.
    #[error("the splits are not lists of ids by `train`, `val` and `test`, as JSON ({0})")]
    Form(#[from] serde_json::Error),
    /// It does not fit the videos.
    #[error("the splits do not fit the videos:\n{}", .0.join("\n"))]
    Faulty(Vec<String>),
}

/// So many videos in the proportions of `sizes`, the sum being the number of videos.
pub fn scaled(sizes: [usize; 3], videos: usize) -> [usize; 3] {
    let total = sizes.iter().sum::<usize>().max(1);
    let mut scaled = sizes.map(|size| size * videos / total);
    let mut order = [0, 1, 2];
    // What is left goes to those who lost most by rounding down.
    order.sort_by_key(|place| std::cmp::Reverse(sizes[*place] * videos % total));
    let left = videos - scaled.iter().sum::<usize>();
    order.into_iter().take(left).for_each(|place| scaled[place] += 1);
    scaled
}

/// Draws a split for each video: groups whole, the largest first, and each split as large as wanted where groups allow it.
pub fn drawn(mut groups: Vec<Vec<usize>>, sizes: [usize; 3], seed: u64) -> Vec<Split> {
    let mut dice = Dice::new(seed, "splits");
    dice.shuffle(&mut groups);
    groups.sort_by_key(|group| std::cmp::Reverse(group.len()));
    let videos = groups.iter().map(Vec::len).sum();
    let mut room = scaled(sizes, videos);
    let mut splits = vec![Split::Train; videos];
    for group in groups {
        let open = room.map(|room| if room >= group.len() { room } else { 0 });
        let mut lot = dice.below(open.iter().sum());
        let fitting = open.iter().position(|open| {
            let is_it = lot < *open;
            lot = lot.saturating_sub(*open);
            is_it
        });
        let roomiest = || (0..3).max_by_key(|place| room[*place]).unwrap_or_default();
        let chosen = fitting.unwrap_or_else(roomiest);
        room[chosen] = room[chosen].saturating_sub(group.len());
        group.into_iter().for_each(|place| splits[place] = SPLITS[chosen]);
    }
    splits
}

/// The split of each video by a file with lists of ids.
///
/// # Errors
/// With everything that does not fit: videos that are in no split or in two, and ids of no video.
pub fn given(json: &str, ids: &[&str]) -> Result<Vec<Split>, SplitsError> {
    let listed: BTreeMap<Split, Vec<String>> = serde_json::from_str(json)?;
    let places: HashMap<&str, usize> = ids.iter().enumerate().map(|(place, id)| (*id, place)).collect();
    let mut splits: Vec<Option<Split>> = vec![None; ids.len()];
    let mut faults = Vec::new();
    for (split, ids) in listed {
        for id in ids {
            let Some(&place) = places.get(id.as_str()) else {
                faults.push(format!("`{id}` in `{split}` is no video of these questions; take it out"));
                continue;
            };
            if let Some(first) = splits[place].replace(split) {
                faults.push(format!("`{id}` is in `{first}` and again in `{split}`; keep one"));
            }
        }
    }
    let missing = splits.iter().zip(ids).filter(|(split, _)| split.is_none());
    faults.extend(missing.map(|(_, id)| format!("`{id}` is in no split; put it into one")));
    let more = faults.len().saturating_sub(MAX_LISTED);
    if more > 0 {
        faults.truncate(MAX_LISTED);
        faults.push(format!("and {more} more"));
    }
    if faults.is_empty() {
        Ok(splits.into_iter().flatten().collect())
    } else {
        Err(SplitsError::Faulty(faults))
    }
}

/// The pairs that are nearly the same and not in one split.
pub fn torn<'a>(splits: &[Split], pairs: &'a [Duplicate]) -> Vec<&'a Duplicate> {
    pairs.iter().filter(|pair| splits[pair.one] != splits[pair.other]).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn splits_are_as_large_as_the_papers_share() {
        assert_eq!(scaled(SIZES, 2000), SIZES);
        assert_eq!(scaled(SIZES, 12), [8, 1, 3]);
        assert_eq!(scaled(SIZES, 1), [1, 0, 0]);
        for videos in 0..100 {
            assert_eq!(scaled(SIZES, videos).iter().sum::<usize>(), videos);
        }
    }

    #[test]
    fn a_group_stays_together_and_every_split_has_its_size() {
        let groups: Vec<Vec<usize>> =
            (0..40).map(|number| vec![2 * number, 2 * number + 1]).chain([(80..100).collect()]).collect();
        let splits = drawn(groups.clone(), [60, 20, 20], 7);
        for group in &groups {
            assert!(group.iter().all(|place| splits[*place] == splits[group[0]]));
        }
        let count = |split| splits.iter().filter(|known| **known == split).count();
        assert_eq!(SPLITS.map(count), [60, 20, 20]);
        assert_ne!(splits, drawn(groups.clone(), [60, 20, 20], 8));
        assert_eq!(splits, drawn(groups, [60, 20, 20], 7));
    }

    #[test]
    fn a_file_of_splits_must_name_every_video_once() {
        let ids = ["MVK--a", "MVK--b", "MVK--c"];
        let fine = given(r#"{"train": ["MVK--b"], "test": ["MVK--a", "MVK--c"]}"#, &ids).unwrap();
        assert_eq!(fine, [Split::Test, Split::Train, Split::Test]);
        let error = given(r#"{"train": ["MVK--b", "MVK--x"], "val": ["MVK--b"], "test": ["MVK--c"]}"#, &ids)
            .unwrap_err();
        let text = error.to_string();
        for words in ["`MVK--x` in `train` is no video", "`MVK--b` is in ", "`MVK--a` is in no split"] {
            assert!(text.contains(words), "{text}");
        }
        assert!(given(r#"{"dev": []}"#, &ids).unwrap_err().to_string().contains("`train`"));
    }
}
