//! Answers that show signs of talking to the judge, for maintainers alone. Says what they show and not what they say.

use actix_web::{get, web};
use serde::{Deserialize, Serialize};
use uuid::Uuid;

use crate::domain::instant;
use crate::domain::question::Split;
use crate::domain::sign::Sign;
use crate::http::Shared;
use crate::http::auth::MaintainerOnly;
use crate::http::error::{Answer, Problem};
use crate::http::page::{Page, PageQuery};
use crate::store::StoreError;
use crate::store::flags::{Flag, load_flags};

/// Which flagged answers are asked for.
#[derive(Debug, Deserialize, utoipa::IntoParams)]
#[into_params(parameter_in = Query)]
#[serde(deny_unknown_fields)]
pub struct FlagsQuery {
    /// Only those of this submission.
    #[param(value_type = Option<String>)]
    submission: Option<Uuid>,
    /// Items at most, 1 to 1,000; 100 unless said.
    limit: Option<i64>,
    /// `next_cursor` of the page before.
    cursor: Option<String>,
}

/// An answer that shows signs of talking to the judge.
#[derive(Debug, Serialize, utoipa::ToSchema)]
pub struct FlagView {
    /// The submission's id.
    submission: String,
    /// The team's short name.
    team: String,
    /// The split.
    split: Split,
    /// The model's name.
    model_name: String,
    /// The question.
    question_id: String,
    /// What the answer shows.
    signs: Vec<Sign>,
    /// When it was graded.
    flagged_at: String,
}

impl From<Flag> for FlagView {
    fn from(flag: Flag) -> FlagView {
        FlagView {
            submission: flag.submission_id,
            team: flag.team,
            split: flag.split,
            model_name: flag.model_name,
            question_id: flag.question_id,
            signs: flag.signs,
            flagged_at: instant::rfc3339(flag.flagged_at_ms),
        }
    }
}

/// Lists answers that show signs of talking to the judge, of the newest submission first
///
/// A flag is a hint: no score depends on it.
#[utoipa::path(
    tag = "administration",
    security(("bearer" = [])),
    params(FlagsQuery),
    responses(
        (status = 200, description = "Flagged answers", body = Page<FlagView>),
        (status = 400, description = "The query is faulty", body = Problem, content_type = "application/problem+json"),
    )
)]
#[get("/api/v1/admin/flags")]
pub async fn list_flags(
    state: Shared,
    _maintainer: MaintainerOnly,
    query: web::Query<FlagsQuery>,
) -> Answer<web::Json<Page<FlagView>>> {
    let FlagsQuery { submission, limit, cursor } = query.into_inner();
    let page = PageQuery::new(limit, cursor);
    let (limit, after) = (page.limit()?, page.after_answer()?);
    let submission = submission.map(|id| id.to_string());
    let found: Result<Vec<Flag>, StoreError> = state
        .evaluation
        .store
        .read(move |connection| {
            let after = after.as_ref().map(|(submission, question)| (submission.as_str(), question.as_str()));
            load_flags(connection, submission.as_deref(), after, limit + 1)
        })
        .await;
    let page =
        Page::cut(found?, limit, |flag| PageQuery::answer_cursor(&flag.submission_id, &flag.question_id));
    let items = page.items.into_iter().map(FlagView::from).collect();
    Ok(web::Json(Page { items, next_cursor: page.next_cursor }))
}
