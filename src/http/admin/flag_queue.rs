//! The queue of flags, for maintainers: findings of all kinds, and closing one.

use actix_web::http::StatusCode;
use actix_web::{get, post, web};
use serde::Deserialize;
use uuid::Uuid;

use crate::administration::flags::{self, FlagError, QueuedFlagView};
use crate::domain::flag::FlagKind;
use crate::http::Shared;
use crate::http::auth::MaintainerOnly;
use crate::http::body::Body;
use crate::http::error::{Answer, Problem};
use crate::http::page::{Page, PageQuery};
use crate::store::StoreError;
use crate::store::flag_queue::FlagFilter;

/// Whether flags are asked for that are done with.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize, utoipa::ToSchema)]
#[serde(rename_all = "lowercase")]
pub enum FlagState {
    /// Those that wait.
    #[default]
    Open,
    /// Those that are done with.
    Closed,
    /// Both.
    All,
}

/// Which flags are asked for.
#[derive(Debug, Deserialize, utoipa::IntoParams)]
#[into_params(parameter_in = Query)]
#[serde(deny_unknown_fields)]
pub struct FlagQueueQuery {
    /// Only those of this kind.
    kind: Option<FlagKind>,
    /// `open` ones unless said.
    #[serde(default)]
    state: FlagState,
    /// Items at most, 1 to 1,000; 100 unless said.
    limit: Option<i64>,
    /// `next_cursor` of the page before.
    cursor: Option<String>,
}

/// Why a flag is closed.
#[derive(Debug, Deserialize, utoipa::ToSchema)]
#[serde(deny_unknown_fields)]
pub struct FlagClosure {
    /// What other maintainers and the audit log are told.
    reason: String,
}

/// Lists flags of all kinds that wait for a maintainer, on the newest submissions and sign-ups first
///
/// `attack`: answers that talk to the judge; `series`: many near-duplicates of one team; `twin`: nearly the same file as
/// another team's, on a split without feedback; `signup`: a sign-up that is like a team or another one. A flag is a hint.
#[utoipa::path(
    tag = "administration",
    security(("bearer" = [])),
    params(FlagQueueQuery),
    responses(
        (status = 200, description = "Flags", body = Page<QueuedFlagView>),
        (status = 400, description = "The query is faulty", body = Problem, content_type = "application/problem+json"),
    )
)]
#[get("/api/v1/admin/flag-queue")]
pub async fn list_flag_queue(
    state: Shared,
    _maintainer: MaintainerOnly,
    query: web::Query<FlagQueueQuery>,
) -> Answer<web::Json<Page<QueuedFlagView>>> {
    let FlagQueueQuery { kind, state: asked, limit, cursor } = query.into_inner();
    let page = PageQuery::new(limit, cursor);
    let (limit, after) = (page.limit()?, page.after_answer()?);
    let is_open = match asked {
        FlagState::Open => Some(true),
        FlagState::Closed => Some(false),
        FlagState::All => None,
    };
    let filter = FlagFilter { kind, is_open, subject: None };
    let found: Result<Vec<QueuedFlagView>, StoreError> = state
        .evaluation
        .store
        .read(move |connection| {
            let after = after.as_ref().map(|(subject, kind)| (subject.as_str(), kind.as_str()));
            flags::list_flags(connection, filter, after, limit + 1)
        })
        .await;
    let cursor = |flag: &QueuedFlagView| PageQuery::answer_cursor(&flag.subject, flag.kind.as_str());
    Ok(web::Json(Page::cut(found?, limit, cursor)))
}

/// Closes a flag
#[utoipa::path(
    tag = "administration",
    security(("bearer" = [])),
    params(("kind" = FlagKind, Path, description = "The flag's kind"), ("id" = String, Path, description = "The id of its submission or sign-up")),
    request_body = FlagClosure,
    responses(
        (status = 200, description = "It is closed", body = QueuedFlagView),
        (status = 404, description = "There is no such flag", body = Problem, content_type = "application/problem+json"),
        (status = 409, description = "It was closed before", body = Problem, content_type = "application/problem+json"),
        (status = 422, description = "The reason is blank or too long", body = Problem, content_type = "application/problem+json"),
    )
)]
#[post("/api/v1/admin/flag-queue/{kind}/{id}/close")]
pub async fn close_flag(
    state: Shared,
    MaintainerOnly(principal): MaintainerOnly,
    path: web::Path<(FlagKind, Uuid)>,
    closure: Body<FlagClosure>,
) -> Answer<web::Json<QueuedFlagView>> {
    let (kind, id) = path.into_inner();
    let (store, now_ms) = (&state.evaluation.store, state.evaluation.clock.now_ms());
    let (actor, id) = (principal.actor(), id.to_string());
    Ok(web::Json(flags::close_flag(store, &actor, kind, &id, &closure.reason, now_ms).await?))
}

impl From<FlagError> for Problem {
    fn from(error: FlagError) -> Problem {
        match error {
            FlagError::Unknown(..) => Problem::not_found(error.to_string()),
            FlagError::Closed(_) => Problem::new(StatusCode::CONFLICT, "flag_closed", error.to_string()),
            FlagError::Reason(fault) => {
                let detail = "the reason is faulty; mend each of the `errors`";
                Problem::new(StatusCode::UNPROCESSABLE_ENTITY, "invalid_reason", detail)
                    .with_errors(&[fault], 1)
            }
            FlagError::Store(error) => error.into(),
        }
    }
}
