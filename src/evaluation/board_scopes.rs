//! The rows of a board in either scope, and whether what was worked out for them last still stands. Knows nothing of how
//! it is worked out.

use sha2::{Digest as _, Sha256};

use crate::store::ranges::{Scope, find_ranked_board};
use crate::store::scores::Under;
use crate::store::standing::{StandingRow, load_standing};
use crate::store::{DbConnection, StoreError, load_board_revision};

use super::board_rows::in_scope;

/// Changes whenever the tests do, so that all boards are worked out anew.
const METHOD: &[u8] = b"1";

/// The rows of a board in one scope.
pub(super) struct Seen {
    pub(super) scope: Scope,
    /// Oldest first.
    pub(super) submission_ids: Vec<String>,
    pub(super) fingerprint: String,
    /// Whether the ranges that are stored are those of these rows.
    pub(super) stands: bool,
}

/// The rows of either scope at present, and the board's revision.
pub(super) fn load_scopes(
    connection: &mut DbConnection,
    release_id: &str,
    configuration_id: &str,
) -> Result<(i64, [Seen; 2]), StoreError> {
    let revision = load_board_revision(connection)?;
    let all = load_standing(connection, &Under::new(release_id, configuration_id))?;
    let mut seen = |scope, rows: &[StandingRow]| -> Result<Seen, StoreError> {
        let stored = find_ranked_board(connection, (release_id, configuration_id, scope))?;
        let fingerprint = fingerprint(rows);
        // Of a board that always was empty nothing is to be worked out.
        let stands = stored.map_or(rows.is_empty(), |stored| stored.fingerprint == fingerprint);
        let submission_ids = rows.iter().map(|row| row.submission_id.clone()).collect();
        Ok(Seen { scope, submission_ids, fingerprint, stands })
    };
    let of_all = seen(Scope::All, &all)?;
    let newest = seen(Scope::Newest, &in_scope(all, Scope::Newest))?;
    Ok((revision, [newest, of_all]))
}

/// A hash of the ids and scores of rows.
fn fingerprint(rows: &[StandingRow]) -> String {
    let mut hash = Sha256::new_with_prefix(METHOD);
    for row in rows {
        hash.update(row.submission_id.as_bytes());
        for score in &row.scores {
            hash.update(score.column.as_str().as_bytes());
            for number in [score.value, score.ci95[0], score.ci95[1]] {
                hash.update(number.to_le_bytes());
            }
        }
    }
    hex::encode(hash.finalize())
}
