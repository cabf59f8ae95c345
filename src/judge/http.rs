//! The LLM judge: builds the request for an answer, asks until there is a verdict or a failure, and learns
//! which parameters the endpoint refuses. Knows nothing of budgets, submissions or storage.

use std::collections::BTreeSet;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use futures::FutureExt;
use futures::future::BoxFuture;
use serde_json::{Map, Value, json};
use tokio::sync::Semaphore;
use tokio::time::{Instant, sleep};

use super::chat::{Chat, Endpoint};
use super::configuration::Configuration;
use super::fault::CallFault;
use super::prompt::{Prompts, Rendered};
use super::retry::{Backoff, Next, Retries};
use super::{BuildError, CallReport, Failure, Item, Judge, Observer, Usage, Verdict, reply};
use crate::domain::question::Rubric;

/// The parameter that caps the output, and the name that older servers know it by.
const CAP_NAMES: [&str; 2] = ["max_completion_tokens", "max_tokens"];

/// Asks a model behind an OpenAI-compatible endpoint.
pub struct HttpJudge {
    chat: Chat,
    configuration: Configuration,
    prompts: Prompts,
    permits: Semaphore,
    max_concurrency: usize,
    /// What the endpoint refused by name; left out from then on.
    refused: Mutex<BTreeSet<String>>,
    backoff: Backoff,
    observer: Option<Observer>,
}

impl HttpJudge {
    /// A judge as `configuration` says, at `endpoint`; makes no call.
    ///
    /// # Errors
    /// If the endpoint cannot be used or a prompt text is faulty.
    pub fn new(
        configuration: &Configuration,
        endpoint: &Endpoint,
        observer: Option<Observer>,
    ) -> Result<HttpJudge, BuildError> {
        let max_concurrency = endpoint.max_concurrency.clamp(1, Semaphore::MAX_PERMITS);
        Ok(HttpJudge {
            chat: Chat::new(endpoint)?,
            configuration: configuration.clone(),
            prompts: Prompts::from_texts(&configuration.prompts)?,
            permits: Semaphore::new(max_concurrency),
            max_concurrency,
            refused: Mutex::default(),
            backoff: Backoff::default(),
            observer,
        })
    }

    #[cfg(test)]
    pub(super) fn without_waits(self) -> HttpJudge {
        HttpJudge { backoff: Backoff { base: Duration::ZERO, cap: Duration::ZERO }, ..self }
    }

    async fn ask_until_done(&self, item: &Item<'_>) -> Result<Verdict, Failure> {
        let prompt = self.prompts.of(item.rubric).render(item, &self.configuration.fence_secret);
        let mut retries = Retries::new(self.backoff);
        let mut usage = Usage::default();
        loop {
            let request = self.request(item.rubric, &prompt, retries.is_lengthened());
            let (result, took) = self.ask_once(item.rubric, &request).await;
            let fault = match result {
                Ok(mut verdict) => {
                    verdict.usage += usage;
                    return Ok(verdict);
                }
                Err(fault) => fault,
            };
            usage += fault.usage;
            if let Some(parameter) = &fault.parameter {
                self.refused.lock().unwrap_or_else(PoisonError::into_inner).insert(parameter.clone());
            }
            match retries.after(&fault, took, rand::random()) {
                Next::Stop(failure) => return Err(failure),
                Next::Again(wait) if wait.is_zero() => {}
                Next::Again(wait) => sleep(wait).await,
            }
        }
    }

    async fn ask_once(
        &self,
        rubric: Rubric,
        request: &Map<String, Value>,
    ) -> (Result<Verdict, CallFault>, Duration) {
        // Given back while a retry waits, so that one answer's trouble does not hold up the others.
        // A closed semaphore cannot occur; without a permit the try would still be a right one.
        let _permit = self.permits.acquire().await;
        let started = Instant::now();
        let result = match self.chat.ask(request).await {
            Ok(reply) => reply::verdict(rubric, &self.configuration.model, reply),
            Err(fault) => Err(fault),
        };
        let took = started.elapsed();
        self.report(rubric, &result, took);
        (result, took)
    }

    fn report(&self, rubric: Rubric, result: &Result<Verdict, CallFault>, duration: Duration) {
        let (fault, usage) = match result {
            Ok(verdict) => (None, verdict.usage),
            Err(fault) => (Some(fault.kind), fault.usage),
        };
        if let Some(kind) = fault {
            tracing::debug!(%rubric, fault = %kind, "a judge call failed");
        }
        if let Some(observer) = &self.observer {
            observer(&CallReport { model: self.configuration.model.clone(), rubric, fault, duration, usage });
        }
    }

    fn request(&self, rubric: Rubric, prompt: &Rendered<'_>, lengthened: bool) -> Map<String, Value> {
        let mut request = Map::new();
        request.insert("model".to_owned(), json!(self.configuration.model));
        request.insert(
            "messages".to_owned(),
            json!([
                {"role": "system", "content": prompt.system},
                {"role": "user", "content": prompt.user},
            ]),
        );
        let schema = self.configuration.schemas.get(&rubric);
        let schema = json!({"name": reply::schema_name(rubric), "strict": true, "schema": schema});
        request.insert("response_format".to_owned(), json!({"type": "json_schema", "json_schema": schema}));
        let refused = self.refused.lock().unwrap_or_else(PoisonError::into_inner);
        for (name, value) in &self.configuration.parameters {
            if name == CAP_NAMES[0] {
                let Some(accepted) = CAP_NAMES.iter().find(|name| !refused.contains(**name)) else {
                    continue;
                };
                let cap = value.as_u64().map(|cap| if lengthened { cap.saturating_mul(2) } else { cap });
                request.insert((*accepted).to_owned(), json!(cap));
            } else if !refused.contains(name) {
                request.insert(name.clone(), value.clone());
            }
        }
        request
    }
}

impl Judge for HttpJudge {
    fn judge<'a>(&'a self, item: &'a Item<'a>) -> BoxFuture<'a, Result<Verdict, Failure>> {
        self.ask_until_done(item).boxed()
    }

    fn in_flight(&self) -> usize {
        self.max_concurrency - self.permits.available_permits()
    }
}
