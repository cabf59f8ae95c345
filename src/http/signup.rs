//! Signing up: an application, where it stands, and the key that it ends in. The applicant holds a secret claim.

use actix_web::http::{StatusCode, header};
use actix_web::{HttpRequest, HttpResponse, get, post, web};
use serde::Serialize;

use super::Shared;
use super::body::Body;
use super::door::address;
use super::error::{Answer, Problem};
use crate::accounts::signup::{self, Applied, SignupError, ToldKey};
use crate::domain::instant::rfc3339;
use crate::domain::signup::{Application, SignupState};
use crate::store::signups::Signup;

/// A sign-up, as its applicant sees it.
#[derive(Debug, Serialize, utoipa::ToSchema)]
pub struct SignupView {
    /// The sign-up's id.
    id: String,
    /// The short name that was asked for.
    slug: String,
    /// Where it stands.
    state: SignupState,
    /// Why it was rejected, if it was.
    reason: Option<String>,
    /// Whether the key was told already; it is told once.
    key_told: bool,
    /// Whether the key is sent by e-mail.
    key_by_email: bool,
    /// When it was made.
    created_at: String,
    /// When it was decided.
    decided_at: Option<String>,
}

impl SignupView {
    fn new(signup: Signup, mails: bool) -> SignupView {
        SignupView {
            key_by_email: signup::is_mailed(&signup, mails),
            id: signup.id,
            slug: signup.application.slug,
            state: signup.state,
            reason: signup.reason,
            key_told: signup.key_id.is_some(),
            created_at: rfc3339(signup.created_at_ms),
            decided_at: signup.decided_at_ms.map(rfc3339),
        }
    }
}

/// A sign-up that was taken.
#[derive(Debug, Serialize, utoipa::ToSchema)]
pub struct AppliedView {
    #[serde(flatten)]
    signup: SignupView,
    /// The applicant's secret, told only here: whoever has it gets the key.
    claim: String,
    /// Where the sign-up can be followed.
    status_url: String,
}

/// The key of a new team. It is told only here.
#[derive(Debug, Serialize, utoipa::ToSchema)]
pub struct ToldKeyView {
    /// The team's short name.
    team: String,
    /// The key itself.
    #[schema(example = "sk_secchi_…")]
    api_key: String,
}

/// Asks for an account
///
/// Where sign-up is open the team is made at once; else a maintainer decides. The key is told once, at `status_url` + `/key`.
#[utoipa::path(
    tag = "teams",
    request_body = Application,
    responses(
        (status = 202, description = "The sign-up, with the claim, told only here", body = AppliedView),
        (status = 403, description = "Sign-up is closed", body = Problem, content_type = "application/problem+json"),
        (status = 409, description = "The short name is taken", body = Problem, content_type = "application/problem+json"),
        (status = 422, description = "The application is faulty; `errors` lists what", body = Problem, content_type = "application/problem+json"),
        (status = 429, description = "Too many came from this address within a day", body = Problem, content_type = "application/problem+json"),
        (status = 503, description = "Too many wait for a maintainer", body = Problem, content_type = "application/problem+json"),
    )
)]
#[post("/api/v1/signup")]
pub async fn create_signup(
    request: HttpRequest,
    state: Shared,
    application: Body<Application>,
) -> Answer<HttpResponse> {
    let (store, now_ms) = (&state.evaluation.store, state.evaluation.clock.now_ms());
    let address = address(&state, request.head());
    let Applied { signup, claim } =
        signup::sign_up(store, state.signup, application.into_inner(), &address, now_ms).await?;
    let status_url = state.link(&format!("/api/v1/signup/{claim}"));
    let location = (header::LOCATION, status_url.clone());
    let view = AppliedView { signup: SignupView::new(signup, state.mails), claim, status_url };
    Ok(HttpResponse::Accepted().insert_header(location).insert_header(NO_STORE).json(view))
}

/// Where a sign-up stands
#[utoipa::path(
    tag = "teams",
    params(("claim" = String, Path, description = "The applicant's secret")),
    responses(
        (status = 200, description = "The sign-up", body = SignupView),
        (status = 404, description = "There is none with this claim", body = Problem, content_type = "application/problem+json"),
    )
)]
#[get("/api/v1/signup/{claim}")]
pub async fn find_signup(state: Shared, claim: web::Path<String>) -> Answer<HttpResponse> {
    let signup = signup::claimed_signup(&state.evaluation.store, &claim).await?;
    Ok(HttpResponse::Ok().insert_header(NO_STORE).json(SignupView::new(signup, state.mails)))
}

/// Makes the key of an approved sign-up and tells it, once
///
/// No GET: whatever looks at an address before its reader does shall not use up the key.
#[utoipa::path(
    tag = "teams",
    params(("claim" = String, Path, description = "The applicant's secret")),
    responses(
        (status = 201, description = "The key, told only here", body = ToldKeyView),
        (status = 404, description = "There is no sign-up with this claim", body = Problem, content_type = "application/problem+json"),
        (status = 409, description = "It is not approved, or the key comes by e-mail", body = Problem, content_type = "application/problem+json"),
        (status = 410, description = "The key was told before", body = Problem, content_type = "application/problem+json"),
    )
)]
#[post("/api/v1/signup/{claim}/key")]
pub async fn create_signup_key(state: Shared, claim: web::Path<String>) -> Answer<HttpResponse> {
    let (store, now_ms) = (&state.evaluation.store, state.evaluation.clock.now_ms());
    let ToldKey { team, api_key, .. } = signup::tell_key(store, &claim, state.mails, now_ms).await?;
    let view = ToldKeyView { team: team.slug, api_key };
    Ok(HttpResponse::Created().insert_header(NO_STORE).json(view))
}

const NO_STORE: (header::HeaderName, &str) = (header::CACHE_CONTROL, "no-store");

impl From<SignupError> for Problem {
    fn from(error: SignupError) -> Problem {
        let told = error.to_string();
        let (status, code) = match error {
            SignupError::Closed => (StatusCode::FORBIDDEN, "signup_closed"),
            SignupError::Faults(faults) => {
                let detail = "the application is faulty; mend each of the `errors`";
                return Problem::new(StatusCode::UNPROCESSABLE_ENTITY, "invalid_application", detail)
                    .with_errors(&faults, faults.len() as u64);
            }
            SignupError::Taken(_) => (StatusCode::CONFLICT, "slug_taken"),
            SignupError::TooMany { wait_s } => {
                return Problem::new(StatusCode::TOO_MANY_REQUESTS, "too_many_signups", told)
                    .retry_after(wait_s);
            }
            SignupError::Full => (StatusCode::SERVICE_UNAVAILABLE, "signup_full"),
            SignupError::Unknown => (StatusCode::NOT_FOUND, "not_found"),
            SignupError::NotApproved(_) => (StatusCode::CONFLICT, "not_approved"),
            SignupError::ByMail => (StatusCode::CONFLICT, "key_by_email"),
            SignupError::Told => (StatusCode::GONE, "key_told"),
            SignupError::Disabled => (StatusCode::CONFLICT, "disabled_team"),
            SignupError::Store(error) => return error.into(),
        };
        Problem::new(status, code, told)
    }
}
