//! The LLM judge: builds the request for an answer, asks until there is a verdict or a failure, and learns
//! which parameters the endpoint refuses. Knows nothing of budgets, submissions or storage.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use futures::FutureExt;
use futures::future::BoxFuture;
use serde_json::{Map, Value, json};
use tokio::time::{Instant, sleep};
use tracing::field::Empty;
use tracing::{Instrument as _, Span};

use super::chat::{Chat, Endpoint, Reply};
use super::configuration::Configuration;
use super::fault::CallFault;
use super::headers::Remaining;
use super::prompt::{Prompts, Rendered};
use super::retry::{CALL_DEADLINE, Next, Retries};
use super::{
    Asked, Asking, BuildError, CallReport, Failure, Item, ItemReason, Judge, Observer, PauseCause, Usage,
    Verdict, reply,
};
use crate::domain::question::Rubric;
use crate::limiter::{Backoff, Effect, Gate, Pass, Refused, Told};
use crate::telemetry::SPANS;

/// The parameter that caps the output, and the name that older servers know it by.
const CAP_NAMES: [&str; 2] = ["max_completion_tokens", "max_tokens"];

/// Asks a model behind an OpenAI-compatible endpoint.
pub struct HttpJudge {
    chat: Chat,
    configuration: Configuration,
    prompts: Prompts,
    pub(super) gate: Arc<Gate>,
    /// What the endpoint refused by name; left out from then on.
    refused: Mutex<BTreeSet<String>>,
    backoff: Backoff,
    observer: Option<Observer>,
}

impl HttpJudge {
    /// A judge as `configuration` says, at `endpoint` behind `gate`; makes no call.
    ///
    /// # Errors
    /// If the endpoint cannot be used or a prompt text is faulty.
    pub fn new(
        configuration: &Configuration,
        endpoint: &Endpoint,
        gate: Arc<Gate>,
        observer: Option<Observer>,
    ) -> Result<HttpJudge, BuildError> {
        Ok(HttpJudge {
            chat: Chat::new(endpoint)?,
            configuration: configuration.clone(),
            prompts: Prompts::from_texts(&configuration.prompts)?,
            gate,
            refused: Mutex::default(),
            backoff: Backoff::default(),
            observer,
        })
    }

    #[cfg(test)]
    pub(super) fn without_waits(self) -> HttpJudge {
        HttpJudge { backoff: Backoff { base: Duration::ZERO, cap: Duration::ZERO }, ..self }
    }

    async fn ask_until_done(
        &self,
        item: &Item<'_>,
        asking: Asking,
        spent: &mut Spent,
    ) -> Result<Verdict, Failure> {
        let prompt = self.prompts.of(item.rubric).render(item, &self.configuration.fence_secret);
        let mut retries = Retries::new(self.backoff);
        spent.not_before = Instant::now() + asking.wait;
        self.rest(&asking, asking.wait).await?;
        loop {
            let most = self.most(item.rubric, &prompt, retries.is_lengthened());
            if !asking.may_go_on(spent.usage, most).await {
                return Err(Failure::Stopped);
            }
            let mut pass = self.enter(&asking, most).await?;
            // Only now: another call may have learnt meanwhile what the endpoint refuses.
            let request = self.request(item.rubric, &prompt, retries.is_lengthened());
            let started = Instant::now();
            let span = self.span(item.rubric);
            let result = match self.chat.ask(&request).instrument(span.clone()).await {
                Ok(reply) => self.read(item.rubric, reply),
                Err(fault) => Err(fault),
            };
            let took = started.elapsed();
            let usage = match &result {
                Ok((_, usage, _)) => *usage,
                Err(fault) => fault.usage,
            };
            // What is not known is taken for the most that it can have been. Of a probe, that is the prompt: where nobody
            // answers, replies of full length would eat the budget over a weekend.
            let most = if pass.is_probe() { Usage { completion_tokens: 0, ..most } } else { most };
            let billed = usage.unwrap_or(most);
            spent.calls += 1;
            spent.usage += billed;
            self.report(item.rubric, result.as_ref().err(), took, billed);
            end_span(&span, result.as_ref().err(), billed);
            let used = usage.map(|usage| usage.prompt_tokens + usage.completion_tokens);
            let fault = match result {
                Ok((verdict, _, remaining)) => {
                    pass.note(Effect::Success, used, told(None, remaining));
                    spent.pass = Some(pass);
                    return Ok(verdict);
                }
                Err(fault) => fault,
            };
            if let Some(parameter) = &fault.parameter {
                self.refused.lock().unwrap_or_else(PoisonError::into_inner).insert(parameter.to_string());
            }
            spent.not_before = Instant::now() + fault.wait.unwrap_or_default().min(CALL_DEADLINE);
            let next = retries.after(&fault, took, rand::random());
            let is_news = spent.calls == 1 && !asking.has_failed;
            pass.note(effect(&fault, &next, is_news), used, told(fault.wait, fault.remaining));
            pass.settle().await;
            match next {
                Next::Stop(failure) => return Err(failure),
                Next::Again(wait) => self.rest(&asking, wait).await?,
            }
        }
    }

    /// Waits until a call may begin.
    async fn enter(&self, asking: &Asking, most: Usage) -> Result<Pass, Failure> {
        let tokens = most.prompt_tokens + most.completion_tokens;
        let mut stop = asking.clone();
        let entered = tokio::select! {
            biased;
            () = stop.stopped() => return Err(Failure::Stopped),
            entered = self.gate.enter(asking.line, tokens) => entered,
        };
        entered.map_err(|refused| match refused {
            Refused::Closed(_) => self.pause(),
            Refused::TooLarge => {
                let detail = format!("it may take {tokens} tokens, more than the limit of a minute");
                Failure::Item { reason: ItemReason::ContextTooLong, detail }
            }
        })
    }

    /// Waits before the next try, but not for a try that will not be made.
    async fn rest(&self, asking: &Asking, wait: Duration) -> Result<(), Failure> {
        if wait.is_zero() {
            return Ok(());
        }
        let mut stop = asking.clone();
        tokio::select! {
            () = stop.stopped() => Err(Failure::Stopped),
            () = self.gate.until_closed() => Err(self.pause()),
            () = sleep(wait) => Ok(()),
        }
    }

    /// The failure of a call that cannot be made while the circuit is open.
    fn pause(&self) -> Failure {
        let detail = match self.gate.closed() {
            Some(closed) => format!("{}: {}", closed.cause, closed.detail),
            None => "the circuit was open".to_owned(),
        };
        Failure::Pause { cause: PauseCause::CircuitOpen, detail }
    }

    fn read(&self, rubric: Rubric, reply: Reply) -> Result<(Verdict, Option<Usage>, Remaining), CallFault> {
        let (usage, remaining) = (reply.usage, reply.remaining);
        Ok((reply::verdict(rubric, &self.configuration.model, reply)?, usage, remaining))
    }

    /// The most tokens that one try can take.
    fn most(&self, rubric: Rubric, prompt: &Rendered<'_>, lengthened: bool) -> Usage {
        let estimate = self.configuration.estimate_rendered(rubric, prompt);
        let cap = estimate.max_completion_tokens;
        let completion_tokens = if lengthened { cap.saturating_mul(2) } else { cap };
        Usage { prompt_tokens: estimate.prompt_tokens, cached_tokens: 0, completion_tokens }
    }

    /// The span of a try, without a word of what is asked.
    fn span(&self, rubric: Rubric) -> Span {
        tracing::info_span!(
            target: SPANS,
            "judge_call",
            otel.kind = "client",
            otel.status_code = Empty,
            model = self.configuration.model,
            rubric = rubric.as_str(),
            outcome = Empty,
            prompt_tokens = Empty,
            completion_tokens = Empty,
        )
    }

    fn report(&self, rubric: Rubric, fault: Option<&CallFault>, duration: Duration, usage: Usage) {
        let fault = fault.map(|fault| fault.kind);
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

/// Writes what came of a try into its span.
fn end_span(span: &Span, fault: Option<&CallFault>, billed: Usage) {
    span.record("outcome", fault.map_or(CallReport::VALID, |fault| fault.kind.as_str()));
    span.record("prompt_tokens", billed.prompt_tokens).record("completion_tokens", billed.completion_tokens);
    if fault.is_some() {
        span.record("otel.status_code", "ERROR");
    }
}

/// What a call has taken so far.
struct Spent {
    calls: u32,
    usage: Usage,
    /// When the wait is over that was told last.
    not_before: Instant,
    /// The pass of the call that gave the verdict.
    pass: Option<Pass>,
}

/// What a faulty try means for the flow.
fn effect(fault: &CallFault, next: &Next, is_news: bool) -> Effect {
    let (cause, detail) = (fault.kind.to_string(), fault.detail.to_string());
    match fault.kind {
        kind if kind.is_outage() => Effect::Failure { overload: kind.is_overload(), is_news, cause, detail },
        kind if kind.stops_all() && matches!(next, Next::Stop(_)) => Effect::Stop { cause, detail },
        _ => Effect::Reply,
    }
}

fn told(wait: Option<Duration>, remaining: Remaining) -> Told {
    let wait_ms = wait.map(|wait| i64::try_from(wait.as_millis()).unwrap_or(i64::MAX));
    Told { wait_ms, requests: remaining.requests, tokens: remaining.tokens }
}

impl Judge for HttpJudge {
    fn judge<'a>(&'a self, item: &'a Item<'a>, asking: Asking) -> BoxFuture<'a, Asked> {
        async move {
            let (usage, not_before) = (Usage::default(), Instant::now());
            let mut spent = Spent { calls: 0, usage, not_before, pass: None };
            let result = self.ask_until_done(item, asking, &mut spent).await;
            let wait = spent.not_before.saturating_duration_since(Instant::now());
            Asked { result, calls: spent.calls, usage: spent.usage, wait, pass: spent.pass }
        }
        .boxed()
    }

    fn tokens(&self, item: &Item<'_>) -> Usage {
        let prompt = self.prompts.of(item.rubric).render(item, &self.configuration.fence_secret);
        self.most(item.rubric, &prompt, false)
    }
}
