//! Findings that wait for a maintainer, of all kinds in one list. Knows nothing of how they come about.

use diesel::dsl::{count_star, min};
use diesel::prelude::*;

use super::connection::on_each;
use super::overview::Count;
use super::schema::{flag_queue, submissions};
use super::{DbConnection, Result, stored};
use crate::domain::flag::FlagKind;

/// A finding as it is raised.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewFlag<'a> {
    /// What it is about.
    pub kind: FlagKind,
    /// The submission, or of kind `signup` the sign-up.
    pub subject: &'a str,
    /// The team's short name, or the one that the sign-up asks for.
    pub team: &'a str,
    /// The submission that it is like, if it is like one.
    pub other: Option<&'a str>,
    /// What was found, in words.
    pub detail: &'a str,
}

/// Raises a finding; one of the same kind on the same subject is kept as it stands.
pub fn raise_flag(connection: &mut DbConnection, new: &NewFlag<'_>, now_ms: i64) -> Result<()> {
    let row = (
        flag_queue::subject.eq(new.subject),
        flag_queue::kind.eq(new.kind.as_str()),
        flag_queue::team.eq(new.team),
        flag_queue::other.eq(new.other),
        flag_queue::detail.eq(new.detail),
        flag_queue::created_at_ms.eq(now_ms),
    );
    on_each!(connection, |inner| diesel::insert_into(flag_queue::table)
        .values(row)
        .on_conflict_do_nothing()
        .execute(inner))?;
    Ok(())
}

/// How a finding was done with.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Closing {
    /// When.
    pub at_ms: i64,
    /// By whom.
    pub by: String,
    /// Why.
    pub reason: String,
}

/// A finding as stored.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct QueuedFlag {
    /// What it is about.
    pub kind: FlagKind,
    /// The submission, or of kind `signup` the sign-up.
    pub subject: String,
    /// The team's short name, or the one that the sign-up asks for.
    pub team: String,
    /// The model's name; none of a sign-up.
    pub model_name: Option<String>,
    /// The submission that it is like, if it is like one.
    pub other: Option<String>,
    /// What was found, in words.
    pub detail: String,
    /// When.
    pub raised_at_ms: i64,
    /// How it was done with; none while it is open.
    pub closed: Option<Closing>,
}

/// Which findings are asked for; what is none is not asked about.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct FlagFilter<'a> {
    /// Of this kind.
    pub kind: Option<FlagKind>,
    /// Open ones, or closed ones.
    pub is_open: Option<bool>,
    /// On this subject.
    pub subject: Option<&'a str>,
}

/// At most `limit` findings, those on the newest subjects first, behind the finding `after` (subject and kind).
pub fn load_queue(
    connection: &mut DbConnection,
    filter: FlagFilter<'_>,
    after: Option<(&str, &str)>,
    limit: i64,
) -> Result<Vec<QueuedFlag>> {
    // UUIDv7 ids sort by time.
    let mut query = flag_queue::table
        .left_join(submissions::table.on(submissions::id.eq(flag_queue::subject)))
        .order((flag_queue::subject.desc(), flag_queue::kind))
        .limit(limit)
        .into_boxed();
    if let Some(kind) = filter.kind {
        query = query.filter(flag_queue::kind.eq(kind.as_str()));
    }
    if let Some(subject) = filter.subject {
        query = query.filter(flag_queue::subject.eq(subject));
    }
    query = match filter.is_open {
        Some(true) => query.filter(flag_queue::closed_at_ms.is_null()),
        Some(false) => query.filter(flag_queue::closed_at_ms.is_not_null()),
        None => query,
    };
    if let Some((subject, kind)) = after {
        let of_same = flag_queue::subject.eq(subject).and(flag_queue::kind.gt(kind));
        query = query.filter(flag_queue::subject.lt(subject).or(of_same));
    }
    type Found = (String, String, String, Option<String>, Option<String>, String, i64);
    type Closed = (Option<i64>, Option<String>, Option<String>);
    let rows: Vec<(Found, Closed)> = query
        .select((
            (
                flag_queue::subject,
                flag_queue::kind,
                flag_queue::team,
                submissions::model_name.nullable(),
                flag_queue::other,
                flag_queue::detail,
                flag_queue::created_at_ms,
            ),
            (flag_queue::closed_at_ms, flag_queue::closed_by, flag_queue::closed_reason),
        ))
        .load(connection)?;
    let flag = |((subject, kind, team, model_name, other, detail, raised_at_ms), closed): (Found, Closed)| {
        let kind = stored("kind of flag", &kind, FlagKind::parse)?;
        let (at_ms, by, reason) = closed;
        let closed = at_ms.map(|at_ms| Closing {
            at_ms,
            by: by.unwrap_or_default(),
            reason: reason.unwrap_or_default(),
        });
        Ok(QueuedFlag { kind, subject, team, model_name, other, detail, raised_at_ms, closed })
    };
    rows.into_iter().map(flag).collect()
}

/// The finding of this kind on this subject.
pub fn find_flag(connection: &mut DbConnection, kind: FlagKind, subject: &str) -> Result<Option<QueuedFlag>> {
    let filter = FlagFilter { kind: Some(kind), subject: Some(subject), is_open: None };
    Ok(load_queue(connection, filter, None, 1)?.pop())
}

/// Closes an open finding; false if it was closed before or there is none.
pub fn close_flag(
    connection: &mut DbConnection,
    kind: FlagKind,
    subject: &str,
    closing: &Closing,
) -> Result<bool> {
    let open = flag_queue::table.find((subject, kind.as_str())).filter(flag_queue::closed_at_ms.is_null());
    let closed = diesel::update(open)
        .set((
            flag_queue::closed_at_ms.eq(closing.at_ms),
            flag_queue::closed_by.eq(&closing.by),
            flag_queue::closed_reason.eq(&closing.reason),
        ))
        .execute(connection)?;
    Ok(closed == 1)
}

/// How many findings of each kind are open, and when the oldest was raised; kinds without any are left out.
pub fn count_open(connection: &mut DbConnection) -> Result<Vec<(FlagKind, Count)>> {
    let counts: Vec<(String, i64, Option<i64>)> = flag_queue::table
        .filter(flag_queue::closed_at_ms.is_null())
        .group_by(flag_queue::kind)
        .select((flag_queue::kind, count_star(), min(flag_queue::created_at_ms)))
        .load(connection)?;
    let counted = |(kind, count, oldest_ms): (String, i64, Option<i64>)| {
        Ok((stored("kind of flag", &kind, FlagKind::parse)?, (count, oldest_ms)))
    };
    counts.into_iter().map(counted).collect()
}
