//! Whose scores stand beside the human ratings: those of a configuration's newest run over the rated answers, or those of
//! the file itself. Knows no measure.

use std::collections::HashMap;

use crate::scoring::agreement::RatedItem;
use crate::scoring::intervals;
use crate::scoring::rubric::dimension_value;
use crate::store::calibrations::{CalibrationAnswer, Run, load_calibration_answers, load_runs};
use crate::store::configurations::{ConfigurationRow, find_current_configuration, load_configurations};
use crate::store::ratings::{Rated, Study, find_active_study, load_rated};
use crate::store::{DbConnection, StoreError};

use super::ratings_file::video_of;

/// What the name of the file's own judge is, where a judge is asked for.
pub const FILE: &str = "file";

/// Why an agreement cannot be told.
#[derive(Debug, thiserror::Error)]
pub enum AgreementError {
    /// There are no ratings.
    #[error("no human ratings have been imported; `secchi validity import FILE.csv` takes them in")]
    NoRatings,
    /// There is no such judge.
    #[error(
        "there is no judge configuration `{0}`; `secchi judge list` lists them, and `file` is the judge of the ratings file"
    )]
    UnknownJudge(String),
    /// It was not measured.
    #[error(
        "how far configuration {0} agrees is not known: it has not judged the rated answers yet; \
         `secchi validity calibrate --judge {0}` has it judge them, where the file of ratings has a column `answer`"
    )]
    NotMeasured(String),
    /// The file says nothing of a judge.
    #[error("the file of ratings holds no scores of a judge; name a configuration")]
    NoFileScores,
    /// The database failed.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// Where the scores come from that stand beside the ratings.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Source {
    /// A run of a configuration over the rated answers.
    Run(Box<Run>),
    /// The file, which may say whose they are.
    File,
    /// There are none: people alone.
    Nobody,
}

/// A judge's scores of what was rated, in its order, and where they come from.
pub(super) type Scores = (Vec<Option<f64>>, Source);

/// Ratings with the scores of one judge beside them.
pub(super) struct Measured {
    pub(super) study: Study,
    pub(super) rated: Vec<Rated>,
    /// In the order of `rated`.
    pub(super) scores: Vec<Option<f64>>,
    pub(super) source: Source,
    /// The configuration whose scores they are, as far as it is one of this server.
    pub(super) configuration: Option<ConfigurationRow>,
}

impl Measured {
    /// The items as measures take them.
    pub(super) fn items(&self) -> Vec<RatedItem> {
        items(&self.rated, &self.scores)
    }

    /// The seed of what is resampled of these ratings.
    pub(super) fn seed(&self, what: &str) -> [u8; 32] {
        intervals::seed(&self.study.content_sha256, what)
    }
}

/// Numbers videos and raters, and sets scores beside the ratings.
pub(super) fn items(rated: &[Rated], scores: &[Option<f64>]) -> Vec<RatedItem> {
    fn number<'a>(known: &mut HashMap<&'a str, usize>, name: &'a str) -> usize {
        let next = known.len();
        *known.entry(name).or_insert(next)
    }
    let (mut videos, mut raters) = (HashMap::new(), HashMap::new());
    let mut all = Vec::with_capacity(rated.len());
    for (rated, judge) in rated.iter().zip(scores) {
        let video = number(&mut videos, video_of(&rated.question_id).unwrap_or(&rated.question_id));
        let ratings =
            rated.ratings.iter().map(|(rater, rating)| (number(&mut raters, rater), *rating)).collect();
        all.push(RatedItem { video, ratings, judge: *judge });
    }
    all
}

/// The ratings with the scores of a judge: a configuration's id, [`FILE`], or unless said those of the current
/// configuration if they are known, else those of the file, else none.
pub(super) fn load_measured(
    connection: &mut DbConnection,
    judge: Option<&str>,
) -> Result<Measured, AgreementError> {
    let study = find_active_study(connection)?.ok_or(AgreementError::NoRatings)?;
    let rated = load_rated(connection, &study.id)?;
    let has_file_scores = rated.iter().any(|rated| rated.judge_score.is_some());
    let known = load_configurations(connection)?;
    let row = |id: &str| known.iter().find(|row| row.id == id).cloned();
    let of_file = || {
        let scores = rated.iter().map(|rated| rated.judge_score).collect();
        ((scores, Source::File), study.judge.as_deref().and_then(row))
    };
    let ((scores, source), configuration) = match judge {
        Some(FILE) if has_file_scores => of_file(),
        Some(FILE) => return Err(AgreementError::NoFileScores),
        Some(id) => {
            let row = row(id).ok_or_else(|| AgreementError::UnknownJudge(id.to_owned()))?;
            let scores = load_scores(connection, &study, &rated, id)?;
            (scores.ok_or_else(|| AgreementError::NotMeasured(id.to_owned()))?, Some(row))
        }
        None => {
            let current = find_current_configuration(connection)?;
            let scores = match &current {
                Some(current) => load_scores(connection, &study, &rated, &current.id)?,
                None => None,
            };
            match scores {
                Some(scores) => (scores, current),
                None if has_file_scores => of_file(),
                None => ((vec![None; rated.len()], Source::Nobody), None),
            }
        }
    };
    Ok(Measured { study, rated, scores, source, configuration })
}

/// A configuration's scores of what was rated: those of its newest run that has ended, or those of the file if they are
/// said to be its own.
pub(super) fn load_scores(
    connection: &mut DbConnection,
    study: &Study,
    rated: &[Rated],
    configuration_id: &str,
) -> Result<Option<Scores>, StoreError> {
    if let Some(run) = find_newest_run(connection, &study.id, configuration_id)? {
        let answers = load_calibration_answers(connection, &run.id)?;
        return Ok(Some((scores_of(rated, &answers), Source::Run(Box::new(run)))));
    }
    let is_its_own = study.judge.as_deref() == Some(configuration_id);
    let scores: Vec<Option<f64>> = rated.iter().map(|rated| rated.judge_score).collect();
    Ok((is_its_own && scores.iter().any(Option::is_some)).then_some((scores, Source::File)))
}

/// The newest run of a configuration that has ended.
fn find_newest_run(
    connection: &mut DbConnection,
    study_id: &str,
    configuration_id: &str,
) -> Result<Option<Run>, StoreError> {
    let runs = load_runs(connection, study_id, configuration_id)?;
    Ok(runs.into_iter().rfind(|run| run.finished_at_ms.is_some()))
}

/// The newest run that has ended of the current configuration over the active ratings.
///
/// # Errors
/// When the database fails.
pub fn find_current_run(connection: &mut DbConnection) -> Result<Option<Run>, StoreError> {
    let current = find_current_configuration(connection)?;
    match (find_active_study(connection)?, current) {
        (Some(study), Some(current)) => find_newest_run(connection, &study.id, &current.id),
        _ => Ok(None),
    }
}

/// Scores by the items' places.
pub(super) fn scores_of(rated: &[Rated], answers: &[CalibrationAnswer]) -> Vec<Option<f64>> {
    let mut scores = vec![None; rated.len()];
    for answer in answers {
        if let (Some(rated), Ok(found)) = (rated.get(answer.position), &answer.result) {
            scores[answer.position] = Some(dimension_value(rated.dimension, *found));
        }
    }
    scores
}
