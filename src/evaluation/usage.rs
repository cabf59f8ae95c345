//! What the judge was asked and what it cost, summed as maintainers ask. Knows nothing of calls.

use std::collections::BTreeMap;

use serde::Serialize;

use crate::domain::instant::{DAY_MS, day, is_day};
use crate::store::spend::{Spend, load_spend};
use crate::store::{DbConnection, StoreError};
use crate::text_enum;

/// Days that are summed unless said otherwise.
const DEFAULT_DAYS: i64 = 30;

text_enum! {
    /// What usage is told apart by.
    Grouping { Day = "day", Team = "team", Rubric = "rubric", Configuration = "configuration" }
}

/// Why usage cannot be summed.
#[derive(Debug, thiserror::Error)]
pub enum UsageError {
    /// A day is none.
    #[error("`{0}` is no day; write it as 2026-11-30")]
    Day(String),
    /// The last day is before the first.
    #[error("the last day `{1}` is before the first, `{0}`; give them the other way round")]
    Order(String, String),
}

/// Which usage is asked for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UsageQuery {
    from: String,
    to: String,
    by: Vec<Grouping>,
}

impl UsageQuery {
    /// From one UTC day to another, both counted: the last thirty days, by day, unless said.
    ///
    /// # Errors
    /// When a day is none, or the last is before the first.
    pub fn new(
        from: Option<String>,
        to: Option<String>,
        mut by: Vec<Grouping>,
        now_ms: i64,
    ) -> Result<UsageQuery, UsageError> {
        let to = to.unwrap_or_else(|| day(now_ms));
        let from = from.unwrap_or_else(|| day(now_ms - (DEFAULT_DAYS - 1) * DAY_MS));
        if let Some(wrong) = [&from, &to].into_iter().find(|text| !is_day(text)) {
            return Err(UsageError::Day(wrong.clone()));
        }
        if from > to {
            return Err(UsageError::Order(from, to));
        }
        if by.is_empty() {
            by.push(Grouping::Day);
        }
        by.sort_unstable();
        by.dedup();
        Ok(UsageQuery { from, to, by })
    }
}

/// A sum of calls.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, utoipa::ToSchema)]
pub struct Spent {
    /// Requests that were made.
    pub calls: i64,
    /// Tokens that were sent.
    pub prompt_tokens: i64,
    /// Of these, tokens that the provider had in its cache.
    pub cached_tokens: i64,
    /// Tokens that came back.
    pub completion_tokens: i64,
    /// Dollars, by the prices that were set at the time.
    pub cost_usd: f64,
}

impl Spent {
    fn add(&mut self, spend: &Spend) {
        self.calls += spend.calls;
        self.prompt_tokens += spend.prompt_tokens;
        self.cached_tokens += spend.cached_tokens;
        self.completion_tokens += spend.completion_tokens;
        self.cost_usd += spend.cost_usd;
    }
}

/// The usage of one group; what it is not told apart by is absent.
#[derive(Debug, Clone, PartialEq, Serialize, utoipa::ToSchema)]
pub struct UsageRow {
    /// The UTC day.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub day: Option<String>,
    /// The short name of the team whose submissions asked.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub team: Option<String>,
    /// The rubric.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rubric: Option<String>,
    /// The judge configuration's id.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub configuration: Option<String>,
    /// What it comes to.
    #[serde(flatten)]
    pub spent: Spent,
}

/// What is left of today's budget.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, utoipa::ToSchema)]
pub struct BudgetToday {
    /// Dollars that a UTC day may cost.
    pub per_day_usd: f64,
    /// Dollars that today has cost so far.
    pub spent_usd: f64,
    /// Dollars that are left, at least 0.
    pub left_usd: f64,
}

/// What the judge was asked and what it cost.
#[derive(Debug, Clone, PartialEq, Serialize, utoipa::ToSchema)]
pub struct JudgeUsage {
    /// The first UTC day.
    pub from: String,
    /// The last UTC day.
    pub to: String,
    /// What the items are told apart by.
    pub by: Vec<Grouping>,
    /// One item a group, in the order of what they are told apart by.
    pub items: Vec<UsageRow>,
    /// The sum of all items.
    pub total: Spent,
    /// Today's budget; null where none is set.
    pub budget: Option<BudgetToday>,
}

/// Sums what was spent; `budget_usd` is what a day may cost.
///
/// # Errors
/// When the database fails.
pub fn judge_usage(
    connection: &mut DbConnection,
    query: UsageQuery,
    budget_usd: Option<f64>,
    now_ms: i64,
) -> Result<JudgeUsage, StoreError> {
    let UsageQuery { from, to, by } = query;
    let mut groups = BTreeMap::<[Option<String>; 4], Spent>::new();
    let mut total = Spent::default();
    for spend in load_spend(connection, &from, &to)? {
        let of = |grouping: Grouping, text: &str| by.contains(&grouping).then(|| text.to_owned());
        let key = [
            of(Grouping::Day, &spend.day),
            of(Grouping::Team, &spend.team),
            of(Grouping::Rubric, &spend.rubric),
            of(Grouping::Configuration, &spend.configuration_id),
        ];
        groups.entry(key).or_default().add(&spend);
        total.add(&spend);
    }
    let items = groups
        .into_iter()
        .map(|([day, team, rubric, configuration], spent)| UsageRow {
            day,
            team,
            rubric,
            configuration,
            spent,
        })
        .collect();
    let budget = match budget_usd {
        Some(per_day_usd) => {
            let today = day(now_ms);
            let spent_usd = load_spend(connection, &today, &today)?.iter().map(|spend| spend.cost_usd).sum();
            Some(BudgetToday { per_day_usd, spent_usd, left_usd: (per_day_usd - spent_usd).max(0.0) })
        }
        None => None,
    };
    Ok(JudgeUsage { from, to, by, items, total, budget })
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW_MS: i64 = 1_796_040_000_000;

    fn query(from: Option<&str>, to: Option<&str>, by: Vec<Grouping>) -> Result<UsageQuery, UsageError> {
        UsageQuery::new(from.map(str::to_owned), to.map(str::to_owned), by, NOW_MS)
    }

    #[test]
    fn thirty_days_by_day_are_asked_for_unless_said() {
        let asked = query(None, None, Vec::new()).unwrap();
        assert_eq!((asked.from.as_str(), asked.to.as_str()), ("2026-11-01", "2026-11-30"));
        assert_eq!(asked.by, [Grouping::Day]);
        let asked = query(Some("2026-01-31"), None, vec![Grouping::Rubric, Grouping::Day, Grouping::Rubric]);
        assert_eq!(asked.unwrap().by, [Grouping::Day, Grouping::Rubric]);
    }

    #[test]
    fn a_day_that_is_none_and_a_range_that_ends_before_it_begins_are_refused() {
        for wrong in ["yesterday", "2026-2-3", "2026-02-30", "", "2026-11-30T00:00:00Z"] {
            let error = query(Some(wrong), None, Vec::new()).unwrap_err();
            assert!(error.to_string().contains(&format!("`{wrong}`")), "{error}");
        }
        assert!(matches!(
            query(Some("2026-11-02"), Some("2026-11-01"), Vec::new()),
            Err(UsageError::Order(..))
        ));
    }
}
