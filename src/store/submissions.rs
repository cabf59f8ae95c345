//! Submissions and their answers. Knows nothing of who may do what with them.

use diesel::dsl::exists;
use diesel::prelude::*;

use super::rejudgings::INCOMPLETE;
use super::schema::{flag_queue, predictions, rejudgings, releases, submissions, teams};
use super::{DbConnection, Result, StoreError, stored};
use crate::domain::fault::Warning;
use crate::domain::question::Split;
use crate::domain::submission::{Access, Metadata, PausedFor, SubmissionState, Visibility};

/// How far the grading and judging of a submission has come, in answers.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Progress {
    /// Multiple-choice questions graded.
    pub graded: i32,
    /// Open-ended answers that a judge must score.
    pub to_judge: i32,
    /// Of these, the scored ones.
    pub judged: i32,
    /// Of the judged ones, those whose judgement stood already.
    pub reused: i32,
    /// Of those to judge, the ones that could not be judged.
    pub failed: i32,
}

/// A submission as stored, without its answers.
#[derive(Debug, Clone, PartialEq)]
pub struct Submission {
    /// UUIDv7.
    pub id: String,
    /// The team's id.
    pub team_id: String,
    /// The team's short name.
    pub team: String,
    /// The release's id.
    pub release_id: String,
    /// The release's name.
    pub release: String,
    /// What the team says about the model.
    pub metadata: Metadata,
    /// Where it stands.
    pub state: SubmissionState,
    /// Why judging waits, if it does.
    pub paused_for: Option<PausedFor>,
    /// Questions in the release.
    pub questions: i32,
    /// Questions with an answer.
    pub answered: i32,
    /// Multiple-choice answers without a letter that could be read.
    pub unparsed: i32,
    /// How far it has come.
    pub progress: Progress,
    /// What was odd about the file.
    pub warnings: Vec<Warning>,
    /// The judge configuration that it is judged under, once grading began.
    pub configuration_id: Option<String>,
    /// Why it was taken off the board, if it was.
    pub withdrawn_reason: Option<String>,
    /// When it was accepted.
    pub created_at_ms: i64,
    /// When it reached a final state.
    pub finished_at_ms: Option<i64>,
}

impl Submission {
    /// Whether any of its scores could be read by its team, now or before: those of multiple choice stand after grading.
    pub fn was_readable(&self) -> bool {
        self.progress.graded > 0 || self.state == SubmissionState::Judging
    }

    /// Whether it was scored and not for its team alone, so that it has an address that others can read.
    pub fn has_entry(&self) -> bool {
        self.state == SubmissionState::Scored && self.metadata.visibility != Visibility::Private
    }
}

type Head = (String, String, String, String, String, String, String, Option<String>, String, Option<f64>);
type Links = (Option<String>, Option<String>, Option<String>, String, Option<String>);
type State = (String, Option<String>, String, Option<String>, Option<String>, i64, Option<i64>);
type Counts = (i32, i32, i32, i32, i32, i32, i32, i32);
type Row = (Head, Links, State, Counts);

/// Selects the columns of a [`Row`], one tuple a subject.
macro_rules! columns {
    () => {
        (
            (
                submissions::id,
                submissions::team_id,
                teams::slug,
                submissions::release_id,
                releases::name,
                submissions::split,
                submissions::model_name,
                submissions::backbone,
                submissions::access,
                submissions::parameters_b,
            ),
            (
                submissions::description,
                submissions::paper_url,
                submissions::code_url,
                submissions::visibility,
                submissions::anonymous_until,
            ),
            (
                submissions::state,
                submissions::paused_for,
                submissions::warnings,
                submissions::configuration_id,
                submissions::withdrawn_reason,
                submissions::created_at_ms,
                submissions::finished_at_ms,
            ),
            (
                submissions::questions,
                submissions::answered,
                submissions::unparsed,
                submissions::graded,
                submissions::to_judge,
                submissions::judged,
                submissions::reused,
                submissions::failed,
            ),
        )
    };
}

fn submission((head, links, state, counts): Row) -> Result<Submission> {
    let (id, team_id, team, release_id, release, split, model_name, backbone, access, parameters_b) = head;
    let (description, paper_url, code_url, visibility, anonymous_until) = links;
    let (state, paused_for, warnings, configuration_id, withdrawn_reason, created_at_ms, finished_at_ms) =
        state;
    let (questions, answered, unparsed, graded, to_judge, judged, reused, failed) = counts;
    let paused_for = paused_for.map(|text| stored("pause", &text, PausedFor::parse)).transpose()?;
    let unknown = |_| StoreError::Unknown { what: "warning list of", value: id.clone() };
    Ok(Submission {
        warnings: serde_json::from_str(&warnings).map_err(unknown)?,
        id,
        team_id,
        team,
        release_id,
        release,
        metadata: Metadata {
            split: stored("split", &split, Split::parse)?,
            model_name,
            access: stored("access", &access, Access::parse)?,
            parameters_b,
            backbone,
            description,
            paper_url,
            code_url,
            visibility: stored("visibility", &visibility, Visibility::parse)?,
            anonymous_until,
        },
        state: stored("state", &state, SubmissionState::parse)?,
        paused_for,
        questions,
        answered,
        unparsed,
        progress: Progress { graded, to_judge, judged, reused, failed },
        configuration_id,
        withdrawn_reason,
        created_at_ms,
        finished_at_ms,
    })
}

/// The submission with this id.
pub fn find_submission(connection: &mut DbConnection, id: &str) -> Result<Option<Submission>> {
    let row = submissions::table
        .inner_join(teams::table.on(teams::id.eq(submissions::team_id)))
        .inner_join(releases::table.on(releases::id.eq(submissions::release_id)))
        .filter(submissions::id.eq(id))
        .select(columns!())
        .first::<Row>(connection)
        .optional()?;
    row.map(submission).transpose()
}

/// The submissions with these ids, in no order; unknown ones are left out.
pub fn find_submissions(connection: &mut DbConnection, ids: &[&str]) -> Result<Vec<Submission>> {
    let rows: Vec<Row> = submissions::table
        .inner_join(teams::table.on(teams::id.eq(submissions::team_id)))
        .inner_join(releases::table.on(releases::id.eq(submissions::release_id)))
        .filter(submissions::id.eq_any(ids))
        .select(columns!())
        .load(connection)?;
    rows.into_iter().map(submission).collect()
}

/// At most `limit` submissions of a team, or of all teams, newest first, below the id `before`.
pub fn load_submissions(
    connection: &mut DbConnection,
    team_id: Option<&str>,
    before: Option<&str>,
    limit: i64,
) -> Result<Vec<Submission>> {
    let filter = SubmissionFilter { team_id: team_id.map(str::to_owned), ..SubmissionFilter::default() };
    search_submissions(connection, &filter, before, limit)
}

/// Which submissions are asked for; what is none is not asked about.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SubmissionFilter {
    /// Of the team with this id.
    pub team_id: Option<String>,
    /// Of the team with this short name.
    pub team: Option<String>,
    /// In this state.
    pub state: Option<SubmissionState>,
    /// To this split.
    pub split: Option<Split>,
    /// Only those that a maintainer should look at: failed, incomplete (also in a rejudging), paused, or with an open flag.
    pub needs_attention: bool,
}

/// At most `limit` submissions, newest first, below the id `before`.
pub fn search_submissions(
    connection: &mut DbConnection,
    filter: &SubmissionFilter,
    before: Option<&str>,
    limit: i64,
) -> Result<Vec<Submission>> {
    // UUIDv7 ids sort by time.
    let mut query = submissions::table
        .inner_join(teams::table.on(teams::id.eq(submissions::team_id)))
        .inner_join(releases::table.on(releases::id.eq(submissions::release_id)))
        .into_boxed();
    if let Some(team_id) = &filter.team_id {
        query = query.filter(submissions::team_id.eq(team_id));
    }
    if let Some(team) = &filter.team {
        query = query.filter(teams::slug.eq(team));
    }
    if let Some(state) = filter.state {
        query = query.filter(submissions::state.eq(state.as_str()));
    }
    if let Some(split) = filter.split {
        query = query.filter(submissions::split.eq(split.as_str()));
    }
    if filter.needs_attention {
        let ended = [SubmissionState::Failed, SubmissionState::Incomplete].map(SubmissionState::as_str);
        let flagged = flag_queue::table
            .filter(flag_queue::closed_at_ms.is_null())
            .filter(flag_queue::subject.eq(submissions::id));
        let rejudged = rejudgings::table
            .filter(rejudgings::state.eq(INCOMPLETE))
            .filter(rejudgings::submission_id.eq(submissions::id));
        query = query.filter(submissions::withdrawn_reason.is_null()).filter(
            submissions::state
                .eq_any(ended)
                .or(submissions::paused_for.is_not_null())
                .or(exists(flagged))
                .or(exists(rejudged)),
        );
    }
    if let Some(before) = before {
        query = query.filter(submissions::id.lt(before));
    }
    let rows: Vec<Row> =
        query.order(submissions::id.desc()).limit(limit).select(columns!()).load(connection)?;
    rows.into_iter().map(submission).collect()
}

/// The answers of a submission as they were stored, with the id of the release in the order of whose questions they are.
pub fn load_predictions(connection: &mut DbConnection, id: &str) -> Result<(Vec<u8>, String)> {
    let predictions = predictions::table.find(id);
    Ok(predictions.select((predictions::answers, predictions::release_id)).first(connection)?)
}

/// Moves a submission from one of `from` to `to`; false when it was in none of them.
pub fn update_state(
    connection: &mut DbConnection,
    id: &str,
    from: &[SubmissionState],
    to: SubmissionState,
    now_ms: i64,
) -> Result<bool> {
    let from: Vec<&str> = from.iter().map(|state| state.as_str()).collect();
    let moved = diesel::update(submissions::table.find(id).filter(submissions::state.eq_any(from)))
        .set((
            submissions::state.eq(to.as_str()),
            submissions::paused_for.eq(None::<String>),
            submissions::not_before_ms.eq(0),
            submissions::finished_at_ms.eq(to.is_final().then_some(now_ms)),
        ))
        .execute(connection)?;
    Ok(moved == 1)
}

/// Notes how far a submission has come.
pub fn update_progress(connection: &mut DbConnection, id: &str, progress: Progress) -> Result<()> {
    diesel::update(submissions::table.find(id))
        .set((
            submissions::graded.eq(progress.graded),
            submissions::to_judge.eq(progress.to_judge),
            submissions::judged.eq(progress.judged),
            submissions::reused.eq(progress.reused),
            submissions::failed.eq(progress.failed),
        ))
        .execute(connection)?;
    Ok(())
}

/// Notes that a submission's judging goes on, if it was paused.
pub fn clear_pause(connection: &mut DbConnection, id: &str) -> Result<()> {
    let paused = submissions::table.find(id).filter(submissions::paused_for.is_not_null());
    diesel::update(paused).set(submissions::paused_for.eq(None::<String>)).execute(connection)?;
    Ok(())
}

/// Notes what grading found: letters that could not be read, the warnings, and the configuration that judges it.
pub fn update_graded(
    connection: &mut DbConnection,
    id: &str,
    configuration_id: &str,
    unparsed: i32,
    warnings: &[Warning],
) -> Result<()> {
    let warnings = serde_json::to_string(warnings)
        .map_err(|_| StoreError::Unknown { what: "warning list of", value: id.to_owned() })?;
    diesel::update(submissions::table.find(id))
        .set((
            submissions::configuration_id.eq(configuration_id),
            submissions::unparsed.eq(unparsed),
            submissions::warnings.eq(warnings),
        ))
        .execute(connection)?;
    Ok(())
}

/// Lets those submissions that rest for `paused_for` be taken up at once.
pub fn wake_paused(connection: &mut DbConnection, paused_for: PausedFor) -> Result<()> {
    diesel::update(submissions::table.filter(submissions::paused_for.eq(paused_for.as_str())))
        .set(submissions::not_before_ms.eq(0))
        .execute(connection)?;
    Ok(())
}

/// The submissions that are being graded or judged.
pub fn load_begun(connection: &mut DbConnection) -> Result<Vec<String>> {
    let begun = [SubmissionState::Grading, SubmissionState::Judging].map(SubmissionState::as_str);
    let found = submissions::table.filter(submissions::state.eq_any(begun)).select(submissions::id);
    Ok(found.load(connection)?)
}

/// Forgets under which configuration a submission was judged and how far that had come. That it was graded stays known.
pub fn forget_judging(connection: &mut DbConnection, id: &str) -> Result<()> {
    diesel::update(submissions::table.find(id))
        .set((
            submissions::configuration_id.eq(None::<String>),
            submissions::judged.eq(0),
            submissions::reused.eq(0),
            submissions::failed.eq(0),
        ))
        .execute(connection)?;
    Ok(())
}

/// Notes why a submission waits, and until when no worker shall take it up.
pub fn update_pause(
    connection: &mut DbConnection,
    id: &str,
    paused_for: Option<PausedFor>,
    not_before_ms: i64,
) -> Result<()> {
    diesel::update(submissions::table.find(id))
        .set((
            submissions::paused_for.eq(paused_for.map(PausedFor::as_str)),
            submissions::not_before_ms.eq(not_before_ms),
        ))
        .execute(connection)?;
    Ok(())
}

/// How many submissions stand in each state, and why those rest that do.
pub fn count_by_state(
    connection: &mut DbConnection,
) -> Result<Vec<(SubmissionState, Option<PausedFor>, i64)>> {
    let counts: Vec<(String, Option<String>, i64)> = submissions::table
        .group_by((submissions::state, submissions::paused_for))
        .select((submissions::state, submissions::paused_for, diesel::dsl::count(submissions::id)))
        .load(connection)?;
    let read = |(state, paused_for, count): (String, Option<String>, i64)| {
        let paused_for = paused_for.map(|text| stored("paused_for", &text, PausedFor::parse)).transpose()?;
        Ok((stored("state", &state, SubmissionState::parse)?, paused_for, count))
    };
    counts.into_iter().map(read).collect()
}
