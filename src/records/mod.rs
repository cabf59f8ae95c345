//! Signed records: what a server states about an entry, in a form that anybody can check later and without it. Knows nothing
//! of databases, requests or the command line.

mod checking;
mod json;
mod keys;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::domain::column::{Column, Unit};
use crate::domain::question::Split;

pub use checking::{Checked, RecordFault, check};
pub use keys::{KeySet, PublicKey, SigningKey, new_seed};

/// What can go wrong with a key.
#[derive(Debug, thiserror::Error)]
#[error("the record key cannot be used: {0}")]
pub struct KeyError(String);

impl From<jsonwebtoken::errors::Error> for KeyError {
    fn from(error: jsonwebtoken::errors::Error) -> KeyError {
        KeyError(error.to_string())
    }
}

/// What a server states about an entry. The same state of the entry gives the same record.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "server", derive(utoipa::ToSchema))]
pub struct Record {
    /// The server's address.
    pub issuer: String,
    /// The entry's id.
    pub entry: String,
    /// The team's short name; null for an anonymous entry.
    pub team: Option<String>,
    /// The model's name.
    pub model_name: String,
    /// The split.
    pub split: Split,
    /// The release that was answered.
    pub release: RecordRelease,
    /// SHA-256 over the answers as they were read, in hex; null for an anonymous entry, which it could name.
    pub predictions_sha256: Option<String>,
    /// The judge behind the open-ended columns.
    pub judge: RecordJudge,
    /// How much was answered.
    pub coverage: RecordCoverage,
    /// How many answers maintainers decided by hand, since the judge gave no score for them.
    pub decided_by_hand: usize,
    /// Scores by column.
    #[cfg_attr(feature = "server", schema(value_type = BTreeMap<String, RecordScore>))]
    pub scores: BTreeMap<Column, RecordScore>,
    /// The version of the code that states this.
    pub code_version: String,
    /// When it was submitted.
    pub submitted_at: String,
    /// When it was scored.
    pub scored_at: Option<String>,
}

/// The release of a record.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "server", derive(utoipa::ToSchema))]
pub struct RecordRelease {
    /// Its name.
    pub name: String,
    /// SHA-256 of its content, in hex.
    pub sha256: String,
}

/// The judge of a record.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "server", derive(utoipa::ToSchema))]
pub struct RecordJudge {
    /// The configuration's id.
    pub configuration: String,
    /// The model that judges.
    pub model: String,
}

/// How much of a release was answered.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "server", derive(utoipa::ToSchema))]
pub struct RecordCoverage {
    /// Questions of the release.
    pub questions: i32,
    /// Questions with an answer.
    pub answered: i32,
}

/// One score of a record.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "server", derive(utoipa::ToSchema))]
pub struct RecordScore {
    /// The value, unrounded.
    pub value: f64,
    /// Percent of 100, or points from 0 to 5.
    pub unit: Unit,
    /// The 95 % interval.
    pub ci95: [f64; 2],
    /// How many questions it rests on.
    pub n: i32,
}

/// A record with its signature.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "server", derive(utoipa::ToSchema))]
pub struct SignedRecord {
    /// What is stated.
    pub record: Record,
    /// The same, signed: a JWS in compact form (RFC 7515) by Ed25519, whose header holds the public key.
    pub jws: String,
}
