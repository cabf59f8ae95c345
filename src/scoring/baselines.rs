//! What a multiple-choice question gives away to somebody who never sees the video: three rules that answer from the
//! release's texts alone. Knows nothing of models.

use std::collections::{HashMap, HashSet};

use crate::text_enum;

text_enum! {
    /// How a blind baseline answers.
    Rule {
        /// The letter that is right most often among the questions of the type.
        FrequentLetter = "frequent_letter",
        LongestOption = "longest_option",
        /// The option that shares most words with the other questions about the video.
        SharedWords = "shared_words",
    }
}

impl Rule {
    /// What the rule does, as its row is named.
    pub const fn label(self) -> &'static str {
        match self {
            Self::FrequentLetter => "Blind: most frequent letter",
            Self::LongestOption => "Blind: longest option",
            Self::SharedWords => "Blind: words shared with other questions",
        }
    }
}

/// A multiple-choice question as the rules see it.
#[derive(Debug)]
pub struct BlindQuestion<'a> {
    /// The video's place in the release.
    pub video: usize,
    /// The type, or whatever else questions with letters of one kind have in common.
    pub kind: &'a str,
    /// The question's text.
    pub question: &'a str,
    /// The options, letter and text.
    pub options: Vec<(char, &'a str)>,
    /// The right letter: only the count of letters by type is taken from it.
    pub right: char,
}

/// The letter that a rule gives to each question; equal claims go to the option that stands first.
pub fn blind_letters(rule: Rule, questions: &[BlindQuestion<'_>]) -> Vec<Option<char>> {
    match rule {
        Rule::FrequentLetter => frequent_letters(questions),
        Rule::LongestOption => questions
            .iter()
            .map(|question| most(question.options.iter().map(|(l, text)| (*l, text.chars().count()))))
            .collect(),
        Rule::SharedWords => shared_words(questions),
    }
}

fn frequent_letters(questions: &[BlindQuestion<'_>]) -> Vec<Option<char>> {
    let mut counts = HashMap::<(&str, char), usize>::new();
    for question in questions {
        *counts.entry((question.kind, question.right)).or_default() += 1;
    }
    let count = |kind, letter| counts.get(&(kind, letter)).copied().unwrap_or_default();
    questions
        .iter()
        .map(|question| most(question.options.iter().map(|(l, _)| (*l, count(question.kind, *l)))))
        .collect()
}

fn shared_words(questions: &[BlindQuestion<'_>]) -> Vec<Option<char>> {
    let mut by_video = HashMap::<usize, Vec<usize>>::new();
    for (place, question) in questions.iter().enumerate() {
        by_video.entry(question.video).or_default().push(place);
    }
    let of = |(place, question): (usize, &BlindQuestion<'_>)| {
        let others = by_video.get(&question.video).into_iter().flatten().filter(|other| **other != place);
        let told: HashSet<String> = others.flat_map(|other| words(questions[*other].question)).collect();
        let shared = |text: &str| words(text).collect::<HashSet<_>>().intersection(&told).count();
        most(question.options.iter().map(|(letter, text)| (*letter, shared(text))))
    };
    questions.iter().enumerate().map(of).collect()
}

/// The first letter with the highest claim.
fn most(claims: impl Iterator<Item = (char, usize)>) -> Option<char> {
    claims.reduce(|best, next| if next.1 > best.1 { next } else { best }).map(|(letter, _)| letter)
}

fn words(text: &str) -> impl Iterator<Item = String> {
    text.split(|character: char| !character.is_alphanumeric())
        .filter(|word| !word.is_empty())
        .map(str::to_lowercase)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn question<'a>(video: usize, kind: &'a str, question: &'a str, right: char) -> BlindQuestion<'a> {
        let options = vec![('A', "a crab"), ('B', "a blue whale"), ('C', "a sea turtle")];
        BlindQuestion { video, kind, question, options, right }
    }

    #[test]
    fn the_most_frequent_letter_is_counted_by_type() {
        let questions = [
            question(0, "one", "", 'C'),
            question(1, "one", "", 'C'),
            question(2, "one", "", 'A'),
            question(0, "other", "", 'B'),
        ];
        let letters = blind_letters(Rule::FrequentLetter, &questions);
        assert_eq!(letters, [Some('C'), Some('C'), Some('C'), Some('B')]);
    }

    #[test]
    fn the_longest_option_is_the_first_of_equals() {
        let questions = [question(0, "one", "", 'A')];
        assert_eq!(blind_letters(Rule::LongestOption, &questions), [Some('B')]);
    }

    #[test]
    fn an_object_that_another_question_of_the_video_names_is_found() {
        let questions = [
            question(0, "one", "What is seen?", 'C'),
            question(0, "other", "How does the sea turtle move?", 'A'),
            question(1, "one", "What is seen?", 'B'),
        ];
        let letters = blind_letters(Rule::SharedWords, &questions);
        assert_eq!(letters, [Some('C'), Some('A'), Some('A')]);
    }
}
