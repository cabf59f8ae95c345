//! A maintainer does not believe the judgements on a submission and has its answers asked about again: what that takes, how
//! far it is, and the request. Knows nothing of how answers are judged.

use std::collections::HashSet;
use std::sync::Arc;

use serde::Serialize;

use crate::domain::actor::Actor;
use crate::domain::instant::{day, rfc3339};
use crate::domain::line::Line;
use crate::domain::submission::{SubmissionState, reason_fault};
use crate::judge::{Configuration, Usage};
use crate::store::anew::{Anew, delete_rejudging, find_anew, insert_anew};
use crate::store::audit::insert_audit;
use crate::store::configurations::{ConfigurationRow, find_current_configuration, lock_configurations};
use crate::store::decisions::load_decided;
use crate::store::judgements::{load_judged_since, load_spent_usd};
use crate::store::releases::load_release;
use crate::store::scores::Under;
use crate::store::submissions::Submission;
use crate::store::{DbConnection, Store, StoreError, bump_board_revision, failures, leases};

use super::Evaluation;
use super::carrying::carried;
use super::catalogue::{Catalogue, GradingRelease};
use super::intake::deliver;
use super::judges::{Judges, JudgesError};
use super::lifecycle::{LifecycleError, owned};
use super::sharing::{count_sharers, given_answers};
use super::staging::StagingError;
use super::staging_cost::{Needed, needed};

/// Why a submission's answers are not asked about again.
#[derive(Debug, thiserror::Error)]
pub enum AnewError {
    /// There is none, its state does not allow it, or the reason is faulty.
    #[error(transparent)]
    Lifecycle(#[from] LifecycleError),
    /// It stands under something else than the board.
    #[error(
        "the submission's scores are not those of the active release and the current judge configuration; once it is \
         published it is judged under them anyway"
    )]
    NotCurrent,
    /// That is under way.
    #[error("the submission is being rejudged since {0}; its scores change once all answers are judged")]
    UnderWay(String),
    /// That is not under way.
    #[error("the submission is not being rejudged")]
    Idle,
    /// Nothing was judged.
    #[error(
        "the judge has scored no answer of the submission: it has no open-ended answer that is not decided by hand"
    )]
    NothingJudged,
    /// The cost cannot be worked out.
    #[error(transparent)]
    Cost(#[from] StagingError),
    /// The database failed.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// What asking about a submission's answers again takes, and how far it is.
#[derive(Debug, Clone, PartialEq, Serialize, utoipa::ToSchema)]
pub struct Rejudging {
    /// The submission.
    pub submission: String,
    /// The judge configuration: the one that the board stands under.
    pub configuration: String,
    /// Its model.
    pub model: String,
    /// Since when that is asked for; null where it is not, or is done.
    pub requested_at: Option<String>,
    /// Whether it goes on by itself; where it was asked for and does not, answers could not be judged, which a retry asks
    /// about once more.
    pub pending: bool,
    /// How many answers could not be judged.
    pub failed: i32,
    /// Answers that are asked about again.
    pub answers: usize,
    /// Answers that maintainers decided by hand: they stay as they are.
    pub decided: usize,
    /// Calls to the judge that are left.
    pub calls: usize,
    /// Tokens to send in these, estimated.
    pub prompt_tokens: u64,
    /// Tokens that come back at most.
    pub completion_tokens: u64,
    /// Dollars at most, where each call needs one try; null where no price is set and there are calls to make.
    pub cost_usd: Option<f64>,
    /// Other submissions that gave one of the answers, and take over the new judgement without a call.
    pub others: usize,
    /// Whether the day's budget is spent, so that it waits till the next.
    pub budget_spent: bool,
}

/// What is known of a submission that may be rejudged.
struct Case {
    submission: Submission,
    under: Under,
    current: ConfigurationRow,
    anew: Option<Anew>,
}

/// The judgements that a case needs.
struct Plan {
    case: Case,
    release: Arc<GradingRelease>,
    answers: Vec<Option<String>>,
    needed: Vec<Needed>,
    decided: HashSet<String>,
    /// Keys that are not to be asked about any more.
    judged: HashSet<String>,
}

fn find_case(connection: &mut DbConnection, id: &str) -> Result<Case, AnewError> {
    let submission = owned(connection, None, id)?;
    if submission.withdrawn_reason.is_some() {
        return Err(LifecycleError::Withdrawn.into());
    }
    if submission.state != SubmissionState::Scored {
        let allowed = "only the answers of a `scored` one can be asked about again";
        return Err(LifecycleError::State { state: submission.state, allowed }.into());
    }
    let current = find_current_configuration(connection)?;
    let current = current.ok_or(StagingError::Judges(JudgesError::NoneCurrent))?;
    let under = Under::of(&submission).filter(|under| under.configuration_id == current.id);
    let under = under.ok_or(AnewError::NotCurrent)?;
    if !load_release(connection, &under.release_id)?.active {
        return Err(AnewError::NotCurrent);
    }
    let anew = find_anew(connection, id, &under)?;
    Ok(Case { submission, under, current, anew })
}

impl Case {
    /// Refuses what is under way already.
    fn idle(self) -> Result<Case, AnewError> {
        match &self.anew {
            Some(anew) if anew.is_pending => Err(AnewError::UnderWay(rfc3339(anew.since_ms))),
            _ => Ok(self),
        }
    }
}

/// Finds out what is to be asked where no judgement older than `since_ms` counts.
async fn plan(store: &Store, catalogue: &Catalogue, case: Case, since_ms: i64) -> Result<Plan, AnewError> {
    let (release, answers) = carried(store, catalogue, &case.submission.id, &case.under.release_id).await?;
    let unreadable = |_| StagingError::Judges(JudgesError::Text(case.current.id.clone()));
    let configuration: Configuration = serde_json::from_str(&case.current.text).map_err(unreadable)?;
    let (of_release, of_submission) = (release.clone(), answers.clone());
    let needed = tokio::task::spawn_blocking(move || needed(&of_release, &of_submission, &configuration));
    let needed = needed.await.map_err(StoreError::from)??;
    let keys: Vec<String> = needed.iter().map(|needed| needed.key.clone()).collect();
    let id = case.current.id.clone();
    let found: Result<_, StoreError> = store
        .read(move |connection| {
            let judged =
                load_judged_since(connection, &id, &keys, since_ms)?.into_keys().collect::<HashSet<_>>();
            let decided = load_decided(connection, &id)?.into_iter().map(|(_, key)| key);
            let decided = decided.filter(|key| judged.contains(key)).collect::<HashSet<_>>();
            Ok((judged, decided))
        })
        .await;
    let (judged, decided) = found?;
    let plan = Plan { case, release, answers, needed, decided, judged };
    if plan.asked().next().is_none() { Err(AnewError::NothingJudged) } else { Ok(plan) }
}

impl Plan {
    /// What is asked about in all.
    fn asked(&self) -> impl Iterator<Item = &Needed> {
        self.needed.iter().filter(|needed| !self.decided.contains(&needed.key))
    }

    /// What is still to be asked about.
    fn left(&self) -> impl Iterator<Item = &Needed> {
        self.needed.iter().filter(|needed| !self.judged.contains(&needed.key))
    }

    async fn view(
        &self,
        store: &Store,
        catalogue: &Catalogue,
        judges: &Judges,
        now_ms: i64,
    ) -> Result<Rejudging, AnewError> {
        let Case { submission, current, anew, .. } = &self.case;
        let keys = self.asked().map(|needed| needed.key.clone()).collect();
        let given = given_answers(&self.release, &self.answers, &keys);
        let usage = self.left().fold(Usage::default(), |sum, needed| Usage {
            prompt_tokens: sum.prompt_tokens + needed.tokens.prompt_tokens,
            cached_tokens: 0,
            completion_tokens: sum.completion_tokens + needed.tokens.max_completion_tokens,
        });
        let (calls, cost_usd) = (self.left().count(), judges.cost_usd(usage));
        let spent: Result<f64, StoreError> =
            store.read(move |connection| load_spent_usd(connection, &day(now_ms))).await;
        let spent = spent?;
        Ok(Rejudging {
            submission: submission.id.clone(),
            configuration: current.id.clone(),
            model: current.model.clone(),
            requested_at: anew.map(|anew| rfc3339(anew.since_ms)),
            pending: anew.is_some_and(|anew| anew.is_pending),
            failed: anew.map_or(0, |anew| anew.failed),
            answers: keys.len(),
            decided: self.decided.len(),
            calls,
            prompt_tokens: usage.prompt_tokens,
            completion_tokens: usage.completion_tokens,
            // Tokens that cost nothing have no price.
            cost_usd: (cost_usd > 0.0 || calls == 0).then_some(cost_usd),
            others: count_sharers(store, catalogue, &current.id, &submission.id, &given).await?,
            budget_spent: judges.budget_usd().is_some_and(|budget_usd| spent >= budget_usd),
        })
    }
}

/// What asking about a submission's answers again would take.
///
/// # Errors
/// Those of [`rejudge_stored`].
pub async fn rejudging_cost(
    store: &Store,
    catalogue: &Catalogue,
    judges: &Judges,
    id: &str,
    now_ms: i64,
) -> Result<Rejudging, AnewError> {
    let id = id.to_owned();
    let case = store.snapshot(move |connection| find_case(connection, &id)).await?.idle()?;
    let case = Case { anew: None, ..case };
    plan(store, catalogue, case, now_ms).await?.view(store, catalogue, judges, now_ms).await
}

/// What asking about a submission's answers again takes or would take, and how far it is.
///
/// # Errors
/// When there is no such submission, it cannot be rejudged, or the database fails.
pub async fn find_rejudging(
    store: &Store,
    catalogue: &Catalogue,
    judges: &Judges,
    id: &str,
    now_ms: i64,
) -> Result<Rejudging, AnewError> {
    let id = id.to_owned();
    let case = store.snapshot(move |connection| find_case(connection, &id)).await?;
    let since_ms = case.anew.map_or(now_ms, |anew| anew.since_ms);
    plan(store, catalogue, case, since_ms).await?.view(store, catalogue, judges, now_ms).await
}

/// Has all answers of a scored submission that the judge has scored asked about again, under the release and configuration
/// that it stands under. Until the last is judged everything stays as it is.
///
/// # Errors
/// When there is none, it is not scored, was withdrawn or is being rejudged, nothing of it was judged, or the reason is
/// faulty.
pub async fn rejudge_submission(
    evaluation: &Evaluation,
    actor: &Actor,
    id: &str,
    reason: &str,
) -> Result<(), AnewError> {
    let now_ms = evaluation.clock.now_ms();
    let line = rejudge_stored(&evaluation.store, &evaluation.catalogue, actor, (id, reason), now_ms).await?;
    deliver(evaluation, line, id).await;
    Ok(())
}

/// What [`rejudge_submission`] does where there is no queue at hand: servers and workers look for what waits; gives the
/// line in which it does.
///
/// # Errors
/// Those of [`rejudge_submission`].
pub async fn rejudge_stored(
    store: &Store,
    catalogue: &Catalogue,
    actor: &Actor,
    (id, reason): (&str, &str),
    now_ms: i64,
) -> Result<Line, AnewError> {
    if let Some(fault) = reason_fault(reason) {
        return Err(LifecycleError::Faults(vec![fault]).into());
    }
    let (actor, id, reason) = (actor.clone(), id.to_owned(), reason.trim().to_owned());
    let named = id.clone();
    let case = store.snapshot(move |connection| find_case(connection, &named)).await?.idle()?;
    let calls = plan(store, catalogue, case, now_ms).await?.left().count();
    store
        .write(move |connection| {
            // No other configuration becomes current and no other release active meanwhile.
            lock_configurations(connection)?;
            // Nor is it withdrawn.
            leases::lock_lease(connection, &id)?;
            let Case { submission, under, .. } = find_case(connection, &id)?.idle()?;
            failures::reset_calls(connection, &id)?;
            insert_anew(connection, &id, &under, now_ms)?;
            let after = serde_json::json!({
                "configuration": under.configuration_id, "calls": calls, "reason": reason,
            });
            let subject = (&actor, "rejudge_submission", id.as_str());
            insert_audit(connection, now_ms, subject, None, Some(&after.to_string()))?;
            Ok(Line::background(submission.metadata.split))
        })
        .await
}

/// Gives up asking about a submission's answers again: everything stays as it is.
///
/// # Errors
/// When there is no such submission, it is not being rejudged, or the database fails.
pub async fn cancel_rejudging(store: &Store, actor: &Actor, id: &str, now_ms: i64) -> Result<(), AnewError> {
    let (actor, id) = (actor.clone(), id.to_owned());
    store
        .write(move |connection| {
            lock_configurations(connection)?;
            // Whoever is at it stops.
            leases::revoke_lease(connection, &id)?;
            let Case { under, anew, .. } = find_case(connection, &id)?;
            let anew = anew.ok_or(AnewError::Idle)?;
            delete_rejudging(connection, &id, &under)?;
            // Maintainers are told no more of it.
            bump_board_revision(connection)?;
            let before = serde_json::json!({ "since": rfc3339(anew.since_ms), "failed": anew.failed });
            let subject = (&actor, "cancel_rejudging", id.as_str());
            Ok(insert_audit(connection, now_ms, subject, Some(&before.to_string()), None)?)
        })
        .await
}
