//! What a board may show: which submissions, and the judge configuration under which each of them stands.

use diesel::dsl::{exists, not};
use diesel::prelude::*;

use super::releases::load_releases;
use super::schema::{archived_attempts, releases, scores, series_members, submissions, teams};
use super::scores::{Score, Under, unpack};
use super::{DbConnection, Result, stored};
use crate::domain::question::Split;
use crate::domain::submission::{Access, SubmissionState, Visibility};

/// Rows of one UPDATE; SQLite takes at most 32,766 parameters.
const BATCH: usize = 1000;

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

/// Every published submission that has complete scores under a release and a configuration, oldest first.
pub fn load_standing(connection: &mut DbConnection, under: &Under) -> Result<Vec<StandingRow>> {
    type Instants = (i64, Option<i64>, Option<i64>);
    type Row =
        (String, String, String, String, Option<String>, String, Option<f64>, String, Instants, String);
    let rows: Vec<Row> = submissions::table
        .inner_join(teams::table.on(teams::id.eq(submissions::team_id)))
        .inner_join(scores::table.on(scores::submission_id.eq(submissions::id)))
        .filter(published())
        .filter(scores::release_id.eq(&under.release_id))
        .filter(scores::configuration_id.eq(&under.configuration_id))
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

/// Matches submissions that stand under a release of the same line: they can stand under the others too.
#[diesel::dsl::auto_type(no_type_alias)]
pub(super) fn of_line<'a>(line_id: &'a str) -> _ {
    exists(
        releases::table
            .filter(releases::id.eq(submissions::release_id))
            .filter(releases::line_id.eq(line_id)),
    )
}

/// The published entries of a release's line that have no complete scores under it and a configuration, oldest first.
pub fn load_unscored(connection: &mut DbConnection, line_id: &str, under: &Under) -> Result<Vec<String>> {
    let scored = scores::table
        .filter(scores::submission_id.eq(submissions::id))
        .filter(scores::release_id.eq(&under.release_id))
        .filter(scores::configuration_id.eq(&under.configuration_id))
        .filter(scores::complete);
    let found = submissions::table
        .filter(of_line(line_id))
        .filter(published())
        .filter(not(exists(scored)))
        .order(submissions::created_at_ms)
        .select(submissions::id)
        .load(connection)?;
    Ok(found)
}

/// A published entry by the ids of its submission and of a release that it is to have scores under.
pub type EntryIds = (String, String);

/// The published entries of active releases that have no complete scores under a configuration.
pub fn load_unjudged(connection: &mut DbConnection, configuration_id: &str) -> Result<Vec<EntryIds>> {
    let mut found = Vec::new();
    for release in load_releases(connection)?.into_iter().filter(|release| release.active) {
        let under = Under::new(&release.id, configuration_id);
        let unjudged = load_unscored(connection, &release.line_id, &under)?;
        found.extend(unjudged.into_iter().map(|id| (id, release.id.clone())));
    }
    Ok(found)
}

/// Makes a configuration the one of every scored submission that has complete scores under it and its release.
pub fn adopt_configuration(connection: &mut DbConnection, configuration_id: &str) -> Result<()> {
    let judged = scores::table
        .filter(scores::submission_id.eq(submissions::id))
        .filter(scores::release_id.eq(submissions::release_id))
        .filter(scores::configuration_id.eq(configuration_id))
        .filter(scores::complete);
    let scored = submissions::table.filter(submissions::state.eq(SubmissionState::Scored.as_str()));
    diesel::update(scored.filter(exists(judged)))
        .set(submissions::configuration_id.eq(configuration_id))
        .execute(connection)?;
    Ok(())
}

/// Lets every scored submission stand under a release and a configuration that it has complete scores under.
pub fn adopt_release(connection: &mut DbConnection, under: &Under) -> Result<()> {
    let complete: Vec<String> = scores::table
        .filter(scores::release_id.eq(&under.release_id))
        .filter(scores::configuration_id.eq(&under.configuration_id))
        .filter(scores::complete)
        .select(scores::submission_id)
        .load(connection)?;
    complete.chunks(BATCH).try_for_each(|ids| update_standing(connection, ids, under))
}

/// Lets scored submissions stand under a release and a configuration that they have complete scores under.
pub fn update_standing(connection: &mut DbConnection, ids: &[String], under: &Under) -> Result<()> {
    let own = || {
        scores::table
            .filter(scores::submission_id.eq(submissions::id))
            .filter(scores::release_id.eq(&under.release_id))
            .filter(scores::configuration_id.eq(&under.configuration_id))
    };
    let scored = submissions::table
        .filter(submissions::id.eq_any(ids))
        .filter(submissions::state.eq(SubmissionState::Scored.as_str()));
    diesel::update(scored)
        .set((
            submissions::release_id.eq(&under.release_id),
            submissions::configuration_id.eq(&under.configuration_id),
            submissions::questions.eq(own().select(scores::questions).single_value().assume_not_null()),
            submissions::answered.eq(own().select(scores::answered).single_value().assume_not_null()),
            submissions::unparsed.eq(own().select(scores::unparsed).single_value().assume_not_null()),
        ))
        .execute(connection)?;
    Ok(())
}
