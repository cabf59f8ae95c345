//! Intake: an uploaded file is read whole and accepted with its quota charge in one transaction, or not at all. Knows
//! nothing of HTTP and of what answers are worth.

use std::io::{BufWriter, Read, Seek, Write};
use std::sync::Arc;

use serde::Serialize;
use sha2::{Digest as _, Sha256};

use crate::domain::fault::{Warning, WarningCode};
use crate::domain::line::Line;
use crate::domain::question::Split;
use crate::domain::submission::{Metadata, MetadataFault};
use crate::predictions::{self, Limits, Predictions, QuestionIndex, ReadError, Refusal};
use crate::queue::QueueError;
use crate::store::accepting::{NewSubmission, insert_submission};
use crate::store::idempotency::{find_idempotent, insert_idempotent};
use crate::store::repeats::find_repeated;
use crate::store::submissions::{self, Submission};
use crate::store::{DbConnection, StoreError, leases, teams};

use super::Evaluation;
use super::catalogue::GradingRelease;
use super::estimate::{JudgingEstimate, estimate};
use super::grading::grade;
use super::quota::{Quota, charge, quota};
use super::turns::Turn;

/// zstd's fastest ordinary level: the answers are read once or twice.
const COMPRESSION_LEVEL: i32 = 1;

/// A file whose text is longer than this is read while no other is, and stored before another is: it may be held in
/// memory whole, as a JSON document is, beside its answers.
const LONG_TEXT_BYTES: u64 = 4 << 20;

/// Why a file was not accepted.
#[derive(Debug, thiserror::Error)]
pub enum IntakeError {
    /// The metadata are faulty.
    #[error("the metadata have {} fault(s)", .0.len())]
    Metadata(Vec<MetadataFault>),
    /// The split has no active release.
    #[error("no release of `{0}` is active here; ask the maintainers")]
    NoRelease(Split),
    /// The file is faulty.
    #[error("the file has {} fault(s)", .0.total)]
    Refused(Refusal),
    /// The team has used up its quota.
    #[error("the quota is used up")]
    Quota(Box<Quota>),
    /// The idempotency key was used with other content.
    #[error("the `Idempotency-Key` was used with other content; send another key")]
    OtherContent,
    /// The uploaded bytes could not be read back.
    #[error("the upload could not be read: {0}")]
    Io(#[from] std::io::Error),
    /// The database failed.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// An uploaded file with what its team says about it.
pub struct Upload<R> {
    /// The team's id.
    pub team_id: String,
    /// What the team says about the model.
    pub metadata: Metadata,
    /// The file as it came.
    pub file: R,
    /// Hash of the file as it came, in hex.
    pub file_sha256: String,
    /// The key under which the same request is accepted once.
    pub idempotency_key: Option<String>,
}

/// What became of an accepted file.
pub struct Accepted {
    /// Its submission.
    pub submission: Submission,
    /// Whether the team had sent the same before: then nothing was queued and no quota used.
    pub is_repeated: bool,
}

impl Accepted {
    fn new(submission: Submission) -> Accepted {
        Accepted { submission, is_repeated: false }
    }
}

/// What a team is told that sends a file again.
pub fn repeated(submission: &Submission) -> Warning {
    let detail = format!(
        "these are the answers of `{}`, sent before for the same model: nothing was queued and no quota used; what stands \
         there of the model is changed with PATCH",
        submission.id
    );
    Warning { code: WarningCode::RepeatedFile, count: 1, detail }
}

/// How much of a split a file answers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, utoipa::ToSchema)]
pub struct DryCoverage {
    /// Questions of the release.
    pub questions: usize,
    /// Questions that the file answers.
    pub answered: usize,
    /// Multiple-choice answers without a letter that could be read.
    pub unparsed: usize,
}

/// What a submission would be, without being one.
#[derive(Debug, Clone, PartialEq, Serialize, utoipa::ToSchema)]
pub struct DryRun {
    /// How much is answered.
    pub coverage: DryCoverage,
    /// What is odd about the file.
    pub warnings: Vec<Warning>,
    /// What the team has left before the submission.
    pub quota: Quota,
    /// What judging would take; for maintainers alone, since it tells what was judged before.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub judging: Option<JudgingEstimate>,
}

/// Reads a file and says what would come of it, and what judging it would take if `with_estimate`; stores nothing.
///
/// # Errors
/// When the file or its metadata would be refused.
pub async fn dry_run<R>(
    evaluation: &Evaluation,
    upload: Upload<R>,
    with_estimate: bool,
) -> Result<DryRun, IntakeError>
where
    R: Read + Seek + Send + 'static,
{
    let Upload { team_id, metadata, file, .. } = upload;
    let ReadFile { release, predictions, turn: _turn, .. } =
        read(evaluation, &team_id, &metadata, file).await?;
    let now_ms = evaluation.clock.now_ms();
    let settings = evaluation.quota;
    let release_id = release.release.id.clone();
    let answers = serde_json::to_vec(&predictions.answers).map_err(std::io::Error::from)?;
    let content_sha256 = hex::encode(Sha256::digest(answers));
    let found: Result<(Quota, Option<Submission>), StoreError> = evaluation
        .store
        .read(move |connection| {
            let left = quota(connection, &settings, &team_id, metadata.split, now_ms)?;
            Ok((left, find_repeated(connection, &team_id, &release_id, &content_sha256, &metadata)?))
        })
        .await;
    let (quota, before) = found?;
    let Predictions { answers, answered, mut warnings, .. } = predictions;
    let of_release = release.clone();
    let reading = move || (grade(&of_release.key, &answers), answers);
    let (graded, answers) = tokio::task::spawn_blocking(reading).await.map_err(StoreError::from)?;
    let coverage = DryCoverage { questions: answers.len(), answered, unparsed: graded.unparsed };
    warnings.extend(graded.warning(&release.key));
    warnings.extend(before.as_ref().map(repeated));
    let judging = match with_estimate {
        true => estimate(evaluation, release, answers).await?,
        false => None,
    };
    Ok(DryRun { coverage, warnings, quota, judging })
}

/// Accepts a file: from here on its submission is never lost. A file that the team has sent before is the submission that
/// it made then.
///
/// # Errors
/// When the file, its metadata, its quota or its idempotency key refuse it.
pub async fn submit<R>(evaluation: &Evaluation, upload: Upload<R>) -> Result<Accepted, IntakeError>
where
    R: Read + Seek + Send + 'static,
{
    let Upload { team_id, metadata, file, file_sha256, idempotency_key } = upload;
    let repeats = match idempotency_key {
        Some(key) => {
            let request_sha256 = request_hash(&metadata, &file_sha256)?;
            Some(Repeatable { team_id: team_id.clone(), key, request_sha256 })
        }
        None => None,
    };
    // Before the file is read: what was accepted once stays so, whichever release is active by now.
    if let Some(request) = repeats.clone()
        && let Some(accepted) = evaluation.store.read(move |connection| request.find(connection)).await?
    {
        return Ok(Accepted::new(accepted));
    }
    let ReadFile { release, predictions, turn, is_long } =
        read(evaluation, &team_id, &metadata, file).await?;
    let now_ms = evaluation.clock.now_ms();
    let settings = evaluation.quota;
    let split = metadata.split;
    let packing = move || pack(&release, predictions, team_id, now_ms).map(|packed| (packed, turn));
    let ((new, answers), turn) = tokio::task::spawn_blocking(packing).await.map_err(StoreError::from)??;
    // Writing takes its own time; others may be read meanwhile, unless this one is long.
    let _turn = is_long.then_some(turn);
    let accepted: Result<Accepted, IntakeError> = evaluation
        .store
        .write(move |connection| {
            teams::lock_team(connection, &new.team_id)?;
            if let Some(request) = &repeats
                && let Some(accepted) = request.find(connection)?
            {
                return Ok(Accepted::new(accepted));
            }
            let (release_id, sha256) = (&new.release_id, &new.content_sha256);
            let before = find_repeated(connection, &new.team_id, release_id, sha256, &metadata)?;
            if let Some(submission) = before {
                note_request(connection, repeats.as_ref(), &submission.id, now_ms)?;
                return Ok(Accepted { submission, is_repeated: true });
            }
            let left = quota(connection, &settings, &new.team_id, metadata.split, now_ms)?;
            if left.left == 0 {
                return Err(IntakeError::Quota(Box::new(left)));
            }
            insert_submission(connection, &new, &metadata, &answers)?;
            leases::insert_lease(connection, &new.id)?;
            let charged = (new.id.as_str(), new.team_id.as_str(), metadata.split);
            charge(connection, charged, "submission accepted", now_ms, now_ms)?;
            note_request(connection, repeats.as_ref(), &new.id, now_ms)?;
            stored(connection, &new.id).map(Accepted::new)
        })
        .await;
    let accepted = accepted?;
    let Accepted { submission, is_repeated } = &accepted;
    if !is_repeated && !submission.state.is_final() {
        deliver(evaluation, Line::of(split), &submission.id).await;
    }
    Ok(accepted)
}

/// Notes under which idempotency key a submission was made, if under one.
fn note_request(
    connection: &mut DbConnection,
    request: Option<&Repeatable>,
    submission_id: &str,
    now_ms: i64,
) -> Result<(), StoreError> {
    let Some(Repeatable { team_id, key, request_sha256 }) = request else { return Ok(()) };
    insert_idempotent(connection, (team_id, key), request_sha256, submission_id, now_ms)
}

/// Pushes a submission to the queue. What cannot be pushed now the reconciler pushes later.
pub(super) async fn deliver(evaluation: &Evaluation, line: Line, id: &str) {
    let pushed: Result<(), QueueError> = evaluation.queue.push(line, id, evaluation.clock.now_ms()).await;
    if let Err(error) = pushed {
        tracing::warn!(submission = id, %error, "the queue is not reachable; the reconciler will push again");
    }
}

/// A request that may come again and is accepted once.
#[derive(Clone)]
struct Repeatable {
    team_id: String,
    key: String,
    request_sha256: String,
}

impl Repeatable {
    /// The submission that the request made when it came before.
    fn find(&self, connection: &mut DbConnection) -> Result<Option<Submission>, IntakeError> {
        match find_idempotent(connection, &self.team_id, &self.key)? {
            None => Ok(None),
            Some((id, sha256)) if sha256 == self.request_sha256 => stored(connection, &id).map(Some),
            Some(_) => Err(IntakeError::OtherContent),
        }
    }
}

struct ReadFile {
    release: Arc<GradingRelease>,
    predictions: Predictions,
    /// Leave to hold the file in memory; given back when dropped.
    turn: Turn,
    is_long: bool,
}

async fn read<R>(
    evaluation: &Evaluation,
    team_id: &str,
    metadata: &Metadata,
    file: R,
) -> Result<ReadFile, IntakeError>
where
    R: Read + Seek + Send + 'static,
{
    let mut faults = metadata.faults();
    faults.extend(metadata.anonymity_fault(evaluation.clock.now_ms()));
    if !faults.is_empty() {
        return Err(IntakeError::Metadata(faults));
    }
    let active = evaluation.catalogue.active(&evaluation.store, metadata.split).await?;
    let (release, index) = active.ok_or(IntakeError::NoRelease(metadata.split))?;
    let limits = Limits { max_bytes: evaluation.max_upload_bytes };
    let turns = &evaluation.reading_turns;
    let turn = turns.take(team_id).await?;
    // The turn goes where the file is: nobody may be left who waits for either.
    let ((file, is_long), turn) =
        tokio::task::spawn_blocking(move || measure(file).map(|found| (found, turn)))
            .await
            .map_err(StoreError::from)??;
    let turn = if is_long { turns.take_all(turn).await? } else { turn };
    let reading = move || read_file(file, &index, &limits).map(|predictions| (predictions, turn));
    let (predictions, turn) = tokio::task::spawn_blocking(reading).await.map_err(StoreError::from)??;
    Ok(ReadFile { release, predictions, turn, is_long })
}

/// Whether a file's text is long; gives the file back at its beginning.
fn measure<R: Read + Seek>(mut file: R) -> std::io::Result<(R, bool)> {
    let is_long = predictions::is_longer_than(&mut file, LONG_TEXT_BYTES);
    file.rewind()?;
    Ok((file, is_long))
}

fn read_file(file: impl Read, index: &QuestionIndex, limits: &Limits) -> Result<Predictions, IntakeError> {
    predictions::read(file, index, limits).map_err(|error| match error {
        ReadError::Refused(refusal) => IntakeError::Refused(refusal),
        ReadError::Io(error) => IntakeError::Io(error),
    })
}

fn pack(
    release: &GradingRelease,
    predictions: Predictions,
    team_id: String,
    now_ms: i64,
) -> Result<(NewSubmission, Vec<u8>), IntakeError> {
    let encoder = zstd::Encoder::new(Vec::new(), COMPRESSION_LEVEL)?;
    let mut packing = BufWriter::new(Packing { hash: Sha256::new(), encoder });
    serde_json::to_writer(&mut packing, &predictions.answers).map_err(std::io::Error::from)?;
    let Packing { hash, encoder } = packing.into_inner().map_err(|error| error.into_error())?;
    let answers = encoder.finish()?;
    let new = NewSubmission {
        id: uuid::Uuid::now_v7().to_string(),
        team_id,
        release_id: release.release.id.clone(),
        content_sha256: hex::encode(hash.finalize()),
        questions: i32::try_from(predictions.answers.len()).unwrap_or(i32::MAX),
        answered: i32::try_from(predictions.answered).unwrap_or(i32::MAX),
        warnings: predictions.warnings,
        created_at_ms: now_ms,
    };
    Ok((new, answers))
}

/// Answers on their way into a submission's blob, hashed before they are compressed.
struct Packing {
    hash: Sha256,
    encoder: zstd::Encoder<'static, Vec<u8>>,
}

impl Write for Packing {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.hash.update(bytes);
        self.encoder.write_all(bytes)?;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        self.encoder.flush()
    }
}

/// The answers of a submission as [`submit`] stored them.
pub(super) fn unpack(answers: &[u8]) -> std::io::Result<Vec<Option<String>>> {
    Ok(serde_json::from_reader(zstd::Decoder::new(answers)?)?)
}

fn request_hash(metadata: &Metadata, file_sha256: &str) -> Result<String, IntakeError> {
    let mut hash = Sha256::new_with_prefix(serde_json::to_vec(metadata).map_err(std::io::Error::from)?);
    hash.update(file_sha256);
    Ok(hex::encode(hash.finalize()))
}

fn stored(connection: &mut DbConnection, id: &str) -> Result<Submission, IntakeError> {
    let found = submissions::find_submission(connection, id)?;
    Ok(found.ok_or(StoreError::missing("submission", id))?)
}
