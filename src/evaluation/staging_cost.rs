//! What it would cost to judge published entries under a configuration. Asks no judge and stores nothing.

use std::collections::{BTreeMap, HashSet};

use serde::Serialize;

use crate::domain::outcome::Outcome;
use crate::domain::question::Rubric;
use crate::judge::{self, Configuration, TokenEstimate, Usage};
use crate::store::anew::find_anew;
use crate::store::configurations::ConfigurationRow;
use crate::store::scores::Under;
use crate::store::spend::load_mean_completion_tokens;
use crate::store::standing::EntryIds;
use crate::store::submissions::find_submission;
use crate::store::{Store, StoreError};

use super::carrying::carried;
use super::catalogue::{Catalogue, GradingRelease};
use super::grading::grade;
use super::judges::{Judges, JudgesError};
use super::staging::StagingError;
use super::verdicts::load_standing;

/// Where an assumed number of tokens comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, utoipa::ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum Basis {
    /// The mean of the calls so far.
    PastJudgements,
    /// The most that a reply may have.
    Cap,
}

/// How long a reply is taken to be.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, utoipa::ToSchema)]
pub struct AssumedReply {
    /// Tokens of one reply.
    pub tokens: f64,
    /// Where that number comes from.
    pub basis: Basis,
}

/// What judging published entries under a configuration takes.
#[derive(Debug, Clone, Default, PartialEq, Serialize, utoipa::ToSchema)]
pub struct StagingCost {
    /// Entries without complete scores under it.
    pub entries: usize,
    /// Their answers that a judge scores.
    pub answers: usize,
    /// Different judgements among these that stand already.
    pub reused: usize,
    /// Calls to make: one for each other judgement.
    pub calls: usize,
    /// Tokens to send, estimated.
    pub prompt_tokens: u64,
    /// Tokens that come back, estimated.
    pub completion_tokens: u64,
    /// How long a reply is taken to be, by the rubric of the calls.
    #[schema(value_type = BTreeMap<String, AssumedReply>)]
    pub assumed_replies: BTreeMap<Rubric, AssumedReply>,
    /// Dollars at the settings' prices; null where no price is set and there are calls to make.
    pub cost_usd: Option<f64>,
}

/// A judgement that an entry needs.
pub(super) struct Needed {
    pub(super) key: String,
    rubric: Rubric,
    pub(super) tokens: TokenEstimate,
}

/// Works out what judging entries, each under a release, takes under `candidate`, which need not be stored.
///
/// # Errors
/// When the configuration or stored answers cannot be read, or the database fails.
pub async fn staging_cost(
    store: &Store,
    catalogue: &Catalogue,
    judges: &Judges,
    candidate: &ConfigurationRow,
    entries: Vec<EntryIds>,
) -> Result<StagingCost, StagingError> {
    cost_since(store, catalogue, judges, candidate, entries, None).await
}

/// Works out what judging takes where no judgement counts that is older than an instant, if one is given.
async fn cost_since(
    store: &Store,
    catalogue: &Catalogue,
    judges: &Judges,
    candidate: &ConfigurationRow,
    entries: Vec<EntryIds>,
    since_ms: Option<i64>,
) -> Result<StagingCost, StagingError> {
    let configuration = configuration_of(candidate)?;
    let mut calls = Calls::of(store, candidate).await?;
    let mut cost = StagingCost { entries: entries.len(), ..StagingCost::default() };
    let mut seen = HashSet::new();
    for (submission_id, release_id) in entries {
        let (release, answers) = carried(store, catalogue, &submission_id, &release_id).await?;
        let configuration = configuration.clone();
        let needed = tokio::task::spawn_blocking(move || needed(&release, &answers, &configuration))
            .await
            .map_err(StoreError::from)??;
        cost.answers += needed.len();
        let new: Vec<Needed> = needed.into_iter().filter(|needed| seen.insert(short(&needed.key))).collect();
        let (id, keys) =
            (candidate.id.clone(), new.iter().map(|needed| needed.key.clone()).collect::<Vec<_>>());
        let standing: Result<_, StoreError> =
            store.read(move |connection| load_standing(connection, &id, &keys, since_ms)).await;
        let standing = standing?;
        for needed in new {
            if standing.contains_key(&needed.key) {
                cost.reused += 1;
                continue;
            }
            calls.add(needed.rubric, needed.tokens);
        }
    }
    Ok(calls.priced(judges, cost))
}

/// The configuration that a row holds.
pub(super) fn configuration_of(row: &ConfigurationRow) -> Result<Configuration, JudgesError> {
    serde_json::from_str(&row.text).map_err(|_| JudgesError::Text(row.id.clone()))
}

/// Calls to make under a configuration.
pub(super) struct Calls {
    /// Tokens of a reply so far, in the mean.
    past: BTreeMap<Rubric, f64>,
    /// How many there are, and the most that a reply may have.
    by_rubric: BTreeMap<Rubric, (usize, u64)>,
    prompt_tokens: u64,
}

impl Calls {
    /// No calls yet.
    pub(super) async fn of(store: &Store, configuration: &ConfigurationRow) -> Result<Calls, StoreError> {
        let id = configuration.id.clone();
        let past: Result<_, StoreError> =
            store.read(move |connection| load_mean_completion_tokens(connection, &id)).await;
        Ok(Calls { past: past?, by_rubric: BTreeMap::new(), prompt_tokens: 0 })
    }

    pub(super) fn add(&mut self, rubric: Rubric, tokens: TokenEstimate) {
        self.prompt_tokens += tokens.prompt_tokens;
        let (count, cap) = self.by_rubric.entry(rubric).or_default();
        *count += 1;
        *cap = tokens.max_completion_tokens;
    }

    /// A cost with these calls, at the settings' prices.
    pub(super) fn priced(self, judges: &Judges, mut cost: StagingCost) -> StagingCost {
        cost.prompt_tokens = self.prompt_tokens;
        for (rubric, (count, cap)) in self.by_rubric {
            let reply = assumed_reply(&self.past, rubric, cap);
            cost.calls += count;
            cost.completion_tokens += (reply.tokens * count as f64).round() as u64;
            cost.assumed_replies.insert(rubric, reply);
        }
        let usage = Usage {
            prompt_tokens: cost.prompt_tokens,
            cached_tokens: 0,
            completion_tokens: cost.completion_tokens,
        };
        let cost_usd = judges.cost_usd(usage);
        // Tokens that cost nothing have no price.
        cost.cost_usd = (cost_usd > 0.0 || cost.calls == 0).then_some(cost_usd);
        cost
    }
}

/// Works out what it takes to try a submission again: the answers without a judgement under the current configuration.
/// What was judged under it is never asked again.
///
/// # Errors
/// When there is no such submission, none is current, stored answers cannot be read, or the database fails.
pub async fn retry_cost(
    store: &Store,
    catalogue: &Catalogue,
    judges: &Judges,
    submission_id: &str,
) -> Result<StagingCost, StagingError> {
    let id = submission_id.to_owned();
    let found: Result<_, StoreError> = store
        .read(move |connection| {
            let Some(submission) = find_submission(connection, &id)? else { return Ok(None) };
            let anew = match Under::of(&submission) {
                Some(under) => find_anew(connection, &id, &under)?,
                None => None,
            };
            Ok(Some((submission, anew)))
        })
        .await;
    let (submission, anew) =
        found?.ok_or_else(|| StagingError::UnknownSubmission(submission_id.to_owned()))?;
    let current = judges.current(store).await?;
    let entries = vec![(submission.id, submission.release_id)];
    cost_since(store, catalogue, judges, &current, entries, anew.map(|anew| anew.since_ms)).await
}

/// The judgements that an entry needs, one for each of its answers that a judge scores.
pub(super) fn needed(
    release: &GradingRelease,
    answers: &[Option<String>],
    configuration: &Configuration,
) -> Result<Vec<Needed>, StagingError> {
    let outcomes = grade(&release.key, answers).outcomes;
    let mut needed = Vec::new();
    for (place, answer) in answers.iter().enumerate() {
        let (Some(answer), Some(Outcome::Pending)) = (answer, outcomes.get(place)) else { continue };
        let answer = judge::normalise(answer);
        let Some(item) = release.key.item(place, &answer) else { continue };
        let tokens = configuration.estimate(&item).map_err(JudgesError::from)?;
        needed.push(Needed { key: judge::judgement_key(&item), rubric: item.rubric, tokens });
    }
    Ok(needed)
}

/// Half of a key: enough to tell keys apart, and a board has millions of them.
fn short(key: &str) -> Option<u128> {
    u128::from_str_radix(key.get(..32)?, 16).ok()
}

/// How long a reply of a rubric is taken to be where it may have `cap` tokens; nothing comes back where it may have none.
pub(super) fn assumed_reply(past: &BTreeMap<Rubric, f64>, rubric: Rubric, cap: u64) -> AssumedReply {
    match past.get(&rubric) {
        Some(mean) if cap > 0 => AssumedReply { tokens: *mean, basis: Basis::PastJudgements },
        _ => AssumedReply { tokens: cap as f64, basis: Basis::Cap },
    }
}
