//! Which letter is the right one: in each type of question all letters as often as their number allows, and in all types
//! together too. Knows nothing of what the options say.

use std::collections::{BTreeMap, HashMap};

use super::super::release::{Question, ReleaseContent};
use super::dice::Dice;
use crate::domain::question::{QuestionOption, QuestionType};

const LABELS: &str = "ABCDEFGHIJKLMNOPQRSTUVWXYZ";

/// What the prompt of a multiple-choice question ends with.
const SUFFIX: &str = "Answer with the option letter only.";

/// Places the right option of each multiple-choice question anew, and writes the prompts accordingly. What comes out does
/// not depend on where it was before.
pub fn deal(content: &mut ReleaseContent, seed: u64) {
    let mut kinds = BTreeMap::<(QuestionType, usize), Vec<usize>>::new();
    for (place, question) in content.questions.iter().enumerate() {
        if !question.options.is_empty() {
            kinds.entry((question.question_type, question.options.len())).or_default().push(place);
        }
    }
    // Letters that a kind could not use equally often, by how many options there are.
    let mut extras = HashMap::<usize, Vec<usize>>::new();
    for ((question_type, options), places) in kinds {
        let mut dice = Dice::new(seed, &format!("letters|{question_type}|{options}"));
        let extra = extras.entry(options).or_insert_with(|| vec![0; options]);
        let mut order: Vec<usize> = (0..options).collect();
        dice.shuffle(&mut order);
        order.sort_by_key(|letter| extra[*letter]);
        let whole = places.len() / options * options;
        let mut letters: Vec<usize> = (0..whole).map(|number| number % options).collect();
        for letter in &order[..places.len() - whole] {
            extra[*letter] += 1;
            letters.push(*letter);
        }
        dice.shuffle(&mut letters);
        for (place, letter) in places.into_iter().zip(letters) {
            put(&mut content.questions[place], letter, seed);
        }
    }
}

/// Places the right option under the letter of this number.
fn put(question: &mut Question, letter: usize, seed: u64) {
    let right = question.key.answer.clone();
    let options = std::mem::take(&mut question.options).into_iter();
    let (right, wrong): (Vec<_>, Vec<_>) = options.partition(|option| option.label == right);
    let mut texts: Vec<String> = wrong.into_iter().map(|option| option.text).collect();
    texts.sort_unstable();
    Dice::new(seed, &question.question_id).shuffle(&mut texts);
    let at = letter.min(texts.len());
    texts.splice(at..at, right.into_iter().map(|option| option.text));
    let labels = LABELS.chars().map(|label| label.to_string());
    question.options = labels.zip(texts).map(|(label, text)| QuestionOption { label, text }).collect();
    question.key.answer = question.options.get(at).map(|option| option.label.clone()).unwrap_or_default();
    question.prompt = prompt(&question.question, &question.options);
}

/// The question as a model is asked it.
pub(super) fn prompt(question: &str, options: &[QuestionOption]) -> String {
    if options.is_empty() {
        return question.to_owned();
    }
    let listed = options.iter().map(|option| format!("({}) {}\n", option.label, option.text));
    format!("{question}\n{}{SUFFIX}", listed.collect::<String>())
}
