//! What a board may show: which submissions, and the judge configuration under which each of them stands.

use diesel::dsl::{exists, not};
use diesel::prelude::*;

use super::schema::{archived_attempts, releases, scores, series_members, submissions, teams};
use super::scores::{Score, unpack};
use super::{DbConnection, Result, stored};
use crate::domain::question::Split;
use crate::domain::submission::{Access, SubmissionState, Visibility};

/// Matches what a board may show: scored, published, not withdrawn, and with scores that are told.
#[diesel::dsl::auto_type(no_type_alias)]
pub(super) fn published() -> _ {
    let scored: &'static str = SubmissionState::Scored.as_str();
    let private: &'static str = Visibility::Private.as_str();
    submissions::state
        .eq(scored)
        .and(submissions::visibility.ne(private))
        .and(submissions::withdrawn_reason.is_null())
        .and(not(exists(
            series_members::table
                .filter(series_members::submission_id.eq(submissions::id))
                .filter(series_members::told.eq(false)),
        )))
}

/// A published submission of a release, with what a board must know of it.
#[derive(Debug, Clone, PartialEq)]
pub struct StandingRow {
    /// The submission's id.
    pub submission_id: String,
    /// The team's id.
    pub team_id: String,
    /// The team's short name.
    pub team: String,
    /// The model's name.
    pub model_name: String,
    /// The model's backbone.
    pub backbone: Option<String>,
    /// Whether the model's weights can be had.
    pub access: Access,
    /// Billions of parameters.
    pub parameters_b: Option<f64>,
    /// Who may see it: not `private`.
    pub visibility: Visibility,
    /// When it was submitted.
    pub created_at_ms: i64,
    /// Since when it has been scored and not private.
    pub published_at_ms: i64,
    /// Its scores, in the benchmark's order.
    pub scores: Vec<Score>,
}

/// Every published submission of a release that has complete scores under a configuration, oldest first.
pub fn load_standing(
    connection: &mut DbConnection,
    release_id: &str,
    configuration_id: &str,
) -> Result<Vec<StandingRow>> {
    type Instants = (i64, Option<i64>, Option<i64>);
    type Row =
        (String, String, String, String, Option<String>, String, Option<f64>, String, Instants, String);
    let rows: Vec<Row> = submissions::table
        .inner_join(teams::table.on(teams::id.eq(submissions::team_id)))
        .inner_join(scores::table.on(scores::submission_id.eq(submissions::id)))
        .filter(submissions::release_id.eq(release_id))
        .filter(published())
        .filter(scores::configuration_id.eq(configuration_id))
        .filter(scores::complete)
        .order((submissions::created_at_ms, submissions::id))
        .select((
            submissions::id,
            submissions::team_id,
            teams::slug,
            submissions::model_name,
            submissions::backbone,
            submissions::access,
            submissions::parameters_b,
            submissions::visibility,
            (submissions::created_at_ms, submissions::finished_at_ms, submissions::visible_since_ms),
            scores::by_column,
        ))
        .load(connection)?;
    rows.into_iter()
        .map(|row| {
            Ok(StandingRow {
                submission_id: row.0,
                team_id: row.1,
                team: row.2,
                model_name: row.3,
                backbone: row.4,
                access: stored("access", &row.5, Access::parse)?,
                parameters_b: row.6,
                visibility: stored("visibility", &row.7, Visibility::parse)?,
                created_at_ms: row.8.0,
                published_at_ms: row.8.0.max(row.8.1.unwrap_or_default()).max(row.8.2.unwrap_or_default()),
                scores: unpack(&row.9)?,
            })
        })
        .collect()
}

/// The scored submissions to a split as (team, submission), oldest first. Anonymous ones are left out: a number that
/// counts them would tell whose they are.
pub fn load_scored_times(connection: &mut DbConnection, split: Split) -> Result<Vec<(String, String)>> {
    let scored = submissions::table
        .filter(submissions::split.eq(split.as_str()))
        .filter(submissions::state.eq(SubmissionState::Scored.as_str()))
        .filter(submissions::visibility.ne(Visibility::Anonymous.as_str()))
        .order((submissions::created_at_ms, submissions::id))
        .select((submissions::team_id, submissions::id))
        .load(connection)?;
    Ok(scored)
}

/// By submission what [`load_scored_times`] would tell of its team's attempts, had the others not been left out of this
/// archive; empty where nothing is left out.
pub fn load_archived_attempts(connection: &mut DbConnection) -> Result<Vec<(String, usize)>> {
    let rows: Vec<(String, i32)> = archived_attempts::table.load(connection)?;
    Ok(rows.into_iter().map(|(id, attempts)| (id, usize::try_from(attempts).unwrap_or_default())).collect())
}

/// A published entry of an active release, by the ids of its submission and its release.
pub type EntryIds = (String, String);

/// The published entries of active releases that have no complete scores under a configuration.
pub fn load_unjudged(connection: &mut DbConnection, configuration_id: &str) -> Result<Vec<EntryIds>> {
    let judged = scores::table
        .filter(scores::submission_id.eq(submissions::id))
        .filter(scores::configuration_id.eq(configuration_id))
        .filter(scores::complete);
    let found = submissions::table
        .inner_join(releases::table.on(releases::id.eq(submissions::release_id)))
        .filter(releases::active)
        .filter(published())
        .filter(not(exists(judged)))
        .order((submissions::split, submissions::created_at_ms))
        .select((submissions::id, submissions::release_id))
        .load(connection)?;
    Ok(found)
}

/// Makes a configuration the one of a scored submission that has complete scores under it.
pub fn update_configuration(connection: &mut DbConnection, id: &str, configuration_id: &str) -> Result<()> {
    diesel::update(submissions::table.find(id))
        .set(submissions::configuration_id.eq(configuration_id))
        .execute(connection)?;
    Ok(())
}

/// Makes a configuration the one of every scored submission that has complete scores under it.
pub fn adopt_configuration(connection: &mut DbConnection, configuration_id: &str) -> Result<()> {
    let judged = scores::table
        .filter(scores::submission_id.eq(submissions::id))
        .filter(scores::configuration_id.eq(configuration_id))
        .filter(scores::complete);
    let scored = submissions::table.filter(submissions::state.eq(SubmissionState::Scored.as_str()));
    diesel::update(scored.filter(diesel::dsl::exists(judged)))
        .set(submissions::configuration_id.eq(configuration_id))
        .execute(connection)?;
    Ok(())
}
