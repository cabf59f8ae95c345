//! What needs a maintainer now: what waits, how much of it, and since when. Decides nothing.

use std::collections::BTreeMap;

use serde::Serialize;

use crate::domain::flag::FlagKind;
use crate::domain::instant::{day, rfc3339};
use crate::domain::outcome::FailureReason;
use crate::domain::question::Split;
use crate::domain::submission::{PausedFor, SubmissionState};
use crate::limiter::Closed;
use crate::store::configurations::{ConfigurationRow, STAGED, load_configurations};
use crate::store::judgements::load_spent_usd;
use crate::store::overview::{Count, count_failures, count_in_state, count_paused, count_signups};
use crate::store::rejudgings::load_coverage;
use crate::store::releases::{Release, load_releases};
use crate::store::{DbConnection, StoreError, flag_queue};

/// How many there are, and since when the oldest waits.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, utoipa::ToSchema)]
pub struct Waiting {
    /// How many.
    pub count: i64,
    /// When the oldest came; null where there is none.
    pub oldest_at: Option<String>,
}

impl From<Count> for Waiting {
    fn from((count, oldest_ms): Count) -> Waiting {
        Waiting { count, oldest_at: oldest_ms.map(rfc3339) }
    }
}

/// Submissions that have not come to scores.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, utoipa::ToSchema)]
pub struct Troubled {
    /// With answers that could not be judged.
    pub incomplete: Waiting,
    /// Their answers without a judgement, by why.
    #[schema(value_type = BTreeMap<String, i64>)]
    pub unjudged_answers: BTreeMap<FailureReason, i64>,
    /// Ended by a fault of the server.
    pub failed: Waiting,
    /// Whose judging rests for want of money.
    pub paused_for_budget: Waiting,
    /// Whose judging rests since the judge is out of reach.
    pub paused_for_judge: Waiting,
}

/// Whether the judge can be asked.
#[derive(Debug, Clone, PartialEq, Serialize, utoipa::ToSchema)]
pub struct JudgeToday {
    /// The current configuration; null before the first server has started.
    pub configuration: Option<String>,
    /// Its model.
    pub model: Option<String>,
    /// Dollars that today (UTC) has cost so far.
    pub spent_usd: f64,
    /// Dollars that a day may cost; null without a budget.
    pub budget_usd: Option<f64>,
    /// Dollars that are left today, at least 0; null without a budget.
    pub left_usd: Option<f64>,
    /// Whether calls are held back after too many failures; null where that is not known here.
    pub circuit_open: Option<bool>,
    /// What opened the circuit; null while it is not open.
    pub circuit_cause: Option<String>,
}

/// How far a staged judge configuration has come with the published entries.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, utoipa::ToSchema)]
pub struct Staged {
    /// The configuration.
    pub configuration: String,
    /// Its model.
    pub model: String,
    /// Published entries.
    pub entries: i64,
    /// Of these, entries with complete scores under it.
    pub complete: i64,
    /// Of these, entries that wait to be judged under it.
    pub pending: i64,
    /// Of these, entries with answers that could not be judged under it.
    pub incomplete: i64,
}

/// A release that came after the active one of its split.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, utoipa::ToSchema)]
pub struct ReleaseToActivate {
    /// The split.
    pub split: Split,
    /// Its name.
    pub release: String,
    /// When it was imported.
    pub imported_at: String,
}

/// What needs a maintainer now.
#[derive(Debug, Clone, PartialEq, Serialize, utoipa::ToSchema)]
pub struct Overview {
    /// When this was so.
    pub at: String,
    /// Whether anything waits for a maintainer.
    pub needs_attention: bool,
    /// Sign-ups that wait for a decision.
    pub signups: Waiting,
    /// Open flags, by kind.
    #[schema(value_type = BTreeMap<String, Waiting>)]
    pub flags: BTreeMap<FlagKind, Waiting>,
    /// Submissions that have not come to scores.
    pub submissions: Troubled,
    /// Whether the judge can be asked.
    pub judge: JudgeToday,
    /// The staged judge configuration; null where none is.
    pub staged: Option<Staged>,
    /// Releases that may become active.
    pub releases: Vec<ReleaseToActivate>,
}

/// What a process knows of its judge that the database does not.
#[derive(Debug, Clone, PartialEq)]
pub struct JudgeKnown {
    /// Dollars that a UTC day may cost, if there is such a limit.
    pub budget_usd: Option<f64>,
    /// Whether calls are held back; none where the process asks no judge.
    pub circuit_open: Option<bool>,
    /// What opened the circuit, if it is open.
    pub circuit_cause: Option<String>,
}

impl JudgeKnown {
    /// What a process knows with this budget and, if it asks a judge, what its gate says of the circuit.
    pub fn new(budget_usd: Option<f64>, gate: Option<Option<&Closed>>) -> JudgeKnown {
        let circuit_cause = gate.flatten().map(|closed| format!("{}: {}", closed.cause, closed.detail));
        JudgeKnown { budget_usd, circuit_open: gate.map(|closed| closed.is_some()), circuit_cause }
    }
}

/// What needs a maintainer now.
///
/// # Errors
/// When the database fails.
pub fn overview(
    connection: &mut DbConnection,
    known: JudgeKnown,
    now_ms: i64,
) -> Result<Overview, StoreError> {
    let signups: Waiting = count_signups(connection)?.into();
    let mut flags: BTreeMap<FlagKind, Waiting> =
        FlagKind::ALL.iter().map(|kind| (*kind, Waiting::from((0, None)))).collect();
    for (kind, open) in flag_queue::count_open(connection)? {
        flags.insert(kind, open.into());
    }
    let submissions = troubled(connection)?;
    let configurations = load_configurations(connection)?;
    let judge = judge_today(connection, &configurations, known, now_ms)?;
    let staged = staged(connection, &configurations)?;
    let releases = to_activate(connection)?;
    let Troubled { incomplete, failed, paused_for_budget, paused_for_judge, .. } = &submissions;
    let counts = [&signups, incomplete, failed, paused_for_budget, paused_for_judge];
    let needs_attention = counts.into_iter().chain(flags.values()).any(|waiting| waiting.count > 0)
        || judge.circuit_open == Some(true)
        || judge.left_usd.is_some_and(|left_usd| left_usd <= 0.0)
        || staged.as_ref().is_some_and(|staged| staged.pending == 0)
        || !releases.is_empty();
    Ok(Overview {
        at: rfc3339(now_ms),
        needs_attention,
        signups,
        flags,
        submissions,
        judge,
        staged,
        releases,
    })
}

/// Whether a release came after the active one of its split, so that somebody may want to make it the active one.
pub fn is_newer_than_active<'r>(release: &Release, mut all: impl Iterator<Item = &'r Release>) -> bool {
    let active = all.find(|other| other.active && other.split == release.split);
    !release.active && active.is_none_or(|active| release.created_at_ms > active.created_at_ms)
}

/// Releases that may become active, oldest first.
fn to_activate(connection: &mut DbConnection) -> Result<Vec<ReleaseToActivate>, StoreError> {
    let mut releases = load_releases(connection)?;
    releases.sort_by_key(|release| release.created_at_ms);
    let newer = releases.iter().filter(|release| is_newer_than_active(release, releases.iter()));
    let view = |release: &Release| ReleaseToActivate {
        split: release.split,
        release: release.name.clone(),
        imported_at: rfc3339(release.created_at_ms),
    };
    Ok(newer.map(view).collect())
}

fn troubled(connection: &mut DbConnection) -> Result<Troubled, StoreError> {
    let mut troubled = Troubled {
        incomplete: count_in_state(connection, SubmissionState::Incomplete)?.into(),
        unjudged_answers: count_failures(connection)?.into_iter().collect(),
        failed: count_in_state(connection, SubmissionState::Failed)?.into(),
        paused_for_budget: (0, None).into(),
        paused_for_judge: (0, None).into(),
    };
    for (paused_for, resting) in count_paused(connection)? {
        let waiting = match paused_for {
            PausedFor::Budget => &mut troubled.paused_for_budget,
            PausedFor::JudgeUnavailable => &mut troubled.paused_for_judge,
        };
        *waiting = resting.into();
    }
    Ok(troubled)
}

fn judge_today(
    connection: &mut DbConnection,
    configurations: &[ConfigurationRow],
    known: JudgeKnown,
    now_ms: i64,
) -> Result<JudgeToday, StoreError> {
    let JudgeKnown { budget_usd, circuit_open, circuit_cause } = known;
    let current = configurations.iter().find(|row| row.is_current());
    let (configuration, model) = current.map(|row| (row.id.clone(), row.model.clone())).unzip();
    let spent_usd = load_spent_usd(connection, &day(now_ms))?;
    let left_usd = budget_usd.map(|budget_usd| (budget_usd - spent_usd).max(0.0));
    Ok(JudgeToday { configuration, model, spent_usd, budget_usd, left_usd, circuit_open, circuit_cause })
}

fn staged(
    connection: &mut DbConnection,
    configurations: &[ConfigurationRow],
) -> Result<Option<Staged>, StoreError> {
    let Some(row) = configurations.iter().find(|row| row.state == STAGED) else { return Ok(None) };
    let (entries, coverage) = load_coverage(connection)?;
    let coverage = coverage.get(&row.id).copied().unwrap_or_default();
    Ok(Some(Staged {
        configuration: row.id.clone(),
        model: row.model.clone(),
        entries,
        complete: coverage.complete,
        pending: coverage.pending,
        incomplete: coverage.incomplete,
    }))
}
