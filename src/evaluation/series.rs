//! Near-duplicates on a split that gives no feedback: a team's files that differ in few letters are a series, which
//! maintainers see. Many of them would spell out the key by their scores, so that from some member on a score is told only
//! where it is measurably better than what was told before. No stored score changes by that.

use std::collections::HashMap;

use crate::domain::actor::Actor;
use crate::domain::choice::{Choice, Reason};
use crate::domain::column::Column;
use crate::domain::fault::{Warning, WarningCode};
use crate::domain::flag::FlagKind;
use crate::domain::outcome::Outcome;
use crate::domain::submission::{Feedback, MetadataFault, reason_fault};
use crate::scoring::likeness::{Likeness, NO_LETTER, bands, likeness};
use crate::scoring::pairs::difference;
use crate::store::audit::insert_audit;
use crate::store::flag_queue::{Closing, NewFlag, close_flag, raise_flag};
use crate::store::releases::{load_question_ids, load_release};
use crate::store::series::{self, Member, Neighbour};
use crate::store::submissions::{self, Submission};
use crate::store::teams::lock_team;
use crate::store::{DbConnection, StoreError, bump_board_revision};

use super::Evaluation;
use super::catalogue::GradingRelease;
use super::grading::Grading;

/// Different files of a series whose scores are told, whatever they are.
const TOLD: i32 = 3;

/// Maintainers see a series from this member on.
pub const FLAGGED_FROM: i32 = 4;

/// The chance that a file which is no better passes for one.
const ALPHA: f64 = 0.01;

/// Why a series was left as it is.
#[derive(Debug, thiserror::Error)]
pub enum SeriesError {
    /// There is no such submission, or its scores are told.
    #[error("there is no submission `{0}` whose scores are withheld")]
    Unknown(String),
    /// The reason is none.
    #[error("the reason is faulty")]
    Faults(Vec<MetadataFault>),
    /// The database failed.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// The line of a release. Letters are kept and compared in the order of its first release, whatever a correction has added or
/// left out since.
struct Line {
    /// The id of its first release.
    id: String,
    /// The content's hash of that.
    sha256: String,
    /// By question of the first release its place in the present one, and how many questions that has; none where it is
    /// the first one itself.
    places: Option<(Vec<Option<usize>>, usize)>,
}

impl Line {
    /// Reads it anew: a release that is kept in memory may have joined the line since.
    fn load(connection: &mut DbConnection, release: &GradingRelease) -> Result<Line, StoreError> {
        let id = load_release(connection, &release.release.id)?.line_id;
        let first = load_release(connection, &id)?;
        let places = if id == release.release.id {
            None
        } else {
            let ids = &release.key.question_ids;
            let place: HashMap<&String, usize> =
                ids.iter().enumerate().map(|(place, id)| (id, place)).collect();
            let first = load_question_ids(connection, &id)?;
            Some((first.iter().map(|id| place.get(id).copied()).collect(), ids.len()))
        };
        Ok(Line { id, sha256: first.content_sha256, places })
    }

    /// Letters of the present release in the order of the first.
    fn ordered(&self, letters: &[u8]) -> Vec<u8> {
        let Some((places, _)) = &self.places else { return letters.to_vec() };
        places.iter().map(|place| place.map_or(NO_LETTER, |place| letters[place])).collect()
    }

    /// The way back; none where the first release did not ask.
    fn restored(&self, letters: &[u8]) -> Vec<u8> {
        let Some((places, questions)) = &self.places else { return letters.to_vec() };
        let mut restored = vec![NO_LETTER; *questions];
        for (place, letter) in places.iter().zip(letters) {
            if let Some(place) = place {
                restored[*place] = *letter;
            }
        }
        restored
    }
}

/// Compares a graded submission with what came before, and stores what comes of it. Once: grading it again changes
/// nothing.
pub(super) fn join_series(
    connection: &mut DbConnection,
    release: &GradingRelease,
    submission: &Submission,
    outcomes: &[Outcome],
    now_ms: i64,
) -> Result<(), StoreError> {
    if release.release.feedback == Feedback::PerQuestion {
        return Ok(());
    }
    // Two submissions of a team that are graded at once must see each other.
    lock_team(connection, &submission.team_id)?;
    if series::is_member(connection, &submission.id)? {
        return Ok(());
    }
    // A corrected release begins no series anew.
    let line = Line::load(connection, release)?;
    let of = (submission.team_id.as_str(), line.id.as_str());
    let (key, letters) = (line.ordered(&key(release)), line.ordered(&letters(outcomes)));
    let hashes = bands(&line.sha256, &letters);
    let twin = series::load_candidates(connection, of, &hashes)?
        .iter()
        .map(|(id, other)| (id, likeness(&key, &letters, other)))
        .filter(|(_, likeness)| likeness.is_twin())
        .min_by_key(|(_, likeness)| likeness.differing)
        .map(|(id, likeness)| neighbour(id, likeness));
    let earlier = series::load_members(connection, of.0, of.1)?;
    let near: Vec<(&Member, Likeness)> = earlier
        .iter()
        .map(|member| (member, likeness(&key, &letters, &member.letters)))
        .filter(|(_, likeness)| likeness.is_near())
        .collect();
    let nearest = near.iter().min_by_key(|(_, likeness)| likeness.differing).copied();
    let mut joined: Vec<String> = near.iter().map(|(member, _)| member.series_id.clone()).collect();
    joined.sort();
    joined.dedup();
    let series_id = joined.first().unwrap_or(&submission.id).clone();
    let members: Vec<&Member> = earlier.iter().filter(|member| joined.contains(&member.series_id)).collect();
    let same = members.iter().find(|member| member.letters == letters);
    let (place, told) = match same {
        Some(same) => (same.place, same.told),
        None => {
            let place = 1 + different(&members);
            (place, place <= TOLD || is_better(release, &line, &letters, &members))
        }
    };
    series::merge_series(connection, &joined, &series_id)?;
    let member = Member { submission_id: submission.id.clone(), series_id, place, told, letters };
    let nearest = nearest.map(|(member, likeness)| neighbour(&member.submission_id, likeness));
    series::insert_member(connection, of, &member, nearest.as_ref(), twin.as_ref(), now_ms)?;
    raise(connection, submission, &member, nearest.as_ref(), twin.as_ref(), now_ms)?;
    series::insert_bands(connection, of.1, &submission.id, &hashes)
}

/// Puts into the queue of flags what a maintainer should look at.
fn raise(
    connection: &mut DbConnection,
    submission: &Submission,
    member: &Member,
    nearest: Option<&Neighbour>,
    twin: Option<&Neighbour>,
    now_ms: i64,
) -> Result<(), StoreError> {
    let flag = |kind, other: &'_ Option<String>, detail: &str, connection: &mut DbConnection| {
        let (subject, team) = (submission.id.as_str(), submission.team.as_str());
        let new = NewFlag { kind, subject, team, other: other.as_deref(), detail };
        raise_flag(connection, &new, now_ms)
    };
    if member.place >= FLAGGED_FROM {
        let told = if member.told { "told" } else { "withheld" };
        let alike = nearest.map(|nearest| {
            format!("; {} of {} letters differ from the nearest", nearest.differing, nearest.compared)
        });
        let (place, alike) = (member.place, alike.unwrap_or_default());
        let detail =
            format!("file {place} of a series that differs in few letters; its scores are {told}{alike}");
        let other = nearest.map(|nearest| nearest.submission_id.clone());
        flag(FlagKind::Series, &other, &detail, connection)?;
    }
    if let Some(Neighbour { submission_id, compared, differing }) = twin {
        let of = submissions::find_submission(connection, submission_id)?.map(|other| other.team);
        let of = of.unwrap_or_default();
        let detail = format!("{differing} of {compared} letters differ from a file of team `{of}`");
        flag(FlagKind::Twin, &Some(submission_id.clone()), &detail, connection)?;
    }
    Ok(())
}

/// Whether two graded files are near-duplicates.
pub(super) fn are_alike(release: &GradingRelease, one: &[Outcome], other: &[Outcome]) -> bool {
    likeness(&key(release), &letters(one), &letters(other)).is_near()
}

/// Whether the letters of two graded files are near-duplicates among a column's questions; false for a column without.
pub(super) fn are_alike_in(
    release: &GradingRelease,
    column: Column,
    one: &[Outcome],
    other: &[Outcome],
) -> bool {
    let mut letters_of_one = letters(one);
    for (letter, facts) in letters_of_one.iter_mut().zip(&release.key.facts) {
        if !column.counts(facts.question_type, facts.camera) {
            *letter = NO_LETTER;
        }
    }
    likeness(&key(release), &letters_of_one, &letters(other)).is_near()
}

/// How many different files there are among them.
fn different(members: &[&Member]) -> i32 {
    let mut files: Vec<&[u8]> = members.iter().map(|member| member.letters.as_slice()).collect();
    files.sort_unstable();
    files.dedup();
    i32::try_from(files.len()).unwrap_or(i32::MAX)
}

/// Whether a file is better than the best that was told, beyond what chance explains.
fn is_better(release: &GradingRelease, line: &Line, letters: &[u8], members: &[&Member]) -> bool {
    let outcomes = |letters: &[u8]| outcomes(release, &line.restored(letters));
    let own = outcomes(letters);
    members.iter().filter(|member| member.told).all(|member| {
        let above = difference(Column::Mcq, &release.key.facts, &own, &outcomes(&member.letters));
        above.is_some_and(|above| above.value > 0.0 && above.p < ALPHA)
    })
}

fn neighbour(id: &str, likeness: Likeness) -> Neighbour {
    let count = |number: u32| i32::try_from(number).unwrap_or(i32::MAX);
    Neighbour {
        submission_id: id.to_owned(),
        compared: count(likeness.compared),
        differing: count(likeness.differing),
    }
}

/// The right letter of each question, as [`letters`] has those of a file; nothing of it is stored or told.
fn key(release: &GradingRelease) -> Vec<u8> {
    let letter = |grading: &Grading| match grading {
        Grading::Choice { letter, .. } => byte(*letter),
        Grading::Judged { .. } => NO_LETTER,
    };
    release.key.gradings.iter().map(letter).collect()
}

/// The letters that were read, by question.
fn letters(outcomes: &[Outcome]) -> Vec<u8> {
    let letter = |outcome: &Outcome| match outcome {
        Outcome::Choice { choice, .. } => choice.letter.map_or(NO_LETTER, byte),
        _ => NO_LETTER,
    };
    outcomes.iter().map(letter).collect()
}

fn byte(letter: char) -> u8 {
    u8::try_from(letter).unwrap_or(NO_LETTER)
}

/// What became of the multiple-choice answers of a file with these letters.
fn outcomes(release: &GradingRelease, letters: &[u8]) -> Vec<Outcome> {
    let outcome = |(grading, letter): (&Grading, &u8)| match grading {
        Grading::Choice { letter: right, .. } => Outcome::Choice {
            choice: Choice::letter(char::from(*letter), Reason::LabelOnly),
            correct: *letter == byte(*right),
        },
        Grading::Judged { .. } => Outcome::Pending,
    };
    release.key.gradings.iter().zip(letters).map(outcome).collect()
}

/// What a team is told where its scores are withheld; none where they are not.
///
/// # Errors
/// When the database fails.
pub fn withheld_warning(
    connection: &mut DbConnection,
    submission_id: &str,
) -> Result<Option<Warning>, StoreError> {
    let Some((place, nearest)) = series::find_withheld(connection, submission_id)? else { return Ok(None) };
    let nearest = nearest.unwrap_or_default();
    Ok(Some(Warning {
        code: WarningCode::ScoresWithheld,
        count: u64::try_from(place).unwrap_or_default(),
        detail: format!(
            "This is file {place} of a series that differs in few letters (nearest: `{nearest}`), and it is not measurably \
             better than those before: its multiple-choice scores are not told and it is on no board, since many such \
             scores would spell out the key. Compare variants on `val`, or ask the maintainers to tell them."
        ),
    }))
}

/// Tells scores that were withheld, on a maintainer's word.
///
/// # Errors
/// When there are none, or the reason is blank.
pub async fn tell_scores(
    evaluation: &Evaluation,
    actor: &Actor,
    id: &str,
    reason: &str,
) -> Result<(), SeriesError> {
    if let Some(fault) = reason_fault(reason) {
        return Err(SeriesError::Faults(vec![fault]));
    }
    let (actor, id) = (actor.clone(), id.to_owned());
    let (reason, now_ms) = (reason.trim().to_owned(), evaluation.clock.now_ms());
    evaluation
        .store
        .write(move |connection| {
            if !series::tell_member(connection, &id)? {
                return Err(SeriesError::Unknown(id));
            }
            insert_audit(connection, now_ms, (&actor, "tell_scores", &id), Some("withheld"), Some(&reason))?;
            let closing = Closing { at_ms: now_ms, by: actor.name, reason };
            close_flag(connection, FlagKind::Series, &id, &closing)?;
            bump_board_revision(connection)?;
            Ok(())
        })
        .await
}
