//! Published entries beside each other on the same questions: how far apart they are in each column, and whether that is
//! more than chance. On a split without feedback it tells no more digits than the scores do. Knows nothing of requests
//! and pages.

use std::sync::Arc;

use serde::Serialize;
use uuid::Uuid;

use crate::domain::column::{Column, Unit};
use crate::domain::outcome::Outcome;
use crate::domain::question::Split;
use crate::domain::submission::{Feedback, Group, Visibility};
use crate::scoring::decimals::rounded;
use crate::scoring::pairs::{Difference, difference, holm};
use crate::store::configurations::{ConfigurationRow, load_configurations};
use crate::store::scores::{Score, Under, find_outcomes, load_complete, load_scores};
use crate::store::series::find_withheld;
use crate::store::submissions::Submission;
use crate::store::{DbConnection, StoreError};

use super::Evaluation;
use super::board_query::BoardQueryError;
use super::catalogue::GradingRelease;
use super::entries::find_published_submission;
use super::series::{are_alike, are_alike_in};
use super::standing::{JudgeHead, find_judge};

/// A difference is more than chance where a p value, raised for all that is asked together, is below that.
pub const ALPHA: f64 = 0.05;

/// Why entries are not compared.
#[derive(Debug, thiserror::Error)]
pub enum CompareError {
    /// An entry would be compared with itself.
    #[error("`{0}` is named twice; compare it with another entry")]
    Twice(String),
    /// There is no such entry, or it is not published.
    #[error("there is no published entry `{0}`")]
    Unknown(String),
    /// An entry was taken off the board.
    #[error("the entry `{id}` was withdrawn: {reason}")]
    Withdrawn {
        /// The entry.
        id: String,
        /// What its team or a maintainer says.
        reason: String,
    },
    /// The entries answer different questions.
    #[error(
        "`{}` answers release `{}` of `{}`, and `{}` release `{}` of `{}`; only entries to the same release can be compared",
        .0.0, .0.2, .0.1, .1.0, .1.2, .1.1
    )]
    Releases(Box<EntryRelease>, Box<EntryRelease>),
    /// No judge configuration has judged them all.
    #[error(
        "no judge configuration has judged all of these entries, and scores under different ones are not compared; wait \
         until the older is judged anew, or compare others"
    )]
    Judges,
    /// The configuration that is asked for has not judged an entry.
    #[error(
        "the entry `{id}` has no complete scores under `judge` = `{judge}`; leave `judge` out, or give another"
    )]
    NotJudged {
        /// The entry.
        id: String,
        /// What was asked for.
        judge: String,
    },
    /// Outcomes are not in this archive.
    #[error(
        "a public archive holds no answers and nothing about single ones, so nothing can be compared; the server that it \
         was written from compares"
    )]
    LeftOut,
    /// The configuration that is asked for has no board, or the database failed.
    #[error(transparent)]
    Board(#[from] BoardQueryError),
    /// The database failed.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// An entry with the split and the release that it answers.
type EntryRelease = (String, Split, String);

/// A published entry that is compared.
#[derive(Debug, Clone, Serialize, utoipa::ToSchema)]
pub struct ComparedEntry {
    /// The entry's id.
    pub entry: String,
    /// The team's short name; null for an anonymous entry.
    pub team: Option<String>,
    /// The model's name.
    pub model_name: String,
    /// The model's group.
    pub group: Group,
}

/// Two entries in one column.
#[derive(Debug, Clone, Serialize, utoipa::ToSchema)]
pub struct ComparedColumn {
    /// The column.
    pub id: Column,
    /// Percent of 100, or points from 0 to 5.
    pub unit: Unit,
    /// The value of `a`, unrounded.
    pub a: f64,
    /// The value of `b`, unrounded.
    pub b: f64,
    /// How many questions both are scored on.
    pub n: i32,
    /// The value of `a` minus that of `b`; on a split without feedback with one decimal.
    pub difference: f64,
    /// The 95 % interval of the difference, on a split without feedback with one decimal; null there where the two files
    /// are too alike to tell it.
    pub ci95: Option<[f64; 2]>,
    /// The chance of so large a difference where there is none, of this column alone: mid-p McNemar's for a percent
    /// column, a paired t test's over videos for the others. On a split without feedback with two decimals; null as `ci95`.
    pub p: Option<f64>,
    /// Whether it is more than chance: for `MCQ` where `p` is below 0.05, for the others where it is so after Holm's
    /// correction over all of them.
    pub is_clear: bool,
}

/// Entries beside the first of them.
#[derive(Debug, Clone)]
pub struct Comparison {
    /// The split.
    pub split: Split,
    /// The release's name.
    pub release: String,
    /// Questions of the release.
    pub questions: usize,
    /// Videos of the release.
    pub videos: usize,
    /// The judge behind the open-ended columns.
    pub judge: JudgeHead,
    /// Whether differences are rounded, since the split gives no feedback.
    pub is_rounded: bool,
    /// The entries, in the order asked for.
    pub entries: Vec<ComparedEntry>,
    /// The first entry beside each of the others.
    pub pairs: Vec<Pair>,
}

/// The first entry beside another one.
#[derive(Debug, Clone)]
pub struct Pair {
    /// Whether the two files are near-duplicates.
    pub are_alike: bool,
    /// The columns that stand for both, in the benchmark's order.
    pub columns: Vec<ComparedColumn>,
}

/// What is told of a difference.
pub(super) struct Told {
    pub(super) difference: f64,
    pub(super) ci95: Option<[f64; 2]>,
    pub(super) p: Option<f64>,
}

impl Told {
    /// A difference as it is told: on a split without feedback rounded, and there of two files that are alike without its
    /// interval, since few answers that differ would show in the digits.
    pub(super) fn of(difference: Difference, is_rounded: bool, are_alike: bool) -> Told {
        let round = |number: f64, places: usize| if is_rounded { rounded(number, places) } else { number };
        let is_told = !(is_rounded && are_alike);
        Told {
            difference: round(difference.value, 1),
            ci95: is_told.then(|| difference.ci95.map(|bound| round(bound, 1))),
            p: is_told.then(|| round(difference.p, 2)),
        }
    }
}

impl Pair {
    /// The two in a column, if it stands for both.
    pub fn column(&self, id: Column) -> Option<&ComparedColumn> {
        self.columns.iter().find(|column| column.id == id)
    }
}

/// An entry with what it is compared by.
struct Loaded {
    submission: Submission,
    scores: Vec<Score>,
    outcomes: Vec<Outcome>,
}

/// Compares the first of published entries with each of the others, under the judge configuration `judge` or else the
/// current one, or else the last under which all have complete scores.
///
/// # Errors
/// When an entry is unknown, withdrawn or named twice, when they have no release or no judge configuration in common, or
/// the database fails.
pub async fn compare(
    evaluation: &Evaluation,
    ids: Vec<String>,
    judge: Option<String>,
) -> Result<Comparison, CompareError> {
    if evaluation.store.is_public_archive() {
        return Err(CompareError::LeftOut);
    }
    let (judge, loaded) =
        evaluation.store.snapshot(move |connection| load(connection, &ids, judge.as_deref())).await?;
    let release_id = loaded.first().map(|entry| entry.submission.release_id.clone()).unwrap_or_default();
    let release = evaluation.catalogue.release(&evaluation.store, &release_id).await?;
    let comparing = move || compared(&release, judge, &loaded);
    Ok(tokio::task::spawn_blocking(comparing).await.map_err(StoreError::from)?)
}

fn load(
    connection: &mut DbConnection,
    ids: &[String],
    judge: Option<&str>,
) -> Result<(ConfigurationRow, Vec<Loaded>), CompareError> {
    // What is no id never comes near the database.
    let id = |text: &String| match Uuid::parse_str(text) {
        Ok(id) => Ok(id.to_string()),
        Err(_) => Err(CompareError::Unknown(text.clone())),
    };
    let ids = &ids.iter().map(id).collect::<Result<Vec<_>, _>>()?;
    let twice = ids.iter().enumerate().find(|(place, id)| ids[..*place].contains(id));
    if let Some((_, id)) = twice {
        return Err(CompareError::Twice(id.clone()));
    }
    let found: Result<Vec<Submission>, _> = ids.iter().map(|id| find_published(connection, id)).collect();
    let found = found?;
    let release_of = |submission: &Submission| {
        Box::new((submission.id.clone(), submission.metadata.split, submission.release.clone()))
    };
    if let Some(pair) = found.windows(2).find(|pair| pair[0].release_id != pair[1].release_id) {
        return Err(CompareError::Releases(release_of(&pair[0]), release_of(&pair[1])));
    }
    let judge = common_judge(connection, &found, judge)?;
    let mut loaded = Vec::new();
    for submission in found {
        let under = Under::new(&submission.release_id, &judge.id);
        let scores = load_scores(connection, &submission.id, &under)?;
        let outcomes = find_outcomes(connection, &submission.id, &under)?
            .ok_or_else(|| StoreError::missing("outcome vector of", &submission.id))?;
        loaded.push(Loaded { submission, scores, outcomes });
    }
    Ok((judge, loaded))
}

fn find_published(connection: &mut DbConnection, id: &str) -> Result<Submission, CompareError> {
    let unknown = || CompareError::Unknown(id.to_owned());
    let found = find_published_submission(connection, id)?.ok_or_else(unknown)?;
    if let Some(reason) = found.withdrawn_reason {
        return Err(CompareError::Withdrawn { id: id.to_owned(), reason });
    }
    if find_withheld(connection, id)?.is_some() { Err(unknown()) } else { Ok(found) }
}

/// The configuration to compare under.
fn common_judge(
    connection: &mut DbConnection,
    entries: &[Submission],
    asked: Option<&str>,
) -> Result<ConfigurationRow, CompareError> {
    let mut common = match asked {
        Some(id) => vec![find_judge(connection, id)?],
        None => load_configurations(connection)?,
    };
    common.retain(ConfigurationRow::has_board);
    for Submission { id, release_id, .. } in entries {
        let complete = load_complete(connection, id)?;
        common.retain(|row| complete.contains(&Under::new(release_id, &row.id)));
        if let (true, Some(judge)) = (common.is_empty(), asked) {
            return Err(CompareError::NotJudged { id: id.clone(), judge: judge.to_owned() });
        }
    }
    let newest = common.into_iter().max_by_key(|row| (row.is_current(), row.retired_at_ms));
    newest.ok_or(CompareError::Judges)
}

fn compared(release: &Arc<GradingRelease>, judge: ConfigurationRow, loaded: &[Loaded]) -> Comparison {
    let facts = &release.key.facts;
    Comparison {
        split: release.release.split,
        release: release.release.name.clone(),
        questions: facts.len(),
        videos: facts.iter().map(|facts| facts.video + 1).max().unwrap_or_default(),
        judge: judge.into(),
        is_rounded: is_rounded(release),
        entries: loaded.iter().map(|entry| compared_entry(&entry.submission)).collect(),
        pairs: loaded.iter().skip(1).map(|other| pair(release, &loaded[0], other)).collect(),
    }
}

/// Whether differences are told rounded, since single outcomes would show in their digits.
pub(super) fn is_rounded(release: &GradingRelease) -> bool {
    release.release.feedback != Feedback::PerQuestion
}

fn compared_entry(submission: &Submission) -> ComparedEntry {
    let metadata = &submission.metadata;
    let is_named = metadata.visibility == Visibility::Public;
    ComparedEntry {
        entry: submission.id.clone(),
        team: is_named.then(|| submission.team.clone()),
        model_name: metadata.model_name.clone(),
        group: Group::of(metadata.access, metadata.parameters_b),
    }
}

fn pair(release: &GradingRelease, first: &Loaded, other: &Loaded) -> Pair {
    let (one, two) = (&first.outcomes, &other.outcomes);
    let found = first.scores.iter().filter_map(|a| {
        let b = other.scores.iter().find(|b| b.column == a.column)?;
        Some((a, b, difference(a.column, &release.key.facts, one, two)?))
    });
    let found: Vec<(&Score, &Score, Difference)> = found.collect();
    // The mean of the seven is what the board is sorted by: a question of its own. The others are asked together.
    let is_part = |column: Column| column != Column::Mcq;
    let parts = found.iter().filter(|(a, ..)| is_part(a.column)).map(|(.., difference)| difference.p);
    let mut raised = holm(&parts.collect::<Vec<_>>()).into_iter();
    let (is_rounded, are_alike) = (is_rounded(release), are_alike(release, one, two));
    let column = |(a, b, difference): (&Score, &Score, Difference)| {
        let raised = if is_part(a.column) { raised.next() } else { None };
        let alike = are_alike || are_alike_in(release, a.column, one, two);
        let told = Told::of(difference, is_rounded, alike);
        ComparedColumn {
            id: a.column,
            unit: a.column.unit(),
            a: a.value,
            b: b.value,
            n: a.n,
            difference: told.difference,
            ci95: told.ci95,
            p: told.p,
            is_clear: raised.unwrap_or(difference.p) < ALPHA,
        }
    };
    Pair { are_alike, columns: found.into_iter().map(column).collect() }
}
