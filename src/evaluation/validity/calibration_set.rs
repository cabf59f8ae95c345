//! The rated answers as a judge is asked about them: each with the question of an active release. Sealed: nothing of it is
//! shown, and it has no `Debug`.

use std::collections::HashMap;
use std::sync::Arc;

use crate::domain::question::{QuestionType, Split};
use crate::judge::{is_wordless, judgement_key, normalise};
use crate::store::ratings::Rated;
use crate::store::{Store, StoreError};

use super::super::catalogue::{Catalogue, GradingRelease};

/// The questions of the active releases, by id.
pub(super) struct Questions {
    places: HashMap<String, (Arc<GradingRelease>, usize)>,
}

impl Questions {
    pub(super) async fn load(store: &Store, catalogue: &Catalogue) -> Result<Questions, StoreError> {
        let mut places = HashMap::new();
        for split in [Split::Val, Split::Test] {
            let Some((release, _)) = catalogue.active(store, split).await? else { continue };
            for (place, id) in release.key.question_ids.iter().enumerate() {
                places.insert(id.clone(), (release.clone(), place));
            }
        }
        Ok(Questions { places })
    }

    pub(super) fn question_type(&self, question_id: &str) -> Option<QuestionType> {
        let (release, place) = self.places.get(question_id)?;
        release.key.facts.get(*place).map(|facts| facts.question_type)
    }
}

/// One answer to ask about, and the items that it was rated as.
#[derive(Clone)]
pub(super) struct Target {
    pub(super) positions: Vec<usize>,
    /// Hash of the question as judged and the answer.
    pub(super) key: String,
    pub(super) release: Arc<GradingRelease>,
    pub(super) place: usize,
    /// As a judge is asked about it.
    pub(super) answer: String,
}

impl Target {
    /// Whether it is worth nothing, without a call.
    pub(super) fn is_wordless(&self) -> bool {
        is_wordless(&self.answer)
    }
}

/// What is to be asked about rated items, each answer once, and the places of those whose question is in no active release
/// any more.
pub(super) fn targets(rated: &[Rated], questions: &Questions) -> (Vec<Target>, Vec<usize>) {
    let mut targets: Vec<Target> = Vec::new();
    let mut by_key: HashMap<String, usize> = HashMap::new();
    let mut lost = Vec::new();
    for (position, rated) in rated.iter().enumerate() {
        let Some(answer) = rated.answer.as_deref().map(normalise) else { continue };
        let Some((release, place)) = questions.places.get(&rated.question_id) else {
            lost.push(position);
            continue;
        };
        let Some(key) = release.key.item(*place, &answer).map(|item| judgement_key(&item)) else {
            lost.push(position);
            continue;
        };
        let next = targets.len();
        let target = *by_key.entry(key.clone()).or_insert(next);
        if target == next {
            let (release, place) = (release.clone(), *place);
            targets.push(Target { positions: Vec::new(), key, release, place, answer });
        }
        targets[target].positions.push(position);
    }
    (targets, lost)
}
