//! Sign-ups, for maintainers: who waits, whom they are like, and the decision.

use actix_web::http::StatusCode;
use actix_web::{get, post, web};
use serde::{Deserialize, Serialize};
use uuid::Uuid;

use crate::accounts::approval::{self, ApprovalError, Compared, Similar};
use crate::domain::instant::rfc3339;
use crate::domain::signup::{Application, Likeness, SignupState};
use crate::http::Shared;
use crate::http::auth::MaintainerOnly;
use crate::http::body::Body;
use crate::http::error::{Answer, Problem};
use crate::http::page::{Page, PageQuery};
use crate::store::StoreError;
use crate::store::signups::Signup;

/// Which sign-ups are asked for.
#[derive(Debug, Default, Deserialize, utoipa::IntoParams)]
#[into_params(parameter_in = Query)]
#[serde(deny_unknown_fields)]
pub struct SignupsQuery {
    /// Only those that stand so.
    state: Option<SignupState>,
    /// Items at most, 1 to 1,000; 100 unless said.
    limit: Option<i64>,
    /// `next_cursor` of the page before.
    cursor: Option<String>,
}

/// A sign-up, as maintainers see it.
#[derive(Debug, Serialize, utoipa::ToSchema)]
pub struct ApplicantView {
    /// The sign-up's id.
    id: String,
    #[serde(flatten)]
    application: Application,
    /// Where it stands.
    state: SignupState,
    /// Why it was rejected, if it was.
    reason: Option<String>,
    /// Whether the key was told to the applicant.
    key_told: bool,
    /// When it was made.
    created_at: String,
    /// When it was decided.
    decided_at: Option<String>,
    /// Teams and other sign-ups that may be the same people.
    similar: Vec<SimilarView>,
}

/// A team or sign-up that is like another sign-up.
#[derive(Debug, Serialize, utoipa::ToSchema)]
pub struct SimilarView {
    /// In what: the same e-mail address, its domain and the name, the network address, or the short name.
    likeness: Vec<Likeness>,
    /// The short name.
    slug: String,
    /// The full name.
    name: String,
    /// The sign-up's id; null where it is a team.
    signup: Option<String>,
    /// Where that sign-up stands; null where it is a team.
    state: Option<SignupState>,
}

impl From<Similar> for SimilarView {
    fn from(similar: Similar) -> SimilarView {
        let Similar { likeness, slug, name, signup_id, state } = similar;
        SimilarView { likeness, slug, name, signup: signup_id, state }
    }
}

impl From<Compared> for ApplicantView {
    fn from(Compared { signup, similar }: Compared) -> ApplicantView {
        let similar = similar.into_iter().map(SimilarView::from).collect();
        ApplicantView { similar, ..ApplicantView::from(signup) }
    }
}

impl From<Signup> for ApplicantView {
    fn from(signup: Signup) -> ApplicantView {
        ApplicantView {
            id: signup.id,
            application: signup.application,
            state: signup.state,
            reason: signup.reason,
            key_told: signup.key_id.is_some(),
            created_at: rfc3339(signup.created_at_ms),
            decided_at: signup.decided_at_ms.map(rfc3339),
            similar: Vec::new(),
        }
    }
}

/// Why a sign-up is turned down.
#[derive(Debug, Deserialize, utoipa::ToSchema)]
#[serde(deny_unknown_fields)]
pub struct Rejection {
    /// What the applicant is told.
    reason: String,
}

/// Lists sign-ups, newest first, each with those that it is like
#[utoipa::path(
    tag = "administration",
    security(("bearer" = [])),
    params(SignupsQuery),
    responses(
        (status = 200, description = "Sign-ups", body = Page<ApplicantView>),
    )
)]
#[get("/api/v1/admin/signups")]
pub async fn list_signups(
    state: Shared,
    MaintainerOnly(_principal): MaintainerOnly,
    query: web::Query<SignupsQuery>,
) -> Answer<web::Json<Page<ApplicantView>>> {
    let SignupsQuery { state: asked, limit, cursor } = query.into_inner();
    let page = PageQuery::new(limit, cursor);
    let (limit, before) = (page.limit()?, page.after_id()?);
    let found: Result<Vec<Compared>, StoreError> = state
        .evaluation
        .store
        .read(move |connection| approval::list_signups(connection, asked, before.as_deref(), limit + 1))
        .await;
    let views = found?.into_iter().map(ApplicantView::from).collect();
    Ok(web::Json(Page::cut(views, limit, |signup: &ApplicantView| signup.id.clone())))
}

/// Makes the team that a sign-up asks for
#[utoipa::path(
    tag = "administration",
    security(("bearer" = [])),
    params(("id" = String, Path, description = "The sign-up's id")),
    responses(
        (status = 200, description = "The sign-up; its applicant can have the key now", body = ApplicantView),
        (status = 404, description = "There is none with this id", body = Problem, content_type = "application/problem+json"),
        (status = 409, description = "It was decided before, or the short name was taken since", body = Problem, content_type = "application/problem+json"),
    )
)]
#[post("/api/v1/admin/signups/{id}/approve")]
pub async fn approve_signup(
    state: Shared,
    MaintainerOnly(principal): MaintainerOnly,
    id: web::Path<Uuid>,
) -> Answer<web::Json<ApplicantView>> {
    let (store, now_ms) = (&state.evaluation.store, state.evaluation.clock.now_ms());
    let actor = &principal.actor();
    let (approved, _) = approval::approve_signup(store, actor, &id.to_string(), now_ms).await?;
    Ok(web::Json(approved.into()))
}

/// Turns a sign-up down
#[utoipa::path(
    tag = "administration",
    security(("bearer" = [])),
    params(("id" = String, Path, description = "The sign-up's id")),
    request_body = Rejection,
    responses(
        (status = 200, description = "The sign-up; its applicant is told the reason", body = ApplicantView),
        (status = 404, description = "There is none with this id", body = Problem, content_type = "application/problem+json"),
        (status = 409, description = "It was decided before", body = Problem, content_type = "application/problem+json"),
        (status = 422, description = "The reason is blank or too long", body = Problem, content_type = "application/problem+json"),
    )
)]
#[post("/api/v1/admin/signups/{id}/reject")]
pub async fn reject_signup(
    state: Shared,
    MaintainerOnly(principal): MaintainerOnly,
    id: web::Path<Uuid>,
    rejection: Body<Rejection>,
) -> Answer<web::Json<ApplicantView>> {
    let (store, now_ms) = (&state.evaluation.store, state.evaluation.clock.now_ms());
    let (actor, reason) = (&principal.actor(), &rejection.reason);
    let rejected = approval::reject_signup(store, actor, &id.to_string(), reason, now_ms).await?;
    Ok(web::Json(rejected.into()))
}

impl From<ApprovalError> for Problem {
    fn from(error: ApprovalError) -> Problem {
        let code = match error {
            ApprovalError::Unknown(_) => return Problem::not_found(error.to_string()),
            ApprovalError::Reason(fault) => {
                let detail = "the rejection is faulty; mend each of the `errors`";
                return Problem::new(StatusCode::UNPROCESSABLE_ENTITY, "invalid_rejection", detail)
                    .with_errors(&[fault], 1);
            }
            ApprovalError::Store(error) => return error.into(),
            ApprovalError::Decided(_) => "decided",
            ApprovalError::Taken(_) => "slug_taken",
        };
        Problem::new(StatusCode::CONFLICT, code, error.to_string())
    }
}
