//! Asking a model that is no judge, behind any OpenAI-compatible endpoint, till there is a reply. Sends only what vLLM,
//! Ollama and llama.cpp all take. Knows nothing of questions, rubrics or files.

use std::collections::BTreeSet;
use std::sync::{Mutex, PoisonError};

use serde_json::{Map, Value, json};
use tokio::time::{Instant, sleep};

use super::Usage;
use super::chat::{Chat, Endpoint, EndpointError, FinishReason, Reply};
use super::fault::{CallFault, FaultKind};
use super::retry::{Next, Retries};
use crate::limiter::Backoff;

/// The parameter that caps the output, and the name that newer servers know it by.
const CAP_NAMES: [&str; 2] = ["max_tokens", "max_completion_tokens"];

/// A model behind an endpoint.
pub struct Model {
    chat: Chat,
    name: String,
    parameters: Map<String, Value>,
    /// What the endpoint refused by name; left out from then on.
    refused: Mutex<BTreeSet<String>>,
}

/// What a model said.
#[derive(Debug, Clone)]
pub struct ModelReply {
    /// The text as it came; empty where none came after every try.
    pub text: String,
    /// The model that says it answered.
    pub model: String,
    /// Why it ended.
    pub finish_reason: FinishReason,
    /// What the server billed for the last try, if it says so.
    pub usage: Option<Usage>,
    /// Tries that were made.
    pub tries: u32,
}

/// Why there is no reply after every try.
#[derive(Debug, Clone, thiserror::Error)]
#[error("{} ({tries} tries){}", fault.detail, words(fault))]
pub struct ModelFault {
    /// The last try's fault.
    pub fault: CallFault,
    /// Tries that were made.
    pub tries: u32,
}

fn words(fault: &CallFault) -> String {
    match fault.said.words() {
        "" => String::new(),
        said => format!(": {said}"),
    }
}

impl Model {
    /// The model of this name at `endpoint`, asked with these parameters; makes no call.
    ///
    /// # Errors
    /// If the endpoint cannot be used.
    pub fn new(
        endpoint: &Endpoint,
        name: impl Into<String>,
        parameters: Map<String, Value>,
    ) -> Result<Model, EndpointError> {
        Ok(Model { chat: Chat::new(endpoint)?, name: name.into(), parameters, refused: Mutex::default() })
    }

    /// Parameters that the endpoint refused by name and that are not sent any more.
    pub fn left_out(&self) -> Vec<String> {
        let refused = self.refused.lock().unwrap_or_else(PoisonError::into_inner);
        let is_sent = |name: &str| name == CAP_NAMES[0] && !refused.contains(CAP_NAMES[1]);
        let names = refused.iter().filter(|name| self.parameters.contains_key(*name) && !is_sent(name));
        names.cloned().collect()
    }

    /// Asks in a conversation of its own; `content` is the user's one message.
    ///
    /// # Errors
    /// When there is no reply after every try.
    pub async fn ask(&self, content: &Value) -> Result<ModelReply, ModelFault> {
        let mut retries = Retries::new(Backoff::default());
        let mut tries = 0;
        loop {
            let request = self.request(content);
            let started = Instant::now();
            let result = self.chat.ask(&request).await;
            tries += 1;
            let (fault, reply) = match result {
                Ok(reply) => {
                    let reply = read(reply, tries);
                    if !reply.text.trim().is_empty() {
                        return Ok(reply);
                    }
                    (CallFault::new(FaultKind::Malformed, "an empty reply"), Some(reply))
                }
                Err(fault) => (fault, None),
            };
            if let Some(parameter) = &fault.parameter {
                self.refused.lock().unwrap_or_else(PoisonError::into_inner).insert(parameter.to_string());
            }
            match (retries.after(&fault, started.elapsed(), rand::random()), reply) {
                (Next::Again(wait), _) => sleep(wait).await,
                (Next::Stop(_), Some(empty)) => return Ok(empty),
                (Next::Stop(_), None) => return Err(ModelFault { fault, tries }),
            }
        }
    }

    fn request(&self, content: &Value) -> Map<String, Value> {
        let mut request = Map::new();
        request.insert("model".to_owned(), json!(self.name));
        request.insert("messages".to_owned(), json!([{ "role": "user", "content": content }]));
        let refused = self.refused.lock().unwrap_or_else(PoisonError::into_inner);
        for (name, value) in &self.parameters {
            let accepted = if name == CAP_NAMES[0] {
                CAP_NAMES.into_iter().find(|name| !refused.contains(*name))
            } else {
                Some(name.as_str()).filter(|name| !refused.contains(*name))
            };
            if let Some(accepted) = accepted {
                request.insert(accepted.to_owned(), value.clone());
            }
        }
        request
    }
}

fn read(reply: Reply, tries: u32) -> ModelReply {
    let Reply { model, finish_reason, content, refusal, usage, .. } = reply;
    // What a model says when it refuses is its answer too.
    let text = match content {
        Some(text) if !text.trim().is_empty() => text,
        blank => refusal.or(blank).unwrap_or_default(),
    };
    ModelReply { text, model, finish_reason, usage, tries }
}
