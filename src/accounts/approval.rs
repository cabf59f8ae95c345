//! Signing up, as the maintainers see it: who waits, whom they may know already, and what they decide. Knows nothing of
//! requests.

use crate::domain::actor::Actor;
use crate::domain::flag::FlagKind;
use crate::domain::signup::{Identity, Likeness, SignupState};
use crate::domain::submission::{MetadataFault, reason_fault};
use crate::domain::team::Role;
use crate::store::audit::insert_audit;
use crate::store::flag_queue::{Closing, NewFlag, close_flag, raise_flag};
use crate::store::signups::{self, Signup};
use crate::store::teams::{self, Team};
use crate::store::{DbConnection, Store, StoreError};

/// Earlier sign-ups that each one is compared with, the newest.
const COMPARED: i64 = 2000;

/// Why a sign-up was not decided.
#[derive(Debug, thiserror::Error)]
pub enum ApprovalError {
    /// There is no such sign-up.
    #[error("there is no sign-up `{0}`; `secchi team signups` shows those that wait")]
    Unknown(String),
    /// It was decided before.
    #[error("the sign-up is `{0}` already")]
    Decided(SignupState),
    /// Since it was made, a team got the short name.
    #[error("the short name `{0}` was taken since; reject the sign-up with that reason")]
    Taken(String),
    /// The reason is faulty.
    #[error("the reason {}", .0.detail)]
    Reason(MetadataFault),
    /// The database failed.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// A sign-up with whom it is like.
#[derive(Debug)]
pub struct Compared {
    /// The sign-up.
    pub signup: Signup,
    /// Teams and other sign-ups that may be the same people.
    pub similar: Vec<Similar>,
}

/// Most teams and sign-ups that are shown beside one that they are like: so many are reason enough to look.
const MAX_SIMILAR: usize = 20;

/// A team or sign-up that is like another sign-up.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Similar {
    /// In what.
    pub likeness: Vec<Likeness>,
    /// The short name.
    pub slug: String,
    /// The full name.
    pub name: String,
    /// The sign-up's id; none where it is a team.
    pub signup_id: Option<String>,
    /// Where that sign-up stands.
    pub state: Option<SignupState>,
}

/// At most `limit` sign-ups, of one state or all, newest first, below the id `before`, each with those that it is like.
///
/// # Errors
/// When the database fails.
pub fn list_signups(
    connection: &mut DbConnection,
    state: Option<SignupState>,
    before: Option<&str>,
    limit: i64,
) -> Result<Vec<Compared>, StoreError> {
    let found = signups::load_signups(connection, state, before, limit)?;
    let others = signups::load_signups(connection, None, None, COMPARED)?;
    let teams = teams::load_teams(connection)?;
    let compared = found.into_iter().map(|signup| {
        let similar = similar(&signup, &teams, &others);
        Compared { signup, similar }
    });
    Ok(compared.collect())
}

fn similar(signup: &Signup, teams: &[Team], others: &[Signup]) -> Vec<Similar> {
    let own = signup.identity();
    let of_teams = teams.iter().filter(|team| signup.team_id.as_ref() != Some(&team.id)).map(|team| {
        let (slug, name, email) = (team.slug.as_str(), team.name.as_str(), team.email.as_deref());
        (Identity { slug, name, email, address_sha256: None }, None)
    });
    let of_others = others.iter().filter(|other| other.id != signup.id);
    let of_others = of_others.map(|other| (other.identity(), Some((other.id.clone(), other.state))));
    let mut found = Vec::new();
    for (identity, other) in of_teams.chain(of_others) {
        if found.len() == MAX_SIMILAR {
            break;
        }
        let likeness = own.likeness(&identity);
        if likeness.is_empty() {
            continue;
        }
        let (signup_id, state) = other.unzip();
        let (slug, name) = (identity.slug.to_owned(), identity.name.to_owned());
        found.push(Similar { likeness, slug, name, signup_id, state });
    }
    found
}

/// Puts a sign-up into the queue of flags that is like a team or another sign-up.
pub(super) fn raise_if_like(
    connection: &mut DbConnection,
    signup: &Signup,
    now_ms: i64,
) -> Result<(), StoreError> {
    let others = signups::load_signups(connection, None, None, COMPARED)?;
    let teams = teams::load_teams(connection)?;
    let similar = similar(signup, &teams, &others);
    if similar.is_empty() {
        return Ok(());
    }
    let one = |Similar { likeness, slug, signup_id, .. }: &Similar| {
        let kind = if signup_id.is_some() { "sign-up" } else { "team" };
        let likeness: Vec<&str> = likeness.iter().map(|likeness| likeness.as_str()).collect();
        format!("{kind} `{slug}` ({})", likeness.join(", "))
    };
    let detail = format!("it is like {}", similar.iter().map(one).collect::<Vec<_>>().join(", "));
    let (subject, team) = (signup.id.as_str(), signup.application.slug.as_str());
    let new = NewFlag { kind: FlagKind::Signup, subject, team, other: None, detail: &detail };
    raise_flag(connection, &new, now_ms)
}

/// Makes the team that a pending sign-up asks for. Its key is made when it is told.
///
/// # Errors
/// When there is no such sign-up, it was decided before, or the short name was taken since.
pub async fn approve_signup(
    store: &Store,
    actor: &Actor,
    id: &str,
    now_ms: i64,
) -> Result<(Signup, Team), ApprovalError> {
    let (actor, id) = (actor.clone(), id.to_owned());
    store
        .write(move |connection| {
            signups::lock_signups(connection)?;
            let signup = pending(connection, &id)?;
            if teams::find_team(connection, &signup.application.slug)?.is_some() {
                return Err(ApprovalError::Taken(signup.application.slug));
            }
            let team = make_team(connection, &actor, &signup, now_ms)?;
            let closing =
                Closing { at_ms: now_ms, by: actor.name, reason: "the sign-up was approved".into() };
            close_flag(connection, FlagKind::Signup, &id, &closing)?;
            Ok((decided(connection, &id)?, team))
        })
        .await
}

/// Turns a pending sign-up down; the applicant is told the reason.
///
/// # Errors
/// When there is no such sign-up, it was decided before, or the reason is faulty.
pub async fn reject_signup(
    store: &Store,
    actor: &Actor,
    id: &str,
    reason: &str,
    now_ms: i64,
) -> Result<Signup, ApprovalError> {
    if let Some(fault) = reason_fault(reason) {
        return Err(ApprovalError::Reason(fault));
    }
    let (actor, id, reason) = (actor.clone(), id.to_owned(), reason.trim().to_owned());
    store
        .write(move |connection| {
            signups::lock_signups(connection)?;
            pending(connection, &id)?;
            signups::decide_signup(connection, &id, SignupState::Rejected, None, Some(&reason), now_ms)?;
            let closing = Closing { at_ms: now_ms, by: actor.name.clone(), reason: reason.clone() };
            close_flag(connection, FlagKind::Signup, &id, &closing)?;
            let subject = (&actor, "reject_signup", id.as_str());
            insert_audit(connection, now_ms, subject, Some("pending"), Some(&reason))?;
            decided(connection, &id)
        })
        .await
}

/// Makes the team of a pending sign-up whose short name is free.
pub(super) fn make_team(
    connection: &mut DbConnection,
    actor: &Actor,
    signup: &Signup,
    now_ms: i64,
) -> Result<Team, StoreError> {
    let said = &signup.application;
    let team = Team {
        id: uuid::Uuid::now_v7().to_string(),
        slug: said.slug.clone(),
        name: said.name.clone(),
        email: Some(said.email.clone()),
        role: Role::Team,
        disabled_at_ms: None,
        created_at_ms: now_ms,
    };
    teams::insert_team(connection, &team)?;
    let (id, state) = (signup.id.as_str(), SignupState::Approved);
    signups::decide_signup(connection, id, state, Some(&team.id), None, now_ms)?;
    let subject = (actor, "approve_signup", id);
    insert_audit(connection, now_ms, subject, Some("pending"), Some(&team.slug))?;
    Ok(team)
}

fn pending(connection: &mut DbConnection, id: &str) -> Result<Signup, ApprovalError> {
    let signup = decided(connection, id)?;
    if signup.state == SignupState::Pending { Ok(signup) } else { Err(ApprovalError::Decided(signup.state)) }
}

fn decided(connection: &mut DbConnection, id: &str) -> Result<Signup, ApprovalError> {
    signups::find_signup(connection, id)?.ok_or_else(|| ApprovalError::Unknown(id.to_owned()))
}
