//! What is different about the questions of two releases, as far as a score can depend on it. Tells which parts differ and
//! never what they say: the key leaves the server nowhere.

use std::collections::{BTreeMap, HashMap};

use serde::Serialize;
use serde_json::Value;

use crate::domain::column::Column;
use crate::domain::question::QuestionType;
use crate::store::releases::KeyedQuestion;
use crate::text_enum;

text_enum! {
    /// A part of a question that is different in another release.
    Difference {
        /// The former release does not have the question.
        Added = "added",
        /// The other release does not have the question.
        Removed = "removed",
        Type = "type",
        /// The words of the question.
        Question = "question",
        Options = "options",
        /// The right letter.
        Key = "key",
        /// The right answer of an open-ended question.
        Reference = "reference",
        /// What the annotators saw, as the judge is told it.
        Evidence = "evidence",
        /// Whether the camera of the video of a caption moves.
        Camera = "camera",
    }
}

/// A question that is different in another release.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, utoipa::ToSchema)]
pub struct ChangedQuestion {
    /// The question.
    pub question_id: String,
    /// What it asks about, in the other release if it has it.
    pub question_type: QuestionType,
    /// What is different about it.
    pub differences: Vec<Difference>,
}

/// What is different about the questions of two releases.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, utoipa::ToSchema)]
pub struct ReleaseChanges {
    /// The questions that are different, in the order of the other release, those that it does not have last.
    pub questions: Vec<ChangedQuestion>,
    /// How many of them count in each column, before or after.
    #[schema(value_type = BTreeMap<String, usize>)]
    pub by_column: BTreeMap<Column, usize>,
}

impl ReleaseChanges {
    /// How many questions differ in this part.
    pub fn count(&self, difference: Difference) -> usize {
        self.questions.iter().filter(|question| question.differences.contains(&difference)).count()
    }
}

/// What is different from the questions of one release to those of another.
pub(super) fn changes(before: &[KeyedQuestion], after: &[KeyedQuestion]) -> ReleaseChanges {
    let mut left: HashMap<&str, &KeyedQuestion> =
        before.iter().map(|question| (question.public.question_id.as_str(), question)).collect();
    let mut changes = ReleaseChanges::default();
    for question in after {
        let former = left.remove(question.public.question_id.as_str());
        let differences =
            former.map_or_else(|| vec![Difference::Added], |former| differences(former, question));
        changes.note(question, differences, &[Some(question), former]);
    }
    for question in before.iter().filter(|question| left.contains_key(question.public.question_id.as_str())) {
        changes.note(question, vec![Difference::Removed], &[Some(question)]);
    }
    changes
}

impl ReleaseChanges {
    /// Notes a question that has differences, and where its versions count.
    fn note(
        &mut self,
        question: &KeyedQuestion,
        differences: Vec<Difference>,
        versions: &[Option<&KeyedQuestion>],
    ) {
        if differences.is_empty() {
            return;
        }
        for column in Column::ALL {
            let counts =
                |version: &&KeyedQuestion| column.counts(version.public.question_type, version.camera);
            if versions.iter().flatten().any(counts) {
                *self.by_column.entry(*column).or_default() += 1;
            }
        }
        self.questions.push(ChangedQuestion {
            question_id: question.public.question_id.clone(),
            question_type: question.public.question_type,
            differences,
        });
    }
}

fn differences(before: &KeyedQuestion, after: &KeyedQuestion) -> Vec<Difference> {
    let (one, other) = (&before.public, &after.public);
    let is_judged = other.question_type.rubric().is_some();
    let evidence = |question: &KeyedQuestion| serde_json::from_str::<Value>(&question.key.evidence).ok();
    let is_by_camera = other.question_type == QuestionType::Caption;
    let found = [
        (Difference::Type, one.question_type != other.question_type),
        (Difference::Question, (&one.question, &one.prompt) != (&other.question, &other.prompt)),
        (Difference::Options, one.options != other.options),
        (Difference::Key, before.key.answer != after.key.answer),
        (Difference::Reference, is_judged && before.key.answer_text != after.key.answer_text),
        (Difference::Evidence, is_judged && evidence(before) != evidence(after)),
        (Difference::Camera, is_by_camera && before.camera != after.camera),
    ];
    found.into_iter().filter(|(_, differs)| *differs).map(|(difference, _)| difference).collect()
}
