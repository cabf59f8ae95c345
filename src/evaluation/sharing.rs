//! Which submissions gave answers that another one gave too, and so stand on the same judgements. Changes nothing.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use crate::domain::outcome::Outcome;
use crate::judge;
use crate::store::scores::{Under, find_outcomes, load_outcome_ids};
use crate::store::{Store, StoreError};

use super::carrying::{Answers, carried};
use super::catalogue::{Catalogue, GradingRelease};

/// An answer, normalised, with the key of its judgement.
pub(super) struct Given {
    pub(super) answer: String,
    pub(super) key: String,
}

/// Answers by the question's id.
pub(super) type GivenAnswers = Arc<HashMap<String, Given>>;

/// A submission's id and a release's, under which the submission has outcomes.
pub(super) type OutcomeIds = (String, String);

/// A submission that gave some of the answers, under one of the releases that it has outcomes under.
pub(super) struct Sharer {
    pub(super) ids: OutcomeIds,
    pub(super) release: Arc<GradingRelease>,
    pub(super) answers: Answers,
    pub(super) outcomes: Vec<Outcome>,
    /// The places of the answers, with the keys of their judgements.
    pub(super) shared: Vec<(usize, String)>,
}

/// The answers that are judged under these keys.
pub(super) fn given_answers(
    release: &GradingRelease,
    answers: &[Option<String>],
    keys: &HashSet<String>,
) -> GivenAnswers {
    let given = |(place, answer): (usize, &Option<String>)| {
        let answer = judge::normalise(answer.as_deref()?);
        let key = judge::judgement_key(&release.key.item(place, &answer)?);
        let question_id = release.key.question_ids.get(place)?;
        keys.contains(&key).then(|| (question_id.clone(), Given { answer, key }))
    };
    Arc::new(answers.iter().enumerate().filter_map(given).collect())
}

/// A submission with outcomes under a configuration, if it gave some of the answers.
///
/// # Errors
/// When its answers cannot be read or the database fails.
pub(super) async fn find_sharer(
    store: &Store,
    catalogue: &Catalogue,
    configuration_id: &str,
    ids: OutcomeIds,
    given: &GivenAnswers,
) -> Result<Option<Sharer>, StoreError> {
    let (submission_id, release_id) = ids.clone();
    let (release, answers) = carried(store, catalogue, &submission_id, &release_id).await?;
    let under = Under::new(&release_id, configuration_id);
    let found = store.read(move |connection| find_outcomes(connection, &submission_id, &under)).await;
    let found: Result<Option<Vec<Outcome>>, StoreError> = found;
    // None: it was restarted just now, and will take over what stands then.
    let Some(outcomes) = found? else { return Ok(None) };
    let given = given.clone();
    let sharer = tokio::task::spawn_blocking(move || {
        let shared = shared(&release, &answers, &given);
        Sharer { ids, release, answers, outcomes, shared }
    })
    .await?;
    Ok(Some(sharer).filter(|sharer| !sharer.shared.is_empty()))
}

fn shared(
    release: &GradingRelease,
    answers: &[Option<String>],
    given: &HashMap<String, Given>,
) -> Vec<(usize, String)> {
    let mut shared = Vec::new();
    for (place, (question_id, answer)) in release.key.question_ids.iter().zip(answers).enumerate() {
        let (Some(given), Some(answer)) = (given.get(question_id), answer) else { continue };
        if judge::normalise(answer) != given.answer {
            continue;
        }
        // Another release of the line may ask something else.
        let item = release.key.item(place, &given.answer);
        if item.is_some_and(|item| judge::judgement_key(&item) == given.key) {
            shared.push((place, given.key.clone()));
        }
    }
    shared
}

/// How many submissions beside `submission_id` have scores that rest on judgements of these answers.
///
/// # Errors
/// When answers cannot be read or the database fails.
pub(super) async fn count_sharers(
    store: &Store,
    catalogue: &Catalogue,
    configuration_id: &str,
    submission_id: &str,
    given: &GivenAnswers,
) -> Result<usize, StoreError> {
    let id = configuration_id.to_owned();
    let found: Result<Vec<OutcomeIds>, StoreError> =
        store.read(move |connection| load_outcome_ids(connection, &id)).await;
    let mut sharing = HashSet::new();
    for ids in found? {
        if ids.0 == submission_id || sharing.contains(&ids.0) {
            continue;
        }
        let Some(sharer) = find_sharer(store, catalogue, configuration_id, ids, given).await? else {
            continue;
        };
        let is_scored =
            |(place, _): &(usize, String)| matches!(sharer.outcomes[*place], Outcome::Rubric { .. });
        if sharer.shared.iter().any(is_scored) {
            sharing.insert(sharer.ids.0);
        }
    }
    Ok(sharing.len())
}
