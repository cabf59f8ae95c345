//! Sign-ups: who asked for an account, and what became of it. Knows nothing of who decides.

use diesel::dsl::count_star;
use diesel::prelude::*;

use super::leases::lock_lease;
use super::schema::signups;
#[cfg(feature = "smtp")]
use super::schema::teams;
use super::{DbConnection, Result, stored};
use crate::domain::signup::{Application, Identity, SignupState};

/// The row of `leases` that is locked by whoever signs up.
const LOCK: &str = "signups";

/// A sign-up as stored, without the hash of its claim.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Signup {
    /// UUIDv7.
    pub id: String,
    /// What the applicant says.
    pub application: Application,
    /// Hash of the address that it came from.
    pub address_sha256: String,
    /// Where it stands.
    pub state: SignupState,
    /// Why it was rejected, if it was.
    pub reason: Option<String>,
    /// The team that was made of it.
    pub team_id: Option<String>,
    /// The key that was told to the applicant, if one was.
    pub key_id: Option<String>,
    /// How often it was tried to send the key by e-mail.
    pub mail_attempts: i32,
    /// When it was made.
    pub created_at_ms: i64,
    /// When it was approved or rejected.
    pub decided_at_ms: Option<i64>,
}

impl Signup {
    /// How it is compared with teams and other sign-ups.
    pub fn identity(&self) -> Identity<'_> {
        Identity {
            slug: &self.application.slug,
            name: &self.application.name,
            email: Some(&self.application.email),
            address_sha256: Some(&self.address_sha256),
        }
    }
}

type Said = (String, String, String, Option<String>, Option<String>);
type Sent = (String, String, i64);
type Made = (String, Option<String>, Option<String>, Option<String>, i32, Option<i64>);

/// Selects the columns of a sign-up: what was said, how it came, and what was made of it.
macro_rules! columns {
    () => {
        (
            (signups::slug, signups::name, signups::email, signups::affiliation, signups::purpose),
            (signups::id, signups::address_sha256, signups::created_at_ms),
            (
                signups::state,
                signups::reason,
                signups::team_id,
                signups::key_id,
                signups::mail_attempts,
                signups::decided_at_ms,
            ),
        )
    };
}

fn signup((said, sent, made): (Said, Sent, Made)) -> Result<Signup> {
    let (slug, name, email, affiliation, purpose) = said;
    let (id, address_sha256, created_at_ms) = sent;
    let (state, reason, team_id, key_id, mail_attempts, decided_at_ms) = made;
    Ok(Signup {
        id,
        application: Application { slug, name, email, affiliation, purpose },
        address_sha256,
        state: stored("sign-up state", &state, SignupState::parse)?,
        reason,
        team_id,
        key_id,
        mail_attempts,
        created_at_ms,
        decided_at_ms,
    })
}

/// Lets those who sign up do so one after the other, until the transaction ends.
pub fn lock_signups(connection: &mut DbConnection) -> Result<()> {
    lock_lease(connection, LOCK)
}

/// Adds a pending sign-up with the hash of its claim.
pub fn insert_signup(connection: &mut DbConnection, new: &Signup, claim_sha256: &str) -> Result<()> {
    let said = &new.application;
    let row = (
        signups::id.eq(&new.id),
        signups::slug.eq(&said.slug),
        signups::name.eq(&said.name),
        signups::email.eq(&said.email),
        signups::affiliation.eq(&said.affiliation),
        signups::purpose.eq(&said.purpose),
        signups::address_sha256.eq(&new.address_sha256),
        signups::claim_sha256.eq(claim_sha256),
        signups::state.eq(new.state.as_str()),
        signups::mail_attempts.eq(0),
        signups::mail_not_before_ms.eq(0),
        signups::created_at_ms.eq(new.created_at_ms),
    );
    diesel::insert_into(signups::table).values(row).execute(connection)?;
    Ok(())
}

/// The sign-up with this id.
pub fn find_signup(connection: &mut DbConnection, id: &str) -> Result<Option<Signup>> {
    let row = signups::table.find(id).select(columns!()).first(connection).optional()?;
    row.map(signup).transpose()
}

/// The sign-up whose claim has this hash.
pub fn find_claimed(connection: &mut DbConnection, claim_sha256: &str) -> Result<Option<Signup>> {
    let claimed = signups::table.filter(signups::claim_sha256.eq(claim_sha256));
    let row = claimed.select(columns!()).first(connection).optional()?;
    row.map(signup).transpose()
}

/// At most `limit` sign-ups, of one state or all, newest first, below the id `before`.
pub fn load_signups(
    connection: &mut DbConnection,
    state: Option<SignupState>,
    before: Option<&str>,
    limit: i64,
) -> Result<Vec<Signup>> {
    let mut query = signups::table.into_boxed();
    if let Some(state) = state {
        query = query.filter(signups::state.eq(state.as_str()));
    }
    if let Some(before) = before {
        query = query.filter(signups::id.lt(before));
    }
    let rows: Vec<(Said, Sent, Made)> =
        query.order(signups::id.desc()).limit(limit).select(columns!()).load(connection)?;
    rows.into_iter().map(signup).collect()
}

/// When the sign-ups came that an address made since an instant, oldest first.
pub fn load_times_from(
    connection: &mut DbConnection,
    address_sha256: &str,
    since_ms: i64,
) -> Result<Vec<i64>> {
    let from = signups::table
        .filter(signups::address_sha256.eq(address_sha256))
        .filter(signups::created_at_ms.gt(since_ms));
    Ok(from.order(signups::created_at_ms).select(signups::created_at_ms).load(connection)?)
}

/// How many sign-ups wait for a maintainer.
pub fn count_pending(connection: &mut DbConnection) -> Result<i64> {
    let pending = signups::table.filter(signups::state.eq(SignupState::Pending.as_str()));
    Ok(pending.select(count_star()).first(connection)?)
}

/// Decides a pending sign-up, with the team that was made of it or the reason why none was; false when it is not pending.
pub fn decide_signup(
    connection: &mut DbConnection,
    id: &str,
    state: SignupState,
    team_id: Option<&str>,
    reason: Option<&str>,
    now_ms: i64,
) -> Result<bool> {
    let pending = signups::table.find(id).filter(signups::state.eq(SignupState::Pending.as_str()));
    let decided = diesel::update(pending)
        .set((
            signups::state.eq(state.as_str()),
            signups::team_id.eq(team_id),
            signups::reason.eq(reason),
            signups::decided_at_ms.eq(now_ms),
        ))
        .execute(connection)?;
    Ok(decided == 1)
}

/// Notes which key was told to the applicant; false when one was before.
pub fn note_told(connection: &mut DbConnection, id: &str, key_id: &str) -> Result<bool> {
    let untold = signups::table.find(id).filter(signups::key_id.is_null());
    Ok(diesel::update(untold).set(signups::key_id.eq(key_id)).execute(connection)? == 1)
}

/// An approved sign-up of a team that is not shut out, whose key is to be sent by e-mail at this instant.
#[cfg(feature = "smtp")]
pub fn find_mail_due(
    connection: &mut DbConnection,
    max_attempts: i32,
    now_ms: i64,
) -> Result<Option<Signup>> {
    let due = signups::table
        .inner_join(teams::table.on(signups::team_id.eq(teams::id.nullable())))
        .filter(teams::disabled_at_ms.is_null())
        .filter(signups::state.eq(SignupState::Approved.as_str()))
        .filter(signups::key_id.is_null())
        .filter(signups::mail_attempts.lt(max_attempts))
        .filter(signups::mail_not_before_ms.le(now_ms));
    let row = due.order(signups::id).select(columns!()).first(connection).optional()?;
    row.map(signup).transpose()
}

/// Notes that it is tried to send a key by e-mail, and when it may be tried again.
#[cfg(feature = "smtp")]
pub fn note_mail_attempt(connection: &mut DbConnection, id: &str, not_before_ms: i64) -> Result<()> {
    diesel::update(signups::table.find(id))
        .set((
            signups::mail_attempts.eq(signups::mail_attempts + 1),
            signups::mail_not_before_ms.eq(not_before_ms),
        ))
        .execute(connection)?;
    Ok(())
}
