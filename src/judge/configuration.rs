//! A judge configuration: all that decides which scores an answer gets, and the id over it.
//! Knows nothing of addresses, keys, prices or limits, which may change without changing a score.

use std::collections::BTreeMap;
use std::fmt;

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use sha2::{Digest, Sha256};
use thiserror::Error;

use super::prompt::{Prompt, PromptError, Prompts, Rendered};
use super::{Item, answer, offline, reply};
use crate::domain::question::Rubric;
use crate::text_enum;

/// Reasoning counts as output, and a starved model answers nothing at all.
const MAX_COMPLETION_TOKENS: u64 = 4_000;

/// The parameter that caps the output.
const OUTPUT_CAP: &str = "max_completion_tokens";

/// How many characters a token is taken for: what English text comes to with the usual tokenisers.
const CHARACTERS_PER_TOKEN: usize = 4;

text_enum! {
    /// The kinds of judge; their scores never stand on one board.
    Kind { Offline = "offline", Llm = "llm" }
}

/// The key of the fence around an answer, 32 bytes; `Debug` does not show it.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct FenceSecret([u8; 32]);

/// The text of a [`FenceSecret`] is not 64 hex digits.
#[derive(Debug, Error)]
#[error("the fence secret of a stored judge configuration is not 64 hex digits; restore it from the archive")]
pub struct MalformedSecret;

impl FenceSecret {
    /// A new secret; for the first server that stores a configuration.
    pub fn random() -> FenceSecret {
        FenceSecret(rand::random())
    }

    /// Zero-padded to the block of SHA-256, which is how HMAC itself treats a shorter key.
    pub(super) fn as_hmac_key(&self) -> [u8; 64] {
        let mut key = [0; 64];
        key[..32].copy_from_slice(&self.0);
        key
    }
}

impl fmt::Debug for FenceSecret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("FenceSecret(..)")
    }
}

impl TryFrom<String> for FenceSecret {
    type Error = MalformedSecret;

    fn try_from(text: String) -> Result<FenceSecret, MalformedSecret> {
        let mut bytes = [0; 32];
        hex::decode_to_slice(text, &mut bytes).map_err(|_| MalformedSecret)?;
        Ok(FenceSecret(bytes))
    }
}

impl From<FenceSecret> for String {
    fn from(secret: FenceSecret) -> String {
        hex::encode(secret.0)
    }
}

/// What one call is likely to be billed, in tokens; zeros for the offline judge.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct TokenEstimate {
    /// Tokens sent: the rendered messages and the schema.
    pub prompt_tokens: u64,
    /// Tokens that come back at most.
    pub max_completion_tokens: u64,
}

/// What a judgement is a function of, besides question and answer (contract 6); stored as JSON.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Configuration {
    /// Offline or an LLM.
    pub kind: Kind,
    /// The model that is asked for; `offline` for the offline judge.
    pub model: String,
    /// Sent with every request, save those that the endpoint refuses by name.
    pub parameters: BTreeMap<String, Value>,
    /// The prompts' texts; empty for the offline judge.
    pub prompts: BTreeMap<Rubric, String>,
    /// The schemas of the replies; empty for the offline judge.
    pub schemas: BTreeMap<Rubric, Value>,
    /// How many times an answer is judged.
    pub votes: u32,
    /// Version of the answers' normalisation.
    pub normalisation: u32,
    /// Stored with the configuration, no part of its id: a chance of the server that stored it first.
    pub fence_secret: FenceSecret,
}

impl Configuration {
    /// The built-in judge.
    pub fn offline(fence_secret: FenceSecret) -> Configuration {
        Configuration {
            kind: Kind::Offline,
            model: offline::MODEL.to_owned(),
            parameters: BTreeMap::from([("version".to_owned(), json!(offline::VERSION))]),
            prompts: BTreeMap::new(),
            schemas: BTreeMap::new(),
            votes: 1,
            normalisation: answer::NORMALISATION_VERSION,
            fence_secret,
        }
    }

    /// `model` asked with `prompts`, at temperature 0 where the model takes it.
    pub fn llm(model: &str, prompts: &Prompts, fence_secret: FenceSecret) -> Configuration {
        Configuration {
            kind: Kind::Llm,
            model: model.to_owned(),
            parameters: BTreeMap::from([
                ("temperature".to_owned(), json!(0)),
                (OUTPUT_CAP.to_owned(), json!(MAX_COMPLETION_TOKENS)),
            ]),
            prompts: prompts.texts(),
            schemas: Rubric::ALL.iter().map(|rubric| (*rubric, reply::schema(*rubric))).collect(),
            votes: 1,
            normalisation: answer::NORMALISATION_VERSION,
            fence_secret,
        }
    }

    /// 16 hex digits over everything but the fence secret: equal settings give equal ids on all servers.
    pub fn id(&self) -> String {
        let Configuration {
            kind,
            model,
            parameters,
            prompts,
            schemas,
            votes,
            normalisation,
            fence_secret: _,
        } = self;
        let parts = json!([kind, model, parameters, prompts, schemas, votes, normalisation]).to_string();
        hex::encode(&Sha256::digest(parts)[..8])
    }

    /// What one call about `item` is likely to be billed.
    ///
    /// # Errors
    /// If the stored prompt of the item's rubric is missing or faulty.
    pub fn estimate(&self, item: &Item<'_>) -> Result<TokenEstimate, PromptError> {
        if self.kind == Kind::Offline {
            return Ok(TokenEstimate::default());
        }
        let text = self.prompts.get(&item.rubric).ok_or(PromptError::Absent(item.rubric))?;
        let prompt = Prompt::parse(item.rubric, text)?;
        Ok(self.estimate_rendered(item.rubric, &prompt.render(item, &self.fence_secret)))
    }

    /// Tokens that a call about an answer of `answer_bytes` may need at least: its rubric's instructions, the answer, and the
    /// output cap doubled, as after a reply that was cut at it. The question and its reference come on top.
    pub fn largest_call(&self, answer_bytes: usize) -> u64 {
        let texts = self.prompts.values().map(|text| text.chars().count()).max().unwrap_or_default();
        ((texts + answer_bytes) / CHARACTERS_PER_TOKEN) as u64 + 2 * self.output_cap()
    }

    fn output_cap(&self) -> u64 {
        let cap = self.parameters.get(OUTPUT_CAP).and_then(Value::as_u64);
        cap.unwrap_or(MAX_COMPLETION_TOKENS)
    }

    /// What one call with these messages is likely to be billed.
    pub(super) fn estimate_rendered(&self, rubric: Rubric, prompt: &Rendered<'_>) -> TokenEstimate {
        let schema = self.schemas.get(&rubric).map(Value::to_string).unwrap_or_default();
        let sent = [prompt.system, &prompt.user, &schema];
        let characters: usize = sent.iter().map(|part| part.chars().count()).sum();
        TokenEstimate {
            prompt_tokens: characters.div_ceil(CHARACTERS_PER_TOKEN) as u64,
            max_completion_tokens: self.output_cap(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn llm() -> Configuration {
        Configuration::llm("m", &Prompts::builtin().unwrap(), FenceSecret::random())
    }

    #[test]
    fn two_servers_with_equal_settings_agree_on_the_id_whatever_their_secrets() {
        let (one, other) = (llm(), llm());
        assert_ne!(one.fence_secret, other.fence_secret);
        assert_eq!(one.id(), other.id());
        assert_eq!(one.id().len(), 16);
    }

    #[test]
    fn every_part_changes_the_id() {
        type Change = fn(&mut Configuration);
        let changes: [Change; 7] = [
            |c| c.kind = Kind::Offline,
            |c| c.model.push('x'),
            |c| drop(c.parameters.remove("temperature")),
            |c| drop(c.prompts.insert(Rubric::Oemu, String::new())),
            |c| drop(c.schemas.insert(Rubric::Caption, json!({}))),
            |c| c.votes = 3,
            |c| c.normalisation += 1,
        ];
        for (at, change) in changes.iter().enumerate() {
            let mut changed = llm();
            change(&mut changed);
            assert_ne!(changed.id(), llm().id(), "change {at}");
        }
    }

    #[test]
    fn a_stored_configuration_comes_back_whole() {
        for configuration in [llm(), Configuration::offline(FenceSecret::random())] {
            let stored = serde_json::to_string(&configuration).unwrap();
            assert_eq!(serde_json::from_str::<Configuration>(&stored).unwrap(), configuration);
        }
    }

    #[test]
    fn an_estimate_counts_the_whole_request_and_nothing_of_the_offline_judge() {
        let evidence = serde_json::Map::new();
        let of = |configuration: &Configuration, answer: &str| {
            let (rubric, reference) = (Rubric::Caption, "A turtle grazes.");
            let item =
                Item { question_id: "q", rubric, question: "?", reference, evidence: &evidence, answer };
            configuration.estimate(&item).unwrap()
        };
        let (short, long) = (of(&llm(), "a"), of(&llm(), &"kelp ".repeat(80)));
        assert!(short.prompt_tokens > llm().prompts[&Rubric::Caption].len() as u64 / 4, "{short:?}");
        assert!((99..=101).contains(&(long.prompt_tokens - short.prompt_tokens)), "{short:?} {long:?}");
        assert_eq!(long.max_completion_tokens, MAX_COMPLETION_TOKENS);
        assert_eq!(of(&Configuration::offline(FenceSecret::random()), "a"), TokenEstimate::default());
    }

    #[test]
    fn the_secret_is_in_the_stored_text_and_in_no_debug_print() {
        let configuration = llm();
        let secret = String::from(configuration.fence_secret.clone());
        assert!(serde_json::to_string(&configuration).unwrap().contains(&secret));
        assert!(format!("{configuration:?}").contains("FenceSecret(..)"));
        assert!(FenceSecret::try_from("zz".to_owned()).is_err());
    }
}
