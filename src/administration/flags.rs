//! The queue of flags: findings of all kinds in one list, each open until a maintainer closes it with a reason.

use serde::Serialize;

use crate::domain::actor::Actor;
use crate::domain::flag::FlagKind;
use crate::domain::instant::rfc3339;
use crate::domain::submission::{MetadataFault, reason_fault};
use crate::store::audit::insert_audit;
use crate::store::flag_queue::{self, Closing, FlagFilter, QueuedFlag};
use crate::store::{DbConnection, Store, StoreError};

/// Why a flag was not closed.
#[derive(Debug, thiserror::Error)]
pub enum FlagError {
    /// There is no such flag.
    #[error("there is no flag `{0}` on `{1}`; `secchi admin flags` lists those that are open")]
    Unknown(FlagKind, String),
    /// It was closed before.
    #[error("the flag was closed by `{}` with the reason `{}`", .0.by, .0.reason)]
    Closed(Closing),
    /// The reason is faulty.
    #[error("the reason {}", .0.detail)]
    Reason(MetadataFault),
    /// The database failed.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// How a flag was done with.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, utoipa::ToSchema)]
pub struct FlagClosing {
    /// When.
    pub at: String,
    /// By whom.
    pub by: String,
    /// Why.
    pub reason: String,
}

/// A finding that a maintainer should look at; a hint that nothing follows from by itself.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, utoipa::ToSchema)]
pub struct QueuedFlagView {
    /// What it is about.
    pub kind: FlagKind,
    /// The submission's id, or of kind `signup` the sign-up's.
    pub subject: String,
    /// The team's short name, or the one that the sign-up asks for.
    pub team: String,
    /// The model's name; null of a sign-up.
    pub model_name: Option<String>,
    /// The submission that it is like; null where it is like none.
    pub other: Option<String>,
    /// What was found, in words.
    pub detail: String,
    /// When.
    pub raised_at: String,
    /// How it was done with; null while it is open.
    pub closed: Option<FlagClosing>,
}

impl From<QueuedFlag> for QueuedFlagView {
    fn from(flag: QueuedFlag) -> QueuedFlagView {
        let closed =
            flag.closed.map(|Closing { at_ms, by, reason }| FlagClosing { at: rfc3339(at_ms), by, reason });
        QueuedFlagView {
            kind: flag.kind,
            subject: flag.subject,
            team: flag.team,
            model_name: flag.model_name,
            other: flag.other,
            detail: flag.detail,
            raised_at: rfc3339(flag.raised_at_ms),
            closed,
        }
    }
}

/// A part of the queue, the newest subjects first, behind the flag `after` (subject and kind).
///
/// # Errors
/// When the database fails.
pub fn list_flags(
    connection: &mut DbConnection,
    filter: FlagFilter<'_>,
    after: Option<(&str, &str)>,
    limit: i64,
) -> Result<Vec<QueuedFlagView>, StoreError> {
    let found = flag_queue::load_queue(connection, filter, after, limit)?;
    Ok(found.into_iter().map(QueuedFlagView::from).collect())
}

/// Closes a flag with a reason.
///
/// # Errors
/// When there is no such flag, it was closed before, or the reason is faulty.
pub async fn close_flag(
    store: &Store,
    actor: &Actor,
    kind: FlagKind,
    subject: &str,
    reason: &str,
    now_ms: i64,
) -> Result<QueuedFlagView, FlagError> {
    if let Some(fault) = reason_fault(reason) {
        return Err(FlagError::Reason(fault));
    }
    let (actor, subject, reason) = (actor.clone(), subject.to_owned(), reason.trim().to_owned());
    store
        .write(move |connection| {
            let unknown = || FlagError::Unknown(kind, subject.clone());
            let closing = Closing { at_ms: now_ms, by: actor.name.clone(), reason };
            if !flag_queue::close_flag(connection, kind, &subject, &closing)? {
                let standing = flag_queue::find_flag(connection, kind, &subject)?;
                return Err(standing.and_then(|flag| flag.closed).map_or_else(unknown, FlagError::Closed));
            }
            let of = format!("{kind}/{subject}");
            let line = (&actor, "close_flag", of.as_str());
            insert_audit(connection, now_ms, line, Some("open"), Some(&closing.reason))?;
            Ok(flag_queue::find_flag(connection, kind, &subject)?.ok_or_else(unknown)?.into())
        })
        .await
}
