//! Importing a release: read whole, checked whole, and stored in one transaction or not at all.

use std::io::BufRead;

use crate::domain::actor::Actor;
use crate::domain::question::Split;
use crate::domain::submission::Feedback;
use crate::domain::submission::release_name_fault;
use crate::scoring::columns::ScoringError;
use crate::store::audit::insert_audit;
use crate::store::history::note_board_changes;
use crate::store::ranges::{load_baselines, save_baselines};
use crate::store::releases::{
    self, KeyRow, QuestionRow, Release, Video as VideoRow, find_release, insert_release,
};
use crate::store::videos::insert_video_files;
use crate::store::{DbConnection, Store, StoreError, bump_board_revision};

use super::baselines::baseline_scores;
use super::cameras::settle_cameras;
use super::files::{Files, FilesError, VideoFolder, Wanted, take_files};
use super::release::{ReleaseContent, ReleaseError, read_release};
use super::summary::{Summary, summarize};

/// Why a release was not imported, or files were not added to it.
#[derive(Debug, thiserror::Error)]
pub enum ImportError {
    /// The file or the list of cameras is faulty.
    #[error(transparent)]
    Release(#[from] ReleaseError),
    /// Files of videos are unusable.
    #[error(transparent)]
    Files(#[from] FilesError),
    /// The blind baselines cannot be worked out.
    #[error("the blind baselines cannot be worked out: {0}")]
    Baselines(#[from] ScoringError),
    /// The name is taken by other content.
    #[error(
        "there is a release `{0}` of `{1}` with other content; a release never changes: choose another name"
    )]
    Taken(String, Split),
    /// The name is blank.
    #[error("the release's name is blank; give one such as `2026-06`")]
    BlankName,
    /// The name cannot be shown or addressed.
    #[error("the release's name {0}; give one such as `2026-06`")]
    Name(String),
    /// There is no such release.
    #[error("there is no release `{0}` of `{1}`; `secchi dataset list` shows all")]
    Unknown(String, Split),
    /// No release of the split is active.
    #[error("no release of `{0}` is active; name one with `--release`, or import one first")]
    NoneActive(Split),
    /// The database failed.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// What is imported, and under what name.
#[derive(Debug, Clone)]
pub struct NewRelease {
    /// The name, unique within the split.
    pub name: String,
    /// The split that the file holds.
    pub split: Split,
    /// What teams may read about single answers.
    pub feedback: Feedback,
    /// Where the videos' files lie and are to be kept, if they come with the release.
    pub videos: Option<VideoFolder>,
}

/// What an import did.
pub struct Imported {
    /// The release as stored.
    pub release: Release,
    /// What it holds.
    pub summary: Summary,
    /// Whether it stood already and nothing was stored.
    pub already_there: bool,
    /// What was found in the folder of videos, if one was given and the release is new.
    pub files: Option<Files>,
}

/// Imports a release file, with a list of the cameras that the file leaves open. The first release of a split is active
/// by itself; the same content under the same name again changes nothing.
///
/// # Errors
/// When anything about the file is faulty, or the name is taken by other content.
pub async fn import_release(
    store: &Store,
    actor: &Actor,
    new: NewRelease,
    file: impl BufRead,
    cameras: Option<Vec<u8>>,
    now_ms: i64,
) -> Result<Imported, ImportError> {
    if new.name.trim().is_empty() {
        return Err(ImportError::BlankName);
    }
    if let Some(detail) = release_name_fault(&new.name) {
        return Err(ImportError::Name(detail));
    }
    let mut content = read_release(file)?;
    if let Some(cameras) = cameras {
        settle_cameras(&mut content, cameras.as_slice())?;
    }
    let summary = summarize(&content);
    let files = match new.videos {
        Some(from) if !stands(store, new.split, new.name.clone()).await? => {
            Some(take_files(wanted(&content), from).await?)
        }
        _ => None,
    };
    let id = uuid::Uuid::now_v7().to_string();
    let release = Release {
        line_id: id.clone(),
        id,
        name: new.name,
        split: new.split,
        content_sha256: content.sha256(),
        feedback: new.feedback,
        active: false,
        created_at_ms: now_ms,
        staged: false,
        shown: false,
    };
    let baselines = baseline_scores(&release.name, &content)?;
    let facts = files.as_ref().map(|files| files.rows(&release.id)).unwrap_or_default();
    let actor = actor.clone();
    let stored: Result<(Release, bool), ImportError> = store
        .write(move |connection| {
            // First: of two imports at once the second finds the first, and so does a first judge configuration.
            bump_board_revision(connection)?;
            let (release, already_there) = store_release(connection, &actor, release, &content, now_ms)?;
            if !already_there {
                insert_video_files(connection, &facts)?;
            }
            if load_baselines(connection, &release.id)?.is_empty() {
                save_baselines(connection, &release.id, &baselines)?;
            }
            Ok((release, already_there))
        })
        .await;
    let (release, already_there) = stored?;
    Ok(Imported { release, summary, already_there, files })
}

async fn stands(store: &Store, split: Split, name: String) -> Result<bool, StoreError> {
    store.read(move |connection| Ok(find_release(connection, split, &name)?.is_some())).await
}

fn wanted(content: &ReleaseContent) -> Vec<Wanted> {
    let wanted = content.videos.iter().map(|video| Wanted {
        video_path: video.video_path.clone(),
        video_file: video.video_file.clone(),
        standing_sha256: None,
    });
    wanted.collect()
}

fn store_release(
    connection: &mut DbConnection,
    actor: &Actor,
    mut release: Release,
    content: &ReleaseContent,
    now_ms: i64,
) -> Result<(Release, bool), ImportError> {
    if let Some(standing) = find_release(connection, release.split, &release.name)? {
        if standing.content_sha256 != release.content_sha256 {
            return Err(ImportError::Taken(release.name, release.split));
        }
        return Ok((standing, true));
    }
    release.active = releases::find_active_release(connection, release.split)?.is_none();
    release.shown = release.active;
    let (videos, questions, keys) = rows(&release.id, content);
    insert_release(connection, &release, &videos, &questions, &keys)?;
    note_board_changes(connection, now_ms)?;
    let subject = format!("{}/{}", release.split, release.name);
    let action = (actor, "import_release", subject.as_str());
    insert_audit(connection, now_ms, action, None, Some(&release.content_sha256))?;
    Ok((release, false))
}

fn rows(release_id: &str, content: &ReleaseContent) -> (Vec<VideoRow>, Vec<QuestionRow>, Vec<KeyRow>) {
    let place = |place: usize| i32::try_from(place).unwrap_or(i32::MAX);
    let videos = content.videos.iter().enumerate().map(|(position, video)| VideoRow {
        release_id: release_id.to_owned(),
        position: place(position),
        id: video.id.clone(),
        collection: video.collection.clone(),
        video_id: video.video_id.clone(),
        video_file: video.video_file.clone(),
        video_path: video.video_path.clone(),
    });
    let questions = content.questions.iter().enumerate().map(|(position, question)| QuestionRow {
        release_id: release_id.to_owned(),
        position: place(position),
        question_id: question.question_id.clone(),
        video_position: place(question.video),
        question_type: question.question_type.to_string(),
        question: question.question.clone(),
        prompt: question.prompt.clone(),
        options: serde_json::json!(question.options).to_string(),
    });
    let keys = content.questions.iter().enumerate().map(|(position, question)| KeyRow {
        release_id: release_id.to_owned(),
        position: place(position),
        task: question.key.task.clone(),
        central_object: question.key.central_object.clone(),
        answer: question.key.answer.clone(),
        answer_text: question.key.answer_text.clone(),
        evidence: question.key.evidence.clone(),
        camera: content.videos[question.video].camera.to_string(),
    });
    (videos.collect(), questions.collect(), keys.collect())
}
