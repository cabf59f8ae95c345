//! The flags by which the data engine is told of a model, and what it may cost.

use std::path::Path;
use std::time::Duration;

use clap::Args;
use serde_json::{Map, Value, json};

use crate::benchmark::building::asking::{Asking, Named};
use crate::benchmark::building::journal::{Journal, Kept};
use crate::benchmark::building::purse::{Prices, Purse};
use crate::judge::{ApiKey, Endpoint, Model};

use super::super::exit::Exit;

/// A model behind an OpenAI-compatible endpoint.
#[derive(Debug, Args)]
#[command(next_help_heading = "Model")]
pub struct EndpointArgs {
    /// Address of the endpoint up to and without `/chat/completions`
    #[arg(long, requires = "model")]
    pub base_url: Option<String>,
    /// The model's name at the endpoint
    #[arg(long, requires = "base_url")]
    pub model: Option<String>,
    /// The endpoint's key, if it wants one
    #[arg(long, env = "SECCHI_MODEL_API_KEY", hide_env_values = true, hide_default_value = true)]
    pub api_key: Option<String>,
    /// Calls at once
    #[arg(long, default_value_t = 8, value_parser = clap::value_parser!(u16).range(1..=1024))]
    pub concurrency: u16,
    /// Tokens of a reply at most
    #[arg(long, default_value_t = 2048)]
    pub max_tokens: u32,
    /// Seconds that one try may take
    #[arg(long, default_value_t = 120, value_parser = clap::value_parser!(u64).range(1..=86_400))]
    pub timeout: u64,
    /// Dollars a million tokens sent
    #[arg(long, default_value_t = 0.0)]
    pub price_in: f64,
    /// Dollars a million tokens received
    #[arg(long, default_value_t = 0.0)]
    pub price_out: f64,
    /// Dollars that all calls together may cost, earlier runs with the same journal included
    #[arg(long)]
    pub budget_usd: Option<f64>,
}

impl EndpointArgs {
    /// The model of this name, or else of the flags, if one is named; makes no call.
    ///
    /// # Errors
    /// When the endpoint cannot be used.
    pub fn model(&self, name: Option<&str>) -> anyhow::Result<Option<Named>> {
        let name = name.or(self.model.as_deref());
        let (Some(base_url), Some(name)) = (&self.base_url, name) else { return Ok(None) };
        let endpoint = Endpoint {
            base_url: base_url.clone(),
            api_key: self.api_key.clone().filter(|key| !key.is_empty()).map(ApiKey::new),
            timeout: Duration::from_secs(self.timeout),
        };
        let parameters: Map<String, Value> =
            Map::from_iter([("max_tokens".to_owned(), json!(self.max_tokens))]);
        let model =
            Model::new(&endpoint, name, parameters).map_err(|error| Exit::Refused.with(error.to_string()))?;
        Ok(Some(Named { model, name: name.to_owned() }))
    }

    /// What all calls share, with a journal that goes on where it is there.
    ///
    /// # Errors
    /// When the journal cannot be used, or a budget cannot be kept.
    pub fn asking(&self, journal: &Path) -> anyhow::Result<Asking> {
        let prices = self.prices()?;
        let journal = Journal::open(journal).map_err(|error| Exit::Refused.with(error.to_string()))?;
        let purse = Purse::new(prices, journal.replies().map(|reply| reply.cost_usd).sum());
        Ok(Asking::new(journal, purse, self.concurrency.into(), self.max_tokens.into()))
    }

    /// What tokens cost.
    ///
    /// # Errors
    /// When a budget cannot be kept, since nothing has a price.
    pub fn prices(&self) -> anyhow::Result<Prices> {
        let is_money = |dollars: f64| dollars.is_finite() && dollars >= 0.0;
        let all = [self.price_in, self.price_out, self.budget_usd.unwrap_or_default()];
        if !all.into_iter().all(is_money) {
            return Err(Exit::Refused.with("prices and a budget are dollars, 0 or more"));
        }
        if self.budget_usd.is_some() && self.price_in + self.price_out <= 0.0 {
            return Err(Exit::Refused
                .with("`--budget-usd` cannot be kept without a price; give `--price-in` and `--price-out`"));
        }
        Ok(Prices { sent: self.price_in, received: self.price_out, budget_usd: self.budget_usd })
    }
}

/// What models took, in this run and in those before it with the same journal.
pub struct Spent {
    replies: usize,
    tokens_sent: Option<u64>,
    tokens_received: Option<u64>,
    cost_usd: f64,
}

impl Spent {
    /// What a journal's replies took.
    pub fn of(asking: &Asking) -> Spent {
        let journal = asking.journal();
        // Unknown, and not 0, where the endpoint never says.
        let tokens =
            |of: fn(&Kept) -> Option<u64>| journal.replies().filter_map(of).reduce(|sum, more| sum + more);
        Spent {
            replies: journal.replies().count(),
            tokens_sent: tokens(|reply| reply.prompt_tokens),
            tokens_received: tokens(|reply| reply.completion_tokens),
            cost_usd: asking.purse.spent(),
        }
    }

    /// For programs.
    pub fn json(&self) -> Value {
        json!({
            "replies": self.replies, "prompt_tokens": self.tokens_sent, "completion_tokens": self.tokens_received,
            "cost_usd": self.cost_usd,
        })
    }

    /// For people.
    pub fn line(&self) -> String {
        let tokens =
            |count: Option<u64>| count.map_or("an unknown number of".to_owned(), |count| count.to_string());
        format!(
            "{} {} of models: {} tokens sent, {} received, ${:.4}",
            self.replies,
            if self.replies == 1 { "reply" } else { "replies" },
            tokens(self.tokens_sent),
            tokens(self.tokens_received),
            self.cost_usd
        )
    }
}
