//! What a submission comes to once every answer is judged or has failed: worked out, and stored. Knows nothing of who
//! ends it, and what its state is then.

use std::sync::Arc;

use crate::domain::column::Column;
use crate::domain::outcome::Outcome;
use crate::domain::submission::{Feedback, SubmissionState};
use crate::judge;
use crate::scoring::columns::{ScoringError, score_columns};
use crate::scoring::decimals::rounded;
use crate::store::decisions::{load_decided, note_decided};
use crate::store::scores::{self, Answered, Score, Under};
use crate::store::{DbConnection, StoreError};

use super::Evaluation;
use super::catalogue::GradingRelease;
use super::work::{WorkError, count};

/// Outcomes with what they come to.
pub(super) struct Ending {
    under: Under,
    of: Answered,
    outcomes: Vec<Outcome>,
    columns: Vec<Score>,
    /// Keys of the answers that stand by a maintainer's decision.
    decided: Vec<String>,
}

impl Ending {
    /// Works out what outcomes come to.
    ///
    /// # Errors
    /// When they do not fit the release, or the database fails.
    pub(super) async fn of(
        evaluation: &Evaluation,
        (release, answers): (&Arc<GradingRelease>, &[Option<String>]),
        configuration_id: &str,
        outcomes: Vec<Outcome>,
    ) -> Result<Ending, WorkError> {
        let under = Under::new(&release.release.id, configuration_id);
        let of = answered(answers, &outcomes);
        let configuration_id = configuration_id.to_owned();
        let decided: Result<Vec<(String, String)>, StoreError> =
            evaluation.store.read(move |connection| load_decided(connection, &configuration_id)).await;
        let is_own = |(question_id, key): &(String, String)| {
            key_of(release, answers, question_id).is_some_and(|own| own == *key)
        };
        let decided = decided?.into_iter().filter(is_own).map(|(_, key)| key).collect();
        let (scored, release) = (outcomes.clone(), release.clone());
        let columns = tokio::task::spawn_blocking(move || columns(&release, &scored)).await??;
        Ok(Ending { under, of, outcomes, columns, decided })
    }

    /// How many answers could not be judged.
    pub(super) fn failed(&self) -> i32 {
        count(self.outcomes.iter().filter(|outcome| matches!(outcome, Outcome::Failed(_))).count())
    }

    /// The state in which its own judging ends.
    pub(super) fn state(&self) -> SubmissionState {
        if self.failed() == 0 { SubmissionState::Scored } else { SubmissionState::Incomplete }
    }

    /// Stores outcomes and scores, which are complete unless an answer has failed; while one waits there are none to store.
    pub(super) fn save(&self, connection: &mut DbConnection, id: &str) -> Result<(), StoreError> {
        let Ending { under, of, outcomes, columns, decided } = self;
        scores::save_outcomes(connection, id, under, outcomes)?;
        if !outcomes.contains(&Outcome::Pending) {
            scores::save_scores(connection, id, under, columns, *of, self.failed() == 0)?;
        }
        note_decided(connection, id, under, decided)
    }

    /// By question position.
    pub(super) fn outcomes(&self) -> &Vec<Outcome> {
        &self.outcomes
    }

    /// What the scores stand under.
    pub(super) fn under(&self) -> &Under {
        &self.under
    }
}

/// How much of a release is answered.
fn answered(answers: &[Option<String>], outcomes: &[Outcome]) -> Answered {
    let is_unparsed = |(answer, outcome): &(&Option<String>, &Outcome)| {
        answer.is_some() && matches!(outcome, Outcome::Choice { choice, .. } if choice.letter.is_none())
    };
    Answered {
        questions: count(outcomes.len()),
        answered: count(answers.iter().flatten().count()),
        unparsed: count(answers.iter().zip(outcomes).filter(is_unparsed).count()),
    }
}

/// The key of the judgement on the answer to a question; none where no judge is asked about it.
pub(super) fn key_of(
    release: &GradingRelease,
    answers: &[Option<String>],
    question_id: &str,
) -> Option<String> {
    let place = release.key.question_ids.iter().position(|id| id == question_id)?;
    let answer = judge::normalise(answers.get(place)?.as_deref()?);
    release.key.item(place, &answer).map(|item| judge::judgement_key(&item))
}

/// The columns that stand.
pub(super) fn columns(release: &GradingRelease, outcomes: &[Outcome]) -> Result<Vec<Score>, ScoringError> {
    let scored = score_columns(&release.release.content_sha256, &release.key.facts, outcomes)?;
    // The digits of a bootstrap weigh each video its own way: on a split without feedback they would tell more of the key
    // than the value does.
    let is_coarse =
        |column: Column| column == Column::Mcq && release.release.feedback != Feedback::PerQuestion;
    let score = scored.into_iter().map(|score| Score {
        column: score.column,
        value: score.value,
        ci95: if is_coarse(score.column) { score.ci95.map(|bound| rounded(bound, 1)) } else { score.ci95 },
        n: i32::try_from(score.n).unwrap_or(i32::MAX),
    });
    Ok(score.collect())
}
