//! What a team may still submit, and the ledger that this is the sum of.

use actix_web::http::StatusCode;
use actix_web::{get, web};
use serde::Serialize;

use super::Shared;
use super::auth::{TeamOnly, quotas};
use super::error::{Answer, Problem};
use super::page::{Page, PageQuery};
use crate::domain::instant;
use crate::domain::question::Split;
use crate::evaluation::quota::{GrantError, Quota};
use crate::store::StoreError;
use crate::store::quota::{LedgerEntry, QuotaKind, load_ledger};

/// An entry of a team's quota ledger.
#[derive(Debug, Serialize, utoipa::ToSchema)]
pub struct LedgerView {
    /// The entry's id.
    id: String,
    /// The split.
    split: Split,
    /// A charge counts against the quota; a refund takes one back; a grant adds to what there is.
    kind: QuotaKind,
    /// By how many submissions.
    amount: i32,
    /// Why.
    reason: String,
    /// The submission concerned; null for a grant.
    submission: Option<String>,
    /// The UTC day that it counts to: a refund counts to that of its charge.
    day: String,
    /// When it was written.
    at: String,
}

impl From<LedgerEntry> for LedgerView {
    fn from(entry: LedgerEntry) -> LedgerView {
        let LedgerEntry { id, split, kind, amount, submission_id, reason, day, created_at_ms } = entry;
        let at = instant::rfc3339(created_at_ms);
        LedgerView { id, split, kind, amount, reason, submission: submission_id, day, at }
    }
}

/// What the team may still submit, by split
#[utoipa::path(
    tag = "teams",
    security(("bearer" = [])),
    params(PageQuery),
    responses(
        (status = 200, description = "The quota of each split; `resets_at` is in UTC", body = Page<Quota>),
    )
)]
#[get("/api/v1/quota")]
pub async fn list_quotas(
    state: Shared,
    TeamOnly(principal): TeamOnly,
    page: web::Query<PageQuery>,
) -> Answer<web::Json<Page<Quota>>> {
    Ok(web::Json(page.part(quotas(&state, principal.team.id).await?)?))
}

/// Lists what the quota is the sum of, newest first
#[utoipa::path(
    tag = "teams",
    security(("bearer" = [])),
    params(PageQuery),
    responses(
        (status = 200, description = "Charges, refunds and grants", body = Page<LedgerView>),
    )
)]
#[get("/api/v1/quota/ledger")]
pub async fn list_quota_entries(
    state: Shared,
    TeamOnly(principal): TeamOnly,
    page: web::Query<PageQuery>,
) -> Answer<web::Json<Page<LedgerView>>> {
    let (limit, before) = (page.limit()?, page.after_id()?);
    let found: Result<Vec<LedgerEntry>, StoreError> = state
        .evaluation
        .store
        .read(move |connection| load_ledger(connection, &principal.team.id, before.as_deref(), limit + 1))
        .await;
    let views = found?.into_iter().map(LedgerView::from).collect();
    Ok(web::Json(Page::cut(views, limit, |entry: &LedgerView| entry.id.clone())))
}

impl From<GrantError> for Problem {
    fn from(error: GrantError) -> Problem {
        match error {
            GrantError::UnknownTeam(_) => Problem::not_found(error.to_string()),
            GrantError::Faults(faults) => {
                let detail = "the grant is faulty; mend each of the `errors`";
                Problem::new(StatusCode::UNPROCESSABLE_ENTITY, "invalid_grant", detail)
                    .with_errors(&faults, faults.len() as u64)
            }
            GrantError::Store(error) => error.into(),
        }
    }
}
