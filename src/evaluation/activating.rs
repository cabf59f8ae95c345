//! Making a release the active one of its split in one step: release, scores and ranks move together, to a corrected release
//! and back. Knows nothing of how entries get their scores.

use std::collections::HashSet;

use crate::domain::actor::Actor;
use crate::domain::question::Split;
use crate::store::audit::insert_audit;
use crate::store::configurations::{find_current_configuration, lock_configurations};
use crate::store::corrections::{note_applied, unstage_releases};
use crate::store::history::note_board_changes;
use crate::store::releases::{Release, activate_release, find_active_release, find_release};
use crate::store::scores::Under;
use crate::store::standing::{adopt_release, load_standing, load_unscored};
use crate::store::{DbConnection, Store, StoreError, bump_board_revision};

/// Why a release cannot be made the active one.
#[derive(Debug, thiserror::Error)]
pub enum ActivationError {
    /// There is no such release.
    #[error("there is no release `{0}` of `{1}`; `secchi dataset list` shows all")]
    Unknown(String, Split),
    /// The board would lose rows.
    #[error(
        "{missing} of {entries} entries on the board of `{split}` have no complete scores under `{name}`; \
         `secchi dataset correct {name} --split {split}` has them scored, and says how far it is and which answers are in the way"
    )]
    Unscored {
        /// The release.
        name: String,
        /// Its split.
        split: Split,
        /// Entries without complete scores.
        missing: usize,
        /// Entries on the present board.
        entries: usize,
    },
    /// The database failed.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// Makes a release the active one of its split; none is staged any more. Entries follow to a release of the same line,
/// where they have complete scores under it; nothing is judged for it. Other releases begin a board of their own; the
/// active one stays as it is.
///
/// # Errors
/// When there is no such release, an entry on the board lacks complete scores under a release of the same line, or the
/// database fails.
pub async fn make_active(
    store: &Store,
    actor: &Actor,
    split: Split,
    name: String,
    now_ms: i64,
) -> Result<Release, ActivationError> {
    let actor = actor.clone();
    store
        .write(move |connection| {
            // Before all else, as where a rejudging ends: what is scored from now on finds the release active.
            lock_configurations(connection)?;
            let Some(release) = find_release(connection, split, &name)? else {
                return Err(ActivationError::Unknown(name, split));
            };
            if release.active {
                return Ok(release);
            }
            let before = find_active_release(connection, split)?;
            if let Some(before) = before.as_ref().filter(|before| before.line_id == release.line_id) {
                let_entries_follow(connection, before, &release)?;
                note_applied(connection, &release.id, now_ms)?;
            }
            unstage_releases(connection, split)?;
            activate_release(connection, split, &release.id)?;
            note_board_changes(connection, now_ms)?;
            let subject = format!("{split}/{name}");
            let action = (&actor, "activate_release", subject.as_str());
            let before = before.map(|before| before.name);
            insert_audit(connection, now_ms, action, before.as_deref(), Some(&name))?;
            bump_board_revision(connection)?;
            Ok(Release { active: true, shown: true, staged: false, ..release })
        })
        .await
}

fn let_entries_follow(
    connection: &mut DbConnection,
    before: &Release,
    release: &Release,
) -> Result<(), ActivationError> {
    let Some(current) = find_current_configuration(connection)? else { return Ok(()) };
    let under = Under::new(&release.id, &current.id);
    let on_board = load_standing(connection, &Under::new(&before.id, &current.id))?;
    let unscored: HashSet<String> =
        load_unscored(connection, &release.line_id, &under)?.into_iter().collect();
    let missing = on_board.iter().filter(|row| unscored.contains(&row.submission_id)).count();
    if missing > 0 {
        let (name, entries) = (release.name.clone(), on_board.len());
        return Err(ActivationError::Unscored { name, split: release.split, missing, entries });
    }
    Ok(adopt_release(connection, &under)?)
}
