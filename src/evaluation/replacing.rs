//! The end of asking about a submission's answers anew: what came replaces what stood in one step, for it and for all who
//! gave one of the answers. Knows nothing of how answers are asked about.

use std::collections::{HashMap, HashSet};

use crate::domain::outcome::Outcome;
use crate::store::anew::delete_rejudging;
use crate::store::configurations::ConfigurationRow;
use crate::store::judgements::{load_judged_since, replace_judgements};
use crate::store::leases::{Lease, release_lease, revoke_lease, revoke_others};
use crate::store::scores::{self, Under};
use crate::store::submissions::find_submission;
use crate::store::{DbConnection, StoreError, bump_board_revision, rejudgings};

use super::Evaluation;
use super::ending::Ending;
use super::holding::fenced_under;
use super::judging::{Work, pending};
use super::sharing::{GivenAnswers, OutcomeIds, Sharer, find_sharer, given_answers};
use super::work::{WorkError, count};

/// The scores that are new, by the key of their judgement.
type NewScores = HashMap<String, [u8; 3]>;

/// What one submission comes to.
struct Change {
    ids: OutcomeIds,
    before: Vec<Outcome>,
    /// Whether nothing waited or failed, so that its scores could be read.
    was_complete: bool,
    after: Ending,
}

/// What is to be stored at once.
struct Replacement {
    under: Under,
    since_ms: i64,
    scores: NewScores,
    changes: Vec<Change>,
    /// Whatever had outcomes when this was worked out.
    seen: HashSet<OutcomeIds>,
}

/// How storing it went.
enum Stored {
    Done,
    /// Some have outcomes that are not those of which this was worked out.
    Moved(Box<Replacement>, Vec<OutcomeIds>),
    /// One of the judgements was replaced meanwhile.
    Overtaken,
}

/// Replaces judgements, outcomes and scores once all answers of a submission are judged anew; where some have failed,
/// everything stays as it was. None where a judgement was replaced meanwhile: what came is to be looked at again.
pub(super) async fn replace(
    evaluation: &Evaluation,
    work: &Work<'_>,
    outcomes: Vec<Outcome>,
    since_ms: i64,
) -> Result<Option<&'static str>, WorkError> {
    let under = Under::new(&work.release.release.id, work.configuration_id);
    let failed = count(outcomes.iter().filter(|outcome| matches!(outcome, Outcome::Failed(_))).count());
    if failed > 0 {
        let (id, lease) = (work.submission.id.clone(), work.lease.clone());
        fenced_under(evaluation, work.lease, work.configuration_id, move |connection, _, now_ms| {
            rejudgings::end_rejudging(connection, &id, &under, Some(failed), now_ms)?;
            release_lease(connection, &lease)?;
            // Maintainers are told of it where others wait too.
            bump_board_revision(connection)?;
            Ok(Some(()))
        })
        .await?;
        return Ok(Some("done"));
    }
    let scores = new_scores(work, &outcomes);
    let given = given_answers(&work.release, work.answers, &scores.keys().cloned().collect());
    let mut next = Replacement { under, since_ms, scores, changes: Vec::new(), seen: HashSet::new() };
    loop {
        next.look(evaluation, &given).await?;
        match store(evaluation, work, next).await? {
            Stored::Done => return Ok(Some("done")),
            Stored::Overtaken => return Ok(None),
            Stored::Moved(again, moved) => {
                next = *again;
                next.changes.retain(|change| !moved.contains(&change.ids));
                next.seen.retain(|ids| !moved.contains(ids));
            }
        }
    }
}

/// The scores of all answers that a judge or a maintainer scored.
fn new_scores(work: &Work<'_>, outcomes: &[Outcome]) -> NewScores {
    let asked = super::grading::grade(&work.release.key, work.answers).outcomes;
    let scored = pending(work, &asked).into_iter().filter_map(|pending| match outcomes[pending.place] {
        Outcome::Rubric { scores } => Some((pending.key, scores)),
        _ => None,
    });
    scored.collect()
}

impl Replacement {
    /// Works out what those come to that were not looked at yet.
    async fn look(&mut self, evaluation: &Evaluation, given: &GivenAnswers) -> Result<(), WorkError> {
        let (store, catalogue) = (&evaluation.store, &evaluation.catalogue);
        let configuration_id = self.under.configuration_id.clone();
        let id = configuration_id.clone();
        let found: Result<Vec<OutcomeIds>, StoreError> =
            store.read(move |connection| scores::load_outcome_ids(connection, &id)).await;
        for ids in found? {
            if !self.seen.insert(ids.clone()) {
                continue;
            }
            if let Some(sharer) = find_sharer(store, catalogue, &configuration_id, ids, given).await? {
                self.changes.push(self.change(evaluation, sharer).await?);
            }
        }
        Ok(())
    }

    async fn change(&self, evaluation: &Evaluation, sharer: Sharer) -> Result<Change, WorkError> {
        let Sharer { ids, release, answers, outcomes: before, shared } = sharer;
        let mut after = before.clone();
        for (place, key) in &shared {
            // What waits takes over what stands by then, and what has failed is tried again by a maintainer.
            if let (Outcome::Rubric { .. }, Some(scores)) = (&before[*place], self.scores.get(key)) {
                after[*place] = Outcome::Rubric { scores: *scores };
            }
        }
        let is_open = |outcome: &Outcome| matches!(outcome, Outcome::Pending | Outcome::Failed(_));
        let was_complete = !before.iter().any(is_open);
        let id = &self.under.configuration_id;
        let after = Ending::of(evaluation, (&release, &answers), id, after).await?;
        Ok(Change { ids, before, was_complete, after })
    }

    /// Those whose outcomes are not those of which this was worked out, or that have some since. Whoever worked on them
    /// has lost the lease before.
    fn moved(&self, connection: &mut DbConnection) -> Result<Vec<OutcomeIds>, StoreError> {
        let id = &self.under.configuration_id;
        let present = scores::load_outcome_ids(connection, id)?;
        let mut moved: Vec<OutcomeIds> = present.into_iter().filter(|ids| !self.seen.contains(ids)).collect();
        for Change { ids, before, .. } in &self.changes {
            let found = scores::find_outcomes(connection, &ids.0, &Under::new(&ids.1, id))?;
            if found.as_ref() != Some(before) {
                moved.push(ids.clone());
            }
        }
        Ok(moved)
    }

    fn save(&self, connection: &mut DbConnection, id: &str, now_ms: i64) -> Result<(), StoreError> {
        let keys: Vec<String> = self.scores.keys().cloned().collect();
        replace_judgements(connection, &self.under.configuration_id, &keys)?;
        for Change { ids, was_complete, before, after } in &self.changes {
            after.save(connection, &ids.0)?;
            if *was_complete && (ids.0 == id || after.outcomes() != before) {
                scores::note_rejudged(connection, &ids.0, after.under(), now_ms)?;
            }
        }
        rejudgings::end_rejudging(connection, id, &self.under, None, now_ms)
    }
}

/// Stores it all at once, or says why not.
async fn store(evaluation: &Evaluation, work: &Work<'_>, next: Replacement) -> Result<Stored, WorkError> {
    let held = work.lease.clone();
    fenced_under(evaluation, work.lease, work.configuration_id, move |connection, configuration, now_ms| {
        try_store(connection, configuration, &held, next, now_ms).map(Some)
    })
    .await
}

fn try_store(
    connection: &mut DbConnection,
    configuration: &ConfigurationRow,
    held: &Lease,
    next: Replacement,
    now_ms: i64,
) -> Result<Stored, StoreError> {
    let id = held.name.as_str();
    let submission = find_submission(connection, id)?;
    if submission.is_none_or(|submission| submission.withdrawn_reason.is_some()) {
        delete_rejudging(connection, id, &next.under)?;
        release_lease(connection, held)?;
        return Ok(Stored::Done);
    }
    // Whoever read what stood till now must not store it, and who comes now waits for the configuration or for a lease.
    revoke_others(connection, id)?;
    for Change { ids, .. } in next.changes.iter().filter(|change| change.ids.0 != id) {
        revoke_lease(connection, &ids.0)?;
    }
    let moved = next.moved(connection)?;
    if !moved.is_empty() {
        return Ok(Stored::Moved(Box::new(next), moved));
    }
    let keys: Vec<String> = next.scores.keys().cloned().collect();
    if load_judged_since(connection, &configuration.id, &keys, next.since_ms)? != next.scores {
        return Ok(Stored::Overtaken);
    }
    next.save(connection, id, now_ms)?;
    release_lease(connection, held)?;
    bump_board_revision(connection)?;
    Ok(Stored::Done)
}
