//! The audit log, for maintainers: searched page by page, or written out whole.

use actix_web::http::header;
use actix_web::{HttpResponse, get, web};
use futures::TryStreamExt as _;
use serde::Deserialize;

use crate::administration::audit::{AuditError, AuditQuery, AuditView, Export, exported, list_audit};
use crate::http::Shared;
use crate::http::auth::MaintainerOnly;
use crate::http::error::{Answer, Problem};
use crate::http::page::{Page, PageQuery};
use crate::store::StoreError;

/// In which form the log is asked for.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize, utoipa::ToSchema)]
#[serde(rename_all = "lowercase")]
pub enum AuditFormat {
    /// A page of the list.
    #[default]
    Json,
    /// All matches as CSV.
    Csv,
    /// All matches, one JSON object a line.
    Jsonl,
}

/// Which lines of the audit log are asked for.
#[derive(Debug, Deserialize, utoipa::IntoParams)]
#[into_params(parameter_in = Query)]
#[serde(deny_unknown_fields)]
pub struct AuditParameters {
    /// Who: a team's short name, or `command line`.
    actor: Option<String>,
    /// An action, such as `grant_quota`.
    action: Option<String>,
    /// What was acted on: an id, a short name.
    subject: Option<String>,
    /// The first instant or UTC day, such as `2026-11-30`.
    from: Option<String>,
    /// The last instant or UTC day.
    to: Option<String>,
    /// A text that stands anywhere in the line, in small or capital letters.
    q: Option<String>,
    /// `json` is a page of the list; `csv` and `jsonl` are all matches.
    #[serde(default)]
    format: AuditFormat,
    /// Items at most, 1 to 1,000; 100 unless said.
    limit: Option<i64>,
    /// `next_cursor` of the page before.
    cursor: Option<String>,
}

/// Lists what maintainers and teams have changed, newest first
///
/// Each line says who, from where, what and when, and what was so before and after. No line is ever changed.
#[utoipa::path(
    tag = "administration",
    security(("bearer" = [])),
    params(AuditParameters),
    responses(
        (status = 200, description = "Lines of the audit log", content((Page<AuditView> = "application/json"), (String = "text/csv"), (String = "application/x-ndjson"))),
        (status = 400, description = "The query is faulty", body = Problem, content_type = "application/problem+json"),
    )
)]
#[get("/api/v1/admin/audit")]
pub async fn list_audit_log(
    state: Shared,
    _maintainer: MaintainerOnly,
    parameters: web::Query<AuditParameters>,
) -> Answer<HttpResponse> {
    let AuditParameters { actor, action, subject, from, to, q: text, format, limit, cursor } =
        parameters.into_inner();
    let filter = AuditQuery { actor, action, subject, from, to, text }.filter()?;
    let store = &state.evaluation.store;
    let export = match format {
        AuditFormat::Json => {
            let page = PageQuery::new(limit, cursor);
            let (limit, after) = (page.limit()?, page.after_id()?);
            let found: Result<Vec<AuditView>, StoreError> = store
                .read(move |connection| list_audit(connection, &filter, after.as_deref(), limit + 1))
                .await;
            return Ok(HttpResponse::Ok().json(Page::cut(found?, limit, |view| view.id.clone())));
        }
        AuditFormat::Csv => Export::Csv,
        AuditFormat::Jsonl => Export::JsonLines,
    };
    if limit.is_some() || cursor.is_some() {
        let detail = "`csv` and `jsonl` hold all matches; leave out `limit` and `cursor`";
        return Err(Problem::parameter(detail));
    }
    let disposition = format!("attachment; filename=\"{}\"", export.file_name());
    Ok(HttpResponse::Ok()
        .content_type(export.media_type())
        .insert_header((header::CONTENT_DISPOSITION, disposition))
        .streaming(exported(store.clone(), filter, export).map_ok(web::Bytes::from)))
}

impl From<AuditError> for Problem {
    fn from(error: AuditError) -> Problem {
        match error {
            AuditError::Instant(_) | AuditError::Order { .. } | AuditError::Nul => {
                Problem::parameter(error.to_string())
            }
        }
    }
}
