//! What judging a file would take, before it is submitted. Stores nothing and asks nobody.

use std::collections::HashMap;
use std::sync::Arc;

use serde::Serialize;

use crate::judge::{self, Configuration, Item, Usage};
use crate::store::configurations::find_current_configuration;
use crate::store::judgements::load_judged;
use crate::store::spend::load_mean_completion_tokens;
use crate::store::{DbConnection, StoreError};

use super::Evaluation;
use super::catalogue::GradingRelease;
use super::staging_cost::assumed_reply;

/// What judging would take under the current configuration.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, utoipa::ToSchema)]
pub struct JudgingEstimate {
    /// Answers that a judge would be asked about.
    pub calls: usize,
    /// Answers whose judgement stands already.
    pub reused: usize,
    /// Answers that are missing or say nothing, which score 0 without a call.
    pub without_call: usize,
    /// Tokens to send, about.
    pub prompt_tokens: u64,
    /// Tokens that would come back, as in calls of the same rubric so far, or else at most.
    pub completion_tokens: u64,
    /// Dollars; null where no price is set.
    pub cost_usd: Option<f64>,
}

/// What judging these answers to a release would take; none while no configuration is current.
///
/// # Errors
/// When the database fails or the configuration cannot be read.
pub(super) async fn estimate(
    evaluation: &Evaluation,
    release: Arc<GradingRelease>,
    answers: Vec<Option<String>>,
) -> Result<Option<JudgingEstimate>, StoreError> {
    let counted = evaluation.store.read(move |connection| count(connection, &release, &answers)).await?;
    Ok(counted.map(|(counts, usage)| {
        let cost_usd = evaluation.judges.cost_usd(usage);
        // Tokens that cost nothing have no price.
        let is_known = cost_usd > 0.0 || usage == Usage::default();
        let Usage { prompt_tokens, completion_tokens, .. } = usage;
        JudgingEstimate { prompt_tokens, completion_tokens, cost_usd: is_known.then_some(cost_usd), ..counts }
    }))
}

fn count(
    connection: &mut DbConnection,
    release: &GradingRelease,
    answers: &[Option<String>],
) -> Result<Option<(JudgingEstimate, Usage)>, StoreError> {
    let Some(row) = find_current_configuration(connection)? else { return Ok(None) };
    let unreadable = || StoreError::Unknown { what: "judge configuration", value: row.id.clone() };
    let configuration: Configuration = serde_json::from_str(&row.text).map_err(|_| unreadable())?;
    let normalised: Vec<(usize, String)> = answers
        .iter()
        .enumerate()
        .filter_map(|(place, answer)| Some((place, judge::normalise(answer.as_deref()?))))
        .filter(|(_, answer)| !judge::is_wordless(answer))
        .collect();
    let items: HashMap<String, Item<'_>> = normalised
        .iter()
        .filter_map(|(place, answer)| release.key.item(*place, answer))
        .map(|item| (judge::judgement_key(&item), item))
        .collect();
    let keys: Vec<String> = items.keys().cloned().collect();
    let standing = load_judged(connection, &row.id, &keys)?;
    let past = load_mean_completion_tokens(connection, &row.id)?;
    let mut usage = Usage::default();
    for (_, item) in items.iter().filter(|(key, _)| !standing.contains_key(*key)) {
        let tokens = configuration.estimate(item).map_err(|_| unreadable())?;
        usage.prompt_tokens += tokens.prompt_tokens;
        let reply = assumed_reply(&past, item.rubric, tokens.max_completion_tokens);
        usage.completion_tokens += reply.tokens.ceil() as u64;
    }
    let counts = JudgingEstimate {
        calls: items.len() - standing.len(),
        reused: standing.len(),
        without_call: release.key.to_judge() - items.len(),
        prompt_tokens: 0,
        completion_tokens: 0,
        cost_usd: None,
    };
    Ok(Some((counts, usage)))
}
