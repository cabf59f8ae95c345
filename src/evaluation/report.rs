//! What a team is told of a graded submission beyond its scores: what it left out, what could not be read, how its captions
//! are worded, and how it stands beside its neighbours on the board. On a split without feedback it holds nothing that
//! depends on the key and is finer than the scores.

use std::collections::BTreeMap;

use serde::Serialize;

use crate::domain::choice::Reason;
use crate::domain::column::Column;
use crate::domain::outcome::Outcome;
use crate::domain::question::QuestionType;
use crate::domain::submission::{Feedback, SubmissionState, Visibility};
use crate::scoring::captions::{CaptionFacts, caption_facts};
use crate::scoring::decimals::rounded;
use crate::scoring::pairs::{Difference, difference, holm};
use crate::store::configurations::find_current_configuration;
use crate::store::ranges::Scope;
use crate::store::scores::{Score, Under, find_outcomes, load_scores};
use crate::store::standing::{StandingRow, load_standing};
use crate::store::submissions::Submission;
use crate::store::{DbConnection, StoreError};

use super::Evaluation;
use super::board_rows::in_scope;
use super::catalogue::GradingRelease;
use super::comparing::{ALPHA, Told, is_rounded};
use super::series::are_alike;
use super::work::answered;

/// Entries above and below that a submission is compared with.
const NEIGHBOURS_EACH_WAY: usize = 2;

/// Why there is no report.
#[derive(Debug, thiserror::Error)]
pub enum ReportError {
    /// It was not graded.
    #[error("the submission is `{0}` and not graded yet; its report comes with its first scores")]
    NotGraded(SubmissionState),
    /// The database failed.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// How one type of question was answered.
#[derive(Debug, Clone, Serialize, utoipa::ToSchema)]
pub struct TypeCoverage {
    /// What the questions ask about.
    pub r#type: QuestionType,
    /// Questions of the release.
    pub questions: usize,
    /// Questions with an answer.
    pub answered: usize,
    /// Questions without one: they count as wrong, or 0.
    pub missing: usize,
    /// Answers without a letter that could be read.
    pub unread: usize,
}

/// How many letters could not be read for one reason.
#[derive(Debug, Clone, Serialize, utoipa::ToSchema)]
pub struct UnreadCount {
    /// Why.
    pub reason: Reason,
    /// How many.
    pub count: usize,
}

/// How the captions are worded.
#[derive(Debug, Clone, Serialize, utoipa::ToSchema)]
pub struct CaptionReport {
    /// Captions that are not blank.
    pub captions: usize,
    /// Words of the shortest.
    pub words_min: f64,
    /// Words on the mean.
    pub words_mean: f64,
    /// Words of the longest.
    pub words_max: f64,
    /// Captions of 80 words or more; the benchmark asks for fewer.
    pub too_long: usize,
    /// Captions of a single sentence, as the benchmark asks.
    pub one_sentence: usize,
    /// Captions that end in mid-sentence, as where the model's output was cut off.
    pub cut_off: usize,
    /// Captions whose words another caption has too.
    pub repeated: usize,
    /// How many captions have the most frequent words.
    pub most_copies: usize,
}

impl From<CaptionFacts> for CaptionReport {
    fn from(facts: CaptionFacts) -> CaptionReport {
        let [words_min, words_mean, words_max] = facts.words;
        CaptionReport {
            captions: facts.captions,
            words_min,
            words_mean: rounded(words_mean, 1),
            words_max,
            too_long: facts.too_long,
            one_sentence: facts.one_sentence,
            cut_off: facts.cut_off,
            repeated: facts.repeated,
            most_copies: facts.most_copies,
        }
    }
}

/// A published entry beside a submission on the board, by the default column.
#[derive(Debug, Clone, Serialize, utoipa::ToSchema)]
pub struct NeighbourReport {
    /// The entry's id.
    pub entry: String,
    /// The team's short name; null for an anonymous entry.
    pub team: Option<String>,
    /// The model's name.
    pub model_name: String,
    /// The entry's value.
    pub value: f64,
    /// The submission's value minus the entry's.
    pub difference: f64,
    /// The 95 % interval of the difference; null where the two files are too alike to tell it of a test split.
    pub ci95: Option<[f64; 2]>,
    /// The chance of such a difference where there is none, raised for all neighbours together (Holm); null as `ci95`.
    pub p: Option<f64>,
    /// Whether the difference is real: `p` is below 0.05.
    pub is_real: bool,
}

/// What there is to say of a submission.
pub struct Report {
    /// By type of question.
    pub coverage: Vec<TypeCoverage>,
    /// Reasons of letters that could not be read, the most frequent first.
    pub unread: Vec<UnreadCount>,
    /// The captions; none without any.
    pub captions: Option<CaptionReport>,
    /// The column that neighbours are told by.
    pub column: Column,
    /// The nearest published entries of other teams, the best first.
    pub neighbours: Vec<NeighbourReport>,
    /// Whether single answers may be read.
    pub has_answers: bool,
}

/// The report on a submission.
///
/// # Errors
/// When it is not graded yet, or the database fails.
pub async fn report(evaluation: &Evaluation, submission: &Submission) -> Result<Report, ReportError> {
    let not_graded = || ReportError::NotGraded(submission.state);
    let under = Under::of(submission).ok_or_else(not_graded)?;
    let (release, answers) = answered(evaluation, submission, &under.release_id).await?;
    let id = submission.id.clone();
    let outcomes: Result<Option<Vec<Outcome>>, StoreError> =
        evaluation.store.read(move |connection| find_outcomes(connection, &id, &under)).await;
    let outcomes = outcomes?.ok_or_else(not_graded)?;
    let (submission, of_release, own) = (submission.clone(), release.clone(), outcomes.clone());
    let neighbours: Result<_, StoreError> = evaluation
        .store
        .snapshot(move |connection| neighbours(connection, &submission, &of_release, &own))
        .await;
    let captions = release.key.facts.iter().zip(&answers).filter_map(|(facts, answer)| {
        answer.as_deref().filter(|_| facts.question_type == QuestionType::Caption)
    });
    Ok(Report {
        coverage: coverage(&release, &answers, &outcomes),
        unread: unread(&answers, &outcomes),
        captions: caption_facts(captions).map(CaptionReport::from),
        column: Column::Mcq,
        neighbours: neighbours?,
        has_answers: release.release.feedback == Feedback::PerQuestion,
    })
}

fn is_unread(answer: &Option<String>, outcome: &Outcome) -> Option<Reason> {
    match outcome {
        Outcome::Choice { choice, .. } if answer.is_some() && choice.letter.is_none() => Some(choice.reason),
        _ => None,
    }
}

fn coverage(release: &GradingRelease, answers: &[Option<String>], outcomes: &[Outcome]) -> Vec<TypeCoverage> {
    let of_type = |question_type: &QuestionType| {
        let mut coverage =
            TypeCoverage { r#type: *question_type, questions: 0, answered: 0, missing: 0, unread: 0 };
        let of_type = release.key.facts.iter().zip(answers.iter().zip(outcomes));
        for (_, (answer, outcome)) in of_type.filter(|(facts, _)| facts.question_type == *question_type) {
            coverage.questions += 1;
            *(if answer.is_some() { &mut coverage.answered } else { &mut coverage.missing }) += 1;
            coverage.unread += usize::from(is_unread(answer, outcome).is_some());
        }
        coverage
    };
    QuestionType::ALL.iter().map(of_type).filter(|coverage| coverage.questions > 0).collect()
}

fn unread(answers: &[Option<String>], outcomes: &[Outcome]) -> Vec<UnreadCount> {
    let mut counts = BTreeMap::<&str, UnreadCount>::new();
    for reason in answers.iter().zip(outcomes).filter_map(|(answer, outcome)| is_unread(answer, outcome)) {
        counts.entry(reason.as_str()).or_insert(UnreadCount { reason, count: 0 }).count += 1;
    }
    let mut counts: Vec<UnreadCount> = counts.into_values().collect();
    counts.sort_by_key(|unread| std::cmp::Reverse(unread.count));
    counts
}

/// The published entries of other teams that stand nearest by the default column; none where the submission has no value
/// in it that is told, or is not of the active board.
fn neighbours(
    connection: &mut DbConnection,
    submission: &Submission,
    release: &GradingRelease,
    own: &[Outcome],
) -> Result<Vec<NeighbourReport>, StoreError> {
    let Some(judge) = find_current_configuration(connection)? else { return Ok(Vec::new()) };
    let Some(under) = Under::of(submission) else { return Ok(Vec::new()) };
    let scores = load_scores(connection, &submission.id, &under)?;
    let Some(own_value) = value(&scores) else { return Ok(Vec::new()) };
    let under = Under::new(&release.release.id, &judge.id);
    let standing = load_standing(connection, &under)?;
    let others = in_scope(standing, Scope::Newest).into_iter();
    let others = others.filter(|row| row.team_id != submission.team_id);
    let others = others.filter_map(|row| Some((value(&row.scores)?, row))).collect();
    let mut found = Vec::new();
    for (value, row) in nearest(others, own_value) {
        let Some(outcomes) = find_outcomes(connection, &row.submission_id, &under)? else { continue };
        if let Some(difference) = difference(Column::Mcq, &release.key.facts, own, &outcomes) {
            found.push((row, value, difference, are_alike(release, own, &outcomes)));
        }
    }
    let raised = holm(&found.iter().map(|(_, _, difference, _)| difference.p).collect::<Vec<_>>());
    let is_rounded = is_rounded(release);
    let told = found.into_iter().zip(raised).map(|((row, value, difference, are_alike), p)| {
        let difference = Difference { p, ..difference };
        told(row, value, difference, Told::of(difference, is_rounded, are_alike))
    });
    Ok(told.collect())
}

fn value(scores: &[Score]) -> Option<f64> {
    scores.iter().find(|score| score.column == Column::Mcq).map(|score| score.value)
}

/// Of all other entries those next above and next below, the best first.
fn nearest(mut others: Vec<(f64, StandingRow)>, own: f64) -> Vec<(f64, StandingRow)> {
    others.sort_by(|(one, _), (other, _)| other.total_cmp(one));
    let below = others.partition_point(|(value, _)| *value > own);
    let last = (below + NEIGHBOURS_EACH_WAY).min(others.len());
    others.drain(below.saturating_sub(NEIGHBOURS_EACH_WAY)..last).collect()
}

fn told(row: StandingRow, value: f64, difference: Difference, told: Told) -> NeighbourReport {
    NeighbourReport {
        entry: row.submission_id,
        team: (row.visibility == Visibility::Public).then_some(row.team),
        model_name: row.model_name,
        value,
        difference: told.difference,
        ci95: told.ci95,
        p: told.p,
        is_real: difference.p < ALPHA,
    }
}
