//! Which questions a file may answer. Holds ids and formats only: no texts, no options, no keys.

use std::borrow::Cow;
use std::collections::HashMap;

use unicode_normalization::{IsNormalized, UnicodeNormalization, is_nfc_quick};

use super::nearest::nearest;
use super::wording::literal;
use crate::domain::question::{QuestionFormat, Split};

/// The questions of one release by id, and the ids of the other splits.
#[derive(Debug, Clone)]
pub struct QuestionIndex {
    split: Split,
    questions: Vec<(String, QuestionFormat)>,
    positions: HashMap<String, usize>,
    videos: Vec<Video>,
    others: HashMap<String, Split>,
}

/// The questions of a video, which stand together.
#[derive(Debug, Clone)]
struct Video {
    /// What their ids begin with.
    id: String,
    first: usize,
    last: usize,
}

/// An id without the number of its question, and that number.
fn parts(id: &str) -> (&str, &str) {
    id.rsplit_once("--q").unwrap_or((id, ""))
}

impl QuestionIndex {
    /// Indexes the questions of `split` in the order given; `others` are the ids of the other splits. Ids are
    /// kept in NFC.
    pub fn new(
        split: Split,
        questions: impl IntoIterator<Item = (String, QuestionFormat)>,
        others: impl IntoIterator<Item = (String, Split)>,
    ) -> Self {
        let in_nfc = |id: String| nfc(&id).into_owned();
        let questions: Vec<_> = questions.into_iter().map(|(id, format)| (in_nfc(id), format)).collect();
        let positions =
            questions.iter().enumerate().map(|(position, (id, _))| (id.clone(), position)).collect();
        let others = others.into_iter().map(|(id, split)| (in_nfc(id), split)).collect();
        let mut videos: Vec<Video> = Vec::new();
        for (position, (id, _)) in questions.iter().enumerate() {
            let (id, _) = parts(id);
            match videos.last_mut() {
                Some(video) if video.id == id => video.last = position,
                _ => videos.push(Video { id: id.to_owned(), first: position, last: position }),
            }
        }
        Self { split, questions, positions, videos, others }
    }

    /// The split that the questions belong to.
    pub fn split(&self) -> Split {
        self.split
    }

    /// How many questions there are.
    pub fn len(&self) -> usize {
        self.questions.len()
    }

    /// Whether there is no question.
    pub fn is_empty(&self) -> bool {
        self.questions.is_empty()
    }

    /// The position of a question, by its id in any Unicode normalisation.
    pub fn position(&self, id: &str) -> Option<usize> {
        self.positions.get(&*nfc(id)).copied()
    }

    /// Whether the question at `position` has this id, in NFC; much cheaper than finding it.
    pub(super) fn has_id(&self, position: usize, id: &str) -> bool {
        self.questions.get(position).is_some_and(|(known, _)| known == id)
    }

    /// The id of the question at `position`, in NFC.
    pub(super) fn id(&self, position: usize) -> Option<&str> {
        self.questions.get(position).map(|(id, _)| id.as_str())
    }

    /// The format of the question at `position`.
    pub(super) fn format(&self, position: usize) -> QuestionFormat {
        self.questions[position].1
    }

    /// The other split that a question belongs to.
    pub(super) fn other_split(&self, id: &str) -> Option<Split> {
        self.others.get(&*nfc(id)).copied()
    }

    /// What the writer of an unknown id may have meant.
    pub(super) fn hint(&self, id: &str) -> Option<String> {
        let id = nfc(id);
        let trimmed = id.trim();
        if trimmed.len() != id.len() && self.positions.contains_key(trimmed) {
            return Some(format!("{} is known: remove the spaces around it", literal(trimmed)));
        }
        let mut ids = self.questions.iter().map(|(id, _)| id.as_str());
        if let Some(known) = ids.find(|known| known.eq_ignore_ascii_case(trimmed)) {
            return Some(format!("{} is known: keep its upper and lower case", literal(known)));
        }
        let (video, number) = parts(trimmed);
        let of = |video: &str| {
            let known = self.videos.iter().find(|known| known.id == video)?;
            Some(format!("{} to {}", literal(self.id(known.first)?), literal(self.id(known.last)?)))
        };
        if let Some(range) = of(video) {
            return Some(format!("the questions of this video are {range}"));
        }
        let near = nearest(video, self.videos.iter().map(|video| video.id.as_str()))?;
        let same = format!("{near}--q{number}");
        if self.positions.contains_key(&same) {
            return Some(format!("the nearest that is known is {}", literal(&same)));
        }
        Some(format!("the nearest that are known are {}", of(near)?))
    }
}

fn nfc(id: &str) -> Cow<'_, str> {
    if id.is_ascii() || is_nfc_quick(id.chars()) == IsNormalized::Yes {
        Cow::Borrowed(id)
    } else {
        Cow::Owned(id.nfc().collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn index() -> QuestionIndex {
        let ids = ["MVK--reef--q1", "MVK--reef--q2", "MVK--C\u{f4}n--q1"];
        let questions = ids.map(|id| (id.to_owned(), QuestionFormat::MultipleChoice));
        QuestionIndex::new(Split::Test, questions, [("MSC--sand--q1".to_owned(), Split::Val)])
    }

    #[test]
    fn ids_are_compared_in_nfc() {
        assert_eq!(index().position("MVK--Co\u{302}n--q1"), Some(2));
        assert_eq!(index().position("MVK--Con--q1"), None);
    }

    #[test]
    fn an_unknown_id_is_traced_to_what_was_meant() {
        let hint = |id| index().hint(id).unwrap_or_default();
        assert!(hint(" MVK--reef--q2").contains("spaces"));
        assert!(hint("mvk--REEF--Q2").contains("`MVK--reef--q2` is known"));
        assert!(hint("MVK--reef--q10").contains("`MVK--reef--q1` to `MVK--reef--q2`"));
        assert_eq!(hint("MVK--reeef--q2"), "the nearest that is known is `MVK--reef--q2`");
        assert_eq!(hint("MVK--reef-q2"), "the nearest that are known are `MVK--reef--q1` to `MVK--reef--q2`");
        assert_eq!(hint(""), "");
        assert_eq!(hint("MVK--../../../etc/passwd--q1"), "");
    }

    #[test]
    fn an_id_of_another_split_is_known_as_such() {
        assert_eq!(index().other_split("MSC--sand--q1"), Some(Split::Val));
        assert_eq!(index().position("MSC--sand--q1"), None);
    }
}
