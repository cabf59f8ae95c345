//! What is known of a judge's agreement with people, in figures that are safe to show: sums over items, no text, no id of
//! a question, no name of a rater.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use serde::Serialize;
use tokio::sync::Mutex as Turn;

use crate::domain::dimension::Dimension;
use crate::domain::instant::rfc3339;
use crate::scoring::agreement::{Agreement, RatedItem, agreement};
use crate::store::ratings::Rated;
use crate::store::{Store, StoreError};
use crate::text_enum;

use super::measuring::{AgreementError, Measured, Source, load_measured};

/// Reports that one process keeps: each takes a fraction of a second to work out.
const MAX_KEPT: usize = 8;

text_enum! {
    /// Where the scores beside the ratings come from.
    ScoresFrom {
        /// The configuration was asked about the rated answers.
        Run = "run",
        /// The scores came with the ratings.
        File = "file",
        /// There are no scores, and only people are compared.
        Nobody = "none",
    }
}

/// Whose scores stand beside the ratings.
#[derive(Debug, Clone, PartialEq, Serialize, utoipa::ToSchema)]
pub struct MeasuredJudge {
    /// Where the scores come from.
    pub source: ScoresFrom,
    /// The judge configuration, where it is one of this server.
    pub configuration: Option<String>,
    /// Its model.
    pub model: Option<String>,
    /// Whose the scores of the file are, as whoever imported it said.
    pub said: Option<String>,
    /// When the run ended.
    pub measured_at: Option<String>,
}

/// The ratings.
#[derive(Debug, Clone, PartialEq, Serialize, utoipa::ToSchema)]
pub struct RatingsView {
    /// Their id.
    pub id: String,
    /// When they were imported.
    pub imported_at: String,
    /// Hash of the file.
    pub sha256: String,
    /// Whether the rated answers are there, so that any configuration can be measured.
    pub has_answers: bool,
}

/// How the judge's scores of the same answers have moved since its first run.
#[derive(Debug, Clone, PartialEq, Serialize, utoipa::ToSchema)]
pub struct DriftView {
    /// The mean of the judge's scores.
    pub mean: Option<f64>,
    /// That mean minus the first run's, on what both have scored.
    pub drift: Option<f64>,
    /// The quadratic-weighted kappa with people's means.
    pub agreement: Option<f64>,
    /// That kappa minus the first run's, on the same items.
    pub agreement_drift: Option<f64>,
    /// Items whose answer could not be judged.
    pub failed: i32,
}

/// How far a judge agrees with people.
#[derive(Debug, Clone, PartialEq, Serialize, utoipa::ToSchema)]
pub struct AgreementReport {
    /// The ratings.
    pub ratings: RatingsView,
    /// The judge.
    pub judge: MeasuredJudge,
    /// Over all items.
    pub overall: Agreement,
    /// By dimension, those that were rated.
    pub by_dimension: BTreeMap<Dimension, Agreement>,
    /// The newest run against the first; null where the configuration was not asked.
    pub drift: Option<DriftView>,
}

/// How many ratings a rater gave, and their mean; for maintainers.
#[derive(Debug, Clone, PartialEq, Serialize, utoipa::ToSchema)]
pub struct RaterView {
    /// The rater's name in the file.
    pub rater: String,
    /// How many.
    pub ratings: usize,
    /// Their mean.
    pub mean: f64,
}

/// What each rater gave, by name.
pub fn by_rater(rated: &[Rated]) -> Vec<RaterView> {
    let mut sums = BTreeMap::<&str, (usize, u32)>::new();
    for (rater, rating) in rated.iter().flat_map(|rated| &rated.ratings) {
        let (count, sum) = sums.entry(rater).or_default();
        *count += 1;
        *sum += u32::from(*rating);
    }
    let view = |(rater, (ratings, sum)): (&str, (usize, u32))| RaterView {
        rater: rater.to_owned(),
        ratings,
        mean: f64::from(sum) / ratings as f64,
    };
    sums.into_iter().map(view).collect()
}

/// A report, and all that it depends on.
type Kept = (String, Arc<AgreementReport>);

/// Reports that were worked out.
#[derive(Default)]
pub struct Agreements {
    kept: Arc<Mutex<Vec<Kept>>>,
    /// One is worked out at a time: it takes long, and anybody may ask.
    turn: Arc<Turn<()>>,
}

impl Agreements {
    /// The report on a judge: a configuration's id, `file`, or unless said the current configuration if it is measured,
    /// else the judge of the file.
    ///
    /// # Errors
    /// When there are no ratings, no such judge, or nothing is known of it.
    pub async fn report(
        &self,
        store: &Store,
        judge: Option<String>,
    ) -> Result<Arc<AgreementReport>, AgreementError> {
        let measured = store.snapshot(move |connection| load_measured(connection, judge.as_deref())).await?;
        let key = key(&measured);
        if let Some(report) = self.find(&key) {
            return Ok(report);
        }
        // The turn lasts as long as the work, whether or not whoever asked still waits.
        let turn = self.turn.clone().lock_owned().await;
        if let Some(report) = self.find(&key) {
            return Ok(report);
        }
        let kept = self.kept.clone();
        let worked_out = tokio::task::spawn_blocking(move || {
            let report = Arc::new(report(&measured));
            let mut known = kept.lock().unwrap_or_else(PoisonError::into_inner);
            if known.len() == MAX_KEPT {
                known.remove(0);
            }
            known.push((key, report.clone()));
            drop(turn);
            report
        });
        Ok(worked_out.await.map_err(StoreError::from)?)
    }

    fn find(&self, key: &str) -> Option<Arc<AgreementReport>> {
        let known = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        known.iter().find(|(other, _)| other == key).map(|(_, report)| report.clone())
    }
}

fn key(measured: &Measured) -> String {
    let source = match &measured.source {
        Source::Run(run) => &run.id,
        Source::File => "file",
        Source::Nobody => "nobody",
    };
    let configuration = measured.configuration.as_ref().map(|row| row.id.as_str());
    format!("{}/{source}/{configuration:?}/{:?}", measured.study.id, measured.study.judge)
}

fn report(measured: &Measured) -> AgreementReport {
    let items = measured.items();
    let of = |dimension: Dimension| {
        let all = items.iter().zip(&measured.rated);
        let own: Vec<RatedItem> =
            all.filter(|(_, rated)| rated.dimension == dimension).map(|(item, _)| item.clone()).collect();
        (!own.is_empty()).then(|| (dimension, agreement(measured.seed(dimension.as_str()), &own)))
    };
    let (source, measured_at, drift) = match &measured.source {
        Source::Run(run) => {
            let drift = DriftView {
                mean: run.mean,
                drift: run.drift,
                agreement: run.agreement,
                agreement_drift: run.agreement_drift,
                failed: run.failed,
            };
            (ScoresFrom::Run, run.finished_at_ms.map(rfc3339), Some(drift))
        }
        Source::File => (ScoresFrom::File, None, None),
        Source::Nobody => (ScoresFrom::Nobody, None, None),
    };
    AgreementReport {
        ratings: RatingsView {
            id: measured.study.id.clone(),
            imported_at: rfc3339(measured.study.created_at_ms),
            sha256: measured.study.content_sha256.clone(),
            has_answers: measured.rated.iter().any(|rated| rated.answer.is_some()),
        },
        judge: MeasuredJudge {
            source,
            configuration: measured.configuration.as_ref().map(|row| row.id.clone()),
            model: measured.configuration.as_ref().map(|row| row.model.clone()),
            said: measured.study.judge.clone().filter(|_| source == ScoresFrom::File),
            measured_at,
        },
        overall: agreement(measured.seed("all"), &items),
        by_dimension: Dimension::ALL.iter().copied().filter_map(of).collect(),
        drift,
    }
}
