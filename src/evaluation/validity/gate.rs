//! Whether a judge configuration agrees with people as well as the one that it would replace. Changes nothing.

use serde::Serialize;

use crate::scoring::agreement::{Compared, compare_agreement};
use crate::scoring::decimals::to_decimals;
use crate::scoring::intervals;
use crate::store::ratings::{find_active_study, load_rated};
use crate::store::{DbConnection, StoreError};

use super::measuring::{items, load_scores};

/// What is known of the agreement of two configurations.
#[derive(Debug, Clone, PartialEq, Serialize, utoipa::ToSchema)]
#[serde(tag = "known", rename_all = "snake_case")]
pub enum AgreementChange {
    /// There are no human ratings.
    NoRatings,
    /// One or both have not judged the rated answers.
    Unmeasured {
        /// Whether the candidate has.
        candidate: bool,
        /// Whether the current one has.
        current: bool,
    },
    /// Both have.
    Compared {
        /// The candidate is the first, the current one the second.
        comparison: Compared,
    },
}

impl AgreementChange {
    /// Whether the candidate agrees less, and chance does not explain it.
    pub fn is_worse(&self) -> bool {
        matches!(self, AgreementChange::Compared { comparison } if comparison.is_worse())
    }

    /// What is known, in words.
    pub fn words(&self) -> String {
        let number =
            |value: Option<f64>| value.map_or_else(|| "unknown".to_owned(), |value| to_decimals(value, 3));
        match self {
            AgreementChange::NoRatings => {
                "agreement with people: unknown, since no human ratings have been imported".to_owned()
            }
            AgreementChange::Unmeasured { candidate, current } => {
                let who = match (candidate, current) {
                    (false, true) => "the new configuration has",
                    (true, false) => "the current configuration has",
                    _ => "both configurations have",
                };
                format!(
                    "agreement with people: unknown, since {who} not judged the rated answers; `secchi validity calibrate \
                     --judge ID` has them judged"
                )
            }
            AgreementChange::Compared { comparison } => {
                let Compared { items, first, second, difference } = comparison;
                let ci95 = difference.ci95.map_or_else(
                    || "interval unknown".to_owned(),
                    |[low, high]| {
                        format!("95 % interval {} to {}", to_decimals(low, 3), to_decimals(high, 3))
                    },
                );
                format!(
                    "agreement with people on {items} items (quadratic-weighted kappa): new {}, current {}, difference {} \
                     ({ci95})",
                    number(*first),
                    number(*second),
                    number(difference.value)
                )
            }
        }
    }
}

/// Compares a candidate with the current configuration on the items that both have scored.
///
/// # Errors
/// When the database fails.
pub fn agreement_change(
    connection: &mut DbConnection,
    candidate_id: &str,
    current_id: &str,
) -> Result<AgreementChange, StoreError> {
    let Some(study) = find_active_study(connection)? else { return Ok(AgreementChange::NoRatings) };
    let rated = load_rated(connection, &study.id)?;
    let mut scores = |id: &str| load_scores(connection, &study, &rated, id);
    match (scores(candidate_id)?, scores(current_id)?) {
        (Some((candidate, _)), Some((current, _))) => {
            let seed = intervals::seed(&study.content_sha256, "change");
            let (candidate, current) = (items(&rated, &candidate), items(&rated, &current));
            let comparison = compare_agreement(seed, &candidate, &current);
            Ok(AgreementChange::Compared { comparison })
        }
        (candidate, current) => {
            Ok(AgreementChange::Unmeasured { candidate: candidate.is_some(), current: current.is_some() })
        }
    }
}
