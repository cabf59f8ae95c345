//! Submissions by how alike their letters are. Knows nothing of what likeness is, nor of when a score is told.

use diesel::prelude::*;

use super::connection::on_each;
use super::schema::{letter_bands, series_members, submissions, teams};
use super::{DbConnection, Result};

/// Members that a new submission of the same team is compared with; a team that is granted more than these compares with
/// the newest.
const MAX_COMPARED: i64 = 100;

/// Another team's submissions that share a part with a new one and that it is compared with.
const MAX_CANDIDATES: i64 = 20;

/// A submission among those of its team, with its letters.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Member {
    /// The submission.
    pub submission_id: String,
    /// The first submission of its series.
    pub series_id: String,
    /// Which different file of its series it is, from 1.
    pub place: i32,
    /// Whether its multiple-choice scores are told.
    pub told: bool,
    /// A letter a question, 0 where there is none.
    pub letters: Vec<u8>,
}

/// Another submission, and how far it agrees.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Neighbour {
    /// The other submission.
    pub submission_id: String,
    /// Questions for which both have a letter.
    pub compared: i32,
    /// Of these, the ones with different letters.
    pub differing: i32,
}

/// Adds a member: `nearest` is the most alike of its team, `twin` of another team.
pub fn insert_member(
    connection: &mut DbConnection,
    (team_id, release_id): (&str, &str),
    member: &Member,
    nearest: Option<&Neighbour>,
    twin: Option<&Neighbour>,
    now_ms: i64,
) -> Result<()> {
    let counts = |other: Option<&Neighbour>| other.map_or((0, 0), |other| (other.compared, other.differing));
    let row = (
        series_members::submission_id.eq(&member.submission_id),
        series_members::team_id.eq(team_id),
        series_members::release_id.eq(release_id),
        series_members::series_id.eq(&member.series_id),
        series_members::place.eq(member.place),
        series_members::nearest_id.eq(nearest.map(|nearest| &nearest.submission_id)),
        series_members::compared.eq(counts(nearest).0),
        series_members::differing.eq(counts(nearest).1),
        series_members::told.eq(member.told),
        series_members::twin_id.eq(twin.map(|twin| &twin.submission_id)),
        series_members::twin_compared.eq(counts(twin).0),
        series_members::twin_differing.eq(counts(twin).1),
        series_members::letters.eq(&member.letters),
        series_members::created_at_ms.eq(now_ms),
    );
    diesel::insert_into(series_members::table).values(row).execute(connection)?;
    Ok(())
}

/// Stores the hashes of a submission's parts.
pub fn insert_bands(
    connection: &mut DbConnection,
    release_id: &str,
    submission_id: &str,
    hashes: &[String],
) -> Result<()> {
    let rows: Vec<_> = hashes
        .iter()
        .map(|hash| {
            (
                letter_bands::release_id.eq(release_id),
                letter_bands::hash.eq(hash),
                letter_bands::submission_id.eq(submission_id),
            )
        })
        .collect();
    on_each!(connection, |inner| diesel::insert_into(letter_bands::table)
        .values(&rows)
        .on_conflict_do_nothing()
        .execute(inner))?;
    Ok(())
}

/// Makes several series one.
pub fn merge_series(connection: &mut DbConnection, from: &[String], into: &str) -> Result<()> {
    diesel::update(series_members::table.filter(series_members::series_id.eq_any(from)))
        .set(series_members::series_id.eq(into))
        .execute(connection)?;
    Ok(())
}

/// Whether a submission was compared already.
pub fn is_member(connection: &mut DbConnection, submission_id: &str) -> Result<bool> {
    let found = series_members::table.find(submission_id);
    Ok(diesel::select(diesel::dsl::exists(found)).get_result(connection)?)
}

type Row = (String, String, i32, bool, Vec<u8>);

fn member((submission_id, series_id, place, told, letters): Row) -> Member {
    Member { submission_id, series_id, place, told, letters }
}

/// The newest submissions of a team to a release that were compared.
pub fn load_members(connection: &mut DbConnection, team_id: &str, release_id: &str) -> Result<Vec<Member>> {
    let rows: Vec<Row> = series_members::table
        .filter(series_members::team_id.eq(team_id))
        .filter(series_members::release_id.eq(release_id))
        .order(series_members::submission_id.desc())
        .limit(MAX_COMPARED)
        .select((
            series_members::submission_id,
            series_members::series_id,
            series_members::place,
            series_members::told,
            series_members::letters,
        ))
        .load(connection)?;
    Ok(rows.into_iter().map(member).collect())
}

/// Letters of other teams' submissions that share one of the parts, by submission.
pub fn load_candidates(
    connection: &mut DbConnection,
    (team_id, release_id): (&str, &str),
    hashes: &[String],
) -> Result<Vec<(String, Vec<u8>)>> {
    let found = series_members::table
        .inner_join(letter_bands::table.on(letter_bands::submission_id.eq(series_members::submission_id)))
        .filter(letter_bands::release_id.eq(release_id))
        .filter(letter_bands::hash.eq_any(hashes))
        .filter(series_members::team_id.ne(team_id))
        .select((series_members::submission_id, series_members::letters))
        .distinct()
        .order(series_members::submission_id)
        .limit(MAX_CANDIDATES)
        .load(connection)?;
    Ok(found)
}

/// Which different file of its series a submission is, and the one that it is most alike, if its scores are not told.
pub fn find_withheld(
    connection: &mut DbConnection,
    submission_id: &str,
) -> Result<Option<(i32, Option<String>)>> {
    let found = series_members::table
        .find(submission_id)
        .filter(series_members::told.eq(false))
        .select((series_members::place, series_members::nearest_id))
        .first(connection)
        .optional()?;
    Ok(found)
}

/// Tells a submission's scores from now on; false if they were told before or there is no such submission.
pub fn tell_member(connection: &mut DbConnection, submission_id: &str) -> Result<bool> {
    let withheld = series_members::table.find(submission_id).filter(series_members::told.eq(false));
    Ok(diesel::update(withheld).set(series_members::told.eq(true)).execute(connection)? == 1)
}

/// A submission that a maintainer should look at.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FlaggedMember {
    /// The submission.
    pub submission_id: String,
    /// The team's short name.
    pub team: String,
    /// The model's name.
    pub model_name: String,
    /// The first submission of its series.
    pub series_id: String,
    /// Which different file of its series it is, from 1.
    pub place: i32,
    /// Whether its multiple-choice scores are told.
    pub told: bool,
    /// The most alike of its team.
    pub nearest: Option<Neighbour>,
    /// The most alike of another team, if it is nearly the same.
    pub twin: Option<Neighbour>,
    /// When it was graded.
    pub flagged_at_ms: i64,
}

/// At most `limit` submissions that are the `from_place`th or a later one of their series, or have a twin: newest first,
/// below the id `before`.
pub fn load_flagged(
    connection: &mut DbConnection,
    from_place: i32,
    before: Option<&str>,
    limit: i64,
) -> Result<Vec<FlaggedMember>> {
    type Head = (String, String, String, String, i32, bool, i64);
    type Others = (Option<String>, i32, i32, Option<String>, i32, i32);
    let mut query = series_members::table
        .inner_join(submissions::table.on(submissions::id.eq(series_members::submission_id)))
        .inner_join(teams::table.on(teams::id.eq(series_members::team_id)))
        .filter(series_members::place.ge(from_place).or(series_members::twin_id.is_not_null()))
        .order(series_members::submission_id.desc())
        .limit(limit)
        .into_boxed();
    if let Some(before) = before {
        query = query.filter(series_members::submission_id.lt(before));
    }
    let rows: Vec<(Head, Others)> = query
        .select((
            (
                series_members::submission_id,
                teams::slug,
                submissions::model_name,
                series_members::series_id,
                series_members::place,
                series_members::told,
                series_members::created_at_ms,
            ),
            (
                series_members::nearest_id,
                series_members::compared,
                series_members::differing,
                series_members::twin_id,
                series_members::twin_compared,
                series_members::twin_differing,
            ),
        ))
        .load(connection)?;
    let flagged = |((submission_id, team, model_name, series_id, place, told, flagged_at_ms), others): (
        Head,
        Others,
    )| {
        let neighbour = |id: Option<String>, compared, differing| {
            id.map(|submission_id| Neighbour { submission_id, compared, differing })
        };
        FlaggedMember {
            submission_id,
            team,
            model_name,
            series_id,
            place,
            told,
            nearest: neighbour(others.0, others.1, others.2),
            twin: neighbour(others.3, others.4, others.5),
            flagged_at_ms,
        }
    };
    Ok(rows.into_iter().map(flagged).collect())
}
