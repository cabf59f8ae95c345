//! What the wording of captions shows before anybody judges them: their length, whole sentences, repetition. No score
//! depends on it.

use std::collections::HashMap;

/// The benchmark asks for fewer words than that.
const TOO_MANY_WORDS: usize = 80;

/// What ends a sentence.
const ENDS: [char; 7] = ['.', '!', '?', '…', '。', '！', '？'];

/// What may stand behind the end of a sentence.
const CLOSINGS: [char; 6] = ['"', '\'', ')', ']', '”', '’'];

/// What the captions of one file have in common.
#[derive(Debug, Clone, PartialEq)]
pub struct CaptionFacts {
    /// Captions that are not blank.
    pub captions: usize,
    /// Words of the shortest, on the mean, and of the longest.
    pub words: [f64; 3],
    /// Captions of 80 words or more.
    pub too_long: usize,
    /// Captions of a single sentence, which is what the benchmark asks for.
    pub one_sentence: usize,
    /// Captions that end in mid-sentence.
    pub cut_off: usize,
    /// Captions whose words another caption of the file has too.
    pub repeated: usize,
    /// How many captions have the most frequent words.
    pub most_copies: usize,
}

/// What the captions of a file have in common; none where all are blank.
pub fn caption_facts<'a>(captions: impl Iterator<Item = &'a str>) -> Option<CaptionFacts> {
    let mut lengths = Vec::new();
    let (mut one_sentence, mut cut_off) = (0, 0);
    let mut copies: HashMap<String, usize> = HashMap::new();
    for caption in captions {
        let words: Vec<&str> = caption.split_whitespace().collect();
        let Some(last) = words.last() else { continue };
        let is_cut_off = !last.trim_end_matches(CLOSINGS).ends_with(ENDS);
        cut_off += usize::from(is_cut_off);
        one_sentence += usize::from(!is_cut_off && !has_end(&words[..words.len() - 1]));
        lengths.push(words.len());
        *copies.entry(words.join(" ").to_lowercase()).or_default() += 1;
    }
    let (least, most) = (*lengths.iter().min()?, *lengths.iter().max()?);
    let mean = lengths.iter().sum::<usize>() as f64 / lengths.len() as f64;
    Some(CaptionFacts {
        captions: lengths.len(),
        words: [least as f64, mean, most as f64],
        too_long: lengths.iter().filter(|words| **words >= TOO_MANY_WORDS).count(),
        one_sentence,
        cut_off,
        repeated: copies.values().filter(|count| **count > 1).sum(),
        most_copies: copies.values().copied().max().unwrap_or_default(),
    })
}

/// Whether one of these words ends a sentence; `e.g.` and initials do not.
fn has_end(words: &[&str]) -> bool {
    words.iter().any(|word| {
        let word = word.trim_end_matches(CLOSINGS);
        let stem = word.trim_end_matches(ENDS);
        stem.len() < word.len() && stem.chars().count() > 1 && !stem.contains('.')
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn captions_are_counted_by_length_sentences_and_copies() {
        let long = format!("{}fish.", "word ".repeat(79));
        let captions = [
            "A ray glides past.",
            "a  ray glides PAST.",
            "A crab, e.g. a hermit crab, walks. It hides.",
            "A fish that swims along the",
            " \n",
            &long,
        ];
        let facts = caption_facts(captions.into_iter()).unwrap();
        let expected = CaptionFacts {
            captions: 5,
            words: [4.0, (4 + 4 + 9 + 6 + 80) as f64 / 5.0, 80.0],
            too_long: 1,
            one_sentence: 3,
            cut_off: 1,
            repeated: 2,
            most_copies: 2,
        };
        assert_eq!(facts, expected);
    }

    #[test]
    fn an_end_counts_in_any_dress_and_no_caption_says_nothing() {
        for whole in ["It swims.", "It swims!\"", "(It swims.)", "它在游。"] {
            assert_eq!(caption_facts([whole].into_iter()).unwrap().cut_off, 0, "{whole}");
        }
        assert_eq!(caption_facts(["", " "].into_iter()), None);
    }
}
