//! Rank ranges as they were worked out last, and the blind baselines of a release. Knows nothing of the tests behind
//! them.

use std::collections::{BTreeMap, HashMap};

use diesel::prelude::*;

use super::connection::on_each;
use super::schema::{baselines, rank_ranges, ranked_boards};
use super::scores::{Score, pack, unpack};
use super::{DbConnection, Result, StoreError, stored};
use crate::domain::column::Column;
use crate::scoring::baselines::Rule;
use crate::scoring::standings::Standing;
use crate::text_enum;

text_enum! {
    /// Which entries stand on a board.
    Scope {
        /// Each team's newest of a model.
        Newest = "newest",
        All = "all",
    }
}

/// A board whose entries are compared among each other: a release's id, a judge configuration's and a scope.
pub type BoardKey<'a> = (&'a str, &'a str, Scope);

/// How an entry stands in each column.
pub type Standings = BTreeMap<Column, Standing>;

/// What was worked out last for a board as a whole.
#[derive(Debug, Clone, PartialEq)]
pub struct RankedBoard {
    /// Of the rows for which its ranges were worked out.
    pub fingerprint: String,
    /// How far apart two entries must be for a test to find it, by column, in its unit.
    pub smallest_difference: BTreeMap<Column, f64>,
}

/// What was worked out last for a board, if anything ever was.
pub fn find_ranked_board(connection: &mut DbConnection, board: BoardKey<'_>) -> Result<Option<RankedBoard>> {
    let (release_id, configuration_id, scope) = board;
    let found: Option<(String, String)> = ranked_boards::table
        .find((release_id, configuration_id, scope.as_str()))
        .select((ranked_boards::fingerprint, ranked_boards::smallest_difference))
        .first(connection)
        .optional()?;
    let read = |(fingerprint, differences): (String, String)| {
        let smallest_difference = serde_json::from_str(&differences)
            .map_err(|_| StoreError::Unknown { what: "list of differences", value: differences })?;
        Ok(RankedBoard { fingerprint, smallest_difference })
    };
    found.map(read).transpose()
}

/// Replaces what was worked out for a board as a whole.
pub fn save_ranked_board(
    connection: &mut DbConnection,
    board: BoardKey<'_>,
    ranked: &RankedBoard,
) -> Result<()> {
    let (release_id, configuration_id, scope) = board;
    let differences = serde_json::json!(ranked.smallest_difference).to_string();
    let found = (
        ranked_boards::fingerprint.eq(&ranked.fingerprint),
        ranked_boards::smallest_difference.eq(&differences),
    );
    on_each!(connection, |inner| diesel::insert_into(ranked_boards::table)
        .values((
            ranked_boards::release_id.eq(release_id),
            ranked_boards::configuration_id.eq(configuration_id),
            ranked_boards::scope.eq(scope.as_str()),
            found,
        ))
        .on_conflict((ranked_boards::release_id, ranked_boards::configuration_id, ranked_boards::scope))
        .do_update()
        .set(found)
        .execute(inner))?;
    Ok(())
}

/// Replaces how these entries of a board stand, at most some thousand at once.
pub fn save_standings(
    connection: &mut DbConnection,
    board: BoardKey<'_>,
    standings: &[(String, Standings)],
) -> Result<()> {
    let (release_id, configuration_id, scope) = board;
    let row = |(submission_id, standings): &(String, Standings)| {
        (
            rank_ranges::release_id.eq(release_id.to_owned()),
            rank_ranges::configuration_id.eq(configuration_id.to_owned()),
            rank_ranges::scope.eq(scope.as_str()),
            rank_ranges::submission_id.eq(submission_id.clone()),
            rank_ranges::by_column.eq(serde_json::json!(standings).to_string()),
        )
    };
    delete_standings(connection, board, &standings.iter().map(|(id, _)| id.as_str()).collect::<Vec<_>>())?;
    let rows: Vec<_> = standings.iter().map(row).collect();
    on_each!(connection, |inner| diesel::insert_into(rank_ranges::table).values(&rows).execute(inner))?;
    Ok(())
}

/// Forgets how these entries of a board stand, at most some thousand at once.
pub fn delete_standings(
    connection: &mut DbConnection,
    board: BoardKey<'_>,
    submission_ids: &[&str],
) -> Result<()> {
    let (release_id, configuration_id, scope) = board;
    let of_board = rank_ranges::table
        .filter(rank_ranges::release_id.eq(release_id))
        .filter(rank_ranges::configuration_id.eq(configuration_id))
        .filter(rank_ranges::scope.eq(scope.as_str()));
    diesel::delete(of_board.filter(rank_ranges::submission_id.eq_any(submission_ids))).execute(connection)?;
    Ok(())
}

/// How the entries of a board stand, by submission; those that were never compared are absent.
pub fn load_standings(
    connection: &mut DbConnection,
    board: BoardKey<'_>,
) -> Result<HashMap<String, Standings>> {
    let (release_id, configuration_id, scope) = board;
    let rows: Vec<(String, String)> = rank_ranges::table
        .filter(rank_ranges::release_id.eq(release_id))
        .filter(rank_ranges::configuration_id.eq(configuration_id))
        .filter(rank_ranges::scope.eq(scope.as_str()))
        .select((rank_ranges::submission_id, rank_ranges::by_column))
        .load(connection)?;
    let read = |(id, by_column): (String, String)| {
        let standings = serde_json::from_str(&by_column)
            .map_err(|_| StoreError::Unknown { what: "standing of", value: id.clone() })?;
        Ok((id, standings))
    };
    rows.into_iter().map(read).collect()
}

/// Replaces the scores of a release's baselines.
pub fn save_baselines(
    connection: &mut DbConnection,
    release_id: &str,
    scores: &[(Rule, Vec<Score>)],
) -> Result<()> {
    diesel::delete(baselines::table.filter(baselines::release_id.eq(release_id))).execute(connection)?;
    for (rule, scores) in scores {
        diesel::insert_into(baselines::table)
            .values((
                baselines::release_id.eq(release_id),
                baselines::rule.eq(rule.as_str()),
                baselines::by_column.eq(pack(scores)),
            ))
            .execute(connection)?;
    }
    Ok(())
}

/// The scores of a release's baselines; none until they are worked out.
pub fn load_baselines(connection: &mut DbConnection, release_id: &str) -> Result<Vec<(Rule, Vec<Score>)>> {
    let rows: Vec<(String, String)> = baselines::table
        .filter(baselines::release_id.eq(release_id))
        .select((baselines::rule, baselines::by_column))
        .load(connection)?;
    let read =
        |(rule, by_column): (String, String)| Ok((stored("rule", &rule, Rule::parse)?, unpack(&by_column)?));
    let mut found: Vec<(Rule, Vec<Score>)> = rows.into_iter().map(read).collect::<Result<_>>()?;
    found.sort_by_key(|(rule, _)| Rule::ALL.iter().position(|known| known == rule));
    Ok(found)
}
