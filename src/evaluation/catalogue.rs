//! Releases in the form in which answers are read and graded, kept in memory: a release never changes. Knows nothing
//! of submissions.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use serde_json::{Map, Value};

use crate::domain::column::Column;
use crate::domain::question::{QuestionType, Rubric, Split};
use crate::judge::Item;
use crate::predictions::QuestionIndex;
use crate::scoring::choice::OptionSet;
use crate::scoring::columns::QuestionFacts;
use crate::store::releases::{self, KeyedQuestion, Release};
use crate::store::{Store, StoreError};

/// How a question is graded.
pub enum Grading {
    /// By reading a letter.
    Choice {
        /// The options.
        options: OptionSet,
        /// The right letter.
        letter: char,
        /// The percent column that it counts in.
        dimension: Column,
    },
    /// By a judge.
    Judged {
        /// The rubric.
        rubric: Rubric,
        /// The question.
        question: String,
        /// A right answer.
        reference: String,
        /// What the annotators saw.
        evidence: Map<String, Value>,
    },
}

/// A release with its keys, ready for grading. It has no `Debug`, so that no log can hold it.
pub struct GradingRelease {
    /// Id, name and hash.
    pub release: Release,
    /// The questions' ids, in order.
    pub question_ids: Vec<String>,
    /// How each question is graded.
    pub gradings: Vec<Grading>,
    /// What the columns need to know of each question.
    pub facts: Vec<QuestionFacts>,
}

/// Releases that this process has read.
#[derive(Default)]
pub struct Catalogue {
    releases: Mutex<HashMap<String, Arc<GradingRelease>>>,
    /// By the ids of the active releases: test, val, train.
    indexes: Mutex<HashMap<Vec<Option<String>>, Arc<QuestionIndex>>>,
}

impl Catalogue {
    /// The release with this id.
    ///
    /// # Errors
    /// When the database fails or there is none.
    pub async fn release(&self, store: &Store, release_id: &str) -> Result<Arc<GradingRelease>, StoreError> {
        if let Some(known) = self.releases.lock().unwrap_or_else(PoisonError::into_inner).get(release_id) {
            return Ok(known.clone());
        }
        let id = release_id.to_owned();
        let read: Result<GradingRelease, StoreError> = store
            .read(move |connection| {
                let release = releases::load_release(connection, &id)?;
                GradingRelease::new(release, releases::load_keyed_questions(connection, &id)?)
            })
            .await;
        let read = Arc::new(read?);
        let mut known = self.releases.lock().unwrap_or_else(PoisonError::into_inner);
        Ok(known.entry(release_id.to_owned()).or_insert(read).clone())
    }

    /// The active release of a split, with the index by which a file of answers to it is read; none if no release of
    /// the split is active.
    ///
    /// # Errors
    /// When the database fails.
    pub async fn active(
        &self,
        store: &Store,
        split: Split,
    ) -> Result<Option<(Arc<GradingRelease>, Arc<QuestionIndex>)>, StoreError> {
        let active: Result<Vec<Option<String>>, StoreError> = store
            .read(|connection| {
                let find = |split: &Split| {
                    Ok(releases::find_active_release(connection, *split)?.map(|release| release.id))
                };
                Split::ALL.iter().map(find).collect()
            })
            .await;
        let active = active?;
        let place = Split::ALL.iter().position(|other| *other == split).unwrap_or_default();
        let Some(release_id) = &active[place] else { return Ok(None) };
        let release = self.release(store, release_id).await?;
        let mut key = active.clone();
        key.push(Some(split.to_string()));
        if let Some(known) = self.indexes.lock().unwrap_or_else(PoisonError::into_inner).get(&key) {
            return Ok(Some((release, known.clone())));
        }
        let index = Arc::new(self.index(store, &release, &active).await?);
        let mut known = self.indexes.lock().unwrap_or_else(PoisonError::into_inner);
        // Only the present combination of active releases is of use.
        known.retain(|other, _| other[..active.len()] == active[..]);
        Ok(Some((release, known.entry(key).or_insert(index).clone())))
    }

    async fn index(
        &self,
        store: &Store,
        release: &GradingRelease,
        active: &[Option<String>],
    ) -> Result<QuestionIndex, StoreError> {
        let others: Vec<(Split, String)> = Split::ALL
            .iter()
            .zip(active)
            .filter_map(|(split, id)| Some((*split, id.clone()?)))
            .filter(|(split, _)| *split != release.release.split)
            .collect();
        let others: Result<HashMap<String, Split>, StoreError> = store
            .read(move |connection| {
                let mut ids = HashMap::new();
                for (split, release_id) in others {
                    let of_split = releases::load_question_ids(connection, &release_id)?;
                    ids.extend(of_split.into_iter().map(|id| (id, split)));
                }
                Ok(ids)
            })
            .await;
        let questions = release.question_ids.iter().cloned();
        let formats = release.facts.iter().map(|facts| facts.question_type.format());
        Ok(QuestionIndex::new(release.release.split, questions.zip(formats), others?))
    }
}

impl GradingRelease {
    /// Prepares a release for grading.
    ///
    /// # Errors
    /// When a stored key is none that an import lets pass.
    pub fn new(release: Release, questions: Vec<KeyedQuestion>) -> Result<GradingRelease, StoreError> {
        let mut prepared = GradingRelease {
            release,
            question_ids: Vec::with_capacity(questions.len()),
            gradings: Vec::with_capacity(questions.len()),
            facts: Vec::with_capacity(questions.len()),
        };
        for question in questions {
            prepared.facts.push(QuestionFacts {
                question_type: question.public.question_type,
                camera: question.camera,
                video: usize::try_from(question.public.video.position).unwrap_or_default(),
            });
            prepared.question_ids.push(question.public.question_id.clone());
            prepared.gradings.push(grading(question)?);
        }
        Ok(prepared)
    }

    /// The normalised answer to the question at `place` as a judge is asked about it; none where no judge is.
    pub fn item<'a>(&'a self, place: usize, answer: &'a str) -> Option<Item<'a>> {
        let Grading::Judged { rubric, question, reference, evidence } = self.gradings.get(place)? else {
            return None;
        };
        let question_id = self.question_ids.get(place)?;
        Some(Item { question_id, rubric: *rubric, question, reference, evidence, answer })
    }

    /// How many questions a judge scores.
    pub fn to_judge(&self) -> usize {
        self.gradings.iter().filter(|grading| matches!(grading, Grading::Judged { .. })).count()
    }
}

fn grading(question: KeyedQuestion) -> Result<Grading, StoreError> {
    let unknown = |what| StoreError::Unknown { what, value: question.public.question_id.clone() };
    let question_type: QuestionType = question.public.question_type;
    if let Some(rubric) = question_type.rubric() {
        let evidence = serde_json::from_str(&question.key.evidence).map_err(|_| unknown("evidence of"))?;
        let reference = question.key.answer_text;
        return Ok(Grading::Judged { rubric, question: question.public.question, reference, evidence });
    }
    Ok(Grading::Choice {
        options: OptionSet::new(&question.public.options),
        letter: question.key.answer.chars().next().ok_or_else(|| unknown("key of"))?,
        dimension: Column::percent_of(question_type).ok_or_else(|| unknown("dimension of"))?,
    })
}
