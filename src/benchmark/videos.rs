//! The files of a release that stands already: what is missing is added, and nothing that it holds is changed.

use crate::domain::actor::Actor;
use crate::domain::question::Split;
use crate::store::audit::insert_audit;
use crate::store::releases::{Release, find_active_release, find_release};
use crate::store::videos::{insert_video_files, load_video_files, load_videos};
use crate::store::{DbConnection, Store};

use super::files::{Files, VideoFolder, Wanted, take_files};
use super::import::ImportError;

/// Adds the files of a folder to a release: to the named one, or to the active one of the split. All or, where one is
/// unusable, none.
///
/// # Errors
/// When there is no such release, or a file is damaged or another one than the release holds.
pub async fn add_videos(
    store: &Store,
    actor: &Actor,
    split: Split,
    name: Option<String>,
    from: VideoFolder,
    now_ms: i64,
) -> Result<(Release, Files), ImportError> {
    let found: Result<_, ImportError> = store
        .read(move |connection| {
            let release = match name {
                Some(name) => {
                    find_release(connection, split, &name)?.ok_or(ImportError::Unknown(name, split))?
                }
                None => find_active_release(connection, split)?.ok_or(ImportError::NoneActive(split))?,
            };
            let videos = wanted(connection, &release.id)?;
            Ok((release, videos))
        })
        .await;
    let (release, videos) = found?;
    let files = take_files(videos, from).await?;
    let rows = files.rows(&release.id);
    let (actor, subject) = (actor.clone(), format!("{split}/{}", release.name));
    let added: Result<(), ImportError> = store
        .write(move |connection| {
            if rows.is_empty() {
                return Ok(());
            }
            insert_video_files(connection, &rows)?;
            let action = (&actor, "add_videos", subject.as_str());
            Ok(insert_audit(connection, now_ms, action, None, Some(&format!("{} files", rows.len())))?)
        })
        .await;
    added?;
    Ok((release, files))
}

/// The videos of a release, each with what is known of its file.
fn wanted(connection: &mut DbConnection, release_id: &str) -> Result<Vec<Wanted>, ImportError> {
    let files = load_video_files(connection, release_id)?;
    let standing = |position: i32| files.iter().find(|file| file.position == position);
    let videos = load_videos(connection, release_id)?;
    let wanted = videos.into_iter().map(|video| Wanted {
        standing_sha256: standing(video.position).map(|file| file.sha256.clone()),
        video_path: video.video_path,
        video_file: video.video_file,
    });
    Ok(wanted.collect())
}
