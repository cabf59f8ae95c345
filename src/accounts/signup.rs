//! Signing up, as the applicant does it: an application is made, followed with a secret claim, and ends in a key that is
//! told once. Knows nothing of who decides.

use crate::config::SignupMode;
use crate::domain::actor::Actor;
use crate::domain::instant::DAY_MS;
use crate::domain::signup::{Application, SignupState};
use crate::domain::submission::MetadataFault;
use crate::store::signups::{self, Signup};
use crate::store::teams::{Team, find_team, find_team_by_id};
use crate::store::{DbConnection, Store, StoreError, load_installation_id};
use crate::tokens;

use super::approval::{make_team, raise_if_like};
use super::first_key;

/// Sign-ups that are taken from one address within a day.
const PER_ADDRESS_A_DAY: usize = 5;

/// Sign-ups that may wait for a maintainer.
const MAX_PENDING: i64 = 1000;

/// Who the audit log names where nobody decided. Where from is not kept of applicants.
const NOBODY: &str = "open sign-up";

/// Tries at sending a key by e-mail, after which the applicant's page tells it instead.
pub const MAX_MAIL_ATTEMPTS: i32 = 8;

/// Why a sign-up was not taken or a key not told.
#[derive(Debug, thiserror::Error)]
pub enum SignupError {
    /// Nobody can sign up here.
    #[error("sign-up is closed here; ask the maintainers for an account")]
    Closed,
    /// What was sent is faulty.
    #[error("the application has {} fault(s)", .0.len())]
    Faults(Vec<MetadataFault>),
    /// A team has the short name.
    #[error("the short name `{0}` is taken; choose another")]
    Taken(String),
    /// Too many came from one address.
    #[error(
        "{PER_ADDRESS_A_DAY} sign-ups came from your address within a day; wait, or write to the maintainers"
    )]
    TooMany {
        /// Seconds until the next is taken.
        wait_s: u64,
    },
    /// Too many wait.
    #[error("very many sign-ups wait for the maintainers; try again tomorrow")]
    Full,
    /// There is no such sign-up.
    #[error("there is no such sign-up; check that the address was copied whole")]
    Unknown,
    /// The key is not to be had yet, or never.
    #[error("the sign-up is `{0}`; there is a key once it is `approved`")]
    NotApproved(SignupState),
    /// The key comes by e-mail.
    #[error("the key is sent to the e-mail address of the sign-up")]
    ByMail,
    /// The key was told before.
    #[error("the key was told before, once; ask the maintainers for another if it was lost")]
    Told,
    /// The team was shut out since.
    #[error("the team is disabled; ask the maintainers")]
    Disabled,
    /// The database failed.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// A sign-up that was taken, with the claim that its applicant keeps; the claim is told only here.
#[derive(Debug)]
pub struct Applied {
    /// The sign-up.
    pub signup: Signup,
    /// The applicant's secret.
    pub claim: String,
}

/// A key that is told, this once.
#[derive(Debug)]
pub struct ToldKey {
    /// The team whose key it is.
    pub team: Team,
    /// The key itself.
    pub api_key: String,
}

/// Takes an application that came from `address`, such as [`crate::limiter::origin`] finds it. Where sign-up is open the
/// team is made at once.
///
/// # Errors
/// When sign-up is closed, the application is faulty, the short name is taken, or too many came or wait.
pub async fn sign_up(
    store: &Store,
    mode: SignupMode,
    application: Application,
    address: &str,
    now_ms: i64,
) -> Result<Applied, SignupError> {
    if mode == SignupMode::Closed {
        return Err(SignupError::Closed);
    }
    let faults = application.faults();
    if !faults.is_empty() {
        return Err(SignupError::Faults(faults));
    }
    let address = address.to_owned();
    store
        .write(move |connection| {
            signups::lock_signups(connection)?;
            // Salted, so that a copy of the table does not tell at a glance who asked from where.
            let salt = load_installation_id(connection)?;
            let address_sha256 = tokens::hash_secret(&format!("{salt} {address}"));
            make_way(connection, &application, &address_sha256, now_ms)?;
            let claim = tokens::new_ticket();
            let signup = Signup {
                id: uuid::Uuid::now_v7().to_string(),
                application,
                address_sha256,
                state: SignupState::Pending,
                reason: None,
                team_id: None,
                key_id: None,
                mail_attempts: 0,
                created_at_ms: now_ms,
                decided_at_ms: None,
            };
            signups::insert_signup(connection, &signup, &tokens::hash_secret(&claim))?;
            raise_if_like(connection, &signup, now_ms)?;
            if mode == SignupMode::Open {
                make_team(connection, &Actor::new(NOBODY, ""), &signup, now_ms)?;
            }
            let signup = signups::find_signup(connection, &signup.id)?.ok_or(SignupError::Unknown)?;
            Ok(Applied { signup, claim })
        })
        .await
}

fn make_way(
    connection: &mut DbConnection,
    application: &Application,
    address_sha256: &str,
    now_ms: i64,
) -> Result<(), SignupError> {
    let times = signups::load_times_from(connection, address_sha256, now_ms - DAY_MS)?;
    if let Some(oldest_ms) = times.iter().rev().nth(PER_ADDRESS_A_DAY - 1) {
        let wait_ms = oldest_ms + DAY_MS - now_ms;
        return Err(SignupError::TooMany {
            wait_s: u64::try_from(wait_ms).unwrap_or_default().div_ceil(1000),
        });
    }
    if find_team(connection, &application.slug)?.is_some() {
        return Err(SignupError::Taken(application.slug.clone()));
    }
    if signups::count_pending(connection)? >= MAX_PENDING {
        return Err(SignupError::Full);
    }
    Ok(())
}

/// The sign-up that a claim is of.
///
/// # Errors
/// When there is none.
pub async fn claimed_signup(store: &Store, claim: &str) -> Result<Signup, SignupError> {
    let sha256 = tokens::hash_secret(claim);
    store
        .read(move |connection| signups::find_claimed(connection, &sha256)?.ok_or(SignupError::Unknown))
        .await
}

/// Makes the key of an approved sign-up and tells it to whoever holds the claim, once. Where keys are sent by e-mail
/// (`by_mail`) that goes first: only after [`MAX_MAIL_ATTEMPTS`] in vain the key is told here.
///
/// # Errors
/// When there is no such sign-up, it is not approved, or the key was told before.
pub async fn tell_key(
    store: &Store,
    claim: &str,
    by_mail: bool,
    now_ms: i64,
) -> Result<ToldKey, SignupError> {
    let sha256 = tokens::hash_secret(claim);
    store
        .write(move |connection| {
            let signup = signups::find_claimed(connection, &sha256)?.ok_or(SignupError::Unknown)?;
            if signup.team_id.is_some() && is_mailed(&signup, by_mail) {
                return Err(SignupError::ByMail);
            }
            let (key_id, told) = make_key(connection, &signup, now_ms)?;
            if !signups::note_told(connection, &signup.id, &key_id)? {
                return Err(SignupError::Told);
            }
            Ok(told)
        })
        .await
}

/// Whether the key of a sign-up is still to come by e-mail, where keys are sent so.
pub fn is_mailed(signup: &Signup, by_mail: bool) -> bool {
    let open = signup.state != SignupState::Rejected && signup.key_id.is_none();
    by_mail && open && signup.mail_attempts < MAX_MAIL_ATTEMPTS
}

/// Makes a key of the team of an approved sign-up; gives its id and the key.
pub(super) fn make_key(
    connection: &mut DbConnection,
    signup: &Signup,
    now_ms: i64,
) -> Result<(String, ToldKey), SignupError> {
    let team_id = signup.team_id.as_deref().ok_or(SignupError::NotApproved(signup.state))?;
    let team = find_team_by_id(connection, team_id)?.ok_or(SignupError::Unknown)?;
    if team.disabled_at_ms.is_some() {
        return Err(SignupError::Disabled);
    }
    let (key, api_key) = first_key(connection, &team, now_ms)?;
    Ok((key.id, ToldKey { team, api_key }))
}
