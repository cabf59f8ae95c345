//! Scoring one open-ended answer: what is asked, what comes back, and the judges that can be asked.
//! Knows nothing of submissions, storage, quotas or money.

mod answer;
pub mod attacks;
pub mod chat;
mod configuration;
mod fault;
mod headers;
mod http;
mod model;
mod offline;
mod prompt;
mod reply;
mod retry;
mod scripted;
#[cfg(test)]
mod tests;

use std::fmt;
use std::ops::AddAssign;
use std::sync::Arc;
use std::time::Duration;

use futures::future::BoxFuture;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use thiserror::Error;
use tokio::sync::watch;

use crate::domain::line::Line;
use crate::domain::outcome::FailureReason;
use crate::domain::question::Rubric;
use crate::limiter::{Gate, Pass};
use crate::text_enum;

pub use answer::{is_wordless, judgement_key, normalise};
pub use chat::{ApiKey, Endpoint, EndpointError, FinishReason};
pub use configuration::{Configuration, FenceSecret, Kind, MalformedSecret, TokenEstimate};
pub use fault::{CallFault, FaultKind, Said};
pub use headers::Remaining;
pub use http::HttpJudge;
pub use model::{Model, ModelFault, ModelReply};
pub use offline::OfflineJudge;
pub use prompt::{Prompt, PromptError, Prompts};
pub use scripted::ScriptedJudge;

/// One answer to be scored, with the key that it is scored against; deliberately without `Debug`.
#[derive(Clone, Copy)]
pub struct Item<'a> {
    /// The question's id.
    pub question_id: &'a str,
    /// Which three criteria are scored.
    pub rubric: Rubric,
    /// The question as the model was asked it.
    pub question: &'a str,
    /// The reference answer.
    pub reference: &'a str,
    /// The annotated attributes behind the reference.
    pub evidence: &'a Map<String, Value>,
    /// The answer, as [`normalise`] leaves it and not wordless.
    pub answer: &'a str,
}

/// Tokens that an endpoint billed; zeros where it does not say.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Usage {
    /// Input tokens, cached ones included.
    pub prompt_tokens: u64,
    /// Input tokens that were read from the endpoint's cache.
    pub cached_tokens: u64,
    /// Output tokens, reasoning included.
    pub completion_tokens: u64,
}

impl AddAssign for Usage {
    fn add_assign(&mut self, other: Usage) {
        self.prompt_tokens += other.prompt_tokens;
        self.cached_tokens += other.cached_tokens;
        self.completion_tokens += other.completion_tokens;
    }
}

/// A valid judgement of one answer.
#[derive(Clone, PartialEq, Eq)]
pub struct Verdict {
    /// 0 to 5, in the order of [`Rubric::criteria`].
    pub scores: [u8; 3],
    /// Why, where the rubric asks for it; may quote the reference and is never shown to a team.
    pub explanations: [Option<String>; 3],
    /// The model that says it answered.
    pub model: String,
}

impl fmt::Debug for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Explanations quote the secret reference.
        let Verdict { scores, explanations: _, model } = self;
        f.debug_struct("Verdict").field("scores", scores).field("model", model).finish_non_exhaustive()
    }
}

text_enum! {
    /// Why one answer could not be judged although the judge works.
    ItemReason {
        Malformed = "malformed",
        Length = "length",
        Refusal = "refusal",
        ContentFilter = "content_filter",
        ContextTooLong = "context_too_long",
        BadRequest = "bad_request",
        Unavailable = "unavailable",
    }
}

/// What the ledger keeps of the judge's reason.
impl From<ItemReason> for FailureReason {
    fn from(reason: ItemReason) -> FailureReason {
        match reason {
            ItemReason::Malformed => FailureReason::Malformed,
            ItemReason::Length => FailureReason::Truncated,
            ItemReason::Refusal => FailureReason::Refused,
            ItemReason::ContentFilter => FailureReason::ContentFilter,
            ItemReason::ContextTooLong => FailureReason::TooLong,
            ItemReason::BadRequest => FailureReason::Rejected,
            ItemReason::Unavailable => FailureReason::Unavailable,
        }
    }
}

text_enum! {
    /// Why judging stops and leaves its answers pending.
    PauseCause {
        Money = "money",
        Key = "key",
        MissingModel = "missing_model",
        WrongModel = "wrong_model",
        SchemaRefused = "schema_refused",
        /// The circuit is open, whatever opened it.
        CircuitOpen = "circuit_open",
    }
}

/// Why there is no verdict; never stands for a number.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum Failure {
    /// This answer could not be judged; others may be.
    #[error("the answer could not be judged ({reason}): {detail}")]
    Item {
        /// What kind of failure it is.
        reason: ItemReason,
        /// The last fault and the number of tries, without the server's own words.
        detail: String,
    },
    /// The caller does not want it any more, or no further try.
    #[error("the call was given up")]
    Stopped,
    /// No answer can be judged now: stop the run and leave its answers pending.
    #[error("judging stops ({cause}): {detail}")]
    Pause {
        /// What has to be mended.
        cause: PauseCause,
        /// The last fault and the number of tries, without the server's own words.
        detail: String,
    },
}

impl Failure {
    /// What a maintainer can do about it, where that is known.
    pub fn advice(&self) -> Option<&'static str> {
        match self {
            Failure::Item { reason: ItemReason::Unavailable, .. } => {
                Some("see whether SECCHI_JUDGE_BASE_URL is right and the endpoint is up")
            }
            Failure::Item { .. } | Failure::Stopped => None,
            Failure::Pause { cause, .. } => match cause {
                PauseCause::Money => Some("pay at the endpoint, or raise its limit"),
                PauseCause::Key => Some("set SECCHI_JUDGE_API_KEY to a key that the endpoint takes"),
                PauseCause::MissingModel => Some(
                    "set SECCHI_JUDGE_MODEL to a model of the endpoint, and SECCHI_JUDGE_BASE_URL to what stands before \
                     `/chat/completions`",
                ),
                PauseCause::WrongModel => {
                    Some("set SECCHI_JUDGE_MODEL to the model that answers, which is a change of judge")
                }
                PauseCause::SchemaRefused => {
                    Some("ask an endpoint that takes a `response_format` of type `json_schema`")
                }
                PauseCause::CircuitOpen => None,
            },
        }
    }
}

/// On whose behalf a judge is asked.
#[derive(Clone)]
pub struct Asking {
    /// The line to stand in.
    pub line: Line,
    /// Turns true when the caller does not want it any more: what is under way ends, nothing new begins.
    pub stop: watch::Receiver<bool>,
    /// Whether an earlier call about the same answer failed, so that another failure is no news.
    pub has_failed: bool,
    /// How long the endpoint still wants to be left alone about this answer.
    pub wait: Duration,
    /// Who is asked before tries after one that was billed; none if nobody minds.
    pub further: Option<Further>,
}

/// Says whether a further try may be made: it is told what the tries so far were billed, and the most that the next can be.
pub type Further = Arc<dyn Fn(Usage, Usage) -> BoxFuture<'static, bool> + Send + Sync>;

impl Asking {
    /// For a caller that waits for the end.
    pub fn to_the_end() -> Asking {
        let stop = watch::Sender::new(false).subscribe();
        Asking { line: Line::Val, stop, has_failed: false, wait: Duration::ZERO, further: None }
    }

    /// Whether a try that is billed `next` at most may follow those that were billed `so_far`.
    async fn may_go_on(&self, so_far: Usage, next: Usage) -> bool {
        match &self.further {
            // Nothing was billed yet, and a first try was granted.
            Some(further) if so_far != Usage::default() => further(so_far, next).await,
            _ => true,
        }
    }

    /// Waits until the caller does not want it any more.
    async fn stopped(&mut self) {
        if self.stop.wait_for(|stop| *stop).await.is_err() {
            // Nobody is left who could stop it.
            std::future::pending().await
        }
    }
}

/// What came of asking, and what it took.
pub struct Asked {
    /// The verdict, or why there is none.
    pub result: Result<Verdict, Failure>,
    /// HTTP requests that were made.
    pub calls: u32,
    /// What they were billed; where an endpoint does not tell, the most that it can have been.
    pub usage: Usage,
    /// What is left of the wait that the endpoint told with the last try.
    pub wait: Duration,
    /// The place of the call that gave the verdict. Who keeps it until the verdict is stored never has more calls under
    /// way and unstored than there are places, and so repeats no more after a crash.
    pub pass: Option<Pass>,
}

impl Asked {
    /// What came of asking a judge that costs nothing.
    pub fn free(result: Result<Verdict, Failure>) -> Asked {
        Asked { result, calls: 0, usage: Usage::default(), wait: Duration::ZERO, pass: None }
    }
}

/// Something that scores answers.
pub trait Judge: Send + Sync {
    /// Scores one answer, or says why there is no score; dropping the future abandons the call.
    fn judge<'a>(&'a self, item: &'a Item<'a>, asking: Asking) -> BoxFuture<'a, Asked>;

    /// The most tokens that asking about an answer once can take.
    fn tokens(&self, _item: &Item<'_>) -> Usage {
        Usage::default()
    }
}

/// What one HTTP try came to, for metrics and spending.
#[derive(Debug, Clone)]
pub struct CallReport {
    /// The model that was asked for.
    pub model: String,
    /// The rubric of the answer.
    pub rubric: Rubric,
    /// What went wrong, or none for a valid verdict.
    pub fault: Option<FaultKind>,
    /// From sending to the last byte.
    pub duration: Duration,
    /// What this try was billed, also where the reply was of no use.
    pub usage: Usage,
}

impl CallReport {
    /// The text of a valid try among the outcomes.
    pub const VALID: &'static str = "valid";

    /// The outcome as a metric label: [`Self::VALID`] or the text of a [`FaultKind`].
    pub fn outcome(&self) -> &'static str {
        self.fault.map_or(Self::VALID, FaultKind::as_str)
    }
}

/// Called once for each HTTP try that ended.
pub type Observer = Arc<dyn Fn(&CallReport) + Send + Sync>;

/// Why a judge cannot be built.
#[derive(Debug, Error)]
pub enum BuildError {
    /// An LLM configuration without an address to ask.
    #[error("the current judge configuration asks `{0}` but no endpoint is set; set SECCHI_JUDGE_BASE_URL")]
    NoEndpoint(String),
    /// The endpoint cannot be used.
    #[error(transparent)]
    Endpoint(#[from] EndpointError),
    /// A stored prompt text cannot be used.
    #[error(transparent)]
    Prompt(#[from] PromptError),
}

/// The judge that `configuration` describes, asking `endpoint` through its gate if it is an LLM.
///
/// # Errors
/// If an LLM has no endpoint, the endpoint cannot be used, or a stored prompt is faulty.
pub fn build(
    configuration: &Configuration,
    endpoint: Option<(&Endpoint, Arc<Gate>)>,
    observer: Option<Observer>,
) -> Result<Arc<dyn Judge>, BuildError> {
    match configuration.kind {
        Kind::Offline => Ok(Arc::new(OfflineJudge)),
        Kind::Llm => {
            let (endpoint, gate) =
                endpoint.ok_or_else(|| BuildError::NoEndpoint(configuration.model.clone()))?;
            Ok(Arc::new(HttpJudge::new(configuration, endpoint, gate, observer)?))
        }
    }
}
