//! Releases in the form in which answers are read and graded, kept in memory: a release never changes. Knows nothing
//! of submissions.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use crate::domain::question::Split;
use crate::predictions::QuestionIndex;
use crate::scoring::columns::QuestionFacts;
use crate::store::releases::{self, KeyedQuestion, Release};
use crate::store::{Store, StoreError};

use super::grading::{GradingKey, GradingQuestion, KeyFault};

/// A release with its keys, ready for grading. It has no `Debug`, so that no log can hold it.
pub struct GradingRelease {
    /// Id, name and hash.
    pub release: Release,
    /// Its questions with their keys.
    pub key: GradingKey,
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
        Ok(QuestionIndex::new(release.release.split, release.key.formats(), others?))
    }
}

impl GradingRelease {
    /// Prepares a release for grading.
    ///
    /// # Errors
    /// When a stored key is none that an import lets pass.
    pub fn new(release: Release, questions: Vec<KeyedQuestion>) -> Result<GradingRelease, StoreError> {
        let unknown = |KeyFault(value)| StoreError::Unknown { what: "key of", value };
        let key = GradingKey::new(questions.into_iter().map(GradingQuestion::from)).map_err(unknown)?;
        Ok(GradingRelease { release, key })
    }
}

impl From<KeyedQuestion> for GradingQuestion {
    fn from(question: KeyedQuestion) -> GradingQuestion {
        let KeyedQuestion { public, key, camera } = question;
        let facts = QuestionFacts {
            question_type: public.question_type,
            camera,
            video: usize::try_from(public.video.position).unwrap_or_default(),
        };
        GradingQuestion {
            question_id: public.question_id,
            facts,
            question: public.question,
            options: public.options,
            answer: key.answer,
            answer_text: key.answer_text,
            evidence: key.evidence,
        }
    }
}
