//! Which judge configuration is current, and the judges that this process has built. Knows nothing of submissions.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use crate::config::JudgeSettings;
use crate::domain::actor::Actor;
use crate::domain::question::QuestionFormat;
use crate::domain::submission::PausedFor;
use crate::judge::{
    ApiKey, BuildError, CallReport, Configuration, Endpoint, FenceSecret, Judge, Kind, Observer, PromptError,
    Prompts, Usage, build,
};
use crate::limiter::{FlowLimits, Gate};
use crate::predictions::max_answer_bytes;
use crate::store::audit::insert_audit;
use crate::store::configurations::{self, CURRENT, ConfigurationRow, STAGED};
use crate::store::history::note_board_changes;
use crate::store::rejudgings::wake_rejudgings;
use crate::store::submissions::wake_paused;
use crate::store::{Store, StoreError, bump_board_revision, load_judge_checked, note_judge_checked};
use crate::telemetry::Metrics;

use super::calls::{count_call, stand_at_zero};
use super::pace::Pace;

/// What can go wrong with judge configurations.
#[derive(Debug, thiserror::Error)]
pub enum JudgesError {
    /// The prompts cannot be used.
    #[error(transparent)]
    Prompt(#[from] PromptError),
    /// The judge cannot be built from the configuration and the settings.
    #[error(transparent)]
    Build(#[from] BuildError),
    /// The configuration cannot be written or read back.
    #[error("the judge configuration `{0}` cannot be read")]
    Text(String),
    /// No configuration is current yet.
    #[error("no judge configuration is current; start `secchi serve` once")]
    NoneCurrent,
    /// A budget without a price.
    #[error(
        "SECCHI_JUDGE_BUDGET_USD_PER_DAY cannot be kept without a price; set SECCHI_JUDGE_PRICE_IN and \
         SECCHI_JUDGE_PRICE_OUT, dollars for a million tokens"
    )]
    Unpriced,
    /// A limit of tokens that a single call may pass.
    #[error(
        "SECCHI_JUDGE_TPM is {tpm}, and one call about a long answer may take {needed} tokens; raise it, or leave it out \
         where the endpoint has no such limit"
    )]
    TooFewTokens {
        /// Tokens a minute.
        tpm: u32,
        /// Tokens of one call.
        needed: u64,
    },
    /// The database failed.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// Where judges come from.
enum Source {
    /// From the stored configuration, asking this endpoint if it is an LLM.
    Settings {
        wanted: Box<Configuration>,
        endpoint: Option<Endpoint>,
        gate: Arc<Gate>,
        observer: Observer,
        metrics: Arc<Metrics>,
        pace: Arc<Pace>,
    },
    /// Handed in by a test, which acts as the judge of whatever configuration is current.
    Given(Arc<dyn Judge>),
}

/// Dollars for a million tokens.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Prices {
    sent: f64,
    cached: f64,
    received: f64,
}

impl Prices {
    /// What so many tokens cost, in dollars.
    pub(super) fn cost_usd(self, usage: Usage) -> f64 {
        let fresh = usage.prompt_tokens.saturating_sub(usage.cached_tokens) as f64;
        let (cached, received) = (usage.cached_tokens as f64, usage.completion_tokens as f64);
        (fresh * self.sent + cached * self.cached + received * self.received) / 1e6
    }
}

/// Judges kept at most: the current and the staged configuration's, and those that they replaced a while ago.
const MAX_BUILT: usize = 4;

/// The judges of one process.
pub struct Judges {
    source: Source,
    prices: Prices,
    budget_usd: Option<f64>,
    max_concurrency: usize,
    /// Hours after which the judge is asked anew about rated answers, if it is to be.
    pub calibration_every_hours: Option<u32>,
    /// The judges that were built last, by the ids of their configurations.
    built: Mutex<Vec<(String, Arc<dyn Judge>)>>,
}

impl Judges {
    /// Judges as the settings say, which ask through `gate`.
    ///
    /// # Errors
    /// When the prompts cannot be used, or a budget could not be kept for want of a price.
    pub fn new(
        settings: &JudgeSettings,
        gate: Arc<Gate>,
        metrics: Arc<Metrics>,
    ) -> Result<Judges, JudgesError> {
        let sent = settings.judge_price_in;
        let cached = settings.judge_price_cached.unwrap_or(sent);
        let prices = Prices { sent, cached, received: settings.judge_price_out };
        let endpoint = settings.judge_base_url.as_ref().map(|base_url| Endpoint {
            base_url: base_url.clone(),
            api_key: settings.judge_api_key.clone().map(ApiKey::new),
            timeout: Duration::from_secs(settings.judge_timeout_s),
        });
        if endpoint.is_some() && settings.judge_budget_usd_per_day.is_some() && sent + prices.received <= 0.0
        {
            return Err(JudgesError::Unpriced);
        }
        let fence = FenceSecret::random();
        let wanted = match &endpoint {
            None => Configuration::offline(fence),
            Some(_) => {
                let prompts = match &settings.prompts_dir {
                    Some(folder) => Prompts::load(folder)?,
                    None => Prompts::builtin()?,
                };
                Configuration::llm(&settings.judge_model, &prompts, fence)
            }
        };
        let needed = wanted.largest_call(max_answer_bytes(QuestionFormat::OpenEnded));
        if let Some(tpm) = settings.judge_tpm.filter(|tpm| endpoint.is_some() && u64::from(*tpm) < needed) {
            return Err(JudgesError::TooFewTokens { tpm, needed });
        }
        let pace = Arc::new(Pace::new(flow_limits(settings)));
        let (counted, kept) = (metrics.clone(), pace.clone());
        let observer: Observer =
            Arc::new(move |report: &CallReport| count_call(&counted, &kept, prices, report));
        Ok(Judges {
            source: Source::Settings { wanted: Box::new(wanted), endpoint, gate, observer, metrics, pace },
            prices,
            budget_usd: settings.judge_budget_usd_per_day,
            max_concurrency: settings.judge_max_concurrency as usize,
            calibration_every_hours: None,
            built: Mutex::default(),
        })
    }

    /// Judges of a process that asks by itself and for a short time, such as a command.
    ///
    /// # Errors
    /// Those of [`Judges::new`].
    pub fn alone(settings: &JudgeSettings, metrics: Arc<Metrics>) -> Result<Judges, JudgesError> {
        Judges::new(settings, Arc::new(Gate::new(flow_limits(settings))), metrics)
    }

    /// A judge that a test hands in.
    pub fn given(judge: Arc<dyn Judge>, max_concurrency: usize) -> Judges {
        Judges {
            source: Source::Given(judge),
            prices: Prices::default(),
            budget_usd: None,
            max_concurrency,
            calibration_every_hours: None,
            built: Mutex::default(),
        }
    }

    /// How many answers are asked about at once.
    pub fn max_concurrency(&self) -> usize {
        self.max_concurrency
    }

    /// What a call cost, in dollars.
    pub fn cost_usd(&self, usage: Usage) -> f64 {
        self.prices.cost_usd(usage)
    }

    /// What tokens cost.
    pub(super) fn prices(&self) -> Prices {
        self.prices
    }

    /// Dollars that judging may cost in a UTC day, if there is such a limit.
    pub fn budget_usd(&self) -> Option<f64> {
        self.budget_usd
    }

    /// Whether an endpoint is asked with no limit to what it may cost.
    pub fn is_unlimited(&self) -> bool {
        matches!(&self.source, Source::Settings { endpoint: Some(_), .. }) && self.budget_usd.is_none()
    }

    /// The gate before the endpoint; none of a judge that a test hands in.
    pub fn gate(&self) -> Option<&Arc<Gate>> {
        match &self.source {
            Source::Settings { gate, .. } => Some(gate),
            Source::Given(_) => None,
        }
    }

    /// Seconds that the judge itself needs for so many calls; none where that is not known.
    pub(super) fn own_seconds(&self, calls: u32) -> Option<f64> {
        match &self.source {
            Source::Settings { pace, .. } => pace.seconds(calls),
            Source::Given(_) => None,
        }
    }

    /// Milliseconds until a probe may go out; none if calls may, also because the judge was checked after it was given up.
    ///
    /// # Errors
    /// When the database fails.
    pub async fn rest_ms(&self, store: &Store) -> Result<Option<i64>, StoreError> {
        let Some(gate) = self.gate().filter(|gate| gate.closed().is_some()) else { return Ok(None) };
        gate.recover(store.read(load_judge_checked).await?).await;
        Ok(gate.rest_ms().filter(|rest_ms| *rest_ms > 0))
    }

    /// Notes that the judge in force was seen to answer: whoever gave it up tries again.
    ///
    /// # Errors
    /// When the database fails.
    pub async fn note_check(&self, store: &Store, actor: &Actor, now_ms: i64) -> Result<(), StoreError> {
        let (actor, id) = (actor.clone(), self.wanted().id());
        store
            .write(move |connection| {
                note_judge_checked(connection, now_ms)?;
                insert_audit(connection, now_ms, (&actor, "check_judge", &id), None, Some("it answers"))?;
                wake_rejudgings(connection)?;
                wake_paused(connection, PausedFor::JudgeUnavailable)
            })
            .await
    }

    /// Makes the configuration of the settings current if there is none yet; says in the log where the settings differ
    /// from the current one, which stays.
    ///
    /// # Errors
    /// When the database fails.
    pub async fn establish(&self, store: &Store, now_ms: i64) -> Result<(), JudgesError> {
        let row = ConfigurationRow { state: CURRENT.to_owned(), ..self.wanted_row(now_ms)? };
        let (settings_id, settings_model) = (row.id.clone(), row.model.clone());
        let inserted: Result<(), StoreError> = store
            .write(move |connection| {
                if configurations::find_current_configuration(connection)?.is_some() {
                    return Ok(());
                }
                // Of two processes at once the second finds the first, and so does the import of a first release.
                bump_board_revision(connection)?;
                if configurations::find_current_configuration(connection)?.is_none() {
                    configurations::insert_configuration(connection, &row)?;
                    note_board_changes(connection, now_ms)?;
                }
                Ok(())
            })
            .await;
        inserted?;
        let current = self.current(store).await?;
        if let Source::Settings { metrics, .. } = &self.source {
            stand_at_zero(metrics, &current.model);
        }
        if self.is_unlimited() {
            tracing::warn!(
                "the judge's endpoint has no budget; set SECCHI_JUDGE_BUDGET_USD_PER_DAY and the prices to limit what a day may cost"
            );
        }
        if current.id != settings_id {
            tracing::warn!(
                current = current.id,
                current_model = current.model,
                settings = settings_id,
                settings_model,
                "the judge settings differ from the current judge configuration, which stays in force; \
                 `secchi judge stage` prepares the change"
            );
        }
        Ok(())
    }

    /// The configuration that the settings describe, current or not.
    pub fn wanted(&self) -> Configuration {
        match &self.source {
            Source::Settings { wanted, .. } => (**wanted).clone(),
            Source::Given(_) => Configuration::offline(FenceSecret::random()),
        }
    }

    /// The configuration that the settings describe, as it would be staged.
    ///
    /// # Errors
    /// When it cannot be written.
    pub fn wanted_row(&self, now_ms: i64) -> Result<ConfigurationRow, JudgesError> {
        let wanted = self.wanted();
        Ok(ConfigurationRow {
            id: wanted.id(),
            kind: wanted.kind.as_str().to_owned(),
            text: serde_json::to_string(&wanted).map_err(|_| JudgesError::Text(wanted.id()))?,
            model: wanted.model,
            state: STAGED.to_owned(),
            created_at_ms: now_ms,
            retired_at_ms: None,
        })
    }

    /// The judge that the settings describe, current or not.
    ///
    /// # Errors
    /// When the settings do not serve to ask it.
    pub fn wanted_judge(&self) -> Result<Arc<dyn Judge>, JudgesError> {
        match &self.source {
            Source::Given(judge) => Ok(judge.clone()),
            Source::Settings { wanted, endpoint, gate, observer, .. } => {
                let endpoint = endpoint.as_ref().map(|endpoint| (endpoint, gate.clone()));
                Ok(build(wanted, endpoint, Some(observer.clone()))?)
            }
        }
    }

    /// The configuration that everything is judged under.
    ///
    /// # Errors
    /// When there is none yet, or the database fails.
    pub async fn current(&self, store: &Store) -> Result<ConfigurationRow, JudgesError> {
        store.read(configurations::find_current_configuration).await?.ok_or(JudgesError::NoneCurrent)
    }

    /// The judge of a stored configuration.
    ///
    /// # Errors
    /// When the settings do not serve to ask it.
    pub async fn judge(&self, store: &Store, configuration_id: &str) -> Result<Arc<dyn Judge>, JudgesError> {
        let (endpoint, observer) = match &self.source {
            Source::Given(judge) => return Ok(judge.clone()),
            Source::Settings { endpoint, gate, observer, .. } => {
                (endpoint.as_ref().map(|endpoint| (endpoint, gate.clone())), observer.clone())
            }
        };
        let known = |built: &[(String, Arc<dyn Judge>)]| {
            built.iter().find(|(id, _)| id == configuration_id).map(|(_, judge)| judge.clone())
        };
        if let Some(judge) = known(&self.built.lock().unwrap_or_else(PoisonError::into_inner)) {
            return Ok(judge);
        }
        let id = configuration_id.to_owned();
        let row = store.read(move |connection| configurations::load_configuration(connection, &id)).await?;
        let configuration: Configuration =
            serde_json::from_str(&row.text).map_err(|_| JudgesError::Text(row.id.clone()))?;
        let judge = build(&configuration, endpoint, Some(observer))?;
        let mut built = self.built.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(judge) = known(&built) {
            return Ok(judge);
        }
        if built.len() == MAX_BUILT {
            built.remove(0);
        }
        built.push((row.id, judge.clone()));
        Ok(judge)
    }
}

/// What the settings allow at the judge's endpoint.
pub fn flow_limits(settings: &JudgeSettings) -> FlowLimits {
    FlowLimits {
        concurrency: settings.judge_max_concurrency,
        requests_per_minute: settings.judge_rpm,
        tokens_per_minute: settings.judge_tpm,
    }
}

/// Whether scores under this kind of judge come from the built-in one.
pub fn is_offline(kind: &str) -> bool {
    kind == Kind::Offline.as_str()
}
